"""The trace that is shipped is the one that is made, and what the scenario prints is in the tables."""

import attrs
import numpy as np
import pandas as pd
from rich.console import Console

import cosim
from scenarios import trace, walk


def test_the_shipped_trace_is_made_here():
    pd.testing.assert_frame_equal(pd.read_csv(walk.FILE), walk.walk(), check_dtype=False)


def test_a_walk_comes_near_and_goes_out_of_reach():
    rates = walk.walk().groupby("device")["rate_bps"]
    assert len(rates) == walk.NUM_DEVICES
    assert (rates.max() > 5e5).all()
    assert (rates.min() == 0).sum() >= 3
    assert (np.abs(rates.diff().dropna()) < 1e6).all()


def test_the_report_counts_what_the_tables_have():
    result = cosim.run(attrs.evolve(trace.system(), evaluation=cosim.Never()))
    printed = Console(width=200)
    with printed.capture() as captured:
        printed.print(trace.report(result))
    lines = {
        line.split("│")[1].strip(): line.split("│")
        for line in captured.get().splitlines()
        if "client-" in line
    }
    assert len(lines) == 12
    for client, own in result.transfers.groupby("client"):
        assert int(lines[client][2]) == len(own)
        assert lines[client][3].strip() == f"{100 * own['arrived'].mean():.0f} %"
        in_vain = own.loc[~own["arrived"], "sent_bits"].sum()
        assert lines[client][7].strip() == f"{in_vain / 1e3:,.0f} kbit"
    arrived = result.transfers["arrived"]
    assert 0 < arrived.sum() < len(arrived)
