"""Planted bugs, each of which a public contract must name: its law, where, and the usual reason.

Each part is a user's own, small, and wrong in one line; `test_testing.py` has more, of the oldest laws.
"""

import datetime
import random
import sys
import time
from collections.abc import Callable
from io import BytesIO
from types import ModuleType
from typing import Any, ClassVar

import attrs
import numpy as np
import own_parts
import pytest
import torch
import warm
from torch import nn

import cosim
from cosim.configuration import knob, part, positive
from cosim.radio.sharing.port import Band
from cosim.radio.sharing.shares import FixedBand
from cosim.testing import (
    BrokenLaw,
    check_codec,
    check_link,
    check_local_training,
    check_model_codec,
    check_presence,
    check_protocol,
    check_selection,
    check_system,
    second_process,
    small_system,
)
from cosim.testing.laws.activities import silent_cells
from cosim.testing.laws.codes import check_code
from cosim.testing.laws.links import check_carried
from cosim.testing.laws.names import check_names_of

SMALL = small_system()
TRAINING = SMALL.protocol.training


def in_small(**parts: Any) -> Callable[[], None]:
    """The contract of parts that have none but that of systems."""
    return lambda: check_system(attrs.evolve(SMALL, **parts))


def waiting_by(rule: cosim.waiting.Waiting) -> Callable[[], None]:
    training = attrs.evolve(TRAINING, waiting=rule)
    return lambda: check_protocol(cosim.HFedAvg(training=training))


def in_training(**parts: Any) -> Callable[[], None]:
    return lambda: check_protocol(cosim.HFedAvg(training=attrs.evolve(TRAINING, **parts)))


def in_radio(**parts: Any) -> Callable[[], None]:
    return lambda: check_link(cosim.Radio(**parts))


# --- Fast on one clock only ---------------------------------------------------------------------------------


class Cable(cosim.Link):
    """A cable to each client; a subclass has a link that is wrong."""

    def of_cells(self, sim, cells):
        return [type(self).link() for _ in cells]

    class link(cosim.CellLink):
        def rates_bps(self, sim, clients, job, tx_power_w):
            return np.full(len(clients), 1e6)


@part
class ByTheClock(cosim.Rayleigh):
    def vectors(self, sim, clients, block):
        return (1.0 + 100.0 * sim.now_s) * super().vectors(sim, clients, block)


ON_ONE_CLOCK = {
    "numbers by the clock": in_radio(fading=ByTheClock(redrawn=cosim.radio.EveryEdgeRound())),
}


@pytest.mark.parametrize("check", ON_ONE_CLOCK.values(), ids=ON_ONE_CLOCK)
def test_a_part_that_is_another_on_arrays_is_caught(check):
    with pytest.raises(BrokenLaw, match=r"^both clocks: .* Usual reason: a method of one event and one of"):
        check()


def test_a_part_that_says_the_same_on_arrays_keeps_the_laws():
    check_link(Cable())


# --- Bits and times of links --------------------------------------------------------------------------------


class Ways(cosim.Link):
    """One way to each edge server, of this kind."""

    link: ClassVar[type]

    def of_cells(self, sim, cells):
        return [type(self).link(sim) for _ in cells]


class DownWays(cosim.Link):
    directions = ("down",)
    link: ClassVar[type]

    def of_cells(self, sim, cells):
        return [type(self).link(sim) for _ in cells]


class Line:
    """One after the other, and no upload says that it waits."""

    is_granted = False

    def __init__(self, sim):
        self.sim, self.free_s = sim, 0.0

    def in_turn(self, bits):
        wait_s = max(0.0, self.free_s - self.sim.now_s)
        upload = cosim.links.SteadyUpload(self.sim, bits, 1e6, wait_s)
        self.free_s = self.sim.now_s + wait_s + bits / 1e6
        if not self.is_granted:
            upload.granted = None
        return upload


