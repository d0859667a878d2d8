"""On arrays: an edge round as a recurrence, bit for bit the same as by events.

A download ends where its link says, a training cycles / frequency later, an upload where its link says or
where it is given up; clients that have not ended with the round are cut. The instants are the same as in
`Client` and `Simulation.spend`, in their order. What happened is told to the recorder when the round is over.

Scope and limitations: all participants train and send the same, but for their cycles, without energy budgets.
Uploads are given up on links where that changes no other (`CellLink.stands_alone`).
"""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import NEVER_SHORT_S, any_is_short, deadline_after, instant_after, is_short
from cosim.clock.simulation import Interrupt, Process, Simulation, impossible, reason_of
from cosim.clock.small_arrays import are_all, filled, least_of, most_of
from cosim.engine.clients.efforts import effort_of, sending_w
from cosim.engine.clients.fleet import Clients
from cosim.engine.rounds import by_events
from cosim.engine.rounds.edge_round import EdgeRound, Ending, at_least, ending_of
from cosim.jobs.job import Job, Places
from cosim.jobs.payload import Payload
from cosim.links.upload import Uploads
from cosim.links.way import Way
from cosim.recording.told_round import Carried, Cut, Spent, ToldRound
from cosim.records.rows import DOWN, UP, WAIT
from cosim.values.pending import PendingUpdate

if TYPE_CHECKING:
    from cosim.engine.servers.edge import EdgeServer


def run_round(sim: Simulation, edge: "EdgeServer", asked: EdgeRound) -> Process:
    """Let the time of a round pass; returns the past round and its updates, none if nothing is learned."""
    times, work = _times(sim, edge, asked), asked.work
    if times is None:
        return (yield from by_events.run_round(sim, edge, asked))
    clients = asked.clients
    rest = sim.recorder.begin_round(clients.which, times.start_s, times.ends_s)
    updates: dict[int, PendingUpdate] = {}
    if edge.learns:
        places = np.flatnonzero(times.has_trained).tolist()
        updates = {place: work.request(sim, clients[place], work) for place in places}
    least_s, over_s = asked.waiting.least_s, float(times.ending.end_s)
    try:
        if least_s and times.clock_s > sim.now_s:
            yield sim.at(times.clock_s)
        yield from at_least(sim, edge.name, least_s, _until(sim, over_s))
    except Interrupt as cut:
        times.cut(sim.now_s, reason_of(cut).reason)
        _end(sim, edge.name, asked, times, rest, updates)
        raise
    _end(sim, edge.name, asked, times, rest, updates)
    counts = times.ending.counts
    arrived = [updates[place] for place in np.flatnonzero(counts).tolist()] if updates else []
    return asked.over(times.start_s, times.ends_s, counts), arrived


def _end(
    sim: Simulation,
    edge: str,
    asked: EdgeRound,
    times: "RoundTimes",
    rest: Mapping[str, float],
    updates: Mapping[int, PendingUpdate],
) -> None:
    """Tell what has happened, and keep what the trainings leave that have ended."""
    sim.recorder.end_round(_told(edge, asked, times, rest), sim.now_s)
    for place in np.flatnonzero(times.has_trained).tolist() if updates else ():
        asked.clients[place].keep(updates[place])


def _until(sim: Simulation, time_s: float) -> Process:
    yield sim.event() if time_s == math.inf else sim.at(time_s)


@attrs.define(eq=False)
class RoundTimes:
    """The times of an edge round that has begun; arrays have shape (participants,).

    Attributes:
        start_s: When it began.
        clock_s: When its clock starts, from which the rule of waiting counts.
        received: What each would receive first. None means that models are there at once.
        begins_s: When each would begin its training.
        trained_s: When each would end it.
        train_w: Power of each meanwhile.
        send_w: Power of each while it sends.
        uploads: What each would send then.
        gives_up_s: When each gives its upload up. None means never.
        ending: How the round ends.
        closes: When uploads are closed that have not ended.
        ends_s: When each has ended, or is cut.
    """

    start_s: float
    clock_s: float
    received: Uploads | None
    begins_s: NDArray[np.float64]
    trained_s: NDArray[np.float64]
    train_w: NDArray[np.float64]
    send_w: NDArray[np.float64]
    uploads: Uploads
    gives_up_s: NDArray[np.float64] | None
    ending: Ending
    closes: Cut = attrs.field(init=False)
    ends_s: NDArray[np.float64] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        (end_s, _, reason), gives_up_s = self.ending, self.gives_up_s
        if gives_up_s is None:
            self.closes = Cut(end_s, reason)
        else:
            self.closes = Cut(
                np.minimum(gives_up_s, end_s),
                reason,
                (gives_up_s <= end_s) & (gives_up_s < self.uploads.ends_s),
            )
        self.ends_s = np.minimum(self.uploads.ends_s, self.closes.at_s)

    def cut(self, now_s: float, reason: str) -> None:
        """Note that the round is cut from outside, perhaps after its clients have ended."""
        end_s, _, own_reason = self.ending
        end_s, reason = (now_s, reason) if now_s < end_s else (end_s, own_reason)
        self.ending = self.ending._replace(end_s=end_s, reason=reason)
        self.__attrs_post_init__()
        self.ending = self.ending._replace(counts=self.uploads.ends_s <= self.closes.at_s)

    @property
    def has_trained(self) -> NDArray[np.bool_]:
        """Whose training ends with the round or before."""
        return self.trained_s <= self.ending.end_s


