"""Device costs: the table of devices of which a benchmark has measured times and rates.

It serves `DeviceTable`, `MeasuredSteps` and, by `Column`, `GivenRates` for both directions. A benchmark says
seconds, and no frequency: a device's is set to 1 GHz, at which its steps take the seconds that are measured,
and its capacitance so that training takes the power that is given.
"""

from collections.abc import Sequence
from typing import NamedTuple

import attrs
from typing_extensions import override

from cosim.formats.converted import ConvertedTable, clients_of
from cosim.formats.factors import check_above_0

NOMINAL_HZ = 1e9
"""Frequency of every device; times do not depend on it."""


class Measured(NamedTuple):
    """Measurement of a device.

    Attributes:
        name: Its name in the file.
        lasts_s: Time of training for a sample or a step.
        up_bps: Rate up; None if it is not known.
        down_bps: Rate down; None if it is not known.
    """

    name: str
    lasts_s: float
    up_bps: float | None
    down_bps: float | None


@attrs.frozen(eq=False)
class DeviceCosts(ConvertedTable):
    """Devices by number: name, what a `DeviceTable` has, step_s or sample_s, uplink_bps, downlink_bps."""

    @classmethod
    def of(cls, devices: Sequence[Measured], *, per: str, train_w: float, tx_power_w: float) -> "DeviceCosts":
        """The table of devices, which are numbered in their order.

        Args:
            per: Of what a time is: step or sample.
            train_w: Power of every device that trains.
            tx_power_w: Power of every device that sends.
        """
        import pandas as pd

        for name, power_w in (("train_w", train_w), ("tx_power_w", tx_power_w)):
            check_above_0(name, power_w, "a power in W, such as 2.5")
        table = pd.DataFrame(
            {
                "device": range(len(devices)),
                "name": [device.name for device in devices],
                "frequency_hz": NOMINAL_HZ,
                "capacitance_j_per_hz2": 2.0 * train_w / NOMINAL_HZ**3,
                "tx_power_w": tx_power_w,
                f"{per}_s": [device.lasts_s for device in devices],
                "uplink_bps": [device.up_bps for device in devices],
                "downlink_bps": [device.down_bps for device in devices],
            }
        )
        return cls(table.dropna(axis="columns", how="all"))

    @property
    @override
    def summary(self) -> str:
        per = "step" if "step_s" in self.table else "sample"
        rates = [
            f"{self.table[f'{way}link_bps'].median() / 1e6:.4g} Mbit/s {way}"
            for way in ("up", "down")
            if f"{way}link_bps" in self.table
        ]
        median = f"median {self.table[f'{per}_s'].median():.4g} s for a {per}"
        return ", ".join([clients_of(len(self.table)), median, *rates])

    @override
    def use(self, file: str) -> str:
        links = [
            f"--{way}link.kind GivenRates --{way}link.rate-bps.kind Column --{way}link.rate-bps.file {file} "
            f"--{way}link.rate-bps.column {way}link_bps"
            for way in ("up", "down")
            if f"{way}link_bps" in self.table
        ]
        devices = f"--devices.kind DeviceTable --devices.file {file}"
        return " ".join([devices, f"--cycles.kind MeasuredSteps --cycles.file {file}", *links])
