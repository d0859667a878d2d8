"""Commands: what there is, and the exit code that one ends with.

Whatever a user can cause is one sentence on the standard error: wrong input, files that are damaged, output
that cannot be written. What a reader of the output cannot spell is written as an escape.
"""

import importlib
import importlib.metadata
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TextIO

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import MOST_LETTERS, did_you_mean, short
from cosim.files.on_disk import as_text

USAGE = """\
cosim: a discrete-event network-and-learning co-simulator for wireless federated learning

  cosim init my_study                   a folder to start from: scenario, own part, tests, study, notebook
  cosim list                            scenarios; cosim list waiting: kinds of a part; --all: everything
  cosim show hist                       a scenario's whole configuration, with units and sources
  cosim run quickstart                  run a scenario; --help names every field
  cosim run hist --num-cells 2 --bandwidth-hz 5e6 --seed 7 --out runs/a
  cosim run mine.py:system --seed 7     a scenario of your own: a function that returns a cosim.System
  cosim run rawhfl --paper-scale        at the paper's scale; scenarios are smaller by default
  cosim run rawhfl --policy.kind CommonSteps    another kind of a part, with its defaults
  cosim run --config runs/a/config.json      repeat a run exactly
  cosim run --config runs/b/config.json --import rules    load rules.py, which has a part of your own
  cosim run --resume runs/a             resume an interrupted run
  cosim study hist --over bandwidth_hz=5e6,10e6 --seeds 10    what if? with intervals and differences
  cosim table studies/bandwidth --format latex    means with intervals; compares several folders
  cosim report runs/a runs/b            runs or a study on one HTML page
  cosim plot studies/bandwidth --kind accuracy-time --out fig.pdf    one figure, for a paper
  cosim trace runs/a                    a run as a timeline for Perfetto
  cosim reproduce hist-fig4 --quick     a figure of a paper, as CSV and PNG
  cosim reproduce --all --quick         all figures, and a table of their claims
  cosim validate success-rate           simulation against theory; exit code 1 where they disagree
  cosim validate mine.py:law            simulation against a formula of your own
  cosim data                            data sets on this machine; cosim data get fashion-mnist: download one
  cosim data convert mahimahi lte.up --out trace.parquet    files of other tools; --help lists the formats
  cosim --version                       version and commit

An option is the path of a field, or any end of the path that is unambiguous: --bandwidth-hz.
Exit codes: 0 done, 1 a check failed, 2 bad input, 3 too noisy to tell (use more seeds), 130 interrupted,
143 terminated.
"""

COMMANDS = {
    "init": "init:main",
    "list": "listing:main",
    "show": "show:main",
    "run": "run:main",
    "study": "study:main",
    "table": "table:main",
    "report": "looking:report_main",
    "plot": "plot:main",
    "trace": "looking:trace_main",
    "reproduce": "papers:reproduce",
    "validate": "papers:validate",
    "data": "data:main",
}
"""Command -> module and function here, which takes the arguments and returns the exit code."""

_MOST_OF_A_PATH = 300
"""Letters of a path in a message. [no source]"""


def exit_code(arguments: list[str]) -> int:
    """Carry out what the arguments ask for, and say what went wrong."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed; no file that is opened later may take its place
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    say = partial(_say, arguments)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: say("Warning", str(message))
        try:
            code = _carried_out(*arguments[:1], rest=arguments[1:])
            sys.stdout.flush()
        except ConfigurationError as error:
            say("Error", str(error))
            code = 2
        except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
            _leave(sys.stdout)
            code = 0
        except OSError as error:
            _leave(sys.stdout)
            where = error.filename or "the output"
            why = f"{where}: cannot be read or written ({error.strerror or error})"
            say("Error", f"{why}. What was saved before is whole. Use another place.")
            code = 2
    try:
        sys.stderr.flush()
    except OSError:  # the reader has closed the pipe, and all is done
        _leave(sys.stderr)
    return code


def _carried_out(command: str = "--help", *, rest: list[str]) -> int:
    if command in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if command == "--version":
        print(f"cosim {importlib.metadata.version('cosim')}")
        return 0
    if command not in COMMANDS:
        hint = did_you_mean(command, [*COMMANDS, "--help", "--version"])
        known = ", ".join(COMMANDS)
        raise ConfigurationError(f"no command {command!r}.{hint} Known: {known}; see cosim --help.")
    module, _, function = COMMANDS[command].partition(":")
    return getattr(importlib.import_module(f"scenarios.command_line.{module}"), function)(rest)


def _say(arguments: Sequence[str], what: str, message: str) -> None:
    with suppress(OSError):
        print(f"{what}: {as_text(_shortened(message, arguments))}", file=sys.stderr)


def _shortened(message: str, typed: Sequence[str]) -> str:
    """A message with at most `MOST_LETTERS` letters of what was typed, or of any one word; of a path more."""
    words = [form for word in typed if "/" not in word for form in (word, word.replace("-", "_"))]
    for part in sorted((part for word in words for part in _parts(word)), key=len, reverse=True):
        for form in dict.fromkeys((part, repr(part)[1:-1])):
            while (start := message.find(form[: MOST_LETTERS + 1])) >= 0:
                same = zip(form, message[start:], strict=False)
                end = start + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], same))
                message = f"{message[:start]}{short(form)}{message[end:]}"
    word, path = MOST_LETTERS - 3, _MOST_OF_A_PATH
    message = re.sub(rf"(?<!\S)([^\s/]{{{word}}})[^\s/]{{4,}}(?!\S)", r"\1...", message)
    return re.sub(rf"(\S{{{path}}})\S+", r"\1...", message)


def _parts(word: str) -> Iterator[str]:
    """A word that was typed, and the names within it that are longer than is shown."""
    for sign in (None, "=", ":", ",", ";"):
        for part in (word,) if sign is None else word.split(sign):
            part = part.removeprefix("--").strip()
            if len(part) > MOST_LETTERS:
                yield part


def _leave(stream: TextIO) -> None:
    """Let what is still to be written there go nowhere, so that no flush fails at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
