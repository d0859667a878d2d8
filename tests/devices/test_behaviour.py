"""Devices that behave: what a job takes is asked when it begins, in every protocol and on both clocks."""

import numpy as np
import pytest
import worlds

import cosim
from cosim import Never, evolve
from cosim.configuration import ConfigurationError, for_each, part
from cosim.studies.study import Study
from cosim.testing import check_system, small_system

HZ = 1e9


@part
class Hot(cosim.devices.Processor):
    """Takes twice as long as cycles over frequency, and 5.1 W."""

    def duration_s(self, sim, clients, jobs):
        return 2.0 * jobs.cycles / jobs.frequency_hz

    def power_w(self, sim, clients, jobs):
        return np.full(len(clients), 5.1)


@part
class Throttled(cosim.devices.Processor):
    """Half as fast from an instant on."""

    hot_from_s: float = 5e-3

    @for_each
    def frequency_hz(self, sim, client, jobs):
        return jobs.frequency_hz if jobs.begins_s < self.hot_from_s else 0.5 * jobs.frequency_hz


@part
class JustInTime(cosim.devices.Processor):
    """Scales its frequency so that a training takes so long, or as long as it must."""

    takes_s: float = 4e-3

    def frequency_hz(self, sim, clients, jobs):
        return np.minimum(jobs.frequency_hz, jobs.cycles / self.takes_s)


@part
class Fractional(cosim.devices.PowerControl):
    """Makes up for half of a path loss that grows with the fourth power of the distance."""

    full_at_m: float = 500.0

    def power_w(self, sim, clients, jobs):
        return jobs.power_w * (jobs.distance_m / self.full_at_m) ** 2


def small(**parts) -> cosim.System:
    one = cosim.PerGroup(values=(HZ,))
    devices = cosim.DrawnDevices(min_frequency_hz=one, max_frequency_hz=one, **parts)
    budget = cosim.Radio(link=cosim.radio.LinkBudget(noise_figure_db=60.0))
    cable = cosim.radio.Unicast(link=cosim.GivenSnr(), sharing=cosim.FixedShares())
    return evolve(small_system(), devices=devices, uplink=budget, downlink=cable, evaluation=Never())


def trainings(result: cosim.Result):
    spans = result.spans[result.spans["activity"] == "train"]
    lasts_s = spans["end_s"] - spans["start_s"]
    return spans, lasts_s.to_numpy(), (spans["energy_j"] / lasts_s).to_numpy()


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_processor_of_ones_own_is_asked(clock):
    _, plain_s, plain_w = trainings(cosim.run(small(), clock=clock))
    _, lasts_s, power_w = trainings(cosim.run(small(processor=Hot()), clock=clock))
    np.testing.assert_allclose(plain_w, 0.5 * 2e-28 * HZ**3, rtol=1e-9)
    np.testing.assert_allclose(lasts_s[:15], 2.0 * plain_s[:15], rtol=1e-9)
    np.testing.assert_allclose(power_w, 5.1, rtol=1e-9)


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_processor_is_throttled_from_an_instant_on(clock):
    """Half the frequency takes twice as long, at an eighth of the power, by the instant of each training."""
    system = small(processor=Throttled())
    spans, lasts_s, power_w = trainings(cosim.run(system, clock=clock))
    is_hot = spans["start_s"].to_numpy() >= Throttled().hot_from_s
    assert 0 < is_hot.sum() < len(is_hot)
    np.testing.assert_allclose(lasts_s, np.where(is_hot, 2.0, 1.0) * lasts_s.min(), rtol=1e-6)
    np.testing.assert_allclose(power_w, np.where(is_hot, 0.125, 1.0) * 0.5 * 2e-28 * HZ**3, rtol=1e-9)


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_frequency_may_follow_the_cycles(clock):
    _, lasts_s, power_w = trainings(cosim.run(small(processor=JustInTime()), clock=clock))
    cycles = HZ * trainings(cosim.run(small()))[1].min()
    np.testing.assert_allclose(lasts_s, JustInTime().takes_s, rtol=1e-9)
    np.testing.assert_allclose(power_w, 0.5 * 2e-28 * (cycles / JustInTime().takes_s) ** 3, rtol=1e-6)


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_power_follows_the_distance_and_so_does_the_rate(clock):
    system, usual = small(power_control=Fractional()), small()
    _, _, cloud = worlds.built(system)
    distance_m = dict(zip(cloud.fleet.names, cloud.fleet.distance_m.tolist(), strict=True))
    own, plain = (cosim.run(of, clock=clock).spans for of in (system, usual))
    own, plain = (of[of["activity"] == "send"] for of in (own, plain))
    shares = own["node"].map(distance_m) ** 2 / Fractional().full_at_m ** 2
    power_w = own["energy_j"] / (own["end_s"] - own["start_s"])
    np.testing.assert_allclose(power_w, 0.2 * shares, rtol=1e-9)
    lasts_s = own.set_index(["node", "job"])["end_s"] - own.set_index(["node", "job"])["start_s"]
    usual_s = plain.set_index(["node", "job"])["end_s"] - plain.set_index(["node", "job"])["start_s"]
    assert (lasts_s > usual_s[lasts_s.index]).all()


