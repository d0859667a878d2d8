"""A cell training with a `run` of its own runs on arrays where it may, with the same tables."""

import attrs
import numpy as np
import pytest

import cosim
from cosim.configuration import part
from cosim.jobs.job import Job
from cosim.protocols.assignment import Assignment
from cosim.protocols.edge_training import EdgeTraining
from cosim.testing import small_system
from cosim.testing.laws.tables import same_tables
from cosim.values.combinations import mean


class Once(EdgeTraining):
    """One edge round in a global round, in which clients differ in more than cycles."""

    def run(self, sim, cloud, edge, model, part, global_round):
        load, clients = cloud.workload.of(part), edge.clients
        job, model = Job.of_round(global_round, 0, 1), cloud.sent_down(model)
        yield from edge.receive(sim, load.model.bits)
        work = Assignment(
            route=edge.route,
            job=job,
            request=cloud.request(model, 3, self.local),
            cycles=0.0,
            download=load.download,
            payload=load.upload,
        )
        updates = yield from self.updates(sim, edge, clients, work, load)
        model = mean(updates) if updates else model
        yield from edge.send(sim, load.model.bits)
        return model

    def each(self, clients, load):
        cycles = 3 * np.broadcast_to(load.step_cycles(clients.names, self.local.batch_size), len(clients))
        return {"cycles": cycles}

    def updates(self, sim, edge, clients, work, load):
        _, updates = yield from edge.run_round(sim, clients, work, self.each(clients, load), self.waiting)
        return updates


@part
class AlikeButForCycles(Once):
    """Only in cycles."""


@part
class OwnPowers(Once):
    """In powers, too."""

    def each(self, clients, load):
        powers = [0.1 + 0.02 * place for place in range(len(clients))]
        return super().each(clients, load) | {"tx_power_w": powers}


@part
class ByHand(Once):
    """Without an edge round."""

    def updates(self, sim, edge, clients, work, load):
        own = self.each(clients, load)["cycles"].tolist()
        jobs = [
            client.local_round(sim, attrs.evolve(work, cycles=cycles))
            for client, cycles in zip(clients, own, strict=True)
        ]
        return (yield from sim.together(jobs))


@part
class Later(EdgeTraining):
    """Run as usual, after a while."""

    def run(self, sim, cloud, edge, model, part, global_round):
        yield from sim.spend(edge.name, "idle", 0.01)
        return (yield from super().run(sim, cloud, edge, model, part, global_round))


@pytest.mark.parametrize("kind", [AlikeButForCycles, OwnPowers, ByHand, Later])
def test_own_rounds_have_the_same_tables_on_both_clocks(kind):
    system = attrs.evolve(
        small_system(),
        protocol=cosim.HFedAvg(training=kind(local=cosim.Sgd(batch_size=10))),
        evaluation=cosim.Never(),
    )
    by_events, on_arrays = (cosim.run(system, clock=clock) for clock in ("events", "arrays"))
    same_tables("clocks", by_events, on_arrays, "a round of its own", learned=False)
    assert len(by_events.fates)


@part
class SignsOfAll(Once):
    """Hands what has arrived to a vote, in runs that are only timed as well."""

    def updates(self, sim, edge, clients, work, load):
        updates = yield from super().updates(sim, edge, clients, work, load)
        assert [update.training.learning_rate for update in updates] == [0.5**work.job.global_round] * len(
            updates
        )
        rule = cosim.server_updates.MajorityVote()
        edge.moved(sim, rule, updates[0].model, mean(updates), work.job.number)
        return updates


def test_what_stands_for_an_update_in_a_run_that_is_only_timed_has_its_codec_and_the_numbers_of_its_round():
    halved = cosim.schedules.ByRound(values=(0.5, 0.25, 0.125), first_rounds=(1, 2, 3))
    base = small_system()
    system = attrs.evolve(
        base,
        codec=cosim.codecs.Signs(),
        evaluation=cosim.Never(),
        end=cosim.AfterRounds(num_global_rounds=3),
        protocol=cosim.HFedAvg(training=SignsOfAll(num_edge_rounds=1, local=cosim.Sgd(learning_rate=halved))),
    )
    assert cosim.run(system, clock="events").summary.num_updates > 0
