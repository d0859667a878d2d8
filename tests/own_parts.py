"""A user's own parts, one of each kind that the documentation knows, most without fields of their own.

Each does something that its base does not, so that a run that plays the base is another run.
"""

import attrs
import numpy as np
from sklearn.metrics import cohen_kappa_score
from torch import nn

import cosim
from cosim.clock.draws import uniforms
from cosim.configuration import at_least, between, configuration, field, for_each, positive
from cosim.ends.port import Counted
from cosim.papers.rawhfl.plans import exact
from cosim.papers.rawhfl.plans.common_steps import without_stragglers
from cosim.queues.port import Queue
from cosim.values.submodels import proportional_counts


class Fastest(cosim.selection.SomeClients):
    """A cell's fastest clients; no decorator, no fields."""

    def participants(self, sim, edge, coming):
        """The fastest, in an order that the engine has to mend."""
        return sorted(edge.clients, key=lambda client: -client.device.frequency_hz)[: self.num_participants]


@configuration
class Patient(cosim.Selection):
    """Waits before every edge round."""

    def participants(self, sim, edge, coming):
        """Everyone, a second later."""
        yield from sim.spend(edge.name, "idle", 1.0)
        return edge.clients


@configuration
class Hardest(cosim.selection.SomeClients):
    """Those whose samples the model fits worst."""

    def participants(self, sim, edge, coming):
        """The largest losses."""
        losses = coming.losses(edge.clients)
        worst = np.argsort(-losses, kind="stable")[: self.num_participants]
        return [edge.clients[number] for number in worst]


class Nobody(cosim.selection.SomeClients):
    """Never chooses."""

    def participants(self, sim, edge, coming):
        """Nobody."""
        return ()


