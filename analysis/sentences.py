"""Sentences: what a study found, each of which holds only where the paired intervals say so.

Designs are compared by what a target took them, in seconds and joules, or without a target by their scores,
time and energy; in a factorial, design by design at each setting of the other fields. A ratio is that of the
geometric means on the same seeds (`Sample.ratio`). A sentence claims a difference only if

- the interval of the ratio excludes 1, at a level at which all pairs of the designs that are compared hold
  together (`analysis.intervals.ranks`), and
- the paired difference of the means, as tables show it, excludes 0 on the same side.

Else both "cannot be told apart". Where a seed missed the target there is no ratio: "4 of 5" is said.

Scope and limitations: sentences about different metrics, targets and settings hold each on its own, not
jointly; of more than three designs in a setting the best is compared with the rest. With fewer than 6 seeds
all designs of a setting are taken to spread alike (`analysis.intervals.ranks`).

Usage::

    for words in sentences(load("studies/protocols")):
        print(words)

Validation: tests/analysis/test_sentences.py.
"""

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.intervals.bounded import remark_on_few
from analysis.intervals.ranks import ranks
from analysis.intervals.statistics import ROUNDING, Interval, familywise
from analysis.metrics import metrics, target_in_words
from analysis.samples import Sample, samples
from cosim.display.words import in_words
from cosim.records.measures import Measure

LEVEL = "Each sentence holds at 95 %, of more than two designs for all pairs of them together."
MOST = 8
"""Sentences in all; the rest are counted."""
_MOST_NAMED = 3


class Setting(NamedTuple):
    """Designs that are compared with each other: what they share, in words, and number -> name."""

    words: str
    names: Mapping[int, str]


class Other(NamedTuple):
    """A design beside the best one.

    Attributes:
        sample: Its metric.
        name: Its name.
        interval: Of a cost, its ratio to the best, above 1; of a score, by how much the best is better.
        is_apart: True if the two can be told apart.
    """

    sample: Sample
    name: str
    interval: Interval
    is_apart: bool


class Order(NamedTuple):
    """Designs by a metric: the best, and the others from the next to the worst."""

    best: Sample
    name: str
    others: Sequence[Other]

    @property
    def is_same(self) -> bool:
        """True if every seed has the same value in all designs."""
        own, others = self.best.taken, [other.sample.taken for other in self.others]
        return all(
            own.index.equals(other.index) and np.allclose(own, other, rtol=ROUNDING, atol=0.0)
            for other in others
        )


def sentences(runs: pd.DataFrame) -> list[str]:
    """Findings of the complete runs of a table; none with one design, or one seed."""
    found = [words for setting in settings(runs) for words in _of_setting(runs, setting)]
    rest = len(found) - MOST
    return [*found[:MOST], f"{rest} further sentences follow from the differences."] if rest > 1 else found


def remark_on_seeds(runs: pd.DataFrame) -> str:
    """How far intervals of what a target took may be trusted, by the fewest seeds; empty where they may."""
    if not runs.attrs.get("targets"):
        return ""
    complete = runs[runs["status"] == "complete"]
    return remark_on_few(int(complete.groupby("design").size().min())) if len(complete) else ""


def settings(runs: pd.DataFrame) -> list[Setting]:
    """Designs in the groups that are compared, by a field that is no number, if there is one.

    All designs are one group where there is no such field, or no other field besides.
    """
    designs = runs.drop_duplicates("design").set_index("design")
    names = {int(str(design)): str(name) for design, name in designs["name"].items()}
    fields = [f for f in runs.attrs.get("fields", ()) if designs[f].map(json.dumps).nunique() > 1]
    has_bases = "base" in designs and designs["base"].nunique() > 1
    kinds = [field for field in fields if not all(map(_is_number, designs[field]))]
    first = "base" if has_bases else next(iter(kinds), None)
    others = [field for field in fields if field != first]
    groups: dict[str, dict[int, str]] = {}
    if first is not None and others and "study" not in designs:
        parts = runs.attrs.get("parts", {})
        for design, row in designs.iterrows():
            at = ", ".join(in_words(field, row[field], others, parts) for field in others)
            own = str(row[first]) if first == "base" else in_words(first, row[first], (), parts)
            groups.setdefault(f"At {at}: ", {})[int(str(design))] = own
    found = [Setting(at, own) for at, own in groups.items() if len(set(own.values())) > 1]
    return found or ([Setting("", names)] if len(names) > 1 else [])


