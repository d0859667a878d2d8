"""Tallies of edge rounds are what rows of all clients add up to, by events too."""

import json
import math

import attrs
import numpy as np
import pandas as pd
import pytest
from fixtures.fixes import has_fix

import cosim
from cosim import Never
from cosim.configuration import ConfigurationError
from cosim.engine.run import preparation as run_preparation
from cosim.records.rows import REST
from cosim.results.result import Result
from cosim.system import needs
from cosim.testing import small_system
from cosim.values.submodels import NetworkShape
from scenarios import fleet
from scenarios.papers.rawhfl import RawHfl

TRAINING = small_system().protocol.training


def timed(**changes) -> cosim.System:
    return attrs.evolve(small_system(), evaluation=Never(), **changes)


def waiting(rule: cosim.waiting.Waiting) -> cosim.HFedAvg:
    return cosim.HFedAvg(training=attrs.evolve(TRAINING, num_edge_rounds=2, waiting=rule))


DOZING = cosim.DrawnDevices(idle_w=0.5, sleep_w=0.1, sleeps_after_s=1e-3)
RECEIVING = cosim.DrawnDevices(receive_w=0.5)
SYSTEMS = {
    "all arrive": timed(),
    "some late": timed(protocol=waiting(cosim.Deadline(deadline_s=2e-3))),
    "none arrives": timed(protocol=waiting(cosim.Deadline(deadline_s=1e-4))),
    "first two": timed(protocol=waiting(cosim.waiting.FirstK(num_updates=2))),
    "over the air": timed(uplink=cosim.Radio(sharing=cosim.radio.OverTheAir(bandwidth_hz=2e5))),
    "redivided": timed(uplink=cosim.Radio(sharing=cosim.radio.RedividedShares(bandwidth_hz=2e5))),
    "broadcast": timed(downlink=cosim.radio.Broadcast(bandwidth_hz=1e5), devices=RECEIVING),
    "unicast, some late": timed(
        downlink=cosim.radio.Unicast(sharing=cosim.FixedShares(bandwidth_hz=1e5)),
        devices=RECEIVING,
        protocol=waiting(cosim.Deadline(deadline_s=6e-3)),
    ),
    "cut by the end": timed(end=cosim.AfterSeconds(duration_s=0.12)),
    "at rest": timed(devices=DOZING, protocol=waiting(cosim.Deadline(deadline_s=2e-3))),
    "at rest, one of them": timed(
        devices=DOZING,
        protocol=cosim.HFedAvg(
            training=attrs.evolve(TRAINING, selection=cosim.selection.Uniform(num_participants=1))
        ),
        end=cosim.AfterSeconds(duration_s=0.012),
    ),
}


def tallied(result: Result) -> pd.DataFrame:
    """Tallies by the rows of all clients, an edge round after the other."""
    rows, rests = [], rests_of(result)
    clients = result.fates.merge(
        result.spans.pivot_table(
            index=["node", "job"], columns="activity", values=["energy_j", "start_s", "end_s"], aggfunc="sum"
        ).pipe(lambda wide: wide.set_axis([f"{b}_{a}" for a, b in wide.columns], axis=1)),
        left_on=["client", "job"],
        right_on=["node", "job"],
        how="left",
    )
    for activity in ("receive", "train", "wait", "send"):
        names = [f"{activity}_{value}" for value in ("start_s", "end_s", "energy_j")]
        clients = clients.reindex(columns=[*clients.columns, *(n for n in names if n not in clients)])
        clients[f"{activity}_s"] = clients[names[1]] - clients[names[0]]
    for (edge, global_round, edge_round), own in clients.groupby(["edge", "global_round", "edge_round"]):
        carried = result.transfers[
            (result.transfers["edge"] == edge) & (result.transfers["job"] == own["job"].iloc[0])
        ]
        sent, received = (carried[carried["direction"] == way] for way in ("up", "down"))
        arrived = sent[sent["arrived"]]
        upload_s = sorted(arrived["end_s"] - arrived["start_s"])
        at = {
            q: upload_s[math.ceil(q * len(upload_s)) - 1] if upload_s else math.nan for q in (0.1, 0.5, 0.9)
        }
        rest = _rest(
            rests[rests.set_index(["client", "job"]).index.isin(own.set_index(["client", "job"]).index)]
        )
        rows.append(
            {
                "edge": edge,
                "global_round": global_round,
                "edge_round": edge_round,
                "start_s": own["start_s"].iloc[0],
                "end_s": own["end_s"].max(),
                "num_participants": len(own),
                "num_trained": len(sent),
                "num_arrived": (own["outcome"] == "done").sum(),
                **{f"{name}_s": own[f"{name}_s"].sum() for name in ("train", "wait", "send")},
                **{name: rest[name] for name in ("idle_s", "sleep_s")},
                **{f"{name}_j": own[f"{name}_energy_j"].sum() for name in ("train", "wait", "send")},
                **{name: rest[name] for name in ("idle_j", "sleep_j")},
                "payload_bits": sent["payload_bits"].sum(),
                "sent_bits": sent["sent_bits"].sum(),
                "upload_p10_s": at[0.1],
                "upload_p50_s": at[0.5],
                "upload_p90_s": at[0.9],
                "upload_max_s": upload_s[-1] if upload_s else math.nan,
                "receive_s": own["receive_s"].sum(),
                "receive_j": own["receive_energy_j"].sum(),
                "received_bits": received["sent_bits"].sum(),
            }
        )
    at_the_end = rests[rests["job"].isna()]
    edges = result.rounds.loc[result.rounds["level"] == "edge", "node"].unique() if len(rests) else []
    cell_of = cells(result) if len(rests) else {}
    for edge in edges:
        own = at_the_end[at_the_end["client"].map(cell_of) == edge]
        rows.append(
            dict.fromkeys(rows[0], 0.0)
            | {"edge": edge, "global_round": -1, "edge_round": -1}
            | {"start_s": own["start_s"].min(), "end_s": result.summary.time_s}
            | dict.fromkeys([name for name in rows[0] if name.startswith("upload_")], math.nan)
            | _rest(own)
        )
    return pd.DataFrame(rows)


