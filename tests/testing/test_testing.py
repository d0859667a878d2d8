"""The contract: all of ours keep the laws, and for each law a part that breaks it is caught."""

import attrs
import numpy as np
import own_parts
import pytest
import worlds
from torch import nn

import cosim
from cosim.configuration import part
from cosim.links.carried import SteadyUpload
from cosim.links.port import CellLink, Link
from cosim.protocols.port import Protocol
from cosim.records.rows import Round
from cosim.testing import (
    BrokenLaw,
    check_codec,
    check_data,
    check_link,
    check_local_training,
    check_protocol,
    check_system,
    check_task,
    small_system,
)

SMALL = small_system()
TRAINING = SMALL.protocol.training
SLOW = cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=1e6))


OURS = {
    "HIST": attrs.evolve(SMALL, protocol=cosim.Hist(training=TRAINING)),
    "VHFL": worlds.vhfl(),
    "RawHFL": worlds.rawhfl(),
}


@pytest.mark.parametrize("system", OURS.values(), ids=OURS)
def test_our_systems_keep_the_laws(system: cosim.System) -> None:
    check_system(system)


UPLINKS = {
    "fixed shares": cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=1e6)),
    "redivided shares": cosim.Radio(sharing=cosim.radio.RedividedShares(bandwidth_hz=1e6)),
    "resource blocks": cosim.Radio(sharing=cosim.radio.ResourceBlocks(num_blocks=2)),
    "over the air": cosim.Radio(sharing=cosim.radio.OverTheAir(bandwidth_hz=1e6)),
    "outages": cosim.Radio(outage_probability=0.2),
    "queues": cosim.QueuedLink(),
}


@pytest.mark.parametrize("uplink", UPLINKS.values(), ids=UPLINKS)
def test_our_uplinks_keep_the_laws(uplink: Link) -> None:
    check_link(uplink)


SPLITS = (
    cosim.data.Shards(),
    cosim.data.CellIid(),
    cosim.data.Iid(),
    cosim.data.Dirichlet(),
    cosim.data.Sampled(num_samples=20),
)


@pytest.mark.parametrize("split", SPLITS, ids=lambda split: type(split).__name__)
def test_our_splits_keep_the_laws(split: cosim.data.Split) -> None:
    check_data(cosim.data.Synthetic(split=split))


DOWNLINKS = [
    cosim.links.Instantaneous(),
    own_parts.Broadcast(),
    cosim.radio.Broadcast(bandwidth_hz=2e5),
    cosim.radio.Unicast(
        sharing=cosim.FixedShares(bandwidth_hz=2e5), link=cosim.radio.LinkBudget(), tx_power_w=20.0
    ),
    cosim.radio.Unicast(
        sharing=cosim.radio.RedividedShares(bandwidth_hz=2e5),
        fading=cosim.Rayleigh(redrawn=cosim.radio.CoherenceTime(coherence_time_s=0.004)),
    ),
    cosim.radio.Unicast(sharing=cosim.radio.ResourceBlocks(num_blocks=1, block_hz=2e5)),
]


@pytest.mark.parametrize("downlink", DOWNLINKS, ids=str)
def test_downlinks_keep_the_laws(downlink: cosim.Link) -> None:
    check_link(downlink)


@pytest.mark.parametrize(
    "part",
    [
        {"devices": own_parts.Listed()},
        {"devices": cosim.DrawnDevices(training_time=cosim.devices.HyperExponentialTime())},
        {"devices": cosim.DrawnDevices(training_time=cosim.devices.HalfNormalTime(), static_power_w=0.1)},
        {"cycles": cosim.devices.CyclesPerBit()},
        {"cycles": cosim.devices.CyclesPerOperation()},
        {"cycles": own_parts.Layered()},
    ],
)
def test_devices_and_what_they_take_keep_the_laws(part: dict) -> None:
    check_system(cosim.evolve(small_system(), **part))


def test_our_codec_and_our_local_training_keep_the_laws() -> None:
    check_codec(cosim.codecs.Uncompressed(bits_per_parameter=7))
    check_codec(own_parts.Largest())
    check_local_training(cosim.Sgd(batch_size=7))


# --- Parts that break one law each --------------------------------------------------------------------------


