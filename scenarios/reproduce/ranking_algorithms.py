"""Algorithms and settings of the ranking (`scenarios.reproduce.ranking`).

24 clients of one cell learn scikit-learn's handwritten digits, two classes at most of the ten at most clients
(4 shards each); 8 of them take part in a round, or are at work at a time, with 10 steps of 10 samples.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import attrs
from typing_extensions import override

import cosim

NUM_CLIENTS, NUM_AT_WORK = 24, 8
REFERENCE = "FedAvg"


class Rates(NamedTuple):
    """Step sizes that are tuned.

    Attributes:
        local: Step size of the clients.
        server: Step size of the server, or of signs. None means that the algorithm has none.
    """

    local: float
    server: float | None = None

    @override
    def __str__(self) -> str:
        return f"{self.local:g}" if self.server is None else f"{self.local:g}, {self.server:g}"


@attrs.frozen(kw_only=True)
class Setting:
    """Limits of a round.

    Attributes:
        bandwidth_hz: Width of the band, of which each participant gets an equal share.
        step_cycles: Cycles of a local step.
        training_time: How long a job trains.
        round_s: How long a round lasts, about; what Oort wants.
    """

    bandwidth_hz: float
    step_cycles: float
    training_time: cosim.devices.TrainingTime | None
    round_s: float


SETTINGS = {
    "rate": Setting(bandwidth_hz=0.2e6, step_cycles=1e6, training_time=None, round_s=1.0),
    "compute": Setting(bandwidth_hz=20e6, step_cycles=2e8, training_time=None, round_s=1.0),
    "stragglers": Setting(
        bandwidth_hz=2e6, step_cycles=2e7, training_time=cosim.devices.LogNormalTime(spread=1.2), round_s=0.3
    ),
}
"""A narrow band and small steps; a wide band and large steps; jobs of which some last many times as planned.
[no source]"""
LOCAL = (0.03, 0.1, 0.3, 1.0)
"""Step sizes that are tried."""
Parts = dict[str, Any]


@attrs.frozen(kw_only=True)
class Algorithm:
    """Difference of an algorithm from FedAvg.

    Attributes:
        parts: Fields of the cell's training that are others, from its step sizes and the setting.
        codec: What an update is on the air, from its step sizes.
        grid: Step sizes that are tried.
    """

    parts: Callable[[Rates, Setting], Parts] = lambda rates, setting: {}
    codec: Callable[[Rates], cosim.codecs.Codec] = lambda rates: cosim.codecs.Uncompressed()
    grid: Sequence[Rates] = tuple(map(Rates, LOCAL))

    def protocol(self, rates: Rates, setting: Setting) -> cosim.Protocol:
        """Rounds of a single cell with the only server."""
        common: Parts = {
            "num_edge_rounds": 1,
            "steps": cosim.SameSteps(num_local_steps=10),
            "local": cosim.Sgd(batch_size=10, learning_rate=rates.local),
            "selection": cosim.selection.Uniform(num_participants=NUM_AT_WORK),
        }
        return cosim.HFedAvg(training=cosim.EdgeTraining(**common | self.parts(rates, setting)))

    def end(self, num_rounds: int) -> cosim.ends.End:
        """When a run is over."""
        return cosim.AfterRounds(num_global_rounds=num_rounds)

    def system(self, rates: Rates, setting: Setting, num_rounds: int, seed: int) -> cosim.System:
        """A run.

        Args:
            num_rounds: Of 8 updates.
        """
        return cosim.System(
            seed=seed,
            num_cells=1,
            num_clients=NUM_CLIENTS,
            model="relu-64-32-10",
            data=cosim.Digits(split=cosim.data.Shards(per_client=2)),
            devices=cosim.DrawnDevices(training_time=setting.training_time),
            cycles=cosim.devices.CyclesPerStep(step_cycles=setting.step_cycles),
            uplink=cosim.Radio(
                sharing=cosim.FixedShares(bandwidth_hz=setting.bandwidth_hz),
                fading=cosim.Rayleigh(redrawn=cosim.radio.EveryEdgeRound()),
            ),
            codec=self.codec(rates),
            protocol=self.protocol(rates, setting),
            end=self.end(num_rounds),
        )


@attrs.frozen(kw_only=True)
class Buffered(Algorithm):
    """FedBuff, whose versions take as many updates as a round."""

    @override
    def protocol(self, rates: Rates, setting: Setting) -> cosim.Protocol:
        """Protocol with as many clients always at work as take part in a round."""
        return cosim.FedBuff(
            training=cosim.ClientTraining(
                num_local_steps=10, local=cosim.Sgd(batch_size=10, learning_rate=rates.local)
            ),
            starts=cosim.protocols.ConstantConcurrency(num_in_flight=NUM_AT_WORK),
            num_updates=NUM_AT_WORK,
        )

    @override
    def end(self, num_rounds: int) -> cosim.ends.End:
        """After as many updates."""
        return cosim.ends.AfterUpdates(num_updates=NUM_AT_WORK * num_rounds)


def local(kind: type[cosim.training.LocalTraining], **knobs: Any) -> Algorithm:
    """Another rule of local training."""
    return Algorithm(
        parts=lambda rates, setting: {"local": kind(batch_size=10, learning_rate=rates.local, **knobs)}
    )


def server(rule: Callable[[float], cosim.server_updates.ServerUpdate], rates: Sequence[float]) -> Algorithm:
    """Another server update, of a step size of its own."""
    return Algorithm(
        parts=lambda own, setting: {"server": rule(own.server or 0.0)},
        grid=[Rates(local, server) for local in LOCAL for server in rates],
    )


def selection(rule: Callable[[Setting], cosim.Selection]) -> Algorithm:
    """Another selection of clients."""
    return Algorithm(parts=lambda rates, setting: {"selection": rule(setting)})


ALGORITHMS = {
    REFERENCE: Algorithm(),
    "FedProx": local(cosim.training.Proximal, mu=0.1),
    "momentum": local(cosim.training.Momentum),
    "SCAFFOLD": local(cosim.training.Scaffold),
    "FedAvgM": server(lambda rate: cosim.server_updates.FedAvgM(learning_rate=rate), (0.3, 1.0, 2.0)),
    "FedAdam": server(lambda rate: cosim.server_updates.FedAdam(learning_rate=rate), (0.01, 0.03, 0.1)),
    "FedNova": Algorithm(
        parts=lambda rates, setting: {
            "server": cosim.server_updates.FedNova(),
            "steps": cosim.training.Epochs(num_epochs=2),
        }
    ),
    "4-bit QSGD": Algorithm(codec=lambda rates: cosim.codecs.Qsgd(num_levels=7)),
    "top 5 %": Algorithm(
        codec=lambda rates: cosim.codecs.ErrorFeedback(
            codec=cosim.codecs.TopK(kept=cosim.codecs.KeptShare(share=0.05))
        )
    ),
    "power of choice": selection(
        lambda setting: cosim.selection.PowerOfChoice(num_participants=NUM_AT_WORK, num_candidates=16)
    ),
    "Oort": selection(
        lambda setting: cosim.selection.Oort(num_participants=NUM_AT_WORK, wanted_s=setting.round_s)
    ),
    "FedBuff": Buffered(),
}
