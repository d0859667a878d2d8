"""Bands of one's own, in each form: both clocks ask what the class gives, and nothing is bypassed."""

import math

import attrs
import pytest
from both_clocks import assert_same, both
from own_forms import Halves

import cosim
from cosim import ConfigurationError, Never
from cosim.configuration import part
from cosim.links.machine import Machine
from cosim.radio.sharing.port import Band
from cosim.radio.sharing.redivided import RedividedBand
from cosim.radio.sharing.shares import FixedBand
from cosim.testing import check_link, small_system


class Guarded(RedividedBand):
    """Leaves a guard band."""

    def share_hz(self, num_clients):
        return 0.9 * super().share_hz(num_clients)


class LongSums(Band):
    """All at once, by the bits."""

    def share_hz(self, num_clients):
        return 1e5

    def airtime_s(self, payload):
        return payload.bits / 1e5


class InTurn(Band):
    """One client after the other, at 100 kbit/s."""

    num_at_once = 1

    def share_hz(self, num_clients):
        return 1e5

    def upload_s(self, rates_bps, payload, num_clients):
        return payload.bits / 1e5

    def machine(self, senders):
        return Turns(senders)


class Turns(Machine):
    has_turns = True

    def __init__(self, senders):
        super().__init__()
        self.senders, self.line, self.sends, self.began_s = senders, [], None, 0.0

    def change(self, now_s, starts, stops):
        if self.sends in stops:
            self.left_bits[self.sends] = self.senders.bits(self.sends) - 1e5 * (now_s - self.began_s)
            self.sends, self.next_change_s = None, math.inf
        self.left_bits.update({n: self.senders.bits(n) for n in stops if n in self.line})
        if self.next_change_s <= now_s:
            self.ends_s[self.sends] = now_s
            self.sends, self.next_change_s = None, math.inf
        self.line = [number for number in (*self.line, *starts) if number not in stops]
        self.awaits_end = self.sends is None and bool(self.line)

    def end_instant(self, now_s):
        self.line.sort()
        if self.sends is None and self.line:
            self.sends, self.began_s = self.line.pop(0), now_s
            self.granted_s[self.sends] = now_s
            self.next_change_s = now_s + self.senders.bits(self.sends) / 1e5


@part
class Own(cosim.FixedShares):
    """A band by its name."""

    band: str = "Guarded"

    def bands(self, sim, num_cells):
        kind = {own.__name__: own for own in (Guarded, Halves, LongSums, InTurn)}[self.band]
        takes = (self.bandwidth_hz,) if issubclass(kind, RedividedBand | FixedBand) else ()
        return [kind(*takes) for _ in range(num_cells)]


def system(sharing: cosim.radio.Sharing, *waiting: cosim.waiting.Waiting) -> cosim.System:
    return attrs.evolve(small_system(*waiting), uplink=cosim.Radio(sharing=sharing), evaluation=Never())


@pytest.mark.parametrize("deadline_s", [None, 0.05, 0.33])
@pytest.mark.parametrize("band", ["Guarded", "Halves", "LongSums", "InTurn"])
def test_a_band_of_ones_own_is_asked_on_both_clocks(band, deadline_s):
    waiting = [] if deadline_s is None else [cosim.Deadline(deadline_s=deadline_s)]
    by_events, on_arrays = both(system(Own(band=band, bandwidth_hz=1e6), *waiting))
    assert_same(by_events, on_arrays)
    usual = (
        cosim.radio.RedividedShares(bandwidth_hz=1e6)
        if band == "Guarded"
        else cosim.FixedShares(bandwidth_hz=1e6)
    )
    if deadline_s is None:
        assert by_events.summary.time_s > cosim.run(system(usual)).summary.time_s


@pytest.mark.parametrize("band", ["Guarded", "Halves", "InTurn"])
def test_a_band_of_ones_own_passes_the_contract(band):
    check_link(cosim.Radio(sharing=Own(band=band)))


@pytest.mark.parametrize(
    ("name", "bases", "gives", "said"),
    [
        (
            "Both",
            (FixedBand,),
            "open",
            r"Both has two forms, steady \(FixedBand.steady_hz\) and events \(Both",
        ),
        ("Both", (RedividedBand,), "steady_hz", r"steady \(Both.steady_hz\) and machine \(RedividedBand"),
        (
            "Steps",
            (Turns,),
            "advance",
            r"Steps has two forms, change \(Turns.change\) and advance \(Steps.advance\)",
        ),
    ],
)
def test_a_band_or_a_machine_of_two_forms_cannot_be_made(name, bases, gives, said):
    with pytest.raises(ConfigurationError, match=said):
        type(name, bases, {gives: lambda self, *args: None})


def test_a_band_without_a_form_has_no_instances():
    with pytest.raises(ConfigurationError, match=r"gives none of the forms of a Band\. Write steady_hz"):
        Band()


class Late(Turns):
    """Its next change stays where it was."""

    def change(self, now_s, starts, stops):
        super().change(now_s, starts, stops)
        self.next_change_s = 0.0


class LateInTurn(InTurn):
    def machine(self, senders):
        return Late(senders)


@part
class Standing(cosim.FixedShares):
    def bands(self, sim, num_cells):
        return [LateInTurn() for _ in range(num_cells)]


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_machine_that_stands_still_is_refused(clock):
    with pytest.raises(ConfigurationError, match=r"Late.next_change_s = 0.* must be later"):
        cosim.run(system(Standing()), clock=clock)