class AtOnce(cosim.HFedAvg):
    """Lets one client do two things at once."""

    def run(self, sim, cloud):
        client = cloud.edges[0].clients[0]
        yield from sim.together([sim.spend(client.name, what, 1.0) for what in ("sing", "dance")])
        return (yield from super().run(sim, cloud))


class Gaining(cosim.HFedAvg):
    """Wins energy by working."""

    def run(self, sim, cloud):
        yield from sim.spend(cloud.name, "work", 1.0, power_w=-1.0)
        return (yield from super().run(sim, cloud))


class PayingToWait(cosim.HFedAvg):
    """Waits at full power."""

    def run(self, sim, cloud):
        yield from sim.spend(cloud.name, "wait", 1.0, power_w=1.0)
        return (yield from super().run(sim, cloud))


class Miscounting(cosim.HFedAvg):
    """Counts one update too few."""

    def run(self, sim, cloud):
        model = yield from super().run(sim, cloud)
        rows = sim.recorder.rounds
        rows[0] = rows[0]._replace(num_arrived=rows[0].num_participants - 1)
        return model


class Backdating(cosim.HFedAvg):
    """Closes an edge round before its last upload has arrived."""

    def run(self, sim, cloud):
        model = yield from super().run(sim, cloud)
        rows = sim.recorder.rounds
        rows[0] = rows[0]._replace(end_s=rows[0].start_s)
        return model


class AlwaysTheFirst(cosim.EdgeTraining):
    """Calls every job of a client the first."""

    def run(self, sim, cloud, edge, model, part, global_round):
        model = yield from super().run(sim, cloud, edge, model, part, global_round)
        sim.recorder.fates[:] = [row._replace(job=0) for row in sim.recorder.fates]
        return model


class Overlapping(cosim.HFedAvg):
    """Writes a round that begins within the last one."""

    def run(self, sim, cloud):
        model = yield from super().run(sim, cloud)
        last = next(row for row in reversed(sim.recorder.rounds) if row.level == "global")
        sim.recorder.record(Round(*last[:2], last.global_round + 1, *last[3:]))
        return model


class Drawing(cosim.HFedAvg):
    """Draws from a generator without a seed."""

    def run(self, sim, cloud):
        yield from sim.spend(cloud.name, "idle", np.random.default_rng().random())
        return (yield from super().run(sim, cloud))


class FirstCome(cosim.HFedAvg):
    """Lets the client that happens to be served first wait for the others."""

    def run(self, sim, cloud):
        came = []

        def comes(client):
            yield from sim.spend(client.name, "walk", 1.0)
            came.append(client.name)
            yield from sim.spend(client.name, "rest", float(len(came)))

        yield from sim.together([comes(client) for client in cloud.edges[0].clients])
        return (yield from super().run(sim, cloud))


class Hasty(cosim.HFedAvg):
    """Takes no time for what it does where nothing is learned."""

    def run(self, sim, cloud):
        yield from sim.spend(cloud.name, "idle", 1.0 if cloud.evaluation.learns else 0.0)
        return (yield from super().run(sim, cloud))


class Forgetful(cosim.HFedAvg):
    """Does something else when it goes on."""

    def run(self, sim, cloud):
        yield from sim.spend(cloud.name, "idle", 2.0 if cloud.resumed else 1.0)
        return (yield from super().run(sim, cloud))


@part
class Unequal(cosim.HFedAvg):
    """Equals nothing, so it is unknown whether it comes back."""

    def __eq__(self, other):
        return False

    __hash__ = None


PLANTED = {
    AtOnce: "time: two activities of .* overlap",
    Overlapping: "time: global rounds of cloud overlap",
    Gaining: "energy: an activity must take a finite energy of at least 0",
    PayingToWait: "energy: waiting takes no more than the idle power",
    Miscounting: "drops: 2 uploads arrive at edge-01 in round 1.0, and 1 updates",
    Backdating: "drops: an upload of .* arrives after its edge round",
    Drawing: "determinism: ",
    FirstCome: "determinism, with simultaneous events in another order: ",
    Hasty: "timing only: ",
    Forgetful: "resume after version 0: ",
    Unequal: "round trip: ",
}


