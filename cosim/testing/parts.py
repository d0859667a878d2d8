"""Parts: the laws of each port, checked on a part by itself and in small systems that hold it."""

import math
from typing import Any

import attrs
import numpy as np

from cosim.clock.simulation import Simulation
from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.configuration import lacks_in
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.data.port import Data
from cosim.devices.presence import Presence
from cosim.links.port import Link
from cosim.names import client_name
from cosim.networks.of_run import network_of
from cosim.protocols.port import Protocol
from cosim.queues.arrivals import Arrivals
from cosim.queues.initial_work import NoWork
from cosim.queues.queued_link import QueuedLink
from cosim.queues.service import Deterministic
from cosim.selection.port import Selection
from cosim.system.system import System
from cosim.tasks.port import Task
from cosim.testing.contract import contract
from cosim.testing.laws.arriving import check_stream
from cosim.testing.laws.broken import broken
from cosim.testing.laws.codes import check_code, check_model_code
from cosim.testing.laws.links import check_carried
from cosim.testing.laws.presences import check_windows
from cosim.testing.runs import check_in_small, check_system
from cosim.testing.systems import quiet_system
from cosim.training.port import LocalTraining
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate


@contract
def check_protocol(protocol: Protocol, system: System | None = None, network: Any = None) -> None:
    """Check the laws of runs with a protocol.

    Args:
        system: The system that it runs in, where the small system does not suit it.
        network: What is trained. None means the system's model by name.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    if system is None:
        has_rounds = not lacks_in(protocol, GLOBAL_ROUNDS)
        check_in_small(network, has_rounds=has_rounds, protocol=protocol)
    else:
        check_system(attrs.evolve(system, protocol=protocol), network)


@contract
def check_link(link: Link) -> None:
    """Check the laws of uploads and downloads, and of runs with a link in each direction that it has.

    Runs are without a deadline, and with one that cuts some.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    check_carried(link)
    for direction in link.directions:
        part: dict[str, Any] = {f"{direction}link": link}
        check_in_small(**part)


@contract
def check_arrivals(arrivals: Arrivals) -> None:
    """Check the stream of packets by itself, and the laws of a link through a network that has it.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    check_stream(arrivals)
    half_busy = Deterministic(duration_s=0.5 / max(arrivals.mean_rate_per_s, 0.5))
    check_link(QueuedLink(arrivals=arrivals, service=half_busy, initial_work=NoWork()))


@contract
def check_codec(codec: Codec, system: System | None = None, network: Any = None) -> None:
    """Check what a codec says of uploads, and the laws of runs with it.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    check_code(codec)
    _check({"codec": codec}, system, network)


@contract
def check_model_codec(codec: ModelCodec) -> None:
    """Check what a codec says of models on their way down, and the laws of runs with it.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    check_model_code(codec)
    check_in_small(model_codec=codec)


@contract
def check_data(data: Data, system: System | None = None, network: Any = None) -> None:
    """Check which client holds what, and the laws of runs on a data set.

    Args:
        system: The system that learns it, with a model that takes its features. None means the small one,
            whose model takes 12 features and 4 classes.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    given, system = system, attrs.evolve(system or quiet_system(), data=data)
    sizes = system.sizes()
    sims = (Simulation(system.seed), Simulation(system.seed))
    dataset, again = (data.load(sim, None) for sim in sims)
    held, held_again = data.held(sims[0], dataset, sizes), data.held(sims[1], again, sizes)
    if len(held) != system.num_clients:
        where = f"{len(held)} clients hold samples, of {system.num_clients}"
        raise broken("holders", where, "one entry for each client, cell by cell")
    for client, (samples, samples_again) in enumerate(zip(held, held_again, strict=True)):
        one, other = samples(), samples_again()
        where = f"client {client} holds "
        if not (len(one) and one.min() >= 0 and one.max() < dataset.num_sample_numbers):
            raise broken("samples", f"{where}none, or numbers out of range", "indices of another table")
        if one.flags.writeable:
            raise broken("samples", f"{where}an array that can be written to", "flags.writeable = False")
        if not np.array_equal(one, other):
            raise broken("determinism", f"{where}other samples in the same run", "an unnamed generator")
    outline = data.outline
    if outline is not None and (outline.num_features, outline.num_classes) != (
        dataset.num_features,
        dataset.num_classes,
    ):
        where = f"{outline.num_features} features and {outline.num_classes} classes, loaded are "
        found = f"{dataset.num_features} and {dataset.num_classes}"
        raise broken("outline", where + found, "an outline of another data set")
    _check({"data": data}, given, network)


