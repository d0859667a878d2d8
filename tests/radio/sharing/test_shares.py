"""Shares of a band: times against arithmetic, and random uploads against a fluid model without events."""

import math
from typing import Any, NamedTuple

import channels
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Simulation
from cosim.jobs.job import Job as Round
from cosim.jobs.payload import Payload
from cosim.radio.channel import Channel
from cosim.radio.fading import NoFading, Rayleigh
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound
from cosim.radio.sharing.redivided import RedividedBand
from cosim.radio.sharing.shares import FixedBand
from cosim.records.rows import Span

EXACTLY = {"rel": 1e-12, "abs": 0.0}
TIE_ORDERS = (None, 0, 1, 2, 3)

every_tie_order = pytest.mark.parametrize("tie_order", TIE_ORDERS)


class CountedSimulation(Simulation):
    """Counts the timers that bands set, and fails instead of turning in a circle."""

    num_timers = 0

    def at(self, time_s: float, event: Any = None) -> Any:
        self.num_timers += 1
        assert self.num_timers < 100_000
        return super().at(time_s, event)


class Sent(NamedTuple):
    """Outcome of an upload."""

    end_s: float
    bits: float
    has_arrived: bool


class Job(NamedTuple):
    """An upload to come; `cut_s` is the instant at which it is cut, or infinity."""

    start_s: float
    bits: int
    snr: float = 1.0
    cut_s: float = math.inf
    is_budget: bool = False


def channel_of(sim: Simulation, name: str, job: Job, coherence_time_s: float | None) -> Channel:
    """A budget's SNR is the job's in 1 MHz."""
    fading = NoFading()
    if coherence_time_s is not None:
        fading = Rayleigh(num_antennas=2, redrawn=CoherenceTime(coherence_time_s=coherence_time_s))
    if job.is_budget:
        return channels.budget(job.snr * 1e-14, 1e-20, channels.faded(fading, sim, name))
    return channels.flat(job.snr, channels.faded(fading, sim, name))


def run_uploads(
    jobs: dict[str, Job],
    bandwidth_hz: float,
    *,
    redivided: bool,
    num_shares: int | None = None,
    coherence_time_s: float | None = None,
    tie_order: int | None = None,
) -> tuple[dict[str, Sent], CountedSimulation]:
    """The jobs on the clock, each a process that waits for its start, sends and perhaps is cut."""
    sim = CountedSimulation(seed=1, shuffle_ties=tie_order)
    way = channels.OnBand(sim, RedividedBand(bandwidth_hz) if redivided else FixedBand(bandwidth_hz))
    way.begin_round(num_shares or len(jobs), math.inf)
    sent: dict[str, Sent] = {}

    def send(name, job):
        channel = channel_of(sim, name, job, coherence_time_s)
        block = channel.fading.block(Round(1, 0, 0))
        upload = way.open(ord(name), channel, Payload(1, job.bits), block)
        try:
            yield from sim.spend(name, "send", upload.done, power_w=2.0)
        finally:
            upload.close()
            upload.close()
            sent[name] = Sent(sim.now_s, job.bits - upload.bits_left, upload.done.processed)

    def client(name, job):
        yield from sim.spend(name, "wait", job.start_s)
        if job.cut_s == math.inf:
            yield from send(name, job)
        else:
            (lost,) = yield from sim.with_deadline([send(name, job)], job.cut_s - job.start_s)
            assert isinstance(lost, Dropped) is not sent[name].has_arrived

    sim.run(sim.together([client(name, job) for name, job in jobs.items()]))
    assert sent.keys() == jobs.keys()
    return sent, sim


def ends_s(jobs: dict[str, Job], bandwidth_hz: float, **how: Any) -> dict[str, float]:
    sent, _ = run_uploads(jobs, bandwidth_hz, **how)
    return {name: sent[name].end_s for name in jobs}


