"""Fleets whose jobs last by a law, on the clock without learning, for `staleness`.

A job computes for cycles over frequency, by a law of training times, and is sent over a fixed share of a band
at a given SNR, so the duration of a job does not depend on other jobs.
"""

import math
from typing import Literal

import attrs
import numpy as np
from numpy.typing import NDArray

import cosim
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.records.rows import END_OF_RUN

NUM_STEPS, STEP_CYCLES = 3, 1e6
MODEL, MODEL_BITS = "relu-12-8-4", 32 * (12 * 8 + 8 * 4)
CLIENTS = cosim.ClientTraining(num_local_steps=NUM_STEPS)
NO_TIME_S = 0.0
"""An upload that takes none, where a law needs times that are exponential as a whole."""

Array = NDArray[np.float64]


LawName = Literal["deterministic", "exponential", "hyper-exponential", "half-normal", "log-normal"]


@attrs.frozen(kw_only=True)
class Law:
    """A law of training times.

    Attributes:
        name: As printed.
        training_time: As the engine has it.
        stretch: Mean time in planned times, by the law's own arithmetic.
    """

    name: LawName
    training_time: cosim.devices.TrainingTime | None
    stretch: float = 1.0


SPREAD = 0.8
DETERMINISTIC = Law(name="deterministic", training_time=None)
EXPONENTIAL = Law(name="exponential", training_time=cosim.devices.ExponentialTime())
HYPER_EXPONENTIAL = Law(name="hyper-exponential", training_time=cosim.devices.HyperExponentialTime())
HALF_NORMAL = Law(name="half-normal", training_time=cosim.devices.HalfNormalTime())
LOG_NORMAL = Law(
    name="log-normal",
    training_time=cosim.devices.LogNormalTime(spread=SPREAD),
    stretch=math.exp(SPREAD**2 / 2.0),
)
LAWS = {law.name: law for law in (DETERMINISTIC, EXPONENTIAL, HYPER_EXPONENTIAL, HALF_NORMAL, LOG_NORMAL)}


@attrs.frozen(kw_only=True)
class Fleet:
    """Clients, and how long their jobs take.

    Attributes:
        law: Of all of them.
        planned_s: Cycles over frequency, of each.
        upload_s: Of everybody.
    """

    law: Law
    planned_s: tuple[float, ...]
    upload_s: float

    @property
    def name(self) -> str:
        """Name as printed."""
        times = "equal" if len(set(self.planned_s)) == 1 else "unequal"
        return f"{self.law.name}, {times}{', radio' if self.upload_s > NO_TIME_S else ''}"

    @property
    def computing_s(self) -> tuple[float, ...]:
        """Mean time in which each computes for a job."""
        return tuple(self.law.stretch * planned_s for planned_s in self.planned_s)

    @property
    def mean_times_s(self) -> tuple[float, ...]:
        """Mean time of a job of each."""
        return tuple(computing_s + self.upload_s for computing_s in self.computing_s)

    def run(self, protocol: Asynchronous, num_updates: int, seed: int) -> cosim.Result:
        """Run the fleet until a number of updates have arrived."""
        num_clients = len(self.planned_s)
        frequencies_hz = tuple(NUM_STEPS * STEP_CYCLES / planned_s for planned_s in self.planned_s)
        each = cosim.PerClient(values=frequencies_hz)
        system = cosim.System(
            num_cells=1,
            num_clients=num_clients,
            seed=seed,
            model=MODEL,
            data=cosim.data.Synthetic(split=cosim.data.Iid()),
            cycles=cosim.devices.CyclesPerStep(step_cycles=STEP_CYCLES),
            devices=cosim.DrawnDevices(
                min_frequency_hz=each, max_frequency_hz=each, training_time=self.law.training_time
            ),
            uplink=self._uplink(protocol.starts.most_at_once(num_clients)),
            protocol=cosim.evolve(protocol, training=CLIENTS),
            end=cosim.ends.AfterUpdates(num_updates=num_updates),
            evaluation=cosim.Never(),
        )
        return cosim.run(system)

    def _uplink(self, num_senders: int) -> cosim.links.Link:
        """Uplink over which uploads take their time, for a number of senders."""
        if self.upload_s == NO_TIME_S:
            return cosim.links.Instantaneous()
        band_hz = num_senders * MODEL_BITS / self.upload_s
        return cosim.Radio(
            sharing=cosim.FixedShares(bandwidth_hz=band_hz),
            link=cosim.GivenSnr(snr_db=cosim.PerGroup(values=(0.0,))),  # 1 bit/s/Hz
            fading=cosim.radio.NoFading(),
        )


def ages_at_the_end(result: cosim.Result) -> int:
    """Sum over jobs that are in no version, of the versions made since they started."""
    jobs = ["client", "job"]
    fates = result.fates.merge(result.updates[jobs], on=jobs, how="left", indicator=True)
    left_s = fates.loc[fates["_merge"] == "left_only", "start_s"].to_numpy()
    made_s = version_times_s(result)
    return int((len(made_s) - np.searchsorted(made_s, left_s, side="right")).sum())


def left_of_dispatched(result: cosim.Result, num_jobs: int) -> NDArray[np.int64]:
    """Jobs of a closed network that are in no version at the end, by the version from which they started.

    At each version but the last one job was given; a job that still queues leaves no trace in the tables.

    Args:
        num_jobs: Number of jobs given at the start.

    Returns:
        Shape (versions,), from version 0.
    """
    num_versions = int(result.updates["made_version"].max())
    given = np.ones(num_versions, dtype=int)
    given[0] = num_jobs
    return given - np.bincount(result.updates["started_version"], minlength=num_versions)


def version_times_s(result: cosim.Result) -> Array:
    """When each version was made, shape (versions,)."""
    return result.versions["time_s"].to_numpy()


def num_reported(result: cosim.Result) -> int:
    """Jobs that were done when the run ended."""
    return int((result.fates["outcome"] != END_OF_RUN).sum())


def shares_of_time(result: cosim.Result, num_clients: int, num_slices: int) -> Array:
    """Share of time with k = 0 to n in flight, in each slice of the run, shape (slices, n + 1)."""
    starts_s, ends_s = (result.fates[column].to_numpy() for column in ("start_s", "end_s"))
    times_s = np.concatenate([starts_s, ends_s])
    changes = np.repeat([1, -1], [len(starts_s), len(ends_s)])
    order = np.argsort(times_s, kind="stable")
    times_s, in_flight = np.append(0.0, times_s[order]), np.append(0, np.cumsum(changes[order]))[:-1]
    lasted_s = np.diff(times_s)
    edges_s = np.linspace(0.0, times_s[-1], num_slices + 1)
    shares = np.empty((num_slices, num_clients + 1))
    for k in range(num_clients + 1):
        so_far_s = np.append(0.0, np.cumsum(lasted_s * (in_flight == k)))
        shares[:, k] = np.diff(np.interp(edges_s, times_s, so_far_s)) / np.diff(edges_s)
    return shares


def jobs_aged(result: cosim.Result, client: str, num_jobs: int) -> Array:
    """How many jobs of a client each version of a closed network ages, shape (versions,).

    Versions at which a job was at work that is not done at the end are left out, since it is not known whose.
    """
    num_versions = int(np.flatnonzero(left_of_dispatched(result, num_jobs))[0])
    own = result.updates[result.updates["client"] == client]
    length = int(result.updates["made_version"].max()) + 1
    given, done = (np.bincount(own[name], minlength=length) for name in ("started_version", "made_version"))
    return (np.cumsum(given)[:-1] - np.cumsum(done)[1:])[:num_versions].astype(float)