def order(found: Mapping[int, Sample], names: Mapping[int, str]) -> Order | None:
    """The designs of a setting by a metric; None where fewer than two have a number, or share two seeds.

    Args:
        found: Number of a design -> its sample. A design in which a seed missed has no place.
    """
    known = [own for own in found.values() if own.design in names and own.num_runs > 1]
    known = [own for own in known if not own.missed and not own.num_lost]
    if len(known) < 2 or not all(own.is_comparable(known[0]) for own in known):
        return None
    seeds = reduce(pd.Index.intersection, (own.taken.index for own in known))
    values = np.array([own.taken[seeds].to_numpy() for own in known])
    if len(seeds) < 2:
        return None
    if known[0].metric.is_cost:
        return _by_ratio(known, values, names) if (values > 0.0).all() else None
    return _by_difference(known, names)


def _by_ratio(known: Sequence[Sample], values: np.ndarray, names: Mapping[int, str]) -> Order:
    ranking = ranks(values)
    first, *rest = ranking.order
    others = []
    for place in rest:
        ratio, difference = ranking.ratio(place, first), known[place].difference(known[first])
        is_apart = ratio.low > 1.0 + ROUNDING and difference is not None and difference.low > 0.0
        others.append(Other(known[place], names[known[place].design], ratio, is_apart))
    return Order(known[first], names[known[first].design], others)


