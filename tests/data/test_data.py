"""Data: what is loaded under each name, and who is dealt what."""

from pathlib import Path

import numpy as np
import pytest

from cosim import ConfigurationError, Data, Traffic
from cosim.data.traffic.traffic import generate
from cosim.data.traffic.traffic_csv import write
from cosim.data.traffic.traffic_samples import samples
from cosim.simulation import Simulation

SMALL = Traffic(num_days=3)
TRAFFIC = Data(name="traffic", split="natural", num_traffic_cells=5, traffic=SMALL)


def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def test_generated_traffic_is_that_of_the_generator():
    found = TRAFFIC.load(Simulation(1), None)
    wanted = samples(generate(SMALL, 5, Simulation(1).stream("cloud", "data")))
    np.testing.assert_array_equal(found.train_x, wanted.train_x)
    np.testing.assert_array_equal(found.test_y, wanted.test_y)
    np.testing.assert_array_equal(found.train_owners, wanted.train_cells)
    assert (found.num_classes, found.num_global_features) == (None, wanted.num_global_features)


def test_without_global_features_the_servers_columns_are_gone():
    whole = TRAFFIC.load(Simulation(1), None)
    local = Data(name="traffic", num_traffic_cells=5, traffic=SMALL, split="natural", global_features=False)
    found = local.load(Simulation(1), None)
    np.testing.assert_array_equal(found.train_x, whole.train_x[:, whole.num_global_features :])
    np.testing.assert_array_equal(found.train_y, whole.train_y)
    assert found.num_global_features == 0


def test_files_give_the_same_samples_as_the_table_that_they_were_written_from(tmp_path: Path):
    write(generate(SMALL, 5, Simulation(1).stream("cloud", "data")), tmp_path)
    found = Data(name="traffic-csv", split="natural").load(Simulation(1), tmp_path)
    np.testing.assert_array_equal(found.train_x, TRAFFIC.load(Simulation(1), None).train_x)
    with pytest.raises(ConfigurationError, match=r"needs the folder of traffic\.csv .* --data-dir"):
        Data(name="traffic-csv", split="natural").load(Simulation(1), None)


def test_naturally_every_client_has_its_own_cells_samples():
    dataset = TRAFFIC.load(Simulation(1), None)
    held = TRAFFIC.deal(dataset, (5,), rng())
    assert dataset.train_owners is not None
    for number, indices in enumerate(held):
        assert set(dataset.train_owners[indices]) == {number}
        assert not indices.flags.writeable
    assert sorted(np.concatenate(held)) == list(range(len(dataset.train_y)))


def test_samples_without_classes_can_be_dealt_at_random():
    data = Data(name="traffic", split="iid", num_traffic_cells=5, traffic=SMALL)
    dataset = data.load(Simulation(1), None)
    held = data.deal(dataset, (1, 2), rng())
    assert sorted(np.concatenate(held)) == list(range(len(dataset.train_y)))
    assert dataset.train_owners is not None
    assert all(len(set(dataset.train_owners[indices])) == 5 for indices in held)


@pytest.mark.parametrize("split", ["shards", "cell-iid", "dirichlet"])
@pytest.mark.parametrize("name", ["traffic", "traffic-csv"])
def test_traffic_has_no_classes_to_deal_by(name, split):
    with pytest.raises(ConfigurationError, match=rf"Data\.split = '{split}': .* traffic has none"):
        Data(name=name, split=split)


def test_classes_arise_at_no_client():
    data = Data(name="synthetic", split="natural")
    with pytest.raises(ConfigurationError, match=r"'synthetic' arise at no client"):
        data.deal(data.load(Simulation(1), None), (4,), rng())


def test_as_many_clients_as_cells():
    with pytest.raises(ConfigurationError, match=r"num_clients = 4: 'traffic' has 5 cells"):
        TRAFFIC.deal(TRAFFIC.load(Simulation(1), None), (4,), rng())
