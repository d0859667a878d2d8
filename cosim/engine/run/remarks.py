"""Remarks: values that are legal, and that users rarely mean.

A rate below 1 kbit/s is most often one in Mbit/s, a band below 1 kHz one in MHz, and a trace without rows for
long was most often not recorded meanwhile. None is refused, because each may be meant; a command says so.

Validation: tests/engine/run/test_remarks.py.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from cosim.configuration import is_configuration
from cosim.configuration.port import parts_of

FEW = 1e3
"""Bits per second, or hertz, that are few. [no source]"""
_LARGER = {"_bps": ("bit/s", "Mbit/s"), "bandwidth_hz": ("Hz", "MHz")}
"""End of a field's name -> its unit, and the one that is taken for it."""


def remarks_on(system: Any) -> list[str]:
    """A sentence on each value of a system that looks like a mistake, and how it is mended."""
    of_files = (words for part in parts_of(system) for words in part.remarks())
    return list(dict.fromkeys([*_few(system, ""), *of_files]))


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
