"""Uploads: the laws of an uplink, upload by upload, whoever trains what."""

import math

import numpy as np

from cosim.links.payload import Payload
from cosim.links.uplink import Cell, Job, Link, Uplink, Upload
from cosim.simulation import Dropped, Process, Simulation
from cosim.testing.laws import broken

NUM_VALUES = 1000
BITS = 32.0 * NUM_VALUES
LONGEST_S = 1e6
"""Longest that an upload of so few bits may take by itself; links that lose uploads take for ever."""


def check_uploads(uplink: Uplink) -> None:
    """Check the laws of uploads: whole and cut ones, alone and side by side.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    ends_s = _whole(uplink, BITS)
    if ends_s == math.inf:
        return  # a link that loses updates has lost this one
    if not _whole(uplink, 2.0 * BITS) >= ends_s:
        raise broken(
            "more bits", "twice the bits arrive earlier", "a rate that is asked for at another instant"
        )
    number = next((number for number in range(20) if _both_arrive(uplink, number)), None)
    if number is not None:  # else a link that loses nearly all
        for share in (0.0, 0.3, 0.7):
            _cut(uplink, share * ends_s, number)


def _link(uplink: Uplink, sim: Simulation, num_clients: int) -> tuple[Link, tuple[str, ...]]:
    names = tuple(f"client-{number:04d}" for number in range(num_clients))
    near_m, power_w = np.full(num_clients, 100.0), np.full(num_clients, 0.2)
    link = uplink.links(sim, [Cell("edge-00", names, near_m, power_w)])[0]
    link.begin_round(num_clients, math.inf)
    return link, names


def _opened(link: Link, client: str, bits: float, number: int = 0) -> Upload:
    return link.open(client, Payload(bits / 32.0, bits), 0.2, Job(1, 0, number))


def _both_arrive(uplink: Uplink, number: int) -> bool:
    """Whether the uploads of two clients arrive in a job."""
    sim = Simulation(seed=1)
    link, clients = _link(uplink, sim, 2)
    uploads = [_opened(link, client, BITS, number) for client in clients]
    ended = sim.run(sim.with_deadline([_sent(upload) for upload in uploads], LONGEST_S))
    return not any(isinstance(outcome, Dropped) for outcome in ended)


def _whole(uplink: Uplink, bits: float) -> float:
    """When an upload alone has arrived; infinite where it never does."""
    sim = Simulation(seed=1)
    link, (client,) = _link(uplink, sim, 1)

    def process() -> Process:
        upload = _opened(link, client, bits)
        _check_left(upload, bits, bits)
        if upload.granted is not None:
            yield upload.granted
        _check_left(upload, bits, bits)
        yield upload.done
        ended_s = sim.now_s
        upload.close()
        if upload.bits_left != 0.0:
            where = f"{upload.bits_left} of {bits} bits are left when it is done"
            raise broken("bits", where, "bits_left that rounds, once `done` has come")
        return ended_s

    (ended_s,) = sim.run(sim.with_deadline([process()], LONGEST_S))
    return ended_s if isinstance(ended_s, float) else math.inf


def _cut(uplink: Uplink, after_s: float, number: int) -> None:
    """Cut an upload, and let its neighbour and itself send on."""
    sim = Simulation(seed=1)
    link, (cut, other) = _link(uplink, sim, 2)

    def process() -> Process:
        first, second = (_opened(link, client, BITS, number) for client in (cut, other))
        left = BITS
        for _ in range(4):
            if after_s:
                yield sim.timer(after_s / 4.0)
            left = _check_left(first, left, BITS)
        first.close()
        _check_left(first, left, BITS)
        yield from _sent(second)
        link.begin_round(1, math.inf)
        yield from _sent(_opened(link, cut, BITS, number))
        return True

    (ended,) = sim.run(sim.with_deadline([process()], LONGEST_S))
    if ended is not True:
        where = f"after an upload that was cut at {after_s:g} s, others never end"
        raise broken("cut", where, "something held that `close` does not free")


def _sent(upload: Upload) -> Process:
    if upload.granted is not None and not upload.granted.processed:
        yield upload.granted
    if not upload.done.processed:
        yield upload.done
    upload.close()


def _check_left(upload: Upload, before: float, bits: float) -> float:
    """Bits that are left, which never rise."""
    left = upload.bits_left
    if not 0.0 <= left <= before:
        where = f"{left} of {bits} bits are left, and {before} were before"
        raise broken("bits", where, "bits_left that is computed from another instant")
    return left
