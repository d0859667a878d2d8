"""Gains: the arrays that `GainTrace` reads, of power gains over time of each client."""

from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.formats.converted import Converted, clients_of


@attrs.frozen(eq=False)
class Gains(Converted):
    """Power gains over time, of which each holds until the next.

    Attributes:
        time_s: Stamps, from 0 and ascending, shape (rows,).
        gain: Linear power gains, 0 where there is no path, shape (rows, clients).
        devices: Names that the clients had in the file.
    """

    ends: ClassVar[tuple[str, ...]] = (".npz",)
    time_s: NDArray[np.float64]
    gain: NDArray[np.float64]
    devices: tuple[str, ...]

    @override
    def write(self, path: Path, name: str) -> None:
        with path.open("wb") as file:
            np.savez(file, time_s=self.time_s, gain=self.gain, devices=np.array(self.devices))

    @property
    @override
    def summary(self) -> str:
        there = self.gain[self.gain > 0.0]
        rows = "1 row" if len(self.time_s) == 1 else f"{len(self.time_s)} rows to {self.time_s[-1]:g} s"
        median = f"median {10.0 * np.log10(np.median(there)):.4g} dB" if len(there) else "no path"
        return f"{clients_of(len(self.devices))}, {rows}, {median}"

    @override
    def use(self, file: str) -> str:
        past_end = "RepeatTrace" if len(self.time_s) > 1 else "HoldLast"
        return (
            f"--uplink.link.kind NoiseOnly --uplink.fading.kind GainTrace --uplink.fading.file {file} "
            f"--uplink.fading.past-end.kind {past_end}"
        )
