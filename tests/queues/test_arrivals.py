"""Arrivals of packets and buffers that lose: by hand, by their laws, from files, and a user's own."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from analysis.report.report import report
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, from_dict, part, to_dict
from cosim.queues import (
    Arrivals,
    Deterministic,
    FiniteBuffer,
    Impatient,
    MessagesFirst,
    NoWork,
    OnOffArrivals,
    PoissonArrivals,
    QueuedLink,
    StationaryWork,
    TraceArrivals,
)
from cosim.queues.station import Station
from cosim.testing import BrokenLaw, check_arrivals, small_system
from cosim.testing.laws.arriving import check_stream
from cosim.waiting.deadlines import Deadline
from scenarios.command_line.running import summary_table

pytestmark = pytest.mark.quick
HALF = Deterministic(duration_s=0.5)


@part
class Given(Arrivals):
    """Gaps that it is told."""

    gaps: tuple[float, ...] = ()

    @property
    def mean_rate_per_s(self):
        return 1.0

    def gaps_s(self, rng):
        return iter(self.gaps)


def station_after(arrivals: Arrivals, until_s: float = 20.0, service=HALF, **station) -> Station:
    sim = Simulation(seed=1)
    built = Station(sim, "path", arrivals, service, NoWork(), keep_packets=True, **station)
    sim.run(sim.spend("observer", "watch", until_s))
    return built


@pytest.fixture
def trace(tmp_path):
    """A file of instants."""

    def write(*instants_s: object, column: str = "time_s") -> str:
        path = tmp_path / "packets.csv"
        path.write_text("\n".join(map(str, (column, *instants_s))) + "\n", encoding="utf-8")
        return str(path)

    return write


# --- By hand ----------------------------------------------------------------------------------------------


def test_packets_come_after_their_gaps_two_of_them_at_once():
    station = station_after(Given(gaps=(1.0, 0.0, 2.5)))
    assert [packet.arrival_s for packet in station.packets] == [1.0, 1.0, 3.5]
    assert [packet.departure_s for packet in station.packets] == [1.5, 2.0, 4.0]


def test_a_buffer_loses_what_finds_no_room():
    """One is in service and two wait; the fourth is lost, the fifth finds the room of the second."""
    station = station_after(Given(gaps=(1.0, 0.1, 0.1, 0.1, 0.3)), discipline=FiniteBuffer(num_waiting=2))
    assert [packet.arrival_s for packet in station.packets] == pytest.approx([1.0, 1.1, 1.2, 1.6])
    assert [packet.arrival_s for packet in station.lost] == pytest.approx([1.3])
    row = station.row(20.0)
    assert (row.num_packets, row.num_lost, row.num_client_packets, row.num_lost_client_packets) == (
        5,
        1,
        0,
        0,
    )


def test_without_a_place_to_wait_only_free_servers_take_packets():
    station = station_after(
        Given(gaps=(1.0, 0.1, 0.1)), discipline=FiniteBuffer(num_waiting=0), num_servers=2
    )
    assert (len(station.packets), len(station.lost)) == (2, 1)


def test_patience_and_room_are_both_counted():
    """The third has waited for 0.8 s when it could be served; the fourth has found two that wait."""
    discipline = FiniteBuffer(num_waiting=2, order=Impatient(patience_s=0.6))
    station = station_after(Given(gaps=(1.0, 0.1, 0.1, 0.1)), discipline=discipline)
    assert [packet.arrival_s for packet in station.packets] == pytest.approx([1.0, 1.1])
    assert sorted(packet.arrival_s for packet in station.lost) == pytest.approx([1.2, 1.3])


def test_a_message_that_loses_a_packet_is_never_done_and_its_packets_are_counted():
    sim = Simulation(seed=1)
    discipline = FiniteBuffer(num_waiting=1, order=MessagesFirst())
    station = Station(sim, "path", PoissonArrivals(rate_per_s=0.0), HALF, NoWork(), discipline=discipline)
    messages = []

    def senders():
        messages.append(station.send("client-0000", 3))
        yield from sim.spend("observer", "watch", 5.0)
        messages.append(station.send("client-0001", 2))
        yield from sim.spend("observer", "watch", 5.0)

    sim.run(senders())
    assert [message.done.triggered for message in messages] == [False, True]
    assert (station.num_lost, station.num_lost_client_packets, station.num_client_packets) == (1, 1, 5)


def test_gaps_that_are_none_are_refused():
    with pytest.raises(ConfigurationError, match=r"Given\.gaps_s: gives -1\.0: a gap must be 0 s .*Use"):
        station_after(Given(gaps=(1.0, -1.0)))


# --- Laws -------------------------------------------------------------------------------------------------


@given(gaps=st.lists(st.floats(0.0, 2.0), max_size=30), room=st.integers(0, 4), servers=st.integers(1, 3))
@settings(max_examples=60)
def test_packets_are_served_lost_or_there(gaps, room, servers):
    """A loss system by brute force: a packet is lost if all places are taken when it comes."""
    station = station_after(
        Given(gaps=tuple(gaps)), 200.0, discipline=FiniteBuffer(num_waiting=room), num_servers=servers
    )
    assert len(station.packets) + len(station.lost) == len(gaps)
    free_s, ends_s, lost_s = [0.0] * servers, [], []
    for arrival_s in itertools.accumulate(gaps):
        if sum(end_s > arrival_s for end_s in ends_s) >= room + servers:
            lost_s.append(arrival_s)
            continue
        first = free_s.index(min(free_s))
        free_s[first] = max(free_s[first], arrival_s) + 0.5
        ends_s.append(free_s[first])
    if all(abs(a - b) > 1e-9 for a in ends_s for b in itertools.accumulate(gaps)):  # no ties
        assert [packet.arrival_s for packet in station.lost] == pytest.approx(lost_s)
        assert sorted(packet.departure_s for packet in station.packets) == pytest.approx(sorted(ends_s))


def test_bursts_begin_in_equilibrium_and_keep_their_mean():
    """Of 4000 streams, packets in the first second; the mean is 2, with a standard error below 0.06."""
    law = OnOffArrivals(on_rate_per_s=8.0, off_rate_per_s=0.0, mean_on_s=1.0, mean_off_s=3.0)
    counts = []
    for seed in range(4000):
        instants_s = itertools.accumulate(law.gaps_s(np.random.default_rng(seed)))
        counts.append(sum(1 for _ in itertools.takewhile(lambda at_s: at_s < 1.0, instants_s)))
    assert law.mean_rate_per_s == 2.0
    assert np.mean(counts) == pytest.approx(2.0, abs=0.2)


def test_bursts_without_a_difference_are_poisson():
    """Equal rates: gaps are exponential, with mean and standard deviation 1 / 4 s."""
    law = OnOffArrivals(on_rate_per_s=4.0, off_rate_per_s=4.0, mean_on_s=0.1, mean_off_s=0.3)
    gaps_s = np.array(list(itertools.islice(law.gaps_s(np.random.default_rng(1)), 20_000)))
    assert gaps_s.mean() == pytest.approx(0.25, rel=0.03)
    assert gaps_s.std() == pytest.approx(0.25, rel=0.03)


# --- A trace ----------------------------------------------------------------------------------------------


def test_a_trace_is_run_and_repeats(trace):
    file = trace(0.5, 0.5, 2.0)
    once = station_after(TraceArrivals(file=file), 20.0)
    assert [packet.arrival_s for packet in once.packets] == [0.5, 0.5, 2.0]
    again = station_after(TraceArrivals(file=file, period_s=4.0), 7.0)
    assert [packet.arrival_s for packet in again.packets] == [0.5, 0.5, 2.0, 4.5, 4.5, 6.0]
    assert TraceArrivals(file=file, period_s=4.0).mean_rate_per_s == 0.75
    assert TraceArrivals(file=file).mean_rate_per_s == 1.5


def test_a_shifted_trace_begins_somewhere_in_its_period(trace):
    """The packets of a period follow each other in a circle."""
    law = TraceArrivals(file=trace(0.5, 1.0, 2.0), period_s=4.0, is_shifted=True)
    firsts_s = []
    for seed in range(50):
        gaps_s = list(itertools.islice(law.gaps_s(np.random.default_rng(seed)), 7))
        circle = [0.5, 1.0, 2.5] * 3
        assert any(gaps_s[1:] == pytest.approx(circle[place : place + 6]) for place in range(3))
        firsts_s.append(gaps_s[0])
    assert max(firsts_s) < 2.5
    assert len(set(firsts_s)) == 50


@pytest.mark.parametrize(
    ("instants_s", "changes", "said"),
    [
        (
            (1.0, 0.5),
            {},
            r"packets\.csv, row 3, column 'time_s': 0\.5 is before the row above\. Use rows in order",
        ),
        ((1.0, "x"), {}, r"row 3, column 'time_s': .*x.* is no number\. Use"),
        ((1.0, -2.0), {}, r"-2\.0 is below 0\. Use"),
        ((1.0, 2e9), {}, r"is 1e9 or more, when the clock ends\. Use"),
        ((0.0,), {}, r"TraceArrivals\.file = .*: has no packet after time 0\. Use"),
        (
            (1.0, 2.0),
            {"period_s": 2.0},
            r"TraceArrivals\.period_s = 2: its last packet comes at 2 s\. Use a longer",
        ),
        ((1.0,), {"is_shifted": True}, r"TraceArrivals\.is_shifted = True: a trace that ends .*\. Use"),
    ],
)
def test_a_trace_that_is_none_is_refused(instants_s, changes, said, trace):
    with pytest.raises(ConfigurationError, match=said):
        _ = TraceArrivals(file=trace(*instants_s), **changes).mean_rate_per_s


def test_a_trace_without_its_column_or_file_is_refused(trace):
    with pytest.raises(ConfigurationError, match=r"has no column 'time_s'"):
        _ = TraceArrivals(file=trace(1.0, column="t")).mean_rate_per_s
    with pytest.raises(ConfigurationError, match=r"TraceArrivals\.file = 'none\.csv': there is no file"):
        _ = TraceArrivals(file="none.csv").mean_rate_per_s


def test_a_network_refuses_a_trace_that_is_none():
    with pytest.raises(ConfigurationError, match=r"TraceArrivals\.file = 'none\.csv': there is no file"):
        cosim.queues.QueuedLink(arrivals=TraceArrivals(file="none.csv"))


def test_a_trace_that_changes_on_disk_is_read_again(trace):
    """Also where its size stays."""
    law = TraceArrivals(file=trace(0.5, 0.5, 2.0))
    assert law.mean_rate_per_s == 1.5
    trace(0.5, 0.5, 4.0)
    assert law.mean_rate_per_s == 0.75


# --- The contract -----------------------------------------------------------------------------------------


@part
class Twisted(Given):
    """A stream that breaks one law."""

    how: str = "rate"

    @property
    def mean_rate_per_s(self):
        return 0.0 if self.how == "none" else 2.0

    @property
    def is_poisson(self):
        return self.how == "Poisson"

    def gaps_s(self, rng):
        if self.how == "own draws":
            rng = np.random.default_rng()
        gap_s = {"rate": 0.49, "order": -0.5}.get(self.how, 0.5)
        return iter(gap_s + (0.0 if self.how == "rate" else 0.2) * (rng.random(2_000) - 0.5))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("rate", r"rate: mean_rate_per_s = 2, and 2\.041 packets came in 1 s"),
        ("none", r"rate: mean_rate_per_s = 0, and 1000 packets came"),
        ("order", r"order: gap 0 is -0\.[45]"),
        ("own draws", "own draws: "),
        ("Poisson", "Poisson: is_poisson, and gaps are not exponential"),
    ],
)
def test_a_stream_that_breaks_a_law_is_caught(how, said):
    with pytest.raises(BrokenLaw, match=f"^{said}"):
        check_stream(Twisted(how=how))


def test_ours_keep_the_laws(trace):
    bursts = OnOffArrivals(on_rate_per_s=40.0, mean_on_s=2.0, mean_off_s=9.0)
    file = trace(0.5, 0.5, 2.0)
    for law in (
        PoissonArrivals(),
        PoissonArrivals(rate_per_s=0.0),
        bursts,
        TraceArrivals(file=file),
        TraceArrivals(file=file, period_s=4.0, is_shifted=True),
    ):
        check_stream(law)
    check_arrivals(OnOffArrivals())


# --- In a link --------------------------------------------------------------------------------------------


def test_a_stationary_start_is_that_of_poisson_arrivals_alone():
    message = r"its stationary work is known of Poisson arrivals alone\. Use initial_work = NoWork"
    with pytest.raises(ConfigurationError, match=message):
        Station(Simulation(1), "path", OnOffArrivals(), Deterministic(duration_s=0.1), StationaryWork())
    with pytest.raises(ConfigurationError, match=message):
        cosim.evolve(small_system(), uplink=QueuedLink(arrivals=OnOffArrivals()))


def test_a_run_counts_what_its_stations_lose_and_reads_it_again(tmp_path):
    """Each row adds up with the transfers: a client whose packet was lost has not arrived."""
    uplink = QueuedLink(
        arrivals=OnOffArrivals(on_rate_per_s=400.0, mean_on_s=0.05, mean_off_s=0.05),
        service=Deterministic(duration_s=0.004),
        discipline=FiniteBuffer(num_waiting=1),
        initial_work=NoWork(),
    )
    training = cosim.EdgeTraining(num_edge_rounds=4, waiting=Deadline(deadline_s=0.2))
    system = cosim.evolve(
        small_system(), uplink=uplink, protocol=cosim.HFedAvg(training=training), evaluation=cosim.Never()
    )
    assert from_dict(QueuedLink, to_dict(uplink)) == uplink
    result = cosim.run(system, out=tmp_path / "run")
    stations = result.stations
    assert len(stations) == system.num_clients
    up = result.transfers[result.transfers["direction"] == "up"]
    assert stations["num_client_packets"].sum() == len(up)
    assert 0 < stations["num_lost_client_packets"].sum() <= (~up["arrived"]).sum()
    assert (stations["num_lost"] > stations["num_lost_client_packets"]).all()
    assert cosim.Result.load(tmp_path / "run").stations.equals(stations)
    num_lost, num_packets = stations["num_lost"].sum(), stations["num_packets"].sum()
    (said,) = summary_table("run", result).columns[-1].cells
    assert said.startswith(f"{num_lost} of {num_packets} (")
    assert re.search(rf"packets lost in queues.*<td[^>]*>{num_lost}</td>", report([result]), re.DOTALL)
