"""Second process: runs the same system in another Python, whose texts have other hashes, on another day.

It is started once, in the background, and kept. A part is found there by its module, or by the script that is
running, which is executed up to the contract that asks.

Scope and limitations: a part of a notebook, or of a program without a file, is not found there, which a
warning says. It runs times alone, but learns with own parts that may change what is learned.
"""

import atexit
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import attrs

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.configuration import ConfigurationError, to_dict
from cosim.configuration.kinds import module_called
from cosim.configuration.port import Port, parts_of
from cosim.data.port import Data
from cosim.data.splits.port import Split
from cosim.ends.evaluation_times import Never
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.port import Protocol
from cosim.results.result import Result
from cosim.selection.port import Selection
from cosim.server_updates.port import ServerUpdate
from cosim.system.system import System
from cosim.tasks.port import Task
from cosim.testing.contract import MARK, Contracts
from cosim.testing.laws.broken import broken
from cosim.testing.laws.tables import same_tables
from cosim.training.port import LocalTraining

START = "from cosim.testing.answering import serve_pipes; serve_pipes()"
NAMED = r'"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*"'
"""A text in a configuration that names something of a module."""
LEARNING = (
    Protocol,
    CellTraining,
    LocalTraining,
    ServerUpdate,
    Selection,
    Codec,
    ModelCodec,
    Task,
    Data,
    Split,
)
"""Ports of the parts that may change what is learned."""
OF_PROCESS = "hash() of a text, the order of a set, the wall clock, or what is set in one process only"


class Asked(NamedTuple):
    """Request to the second process: what to run.

    Attributes:
        path: Folders where modules are found.
        folder: Working folder of the first process.
        script: File, package and module name of the running script. None means that none of its parts are
            used.
        num_contracts: Contracts that the script has asked for, the one under way included.
        modules: Modules with own parts.
        pickled: The system, and the network or None.
    """

    path: list[str]
    folder: str
    script: tuple[str, str | None, str | None] | None
    num_contracts: int
    modules: tuple[str, ...]
    pickled: bytes


class Answer(NamedTuple):
    """Answer of the second process.

    Attributes:
        tables: Tables of the run. None means that it did not run.
        not_found: Why a part is not found there. Empty means that all are.
        failed: The error of the run. Empty means that it has finished.
        made: Where own parts make generators, though another seed gives the same tables. Empty means nowhere.
    """

    tables: dict[str, Any] | None = None
    learned: dict[str, Any] | None = None
    not_found: str = ""
    failed: str = ""
    made: str = ""


class Second:
    """A second process, and the files that its modules had when it was started."""

    def __init__(self) -> None:
        self.of_process = os.getpid()
        self._files: dict[str, tuple[str, float]] = {}
        self.requests, self.answers = start()

    def fits(self, modules: Sequence[str]) -> bool:
        """True if this process started it, and the modules still have the files that it has loaded."""
        files = _files_of(modules)
        known = {name: self._files.setdefault(name, file) for name, file in files.items()}
        return self.of_process == os.getpid() and known == files

    def ask(self, asked: Asked) -> Answer:
        """Answer to a request."""
        pickle.dump(asked, self.requests)
        self.requests.flush()
        return pickle.load(self.answers)

    def close(self) -> None:
        """Let it end."""
        if self.of_process == os.getpid():
            for pipe in (self.requests, self.answers):
                with suppress(OSError):
                    pipe.close()


_kept: list[Second] = []


def start() -> tuple[BinaryIO, BinaryIO]:
    """Start a process; returns where it reads requests, and where it writes answers."""
    changed = {
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
        MARK: "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", START],
        env=os.environ | changed,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(_end, process, os.getpid())
    assert process.stdin
    assert process.stdout
    return process.stdin, process.stdout  # type: ignore[return-value]


def _end(process: "subprocess.Popen[bytes]", of_process: int) -> None:
    if of_process == os.getpid():
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe
            with suppress(OSError):
                pipe.close()


def begin(modules: Sequence[str] = ()) -> Second:
    """The second process, which comes up in the background where there is none."""
    if _kept and not _kept[0].fits(modules):
        _kept.pop().close()
    if not _kept:
        _kept.append(Second())
        _kept[0].fits(modules)
    return _kept[0]


def _answered(asked: Asked) -> Answer:
    """Answer of a second process; a process that has ended, however, is replaced once."""
    for _ in range(2):
        try:
            return begin(asked.modules).ask(asked)
        except (EOFError, OSError, pickle.UnpicklingError):
            _kept.pop().close()
    return Answer(failed="the end of the process")


def same_elsewhere(system: System, network: Any, usual: Result) -> None:
    """Check that the second process makes the same tables, and that another seed makes others.

    Raises:
        BrokenLaw: The first difference, or draws that are the same for every seed.
    """
    own = [part for part in parts_of(system) if not _is_ours(part)]
    learns = any(isinstance(part, LEARNING) for part in own) or network is not None or ":" in system.model
    asked_system = system
    if not learns and system.evaluation.learns:
        try:
            asked_system = attrs.evolve(system, evaluation=Never())
        except ConfigurationError:
            learns = True  # a part that reads losses
    names = set(re.findall(NAMED, json.dumps(to_dict(system)))) | {type(part).__module__ for part in own}
    modules = tuple(sorted(name for name in names if module_called(name) is not None))
    try:
        pickled = pickle.dumps((asked_system, network))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        _not_tried(str(error))
        return
    script = _script() if any(module_called(name) is sys.modules["__main__"] for name in modules) else None
    asked = Asked(sys.path, os.getcwd(), script, Contracts.num, modules, pickled)
    answer = _answered(asked)
    if answer.not_found:
        _not_tried(answer.not_found)
        return
    if answer.failed:
        raise broken("second process", f"where the first has none, it ends in {answer.failed}", OF_PROCESS)
    again = attrs.evolve(usual, tables=answer.tables, learned=answer.learned)
    same_tables("second process", usual, again, OF_PROCESS, learned=answer.learned is not None)
    if answer.made:
        where = f"another seed makes the same tables, though a generator is made in {answer.made}"
        raise broken("seeds", where, "a generator of a seed of its own; draw from sim.stream, or from rng")


def _is_ours(part: Port) -> bool:
    return type(part).__module__.partition(".")[0] == __name__.partition(".")[0]


def _script() -> tuple[str, str | None, str | None] | None:
    """File, package and name of the running script; None if there is no file."""
    main = sys.modules["__main__"]
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    return None if file is None else (str(Path(file).resolve()), main.__package__, spec and spec.name)


def _files_of(modules: Sequence[str]) -> dict[str, tuple[str, float]]:
    """File of each module, and when it was written."""
    found = {}
    for name in modules:
        file = getattr(module_called(name), "__file__", None)
        if file is not None and Path(file).exists():
            found[name] = file, Path(file).stat().st_mtime
    return found


def _not_tried(why: str) -> None:
    warnings.warn(
        f"the law of the second process is not tried, as a part is not found there: {why}. Move the "
        "part into a module of its own.",
        stacklevel=2,
    )
