"""Does presence on the clock keep the laws of renewal theory?

A cell runs edge rounds of a fixed length, in each of which every client that is present takes part, with a
job of a fixed length, on resource blocks of their own. Clients come and go by three pairs of laws. Over
clients, which are independent, the share of rounds at whose beginning one is present, and of rounds that it
has met until its update has arrived, are compared with renewal theory, at a level at which all intervals
together err with probability 5 % at most. Wrong theories must come out as *disagrees* for every pair of which
they are
asked: jobs that no client leaves, and jobs that all meet a stay at its beginning.

    cosim validate presence
    cosim validate presence --num-clients 60 --num-rounds 40      # in seconds
"""

import math
from collections.abc import Callable, Mapping

import attrs
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import cosim
from analysis.closed_forms.renewal_presence import RenewalPresence
from analysis.intervals.shares import share_interval
from analysis.intervals.statistics import familywise
from cosim.configuration import at_least, knob, not_negative, part
from scenarios.command_line.console import console

FAMILY_ERROR = 0.05
MARGIN = 0.05
"""Half width at which a share decides."""
STEP_CYCLES = 1e6
ROUND_S = 2.0


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        num_clients: Clients of the cell, which come and go independently. [no source]
        num_rounds: Edge rounds of a run. [no source]
        seed: Names the draws. [no source]
    """

    num_clients: int = knob(at_least(20), default=300)
    num_rounds: int = knob(at_least(10), default=200)
    seed: int = knob(not_negative, default=1)


@attrs.frozen(kw_only=True)
class Pair:
    """Laws of stays and absences.

    Attributes:
        on: Of stays.
        off: Of absences.
        tail: Probability that a stay is longer.
        longest_s: Stays are no longer.
        has_memory: True if a stay that has lasted is another than a fresh one.
    """

    on: cosim.queues.ServiceLaw
    off: cosim.queues.ServiceLaw
    tail: Callable[[float], float]
    longest_s: float = math.inf
    has_memory: bool = True

    @property
    def theory(self) -> RenewalPresence:
        """Renewal theory of it."""
        means_s = {"mean_stay_s": self.on.mean_s, "mean_absence_s": self.off.mean_s}
        return RenewalPresence(**means_s, stay_tail=self.tail, longest_stay_s=self.longest_s)


PAIRS: Mapping[str, Pair] = {
    "exponential": Pair(
        on=cosim.queues.Exponential(rate_per_s=0.5),
        off=cosim.queues.Exponential(rate_per_s=1.0),
        tail=lambda s: math.exp(-0.5 * s),
        has_memory=False,
    ),
    "fixed stays": Pair(
        on=cosim.queues.Deterministic(duration_s=1.7),
        off=cosim.queues.Exponential(rate_per_s=0.8),
        tail=lambda s: float(s < 1.7),
        longest_s=1.7,
    ),
    "two stages, busy or idle": Pair(
        on=cosim.queues.Erlang(num_stages=2, rate_per_s=1.0),
        off=cosim.queues.HyperExponential(),
        tail=lambda s: (1.0 + s) * math.exp(-s),
    ),
}


def system(options: Options, presence: cosim.devices.Presence, job_s: float = 1.0) -> cosim.System:
    """A cell whose rounds last `ROUND_S`, and whose jobs last about so long."""
    slow = cosim.PerGroup(values=(STEP_CYCLES / job_s,))
    training = cosim.EdgeTraining(
        num_edge_rounds=1,
        steps=cosim.SameSteps(num_local_steps=1),
        waiting=cosim.waiting.AtLeast(lasting_s=ROUND_S),
    )
    return cosim.System(
        seed=options.seed,
        num_cells=1,
        num_clients=options.num_clients,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(),
        cycles=cosim.devices.CyclesPerStep(step_cycles=STEP_CYCLES),
        devices=cosim.DrawnDevices(min_frequency_hz=slow, max_frequency_hz=slow, presence=presence),
        uplink=cosim.Radio(
            sharing=cosim.radio.ResourceBlocks(num_blocks=options.num_clients),
            link=cosim.GivenSnr(),
            fading=cosim.radio.NoFading(),
        ),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=options.num_rounds),
        evaluation=cosim.Never(),
    )


def shares(options: Options, pair: Pair) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Length of a job, and each client's shares of rounds at which it is present and that it has met.

    Each of shape (clients,).
    """
    fates = cosim.run(system(options, cosim.devices.OnOff(on=pair.on, off=pair.off))).fates
    done = fates[fates["outcome"] == "done"]
    clients = [f"client-{number:04d}" for number in range(options.num_clients)]
    there, met = (
        rows.groupby("client").size().reindex(clients, fill_value=0).to_numpy() / options.num_rounds
        for rows in (fates, done)
    )
    return float((done["end_s"] - done["start_s"]).mean()), there, met


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    level = familywise(2 * len(PAIRS), FAMILY_ERROR)
    title = f"Presence ({100 * level:.4g} % intervals: all {2 * len(PAIRS)} hold with 95 %)"
    table, wrong = Table(title=title, title_justify="left"), Table(title="Wrong theories (must disagree)")
    for heading in ("stays and absences", "share of rounds", "theory", "clock", "verdict"):
        table.add_column(heading)
    for heading in ("stays and absences", "theory", "share of rounds met", "verdict"):
        wrong.add_column(heading)
    failed = False
    for name, pair in PAIRS.items():
        with console.status(name):
            job_s, there, met = shares(options, pair)
        theory = pair.theory
        for words, number, found in (("there", theory.share, there), ("met", theory.met(job_s), met)):
            interval = share_interval(found, level)
            verdict = interval.verdict(number, MARGIN)
            failed |= verdict != "agrees"
            table.add_row(name, words, f"{number:.4f}", interval.text(4), verdict)
        theories = {"no client leaves in the middle": theory.share}
        if pair.has_memory:
            theories["stays met at their beginning"] = theory.met_by_fresh_stays(job_s)
        for words, number in theories.items():
            verdict = share_interval(met, level).verdict(number)
            failed |= verdict != "disagrees"
            wrong.add_row(name, words, f"{number:.4f}", verdict)
    console.print(table)
    console.print(wrong)
    return int(failed)
