"""Laws of uploads that share a band, for `delay_laws`."""

import math
from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np
from typing_extensions import override

import cosim
from analysis.closed_forms.delays.processor_sharing import ProcessorSharing
from analysis.closed_forms.delays.started_together import StartedTogether
from analysis.closed_forms.pollaczek_khinchine import PollaczekKhinchine
from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Exact, Sample, regenerating
from cosim.clock.simulation import Event, Process, Simulation
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.links.way import Way
from cosim.names import ClientNames, client_name
from cosim.records.rows import UP
from cosim.units import linear_to_db
from scenarios.validate.delays.packets import Packets, poisson

BANDWIDTH_HZ, POWER_W = 1e6, 0.2
NUM_UPLOADS = 120_000
"""Of a full run, for all laws of sizes together."""
SIZES = {
    "equal": (cosim.queues.Deterministic(duration_s=0.25), 0.0625),
    "exponential": (cosim.queues.Exponential(rate_per_s=4.0), 0.125),
    "hyper-exponential": (
        cosim.queues.HyperExponential(weights=(0.75, 0.25), rates_per_s=(6.0, 2.0)),
        1.0 / 6.0,
    ),
}
"""Times of uploads with the whole band, and their mean square in s^2; every mean is 0.25 s."""
SHARED = ProcessorSharing(arrival_rate_per_s=2.0, mean_alone_s=0.25)


def link_of(
    sim: Simulation, sharing: cosim.radio.Sharing, snrs: tuple[float, ...], fading: cosim.radio.Fading
) -> Way:
    """Link that clients of these mean SNRs send over, in one cell."""
    given = cosim.GivenSnr(snr_db=cosim.PerClient(values=tuple(map(linear_to_db, snrs))))
    radio = cosim.Radio(sharing=sharing, link=given, fading=fading)
    num = len(snrs)
    cell = Cell("edge-00", ClientNames(0, num), np.full(num, 100.0), np.full(num, POWER_W))
    return ways_of(sim, radio, [cell], UP)[0]


