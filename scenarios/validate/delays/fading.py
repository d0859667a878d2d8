"""Laws of uploads over Rayleigh fading, each given up at a deadline, for `delay_laws`."""

import math
from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.faded_upload import FadedUpload
from analysis.closed_forms.delays.success_counts import SuccessCounts
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Independent, Sample, Trials
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Process, Simulation
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.names import client_name
from scenarios.validate.delays.bands import POWER_W, link_of
from scenarios.validate.delays.rounds import MODEL_BITS, NUM_ROUNDS, radio, run_rounds

FADED = FadedUpload(payload_bits=MODEL_BITS, bandwidth_hz=MODEL_BITS, snr=3.0, deadline_s=0.7)
REPEATED = FadedUpload(payload_bits=1e6, bandwidth_hz=1e6, snr=4.0, deadline_s=0.6)
SNRS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
NO_TIME_S = 1e-6
"""Training that takes hardly any, since the laws are of uploads alone."""
NUM_MESSAGES = 20_000
"""Of a full run, each sent until it has arrived."""
ARRIVED, SENDING, VARIANCE = "share that arrives", "mean time of sending (s)", "variance"
ATTEMPTS, TIME, SECOND = "mean attempts", "mean time (s)", "share with the second attempt"
MIDDLE = (3, 4)
"""Counts that are not rare."""


def faded(clock: Clock, num_rounds: int, upload: FadedUpload, snrs: tuple[float, ...]) -> cosim.Result:
    """Rounds of uploads over Rayleigh fading, each given up at the deadline."""
    fading = cosim.Rayleigh(num_antennas=upload.num_antennas, redrawn=cosim.radio.EveryEdgeRound())
    waiting = cosim.waiting.UploadDeadline(upload_deadline_s=upload.deadline_s)
    times_s, uplink = (NO_TIME_S,) * len(snrs), radio(upload.bandwidth_hz, snrs, fading)
    return run_rounds(clock, num_rounds, times_s, None, waiting, uplink)


@attrs.frozen(kw_only=True)
class FadedUploads(Law):
    """Upload over Rayleigh fading, with deadline."""

    formula: ClassVar[str] = (
        "P(T <= D) = Q(M, x(D)), x(t) = (2^(b / (B t)) - 1) / s; E[min(T, D)] = int_0^D (1 - Q(M, x(t))) dt"
    )
    symbols: ClassVar[str] = (
        "T, the time that an upload needs; D, the deadline, at which it is given up; b, its bits; B, its "
        "bandwidth; s, the mean SNR at an antenna; M antennas; x(t), the least gain with which T <= t; "
        "Q(M, x) = exp(-x) sum_{j < M} x^j / j!"
    )
    conditions: ClassVar[str] = (
        "a band for each, b / (B log2(1 + s g)) seconds at gain g, one gain while an upload lasts: Rayleigh "
        "fading, independent at M antennas whose powers add"
    )
    source: ClassVar[str] = "derived here"
    module: ClassVar[str] = "delays.faded_upload"
    shortest: ClassVar[float] = 0.1
    theories: tuple[FadedUpload, ...] = (FADED, attrs.evolve(FADED, num_antennas=2, snr=1.0))

    @staticmethod
    def names(theory: FadedUpload) -> tuple[str, str]:
        """Names of the quantities with a number of antennas."""
        return f"M = {theory.num_antennas}: {ARRIVED}", f"M = {theory.num_antennas}: {SENDING}"

    @override
    def predict(self) -> Numbers:
        """How many arrive, and how long a client sends."""
        numbers = dict[str, float]()
        for theory in self.theories:
            arrived, sending = self.names(theory)
            numbers |= {arrived: theory.success_rate, sending: theory.mean_sending_s}
        return numbers

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """The mean gain; one antenna."""
        mean_gain, one_antenna = dict[str, float](), dict[str, float]()
        for theory in self.theories:
            arrived, sending = self.names(theory)
            spectral = math.log2(1.0 + theory.snr * theory.num_antennas)
            time_s = theory.payload_bits / (theory.bandwidth_hz * spectral)
            mean_gain |= {
                arrived: float(time_s <= theory.deadline_s),
                sending: min(time_s, theory.deadline_s),
            }
            if theory.num_antennas > 1:
                other = attrs.evolve(theory, num_antennas=1)
                one_antenna |= {arrived: other.success_rate, sending: other.mean_sending_s}
        return {"the mean gain": mean_gain, "one antenna": one_antenna}

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Rounds of four clients."""
        samples = dict[str, Sample]()
        for theory in self.theories:
            num_rounds = clock.num(NUM_ROUNDS / len(self.theories) / 2.0)
            uploads = faded(clock, num_rounds, theory, (theory.snr,) * 4).transfers
            lasted_s = (uploads["end_s"] - uploads["start_s"]).to_numpy()
            arrived, sending = self.names(theory)
            samples |= {
                arrived: Trials(values=uploads["arrived"].to_numpy(dtype=bool)),
                sending: Independent(values=lasted_s),
            }
        return samples


@attrs.frozen(kw_only=True)
class Counts(Law):
    """Poisson-binomial success counts."""

    formula: ClassVar[str] = "P(K = k) = [z^k] prod_i (1 - p_i + p_i z)"
    symbols: ClassVar[str] = (
        "K, how many uploads arrive; p_i, the probability that upload i does; [z^k], the coefficient of z^k"
    )
    conditions: ClassVar[str] = "uploads independent of each other, each with a probability of its own"
    source: ClassVar[str] = "Poisson 1837, derived here"
    module: ClassVar[str] = "delays.success_counts"
    shortest: ClassVar[float] = 0.06
    upload: FadedUpload = FADED
    snrs: tuple[float, ...] = SNRS

    @property
    def theory(self) -> SuccessCounts:
        """Of the clients' success rates."""
        rates = (attrs.evolve(self.upload, snr=snr).success_rate for snr in self.snrs)
        return SuccessCounts(success_rates=rates)

    @staticmethod
    def named(counts: SuccessCounts) -> Numbers:
        """Shares of counts that are not rare, and the variance."""
        return {f"share with {count}": float(counts.shares[count]) for count in MIDDLE} | {
            VARIANCE: counts.variance
        }

    @override
    def predict(self) -> Numbers:
        """Shares of rounds."""
        return self.named(self.theory)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Binomial law with the mean probability."""
        mean = self.theory.mean_count / len(self.snrs)
        alike = SuccessCounts(success_rates=(mean,) * len(self.snrs))
        return {"binomial of the mean": self.named(alike)}

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Rounds of clients at unequal SNRs."""
        rounds = faded(clock, clock.num(NUM_ROUNDS), self.upload, self.snrs).rounds
        arrived = rounds.loc[rounds["level"] == "edge", "num_arrived"].to_numpy()
        samples: dict[str, Sample] = {
            f"share with {count}": Trials(values=arrived == count) for count in MIDDLE
        }
        return samples | {VARIANCE: Independent(values=(arrived - self.theory.mean_count) ** 2)}


