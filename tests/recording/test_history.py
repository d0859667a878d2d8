"""Outcomes of clients' jobs, as a rule reads them: against the tables, on both clocks, after a stop."""

import numpy as np
import pytest
import worlds

import cosim
from cosim import ConfigurationError, Never, evolve
from cosim.configuration import part
from cosim.recording.history import Past
from cosim.testing import check_system, small_system

SEEN: list[tuple[list[str], Past]] = []
"""Histories that rules have read, in their order."""


@part
class Frugal(cosim.selection.SomeClients):
    """Clients that have taken the least energy so far."""

    reads_history = True

    def participants(self, sim, edge, coming):
        past = coming.history(coming.clients)
        SEEN.append((list(coming.clients.names), past))
        order = np.argsort(past.energy_j, kind="stable")
        return coming.clients.some(order[: self.num_participants])


class Silent(Frugal):
    """Does not say that it reads it."""

    reads_history = False


@part
class Tired(cosim.devices.Processor):
    """Slower with every job."""

    reads_history = True

    def frequency_hz(self, sim, clients, jobs):
        return jobs.frequency_hz / (1.0 + jobs.history.num_jobs)


def system(
    waiting: cosim.waiting.Waiting | None = None, selection: cosim.Selection | None = None
) -> cosim.System:
    training = cosim.EdgeTraining(
        num_edge_rounds=4,
        selection=selection or Frugal(num_participants=3),
        waiting=waiting or cosim.WaitForAll(),
    )
    return evolve(
        small_system(), num_clients=12, protocol=cosim.HFedAvg(training=training), evaluation=Never()
    )


def read(of: cosim.System, **options) -> tuple[cosim.Result, list[tuple[list[str], Past]]]:
    SEEN.clear()
    result = cosim.run(of, **options)
    return result, [*SEEN]


WAYS = [{"clock": "events"}, {"clock": "arrays"}, {"clock": "arrays", "records": "rounds"}]
WAITING = {
    "all": cosim.WaitForAll(),
    "first": cosim.waiting.FirstK(num_updates=2),
    "deadline": cosim.Deadline(deadline_s=1.5e-3),
    "each its own": cosim.waiting.UploadDeadline(upload_deadline_s=4e-5),
}


@pytest.mark.parametrize("waiting", WAITING.values(), ids=WAITING)
def test_what_is_read_is_in_the_tables_on_both_clocks(waiting):
    """The last time that each is asked: sums over its spans and fates, but for the jobs that come after."""
    result, seen = read(system(waiting), clock="events")
    names, past = seen[-1]
    since_s = result.rounds[result.rounds["level"] == "edge"]["start_s"].max()
    fates = result.fates[result.fates["start_s"] < since_s]
    jobs = set(zip(fates["client"], fates["job"], strict=True))
    for place, name in enumerate(names):
        own = fates[fates["client"] == name]
        assert past.num_jobs[place] == len(own)
        assert past.num_arrived[place] == (own["outcome"] == "done").sum()
        for outcome, counts in past.outcomes.items():
            assert counts[place] == (own["outcome"] == outcome).sum()
        assert past.lasted_s[place] == pytest.approx((own["end_s"] - own["start_s"]).sum(), rel=1e-12)
        spans = result.spans[result.spans["node"] == name]
        of_jobs = [(name, job) in jobs for job in spans["job"]]
        assert past.energy_j[place] == pytest.approx(spans[of_jobs]["energy_j"].sum(), rel=1e-12)
        last = own[own["job"] == own["job"].max()]
        assert past.last_s[place] == pytest.approx((last["end_s"] - last["start_s"]).sum(), rel=1e-12)
        of_last = spans[spans["job"].isin(last["job"])]
        assert past.last_j[place] == pytest.approx(of_last["energy_j"].sum(), rel=1e-12)
    assert past.num_jobs.sum() > 0
    before = seen[0][1]  # what was read at first is what it was
    assert not any(getattr(before, name).any() for name in Past._fields[:-1])
    assert not any(counts.any() for counts in before.outcomes.values())
    for way in WAYS[1:]:
        _, others = read(system(waiting), **way)
        assert len(others) == len(seen)
        for (_, one), (_, other) in zip(seen, others, strict=True):
            for name in Past._fields[:-1]:
                assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
            counted = [
                {key: of.tolist() for key, of in past.outcomes.items() if of.any()} for past in (one, other)
            ]
            assert counted[0] == counted[1]


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_what_has_come_and_is_left_out_has_not_arrived(clock):
    """Three arrive at one instant, of which the first by number counts."""
    training = worlds.training(
        num_edge_rounds=2, selection=Frugal(num_participants=3), waiting=cosim.waiting.FirstK(num_updates=1)
    )
    of = worlds.one_cell(1e9, 1e9, 1e9, protocol=cosim.HFedAvg(training=training), evaluation=Never())
    _, seen = read(of, clock=clock)
    past = seen[-1][1]
    assert past.num_arrived.tolist() == [1, 0, 0]
    assert past.outcomes["after the first 1"].tolist() == [0, 1, 1]


def test_a_rule_that_does_not_say_so_reads_no_history():
    with pytest.raises(ConfigurationError, match=r"history: .*reads_history = True in its class"):
        cosim.run(system(selection=Silent(num_participants=3)))


def test_nothing_is_kept_where_no_part_reads_it():
    result, _ = read(small_system())
    assert result.summary.num_updates


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_processor_may_tire(clock):
    one = cosim.PerGroup(values=(1e9,))
    devices = cosim.DrawnDevices(processor=Tired(), min_frequency_hz=one, max_frequency_hz=one)
    of = evolve(small_system(), devices=devices, evaluation=Never())
    spans = cosim.run(of, clock=clock).spans
    spans = spans[spans["activity"] == "train"]
    lasts_s = (spans["end_s"] - spans["start_s"]).to_numpy()
    np.testing.assert_allclose(lasts_s / lasts_s.min(), 1 + spans["job"].to_numpy(), rtol=1e-6)


def test_a_processor_may_tire_without_rounds():
    of = evolve(
        small_system(), protocol=cosim.FedBuff(num_updates=2), end=cosim.AfterVersions(num_versions=6)
    )
    devices = evolve(of.devices, processor=Tired())
    spans = cosim.run(evolve(of, devices=devices, evaluation=Never())).spans
    spans = spans[(spans["activity"] == "train") & (spans["outcome"] == "done")]
    own = spans[spans["node"] == "client-0000"]
    lasts_s = (own["end_s"] - own["start_s"]).to_numpy()
    np.testing.assert_allclose(lasts_s / lasts_s[0], 1 + own["job"].to_numpy(), rtol=1e-6)


def test_what_reads_its_history_keeps_all_laws_and_goes_on_after_a_stop():
    check_system(evolve(system(), evaluation=small_system().evaluation))