def _times(sim: Simulation, edge: "EdgeServer", asked: EdgeRound) -> RoundTimes | None:
    """Times of a round that begins now; None if a link needs events."""
    work, waiting, clients, now_s = asked.work, asked.waiting, asked.clients, sim.now_s
    link, job, num, places = work.route.uplink, work.job, len(clients), clients.places_in(edge.clients)
    clock_s, begin_s, received = now_s, now_s, None
    if work.route.downlink is not None:
        received = downloads_of(work.route.downlink, now_s, places, clients, work.download, job)
        if received is None:
            return None
        begin_s = received.ends_s
        if edge.receives_first:
            clock_s = begin_s = float(received.ends_s.max(initial=now_s))
    link.begin_round(num, deadline_after(clock_s, waiting.deadline_s), places)
    begins_s = begin_s if isinstance(begin_s, np.ndarray) else filled(num, begin_s)
    lasts_s, train_w = effort_of(sim, clients, job, begins_s, np.asarray(asked.each["cycles"]))
    if not (least_of(lasts_s) >= 0.0 and most_of(lasts_s) < math.inf):
        _check_each(clients, "train", lambda: lasts_s, (lasts_s >= 0.0) & (lasts_s < math.inf))
    if any_is_short(begins_s, lasts_s):
        return None
    trained_s = instant_after(begin_s, lasts_s)
    devices, which = clients.fleet.devices, clients.which
    tx_power_w = sending_w(sim, clients, job, trained_s, work.payload.bits)
    send_w = devices.tx_power_w[which] if tx_power_w is None else tx_power_w
    send_w = send_w + devices.static_power_w[which]
    uploads = link.uploads(places, trained_s, work.payload, job, tx_power_w)
    if uploads is None or not _are_long(clients, "send", trained_s, uploads, work.payload.bits):
        return None
    gives_up_s = (
        None if waiting.upload_deadline_s is None else deadline_after(trained_s, waiting.upload_deadline_s)
    )
    ending = ending_of(waiting, clock_s, uploads.ends_s, gives_up_s)
    powers = train_w, send_w
    return RoundTimes(now_s, clock_s, received, begins_s, trained_s, *powers, uploads, gives_up_s, ending)


def _told(edge: str, asked: EdgeRound, times: RoundTimes, rest: Mapping[str, float]) -> ToldRound:
    """The past activities of each client: wait, receive, train, wait, send."""
    work, clients, (end_s, counts, reason) = asked.work, asked.clients, times.ending
    which, with_round, of_uploads = clients.which, Cut(end_s, reason), times.closes
    devices, spans, transfers = clients.fleet.devices, [], []
    if (received := times.received) is not None:
        opens_s = filled(len(clients), times.start_s)
        begins_s = opens_s if received.granted_s is None else received.granted_s
        if received.granted_s is not None:
            spans.append(Spent(WAIT, opens_s, begins_s, devices.idle_w[which], with_round))
        receive_w = devices.receive_w[which] + devices.static_power_w[which]
        spans.append(Spent("receive", begins_s, received.ends_s, receive_w, with_round))
        transfers.append(Carried(DOWN, opens_s, received, int(work.download.bits), with_round))
    spans.append(Spent("train", times.begins_s, times.trained_s, times.train_w, with_round))
    uploads, sends_s = times.uploads, times.trained_s
    if uploads.granted_s is not None:
        sends_s = uploads.granted_s
        spans.append(Spent(WAIT, times.trained_s, sends_s, devices.idle_w[which], of_uploads))
    spans.append(Spent("send", sends_s, uploads.ends_s, times.send_w, of_uploads))
    transfers.append(Carried(UP, times.trained_s, uploads, int(work.payload.bits), of_uploads))
    ends = end_s, times.ends_s, counts, of_uploads
    return ToldRound(clients, edge, work.job, times.start_s, *ends, spans, transfers, rest)


def downloads_of(
    downlink: Way, now_s: float, places: Places, clients: Clients, payload: Payload, job: Job
) -> Uploads | None:
    """Downloads of an edge round that begins now, as arrays; None if it needs events.

    Args:
        places: Of the participants among the clients of the cell.
    """
    downlink.begin_round(len(clients), math.inf, places)
    opens_s = filled(len(clients), now_s)
    downloads = downlink.uploads(places, opens_s, payload, job)
    if downloads is None or not _are_long(clients, "receive", opens_s, downloads, payload.bits):
        return None
    return downloads


def _are_long(
    clients: Clients, activity: str, opens_s: NDArray[np.float64], way: Uploads, bits: float
) -> bool:
    """True if no upload or download is too short for the clock; by events it is refused when it happens.

    Raises:
        ConfigurationError: One goes back in time, as the clock says it.
    """
    begins_s, ends_s = opens_s if way.granted_s is None else way.granted_s, way.ends_s
    if way.granted_s is not None:
        _check_each(clients, "wait", lambda: begins_s - opens_s, begins_s >= opens_s)
    is_far = ends_s >= begins_s + NEVER_SHORT_S
    if are_all(is_far):
        return True
    _check_each(clients, activity, lambda: ends_s - begins_s, ends_s >= begins_s)
    lasts_s = ends_s[~is_far] - begins_s[~is_far]
    is_lost = way.takes_time and bits > 0.0 and not lasts_s.all()
    return not (is_lost or is_short(begins_s[~is_far], lasts_s).any())


def _check_each(
    clients: Clients, activity: str, lasts_s: Callable[[], NDArray[np.float64]], fits: NDArray[np.bool_]
) -> None:
    """Refuse durations that do not fit, as `Simulation.spend` does."""
    if not are_all(fits):
        place = int(fits.argmin())
        raise impossible(clients.names[place], activity, lasts_s().item(place))
