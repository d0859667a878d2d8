"""Array round: an edge round played as arrays, bit for bit as its events would have it.

Where downloads take no time, uploads have steady rates (`Link.steady_rates_bps`) and the rule of waiting says
from everybody's end when the round ends (`Waiting.ending`), an edge round is a recurrence: training ends at
start + cycles / frequency, an upload at that + bits / rate, and who has not ended with the round is cut. The
sums and products are those of `Client` and `Simulation.spend`, in their order.

Scope and limitations: all participants train and send the same, without energy budgets and upload deadlines.
"""

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import overrides
from cosim.devices.client import Assignment, Client
from cosim.devices.training_time import TrainingTime
from cosim.links.uplink import Link
from cosim.records import DONE, Fate, Span, Transfer
from cosim.servers.waiting import Ending, Waiting
from cosim.simulation import Numbers, Simulation


class Fleet:
    """The clients of a cell as arrays, in their order.

    Attributes:
        names: Shape (clients,).
        numbers: What they draw by.
        place_of: Name -> place in the arrays.
    """

    def __init__(self, clients: Sequence[Client], edge: str) -> None:
        self.edge = edge
        self.names = np.array([client.name for client in clients], dtype=object)
        self.numbers = Numbers.of(self.names.tolist())
        self.place_of = {client.name: place for place, client in enumerate(clients)}
        self.frequency_hz = np.array([client.cpu.frequency_hz for client in clients])
        self.train_w = np.array([client.cpu.power_w for client in clients])
        self.tx_w = np.array([client.tx_power_w for client in clients])
        self.send_w = np.array([client.tx_power_w + client.cpu.static_power_w for client in clients])
        self.laws = [client.device.training_time for client in clients]

    def training_s(
        self, sim: Simulation, places: NDArray[np.int64], cycles: NDArray[np.float64], job: int
    ) -> NDArray[np.float64]:
        """How long each of these trains in a job."""
        planned_s = cycles / self.frequency_hz[places]
        laws = [self.laws[place] for place in places]
        law = laws[0] if laws else None
        if law is None or all(other.is_as_planned for other in laws):
            return planned_s
        if all(other == law for other in laws):
            drawn = sim.of_clients(self.numbers, "training time", law.draw, job)[places]
            if type(law).duration_s is TrainingTime.duration_s:
                return planned_s * drawn
        own_s = []
        for law, name, own in zip(laws, self.names[places].tolist(), planned_s.tolist(), strict=True):
            drawn = 1.0 if law.is_as_planned else float(sim.of_client(name, "training time", law.draw, job))
            own_s.append(own if law.is_as_planned else float(law.duration_s(own, drawn)))
        return np.array(own_s)


@attrs.frozen(eq=False, kw_only=True)
class ArrayRound:
    """An edge round that has begun.

    Attributes:
        work: What everyone is assigned, but for the cycles.
        places: The participants' places in the fleet, shape (participants,).
        trained_s: When each would end its training.
        ends_s: When each would end its upload.
        ending: How the round ends.
    """

    fleet: Fleet
    work: Assignment
    places: NDArray[np.int64]
    start_s: float
    rate_bps: NDArray[np.float64]
    trained_s: NDArray[np.float64]
    ends_s: NDArray[np.float64]
    ending: Ending

    @classmethod
    def begun(
        cls,
        sim: Simulation,
        fleet: Fleet,
        link: Link,
        participants: Sequence[Client],
        work: Assignment,
        cycles: Sequence[float],
        waiting: Waiting,
    ) -> "ArrayRound | None":
        """An edge round that begins now; None: it must be played by events.

        Args:
            link: Whose round has begun.
            participants: In the order of their numbers.
            cycles: Of each participant.
        """
        if not (overrides(link, "steady_rates_bps", "open") and overrides(waiting, "ending", "wait")):
            return None
        rates_bps = link.steady_rates_bps(fleet.tx_w, work.job)
        if rates_bps is None:
            return None
        places = np.array([fleet.place_of[client.name] for client in participants], dtype=np.int64)
        trained_s = sim.now_s + fleet.training_s(sim, places, np.array(cycles, dtype=float), work.job.number)
        with np.errstate(divide="ignore"):
            ends_s = trained_s + int(work.payload.bits) / rates_bps[places]
        ending = waiting.ending(sim.now_s, ends_s)
        if ending is None:
            return None
        return cls(
            fleet=fleet,
            work=work,
            places=places,
            start_s=sim.now_s,
            rate_bps=rates_bps[places],
            trained_s=trained_s,
            ends_s=ends_s,
            ending=ending,
        )

    def cut(self, now_s: float, reason: str) -> "ArrayRound":
        """The round as it is cut from outside."""
        return attrs.evolve(self, ending=Ending(now_s, self.ends_s <= now_s, reason))

    @property
    def has_trained(self) -> NDArray[np.bool_]:
        """Whose training ends with the round or before, shape (participants,)."""
        return self.trained_s <= self.ending.end_s

    def write(self, sim: Simulation) -> None:
        """Write the rows of what has happened in it."""
        end_s, counts, reason = self.ending
        sends, arrives = self.has_trained, self.ends_s <= end_s
        names, edge, job = self.fleet.names[self.places], self.fleet.edge, self.work.job
        from_s, until_s = np.full(len(names), self.start_s), np.minimum(self.ends_s, end_s)
        train_end_s = np.minimum(self.trained_s, end_s)
        train_w, send_w = self.fleet.train_w[self.places], self.fleet.send_w[self.places]
        for activity, start_s, stop_s, power_w, is_done in (
            ("train", from_s, train_end_s, train_w, sends),
            ("send", self.trained_s, until_s, send_w, arrives),
        ):
            which = stop_s > start_s
            columns = {
                "node": names[which],
                "activity": activity,
                "start_s": start_s[which],
                "end_s": stop_s[which],
                "energy_j": (power_w * (stop_s - start_s))[which],
                "outcome": np.where(is_done, DONE, reason)[which],
                "job": job.number,
            }
            sim.trace.record_columns(Span, columns)
        bits = int(self.work.payload.bits)
        sent_bits = self.rate_bps * (until_s - self.trained_s)
        left_bits = np.where(arrives, 0.0, np.maximum(0.0, bits - sent_bits))
        shared = {"edge": edge, "global_round": job.global_round, "edge_round": job.edge_round}
        columns = {
            "client": names[sends],
            **shared,
            "start_s": self.trained_s[sends],
            "end_s": until_s[sends],
            "payload_bits": bits,
            "sent_bits": bits - left_bits[sends],
            "arrived": arrives[sends],
            "job": job.number,
        }
        sim.trace.record_columns(Transfer, columns)
        columns = {
            "client": names,
            **shared,
            "job": job.number,
            "start_s": self.start_s,
            "end_s": until_s,
            "outcome": np.where(counts, DONE, reason),
        }
        sim.trace.record_columns(Fate, columns)
