"""Downlinks: what a client receives first, by arithmetic, whole and cut, and parts that cannot wait."""

import attrs
import numpy as np
import own_parts
import pytest
from both_clocks import assert_same, both

import cosim
from cosim import ConfigurationError, DrawnDevices, Never, Simulation, run
from cosim.clock.side_by_side import Dropped
from cosim.devices.cycles import CyclesPerOperation
from cosim.devices.device import DeviceArrays
from cosim.engine.clients.fleet import Fleet
from cosim.engine.ways.of_link import EventsWay
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.protocols.assignment import Assignment, Route
from cosim.testing import small_system
from scenarios.papers.rawhfl import RawHfl

RATE_BPS = 1e5
BITS = 32 * (12 * 8 + 8 * 4)
RECEIVE_S = BITS / RATE_BPS
DOWN = own_parts.CableDown(rate_bps=RATE_BPS)


def timed(system: cosim.System) -> cosim.Result:
    return run(attrs.evolve(system, evaluation=Never()))


def test_instantaneous_is_the_default_and_leaves_no_trace():
    result = timed(small_system())
    assert small_system().downlink == cosim.links.Instantaneous()
    clients = result.spans[result.spans["node"].str.startswith("client")]
    assert set(clients["activity"]) == {"train", "send"}


def test_a_client_receives_then_trains_then_sends():
    """4,096 bits at 100 kbit/s are 40.96 ms, in every job; and then all is as it was, that much later."""
    with_down, without = timed(attrs.evolve(small_system(), downlink=DOWN)), timed(small_system())
    received = with_down.spans[with_down.spans["activity"] == "receive"]
    received = received[received["node"].str.startswith("client")]
    assert len(received) == 5 * 3 * 2
    assert (received["end_s"] - received["start_s"]).to_numpy() == pytest.approx(RECEIVE_S, rel=1e-9)
    jobs = with_down.spans[with_down.spans["job"] >= 0].sort_values(["node", "job", "start_s"])
    for _, own in jobs.groupby(["node", "job"]):
        assert own["activity"].tolist() == ["receive", "train", "send"]
        assert own["start_s"].tolist()[1:] == own["end_s"].tolist()[:-1]
    columns = ["node", "activity", "job"]
    old = without.spans[columns].assign(lasts_s=without.spans["end_s"] - without.spans["start_s"])
    new = jobs[columns].assign(lasts_s=jobs["end_s"] - jobs["start_s"])
    both = old.merge(new, on=columns)
    assert len(both) == 5 * 3 * 2 * 2
    assert both["lasts_s_x"].to_numpy() == pytest.approx(both["lasts_s_y"].to_numpy(), rel=1e-9)


@pytest.mark.parametrize(
    "downlink", [cosim.radio.Unicast(), cosim.radio.Broadcast(bandwidth_hz=1e6)], ids=type
)
def test_downloads_open_with_their_round_and_carry_the_coded_model(downlink):
    """Half the bits down, all up, on both clocks; the clock of a round starts when all have received."""
    system = attrs.evolve(
        small_system(cosim.Deadline(deadline_s=1e3)),
        downlink=downlink,
        downloads_count=False,
        model_codec=cosim.codecs.BFloat16(),
        evaluation=Never(),
    )
    by_events, on_arrays = both(system)
    assert_same(by_events, on_arrays)
    rounds = on_arrays.rounds[on_arrays.rounds["level"] == "edge"].set_index(["node", "edge_round"])
    for (edge, number), own in on_arrays.transfers.groupby(["edge", "edge_round"]):
        down, up = (own[own["direction"] == way] for way in ("down", "up"))
        begins_s = rounds.xs((edge, number))["start_s"].tolist()
        assert set(down["start_s"]) <= set(begins_s)
        assert set(down["payload_bits"]) == {BITS / 2}
        assert set(up["payload_bits"]) == {BITS}
        assert len(down) == len(up)


def test_receiving_takes_its_own_and_the_static_power():
    devices = DrawnDevices(static_power_w=0.25, receive_w=0.5)
    spans = timed(attrs.evolve(small_system(), downlink=DOWN, devices=devices)).spans
    received = spans[(spans["activity"] == "receive") & (spans["job"] >= 0)]
    assert received["energy_j"].to_numpy() == pytest.approx(0.75 * RECEIVE_S, rel=1e-9)


def test_a_deadline_covers_the_download():
    """All are cut while they receive; no client trains, nothing is uploaded, and energy is what was spent."""
    deadline_s = 0.5 * RECEIVE_S
    devices = DrawnDevices(static_power_w=0.25)
    system = small_system(cosim.Deadline(deadline_s=deadline_s))
    result = timed(attrs.evolve(system, downlink=DOWN, devices=devices))
    clients = result.spans[result.spans["job"] >= 0]
    assert set(clients["activity"]) == {"receive"}
    assert set(clients["outcome"]) == {"deadline"}
    assert clients["energy_j"].to_numpy() == pytest.approx(0.25 * deadline_s, rel=1e-9)
    assert set(result.transfers["direction"]) == {"down"}
    assert not result.transfers["arrived"].any()
    assert result.transfers["sent_bits"].to_numpy() == pytest.approx(0.5 * BITS, rel=1e-9)
    assert result.summary.bits_per_client == 0.0
    assert result.summary.received_bits_per_client == pytest.approx(0.5 * BITS * 3 * 2, rel=1e-9)
    assert set(result.fates["outcome"]) == {"deadline"}
    assert result.summary.num_dropped == result.summary.num_updates == 5 * 3 * 2


