"""Records: the flat rows that a run writes, and the trace that collects them.

Everything reported about a run (latency, energy, dropped updates, bits) is read off these rows.
"""

from collections.abc import Mapping
from typing import NamedTuple

DONE = "done"
"""The outcome of what ran to its end; anything else is the reason why it was cut short."""


NO_JOB = -1
"""The number of no job."""


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
    """One upload: the bits of its payload, and the bits that had been sent when it ended."""

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

    `num_wanted` exceeds `num_participants` where too few clients were able to take part.
    """

    level: str
    node: str
    global_round: int
    edge_round: int
    start_s: float
    end_s: float
    num_wanted: int
    num_participants: int
    num_arrived: int


class Evaluation(NamedTuple):
    """A global model that classifies, on the test set, after a global round (0: before the first)."""

    time_s: float
    global_round: int
    accuracy: float
    loss_nats: float

    @property
    def headline(self) -> str:
        """What a progress bar says."""
        return f"accuracy {100 * self.accuracy:.1f} %"


class Prediction(NamedTuple):
    """A global model that predicts a quantity, on the training and the test set, after a global round.

    Errors are in units of the data set's target; `error_ratio` is the sum of the absolute errors over the sum
    of the absolute targets, on the test set.
    """

    time_s: float
    global_round: int
    train_mse: float
    test_mse: float
    error_ratio: float

    @property
    def headline(self) -> str:
        """What a progress bar says."""
        return f"test MSE {self.test_mse:.4g}"


Row = Span | Transfer | Fate | Allotment | Round | Evaluation | Prediction


class Trace:
    """The rows of one run, a list per kind, in the order in which they ended."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.transfers: list[Transfer] = []
        self.fates: list[Fate] = []
        self.plans: list[Allotment] = []
        self.rounds: list[Round] = []
        self.evaluations: list[Evaluation | Prediction] = []
        self._lists = {
            Span: self.spans,
            Transfer: self.transfers,
            Fate: self.fates,
            Allotment: self.plans,
            Round: self.rounds,
            Evaluation: self.evaluations,
            Prediction: self.evaluations,
        }

    def record(self, row: Row) -> None:
        """Keep one row."""
        self._lists[type(row)].append(row)  # type: ignore[arg-type]

    def overrule(self, reasons: Mapping[tuple[str, int], str]) -> None:
        """Say of jobs that have just ended why their servers have dropped them, by client and number."""
        left = dict(reasons)
        for place in reversed(range(len(self.fates))):
            if not left:
                return
            fate = self.fates[place]
            if reason := left.pop((fate.client, fate.job), None):
                self.fates[place] = fate._replace(outcome=reason)
