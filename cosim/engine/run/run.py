"""Run: one system from its configuration to its tables.

Everything is checked before the clock starts and before a folder is made. The tables and a checkpoint of the
global model are saved when the run ends, when it is interrupted (Ctrl-C), and now and then between, so that a
stopped run goes on where it was.

Usage::

    result = run(System(), out="runs/a")
    print(result.summary)
    run(System(), out="runs/a", resume=True)  # had it been stopped
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import attrs

from cosim.clock.event_clock import Deadlock
from cosim.clock.simulation import Process, Simulation, process_of
from cosim.configuration.calls import checked_call
from cosim.configuration.port import pictures_of
from cosim.engine.clients.availability import with_the_absent
from cosim.engine.run.collector import rare_collections
from cosim.engine.run.options import RunOptions
from cosim.engine.run.preparation import PreparedRun, prepare
from cosim.engine.servers.cloud import Cloud, VersionReport
from cosim.engine.store.checkpoint import other_rows
from cosim.engine.store.kept_model import LAST
from cosim.engine.store.row_groups import GROUP_ROWS
from cosim.files.interrupts import interrupts_kept
from cosim.records.rows import END_OF_RUN
from cosim.results.result import Result
from cosim.results.summary import COMPLETE
from cosim.system.needs import ClockKind, RecordsKind
from cosim.system.remarks import say_once
from cosim.system.system import System


@checked_call
def run(
    system: System,
    network: Any = None,
    *,
    out: str | Path | None = None,
    scenario: str | None = None,
    data_dir: str | Path | None = None,
    num_workers: int | None = None,
    device: str = "cpu",
    listener: Callable[[VersionReport], None] = lambda report: None,
    shuffle_ties: int | None = None,
    clock: ClockKind = "auto",
    records: RecordsKind = "auto",
    resume: bool | Literal["as found"] = False,
    checkpoint_every: int | None = None,
    keep: str = LAST,
    group_rows: int = GROUP_ROWS,
    progress: bool | str = False,
) -> Result:
    """Run a system to its end.

    Args:
        network: The torch.nn.Module that is trained, or a function without arguments that returns it. It
            begins as the function makes it under the run's seed; of a module itself, what its layers can
            reset is drawn from the seed, or all is its own (`System.initial_weights`). Where nothing is
            learned it needs no values, so it may lie on torch's device "meta". None means the network that
            `System.model` names.
        out: Run folder to make; None keeps the tables in memory only.
        scenario: Name of the scenario, or module:function, which config.json says.
        data_dir: Folder of the data set's files; None looks in the usual places.
        num_workers: Threads that learn. None means one per available core, and one on CUDA. The results do
            not depend on it.
        device: "cpu" or "cuda".
        listener: Called with a `VersionReport` for every version of the global model, when it is made.
        clock: By events or on arrays: how edge rounds run, with the same results; auto: by events up to
            100,000 client-rounds, which take a few seconds, on arrays above where all parts can.
        records: True if the tables have rows of every client (all), or a `Tally` of every edge round (rounds;
            on arrays only); auto: all, up to ten million rows.
        shuffle_ties: Puts simultaneous events into a random order; the results do not depend on it.
        resume: Resume the interrupted run of the same configuration in `out`. As found: also read a complete
            run, and begin one if there is none.
        checkpoint_every: Versions (global rounds) between kept checkpoints: the model of an evaluation is
            kept once it is this many after the last kept one, besides every 15 seconds, as the tables are.
            None means every 15 seconds only.
        keep: Which model is the result (`Result.learned`, `Result.network`), and is in the folder: last, of
            the last evaluation; best, of the one with the best headline, such as accuracy; the name of a
            column: with the best value in that (`cosim.engine.store.kept_model`).
        group_rows: Rows of all tables together that are gathered in memory, at least, before they are
            written; the results do not depend on it.
        progress: True to show how far the run has come, as a bar in a terminal or a notebook, and before it
            what memory is taken, where clients keep much; a text is shown as its name.

    Raises:
        ConfigurationError: Anything that cannot be run, before the clock starts; a selection rule that
            chooses no client and lets no time pass, when it does.

    Warns:
        Remark: A value is legal, and users rarely mean it (`cosim.system.remarks`).
    """
    options = RunOptions(
        out=out,
        scenario=scenario,
        data_dir=data_dir,
        num_workers=num_workers,
        device=device,
        listener=listener,
        shuffle_ties=shuffle_ties,
        clock=clock,
        records=records,
        resume=resume,
        checkpoint_every=checkpoint_every,
        keep=keep,
        group_rows=group_rows,
        progress=progress,
    )
    with ExitStack() as while_running:
        prepared = prepare(system, network, options, while_running)
        if isinstance(prepared, Result):
            return attrs.evolve(prepared, pictures=pictures_of(system))
        say_once(prepared.remarks)
        learned = prepared.writer.with_what_was_learned(_saved(system, prepared))
        return attrs.evolve(learned, pictures=pictures_of(system))


def _saved(system: System, prepared: PreparedRun) -> Result:
    """Run to the end and save, however it ends."""
    sim, cloud, writer, status = prepared.sim, prepared.cloud, prepared.writer, "failed"
    saved, resumed = None, cloud.resumed
    try:
        with interrupts_kept(), rare_collections():
            sim.run(_until_over(sim, system, cloud), system.num_clients)
        if resumed is not None and cloud.progress.version < resumed.version:
            raise other_rows(f"version {resumed.version}, and now ends with {cloud.progress.version}")
        writer.time_s, status = sim.now_s, COMPLETE
    except Deadlock as stuck:
        raise with_the_absent(stuck, cloud.fleet.availabilities) from None
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
        if not writer.is_replaying:
            saved = writer.save(status)
    assert saved is not None
    return saved


def _until_over(sim: Simulation, system: System, cloud: Cloud) -> Process:
    """The protocol, until the run is over."""
    protocol, latest_s = system.protocol, system.end.latest_s
    process = process_of(protocol.run(sim, cloud), f"{type(protocol).__name__}.run")
    if latest_s is None:
        yield from process
    else:
        yield from sim.with_deadline([process], latest_s, END_OF_RUN)
    cloud.finish(sim)
