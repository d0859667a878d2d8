"""Rate traces: files and their faults, whose trace is whose, runs over them, both clocks, a changed file."""

import contextlib
import math
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
import pytest
from fixtures.fixes import has_fix
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cosim
from cosim import ConfigurationError, Never
from cosim.clock.simulation import Simulation
from cosim.configuration import lacks_in
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.engine.ways.of_link import ways_of
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links import HoldLast, InTurns, RateTrace, RefusePastEnd, RepeatTrace
from cosim.links.port import Cell
from cosim.own_code.sources import sources_of
from cosim.records.rows import DOWN, UP
from cosim.testing import check_link, check_system, small_system

JOB = Job(1, 0, 0)


def rows(*found: tuple[float, object, float]) -> pd.DataFrame:
    return pd.DataFrame(found, columns=["time_s", "device", "rate_bps"])


def steps(num_devices: int, num_rows: int, step_s: float, seed: int = 1) -> pd.DataFrame:
    """Rates drawn at every step, a fifth of them 0, rows of all devices mixed in time."""
    rng = np.random.default_rng(seed)
    rate_bps = rng.exponential(1e5, (num_rows, num_devices)) * (rng.random((num_rows, num_devices)) > 0.2)
    rate_bps[0] = 1e5
    time_s, device = np.divmod(np.arange(num_rows * num_devices), num_devices)
    return pd.DataFrame({"time_s": step_s * time_s, "device": device, "rate_bps": rate_bps.ravel()})


def written(folder: Path, frame: pd.DataFrame, name: str = "rates.csv") -> str:
    path = folder / name
    frame.to_parquet(path) if name.endswith(".parquet") else frame.to_csv(path, index=False)
    return str(path)


def uplink(file: str, **changes: object) -> cosim.links.TracedLink:
    return cosim.links.TracedLink(trace=RateTrace(file=file, **{"past_end": RepeatTrace()} | changes))


def link_of(up: cosim.Link, num_clients: int, sim: Simulation):
    clients = tuple(f"client-{number:04d}" for number in range(num_clients))
    cell = Cell("edge-00", clients, np.full(num_clients, 100.0), np.full(num_clients, 0.2))
    return ways_of(sim, up, [cell], UP)[0]


def ends_s(up: cosim.Link, num_clients: int, bits: float, start_s: float = 0.0, seed: int = 1) -> list:
    """When uploads that all begin at an instant have arrived."""
    sim, ended = Simulation(seed=seed), {}
    link = link_of(up, num_clients, sim)

    def sent(number: int):
        if start_s:
            yield sim.timer(start_s)
        upload = link.open(f"client-{number:04d}", Payload(1, bits), JOB, 0.2)
        yield upload.done
        upload.close()
        ended[number] = sim.now_s

    sim.run(sim.together([sent(number) for number in range(num_clients)]))
    return [ended[number] for number in range(num_clients)]


# --- Arithmetic ---------------------------------------------------------------------------------------------

TWO = rows((0, 0, 100), (0, 1, 10), (1, 0, 0), (2, 0, 50), (4, 1, 1000), (4, 0, 200))


@pytest.mark.parametrize("name", ["rates.csv", "rates.csv.gz", "rates.parquet"])
def test_uploads_by_hand(tmp_path, name):
    """150 bits: 100 in the first second, none in the next, 50 in the third; 40 in four, then 0.11 s."""
    up = uplink(written(tmp_path, TWO, name), past_end=HoldLast())
    assert ends_s(up, 2, 150.0) == pytest.approx([3.0, 4.11], rel=1e-15)
    assert ends_s(up, 2, 150.0, start_s=1.5) == pytest.approx([4.25, 4.125], rel=1e-15)


