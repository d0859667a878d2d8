"""Results: the tables of one run, and the folder that holds them.

A run folder has `config.json` (reloads to the same run), `provenance.json`, `summary.json`, the tables
`spans`, `transfers`, `fates`, `plans`, `rounds` and `evaluations` as Parquet, and, where something is
learned, `checkpoint.npz`. Every file is written whole or not at all. Rows are sorted by time and node name,
so that the same seed gives the same files, bit for bit.

Usage::

    result = Result.load("runs/a")
    result.evaluations[["time_s", "accuracy"]]
"""

import fcntl
import importlib.metadata
import json
import os
import re
import tempfile
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.checkpoint import Checkpoint
from cosim.configuration import ConfigurationError
from cosim.files import write_json, write_table
from cosim.names import by_number
from cosim.records import Allotment, Evaluation, Fate, Measure, Round, Span, Trace, Transfer

if TYPE_CHECKING:
    import pandas as pd

TABLES = {
    "spans": Span,
    "transfers": Transfer,
    "fates": Fate,
    "plans": Allotment,
    "rounds": Round,
    "evaluations": Evaluation,
}
_DTYPES = {str: "str", float: "float64", int: "int64", bool: "bool"}
_ORDER = {
    "spans": ["start_s", "node", "end_s"],
    "transfers": ["start_s", "client"],
    "fates": ["start_s", "client"],
    "plans": ["time_s", "client"],
    "rounds": ["end_s", "level", "node"],
    "evaluations": ["version"],
}


class Summary(NamedTuple):
    """One run in one line.

    `scores` are those of the last evaluation by column, `measures` what they mean; both are empty without
    one. `bits_per_client` counts what was really sent, dropped uploads included.
    """

    status: str
    num_global_rounds: int
    time_s: float
    scores: Mapping[str, float]
    measures: Mapping[str, Measure]
    energy_j: float
    num_updates: int
    num_dropped: int
    bits_per_client: float

    @property
    def headline(self) -> tuple[str, Measure] | None:
        """Column and meaning of the first score; None without an evaluation."""
        return next(iter(self.measures.items()), None)


