"""Rates: the table that `RateTrace` reads, of rates over time of each device.

A rate holds from its row to the next; the last one as long as the one before, which is how `RepeatTrace` and
`RefusePastEnd` end a trace. So a table tells the length of each trace, and traces of several lengths fit in.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.instants import LATEST_S
from cosim.configuration import ConfigurationError
from cosim.formats.converted import ConvertedTable, clients_of
from cosim.tables.table import LARGEST

_SAME = 1e-9
"""Share of a trace's length by which its end may be missed, beyond the rounding of its stamps."""


class Steps(NamedTuple):
    """Rate of a device over time.

    Attributes:
        time_s: Beginnings of its rows, from 0 and ascending, shape (rows,).
        rate_bps: Rates, shape (rows,).
        end_s: End of the last row.
    """

    time_s: NDArray[np.float64]
    rate_bps: NDArray[np.float64]
    end_s: float

    @classmethod
    def carrying(cls, edges_s: NDArray[Any], bits: NDArray[Any]) -> "Steps":
        """Rates that carry a number of bits in each interval, and never a rounding error less.

        So an upload of as many bits as come by a stamp has arrived then, and not when the next ones come.

        Args:
            edges_s: Ends of the intervals, from 0 and ascending, shape (intervals + 1,).
            bits: Bits of each, shape (intervals,).
        """
        rate_bps = _at_least(bits, np.diff(edges_s))
        return cls(edges_s[:-1], rate_bps, float(edges_s[-1]))

    @property
    def mean_bps(self) -> float:
        """Bits of the whole trace by its length."""
        return float(np.diff(self.time_s, append=self.end_s) @ self.rate_bps / self.end_s)

    @property
    def median_bps(self) -> float:
        """Rate that half of the time is below."""
        order = np.argsort(self.rate_bps)
        lasts_s = np.diff(self.time_s, append=self.end_s)[order]
        return float(self.rate_bps[order][np.searchsorted(np.cumsum(lasts_s), self.end_s / 2.0)])


@attrs.frozen(eq=False)
class Rates(ConvertedTable):
    """Rates over time, with the columns time_s, device and rate_bps."""

    @classmethod
    def of(cls, devices: Mapping[str, Steps]) -> "Rates":
        """The rates of devices by their names.

        Raises:
            ConfigurationError: A trace is longer than a run may be, or a rate larger than a number may be.
        """
        import pandas as pd

        parts = []
        for device, steps in devices.items():
            if not steps.end_s < LATEST_S:
                raise ConfigurationError(
                    f"{device}: ends after {steps.end_s:g} s, and the clock at 1e9 s. Use times in s, since "
                    "the first."
                )
            if not (most_bps := float(steps.rate_bps.max())) <= LARGEST:
                raise ConfigurationError(
                    f"{device}: has a rate of {most_bps:g} bit/s. Use at most {LARGEST:g}, in the unit that "
                    "it has."
                )
            time_s, rate_bps = _closed(steps)
            parts.append(pd.DataFrame({"time_s": time_s, "device": device, "rate_bps": rate_bps}))
        return cls(pd.concat(parts, ignore_index=True))

    def steps(self) -> dict[str, Steps]:
        """The rates of each device."""
        found = {}
        for device, rows in self.table.groupby("device", sort=False):
            time_s, rate_bps = rows["time_s"].to_numpy(float), rows["rate_bps"].to_numpy(float)
            last_s = float(time_s[-1] - time_s[-2]) if len(time_s) > 1 else 0.0
            found[str(device)] = Steps(time_s, rate_bps, float(time_s[-1]) + last_s)
        return found

    @property
    @override
    def summary(self) -> str:
        each = list(self.steps().values())
        ends_s = [steps.end_s for steps in each]
        shortest, longest = f"{min(ends_s):g}", f"{max(ends_s):g}"
        lasts = f"{longest} s" if shortest == longest else f"{shortest} to {longest} s"
        mean_mbps = float(np.mean([steps.mean_bps for steps in each])) / 1e6
        median_mbps = float(np.median([steps.median_bps for steps in each])) / 1e6
        return f"{clients_of(len(each))}, {lasts}, mean {mean_mbps:.4g}, median {median_mbps:.4g} Mbit/s"

    @override
    def use(self, file: str) -> str:
        return (
            f"--uplink.kind TracedLink --trace.file {file} --trace.dealing.kind InTurns "
            "--trace.past-end.kind RepeatTrace"
        )


def _closed(steps: Steps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stamps and rates, of which the last row is as long as the one before: else it becomes two halves."""
    time_s, rate_bps, end_s = steps
    if len(time_s) < 2 or abs(2.0 * time_s[-1] - time_s[-2] - end_s) > _SAME * end_s:
        time_s, rate_bps = np.append(time_s, (time_s[-1] + end_s) / 2.0), np.append(rate_bps, rate_bps[-1])
    before_s = time_s[-1] - time_s[-2]
    ends_s = np.array([time_s[-1], time_s[-1] + before_s])  # as rounded where the trace is read
    least_bps = _at_least(rate_bps[-1:] * (end_s - time_s[-1]), np.diff(ends_s))
    return time_s, np.append(rate_bps[:-1], np.maximum(rate_bps[-1:], least_bps))


def _at_least(bits: NDArray[Any], lasts_s: NDArray[Any]) -> NDArray[np.float64]:
    """Rates that carry bits in times, and not a rounding error less."""
    rate_bps = bits / lasts_s
    while (short := rate_bps * lasts_s < bits).any():
        rate_bps[short] = np.nextafter(rate_bps[short], np.inf)
    return rate_bps