def test_the_last_row_holds_or_the_trace_begins_again_or_the_run_ends(tmp_path):
    """400 bits take 200 in four seconds; then at 200 bps, or 200 and 200 again, or too long."""
    file = written(tmp_path, rows((0, 0, 100), (1, 0, 0), (2, 0, 50), (4, 0, 200)))
    assert ends_s(uplink(file, past_end=HoldLast()), 1, 900.0) == pytest.approx([4.0 + 700 / 200])
    assert ends_s(uplink(file), 1, 900.0) == pytest.approx([6.0 + 4.0 + 100.0 / 200.0])
    longer = RepeatTrace(period_s=5.0)
    assert ends_s(uplink(file, past_end=longer), 1, 700.0) == pytest.approx([5.0 + 4.0 + 100 / 200])
    refused = uplink(file, past_end=RefusePastEnd())
    assert ends_s(refused, 1, 600.0) == [6.0]
    with pytest.raises(ConfigurationError, match=r"rates.csv, device '0': ends at 6 s of the run, but"):
        ends_s(refused, 1, 601.0)
    with pytest.raises(ConfigurationError, match="ends at 6 s"):
        ends_s(refused, 1, 1.0, start_s=7.0)


def test_a_closed_upload_needs_its_trace_no_more(tmp_path):
    sim = Simulation(seed=1)
    link = link_of(uplink(written(tmp_path, TWO), past_end=RefusePastEnd()), 2, sim)

    def process():
        upload = link.open("client-0000", Payload(1, 1e6), JOB, 0.2)
        yield sim.timer(2.5)
        upload.close()
        yield sim.timer(100.0)
        return upload.bits_left

    assert sim.run(process()) == 1e6 - 125.0


def test_downloads_take_what_uploads_take(tmp_path):
    trace = RateTrace(file=written(tmp_path, TWO), past_end=HoldLast())
    sim = Simulation(seed=1)
    clients = ("client-0000", "client-0001")
    cell = Cell("edge-00", clients, np.full(2, 100.0), np.full(2, 0.2))
    (link,) = ways_of(sim, cosim.links.TracedLink(trace=trace), [cell], DOWN)

    def process():
        download = link.open("client-0001", Payload(1, 150.0), JOB)
        yield download.done
        return sim.now_s

    assert sim.run(process()) == pytest.approx(4.11, rel=1e-15)


# --- Whose trace --------------------------------------------------------------------------------------------


def test_devices_go_by_number_or_name_in_any_order(tmp_path):
    frame = rows((0, "client-0002", 30), (0, "1", 20), (0, "client-00000", 10))
    assert ends_s(uplink(written(tmp_path, frame), past_end=HoldLast()), 3, 60.0) == [6.0, 3.0, 2.0]


def test_traces_are_dealt_in_turns_by_their_names(tmp_path):
    frame = rows((0, "tram", 30), (0, "10", 20), (0, "9", 10))
    up = uplink(written(tmp_path, frame), past_end=HoldLast(), dealing=InTurns())
    assert ends_s(up, 5, 60.0) == [6.0, 3.0, 2.0, 6.0, 3.0]


def test_an_offset_is_where_in_its_trace_a_client_begins(tmp_path):
    """At 1 bps for 10 s and then for ever at 1000 bps, a client that begins later sends less slowly."""
    frame = rows((0, "a", 1), (10, "a", 1000))
    file = written(tmp_path, frame)
    turns = InTurns(largest_offset_s=8.0)
    found = ends_s(uplink(file, past_end=HoldLast(), dealing=turns), 40, 1010.0)
    offsets_s = 11.0 - np.array(found)  # x s at 1 bps, then 1 s and a little: (10 - x) + (1000 + x) / 1000
    offsets_s = offsets_s / 0.999
    assert len(set(found)) == 40
    assert ((offsets_s >= -1e-9) & (offsets_s <= 8.0)).all()
    assert abs(offsets_s.mean() - 4.0) < 4 * 8.0 / math.sqrt(12 * 40)
    more = ends_s(uplink(file, past_end=HoldLast(), dealing=turns), 60, 1010.0)
    assert more[:40] == found
    assert ends_s(uplink(file, past_end=HoldLast(), dealing=turns), 40, 1010.0, seed=2) != found


