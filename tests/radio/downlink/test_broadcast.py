"""Broadcasts: by arithmetic, what is refused, and what becomes of clients that leave."""

import math

import attrs
import numpy as np
import pytest
from downlinks import down, timed

import cosim
from cosim import ConfigurationError, Simulation
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.records.rows import DOWN
from cosim.testing import small_system
from scenarios.papers.rawhfl import RawHfl
from scenarios.papers.vhfl import Vhfl

BITS = 32 * (12 * 8 + 8 * 4)
BANDWIDTH_HZ = 1e5
LEVELS_DB = (20.0, 3.0, 10.0, 0.0, 30.0)
STILL = cosim.radio.Broadcast(
    bandwidth_hz=BANDWIDTH_HZ,
    link=cosim.GivenSnr(snr_db=cosim.PerClient(values=LEVELS_DB)),
    fading=cosim.radio.NoFading(),
)
CELLS = ((20.0, 3.0, 10.0), (0.0, 30.0))


def airtime_s(level_db: float) -> float:
    return BITS / (BANDWIDTH_HZ * math.log2(1.0 + 10.0 ** (level_db / 10.0)))


def test_it_lasts_as_long_as_the_slowest_needs():
    """Of the clients of a cell, whatever the other cell has."""
    received = down(timed(small_system(), downlink=STILL))
    for edge, levels_db in zip(("edge-00", "edge-01"), CELLS, strict=True):
        own = received[received["edge"] == edge]
        lasts_s = (own["end_s"] - own["start_s"]).to_numpy()
        assert lasts_s == pytest.approx(airtime_s(min(levels_db)), rel=1e-12)
        assert (own["sent_bits"] == BITS).all()
        assert (own["payload_bits"] == BITS).all()


def test_only_those_count_who_take_part():
    """With one client of each cell drawn, each broadcast is as fast as that one."""
    training = attrs.evolve(
        small_system().protocol.training, selection=cosim.selection.RoundRobin(num_participants=1)
    )
    received = down(timed(small_system(), downlink=STILL, protocol=cosim.HFedAvg(training=training)))
    assert received["client"].nunique() == len(LEVELS_DB)
    for row in received.itertuples():
        level_db = LEVELS_DB[int(row.client[-4:])]
        assert row.end_s - row.start_s == pytest.approx(airtime_s(level_db), rel=1e-9)


def test_power_is_divided_among_antennas_without_a_beam():
    """The weakest of |h|^2 / M, by the very channels of the downlink."""
    fading = cosim.Rayleigh(num_antennas=3)
    received = down(timed(small_system(), downlink=attrs.evolve(STILL, fading=fading)))
    first = received[(received["global_round"] == 1) & (received["edge"] == "edge-00")]
    draws = Simulation(seed=1).apart("downlink")
    snrs = []
    names = [f"client-{number:04d}" for number in range(len(CELLS[0]))]
    for level_db, vector in zip(CELLS[0], fading.vectors(draws, names, (1,)), strict=True):
        snrs.append(10.0 ** (level_db / 10.0) * np.mean(np.abs(vector) ** 2))
    wanted_s = BITS / (BANDWIDTH_HZ * math.log2(1.0 + min(snrs)))
    assert (first["end_s"] - first["start_s"]).to_numpy() == pytest.approx(wanted_s, rel=1e-9)


def test_a_link_budget_begins_with_the_power_of_the_server():
    """Ten times the power, ten times the SNR; and the uplink stays what it was."""
    budget = cosim.radio.Broadcast(
        bandwidth_hz=BANDWIDTH_HZ,
        link=cosim.radio.LinkBudget(),
        fading=cosim.radio.NoFading(),
        tx_power_w=1e-3,
    )
    system = attrs.evolve(small_system(), uplink=cosim.Radio(link=cosim.radio.LinkBudget()))
    weak = timed(system, downlink=budget)
    strong = timed(system, downlink=attrs.evolve(budget, tx_power_w=1e-2))

    def snr(result: cosim.Result) -> np.ndarray:
        own = down(result)
        return 2.0 ** (BITS / BANDWIDTH_HZ / (own["end_s"] - own["start_s"]).to_numpy()) - 1.0

    assert snr(strong) == pytest.approx(10.0 * snr(weak), rel=1e-6)

    def upload_s(result: cosim.Result) -> np.ndarray:
        sent = result.uploads.sort_values(["client", "job"])
        return (sent["end_s"] - sent["start_s"]).to_numpy()

    assert upload_s(weak) == pytest.approx(upload_s(timed(system)), rel=1e-9)


def test_who_leaves_does_not_shorten_it():
    """Two of three go at a tenth; the third has it when the slowest would have."""
    sim = Simulation(seed=1)
    names = tuple(f"client-{number:04d}" for number in range(3))
    cell = Cell("edge-00", names, np.ones(3), np.ones(3))
    down = attrs.evolve(STILL, link=cosim.GivenSnr(snr_db=cosim.PerClient(values=CELLS[0])))
    (link,) = ways_of(sim, down, [cell], DOWN)
    link.begin_round(3, math.inf, np.arange(3))

    def process():
        fast, slow, third = (link.open(name, Payload(128, BITS), Job(1, 0, 0)) for name in names)
        yield sim.timer(0.1 * airtime_s(3.0))
        fast.close()
        slow.close()
        left_bits = slow.bits_left
        yield third.done
        return left_bits, sim.now_s

    left_bits, ended_s = sim.run(process())
    assert left_bits == pytest.approx(0.9 * BITS, rel=1e-12)
    assert ended_s == pytest.approx(airtime_s(3.0), rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"protocol": cosim.FedBuff()},
            r"clients get their jobs one by one, and .*Broadcast sends one transmission.*downlink = Unicast",
        ),
        (
            {"protocol": cosim.HFedAvg(training=cosim.protocols.AsynchronousTraining())},
            r"clients get their jobs one by one, and .*Broadcast sends one transmission",
        ),
        (
            {"protocol": Vhfl()},
            r"Vhfl: each client is sent something of its own, and .*Broadcast sends.*Unicast",
        ),
        ({"protocol": RawHfl()}, r"downloads_count = false"),
    ],
)
def test_protocols_that_want_no_broadcast_are_refused(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        attrs.evolve(small_system(), downlink=STILL, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tx_power_w": 1.0}, r"Broadcast.tx_power_w = 1: has no effect with GivenSnr"),
        (
            {"link": cosim.radio.LinkBudget()},
            r"Broadcast.tx_power_w = None: LinkBudget needs the power",
        ),
        (
            {"fading": cosim.Rayleigh(redrawn=cosim.radio.CoherenceTime())},
            r"Broadcast.fading.*slowest receiver, so channels must not change",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        attrs.evolve(STILL, **changes)


class OneByOne(cosim.EdgeTraining):
    """Lets clients work by themselves, though it says nothing of it."""

    def run(self, sim, cloud, edge, model, part, global_round):
        load = cloud.workload.of(part)
        job = Job(global_round, 0, global_round - 1)
        yield from edge.clients[0].receive(sim, Assigned(edge.route, load.download, job))
        return model


class Assigned:
    """The part of an assignment that receiving needs."""

    def __init__(self, route, download, job):
        self.route, self.download, self.job = route, download, job


def test_a_protocol_that_does_not_say_what_it_does_is_told_at_its_first_job():
    protocol = cosim.HFedAvg(training=OneByOne(local=cosim.Sgd(batch_size=5)))
    with pytest.raises(
        ConfigurationError, match=r"client-000\d is sent something that the others of its cell"
    ):
        timed(small_system(), downlink=STILL, protocol=protocol)
