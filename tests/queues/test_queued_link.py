"""Uplinks through queues: whose queue, how many packets, what is left of an upload."""

import warnings
from collections.abc import Sequence

import attrs
import numpy as np
import pytest

from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.queues.arrivals import PoissonArrivals
from cosim.queues.initial_work import NoWork
from cosim.queues.paths import OwnPaths, SharedPath
from cosim.queues.queued_link import QueuedLink, QueueLink
from cosim.queues.service import Deterministic, HyperExponential

CLIENTS = ("client-2", "client-1", "client-10")

empty = QueuedLink(
    arrivals=PoissonArrivals(rate_per_s=0.0), service=Deterministic(duration_s=0.5), initial_work=NoWork()
)


def test_the_load_is_the_publics():
    assert QueuedLink().load == pytest.approx(2.0 * (0.5 / 8.0 + 0.5 / 2.0), rel=1e-12)
    busy = QueuedLink(service=HyperExponential(weights=(0.3, 0.7)))
    assert busy.load == pytest.approx(0.775, rel=1e-12)


def link_of(uplink: QueuedLink, sim: Simulation, clients: Sequence[str] = CLIENTS) -> QueueLink:
    """The link of a link's only cell."""
    zeros = np.zeros(len(clients))
    (link,) = uplink.of_cells(sim, [Cell("edge-00", tuple(clients), zeros, zeros)])
    return link


def ends_s(uplink: QueuedLink, payload_bits: int) -> dict[str, float]:
    """When the uploads of all clients end that start at time 0."""
    sim = Simulation(seed=1)
    link, ended_s = link_of(uplink, sim), {}

    def send(client):
        upload = link.open(client, Payload(1, payload_bits), Job(1, 0, 0), 0.2)
        yield from sim.spend(client, "send", upload.done)
        upload.close()
        ended_s[client] = sim.now_s

    sim.run(sim.together([send(client) for client in CLIENTS]))
    return ended_s


def test_on_paths_of_their_own_clients_do_not_meet():
    assert ends_s(empty, 1000) == dict.fromkeys(CLIENTS, 0.5)


def test_on_a_shared_path_they_queue_by_number():
    shared = attrs.evolve(empty, paths=SharedPath())
    assert ends_s(shared, 1000) == {"client-1": 0.5, "client-2": 1.0, "client-10": 1.5}


@pytest.mark.parametrize(
    ("payload_bits", "packet_bits", "num_packets"),
    [(1000, None, 1), (1000, 1000, 1), (1000, 999, 2), (1001, 500, 3), (10**18 + 1, 10**18, 2), (0, 8, 1)],
)
def test_an_upload_has_as_many_packets_as_its_bits_need(payload_bits, packet_bits, num_packets):
    uplink = attrs.evolve(empty, packet_bits=packet_bits)
    assert ends_s(uplink, payload_bits) == dict.fromkeys(CLIENTS, 0.5 * num_packets)


def test_what_is_left_is_in_proportion_to_the_packets_that_have_not_left():
    sim = Simulation(seed=1)
    link = link_of(attrs.evolve(empty, packet_bits=300), sim, "a")

    def send():
        upload = link.open("a", Payload(1, 1000), Job(1, 0, 0), 0.2)
        left_bits = [upload.bits_left]
        for _ in range(4):
            yield from sim.spend("a", "look", 0.5000001)
            left_bits.append(upload.bits_left)
        return left_bits, upload.done.processed

    assert sim.run(send()) == ([1000.0, 750.0, 500.0, 250.0, 0.0], True)


def test_what_is_closed_early_stays_in_the_queue():
    sim = Simulation(seed=1)
    link = link_of(attrs.evolve(empty, packet_bits=100), sim, "a")

    def cell():
        upload = link.open("a", Payload(1, 400), Job(1, 0, 0), 0.2)
        (lost,) = yield from sim.with_deadline([sim.spend("a", "send", upload.done)], 0.75)
        upload.close()
        left_bits = upload.bits_left
        yield from sim.spend("a", "send", link.open("a", Payload(1, 100), Job(2, 0, 0), 0.2).done)
        return lost, left_bits, upload.bits_left

    assert sim.run(cell()) == (Dropped("deadline"), 300.0, 0.0)
    assert sim.now_s == 2.5


def test_the_rounds_change_nothing_and_the_names_of_paths_their_draws():
    def services_s(paths, job):
        sim = Simulation(seed=1)
        link = link_of(attrs.evolve(empty, service=HyperExponential(), paths=paths), sim, "ab")
        found_s = []
        for client in "ab":
            before_s = sim.now_s
            sim.run(sim.spend(client, "send", link.open(client, Payload(1, 1), Job(*job), 0.2).done))
            found_s.append(sim.now_s - before_s)
        return found_s

    assert services_s(OwnPaths(), (1, 0, 0)) == services_s(OwnPaths(), (7, 3, 15))
    assert services_s(OwnPaths(), (1, 0, 0))[0] != services_s(OwnPaths(), (1, 0, 0))[1]
    assert services_s(OwnPaths(), (1, 0, 0)) != services_s(SharedPath(), (1, 0, 0))


# --- Loads that no queue carries --------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals_per_s", [3.2, 5.0])
def test_a_stationary_start_without_a_stationary_state_is_refused(arrivals_per_s):
    rho = arrivals_per_s * 0.3125
    with pytest.raises(
        ConfigurationError, match=rf"QueuedLink: a load of rho = {rho:g} .*initial_work = NoWork"
    ):
        QueuedLink(arrivals=PoissonArrivals(rate_per_s=arrivals_per_s))


def test_an_overload_from_empty_is_warned_of_once():
    uplink = QueuedLink(arrivals=PoissonArrivals(rate_per_s=4.0), initial_work=NoWork())
    with pytest.warns(UserWarning, match=r"rho = 1\.25 .*without bound") as caught:
        uplink.of_cells(Simulation(seed=1), [])
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_load_below_1_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        QueuedLink(arrivals=PoissonArrivals(rate_per_s=3.199), initial_work=NoWork()).of_cells(
            Simulation(seed=1), []
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"arrivals": 2.0}, r"QueuedLink\.arrivals.*Arrivals"),
        ({"packet_bits": 0}, r"QueuedLink\.packet_bits = 0: must be at least 1"),
        (
            {"paths": "both"},
            r"QueuedLink\.paths = 'both': .*its 'kind' must be one of OwnPaths, SharedPath",
        ),
        (
            {"initial_work": "full"},
            r"QueuedLink\.initial_work = 'full': .*its 'kind' must be one of NoWork, StationaryWork",
        ),
        (
            {"service": {"kind": "Pareto"}},
            r"QueuedLink\.service .*Exponential, HyperExponential\b.*, or module:Class",
        ),
    ],
)
def test_a_bad_field_is_refused(values, message):
    with pytest.raises(ConfigurationError, match=message):
        QueuedLink(**values)


def test_a_network_survives_json():
    uplink = QueuedLink(service=Deterministic(duration_s=0.1), paths=SharedPath(), packet_bits=12_000)
    assert from_dict(QueuedLink, to_dict(uplink)) == uplink