class Counted(cosim.links.SteadyUpload):
    """Says when it is closed."""

    closed_s: list[float]

    def close(self):
        self.closed_s.append(self._sim.now_s)


ALONE = Cell("e", ("client-0000",), np.ones(1), np.ones(1))


def job(
    sim: Simulation, budget_j: float | None, upload_deadline_s: float | None = None
) -> tuple[object, list[float]]:
    """Receives for 2 s at 0.5 W, trains for 4 s at 0.6 W, and sends for 1 s at 0.7 W."""
    closed_s: list[float] = []

    class Link(cosim.CellLink):
        def open(self, client, payload, job, tx_power_w=None):
            download = Counted(sim, payload.bits, 10.0)
            download.closed_s = closed_s
            return download

    class Up(cosim.CellLink):
        def open(self, client, payload, job, tx_power_w=None):
            return cosim.links.SteadyUpload(sim, payload.bits, 10.0)

    device = cosim.devices.Device(
        frequency_hz=1e9, capacitance_j_per_hz2=2e-28, static_power_w=0.5, tx_power_w=0.2
    )
    fleet = Fleet(DeviceArrays.of([device]), np.array([100.0]), lambda number: None)
    client = fleet.client(0)

    class Update:
        training, codec, own = type("Rule", (), {"keeps_state": False}), None, None

    assignment = Assignment(
        route=Route("e", EventsWay(sim, Up(), ALONE, ALONE.tx_power_w), EventsWay(sim, Link(), ALONE, None)),
        job=Job(1, 0, 0),
        request=lambda *asked: Update(),
        cycles=4e9,
        download=Payload(1, 20),
        payload=Payload(1, 10),
        energy_budget_j=budget_j,
        upload_deadline_s=upload_deadline_s,
    )
    return sim.run(client.local_round(sim, assignment)), closed_s


@pytest.mark.parametrize(
    ("budget_j", "ends_s", "doing"),
    [
        (0.75, 1.5, "receive"),
        (1.0, 2.0, "receive"),
        (1.6, 3.0, "train"),
        (3.75, 6.5, "send"),
        (4.2, 7.0, "send"),
        (None, 7.0, "send"),
    ],
)
def test_an_energy_budget_covers_the_download(budget_j, ends_s, doing):
    """1 J for receiving, 2.4 J for training, 0.7 J for sending."""
    sim = Simulation(seed=1)
    outcome, closed_s = job(sim, budget_j)
    arrives = budget_j is None or budget_j > 4.1
    assert (outcome == Dropped("energy budget")) is not arrives
    assert sim.recorder.spans[-1].activity == doing
    assert sim.recorder.spans[-1].end_s == pytest.approx(ends_s, rel=1e-12)
    spent_j = sum(span.energy_j for span in sim.recorder.spans)
    assert spent_j == pytest.approx(min(budget_j or 4.1, 4.1), rel=1e-9)
    assert closed_s == [pytest.approx(min(ends_s, 2.0), rel=1e-12)]


@pytest.mark.parametrize(
    ("budget_j", "deadline_s", "ends_s", "reason"),
    [(3.75, 0.25, 6.25, "deadline"), (3.75, 0.75, 6.5, "energy budget"), (None, 0.25, 6.25, "deadline")],
)
def test_an_upload_keeps_both_to_its_deadline_and_to_the_energy(budget_j, deadline_s, ends_s, reason):
    sim = Simulation(seed=1)
    assert job(sim, budget_j, deadline_s)[0] == Dropped(reason)
    assert sim.recorder.spans[-1].end_s == pytest.approx(ends_s, rel=1e-12)


@pytest.mark.parametrize(
    "protocol",
    [RawHfl(), cosim.Hist(submodel_sizes=cosim.protocols.LatencyOptimal())],
    ids=["RawHfl", "Hist"],
)
def test_who_plans_how_long_jobs_take_is_refused(protocol):
    kind = "LatencyOptimal" if isinstance(protocol, cosim.Hist) else "RawHfl"
    with pytest.raises(
        ConfigurationError, match=rf"CableDown: no plan knows .*= {kind} plans how long jobs take"
    ):
        attrs.evolve(small_system(), downlink=DOWN, protocol=protocol)
    attrs.evolve(small_system(), protocol=protocol)


def test_equal_submodels_are_received_as_parts():
    """Half of the hidden units have half of the weights, so they come in half of the time."""
    protocol = cosim.Hist(training=small_system().protocol.training)
    system = attrs.evolve(small_system(), protocol=protocol, end=cosim.AfterRounds(num_global_rounds=1))
    spans = timed(attrs.evolve(system, downlink=DOWN)).spans
    received = spans[(spans["activity"] == "receive") & (spans["job"] >= 0)]
    assert (received["end_s"] - received["start_s"]).to_numpy() == pytest.approx(RECEIVE_S / 2.0, rel=1e-9)


def test_a_downlink_without_a_link_for_each_cell_is_refused():
    class Short(own_parts.CableDown):
        """Forgets a cell."""

        def of_cells(self, sim, cells):
            return super().of_cells(sim, cells)[1:]

    with pytest.raises(ConfigurationError, match=r"Short.of_cells gives 1 links for 2 cells"):
        timed(attrs.evolve(small_system(), downlink=Short(), cycles=CyclesPerOperation()))
