"""Entries: a dict of dicts, one for each device, from a file in JSON or a plain pickle."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.formats.plain_pickle import pickled
from cosim.tables.content import BOM, content_of
from cosim.tables.faults import fault, unreadable


class Entry(NamedTuple):
    """Content of a file about a device.

    Attributes:
        path: The file.
        name: Name of the device in it.
        values: Key -> value.
    """

    path: Path
    name: str
    values: dict[str, Any]

    def value(self, key: str) -> Any:
        """A value.

        Raises:
            ConfigurationError: There is none.
        """
        if key not in self.values:
            raise self.fault(
                f"has the keys {short(', '.join(map(str, self.values)) or 'none')}", f"{key}, too"
            )
        return self.values[key]

    def number(self, key: str) -> float:
        """A finite number, 0 or above.

        Raises:
            ConfigurationError: There is none.
        """
        found = self.value(key)
        self._check(key, found, "a number")
        return float(found)

    def numbers(self, key: str) -> NDArray[np.float64]:
        """A list of finite numbers, 0 or above.

        Raises:
            ConfigurationError: There is none.
        """
        found = self.value(key)
        if not isinstance(found, (list, tuple)):
            raise self.fault(f"{key} is {short(repr(found))}, and no list", "a list of numbers")
        for place, number in enumerate(found):
            self._check(key, number, f"a number at place {place}")
        return np.array(found, dtype=float)

    def _check(self, key: str, number: Any, instead: str) -> None:
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < 1e300:
            raise self.fault(f"{key}: {short(repr(number))} is no finite number of 0 or above", instead)

    def fault(self, what: str, instead: str) -> ConfigurationError:
        """The error of the entry."""
        return fault(self.path, f"entry {short(repr(self.name))}: {what}", instead)


def entries_of(path: Path, num_clients: int | None) -> list[Entry]:
    """The entries of a file, in its order.

    Args:
        num_clients: Number of entries to take; more than the file has are taken in turn. None means all.

    Raises:
        ConfigurationError: It cannot be read, or is no dict of dicts.
    """
    content = content_of(path).removeprefix(BOM)
    if not content.strip():
        raise fault(path, "is empty", "a file with a dict of the devices")
    found = _json(path, content) if content.lstrip()[:1] in (b"{", b"[") else pickled(path, content)
    if not isinstance(found, dict) or not found:
        what = f"holds {short(repr(found))}, and no dict of devices"
        raise fault(path, what, "a dict with an entry for each device")
    each = []
    for name, values in found.items():
        if not isinstance(values, dict):
            what = f"entry {short(repr(name))}: is {short(repr(values))}, and no dict"
            raise fault(path, what, "a dict for each device")
        each.append(Entry(path, str(name), values))
    if num_clients is None:
        return each
    if num_clients < 1:
        raise ConfigurationError(f"num_clients = {num_clients}: must be at least 1. Use {len(each)}.")
    return [each[number % len(each)] for number in range(num_clients)]


def _json(path: Path, content: bytes) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            name = next(name for name in names if names.count(name) > 1)
            raise fault(path, f"entry {short(repr(name))}: appears twice", "one entry for each name")
        return found

    try:
        return json.loads(content, object_pairs_hook=once)
    except ConfigurationError:
        raise
    except (ValueError, RecursionError) as error:
        raise unreadable(path, error, "a whole file in JSON") from None
