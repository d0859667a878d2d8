"""Our codecs: what arrives keeps its laws, what it takes is paid for, and what does not fit is refused."""

import math

import attrs
import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import cosim
from cosim.codecs.coding import row_of
from cosim.configuration import ConfigurationError
from cosim.testing import check_codec, small_system
from scenarios.papers.rawhfl import RawHfl

SHARE = cosim.codecs.KeptShare(share=0.1)


def arrived(codec: cosim.codecs.FlatCodec, change: np.ndarray, seed: int = 1) -> np.ndarray:
    """Values that arrive of a row of values."""
    row = torch.tensor(change, dtype=torch.float32)
    return row_of(codec, row, torch.Generator().manual_seed(seed)).numpy()


DRAWS = 20_000
Z = stats.norm.ppf(1.0 - 0.001 / 2.0 / 12.0)
"""Of a 99.9 % interval for twelve means at once."""


@pytest.mark.parametrize("num_levels", [1, 3, 7])
def test_qsgd_is_unbiased_and_varies_as_its_levels_say(num_levels):
    """Every bucket is the same vector: levels below and above, drawn as often as their distance tells."""
    vector = np.array([3.0, -1.0, 0.5, 0.0, 0.25, -2.0, 1.0, 0.125, -0.5, 4.0, 1e-3, -0.75])
    norm, dimension = np.linalg.norm(vector), len(vector)
    codec = cosim.codecs.Qsgd(num_levels=num_levels, bucket_size=dimension)
    found = arrived(codec, np.tile(vector, DRAWS)).reshape(DRAWS, dimension).astype(float)
    scaled = np.abs(vector) * num_levels / norm
    up = scaled - np.floor(scaled)
    levels = found * np.sign(vector) * num_levels / norm
    assert ((levels - np.floor(scaled)).round(4) * (1 - (levels - np.floor(scaled)).round(4)) == 0).all()
    deviation = norm / num_levels * np.sqrt(up * (1 - up))
    assert (np.abs(found.mean(0) - vector) <= Z * deviation / math.sqrt(DRAWS) + 1e-6).all()
    wrong = np.sign(vector) * np.floor(scaled) * norm / num_levels  # rounded down, the interval would see it
    assert (np.abs(wrong - vector) > Z * deviation / math.sqrt(DRAWS) + 1e-6).any()
    squares = ((found - vector) ** 2).sum(1)
    exact = (deviation**2).sum()
    assert abs(squares.mean() - exact) <= Z * squares.std() / math.sqrt(DRAWS)
    bound = min(dimension / num_levels**2, math.sqrt(dimension) / num_levels)
    assert exact <= codec.relative_variance(dimension) * norm**2 == pytest.approx(bound * norm**2)


def test_random_values_are_unbiased_and_vary_exactly_so_much():
    vector, codec = np.arange(1.0, 7.0), cosim.codecs.RandomK(kept=cosim.codecs.KeptNumber(num_values=2))
    found = np.array([arrived(codec, vector, seed) for seed in range(4000)])
    assert set(np.unique(found)) == {0.0, *(3.0 * vector)}
    assert ((found != 0).sum(1) == 2).all()
    deviation = vector * math.sqrt(2.0)  # of 3 x with probability 1 / 3
    assert (np.abs(found.mean(0) - vector) <= Z * deviation / math.sqrt(len(found))).all()
    squares = ((found - vector) ** 2).sum(1)
    wanted = codec.relative_variance(6) * (vector**2).sum()
    assert abs(squares.mean() - wanted) <= Z * squares.std() / math.sqrt(len(found))


def test_rounding_keeps_its_relative_error():
    values = np.float32(np.random.default_rng(1).standard_normal(2000))
    for codec, bits in ((cosim.codecs.BFloat16(), 8), (cosim.codecs.Float16(), 11)):
        error = np.abs(arrived(codec, values) - values) / np.abs(values)
        large = np.abs(values) > 1e-4  # binary16 has fewer bits below
        assert 2.0 ** -(bits + 1) < error[large].max() <= 2.0**-bits


