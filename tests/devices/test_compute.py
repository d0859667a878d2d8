"""Cycles to seconds to joules by the RawHFL paper's eqs. 10 and 11; frequencies uniform in their range."""

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cosim.configuration import ConfigurationError
from cosim.devices.compute import Compute, Cpu
from cosim.simulation import Simulation

SIGNIFICANCE = 0.001


def test_time_by_hand():
    """Eq. 10: L n n̄ c D / f: 20 steps, 4 batches of 32 samples of 5 kbit, 100 cycles per bit, 1.6 GHz."""
    cycles = 20 * 4 * 32 * 100 * 5000.0
    cpu = Cpu(frequency_hz=1.6e9, capacitance_j_per_hz2=2e-28)
    assert cpu.duration_s(cycles) == pytest.approx(0.8, rel=1e-12)
    assert cpu.duration_s(0.0) == 0.0


def test_energy_by_hand():
    """Eq. 11: L 0.5 zeta n n̄ c D f²; the power is what gives it over the time of eq. 10."""
    cycles = 1.28e9
    cpu = Cpu(frequency_hz=1.6e9, capacitance_j_per_hz2=2e-28)
    energy_j = 0.5 * 2e-28 * cycles * 1.6e9**2
    assert energy_j == pytest.approx(0.32768, rel=1e-12)
    assert cpu.power_w * cpu.duration_s(cycles) == pytest.approx(energy_j, rel=1e-12)


@given(cycles=st.floats(1.0, 1e15), frequency_hz=st.floats(1e6, 1e11), zeta=st.floats(0.0, 1e-25))
def test_energy_on_the_clock_is_eq_11(cycles, frequency_hz, zeta):
    cpu = Cpu(frequency_hz=frequency_hz, capacitance_j_per_hz2=zeta)
    sim = Simulation(seed=1)
    sim.run(sim.spend("a", "train", cpu.duration_s(cycles), cpu.power_w))
    (span,) = sim.trace.spans
    assert span.end_s == pytest.approx(cycles / frequency_hz, rel=1e-12)
    assert span.energy_j == pytest.approx(0.5 * zeta * cycles * frequency_hz**2, rel=1e-12)


def frequencies(lowest_hz: float, highest_hz: float, num_clients: int) -> np.ndarray:
    sim = Simulation(seed=1)
    names = [f"client-{number:04d}" for number in range(num_clients)]
    cpus = [Compute().cpu(lowest_hz, highest_hz, sim.stream(name, "cpu")) for name in names]
    return np.array([cpu.frequency_hz for cpu in cpus])


def is_uniform(values: np.ndarray, lowest: float, highest: float) -> bool:
    law = stats.uniform(lowest, highest - lowest)
    return bool(stats.kstest(values, law.cdf).pvalue > SIGNIFICANCE)


def test_frequencies_are_uniform_in_their_range():
    drawn_hz = frequencies(1e9, 2e9, 4000)
    assert drawn_hz.min() >= 1e9
    assert drawn_hz.max() <= 2e9
    assert is_uniform(drawn_hz, 1e9, 2e9)


def test_other_laws_of_frequency_would_be_caught():
    drawn_hz = frequencies(1e9, 2e9, 4000)
    assert not is_uniform(drawn_hz, 1e9, 2.1e9)
    periods_s = np.random.default_rng(1).uniform(1 / 2e9, 1 / 1e9, 4000)
    assert not is_uniform(1.0 / periods_s, 1e9, 2e9)


def test_a_range_of_one_frequency_is_that_frequency():
    assert set(frequencies(1.5e9, 1.5e9, 5)) == {1.5e9}


def test_the_capacitance_reaches_the_processor():
    cpu = attrs.evolve(Compute(), capacitance_j_per_hz2=3e-28).cpu(1e9, 1e9, np.random.default_rng(1))
    assert cpu.power_w == pytest.approx(0.5 * 3e-28 * 1e27, rel=1e-12)


def test_a_range_that_is_swapped_is_refused():
    with pytest.raises(ConfigurationError) as refused:
        Compute().cpu(2e9, 1e9, np.random.default_rng(1))
    assert str(refused.value) == (
        "Compute.min_frequency_hz = 2e+09 lies above max_frequency_hz = 1e+09. Usual fix: swap them."
    )


