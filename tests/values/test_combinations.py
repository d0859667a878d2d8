"""Local training, server update, codec and protocol in turns: laws hold, or a part refuses in a sentence.

Every rule of local training meets every protocol, with server updates and codecs that take turns. What is
refused is refused before the clock starts, and then tried with less: without the codec, without the server
update, without both. At last it runs, unless `APART` says why rule and protocol never go together.
"""

import re
from collections.abc import Callable
from itertools import product

import pytest
import torch
import worlds
from fixtures.fixes import has_fix
from torch import nn

import cosim
from cosim import (
    AfterVersions,
    ClientTraining,
    ConfigurationError,
    FedAsync,
    FedBuff,
    HFedAvg,
    Hist,
    Radio,
    Sgd,
    System,
)
from cosim.codecs import BFloat16, Codec, ErrorFeedback, Qsgd, RandomK, Signs, TopK, Uncompressed
from cosim.protocols import AsynchronousTraining, WholeCells
from cosim.radio import OverTheAir
from cosim.server_updates import (
    FedAdagrad,
    FedAdam,
    FedAvgM,
    FedNova,
    FedYogi,
    MajorityVote,
    Mean,
    MeanBySamples,
    ServerUpdate,
)
from cosim.testing import check_system, small_system
from cosim.testing.laws.tables import LAWS
from cosim.training import Adam, LocalTraining, Momentum, Proximal, Scaffold, TorchFunction


def followed(network, batches, state, rng):
    """SGD that keeps its last gradients, and goes on from them."""
    kept = {}
    for x, y in batches:
        loss = nn.functional.cross_entropy(network(x), y)
        named = dict(network.named_parameters())
        for (name, p), g in zip(named.items(), torch.autograd.grad(loss, [*named.values()]), strict=True):
            with torch.no_grad():
                p -= 0.05 * (g + 0.5 * state.get(name, torch.zeros_like(p)))
            kept[name] = g
    return kept


LOCAL: dict[str, LocalTraining] = {
    "sgd": Sgd(batch_size=8),
    "proximal": Proximal(batch_size=8),
    "momentum kept": Momentum(batch_size=8, keeps_state=True),
    "adam kept": Adam(batch_size=8, keeps_state=True),
    "scaffold": Scaffold(batch_size=8),
    "function kept": TorchFunction(function=f"{__name__}:followed", batch_size=8, keeps_state=True),
}
SERVERS: list[ServerUpdate] = [
    FedAdam(),
    FedNova(),
    FedYogi(mean=FedNova()),
    MajorityVote(),
    FedAvgM(mean=MeanBySamples()),
    MeanBySamples(),
    FedAdagrad(),
]
CODECS: list[Codec] = [
    Signs(),
    ErrorFeedback(),
    Qsgd(),
    TopK(),
    ErrorFeedback(codec=Signs()),
    RandomK(),
    BFloat16(),
]


MEAN, PLAIN = Mean(), Uncompressed()


def edge(local: LocalTraining, server: ServerUpdate = MEAN, **changes: object) -> cosim.EdgeTraining:
    return worlds.training(local=local, server=server, **changes)


def clients(local: LocalTraining) -> ClientTraining:
    return ClientTraining(num_local_steps=3, local=local)


def system_of(protocol: cosim.Protocol, codec: Codec, **changes: object) -> System:
    return cosim.evolve(small_system(), protocol=protocol, codec=codec, **changes)


def ended(protocol: cosim.Protocol, codec: Codec) -> System:
    return system_of(protocol, codec, end=AfterVersions(num_versions=4))


AIR = Radio(sharing=OverTheAir(bandwidth_hz=worlds.BANDWIDTH_HZ))
WAYS: dict[str, Callable[[LocalTraining, ServerUpdate, Codec], System]] = {
    "HFedAvg": lambda local, server, codec: system_of(HFedAvg(training=edge(local, server)), codec),
    "cloud": lambda local, server, codec: system_of(HFedAvg(training=edge(local), server=server), codec),
    "HIST": lambda local, server, codec: system_of(Hist(training=edge(local, server)), codec),
    "air": lambda local, server, codec: system_of(HFedAvg(training=edge(local, server)), codec, uplink=AIR),
    "HIST, air": lambda local, server, codec: system_of(
        Hist(training=edge(local, server)), codec, uplink=AIR
    ),
    "deadline": lambda local, server, codec: worlds.some_late(
        protocol=HFedAvg(training=edge(local, server, waiting=worlds.DEADLINE)), codec=codec
    ),
    "FedBuff": lambda local, server, codec: ended(FedBuff(training=clients(local), num_updates=2), codec),
    "FedBuff, cells": lambda local, server, codec: ended(
        FedBuff(training=WholeCells(training=edge(local, server)), num_updates=2), codec
    ),
    "FedAsync": lambda local, server, codec: ended(FedAsync(training=clients(local)), codec),
    "FedAsync, cells": lambda local, server, codec: ended(
        FedAsync(training=WholeCells(training=edge(local, server))), codec
    ),
    "FedBuff in cells": lambda local, server, codec: system_of(
        HFedAvg(
            training=AsynchronousTraining(
                protocol=FedBuff(training=clients(local), num_updates=2), turn=AfterVersions(num_versions=2)
            )
        ),
        codec,
    ),
}
KEEPS = r"EdgeTraining\.local = '\w+': \w+ keeps a state, but a cell has other units"
NO_EDGE = (
    r".*ClientTraining: no edge server takes the mean of what arrives, and .* = Scaffold wants an edge server"
)
NO_SUMS = r".*sharing = OverTheAir: .* = Scaffold sends something beside the model"
APART: dict[tuple[str, str], str] = {
    **dict.fromkeys(product(("momentum kept", "adam kept", "function kept"), ("HIST", "HIST, air")), KEEPS),
    ("scaffold", "HIST"): r"EdgeTraining\.local = 'Scaffold': Scaffold sends more than the model",
    **dict.fromkeys(product(("scaffold",), ("air", "HIST, air")), NO_SUMS),
    **dict.fromkeys(product(("scaffold",), ("FedBuff", "FedAsync", "FedBuff in cells")), NO_EDGE),
}
"""Rule and way that never go together, and the sentence that says so."""