# --- Fixed shares -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_shares", [1, 4, 10])
def test_with_fixed_shares_an_upload_lasts_its_bits_over_its_rate(num_shares):
    jobs = {
        "a": Job(0.0, 1_000_000, snr=3.0),
        "b": Job(0.3, 700_000, snr=5.0),
        "c": Job(0.7, 900_000, snr=0.1),
    }
    share_hz = 5e6 / num_shares
    for name, end_s in ends_s(jobs, 5e6, redivided=False, num_shares=num_shares).items():
        duration_s = jobs[name].bits / (share_hz * math.log2(1.0 + jobs[name].snr))
        assert end_s == pytest.approx(jobs[name].start_s + duration_s, **EXACTLY)


def test_with_fixed_shares_nobody_feels_a_cut():
    jobs = {"a": Job(0.0, 4_000_000), "b": Job(0.0, 9_000_000, cut_s=2.0)}
    sent, _ = run_uploads(jobs, 2e6, redivided=False)
    assert sent["a"].end_s == pytest.approx(4.0, **EXACTLY)
    assert sent["b"] == (2.0, pytest.approx(2e6, **EXACTLY), False)


def test_fixed_shares_hold_until_the_next_division():
    sim = Simulation(seed=1)
    way = channels.OnBand(sim, FixedBand(8e6))

    def edge():
        lasted_s = []
        for num_clients in (1, 2, 8):
            way.begin_round(num_clients, math.inf)
            start_s = sim.now_s
            upload = way.open(0, channel_of(sim, "a", Job(0.0, 0), None), Payload(1, 1_000_000), (0,))
            yield from sim.spend("a", "send", upload.done)
            lasted_s.append(sim.now_s - start_s)
        return lasted_s

    assert sim.run(edge()) == pytest.approx([0.125, 0.25, 1.0], **EXACTLY)


# --- Redivided shares -------------------------------------------------------------------------------------


def test_alone_an_upload_has_the_whole_band():
    assert ends_s({"a": Job(0.5, 3_000_000, snr=7.0)}, 2e6, redivided=True, num_shares=9) == {"a": 1.0}


@every_tie_order
def test_two_clients_by_hand(tie_order):
    """1 MHz; a has 1 bit/s/Hz and 2 Mbit, b 2 bit/s/Hz and 1 Mbit from second 1.

    Until 1 s a sends 1 Mbit alone; then a has 0.5 and b 1 Mbit/s, so b ends at 2 s; a's last 0.5 go alone.
    """
    jobs = {"a": Job(0.0, 2_000_000, snr=1.0), "b": Job(1.0, 1_000_000, snr=3.0)}
    found = ends_s(jobs, 1e6, redivided=True, tie_order=tie_order)
    assert found == pytest.approx({"a": 2.5, "b": 2.0}, **EXACTLY)


@every_tie_order
def test_three_clients_by_hand(tie_order):
    """6 MHz; megabits left of a, b, c, where b has 2 bit/s/Hz and the others 1.

    0 s: 12, -, -; 1 s: 6, 12, -; 2 s: 3, 6, 1; 2.5 s: 2, 4, 0; with 3 MHz each a and b end 2/3 s later.
    """
    jobs = {
        "a": Job(0.0, 12_000_000),
        "b": Job(1.0, 12_000_000, snr=3.0),
        "c": Job(2.0, 1_000_000),
    }
    found = ends_s(jobs, 6e6, redivided=True, tie_order=tie_order)
    assert found == pytest.approx({"a": 2.5 + 2.0 / 3.0, "b": 2.5 + 2.0 / 3.0, "c": 2.5}, **EXACTLY)


