"""Model codecs: clients start from what is rounded, bits follow, servers go on from what they have sent."""

import attrs
import numpy as np
import pytest
import torch

import cosim
from cosim import ConfigurationError, Never, run
from cosim.testing import check_model_codec, check_system, small_system
from scenarios.papers.vhfl import Vhfl

NUM_VALUES = 12 * 8 + 8 * 4
DOWN = {"downlink": cosim.radio.Broadcast(bandwidth_hz=2e5), "model_codec": cosim.codecs.BFloat16()}
TRAINING = small_system().protocol.training


def learned(system: cosim.System) -> dict[str, np.ndarray]:
    weights = run(system, num_workers=1).weights
    assert weights is not None
    return weights


def rounded(values: np.ndarray) -> np.ndarray:
    return torch.from_numpy(values).bfloat16().float().numpy()


def standing(**changes) -> cosim.System:
    """One round in which no client moves."""
    training = attrs.evolve(TRAINING, num_edge_rounds=1, local=cosim.Sgd(batch_size=5, learning_rate=1e-30))
    return attrs.evolve(
        small_system(),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=1),
        **changes,
    )


def test_clients_start_from_what_has_arrived():
    """No client moves, so what comes back is the rounded model; without a codec it is the model."""
    sent, as_it_was = learned(standing(**DOWN)), learned(standing())
    for name, values in as_it_was.items():
        assert not np.array_equal(values, rounded(values))
        np.testing.assert_allclose(sent[name], rounded(values), rtol=1e-6)


@pytest.mark.parametrize("codec", [cosim.codecs.BFloat16(), cosim.codecs.Float16()])
def test_half_the_bits_go_down_and_all_of_them_up(codec):
    down = DOWN | {"model_codec": codec}
    result = run(attrs.evolve(small_system(), **down, evaluation=Never()))
    bits = result.transfers.groupby("direction")["payload_bits"].unique()
    assert bits["down"].tolist() == [16 * NUM_VALUES]
    assert bits["up"].tolist() == [32 * NUM_VALUES]


def test_the_backhaul_carries_what_it_did():
    """Cells and cloud send each other 32 bits a value."""
    topology = cosim.topology.Disc(backhaul_rate_bps=1e5)
    ends_s = [
        run(attrs.evolve(small_system(), **down, topology=topology, evaluation=Never())).spans
        for down in (DOWN | {"model_codec": None}, DOWN)
    ]
    lasts_s = [
        (spans["end_s"] - spans["start_s"])[spans["node"].str.startswith("edge")].to_numpy()
        for spans in ends_s
    ]
    assert lasts_s[0] == pytest.approx(lasts_s[1], rel=1e-9)


@pytest.mark.parametrize(
    "protocol",
    [
        cosim.Hist(training=TRAINING),
        cosim.HFedAvg(training=attrs.evolve(TRAINING, server=cosim.server_updates.FedAdam())),
    ],
    ids=["Hist", "FedAdam"],
)
def test_runs_with_rounded_models_keep_the_laws(protocol):
    check_system(attrs.evolve(small_system(), protocol=protocol, **DOWN))


def test_asynchronous_clients_may_have_rounded_models_too():
    protocol = cosim.FedBuff(
        num_updates=2, training=cosim.ClientTraining(num_local_steps=3, local=cosim.Sgd(batch_size=5))
    )
    down = {"downlink": cosim.radio.Unicast(), "model_codec": cosim.codecs.Float16()}
    check_system(attrs.evolve(small_system(has_rounds=False), protocol=protocol, **down))


def test_a_change_is_one_since_what_was_sent():
    """Clients that stand still change nothing, however coarse what they got."""
    still = cosim.ClientTraining(num_local_steps=1, local=cosim.Sgd(batch_size=5, learning_rate=1e-30))
    system = attrs.evolve(
        small_system(has_rounds=False), protocol=cosim.FedBuff(num_updates=2, training=still)
    )
    coarse = attrs.evolve(system, downlink=cosim.radio.Unicast(), model_codec=cosim.codecs.BFloat16())
    for name, values in learned(system).items():
        np.testing.assert_allclose(learned(coarse)[name], values, rtol=1e-6)


@pytest.mark.parametrize("cells", [False, True])
def test_what_is_mixed_in_has_been_rounded(cells):
    """Clients that stand still send what they got: a FedAsync server moves a share of the way to it."""
    local = cosim.Sgd(batch_size=5, learning_rate=1e-30)
    still = cosim.ClientTraining(num_local_steps=1, local=local)
    if cells:
        still = cosim.protocols.WholeCells(training=attrs.evolve(TRAINING, num_edge_rounds=1, local=local))
    system = attrs.evolve(
        small_system(has_rounds=False),
        protocol=cosim.FedAsync(training=still, share=0.75, staleness=cosim.protocols.Constant()),
        end=cosim.AfterVersions(num_versions=1),
    )
    coarse = attrs.evolve(system, downlink=cosim.radio.Unicast(), model_codec=cosim.codecs.BFloat16())
    for name, values in learned(system).items():
        expected = 0.25 * values + 0.75 * rounded(values)
        np.testing.assert_allclose(learned(coarse)[name], expected, rtol=1e-6)


def test_model_codecs_keep_their_contract():
    check_model_codec(cosim.codecs.BFloat16())


def test_what_is_no_model_is_not_rounded():
    with pytest.raises(
        ConfigurationError,
        match=r"Vhfl: each client is sent something of its own, and .*model_codec = BFloat16 changes models",
    ):
        attrs.evolve(
            small_system(),
            protocol=Vhfl(),
            downlink=cosim.radio.Unicast(),
            model_codec=cosim.codecs.BFloat16(),
        )


class Forgetful(cosim.EdgeTraining):
    """Asks for training from a model that it has not sent."""

    def run(self, sim, cloud, edge, model, part, global_round):
        cloud.request(model, 1, self.local)
        yield sim.timer(1.0)
        return model


def test_a_protocol_that_sends_nothing_down_is_told():
    protocol = cosim.HFedAvg(training=Forgetful(local=cosim.Sgd(batch_size=5)))
    with pytest.raises(
        ConfigurationError, match=r"BFloat16 changes models that are sent. Call model = cloud.sent_d"
    ):
        run(attrs.evolve(small_system(), protocol=protocol, **DOWN))


def test_half_precision_is_one_class_for_both_ways():
    both = attrs.evolve(small_system(), codec=cosim.codecs.BFloat16(), **DOWN, evaluation=Never())
    assert set(run(both).transfers["payload_bits"]) == {16 * NUM_VALUES}
    sums = cosim.Radio(sharing=cosim.radio.OverTheAir(bandwidth_hz=1e6))
    run(attrs.evolve(both, codec=cosim.codecs.Uncompressed(), uplink=sums))
    with pytest.raises(ConfigurationError, match=r"System.codec = BFloat16 .* over the air analog values"):
        attrs.evolve(both, uplink=sums)
    with pytest.raises(ConfigurationError, match=r"cycles_per_value = 2: has no effect in System.model_"):
        attrs.evolve(both, model_codec=cosim.codecs.BFloat16(cycles_per_value=2.0))
