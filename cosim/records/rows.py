"""Records: the flat rows that a run writes.

Everything reported about a run (latency, energy, dropped updates, bits) is read off these rows.
"""

import math
import typing
from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, TypeVar

from cosim.configuration import ConfigurationError

DONE = "done"
"""The outcome of what ran to its end; anything else is the reason why it was cut short."""

END_OF_RUN = "end of the run"
"""The outcome of what the end of the run has met."""

LEFT = "left"
"""The outcome of what a client has left."""

REST = ("idle", "sleep", "empty")
"""Activities of a client between its others, where devices take power then."""

UP, DOWN = "up", "down"
"""The directions of a transfer: from a client to its edge server, and back."""

NO_JOB = -1
"""The number of no job."""

NO_ROUND = -1
"""The number of no round, where a job belongs to none."""

ROWS_OF_A_JOB = 4
"""Two spans, a transfer, a fate."""


class Span(NamedTuple):
    """One activity of one node, the energy that it took, and the job that it belongs to.

    A job is what a client is asked to do once; client and job number together name it. The number is -1 for
    what belongs to none.
    """

    node: str
    activity: str
    start_s: float
    end_s: float
    energy_j: float
    outcome: str
    job: int = NO_JOB


class Transfer(NamedTuple):
    """One upload or download: the bits of its payload, and the bits that had come through when it ended."""

    client: str
    edge: str
    global_round: int
    edge_round: int
    start_s: float
    end_s: float
    payload_bits: int
    sent_bits: float
    arrived: bool
    job: int = NO_JOB
    direction: str = UP


class Fate(NamedTuple):
    """What became of one job of a client: its update has arrived (done), or why it was dropped."""

    client: str
    edge: str
    job: int
    global_round: int
    edge_round: int
    start_s: float
    end_s: float
    outcome: str


class Allotment(NamedTuple):
    """What a plan says of one client in one edge round; who is not selected has zeros."""

    client: str
    edge: str
    global_round: int
    edge_round: int
    time_s: float
    is_able: bool
    is_selected: bool
    num_steps: int
    frequency_hz: float
    tx_power_w: float
    planned_s: float
    planned_j: float


class Round(NamedTuple):
    """One edge round of a cell, or (level "global", edge_round -1) one global round of the cloud.

    `num_wanted` exceeds `num_participants` where too few clients were able to take part. Present is who was
    there when it began; of a global round all cells are.
    """

    level: str
    node: str
    global_round: int
    edge_round: int
    start_s: float
    end_s: float
    num_wanted: int
    num_present: int
    num_participants: int
    num_arrived: int


class Tally(NamedTuple):
    """One edge round in numbers, in a run that keeps no rows of its clients.

    What is sent are uploads, what is received are downloads. Times and energies are sums over clients.
    Quantiles of the time from a client's training to the end of its upload are over those whose upload has
    ended, an order statistic each; NaN where none has. Rest (idle, sleep) is that of the participants since
    their last activity; where devices take power at rest, a last row of each cell, of no round, has
    everyone's until the end of the run.
    """

    edge: str
    global_round: int
    edge_round: int
    start_s: float
    end_s: float
    num_participants: int
    num_trained: int
    num_arrived: int
    train_s: float
    wait_s: float
    send_s: float
    idle_s: float
    sleep_s: float
    train_j: float
    wait_j: float
    send_j: float
    idle_j: float
    sleep_j: float
    payload_bits: int
    sent_bits: float
    upload_p10_s: float
    upload_p50_s: float
    upload_p90_s: float
    upload_max_s: float
    receive_s: float
    receive_j: float
    received_bits: float


WORKED_J, RESTED_J = ("receive_j", "train_j", "wait_j", "send_j"), ("idle_j", "sleep_j")
"""Energies of a tally, at work and at rest."""


class Applied(NamedTuple):
    """One update that an asynchronous server has applied.

    The client is another server where that trains a cell. Versions are those of the server's model; the
    staleness is the number of versions between, 0 where the update started from the one before. The weight is
    the factor of the client's change, or of its model, in the version that was made.
    """

    server: str
    client: str
    edge: str
    job: int
    started_version: int
    made_version: int
    staleness: int
    weight: float
    start_s: float
    arrival_s: float
    applied_s: float

    @property
    def of_client(self) -> bool:
        """Whether it is a client's, not a cell's."""
        return self.client != self.edge


class Version(NamedTuple):
    """One version of the model of an asynchronous server, beside the initial one.

    Without updates it is a model that the server has got from another. In flight is what had begun and was in
    no version when this one was made, and is not in it: what it makes staler by one.
    """

    server: str
    version: int
    time_s: float
    num_updates: int
    num_in_flight: int


