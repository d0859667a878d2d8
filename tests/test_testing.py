"""The contract: all of ours keep the laws, and for each law a part that breaks it is caught."""

import attrs
import numpy as np
import pytest

import cosim
from cosim.configuration import configuration
from cosim.protocols.protocol import Protocol
from cosim.records import Round
from cosim.testing import BrokenLaw, check_protocol, check_system, small_system
from scenarios import rawhfl, vhfl

SMALL = small_system()
TRAINING = SMALL.protocol.training
SLOW = cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=1e6))


def with_deadline(deadline_s: float) -> cosim.HFedAvg:
    return cosim.HFedAvg(num_global_rounds=3, training=attrs.evolve(TRAINING, deadline_s=deadline_s))


def small_vhfl() -> cosim.System:
    system = vhfl.system()
    traffic = attrs.evolve(system.data.traffic, num_days=9)
    protocol = attrs.evolve(
        system.protocol, num_global_rounds=3, num_local_epochs=2, num_senders=3, num_needed=2
    )
    data = attrs.evolve(system.data, num_cells=4, traffic=traffic)
    return attrs.evolve(system, num_clients=4, data=data, protocol=protocol)


def small_rawhfl() -> cosim.System:
    system = rawhfl.system()
    protocol = attrs.evolve(system.protocol, num_global_rounds=2, num_edge_rounds=2, max_local_rounds=3)
    data = attrs.evolve(system.data, num_users=8)
    return attrs.evolve(system, num_cells=2, num_clients=8, data=data, protocol=protocol)


OURS = {
    "HFedAvg": SMALL,
    "HIST": attrs.evolve(SMALL, protocol=cosim.Hist(num_global_rounds=3, training=TRAINING)),
    "a deadline": attrs.evolve(SMALL, protocol=with_deadline(0.0011), uplink=SLOW),
    "redivided shares": attrs.evolve(
        SMALL, uplink=cosim.Radio(sharing=cosim.RedividedShares(bandwidth_hz=1e6))
    ),
    "resource blocks": attrs.evolve(
        SMALL, uplink=cosim.Radio(sharing=cosim.ResourceBlocks(num_blocks=2)), protocol=with_deadline(0.0015)
    ),
    "over the air": attrs.evolve(
        SMALL, uplink=cosim.Radio(sharing=cosim.OverTheAir(bandwidth_hz=1e6)), protocol=with_deadline(0.0015)
    ),
    "queues": attrs.evolve(SMALL, uplink=cosim.PublicNetwork(), protocol=with_deadline(0.3)),
    "VHFL": small_vhfl(),
    "RawHFL": small_rawhfl(),
}


@pytest.mark.parametrize("system", OURS.values(), ids=OURS)
def test_ours_keep_the_laws(system: cosim.System) -> None:
    check_system(system)


# --- Parts that break one law each --------------------------------------------------------------------------


class AtOnce(cosim.HFedAvg):
    """Lets one client do two things at once."""

    def play(self, sim, cloud):
        client = cloud.edges[0].clients[0]
        yield from sim.together([sim.spend(client.name, what, 1.0) for what in ("sing", "dance")])
        return (yield from super().play(sim, cloud))


class Gaining(cosim.HFedAvg):
    """Wins energy by working."""

    def play(self, sim, cloud):
        yield from sim.spend(cloud.name, "work", 1.0, power_w=-1.0)
        return (yield from super().play(sim, cloud))


class PayingToWait(cosim.HFedAvg):
    """Waits at full power."""

    def play(self, sim, cloud):
        yield from sim.spend(cloud.name, "wait", 1.0, power_w=1.0)
        return (yield from super().play(sim, cloud))


class Miscounting(cosim.HFedAvg):
    """Counts one update too few."""

    def play(self, sim, cloud):
        model = yield from super().play(sim, cloud)
        rows = sim.trace.rounds
        rows[0] = rows[0]._replace(num_arrived=rows[0].num_participants - 1)
        return model


class Backdating(cosim.HFedAvg):
    """Closes an edge round before its last upload has arrived."""

    def play(self, sim, cloud):
        model = yield from super().play(sim, cloud)
        rows = sim.trace.rounds
        rows[0] = rows[0]._replace(end_s=rows[0].start_s)
        return model


class AlwaysTheFirst(cosim.EdgeTraining):
    """Calls every job of a client the first."""

    def play(self, sim, cloud, edge, model, part, global_round):
        model = yield from super().play(sim, cloud, edge, model, part, global_round)
        sim.trace.fates[:] = [row._replace(job=0) for row in sim.trace.fates]
        return model


class Overlapping(cosim.HFedAvg):
    """Writes a round that begins within the last one."""

    def play(self, sim, cloud):
        model = yield from super().play(sim, cloud)
        last = next(row for row in reversed(sim.trace.rounds) if row.level == "global")
        sim.trace.record(Round(*last[:2], last.global_round + 1, *last[3:]))
        return model


class Drawing(cosim.HFedAvg):
    """Draws from a generator that nobody seeds."""

    def play(self, sim, cloud):
        yield from sim.spend(cloud.name, "idle", np.random.default_rng().random())
        return (yield from super().play(sim, cloud))


class FirstCome(cosim.HFedAvg):
    """Lets the client that happens to be served first wait for the others."""

    def play(self, sim, cloud):
        came = []

        def comes(client):
            yield from sim.spend(client.name, "walk", 1.0)
            came.append(client.name)
            yield from sim.spend(client.name, "rest", float(len(came)))

        yield from sim.together([comes(client) for client in cloud.edges[0].clients])
        return (yield from super().play(sim, cloud))


class Hasty(cosim.HFedAvg):
    """Takes no time for what it does where nothing is learned."""

    def play(self, sim, cloud):
        yield from sim.spend(cloud.name, "idle", 0.0 if cloud.evaluate_every is None else 1.0)
        return (yield from super().play(sim, cloud))


class Forgetful(cosim.HFedAvg):
    """Does something else when it goes on."""

    def play(self, sim, cloud):
        yield from sim.spend(cloud.name, "idle", 2.0 if cloud.known else 1.0)
        return (yield from super().play(sim, cloud))


@configuration
class Unequal(cosim.HFedAvg):
    """Equals nothing, so nobody can say whether it comes back."""

    def __eq__(self, other):
        return False

    __hash__ = None


PLANTED = {
    AtOnce: "time: two activities of .* overlap",
    Overlapping: "time: global rounds of cloud overlap",
    Gaining: "energy: an activity must take a finite energy of at least 0",
    PayingToWait: "energy: waiting takes none",
    Miscounting: "drops: 2 uploads arrive at edge-01 in round 1.0, and 1 updates",
    Backdating: "drops: an upload of .* arrives after its edge round",
    Drawing: "determinism: ",
    FirstCome: "determinism, with simultaneous events in another order: ",
    Hasty: "timing only: ",
    Forgetful: "resume after global round 0: ",
    Unequal: "round trip: ",
}


def test_jobs_of_one_number_are_caught() -> None:
    protocol = cosim.HFedAvg(num_global_rounds=2, training=AlwaysTheFirst(num_edge_rounds=2))
    with pytest.raises(BrokenLaw, match="jobs: client and number must name one job"):
        check_protocol(protocol)


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_protocol_that_breaks_a_law_is_caught(kind: type[Protocol]) -> None:
    with pytest.raises(BrokenLaw, match=PLANTED[kind]):
        check_protocol(kind(num_global_rounds=2, training=TRAINING))
