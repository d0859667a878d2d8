"""Links as a user would write them, one in each form; used both ways."""

import math

import numpy as np

import cosim
from cosim.configuration import configuration, field, for_each, positive


@configuration
class Rates(cosim.Link):
    """One rate for everyone."""

    rate_bps: float = field(positive, default=1e5)

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [Steady(self.rate_bps) for _ in cells]


class Steady(cosim.CellLink):
    """Clients of a round differ by their places."""

    def __init__(self, rate_bps):
        self.rate_bps = rate_bps

    def rates_bps(self, sim, clients, job, tx_power_w):
        """A tenth less for each client of a higher number."""
        return self.rate_bps * 0.9 ** (np.array([int(name[-1]) for name in clients]) + job.number % 3)


class OneByOne(cosim.Link):
    """A rule for one client."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [OneByOneLink() for _ in cells]


class OneByOneLink(cosim.CellLink):
    """The last client is slow."""

    @for_each
    def rates_bps(self, sim, client, job, tx_power_w):
        """Its rate."""
        return 2e4 if client.endswith("4") else 1e5


class ByPower(cosim.Link):
    """In proportion to power."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [ByPowerLink() for _ in cells]


class ByPowerLink(cosim.CellLink):
    """1 Mbit/s at 1 W."""

    def rates_bps(self, sim, clients, job, tx_power_w):
        """Of all."""
        return 1e6 * tx_power_w


class ByPowerEach(cosim.Link):
    """The same."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [ByPowerEachLink() for _ in cells]


class ByPowerEachLink(cosim.CellLink):
    """1 Mbit/s at 1 W."""

    @for_each
    def rates_bps(self, sim, client, job, tx_power_w):
        """Of each."""
        return 1e6 * tx_power_w


class Fading(cosim.Link):
    """Rates that die away."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [FadingLink() for _ in cells]


class FadingLink(cosim.CellLink):
    """Each client begins with a rate of its own."""

    def course(self, client):
        """Of a client."""
        return Dying(5e4 * (1.0 + int(client[-1]) / 4.0))


class Dying(cosim.links.Course):
    """A rate that halves every second."""

    def __init__(self, first_bps):
        self.first_bps, self.per_s = first_bps, math.log(2.0)

    def bits(self, start_s, end_s):
        """Integral of the rate."""
        return self.first_bps / self.per_s * (math.exp(-self.per_s * start_s) - math.exp(-self.per_s * end_s))

    def end_s(self, start_s, bits):
        """Its inverse."""
        left = math.exp(-self.per_s * start_s) - bits * self.per_s / self.first_bps
        return -math.log(left) / self.per_s if left > 0.0 else math.inf


@configuration
class Shared(cosim.Link):
    """A cable for each cell that uploads share."""

    rate_bps: float = field(positive, default=2e5)

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [SharedLink(self.rate_bps) for _ in cells]


class SharedLink(cosim.CellLink):
    """Evenly: processor sharing."""

    def __init__(self, rate_bps):
        self.rate_bps = rate_bps

    def machine(self, sent):
        """One that holds what is left of each."""
        return Evenly(self.rate_bps, sent)


class Evenly(cosim.links.Machine):
    """Bits that are left, of which the least ends next."""

    def __init__(self, rate_bps, sent):
        super().__init__()
        self.rate_bps, self.sent, self.since_s, self.left = rate_bps, sent, 0.0, {}

    def change(self, now_s, starts, stops):
        """All have got as much since the last one."""
        least, is_due = min(self.left.values(), default=0.0), self.next_change_s <= now_s
        carried = (now_s - self.since_s) * self.rate_bps / max(1, len(self.left))
        for number in stops:
            self.left_bits[number] = max(0.0, self.left.pop(number) - carried)
        for number, bits in list(self.left.items()):
            if is_due and bits == least:
                del self.left[number]
                self.ends_s[number] = now_s
            else:
                self.left[number] = max(0.0, bits - carried)
        self.left.update({number: self.sent[number].payload.bits for number in starts})
        share_bps, self.since_s = self.rate_bps / max(1, len(self.left)), now_s
        self.next_change_s = now_s + min(self.left.values(), default=math.inf) / share_bps


