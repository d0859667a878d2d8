"""Does staleness on the clock keep its laws (FedBuff, generalised asynchronous SGD)?

Fleets of equal and unequal clients, whose jobs last by five laws, with and without a radio, run on the clock
without learning. Of the four laws, (1) constant concurrency with a buffer and (3) jobs in a closed network
are identities in whole numbers on every path. (2) Rates of versions and the staleness of clients that restart
at once, (3) throughput and delays of exponential service, and (4) jobs in flight after Poisson starts are
long-run means, with intervals by batch means at a level at which all together err with probability 5 % at
most. Wrong theories must come out as *disagrees* for every fleet of which they are asked.

    cosim validate staleness
    cosim validate staleness --laws deterministic exponential --num-updates 6000     # in seconds
"""

from collections.abc import Callable, Iterator

from rich.table import Table

from analysis.intervals.statistics import familywise
from cosim.configuration import at_least, knob, not_empty, not_negative, part
from scenarios.command_line.console import console
from scenarios.validate.checks import Check
from scenarios.validate.fleets import LAWS, LawName
from scenarios.validate.staleness_laws import (
    Amount,
    buffers,
    closed_network,
    poisson_starts,
    restarts,
)

FAMILY_ERROR = 0.05


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        laws: Laws of the training times; some numbers are known of exponential ones only. [no source]
        num_updates: Updates of a run; of identities, an eighth. [no source]
        seed: Names the times and draws. [no source]
    """

    laws: tuple[LawName, ...] = knob(not_empty, default=tuple(LAWS))
    num_updates: int = knob(at_least(800), default=12_000)
    seed: int = knob(not_negative, default=1)


PARTS: tuple[Callable[[Amount], Iterator[Check]], ...] = (buffers, restarts, closed_network, poisson_starts)


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    laws = [LAWS[name] for name in options.laws]
    amount = Amount(laws=laws, num_updates=options.num_updates, seed=options.seed)
    checks: list[Check] = []
    for check in PARTS:
        with console.status(check.__name__):
            checks += check(amount)
    num_intervals = sum(check.margin is not None for check in checks)
    level = familywise(num_intervals, FAMILY_ERROR)
    title = f"Staleness on the clock ({100 * level:.4g} % intervals: all {num_intervals} hold with 95 %)"
    table = Table(title=title, title_justify="left")
    for heading in ("law", "times", "quantity", "theory", "clock", "verdict"):
        table.add_column(heading)
    failed, caught = False, dict[tuple[str, str, str], list[bool]]()
    for check in checks:
        interval = check.interval(level)
        verdict = interval.verdict(check.theory, check.margin)
        failed |= verdict != "agrees"
        exact = check.margin is None
        clock = "" if exact else f" [{interval.low:.4f}, {interval.high:.4f}]"
        number = "{:.0f}".format if exact else "{:.4f}".format
        remark = f" ({interval.remark})" if interval.remark else ""
        table.add_row(
            check.law,
            check.fleet,
            check.quantity,
            number(check.theory),
            number(interval.estimate) + clock,
            verdict + remark,
        )
        for name, value in check.wrong.items():
            is_caught = interval.verdict(value) == "disagrees"
            caught.setdefault((name, check.law, check.fleet), []).append(is_caught)
    console.print(table)
    wrong = Table(title="Wrong theories: numbers with which they disagree (must be at least one)")
    for heading in ("theory", "law", "times", "disagrees"):
        wrong.add_column(heading)
    for (name, law, fleet), verdicts in caught.items():
        failed |= not any(verdicts)
        wrong.add_row(name, law, fleet, f"{sum(verdicts)} of {len(verdicts)}")
    console.print(wrong)
    return int(failed)