class Measure(NamedTuple):
    """Meaning of a value that a task reports.

    Attributes:
        words: Its name for a reader, with its unit in brackets where it has one.
        higher_is_better: Which way it is to go.
        is_share: It lies from 0 to 1, and is shown in per cent.
        can_be_nan: It is nan for some sound models or data too, as the accuracy on a class without samples
            is; of any other measure nan says that training has diverged.
    """

    words: str
    higher_is_better: bool
    is_share: bool = False
    can_be_nan: bool = False

    @property
    def label(self) -> str:
        """Words and unit, for an axis or above a column."""
        return f"{self.words} (%)" if self.is_share else self.words

    @property
    def factor(self) -> float:
        """From a value to the number that is shown."""
        return 100.0 if self.is_share else 1.0

    def shown(self, value: float) -> str:
        """A value in words."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.4g}"

    def is_as_good(self, values: Any, target: float) -> Any:
        """Whether a value, or each of an array, is at least as good as a target."""
        return values >= target if self.higher_is_better else values <= target

    def is_sound(self, values: Any) -> Any:
        """Whether a value, or each of an array, is one of a model that has not diverged.

        One that is infinitely bad is none, and nan is none unless it `can_be_nan`.
        """
        is_sound = values > -math.inf if self.higher_is_better else values < math.inf
        return is_sound | (values != values) if self.can_be_nan else is_sound  # only nan differs from itself

    def check_target(self, target: float, where: str = "target") -> None:
        """Refuse a target that no value can have.

        Args:
            where: It stands, for the message.

        Raises:
            ConfigurationError: A share beyond 0 and 1.
        """
        if self.is_share and not 0.0 <= target <= 1.0:
            in_percent = 10.0 <= target <= 100.0
            meant = f"Did you mean {target / 100:.15g}?" if in_percent else "Use 0.8, for 80 %."
            raise ConfigurationError(f"{where} {target:.15g}: {self.words} is a share, from 0 to 1. {meant}")


class Evaluation(NamedTuple):
    """What a task reports of a version of the global model.

    The version is the global round where there are rounds; 0 is before the first. In the table each score is
    a column. Rest is what all clients had taken between their activities when the version was made.
    """

    time_s: float
    version: int
    scores: Mapping[str, float]
    measures: Mapping[str, Measure]
    rest_j: float = 0.0

    @property
    def headline(self) -> str:
        """First score in words, for a progress bar."""
        column, measure = next(iter(self.measures.items()))
        return f"{measure.words} {measure.shown(self.scores[column])}"

    def reaches(self, target: float) -> bool:
        """Whether the model has not diverged, and its first score is at least as good as a target."""
        return bool(are_as_good(self.measures, self.scores, target))


def are_sound(measures: Mapping[str, Measure], scores: Mapping[str, Any]) -> Any:
    """Whether the scores of an evaluation, or those in each row of columns, are those of a sound model.

    A model whose training has diverged reports at least one that is no finite number (`Measure.is_sound`).
    """
    return reduce(and_, (measure.is_sound(scores[column]) for column, measure in measures.items()), True)


def are_as_good(measures: Mapping[str, Measure], scores: Mapping[str, Any], target: float) -> Any:
    """Whether the scores of an evaluation, or those in each row of columns, reach a target of the first one.

    Those of a model that has diverged never do (`are_sound`).
    """
    column, measure = next(iter(measures.items()))
    return measure.is_as_good(scores[column], target) & are_sound(measures, scores)


R = TypeVar("R")


def from_json(kind: type[R], values: Any) -> R:
    """A record that a JSON file holds as an object, or as a list of its values.

    Raises:
        ValueError: A field without a default is missing, is none of its own, or has a value of another type.
    """
    kinds = typing.get_type_hints(kind)
    names = list(kinds)
    found = dict(zip(names, values, strict=False)) if isinstance(values, list) else values
    needed = kinds.keys() - getattr(kind, "_field_defaults", {})
    if not isinstance(found, dict) or len(values) > len(names) or not needed <= found.keys() <= kinds.keys():
        raise ValueError(f"{kind.__name__} has other fields than {', '.join(names)}")
    return kind(
        **{name: _typed(kinds[name], given, f"{kind.__name__}.{name}") for name, given in found.items()}
    )


def _typed(kind: Any, value: Any, where: str) -> Any:
    """The value, which must be of a type."""
    if typing.get_origin(kind) is not None:
        _, inner = typing.get_args(kind)
        if isinstance(value, dict):
            return {name: _typed(inner, part, f"{where}.{name}") for name, part in value.items()}
    elif hasattr(kind, "_fields"):
        return from_json(kind, value)
    elif type(value) in ((float, int) if kind is float else (kind,)):
        return value
    raise ValueError(f"{where} is {value!r:.40}")


Row = Span | Transfer | Fate | Allotment | Round | Tally | Version | Applied | Evaluation
