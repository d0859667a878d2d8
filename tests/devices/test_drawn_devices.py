"""Cycles to seconds to joules by the RawHFL paper's eqs. 10 and 11; frequencies uniform in their range."""

import math

import attrs
import numpy as np
import pytest
from fixtures.refusals import refused
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cosim import DrawnDevices, Never, PerClient, PerGroup, run
from cosim.clock.draws import uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.devices import PowerRange, SamePower
from cosim.devices.device import Device, DeviceArrays
from cosim.devices.drawn_devices import frequencies_hz
from cosim.devices.processor import computing_w
from cosim.engine.clients.efforts import effort_of
from cosim.engine.clients.fleet import Clients, Fleet
from cosim.jobs.job import Job
from cosim.testing import small_system
from scenarios.papers.rawhfl import RawHfl

pytestmark = pytest.mark.quick

SIGNIFICANCE = 0.001


def train(device: Device, cycles: float, asked_hz: float | None = None) -> tuple[float, float]:
    """Duration and power of a training."""
    fleet = Fleet(DeviceArrays.of([device]), np.array([100.0]), lambda number: None)
    clients, hz = Clients(fleet, slice(0, 1)), None if asked_hz is None else np.array([asked_hz])
    job, now_s = Job(1, 0, 0), np.zeros(1)
    lasts_s, power_w = effort_of(Simulation(seed=1), clients, job, now_s, np.array([cycles]), hz)
    return lasts_s.item(), power_w.item()


def device(frequency_hz: float, zeta: float, **numbers: float) -> Device:
    return Device(frequency_hz=frequency_hz, capacitance_j_per_hz2=zeta, tx_power_w=0.2, **numbers)


def test_time_by_hand():
    """Eq. 10: L n n̄ c D / f: 20 steps, 4 batches of 32 samples of 5 kbit, 100 cycles per bit, 1.6 GHz."""
    cycles = 20 * 4 * 32 * 100 * 5000.0
    assert train(device(1.6e9, 2e-28), cycles)[0] == pytest.approx(0.8, rel=1e-12)
    assert train(device(1.6e9, 2e-28), 0.0)[0] == 0.0


def test_energy_by_hand():
    """Eq. 11: L 0.5 zeta n n̄ c D f²; the power is what gives it over the time of eq. 10."""
    cycles = 1.28e9
    lasts_s, power_w = train(device(1.6e9, 2e-28), cycles)
    energy_j = 0.5 * 2e-28 * cycles * 1.6e9**2
    assert energy_j == pytest.approx(0.32768, rel=1e-12)
    assert power_w * lasts_s == pytest.approx(energy_j, rel=1e-12)


@given(cycles=st.floats(1.0, 1e15), frequency_hz=st.floats(1e6, 1e11), zeta=st.floats(0.0, 1e-25))
def test_energy_on_the_clock_is_eq_11(cycles, frequency_hz, zeta):
    sim = Simulation(seed=1)
    sim.run(sim.spend("a", "train", *train(device(frequency_hz, zeta), cycles)))
    (span,) = sim.recorder.spans
    assert span.end_s == pytest.approx(cycles / frequency_hz, rel=1e-12)
    assert span.energy_j == pytest.approx(0.5 * zeta * cycles * frequency_hz**2, rel=1e-12)


def frequencies(lowest_hz: float, highest_hz: float, num_clients: int) -> np.ndarray:
    sim = Simulation(seed=1)
    names = [f"client-{number:04d}" for number in range(num_clients)]
    shares = np.array([sim.of_client(name, "frequency", uniforms) for name in names])
    return frequencies_hz(np.full(num_clients, lowest_hz), np.full(num_clients, highest_hz), shares)


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


def at_1_ghz(**processor: float) -> Device:
    """The device of a client whose range is one frequency."""
    one = PerGroup(values=(1e9,))
    drawn = DrawnDevices(min_frequency_hz=one, max_frequency_hz=one, **processor)
    return drawn.of_clients(Simulation(seed=1), cell_sizes=(1,))[0]


def test_the_capacitance_reaches_the_processor():
    power_w = train(at_1_ghz(capacitance_j_per_hz2=3e-28), 1.0)[1]
    assert power_w == pytest.approx(0.5 * 3e-28 * 1e27, rel=1e-12)


def test_a_range_that_is_swapped_is_refused():
    with pytest.raises(ConfigurationError) as refused:
        frequencies(2e9, 1e9, 2)
    assert str(refused.value) == (
        "DrawnDevices.min_frequency_hz = 2e+09 lies above max_frequency_hz = 1e+09. Swap them."
    )