def test_jobs_of_one_number_are_caught() -> None:
    protocol = cosim.HFedAvg(training=AlwaysTheFirst(num_edge_rounds=2))
    with pytest.raises(BrokenLaw, match="jobs: client and number must name one job"):
        check_protocol(protocol)


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_a_protocol_that_breaks_a_law_is_caught(kind: type[Protocol]) -> None:
    with pytest.raises(BrokenLaw, match=PLANTED[kind]):
        check_protocol(kind(training=TRAINING))


class Cable(Link):
    """A cable to each edge server, which breaks a law of uploads."""

    upload = SteadyUpload

    def of_cells(self, sim, cells):
        return [CableLink(sim, type(self).upload) for _ in cells]


class CableLink(CellLink):
    def __init__(self, sim, upload):
        self.sim, self.upload = sim, upload

    def open(self, client, payload, job, tx_power_w=None):
        return self.upload(self.sim, payload.bits, 1e6)


class Rising(SteadyUpload):
    bits_left = property(lambda self: 0.0 if self.done.processed else self.sent_s * 1e6)


class Rest(SteadyUpload):
    bits_left = property(lambda self: max(1e-6, SteadyUpload.bits_left.fget(self)))


class Faster(SteadyUpload):
    def __init__(self, sim, bits, rate_bps):
        super().__init__(sim, bits, rate_bps * bits**2)


class Held(SteadyUpload):
    """Keeps the next upload from ending where it was cut itself."""

    stuck = False

    def __init__(self, sim, bits, rate_bps):
        super().__init__(sim, bits, rate_bps)
        if Held.stuck:
            self.done = sim.event()

    def close(self):
        Held.stuck |= not self.done.processed


UPLOADS = {
    SteadyUpload: None,
    Rising: "bits: .* bits are left",
    Rest: "bits: 1e-06 of 32000.0 bits are left when it is done",
    Faster: "more bits: ",
    Held: "cut: ",
}


@pytest.mark.parametrize("upload", UPLOADS, ids=lambda upload: upload.__name__)
def test_an_uplink_that_breaks_a_law_is_caught(upload: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cable, "upload", upload)
    if UPLOADS[upload] is None:
        check_link(Cable())
        return
    with pytest.raises(BrokenLaw, match=UPLOADS[upload]):
        check_link(Cable())


class Down(cosim.Link):
    """A downlink that breaks a law."""

    link = own_parts.CableDownLink

    def of_cells(self, sim, cells):
        return [type(self).link(sim, 1e6) for _ in cells]


def never(download: cosim.links.Upload, sim: cosim.Simulation) -> cosim.links.Upload:
    """A download that is never done."""
    download.done = sim.event()
    return download


class FasterDown(own_parts.CableDownLink):
    def open(self, client, payload, job, tx_power_w=None):
        return cosim.links.SteadyUpload(self.sim, payload.bits, payload.bits**2)


class LostDown(own_parts.CableDownLink):
    def open(self, client, payload, job, tx_power_w=None):
        return never(super().open(client, payload, job), self.sim)


class LeakyDown(own_parts.CableDownLink):
    """Forgets what had come when it is cut."""

    def open(self, client, payload, job, tx_power_w=None):
        download = super().open(client, payload, job)
        download.close = lambda: setattr(download, "_bits", 2 * payload.bits)
        return download


class StuckDown(own_parts.CableDownLink):
    """A line that a download leaves only when it is done."""

    line = None

    def open(self, client, payload, job, tx_power_w=None):
        if self.line is not None and not self.line.processed:
            return never(super().open(client, payload, job), self.sim)
        download = super().open(client, payload, job)
        self.line = download.done
        return download


class SuddenDown(cosim.CellLink):
    def __init__(self, sim, rate_bps):
        pass

    def rates_bps(self, sim, clients, job, tx_power_w):
        return np.full(len(clients), np.inf)


DOWNLOADS = {
    own_parts.CableDownLink: None,
    FasterDown: "more bits: ",
    LostDown: "whole: ",
    LeakyDown: "bits: ",
    StuckDown: "beside: ",
    SuddenDown: "declared: takes_time is True",
}


@pytest.mark.parametrize("link", DOWNLOADS, ids=lambda link: link.__name__)
def test_a_downlink_that_breaks_a_law_is_caught(link: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Down, "link", link)
    if DOWNLOADS[link] is None:
        check_link(Down())
        return
    with pytest.raises(BrokenLaw, match=DOWNLOADS[link]):
        check_link(Down())