def _by_difference(known: Sequence[Sample], names: Mapping[int, str]) -> Order:
    sign = 1.0 if known[0].metric.measure.higher_is_better else -1.0
    first, *rest = sorted(known, key=lambda own: -sign * own.value.estimate)
    level, others = familywise(len(known) * (len(known) - 1) // 2), []
    for own in rest:
        better, worse = (first, own) if sign > 0 else (own, first)
        found = better.difference(worse, level)
        assert found is not None
        others.append(Other(own, names[own.design], found, found.low > 0.0))
    return Order(first, names[first.design], others)


def _of_setting(runs: pd.DataFrame, setting: Setting) -> list[str]:
    known, found = metrics(runs), []
    headline = next((Measure(*own) for own in runs.attrs.get("measures", {}).values()), None)
    for label in runs.attrs.get("targets", ()):
        goal = _goal(label, headline)
        times_s = samples(runs, known[f"time_to_{label}_s"])
        energies_j = samples(runs, known[f"energy_to_{label}_j"])
        orders = [order(times_s, setting.names), order(energies_j, setting.names)]
        found += _orders_in_words([own for own in orders if own is not None], goal)
        found += _missed(
            [own for own in times_s.values() if own.design in setting.names], setting.names, goal
        )
    if not runs.attrs.get("targets"):
        scores = list(runs.attrs.get("measures", {}))[:1]
        of_runs = (samples(runs, known[column]) for column in (*scores, "time_s", "energy_j"))
        orders = [order(of, setting.names) for of in of_runs]
        found += _orders_in_words([own for own in orders if own is not None and not own.is_same], "")
    return [_whole(setting.words, words) for words in found]


def _whole(at: str, words: str) -> str:
    """A sentence, with a capital where it begins with a word of ours and not with a name."""
    is_ours = not at and words.startswith(("none is ", "no run ", "all have "))
    return f"{at}{words[0].upper() if is_ours else words[0]}{words[1:]}."


def _goal(label: str, headline: Measure | None) -> str:
    """A target as a sentence says it, such as 70 %."""
    words, target, held = target_in_words(label), *label.partition("_held_")[::2]
    if headline is None or not headline.is_share:
        return words
    return f"{100.0 * float(target):.4g} %" + (f" held for {held} evaluations" if held else "")


def _orders_in_words(orders: Sequence[Order], goal: str) -> list[str]:
    if any(len(own.others) > 1 for own in orders):
        return [_among_many(own, goal) for own in orders]
    if not orders:
        return []
    first, *rest = orders
    return ["".join([_of_two(first, goal), *(_besides(own, first, goal) for own in rest)])]


def _of_two(own: Order, goal: str) -> str:
    (other,) = own.others
    if own.is_same:
        return f"{own.name} and {other.name} have the same {_what(own, goal)}"
    if not other.is_apart:
        return f"{own.name} and {other.name} cannot be told apart in {_what(own, goal)}"
    return f"{own.name} {_verb(own, goal)}{_by(own, other)} than {other.name}"


def _besides(own: Order, first: Order, goal: str) -> str:
    """Words of a further metric about the two designs of a sentence, few where the first one allows it."""
    (other,), is_apart = own.others, first.others[0].is_apart
    if is_apart and not other.is_apart:
        return f"; {_what(own, '')} {'is the same' if own.is_same else 'cannot be told apart'}"
    if is_apart and own.name == first.name and own.best.metric.is_cost and not own.best.metric.is_time:
        return f", and with {_by(own, other)}"
    return f"; {_of_two(own, goal)}"


def _among_many(own: Order, goal: str) -> str:
    alike = [other.name for other in own.others if not other.is_apart]
    apart = next((other for other in own.others if other.is_apart), None)
    if own.is_same:
        return f"all have the same {_what(own, goal)}"
    if len(alike) == len(own.others):
        return f"none is surely the best in {_what(own, goal)}"
    assert apart is not None
    words = f"{own.name} {_verb(own, goal)}{_by(own, apart)} than {apart.name}"
    if not alike:
        return f"{words}, the next"
    told = _listed(alike) if len(alike) <= _MOST_NAMED else f"{len(alike)} others"
    return f"{words}; it cannot be told apart from {told}"


def _missed(found: Sequence[Sample], names: Mapping[int, str], goal: str) -> list[str]:
    """Number of runs that reached a target, for designs in which a run missed it."""
    missed = [own for own in found if own.missed and own.design in names]
    if not missed:
        return []
    if not any(own.num_reached for own in found if own.design in names):
        return [f"no run reaches {goal}"]
    if len(missed) > _MOST_NAMED:
        return [f"{len(missed)} of {len(names)} designs miss {goal} in some of their runs"]
    first, *rest = ((names[own.design], own.reached_in_words) for own in missed)
    others = "".join(f", {name} in {reached}" for name, reached in rest)
    return [f"{first[0]} reaches {goal} in {first[1]} runs{others}"]


def _what(own: Order, goal: str) -> str:
    metric = own.best.metric
    return f"{metric.kind} to {goal}" if goal else metric.kind if metric.is_cost else metric.name


def _verb(own: Order, goal: str) -> str:
    metric = own.best.metric
    if metric.is_time:
        return f"reaches {goal} " if goal else "ends "
    if metric.is_cost:
        return f"reaches {goal} with " if goal else "takes "
    return "ends with "


def _by(own: Order, other: Other) -> str:
    """By how much the best is better."""
    metric, of = own.best.metric, other.interval
    if metric.is_cost:
        ends = f" [{of.low:.3g}, {of.high:.3g}]" if of.high > of.low * (1.0 + ROUNDING) else " on every seed"
        better = "faster" if metric.is_time else f"less {metric.kind}"
        return f"{of.estimate:.3g} times{ends} {better}"
    scale, words = metric.measure.factor, metric.measure.words
    unit = " points" if metric.measure.is_share else ""
    more = "more" if metric.measure.higher_is_better else "less"
    return f"{scale * of.estimate:.3g}{unit} [{scale * of.low:.3g}, {scale * of.high:.3g}] {more} {words}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