class Constant(cosim.Link):
    """A way of one rate for everybody."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [ConstantLink(sim, 1e5) for _ in cells]


class Calm(cosim.PublicNetwork):
    """A network without a queue."""

    def of_cells(self, sim, cells):
        """The link of each cell."""
        return [ConstantLink(sim, 2e5) for _ in cells]


class ConstantLink(cosim.CellLink):
    """Sends at one rate."""

    def __init__(self, sim, rate_bps):
        self.sim, self.rate_bps = sim, rate_bps

    def open(self, client, payload, job, tx_power_w=None):
        """Begin."""
        return cosim.links.SteadyUpload(self.sim, payload.bits, self.rate_bps)


class Noise(cosim.Digits):
    """Digits whose pixels say nothing."""

    def load(self, sim, data_dir):
        """Labels of the digits, pixels of a stream."""
        found = super().load(sim, data_dir)
        drawn = sim.stream("cloud", "noise").standard_normal(found.train_x.shape)
        return attrs.evolve(found, train_x=drawn.astype(np.float32))


class FirstCome(cosim.data.Split):
    """Equal parts in the order of the data set."""

    def deal(self, sim, dataset, cell_sizes):
        """Cuts."""
        return np.array_split(np.arange(len(dataset.train_y)), sum(cell_sizes))


def faded(data_dir):
    """The digits with half of their contrast."""
    found = cosim.Digits().load(cosim.Simulation(1), data_dir)
    return (found.train_x / 2, found.train_y), (found.test_x / 2, found.test_y)


@configuration
class Guesses(cosim.tasks.Classification):
    """Smoothed labels; how often one of a few guesses is right."""

    smoothing: float = field(between(0.0, 1.0), default=0.2)
    num_guesses: int = field(at_least(1), default=2)

    def loss(self, outputs, targets):
        """Cross entropy of smoothed labels."""
        return nn.functional.cross_entropy(outputs, targets, label_smoothing=self.smoothing)

    def measures(self):
        """A column whose name follows the field."""
        words = f"top-{self.num_guesses} accuracy"
        return {
            f"top{self.num_guesses}_accuracy": cosim.records.Measure(
                words, higher_is_better=True, is_share=True
            )
        }

    def sums(self, outputs, targets):
        """Samples whose class is among the guesses."""
        (column,) = self.measures()
        return {column: (outputs.topk(self.num_guesses).indices == targets[:, None]).sum()}


class Rested(cosim.HFedAvg):
    """Federated averaging that rests first."""

    def play(self, sim, cloud):
        """As its base, after a rest."""
        yield from sim.spend(cloud.name, "idle", 3.0)
        return (yield from super().play(sim, cloud))


@configuration
class Slow(cosim.queues.Exponential):
    """A service law with a field of its own."""

    factor: float = field(positive, default=3.0)

    def draw(self, rng, count):
        """Longer services."""
        return self.factor * super().draw(rng, count)


@configuration
class Grace(cosim.waiting.Waiting):
    """The first, and who comes shortly after it."""

    grace_s: float = field(positive, default=1e-4)

    def wait(self, sim, edge, jobs):
        """In two steps."""
        yield from jobs.wait(num_arrived=1)
        yield from jobs.wait(within_s=self.grace_s)
        return (yield from jobs.cut("late"))


@configuration
class Budget(cosim.ends.End):
    """So many updates that have arrived."""

    num_updates: int = field(at_least(1), default=17)

    def counted(self, progress):
        """Those."""
        return Counted(progress.num_updates, self.num_updates, "updates")


class Even(cosim.ends.EvaluationTimes):
    """Every other version."""

    def is_due(self, progress, last):
        """By the number of the version."""
        return progress.version % 2 == 0


class LargeFirst(cosim.protocols.SubmodelSizes):
    """Three quarters of the units in the first of two cells."""

    def counts(self, cloud, training, global_round):
        """By fractions."""
        return proportional_counts(cloud.shape.num_units, (0.75, 0.25))


class PerCell(cosim.queues.Paths):
    """One queue for the clients of each cell."""

    def stations(self, cells):
        """Named as their servers."""
        return {client: cell.edge for cell in cells for client in cell.clients}


@configuration
class RushHour(cosim.queues.Start):
    """The same work for every queue."""

    work_s: float = field(positive, default=2.0)

    def draw_work_s(self, load, service, rng):
        """Whatever the load."""
        return self.work_s


class LastComeFirstServed(cosim.queues.Discipline):
    """Who has come last."""

    def queue(self):
        """A stack."""
        return Stack()


class Stack(Queue):
    """Packets, the last on top."""

    def __init__(self):
        self.waiting = []

    def enter(self, packet):
        """On top."""
        self.waiting.append(packet)

    def next(self, now_s):
        """From the top."""
        return self.waiting.pop() if self.waiting else None


class Sparing(cosim.papers.Solver):
    """One step at most of what is optimal."""

    def solve_for(self, cell):
        """Fewer steps than the optimum."""

        def solve(problem):
            plan = exact.plan(problem)
            return attrs.evolve(plan, num_steps=np.minimum(plan.num_steps, 1))

        return solve


class Rough(cosim.papers.CommonSteps):
    """A policy."""

    def solver_for(self, cell):
        """Fewer steps than its base gives."""

        def solve(problem):
            plan = without_stragglers(problem)
            return attrs.evolve(plan, num_steps=np.minimum(plan.num_steps, 1))

        return solve


class Listed(cosim.devices.Devices):
    """A table of devices, in turns."""

    def of_clients(self, sim, cell_sizes):
        """Fast and loud, slow and quiet, and a law of its own for the third."""
        rows = ((3e9, 0.2, None), (5e8, 0.05, None), (1e9, 0.1, Halting()))
        table = []
        for hz, watts, law in rows:
            numbers = {"frequency_hz": hz, "capacitance_j_per_hz2": 1e-28, "tx_power_w": watts}
            table.append(cosim.devices.Device(**numbers, training_time=law))
        return [table[number % 3] for number in range(sum(cell_sizes))]


@configuration
class Throttled(cosim.devices.Processor):
    """Half as fast from an instant on, and slower after every job."""

    reads_history = True
    hot_from_s: float = field(positive, default=5e-3)

    def frequency_hz(self, sim, clients, jobs):
        """By the instant and by what was before."""
        hot = np.where(jobs.begins_s < self.hot_from_s, 1.0, 0.5)
        return hot * jobs.frequency_hz / (1.0 + 0.1 * jobs.history.num_jobs)


@configuration
class Fractional(cosim.devices.PowerControl):
    """Makes up for half of a path loss that grows with the fourth power of the distance."""

    full_at_m: float = field(positive, default=500.0)

    def power_w(self, sim, clients, jobs):
        """By the distance."""
        return jobs.power_w * (jobs.distance_m / self.full_at_m) ** 2


@configuration
class Frugal(cosim.selection.SomeClients):
    """Those that have taken the least energy so far."""

    reads_history = True

    def participants(self, sim, edge, coming):
        """By their histories."""
        order = np.argsort(coming.history(coming.clients).energy_j, kind="stable")
        return coming.clients.some(order[: self.num_participants])


class Halting(cosim.devices.TrainingTime):
    """Halts for a while, now and then."""

    def training_s(self, sim, clients, job, planned_s):
        """The planned time, and 10 ms for half of the jobs."""
        drawn = sim.of_clients(clients, "training time", uniforms, job.number)
        return planned_s + np.where(drawn < 0.5, 0.01, 0.0)


class Largest(cosim.codecs.Codec):
    """The largest quarter of a change; the rest goes with the next."""

    keeps_state = True

    def bits(self, num_values):
        """32 of each that is sent, and one that says whether it is."""
        return 9.0 * num_values

    def transmit(self, sent):
        """What is left out is kept."""
        left = {}
        for name, values in sent.change.items():
            values += sent.state.get(name, 0.0)
            most = values.abs().flatten().sort(descending=True).values[values.numel() // 4]
            left[name] = values * (values.abs() <= most)
            values -= left[name]
        return left


class Layered(cosim.devices.Cycles):
    """Cycles by the samples and the operations, twice as many for odd clients."""

    @for_each
    def of_clients(self, sim, client, step):
        """The cost of a client's step."""
        factor = 1.0 + int(client[-4:]) % 2
        return factor * step.fraction * (1e4 * step.batch_size + step.sample_flops())