def cells(result: Result) -> dict[str, str]:
    """Client -> edge server, cells of three and two."""
    sizes = cosim.System(num_cells=2, num_clients=5).sizes()
    names = sorted(result.spans.loc[result.spans["node"].str.startswith("client"), "node"].unique())
    return dict(zip(names, np.repeat(["edge-00", "edge-01"], sizes), strict=True))


def rests_of(result: Result) -> pd.DataFrame:
    """Spans at rest with the job that ended them, none at the end of the run."""
    spans = result.spans[result.spans["activity"].isin(["idle", "sleep"])].sort_values("end_s")
    jobs = (
        result.fates[["client", "job", "start_s"]].rename(columns={"start_s": "end_s"}).sort_values("end_s")
    )
    spans = spans.rename(columns={"node": "client"}).drop(columns="job")
    return pd.merge_asof(spans, jobs, on="end_s", by="client", direction="forward")


def _rest(rests: pd.DataFrame) -> dict[str, float]:
    lasts_s = rests["end_s"] - rests["start_s"]
    found = {}
    for activity in ("idle", "sleep"):
        own = rests["activity"] == activity
        found |= {f"{activity}_s": lasts_s[own].sum(), f"{activity}_j": rests["energy_j"][own].sum()}
    return found


def assert_equal(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """The same rows; their order is the tables' (`test_rows`)."""
    assert list(found.columns) == list(wanted.columns)
    found, wanted = (rows.sort_values(["edge", "end_s", "start_s"]) for rows in (found, wanted))
    for column in found:
        one, other = found[column].tolist(), wanted[column].tolist()
        assert one == (other if column == "edge" else pytest.approx(other, rel=1e-9, nan_ok=True)), column


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_tally_is_the_sum_of_its_rows(name):
    rows = cosim.run(SYSTEMS[name], clock="events")
    few = cosim.run(SYSTEMS[name], records="rounds")
    assert_equal(few.tallies, tallied(rows))
    assert few.rounds.equals(rows.rounds)
    assert not len(few.transfers)
    assert not len(few.fates)
    assert not len(rows.tallies)
    for one, other in zip(few.summary, rows.summary, strict=True):
        assert one == (pytest.approx(other, rel=1e-9) if isinstance(other, float) else other)


def test_evaluations_tell_what_was_spent_until_then():
    system = small_system()
    rows, few = cosim.run(system, num_workers=1), cosim.run(system, num_workers=1, records="rounds")
    assert few.evaluations["accuracy"].tolist() == rows.evaluations["accuracy"].tolist()
    for column in ("energy_j", "bits_per_client"):
        assert few.evaluations[column].tolist() == pytest.approx(rows.evaluations[column].tolist(), rel=1e-9)


def test_a_cell_of_a_large_fleet_is_as_it_is_by_events():
    """The first global round of 3 of 40 cells: what others do reaches no client before the cloud."""
    groups = cosim.PerGroup(values=(1e9,)), cosim.PerGroup(values=(3e9,))
    devices = cosim.evolve(fleet.system().devices, min_frequency_hz=groups[0], max_frequency_hz=groups[1])
    many = cosim.evolve(fleet.system(), devices=devices, end=cosim.AfterRounds(num_global_rounds=2))
    many = cosim.evolve(many, num_cells=40, num_clients=40 * 50)
    few = cosim.evolve(many, num_cells=3, num_clients=3 * 50)
    found = cosim.run(many, records="rounds").tallies
    wanted = tallied(cosim.run(few, clock="events"))
    first = found[found["edge"].isin(set(wanted["edge"])) & (found["global_round"] == 1)]
    assert_equal(first.reset_index(drop=True), wanted[wanted["global_round"] == 1].reset_index(drop=True))


def test_rows_are_kept_up_to_a_number_unless_somebody_says_so(tmp_path, monkeypatch, all_are_large):
    num_jobs = needs.num_jobs_of(timed())
    assert num_jobs == len(cosim.run(timed()).fates)
    for most, records, kept in (
        (4 * num_jobs, "auto", "all"),
        (4 * num_jobs - 1, "auto", "rounds"),
        (0, "all", "all"),
        (4 * num_jobs, "rounds", "rounds"),
    ):
        monkeypatch.setattr(needs, "MOST_ROWS", most)
        folder = tmp_path / f"{most} {records}"
        result = cosim.run(timed(), out=folder, records=records)
        assert (kept == "all") == bool(len(result.fates))
        told = json.loads((folder / "provenance.json").read_text())
        assert (told["records"], told["started_with"]["records"]) == (kept, records)
        assert Result.load(folder).tallies.equals(result.tallies)


CHARGED = cosim.evolve(DOZING, battery=cosim.devices.Battery(capacity_j=0.01, charge_w=1.0))


@pytest.mark.parametrize(
    ("devices", "rest_rows"),
    [(cosim.DrawnDevices(), 0), (cosim.DrawnDevices(idle_w=0.5), 1), (DOZING, 2), (CHARGED, 3)],
    ids=["none", "idle", "asleep", "empty"],
)
def test_rows_of_rest_count(devices, rest_rows, monkeypatch, all_are_large):
    """Against the rows of a run, of which none has more than the kinds of rest that its devices know."""
    system, asked = timed(devices=devices), []
    monkeypatch.setattr(run_preparation, "check_room", lambda needed, *_, **__: asked.append(needed))
    num_jobs = needs.num_jobs_of(system)
    monkeypatch.setattr(needs, "MOST_ROWS", (4 + rest_rows) * num_jobs)
    result = cosim.run(system)
    at_work = result.spans["node"].str.startswith("client")
    num_rows = at_work.sum() + len(result.transfers) + len(result.fates)
    assert 0 < num_rows <= (4 + rest_rows) * num_jobs
    assert set(result.spans["activity"]) >= {*REST[:rest_rows]}
    if devices is CHARGED:
        return  # by events only, with all rows
    without, needed = (asked[place].memory_gib * 2**30 for place in (0, -1))
    assert needed - without == pytest.approx(200 * (4 + rest_rows) * num_jobs)
    monkeypatch.setattr(needs, "MOST_ROWS", (4 + rest_rows) * num_jobs - 1)
    assert not len(cosim.run(system).fates)


def test_nobody_knows_the_rows_of_a_run_that_ends_by_the_clock():
    assert needs.num_jobs_of(timed(end=cosim.AfterSeconds(duration_s=1.0))) is None
    assert needs.num_jobs_of(cosim.System(protocol=RawHfl(), evaluation=Never())) is None


def test_rounds_alone_are_not_to_be_had_by_events():
    with pytest.raises(ConfigurationError, match=r"records = 'rounds': a run runs by events"):
        cosim.run(timed(), records="rounds", clock="events")
    with pytest.raises(
        ConfigurationError, match=r"records = 'rounds': System.protocol = RawHfl runs by events"
    ):
        cosim.run(cosim.System(protocol=RawHfl(), evaluation=Never()), records="rounds")


@pytest.mark.parametrize("what", ["memory", "disk"])
def test_what_cannot_fit_is_refused_with_its_numbers(what, tmp_path, monkeypatch):
    monkeypatch.setattr(needs, f"free_{what}_gib", lambda *_: 0.0)
    with pytest.raises(
        ConfigurationError,
        match=rf"takes about 0\.\d GiB.* 0\.\d+ MiB on disk.* but only 0 MiB of {what} are free",
    ) as no:
        cosim.run(timed(), out=tmp_path / "run")
    assert has_fix(str(no.value))
    assert not (tmp_path / "run").exists()


def test_a_place_where_nothing_can_be_written_is_said_to_be_that_and_not_full(tmp_path, monkeypatch):
    monkeypatch.setattr(needs, "free_disk_gib", lambda *_: 0.0)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"run: cannot be written"):
        cosim.run(timed(), out=tmp_path / "file" / "run")


