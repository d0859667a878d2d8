"""Examples of the page of own parts, in harsher systems than the page's."""

from pathlib import Path

import pandas as pd
import pytest
from page_programs import loader

import cosim
from cosim.testing import small_system

PARTS = (Path(__file__).parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")
SMALL = cosim.evolve(small_system(), evaluation=cosim.Never())
ONE_BY_ONE = cosim.evolve(
    SMALL,
    protocol=cosim.FedAsync(training=cosim.ClientTraining(num_local_steps=3)),
    end=cosim.AfterVersions(num_versions=20),
)


@pytest.fixture(name="example")
def fixture_example(tmp_path, monkeypatch):
    """Loads an example without its contract."""
    return loader(PARTS, tmp_path, monkeypatch, with_contract=False)


def lasted_s(system: cosim.System, direction: str = "up") -> pd.Series:
    transfers = cosim.run(system).transfers
    transfers = transfers[transfers["direction"] == direction]
    return (transfers["end_s"] - transfers["start_s"]).set_axis(transfers["client"])


@pytest.mark.parametrize(
    "radio",
    [
        cosim.Radio(),
        cosim.Radio(fading=cosim.Rayleigh(redrawn=cosim.radio.CoherenceTime(coherence_time_s=1e-3))),
        cosim.Radio(outage_probability=0.3),
    ],
    ids=["plain", "fades", "outage"],
)
def test_narrow_is_a_whole_band_for_each(example, radio):
    """With one client in a cell its uploads have the whole band, in fades and outages too."""
    narrow, shares = example("narrow").Narrow(width_hz=1e4), cosim.FixedShares(bandwidth_hz=1e4)
    training = cosim.EdgeTraining(num_edge_rounds=4, waiting=cosim.Deadline(deadline_s=1.0))
    alone, some = (
        cosim.evolve(SMALL, num_clients=number, protocol=cosim.HFedAvg(training=training))
        for number in (2, 6)
    )
    found = lasted_s(cosim.evolve(alone, uplink=cosim.evolve(radio, sharing=narrow)))
    pd.testing.assert_series_equal(
        found, lasted_s(cosim.evolve(alone, uplink=cosim.evolve(radio, sharing=shares))), check_exact=True
    )
    assert (found > 0.9).any() == (radio.outage_probability > 0.0)
    if not radio.fading.within_uploads:
        by_events, on_arrays = (
            cosim.run(cosim.evolve(some, uplink=cosim.evolve(radio, sharing=narrow)), clock=clock).transfers
            for clock in ("events", "arrays")
        )
        pd.testing.assert_frame_equal(by_events, on_arrays, check_exact=True)


def test_shadows_are_drawn_anew_for_jobs_without_rounds(example):
    """Each client's last upload is cut by the end of the run."""
    found = lasted_s(cosim.evolve(ONE_BY_ONE, uplink=cosim.Radio(fading=example("shadows").Shadows())))
    for _, of_client in found.groupby(level=0):
        assert of_client.nunique() == len(of_client) >= 2


def test_links_take_what_their_page_says(example):
    """A tenth of the rate for client 0; each waits for its turn, ten milliseconds after the last one's."""
    bits = 32 * (12 * 8 + 8 * 4)
    slow = lasted_s(cosim.evolve(SMALL, uplink=example("cable").Cable()))
    assert slow["client-0000"].to_numpy() == pytest.approx(bits / 1e4, rel=1e-9)
    assert slow["client-0001"].to_numpy() == pytest.approx(bits / 1e5, rel=1e-9)
    turns = lasted_s(cosim.evolve(SMALL, downlink=example("turns").Turns()), "down")
    for number in range(5):
        first_s = turns[f"client-{number:04d}"].iloc[0]
        assert first_s == pytest.approx(0.01 * number + bits / 1e6, rel=1e-9)


def test_what_is_sent_once_for_all_is_for_those_that_receive_together(example):
    cable = example("cable")
    once = type("Once", (cable.Cable,), {"asks": cosim.radio.Broadcast.asks})
    with pytest.raises(cosim.ConfigurationError, match=r"one by one, and .*downlink = Once sends .*Unicast"):
        cosim.evolve(ONE_BY_ONE, downlink=once())


def test_federated_averaging_waits_as_its_training_does_and_in_one_cell(example):
    training = cosim.EdgeTraining(num_edge_rounds=1, waiting=cosim.Deadline(deadline_s=0.01))
    protocol = example("fed_avg").FedAvg(training=training)
    one = cosim.evolve(SMALL, num_cells=1)
    lossy = cosim.evolve(one, protocol=protocol, uplink=cosim.Radio(outage_probability=0.3))
    assert cosim.run(lossy).summary.time_s == pytest.approx(0.01 * len(cosim.run(lossy).rounds) / 2)
    with pytest.raises(cosim.ConfigurationError, match=r"FedAvg: trains one cell only.*num_cells = 1"):
        cosim.evolve(SMALL, protocol=protocol)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_cells": 1, "num_clients": 1},
        {
            "devices": cosim.evolve(
                SMALL.devices,
                presence=cosim.devices.OnOff(
                    on=cosim.queues.Exponential(rate_per_s=50.0),
                    off=cosim.queues.Exponential(rate_per_s=50.0),
                ),
            )
        },
    ],
    ids=["alone", "coming and going"],
)
def test_pairs_start_whoever_is_there(example, changes):
    hasty = example("hasty")
    protocol = hasty.Hasty(starts=hasty.Pairs(), training=cosim.ClientTraining(num_local_steps=3))
    versions = cosim.run(cosim.evolve(ONE_BY_ONE, protocol=protocol, **changes)).versions
    assert versions["version"].max() == 20
    assert versions["num_in_flight"].max() <= 2


def test_the_only_cell_trains_the_whole_model(example):
    """Part that one of several trains: half of the model."""
    sizes = example("large_first").LargeFirst()
    for num_cells, share in ((1, 1.0), (2, 0.5), (3, 0.5)):
        cells = [None] * num_cells
        cloud = type("Cloud", (), {"edges": cells, "shape": type("Shape", (), {"num_units": {"0": 8}})})
        assert sizes.counts(cloud, None, 1)["0"][0] == 8 * share
