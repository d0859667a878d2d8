"""Parquet files, opened at a path of any bytes: Arrow by itself takes names in UTF-8 only."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


@contextmanager
def parquet_file(path: Path, folded: Sequence[str] = ()) -> "Iterator[ParquetFile]":
    """A Parquet file to read from.

    Args:
        folded: Columns of texts that stay as the file folds them, each text once.

    Raises:
        OSError: It cannot be opened.
        pyarrow.ArrowException: It is none.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with (
        pa.OSFile(os.fsencode(path)) as source,
        parquet.ParquetFile(source, read_dictionary=list(folded), page_checksum_verification=True) as file,
    ):
        yield file