class Queued(Ways):
    class link(Line, cosim.CellLink):
        def open(self, client, payload, job, tx_power_w=None):
            return self.in_turn(payload.bits)


class QueuedDown(DownWays):
    class link(Line, cosim.CellLink):
        def open(self, client, payload, job, tx_power_w=None):
            return self.in_turn(payload.bits)


class Granted(Ways):
    """The same queue, in which waiting takes no power."""

    class link(Queued.link):
        is_granted = True


class Half(Ways):
    class link(cosim.CellLink):
        def __init__(self, sim):
            self.sim = sim

        def open(self, client, payload, job, tx_power_w=None):
            return cosim.links.SteadyUpload(self.sim, payload.bits / 2, 1e6)


class HalfDown(Half):
    directions = ("down",)


@part
class HalfBand(cosim.FixedShares):
    def bands(self, sim, num_cells):
        return [HalfBandOfCell(sim, self.bandwidth_hz) for _ in range(num_cells)]


class HalfBandOfCell(Band):
    def __init__(self, sim, bandwidth_hz):
        self.sim, self.bandwidth_hz = sim, bandwidth_hz

    def share_hz(self, num_clients):
        return self.bandwidth_hz / num_clients

    def open(self, client, channel, payload, block):
        return cosim.links.SteadyUpload(self.sim, payload.bits / 2, channel.rate_bps(self.share_hz(1), block))


@part
class Known(cosim.FixedShares):
    """Says a multiple of what it will be."""

    factor: float = knob(positive, default=1000.0)

    def bands(self, sim, num_cells):
        return [KnownBand(self.bandwidth_hz, self.factor) for _ in range(num_cells)]


class KnownBand(FixedBand):
    def __init__(self, bandwidth_hz, factor):
        super().__init__(bandwidth_hz)
        self.factor = factor

    def upload_s(self, rates_bps, payload, num_clients):
        return self.factor * super().upload_s(rates_bps, payload, num_clients)


LINKS = {
    "queue billed as sending": (lambda: check_link(Queued()), "^sending: .* beside two others"),
    "queue billed as receiving": (lambda: check_link(QueuedDown()), "^receiving: .* beside two others"),
    "half of the bits": (lambda: check_link(Half()), "^bits: 16000.0 of 32000.0 bits are left"),
    "half of the bits in a band": (in_radio(sharing=HalfBand()), "^bits: 16000.0 of 32000.0 bits"),
    "half of the bits down": (lambda: check_link(HalfDown()), "^bits: 16000.0 of 32000.0 bits are left"),
    "known in ms": (in_radio(sharing=Known()), "^known: an upload alone takes 0.001 times as long"),
    "known by a fifth": (in_radio(sharing=Known(factor=1.25)), "^known: an upload alone takes 0.8 times"),
    "known in ms, with errors": (in_radio(sharing=Known(), csi_error_db=3.0), "^known: "),
}


@pytest.mark.parametrize(("check", "law"), LINKS.values(), ids=LINKS)
def test_a_link_that_is_not_what_it_says_is_caught(check, law):
    with pytest.raises(BrokenLaw, match=law):
        check()


@pytest.mark.parametrize(
    "uplink",
    [
        Granted(),
        cosim.Radio(csi_error_db=3.0),
        cosim.Radio(
            fading=cosim.Rayleigh(num_antennas=1, redrawn=cosim.radio.CoherenceTime(coherence_time_s=1e-3))
        ),
        cosim.QueuedLink(
            paths=cosim.queues.SharedPath(), packet_bits=1000, initial_work=cosim.queues.NoWork()
        ),
        cosim.Radio(
            sharing=cosim.radio.SlottedAloha(bandwidth_hz=1e6, slot_s=1e-3, transmit_probability=0.3)
        ),
    ],
    ids=["granted", "gain errors", "fades", "shared queue", "random access"],
)
def test_links_that_wait_or_know_with_errors_keep_the_laws(uplink):
    check_carried(uplink)


