"""Watch: progress of a study, including the runs under way.

Each run reports its progress in a small file beside the study, twice a second at most, and a thread of the
asking process reads the files. So it works wherever the study's folder is visible; if a file is missing or
torn, that run counts as not begun. Nothing is left behind.
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cosim.display.progress import Show, progress_of
from cosim.ends.port import Counted
from cosim.engine.servers.cloud import VersionReport
from cosim.system.system import System

_EVERY_WALL_S = 0.5
_FOLDER = ".progress"
_MOST_TOLD = 4


class Watch:
    """Progress of a study, shown twice a second.

    Attributes:
        folder: Folder in which its runs report their progress; None if it is not shown.
    """

    def __init__(self, folder: Path | None, show: Show) -> None:
        self.folder, self._show = folder, show
        self._counted: tuple[Counted, int] | None = None

    def tell(self, num_ended: int, num_wanted: int, num_failed: int) -> None:
        """Update the numbers of runs."""
        self._counted = Counted(num_ended, num_wanted, "runs"), num_failed
        self.look()

    def look(self) -> None:
        """Show the current progress."""
        if self._counted is None:
            return
        counted, num_failed = self._counted
        running = [] if self.folder is None or counted.done == counted.of else list(_running(self.folder))
        begun_s = [time_s for _, time_s in running if time_s > 0.0]
        times = ", ".join(f"{time_s:.3g} s" for time_s in begun_s[:_MOST_TOLD])
        more = ", ..." if len(begun_s) > _MOST_TOLD else ""
        simulated = f" (simulated {times}{more})" if begun_s else ""
        words = f"{len(running)} running{simulated}, {num_failed} failed"
        self._show(counted, words, within=sum(share for share, _ in running))


@contextmanager
def watch(folder: Path, name: str | None) -> Iterator[Watch]:
    """Watch that shows the progress of a study.

    Args:
        folder: The study's folder.
        name: Title of the progress; None means that nothing is shown.
    """
    if name is None:
        with progress_of("", quiet=True) as show:
            yield Watch(None, show)
        return
    place, is_over = folder / _FOLDER, threading.Event()
    shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        place.mkdir()
    with progress_of(name) as show:
        found = Watch(place, show)

        def look() -> None:
            while not is_over.wait(_EVERY_WALL_S):
                found.look()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            is_over.set()
            thread.join()
            shutil.rmtree(place, ignore_errors=True)


class Note:
    """Listener that reports the progress of a run in a file."""

    def __init__(self, system: System, path: Path) -> None:
        self._system, self._path = system, path
        self._last = 0.0

    def __call__(self, report: VersionReport) -> None:
        """Write the report, unless that was done just now."""
        now = time.monotonic()
        if now - self._last >= _EVERY_WALL_S:
            self._last = now
            done, of, _ = self._system.end.counted(report.progress)
            with suppress(OSError):
                self._path.write_text(json.dumps([done / of, report.progress.time_s]))

    def over(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink()


def _running(folder: Path) -> Iterator[tuple[float, float]]:
    """Progress of each run under way: its share that is done, and its simulated time."""
    for path in sorted(folder.glob("*")):
        with suppress(OSError, ValueError, TypeError):
            share, time_s = json.loads(path.read_text())
            yield min(max(float(share), 0.0), 1.0), float(time_s)