class Ring(cosim.Link):
    """A token ring for each cell."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [RingLink() for _ in cells]


class RingLink(cosim.CellLink):
    """The client that holds the token sends."""

    def machine(self, sent):
        """The token, which goes around."""
        return Token(sent)


class Token(cosim.links.Machine):
    """It takes 10 us to the next place, if anything is to be sent; an upload goes at 200 kbit/s."""

    has_turns = True

    def __init__(self, sent):
        super().__init__()
        self.sent, self.waiting, self.at, self.holder, self.since_s = sent, {}, 0, None, 0.0

    def begin_round(self, num_clients, ends_s):
        """The token is at the first place."""
        self.at = 0

    def change(self, now_s, starts, stops):
        """An upload ends, or is stopped; others come to wait."""
        is_due, is_stopped = self.next_change_s <= now_s, self.holder in stops
        if is_stopped:
            left = self.sent[self.holder].payload.bits - 2e5 * (now_s - self.since_s)
            self.left_bits[self.holder] = max(0.0, left)
        elif is_due:
            self.ends_s[self.holder] = now_s
        if is_due or is_stopped:
            self.holder, self.next_change_s = None, math.inf
        for number in stops:
            if number in self.waiting:
                self.left_bits[number] = self.waiting.pop(number)
        self.waiting.update({number: self.sent[number].payload.bits for number in starts})
        self.is_settled = self.holder is not None or not self.waiting

    def end_instant(self, now_s):
        """The token goes to the next place at which an upload waits."""
        if self.holder is None and self.waiting:
            ahead = {number: (self.sent[number].place - self.at) % 1000 for number in self.waiting}
            self.holder = min(ahead, key=ahead.__getitem__)
            bits, self.at = self.waiting.pop(self.holder), self.sent[self.holder].place
            self.granted_s[self.holder] = self.since_s = now_s
            self.next_change_s = now_s + 1e-5 * ahead[self.holder] + bits / 2e5


class Line(cosim.Link):
    """One upload after the other."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [LineLink(sim) for _ in cells]


class LineLink(cosim.CellLink):
    """First come, first served; of those that come at one instant the first by name."""

    def __init__(self, sim):
        self.sim, self.free_s, self.waiting = sim, 0.0, []

    def open(self, client, payload, job, tx_power_w=None):
        """Behind those that came before, known when the instant is over."""
        upload = Waiting(self.sim, client, float(payload.bits))
        if not self.waiting:
            self.sim.end_of_instant().callbacks.append(self.deal)
        self.waiting.append(upload)
        return upload

    def deal(self, _event):
        """Give each its time; it is kept where a client leaves."""
        for upload in sorted(self.waiting, key=lambda own: own.client):
            start_s = max(self.free_s, self.sim.now_s)
            self.free_s = upload.begin(start_s)
        self.waiting = []


class Waiting(cosim.links.Upload):
    """An upload at 100 kbit/s when its time has come."""

    def __init__(self, sim, client, bits):
        self.sim, self.client, self.bits, self.start_s = sim, client, bits, math.inf
        self.granted, self.done, self.closed_s = sim.event(), sim.event(), None

    def begin(self, start_s):
        """Returns when it ends."""
        self.start_s = start_s
        self.sim.at(start_s).callbacks.append(lambda _: self.granted.succeed())
        end_s = start_s + self.bits / 1e5
        self.sim.at(end_s).callbacks.append(lambda _: self.done.succeed())
        return end_s

    @property
    def bits_left(self):
        """What has not been sent by now, or when it was closed."""
        if self.done.processed:
            return 0.0
        until_s = self.sim.now_s if self.closed_s is None else self.closed_s
        return min(self.bits, max(0.0, self.bits - 1e5 * max(0.0, until_s - self.start_s)))

    def close(self):
        """Note when."""
        self.closed_s = self.sim.now_s
