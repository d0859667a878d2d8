"""Broken laws: the error of a contract, and the row of a table that does not fit a rule."""

from typing import Any

import numpy as np
import pandas as pd


class BrokenLaw(AssertionError):
    """A law that a part breaks: which one, where, the usual reason."""


def broken(law: str, where: str, reason: str) -> BrokenLaw:
    """The error of one law."""
    return BrokenLaw(f"{law}: {where}. Usual reason: {reason}.")


def all_fit(rows: pd.DataFrame, fits: Any, law: str, rule: str, reason: str) -> None:
    """Check a rule of one law for all rows.

    Raises:
        BrokenLaw: The first row that it does not fit.
    """
    if not fits.all():
        raise unfit(rows, int(np.argmin(fits)), law, rule, reason)


def unfit(rows: pd.DataFrame, place: int, law: str, rule: str, reason: str) -> BrokenLaw:
    """The error of the row at a place."""
    return broken(law, f"{rule}, and {rows.iloc[place].to_dict()} does not", reason)
