"""A job that the clock hardly tells from nothing, so late does it begin, is refused."""

from pathlib import Path

import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st

import cosim
from cosim import AfterRounds, ConfigurationError, FixedShares, Never, evolve
from cosim.clock.instants import instant_after, is_short

LATE_HZ = worlds.STEPS * worlds.STEP_CYCLES / 4e8
"""A training of 4e8 s, after which the clock has steps of a microsecond."""


def two_rounds(fast_hz: float) -> cosim.System:
    return worlds.one_cell(fast_hz, LATE_HZ, evaluation=Never(), end=AfterRounds(num_global_rounds=2))


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_training_of_less_than_a_thousand_steps(clock):
    """0.3 ms would be 300 of them, 30 ms are 30,000."""
    said = "client-0000 would train for 0.0003 s at 400000000.* Use times since the start of the run"
    with pytest.raises(ConfigurationError, match=said):
        cosim.run(two_rounds(1e10), clock=clock)
    assert cosim.run(two_rounds(1e8), clock=clock).summary.num_updates == 4


ONE = cosim.GivenSnr(snr_db=cosim.PerGroup(values=(0.0,)))
STRAIGHT = cosim.Radio(sharing=FixedShares(bandwidth_hz=1e6), link=ONE, fading=cosim.radio.NoFading())
"""1 Mbit/s for one client alone, since log2(1 + 1) = 1."""


def faster(link: cosim.Radio | cosim.radio.Unicast, by: float) -> cosim.Link:
    return evolve(link, sharing=evolve(link.sharing, bandwidth_hz=1e6 * by))


def late(**links: cosim.Link) -> cosim.System:
    """Rounds that begin at 0 and 4e8 s."""
    slow = worlds.one_cell(LATE_HZ, LATE_HZ, evaluation=Never(), end=AfterRounds(num_global_rounds=2))
    return evolve(slow, **links)


REDIVIDED = evolve(STRAIGHT, sharing=cosim.radio.RedividedShares(bandwidth_hz=1e6))
DOWN = cosim.radio.Unicast(sharing=FixedShares(bandwidth_hz=1e6), link=ONE, fading=cosim.radio.NoFading())


@pytest.mark.parametrize("clock", ["events", "arrays"])
@pytest.mark.parametrize(
    ("name", "link", "activity"),
    [("uplink", STRAIGHT, "send"), ("uplink", REDIVIDED, "send"), ("downlink", DOWN, "receive")],
)
def test_an_upload_and_a_download_of_less_than_a_thousand_steps(clock, name, link, activity):
    """Of some 0.1 ms at 4e8 s; a thousand times as slow, they run."""
    usual = cosim.run(late(**{name: link}), clock=clock)
    rows = usual.transfers[usual.transfers["direction"] == ("down" if name == "downlink" else "up")]
    lasts_s = float((rows["end_s"] - rows["start_s"]).max())
    with pytest.raises(
        ConfigurationError, match=rf"client-000\d would {activity} for .* s at [48]00000\d\d\d"
    ):
        cosim.run(late(**{name: faster(link, lasts_s / 2e-4)}), clock=clock)
    assert cosim.run(late(**{name: faster(link, lasts_s / 0.2)}), clock=clock).summary.num_updates == 4


def traced(folder: Path) -> cosim.Link:
    """1 Tbit/s, along a course."""
    path = folder / "rates.csv"
    path.write_text("time_s,device,rate_bps\n0,0,1e12\n0,1,1e12\n")
    return cosim.links.TracedLink(
        trace=cosim.links.RateTrace(file=str(path), past_end=cosim.links.HoldLast())
    )


@pytest.mark.parametrize("clock", ["events", "arrays"])
@pytest.mark.parametrize("link", [faster(STRAIGHT, 1e12), faster(REDIVIDED, 1e12), None])
def test_an_upload_of_less_than_a_step_is_told_from_one_that_takes_no_time(clock, link, tmp_path):
    with pytest.raises(ConfigurationError, match=r"client-000\d would send for .* less than a thousand st"):
        cosim.run(late(uplink=link or traced(tmp_path)), clock=clock)


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_an_upload_that_takes_no_time_is_run(clock):
    assert cosim.run(late(uplink=cosim.links.Instantaneous()), clock=clock).summary.num_updates == 4


@given(start_s=st.floats(0.0, 9e8), steps=st.integers(1, 3000))
def test_a_thousand_steps_at_any_instant(start_s, steps):
    """A step is that of 15 digits."""
    start_s = instant_after(0.0, start_s)
    step_s = 10.0 ** (np.floor(np.log10(max(start_s, 1e-8) * (1 + 1e-15))) - 14)
    step_s = max(float(step_s), 1e-22)
    expected = steps < 1000
    assert is_short(start_s, steps * step_s) is expected
    assert is_short(np.array([start_s]), np.array([steps * step_s])).tolist() == [expected]
    assert not is_short(start_s, 0.0)
