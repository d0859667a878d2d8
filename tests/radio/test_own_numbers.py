"""A user's own numbers of the radio: asked on both clocks, by runs and studies, in whatever form they are."""

import attrs
import own_radio
import pytest

import cosim
from cosim import ConfigurationError, Never
from cosim.radio.gain_errors import GainErrors
from cosim.rows.tables import TABLES
from cosim.studies.study import Study
from cosim.testing import small_system

SMALL = attrs.evolve(small_system(), evaluation=Never())
OWN = {
    "flat SNR": {"link": own_radio.PerWatt()},
    "SNR by bandwidth": {"link": own_radio.Dense()},
    "an override of ours": {"link": own_radio.Weaker()},
}
SHARINGS = [cosim.FixedShares(bandwidth_hz=1e6), cosim.RedividedShares(bandwidth_hz=1e6)]


def same(one: cosim.Result, other: cosim.Result) -> bool:
    return all(getattr(one, name).equals(getattr(other, name)) for name in TABLES)


def over(uplink: cosim.Radio, clock: str) -> cosim.Result:
    return cosim.run(attrs.evolve(SMALL, uplink=uplink), clock=clock, num_workers=1)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("part", OWN.values(), ids=OWN)
def test_own_numbers_are_asked_on_both_clocks(part, sharing):
    """With errors of the gains, which reach them."""
    uplink = cosim.Radio(sharing=sharing, csi_error_db=2.0, **part)
    by_events, on_arrays = (over(uplink, clock) for clock in ("events", "arrays"))
    assert same(by_events, on_arrays)
    usual = over(attrs.evolve(uplink, link=cosim.GivenSnr()), "events")
    assert by_events.summary.time_s > usual.summary.time_s


def test_own_numbers_are_asked_in_a_study(tmp_path):
    grid = {"uplink.link.kind": ("own_radio:PerWatt", "own_radio:Dense", "own_radio:Weaker")}
    runs = Study(SMALL, grid, seeds=1).run(tmp_path / "study", num_workers=2)
    assert list(runs["status"]) == ["complete"] * 3, runs["error"].tolist()
    for folder, part in zip(runs["folder"], OWN.values(), strict=True):
        assert same(cosim.Result.load(tmp_path / "study" / folder), over(cosim.Radio(**part), "events"))


def test_own_errors_of_gains_are_asked_on_both_clocks(monkeypatch):
    uplink = cosim.Radio(csi_error_db=1.0, link=own_radio.PerWatt())
    usual = over(uplink, "events")
    monkeypatch.setattr(GainErrors, "factors", lambda self, clients, job: 0.5)
    by_events, on_arrays = (over(uplink, clock) for clock in ("events", "arrays"))
    assert same(by_events, on_arrays)
    assert by_events.summary.time_s > usual.summary.time_s


def test_numbers_in_two_forms_cannot_be_made():
    with pytest.raises(ConfigurationError, match=r"Both has two forms, flat \(Both.snr\) and by_bandwidth"):

        class Both(own_radio.DenseCell):
            def snr(self, clients, tx_power_w, factor, job):
                return 1.0

    with pytest.raises(ConfigurationError, match=r"Hourly has two forms, numbers \(EveryEdgeRound.of_job\)"):

        class Hourly(cosim.EveryEdgeRound):
            def at(self, now_s):
                return (int(now_s),)
