"""Disciplines and several servers: by hand, and what no order may change."""

from itertools import pairwise

import numpy as np
import pytest
from fixtures.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from own_parts import Stack

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, from_dict, lacks_in, part, to_dict
from cosim.configuration.going_together import EVERY_UPDATE
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.queues.arrivals import PoissonArrivals
from cosim.queues.disciplines import FirstComeFirstServed, Impatient, MessagesFirst, PublicFirst
from cosim.queues.initial_work import NoWork, StationaryWork
from cosim.queues.port import Discipline
from cosim.queues.queued_link import QueuedLink
from cosim.queues.service import Deterministic, Exponential, HyperExponential
from cosim.queues.station import Station
from cosim.system import System
from cosim.waiting.deadlines import Deadline

pytestmark = pytest.mark.quick

NONE = PoissonArrivals(rate_per_s=0.0)
HALF = Deterministic(duration_s=0.5)
ORDERS = (FirstComeFirstServed(), MessagesFirst(), PublicFirst())


def run_station(service=HALF, sendings=(), until_s=100.0, seed=1, **station):
    """Packets of a station by departure, and the messages that senders put into it at times."""
    sim = Simulation(seed)
    station = {"arrivals": NONE, "initial_work": NoWork(), "keep_packets": True} | station
    built = Station(sim, "path", service=service, **station)
    messages = []

    def senders():
        for time_s, sender, num_packets in sendings:
            yield from sim.spend("observer", "wait", max(0.0, time_s - sim.now_s))  # sums of waits round
            messages.append(built.send(sender, num_packets))
        yield from sim.spend("observer", "watch", until_s - sim.now_s)

    sim.run(senders())
    return built.packets, messages


# --- By hand ----------------------------------------------------------------------------------------------


@part
class LastComeFirstServed(Discipline):
    """The last packet to come goes first."""

    def queue(self):
        return Stack()


@pytest.mark.parametrize(
    ("discipline", "senders"), [(FirstComeFirstServed(), "abc"), (LastComeFirstServed(), "acb")]
)
def test_who_is_served_next_is_the_disciplines(discipline, senders):
    sendings = [(0.0, "a", 1), (0.125, "b", 1), (0.25, "c", 1)]
    packets, _ = run_station(sendings=sendings, discipline=discipline)
    assert [packet.sender for packet in packets] == [*senders]


@pytest.mark.parametrize(
    ("num_servers", "ends_s"), [(1, [0.5, 1.0, 1.5, 2.0]), (2, [0.5, 0.5, 1.0, 1.0]), (5, [0.5] * 4)]
)
def test_several_servers_work_side_by_side(num_servers, ends_s):
    packets, (message,) = run_station(sendings=[(0.0, "a", 4)], num_servers=num_servers)
    assert [packet.departure_s for packet in packets] == ends_s
    assert message.done.processed


def test_a_packet_that_has_waited_too_long_leaves_and_its_message_is_never_done():
    """The third of a has waited for 1 s when the server is free, b for 0.9 s, c for 0.6 s."""
    sendings = [(0.0, "a", 3), (0.1, "b", 1), (0.4, "c", 1)]
    packets, messages = run_station(sendings=sendings, discipline=Impatient(patience_s=0.75))
    assert [(packet.sender, packet.departure_s) for packet in packets] == [("a", 0.5), ("a", 1.0), ("c", 1.5)]
    assert [message.num_served for message in messages] == [2, 0, 1]
    assert [message.done.triggered for message in messages] == [False, False, True]


@pytest.mark.parametrize(("patience_s", "num_served"), [(0.25, 2), (0.2499, 1)])
def test_who_has_waited_for_exactly_its_patience_is_served(patience_s, num_served):
    sendings = [(0.0, "a", 1), (0.25, "b", 1)]
    packets, _ = run_station(sendings=sendings, discipline=Impatient(patience_s=patience_s))
    assert len(packets) == num_served


def test_patience_keeps_the_order_of_who_has_not_left():
    sendings = [(0.0, "a", 1), (0.125, "b", 1), (0.25, "c", 1)]
    discipline = Impatient(patience_s=0.5, order=LastComeFirstServed())
    packets, _ = run_station(sendings=sendings, discipline=discipline)
    assert [packet.sender for packet in packets] == ["a", "c"]


def test_messages_and_the_public_in_their_orders():
    """The public's first packet is in service for 2 s; all that come meanwhile wait."""
    public = {
        "arrivals": PoissonArrivals(rate_per_s=3.0),
        "service": Deterministic(duration_s=2.0),
        "until_s": 60.0,
    }
    begins_s = run_station(**public)[0][0].arrival_s
    sendings = [(begins_s + 0.5, "m", 1), (begins_s + 1.0, "n", 1)]
    orders = {
        type(order).__name__: run_station(sendings=sendings, discipline=order, **public)[0]
        for order in ORDERS
    }
    for packets in orders.values():  # within a class by arrival
        for own in ([p for p in packets if p.sender], [p for p in packets if not p.sender]):
            assert [p.arrival_s for p in own] == sorted(p.arrival_s for p in own)
    places = {
        name: [place for place, packet in enumerate(packets) if packet.sender]
        for name, packets in orders.items()
    }
    before = [
        sum(p.arrival_s < time_s for p in orders["FirstComeFirstServed"] if not p.sender)
        for time_s, _, _ in sendings
    ]
    assert places["FirstComeFirstServed"] == [before[0], before[1] + 1]
    assert places["MessagesFirst"] == [1, 2]
    assert places["PublicFirst"] == []  # at three times what the server can do, none gets a turn


