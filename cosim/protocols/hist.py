"""HIST: hierarchical independent submodel training (Algorithm 1 of the HIST journal paper).

In every global round the cloud deals the hidden units of the model to the cells at random, so that the parts
are disjoint and add up to the whole (eq. 3); each cell trains its part as a smaller dense network
(`edge_training`), and the cloud puts the parts together again (eq. 7). Clients compute, send and hold a
1/N-th, or, with latency-optimal sizes, more where the cell is fast: the sizes are found anew in every global
round, from its channels and processors (Section IV-B).

Scope and limitations: what no group of units cuts (an output bias, the last matrix behind an even number of
hidden layers) is whole in every cell and averaged over cells. With several groups of units the sizes of the
group that holds most parameters are optimal, and the others follow in proportion. Sizes are planned with
fixed shares or sums over the air; with redivided shares they are as good as fixed shares let them be, and
where clients wait for resource blocks they are refused.

Source: HIST journal paper, Section II; conference paper, Section III.
"""

from typing import Literal

from cosim.allocation.submodel_sizes import latency_optimal_sizes
from cosim.configuration import ConfigurationError, at_least, configuration, field, positive, refuse
from cosim.learning.graph.combinations import assemble, submodel
from cosim.learning.network.submodels import Counts, Part, draw_parts, even_counts, proportional_counts
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.protocol import Protocol
from cosim.servers.cloud import Cloud
from cosim.simulation import Process, Simulation


@configuration
class Hist(Protocol):
    """Hierarchical independent submodel training.

    Attributes:
        num_global_rounds: Global rounds. [no source]
        training: What a cell does in a global round.
        submodel_sizes: Equal parts, or parts that make the slowest cell of a global round as fast as can be.
            [HIST journal, Section VI-B: equal]
        largest_submodel: Largest size that latency may ask for, in equal parts: eps_th / (6 delta_1^2) of
            (20b). [HIST journal, Section VI-C: eps_th = 9 delta_1^2]
        submodel_fractions: Each cell's part of the hidden units, adding up to 1; none: by submodel_sizes.
            [HIST journal, Section VI-B: equal]
    """

    num_global_rounds: int = field(at_least(1), default=40)
    training: EdgeTraining = EdgeTraining()
    submodel_sizes: Literal["equal", "latency-optimal"] = "equal"
    largest_submodel: float = field(positive, default=1.5)
    submodel_fractions: tuple[float, ...] | None = field(positive, default=None)

    def __attrs_post_init__(self) -> None:
        if self.largest_submodel < 1.0:
            rule = "parts below an equal one cannot add up to the model"
            raise refuse("Hist", "largest_submodel", self.largest_submodel, rule, "at least 1")
        if self.submodel_fractions is not None and self.submodel_sizes != "equal":
            rule = "the sizes are latency-optimal already"
            raise refuse("Hist", "submodel_fractions", self.submodel_fractions, rule, "one of the two")

    @property
    def gives_up(self) -> bool:
        """Whether an update that never comes is given up."""
        return self.training.deadline_s is not None

    @property
    def takes_sums(self) -> bool:
        """Means are all it takes."""
        return True

    @property
    def plans_times(self) -> bool:
        """Latency-optimal sizes are planned."""
        return self.submodel_sizes == "latency-optimal"

    def check(self, cloud: Cloud) -> None:
        """Refuse what this network cannot play, before the clock starts."""
        self.training.check(cloud)
        for name in ("local", "server"):
            part = getattr(self.training, name)
            if part.keeps_state:
                kind = type(part).__name__
                rule = f"{kind} keeps a state, and a cell has other units of the model in every global round"
                raise refuse("EdgeTraining", name, kind, rule, "HFedAvg, or a rule that keeps none")
        if self.submodel_fractions is not None and len(self.submodel_fractions) != len(cloud.edges):
            raise ConfigurationError(
                f"Hist.submodel_fractions has {len(self.submodel_fractions)} values for {len(cloud.edges)} "
                "cells. Usual fix: one for each cell, or none for equal parts."
            )
        if self.submodel_sizes == "latency-optimal":
            if not cloud.workload.in_parameters:
                raise ConfigurationError(
                    "Hist.submodel_sizes = 'latency-optimal': plans by parameters, and System.cycles do not "
                    "follow them. Usual fix: cycles = CyclesPerStep, or equal sizes."
                )
            link = cloud.edges[0].link.known_to("Hist.submodel_sizes = 'latency-optimal'")
            if link.num_at_once is not None:
                raise ConfigurationError(
                    "Hist.submodel_sizes = 'latency-optimal': this uplink makes clients wait for each other, "
                    "and no plan knows how long. Usual fix: sharing = FixedShares, or equal sizes."
                )
            if not cloud.shape.num_units:
                raise ConfigurationError(
                    "Hist.submodel_sizes = 'latency-optimal': System.model has no hidden units to deal. "
                    "Usual fix: a hidden layer, such as relu-784-300-10."
                )
        self.parts(Simulation(seed=0), cloud, 0)

    def parts(self, sim: Simulation, cloud: Cloud, global_round: int) -> tuple[Part, ...]:
        """Disjoint parts that add up to the whole, one for each cell (eqs. 2 and 3)."""
        units = cloud.shape.num_units
        if self.submodel_sizes == "latency-optimal":
            counts = self._fastest_counts(cloud, global_round)
        elif self.submodel_fractions is None:
            counts = even_counts(units, len(cloud.edges))
        else:
            counts = proportional_counts(units, self.submodel_fractions)
        return draw_parts(units, counts, sim.stream(cloud.name, "submodels", global_round))

    def _fastest_counts(self, cloud: Cloud, global_round: int) -> Counts:
        """Units per cell that make the slowest cell as fast as can be (eq. 20; with over-the-air sums 39)."""
        shape = cloud.shape
        widest = max(shape.num_units, key=shape.num_cut_parameters)
        num_units = shape.num_units[widest]
        uncut, unit = cloud.workload.by_units(widest)
        sizes = latency_optimal_sizes(
            [self.training.model_s(edge, uncut, global_round) for edge in cloud.edges],
            [self.training.model_s(edge, unit, global_round) for edge in cloud.edges],
            num_units=num_units,
            largest=self.largest_submodel,
        )
        fractions = [size / num_units for size in sizes]
        return proportional_counts(shape.num_units, fractions) | {widest: sizes}

    def play(self, sim: Simulation, cloud: Cloud) -> Process:
        """All global rounds; returns the global model."""
        model = cloud.initial_model(sim)
        for global_round in range(1, self.num_global_rounds + 1):
            start_s = sim.now_s
            parts = self.parts(sim, cloud, global_round)
            cells = [
                self.training.play(sim, cloud, edge, submodel(model, part), part, global_round)
                for edge, part in zip(cloud.edges, parts, strict=True)
            ]
            model = assemble(parts, (yield from sim.together(cells)))
            model = cloud.close_round(sim, global_round, start_s, model)
        return model
