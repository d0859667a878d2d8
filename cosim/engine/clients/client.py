"""Client: a device that receives, trains and sends, which takes time and energy.

What it learns is asked for at an instant and computed when it is read (`cosim.engine.learning`).
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import NEVER_SHORT_S, duration_between, is_short
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Barrier, Interrupt, Process, Simulation, reason_of, too_short
from cosim.configuration import ConfigurationError
from cosim.engine.clients.efforts import effort_of_one, sending_w_of_one
from cosim.jobs.payload import Payload
from cosim.links.upload import Upload
from cosim.names import client_name, codec_of, personal_of
from cosim.protocols.assignment import Assignment
from cosim.records.rows import DONE, DOWN, SPENT, UP, Fate, Transfer, quick_row
from cosim.units import ENERGY_ROUNDING
from cosim.values.pending import PendingUpdate

if TYPE_CHECKING:
    from cosim.engine.clients.fleet import Clients


class Client:
    """A device and its samples (`cosim.jobs.cell`).

    Args:
        number: Its number among all clients of the run, from 0.
        alone: This client as a group of one, for parts that give the numbers of many.
    """

    __slots__ = ("alone", "availability", "device", "name", "number")

    def __init__(self, number: int, alone: "Clients") -> None:
        self.number, self.alone, self.name = number, alone, client_name(number)
        self.device, availabilities = alone.fleet.devices[number], alone.fleet.availabilities
        self.availability = None if availabilities is None else availabilities[number]

    @property
    def tx_power_w(self) -> float:
        return self.device.tx_power_w

    @property
    def samples(self) -> NDArray[np.int64]:
        samples = self.alone.fleet.samples_of(self.number)
        if not len(samples):
            raise ConfigurationError(
                f"{self.name} has no samples to train on. Use data that give every client at least "
                "one, or fewer clients."
            )
        return samples

    def local_round(
        self, sim: Simulation, assignment: Assignment, received: Barrier | None = None
    ) -> Process:
        """Download, train, upload: what one client does in one edge round; returns its update, or `Dropped`.

        Writes its `Fate` when it has ended.

        Args:
            received: Where it waits until others have received, too, before its energy counts. None means no
                waiting.
        """
        start_s, job = sim.now_s, self._job(sim, assignment, received)
        try:
            outcome = yield from job if self.availability is None else self.availability.within(job)
        except Interrupt as cut:
            outcome = reason_of(cut)
        if received is not None:
            received.leave(self.name)
        became = outcome.reason if isinstance(outcome, Dropped) else DONE
        global_round, edge_round, number = assignment.job
        own, edge, end_s = self.name, assignment.route.edge, sim.now_s
        fate = quick_row(Fate, (own, edge, number, global_round, edge_round, start_s, end_s, became))
        sim.recorder.ended(fate)
        return outcome

    def _job(self, sim: Simulation, assignment: Assignment, received: Barrier | None) -> Process:
        left_j = assignment.energy_budget_j
        left_j = None if left_j is None else left_j * (1.0 + ENERGY_ROUNDING)  # exactly enough is enough
        if assignment.route.downlink is not None:
            if received is None:
                left_j = yield from self.receive(sim, assignment, left_j)
            else:
                yield from self.receive(sim, assignment)
        if received is not None:
            received.leave(self.name)
            yield received.opens
        if isinstance(left_j, Dropped) or left_j == 0.0:
            return Dropped(SPENT)
        lasts_s, train_w = effort_of_one(
            sim, self, assignment.job, assignment.cycles, assignment.frequency_hz
        )
        training = self.train(sim, assignment, lasts_s, train_w)
        if left_j is None:
            update = yield from training
        else:
            update, left_j = yield from _within(sim, training, train_w, left_j)
            if left_j == 0.0:
                return Dropped(SPENT)
        if assignment.upload_deadline_s is None:
            sent = yield from self.send(sim, assignment, left_j)
        else:
            sending = self.send(sim, assignment, left_j)
            (sent,) = yield from sim.with_deadline([sending], assignment.upload_deadline_s)
        return sent if isinstance(sent, Dropped) else update

    def receive(self, sim: Simulation, assignment: Assignment, most_j: float | None = None) -> Process:
        """Download what is to be trained, on a link that takes time; idle while it waits for its turn.

        Args:
            most_j: Energy after which it stops. None means no limit.

        Returns:
            What is left of the energy, or `Dropped`, when the process has ended.
        """
        downlink = assignment.route.downlink
        assert downlink is not None
        download = downlink.open(self.name, assignment.download, assignment.job)
        power_w = self.device.receive_w + self.device.static_power_w
        return self._carry(sim, download, assignment, DOWN, power_w, most_j)

    def train(self, sim: Simulation, assignment: Assignment, lasts_s: float, power_w: float) -> Process:
        """Ask for the learning now, let the time it takes pass."""
        if is_short(sim.now_s, lasts_s):
            raise too_short(self.name, "train", lasts_s, sim.now_s)
        update = assignment.request(sim, self, assignment)
        yield from sim.spend(self.name, "train", lasts_s, power_w, assignment.job.number)
        self.keep(update)
        return update

    def keep(self, update: PendingUpdate) -> None:
        """Keep what a training that has ended leaves for the next one."""
        states = self.alone.fleet.states
        if update.training.keeps_state and not update.training.keeps_what_arrived:
            states[self.name] = update.next_state
        if update.codec is not None and update.codec.keeps_state:
            states[codec_of(self.name)] = update.next_codec_state
        if update.own is not None:
            states[personal_of(self.name)] = update.next_own

    def send(self, sim: Simulation, assignment: Assignment, most_j: float | None = None) -> Process:
        """Upload until all bits are through or the upload is cut; idle while it waits for its turn.

        Arguments and result as `receive`.
        """
        payload, job = assignment.payload, assignment.job
        tx_power_w = sending_w_of_one(sim, self, job, payload.bits, assignment.tx_power_w)
        upload = assignment.route.uplink.open(self.name, payload, job, tx_power_w)
        return self._carry(sim, upload, assignment, UP, tx_power_w + self.device.static_power_w, most_j)

    def _carry(
        self,
        sim: Simulation,
        upload: Upload,
        assignment: Assignment,
        direction: str,
        power_w: float,
        left_j: float | None,
    ) -> Process:
        """Wait until it is granted and carry, as often as its link wants, and write its row.

        Returns the energy that is left, or `Dropped`.
        """
        name, idle_w, start_s, begins_s = self.name, self.device.idle_w, sim.now_s, None
        global_round, edge_round, number = assignment.job
        activity, payload = (
            ("send", assignment.payload) if direction == UP else ("receive", assignment.download)
        )
        try:
            while True:
                if upload.granted is not None:
                    waiting = sim.spend(name, "wait", upload.granted, idle_w, number)
                    if left_j is None or not idle_w:
                        yield from waiting
                    else:
                        _, left_j = yield from _within(sim, waiting, idle_w, left_j)
                        if left_j == 0.0:
                            return Dropped(SPENT)
                if begins_s is None:
                    begins_s = start_s if upload.granted is None else sim.now_s
                until = upload.turn_over or upload.done
                carrying = sim.spend(name, activity, until, power_w, number)
                if left_j is None:
                    yield from carrying
                else:
                    carried, left_j = yield from _within(sim, carrying, power_w, left_j)
                    if isinstance(carried, Dropped):
                        return carried
                if until is upload.done:
                    lasts_s = sim.now_s - begins_s
                    if lasts_s < NEVER_SHORT_S and _is_too_short(upload, payload, begins_s, lasts_s):
                        raise too_short(name, activity, lasts_s, begins_s)
                    return left_j
                if left_j == 0.0:
                    return Dropped(SPENT)
        finally:
            upload.close()
            payload_bits = int(payload.bits)
            row = (
                name,
                assignment.route.edge,
                global_round,
                edge_round,
                start_s,
                sim.now_s,
                payload_bits,
                payload_bits - upload.bits_left,
                upload.done.processed,
                number,
                direction,
            )
            sim.recorder.carried(quick_row(Transfer, row))


def _is_too_short(upload: Upload, payload: Payload, begins_s: float, lasts_s: float) -> bool:
    is_lost = upload.takes_time and not lasts_s and payload.bits > 0.0
    return is_lost or is_short(begins_s, lasts_s)


def _within(sim: Simulation, process: Process, power_w: float, most_j: float) -> Process:
    """Run a process at a power, cut off once it has spent `most_j`; returns its value and what is left.

    If it is cut off, nothing is left, and its value is `Dropped`.
    """
    start_s, lasts_s = sim.now_s, most_j / power_w if power_w > 0.0 else None
    (value,) = yield from sim.with_deadline([process], lasts_s, SPENT)
    left_j = most_j - power_w * duration_between(start_s, sim.now_s)
    is_left = not isinstance(value, Dropped) and left_j > 4.0 * ENERGY_ROUNDING * most_j
    return value, left_j if is_left else 0.0  # 0 for mere rounding errors