def test_shares_and_bits_are_rounded_up_from_decimals():
    """0.07 * 100 and 0.1 * 3 are a bit more than 7 and 0.3."""
    for num_values in range(1, 1001):
        assert cosim.codecs.KeptShare(share=0.07).num(num_values) == -(-7 * num_values // 100)
        assert cosim.codecs.KeptShare(share=0.29).num(num_values) == -(-29 * num_values // 100)
        bits = -(-7 * num_values // 100)
        for part, way in ((Thin(), "payload"), (Thin(), "model_payload"), (ThinModel(), "payload")):
            assert getattr(part, way)(num_values).bits == bits


class Thin(cosim.codecs.Uncompressed):
    """Updates of less than a bit for each value."""

    def bits(self, num_values):
        """0.07 for each."""
        return 0.07 * num_values


class ThinModel(cosim.codecs.BFloat16):
    """Models of that."""

    def bits(self, num_values):
        """0.07 for each."""
        return 0.07 * num_values


def test_signs_and_the_largest_by_hand():
    change = np.array([0.2, -3.0, 0.0, 1.0])
    np.testing.assert_array_equal(arrived(cosim.codecs.Signs(step_size=0.5), change), [0.5, -0.5, 0.5, 0.5])
    largest = cosim.codecs.TopK(kept=cosim.codecs.KeptNumber(num_values=2))
    np.testing.assert_array_equal(arrived(largest, change), [0.0, -3.0, 0.0, 1.0])
    assert (arrived(cosim.codecs.Qsgd(), np.zeros(5)) == 0).all()


ALL = cosim.codecs.TopK(kept=cosim.codecs.KeptNumber(num_values=4000))
FED = cosim.codecs.ErrorFeedback(codec=cosim.codecs.TopK(kept=SHARE))


def small(codec: cosim.codecs.Codec, **changes) -> cosim.System:
    return attrs.evolve(small_system(), codec=codec, **changes)


@pytest.mark.parametrize("codec", [ALL, cosim.codecs.ErrorFeedback(codec=ALL)])
def test_all_values_are_the_plain_run_bit_for_bit(codec):
    plain, sparse = cosim.run(small(cosim.codecs.Uncompressed())), cosim.run(small(codec))
    assert plain.evaluations.equals(sparse.evaluations)
    assert plain.spans.equals(sparse.spans)
    for name, values in plain.learned.items():
        np.testing.assert_array_equal(sparse.learned[name], values)


CUT = small_system(cosim.Deadline(deadline_s=0.00205))
IN_HIST = attrs.evolve(small_system(), protocol=cosim.Hist(training=small_system().protocol.training))
BUFFERED = attrs.evolve(small_system(has_rounds=False), protocol=cosim.FedBuff(num_updates=2))


@pytest.mark.parametrize(
    ("codec", "system"),
    [
        (cosim.codecs.BFloat16(), IN_HIST),
        (cosim.codecs.Float16(), None),
        (cosim.codecs.Qsgd(), BUFFERED),
        (cosim.codecs.RandomK(kept=SHARE), IN_HIST),
        (cosim.codecs.Signs(), IN_HIST),
        (FED, CUT),
        (cosim.codecs.ErrorFeedback(codec=cosim.codecs.RandomK(kept=SHARE)), BUFFERED),
    ],
)
def test_our_codecs_keep_the_laws_of_codecs(codec, system):
    """In rounds and without, of parts, with losses; resumed runs and several workers are among the laws."""
    check_codec(codec, system)


def test_the_deadline_cuts_some_and_not_all():
    fates = cosim.run(attrs.evolve(CUT, codec=FED, evaluation=cosim.Never())).fates
    assert 0.1 < (fates["outcome"] == "done").mean() < 0.9


# --- models and coding ----------------------------------------------------------------------------

NUM_VALUES = 12 * 8 + 8 * 4


def test_models_have_32_bits_a_value_where_updates_have_fewer():
    topology = cosim.topology.Disc(backhaul_rate_bps=1e6)
    result = cosim.run(small(cosim.codecs.Signs(), topology=topology, evaluation=cosim.Never()))
    assert set(result.transfers["payload_bits"]) == {NUM_VALUES}
    carried = result.spans[result.spans["node"].str.startswith("edge")]
    assert set(carried["activity"]) == {"receive", "send"}
    np.testing.assert_allclose(carried["end_s"] - carried["start_s"], 32 * NUM_VALUES / 1e6, rtol=1e-9)


@pytest.mark.parametrize("clock", ["arrays", "events"])
def test_coding_takes_cycles_of_the_processor(clock):
    plain, coded = (
        cosim.run(
            small(cosim.codecs.Qsgd(cycles_per_value=cycles), evaluation=cosim.Never()), clock=clock
        ).spans.query("activity == 'train' and job == 0")
        for cycles in (0.0, 1000.0)
    )
    frequency_hz = 3 * 1e6 / (plain["end_s"] - plain["start_s"]).to_numpy()
    added_s = (coded["end_s"] - coded["start_s"]).to_numpy() - 3 * 1e6 / frequency_hz
    np.testing.assert_allclose(added_s, NUM_VALUES * 1000.0 / frequency_hz, rtol=1e-9)
    np.testing.assert_allclose(coded["energy_j"] / plain["energy_j"], 1 + NUM_VALUES / 3000.0, rtol=1e-9)


def test_both_clocks_have_the_same_times_of_coding():
    system = small(cosim.codecs.TopK(cycles_per_value=123.4))
    arrays, events = (cosim.run(system, clock=clock) for clock in ("arrays", "events"))
    for table in ("spans", "transfers", "evaluations"):
        order = [name for name in ("start_s", "node", "client") if name in getattr(arrays, table)]
        found = [
            getattr(of, table).sort_values([*order, *([] if order else ["time_s"])], ignore_index=True)
            for of in (arrays, events)
        ]
        assert found[0].astype(str).equals(found[1].astype(str))


# --- refusals -------------------------------------------------------------------------------------

AIR = cosim.Radio(sharing=cosim.radio.OverTheAir())


def normed() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))


@pytest.mark.parametrize("codec", [cosim.codecs.Qsgd(), cosim.codecs.ErrorFeedback()])
def test_bits_do_not_add_up_in_the_air(codec):
    with pytest.raises(ConfigurationError, match=r"System\.codec = .*over the air analog values"):
        small(codec, uplink=AIR)


def test_what_does_not_fit_is_refused_by_a_sentence():
    with pytest.raises(ConfigurationError, match=r"ErrorFeedback\.codec = .*Uncompressed loses nothing"):
        cosim.codecs.ErrorFeedback(codec=cosim.codecs.Uncompressed())
    with pytest.raises(ConfigurationError, match=r"ErrorFeedback\.codec = .*keeps a state itself"):
        cosim.codecs.ErrorFeedback(codec=cosim.codecs.ErrorFeedback())
    with pytest.raises(ConfigurationError, match=r"System\.codec = .*ErrorFeedback.*: .*other units"):
        cosim.run(small(cosim.codecs.ErrorFeedback(), protocol=cosim.Hist()))
    with pytest.raises(
        ConfigurationError,
        match=r"codec = Qsgd: no plan knows how long coding takes, .*RawHfl plans how long jobs take",
    ):
        small(cosim.codecs.Qsgd(cycles_per_value=1.0), protocol=RawHfl())
