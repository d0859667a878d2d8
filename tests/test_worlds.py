"""The worlds of the tests are as their docstrings say, whatever the seed."""

import pytest
import worlds

from cosim import AfterRounds, FixedShares, HFedAvg, Hist, Never, Result, System, evolve, run
from cosim.radio import RedividedShares

seeds = pytest.mark.parametrize("seed", [1, 2, 3])
protocols = pytest.mark.parametrize("protocol", [HFedAvg, Hist])


def timed(system: System, **changes: object) -> Result:
    return run(evolve(system, evaluation=Never(), **changes))


def exactly(expected: float) -> object:
    return pytest.approx(expected, rel=1e-12, abs=0.0)


@seeds
@protocols
def test_where_all_are_alike_everything_happens_at_the_same_instants(protocol: type, seed: int) -> None:
    spans = timed(worlds.alike(2, 2, protocol=protocol(training=worlds.training())), seed=seed).spans
    clients = spans[spans["job"] >= 0]
    for _, together in clients.groupby(["job", "activity"]):
        assert len(together) == 4
        assert len(set(zip(together["start_s"], together["end_s"], strict=True))) == 1


@seeds
def test_all_alike_train_for_3_ms_and_share_2_mbit_per_s(seed: int) -> None:
    result = timed(worlds.alike(2, 3), seed=seed)
    lasts_s = result.spans["end_s"] - result.spans["start_s"]
    assert lasts_s[result.spans["activity"] == "train"].to_numpy() == pytest.approx(3e-3, rel=1e-9)
    for edge, num_clients in (("edge-00", 2), ("edge-01", 3)):
        sends = result.transfers[result.transfers["edge"] == edge]
        send_s = (sends["end_s"] - sends["start_s"]).to_numpy()
        assert send_s == pytest.approx(worlds.BITS * num_clients / 2e6, rel=1e-9)
    _, _, cloud = worlds.built(worlds.alike(2, 3))
    assert len({len(client.samples) for edge in cloud.edges for client in edge.clients}) == 1


@seeds
def test_in_one_cell_each_arrives_when_arithmetic_says(seed: int) -> None:
    frequencies_hz = (1e9, 3e9, 0.5e9)
    fates = timed(worlds.one_cell(*frequencies_hz), seed=seed).fates.sort_values("client")
    train_s = [worlds.STEPS * worlds.STEP_CYCLES / frequency_hz for frequency_hz in frequencies_hz]
    assert fates["end_s"].tolist() == [exactly(each + 3 * 4096 / 1e6) for each in train_s]


@seeds
@protocols
@pytest.mark.parametrize("sharing", [FixedShares, RedividedShares])
def test_one_of_each_cell_is_late_in_every_round(sharing: type, protocol: type, seed: int) -> None:
    usual = worlds.somebody_late()
    result = timed(
        usual,
        seed=seed,
        uplink=evolve(usual.uplink, sharing=sharing(bandwidth_hz=worlds.BANDWIDTH_HZ)),
        protocol=protocol(training=worlds.training(waiting=worlds.DEADLINE)),
        end=AfterRounds(num_global_rounds=20),
    )
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    counts = edge_rounds[["node", "num_participants", "num_arrived"]].drop_duplicates()
    assert sorted(counts.itertuples(index=False, name=None)) == [("edge-00", 3, 2), ("edge-01", 2, 1)]
    late = result.spans[result.spans["outcome"] == "deadline"]
    assert set(late["node"] + late["activity"]) == {f"{worlds.LATE[0]}train", f"{worlds.LATE[1]}send"}
    assert len(late) == 20 * 2 * 2


@seeds
def test_over_the_air_all_arrive(seed: int) -> None:
    result = timed(worlds.over_the_air(), seed=seed)
    assert result.transfers["arrived"].all()
    assert len(result.transfers) == 3 * 2 * 5


@seeds
def test_two_of_four_learn_from_pictures(seed: int) -> None:
    result = timed(worlds.digits(), seed=seed)
    assert (result.rounds.loc[result.rounds["level"] == "edge", "num_participants"] == 2).all()


@seeds
def test_three_of_four_send_through_queues(seed: int) -> None:
    result = timed(worlds.vhfl(), seed=seed)
    assert (result.rounds.loc[result.rounds["level"] == "edge", "num_participants"] == 3).all()
    assert len(result.transfers) == 3 * 3


@seeds
def test_everyone_is_planned_and_a_round_lasts_150_s(seed: int) -> None:
    result = timed(worlds.rawhfl(), seed=seed)
    assert len(result.plans) == 8 * 2 * 2
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    assert (edge_rounds["end_s"] - edge_rounds["start_s"]).to_numpy() == pytest.approx(150.0, rel=1e-12)