# --- Faults -------------------------------------------------------------------------------------------------

FAULTS = {
    "gap": (rows((0, 0, 1), (1, 0, math.nan)), r"rates\.csv, row 3, column 'rate_bps': is empty"),
    "text": (rows((0, 0, "fast")), r"row 2, column 'rate_bps': 'fast' is no number"),
    "below 0": (rows((0, 0, 1), (1, 0, -2)), r"row 3, column 'rate_bps': -2 is below 0"),
    "infinite": (rows((0, 0, math.inf)), r"row 2, column 'rate_bps': 'inf' is above 1e\+30"),
    "late": (rows((0.5, 0, 1)), r"row 2, column 'time_s': 0.5 is the first of its device and not 0"),
    "unsorted": (
        rows((0, 0, 1), (0, 1, 1), (2, 0, 1), (1, 1, 1), (1, 0, 1)),
        r"row 6, column 'time_s': 1 is not after the row before it of the same device.*order of time_s",
    ),
    "since 1970": (
        rows((0, 0, 1), (1.7e9, 0, 1)),
        r"row 3, column 'time_s': \S+ is 1e9 or more.*the first stamp",
    ),
    "twice": (rows((0, 0, 1), (1, 0, 1), (1, 0, 2)), r"row 4, column 'time_s': 1 is not after"),
    "no device": (rows((0, None, 1)), r"row 2, column 'device': is empty"),
    "no column": (
        rows((0, 0, 1)).drop(columns="device"),
        r"no column 'device'; the columns are time_s, rate",
    ),
    "no rows": (rows(), r"rates\.csv: has no rows after the header"),
    "unknown": (
        rows((0, 0, 1), (0, 7, 1)),
        r"device '7' is not a client; clients are client-0000 to client-0000",
    ),
    "odd name": (rows((0, "tram-0", 1)), r"device 'tram-0' is not a client.*dealing = InTurns"),
    "same": (rows((0, "0", 1), (0, "client-0000", 1)), r"devices '0' and 'client-0000' are both client-0000"),
    "silent": (rows((0, 0, 0), (1, 0, 0)), r"device '0': never has a rate above 0"),
    "one row": (rows((0, 0, 1)), r"device '0': has one row, so its period is unknown"),
}


