"""Gain traces: rates by hand from stamp to stamp, turns and ends, faults of files, the contract."""

import math
from pathlib import Path

import attrs
import numpy as np
import pytest
from fixtures.fixes import has_fix
from fixtures.through_gains import BAND_HZ, ends_s, radio

import cosim
from cosim import ConfigurationError
from cosim.links import RefusePastEnd, RepeatTrace
from cosim.testing import check_system, small_system


def saved(folder: Path, **arrays: object) -> str:
    np.savez(folder / "street.npz", **{name: np.asarray(values) for name, values in arrays.items()})
    return str(folder / "street.npz")


TIME_S = [0.0, 0.5, 1.0, 3.0]
GAIN = np.array([[1e-9, 3e-9], [0.0, 1e-9], [3e-9, 7e-9], [1e-9, 1e-9]])


@pytest.mark.parametrize("form", ["linear", "db", "antennas"])
def test_an_upload_goes_through_the_rows_by_hand(tmp_path, form):
    """1 Mbit: half in 0.5 s at 1 Mbit/s, none for 0.5 s, the rest at 2 Mbit/s; 2 Mbit at 2, 1 and 3."""
    gain = np.where(GAIN == 0.0, 1e-40, GAIN)
    arrays = {"linear": {"gain": GAIN}, "db": {"gain_db": 10 * np.log10(gain)}}
    arrays["antennas"] = {"gain": np.stack([0.25 * GAIN, 0.75 * GAIN], axis=-1)}
    file = saved(tmp_path, time_s=TIME_S, **arrays[form])
    assert ends_s(radio(file), [1e6, 2e6]) == pytest.approx([1.25, 1.0 + 0.5 / 3.0], rel=1e-9)
    assert ends_s(radio(file), [1e6, 1e6], begin_s=2.5) == pytest.approx([2.5 + 0.5, 2.5 + 1 / 3.0], rel=1e-9)


def test_rows_repeat_hold_or_are_over(tmp_path):
    file = saved(tmp_path, time_s=[0.0, 1.0], gain=[[1e-9], [3e-9]])
    assert ends_s(radio(file), [7e6]) == pytest.approx([1.0 + 3.0], rel=1e-9)
    assert ends_s(radio(file, past_end=RepeatTrace()), [7e6]) == pytest.approx([4.0 + 0.5 * 2], rel=1e-9)
    refused = radio(file, past_end=RefusePastEnd())
    assert ends_s(refused, [3e6 - 1.0]) == pytest.approx([2.0], rel=1e-6)
    for bits, begin_s in ((3.1e6, 0.0), (1.0, 2.0)):
        with pytest.raises(ConfigurationError, match=r"street\.npz: ends at 2 s of the run"):
            ends_s(refused, [bits], begin_s)


def test_a_file_that_changes_while_a_run_goes_on_changes_nothing_of_it(tmp_path):
    """Of four rounds the last three would be a thousand times slower."""
    arrays = {"time_s": np.arange(0.0, 1.0, 1e-3), "gain": np.full((1000, 5), 1e-6)}
    system = attrs.evolve(small_system(), uplink=radio(saved(tmp_path, **arrays), past_end=RepeatTrace()))
    system = system.but(end=cosim.AfterRounds(num_global_rounds=4), evaluation=cosim.Never())
    usual = cosim.run(system, clock="events")
    versions = []

    def change(report):
        versions.append(report.version)
        if report.version:
            saved(tmp_path, **arrays | {"gain": np.full((1000, 5), 1e-9)})

    changed = cosim.run(system, clock="events", listener=change)
    assert max(versions) == 4
    assert changed.transfers.equals(usual.transfers)


FAULTS = {
    "no array": (
        {"time_s": [0.0]},
        r"has the arrays time_s\. Give time_s, and either gain",
    ),
    "both": ({"time_s": [0.0], "gain": [[1.0]], "gain_db": [[1.0]]}, "and either gain or gain_db"),
    "flat": ({"time_s": [0.0], "gain": [1.0]}, r"time_s has shape \(1,\), and gain \(1,\)"),
    "rows": ({"time_s": [0.0, 1.0], "gain": [[1.0]]}, r"and gain \(1, 1\)"),
    "late": (
        {"time_s": [1.0], "gain": [[1.0]]},
        r"time_s\[0\]: 1 is the first stamp and not 0",
    ),
    "unsorted": (
        {"time_s": [0.0, 2.0, 1.0], "gain": [[1.0]] * 3},
        r"time_s\[2\]: 1 is not after the stamp before it",
    ),
    "since 1970": (
        {"time_s": [0.0, 1.7e9], "gain": [[1.0]] * 2},
        r"time_s\[1\]: 1\.7e\+09 is 1e9 or more, when",
    ),
    "gap": ({"time_s": [0.0, 1.0], "gain": [[1.0], [math.nan]]}, r"gain\[1, 0\]: is no number"),
    "below 0": (
        {"time_s": [0.0, 1.0], "gain": [[1.0], [-1.0]]},
        r"gain\[1, 0\]: -1 is no gain: must be 0 or above",
    ),
    "loud": (
        {"time_s": [0.0], "gain_db": [[400.0]]},
        r"gain_db\[0, 0\]: 400 .* at most 1e30",
    ),
    "silent": ({"time_s": [0.0, 1.0], "gain": [[1.0], [0.0]]}, "the gain of client 0 stays 0"),
    "clients": ({"time_s": [0.0], "gain": [[1.0, 1.0]]}, "has gains of 2 clients, but the system has 1"),
    "pickled": (
        {"time_s": [0.0], "gain": np.array([[None]])},
        r"array 'gain' is of type object, and no number",
    ),
}


@pytest.mark.parametrize(("arrays", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_file_is_one_sentence_before_the_clock_starts(arrays, said, tmp_path):
    with pytest.raises(ConfigurationError, match=said) as found:
        ends_s(radio(saved(tmp_path, **arrays)), [1.0])
    assert has_fix(str(found.value))


def test_other_files(tmp_path):
    (tmp_path / "torn.npz").write_bytes(b"PK")
    with pytest.raises(ConfigurationError, match=r"torn\.npz: cannot be read"):
        ends_s(radio(str(tmp_path / "torn.npz")), [1.0])
    with pytest.raises(ConfigurationError, match=r"GainTrace\.file = '': must end in \.npz"):
        ends_s(radio(""), [1.0])


def test_the_contract_with_every_sharing(tmp_path):
    rng = np.random.default_rng(1)
    file = saved(tmp_path, time_s=0.004 * np.arange(30), gain=1e-9 * rng.exponential(3.0, (30, 5, 2)))
    sharings = (
        cosim.FixedShares(bandwidth_hz=BAND_HZ),
        cosim.radio.RedividedShares(bandwidth_hz=BAND_HZ),
        cosim.radio.ResourceBlocks(num_blocks=2),
        cosim.radio.SlottedAloha(bandwidth_hz=1e7),
    )
    for sharing in sharings:
        system = attrs.evolve(small_system(), uplink=attrs.evolve(radio(file), sharing=sharing))
        fading = attrs.evolve(system.uplink.fading, past_end=RepeatTrace())
        check_system(attrs.evolve(system, uplink=attrs.evolve(system.uplink, fading=fading)))
    with pytest.raises(
        ConfigurationError, match="OverTheAir needs channels that are known and do not change"
    ):
        attrs.evolve(radio(file), sharing=cosim.radio.OverTheAir())
