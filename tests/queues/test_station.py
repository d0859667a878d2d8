"""The station on the clock: by hand, against the arrays, and from its start on against the stationary law."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosim.clock.instants import instant_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.queues.arrivals import PoissonArrivals
from cosim.queues.initial_work import NoWork, StationaryWork
from cosim.queues.message import Message
from cosim.queues.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential
from cosim.queues.station import BLOCK_SIZE, Packet, Station
from scenarios.validate.queue_arrays import sojourn_s

EMPTY = NoWork()

Z_999 = 3.29
TIE_ORDERS = (None, 0, 1, 2, 3, 4, 5)
H2 = HyperExponential(weights=(0.3, 0.7), rates_per_s=(8.0, 2.0))

every_tie_order = pytest.mark.parametrize("tie_order", TIE_ORDERS)


class Sending(NamedTuple):
    """A message to come."""

    time_s: float
    sender: str
    num_packets: int


def run_station(
    law: Any,
    arrivals_per_s: float,
    sendings: Sequence[Sending],
    horizon_s: float,
    *,
    seed: int = 1,
    initial_work: Any = EMPTY,
    tie_order: int | None = None,
) -> tuple[Station, list[Message]]:
    sim = Simulation(seed, shuffle_ties=tie_order)
    station = Station(
        sim, "path", PoissonArrivals(rate_per_s=arrivals_per_s), law, initial_work, keep_packets=True
    )
    messages: dict[int, Message] = {}

    def send(place, sending):
        yield from sim.spend(sending.sender, "wait", sending.time_s)
        messages[place] = station.send(sending.sender, sending.num_packets)

    processes = [send(place, sending) for place, sending in enumerate(sendings)]
    sim.run(sim.together([*processes, sim.spend("observer", "wait", horizon_s)]))
    return station, [messages[place] for place in range(len(sendings))]


def packets_of(station: Station) -> list[Packet]:
    assert station.packets is not None
    return station.packets


# --- By hand ----------------------------------------------------------------------------------------------


def test_packets_leave_one_after_the_other():
    sendings = [Sending(1.0, "a", 2), Sending(1.25, "b", 1), Sending(4.0, "a", 1)]
    station, (first, second, third) = run_station(Deterministic(duration_s=0.5), 0.0, sendings, 10.0)
    assert packets_of(station) == [
        Packet(1.0, 0.5, 1.5, "a"),
        Packet(1.0, 0.5, 2.0, "a"),
        Packet(1.25, 0.5, 2.5, "b"),
        Packet(4.0, 0.5, 4.5, "a"),
    ]
    assert [m.num_served for m in (first, second, third)] == [2, 1, 1]
    assert all(m.done.processed for m in (first, second, third))
    assert station.num_served == 4
    assert station.load == station.initial_work_s == 0.0


def test_a_message_counts_the_packets_that_have_left_and_is_done_with_the_last():
    sim = Simulation(seed=1)
    station = Station(sim, "path", PoissonArrivals(rate_per_s=0.0), Deterministic(duration_s=0.5), NoWork())

    def sender():
        message = station.send("a", 3)
        counts = []
        for _ in range(3):
            counts.append((message.num_served, message.done.triggered))
            yield from sim.spend("a", "look", 0.625)
        yield from sim.spend("a", "wait", message.done)
        return counts, message.num_served

    assert sim.run(sender()) == ([(0, False), (1, False), (2, False)], 3)
    assert sim.now_s == 1.875
    assert station.packets is None


@every_tie_order
@pytest.mark.parametrize(("deadline_s", "value"), [(1.5, None), (1.5 - 1e-14, Dropped("deadline"))])
def test_a_message_whose_last_packet_leaves_at_exactly_the_deadline_has_arrived(tie_order, deadline_s, value):
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    station = Station(sim, "path", PoissonArrivals(rate_per_s=0.0), Deterministic(duration_s=0.5), NoWork())

    def sender():
        yield from sim.spend("a", "send", station.send("a", 3).done)

    assert sim.run(sim.with_deadline([sender()], deadline_s)) == [value]


def test_what_its_sender_gives_up_stays_and_takes_its_service():
    sim = Simulation(seed=1)
    station = Station(sim, "path", PoissonArrivals(rate_per_s=0.0), Deterministic(duration_s=0.5), NoWork())

    def cell():
        given_up = station.send("a", 4)
        (lost,) = yield from sim.with_deadline([sim.spend("a", "send", given_up.done)], 0.75)
        served = given_up.num_served
        yield from sim.spend("b", "send", station.send("b", 1).done)
        return lost, served, given_up.num_served

    assert sim.run(cell()) == (Dropped("deadline"), 1, 4)
    assert sim.now_s == 2.5


def test_work_at_the_start_is_served_first():
    station, (message,) = run_station(
        H2, 0.5, [Sending(0.0, "a", 1)], 60.0, seed=10, initial_work=StationaryWork()
    )
    assert station.initial_work_s > 0.0
    (own,) = (packet for packet in packets_of(station) if packet.sender == "a")
    assert message.num_served == 1
    assert own.departure_s == instant_after(instant_after(0.0, station.initial_work_s), own.service_s)


# --- Against the arrays -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("queue") / "durations.txt"
    file.write_text("0.1\n0.1\n0.4\n2.0\n")
    return str(file)


@st.composite
def any_law(draw):
    rates_per_s = sorted((draw(st.floats(0.5, 20.0)), draw(st.floats(0.5, 20.0))), reverse=True)
    weight = draw(st.floats(0.0, 1.0))
    return draw(
        st.sampled_from(
            [
                HyperExponential(weights=(weight, 1.0 - weight), rates_per_s=tuple(rates_per_s)),
                Exponential(rate_per_s=rates_per_s[0]),
                Deterministic(duration_s=1.0 / rates_per_s[0]),
                Erlang(num_stages=draw(st.integers(1, 5)), rate_per_s=rates_per_s[0]),
                None,
            ]
        )
    )


def some_sendings(times_s: st.SearchStrategy[float]) -> st.SearchStrategy[list[Sending]]:
    return st.lists(st.builds(Sending, times_s, st.sampled_from("abc"), st.integers(1, 9)), max_size=12)


@given(
    law=any_law(),
    load=st.just(0.0) | st.floats(1e-3, 1.3),
    seed=st.integers(0, 1000),
    stationary=st.booleans(),
    sendings=some_sendings(st.floats(0.0, 15.0)),
)
@settings(max_examples=100)
def test_station_and_arrays_agree(measured, law, load, seed, stationary, sendings):
    """The packets that the station has served, its messages among them, have the arrays' sojourn times."""
    law = law or Empirical(path=measured)
    initial_work = StationaryWork() if stationary and load < 0.99 else NoWork()
    station, messages = run_station(
        law, load / law.mean_s, sendings, 20.0, seed=seed, initial_work=initial_work
    )
    packets = packets_of(station)
    arrival_s, service_s, departure_s = np.array([p[:3] for p in packets]).reshape(-1, 3).T
    expected_s = sojourn_s(arrival_s, service_s, station.initial_work_s)
    assert departure_s - arrival_s == pytest.approx(expected_s, rel=1e-9, abs=1e-9)
    assert station.num_served == len(packets)
    assert sum(m.num_served for m in messages) == sum(p.sender != "" for p in packets)
    assert all(m.done.triggered == (m.num_served == m.num_packets) for m in messages)
    before_s = np.concatenate([[station.initial_work_s], departure_s])[:-1]
    if packets:
        assert departure_s == pytest.approx(np.maximum(before_s, arrival_s) + service_s, rel=1e-12)


