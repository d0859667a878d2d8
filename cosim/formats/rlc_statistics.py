"""RLC statistics of ns-3: DlRlcStats.txt and UlRlcStats.txt of its LTE module, and of mmWave's.

| column | |
|---|---|
| `% start`, `end` | epoch, in s |
| `IMSI` | terminal |
| `LCID` | bearer |
| `RxBytes` | bytes that its receiver had in the epoch |

A bearer without traffic has no row in an epoch, so a missing row is a rate of 0. The bearers of a terminal
add up.

Source: the manual of ns-3's LTE module, "Simulation output", class RadioBearerStatsCalculator.

Scope and limitations: bytes are what was sent, not what could be: saturate the link. A terminal that never
has a row is not known.
"""

from pathlib import Path

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.formats.converted import AnyPath
from cosim.formats.inputs import device_of, files_of
from cosim.formats.rates import Rates, Steps
from cosim.formats.samples import MOST_SLOTS
from cosim.formats.text_lines import Line, lines_of
from cosim.tables.faults import missing

_COLUMNS = ("start", "end", "IMSI", "LCID", "RxBytes")
_SAME = 1e-3
"""Share of an epoch by which rows may miss it, since times are printed with few digits."""


def ns3_rlc(*files: AnyPath, start_s: float | None = None, end_s: float | None = None) -> Rates:
    """RLC statistics of ns-3: bytes of each bearer in each epoch; a missing row is 0, bearers add up.

    Args:
        files: DlRlcStats.txt or UlRlcStats.txt, or folders of them; each IMSI is a client.
        start_s: Start of the first epoch. None means that of the first row.
        end_s: End of the last epoch. None means that of the last row.

    Raises:
        ConfigurationError: A file has other columns; a number is none; epochs differ; a row appears twice.
    """
    paths, found = files_of(files), dict[str, Steps]()
    for client, path in paths.items():
        for imsi, steps in _terminals(path, start_s, end_s).items():
            found[device_of(client, imsi, len(paths))] = steps
    return Rates.of(found)


def _terminals(path: Path, start_s: float | None, end_s: float | None) -> dict[str, Steps]:
    """Rates of each terminal of a file."""
    header, *lines = lines_of(path)
    names = " ".join(header.words)[1:].split()
    if header.words[0][0] not in "%#":
        raise header.fault("is no header of RLC statistics", "a first line that begins with % start end")
    for name in _COLUMNS:
        if name not in names:
            raise missing(path, name, names)
    if not lines:
        raise header.fault("has no rows after it", "a simulation with traffic")
    place = {name: names.index(name) for name in _COLUMNS}
    numbers = np.array([_numbers(line, place, len(names)) for line in lines])
    starts_s, ends_s, rx_bytes = numbers.T
    first_s = float(starts_s[0]) if start_s is None else start_s
    epoch_s = float(ends_s[0] - starts_s[0])
    epochs = (starts_s - first_s) / epoch_s
    which = np.round(epochs).astype(np.int64)
    off = (np.abs(epochs - which) > _SAME) | (np.abs(ends_s - starts_s - epoch_s) > _SAME * epoch_s)
    if off.any():
        what = f"is no epoch of {epoch_s:g} s since {first_s:g} s"
        raise lines[int(off.argmax())].fault(what, "rows of one simulation")
    if (which < 0).any():
        raise lines[int((which < 0).argmax())].fault(
            f"begins before {first_s:g} s", "rows in order, or a start_s before"
        )
    num_epochs = int(which.max()) + 1
    if end_s is not None:
        least_s, num_epochs = first_s + num_epochs * epoch_s, round((end_s - first_s) / epoch_s)
        if num_epochs <= which.max():
            raise ConfigurationError(
                f"end_s = {end_s:g}: the last row ends at {least_s:g} s. Use {least_s:g} or more."
            )
    if num_epochs > MOST_SLOTS:
        raise lines[int(which.argmax())].fault(f"is epoch {num_epochs:,}", "rows of one simulation")
    edges_s = epoch_s * np.arange(num_epochs + 1)
    found: dict[str, np.ndarray] = {}
    seen = set[tuple[str, str, int]]()
    for line, epoch, num_bytes in zip(lines, which.tolist(), rx_bytes.tolist(), strict=True):
        imsi, bearer = line.words[place["IMSI"]], line.words[place["LCID"]]
        if (imsi, bearer, epoch) in seen:
            raise line.fault(
                f"is the second row of IMSI {imsi}, LCID {bearer} in its epoch", "rows of one simulation"
            )
        seen.add((imsi, bearer, epoch))
        found.setdefault(imsi, np.zeros(num_epochs))[epoch] += 8.0 * num_bytes
    return {
        imsi: Steps.carrying(edges_s, found[imsi])
        for imsi in sorted(found, key=lambda imsi: (not imsi.isdecimal(), len(imsi), imsi))
    }


def _numbers(line: Line, place: dict[str, int], num_columns: int) -> tuple[float, float, float]:
    """Start, end and bytes of a row."""
    if len(line.words) != num_columns:
        raise line.fault(f"has {len(line.words)} words, and the header {num_columns}", "a whole file of ns-3")
    start_s, end_s, rx_bytes = (line.number_at(place[name], name) for name in ("start", "end", "RxBytes"))
    if end_s <= start_s:
        raise line.fault("ends before it begins", "a whole file of ns-3")
    return start_s, end_s, rx_bytes
