"""Links of one's own in each form: on both clocks, in a study, stopped and resumed, up and down."""

import attrs
import numpy as np
import own_links
import pandas as pd
import pytest

import cosim
from cosim.configuration import ConfigurationError
from cosim.studies.study import Study
from cosim.testing import check_link, small_system
from cosim.testing.laws.links import check_carried

LINKS = {
    "rates": own_links.Rates(),
    "rates, one by one": own_links.OneByOne(),
    "course": own_links.Fading(),
    "machine": own_links.Shared(),
    "machine, in turns": own_links.Ring(),
    "events": own_links.Line(),
}
TABLES = ("spans", "transfers", "fates", "rounds")


def system_of(name: str, direction: str, deadline_s: float = 0.05) -> cosim.System:
    system = small_system(cosim.Deadline(deadline_s=deadline_s))
    return attrs.evolve(system, **{f"{direction}link": LINKS[name]}, evaluation=cosim.Never())


def same(one: cosim.Result, other: cosim.Result) -> None:
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("name", LINKS)
def test_it_is_run_on_both_clocks_and_goes_on_where_it_was_stopped(name, direction, tmp_path):
    system = system_of(name, direction)
    whole = cosim.run(system, clock="events")
    carried = whole.transfers[whole.transfers["direction"] == direction]
    assert 0 < carried["arrived"].sum() < len(carried)
    if name == "events":
        with pytest.raises(ConfigurationError, match=rf"System.{direction}link = Line runs by events"):
            cosim.run(system, clock="arrays")
    else:
        same(cosim.run(system, clock="arrays"), whole)

    def stop(report) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cosim.run(system, out=tmp_path / "run", listener=stop)
    same(cosim.run(system, out=tmp_path / "run", resume=True), whole)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_study_tells_them_apart(direction, tmp_path):
    system = system_of("rates", direction)
    runs = Study(system, {f"{direction}link.rate_bps": (1e5, 2e5)}, seeds=1).run(tmp_path, num_workers=1)
    rates = runs[f"field.{direction}link.rate_bps"]
    for rate_bps, time_s in zip(rates, runs["time_s"], strict=True):
        link = {f"{direction}link": own_links.Rates(rate_bps=float(rate_bps))}
        assert time_s == cosim.run(attrs.evolve(system, **link)).summary.time_s


def test_a_rate_is_asked_for_the_participants_and_takes_their_powers():
    """Two rates by one rule: the array of all, and a client's own by for_each."""
    one, other = (
        cosim.run(attrs.evolve(small_system(), uplink=link, evaluation=cosim.Never()))
        for link in (own_links.ByPower(), own_links.ByPowerEach())
    )
    same(one, other)
    up = one.transfers
    lasts_s = up["end_s"] - up["start_s"]
    assert lasts_s.to_numpy() == pytest.approx((up["payload_bits"] / 2e5).to_numpy(), rel=1e-9)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_each_form_keeps_the_laws(link):
    check_carried(link)


def test_what_takes_no_time_works_both_ways():
    check_link(cosim.links.Instantaneous())
    system = attrs.evolve(small_system(), uplink=cosim.links.Instantaneous(), evaluation=cosim.Never())
    one, other = cosim.run(system, clock="events"), cosim.run(system, clock="arrays")
    same(one, other)
    assert one.transfers["arrived"].all()
    assert (one.transfers["start_s"] == one.transfers["end_s"]).all()


def test_a_link_with_two_forms_cannot_be_made():
    with pytest.raises(ConfigurationError, match=r"forms, rates \(Steady.rates_bps\) and events \(Own.open"):

        class Own(own_links.Steady):
            def open(self, client, payload, job, tx_power_w=None):
                return super().open(client, payload, job, tx_power_w)

    with pytest.raises(ConfigurationError, match="Empty gives none of the forms of a CellLink"):
        type("Empty", (cosim.CellLink,), {})()


@pytest.mark.parametrize(
    ("field", "link", "message"),
    [
        (
            "uplink",
            cosim.radio.Broadcast(),
            "uplink = Broadcast: it is only for the downlink.*uplink = Radio",
        ),
        ("downlink", cosim.Radio(), "downlink = Radio: it is only for the uplink.*downlink = Unicast"),
    ],
)
def test_a_link_the_wrong_way_is_refused(field, link, message):
    with pytest.raises(ConfigurationError, match=message):
        attrs.evolve(small_system(), **{field: link})


@pytest.mark.parametrize("rates", [-1.0, np.nan, np.ones(7)])
@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_what_is_no_rate_is_refused(rates, clock, monkeypatch):
    monkeypatch.setattr(own_links.Steady, "rates_bps", lambda *asked: np.broadcast_to(rates, (7,)))
    with pytest.raises(ConfigurationError, match=r"Steady.rates_bps gives .*: must be an array with a rate"):
        cosim.run(system_of("rates", "up"), clock=clock)
