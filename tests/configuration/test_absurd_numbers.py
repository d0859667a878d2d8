"""Numbers that are legal and absurd: a run ends, or is refused in one sentence, and none goes on for ever."""

import pytest
import worlds
from device_worlds import asynchronous, timed, unlike

import cosim
from cosim import ConfigurationError
from scenarios.papers.rawhfl import RawHfl

RULE = "must be at least 1e-9, a nanosecond"


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (cosim.AfterSeconds, "duration_s"),
        (cosim.Deadline, "deadline_s"),
        (cosim.waiting.UploadDeadline, "upload_deadline_s"),
        (cosim.waiting.AtLeast, "lasting_s"),
        (cosim.ends.EverySeconds, "interval_s"),
        (cosim.protocols.TimeTriggered, "period_s"),
        (cosim.radio.SlottedAloha, "slot_s"),
        (cosim.links.RepeatTrace, "period_s"),
        (cosim.ClientTraining, "upload_deadline_s"),
        (RawHfl, "deadline_s"),
    ],
)
def test_times_that_no_clock_tells_apart_are_refused(kind, field):
    kind(**{field: 1e-9})
    with pytest.raises(ConfigurationError, match=rf"{kind.__name__}\.{field} = 1e-29: {RULE}"):
        kind(**{field: 1e-29})


def test_an_end_beyond_that_of_the_clock_is_refused():
    with pytest.raises(ConfigurationError, match=r"AfterSeconds\.duration_s = 1e\+12: must be below 1e\+09"):
        cosim.AfterSeconds(duration_s=1e12)


def charged(capacity_j: float, charge_w: float) -> cosim.System:
    battery = cosim.devices.Battery(capacity_j=capacity_j, charge_w=charge_w)
    return unlike(
        devices=worlds.processors(1e9, idle_w=0.1, battery=battery), end=cosim.AfterSeconds(duration_s=1.0)
    )


ABSURD = {
    "starts": (
        asynchronous(cosim.FedAsync(starts=cosim.protocols.PoissonStarts(rate_per_s=1e20))),
        r"time stands still at 0 s: .*PoissonStarts",
    ),
    "arrivals": (
        unlike(
            uplink=cosim.QueuedLink(
                arrivals=cosim.queues.PoissonArrivals(rate_per_s=1e20), initial_work=cosim.queues.NoWork()
            )
        ),
        r"time stands still at 0 s: .*in Station\._arrive",
    ),
    "packets that are rare beside fading blocks": (
        unlike(
            uplink=worlds.still(
                3.0,
                sharing=cosim.radio.SlottedAloha(transmit_probability=1e-12),
                fading=cosim.Rayleigh(redrawn=cosim.radio.CoherenceTime(coherence_time_s=1e-3)),
            )
        ),
        r"sends no packet for more than 1,000 fading blocks.*Use a larger",
    ),
    "a tiny battery that charges": (
        charged(1e-20, 0.05),
        r"time stands still at 0 s: .*in .*Charge\._catch_up",
    ),
    "a tiny battery that charges at once": (charged(1e-20, 1e20), ""),
    "a slow charge": (charged(1.0, 1e-29), ""),
}


@pytest.mark.filterwarnings("ignore:QueuedLink")
@pytest.mark.parametrize("name", ABSURD)
def test_the_run_ends(name, monkeypatch):
    monkeypatch.setattr("cosim.clock.event_loop._MOST_EVENTS", 10_000)
    monkeypatch.setattr("cosim.clock.event_loop._AT_ONCE", 1000)
    monkeypatch.setattr("cosim.radio.sharing.slotted_aloha._MOST_BLOCKS", 1000)
    system, words = ABSURD[name]
    if not words:
        assert cosim.run(timed(system)).summary.status == "complete"
        return
    with pytest.raises(ConfigurationError, match=words):
        cosim.run(timed(system))
