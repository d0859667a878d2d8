"""Windows: the table that `PresenceWindows` reads, of times at which each device is present."""

from collections.abc import Sequence
from typing import NamedTuple

import attrs
import numpy as np
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.formats.converted import ConvertedTable, clients_of


class Stays(NamedTuple):
    """Times at which a device is present.

    Attributes:
        name: Its name in the file.
        windows: Begins and ends in s; windows that take no time are left out.
        period_s: Time after which they repeat; None means that they do not.
    """

    name: str
    windows: Sequence[tuple[float, float]]
    period_s: float | None


@attrs.frozen(eq=False)
class Windows(ConvertedTable):
    """Windows of presence, with the columns device, name, from_s, to_s, and period_s where they repeat."""

    @classmethod
    def of(cls, devices: Sequence[Stays], where: str, *, skip_absent: bool) -> "Windows":
        """Windows of devices, which are numbered in their order.

        Args:
            where: The file, for messages.
            skip_absent: True to leave out devices that are never there.

        Raises:
            ConfigurationError: A device is never there; none is ever there.
        """
        import pandas as pd

        there = [
            stays._replace(windows=[window for window in stays.windows if window[1] > window[0]])
            for stays in devices
        ]
        absent = [stays.name for stays in there if not stays.windows]
        if len(absent) == len(there):
            raise ConfigurationError(f"{where}: no device is ever there. Use another file, or other states.")
        if absent and not skip_absent:
            raise ConfigurationError(
                f"{where}: {len(absent)} of {len(there)} devices are never there, such as {absent[0]}. "
                "Use skip_absent = True to leave them out."
            )
        rows = [
            (device, stays.name, *window, stays.period_s)
            for device, stays in enumerate(stays for stays in there if stays.windows)
            for window in stays.windows
        ]
        table = pd.DataFrame(rows, columns=["device", "name", "from_s", "to_s", "period_s"])
        return cls(table.drop(columns="period_s") if table["period_s"].isna().all() else table)

    @property
    @override
    def summary(self) -> str:
        clients = clients_of(self.table["device"].nunique())
        of_s = self.table["to_s"] - self.table["from_s"]
        if "period_s" not in self.table:
            return f"{clients}, median window {np.median(of_s):.4g} s"
        shares = (of_s / self.table["period_s"]).groupby(self.table["device"]).sum()
        return f"{clients}, there {100.0 * shares.mean():.3g} % of the time"

    @override
    def use(self, file: str) -> str:
        return f"--presence.kind PresenceWindows --presence.file {file}"