# --- What arrives -------------------------------------------------------------------------------------------


@part
class Thin(cosim.codecs.Codec):
    """A thousandth of a bit, and all arrives."""

    bits_per_value: float = knob(positive, default=1e-3)

    def bits(self, num_values):
        return self.bits_per_value * num_values


class Through(Thin):
    """Changes nothing in a method that says that it does."""

    def transmit(self, sent):
        for values in sent.change.values():
            values *= 2.0


class Rounded(Thin):
    """Eight significant bits of each."""

    def transmit(self, sent):
        for values in sent.change.values():
            values.copy_(values.bfloat16().float())


@part
class ThinModel(cosim.codecs.ModelCodec):
    def bits(self, num_values):
        return 4.0 * num_values

    def received(self, values):
        return values.bfloat16().float()


@part
class Padded(cosim.codecs.Uncompressed):
    def payload(self, num_values):
        return super().payload(num_values)._replace(bits=16.0 * num_values)


CODES = {
    "all through": lambda: check_codec(Thin()),
    "all through, twice as large": lambda: check_codec(Through(bits_per_value=0.5)),
    "rounded to 8 bits": lambda: check_codec(Rounded(bits_per_value=4.0)),
    "a model": lambda: check_model_codec(ThinModel()),
}


@pytest.mark.parametrize("check", CODES.values(), ids=CODES)
def test_more_that_arrives_than_the_bits_can_say_is_caught(check):
    with pytest.raises(BrokenLaw, match=r"^code: .* Usual reason: "):
        check()


def test_a_payload_of_other_bits_than_the_codec_has_is_caught():
    with pytest.raises(BrokenLaw, match=r"^bits: a payload of 16.0 bits for 1 values, which have 32"):
        check_codec(Padded())


