"""A user's own numbers of the radio: asked on both clocks, by runs and studies, in whatever form they are."""

from itertools import product

import attrs
import numpy as np
import own_radio
import pytest
from equal import same

import cosim
from cosim import ConfigurationError, Never
from cosim.radio.by_band import SteadyLink
from cosim.radio.gain_errors import GainErrors
from cosim.studies.study import Study
from cosim.testing import small_system

SMALL = attrs.evolve(small_system(), evaluation=Never())
OWN = {
    "flat SNR": {"link": own_radio.PerWatt()},
    "SNR by bandwidth": {"link": own_radio.Dense()},
    "an override of a kind of ours": {"link": own_radio.Weaker()},
    "vectors": {"fading": own_radio.TwoPaths()},
    "gains": {"fading": own_radio.Shadows()},
    "vectors of a kind of ours": {"fading": own_radio.Quieter()},
}
SHARINGS = [cosim.FixedShares(bandwidth_hz=1e6), cosim.radio.RedividedShares(bandwidth_hz=1e6)]


def over(uplink: cosim.Radio, clock: str) -> cosim.Result:
    return cosim.run(attrs.evolve(SMALL, uplink=uplink), clock=clock, num_workers=1)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("part", OWN.values(), ids=OWN)
def test_own_numbers_are_asked_on_both_clocks(part, sharing):
    """With errors of the gains, which reach them."""
    uplink = cosim.Radio(sharing=sharing, csi_error_db=2.0, **part)
    by_events, on_arrays = (over(uplink, clock) for clock in ("events", "arrays"))
    assert same(by_events, on_arrays)
    usual = over(cosim.Radio(sharing=sharing, csi_error_db=2.0), "events")
    assert by_events.summary.time_s > usual.summary.time_s


def test_own_numbers_are_asked_in_a_study(tmp_path):
    grid = {
        "uplink.link.kind": ("own_radio:PerWatt", "own_radio:Dense"),
        "uplink.fading.kind": ("own_radio:TwoPaths", "own_radio:Shadows", "own_radio:Steps"),
    }
    runs = Study(SMALL, grid, seeds=1).run(tmp_path / "study", num_workers=2)
    assert list(runs["status"]) == ["complete"] * 6, runs["error"].tolist()
    links = (own_radio.PerWatt(), own_radio.Dense())
    fadings = (own_radio.TwoPaths(), own_radio.Shadows(), own_radio.Steps())
    for folder, (link, fading) in zip(runs["folder"], product(links, fadings), strict=True):
        expected = over(cosim.Radio(link=link, fading=fading), "events")
        assert same(cosim.Result.load(tmp_path / "study" / folder), expected)


def test_a_course_changes_on_the_way():
    """Bits of an upload are the integral of a rate that steps between SNRs of 1 and 10."""
    uplink = cosim.Radio(
        sharing=cosim.FixedShares(bandwidth_hz=1e6),
        link=cosim.GivenSnr(snr_db=cosim.PerGroup(values=(30.0,))),
        fading=own_radio.Steps(),
    )
    num_of = {"edge-00": 3, "edge-01": 2}
    for row in over(uplink, "auto").transfers.itertuples():
        step_s, share_hz = 0.001 + 0.0001 * int(row.client[-1]), 1e6 / num_of[row.edge]
        steps = np.arange(1, 1 + int(row.end_s / step_s)) * step_s
        times_s = np.array([row.start_s, *steps[steps > row.start_s], row.end_s])
        middles = (times_s[:-1] + times_s[1:]) / 2.0
        rates_bps = share_hz * np.log2(np.where(middles // step_s % 2 == 1.0, 11.0, 2.0))
        assert rates_bps @ np.diff(times_s) == pytest.approx(row.payload_bits, rel=1e-9)


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

        class Hourly(cosim.radio.EveryEdgeRound):
            def at(self, now_s):
                return (int(now_s),)

    with pytest.raises(ConfigurationError, match=r"Twofold has two forms, vectors \(Rayleigh.vectors\)"):

        class Twofold(cosim.Rayleigh):
            def gains(self, sim, clients, block):
                return 2.0

    with pytest.raises(ConfigurationError, match=r"\(SteadyLink.rates_bps\) and events \(Shadowed.open"):

        class Shadowed(SteadyLink):
            """Uploads of its own, which arrays would not ask."""

            def open(self, client, payload, job, tx_power_w=None):
                return super().open(client, payload, job, 0.1)