@pytest.mark.parametrize(("frame", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_file_is_one_sentence_before_the_clock_starts(frame, said, tmp_path):
    with pytest.raises(ConfigurationError, match=said) as found:
        link_of(uplink(written(tmp_path, frame)), 1, Simulation(seed=1))
    assert has_fix(str(found.value))


def test_faults_that_are_no_rows(tmp_path):
    def told(up: cosim.Link, said: str, num_clients: int = 1) -> None:
        with pytest.raises(ConfigurationError, match=said):
            link_of(up, num_clients, Simulation(seed=1))

    file = written(tmp_path, rows((0, 0, 1), (1, 0, 0)))
    told(uplink(""), r"RateTrace\.file = '': must end in \.csv")
    told(uplink(str(tmp_path / "no.csv")), "there is no file")
    told(uplink(file), "no trace for 2 of 3 clients, such as client-0001", 3)
    told(uplink(file, past_end=HoldLast()), "ends with a rate of 0, which would hold forever")
    told(
        uplink(file, past_end=RepeatTrace(period_s=1.0)),
        r"last row at 1 s, after the end of RepeatTrace\.period_s = 1",
    )
    late = InTurns(largest_offset_s=1e4)
    said = r"client-0000 would begin at \d+\.?\d* s of it, and it is over at 2 s\. Use an offset below 2"
    told(uplink(file, past_end=RefusePastEnd(), dealing=late), said)
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    told(uplink(str(tmp_path / "torn.parquet")), r"torn\.parquet: cannot be read")
    (tmp_path / "bytes.csv").write_bytes(b"time_s,device\xff\n")
    told(uplink(str(tmp_path / "bytes.csv")), r"bytes\.csv, row 1: byte 0xff is no UTF-8")


def test_a_plan_that_asks_for_a_rate_is_refused(tmp_path):
    up = uplink(written(tmp_path, steps(5, 3, 1.0)))
    selection = cosim.selection.ProportionalFair(num_participants=2)
    training = attrs.evolve(small_system().protocol.training, selection=selection)
    system = attrs.evolve(small_system(), uplink=up, protocol=cosim.HFedAvg(training=training))
    with pytest.raises(ConfigurationError, match="not known for a TracedCellLink"):
        cosim.run(attrs.evolve(system, evaluation=Never()))


# --- Runs ---------------------------------------------------------------------------------------------------


def test_the_contracts(tmp_path):
    file = written(tmp_path, steps(5, 50, 0.01))
    check_link(uplink(file, dealing=InTurns(largest_offset_s=0.2)))
    check_link(cosim.links.TracedLink(trace=RateTrace(file=file, dealing=InTurns(), past_end=RepeatTrace())))


@pytest.mark.parametrize(
    "protocol",
    [
        cosim.Hist(training=small_system().protocol.training),
        cosim.FedBuff(),
        cosim.FedAsync(),
        cosim.protocols.GeneralisedAsync(),
        cosim.protocols.TimeTriggered(),
    ],
    ids=lambda protocol: type(protocol).__name__,
)
def test_protocols_run_over_traces_up_and_down(protocol, tmp_path):
    trace = RateTrace(file=written(tmp_path, steps(5, 50, 0.01)), past_end=RepeatTrace())
    system = attrs.evolve(
        small_system(has_rounds=not lacks_in(protocol, GLOBAL_ROUNDS)),
        uplink=cosim.links.TracedLink(trace=trace),
        downlink=cosim.links.TracedLink(trace=trace),
        protocol=protocol,
    )
    check_system(system)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 1000),
    st.sampled_from(
        [cosim.WaitForAll(), cosim.Deadline(deadline_s=0.05), cosim.waiting.FirstK(num_updates=2)]
    ),
    st.sampled_from([RepeatTrace(), RefusePastEnd()]),
)
def test_what_runs_on_arrays_is_what_runs_by_events(tmp_path, seed, waiting, past_end):
    file = written(tmp_path, steps(5, 2000, 1e-3, seed), f"{seed}.csv")
    up = uplink(file, past_end=past_end)
    system = attrs.evolve(small_system(waiting), uplink=up, evaluation=Never())
    found = []
    for clock in ("events", "arrays"):
        with contextlib.suppress(ConfigurationError):
            found.append(cosim.run(system, clock=clock))
    assert len(found) in (0, 2)
    for name in ("spans", "transfers", "fates", "rounds") if found else ():
        pd.testing.assert_frame_equal(getattr(found[0], name), getattr(found[1], name), check_exact=True)


def test_a_run_knows_its_file_again(tmp_path):
    """Its hash is in provenance.json, and a run does not go on over another file of that name."""
    file = written(tmp_path, steps(5, 50, 0.01))
    system = attrs.evolve(small_system(), uplink=uplink(file))
    (source,) = sources_of(system).items()
    assert source[0] == file
    assert source[1]["of"] == ["TracedLink"]

    def stop(report) -> None:
        if report.version == 1:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        cosim.run(system, out=tmp_path / "run", listener=stop)
    written(tmp_path, steps(5, 50, 0.01, seed=2))
    with pytest.raises(
        ConfigurationError, match=r"was started with another file \(which TracedLink reads\): .*rates"
    ):
        cosim.run(system, out=tmp_path / "run", resume=True)
    written(tmp_path, steps(5, 50, 0.01))
    resumed = cosim.run(system, out=tmp_path / "run", resume=True)
    assert resumed.transfers.equals(cosim.run(system).transfers)
