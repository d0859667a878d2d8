"""Command line: `cosim`.

Every field of a scenario's configuration is an option, because the options are made from its classes. A
command's module is imported when it is asked for, so that help, lists and typing mistakes are quick.
"""

import signal
import sys

from cosim.interrupts import interrupts_kept


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `cosim`."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with interrupts_kept():
        try:
            from scenarios.command_line.commands import exit_code  # an interrupt may fall into its imports

            code = exit_code(sys.argv[1:] if arguments is None else arguments)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            print("Interrupted. A run folder keeps what was finished.", file=sys.stderr)
            code = 130
    sys.exit(code)