@attrs.frozen(kw_only=True, eq=False)
class Result:
    """What a run wrote.

    Attributes:
        config: The configuration, as in config.json.
        spans: One row per activity (`records.Span`).
        transfers: One row per upload (`records.Transfer`).
        fates: One row per job of a client that has ended (`records.Fate`).
        plans: One row per client and edge round (`records.Allotment`) where a protocol plans.
        rounds: One row per edge round and global round (`records.Round`).
        evaluations: One row per evaluation (`records.Evaluation`), a column for each score, with `energy_j`,
            the energy of all clients, and `bits_per_client`, the mean of the bits sent, both up to that time.
        folder: Where it lies, or None.
        learned: Weights of the model that was evaluated last; None in a result that was loaded (`weights`).
        network: The torch.nn.Module of a run with these weights, in evaluation mode; None where nothing was
            learned, and in a result that was loaded.
    """

    config: dict[str, Any]
    summary: Summary
    spans: "pd.DataFrame"
    transfers: "pd.DataFrame"
    fates: "pd.DataFrame"
    plans: "pd.DataFrame"
    rounds: "pd.DataFrame"
    evaluations: "pd.DataFrame"
    folder: Path | None = None
    learned: dict[str, NDArray[np.float32]] | None = attrs.field(default=None, repr=False)
    network: Any = attrs.field(default=None, repr=False)

    @property
    def weights(self) -> dict[str, NDArray[np.float32]] | None:
        """Name -> values of the trained model: that of the last evaluation, or the last that a folder keeps.

        None where nothing was learned. A network takes them by `load_state_dict` of tensors, `strict=False`.
        """
        if self.learned is not None or self.folder is None:
            return self.learned
        checkpoint = Checkpoint.load(self.folder)
        return None if checkpoint is None else checkpoint.weights

    @classmethod
    def of(
        cls,
        trace: Trace,
        config: dict[str, Any],
        num_clients: int,
        status: str,
        time_s: float,
        folder: Path | None,
    ) -> "Result":
        """The tables of a trace."""
        frames: dict[str, Any] = {
            name: _frame(name, getattr(trace, name), trace.columns[kind]) for name, kind in TABLES.items()
        }
        spans, transfers, _, _, rounds, evaluations = frames.values()
        evaluations["energy_j"] = _total_until(evaluations["time_s"], spans["end_s"], spans["energy_j"])
        sent_bits = _total_until(evaluations["time_s"], transfers["end_s"], transfers["sent_bits"])
        evaluations["bits_per_client"] = sent_bits / num_clients
        edge_rounds = rounds[rounds["level"] == "edge"]
        num_updates = int(edge_rounds["num_participants"].sum())
        global_rounds = rounds[rounds["level"] == "global"]
        summary = Summary(
            status=status,
            num_global_rounds=len(global_rounds),
            time_s=time_s,
            scores=trace.evaluations[-1].scores if trace.evaluations else {},
            measures=trace.evaluations[-1].measures if trace.evaluations else {},
            energy_j=float(spans["energy_j"].sum()),
            num_updates=num_updates,
            num_dropped=num_updates - int(edge_rounds["num_arrived"].sum()),
            bits_per_client=float(transfers["sent_bits"].sum()) / num_clients,
        )
        return cls(config=config, summary=summary, folder=folder, **frames)

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a run folder.

        Raises:
            ConfigurationError: The folder is not a run folder, a file is missing or damaged, or a newer
                cosim has written it.
        """
        import pandas as pd  # not before there is a table

        folder = Path(folder)
        check_version(folder)
        try:
            config = json.loads((folder / "config.json").read_text())
            summary = _summary(json.loads((folder / "summary.json").read_text()))
            frames: dict[str, Any] = {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(
                f"{folder} cannot be read as a run folder: {error}. "
                "Usual fix: give the folder that a run printed."
            ) from None
        return cls(config=config, summary=summary, folder=folder, **frames)

    def save(self) -> None:
        """Write tables and summary into the folder, each file whole or not at all."""
        if self.folder is None:
            return
        for name in TABLES:
            write_table(self.folder / f"{name}.parquet", getattr(self, name))
        write_json(self.folder / "summary.json", self.summary._asdict())

    def reaching(self, target: float) -> "pd.DataFrame":
        """Evaluations whose headline, the first score, is at least as good as a target."""
        if self.summary.headline is None:
            return self.evaluations.iloc[:0]
        column, measure = self.summary.headline
        values = self.evaluations[column]
        return self.evaluations[values >= target if measure.higher_is_better else values <= target]

    def time_to_target_s(self, target: float) -> float | None:
        """Simulated time of the first evaluation whose headline reaches a target, or None."""
        reached = self.reaching(target)
        return float(reached["time_s"].iloc[0]) if len(reached) else None


def _summary(values: dict[str, Any]) -> Summary:
    measures = Measure.by_column(values.pop("measures"))
    return Summary(**values, measures=measures)


def create_folder(folder: Path, config: dict[str, Any], provenance: dict[str, Any]) -> None:
    """Make a run folder with its configuration and provenance, whole or not at all.

    Raises:
        ConfigurationError: It exists, or cannot be written.
    """
    if folder.exists():
        raise ConfigurationError(
            f"out = {folder}: exists, and runs are not overwritten. Usual fix: another --out, remove it, or "
            "go on with a stopped run by cosim run --resume."
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as staging:
            made = Path(staging) / "run"
            made.mkdir()
            write_json(made / "config.json", config)
            write_json(made / "provenance.json", provenance)
            made.rename(folder)
    except OSError as error:
        raise ConfigurationError(
            f"out = {folder}: cannot be written ({error.strerror}). Usual fix: --out with a folder of yours."
        ) from None


@contextmanager
def alone_in(folder: Path, *, waits: bool = False) -> Iterator[None]:
    """Keep other processes from playing the run of a folder too; ends with the process, however it ends.

    Args:
        waits: Whether to wait for one that plays it.

    Raises:
        ConfigurationError: Another process plays it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConfigurationError(
            f"out = {folder}: another process plays this run. Usual fix: wait for it, or another --out."
        ) from None
    finally:
        os.close(handle)


