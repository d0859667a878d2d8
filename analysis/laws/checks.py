"""Checks: what a law says, refused in a sentence where it cannot be compared.

Scope and limitations: a wrong unit is seen where it is in the name of a quantity, or where the clock's number
is the law's times a factor between two units (`factor_between`); not where only part of a sum has it.
"""

import difflib
import math
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

from analysis.intervals.statistics import Interval
from analysis.laws.port import Law, Numbers
from analysis.laws.samples import Sample

SAME = 1e-9
"""Relative difference up to which two theories say the same."""
FACTORS = {1e3: "1000 times", 1e6: "a million times", 8.0: "8 times", 60.0: "60 times"}
"""Factors between units: s and ms, bits and bytes, Mbit and bits, minutes and seconds."""


class WrongLaw(ValueError):
    """A law that says nothing that can be compared."""


def numbers_of(law: Law) -> tuple[Numbers, Mapping[str, Numbers]]:
    """Numbers that a law predicts, and that its wrong theories do.

    Raises:
        WrongLaw: A value is not a number, a name is not predicted, or there is no wrong theory.
    """
    theory = _numbers(law.predict(), "predict")
    wrong = law.wrong()
    if not isinstance(wrong, Mapping) or not wrong:
        raise WrongLaw(
            f"wrong: gives {_shown(wrong)}, and without a wrong theory nothing shows that the law can "
            "fail. Use {'the mean client': {'round (s)': 1.25}}."
        )
    for name, said in wrong.items():
        where = f"wrong, {name!r}"
        numbers = _numbers(said, where)
        _check_names(numbers, theory, where)
        if all(math.isclose(number, theory[of], rel_tol=SAME) for of, number in numbers.items()):
            raise WrongLaw(f"{where}: says the same as predict. Use a theory that differs from it.")
    return theory, wrong


def samples_of(found: Any, theory: Numbers) -> Mapping[str, Sample]:
    """Samples that a law's scenario has found, one of each quantity that it predicts.

    Raises:
        WrongLaw: It is no sample, or a sample of another quantity; or one is missing.
    """
    if not isinstance(found, Mapping):
        raise WrongLaw(f"simulate: gives {_shown(found)}. Use {{'round (s)': Series(values=...)}}.")
    _check_names(found, theory, "simulate")
    for name in theory:
        if name not in found:
            raise WrongLaw(f"simulate: has no {name!r}, which predict has. Use the same names in both.")
        if not isinstance(found[name], Sample):
            raise WrongLaw(
                f"simulate, {name!r}: {_shown(found[name])} is no sample. Use Series(values=...), or "
                "another one of analysis.laws."
            )
    return found


def factor_between(interval: Interval, predicted: float) -> str | None:
    """The clock's number as a multiple of a law's, if that is a factor between two units; else None."""
    for factor, words in FACTORS.items():
        if interval.contains(predicted * factor):
            return words
        if interval.contains(predicted / factor):
            return f"1 / {factor:g} of"
    return None


def _numbers(said: Any, where: str) -> Numbers:
    """Finite numbers by name."""
    if not isinstance(said, Mapping) or not said:
        raise WrongLaw(f"{where}: gives {_shown(said)}. Use {{'round (s)': 1.08}}.")
    for name, number in said.items():
        if not isinstance(name, str):
            raise WrongLaw(f"{where}: {name!r} is not a name. Use a text such as 'round (s)'.")
        if not isinstance(number, Real) or not math.isfinite(number):
            raise WrongLaw(
                f"{where}, {name!r}: is {_shown(number)}, no finite number. Use values for which the formula "
                "holds, such as a load below 1."
            )
    return said


def _check_names(names: Collection[str], theory: Numbers, where: str) -> None:
    """Refuse a quantity that is not predicted."""
    for name in names:
        if name in theory:
            continue
        of, unit = _apart(str(name))
        for other in theory:
            if _apart(other)[0] == of and unit != _apart(other)[1]:
                raise WrongLaw(
                    f"{where}: {name!r} is {other!r} of predict in another unit. Use one for both."
                )
        close = difflib.get_close_matches(str(name), theory, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(map(repr, theory))
        raise WrongLaw(f"{where}: {name!r} is not predicted.{hint} Use a name of predict: {known}.")


def _apart(name: str) -> tuple[str, str]:
    """A quantity's name without its unit, and the unit in brackets."""
    of, _, unit = name.partition(" (")
    return of, unit


def _shown(value: Any) -> str:
    return f"{value!r:.60}"
