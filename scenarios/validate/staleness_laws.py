"""Laws of staleness, each asked of fleets on the clock, for `staleness`."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

import cosim
from analysis.closed_forms.buffered_staleness import BufferedStaleness
from analysis.closed_forms.closed_network import ClosedNetwork
from analysis.closed_forms.poisson_starts import JobsInFlight
from analysis.closed_forms.restarting_clients import ExponentialRestarts, RestartingClients
from cosim.names import client_name
from scenarios.validate.checks import Check, identity
from scenarios.validate.fleets import (
    DETERMINISTIC,
    EXPONENTIAL,
    NO_TIME_S,
    Fleet,
    Law,
    ages_at_the_end,
    jobs_aged,
    left_of_dispatched,
    num_reported,
    shares_of_time,
    version_times_s,
)

MARGIN = 0.1
"""Half width at which a mean decides, as a part of it."""
DELAY_MARGIN = 0.2
"""The same of the staleness of one client of a closed network, whose memory is long."""
SHARE_MARGIN = 0.05
"""Half width at which a share decides."""
NUM_CLIENTS, UPLOAD_S, SHORT_UPLOAD_S = 6, 1.5e-3, 0.3e-3
EQUAL_S = (3e-3,) * NUM_CLIENTS
UNEQUAL_S = tuple(np.geomspace(1e-3, 8.9e-3, NUM_CLIENTS))
NUM_IN_FLIGHT, NUM_UPDATES = 4, 3
"""Of a buffer."""
NUM_DISPATCHED, SHARES = 3, (0.5, 0.3, 0.2)
DISPATCHED_S = ((3e-3,) * 3, (3e-3, 2e-3, 9e-3))
"""Of a closed network."""
OFFERED = 8.0
"""Starts in the mean time of a job."""


@attrs.frozen(kw_only=True)
class Amount:
    """Size of the validation.

    Attributes:
        laws: Laws of the training times.
        num_updates: Updates of a run; some runs need fewer.
        seed: Names the times and draws.
    """

    laws: Sequence[Law]
    num_updates: int
    seed: int


def buffers(amount: Amount) -> Iterator[Check]:
    """Law 1: constant concurrency, replaced after the version."""
    theory = BufferedStaleness(num_in_flight=NUM_IN_FLIGHT, num_updates=NUM_UPDATES)
    starts = cosim.protocols.ConstantConcurrency(num_in_flight=NUM_IN_FLIGHT)
    protocol = cosim.FedBuff(num_updates=NUM_UPDATES, starts=starts)
    for law in amount.laws:
        for planned_s in (EQUAL_S, UNEQUAL_S):
            if law is DETERMINISTIC and planned_s is UNEQUAL_S:
                continue  # sums of the same times in another order coincide, but for rounding
            fleet = Fleet(law=law, planned_s=planned_s, upload_s=UPLOAD_S)
            result = fleet.run(protocol, amount.num_updates // 8, amount.seed)
            staleness = result.updates["staleness"]
            num_versions = len(staleness) // NUM_UPDATES
            if law is DETERMINISTIC:  # in lockstep; the same after every lcm(M, K) updates
                whole = staleness[: len(staleness) // 12 * 12]
                mean = theory.mean_of_equal_times
                yield identity(
                    "1 lockstep",
                    fleet.name,
                    "sum of staleness",
                    round(mean * len(whole)),
                    int(whole.sum()),
                    reports_apart=round(theory.mean * len(whole)),
                )
                continue
            yield identity(
                "1 buffer",
                fleet.name,
                "staleness and ages left",
                theory.total(num_versions),
                int(staleness.sum()) + ages_at_the_end(result),
                replaced_before=NUM_IN_FLIGHT * num_versions,
            )


def restarts(amount: Amount) -> Iterator[Check]:
    """Law 2: everyone restarts at once; the rate of versions for all laws, then their staleness."""
    for law in amount.laws:
        for planned_s in (EQUAL_S, UNEQUAL_S):
            fleet = Fleet(law=law, planned_s=planned_s, upload_s=UPLOAD_S)
            result = fleet.run(cosim.FedBuff(num_updates=2), amount.num_updates // 2, amount.seed)
            if law is DETERMINISTIC:
                reports, forgotten = (
                    int(np.floor(result.summary.time_s / np.array(times_s) + 1e-6).sum())
                    for times_s in (fleet.mean_times_s, fleet.computing_s)
                )
                yield identity(
                    "2 reports",
                    fleet.name,
                    "reports by the end",
                    reports,
                    num_reported(result),
                    upload_forgotten=forgotten,
                )
                continue
            right = RestartingClients(mean_times_s=fleet.mean_times_s, num_updates=2)
            computing = RestartingClients(mean_times_s=fleet.computing_s, num_updates=2)
            wrong = {"upload forgotten": 1e3 / computing.version_rate_per_s}
            if planned_s is UNEQUAL_S:
                wrong["mean client"] = 2e3 * float(np.mean(fleet.mean_times_s)) / NUM_CLIENTS
            theory = 1e3 / right.version_rate_per_s
            yield Check(
                law="2 rate",
                fleet=fleet.name,
                quantity="ms between versions",
                theory=theory,
                found=1e3 * np.diff(version_times_s(result), prepend=0.0),
                margin=MARGIN * theory,
                wrong=wrong,
            )
    if EXPONENTIAL in amount.laws:
        yield from one_by_one(amount)


def one_by_one(amount: Amount) -> Iterator[Check]:
    """Law 2, every update a version: the geometric law, and what an upload makes of it."""
    for planned_s, upload_s in ((EQUAL_S, NO_TIME_S), (UNEQUAL_S, NO_TIME_S), (UNEQUAL_S, SHORT_UPLOAD_S)):
        fleet = Fleet(law=EXPONENTIAL, planned_s=planned_s, upload_s=upload_s)
        result = fleet.run(cosim.FedBuff(num_updates=1), amount.num_updates, amount.seed)
        staleness = result.updates["staleness"].to_numpy()
        any_law = RestartingClients(mean_times_s=fleet.mean_times_s)
        own = any_law.rates_per_s / any_law.version_rate_per_s
        whole = ExponentialRestarts(mean_times_s=fleet.mean_times_s)
        geometric = own @ [whole.probabilities(client, 2) for client in range(NUM_CLIENTS)]
        if upload_s == NO_TIME_S:
            for u in range(3):
                poisson = np.exp(-any_law.mean_staleness) * any_law.mean_staleness**u / (1, 1, 2)[u]
                yield Check(
                    law="2 geometric",
                    fleet=fleet.name,
                    quantity=f"share of staleness {u}",
                    theory=float(geometric[u]),
                    found=(staleness == u).astype(float),
                    margin=SHARE_MARGIN,
                    wrong={"Poisson of that mean": float(own @ poisson)},
                )
            continue
        parts = ExponentialRestarts(mean_times_s=fleet.computing_s, fixed_s=upload_s)
        shares = [parts.fresh_share(client) for client in range(NUM_CLIENTS)]
        yield Check(
            law="2 fresh",
            fleet=fleet.name,
            quantity="share of staleness 0",
            theory=float(own @ shares),
            found=(staleness == 0).astype(float),
            margin=SHARE_MARGIN,
            wrong={"exponential as a whole": float(geometric[0])},
        )


def closed_network(amount: Amount) -> Iterator[Check]:
    """Law 3: generalised asynchronous SGD; the sum for all laws, the rest for exponential service."""
    protocol = cosim.protocols.GeneralisedAsync(
        starts=cosim.protocols.Dispatched(num_in_flight=NUM_DISPATCHED, shares=SHARES)
    )
    for law in amount.laws:
        for planned_s in DISPATCHED_S:
            is_exponential = law is EXPONENTIAL
            upload_s = NO_TIME_S if is_exponential else UPLOAD_S
            fleet = Fleet(law=law, planned_s=planned_s, upload_s=upload_s)
            num_updates = amount.num_updates if is_exponential else amount.num_updates // 8
            result = fleet.run(protocol, num_updates, amount.seed)
            num_versions = len(result.updates)
            left = left_of_dispatched(result, NUM_DISPATCHED)
            ages = int(left @ (num_versions - np.arange(num_versions)))
            yield identity(
                "3 sum",
                fleet.name,
                "staleness and ages left",
                (NUM_DISPATCHED - 1) * num_versions,
                int(result.updates["staleness"].sum()) + ages,
                itself_counted=NUM_DISPATCHED * num_versions,
            )
            if is_exponential:
                yield from delays(fleet, result)


def delays(fleet: Fleet, result: cosim.Result) -> Iterator[Check]:
    """Throughput and delays of exponential service."""
    theory = ClosedNetwork(num_jobs=NUM_DISPATCHED, shares=SHARES, mean_times_s=fleet.mean_times_s)
    between_ms = 1e3 / theory.version_rate_per_s
    yield Check(
        law="3 throughput",
        fleet=fleet.name,
        quantity="ms between versions",
        theory=between_ms,
        found=1e3 * np.diff(version_times_s(result), prepend=0.0),
        margin=MARGIN * between_ms,
        wrong={"all at work": 1e3 / RestartingClients(mean_times_s=fleet.mean_times_s).version_rate_per_s},
    )
    everybody = theory.mean_jobs(NUM_DISPATCHED)
    for client, share in enumerate(SHARES):
        mean = float(theory.mean_staleness[client])
        yield Check(
            law="3 delay",
            fleet=fleet.name,
            quantity=f"staleness of client {client}",
            theory=mean,
            found=jobs_aged(result, client_name(client), NUM_DISPATCHED) / share,
            margin=DELAY_MARGIN * mean,
            wrong={"m jobs, not m - 1": float(everybody[client]) / share},
        )


def poisson_starts(amount: Amount) -> Iterator[Check]:
    """Law 4: jobs in flight after Poisson starts."""
    for law in amount.laws:
        for planned_s in (EQUAL_S, UNEQUAL_S):
            fleet = Fleet(law=law, planned_s=planned_s, upload_s=UPLOAD_S)
            rate_per_s = OFFERED / float(np.mean(fleet.mean_times_s))
            theory = JobsInFlight(start_rate_per_s=rate_per_s, mean_times_s=fleet.mean_times_s)
            starts = cosim.protocols.PoissonStarts(rate_per_s=rate_per_s)
            protocol = cosim.FedBuff(num_updates=1, starts=starts)
            result = fleet.run(protocol, amount.num_updates, amount.seed)
            shares = shares_of_time(result, NUM_CLIENTS, amount.num_updates // 4)
            for k in range(NUM_CLIENTS - 2, NUM_CLIENTS + 1):
                yield Check(
                    law="4 in flight",
                    fleet=fleet.name,
                    quantity=f"share of time with {k}",
                    theory=float(theory.probabilities[k]),
                    found=shares[:, k],
                    margin=SHARE_MARGIN,
                    wrong={"nothing lost": float(theory.untruncated[k])},
                )
