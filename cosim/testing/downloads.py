"""Downloads: the laws of a downlink, download by download, whoever trains what."""

from collections.abc import Sequence

import numpy as np

from cosim.links.downlink import CellDownlink, Downlink
from cosim.links.payload import Payload
from cosim.links.uplink import Cell, Job, Upload
from cosim.simulation import Process, Simulation
from cosim.testing.laws import broken
from cosim.testing.names import check_names_of

NUM_VALUES = 1000
LONGEST_S = 1e6
"""Longest that a download of so few values may take by itself."""
CLIENTS = ("client-0000", "client-0001")


def check_downloads(downlink: Downlink) -> None:
    """Check the laws of downloads: whole and cut ones, alone and side by side.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    ends_s = _whole(downlink, NUM_VALUES)
    if downlink.takes_time != (ends_s > 0.0):
        where = f"takes_time is {downlink.takes_time}, and a download takes {ends_s:g} s"
        raise broken("declared", where, "a property that says something else than the links do")
    if not _whole(downlink, 2 * NUM_VALUES) >= ends_s:
        raise broken(
            "more bits", "twice the bits arrive earlier", "a rate that is asked for at another instant"
        )
    for share in (0.0, 0.3, 0.7):
        _cut(downlink, share * ends_s)
    _check_receiving(downlink, 0.5 * ends_s)


def _check_receiving(downlink: Downlink, after_s: float) -> None:
    """Check that a download that needs no grant gets bits beside another, if it does alone in that time."""
    alone, beside = (_received_bits(downlink, after_s, clients) for clients in (CLIENTS[:1], CLIENTS))
    if alone and all(alone) and beside and not all(beside):
        where = f"alone a download has got bits after {after_s:g} s, and beside another one has got none"
        raise broken("receiving", where, "a queue without `granted`, in which waiting is billed as receiving")


def _received_bits(downlink: Downlink, after_s: float, clients: Sequence[str]) -> list[float]:
    """What downloads that are opened together have got when they are cut, if they need no grant."""
    sim = Simulation(seed=1)
    link = _link(downlink, sim)

    def process() -> Process:
        _begun(link, clients)
        opened = [_opened(link, client, NUM_VALUES, 0) for client in clients]
        yield sim.timer(after_s)
        downloads = [download for download in opened if download is not None]
        for download in downloads:
            download.close()
        return [32.0 * NUM_VALUES - one.bits_left for one in downloads if one.granted is None]

    return sim.run(process()) if after_s else []


def _link(downlink: Downlink, sim: Simulation) -> CellDownlink:
    cell = Cell("edge-00", CLIENTS, np.full(len(CLIENTS), 100.0), np.full(len(CLIENTS), 0.2))
    link = downlink.links(sim, [cell])[0]
    check_names_of(type(link))
    return link


def _begun(link: CellDownlink, clients: Sequence[str]) -> None:
    """Let an edge round of so many of the first clients begin."""
    link.begin_round(len(clients), np.arange(len(clients)))


def _opened(link: CellDownlink, client: str, num_values: int, job: int) -> Upload | None:
    return link.open(client, Payload(num_values, 32 * num_values), Job(1, job, job))


def _to_its_end(download: Upload | None) -> Process:
    """Receive; all bits have come when it is done."""
    if download is None:
        return
    if download.granted is not None and not download.granted.processed:
        yield download.granted
    if not download.done.processed:
        yield download.done
    download.close()
    if download.bits_left != 0.0:
        where = f"{download.bits_left} bits are left when it is done"
        raise broken("bits", where, "bits_left that rounds, once `done` has come")


def _whole(downlink: Downlink, num_values: int) -> float:
    """When a download alone has arrived."""
    sim = Simulation(seed=1)
    link = _link(downlink, sim)

    def process() -> Process:
        _begun(link, CLIENTS[:1])
        download = _opened(link, CLIENTS[0], num_values, 0)
        if download is not None and download.bits_left != 32 * num_values:
            where = f"{download.bits_left} of {32 * num_values} bits are left when a download is opened"
            raise broken("bits", where, "a download that is opened with other bits than payload.bits")
        yield from _to_its_end(download)
        return sim.now_s

    (ended_s,) = sim.run(sim.with_deadline([process()], LONGEST_S))
    if not isinstance(ended_s, float):
        raise broken("whole", f"a download alone takes more than {LONGEST_S:g} s", "`done` that never comes")
    return ended_s


def _cut(downlink: Downlink, after_s: float) -> None:
    """Cut a download; its neighbour's goes on, and so does the client itself in its next job."""
    sim = Simulation(seed=1)
    link = _link(downlink, sim)

    def process() -> Process:
        _begun(link, CLIENTS)
        cut, other = (_opened(link, client, NUM_VALUES, 0) for client in CLIENTS)
        left = 32.0 * NUM_VALUES
        for _ in range(4):
            if after_s:
                yield sim.timer(after_s / 4.0)
            left = _check_left(cut, left)
        if cut is not None:
            cut.close()
        _check_left(cut, left)
        yield from _to_its_end(other)
        _begun(link, CLIENTS[:1])
        yield from _to_its_end(_opened(link, CLIENTS[0], NUM_VALUES, 1))
        return True

    (ended,) = sim.run(sim.with_deadline([process()], LONGEST_S))
    if ended is not True:
        where = f"after a download that was cut at {after_s:g} s, others never end"
        raise broken("cut", where, "something held that `close` does not free")


def _check_left(download: Upload | None, before: float) -> float:
    """Bits that are left, which never rise."""
    if download is None:
        return before
    left = download.bits_left
    if not 0.0 <= left <= before:
        where = f"{left} bits are left of a download, and {before} were before"
        raise broken("bits", where, "bits_left that is computed from another instant")
    return left
