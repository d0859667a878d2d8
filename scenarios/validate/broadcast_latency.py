"""Does the clock agree with the law of the slowest receiver of a broadcast over Rayleigh fading?

Edge servers with 1 and 4 antennas broadcast to 1, 3 and 10 clients of unlike SNR, in every edge round over
new channels. The share of broadcasts that last at most so long must be what the closed form says at its own
quantiles (`analysis.closed_forms.broadcast_latency`), by binomial intervals at a level at which all of them
together err with probability 5 % at most; too few rounds are *too noisy*, which fails. Wrong theories (a beam
for everybody, one receiver instead of the slowest, the slowest on average) must come out as *disagrees*.

    cosim validate broadcast-latency
"""

from collections.abc import Callable, Iterator

import attrs
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import cosim
from analysis.closed_forms.broadcast_latency import BroadcastLatency
from analysis.intervals.statistics import binomial, familywise
from cosim.configuration import at_least, knob, not_empty, not_negative, part
from cosim.records.rows import DOWN
from cosim.units import db_to_linear
from scenarios.command_line.console import console

SNR_DB = (0.0, 10.0)
"""Of the first and the second half of the clients."""
BANDWIDTH_HZ = 1e5
PROBABILITIES = (0.1, 0.5, 0.9)
FAMILY_ERROR = 0.05
MARGIN = 0.05
"""Half width at which a share decides."""


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        num_antennas: Antennas of an edge server, a cell of each size with each.
        num_receivers: Clients of a cell.
        num_rounds: Broadcasts of each.
        seed: Names the channels.
    """

    num_antennas: tuple[int, ...] = knob(not_empty, at_least(1), default=(1, 4))
    num_receivers: tuple[int, ...] = knob(not_empty, at_least(1), default=(1, 3, 10))
    num_rounds: int = knob(at_least(10), default=2000)
    seed: int = knob(not_negative, default=1)


def system(num_antennas: int, num_receivers: int, num_rounds: int, seed: int) -> cosim.System:
    """One cell whose edge server broadcasts in every edge round."""
    snr_db = np.where(2 * np.arange(num_receivers) < num_receivers, *SNR_DB)
    downlink = cosim.radio.Broadcast(
        bandwidth_hz=BANDWIDTH_HZ,
        link=cosim.GivenSnr(snr_db=cosim.PerClient(values=tuple(snr_db.tolist()))),
        fading=cosim.Rayleigh(num_antennas=num_antennas, redrawn=cosim.radio.EveryEdgeRound()),
    )
    training = cosim.EdgeTraining(num_edge_rounds=1, steps=cosim.SameSteps(num_local_steps=1))
    return cosim.System(
        seed=seed,
        num_cells=1,
        num_clients=num_receivers,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(),
        downlink=downlink,
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=num_rounds),
        evaluation=cosim.Never(),
    )


def simulate(system: cosim.System) -> NDArray[np.float64]:
    """How long every broadcast lasts, in s, shape (rounds,).

    Raises:
        AssertionError: Clients of a round have their model at different instants.
    """
    result = cosim.run(system)
    down = result.transfers[result.transfers["direction"] == DOWN]
    lasts_s = (down["end_s"] - down["start_s"]).to_numpy().reshape(-1, system.num_clients)
    assert (lasts_s == lasts_s[:, :1]).all()
    return lasts_s[:, 0]


def predict(system: cosim.System, bits: float) -> BroadcastLatency:
    """The closed form of a system."""
    downlink = system.downlink
    assert isinstance(downlink, cosim.radio.Broadcast)
    assert isinstance(downlink.link, cosim.GivenSnr)
    assert isinstance(downlink.fading, cosim.Rayleigh)
    (levels_db,) = downlink.link.snr_db.of_clients(system.sizes())
    return BroadcastLatency(
        model_bits=bits,
        bandwidth_hz=downlink.bandwidth_hz,
        snr=np.array([db_to_linear(level_db) for level_db in levels_db]),
        num_antennas=downlink.fading.num_antennas,
    )


WRONG_THEORIES: dict[str, Callable[[BroadcastLatency], BroadcastLatency]] = {
    "a beam for everybody": lambda law: attrs.evolve(law, snr=law.num_antennas * law.snr),
    "one receiver, the weakest on average": lambda law: attrs.evolve(law, snr=law.snr[:1]),
    "a tenth more bandwidth": lambda law: attrs.evolve(law, bandwidth_hz=1.1 * law.bandwidth_hz),
}


def level_of(options: Options) -> float:
    """Of each interval."""
    num_cells = len(options.num_antennas) * len(options.num_receivers)
    return familywise((1 + len(WRONG_THEORIES)) * len(PROBABILITIES) * num_cells, FAMILY_ERROR)


def compare(options: Options) -> Iterator[tuple[str, str, float, str, str]]:
    """Rows of theory, case, probability, interval and verdict."""
    level = level_of(options)
    for num_antennas in options.num_antennas:
        for num_receivers in options.num_receivers:
            own = system(num_antennas, num_receivers, options.num_rounds, options.seed)
            lasts_s, case = simulate(own), f"{num_antennas} antennas, {num_receivers} receivers"
            law = predict(own, bits=32.0 * (12 * 8 + 8 * 4))
            for name, wrong in {"law of the slowest": None, **WRONG_THEORIES}.items():
                theory = law if wrong is None else wrong(law)
                for probability in PROBABILITIES:
                    num_in_time = int((lasts_s <= theory.quantile_s(probability)).sum())
                    found = binomial(num_in_time, len(lasts_s), level)
                    shown = f"{found.estimate:.4f} [{found.low:.4f}, {found.high:.4f}]"
                    yield name, case, probability, shown, found.verdict(probability, MARGIN)


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    sizes = f"{options.num_rounds} broadcasts each, intervals at {100 * level_of(options):.2f} %"
    table = Table(title=f"Broadcasts: clock against closed form ({sizes})")
    for heading in ("theory", "cell", "within its quantile of", "share of broadcasts", "verdict"):
        table.add_column(heading)
    verdicts: dict[str, set[str]] = {}
    for name, case, probability, found, verdict in compare(options):
        verdicts.setdefault(name, set()).add(verdict)
        if name == "law of the slowest":
            table.add_row(name, case, f"{probability:g}", found, verdict)
    for name in WRONG_THEORIES:
        table.add_row(name, "all", "", "", "disagrees" if "disagrees" in verdicts[name] else "not caught")
    console.print(table)
    is_right = verdicts["law of the slowest"] == {"agrees"}
    return int(not (is_right and all("disagrees" in verdicts[name] for name in WRONG_THEORIES)))