@every_tie_order
def test_who_is_cut_frees_the_band_for_the_others(tie_order):
    """2 MHz, 1 bit/s/Hz: both send 2 Mbit in 2 s, then b is cut and a's other 2 Mbit take 1 s."""
    jobs = {"a": Job(0.0, 4_000_000), "b": Job(0.0, 9_000_000, cut_s=2.0)}
    sent, sim = run_uploads(jobs, 2e6, redivided=True, tie_order=tie_order)
    assert sent["a"] == (pytest.approx(3.0, **EXACTLY), 4e6, True)
    assert sent["b"] == (2.0, pytest.approx(2e6, **EXACTLY), False)
    assert [span for span in sim.recorder.spans if span.node == "b"] == [
        Span("b", "send", 0.0, 2.0, 4.0, "deadline")
    ]


@every_tie_order
@pytest.mark.parametrize("redivided", [False, True])
def test_an_upload_that_ends_at_exactly_the_deadline_has_arrived(tie_order, redivided):
    """2 MHz for two: a and b end at 2 s, when b's deadline and c's start come as well."""
    jobs = {
        "a": Job(0.0, 2_000_000),
        "b": Job(0.0, 2_000_000, cut_s=2.0),
        "c": Job(2.0, 1_000_000, cut_s=2.5),
    }
    sent, _ = run_uploads(jobs, 2e6, redivided=redivided, num_shares=2, tie_order=tie_order)
    assert sent["a"] == sent["b"] == (2.0, 2e6, True)
    assert sent["c"] == ((2.5, 1e6, True) if redivided else (2.5, 0.5e6, False))


def test_with_a_budget_a_narrower_share_has_a_higher_snr():
    """SNR 3 in 1 MHz, so 6 in half of it: two equal uploads, the second from the middle of the first."""
    jobs = {name: Job(start_s, 4_000_000, 3.0, is_budget=True) for name, start_s in (("a", 0.0), ("b", 1.0))}
    whole_bps, half_bps = 1e6 * 2.0, 0.5e6 * math.log2(7.0)
    a_end_s = 1.0 + (4e6 - whole_bps) / half_bps
    b_end_s = a_end_s + (4e6 - half_bps * (a_end_s - 1.0)) / whole_bps
    found = ends_s(jobs, 1e6, redivided=True)
    assert found == pytest.approx({"a": a_end_s, "b": b_end_s}, **EXACTLY)


# --- Fading on the way ------------------------------------------------------------------------------------


def gain_of(name: str, block: int) -> float:
    return channels.faded(Rayleigh(num_antennas=2), Simulation(seed=1), name).gain((block,))


def piecewise_end_s(name: str, job: Job, share_hz: float) -> float:
    """Block by block of 0.25 s, from the block of the start."""
    time_s, left_bits, block = job.start_s, float(job.bits), int(job.start_s / 0.25)
    while True:
        rate_bps = share_hz * math.log2(1.0 + job.snr * gain_of(name, block))
        lasts_s = 0.25 * (block + 1) - time_s
        if rate_bps * lasts_s >= left_bits:
            return time_s + left_bits / rate_bps
        time_s, left_bits, block = time_s + lasts_s, left_bits - rate_bps * lasts_s, block + 1


@pytest.mark.parametrize("redivided", [False, True])
@pytest.mark.parametrize("start_s", [0.0, 0.25, 0.3, 0.7])
def test_a_rate_changes_with_each_fading_block(redivided, start_s):
    """A single upload over eight blocks or more, from the start or the middle of one."""
    job = Job(start_s, 5_000_000, snr=3.0)
    expected_s = piecewise_end_s("a", job, 1e6)
    assert expected_s > start_s + 5 * 0.25
    found = ends_s({"a": job}, 1e6, redivided=redivided, coherence_time_s=0.25)
    assert found["a"] == pytest.approx(expected_s, **EXACTLY)


def test_two_fading_uploads_with_fixed_shares_do_not_meet():
    jobs = {"a": Job(0.1, 2_000_000, snr=3.0), "b": Job(0.6, 3_000_000, snr=10.0)}
    expected_s = {name: piecewise_end_s(name, job, 1e6) for name, job in jobs.items()}
    found = ends_s(jobs, 2e6, redivided=False, coherence_time_s=0.25)
    assert found == pytest.approx(expected_s, **EXACTLY)


