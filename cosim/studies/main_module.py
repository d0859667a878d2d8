"""Main module: the program that asks for worker processes, in which its main module is executed again.

A worker finds functions and classes of the program in no other way. That needs a file, and a study that is
not executed again with it. A notebook, `python -c` and a prompt have no file, and nothing of them is executed
again. What would end every worker is found out before the first starts.

Scope and limitations: processes of this machine. What another executor needs, it says itself.

Validation: tests/studies/test_main_module.py.
"""

import multiprocessing.process
import os
import sys
from collections.abc import Iterable
from multiprocessing.process import BaseProcess, current_process
from pathlib import Path

from cosim.configuration import ConfigurationError
from cosim.configuration.functions import module_called

WORKER = "worker of a study"
"""Name of the processes in which runs run."""
_STUDY_AGAIN = 120
"""Exit code of a worker that was about to run the study of the program that it executes again."""
_GUARD = 'Use if __name__ == "__main__": before the study.'


def check_program(modules: Iterable[str]) -> None:
    """Refuse to start workers from a process that may have none, or whose program they would not find.

    A worker that has come here itself, since the study has no main guard, ends; `check_began` says so.

    Args:
        modules: Names of modules that runs need.

    Raises:
        ConfigurationError: The process is a daemon, as in a `multiprocessing.Pool`; the program came from
            standard input, or its file is gone; or what runs need was defined where there is no file.
    """
    process, main = current_process(), sys.modules["__main__"]
    if getattr(process, "_inheriting", False):  # it still executes the program
        if process.name == WORKER:
            os._exit(_STUDY_AGAIN)
        raise ConfigurationError(f"Study.run: this process has not begun yet. {_GUARD}")
    if process.daemon:
        raise ConfigurationError(
            "Study.run: this process may start no others, as it is a daemon, such as a worker of "
            "multiprocessing.Pool. Use concurrent.futures.ProcessPoolExecutor in place of that pool, or give "
            "executor=concurrent.futures.ThreadPoolExecutor(1)."
        )
    file = getattr(main, "__file__", None)
    is_module = getattr(main, "__spec__", None) is not None
    origin: str | None = multiprocessing.process.ORIGINAL_DIR  # type: ignore[attr-defined]
    if not is_module and file is not None and not Path(origin or "", file).exists():
        raise ConfigurationError(
            f"Study.run: its worker processes execute the program again, and {file} is no file. Use a file: "
            "save the program as mine.py, and give python mine.py."
        )
    if file is None and any(module_called(module) is main for module in modules):
        raise ConfigurationError(
            "Study.run: a network or class of the study was defined in a notebook, at a prompt or by "
            "python -c, where its worker processes do not find it. Use a file: write it to mine.py, and "
            "import it from there."
        )


def check_began(first: BaseProcess) -> None:
    """Refuse to start further workers where the first has ended as it began.

    Raises:
        ConfigurationError: It has.
    """
    if first.exitcode == _STUDY_AGAIN:
        raise ConfigurationError(
            "Study.run: its worker processes execute the program again, and with it this study, which has no "
            f"main guard. {_GUARD}"
        )
    if first.exitcode:
        raise ConfigurationError(
            "Study.run: its first worker process ended as it began, when it executed the program again (exit "
            f"code {first.exitcode}; an error stands above). {_GUARD}"
        )