def test_messages_have_services_of_their_own_law():
    own = Deterministic(duration_s=0.125)
    packets, _ = run_station(
        sendings=[(1.0, "a", 3)], arrivals=PoissonArrivals(rate_per_s=1.0), message_service=own
    )
    lengths = {(packet.sender != "", packet.service_s) for packet in packets}
    assert lengths == {(False, 0.5), (True, 0.125)}


# --- Laws -------------------------------------------------------------------------------------------------

any_sendings = st.lists(
    st.tuples(st.floats(0.0, 15.0), st.sampled_from("abc"), st.integers(1, 5)), max_size=10
).map(sorted)


def idle_from_s(packets):
    """When the server had nothing more to do, but for the last time, and how long it had worked till then."""
    ends_s = [
        before.departure_s for before, later in pairwise(packets) if later.arrival_s > before.departure_s
    ]
    return [(end_s, sum(p.service_s for p in packets if p.departure_s <= end_s)) for end_s in ends_s]


@given(sendings=any_sendings, seed=st.integers(0, 1000), order=st.sampled_from(ORDERS[1:]))
@settings(max_examples=60)
def test_no_order_moves_the_instants_at_which_the_server_rests(sendings, seed, order):
    """Services are drawn on arrival, so the same work comes, and no server rests while a packet waits."""
    of_orders = [
        idle_from_s(
            run_station(
                HyperExponential(),
                sendings,
                60.0,
                seed,
                arrivals=PoissonArrivals(rate_per_s=1.0),
                discipline=each,
            )[0]
        )
        for each in (FirstComeFirstServed(), order)
    ]
    num = min(map(len, of_orders))
    assert num > 0
    assert np.array(of_orders[1][:num]) == pytest.approx(np.array(of_orders[0][:num]), rel=1e-9)


@given(sendings=any_sendings, seed=st.integers(0, 1000), num_servers=st.integers(1, 4))
@settings(max_examples=60)
def test_servers_by_the_recursion_of_kiefer_and_wolfowitz(sendings, seed, num_servers):
    """In the order of arrivals each packet goes to the server that is free first."""
    law, load = Exponential(rate_per_s=1.0), 0.8
    packets, _ = run_station(
        law,
        sendings,
        80.0,
        seed,
        arrivals=PoissonArrivals(rate_per_s=load * num_servers),
        num_servers=num_servers,
    )
    begun = sorted((p.departure_s - p.service_s, p.arrival_s, p.departure_s) for p in packets)
    assert len(begun) > 10
    free_s = [0.0] * num_servers
    for start_s, arrival_s, departure_s in begun:
        first = min(free_s)
        if departure_s > 70.0:
            break  # a packet that is still in service at the end is not among the packets
        assert start_s == pytest.approx(max(first, arrival_s), rel=1e-9, abs=1e-9)
        free_s[free_s.index(first)] = departure_s
    arrivals_s = [arrival_s for _, arrival_s, departure_s in begun if departure_s <= 40.0]
    assert arrivals_s == pytest.approx(sorted(arrivals_s), abs=1e-9)


# --- What does not go together ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"num_servers": 2}, {"discipline": MessagesFirst()}, {"discipline": Impatient()}]
)
def test_a_stationary_start_is_that_of_one_server_in_order_alone(change):
    message = r"must have one server, first come first served. Use initial_work = NoWork"
    waits = EdgeTraining(waiting=Deadline())  # gives up what never comes
    with pytest.raises(ConfigurationError, match=f"QueuedLink: .*{message}"):
        System(uplink=QueuedLink(**change), protocol=HFedAvg(training=waits))
    with pytest.raises(ConfigurationError, match=f"Station 'path': .*{message}"):
        run_station(initial_work=StationaryWork(), **change)
    System(uplink=QueuedLink(initial_work=NoWork(), **change), protocol=HFedAvg(training=waits))


def test_less_than_one_server_is_refused():
    with refused("Station.num_servers"):
        run_station(num_servers=0)


def test_a_network_that_loses_packets_needs_somebody_who_gives_up():
    uplink = QueuedLink(discipline=Impatient(), initial_work=NoWork())
    with pytest.raises(ConfigurationError, match=r"discipline = Impatient: some uploads never end"):
        System(uplink=uplink, protocol=HFedAvg())


# --- In a link --------------------------------------------------------------------------------------------


def test_a_network_hands_its_stations_what_it_is_told():
    """Two clients on a path of their own, and messages of another length than the public's."""
    uplink = QueuedLink(
        arrivals=NONE,
        service=HALF,
        initial_work=NoWork(),
        num_servers=2,
        packet_bits=100,
        message_service=Deterministic(duration_s=0.125),
        discipline=Impatient(patience_s=0.1, order=MessagesFirst()),
    )
    assert from_dict(QueuedLink, to_dict(uplink)) == uplink
    assert lacks_in(uplink, EVERY_UPDATE)
    sim, zeros = Simulation(seed=1), np.zeros(2)
    (link,) = uplink.of_cells(sim, [Cell("edge-00", ("a", "b"), zeros, zeros)])
    whole, cut = (
        link.open(*upload, Job(1, 0, 0), 0.2) for upload in (("a", Payload(1, 200)), ("b", Payload(1, 500)))
    )
    sim.run(sim.spend("observer", "watch", 10.0))
    assert whole.done.processed
    assert (whole.bits_left, cut.bits_left) == (0.0, 300.0)
    assert not cut.done.triggered


def test_the_load_is_that_of_each_server():
    uplink = QueuedLink(
        arrivals=PoissonArrivals(rate_per_s=4.0), service=HALF, num_servers=4, initial_work=NoWork()
    )
    assert uplink.load == 0.5
