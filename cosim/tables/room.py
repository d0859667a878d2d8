"""Room: memory and disk that are free, and whether they hold what a folded file unfolds to.

A Parquet file, an npz archive or a gzipped text of a few megabytes can unfold to gigabytes. What it unfolds
to is said by its metadata, or counted in passing, and is refused before it is in memory: where it takes more
than half of the memory that is free, or where it is absurd, above `ABSURD_GIB` and `ABSURD_TIMES` its own
size.

Usage::

    with parquet_file(path) as file:
        check_parquet(path, file)
        frame = file.read().to_pandas()
"""

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cosim.files.parquet_files import parquet_file

GIB = 2.0**30
ABSURD_GIB, ABSURD_TIMES = 1.0, 1000
"""Sizes beyond what any file of a run needs: rows of 1,000 equal clients unfold to 224 times their size."""
_SMALL = 2**20


class Unfolds(ValueError):
    """A file unfolds to more than there is room for, in a few words."""


def size_in_words(gib: float) -> str:
    """A size for a reader, such as 0.3 GiB or 0.0123 MiB."""
    return f"{gib:.1f} GiB" if gib >= 0.1 else f"{1024.0 * gib:.3g} MiB"


def free_memory_gib() -> float | None:
    """Memory that can be had, where the system says so, less where a container has a limit."""
    limits = [_number(Path("/sys/fs/cgroup/memory.max"))]
    try:
        lines: Sequence[str] = Path("/proc/meminfo").read_text().splitlines()
        limits += [1024.0 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    known = [limit for limit in limits if limit is not None]
    return min(known) / GIB if known else None


def free_disk_gib(folder: Path | None) -> float | None:
    """Free space on the disk of a folder, or of the folder in which it is to be made; None if unknown."""
    if folder is None:
        return None
    there = next((place for place in (folder, *folder.parents) if place.exists()), None)
    return None if there is None or not os.access(there, os.R_OK) else shutil.disk_usage(there).free / GIB


def _number(file: Path) -> float | None:
    try:
        return float(file.read_text())
    except (OSError, ValueError):
        return None


def check_room_for(path: Path, num_bytes: int) -> None:
    """Refuse a file that unfolds to a number of bytes for which there is no room.

    Raises:
        Unfolds: It is too large.
    """
    own = path.stat().st_size
    if num_bytes <= max(own, _SMALL):
        return
    unfolds = f"{size_in_words(own / GIB)} that unfold to {size_in_words(num_bytes / GIB)}"
    if num_bytes > ABSURD_GIB * GIB and num_bytes > ABSURD_TIMES * own:
        raise Unfolds(f"{unfolds}, more than {ABSURD_TIMES} times its size")
    free_gib = free_memory_gib()
    if free_gib is not None and 2 * num_bytes > free_gib * GIB:
        raise Unfolds(f"{unfolds}, and {size_in_words(free_gib)} of memory are free")


def check_parquet(path: Path, file: Any) -> None:
    """Refuse a Parquet file by its metadata, before its rows are read.

    Args:
        file: The same file, as a pyarrow.parquet.ParquetFile.

    Raises:
        Unfolds: It unfolds to more than there is room for.
    """
    metadata, num_bytes, most_bytes = file.metadata, 0, 0
    columns = [file.schema.column(number) for number in range(metadata.num_columns)]
    texts = [one.path for one in columns if one.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")]
    # of groups, for Arrow ends the process where it is asked for a column of damaged metadata
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        num_bytes += max(8 * group.num_rows * len(columns), group.total_byte_size)
        most_bytes += group.num_rows * group.total_byte_size if texts else 0
    check_room_for(path, num_bytes)
    try:
        check_room_for(path, num_bytes + most_bytes)
    except Unfolds:  # a text that is there once, and in many rows: as it is folded, all lengths are known
        check_room_for(path, num_bytes + _bytes_of_texts(path, sorted(texts)))


def _bytes_of_texts(path: Path, columns: list[str]) -> int:
    """Bytes that the texts of a Parquet file take in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    num_bytes = 0
    with parquet_file(path, columns) as file:
        for batch in file.iter_batches(columns=columns, use_threads=False):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type):
                    texts = column.dictionary.cast(pa.large_binary())
                    lengths = pc.call_function("binary_length", [texts]).take(column.indices)
                    num_bytes += pc.call_function("sum", [lengths]).as_py() or 0
                else:
                    num_bytes += column.nbytes
    return num_bytes


def check_npz(path: Path) -> None:
    """Refuse an npz archive by the sizes of its members, before they are read.

    Raises:
        Unfolds: It unfolds to more than there is room for.
        zipfile.BadZipFile: It is no archive.
    """
    with zipfile.ZipFile(path) as archive:
        check_room_for(path, sum(member.file_size for member in archive.infolist()))
