"""HIST: hierarchical independent submodel training (Algorithm 1 of the HIST journal paper).

In every global round the cloud deals the hidden units of the model to the cells at random, so that the parts
are disjoint and add up to the whole (eq. 3); each cell trains its part as a smaller dense network
(`edge_training`), and the cloud puts the parts together again (eq. 7). Clients compute, send and hold a
1/N-th.

Scope and limitations: what no group of units cuts (an output bias, the last matrix behind an even number of
hidden layers) is whole in every cell and averaged over cells.

Source: HIST journal paper, Section II; conference paper, Section III.
"""

from cosim.configuration import ConfigurationError, at_least, configuration, field, positive
from cosim.learning.combinations import assemble, submodel
from cosim.learning.submodels import Part, draw_parts, even_counts, proportional_counts
from cosim.nodes import Cloud
from cosim.protocols.edge_training import EdgeTraining
from cosim.simulation import Simulation, Story


@configuration
class Hist:
    """Hierarchical independent submodel training.

    Attributes:
        num_global_rounds: Global rounds. [no source]
        training: What a cell does in a global round.
        submodel_fractions: Each cell's part of the hidden units, adding up to 1; none: equal parts. [HIST
            journal, Section VI-B: equal]
    """

    num_global_rounds: int = field(at_least(1), default=40)
    training: EdgeTraining = EdgeTraining()
    submodel_fractions: tuple[float, ...] | None = field(positive, default=None)

    @property
    def gives_up(self) -> bool:
        """Whether an update that never comes is given up."""
        return self.training.deadline_s is not None

    def check(self, cloud: Cloud) -> None:
        """Refuse what this network cannot play, before the clock starts."""
        self.training.check(cloud)
        if self.submodel_fractions is not None and len(self.submodel_fractions) != len(cloud.edges):
            raise ConfigurationError(
                f"Hist.submodel_fractions has {len(self.submodel_fractions)} values for {len(cloud.edges)} "
                "cells. Usual fix: one for each cell, or none for equal parts."
            )
        self.parts(Simulation(seed=0), cloud, 0)

    def parts(self, sim: Simulation, cloud: Cloud, global_round: int) -> tuple[Part, ...]:
        """Disjoint parts that add up to the whole, one for each cell (eqs. 2 and 3)."""
        units = cloud.shape.num_units
        if self.submodel_fractions is None:
            counts = even_counts(units, len(cloud.edges))
        else:
            counts = proportional_counts(units, self.submodel_fractions)
        return draw_parts(units, counts, sim.stream(cloud.name, "submodels", global_round))

    def play(self, sim: Simulation, cloud: Cloud) -> Story:
        """All global rounds; returns the global model."""
        model = cloud.initial_model(sim)
        for global_round in range(1, self.num_global_rounds + 1):
            start_s = sim.now_s
            parts = self.parts(sim, cloud, global_round)
            cells = [
                self.training.play(
                    sim, cloud, edge, submodel(model, part), cloud.shape.num_parameters(part), global_round
                )
                for edge, part in zip(cloud.edges, parts, strict=True)
            ]
            model = assemble(parts, (yield from sim.together(cells)))
            model = cloud.close_round(sim, global_round, start_s, model)
        return model
