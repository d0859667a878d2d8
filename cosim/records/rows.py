"""Records: the flat rows that a run writes.

Everything reported about a run (latency, energy, dropped updates, bits) is read from these rows.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cosim.records.measures import Measure, are_as_good

DONE = "done"
"""Outcome of an activity that ran to its end; any other outcome is the reason why it was cut short."""

END_OF_RUN = "end of the run"
"""Outcome of an activity that the end of the run cut short."""

LEFT = "left"
"""Outcome of a job that a client left."""

EMPTY, SPENT = "battery empty", "energy budget"
"""Outcomes of an activity that an empty battery ended, and of a job whose energy budget was spent."""

BY_CLIENT = (LEFT, EMPTY, SPENT)
"""Outcomes of jobs that end with their client; any other that is not done is its server's or a deadline's."""

WAIT = "wait"
"""Activity of a client until its upload or download is granted."""

REST = ("idle", "sleep", "empty")
"""Activities of a client between its others, if devices take power then."""

UP, DOWN = "up", "down"
"""Directions of a transfer: from a client to its edge server, and back."""

NO_JOB = -1
"""Number that stands for no job."""

NO_ROUND = -1
"""Number that stands for no round, if a job belongs to none."""


quick_row = tuple.__new__
"""Function that makes a row, `quick_row(Span, (...))` with all its values, in a third of the usual time.

Only for rows that every job writes.
"""


class Span(NamedTuple):
    """One activity of one node, its energy, and the job that it belongs to.

    A job is one task of a client; client and job number together identify it. The number is -1 for an
    activity that belongs to no job.
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
    """Outcome of one job of a client: its update has arrived (done), or the reason why it was dropped."""

    client: str
    edge: str
    job: int
    global_round: int
    edge_round: int
    start_s: float
    end_s: float
    outcome: str


class Allotment(NamedTuple):
    """Plan for one client in one edge round; a client that is not selected has zeros."""

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
    """One edge round of a cell, or one global round of the cloud (level "global", edge_round -1).

    `num_wanted` exceeds `num_participants` if too few clients were able to take part. Clients are present if
    they were present when the round began; for a global round all cells are.
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

    Sends are uploads, receptions are downloads. Times and energies are sums over clients. Quantiles of the
    time from the end of a client's training to the end of its upload are over the clients whose upload has
    ended, an order statistic each; NaN if there are none. Rest (idle, sleep) is the participants' rest since
    their last activity; if devices take power at rest, a last row of each cell, of no round, has the rest of
    all its clients until the end of the run.
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

    The client is another server if that trains a cell. Versions are versions of the server's model; the
    staleness is the number of versions between, 0 if the update started from the one before. The weight is
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
        """True if the update is a client's, not a cell's."""
        return self.client != self.edge


class Version(NamedTuple):
    """One version of the model of an asynchronous server, besides the initial one.

    Without updates it is a model that the server has got from another one. Jobs in flight had begun and were
    in no version when this one was made, and are not in it: this version makes them staler by one.
    """

    server: str
    version: int
    time_s: float
    num_updates: int
    num_in_flight: int


class ClientTotals(NamedTuple):
    """One client of a run: its device, place and samples, and sums over its rows.

    A job that ended before the end of the run has arrived, was late (cut off or dropped by a server or a
    deadline), or left (the client went away, its battery was empty, or its energy budget was spent). Energy
    is all that it took, at rest and in jobs still open, too; `wait_s` is the time until its uploads and
    downloads were granted.

    A quantity that a run has not is no column of its table:

    - `kind`, the name of its kind, unless a device has one (`cosim.devices.Mixture`);
    - `snr_db`, unless a link has one: before fading, in the whole band, at the highest power, first job;
    - `num_samples` and `num_labels`, held at the end (NaN: it had no job, so they were not drawn), unless
      something is learned; labels unless of classes;
    - `accuracy`, of the model that the run keeps, on the client's test share (NaN: it is empty), unless a
      metric reads the owners of test samples.
    """

    client: str
    edge: str
    kind: str
    frequency_hz: float
    tx_power_w: float
    distance_m: float
    snr_db: float
    num_samples: float
    num_labels: float
    accuracy: float
    energy_j: float
    wait_s: float
    sent_bits: float
    received_bits: float
    num_jobs: int
    num_arrived: int
    num_late: int
    num_left: int


class Traffic(NamedTuple):
    """One station of a queued link over a whole run: packets that came, and that left without service.

    Packets of clients are among all of them.
    """

    station: str
    start_s: float
    end_s: float
    num_packets: int
    num_lost: int
    num_client_packets: int
    num_lost_client_packets: int


class Evaluation(NamedTuple):
    """Scores of a version of the global model, as its task reports them.

    The version is the number of the global round, if there are rounds; 0 is before the first. In the table
    each score is a column. Rest is the energy that all clients had taken between their activities when the
    version was made.
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
        """True if the model has not diverged, and its first score is at least as good as a target."""
        return bool(are_as_good(self.measures, self.scores, target))


Row = (
    Span
    | Transfer
    | Fate
    | Allotment
    | Round
    | Tally
    | Version
    | Applied
    | ClientTotals
    | Traffic
    | Evaluation
)
