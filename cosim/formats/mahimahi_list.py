"""Mahimahi: packet-delivery lists of mm-link.

| line | |
|---|---|
| `17` | one packet may leave 17 ms after the loop began |
| `17` | and another one |
| `24` | the last line is the length of the loop, too |

Source: R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015; `mm-link(1)`,
whose queue gives each opportunity 1,504 bytes: an Ethernet payload of 1,500, and the 4 of the tunnel.
"""

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.factors import check_above_0
from cosim.formats.inputs import files_of
from cosim.formats.rates import Rates, Steps
from cosim.formats.samples import MOST_SLOTS
from cosim.formats.text_lines import Line, lines_of

_PER_S = 1000
"""Stamps are in milliseconds."""


def mahimahi(*files: AnyPath, packet_bits: float = 8 * 1504, slot_s: float = 0.001) -> Rates:
    """Packet-delivery lists of mahimahi's mm-link: a stamp in ms in each line, one packet for each.

    A packet is spread over the slot that its stamp ends, so each slot, and the loop, has the bits of the
    file. A stamp of 0 is the end of the loop before.

    Args:
        files: Lists, or folders of them; each is a client.
        packet_bits: Bits of a packet; mm-link's are 1,504 bytes.
        slot_s: Length of a row, in whole ms; the last row of a list ends with its loop.

    Raises:
        ConfigurationError: A line is no whole number of ms, or before the one above; the loop has no length.
    """
    slot = _whole_slot(slot_s)
    check_above_0("packet_bits", packet_bits, "12032, mm-link's")
    found = {}
    for client, path in files_of(files).items():
        stamps = np.array(_stamps(list(lines_of(path))))
        length = int(stamps[-1])
        if length > MOST_SLOTS * slot:  # as of a list with stamps since 1970
            raise ConfigurationError(
                f"{shown(path)}: would have {length // slot:,} rows, the last at {length / _PER_S:g} s. Use "
                "stamps in ms since the beginning of the list, or a longer slot_s."
            )
        in_slots = np.bincount((np.where(stamps, stamps, length) - 1) // slot)
        edges = np.append(slot * np.arange(len(in_slots)), length)
        found[client] = Steps.carrying(edges / _PER_S, packet_bits * in_slots)
    return Rates.of(found)


def _whole_slot(slot_s: float) -> int:
    """A slot in ms."""
    slot = slot_s * _PER_S
    if not 0.5 < slot < 1e9 or abs(slot - round(slot)) > 1e-6:
        raise ConfigurationError(f"slot_s = {slot_s:g}: must be whole milliseconds. Use 0.001, or 0.1.")
    return round(slot)


def _stamps(lines: list[Line]) -> list[int]:
    """Stamps in ms."""
    found, before = [], 0
    for line in lines:
        if len(line.words) > 1:
            what = f"has {len(line.words)} words, and a packet-delivery list one stamp in each line"
            raise line.fault(what, "the format throughput for lines of seconds and Mbit/s")
        word = line.words[0]
        if not (word.isascii() and word.isdigit()):
            raise line.fault(f"{short(repr(word))} is no whole number of ms", "stamps such as 17")
        stamp = int(word)
        if stamp < before:
            raise line.fault(f"{stamp} ms is before the {before} ms above", "stamps in ascending order")
        found.append(before := stamp)
    if not found[-1]:
        raise lines[-1].fault("0 ms is the length of the loop", "a last stamp above 0")
    return found