def test_two_fading_uploads_with_redivided_shares_by_hand():
    """Client a sends alone for two blocks, then both for one; b is cut then, and a is alone again."""
    jobs = {"a": Job(0.0, 4_000_000, snr=3.0), "b": Job(0.5, 9_000_000, snr=3.0, cut_s=0.75)}
    a_bps = [1e6 * math.log2(1.0 + 3.0 * gain_of("a", block)) for block in range(40)]
    shares = [1.0, 1.0, 0.5] + [1.0] * 37
    left_bits, block = 4e6, 0
    while shares[block] * a_bps[block] * 0.25 < left_bits:
        left_bits -= shares[block] * a_bps[block] * 0.25
        block += 1
    assert block > 3
    sent, _ = run_uploads(jobs, 1e6, redivided=True, coherence_time_s=0.25)
    assert sent["a"].end_s == pytest.approx(block * 0.25 + left_bits / a_bps[block], **EXACTLY)
    assert sent["b"].bits == pytest.approx(0.5e6 * math.log2(1.0 + 3.0 * gain_of("b", 2)) * 0.25, **EXACTLY)


def test_a_channel_of_rounds_stays_however_long_an_upload_takes():
    sim = Simulation(seed=1)
    fading = channels.faded(Rayleigh(num_antennas=2, redrawn=EveryEdgeRound()), sim, "a")
    channel = channels.flat(3.0, fading)
    way = channels.OnBand(sim, RedividedBand(1e6))
    block = channel.fading.block(Round(2, 1, 1))
    upload = way.open(0, channel, Payload(1, 30_000_000), block)
    sim.run(sim.spend("a", "send", upload.done))
    assert sim.now_s == pytest.approx(30.0 / math.log2(1.0 + 3.0 * channel.fading.gain(block)), **EXACTLY)


# --- Laws -------------------------------------------------------------------------------------------------


def fluid(jobs: dict[str, Job], bandwidth_hz: float, redivided: bool, coherence_time_s: float | None) -> Any:
    """The same without events: from change to change, each sender's bits fall at its rate. Name to Sent."""
    sim = Simulation(seed=1)
    of_each = {name: channel_of(sim, name, job, coherence_time_s) for name, job in jobs.items()}
    left_bits = {name: float(job.bits) for name, job in jobs.items()}
    sent: dict[str, Sent] = {}
    time_s, block = 0.0, 0
    while len(sent) < len(jobs):
        active = [n for n, job in jobs.items() if n not in sent and job.start_s <= time_s]
        share_hz = bandwidth_hz / (max(1, len(active)) if redivided else len(jobs))
        rates_bps = {n: of_each[n].rate_bps(share_hz, (block,)) for n in active}
        ends_s = {n: min(time_s + left_bits[n] / rates_bps[n], jobs[n].cut_s) for n in active}
        starts_s = [job.start_s for n, job in jobs.items() if n not in sent and n not in active]
        fades_s = math.inf if coherence_time_s is None else (block + 1) * coherence_time_s
        next_s = min([*ends_s.values(), *starts_s, fades_s])
        for n in active:
            is_through = time_s + left_bits[n] / rates_bps[n] <= next_s
            left_bits[n] = 0.0 if is_through else left_bits[n] - rates_bps[n] * (next_s - time_s)
            if is_through or jobs[n].cut_s <= next_s:
                sent[n] = Sent(next_s, jobs[n].bits - left_bits[n], is_through)
        time_s, block = next_s, block + (next_s == fades_s)
    return sent


