"""Schedule: a number that depends on the round, for fields of type `Rate`.

| kind | value in round r, from 1 |
|---|---|
| ByRound | the value of the last of its `first_rounds` that r has reached |
| StepDecay | initial * factor^floor((r - 1) / every) |
| Cosine | from initial to last along half a cosine, over num_rounds rounds; last afterwards |
| WarmUp | r / num_rounds of another number or schedule, until r is num_rounds; then its full value |

The round of a training, and of a server's step, is one more than the version of the global model from which
it starts. With global rounds, that is the number of the global round, from 1, the same for all its edge
rounds; with an asynchronous server, a client trains by the version that it was given.

Rules never see a schedule: an update gets a rule with the numbers of its round, so rules of your own simply
read `self.learning_rate`. A field of your own may take a schedule if it is declared so::

    @part
    class Pulled(LocalTraining):
        mu: Rate = knob(not_negative, default=0.1)

A schedule of your own::

    @part
    class InverseRoot(Schedule):
        initial: float = knob(positive, default=0.1)

        def value(self, round):
            return self.initial / round**0.5

    mu = ByRound(values=(1.0, 0.0), first_rounds=(1, 11))
    local = Pulled(learning_rate=InverseRoot(initial=0.2), mu=mu)

Before a run starts, every value in the rounds that are known to come is checked against the rules of its
field.

Scope and limitations: functions of the round alone, not of losses; the values of at most `MOST_CHECKED`
rounds are checked beforehand, later ones when they come.

Validation: tests/schedules/test_schedules.py, against loops of torch.optim and a run with the plain number.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs

from cosim.configuration import ConfigurationError, Port, part, parts_of
from cosim.configuration.field_types import open_fields, takes

MOST_CHECKED = 10_000
"""Number of rounds for which values are checked before the clock starts. [no source]"""
P = TypeVar("P")


@part
class Schedule(Port, ABC):
    """A number that depends on the round.

    Attributes:
        field_type: Type of a field that takes it, for messages.
    """

    field_type: ClassVar[str] = "cosim.schedules.Rate"

    @abstractmethod
    def value(self, round: int) -> float:
        """Value in a round, from 1."""


if TYPE_CHECKING:

    class Rate:
        """Field that is given a number or a schedule, and is a number when a rule reads it."""

        def __get__(self, rule: Any, kind: Any = None) -> float: ...

        def __set__(self, rule: Any, value: float | Schedule) -> None: ...

else:
    Rate = float | Schedule


def in_round(part: P, round: int) -> P:
    """The part in a round, with numbers in place of schedules; a part without schedules is returned itself.

    Raises:
        ConfigurationError: A value breaks a rule of its field.
    """
    return part if _is_plain(part) else _resolved(part, round)


def in_rounds(part: P) -> Callable[[int], P]:
    """Function that gives the part in a round (`in_round`), for a part that is asked for many."""
    return (lambda _: part) if _is_plain(part) else partial(in_round, part)


def number(value: "float | Schedule", round: int) -> float:
    """Number, or the value of a schedule in a round.

    Raises:
        ConfigurationError: A schedule gives something other than a finite number.
    """
    if not isinstance(value, Schedule):
        return value
    found = value.value(round)
    if not takes(float, found):
        raise ConfigurationError(
            f"{type(value).__name__}.value({round}) = {found!r:.80}: must be a finite number. Return a "
            "float for every round."
        )
    return float(found)


def in_extreme_rounds(part: P, system: Any) -> Iterator[P]:
    """The part in the first round of a run, and where each of its schedules is lowest and highest."""
    rounds = range(1, 1 + min(system.end.most_versions or MOST_CHECKED, MOST_CHECKED))
    extreme = {1}
    for value in _schedules(part):
        values = [number(value, round) for round in rounds]
        extreme |= {rounds[values.index(end)] for end in (min(values), max(values))}
    return (in_round(part, round) for round in sorted(extreme))


def check_schedules(system: Any) -> None:
    """Refuse schedules with values that break a rule of their field.

    Raises:
        ConfigurationError: Names the round, the field, the value and the rule, and says what to use.
    """
    for one in parts_of(system):
        if not _is_plain(one):
            for _ in in_extreme_rounds(one, system):
                pass


def _is_plain(part: Any) -> bool:
    """True if neither the part nor a part inside it has a schedule."""
    for name in open_fields(type(part)):
        value = getattr(part, name)
        if type(value) is not float and (isinstance(value, Schedule) or not _is_plain(value)):
            return False
    return True


def _schedules(part: Any) -> Iterator[Schedule]:
    """Schedules of a part and of the parts inside it."""
    for name in open_fields(type(part)):
        value = getattr(part, name)
        if isinstance(value, Schedule):
            yield value
        else:
            yield from _schedules(value)


@lru_cache(maxsize=1024)
def _resolved(part: Any, round: int) -> Any:
    values = {name: getattr(part, name) for name in open_fields(type(part))}
    plain = {
        name: number(value, round) if isinstance(value, Schedule) else in_round(value, round)
        for name, value in values.items()
        if not (value is None or isinstance(value, float))
    }
    try:
        return attrs.evolve(part, **plain)
    except ConfigurationError as error:
        raise ConfigurationError(f"round {round}: {error}", error.field) from None
