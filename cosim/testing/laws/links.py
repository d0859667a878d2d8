"""Links: the laws of uploads and of downloads, one by one, whatever is trained."""

import math
from collections.abc import Sequence

import numpy as np

from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Process, Simulation
from cosim.configuration import lacks_in
from cosim.configuration.going_together import EVERY_UPDATE
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell, Link
from cosim.links.upload import Upload
from cosim.links.way import Way
from cosim.records.rows import UP
from cosim.testing.laws.broken import broken
from cosim.testing.laws.names import check_names_of

NUM_VALUES = 1000
BITS = 32.0 * NUM_VALUES
NUM_JOBS = 5
"""Jobs of which is tried what is known beforehand."""
ROUNDING, MOST_ERROR = 1e-6, 10.0
"""By which an upload may last longer or shorter than what is known exactly, and with errors."""
LONGEST_S = 1e6
"""Longest that an upload of so few bits may take by itself; links that lose uploads take for ever."""
POWER_W = 0.2


def check_carried(link: Link) -> None:
    """Check the laws of uploads and downloads: whole and cut ones, alone and side by side.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    for direction in link.directions:
        _Trial(link, direction).check()


class _Trial:
    """Trial of a link in one direction with few clients, and with nothing around it."""

    def __init__(self, link: Link, direction: str) -> None:
        self._link, self._direction = link, direction
        self._power_w = POWER_W if direction == UP else None
        self._one, self._carrying = (
            ("an upload", "sending") if direction == UP else ("a download", "receiving")
        )

    def check(self) -> None:
        """Check all laws."""
        ends_s = self._whole(BITS)
        if ends_s == math.inf and lacks_in(self._link, EVERY_UPDATE):
            return
        if ends_s == math.inf:
            where = f"{self._one} alone takes more than {LONGEST_S:g} s"
            raise broken("whole", where, "`done` that never comes, or a link that lacks `EVERY_UPDATE`")
        if self._link.takes_time != (ends_s > 0.0):
            where = f"takes_time is {self._link.takes_time}, and {self._one} takes {ends_s:g} s"
            raise broken("declared", where, "a property that says something else than the links do")
        self._check_known()
        if not self._whole(2.0 * BITS) >= ends_s:
            where, reason = "twice the bits arrive earlier", "a rate that is asked for at another instant"
            raise broken("more bits", where, reason)
        numbers = range(20) if lacks_in(self._link, EVERY_UPDATE) else (0,)
        number = next((number for number in numbers if self._both_arrive(number)), None)
        if number is None and not lacks_in(self._link, EVERY_UPDATE):
            where = f"{self._one} beside another never ends"
            raise broken("beside", where, "something held that `close` does not free")
        if number is not None:  # else a link that loses nearly all
            for share in (0.0, 0.3, 0.7):
                self._cut(share * ends_s, number)
            self._check_carrying(0.5 * ends_s, number)

    def _of_cell(self, sim: Simulation, num_clients: int) -> tuple[Way, tuple[str, ...]]:
        names = tuple(f"client-{number:04d}" for number in range(num_clients))
        near_m, power_w = np.full(num_clients, 100.0), np.full(num_clients, POWER_W)
        cell = Cell("edge-00", names, near_m, power_w)
        (way,) = ways_of(sim, self._link, [cell], self._direction)
        check_names_of(type(way.link))
        _begin(way, num_clients)
        return way, names

    def _opened(self, way: Way, client: str, bits: float, number: int = 0) -> Upload:
        return way.open(client, Payload(bits / 32.0, bits), Job(1, number, number), self._power_w)

    def _both_arrive(self, number: int) -> bool:
        """True if the uploads of two clients arrive in a job."""
        sim = Simulation(seed=1)
        way, clients = self._of_cell(sim, 2)
        uploads = [self._opened(way, client, BITS, number) for client in clients]
        ended = sim.run(sim.with_deadline([_to_its_end(upload) for upload in uploads], LONGEST_S))
        return not any(isinstance(outcome, Dropped) for outcome in ended)

    def _whole(self, bits: float) -> float:
        """When an upload alone has arrived; infinite where it never does."""
        sim = Simulation(seed=1)
        way, (client,) = self._of_cell(sim, 1)

        def process() -> Process:
            upload = self._opened(way, client, bits)
            check_names_of(type(upload))
            if upload.bits_left != bits:
                where = f"{upload.bits_left} of {bits} bits are left when {self._one} is opened"
                raise broken("bits", where, "an upload that is opened with other bits than payload.bits")
            yield from _to_its_end(upload)
            if upload.bits_left != 0.0:
                where = f"{upload.bits_left} of {bits} bits are left when it is done"
                raise broken("bits", where, "bits_left that rounds, once `done` has come")
            return sim.now_s

        (ended_s,) = sim.run(sim.with_deadline([process()], LONGEST_S))
        return ended_s if isinstance(ended_s, float) else math.inf

    def _check_known(self) -> None:
        """Check that what is known beforehand of an upload alone is how long it takes.

        It may differ by errors of what is known, and by what changes meanwhile; these vary with the seed.
        """
        factors = []
        for number in range(NUM_JOBS) if self._power_w is not None else ():
            sim = Simulation(seed=number)
            way, (client,) = self._of_cell(sim, 1)
            if way.link.known is None:
                return
            job, payload = Job(1 + number, 0, number), Payload(NUM_VALUES, BITS)
            known_s = float(way.link.known.upload_s(slice(None), payload, 1, job, np.array([POWER_W]))[0])
            upload = way.open(client, payload, job, POWER_W)
            (lasted_s,) = sim.run(sim.with_deadline([_lasts_s(sim, upload)], LONGEST_S))
            if isinstance(lasted_s, float):
                factors.append(lasted_s / known_s if known_s > 0.0 else math.inf)
        if len(factors) < 2:
            return
        middle = sorted(factors)[len(factors) // 2]
        is_constant = max(factors) <= min(factors) * (1.0 + ROUNDING)
        if not 1.0 / MOST_ERROR <= middle <= MOST_ERROR or (is_constant and abs(middle - 1.0) > ROUNDING):
            where = f"an upload alone takes {middle:g} times as long as upload_s says that it will"
            raise broken("known", where, "another unit, or another share of the band than `open` gives")

    def _check_carrying(self, after_s: float, number: int) -> None:
        """Check that an upload that needs no grant sends beside others, if it does alone in the same time."""
        alone, beside = (self._carried_bits(after_s, number, num_clients) for num_clients in (1, 3))
        if alone and all(alone) and beside and not all(beside):
            where = f"alone {self._one} has carried bits after {after_s:g} s, and beside two others none"
            why = f"a queue without `granted`, in which waiting is billed as {self._carrying}"
            raise broken(self._carrying, where, why)

    def _carried_bits(self, after_s: float, number: int, num_clients: int) -> Sequence[float]:
        """Bits that uploads opened together have carried when they are cut, if they need no grant."""
        sim = Simulation(seed=1)
        way, clients = self._of_cell(sim, num_clients)

        def process() -> Process:
            uploads = [self._opened(way, client, BITS, number) for client in clients]
            yield sim.timer(after_s)
            sending = [
                upload for upload in uploads if upload.granted is None and not way.link.sends_while_queued
            ]
            for upload in uploads:
                upload.close()
            return [BITS - upload.bits_left for upload in sending]

        return sim.run(process()) if after_s else ()

    def _cut(self, after_s: float, number: int) -> None:
        """Cut an upload; its neighbour's goes on, and so does the client itself in its next job."""
        sim = Simulation(seed=1)
        way, (cut, other) = self._of_cell(sim, 2)

        def process() -> Process:
            first, second = (self._opened(way, client, BITS, number) for client in (cut, other))
            left = BITS
            for _ in range(4):
                if after_s:
                    yield sim.timer(after_s / 4.0)
                left = _check_left(first, left)
            first.close()
            _check_left(first, left)
            yield from _to_its_end(second)
            _begin(way, 1)
            yield from _to_its_end(self._opened(way, cut, BITS, number))
            return True

        (ended,) = sim.run(sim.with_deadline([process()], LONGEST_S))
        if ended is not True:
            where = f"after {self._one} that was cut at {after_s:g} s, others never end"
            raise broken("cut", where, "something held that `close` does not free")


def _begin(way: Way, num_clients: int) -> None:
    """Begin an edge round of the first `num_clients` clients."""
    way.begin_round(num_clients, math.inf, np.arange(num_clients))


def _to_its_end(upload: Upload) -> Process:
    if upload.granted is not None and not upload.granted.processed:
        yield upload.granted
    if not upload.done.processed:
        yield upload.done
    upload.close()


def _lasts_s(sim: Simulation, upload: Upload) -> Process:
    """How long an upload lasts once it is granted."""
    if upload.granted is not None:
        yield upload.granted
    granted_s = sim.now_s
    yield upload.done
    upload.close()
    return sim.now_s - granted_s


def _check_left(upload: Upload, before: float) -> float:
    """Bits that are left, which never rise."""
    left = upload.bits_left
    if not 0.0 <= left <= before:
        where = f"{left} of {BITS} bits are left, and {before} were before"
        raise broken("bits", where, "bits_left that is computed from another instant")
    return left
