"""Command line: `cosim`.

Every field of a scenario's configuration is an option, because the options are made from its classes. A
command's module is imported when it is asked for, so that help, lists and typing mistakes are quick.
"""

import importlib
import importlib.metadata
import os
import signal
import sys
import warnings

from cosim.configuration import ConfigurationError, did_you_mean

USAGE = """\
cosim: a discrete-event network-and-learning co-simulator for wireless federated learning

  cosim list                            what there is
  cosim show hist                       a scenario's whole configuration, with units and sources
  cosim run quickstart                  run a scenario; --help names every field
  cosim run hist --num-cells 2 --bandwidth-hz 5e6 --seed 7 --out runs/a
  cosim run mine.py:system --seed 7     a scenario of your own: a function that returns a cosim.System
  cosim run rawhfl --paper-scale        in the paper's size, where a scenario is usually played smaller
  cosim run rawhfl --policy.kind CommonSteps    another kind of a part, in its defaults
  cosim run --config runs/a/config.json      repeat a run exactly
  cosim run --config runs/b/config.json --import rules    where a part of yours is in rules.py
  cosim run --resume runs/a             go on with a run that was stopped
  cosim study hist --over bandwidth_hz=5e6,10e6 --seeds 10    what if? with intervals and differences
  cosim report runs/a runs/b            runs or a study on one page, as HTML
  cosim plot studies/bandwidth --kind accuracy-time --out fig.pdf    one picture to paste
  cosim trace runs/a                    a run as a timeline for Perfetto
  cosim reproduce hist-fig4 --quick     a paper's figure, as CSV and PNG
  cosim validate success-rate           simulation against theory; exit code 1 where they disagree
  cosim data fashion-mnist              download a data set
  cosim --version                       which cosim this is

An option is a field's path, or as much of its end as tells it from the others.
Exit codes: 0 done, 1 a check failed, 2 bad input, 130 interrupted.
"""

COMMANDS = {
    "list": "listing:main",
    "show": "show:main",
    "run": "run:main",
    "study": "study:main",
    "report": "looking:report_main",
    "plot": "plot:main",
    "trace": "looking:trace_main",
    "reproduce": "papers:reproduce",
    "validate": "papers:validate",
    "data": "data:main",
}
"""Command -> module and function here, which takes the arguments and returns the exit code."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `cosim`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"Warning: {message}", file=sys.stderr)
        sys.exit(_exit_code(command, rest))


def _exit_code(command: str, rest: list[str]) -> int:
    try:
        if command in ("-h", "--help"):
            print(USAGE, end="")
            code = 0
        elif command == "--version":
            print(f"cosim {importlib.metadata.version('cosim')}")
            code = 0
        elif command in COMMANDS:
            module, _, function = COMMANDS[command].partition(":")
            code = getattr(importlib.import_module(f"{__name__}.{module}"), function)(rest)
        else:
            hint = did_you_mean(command, [*COMMANDS, "--help", "--version"])
            known = ", ".join(COMMANDS)
            raise ConfigurationError(f"no command {command!r}.{hint} Known: {known}; see cosim --help.")
    except ConfigurationError as error:
        print(f"Error: {error}", file=sys.stderr)
        code = 2
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        print("Interrupted. A run folder keeps what was finished.", file=sys.stderr)
        code = 130
    return code
