"""Table file: a Parquet file that grows by row groups, and stands whole in its place whenever it is saved.

Groups are written beside the place (`cosim.files.on_disk`). A file that was saved has a footer, and cannot
grow: the next group goes into another, into which its groups are copied.
"""

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosim.files.on_disk import checksum, partial_of, replace, told
from cosim.files.parquet_files import parquet_file

if TYPE_CHECKING:
    import pyarrow as pa


@lru_cache(maxsize=64)
def _without_rows(schema: bytes) -> bytes:
    """Content of a file without rows; most runs have several, and a writer takes a millisecond for each."""
    import pyarrow as pa
    from pyarrow import parquet

    file = pa.BufferOutputStream()
    parquet.ParquetWriter(file, pa.ipc.read_schema(pa.py_buffer(schema))).close()
    return file.getvalue().to_pybytes()


class TableFile:
    """One table of a run, written to its place while it goes on."""

    def __init__(self, path: Path) -> None:
        self._path, self._num_groups = path, 0
        self._writer: Any = None
        self._opened: Any = None

    def append(self, rows: "pa.Table") -> None:
        """Write a row group.

        Raises:
            ConfigurationError: It cannot be written.
        """
        with told(self._path):
            self._write(rows)
        self._num_groups += 1

    def save(self, last: "pa.Table", *, goes_on: bool) -> str:
        """Put the file into its place, with a last row group that is not there in later ones.

        Args:
            goes_on: True if there may be more, so that groups are copied now, and what that takes is known.

        Returns:
            Its checksum.

        Raises:
            ConfigurationError: It cannot be written.
        """

        def finish(partial: Path) -> None:
            if not (self._num_groups or len(last)):
                partial.write_bytes(_without_rows(last.schema.serialize().to_pybytes()))
                return
            self._write(last)
            self._close()

        try:
            replace(self._path, finish)
        finally:
            self.discard()
        if goes_on and self._num_groups:
            with told(self._path):
                self._begin(last.schema)
        return checksum(self._path)

    def discard(self) -> None:
        """Remove what is not in its place."""
        if self._writer is not None:
            with suppress(OSError):
                self._close()
            partial_of(self._path).unlink(missing_ok=True)

    def _write(self, rows: "pa.Table") -> None:
        if self._writer is None:
            self._begin(rows.schema)
        self._write_group(rows)

    def _begin(self, schema: Any) -> None:
        """Begin another file, with the groups of the one that was saved."""
        import pyarrow as pa
        from pyarrow import parquet

        self._opened = pa.OSFile(os.fsencode(partial_of(self._path)), "wb")
        self._writer = parquet.ParquetWriter(self._opened, schema)
        if self._num_groups:
            with parquet_file(self._path) as saved:
                for number in range(self._num_groups):
                    self._write_group(saved.read_row_group(number, use_threads=False))

    def _close(self) -> None:
        """Close the file that is being written, whole or not."""
        writer, self._writer = self._writer, None
        with self._opened:
            writer.close()

    def _write_group(self, table: Any) -> None:
        if len(table):
            self._writer.write_table(table.combine_chunks(), row_group_size=len(table))