class Halving:
    """An edge server that gives its clients half of the bits to carry."""

    def __init__(self, edge):
        self.edge = edge

    def __getattr__(self, name):
        return getattr(self.edge, name)

    def run_round(self, sim, participants, work, *given):
        payload = work.payload._replace(bits=work.payload.bits // 2)
        return self.edge.run_round(sim, participants, attrs.evolve(work, payload=payload), *given)


@part
class HalfPayload(cosim.EdgeTraining):
    def run(self, sim, cloud, edge, model, part, global_round):
        return super().run(sim, cloud, Halving(edge), model, part, global_round)


def test_clients_that_carry_other_bits_than_the_codec_has_are_caught():
    said = r"^bits: upload of client-\d+: 2048 bits for 128 values, which have 4096"
    with pytest.raises(BrokenLaw, match=said):
        check_protocol(cosim.HFedAvg(training=HalfPayload(local=cosim.Sgd(batch_size=10))))


OUR_CODES = [
    cosim.codecs.Uncompressed(bits_per_parameter=1),
    cosim.codecs.BFloat16(),
    cosim.codecs.Float16(),
    cosim.codecs.Qsgd(),
    cosim.codecs.TopK(),
    cosim.codecs.RandomK(),
    cosim.codecs.Signs(),
    cosim.codecs.ErrorFeedback(),
    own_parts.Largest(),
]


@pytest.mark.parametrize("codec", OUR_CODES, ids=lambda codec: type(codec).__name__)
def test_our_codes_say_no_more_than_their_bits(codec):
    check_code(codec)


# --- What is learned, and by whom ---------------------------------------------------------------------------


class Undivided(cosim.FedBuff):
    def moved(self, model, arrivals, num_clients):
        moved, weights = super().moved(model, arrivals, num_clients)
        return moved, [weight * self.num_updates for weight in weights]


class Backwards(cosim.protocols.TimeTriggered):
    def moved(self, model, arrivals, num_clients):
        moved, weights = super().moved(model, arrivals, num_clients)
        return moved, weights[::-1]


BUFFERED = Undivided(num_updates=2, training=cosim.ClientTraining(local=cosim.Sgd(batch_size=10)))
WEIGHTS = {
    "at the cloud": BUFFERED,
    "in cells": cosim.HFedAvg(training=cosim.protocols.AsynchronousTraining(protocol=BUFFERED)),
    "of other updates": Backwards(period_s=0.01, staleness=cosim.protocols.Polynomial()),
}


@pytest.mark.parametrize("protocol", WEIGHTS.values(), ids=WEIGHTS)
def test_a_weight_of_an_update_that_was_not_used_is_caught(protocol):
    with pytest.raises(BrokenLaw, match=r"^updates: \w+\.moved reports a weight of"):
        check_protocol(protocol)


class Divided(cosim.server_updates.ServerUpdate):
    def step(self, server):
        for values in server.model.values():
            values /= 0.0


class Unweighted(cosim.server_updates.ServerUpdate):
    """A mean whose server loses a tensor."""

    def step(self, server):
        next(iter(server.model.values())).fill_(float("nan"))


@pytest.mark.parametrize("rule", [Divided(), Unweighted()], ids=["0 / 0", "nan"])
def test_weights_that_are_no_numbers_are_caught(rule):
    training = attrs.evolve(TRAINING, server=rule)
    with pytest.raises(BrokenLaw, match=r"^weights: \d+ of \d+ weights .* are no finite number"):
        check_protocol(cosim.HFedAvg(training=training))


@part
class OneCell(cosim.Protocol):
    """Runs the first cell only."""

    training: cosim.EdgeTraining = TRAINING

    def run(self, sim, cloud):
        def one_round(model, number):
            return self.training.run(sim, cloud, cloud.edges[0], model, None, number)

        return cloud.global_rounds(sim, one_round)


def test_a_cell_that_never_trains_is_caught():
    with pytest.raises(BrokenLaw, match=r"^cells: no client of cell 1 trains, whatever the seed"):
        check_protocol(OneCell())
    one_cell = attrs.evolve(SMALL, num_cells=1, protocol=OneCell(), evaluation=cosim.Never())
    assert not silent_cells(cosim.run(one_cell))


class Lottery(OneCell):
    """Runs one cell in each round, by a draw: with this seed always the same."""

    def run(self, sim, cloud):
        def one_round(model, number):
            edge = cloud.edges[int(sim.stream("cloud", "cell", number).integers(2))]
            return self.training.run(sim, cloud, edge, model, None, number)

        return cloud.global_rounds(sim, one_round)


def test_a_cell_that_one_seed_leaves_out_is_no_finding():
    for seed in range(100):
        system = attrs.evolve(SMALL, seed=seed, protocol=Lottery(), evaluation=cosim.Never())
        if silent_cells(cosim.run(system)):
            break
    check_system(system)


class Working(cosim.HFedAvg):
    """A client is at work beside its jobs, at a power of its own."""

    def run(self, sim, cloud):
        yield from sim.spend(cloud.edges[0].clients[0].name, "train", 1.0, power_w=1e6)
        return (yield from super().run(sim, cloud))


def test_a_power_that_a_device_has_not_is_caught():
    with pytest.raises(
        BrokenLaw, match=r"^energy: a client that is at 'train' takes a power that its device"
    ):
        check_protocol(Working(training=TRAINING))


# --- Names --------------------------------------------------------------------------------------------------


class Weigth(cosim.server_updates.ServerUpdate):
    def weigths(self, updates):
        return [1.0 for _ in updates]


class KeepState(cosim.server_updates.ServerUpdate):
    keep_state = True

    def step(self, server):
        server.model.update(server.mean)


@part
class Learing(cosim.Sgd):
    learing_rate: float = 0.1


class Singular(Ways):
    class link(own_parts.ConstantLink):
        def __init__(self, sim):
            super().__init__(sim, 1e6)

        def begin_rounds(self, num_clients, ends_s):
            return None


NAMES = {
    "method": (lambda: server_of(Weigth()), "Weigth.weigths overrides nothing, and weights is asked"),
    "what a class says": (lambda: server_of(KeepState()), "keep_state overrides nothing, and keeps_state is"),
    "field": (lambda: check_local_training(Learing()), "learing_rate overrides nothing, and learning_rate"),
    "of a link": (lambda: check_link(Singular()), "link.begin_rounds overrides nothing, and begin_round is"),
}


def server_of(rule: cosim.server_updates.ServerUpdate) -> None:
    check_protocol(cosim.HFedAvg(training=attrs.evolve(TRAINING, server=rule)))


@pytest.mark.parametrize(("check", "said"), NAMES.values(), ids=NAMES)
def test_a_name_that_is_one_letter_from_the_ports_is_caught(check, said):
    with pytest.raises(BrokenLaw, match=rf"^names: .*{said}"):
        check()


class Own(cosim.server_updates.ServerUpdate):
    """Names that look alike and are meant: beside the one of the port, of another nature, or private."""

    weight = 2.0

    def weights(self, updates):
        return [self.weight] * len(updates)

    def weights_(self):
        return self._step()

    def _step(self):
        return None


def test_names_that_are_meant_keep_the_laws():
    check_names_of(Own)
    for kind in vars(own_parts).values():
        if isinstance(kind, type):
            check_names_of(kind)


# --- What is never asked ------------------------------------------------------------------------------------


class LossMixin:
    def loss(self, outputs, targets):
        return nn.functional.cross_entropy(outputs, targets, label_smoothing=0.5)


class Smoothed(LossMixin, cosim.tasks.Classification):
    """A mixin's word is its own."""


class TrainMixin:
    def train(self, client):
        with torch.no_grad():
            for values in client.network.parameters():
                values *= 0.9


class Shrunk(TrainMixin, cosim.training.LocalTraining):
    pass


class ByNumber(cosim.server_updates.ServerUpdate):
    def weights(self, updates):
        return [1.0 + number for number in range(len(updates))]


def learned_weights(system: cosim.System) -> np.ndarray:
    weights = cosim.run(system, num_workers=1).weights
    return np.concatenate([values.ravel() for values in weights.values()])


def trained_with(**parts: Any) -> cosim.System:
    return attrs.evolve(SMALL, protocol=cosim.HFedAvg(training=attrs.evolve(TRAINING, **parts)))


OVERRIDDEN = {
    "loss of a mixin": (attrs.evolve(SMALL, task=Smoothed()), SMALL),
    "training of a mixin": (
        trained_with(local=Shrunk(batch_size=10)),
        trained_with(local=cosim.Sgd(batch_size=10)),
    ),
    "weights of FedNova": (
        trained_with(server=cosim.server_updates.FedNova(weighted=ByNumber())),
        trained_with(server=cosim.server_updates.FedNova()),
    ),
    "weights of FedAdam": (
        trained_with(server=cosim.server_updates.FedAdam(mean=ByNumber())),
        trained_with(server=cosim.server_updates.FedAdam()),
    ),
}


@pytest.mark.parametrize(("own", "base"), OVERRIDDEN.values(), ids=OVERRIDDEN)
def test_what_is_overridden_is_asked(own, base):
    assert not np.array_equal(learned_weights(own), learned_weights(base))


def test_a_mixin_keeps_the_laws():
    check_system(OVERRIDDEN["loss of a mixin"][0])


class Deaf(cosim.server_updates.StepFromMean):
    """Its step goes on from another mean than the one that it has."""

    @property
    def averaging(self):
        return cosim.server_updates.Mean()

    def step(self, server):
        server.model.update(server.mean)


class Chosen(cosim.selection.SomeClients):
    def participants(self, sim, edge, coming):
        return coming.clients[: self.num_participants]


@part
class WithoutAsking(cosim.EdgeTraining):
    """Lets everyone take part, whatever the rule."""

    def run(self, sim, cloud, edge, model, part, global_round):
        everyone = attrs.evolve(self, selection=cosim.selection.Everyone())
        return cosim.EdgeTraining.run(everyone, sim, cloud, edge, model, part, global_round)


TRAINING_OF_ITS_OWN = WithoutAsking(local=cosim.Sgd(batch_size=10), selection=Chosen(num_participants=1))
NEVER_ASKED = {
    "ByNumber.weights": in_training(server=Deaf(mean=ByNumber())),
    "Chosen.participants": lambda: check_protocol(cosim.HFedAvg(training=TRAINING_OF_ITS_OWN)),
}


@pytest.mark.parametrize("method", NEVER_ASKED)
def test_a_method_that_is_never_asked_is_caught(method):
    with pytest.raises(BrokenLaw, match=rf"^asked: {method} is never asked in the runs of a small system"):
        NEVER_ASKED[method]()


# --- Another process, another day, another seed -------------------------------------------------------------


class Hashed(cosim.devices.DrawnTime):
    """By a text's hash, which is the same for every run of a process."""

    def draw(self, rng, num):
        return np.array([1.0 + hash(f"client {number}") % 1000 / 1000.0 for number in range(num)])


class Dated(cosim.devices.DrawnTime):
    """By the day."""

    def draw(self, rng, num):
        return np.full(num, 1.0 + int(time.time() // 86_400) % 1000 / 1000.0)


class DatedOtherwise(cosim.devices.DrawnTime):
    def draw(self, rng, num):
        return np.full(num, 1.0 + datetime.datetime.now().timetuple().tm_yday / 1000.0)


class Scattered(cosim.selection.SomeClients):
    """The first of a set of names."""

    def participants(self, sim, edge, coming):
        first = sorted(coming.clients, key=lambda client: hash(client.name))
        return first[: self.num_participants]


@part
class ScatteredSteps(cosim.training.LocalSteps):
    def of_clients(self, sim, clients, job, batch_size, step_s):
        return np.array([1 + hash(client.name) % 97 for client in clients])


@part
class HashedWeights(cosim.server_updates.ServerUpdate):
    """Only what is learned follows from the hash."""

    def weights(self, updates):
        return [1.0 + hash(update.client) % 97 for update in updates]


def in_devices(**parts: Any) -> Callable[[], None]:
    return in_small(devices=cosim.DrawnDevices(**parts))


def elsewhere(system: cosim.System) -> None:
    """The last part of the contract of systems, alone."""
    second_process.same_elsewhere(system, None, cosim.run(system, num_workers=1))


def timed_on(**parts: Any) -> cosim.System:
    return attrs.evolve(SMALL, devices=cosim.DrawnDevices(**parts), evaluation=cosim.Never())


MANY = attrs.evolve(
    trained_with(selection=Scattered(num_participants=1)),
    num_cells=1,
    num_clients=100,
    evaluation=cosim.Never(),
)
OF_A_PROCESS = {
    "times by hash": in_devices(training_time=Hashed()),
    "steps by hash": lambda: elsewhere(trained_with(steps=ScatteredSteps())),
    "clients by hash": lambda: elsewhere(MANY),
    "weights by hash": lambda: elsewhere(trained_with(server=HashedWeights())),
    "times by the day": lambda: elsewhere(timed_on(training_time=Dated())),
    "times by the day of the year": lambda: elsewhere(timed_on(training_time=DatedOtherwise())),
}


@pytest.mark.parametrize("check", OF_A_PROCESS.values(), ids=OF_A_PROCESS)
def test_what_is_another_in_another_process_is_caught(check):
    with pytest.raises(BrokenLaw, match=r"^second process: .* Usual reason: hash\(\) of a text, the order"):
        check()


class SameForAllSeeds(cosim.devices.DrawnTime):
    def draw(self, rng, num):
        return 1.0 + np.random.default_rng(7).random(num)


class PythonsOwn(cosim.devices.DrawnTime):
    def draw(self, rng, num):
        own = random.Random(7)
        return np.array([1.0 + own.random() for _ in range(num)])


@part
class SeededByNumber(cosim.devices.TransmitPower):
    def highest_w(self, sim, clients):
        return 0.1 + cosim.Simulation(0).stream("cloud", "powers", 0).random(len(clients))


class SameWindows(cosim.devices.Presence):
    def windows(self, sim, client):
        rng = np.random.default_rng(int(client[-4:]))
        from_s = 0.0
        while True:
            yield from_s, (to_s := from_s + 0.01 * (0.5 + rng.random()))
            from_s = to_s + 0.001


class SameParticipants(cosim.selection.SomeClients):
    def participants(self, sim, edge, coming):
        rng = np.random.default_rng(coming.job.number)
        return rng.permutation(np.array(coming.clients, dtype=object))[: self.num_participants]


FOR_ALL_SEEDS = {
    "numpy": in_devices(training_time=SameForAllSeeds()),
    "Python": lambda: elsewhere(timed_on(training_time=PythonsOwn())),
    "a simulation of its own": lambda: elsewhere(timed_on(tx_power=SeededByNumber())),
    "presence": lambda: check_presence(SameWindows()),
    "participants": lambda: check_selection(SameParticipants(num_participants=1)),
}


@pytest.mark.parametrize("check", FOR_ALL_SEEDS.values(), ids=FOR_ALL_SEEDS)
def test_one_generator_for_all_seeds_is_caught(check):
    said = r"^seeds: another seed makes the same tables, though a generator is made in test_planted\.py, line"
    with pytest.raises(BrokenLaw, match=said):
        check()


def test_a_part_that_the_second_process_does_not_find_is_not_tried_there_and_a_warning_says_so(monkeypatch):
    gone = ModuleType("gone")
    gone.Twice = type("Twice", (cosim.devices.DrawnTime,), {"draw": lambda self, rng, num: np.full(num, 2.0)})
    gone.Twice.__module__ = "gone"
    monkeypatch.setitem(sys.modules, "gone", gone)
    with pytest.warns(UserWarning, match=r"the second process is not tried, .*'gone'\. Move the part"):
        in_devices(training_time=gone.Twice())()


def test_a_second_process_is_another_python_whose_texts_have_other_hashes(monkeypatch):
    """Started in the way of users; in other tests it is forked from a warm one."""
    monkeypatch.setattr(second_process, "start", warm.USUAL_SECOND)
    monkeypatch.setattr(second_process, "_kept", [])
    elsewhere(timed_on())
    with pytest.raises(BrokenLaw, match=r"^second process"):
        elsewhere(timed_on(training_time=Hashed()))
    (second,) = second_process._kept
    second.close()


@pytest.fixture
def started(monkeypatch):
    """Second processes that are started, none of which answers."""
    pipes = []

    def start():
        pipes.append((BytesIO(), BytesIO()))
        return pipes[-1]

    monkeypatch.setattr(second_process, "start", start)
    monkeypatch.setattr(second_process, "_kept", [])
    return pipes


def test_a_second_process_that_ends_is_replaced_and_then_a_finding(started):
    timed = attrs.evolve(SMALL, evaluation=cosim.Never())
    with pytest.raises(BrokenLaw, match=r"^second process: .* it ends in the end of the process"):
        second_process.same_elsewhere(timed, None, cosim.run(timed))
    assert len(started) == 2


def test_a_second_process_that_knows_another_file_of_a_module_is_replaced(started, tmp_path, monkeypatch):
    module = ModuleType("mine")
    for name in ("old.py", "new.py"):
        (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, "mine", module)
    module.__file__ = str(tmp_path / "old.py")
    first = second_process.begin(["mine"])
    assert second_process.begin(["mine"]) is first
    module.__file__ = str(tmp_path / "new.py")
    assert second_process.begin(["mine"]) is not first
    assert len(started) == 2