@st.composite
def some_jobs(draw, *, with_cuts: bool = True, with_ties: bool = False) -> dict[str, Job]:
    starts_s = st.sampled_from([0.0, 0.5, 1.0]) if with_ties else st.floats(0.0, 2.0)
    cuts_s = st.sampled_from([0.5, 1.0, 2.0]) if with_ties else st.floats(0.01, 3.0)
    bits = st.sampled_from([500_000, 1_000_000]) if with_ties else st.integers(1, 3_000_000)
    jobs = {}
    for name in "abcde"[: draw(st.integers(1, 5))]:
        start_s = draw(starts_s)
        jobs[name] = Job(
            start_s=start_s,
            bits=draw(bits),
            snr=draw(st.sampled_from([1.0, 3.0]) if with_ties else st.floats(0.5, 1e3)),
            cut_s=start_s + draw(cuts_s) if with_cuts and draw(st.booleans()) else math.inf,
            is_budget=draw(st.booleans()),
        )
    return jobs


coherences_s = st.none() | st.floats(0.05, 2.0)


@given(
    jobs=some_jobs(), bandwidth_hz=st.floats(1e5, 1e7), redivided=st.booleans(), coherence_time_s=coherences_s
)
@settings(max_examples=150)
def test_bits_are_the_sum_of_rate_times_time(jobs, bandwidth_hz, redivided, coherence_time_s):
    sent, sim = run_uploads(jobs, bandwidth_hz, redivided=redivided, coherence_time_s=coherence_time_s)
    expected = fluid(jobs, bandwidth_hz, redivided, coherence_time_s)
    for name, job in jobs.items():
        assert sent[name].end_s == pytest.approx(expected[name].end_s, rel=1e-9)
        assert sent[name].bits == pytest.approx(expected[name].bits, rel=1e-9, abs=1e-6)
        assert 0.0 <= sent[name].bits <= job.bits
        assert sent[name].bits == job.bits or not sent[name].has_arrived
    for span in sim.recorder.spans:
        if span.activity == "send":
            assert span.end_s == sent[span.node].end_s
            assert span.energy_j == 2.0 * (span.end_s - span.start_s)


@given(
    jobs=some_jobs(),
    bandwidth_hz=st.floats(1e5, 1e7),
    factor=st.floats(1.0, 10.0),
    redivided=st.booleans(),
    coherence_time_s=coherences_s,
)
@settings(max_examples=75)
def test_more_bandwidth_is_never_slower(jobs, bandwidth_hz, factor, redivided, coherence_time_s):
    how = {"redivided": redivided, "coherence_time_s": coherence_time_s}
    narrow, _ = run_uploads(jobs, bandwidth_hz, **how)
    wide, _ = run_uploads(jobs, factor * bandwidth_hz, **how)
    for name in jobs:
        assert wide[name].end_s <= narrow[name].end_s * (1.0 + 1e-9)
        assert wide[name].bits >= narrow[name].bits * (1.0 - 1e-9) - 1e-6


@given(jobs=some_jobs(with_cuts=False), bandwidth_hz=st.floats(1e5, 1e7), coherence_time_s=coherences_s)
@settings(max_examples=75)
def test_redivided_shares_are_never_slower_than_fixed_ones(jobs, bandwidth_hz, coherence_time_s):
    """A sender has at least the share that it would have, had none ended."""
    fixed, redivided = (
        run_uploads(jobs, bandwidth_hz, redivided=redivided, coherence_time_s=coherence_time_s)[0]
        for redivided in (False, True)
    )
    for name in jobs:
        assert redivided[name].end_s <= fixed[name].end_s * (1.0 + 1e-9)


@given(
    jobs=some_jobs(with_ties=True),
    redivided=st.booleans(),
    coherence_time_s=st.sampled_from([None, 0.25, 0.5]),
)
@settings(max_examples=75)
def test_no_order_of_simultaneous_events_changes_a_bit(jobs, redivided, coherence_time_s):
    """Starts, ends, cuts and fading at the same instants, in insertion order and in random orders."""
    outcomes, traces = [], []
    for tie_order in TIE_ORDERS:
        for given_jobs in (jobs, dict(reversed(jobs.items()))):
            how = {"redivided": redivided, "coherence_time_s": coherence_time_s, "tie_order": tie_order}
            sent, sim = run_uploads(given_jobs, 1e6, **how)
            outcomes.append(sent)
            traces.append(sorted(sim.recorder.spans))
    assert all(sent == outcomes[0] for sent in outcomes)
    assert all(trace == traces[0] for trace in traces)


