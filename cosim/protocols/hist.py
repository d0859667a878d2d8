"""HIST: hierarchical independent submodel training (Algorithm 1 of the HIST journal paper).

In every global round the cloud deals the hidden units of the model to the cells at random, so that the parts
are disjoint and add up to the whole (eq. 3); each cell trains its part as a smaller dense network
(`edge_training`), and the cloud puts the parts together again (eq. 7). Clients compute, send and hold 1/N of
the model, or, by another rule of `submodel_sizes`, more in fast cells.

Scope and limitations: tensors that no group of units cuts (an output bias, the last matrix after an even
number of hidden layers) are whole in every cell and averaged over cells.

Source: HIST journal paper, Section II; conference paper, Section III.
"""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError, part, refuse
from cosim.devices.load import Load
from cosim.protocols.combinations import AssembledModel, Submodel
from cosim.protocols.drawn_parts import draw_parts
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hierarchical import Hierarchical
from cosim.protocols.servers import Cloud
from cosim.protocols.submodel_sizes import EqualSizes, SubmodelSizes
from cosim.values.pending import PendingModel
from cosim.values.submodels import Part


@part
class Hist(Hierarchical):
    """Hierarchical independent submodel training.

    Attributes:
        training: Training of a cell in a global round, after which it gets other units of the model.
        submodel_sizes: Rule for the number of hidden units that each cell trains. [HIST journal, Section
            VI-B: equal parts]
    """

    training: EdgeTraining = EdgeTraining()
    submodel_sizes: SubmodelSizes = EqualSizes()

    @override
    def check(self, cloud: Cloud) -> None:
        """Refuse a network that cannot be cut into a part for each cell, before the clock starts."""
        super().check(cloud)
        if self.training.local.companions is not None:
            kind = type(self.training.local).__name__
            rule = f"{kind} sends more than the model, but a cell has other units in every global round"
            raise refuse("EdgeTraining", "local", kind, rule, "Use HFedAvg, or plain Sgd.")
        rules = {"local": self.training.local, "server": self.training.server, "codec": cloud.workload.codec}
        for name, rule_of in rules.items():
            if rule_of.keeps_state:
                kind, owner = type(rule_of).__name__, "System" if name == "codec" else "EdgeTraining"
                rule = f"{kind} keeps a state, but a cell has other units of the model in every global round"
                raise refuse(owner, name, kind, rule, "Use HFedAvg, or a rule that keeps no state.")
        _units_of(cloud)
        self.submodel_sizes.check(cloud)
        self.loads(cloud)

    def parts(self, sim: Simulation, cloud: Cloud, global_round: int) -> tuple[Part, ...]:
        """Disjoint parts that add up to the whole, one for each cell (eqs. 2 and 3)."""
        units = _units_of(cloud)
        counts = self.submodel_sizes.counts(cloud, self.training, global_round)
        parts = draw_parts(units, counts, sim.stream(cloud.name, "submodels", global_round))
        if len(parts) != len(cloud.edges):
            raise ConfigurationError(
                f"{type(self.submodel_sizes).__name__}.counts has {len(parts)} sizes for "
                f"{len(cloud.edges)} cells. Give one for each."
            )
        return parts

    @override
    def loads(self, cloud: Cloud) -> Sequence[Load]:
        return [cloud.workload.of(part) for part in self.parts(Simulation(seed=0), cloud, 0)]

    @override
    def global_round(self, sim: Simulation, cloud: Cloud, model: PendingModel, number: int) -> Process:
        """Train a part in every cell; returns the model that they form together."""
        parts = self.parts(sim, cloud, number)
        cells = [
            self.training.run(sim, cloud, edge, Submodel(model, part), part, number)
            for edge, part in zip(cloud.edges, parts, strict=True)
        ]
        return AssembledModel(parts, (yield from sim.together(cells)))


def _units_of(cloud: Cloud) -> Mapping[str, int]:
    """Number of units in each group of which every cell gets some."""
    if not cloud.shape.num_units:
        raise ConfigurationError(
            "Hist: every cell trains other units of the network, but System.model declares no groups "
            "of units (unit_groups). Use the protocol HFedAvg, in which every cell trains the whole "
            "model; or declare unit_groups in the network, such as {'hidden': (('0.weight', 0), "
            "('2.weight', 1))}."
        )
    return cloud.shape.num_units
