"""Remarks: values that are legal, and that users rarely mean.

A rate below 1 kbit/s is most often one in Mbit/s, a band below 1 kHz one in MHz, a device of 2 Hz one of
2 GHz, and a trace without rows for long was most often not recorded meanwhile. None is refused or converted,
because each may be meant; `cosim.run` warns of each before its clock starts, once a process, and
`provenance.json` keeps them.

Of many numbers the median is judged, so that a few odd ones neither hide a mistake nor look like one.

Validation: tests/system/test_remarks.py.
"""

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np

from cosim.configuration.kinds import is_configuration
from cosim.configuration.port import parts_of
from cosim.devices.device import DeviceArrays
from cosim.units import dbm_to_w

FEW = 1e3
"""Bits per second, or hertz, that are few. [no source]"""
SLOW_HZ, STRONG_W = 1e6, 10.0
"""A processor slower than any that trains a network, and a device stronger than any radio class of terminals.

[3GPP TS 38.101-1, Table 6.2.1-1: at most 31 dBm, 1.26 W]
"""
_LARGER = {"_bps": ("bit/s", "Mbit/s"), "bandwidth_hz": ("Hz", "MHz")}
"""End of a field's name -> its unit, and the one that is taken for it."""


class Remark(UserWarning):
    """A value that is legal, and that users rarely mean."""


_said: set[str] = set()
"""Remarks that this process has made: a loop of runs makes each once."""


def say_once(remarks: Iterable[str]) -> None:
    """Warn of remarks that this process has not made yet, as from the caller of the caller's caller."""
    for words in remarks:
        if words not in _said:
            _said.add(words)
            warnings.warn(words, Remark, stacklevel=4)


def remarks_on(system: Any, devices: DeviceArrays) -> list[str]:
    """A sentence on each value of a system that looks like a mistake, and how it is mended.

    Args:
        devices: Devices of its clients.
    """
    of_files = (words for part in parts_of(system) for words in part.remarks())
    return list(dict.fromkeys([*_few(system, ""), *of_files, *_on_devices(system, devices)]))


def _few(config: Any, prefix: str) -> Iterator[str]:
    for name in attrs.fields_dict(type(config)):
        value, path = getattr(config, name), f"{prefix}{name}"
        if is_configuration(type(value)):
            yield from _few(value, f"{path}.")
        for end, (unit, larger) in _LARGER.items():
            if name.endswith(end) and isinstance(value, float) and 0.0 < value < FEW:
                yield (
                    f"{path} = {value:g} {unit} is little. Use {value * 1e6:g}, if {value:g} {larger} "
                    "was meant."
                )


def _on_devices(system: Any, devices: DeviceArrays) -> Iterator[str]:
    kind = type(system.devices).__name__
    slow_hz, strong_w = float(np.median(devices.frequency_hz)), float(np.median(devices.tx_power_w))
    if slow_hz < SLOW_HZ:
        yield (
            f"{kind}: the median frequency_hz of its clients is {slow_hz:g} Hz. Use 1e9 times the numbers if "
            "they are in GHz, 1e6 times if in MHz."
        )
    if strong_w >= STRONG_W:
        yield (
            f"{kind}: the median tx_power_w of its clients is {strong_w:g} W. Use {dbm_to_w(strong_w):.4g} W "
            f"if {strong_w:g} dBm was meant: 10 ** (dBm / 10 - 3)."
        )