@given(
    jobs=some_jobs(), bandwidth_hz=st.floats(1e5, 1e7), redivided=st.booleans(), coherence_time_s=coherences_s
)
@settings(max_examples=75)
def test_a_band_needs_few_events(jobs, bandwidth_hz, redivided, coherence_time_s):
    """A timer for each start and end, and for each fading block; twice, as a timer may round down."""
    _, sim = run_uploads(jobs, bandwidth_hz, redivided=redivided, coherence_time_s=coherence_time_s)
    num_blocks = 0 if coherence_time_s is None else math.ceil(sim.now_s / coherence_time_s) + 1
    num_at_once = 1 if redivided else len(jobs)  # fixed shares change one by one
    assert sim.num_timers <= 2 * (2 * len(jobs) + num_at_once * num_blocks)


def test_fixed_shares_without_fading_need_no_timer_but_the_end():
    """The end of an upload is known when it begins, so its `done` is the only event."""
    jobs = {name: Job(0.11 * place, 3_000_000) for place, name in enumerate("abcde")}
    sent, sim = run_uploads(jobs, 1e6, redivided=False)
    assert sim.num_timers == len(jobs)
    assert {name: job.start_s + 15.0 for name, job in jobs.items()} == pytest.approx(
        {name: sent[name].end_s for name in jobs}, **EXACTLY
    )


def test_who_was_cut_feels_no_more_fading():
    """Three blocks until then, each with a timer that may round down; fifty until the other one sends."""
    jobs = {"a": Job(0.0, 1e9, cut_s=0.25), "b": Job(5.02, 1.0)}
    _, sim = run_uploads(jobs, 1e6, redivided=False, coherence_time_s=0.1)
    assert 3 <= sim.num_timers <= 6


@pytest.mark.parametrize("redivided", [False, True])
@pytest.mark.parametrize("coherence_time_s", [None, 0.1, 0.25])
def test_a_crowded_band_sets_one_timer_per_change(redivided, coherence_time_s):
    """A timer that a later division has replaced must not go on and set its own."""
    jobs = {name: Job(0.11 * place, 3_000_000) for place, name in enumerate("abcde")}
    _, sim = run_uploads(jobs, 1e6, redivided=redivided, coherence_time_s=coherence_time_s)
    num_blocks = 0 if coherence_time_s is None else math.ceil(sim.now_s / coherence_time_s)
    num_at_once = 1 if redivided else len(jobs)  # fixed shares change one by one
    assert sim.num_timers <= 2 * len(jobs) + num_at_once * num_blocks


@given(data=st.data())
@settings(max_examples=100)
def test_starts_at_the_very_ends_of_others_leave_no_bit_to_chance(data):
    """The band may empty before or after a client starts at that instant."""
    bits, snrs = st.integers(1, 3_000_000), st.sampled_from([1.0, 3.0, 7.3])
    bandwidth_hz = data.draw(st.sampled_from([1e6, 0.7e6, 3e6]))
    jobs = {"a": Job(data.draw(st.floats(0.0, 1.0)), data.draw(bits), data.draw(snrs))}
    for name in "bcdef"[: data.draw(st.integers(1, 5))]:
        ends_s = sorted({sent.end_s for sent in run_uploads(jobs, bandwidth_hz, redivided=True)[0].values()})
        jobs[name] = Job(data.draw(st.sampled_from(ends_s)), data.draw(bits), data.draw(snrs))
    outcomes = [
        run_uploads(given_jobs, bandwidth_hz, redivided=True, tie_order=tie_order)[0]
        for tie_order in TIE_ORDERS
        for given_jobs in (jobs, dict(reversed(jobs.items())))
    ]
    assert all(sent == outcomes[0] for sent in outcomes)
