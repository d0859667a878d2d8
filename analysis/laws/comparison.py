"""Comparison: a law's numbers beside the clock's, and verdicts on the law and on its wrong theories."""

from collections.abc import Iterator, Mapping

import attrs
import pandas as pd

from analysis.intervals.statistics import Interval
from analysis.laws.checks import WrongLaw, factor_between, numbers_of, samples_of
from analysis.laws.port import Clock, Law
from analysis.laws.power import longer, power

CLOSED_FORM = "closed form"
"""The theory that is right."""
DISAGREES = "disagrees"


@attrs.frozen(kw_only=True)
class Criterion:
    """When an interval decides.

    Attributes:
        level: Share of repetitions in which each interval must contain the truth.
        margin: Half width at which a number decides, as a part of it.
    """

    level: float
    margin: float


def intervals(law: Law, clock: Clock, level: float) -> dict[str, Interval]:
    """An interval for each quantity of a law.

    Raises:
        WrongLaw: What it says cannot be compared.
    """
    theory, _ = numbers_of(law)
    found = samples_of(law.simulate(clock), theory)
    return {name: found[name].interval(level) for name in theory}


def rows(name: str, law: Law, clock: Clock, criterion: Criterion) -> Iterator[dict[str, object]]:
    """Rows of each quantity: of the closed form, and of the wrong theories that say something of it.

    The columns are law, quantity, theory, predicted, estimate, low, high, method, verdict; `power`, the
    probability that a run like this one contradicts a wrong theory; `longer`, how many times as long a run
    must be to decide, and of a wrong theory to contradict it with 90 %; `remark`, what else a reader must
    know.

    Raises:
        WrongLaw: What the law says cannot be compared.
    """
    theory, wrong = numbers_of(law)
    found = samples_of(law.simulate(clock), theory)
    for quantity, number in theory.items():
        sample = found[quantity]
        interval = sample.interval(criterion.level)
        of_quantity = {of: numbers[quantity] for of, numbers in wrong.items() if quantity in numbers}
        for of, predicted in {CLOSED_FORM: number, **of_quantity}.items():
            is_right = of == CLOSED_FORM
            margin = _margin(quantity, number, interval, criterion) if is_right else None
            verdict = interval.verdict(float(predicted), margin)
            yield {
                "law": name,
                "quantity": quantity,
                "theory": of,
                "predicted": float(predicted),
                "estimate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "method": sample.method,
                "verdict": verdict,
                "power": float("nan") if is_right else power(interval, number, predicted),
                "longer": _to_decide(interval, margin) if is_right else longer(interval, number, predicted),
                "remark": _remark(interval, number, verdict) if is_right else "",
            }


def not_caught(points: pd.DataFrame) -> Mapping[tuple[str, str], tuple[float, float]]:
    """Law and wrong theory that no number contradicts -> power, and how many times as long decides."""
    wrong = points[points["theory"] != CLOSED_FORM]
    found = dict[tuple[str, str], tuple[float, float]]()
    for (law, theory), own in wrong.groupby(["law", "theory"], sort=False):
        if not (own["verdict"] == DISAGREES).any():
            found[str(law), str(theory)] = float(own["power"].max()), float(own["longer"].min())
    return found


def _margin(quantity: str, number: float, interval: Interval, criterion: Criterion) -> float | None:
    """Half width at which a quantity decides; None if it is not random."""
    if interval.level >= 1.0:
        return None
    if number == 0.0:
        raise WrongLaw(
            f"predict, {quantity!r}: is 0, of which no part is a margin. Use a quantity that is not 0, "
            "such as 1 less a share."
        )
    return criterion.margin * abs(number)


def _to_decide(interval: Interval, margin: float | None) -> float:
    return (interval.half_width / margin) ** 2 if margin else float("nan")


def _remark(interval: Interval, number: float, verdict: str) -> str:
    if verdict != DISAGREES:
        return interval.remark
    factor = factor_between(interval, number)
    return f"the clock has {factor} the law's number: look at the units" if factor else interval.remark