def test_states_of_clients_that_cannot_fit_are_refused_with_their_numbers(monkeypatch):
    """10,000 clients with 784 * 300 + 300 * 10 float32 each, three times: 10,000 * 238,200 * 12 bytes."""
    monkeypatch.setattr(needs, "free_memory_gib", lambda: 26.0)
    rule = cosim.training.Momentum(keeps_state=True)
    training = cosim.EdgeTraining(local=rule)
    system = cosim.System(
        num_clients=10_000, protocol=cosim.HFedAvg(training=training), data=cosim.data.Synthetic()
    )
    shape = NetworkShape({"first": (300, 784), "second": (10, 300)})
    num_kept = needs.kept_values_of(system, shape)
    assert num_kept == 10_000 * 238_200
    found = needs.needs_of(system, "arrays", keeps_rows=False, num_kept_values=num_kept)
    without = needs.needs_of(system, "arrays", keeps_rows=False)
    assert found.memory_gib - without.memory_gib == pytest.approx(num_kept * 12 / 2**30)
    with pytest.raises(ConfigurationError, match=r"26\.6 GiB for what clients keep.*local training or codec"):
        needs.check_room(found, None, keeps_rows=False)
    assert needs.kept_values_of(cosim.evolve(system, evaluation=Never()), shape) == 0
    anew = cosim.HFedAvg(training=cosim.evolve(training, local=cosim.training.Momentum()))
    assert needs.kept_values_of(cosim.evolve(system, protocol=anew), shape) == 0


