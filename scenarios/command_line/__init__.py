"""Command line: `cosim`.

Every field of a scenario's configuration is an option, because the options are made from its classes. A
command's module is imported when it is asked for, so that help, lists and typing mistakes are quick.

Python's garbage collector looks less often through what is imported, and no more when the process ends: for a
short run that takes as long as a quarter of all else.
"""

import atexit
import gc
import os
import sys
from contextlib import suppress

from cosim.engine.run.collector import rare_collections
from scenarios.command_line.interrupts import behind, exit_code_of, interrupts_heard


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `cosim`."""
    os.environ["MPLBACKEND"] = "agg"  # a notebook's may be of a package that is not here
    atexit.register(gc.freeze)  # the first that is registered is the last that is called
    with interrupts_heard(), rare_collections():
        try:
            from scenarios.command_line.commands import exit_code  # an interrupt may fall into its imports

            code = exit_code(sys.argv[1:] if arguments is None else arguments)
        except BaseException as error:
            interrupt = behind(error)
            if interrupt is None:
                raise
            with suppress(OSError):
                print("Interrupted. A run folder keeps what was finished.", file=sys.stderr)
            code = exit_code_of(interrupt)
    sys.exit(code)
