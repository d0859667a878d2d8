"""A user's own part in each form of each port that has forms; most are small."""

from functools import partial

import torch

import cosim
from cosim.configuration import configuration, for_each
from cosim.radio.redrawn import Redrawn
from cosim.radio.sharing.division import Division
from cosim.radio.sharing.port import Band
from cosim.radio.sharing.redivided import RedividedBand
from cosim.radio.sharing.shares import FixedBand
from cosim.training.programs.descents import SgdStep
from cosim.training.programs.sgd import SgdProgram


@configuration
class Pair(cosim.waiting.Waiting):
    """A rule with numbers: two updates."""

    @property
    def num_wanted(self):
        return 2


class Chorus(cosim.Link):
    """All clients of a cell send together."""

    def of_cells(self, sim, cells):
        return [ChorusLink() for _ in cells]


class ChorusLink(cosim.CellLink):
    """At 100 kbit/s."""

    def airtime_s(self, payload):
        return payload.bits / 1e5


class ByJob(Redrawn):
    """Numbers: a block for every second job."""

    def of_job(self, job):
        return (job.number // 2,)


class ByClock(Redrawn):
    """A course: blocks of 3 ms."""

    def at(self, now_s):
        return (int(now_s / 3e-3 + 1e-9),)

    def end_s(self, block):
        return (block[0] + 1) * 3e-3

    def after(self, block):
        return (block[0] + 1,)


class Halves(FixedBand):
    """Half a share for each."""

    def steady_hz(self, num_clients):
        return 0.5 * super().steady_hz(num_clients)


class Sums(Band):
    """All at once, by the bits."""

    def share_hz(self, num_clients):
        return 1e5

    def airtime_s(self, payload):
        return payload.bits / 1e5


class Narrow(RedividedBand):
    """A machine of ours in half of the band."""

    def machine(self, senders):
        return Division(lambda num: 0.5 * self.share_hz(num), senders)


class Alone(Band):
    """By events: each as if it were alone, at half the rate."""

    def __init__(self, sim, bandwidth_hz):
        self.sim, self.bandwidth_hz = sim, bandwidth_hz

    def share_hz(self, num_clients):
        return self.bandwidth_hz

    def open(self, client, channel, payload, block):
        return cosim.links.SteadyUpload(
            self.sim, 2 * payload.bits, channel.rate_bps(self.bandwidth_hz, block)
        )


@configuration
class OwnShares(cosim.FixedShares):
    """A band by its name."""

    band: str = "Halves"

    def bands(self, sim, num_cells):
        make = {
            "Halves": lambda: Halves(self.bandwidth_hz),
            "Sums": Sums,
            "Narrow": lambda: Narrow(self.bandwidth_hz),
            "Alone": lambda: Alone(sim, self.bandwidth_hz),
        }
        return [make[self.band]() for _ in range(num_cells)]


@configuration
class Five(cosim.training.LocalSteps):
    """The same for all."""

    @property
    def of_all(self):
        return 5


@configuration
class ByNumber(cosim.training.LocalSteps):
    """Each its own."""

    @for_each
    def of_clients(self, sim, client, job, batch_size, step_s):
        return 1 + client.number


@configuration
class InOrder(cosim.queues.Discipline):
    """As the port has it."""


@configuration
class Plain(cosim.server_updates.ServerUpdate):
    """The mean."""


@configuration
class FirstMost(cosim.server_updates.ServerUpdate):
    """Weights."""

    def weights(self, updates):
        return [3.0] + [1.0] * (len(updates) - 1)


@configuration
class OnlyOne(cosim.server_updates.ServerUpdate):
    """A mean of its own."""

    def mean_of(self, model, updates):
        return super().mean_of(model, updates[:1])


@configuration
class Twice(cosim.server_updates.ServerUpdate):
    """A step."""

    def step(self, server):
        for name, mean in server.mean.items():
            server.model[name] += 2.0 * (mean - server.model[name])


@configuration
class Stays(cosim.server_updates.ServerUpdate):
    """A way of its own."""

    def moved(self, model, mean, state, key):
        return model, None


class Idle(cosim.training.LocalTraining):
    """One by one: leaves the network alone."""

    def train(self, client):
        return None


class Halved(cosim.Sgd):
    """Together: half as fast."""

    def program(self):
        return SgdProgram(partial(SgdStep, rate=0.5 * self.learning_rate))


@configuration
class Hits(cosim.tasks.Classification):
    """Cross entropy: another score."""

    def measures(self):
        return {"hits": cosim.records.Measure("hits", higher_is_better=True)}

    def sums(self, outputs, targets):
        return {"hits": 2.0 * (outputs.argmax(1) == targets).sum()}


@configuration
class Squared(cosim.tasks.Classification):
    """A loss of its own."""

    def loss(self, outputs, targets):
        return 0.5 * torch.nn.functional.cross_entropy(outputs, targets)


@configuration
class Short(cosim.codecs.Codec):
    """Values as they are, and fewer bits."""

    def bits(self, num_values):
        return 3.0 * num_values


@configuration
class Steps(cosim.codecs.Codec):
    """Signs."""

    def bits(self, num_values):
        return num_values

    @property
    def step(self):
        return 1e-2


@configuration
class Row(cosim.codecs.Codec):
    """Half of it arrives."""

    def bits(self, num_values):
        return 16.0 * num_values

    def arrived(self, change_D, generator):
        return 0.5 * change_D


@configuration
class Hot(cosim.devices.Processor):
    """Twice as long."""

    def duration_s(self, sim, clients, jobs):
        return 2.0 * jobs.cycles / jobs.frequency_hz