@attrs.frozen(kw_only=True)
class SharedBand(Law):
    """M/G/1 processor sharing."""

    formula: ClassVar[str] = "E[T] = E[X] / (1 - rho), E[T / X] = 1 / (1 - rho) for any law of X"
    symbols: ClassVar[str] = (
        "T, the sojourn of an upload; X, its size: the time that it would take with the whole band; lambda "
        "uploads a second; rho = lambda E[X]"
    )
    conditions: ClassVar[str] = (
        "Poisson uploads, sizes independent of each other and of arrivals, a steady SNR, the same in any "
        "bandwidth, a band that is redivided evenly among all senders, none leaves early, rho < 1, "
        "equilibrium"
    )
    source: ClassVar[str] = "Kleinrock, Queueing Systems 2, chapter 4"
    module: ClassVar[str] = "delays.processor_sharing"
    shortest: ClassVar[float] = 0.15
    theory: ProcessorSharing = SHARED

    @staticmethod
    def names(sizes: str) -> tuple[str, str]:
        """Of the two quantities of a law of sizes."""
        return f"{sizes}: mean sojourn (s)", f"{sizes}: sojourn over size"

    @override
    def predict(self) -> Numbers:
        """The same whatever the sizes."""
        numbers = self.theory.mean_sojourn_s, 1.0 / (1.0 - self.theory.load)
        return {
            name: number for sizes in SIZES for name, number in zip(self.names(sizes), numbers, strict=True)
        }

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theories: one upload after the other; each upload alone."""
        alone_s, rate_per_s = self.theory.mean_alone_s, self.theory.arrival_rate_per_s
        queue = {
            self.names(sizes)[0]: PollaczekKhinchine(
                arrival_rate_per_s=rate_per_s, mean_service_s=alone_s, mean_square_service_s2=square_s2
            ).mean_sojourn_s
            for sizes, (_, square_s2) in SIZES.items()
        }
        return {
            "first come first served": queue,
            "the band to oneself": {
                name: number
                for sizes in SIZES
                for name, number in zip(self.names(sizes), (alone_s, 1.0), strict=True)
            },
        }

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """Uploads of clients that come, send once and go, at 1 bit/s/Hz."""
        samples = dict[str, Sample]()
        for sizes, (law, _) in SIZES.items():
            alone_s, uploads = self.uploads(law, clock, clock.num(NUM_UPLOADS / len(SIZES)))
            values = (uploads.sojourns_s, uploads.sojourns_s / alone_s)
            samples |= regenerating(uploads.found_empty, dict(zip(self.names(sizes), values, strict=True)))
        return samples

    def uploads(self, law: cosim.queues.ServiceLaw, clock: Clock, num: int) -> tuple[np.ndarray, Packets]:
        """Times of uploads alone in s, shape (uploads,), and the uploads, as packets of messages."""
        sim = Simulation(clock.seed)
        link = link_of(
            sim, cosim.radio.RedividedShares(bandwidth_hz=BANDWIDTH_HZ), (1.0,) * num, cosim.radio.NoFading()
        )
        alone_s = law.draw(sim.stream("senders", "sizes"), num)
        starts_s, ends_s = np.full(num, np.inf), np.full(num, np.inf)
        numbers = iter(range(num))

        def come() -> None:
            number = next(numbers, None)
            if number is None:
                return
            starts_s[number], bits = sim.now_s, alone_s[number] * BANDWIDTH_HZ
            upload = link.open(client_name(number), Payload(bits / 32.0, bits), Job(0, 0, 0), POWER_W)

            def end(_done: Event) -> None:
                ends_s[number] = sim.now_s
                upload.close()

            upload.done.callbacks.append(end)  # type: ignore[union-attr]

        sim.run(
            poisson(sim, self.theory.arrival_rate_per_s, 1.1 * num / self.theory.arrival_rate_per_s, come)
        )
        until = int(0.99 * num)
        own = np.ones(until, dtype=bool)
        return alone_s[:until], Packets(starts_s[:until], ends_s[:until], np.zeros(until), own)


@attrs.frozen(kw_only=True)
class Together(Law):
    """n uploads that start together."""

    formula: ClassVar[str] = "T_(k) = x_(1) + ... + x_(k) + (n - k) x_(k)"
    symbols: ClassVar[str] = (
        "n uploads; T_(k), the k-th end since the start; x_(1) <= ... <= x_(n), the times that they would "
        "take with the whole band"
    )
    conditions: ClassVar[str] = (
        "steady SNRs, the same in any bandwidth; a band that is redivided evenly among all senders; no other "
        "client sends, none stops early"
    )
    source: ClassVar[str] = "derived here"
    module: ClassVar[str] = "delays.started_together"
    snrs: tuple[float, ...] = (0.5, 1.0, 3.0, 3.0, 15.0, 100.0)
    payload_bits: float = 2e5

    @property
    def alone_s(self) -> tuple[float, ...]:
        """Airtime of each client when it has the whole band."""
        return tuple(self.payload_bits / (BANDWIDTH_HZ * math.log2(1.0 + snr)) for snr in self.snrs)

    @staticmethod
    def named(ends_s: np.ndarray) -> dict[str, float]:
        """Ends by SNR, the worst first."""
        return {f"end of upload {place + 1} (s)": float(end_s) for place, end_s in enumerate(ends_s)}

    @override
    def predict(self) -> Numbers:
        """Every end."""
        return self.named(StartedTogether(alone_s=self.alone_s).ends_s)

    @override
    def wrong(self) -> Mapping[str, Numbers]:
        """Wrong theory: the band of uploads that have ended lies idle."""
        return {"fixed shares": self.named(len(self.snrs) * np.array(self.alone_s))}

    @override
    def simulate(self, clock: Clock) -> Mapping[str, Sample]:
        """One band."""
        sim = Simulation(clock.seed)
        link = link_of(
            sim, cosim.radio.RedividedShares(bandwidth_hz=BANDWIDTH_HZ), self.snrs, cosim.radio.NoFading()
        )
        ends_s = np.empty(len(self.snrs))

        def send(number: int) -> Process:
            payload = Payload(self.payload_bits / 32.0, self.payload_bits)
            upload = link.open(client_name(number), payload, Job(0, 0, 0), POWER_W)
            yield from sim.spend(client_name(number), "send", upload.done)
            ends_s[number] = sim.now_s

        sim.run(sim.together([send(number) for number in range(len(self.snrs))]))
        return {name: Exact(estimate=end_s) for name, end_s in self.named(ends_s).items()}
