"""Networks: the laws of what is trained, by itself and in a small system."""

from typing import Any

import attrs
import numpy as np

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.data.port import Data
from cosim.networks.of_run import network_of
from cosim.system.system import System
from cosim.tasks.port import Task
from cosim.testing.contract import contract
from cosim.testing.laws.broken import BrokenLaw, broken
from cosim.testing.runs import check_system
from cosim.testing.systems import quiet_system
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate

NUM_CLIENTS, NUM_STEPS, NUM_ROUNDS = 3, 2, 2
NUM_EVALUATED = 5
"""Test samples whose outputs are compared."""

ROUNDING = 1e-3
"""Share of a tensor's largest change by which float32 may differ. [no source]"""

REMEMBERS = "a forward pass that keeps something outside of parameters and buffers, or writes into its inputs"


@contract
def check_network(
    network: Any, data: Data | None = None, task: Task | None = None, system: System | None = None
) -> None:
    """Check that a network trains as in a plain loop of torch, however clients are grouped; and laws of runs.

    Args:
        network: A `torch.nn.Module`, or its name, as `System.model` has it.
        data: What it learns. None means the system's data.
        task: What is minimised. None means the system's task.
        system: The system that it is learned in. None means the small one, whose data have 12 features and 4
            classes.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    system = quiet_system() if system is None else system
    system = system if data is None else attrs.evolve(system, data=data)
    system = system if task is None else attrs.evolve(system, task=task)
    try:
        if isinstance(network, str):
            system = attrs.evolve(system, model=network)
            network = network_of(system)
        trained = _Trained(network, system)
        trained.as_plainly()
        trained.with_any_number_of_threads()
        trained.sample_by_sample()
        check_system(system, network)
    except ConfigurationError as refused:
        raise BrokenLaw(f"before the clock: {refused}") from None


class _Trained:
    """A network, and some clients of a system that train it."""

    def __init__(self, network: Any, system: System) -> None:
        self._network, self._system = network, system
        sim = Simulation(system.seed)
        self._dataset: Dataset = system.data.load(sim, None)
        held = system.data.held(sim, self._dataset, system.sizes())
        self._samples = [samples() for samples in held[:NUM_CLIENTS]]
        self._learner = self._new_learner(num_workers=1)

    def _new_learner(self, num_workers: int) -> Any:
        from cosim.engine.learning.learner import Learner

        brings_weights = self._system.initial_weights == "network"
        task = self._system.task
        return Learner(
            self._network, self._dataset, num_workers=num_workers, brings_weights=brings_weights, task=task
        )

    def _updates(self, start: PendingModel, first_key: int = 0) -> list[PendingUpdate]:
        rule = Sgd(batch_size=min(8, *map(len, self._samples)), learning_rate=0.01)
        return [
            PendingUpdate(
                client=f"client-{client}",
                model=start,
                samples=samples,
                num_steps=NUM_STEPS,
                training=rule,
                key=first_key + client,
            )
            for client, samples in enumerate(self._samples)
        ]

    def as_plainly(self) -> None:
        """Clients that train together, and one by one, end where a plain loop of torch ends."""
        from cosim.networks.probe.plain_loop import trained_plainly

        learner = self._learner
        start = learner.initial_model(1)
        first, again = learner.weights(start), learner.weights(learner.initial_model(1))
        _same("initial weights", first, again, "differ for one seed", "values that another generator draws")
        asked = self._updates(start)
        plain = [trained_plainly(self._network, first, self._dataset, learner.task, one) for one in asked]
        expected = {name: np.mean([one[name] for one in plain], axis=0) for name in first}
        together = learner.weights(mean(asked))
        ends = [learner.weights(mean([one])) for one in self._updates(start)]
        alone = {name: np.mean([end[name] for end in ends], axis=0) for name in first}
        for how, found in (("together", together), ("one by one", alone)):
            for name, values in expected.items():
                most = np.abs(values - first[name]).max()
                if not np.allclose(
                    found[name], values, rtol=0.0, atol=ROUNDING * most + 1e-6, equal_nan=True
                ):
                    where = f"{name} of clients that are trained {how} is another than by torch alone"
                    raise broken("plain loop", where, REMEMBERS)

    def with_any_number_of_threads(self) -> None:
        """Rounds and evaluations give the same bits with one thread and with three, evaluated or not."""
        found = []
        for num_workers, evaluates in ((1, True), (3, True), (1, False)):
            learner = self._new_learner(num_workers)
            model = learner.initial_model(1)
            scores = []
            for number in range(NUM_ROUNDS):
                model = mean(self._updates(model, first_key=NUM_CLIENTS * number))
                scores += [learner.evaluate(model), learner.evaluate(model)] if evaluates else []
            if any(not _are(one, other) for one, other in zip(scores[::2], scores[1::2], strict=True)):
                raise broken("evaluation", "a second one of the same model gives other scores", REMEMBERS)
            found.append((learner.weights(model), scores))
        (weights, scores), (of_three, scores_of_three), (unseen, _) = found
        _same("threads", weights, of_three, "differ with one thread and with three", REMEMBERS)
        _same("evaluation", weights, unseen, "differ where models are evaluated between", REMEMBERS)
        if not all(map(_are, scores, scores_of_three)):
            raise broken("threads", "scores differ with one thread and with three", REMEMBERS)

    def sample_by_sample(self) -> None:
        """In evaluation mode outputs for a sample do not depend on the samples beside it."""
        from cosim.networks.probe.plain_loop import evaluated_plainly

        weights = self._learner.weights(self._learner.initial_model(1))
        together, alone = evaluated_plainly(self._network, weights, self._dataset.test_x[:NUM_EVALUATED])
        most = np.abs(together[np.isfinite(together)]).max(initial=0.0)
        if not np.allclose(together, alone, rtol=0.0, atol=ROUNDING * most, equal_nan=True):
            where = "outputs for a sample in evaluation mode depend on the samples beside it"
            reason = "layers that take the batch for a sequence (batch_first=True), or statistics of a batch"
            raise broken("own outputs", where, reason)


def _same(law: str, weights: Any, others: Any, differ: str, reason: str) -> None:
    """Check that weights have the same bits."""
    for name, values in weights.items():
        if not np.array_equal(values, others[name], equal_nan=True):
            raise broken(law, f"weights {name} {differ}", reason)


def _are(one: Any, other: Any) -> bool:
    """True if scores are the same."""
    return one.keys() == other.keys() and np.array_equal([*one.values()], [*other.values()], equal_nan=True)
