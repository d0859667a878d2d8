"""Uploads: the laws of an uplink, upload by upload, whoever trains what."""

import math

import numpy as np

from cosim.links.payload import Payload
from cosim.links.uplink import Cell, Job, Link, Uplink, Upload
from cosim.simulation import Dropped, Process, Simulation
from cosim.testing.laws import broken
from cosim.testing.names import check_names_of

NUM_VALUES = 1000
BITS = 32.0 * NUM_VALUES
NUM_JOBS = 5
"""Jobs of which is tried what is known beforehand."""
ROUNDING, MOST_ERROR = 1e-6, 10.0
"""By which an upload may last longer or shorter than what is known exactly, and with errors."""
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
    _check_known(uplink)
    if not _whole(uplink, 2.0 * BITS) >= ends_s:
        raise broken(
            "more bits", "twice the bits arrive earlier", "a rate that is asked for at another instant"
        )
    number = next((number for number in range(20) if _both_arrive(uplink, number)), None)
    if number is not None:  # else a link that loses nearly all
        for share in (0.0, 0.3, 0.7):
            _cut(uplink, share * ends_s, number)
        _check_sending(uplink, 0.5 * ends_s, number)


def _link(uplink: Uplink, sim: Simulation, num_clients: int) -> tuple[Link, tuple[str, ...]]:
    names = tuple(f"client-{number:04d}" for number in range(num_clients))
    near_m, power_w = np.full(num_clients, 100.0), np.full(num_clients, 0.2)
    link = uplink.links(sim, [Cell("edge-00", names, near_m, power_w)])[0]
    check_names_of(type(link))
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
        _check_all_left(upload, bits)
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


def _check_all_left(upload: Upload, bits: float) -> None:
    """Check that nothing has been sent of an upload that has just been opened."""
    check_names_of(type(upload))
    if upload.bits_left != bits:
        where = f"{upload.bits_left} of {bits} bits are left when an upload is opened"
        raise broken("bits", where, "an upload that is opened with other bits than payload.bits")


def _check_known(uplink: Uplink) -> None:
    """Check that what is known beforehand of an upload alone is how long it takes.

    It may differ by errors of what is known, and by what changes meanwhile; these vary with the seed.
    """
    factors = []
    for number in range(NUM_JOBS):
        sim = Simulation(seed=number)
        link, (client,) = _link(uplink, sim, 1)
        if link.known is None:
            return
        job = Job(1 + number, 0, number)
        known_s = link.known.upload_s(client, Payload(NUM_VALUES, BITS), 0.2, 1, job)
        (lasted_s,) = sim.run(sim.with_deadline([_sends(sim, link, client, job)], LONGEST_S))
        if isinstance(lasted_s, float):
            factors.append(lasted_s / known_s if known_s > 0.0 else math.inf)
    if len(factors) < 2:
        return
    middle = sorted(factors)[len(factors) // 2]
    is_constant = max(factors) <= min(factors) * (1.0 + ROUNDING)
    if not 1.0 / MOST_ERROR <= middle <= MOST_ERROR or (is_constant and abs(middle - 1.0) > ROUNDING):
        where = f"an upload alone takes {middle:g} times as long as upload_s says that it will"
        raise broken("known", where, "another unit, or another share of the band than `open` gives")


def _sends(sim: Simulation, link: Link, client: str, job: Job) -> Process:
    """How long an upload lasts once it is granted."""
    upload = link.open(client, Payload(NUM_VALUES, BITS), 0.2, job)
    if upload.granted is not None:
        yield upload.granted
    granted_s = sim.now_s
    yield upload.done
    upload.close()
    return sim.now_s - granted_s


def _check_sending(uplink: Uplink, after_s: float, number: int) -> None:
    """Check that an upload that needs no grant sends beside others, if it does alone in the same time."""
    alone, beside = (_sent_bits(uplink, after_s, number, num_clients) for num_clients in (1, 3))
    if alone and all(alone) and beside and not all(beside):
        where = f"alone an upload has sent bits after {after_s:g} s, and beside two others one has sent none"
        raise broken("sending", where, "a queue without `granted`, in which waiting is billed as sending")


def _sent_bits(uplink: Uplink, after_s: float, number: int, num_clients: int) -> list[float]:
    """What uploads that are opened together have sent when they are cut, if they need no grant."""
    sim = Simulation(seed=1)
    link, clients = _link(uplink, sim, num_clients)

    def process() -> Process:
        uploads = [_opened(link, client, BITS, number) for client in clients]
        yield sim.timer(after_s)
        sending = [upload for upload in uploads if upload.granted is None and not link.sends_while_queued]
        for upload in uploads:
            upload.close()
        return [BITS - upload.bits_left for upload in sending]

    return sim.run(process())


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
