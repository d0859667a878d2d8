"""Content: the bytes of a file, and what a file is whose content is not what its name says."""

import gzip
import zlib
from pathlib import Path

from cosim.tables.faults import fault, unreadable
from cosim.tables.room import check_room_for

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, which programs write before a text."""
_AT_ONCE = 2**20
_BEGINNINGS = (
    (b"\x1f\x8b", "a gzip", "a name that ends in .csv.gz"),
    (b"PK\x03\x04", "a zip archive, as Excel's workbooks are", "the table saved as CSV UTF-8"),
    (b"PK\x05\x06", "an empty zip archive", "the table saved as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "a workbook of Excel", "the table saved as CSV UTF-8"),
    (b"PAR1", "a Parquet file", "a name that ends in .parquet"),
    (b"\x93NUMPY", "an array as numpy.save writes it", "a csv file"),
    (b"\xff\xfe", "text in UTF-16", "the file saved as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "the file saved as UTF-8"),
)
"""First bytes of a file -> what it is, and how to give it to us."""


def content_of(path: Path) -> bytes:
    """The bytes of a file of text, unfolded where its name ends in .gz.

    Raises:
        ConfigurationError: It cannot be read, is damaged, or unfolds to more than there is room for.
    """
    try:
        return _unfolded(path) if path.name.endswith(".gz") else path.read_bytes()
    except gzip.BadGzipFile:
        raise fault(path, "is no gzip, or is damaged", "a whole file, or a name that ends in .csv") from None
    except EOFError:
        raise fault(path, "is a gzip that is cut off", "the whole file") from None
    except (OSError, zlib.error, ValueError) as error:
        raise unreadable(path, error) from None


def _unfolded(path: Path) -> bytes:
    found, num_bytes, checked = [], 0, 0
    with gzip.open(path) as file:
        while part := file.read(_AT_ONCE):
            found.append(part)
            num_bytes += len(part)
            if num_bytes > 2 * checked:  # or memory would be asked for at every megabyte
                check_room_for(path, num_bytes)
                checked = num_bytes
    return b"".join(found)


def check_is_text(path: Path, content: bytes) -> None:
    """Refuse bytes that are no text in UTF-8.

    Raises:
        ConfigurationError: What they are, as far as that can be told.
    """
    for beginning, what, instead in _BEGINNINGS:
        if content.startswith(beginning):
            raise fault(path, f"is {what}, and no csv in UTF-8", instead)
    if not content.strip():
        raise fault(path, "is empty", "a file with a header and rows")
    if (place := content.find(b"\0")) >= 0:
        row = content.count(b"\n", 0, place) + 1
        raise fault(
            path, "holds a zero byte, as UTF-16 and damaged files do", "the file saved as UTF-8", row=row
        )
    if content.isascii():
        return
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{content[error.start]:02x} is no UTF-8, but may be Latin-1 or Windows-1252"
        raise fault(path, what, "the file saved as UTF-8", row=row) from None
