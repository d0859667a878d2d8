"""Data: what is loaded under each name, and what each client is dealt."""

from pathlib import Path

import numpy as np
import pytest

from cosim import ConfigurationError, FashionMnist, System, evolve
from cosim.clock.simulation import Simulation
from cosim.data import CellIid, Dirichlet, Iid, Natural, Shards, SplitData, Synthetic
from cosim.system.drafts import with_kind
from scenarios.papers.vhfl import CellTraffic, Traffic, TrafficCsv
from scenarios.papers.vhfl.traffic.table_files import write
from scenarios.papers.vhfl.traffic.traffic import generate
from scenarios.papers.vhfl.traffic.traffic_samples import samples

pytestmark = pytest.mark.quick

SMALL = Traffic(num_days=3)
TRAFFIC = CellTraffic(num_cells=5, traffic=SMALL)


def dealt(data: SplitData, cell_sizes: tuple[int, ...]) -> list[np.ndarray]:
    """The samples of every client."""
    return [samples() for samples in data.held(Simulation(4), data.load(Simulation(1), None), cell_sizes)]


def test_generated_traffic_is_that_of_the_generator():
    found = TRAFFIC.load(Simulation(1), None)
    wanted = samples(generate(SMALL, 5, Simulation(1).stream("cloud", "data")))
    np.testing.assert_array_equal(found.train_x, wanted.train_x)
    np.testing.assert_array_equal(found.test_y, wanted.test_y)
    np.testing.assert_array_equal(found.train_owners, wanted.train_cells)
    assert (found.num_classes, found.num_global_features) == (None, wanted.num_global_features)


def test_without_global_features_the_servers_columns_are_gone():
    whole = TRAFFIC.load(Simulation(1), None)
    local = CellTraffic(num_cells=5, traffic=SMALL, global_features=False)
    found = local.load(Simulation(1), None)
    np.testing.assert_array_equal(found.train_x, whole.train_x[:, whole.num_global_features :])
    np.testing.assert_array_equal(found.train_y, whole.train_y)
    assert found.num_global_features == 0


def test_files_give_the_same_samples_as_the_table_that_they_were_written_from(tmp_path: Path):
    write(generate(SMALL, 5, Simulation(1).stream("cloud", "data")), tmp_path)
    found = TrafficCsv().load(Simulation(1), tmp_path)
    np.testing.assert_array_equal(found.train_x, TRAFFIC.load(Simulation(1), None).train_x)
    with pytest.raises(ConfigurationError, match=r"needs the folder that holds traffic\.csv .* --data-dir"):
        TrafficCsv().load(Simulation(1), None)


def test_naturally_every_client_has_its_own_cells_samples():
    dataset = TRAFFIC.load(Simulation(1), None)
    held = dealt(TRAFFIC, (5,))
    assert dataset.train_owners is not None
    for number, indices in enumerate(held):
        assert set(dataset.train_owners[indices]) == {number}
        assert not indices.flags.writeable
    assert sorted(np.concatenate(held)) == list(range(len(dataset.train_y)))


def test_samples_without_classes_can_be_dealt_at_random():
    data = CellTraffic(split=Iid(), num_cells=5, traffic=SMALL)
    dataset = data.load(Simulation(1), None)
    held = dealt(data, (1, 2))
    assert sorted(np.concatenate(held)) == list(range(len(dataset.train_y)))
    assert dataset.train_owners is not None
    assert all(len(set(dataset.train_owners[indices])) == 5 for indices in held)


@pytest.mark.parametrize("split", [Shards(), CellIid(), Dirichlet()])
@pytest.mark.parametrize("kind", [CellTraffic, TrafficCsv])
def test_traffic_has_no_classes_to_deal_by(kind, split):
    complaint = rf"{kind.__name__}\.split = '{type(split).__name__}': deals samples by class"
    with pytest.raises(ConfigurationError, match=complaint):
        System(data=kind(split=split))


def test_classes_arise_at_no_client():
    match = r"Synthetic\.split = 'Natural': .* 'synthetic' belong to no client"
    with pytest.raises(ConfigurationError, match=match):
        dealt(Synthetic(split=Natural()), (4,))


def test_as_many_clients_as_cells():
    with pytest.raises(ConfigurationError, match=r"num_clients = 4: the samples of 'traffic' arise at 5"):
        dealt(TRAFFIC, (4,))


class Growing(Synthetic):
    """Samples that arise while the clock runs, and a split all the same."""

    def load(self, sim, data_dir):
        """Its rows alone."""
        return evolve(super().load(sim, data_dir), train_y=None)


class Forgetful(Iid):
    """Leaves the last client out."""

    def deal(self, sim, dataset, cell_sizes):
        """One too few."""
        return super().deal(sim, dataset, cell_sizes)[:-1]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (Growing(), r"Growing: the samples of 'synthetic' arise while the clock runs"),
        (Synthetic(split=Forgetful()), r"Forgetful\.deal gives samples to 3 clients of 4"),
    ],
)
def test_what_cannot_be_dealt_is_refused(data, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        dealt(data, (1, 3))


def test_a_kind_that_is_changed_brings_its_own_split_but_keeps_a_chosen_one():
    assert with_kind(System(), ["data"], "CellTraffic").data == CellTraffic()
    chosen = System(data=FashionMnist(split=Iid()))
    assert with_kind(chosen, ["data"], "CellTraffic").data == CellTraffic(split=Iid())
