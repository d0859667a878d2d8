"""Throughput: files of two columns without a header, as players of video and their simulators have them.

| line | |
|---|---|
| `0.58 2.41` | at 0.58 s the rate is 2.41 Mbit/s |

Columns are separated by blanks, a tab or a comma.

Source: H. Mao et al., "Neural Adaptive Video Streaming with Pensieve", SIGCOMM 2017, whose simulator reads
its "cooked" traces so, and takes a rate for the time that its stamp ends.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.factors import check_above_0
from cosim.formats.inputs import files_of
from cosim.formats.rates import Rates, Steps
from cosim.formats.text_lines import lines_of


def throughput(*files: AnyPath, stamp: Literal["begins", "ends"] = "begins", unit_bps: float = 1e6) -> Rates:
    """Two columns without a header: seconds and Mbit/s, as for players of video.

    Args:
        files: Files, or folders of them; each is a client, and its first stamp is the start of the run.
        stamp: Which end of its interval a rate stands at: with "begins" the last rate lasts as long as the
            one before; with "ends", as in Pensieve's simulator, the first rate is of no interval.
        unit_bps: Unit of the rates; 1e6 for Mbit/s, 1e3 for kbit/s.

    Raises:
        ConfigurationError: A line has not two numbers of 0 or above; times do not ascend; the unit is not
            above 0.
    """
    check_above_0("unit_bps", unit_bps, "1e6 for Mbit/s")
    return Rates.of({client: _steps(path, stamp, unit_bps) for client, path in files_of(files).items()})


def _steps(path: Path, stamp: str, unit_bps: float) -> Steps:
    times, rates = [], []
    for line in lines_of(path, separators=","):
        if len(line.words) != 2:
            what = f"has {len(line.words)} words, and not two: seconds and a rate"
            raise line.fault(what, "the format mahimahi for a list of stamps, or lines such as 0.5 2.41")
        time_s = line.number_at(0, "seconds")
        if times and time_s <= times[-1]:
            raise line.fault(f"{time_s:g} s is not after the {times[-1]:g} s above", "lines in order of time")
        times.append(time_s)
        rates.append(line.number_at(1, "rate"))
    if len(times) < 2:
        raise ConfigurationError(
            f"{shown(path)}: has one line, which does not say how long it holds. Use two or more."
        )
    time_s, rate_bps = np.array(times) - times[0], unit_bps * np.array(rates)
    if stamp == "ends":
        return Steps(time_s[:-1], rate_bps[1:], float(time_s[-1]))
    return Steps(time_s, rate_bps, float(2.0 * time_s[-1] - time_s[-2]))