@given(load=st.floats(0.1, 0.9), seed=st.integers(0, 1000), sendings=some_sendings(st.floats(0.0, 15.0)))
@settings(max_examples=40)
def test_messages_move_none_of_the_publics_draws(load, seed, sendings):
    quiet, busy = (
        run_station(H2, load / H2.mean_s, sent, 30.0, seed=seed, initial_work=StationaryWork())[0]
        for sent in ([], sendings)
    )
    assert quiet.initial_work_s == busy.initial_work_s
    public = [p[:2] for p in packets_of(busy) if p.sender == ""]
    assert public == [p[:2] for p in packets_of(quiet)][: len(public)]


def test_the_publics_packets_are_its_streams_draws():
    num_packets = 2 * BLOCK_SIZE + 100
    station, _ = run_station(H2, 2.0, [Sending(3.0, "a", 5)], 0.6 * num_packets, seed=4)
    sim = Simulation(seed=4)
    gaps_s = sim.stream("path", "arrivals").standard_exponential(num_packets) / 2.0
    services = sim.stream("path", "service")
    services_s = np.concatenate([H2.draw(services, BLOCK_SIZE) for _ in range(2)])
    public = [p for p in packets_of(station) if p.sender == ""]
    assert len(public) > num_packets
    assert [p.arrival_s for p in public[:num_packets]] == pytest.approx(np.cumsum(gaps_s).tolist(), rel=1e-12)
    assert [p.service_s for p in public[: len(services_s)]] == services_s.tolist()


