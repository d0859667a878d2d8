"""Submodel sizes: the port of the number of hidden units that each cell trains in a global round.

Scope and limitations: latency-optimal sizes require cycles that follow parameters, and a link with known
rates on which no client waits for others. With several groups of units, the sizes of the group with the most
parameters are optimal, and the others follow in proportion. Sizes are planned with fixed shares or sums over
the air; with redivided shares they are only as good as for fixed shares.

Usage::

    @part
    class LargeFirst(SubmodelSizes):
        \"\"\"Half of the model in the first cell, the rest in equal parts.\"\"\"

        def counts(self, cloud, training, global_round):
            num_others = len(cloud.edges) - 1
            return proportional_counts(cloud.shape.num_units, (0.5, *[0.5 / num_others] * num_others))

Source: HIST journal paper, Section IV-B.
"""

from abc import ABC, abstractmethod

from typing_extensions import override

from cosim.configuration import Ask, ConfigurationError, Port, knob, part, positive, refuse
from cosim.configuration.going_together import SHARED_CYCLES
from cosim.protocols.drawn_parts import Counts, even_counts, proportional_counts
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.latency_optimal import latency_optimal_sizes
from cosim.protocols.port import PLANS
from cosim.protocols.servers import Cloud

TOLERANCE = 0.05
"""Tolerance of the bits of all units against the model's, if a codec rounds them up one by one."""


@part
class SubmodelSizes(Port, ABC):
    """Rule for the number of hidden units that each cell trains in a global round."""

    def check(self, cloud: Cloud) -> None:
        """Refuse nodes that do not suit, before the clock starts.

        Raises:
            ConfigurationError: The nodes do not suit; the message says why and what to use.
        """

    @abstractmethod
    def counts(self, cloud: Cloud, training: EdgeTraining, global_round: int) -> Counts:
        """Number of units of each cell, for every group of units of `cloud.shape`.

        Args:
            training: Training of a cell in a global round.
            global_round: Global round that is about to begin.
        """


@part
class EqualSizes(SubmodelSizes):
    """Parts of equal size."""

    @override
    def counts(self, cloud: Cloud, training: EdgeTraining, global_round: int) -> Counts:
        return even_counts(cloud.shape.num_units, len(cloud.edges))


@part
class Fractions(SubmodelSizes):
    """A given part of the hidden units for each cell.

    Attributes:
        values: The parts, one for each cell, adding up to 1. [no source]
    """

    values: tuple[float, ...] = knob(positive, default=(0.5, 0.5))

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a number of parts other than that of cells."""
        if len(self.values) != len(cloud.edges):
            raise ConfigurationError(
                f"Fractions.values has {len(self.values)} values for {len(cloud.edges)} cells. Give "
                "one for each cell, or use EqualSizes."
            )

    @override
    def counts(self, cloud: Cloud, training: EdgeTraining, global_round: int) -> Counts:
        return proportional_counts(cloud.shape.num_units, self.values)


@part
class LatencyOptimal(SubmodelSizes):
    """Parts that make the slowest cell of a global round fastest.

    Attributes:
        largest: Largest part, in equal parts: eps_th / (6 delta_1^2) of (20b). [HIST journal, Section VI-C:
            eps_th = 9 delta_1^2]
    """

    asks = (*PLANS, Ask(SHARED_CYCLES, "plans by parameters", "EqualSizes"))

    largest: float = knob(positive, default=1.5)

    def __attrs_post_init__(self) -> None:
        if self.largest < 1.0:
            rule = "parts that are all smaller than an equal share cannot add up to the model"
            raise refuse("LatencyOptimal", "largest", self.largest, rule, "Use at least 1.")

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a system whose times no plan can know."""
        if cloud.edges[0].route.uplink.link.known_to("LatencyOptimal").num_at_once is not None:
            raise ConfigurationError(
                "LatencyOptimal: clients wait for each other on this uplink, and no plan knows how "
                "long. Use sharing = FixedShares, or EqualSizes."
            )
        widest, whole = self._widest(cloud), cloud.workload.of().upload.bits
        uncut, unit = (load.upload.bits for load in cloud.workload.by_units(widest))
        if abs(uncut + cloud.shape.num_units[widest] * unit - whole) > TOLERANCE * whole:
            kind = type(cloud.workload.codec).__name__
            raise ConfigurationError(
                "LatencyOptimal: plans with a fixed number of bits for each unit, which System.codec "
                f"= {kind} does not have. Use a codec with fixed bits for each value, or EqualSizes."
            )

    @staticmethod
    def _widest(cloud: Cloud) -> str:
        """Group of units with the most parameters."""
        return max(cloud.shape.num_units, key=cloud.shape.num_cut_parameters)

    @override
    def counts(self, cloud: Cloud, training: EdgeTraining, global_round: int) -> Counts:
        """Optimum of eq. 20; with sums over the air of eq. 39."""
        shape, widest = cloud.shape, self._widest(cloud)
        num_units = shape.num_units[widest]
        uncut, unit = cloud.workload.by_units(widest)
        sizes = latency_optimal_sizes(
            [training.model_s(edge, uncut, global_round) for edge in cloud.edges],
            [training.model_s(edge, unit, global_round) for edge in cloud.edges],
            num_units=num_units,
            largest=self.largest,
        )
        fractions = [size / num_units for size in sizes]
        return proportional_counts(shape.num_units, fractions) | {widest: sizes}