def test_what_error_feedback_keeps_is_counted_without_running_statistics():
    """The parameters for each client, and again for a rule that keeps a sum for each."""
    system = cosim.evolve(timed(), codec=cosim.codecs.ErrorFeedback(), evaluation=cosim.ends.EveryVersions())
    shape = NetworkShape({"first": (3, 4), "second": (5,)}, statistics={"mean": (2,)})
    assert needs.kept_values_of(system, shape) == system.num_clients * (12 + 5)
    local = cosim.training.Momentum(keeps_state=True)
    both = cosim.evolve(system, protocol=cosim.HFedAvg(training=cosim.EdgeTraining(local=local)))
    assert needs.kept_values_of(both, shape) == system.num_clients * (17 + 17)


def test_memory_of_what_clients_keep_is_said_first_where_it_is_much(monkeypatch, capsys):
    """By a run that shows its progress, in the words of the refusal."""
    system = cosim.evolve(small_system(), codec=cosim.codecs.ErrorFeedback())
    kept_gib = 5 * (12 * 8 + 8 * 4) * 12 / 2**30
    for much_gib, is_said in ((1.01 * kept_gib, False), (0.99 * kept_gib, True)):
        monkeypatch.setattr(needs, "MUCH_GIB", much_gib)
        cosim.run(system, progress="mine")
        said = capsys.readouterr().err.splitlines()
        found = [line for line in said if "for what clients keep between trainings" in line]
        assert found == (said[:1] if is_said else [])
    assert found[0].startswith("mine: takes about 0.3 GiB of memory")


def test_needs_grow_with_what_is_kept():
    system = cosim.evolve(fleet.system(), num_cells=10, num_clients=10_000)
    all_rows, rounds = (needs.needs_of(system, "arrays", keeps_rows=keeps) for keeps in (True, False))
    assert all_rows.num_jobs == rounds.num_jobs == 10_000 * 5 * 20
    assert all_rows.memory_gib > 3 * rounds.memory_gib
    written = needs.needs_of(system, "arrays", keeps_rows=True, group_rows=100_000)
    longer = cosim.evolve(system, end=cosim.AfterRounds(num_global_rounds=200))
    much_longer = needs.needs_of(longer, "arrays", keeps_rows=True, group_rows=100_000)
    assert much_longer.memory_gib == pytest.approx(written.memory_gib, rel=0.02)
    assert much_longer.disk_gib == pytest.approx(10 * written.disk_gib)
    assert np.isfinite(all_rows.disk_gib)