# --- Simultaneous messages --------------------------------------------------------------------------------


@every_tie_order
@pytest.mark.parametrize("senders", ["abc", "cba", "bca"])
def test_messages_of_one_instant_queue_by_the_names_of_their_senders(tie_order, senders):
    """Each draws its own services, so the names decide which has which."""
    sendings = [Sending(2.0, sender, 2) for sender in senders]
    station, _ = run_station(Exponential(rate_per_s=4.0), 0.0, sendings, 20.0, tie_order=tie_order)
    packets = packets_of(station)
    assert [p.sender for p in packets] == [*"aabbcc"]
    services_s = Simulation(1).stream("path", "message service").standard_exponential(6) / 4.0
    assert [p.service_s for p in packets] == pytest.approx(services_s.tolist(), rel=1e-12)


@every_tie_order
def test_messages_sent_when_deadlines_and_races_end_queue_by_name_too(tie_order):
    """Three senders lose something at one instant, each by an alarm of its own, and send at once."""
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    station = Station(
        sim,
        "path",
        PoissonArrivals(rate_per_s=0.0),
        Deterministic(duration_s=0.5),
        NoWork(),
        keep_packets=True,
    )

    def late(name):
        yield from sim.with_deadline([sim.spend(name, "work", 9.0)], 1.0)
        yield from sim.spend(name, "send", station.send(name, 1).done)

    def races(name):
        yield from sim.first({"x": sim.spend(name, "run", 1.0), "y": sim.spend(name, "rest", 9.0)})
        yield from sim.spend(name, "send", station.send(name, 1).done)

    def plain(name):
        yield from sim.spend(name, "work", 1.0)
        yield from sim.spend(name, "send", station.send(name, 1).done)

    processes = [late("e"), plain("d"), races("c"), late("b"), races("a")]
    sim.run(sim.together(processes))
    assert [p.sender for p in packets_of(station)] == [*"abcde"]