PROTOCOLS = {
    "FedBuff": lambda: evolve(
        small_system(), protocol=cosim.FedBuff(num_updates=2), end=cosim.AfterVersions(num_versions=6)
    ),
    "VHFL": lambda: worlds.vhfl(evaluation=Never()),
    "RawHFL": lambda: worlds.rawhfl(evaluation=Never()),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_processor_is_asked_in_every_protocol(name):
    system = evolve(PROTOCOLS[name](), evaluation=Never())
    plain, hot = (
        cosim.run(evolve(system, devices=evolve(system.devices, processor=of))) for of in (None, Hot())
    )
    power_w = trainings(hot)[2]
    np.testing.assert_allclose(power_w, 5.1, rtol=1e-6)
    if name == "RawHFL":
        return  # whose clients stop when their energy is spent
    first, spans = trainings(plain)[0].iloc[0], trainings(hot)[0]
    same = spans[(spans["node"] == first["node"]) & (spans["job"] == first["job"])].iloc[0]
    lasts_s, plain_s = (of["end_s"] - of["start_s"] for of in (same, first))
    assert lasts_s == pytest.approx(2.0 * plain_s, rel=1e-6)


BEHAVIOURS = [{"processor": Hot()}, {"processor": Throttled()}, {"power_control": Fractional()}]


@pytest.mark.parametrize("parts", BEHAVIOURS, ids=["hot", "throttled", "fractional"])
def test_behaviour_keeps_all_laws_on_both_clocks_and_after_a_stop(parts):
    check_system(evolve(small(**parts), evaluation=small_system().evaluation))


def test_behaviour_in_a_study(tmp_path):
    """Designs with a part of one's own, each in its folder."""
    study = Study({"cool": small(), "hot": small(processor=Hot())}, seeds=1)
    energy_j = study.run(tmp_path / "study", num_workers=1)["energy_j"]
    train_s = trainings(cosim.run(small(processor=Hot())))[1].sum()
    assert energy_j.max() - energy_j.min() == pytest.approx((5.1 - 0.05) * train_s, rel=1e-3)


class OneForAll(cosim.devices.Processor):
    def power_w(self, sim, clients, jobs):
        return 5.1


class Negative(cosim.devices.PowerControl):
    def power_w(self, sim, clients, jobs):
        return -jobs.power_w


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_powers_that_cannot_be_are_refused(clock):
    with pytest.raises(ConfigurationError, match=r"OneForAll\.power_w gives 5\.1: must be a number for each"):
        cosim.run(small(processor=OneForAll()), clock=clock)
    with pytest.raises(ConfigurationError, match=r"power_w gives -0\.2 W: must be finite and at least 0"):
        cosim.run(small(power_control=Negative()), clock=clock)


class Mixed(cosim.devices.Devices):
    """Every second device is hot."""

    def of_clients(self, sim, cell_sizes):
        numbers = {"frequency_hz": HZ, "capacitance_j_per_hz2": 2e-28, "tx_power_w": 0.2}
        kinds = (None, Hot())
        return [
            cosim.devices.Device(**numbers, processor=kinds[place % 2]) for place in range(sum(cell_sizes))
        ]


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_each_device_has_its_own(clock):
    spans, _, power_w = trainings(cosim.run(evolve(small(), devices=Mixed()), clock=clock))
    is_hot = spans["node"].str[-1].astype(int).to_numpy() % 2 == 1
    np.testing.assert_allclose(power_w, np.where(is_hot, 5.1, 0.1), rtol=1e-9)