@configuration
class CableDown(cosim.Link):
    """A cable to each client."""

    rate_bps: float = field(positive, default=1e6)

    def of_cells(self, sim, cells):
        """The downlink of each cell."""
        return [CableDownLink(sim, self.rate_bps) for _ in cells]


class CableDownLink(cosim.CellLink):
    """Delivers at one rate."""

    def __init__(self, sim, rate_bps):
        self.sim, self.rate_bps = sim, rate_bps

    def open(self, client, payload, job, tx_power_w=None):
        """Begin."""
        return cosim.links.SteadyUpload(self.sim, payload.bits, self.rate_bps)


class Broadcast(cosim.Link):
    """One download for all clients of a cell that want the same."""

    def of_cells(self, sim, cells):
        """The downlink of each cell."""
        return [BroadcastLink(sim) for _ in cells]


class BroadcastLink(cosim.CellLink):
    """At 1 Mbit/s, once for each job."""

    def __init__(self, sim):
        self.sim, self.begun = sim, {}

    def open(self, client, payload, job, tx_power_w=None):
        """Listen to what the first has begun."""
        if job not in self.begun:
            self.begun = {job: cosim.links.SteadyUpload(self.sim, payload.bits, 1e6)}
        return self.begun[job]


class Kappa(cosim.tasks.Metric):
    """Cohen's kappa."""

    def measures(self, dataset):
        """One column."""
        return {"kappa": cosim.records.Measure("Cohen's kappa", higher_is_better=True)}

    def scores(self, answers):
        """Of all answers."""
        return {"kappa": float(cohen_kappa_score(answers.targets, answers.predicted))}
