"""Does random access get through as often as theory says (slotted ALOHA)?

Clients of a radio with slotted ALOHA, in one and in several channels, at half the best probability of
sending, at the best and at twice that. Two numbers of each are compared with closed forms: successes in a
slot in which all have something to send, and slots until all have got one packet through, with intervals over
independent replications at a level at which all together err with probability 5 % at most. Wrong theories
must come out as *disagrees* wherever they differ by more than a few margins.

    cosim validate slotted-aloha
    cosim validate slotted-aloha --num-replications 200 --margin 0.1     # in seconds
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import cosim
from analysis.closed_forms.slotted_aloha import SlottedAlohaLaw
from analysis.intervals.statistics import familywise, mean_interval
from cosim.clock.simulation import Process
from cosim.configuration import at_least, knob, not_negative, part, positive
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell
from cosim.records.rows import UP
from scenarios.command_line.console import console

FAMILY_ERROR = 0.05
FAR = 3.0
"""Margins by which a wrong theory must differ to have to be caught."""
SIZES = ((5, 1), (12, 1), (12, 4), (4, 8))
"""Clients and channels."""
SLOT_S, BAND_HZ = 1e-3, 1e6
NUM_SLOTS = 50
"""Of a replication in which all have something to send."""


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        num_replications: Of each number. [no source]
        margin: Half width at which an interval decides, as a share of the number. [no source]
        seed: Names the draws. [no source]
    """

    num_replications: int = knob(at_least(20), default=1500)
    margin: float = knob(positive, default=0.04)
    seed: int = knob(not_negative, default=1)


class Compared(NamedTuple):
    """A number of the theory, what the clock has of it, and wrong theories."""

    law: SlottedAlohaLaw
    quantity: str
    theory: float
    found: NDArray[np.float64]
    wrong: dict[str, float]


def laws() -> Iterator[SlottedAlohaLaw]:
    """Of all sizes and probabilities."""
    for num_clients, num_channels in SIZES:
        best = min(1.0, num_channels / num_clients)
        for p in dict.fromkeys((best / 2.0, best, min(1.0, 2.0 * best))):
            yield SlottedAlohaLaw(num_clients=num_clients, num_channels=num_channels, transmit_probability=p)


def simulate(law: SlottedAlohaLaw, num_packets: float, end_s: float, seed: int) -> tuple[float, float]:
    """Packets that have got through, and slots until everybody's have; the clock ends by then."""
    sim = cosim.Simulation(seed)
    sharing = cosim.radio.SlottedAloha(
        bandwidth_hz=BAND_HZ,
        slot_s=SLOT_S,
        num_channels=law.num_channels,
        transmit_probability=law.transmit_probability,
    )
    given = cosim.GivenSnr(snr_db=cosim.PerGroup(values=(0.0,)))  # 1 bit/s/Hz
    radio = cosim.Radio(sharing=sharing, link=given, fading=cosim.radio.NoFading())
    names = tuple(f"client-{number:04d}" for number in range(law.num_clients))
    cell = Cell("edge-00", names, np.ones(law.num_clients), np.ones(law.num_clients))
    (link,) = ways_of(sim, radio, [cell], UP)
    packet_bits = SLOT_S * BAND_HZ / law.num_channels
    bits = num_packets * packet_bits
    uploads = [link.open(name, Payload(1, bits), Job(1, 0, 0), 1.0) for name in names]

    def awaited() -> Process:
        for upload in uploads:
            if not upload.done.processed:
                yield upload.done

    sim.run(sim.with_deadline([awaited()], end_s))
    sent = sum(bits - upload.bits_left for upload in uploads) / packet_bits
    return sent, sim.now_s / SLOT_S


def compared(options: Options) -> Iterator[Compared]:
    """Both numbers of every law."""
    for law in laws():
        n, m, p = law.num_clients, law.num_channels, law.transmit_probability
        seeds = range(options.seed, options.seed + options.num_replications)
        whole_s = NUM_SLOTS * SLOT_S
        per_slot = [simulate(law, 2.0 * NUM_SLOTS, whole_s, seed)[0] / NUM_SLOTS for seed in seeds]
        wrong = {"one channel": n * p * (1.0 - p) ** (n - 1), "no collisions": n * p}
        yield Compared(law, "successes per slot", law.mean_successes, np.array(per_slot), wrong)
        if math.isfinite(law.mean_slots):  # not where two or more always meet
            slots = [simulate(law, 1.0, 1e6 * SLOT_S, seed)[1] for seed in seeds]
            wrong = {"as many in the way to the end": n / law.mean_successes}
            wrong["one by one"] = sum(1.0 / (k * p * (1.0 - p / m) ** (k - 1)) for k in range(1, n + 1))
            yield Compared(law, "slots until all are through", law.mean_slots, np.array(slots), wrong)


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    with console.status("running"):
        found = list(compared(options))
    level = familywise(len(found), FAMILY_ERROR)
    title = f"Slotted ALOHA on the clock ({100 * level:.4g} % intervals: all {len(found)} hold with 95 %)"
    table = Table(title=title, title_justify="left")
    for heading in ("clients", "channels", "p", "quantity", "theory", "clock", "verdict"):
        table.add_column(heading)
    failed, caught = False, dict[str, list[bool]]()
    for law, quantity, theory, values, wrong in found:
        interval = mean_interval(values, level)
        verdict = interval.verdict(theory, options.margin * theory)
        for name, value in wrong.items():
            if abs(value - theory) > FAR * options.margin * theory:
                caught.setdefault(name, []).append(interval.verdict(value) == "disagrees")
        failed |= verdict != "agrees"
        of_law = (law.num_clients, law.num_channels, f"{law.transmit_probability:.3g}")
        table.add_row(*map(str, of_law), quantity, f"{theory:.4f}", interval.text(), verdict)
    console.print(table)
    shown = Table(title="Wrong theories: numbers with which they disagree, of those that they miss by far")
    for heading in ("theory", "disagrees"):
        shown.add_column(heading)
    for name, verdicts in caught.items():
        failed |= not all(verdicts)
        shown.add_row(name, f"{sum(verdicts)} of {len(verdicts)}")
    console.print(shown)
    return int(failed)
