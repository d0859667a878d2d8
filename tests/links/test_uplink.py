"""The port of uplinks: a steady upload by arithmetic, what every link keeps to, and requests in vain."""

import numpy as np
import pytest

from cosim import (
    CellLink,
    ConfigurationError,
    FixedShares,
    GivenSnr,
    Link,
    PerGroup,
    QueuedLink,
    Radio,
    Simulation,
)
from cosim.codecs import Uncompressed
from cosim.configuration import lacks_in, part
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.links import SteadyUpload
from cosim.links.port import Cell
from cosim.queues import Deterministic, PoissonArrivals
from cosim.radio import NoFading, OverTheAir, RedividedShares, ResourceBlocks
from cosim.records.rows import UP

CLIENTS = ("client-0000", "client-0001", "client-0002")
NUM_VALUES, BITS = 1000, 32_000
CELL = Cell("edge-00", CLIENTS, np.full(3, 100.0), np.full(3, 0.2))


@part
class Steady(Link):
    """1 Mbit/s for everybody, or another rate, after 5 ms."""

    rate_bps: float = 1e6

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [SteadyLink(sim, self.rate_bps) for _ in cells]


class SteadyLink(CellLink):
    """Sends at a rate."""

    def __init__(self, sim, rate_bps):
        self.sim, self.rate_bps = sim, rate_bps

    def open(self, client, payload, job, tx_power_w=None):
        """Begin."""
        return SteadyUpload(self.sim, payload.bits, self.rate_bps, wait_s=5e-3)


def radio(sharing) -> Radio:
    return Radio(sharing=sharing, link=GivenSnr(snr_db=PerGroup(values=(10.0,))), fading=NoFading())


UPLINKS = {
    "steady": Steady(),
    "fixed": radio(FixedShares(bandwidth_hz=1e6)),
    "redivided": radio(RedividedShares(bandwidth_hz=1e6)),
    "blocks": radio(ResourceBlocks(num_blocks=2, block_hz=3e5)),
    "over the air": radio(OverTheAir(bandwidth_hz=1e5)),
    "queues": QueuedLink(
        arrivals=PoissonArrivals(rate_per_s=0.0), service=Deterministic(duration_s=1e-3), packet_bits=1000
    ),
}


def run_uploads(
    uplink: Link, deadline_s: float | None
) -> tuple[Simulation, dict[str, float], dict[str, float]]:
    """All send at once and are cut at the deadline; bits left at the end, and what `done` had become."""
    sim, left_bits, done = Simulation(1), {}, {}
    (link,) = ways_of(sim, uplink, [CELL], UP)
    link.begin_round(len(CLIENTS))

    def send(client):
        upload = link.open(client, Uncompressed().payload(NUM_VALUES), Job(1, 0, 0), 0.2)
        try:
            if upload.granted is not None:
                yield from sim.spend(client, "wait", upload.granted)
            yield from sim.spend(client, "send", upload.done)
        finally:
            upload.close()
            upload.close()
            left_bits[client], done[client] = upload.bits_left, upload.done.processed

    sim.run(sim.with_deadline([send(client) for client in CLIENTS], deadline_s))
    return sim, left_bits, done


@pytest.mark.parametrize("name", UPLINKS)
def test_what_is_done_has_no_bits_left(name):
    sim, left_bits, done = run_uploads(UPLINKS[name], None)
    assert left_bits == dict.fromkeys(CLIENTS, 0.0)
    assert all(done.values())
    assert 0.0 < sim.now_s < 1.0


@pytest.mark.parametrize("name", UPLINKS)
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_what_is_cut_keeps_its_bits_and_no_more(name, share):
    whole_s = run_uploads(UPLINKS[name], None)[0].now_s
    sim, left_bits, done = run_uploads(UPLINKS[name], share * whole_s)
    assert sim.now_s == pytest.approx(share * whole_s)
    for client in CLIENTS:
        assert 0.0 <= left_bits[client] <= BITS
        assert done[client] == (left_bits[client] == 0.0)
    assert not all(done.values())


@pytest.mark.parametrize("name", ["fixed", "over the air"])
def test_what_is_sent_at_one_rate_is_left_in_proportion(name):
    """All begin at once and alike, so after a quarter of the time a quarter has been sent."""
    whole_s = run_uploads(UPLINKS[name], None)[0].now_s
    left_bits = run_uploads(UPLINKS[name], 0.25 * whole_s)[1]
    assert left_bits == pytest.approx(dict.fromkeys(CLIENTS, 0.75 * BITS), rel=1e-9)


def test_a_steady_upload_by_arithmetic():
    """5 ms of waiting, 32 ms of sending; 7 ms after the start 2 ms have been sent."""
    assert run_uploads(Steady(), None)[0].now_s == pytest.approx(37e-3, rel=1e-12)
    left_bits = run_uploads(Steady(), 7e-3)[1]
    assert left_bits == pytest.approx(dict.fromkeys(CLIENTS, BITS - 2000.0), rel=1e-12)
    assert run_uploads(Steady(), 4e-3)[1] == dict.fromkeys(CLIENTS, BITS)


def test_at_a_rate_of_0_nothing_arrives():
    sim, left_bits, done = run_uploads(Steady(rate_bps=0.0), 1.0)
    assert (sim.now_s, left_bits) == (1.0, dict.fromkeys(CLIENTS, BITS))
    assert not any(done.values())
    (band,) = FixedShares(bandwidth_hz=1e6).bands(Simulation(1), 1)
    silent = np.zeros(2)
    assert (band.upload_s(lambda _: silent, Uncompressed().payload(NUM_VALUES), 1) == np.inf).all()


@pytest.mark.parametrize("name", ["fixed", "over the air"])
def test_what_is_known_beforehand_is_how_long_it_takes(name):
    sim = Simulation(1)
    known = UPLINKS[name].of_cells(sim, [CELL])[0].known_to("a test")
    payload = Uncompressed().payload(NUM_VALUES)
    took_s = run_uploads(UPLINKS[name], None)[0].now_s
    assert known.num_at_once is None
    upload_s = known.upload_s(slice(None), payload, 3, Job(1, 0, 0))
    assert upload_s == pytest.approx([took_s] * 3, rel=1e-12)


@pytest.mark.parametrize("name", ["steady", "queues"])
def test_who_asks_where_nothing_is_known_is_refused_in_one_sentence(name):
    (link,) = UPLINKS[name].of_cells(Simulation(1), [CELL])
    with pytest.raises(ConfigurationError, match=r"a rule: asks for rates .* known for a \w+Link"):
        link.known_to("a rule")


def test_only_sums_have_noise_on_their_mean():
    for name, uplink in UPLINKS.items():
        (link,) = uplink.of_cells(Simulation(1), [CELL])
        adds_up = lacks_in(uplink, ONE_BY_ONE)
        assert (link.deviation_of_mean(slice(None), Job(1, 0, 0)) is not None) == adds_up
        assert adds_up == (name == "over the air")
