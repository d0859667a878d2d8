"""Resolver: computes pending values when they are first read, and no earlier.

Reading a value resolves exactly its ancestors, level by level (`levels`): all client updates of one level,
over all cells and all versions of an asynchronous model, together; grouped into cohorts that share a program
(`cohorts`), which their rule of local training gives (`local_training`); each cohort, or several small ones,
one batched torch program on one torch thread; added to the sums in the order of clients' numbers, cohort by
cohort, where models of one level are made of each other in their order first. A model is settled, and its
sum freed, as soon as all it is made of is there.

An update that is not read is never computed, and none is trained twice. A client's weights live as long as
its cohort, and longer only while something else references the update: a model that is not read yet, or a
variable. Event times do not depend on weights, so all this is exact.

Validation: tests/engine/learning against a sequential loop of torch.optim.SGD; speed in
benchmarks/learner.py.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import attrs
import torch

from cosim.codecs.transmission import transmitted
from cosim.engine.learning.cohorts import WorkingSet, cohorts, joined
from cosim.engine.learning.levels import Level, Need, levels
from cosim.engine.learning.workers import Workers, one_torch_thread
from cosim.names import by_number
from cosim.networks.own_networks import OwnNetworks
from cosim.training.programs.of_rule import program_of
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingModel, PendingState, PendingUpdate, PendingValue
from cosim.values.submodels import NetworkShape
from cosim.values.weights import WeightedSum, Weights

VARIANCE = "running_var"
"""How the names of running variances end."""


class _Trained(NamedTuple):
    """Trained cohorts: steps, of each addends of models' sums, updates still referenced, states left."""

    num_steps: int
    sums: list[dict[PendingValue, WeightedSum]]
    wanted: list[tuple[PendingUpdate, Weights]]
    states: list[tuple[PendingState, Weights]]


@attrs.define(eq=False)
class Resolver:
    """Computes pending values on one device, with networks whose own values do not matter.

    Attributes:
        sample_floats: Numbers of a sample that count in the working set.
        kept: Weights of updates that are trained and still referenced.
        num_local_steps: SGD steps computed so far, over all clients.
    """

    _networks: OwnNetworks
    _shape: NetworkShape
    _training_set: TrainingSet
    working_set: WorkingSet
    _sample_floats: int
    _workers: Workers
    _device: str
    kept: WeakKeyDictionary[PendingUpdate, Weights] = attrs.field(factory=WeakKeyDictionary, init=False)
    num_local_steps: int = attrs.field(default=0, init=False)

    def resolve(self, *values: PendingValue) -> None:
        """Compute models and states together."""
        with one_torch_thread():
            for level in map(partial(Level, kept=self.kept), levels(*values)):
                self._settle_ready(level)
                for trained in self._workers.in_order(self._trainings(level)):
                    self.num_local_steps += trained.num_steps
                    while trained.states:
                        state, tensors = trained.states.pop()
                        state.settle(tensors)
                        level.left(state)
                    while trained.wanted:
                        update, weights = trained.wanted.pop()
                        self.kept[update] = weights
                    for sums in trained.sums:
                        level.add(sums)
                    self._settle_ready(level)

    def _settle_ready(self, level: Level) -> None:
        for node, update_sum in level.ready():
            if not isinstance(node, PendingModel):
                continue
            models = [parent.settled for parent in node.parents]
            weights = node.combine(self._shape, models, update_sum)
            if (before := models[0] if models else update_sum) is not None:  # what clients keep stays there
                weights |= {name: before[name] for name in self._shape.personal if name in before}
            weights = {name: v.to(self._device, torch.float32) for name, v in weights.items()}
            for name in self._shape.moving:
                if name.endswith(VARIANCE):
                    weights[name] = weights[name].clamp(min=0.0)
            node.settle(weights)

    def _trainings(self, level: Level) -> Iterator[Callable[[], _Trained]]:
        """One task per call; what a chain of models needs first comes first."""

        def order(update: PendingUpdate) -> tuple[int, tuple[str, int], int]:
            return (level.needs[update].place, by_number(update.client), update.key)

        def shared(update: PendingUpdate) -> Hashable:
            return program_of(update.training).shared(update, data)

        def joins(update: PendingUpdate) -> bool:
            network = self._networks.of_this_thread()
            return program_of(update.training).keeps_bits(network, update, data)

        data = self._training_set
        of = self._sample_floats, self.working_set
        found = list(cohorts(level.needs, *of, shared, order))
        calls = joined(found, *of, self._workers.num_workers, shared, joins)
        planned = deque(sorted(calls, key=lambda call: level.needs[call[0][0]].place))
        while planned:
            call = planned.popleft()
            yield partial(self._train, [[level.needs.pop(update) for update in cohort] for cohort in call])

    def _train(self, call: Sequence[Sequence[Need]]) -> _Trained:
        """Train the updates of a call's cohorts that are not trained yet."""
        needs = [need for cohort in call for need in cohort]
        untrained = [n.update for n in needs if n.trained is None or any(n.update.wanted_states)]
        weights_C: Weights = {}
        states: Sequence[Weights] = ()
        if untrained:
            companions = untrained[0].training.beside(self._shape).items()
            beside = {name: torch.zeros(size, device=self._device) for name, size in companions}
            starts = [beside | update.begun for update in untrained]
            weights_C = {name: torch.stack([start[name] for start in starts]) for name in starts[0]}
            for update in untrained:
                self._training_set.check(update)
            program = program_of(untrained[0].training)
            network = self._networks.of_this_thread().train()
            states = program.train(network, weights_C, self._training_set, untrained)
        trained = _Trained(sum(update.num_steps for update in untrained), [], [], [])
        place = {update: client for client, update in enumerate(untrained)}
        own_C = {name: weights_C[name] for name in weights_C if name in self._shape.personal}
        uncoded = self._shape.personal | self._shape.moving.keys()
        coded_C = {name: values_C for name, values_C in weights_C.items() if name not in uncoded}
        for update, client in place.items():
            own = {name: values_C[client].clone() for name, values_C in own_C.items()}
            left = (states[client] if states else {}, transmitted(update, coded_C, client), own)
            for name, values_C in own_C.items():
                values_C[client] = update.model.settled[name]  # it does not travel
            for wanted, tensors in zip(update.wanted_states, left, strict=True):
                if wanted is not None:
                    trained.states.append((wanted, tensors))
        for cohort in call:
            sums: defaultdict[PendingValue, WeightedSum] = defaultdict(WeightedSum)
            trained.sums.append(sums)
            for need in cohort:
                updated, client = need.trained, place.get(need.update)
                if updated is None:
                    assert client is not None
                    updated = {name: values_C[client] for name, values_C in weights_C.items()}
                    if (original := need.original()) is not None:
                        own = {name: values.clone() for name, values in updated.items()}
                        trained.wanted.append((original, own))
                for node, coefficient in need.uses:
                    sums[node].add(coefficient, updated)
        return trained
