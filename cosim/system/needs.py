"""Needs: how many rows a run writes, and what memory and disk it takes, before it starts.

Counted where the rounds are known beforehand (`End.num_global_rounds`, `Protocol.jobs_per_round`). The bytes
for each are measured (benchmarks/fleet.py), rounded up. What clients keep from one training to the next is
counted as far as parts say (`Port.kept_values`); evaluating a model, as slices of the test set pass through
the network (`cosim.networks.slices`).
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from cosim.configuration import ConfigurationError, parts_of
from cosim.files.on_disk import cannot_be_written, shown
from cosim.tables.room import GIB, free_disk_gib, free_memory_gib, size_in_words

RecordsKind = Literal["auto", "all", "rounds"]
ClockKind = Literal["auto", "events", "arrays"]

MOST_BY_EVENTS = 100_000
"""Client-rounds, and clients, of a run by events: a few seconds. [docs/speed.md]"""

NOMINAL_ROUNDS = 100
"""Global rounds that count where the end of a run does not say how many there are. [no source]"""

MOST_ROWS = 10_000_000
"""Rows of clients that are kept unless the user asks for more."""

MUCH_GIB = 1.0
"""Memory for what clients keep that is said before a run starts."""

MUCH_TO_EVALUATE_GIB, TOLD_TO_EVALUATE_GIB = 1.0, 0.1
"""Memory for evaluating a model that is said before a run starts, and where its memory is said anyway."""

ROWS_OF_A_JOB = 4
"""Rows of a job: two spans, a transfer, a fate."""

ROWS_OF_A_DOWNLOAD = 2
"""A span and a transfer, where models take time on their way down."""

_BASE_BYTES = 0.35e9
_BYTES_OF_A_CLIENT = {"arrays": 700.0, "events": 8_000.0}
_BYTES_OF_A_JOB = {"arrays": 800.0, "events": 2_000.0}
_OPEN_ROUNDS = 2
"""Global rounds whose rows wait besides: the one that has just ended, and one that filled the group."""
_BYTES_OF_A_ROUND = 600.0
_DISK_BYTES_OF_A_JOB = 100.0
_BYTES_OF_A_KEPT_VALUE = {"memory": 12.0, "disk": 8.0}
"""A float32 three times: as it is kept, as the last evaluation found it, as a cohort or a checkpoint is made;
on disk in two checkpoints. 200 clients that keep 0.85 MB each add 520 MB to a run with a folder."""


class Needs(NamedTuple):
    """Memory and disk that a run takes.

    Attributes:
        num_jobs: Local rounds of clients. None means unknown beforehand.
        memory_gib: Memory at the end, roughly.
        disk_gib: Space on disk, roughly, where a folder is asked for.
        num_kept_values: What all clients keep together from one training to their next.
        evaluation_bytes: What evaluating a model takes, of the memory.
    """

    num_jobs: int | None
    memory_gib: float
    disk_gib: float
    num_kept_values: int = 0
    evaluation_bytes: int = 0

    @property
    def words(self) -> str:
        """Memory and disk for a reader."""
        found = f"about {size_in_words(self.memory_gib)} of memory and {size_in_words(self.disk_gib)} on disk"
        parts = []
        if self.num_kept_values:
            parts.append(f"{size_in_words(self._kept_gib)} for what clients keep between trainings")
        if self.evaluation_gib >= TOLD_TO_EVALUATE_GIB:
            parts.append(f"{size_in_words(self.evaluation_gib)} for evaluating a model")
        return f"{found} (of the memory {', '.join(parts)})" if parts else found

    @property
    def takes_much(self) -> bool:
        """True if what clients keep, or an evaluation, takes memory that a reader should know of before."""
        return self._kept_gib >= MUCH_GIB or self.evaluation_gib >= MUCH_TO_EVALUATE_GIB

    @property
    def evaluation_gib(self) -> float:
        """Memory that evaluating a model takes."""
        return self.evaluation_bytes / GIB

    @property
    def _kept_gib(self) -> float:
        return _BYTES_OF_A_KEPT_VALUE["memory"] * self.num_kept_values / GIB


def num_jobs_of(system: Any) -> int | None:
    """Local rounds of a run of a system; None if unknown beforehand."""
    num_rounds, per_round = system.end.most_rounds, system.protocol.jobs_per_round(system.sizes())
    return None if num_rounds is None or per_round is None else num_rounds * per_round


def clock_by_size(system: Any) -> tuple[Literal["arrays", "events"], str]:
    """Clock of a run of a system unless a user or a part asks otherwise, and why.

    By events up to `MOST_BY_EVENTS` client-rounds, and as many clients; on arrays above. Where their number
    is not known beforehand `NOMINAL_ROUNDS` global rounds count, with every client in each where a protocol
    does not say how many take part.
    """
    num_rounds = system.end.most_rounds
    per_round = system.protocol.jobs_per_round(system.sizes())
    num = (num_rounds or NOMINAL_ROUNDS) * (per_round or system.num_clients)
    found = f"{num:,} client-rounds"
    if num_rounds is None:
        found += f" in {NOMINAL_ROUNDS} global rounds, since the end says no number"
    if num <= MOST_BY_EVENTS < system.num_clients:
        num, found = system.num_clients, f"{system.num_clients:,} clients"
    if num > MOST_BY_EVENTS:
        return "arrays", f"{found}, more than {MOST_BY_EVENTS:,}"
    return "events", f"{found}, at most {MOST_BY_EVENTS:,}"


def rows_of_a_job(system: Any, rest_rows: int = 0) -> int:
    """Rows that a local round of a client, and its rest before, write in a system.

    Args:
        rest_rows: Of a rest, at most.
    """
    return ROWS_OF_A_JOB + ROWS_OF_A_DOWNLOAD * system.downlink.takes_time + rest_rows


def keeps_rows(records: RecordsKind, system: Any, rest_rows: int = 0) -> bool:
    """True if rows of clients are kept, where they need not be; `rest_rows` as for `rows_of_a_job`."""
    if records == "auto":
        num_jobs = num_jobs_of(system)
        return num_jobs is None or rows_of_a_job(system, rest_rows) * num_jobs <= MOST_ROWS
    return records == "all"


def kept_values_of(system: Any, shape: Any) -> int:
    """Values that all clients keep from one training to their next, for a network of a shape."""
    if not system.evaluation.learns:
        return 0
    num_personal = shape.num_values() - shape.num_sent()
    return system.num_clients * (num_personal + sum(part.kept_values(shape) for part in parts_of(system)))


def needs_of(
    system: Any,
    clock: Literal["arrays", "events"],
    *,
    keeps_rows: bool,
    num_kept_values: int = 0,
    evaluation_bytes: int = 0,
    group_rows: int | None = None,
    rest_rows: int = 0,
) -> Needs:
    """Memory and disk that a run of a system takes.

    Args:
        num_kept_values: From `kept_values_of`.
        evaluation_bytes: What evaluating a model takes (`Learner.evaluation_bytes`).
        group_rows: Rows that are gathered before they are written (`cosim.engine.store.row_groups`); None:
            all stay in memory.
        rest_rows: As for `rows_of_a_job`.
    """
    num_jobs, num_rounds = num_jobs_of(system), system.end.most_rounds or 0
    num_kept = (num_jobs or 0) * rows_of_a_job(system, rest_rows) / ROWS_OF_A_JOB if keeps_rows else 0
    of_rounds = _BYTES_OF_A_ROUND * num_rounds * len(system.sizes())
    of_clients = _BYTES_OF_A_CLIENT[clock] * system.num_clients
    num_open, open_rounds = num_kept, of_rounds
    if group_rows is not None and num_rounds:
        num_open = min(num_kept, group_rows // ROWS_OF_A_JOB + _OPEN_ROUNDS * num_kept // num_rounds)
        open_rounds = min(of_rounds, _BYTES_OF_A_ROUND * (group_rows + _OPEN_ROUNDS * len(system.sizes())))
    memory = _BASE_BYTES + of_clients + _BYTES_OF_A_JOB[clock] * num_open + open_rounds
    memory += _BYTES_OF_A_KEPT_VALUE["memory"] * num_kept_values + evaluation_bytes
    disk = _DISK_BYTES_OF_A_JOB * num_kept + of_rounds + _BYTES_OF_A_KEPT_VALUE["disk"] * num_kept_values
    return Needs(num_jobs, memory / GIB, disk / GIB, num_kept_values, evaluation_bytes)


def check_room(needs: Needs, folder: Path | None, *, keeps_rows: bool) -> None:
    """Refuse a run that memory or disk cannot hold, before it starts.

    Raises:
        ConfigurationError: What it needs, what there is, and what to do instead.
    """
    fixes = ["fewer rounds", "fewer clients"]
    if keeps_rows:
        fixes.insert(0, "--records rounds, which keeps a row for each edge round")
    if needs.num_kept_values:
        fixes.insert(0, "a local training or codec that keeps nothing")
    if needs.evaluation_gib >= TOLD_TO_EVALUATE_GIB:
        fixes.insert(0, "--workers 1, which evaluates a slice of the test set at a time")
    for what, need, free in (
        ("memory", needs.memory_gib, free_memory_gib()),
        ("disk", needs.disk_gib, free_disk_gib(folder)),
    ):
        if free is not None and need > free:
            where = ""
            if what == "disk" and folder is not None:
                _check_writable(folder)  # a folder that is none, as in /proc, has no room either
                where = f" at {shown(folder)}"
            raise ConfigurationError(
                f"the run takes {needs.words}, but only {size_in_words(free)} of {what} are "
                f"free{where}. Use {', or '.join(fixes)}."
            )


def _check_writable(folder: Path) -> None:
    """Refuse a folder that is, or is to be, where nothing can be written."""
    there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    try:
        with TemporaryDirectory(dir=there, prefix=".", suffix=".partial"):
            pass
    except OSError as error:
        raise cannot_be_written(folder, error) from None