@pytest.mark.parametrize(
    "broken",
    [
        {"min_frequency_hz": ()},
        {"min_frequency_hz": (1e9, 0.0)},
        {"max_frequency_hz": (-1.0,)},
        {"capacitance_j_per_hz2": -1e-28},
    ],
)
def test_processors_that_cannot_be_are_refused(broken):
    (name,) = broken
    with refused(f"DrawnDevices.{name}"):
        DrawnDevices(**broken)


def test_static_power_comes_on_top_at_any_frequency():
    leaky = at_1_ghz(static_power_w=0.25)
    assert train(leaky, 1e9) == (1.0, pytest.approx(0.5 * 2e-28 * 1e27 + 0.25, rel=1e-12))
    assert train(leaky, 1e9, 0.5e9) == (2.0, pytest.approx(0.5 * 2e-28 * 0.125e27 + 0.25, rel=1e-12))


def test_devices_come_in_the_order_of_their_numbers():
    """Each its cell's or its own range, whatever else is drawn."""
    groups, each = PerGroup(values=(1e9, 3e9)), PerClient(values=(5e9, 6e9, 7e9))
    drawn = DrawnDevices(min_frequency_hz=groups, max_frequency_hz=groups)
    found = drawn.of_clients(Simulation(seed=1), cell_sizes=(1, 2))
    assert [device.frequency_hz for device in found] == [1e9, 3e9, 3e9]
    drawn = DrawnDevices(min_frequency_hz=each, max_frequency_hz=each, tx_power=SamePower(power_w=0.3))
    found = drawn.of_clients(Simulation(seed=1), cell_sizes=(1, 2))
    assert [device.frequency_hz for device in found] == [5e9, 6e9, 7e9]
    assert {device.tx_power_w for device in found} == {0.3}


def test_the_size_of_the_fleet_moves_nobodys_device():
    drawn = DrawnDevices(tx_power=PowerRange(), min_frequency_hz=PerGroup(values=(1e9,)))
    few = drawn.of_clients(Simulation(seed=1), cell_sizes=(3,))
    many = drawn.of_clients(Simulation(seed=1), cell_sizes=(9,))
    assert list(few) == list(many[:3])
    assert len({device.tx_power_w for device in many}) == 9


@pytest.mark.parametrize("power_w", [0.0, -0.1, math.inf, math.nan])
def test_a_device_that_cannot_be_is_refused(power_w):
    with pytest.raises(ConfigurationError, match=r"^Device\.tx_power_w = .*: must be a finite number"):
        attrs.evolve(device(1e9, 2e-28), tx_power_w=power_w)
    with refused("Device.frequency_hz"):
        device(power_w, 2e-28)


class Forgetful(DrawnDevices):
    """Forgets a client."""

    def of_clients(self, sim, cell_sizes):
        return super().of_clients(sim, cell_sizes)[1:]


def test_devices_as_arrays_are_those_one_by_one():
    drawn = DrawnDevices(tx_power=PowerRange(), static_power_w=0.1).of_clients(Simulation(seed=1), (3, 4))
    again = DeviceArrays.of(list(drawn))
    assert list(again) == list(drawn)
    assert again.train_w.tolist() == [computing_w(one, one.frequency_hz) for one in drawn]
    assert DeviceArrays.of(again) is again
    with refused("Device.frequency_hz"):
        attrs.evolve(drawn, frequency_hz=np.where(np.arange(7) == 3, math.inf, 1e9))


def test_a_device_for_each_client_is_asked_for():
    with pytest.raises(ConfigurationError, match=r"Forgetful.of_clients gives 4 devices for 5 clients"):
        run(attrs.evolve(small_system(), devices=Forgetful(), evaluation=Never()))


class Aged(DrawnDevices):
    """Every other processor leaks."""

    def of_clients(self, sim, cell_sizes):
        found = super().of_clients(sim, cell_sizes)
        return [attrs.evolve(found[0], static_power_w=0.1), *found[1:]]


def test_a_plan_of_processors_that_differ_is_refused():
    """An allocation takes one capacitance and one static power for all."""
    system = attrs.evolve(small_system(), devices=Aged(), protocol=RawHfl(), evaluation=Never())
    with pytest.raises(ConfigurationError, match=r"processors differ in static_power_w, but a plan"):
        run(system)
