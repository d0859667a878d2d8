"""Drive tests: tables with a row for each report of a phone, as apps and public data sets have them.

A row has a stamp of the wall clock, a rate, and maybe what tells sessions or phones from each other.

Source: D. Raca et al., "Beyond Throughput, The Next Generation: a 5G Dataset with Channel and Context
Metrics", MMSys 2020 (logs of G-NetTrack, rates in kbit/s, stamps such as 2019.12.14_11.05.08, - for none);
A. Narayanan et al., "Lumos5G: Mapping and Predicting Commercial mmWave 5G Throughput", IMC 2020.

Scope and limitations: each device's trace begins with its own first row. A row stands for the time from its
stamp on. What a phone received while nothing was sent to it is no rate of its link.
"""

from typing import Literal

import numpy as np

from cosim.formats.converted import AnyPath
from cosim.formats.factors import check_above_0
from cosim.formats.inputs import device_of, files_of
from cosim.formats.rates import Rates, Steps
from cosim.formats.samples import Gaps, in_slots, slot_ns_of
from cosim.formats.wall_clock import stamps_ns
from cosim.tables.read import table_of
from cosim.tables.table import Table


def drive_test(
    *files: AnyPath,
    time: str,
    rate: str,
    unit_bps: float,
    device: tuple[str, ...] = (),
    only: tuple[str, str] | None = None,
    time_format: str | None = None,
    none: tuple[str, ...] = ("-",),
    gaps: Gaps = "refuse",
    slot_s: float = 1.0,
) -> Rates:
    """Drive tests: csv or Parquet, with a row for each report of a phone and wall-clock stamps.

    Args:
        files: Tables, or folders of them.
        time: Column of the stamps.
        rate: Column of the rates.
        unit_bps: Unit of the rates: 1 for bit/s, 1e3 for kbit/s, 1e6 for Mbit/s.
        device: Columns that tell sessions or phones apart, each of which is a client; empty: each file is a
            client.
        only: A column and a value: other rows count as rows without a rate.
        time_format: Form of the stamps, such as %d/%m/%Y %H:%M:%S, or s, ms, us or ns for numbers. None means
            that it is recognised, or refused if several fit.
        none: Texts that mean no rate, in addition to an empty cell.
        gaps: Rule for slots without a rate: an error ("refuse"), the rate before ("hold"), or 0 ("zero").
        slot_s: Length of a row; rates of the same slot are averaged.

    Raises:
        ConfigurationError: A column is missing; a stamp or a rate is not valid; stamps of a device decrease;
            a device has a gap that is refused.
    """
    found: dict[str, Steps] = {}
    paths, slot_ns = files_of(files), slot_ns_of(slot_s)
    check_above_0("unit_bps", unit_bps, "1e3 for kbit/s")
    for client, path in paths.items():
        table = table_of(path)
        table.check_columns(time, rate, *device, *(only or ())[:1])
        time_ns = stamps_ns(table, time, time_format)
        rate_bps = unit_bps * table.numbers(rate, gaps=True, none=none)
        if only is not None:
            kinds = table.names(only[0])
            rate_bps[np.array([kind != only[1] for kind in kinds.each])[kinds.which]] = np.nan
        for within, rows in _devices(table, device).items():
            name = device_of(client, within, len(paths)) if within else client
            found[name] = in_slots(table, time, rows, time_ns[rows], rate_bps[rows], slot_ns, gaps)
    return Rates.of(found)


def gnettrack(
    *files: AnyPath,
    direction: Literal["down", "up"] = "down",
    idle: bool = False,
    time_format: str | None = None,
    gaps: Gaps = "refuse",
    slot_s: float = 1.0,
) -> Rates:
    """Logs of G-NetTrack, as UCC's 4G and 5G sets have them: DL_bitrate and UL_bitrate in kbit/s.

    Args:
        files: csv files, or folders of them; each is a client.
        direction: Of the rates.
        idle: True if downloads count that are of State I, in which the phone asked for nothing.
        time_format: Form of the stamps. None means that it is recognised.
        gaps: Rule for slots without a rate: an error ("refuse"), the rate before ("hold"), or 0 ("zero").
        slot_s: Length of a row; rates of the same slot are averaged.

    Raises:
        ConfigurationError: A file is no such log, or has a gap that is refused.
    """
    return drive_test(
        *files,
        time="Timestamp",
        rate="DL_bitrate" if direction == "down" else "UL_bitrate",
        unit_bps=1e3,
        only=None if idle or direction == "up" else ("State", "D"),
        time_format=time_format,
        gaps=gaps,
        slot_s=slot_s,
    )


def lumos5g(*files: AnyPath, gaps: Gaps = "refuse") -> Rates:
    """Lumos5G's table: downloads in Mbit/s, in each second of a run, of walks and drives.

    Args:
        files: csv files, or folders of them; each run is a client, such as walking/CW/3.
        gaps: Rule for seconds without a rate: an error ("refuse"), the rate before ("hold"), or 0 ("zero").

    Raises:
        ConfigurationError: A file is no such table, or has a gap that is refused.
    """
    return drive_test(
        *files,
        time="seq_num",
        rate="Throughput",
        unit_bps=1e6,
        device=("mobility_mode", "trajectory_direction", "run_num"),
        time_format="s",
        none=("-", "nan", "NaN", "NA"),
        gaps=gaps,
    )


def _devices(table: Table, columns: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Rows of each device, by what its columns say; of a file without such columns all, under no name."""
    if not columns:
        return {"": np.arange(table.num_rows)}
    each = [table.names(column) for column in columns]
    keys = np.stack([names.which for names in each], axis=1)
    codes, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
    return {
        "/".join(names.each[int(code)] for names, code in zip(each, of, strict=True)): part
        for of, part in zip(codes, parts, strict=True)
    }
