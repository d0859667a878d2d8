"""IDX, the file format of the MNIST family: an array of bytes behind a short header, often gzipped.

Scope and limitations: unsigned bytes only (type 8), which is all that the family uses; whole files in memory.

Usage::

    images = idx.array(idx.unzipped(path.read_bytes()))

Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits", section "File formats".
"""

import gzip
import io
import math
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 60_000 * 28 * 28 + 16
"""Bytes of the largest file of the family: its training images. [Fashion-MNIST]"""


class WrongContent(ValueError):
    """Fault in the content of a file, as half a sentence."""


def unzipped(content: bytes) -> bytes:
    """Content without gzip, if it is gzipped; the content decides, not the file's name.

    Raises:
        WrongContent: The gzip stream is truncated or corrupt.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        with gzip.open(io.BytesIO(content)) as file:
            found = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise WrongContent(f"truncated or corrupt gzip ({error})") from None
    if len(found) > MOST_BYTES:
        raise WrongContent(f"unfolds to more than the {MOST_BYTES:,} bytes of the family's largest file")
    return found


def array(content: bytes) -> NDArray[np.uint8]:
    """The array, read-only, in the shape that the header states.

    The header is 0, 0, 8 (unsigned bytes), the number of axes, and the length of each axis as four bytes.

    Raises:
        WrongContent: The header is missing, or states another number of bytes.
    """
    num_axes = content[3] if len(content) >= 4 and content[:3] == b"\0\0\x08" else 0
    start = 4 + 4 * num_axes
    if num_axes == 0 or len(content) < start:
        found = f"it starts with {content[:4].hex(' ')}" if content else "it is empty"
        raise WrongContent(f"no IDX file of bytes: {found}, not with the magic number 00 00 08 and its axes")
    shape = struct.unpack(f">{num_axes}I", content[4:start])
    num_promised, num_found = math.prod(shape), len(content) - start
    if num_promised != num_found:
        fault = "truncated" if num_found < num_promised else "too long"
        raise WrongContent(f"{fault}: its header promises {num_promised} bytes of data, not {num_found}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