def refusal(local: str, way: str, server: ServerUpdate, codec: Codec) -> str | None:
    """The sentence by which a system is refused before its clock starts; None if its run keeps the laws."""
    reports: list[object] = []
    try:
        system = WAYS[way](LOCAL[local], server, codec)
        result = cosim.run(system, num_workers=1, listener=reports.append)
    except ConfigurationError as error:
        if reports:
            raise AssertionError("refused after the clock has started") from error
        return str(error)
    for law in LAWS:
        law(result)
    assert result.evaluations["loss_nats"].between(0.0, 3.0).all()
    return None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("local", LOCAL)
def test_parts_keep_the_laws_together_or_say_why_not(local, way):
    place = list(LOCAL).index(local) + 3 * list(WAYS).index(way)
    server, codec = SERVERS[place % len(SERVERS)], CODECS[(2 * place + place // 7) % len(CODECS)]
    sentence: str | None = ""
    for with_server, with_codec in product((server, MEAN), (codec, PLAIN)):
        sentence = refusal(local, way, with_server, with_codec)
        if sentence is None:
            break
        kinds = [type(part).__name__ for part in (LOCAL[local], with_server, with_codec)]
        assert has_fix(sentence)
        assert any(kind in sentence for kind in kinds)
    expected = APART.get((local, way))
    if expected is None:
        assert sentence is None
    else:
        assert re.match(expected, sentence or "runs")


@pytest.mark.parametrize(
    ("local", "way", "server", "codec"),
    [
        ("proximal", "deadline", FedYogi(mean=FedNova()), ErrorFeedback()),
        ("momentum kept", "deadline", FedYogi(mean=MeanBySamples()), ErrorFeedback()),
        ("adam kept", "HFedAvg", MajorityVote(), Signs()),
        ("scaffold", "cloud", FedAdam(), Qsgd()),
        ("scaffold", "deadline", FedAdam(mean=MeanBySamples()), ErrorFeedback()),
        ("proximal", "HIST", MajorityVote(), Signs()),
        ("function kept", "FedBuff", MEAN, ErrorFeedback(codec=Qsgd())),
        ("adam kept", "FedAsync, cells", FedAdagrad(), ErrorFeedback(codec=Signs())),
    ],
)
def test_whole_runs_of_parts_that_keep_something_go_on_as_they_would_have(local, way, server, codec):
    """All laws of runs, on both clocks: what is kept is in the checkpoint, whichever part keeps it."""
    check_system(WAYS[way](LOCAL[local], server, codec))


@pytest.mark.parametrize(
    ("local", "way", "server", "codec", "sentence"),
    [
        (
            "sgd",
            "cloud",
            MajorityVote(),
            Signs(),
            r"HFedAvg\.server = 'MajorityVote': .* one model from each",
        ),
        ("sgd", "HFedAvg", FedAdam(mean=MajorityVote()), Signs(), r"FedAdam\.mean = 'MajorityVote': takes a"),
        ("sgd", "HFedAvg", FedNova(weighted=MajorityVote()), Signs(), r"FedNova\.weighted = 'MajorityVote'"),
        (
            "scaffold",
            "deadline",
            MajorityVote(),
            Signs(),
            r"System\.codec = 'Signs': .*but Scaffold also sends",
        ),
        ("scaffold", "HFedAvg", MEAN, Signs(), r"System\.codec = 'Signs': .*but Scaffold also sends"),
        (
            "sgd",
            "HIST",
            MEAN,
            ErrorFeedback(),
            r"System\.codec = 'ErrorFeedback': .*keeps a state, but a cell",
        ),
        ("sgd", "HIST", FedAdam(), PLAIN, r"EdgeTraining\.server = 'FedAdam': .*keeps a state"),
        (
            "adam kept",
            "deadline",
            FedAdam(mean=FedNova()),
            PLAIN,
            r"FedNova with local = Adam: it does not say how many",
        ),
        ("sgd", "HIST, air", FedNova(), PLAIN, r".*sharing = OverTheAir: .*\.server = FedNova needs them"),
    ],
)
def test_parts_that_do_not_go_together_say_so_before_the_clock_starts(local, way, server, codec, sentence):
    assert re.match(sentence, refusal(local, way, server, codec) or "runs")
