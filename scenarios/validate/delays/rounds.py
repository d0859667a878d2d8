"""Laws of edge rounds: barriers, and the first of many, for `delay_laws`."""

from collections.abc import Mapping
from typing import ClassVar

import attrs
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.barriers import EqualClients, UnequalClients
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Independent, Sample
from cosim.units import linear_to_db

NUM_ROUNDS = 4_000
"""Edge rounds of a full run."""
MODEL, MODEL_BITS = "relu-12-8-4", 32 * (12 * 8 + 8 * 4)
STEP_CYCLES = 1e6
EQUAL = EqualClients(num_clients=8, mean_s=1.0, shift_s=0.25)
UNEQUAL = UnequalClients(means_s=(0.4, 0.6, 1.0, 1.5, 3.0), shift_s=0.25)


def run_rounds(
    clock: Clock,
    num_rounds: int,
    means_s: tuple[float, ...],
    training_time: cosim.devices.TrainingTime | None,
    waiting: cosim.waiting.Waiting,
    uplink: cosim.Radio,
) -> cosim.Result:
    """Rounds of one cell of HFedAvg without learning, whose clients train so long on average."""
    each = cosim.PerClient(values=tuple(STEP_CYCLES / mean_s for mean_s in means_s))
    steps = cosim.SameSteps(num_local_steps=1)
    training = cosim.EdgeTraining(num_edge_rounds=1, steps=steps, waiting=waiting)
    return clock.run(
        cosim.System(
            num_cells=1,
            num_clients=len(means_s),
            model=MODEL,
            data=cosim.data.Synthetic(split=cosim.data.Iid()),
            cycles=cosim.devices.CyclesPerStep(step_cycles=STEP_CYCLES),
            devices=cosim.DrawnDevices(
                min_frequency_hz=each, max_frequency_hz=each, training_time=training_time
            ),
            uplink=uplink,
            protocol=cosim.HFedAvg(training=training),
            end=cosim.AfterRounds(num_global_rounds=num_rounds),
            evaluation=cosim.Never(),
        )
    )


def radio(upload_hz: float, snrs: tuple[float, ...], fading: cosim.radio.Fading) -> cosim.Radio:
    """A band for each client alone, at these mean SNRs."""
    given = cosim.GivenSnr(snr_db=cosim.PerClient(values=tuple(map(linear_to_db, snrs))))
    sharing = cosim.FixedShares(bandwidth_hz=len(snrs) * upload_hz)
    return cosim.Radio(sharing=sharing, link=given, fading=fading)


def durations_s(
    clock: Clock, parts: int, means_s: tuple[float, ...], shift_s: float, waiting: cosim.waiting.Waiting
) -> Independent:
    """How long rounds last whose clients compute for exponential times and upload for the shift."""
    uplink = radio(MODEL_BITS / shift_s, (1.0,) * len(means_s), cosim.radio.NoFading())
    result = run_rounds(
        clock, clock.num(NUM_ROUNDS / parts), means_s, cosim.devices.ExponentialTime(), waiting, uplink
    )
    rounds = result.rounds[result.rounds["level"] == "edge"]
    return Independent(values=(rounds["end_s"] - rounds["start_s"]).to_numpy())


@attrs.frozen(kw_only=True)
class Barrier(Law):
    """Barrier, and first K of n."""

    formula: ClassVar[str] = "E[T_(k)] = d + m (H_n - H_(n-k))"
    symbols: ClassVar[str] = (
        "T_(k), the time until the first k of n updates have come; m, the mean time of computing; d, the "
        "length of an upload; H_j = 1 + 1/2 + ... + 1/j, H_0 = 0"
    )
    conditions: ClassVar[str] = (
        "clients independent of each other that start together, computing exponential of one mean, uploads "
        "of one length that do not hinder each other"
    )
    source: ClassVar[str] = "Renyi 1953, derived here"
    module: ClassVar[str] = "delays.barriers"
    shortest: ClassVar[float] = 0.18
    theory: EqualClients = EQUAL
    firsts: tuple[int, ...] = (2, 4, 8)

    @staticmethod
    def quantity(num: int) -> str:
        """Of a quantity."""
        return f"first {num} (s)"

    @override
    def predict(self) -> Numbers:
        """Mean rounds."""
        return {self.quantity(num): self.theory.mean_of_first_s(num) for num in self.firsts}

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Everybody takes the mean; a barrier of the first k alone."""
        theory, mean_s = self.theory, self.theory.shift_s + self.theory.mean_s
        alone = {
            self.quantity(num): attrs.evolve(theory, num_clients=num).mean_of_first_s(num)
            for num in self.firsts
        }
        return {
            "mean client": {self.quantity(num): mean_s for num in self.firsts},
            "a barrier of k": alone,
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Rounds that wait for the first, or for all."""
        means_s = (self.theory.mean_s,) * self.theory.num_clients
        return {
            self.quantity(num): durations_s(
                clock,
                len(self.firsts),
                means_s,
                self.theory.shift_s,
                cosim.waiting.FirstK(num_updates=num) if num < len(means_s) else cosim.WaitForAll(),
            )
            for num in self.firsts
        }


@attrs.frozen(kw_only=True)
class UnequalBarrier(Law):
    """Barrier of unequal clients."""

    formula: ClassVar[str] = (
        "E[T_(n)] = d + sum_S (-1)^(|S|+1) / sum_(i in S) r_i; E[T_(1)] = d + 1 / sum_i r_i"
    )
    symbols: ClassVar[str] = (
        "T_(k), the time until the first k of n updates have come; d, the length of an upload; 1 / r_i, the "
        "mean time of computing of client i; S, a set of |S| clients, not the empty one"
    )
    conditions: ClassVar[str] = (
        "clients independent of each other that start together, computing exponential of a mean each, "
        "uploads of one length that do not hinder each other"
    )
    source: ClassVar[str] = "inclusion and exclusion, derived here"
    module: ClassVar[str] = "delays.barriers"
    shortest: ClassVar[float] = 0.12
    theory: UnequalClients = UNEQUAL

    @override
    def predict(self) -> Numbers:
        """The first and the last."""
        return {"first (s)": self.theory.mean_of_first_s, "last (s)": self.theory.mean_of_last_s}

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """The slowest client alone; all of the mean rate."""
        means_s, shift_s = self.theory.means_s, self.theory.shift_s
        mean_s = len(means_s) / sum(1.0 / mean_s for mean_s in means_s)
        alike = EqualClients(num_clients=len(means_s), mean_s=mean_s, shift_s=shift_s)
        return {
            "the slowest alone": {"last (s)": shift_s + max(means_s)},
            "all of the mean rate": {"last (s)": alike.mean_of_first_s(len(means_s))},
            "the fastest alone": {"first (s)": shift_s + min(means_s)},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Rounds that wait for the first, and for all."""
        means_s, shift_s = self.theory.means_s, self.theory.shift_s
        return {
            "first (s)": durations_s(clock, 2, means_s, shift_s, cosim.waiting.FirstK(num_updates=1)),
            "last (s)": durations_s(clock, 2, means_s, shift_s, cosim.WaitForAll()),
        }