@given(
    sendings=some_sendings(st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    seed=st.integers(0, 100),
    law=st.sampled_from([Deterministic(duration_s=0.5), H2]),
)
@settings(max_examples=40)
def test_no_order_of_simultaneous_events_changes_a_packet(sendings, seed, law):
    """Of one sender's messages of an instant only the order of sending may count, so it sends only one."""
    sendings = list({(s.time_s, s.sender): s for s in sendings}.values())
    outcomes = []
    for tie_order in (None, 0, 1, 2):
        for given_sendings in (sendings, sendings[::-1]):
            station, messages = run_station(law, 0.5, given_sendings, 11.3, seed=seed, tie_order=tie_order)
            outcomes.append(
                (station.packets, sorted((m.sender, m.num_packets, m.num_served) for m in messages))
            )
    assert all(outcome == outcomes[0] for outcome in outcomes)


# --- The start --------------------------------------------------------------------------------------------

NUM_STATIONS = 2000
LONGEST_S = 5.0
"""Longer than any time that is looked at; no run is observed for longer."""


def messages_waits_s(law: Any, arrivals_per_s: float, initial_work: Any, sent_s: float) -> np.ndarray:
    """Waiting times of messages sent at one time to as many stations, each on a clock that ends with it."""
    arrivals, waits_s = PoissonArrivals(rate_per_s=arrivals_per_s), []
    for index in range(NUM_STATIONS):
        sim = Simulation(seed=17)
        station = Station(sim, f"path-{index}", arrivals, law, initial_work, keep_packets=True)

        def send(sim=sim, station=station):
            yield from sim.spend("observer", "wait", sent_s)
            yield from sim.spend("observer", "send", station.send("observer", 1).done)

        sim.run(sim.with_deadline([send()], sent_s + LONGEST_S))
        own = [p for p in packets_of(station) if p.sender != ""]
        waits_s += [p.departure_s - p.service_s - p.arrival_s for p in own] or [LONGEST_S]
    return np.array(waits_s)


def shares_agree(waits_s: np.ndarray, survival: Any) -> bool:
    """True if P(W > t) lies in the 99.9 % interval at each of four t."""
    for t_s in (1e-9, 0.3, 1.0, 3.0):
        p = survival(t_s)
        if abs(np.mean(waits_s > t_s) - p) > Z_999 * math.sqrt(p * (1.0 - p) / len(waits_s)):
            return False
    return True


@pytest.mark.parametrize("sent_s", [0.0, 1.7])
def test_from_the_start_on_a_message_waits_as_in_the_stationary_mm1_queue(sent_s):
    """P(W > t) = rho exp(-(mu - lambda) t) at once and later; from empty it does not."""
    arrivals_per_s, rate_per_s = 2.0, 2.58
    rho = arrivals_per_s / rate_per_s

    def survival(t_s):
        return rho * math.exp(-(rate_per_s - arrivals_per_s) * t_s)

    law = Exponential(rate_per_s=rate_per_s)
    assert shares_agree(messages_waits_s(law, arrivals_per_s, StationaryWork(), sent_s), survival)
    assert not shares_agree(messages_waits_s(law, arrivals_per_s, NoWork(), sent_s), survival)


def test_the_first_packet_after_time_0_waits_less():
    """It meets the stationary work less what an exponential time without arrivals serves: rho^2 exp(...)."""
    arrivals_per_s, rate_per_s = 2.0, 2.58
    rho = arrivals_per_s / rate_per_s
    sim = Simulation(seed=23)
    law = Exponential(rate_per_s=rate_per_s)
    stations = [
        Station(
            sim,
            f"path-{index}",
            PoissonArrivals(rate_per_s=arrivals_per_s),
            law,
            StationaryWork(),
            keep_packets=True,
        )
        for index in range(NUM_STATIONS)
    ]
    sim.run(sim.spend("observer", "wait", 2.0 * LONGEST_S))
    first = [packets_of(station)[:1] for station in stations]
    found_s = np.array(
        [p[0].departure_s - p[0].service_s - p[0].arrival_s if p else LONGEST_S for p in first]
    )
    decay_per_s = rate_per_s - arrivals_per_s
    assert shares_agree(found_s, lambda t_s: rho**2 * math.exp(-decay_per_s * t_s))
    assert not shares_agree(found_s, lambda t_s: rho * math.exp(-decay_per_s * t_s))


@pytest.mark.parametrize(
    ("law", "second_s2"),
    [
        (H2, 2.0 * (0.3 / 64.0 + 0.7 / 4.0)),
        (Deterministic(duration_s=0.3875), 0.3875**2),
        (Erlang(num_stages=3, rate_per_s=8.0), 12.0 / 64.0),
    ],
)
def test_the_mean_work_at_the_start_is_pollaczek_khinchines(law, second_s2):
    """`lambda E[B^2] / (2 (1 - rho))`, and the server is busy with probability rho."""
    sim = Simulation(seed=5)
    works_s = np.array(
        [
            Station(
                sim, f"path-{index}", PoissonArrivals(rate_per_s=2.0), law, StationaryWork()
            ).initial_work_s
            for index in range(NUM_STATIONS)
        ]
    )
    rho = 2.0 * law.mean_s
    half_s = Z_999 * works_s.std() / math.sqrt(NUM_STATIONS)
    assert abs(works_s.mean() - second_s2 / (1.0 - rho)) < half_s
    assert abs(works_s.mean() - 1.2 * second_s2 / (1.0 - rho)) > half_s
    assert abs(np.mean(works_s > 0.0) - rho) < Z_999 * math.sqrt(rho * (1.0 - rho) / NUM_STATIONS)


# --- Errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals_per_s", [4.0, 2.0 / 0.775])
def test_a_stationary_start_of_an_unstable_queue_is_refused(arrivals_per_s):
    with pytest.raises(
        ConfigurationError,
        match=r"Station 'path': a load of rho = 1.* has no stationary .*initial_work = NoWork",
    ):
        Station(Simulation(1), "path", PoissonArrivals(rate_per_s=arrivals_per_s), H2, StationaryWork())
    station = Station(Simulation(1), "path", PoissonArrivals(rate_per_s=arrivals_per_s), H2, NoWork())
    assert station.load == pytest.approx(0.3875 * arrivals_per_s, rel=1e-12)
    assert station.initial_work_s == 0.0


def test_no_negative_arrival_rate_and_no_message_without_packets():
    with pytest.raises(ConfigurationError, match=r"PoissonArrivals\.rate_per_s = -1: must be 0 or above"):
        Station(Simulation(1), "path", PoissonArrivals(rate_per_s=-1.0), H2, NoWork())
    with pytest.raises(ValueError, match="at least one"):
        Station(Simulation(1), "path", PoissonArrivals(rate_per_s=0.0), H2, NoWork()).send("a", 0)
