"""Rules: what a value of a configuration must fulfil, and the one error for all that does not."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import attrs
from typing_extensions import override

from cosim.units import unit_of


class Broken(NamedTuple):
    """A rule that a value breaks, and a fix other than the default, as an imperative sentence."""

    rule: str
    fix: str


MOST_LETTERS = 80
"""Of a name or a value in a message. [no source]"""
Rule = Callable[[Any], str | Broken | None]
"""Looks at a value; returns the rule it breaks as a sentence, or None."""


class ConfigurationError(ValueError):
    """Bad input. The message says what is wrong, where, which rule, and how to fix it: "Use X."

    Attributes:
        field: The field that is wrong, as Class.field; None if no field is.
    """

    def __init__(self, message: str = "", field: str | None = None) -> None:
        # all in `args`, from which SimPy and pickle make an exception again
        super().__init__(*((message,) if field is None else (message, field)))
        self.message, self.field = message, field

    @override
    def __str__(self) -> str:
        return self.message

    def of_field(self, field: str) -> Self:
        """The same error, of a field, as Class.field, where it has named none."""
        if self.field is None:
            self.field = field
            if self.args == (self.message,):
                self.args = self.message, field
        return self


def positive(value: Any) -> str | None:
    """Above zero, for a number or for each of a tuple."""
    return None if all(v > 0 for v in _each(value)) else "must be above 0"


def not_negative(value: Any) -> str | None:
    """Zero or above, for a number or for each of a tuple."""
    return None if all(v >= 0 for v in _each(value)) else "must be 0 or above"


def not_empty(value: Any) -> str | None:
    """At least one item."""
    return None if len(value) else "must have at least one item"


def at_least(least: float) -> Rule:
    """No smaller than `least`."""
    return lambda value: None if all(v >= least for v in _each(value)) else f"must be at least {least:g}"


def lasting(value: Any) -> str | None:
    """A time that the clock tells apart from none, wherever below 1e6 s it begins."""
    return None if all(v >= 1e-9 for v in _each(value)) else "must be at least 1e-9, a nanosecond"


def below(most: float) -> Rule:
    """Smaller than `most`."""
    return lambda value: None if all(v < most for v in _each(value)) else f"must be below {most:g}"


def between(least: float, most: float) -> Rule:
    """In the closed interval from `least` to `most`."""
    return lambda value: (
        None if all(least <= v <= most for v in _each(value)) else f"must lie from {least:g} to {most:g}"
    )


def a_share(value: Any) -> str | Broken | None:
    """From 0 to 1, for a share or a probability; the fix for a percentage names the share."""
    broken, wrong = between(0.0, 1.0)(value), max(_each(value), default=0.0)
    is_percentage = broken is not None and min(_each(value)) >= 0.0 and wrong <= 100.0
    return Broken(str(broken), f"Use {wrong / 100.0:g} for {wrong:g} %.") if is_percentage else broken


def one_or_range(value: Any) -> str | None:
    """One value, or two: the lowest and the highest of a range."""
    fits = len(value) in (1, 2) and value[0] <= value[-1]
    return None if fits else "must be one value, or the lowest and then the highest of a range"


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def refuse(
    owner: type | str,
    name: str,
    value: Any,
    rule: str | Broken,
    fix: str = "",
    *,
    default: Any = attrs.NOTHING,
) -> ConfigurationError:
    """The error for one bad field: class, field, value, rule and fix.

    Args:
        owner: The class of the field.
        name: The field.
        value: What it was given.
        rule: What it breaks, as a clause such as "must be above 0"; its own fix comes first.
        fix: What to do, as an imperative sentence; empty: to use the default, or another value.
        default: Of the field.
    """
    if isinstance(rule, Broken):
        rule, fix = rule
    where = owner if isinstance(owner, str) else owner.__name__
    unit = unit_of(name)
    if not fix and (isinstance(default, attrs.Factory) or default is attrs.NOTHING):  # type: ignore[arg-type]
        fix = f"Give {name} in {unit}." if unit else f"Use another {name}."
    elif not fix:
        has_unit = unit and default is not None and not attrs.has(type(default))
        fix = f"Use the default, {shown(default)}{f' {unit}' if has_unit else ''}."
    return ConfigurationError(f"{where}.{name} = {shown(value)}: {rule}. {fix}", f"{where}.{name}")


def check_number(part: object, method: str, what: str, num_found: int, whose: str, num_wanted: int) -> None:
    """Refuse a part that gives another number of things than there are clients or cells."""
    if num_found != num_wanted:
        raise ConfigurationError(
            f"{type(part).__name__}.{method} gives {num_found} {what} for {num_wanted} {whose}. Return "
            "one for each."
        )


COMMON_WORDS = {
    "HFedAvg": ("fedavg",),
    "Proximal": ("fedprox",),
    "Sgd": ("sgd",),
    "bandwidth_hz": ("bw",),
    "batch_size": ("batch", "batchsize", "bs"),
    "codec": ("compression", "quantization"),
    "data": ("dataset",),
    "deadline_s": ("deadline", "timeout"),
    "learning_rate": ("eta", "lr", "step_size"),
    "local": ("optimiser", "optimizer"),
    "model": ("architecture", "net", "network"),
    "num_clients": ("num_users", "users"),
    "num_epochs": ("epochs", "local_epochs"),
    "num_global_rounds": ("num_rounds", "rounds"),
    "num_local_steps": ("local_steps",),
    "selection": ("client_fraction", "sampler", "scheduler"),
    "server": ("aggregation", "aggregator"),
    "split": ("partition",),
    "uplink": ("channel",),
    "waiting": ("deadline", "timeout"),
    "weight_decay": ("wd",),
}
"""Name here -> what the field and other programs call it."""

NOTES = {
    "epochs": "Epochs(num_epochs=...), as the steps of EdgeTraining",
    "fedavg": "HFedAvg in one cell (num_cells = 1)",
    "fedopt": "FedAdam, FedYogi or FedAdagrad, as the server of EdgeTraining",
    "fedprox": "Proximal, as the local training of EdgeTraining",
    "fedsgd": "HFedAvg in one cell (num_cells = 1), with SameSteps(num_local_steps=1)",
    "local_epochs": "Epochs(num_epochs=...), as the steps of EdgeTraining",
}
"""Word -> what it is here, where no name says it all."""


def named_here(word: str) -> list[str]:
    """Names here of what others call by a word, the nearest first."""
    return [name for name, words in COMMON_WORDS.items() if word in words]


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A sentence, after a space, on the name that a word may have been meant for; nothing where none is near.

    Words of the field come first (`COMMON_WORDS`), then names that are spelt alike.
    """
    plain = {name.lower().replace("-", "_"): name for name in known}
    said = str(word).lower().replace("-", "_")
    common = [name.lower() for name in named_here(said) if name.lower() in plain]
    close = common or difflib.get_close_matches(said, plain, n=1)
    mean = f" Did you mean {plain[close[0]]}?" if close else ""
    return f"{mean} {word} is {NOTES[said]}." if said in NOTES and (common or not close) else mean


def shown(value: Any) -> str:
    """A value in at most 80 characters, a configuration by its kind."""
    if attrs.has(type(value)):
        return type(value).__name__
    return short(f"{value:g}" if isinstance(value, float) else repr(value))


def short(text: str) -> str:
    """A text in at most 80 characters, such as a name that a user has typed."""
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "..."
