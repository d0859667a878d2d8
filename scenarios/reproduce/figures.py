"""What the reproductions of figures share: their options, their runs, the paper's claims beside ours.

Every run has a folder of its own below the figure's; a reproduction that was stopped goes on with the runs
that are missing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import attrs
from rich.table import Table

import cosim
from cosim.configuration import to_dict
from scenarios.command_line.console import console, network, progress_of


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
        folder = options.folder(figure) / "runs" / name
        started = (folder / "config.json").exists()
        finished = _finished(folder, system) if started else None
        if finished is None:
            with progress_of(
                f"{label} ({index}/{len(systems)})", system.protocol.num_global_rounds
            ) as listener:
                finished = cosim.run(
                    system,
                    network(system.model),
                    out=folder,
                    scenario=figure,
                    data_dir=options.data_dir,
                    num_workers=options.workers,
                    device=options.device,
                    listener=listener,
                    resume=started,
                )
        results[label] = finished
    return results


def _finished(folder: Path, system: cosim.System) -> cosim.Result | None:
    """The result of a run that ended; None of one that was stopped.

    Raises:
        ConfigurationError: The folder holds a run of another configuration.
    """
    if json.loads((folder / "config.json").read_text()).get("system") != to_dict(system):
        raise cosim.ConfigurationError(
            f"{folder}: holds a run of another configuration. Usual fix: another --out, or remove it."
        )
    try:
        result = cosim.Result.load(folder)
    except cosim.ConfigurationError:
        return None
    return result if result.summary.status == "complete" else None


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
