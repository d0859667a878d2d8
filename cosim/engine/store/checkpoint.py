"""Checkpoint: what an interrupted run needs to resume, kept in its folder as `checkpoint.npz`.

Weights never move the clock, so a run is replayed rather than restored: the same configuration makes the same
events again, learning nothing, up to the checkpoint's version of the model. What is still needed then gets
its stored values: the model, older models that jobs under way started from, what clients and servers had
kept. The run ends bit for bit where an uninterrupted run ends. After the last version the checkpoint is the
trained model. Where a run keeps another model than the last (`cosim.engine.store.kept_model`), that is in it
as well.

A checkpoint has a digest of all rows up to its version (`cosim.recording.digest`). A replay whose rows are
others is refused: something other than weights has changed, and two runs are not joined.

Usage::

    Checkpoint.load("runs/a").learned["layers.0.weight"]
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.engine.store.kept_model import LAST
from cosim.records.rows import Evaluation
from cosim.results.checkpoint_file import FILE, beginning_with, damaged, read, write
from cosim.results.from_json import checked, from_json
from cosim.values.pending import PendingModel, PendingUpdate, PendingValue

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner

_OF_CLIENTS = {"spans", "transfers", "fates", "tallies"}
"""Tables that depend on the rows of clients that are kept."""


@attrs.frozen(kw_only=True, eq=False)
class Checkpoint:
    """The state of a run when its global model had a new version.

    Attributes:
        version: Version of the global model; 0 is the initial one.
        rows: Table -> digest of its rows up to this version.
        weights: Parameter name -> values of the global model, float32.
        companions: Name -> values that travel beside it, float32.
        states: Node -> name -> values of what it keeps from one training to its next.
        evaluations: All evaluations up to this version.
        journal: What events have read from weights (`cosim.engine.store.journal`).
        living: Name -> parameter name -> values of other models that were still needed.
        trained: Client and job -> parameter name -> values of an update that was trained before any model
            needed it, because its state was.
        keep: Which model the run keeps, as it was asked for.
        kept_version: The version of that model, so far. None means this version.
        kept: Parameter name -> values of that model, float32, where it is another than this one.
    """

    version: int
    rows: Mapping[str, str]
    weights: dict[str, NDArray[np.float32]]
    evaluations: list[Evaluation]
    companions: dict[str, NDArray[np.float32]] = attrs.field(factory=dict)
    states: Mapping[str, dict[str, NDArray[Any]]] = attrs.field(factory=dict)
    journal: Mapping[str, NDArray[np.float64]] = attrs.field(factory=dict)
    living: Mapping[str, dict[str, NDArray[np.float32]]] = attrs.field(factory=dict)
    trained: Mapping[str, dict[str, NDArray[np.float32]]] = attrs.field(factory=dict)
    keep: str = LAST
    kept_version: int | None = None
    kept: dict[str, NDArray[np.float32]] = attrs.field(factory=dict)

    @property
    def learned(self) -> dict[str, NDArray[np.float32]]:
        """Weights of the model that the run keeps."""
        return self.weights if self.kept_version is None else self.kept

    def save(self, folder: Path) -> None:
        """Write it, whole or not at all."""
        by_word = {"weights": self.weights, "companion": self.companions, "journal": self.journal}
        by_word["kept"] = self.kept
        for word, of in (("state", self.states), ("living", self.living), ("trained", self.trained)):
            by_word |= {f"{word}.{node}": tensors for node, tensors in of.items()}
        arrays: dict[str, Any] = {
            f"{word}.{name}": values for word, of in by_word.items() for name, values in of.items()
        }
        if self.keep != LAST:
            arrays["keep"] = self.keep
        if self.kept_version is not None:
            arrays["kept_version"] = self.kept_version
        evaluations = [row._asdict() for row in self.evaluations]
        arrays |= {"version": self.version, "evaluations": json.dumps(evaluations)}
        arrays["rows"] = json.dumps(dict(self.rows))
        write(folder, arrays)

    @classmethod
    def load(cls, folder: str | Path) -> "Checkpoint | None":
        """The checkpoint of a run folder; None if there is none yet (`read`)."""
        return read(folder, cls._of)

    @classmethod
    def _of(cls, arrays: Any) -> "Checkpoint":
        return cls(
            version=int(arrays["version"]),
            rows=checked(dict[str, str], json.loads(str(arrays["rows"])), "rows"),
            weights=beginning_with("weights.", arrays),
            companions=beginning_with("companion.", arrays),
            states=_by_node(beginning_with("state.", arrays)),
            evaluations=[from_json(Evaluation, row) for row in json.loads(str(arrays["evaluations"]))],
            journal=beginning_with("journal.", arrays),
            living=_by_node(beginning_with("living.", arrays)),
            trained=_by_node(beginning_with("trained.", arrays)),
            keep=str(arrays["keep"]) if "keep" in arrays else LAST,
            kept_version=int(arrays["kept_version"]) if "kept_version" in arrays else None,
            kept=beginning_with("kept.", arrays),
        )

    def check_rows(self, time_s: float, rows: Mapping[str, str]) -> None:
        """Refuse a replay that has made other rows up to this version than the run had.

        Args:
            time_s: When the replay has made the version.
            rows: Table -> digest of its rows up to then.

        Raises:
            OtherRows: They are others.
        """
        names = rows.keys() | self.rows.keys()
        if ("tallies" in rows) != ("tallies" in self.rows):  # records = "rounds" of one of them
            names -= _OF_CLIENTS
        differ = sorted(name for name in names if rows.get(name) != self.rows.get(name))
        if differ:
            self.evaluation_of(self.version, time_s)  # refuses another time in words of its own
            words = f"other {' and '.join(differ)} up to version {self.version}"
            raise other_rows(f"{words}, at {time_s:.15g} s, than the replay")

    def restore(
        self,
        learner: "Learner",
        model: PendingModel,
        states: Mapping[str, PendingValue],
        living: Mapping[str, PendingValue],
        asked: Mapping[str, PendingUpdate],
    ) -> None:
        """Give replayed models and states the values that they had, so that nothing is learned again.

        Args:
            asked: Client and job -> update, for updates that are still referenced.

        Raises:
            ConfigurationError: It is the checkpoint of a run in which others were needed.
        """
        if not self.states.keys() <= states.keys() or self.living.keys() != living.keys():
            raise damaged(FILE, "what it keeps beside the model is not what the run needs")
        learner.settle(model, self.weights | self.companions)
        for name, state in states.items():
            learner.settle(state, self.states.get(name, {}))  # a file has no entry for a state without values
        for name, other in living.items():
            learner.settle(other, self.living[name])
        for name, weights in self.trained.items():
            if name in asked:
                learner.keep(asked[name], weights)

    def evaluation_of(self, version: int, time_s: float | None = None) -> Evaluation:
        """The evaluation of a version, which the run has had evaluated.

        Args:
            time_s: When the replay has made the version. None means not yet.

        Raises:
            OtherRows: It is of a version that was made at another time.
            ConfigurationError: It is not there.
        """
        found = [row for row in self.evaluations if row.version == version]
        if not found and time_s is not None:
            raise other_rows(f"no evaluation of version {version}, and now makes one at {time_s:.15g} s")
        if len(found) != 1:
            raise damaged(FILE, f"{len(found)} evaluations of version {version}")
        was_s = found[0].time_s
        if time_s is not None and time_s != was_s:
            raise other_rows(f"version {version} at {was_s:.15g} s, and now makes it at {time_s:.15g} s")
        return found[0]


def keep_in(folder: Path) -> str | None:
    """Name of the model that the run of a folder keeps, as asked for; None if no checkpoint says so."""
    try:
        with (folder / FILE).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return str(arrays["keep"]) if "keep" in arrays else LAST
    except Exception:  # there is none, or one that is damaged, which is said when it is read
        return None


class OtherRows(ConfigurationError):
    """Error: a replay differs from the interrupted run."""


def other_rows(what: str) -> OtherRows:
    """Error for a replay with other rows.

    Args:
        what: The run made, and what the replay makes in its place.
    """
    return OtherRows(
        f"resume: the stopped run made {what}. Something other than weights has changed since, such as "
        "a module or a file that a part reads, a library, or the order of a set (PYTHONHASHSEED). "
        "Restore it, or use another folder."
    )


def _by_node(arrays: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, NDArray[Any]]]:
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for path, values in arrays.items():
        node, _, name = path.partition(".")
        found.setdefault(node, {})[name] = values
    return found