class Shrinking(cosim.codecs.Uncompressed):
    def bits(self, num_values):
        return 1e9 - super().bits(num_values)


class Vanishing(cosim.codecs.Uncompressed):
    def bits(self, num_values):
        return super().bits(num_values - 1)


@pytest.mark.parametrize("codec", [Shrinking(), Vanishing()])
def test_a_codec_that_breaks_a_law_is_caught(codec: cosim.codecs.Codec) -> None:
    with pytest.raises(BrokenLaw, match="bits: "):
        check_codec(codec)


class Writable(cosim.data.Synthetic):
    def held(self, sim, dataset, cell_sizes):
        return [lambda found=found: found().copy() for found in super().held(sim, dataset, cell_sizes)]


class Elsewhere(cosim.data.Synthetic):
    def held(self, sim, dataset, cell_sizes):
        return [lambda found=found: found() + 10_000 for found in super().held(sim, dataset, cell_sizes)]


class Missing(cosim.data.Synthetic):
    def held(self, sim, dataset, cell_sizes):
        return super().held(sim, dataset, cell_sizes)[1:]


class Unseeded(cosim.data.Synthetic):
    def held(self, sim, dataset, cell_sizes):
        rng = np.random.default_rng()
        found = [rng.integers(100, size=20) for _ in range(sum(cell_sizes))]
        for samples in found:
            samples.flags.writeable = False
        return [lambda samples=samples: samples for samples in found]


DATA = {
    Writable: "samples: client 0 holds an array that can be written to",
    Elsewhere: "samples: client 0 holds none, or numbers out of range",
    Missing: "holders: 4 clients hold samples, of 5",
    Unseeded: "determinism: client 0 holds other samples",
}


@pytest.mark.parametrize("kind", DATA, ids=lambda kind: kind.__name__)
def test_data_that_break_a_law_are_caught(kind: type[cosim.data.Synthetic]) -> None:
    with pytest.raises(BrokenLaw, match=DATA[kind]):
        check_data(kind())


class Gossip(cosim.training.LocalTraining):
    """Counts how often anybody has been trained."""

    told = 0.0

    def train(self, client):
        import torch

        with torch.no_grad():
            for values in client.network.parameters():
                values += Gossip.told
        Gossip.told += 0.1


def test_a_local_training_that_breaks_a_law_is_caught() -> None:
    with pytest.raises(BrokenLaw, match=r"determinism|own training|resume"):
        check_local_training(Gossip())


class Huber(cosim.tasks.Task):
    """No squares far from the target, and one column."""

    def loss(self, outputs, targets):
        return nn.functional.huber_loss(outputs.reshape(targets.shape), targets)

    def measures(self):
        return {"test_mae": cosim.records.Measure("test MAE", higher_is_better=False)}

    def sums(self, outputs, targets):
        return {"test_mae": (outputs.reshape(targets.shape) - targets).abs().sum()}


@pytest.mark.parametrize(
    ("task", "system"),
    [
        (cosim.tasks.Classification(), SMALL),
        (cosim.tasks.Regression(), worlds.vhfl()),
        (Huber(), worlds.vhfl()),
    ],
    ids=["Classification", "Regression", "Huber"],
)
def test_tasks_keep_the_laws(task: cosim.tasks.Task, system: cosim.System) -> None:
    check_task(task, system)


class Summed(cosim.tasks.Classification):
    def loss(self, outputs, targets):
        return nn.functional.cross_entropy(outputs, targets, reduction="sum")


class Averaged(cosim.tasks.Classification):
    def sums(self, outputs, targets):
        return {name: value / len(targets) for name, value in super().sums(outputs, targets).items()}


class Rooted(cosim.tasks.Classification):
    def loss(self, outputs, targets):
        return (outputs - outputs).abs().sqrt().mean()


@pytest.mark.parametrize(
    ("kind", "law"),
    [(Summed, "mean loss"), (Averaged, "sums"), (Rooted, "gradients")],
)
def test_a_task_that_breaks_a_law_is_caught(kind: type[cosim.tasks.Task], law: str) -> None:
    with pytest.raises(BrokenLaw, match=f"^{law}"):
        check_task(kind())