def check_version(folder: Path) -> None:
    """Refuse a run folder that a newer cosim has written, whose tables may mean something else.

    Raises:
        ConfigurationError: A newer cosim has written it.
    """
    try:
        origin = json.loads((folder / "provenance.json").read_text())
        versions = [run["versions"]["cosim"] for run in (origin, *origin.get("resumed", []))]
        written_by, own = max(versions, key=_numbers), importlib.metadata.version("cosim")
        newer = _numbers(written_by) > _numbers(own)
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        importlib.metadata.PackageNotFoundError,
    ):
        return  # a folder that does not say, or that other checks refuse
    if newer:
        raise ConfigurationError(
            f"{folder}: written by cosim {written_by}, and this is {own}. Usual fix: a newer cosim "
            "(git pull, then pip install again)."
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def first_provenance(folder: Path) -> dict[str, Any]:
    """What the process that began a run has noted of itself; nothing where the file is missing."""
    path = folder / "provenance.json"
    return json.loads(path.read_text()) if path.exists() else {}


def add_provenance(folder: Path, provenance: dict[str, Any]) -> None:
    """Note in a run folder that another process goes on with it."""
    first = first_provenance(folder)
    write_json(folder / "provenance.json", first | {"resumed": [*first.get("resumed", []), provenance]})


def _frame(name: str, rows: list[Any], columns: list[dict[str, Any]]) -> "pd.DataFrame":
    import pandas as pd

    kinds = typing.get_type_hints(TABLES[name])
    if name == "evaluations":
        scores = list(rows[0].scores) if rows else []
        rows = [(row.time_s, row.version, *row.scores.values()) for row in rows]
        kinds = {"time_s": float, "version": int} | dict.fromkeys(scores, float)
    frame = pd.DataFrame(rows, columns=list(kinds))
    if columns:
        frame = pd.concat([frame, _joined(columns, kinds)] if rows else [_joined(columns, kinds)])
    dtypes = {column: _DTYPES[kind] for column, kind in kinds.items()}
    return frame.astype(dtypes).sort_values(_ORDER[name], kind="stable", ignore_index=True, key=_in_order)


def _joined(columns: list[dict[str, Any]], kinds: Mapping[str, type]) -> "pd.DataFrame":
    """Rows that were kept many at a time, in the order of the table's columns."""
    import pandas as pd

    lengths = [max(len(v) for v in of.values() if isinstance(v, np.ndarray)) for of in columns]
    joined = {}
    for name in kinds:
        if all(isinstance(of[name], np.ndarray) for of in columns):
            joined[name] = np.concatenate([of[name] for of in columns])
        else:
            shared = np.array(
                [of[name] for of in columns], dtype=object if kinds[name] is str else kinds[name]
            )
            joined[name] = np.repeat(shared, lengths)
    return pd.DataFrame(joined)


def _in_order(column: "pd.Series") -> "pd.Series":
    """Numbers that sort as the column does, nodes by their numbers."""
    if column.dtype.kind in "iufb":
        return column
    ranks = {name: rank for rank, name in enumerate(sorted(column.unique(), key=by_number))}
    return column.map(ranks)


def _total_until(time_s: "pd.Series", end_s: "pd.Series", amount: "pd.Series") -> np.ndarray:
    """Sum of the amounts that ended at or before each time."""
    order = np.argsort(end_s.to_numpy(), kind="stable")
    total = np.concatenate(([0.0], np.cumsum(amount.to_numpy()[order])))
    return total[np.searchsorted(end_s.to_numpy()[order], time_s.to_numpy(), side="right")]