@contract
def check_selection(rule: Selection, system: System | None = None, network: Any = None) -> None:
    """Check the laws of runs with a selection rule.

    Args:
        system: A system whose protocol has `training.selection`, where the rule is put. None means the small
            one, whose cells have 3 and 2 clients.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    _check({"protocol": _training_with(system, selection=rule)}, system, network)


@contract
def check_presence(presence: Presence, system: System | None = None) -> None:
    """Check that windows are in order and each client's own, and the laws of runs with a presence.

    Args:
        system: A system whose devices have `presence`, where it is put. None means the small one.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    usual = system or quiet_system()
    check_windows(presence, [client_name(number) for number in range(usual.num_clients)], usual.seed)
    devices = attrs.evolve(usual.devices, presence=presence)  # type: ignore[call-arg]
    _check({"devices": devices}, system)


@contract
def check_local_training(rule: LocalTraining, system: System | None = None, network: Any = None) -> None:
    """Check that training is its own, and the laws of runs with a rule.

    A client's update must not depend on which clients are trained beside it; that is compared to float32
    rounding.

    Args:
        system: A system whose protocol has `training.local`, where the rule is put. None means the small one.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    _check({"protocol": _training_with(system, local=rule)}, system, network)
    _trains_alone(rule, system or quiet_system(), network)


@contract
def check_task(task: Task, system: System | None = None, network: Any = None) -> None:
    """Check that a loss is a mean and that sums add up, and the laws of runs with a task.

    Args:
        system: The system that it is learned in, with data that suit it. None means the small one, which has
            4 classes.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    from cosim.networks.probe.task import trial

    given, system = system, attrs.evolve(system or quiet_system(), task=task)
    tried = trial(task, system.data.load(Simulation(system.seed), None))
    if not math.isclose(tried.loss, tried.loss_of_twice, rel_tol=1e-4):
        where = f"{tried.loss} of a batch, {tried.loss_of_twice} of the batch twice"
        raise broken("mean loss", where, "a sum where a mean is meant")
    if not tried.has_gradients:
        raise broken("gradients", "one is not finite", "the logarithm or the root of 0")
    for name, value in tried.sums.items():
        added = math.fsum(of[name] for of in tried.sums_of_slices)
        if not math.isclose(added, value, rel_tol=1e-4, abs_tol=1e-6):
            raise broken("sums", f"{name} is {value}, and {added} by slices", "a mean where a sum is meant")
    _check({"task": task}, given, network)


def _check(parts: dict[str, Any], system: System | None, network: Any = None) -> None:
    """Check all laws of runs on parts, in a system that holds them, or in the small one."""
    if system is None:
        check_in_small(network, **parts)
    else:
        check_system(attrs.evolve(system, **parts), network)


def _training_with(system: System | None, **parts: Any) -> Protocol:
    """The protocol of a system, or of the small one, whose `training` has these parts."""
    protocol: Any = (system or quiet_system()).protocol
    return attrs.evolve(protocol, training=attrs.evolve(protocol.training, **parts))


def _trains_alone(rule: LocalTraining, system: System, network: Any) -> None:
    from cosim.engine.learning.learner import Learner

    sim = Simulation(system.seed)
    dataset = system.data.load(sim, None)
    held = system.data.held(sim, dataset, system.sizes())
    network = network_of(system) if network is None else network
    learner = Learner(network, dataset, num_workers=1, task=system.task)
    start = learner.initial_model(1)

    def updates() -> list[PendingUpdate]:
        return [
            PendingUpdate(
                client=f"client-{client:04d}",
                model=start,
                samples=samples(),
                num_steps=2,
                training=rule,
                key=client,
            )
            for client, samples in enumerate(held)
        ]

    together = updates()
    mean_of_all = learner.weights(mean(together))
    alone = [learner.weights(mean([update])) for update in updates()]
    for name, values in mean_of_all.items():
        if not np.allclose(np.mean([each[name] for each in alone], axis=0), values, rtol=1e-4, atol=1e-6):
            where = f"{name} differs where clients are trained together and one by one"
            raise broken("own training", where, "a draw or a value that clients share")