@attrs.frozen(kw_only=True)
class Retransmissions(Law):
    """Retransmission until success."""

    formula: ClassVar[str] = "P(N = n) = (1 - p)^(n-1) p; E[N] = 1 / p; E[time] = E[min(T, D)] / p"
    symbols: ClassVar[str] = (
        "N, the number of attempts until one arrives; T, the time that an attempt needs; D, the deadline of "
        "an attempt; p = P(T <= D)"
    )
    conditions: ClassVar[str] = (
        "Rayleigh fading that stays while an attempt lasts and is drawn again for the next, independently; "
        "p > 0; a failed attempt takes D, nothing lies between attempts, as many as are needed"
    )
    source: ClassVar[str] = "derived here (geometric law, Wald)"
    module: ClassVar[str] = "delays.faded_upload"
    theory: FadedUpload = REPEATED

    @override
    def predict(self) -> Numbers:
        """Attempts and time."""
        theory = self.theory
        return {
            ATTEMPTS: theory.mean_attempts,
            SECOND: theory.share_of_attempts(2),
            TIME: theory.mean_time_s,
        }

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Failures cost nothing, or every attempt lasts to the deadline."""
        theory = self.theory
        return {
            "only the attempt that arrives": {ATTEMPTS: 1.0, TIME: theory.mean_sending_s},
            "D for every attempt": {TIME: theory.mean_attempts * theory.deadline_s},
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """A client on a band of its own that begins again as soon as it has given up."""
        sim, theory = Simulation(clock.seed), self.theory
        fading = cosim.Rayleigh(num_antennas=theory.num_antennas, redrawn=cosim.radio.EveryEdgeRound())
        link = link_of(sim, cosim.FixedShares(bandwidth_hz=theory.bandwidth_hz), (theory.snr,), fading)
        link.begin_round(1)
        num_messages = clock.num(NUM_MESSAGES)
        payload = Payload(theory.payload_bits / 32.0, theory.payload_bits)
        attempts, times_s = np.zeros(num_messages), np.zeros(num_messages)

        def attempt(number: int) -> Process:
            upload = link.open(client_name(0), payload, Job(0, 0, number), POWER_W)
            try:
                yield from sim.spend(client_name(0), "send", upload.done)
            finally:
                upload.close()

        def client() -> Process:
            number = 0
            for message in range(num_messages):
                start_s, outcome = sim.now_s, Dropped("not yet")
                while isinstance(outcome, Dropped):
                    (outcome,) = yield from sim.with_deadline([attempt(number)], theory.deadline_s)
                    number += 1
                    attempts[message] += 1.0
                times_s[message] = sim.now_s - start_s

        sim.run(client())
        return {
            ATTEMPTS: Independent(values=attempts),
            SECOND: Trials(values=attempts == 2.0),
            TIME: Independent(values=times_s),
        }
