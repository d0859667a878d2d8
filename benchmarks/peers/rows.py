"""Rows: which tool runs which work, on how many cores, in which way."""

from typing import NamedTuple

from benchmarks.peers import work

ALONE, PROCESSES, THREADS = "", "processes", "threads"
"""Ways of a tool: by itself, with a process for each core, with a thread for each."""


class Row(NamedTuple):
    """A tool, and how it runs a work."""

    work: str
    tool: str
    num_cores: int
    way: str = ALONE

    @property
    def words(self) -> str:
        """Name of the tool and its way, for a table."""
        return self.tool if self.way == ALONE else f"{self.tool}, {self.way}"


TWO = {"cosim": ALONE, "pfl": PROCESSES, "flower": PROCESSES, "flgo": THREADS, "ceiling": ALONE}
"""Tool -> how it works on two cores best."""


def learning_rows(name: str) -> list[Row]:
    """Rows of a work that learns, cosim first."""
    tools = ["cosim", "loop", "pfl", "flower", "flgo", "appfl"] + ([] if name == "W2" else ["ceiling"])
    return [Row(name, tool, 1) for tool in tools] + [
        Row(name, tool, 2, TWO[tool]) for tool in tools if tool in TWO
    ]


ROWS = {name: learning_rows(name) for name in work.LEARNING} | {
    "W4": [Row(name, tool, 1) for name in work.TIMES for tool in ("cosim", "appfl")],
    "W5": [Row(work.fleet(size), tool, 1) for size in work.FLEETS for tool in ("cosim", "simpy")],
}
"""Work -> its rows."""
