"""What the reproductions of figures share: their options, their runs, the paper's claims beside ours.

Every run has a folder of its own below the figure's; a reproduction that was stopped goes on with the runs
that are missing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import attrs
from rich.table import Table

import cosim
from scenarios.command_line.console import console
from scenarios.command_line.playing import played
from scenarios.command_line.run import Options as RunOptions


@attrs.frozen(kw_only=True)
class Options:
    """How much is run.

    Attributes:
        quick: Fewer curves and rounds, at most 3 minutes on 2 cores.
        seed: Names the runs' randomness; where several seeds are run, the first.
        out: Folder of the figure; none: figures/NAME, with the form behind.
        data_dir: Folder with the data set's files; none: the usual places.
        workers: Threads that learn; none: one per core.
        device: Where the learning is computed: cpu or cuda.
    """

    quick: bool = False
    seed: int = 1
    out: Path | None = None
    data_dir: Path | None = None
    workers: int | None = None
    device: str = "cpu"

    def folder(self, figure: str) -> Path:
        """Where the figure goes."""
        return self.out or Path("figures") / (f"{figure}-quick" if self.quick else figure)


class Claim(NamedTuple):
    """What the paper says, what came out here, whether they agree; a required one decides the exit code."""

    paper: str
    ours: str
    agrees: bool
    required: bool = False


def play_all(figure: str, systems: dict[str, cosim.System], options: Options) -> dict[str, cosim.Result]:
    """Run what has not been run yet; returns the results by label."""
    results = {}
    for index, (label, system) in enumerate(systems.items(), 1):
        name = label.translate(str.maketrans(" /", "__", ",="))
        asked = RunOptions(
            out=options.folder(figure) / "runs" / name,
            data_dir=options.data_dir,
            workers=options.workers,
            device=options.device,
        )
        title = f"{label} ({index}/{len(systems)})"
        results[label] = played(title, figure, system, asked, resume="as found")
    return results


def num_rounds(system: cosim.System) -> int:
    """Global rounds that a system plays."""
    assert isinstance(system.end, cosim.AfterRounds)
    return system.end.num_global_rounds


def show_claims(figure: str, folder: Path, claims: Sequence[Claim]) -> int:
    """Print the claims beside the paper's, and where the files are; returns the exit code."""
    table = Table(title=f"{figure}: the paper and this run", title_justify="left")
    for heading in ("the paper says", "here", "verdict"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        verdict = "agrees" if claim.agrees else "DISAGREES" if claim.required else "does not show"
        table.add_row(claim.paper, claim.ours, verdict)
    console.print(table)
    console.print(f"Table:   {folder / f'{figure}.csv'}\nPicture: {folder / f'{figure}.png'}")
    return int(any(claim.required and not claim.agrees for claim in claims))
