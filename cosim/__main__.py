"""`python -m cosim`: the command `cosim`, by the entry point that the installation names."""

import sys
from importlib.metadata import entry_points

if __name__ == "__main__":
    (command,) = {*entry_points(group="console_scripts", name="cosim")}
    sys.argv[0] = "cosim"
    command.load()()
