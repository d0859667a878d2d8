"""Tables of devices: times of jobs by hand from benchmarks of phones, refusals."""

import pickle
import re
from pathlib import Path

import pytest
from fixtures.fixes import has_fix

import cosim
from cosim import ConfigurationError
from cosim.devices import Column, DeviceTable, MeasuredSteps
from cosim.formats import DeviceCosts, benchmark_devices, fedscale_devices
from cosim.links import GivenRates

POWERS = {"train_w": 2.5, "tx_power_w": 0.2}
CAPACITY = {12: {"computation": 40.0, "communication": 2e3}, 7: {"computation": 20.0, "communication": 8e3}}
CSV = "Model,inference_ms,ul_kbps,dl_kbps\nMi 9,33,4000,24000\nA10,118,900,7000\n"


def first(rows, name: str) -> dict[str, float]:
    """Duration of the first row of each client."""
    lasts_s = rows["end_s"] - rows["start_s"]
    return lasts_s.groupby(rows[name]).first().to_dict()


def result_of(costs: DeviceCosts, folder: Path) -> cosim.Result:
    """Two clients that train three steps on ten samples, and send and receive 4,096 bits."""
    file = str(costs.save(folder / "phones.parquet"))
    rates = {way: Column(file=file, column=f"{way}_bps") for way in ("uplink", "downlink")}
    system = cosim.evolve(
        cosim.testing.small_system(),
        num_clients=2,
        devices=DeviceTable(file=file),
        cycles=MeasuredSteps(file=file),
        evaluation=cosim.Never(),
        **{way: GivenRates(rate_bps=column) for way, column in rates.items()},
    )
    return cosim.run(system)


def test_jobs_of_fedscales_clients_by_hand(tmp_path):
    """40 and 20 ms of inference for a sample, training 3 times that; 2 and 8 Mbit/s; 2.5 W."""
    (tmp_path / "client_device_capacity").write_bytes(pickle.dumps(CAPACITY))
    costs = fedscale_devices(tmp_path / "client_device_capacity", **POWERS)
    result = result_of(costs, tmp_path)
    trains = result.spans[result.spans["activity"] == "train"]
    assert list(first(trains, "node").values()) == pytest.approx([30 * 0.12, 30 * 0.06], rel=1e-12)
    energy_j = trains.groupby("node")["energy_j"].first().tolist()
    assert energy_j == pytest.approx([2.5 * 3.6, 2.5 * 1.8], rel=1e-12)
    for direction in ("up", "down"):
        rows = result.transfers[result.transfers["direction"] == direction]
        assert list(first(rows, "client").values()) == pytest.approx([4096 / 2e6, 4096 / 8e6], rel=1e-12)
    assert costs.table["name"].tolist() == ["12", "7"]


def test_jobs_of_a_benchmarks_phones_by_hand(tmp_path):
    """A step of 33 and 118 ms, twice that to train."""
    (tmp_path / "ai.csv").write_text(CSV)
    options = {"time": "inference_ms", "name": "Model", "uplink": "ul_kbps", "downlink": "dl_kbps"}
    costs = benchmark_devices(tmp_path / "ai.csv", per="step", time_factor=2.0, **options, **POWERS)
    result = result_of(costs, tmp_path)
    trains = result.spans[result.spans["activity"] == "train"]
    assert list(first(trains, "node").values()) == pytest.approx([3 * 0.066, 3 * 0.236], rel=1e-12)
    up = result.transfers[result.transfers["direction"] == "up"]
    assert list(first(up, "client").values()) == pytest.approx([4096 / 4e6, 4096 / 9e5], rel=1e-12)
    down = result.transfers[result.transfers["direction"] == "down"]
    assert list(first(down, "client").values()) == pytest.approx([4096 / 24e6, 4096 / 7e6], rel=1e-12)
    assert costs.table["name"].tolist() == ["Mi 9", "A10"]
    assert costs.summary == "2 clients, median 0.151 s for a step, 2.45 Mbit/s up, 15.5 Mbit/s down"


def test_columns_that_are_not_there_are_left_out(tmp_path):
    (tmp_path / "ai.csv").write_text(CSV)
    costs = benchmark_devices(tmp_path / "ai.csv", time="inference_ms", per="sample", **POWERS)
    assert not {"uplink_bps", "downlink_bps"} & {*costs.table.columns}
    assert "link" not in costs.use("phones.csv")


def test_values_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "ai.csv"
    for text, options, said in (
        (CSV, {"time": "ms"}, "has no column 'ms'; the columns are Model, inference_ms"),
        (CSV.replace("118", "0"), {}, "row 3, column 'inference_ms': 0 is not above 0. Use"),
        (CSV.replace("118", "fast"), {}, "row 3, column 'inference_ms': 'fast' is no number. Use"),
        (CSV, {"train_w": 0.0}, "train_w = 0: must be above 0. Use"),
        (CSV, {"time_unit_s": 0.0}, "time_unit_s = 0: must be above 0. Use"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
            benchmark_devices(path, **{"time": "inference_ms", "per": "step"} | POWERS | options)
        assert has_fix(str(error.value))
    path.rename(tmp_path / "ai.txt")
    with pytest.raises(ConfigurationError, match=r"must end in \.csv.*Use"):
        benchmark_devices(tmp_path / "ai.txt", time="inference_ms", per="step", **POWERS)
    (tmp_path / "capacity").write_bytes(pickle.dumps({1: {"computation": 0.0, "communication": 1.0}}))
    with pytest.raises(ConfigurationError, match=r"entry '1': computation is 0\. Use"):
        fedscale_devices(tmp_path / "capacity", **POWERS)
    (tmp_path / "capacity").write_bytes(pickle.dumps({1: {"computation": "1", "communication": 1.0}}))
    said = r"entry '1': computation: '1' is no finite number of 0 or above\. Use a number\.$"
    with pytest.raises(ConfigurationError, match=said):
        fedscale_devices(tmp_path / "capacity", **POWERS)
    with pytest.raises(ConfigurationError, match=r"training_factor = -1: must be above 0\. Use"):
        fedscale_devices(tmp_path / "capacity", training_factor=-1.0, **POWERS)
