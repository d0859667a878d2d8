"""Columns of tables: rows are found as a dictionary finds them, names stand by number."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analysis.columns import coded, places

ROW = st.tuples(st.integers(-3, 3), st.integers(0, 2), st.sampled_from((-1, 5, 10**6)))


def columns(rows: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return list(np.array(rows, dtype=np.int64).reshape(-1, 3).T)


@given(wanted=st.lists(ROW), among=st.lists(ROW, unique=True))
def test_rows_are_found_as_a_dictionary_finds_them(wanted, among):
    place_of = {row: place for place, row in enumerate(among)}
    assert places(columns(wanted), columns(among)).tolist() == [place_of.get(row, -1) for row in wanted]


def test_names_stand_by_number_and_codes_lead_back():
    given_ = ["client-10000", "client-9999", "client-0003"], [], ["edge-01", "client-0003", "cloud"]
    names, codes = coded(*(pd.Series(own, dtype="str") for own in given_))
    assert names.tolist() == ["client-0003", "client-9999", "client-10000", "cloud", "edge-01"]
    assert tuple(names[own].tolist() for own in codes) == given_