@pytest.mark.parametrize(
    "broken",
    [
        {"step_cycles": 0.0},
        {"cycles_per_flop": 0.0},
        {"min_frequency_hz": ()},
        {"min_frequency_hz": (1e9, 0.0)},
        {"max_frequency_hz": (-1.0,)},
        {"capacitance_j_per_hz2": -1e-28},
    ],
)
def test_processors_that_cannot_be_are_refused(broken):
    (name,) = broken
    with pytest.raises(ConfigurationError, match=rf"^Compute\.{name} = "):
        Compute(**broken)


# --- Cycles per bit, other frequencies, static power --------------------------------------------------------


def test_cycles_by_the_bit_by_hand():
    """RawHFL, eq. 10: 320 samples of 1,408 bits at 30 cycles per bit, in place of a fixed number."""
    compute = Compute(cycles_per_bit=(30.0,), sample_bits=1408)
    cpu = compute.cpu(1e9, 2e9, np.random.default_rng(1))
    assert cpu.cycles(320) == pytest.approx(320 * 1408 * 30.0, rel=1e-12)
    assert Compute(step_cycles=7.0).cpu(1e9, 2e9, np.random.default_rng(1)).cycles(320) == 7.0


def test_cycles_by_the_operation_by_hand():
    """A quarter of a cycle for each of 1,000 operations a sample, 320 samples."""
    cpu = Compute(cycles_follow="flops", cycles_per_flop=0.25).cpu(1e9, 2e9, np.random.default_rng(1), 1000)
    assert cpu.cycles(320) == pytest.approx(0.25 * 1000 * 320, rel=1e-12)
    assert cpu.frequency_hz == Compute().cpu(1e9, 2e9, np.random.default_rng(1)).frequency_hz


def test_training_without_operations_is_refused():
    with pytest.raises(ConfigurationError, match=r"^Compute\.cycles_follow = 'flops': System\.model has no "):
        Compute(cycles_follow="flops").cpu(1e9, 2e9, np.random.default_rng(1))


def test_operations_and_bits_together_are_refused():
    with pytest.raises(ConfigurationError) as refused:
        Compute(cycles_follow="flops", cycles_per_bit=(25.0, 40.0))
    assert str(refused.value) == (
        "Compute.cycles_per_bit = (25.0, 40.0): cycles_follow = flops counts operations, not bits. "
        "Usual fix: none, or cycles_follow = parameters."
    )


ON_A_SUBMODEL = "on a submodel it takes the submodel's share of the trained parameters."


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        (
            {},
            "A local step takes 1e+06 cycles, whatever the network (compute.step_cycles); " + ON_A_SUBMODEL,
        ),
        (
            {"cycles_per_bit": (25.0, 40.0)},
            "A local step takes 25 to 40 cycles for each bit of the mini-batch, whatever the network "
            "(compute.cycles_per_bit); " + ON_A_SUBMODEL,
        ),
        (
            {"cycles_per_bit": (30.0,)},
            "A local step takes 30 cycles for each bit of the mini-batch, whatever the network "
            "(compute.cycles_per_bit); " + ON_A_SUBMODEL,
        ),
        (
            {"cycles_follow": "flops"},
            "A local step takes 0.125 cycles for each floating-point operation of training this network, or "
            "the part of it that a client trains, on the mini-batch (compute.cycles_per_flop).",
        ),
    ],
)
def test_the_rule_of_cycles_in_words(fields, rule):
    assert Compute(**fields).rule == rule


def test_cycles_per_bit_are_drawn_after_the_frequency():
    frequencies = {
        Compute(cycles_per_bit=bits).cpu(1e9, 2e9, np.random.default_rng(1)).frequency_hz
        for bits in (None, (30.0,), (25.0, 40.0))
    }
    assert len(frequencies) == 1
    drawn = [
        Compute(cycles_per_bit=(25.0, 40.0)).cpu(1e9, 2e9, np.random.default_rng(n)).sample_cycles / 1408
        for n in range(200)
    ]
    assert 25.0 <= min(drawn) < 26.0
    assert 39.0 < max(drawn) <= 40.0


def test_static_power_comes_on_top_at_any_frequency():
    cpu = Compute(static_power_w=0.25).cpu(1e9, 1e9, np.random.default_rng(1))
    assert cpu.power_w == pytest.approx(0.5 * 2e-28 * 1e27 + 0.25, rel=1e-12)
    assert cpu.at(0.5e9).power_w == pytest.approx(0.5 * 2e-28 * 0.125e27 + 0.25, rel=1e-12)
    assert cpu.at(0.5e9).duration_s(1e9) == 2.0
    assert cpu.at(None) is cpu
