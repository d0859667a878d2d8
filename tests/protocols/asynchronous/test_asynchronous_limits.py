"""Limits in which asynchronous learning is synchronous: the same bits where a sum has the same form.

The same form means that all updates of a version start from the model that it moves: the coefficient of that
model in the sum is then exactly 0, and what is left is the mean that a barrier takes. Where a mean is taken
in another order, or a part of the old model stays, weights agree to 1e-6.
"""

from typing import Any

import numpy as np
import pytest
import worlds

from cosim import AfterRounds, AfterVersions, ClientTraining, FedAsync, FedBuff, HFedAvg, Sgd, evolve, run
from cosim.ends import EveryVersions
from cosim.protocols import Constant, ConstantConcurrency, Dispatched, GeneralisedAsync, TimeTriggered
from cosim.results.result import Result
from cosim.training import Proximal
from cosim.waiting import AtLeast, FirstK

SGD = Sgd(batch_size=10)
CLIENTS = ClientTraining(num_local_steps=worlds.STEPS, local=SGD)
ROUNDS = HFedAvg(training=worlds.training(num_edge_rounds=1))
FREQUENCIES_HZ = (1e9, 4e8, 7e8, 5e8)


def same_weights(one: Result, other: Result) -> None:
    assert one.weights is not None
    assert other.weights is not None
    for name, values in one.weights.items():
        np.testing.assert_array_equal(values, other.weights[name], err_msg=name)


def close_weights(one: Result, other: Result) -> None:
    assert one.weights is not None
    assert other.weights is not None
    for name, values in one.weights.items():
        np.testing.assert_allclose(values, other.weights[name], rtol=0.0, atol=1e-6, err_msg=name)


def rounds(num_rounds: int, *frequencies_hz: float, **changes: Any) -> Result:
    end = AfterRounds(num_global_rounds=num_rounds)
    return run(worlds.one_cell(*frequencies_hz, end=end, **{"protocol": ROUNDS} | changes))


def versions(num_versions: int, *frequencies_hz: float, **changes: Any) -> Result:
    return run(worlds.one_cell(*frequencies_hz, end=AfterVersions(num_versions=num_versions), **changes))


# --- The same bits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("local", [SGD, Proximal(batch_size=10, mu=0.5)], ids=["SGD", "proximal"])
@pytest.mark.parametrize("starts", [FedBuff().starts, ConstantConcurrency(num_in_flight=3)])
def test_a_buffer_for_all_and_equal_times_is_federated_averaging(starts, local) -> None:
    alike = (1e9,) * 3
    buffer = FedBuff(num_updates=3, training=evolve(CLIENTS, local=local), starts=starts)
    barrier = rounds(4, *alike, protocol=evolve(ROUNDS, training=evolve(ROUNDS.training, local=local)))
    buffered = versions(4, *alike, protocol=buffer)
    same_weights(barrier, buffered)
    np.testing.assert_array_equal(barrier.evaluations["time_s"], buffered.evaluations["time_s"])
    assert (buffered.updates["weight"] == 1 / 3).all()
    assert (buffered.updates["staleness"] == 0).all()


def test_the_first_n_of_n_is_the_barrier() -> None:
    first = HFedAvg(training=worlds.training(num_edge_rounds=1, waiting=FirstK(num_updates=4)))
    barrier, by_count = rounds(4, *FREQUENCIES_HZ), rounds(4, *FREQUENCIES_HZ, protocol=first)
    same_weights(barrier, by_count)
    np.testing.assert_array_equal(barrier.evaluations["time_s"], by_count.evaluations["time_s"])


def test_ticks_beyond_the_slowest_are_a_barrier_whose_rounds_last_as_long() -> None:
    barrier = rounds(4, *FREQUENCIES_HZ)
    period_s = 2.0 * barrier.rounds["end_s"].min()
    lasting = HFedAvg(
        training=worlds.training(num_edge_rounds=1, waiting=AtLeast(lasting_s=period_s)),
    )
    ticked = versions(4, *FREQUENCIES_HZ, protocol=TimeTriggered(period_s=period_s, training=CLIENTS))
    as_long = rounds(4, *FREQUENCIES_HZ, protocol=lasting)
    same_weights(barrier, ticked)
    same_weights(as_long, ticked)
    np.testing.assert_array_equal(ticked.evaluations["time_s"], period_s * np.arange(5))
    np.testing.assert_allclose(as_long.evaluations["time_s"], period_s * np.arange(5), rtol=1e-12)


ALONE = {
    "FedAsync": FedAsync(training=CLIENTS, share=1.0, staleness=Constant()),
    "FedBuff": FedBuff(training=CLIENTS, num_updates=1),
    "generalised": GeneralisedAsync(training=CLIENTS, starts=Dispatched(num_in_flight=1)),
    "ticks": TimeTriggered(training=CLIENTS, period_s=1.0),
}


@pytest.mark.parametrize("protocol", ALONE.values(), ids=ALONE)
def test_a_client_alone_whose_model_is_taken_whole_is_sgd_in_sequence(protocol) -> None:
    same_weights(rounds(5, 1e9), versions(5, 1e9, protocol=protocol))


# --- To 1e-6 ------------------------------------------------------------------------------------------------


def test_a_buffer_for_all_of_two_cells_is_federated_averaging_of_both() -> None:
    """A barrier takes the mean of two means; a buffer that of all."""
    alike, two = (1e9,) * 4, {"num_cells": 2}
    buffer = FedBuff(num_updates=4, training=CLIENTS)
    barrier, buffered = rounds(4, *alike, **two), versions(4, *alike, protocol=buffer, **two)
    close_weights(barrier, buffered)
    np.testing.assert_array_equal(barrier.evaluations["time_s"], buffered.evaluations["time_s"])


def test_a_client_alone_that_is_mixed_in_is_a_buffer_of_one_that_moves_less() -> None:
    """(1 - a) x + a x_client, and x + a (x_client - x)."""
    mixing = FedAsync(training=CLIENTS, share=0.5, staleness=Constant())
    moving = FedBuff(training=CLIENTS, num_updates=1, server_rate=0.5)
    close_weights(versions(5, 1e9, protocol=mixing), versions(5, 1e9, protocol=moving))


def test_a_client_alone_with_two_jobs_is_one_job_behind() -> None:
    """A closed network of one client: every job but the first starts from the version before the newest."""
    late = GeneralisedAsync(training=CLIENTS, starts=Dispatched(num_in_flight=2))
    result = versions(5, 1e9, protocol=late)
    assert result.updates["staleness"].tolist() == [0, 1, 1, 1, 1]
    with pytest.raises(AssertionError):
        close_weights(rounds(5, 1e9), result)


def test_late_weights_are_another_model() -> None:
    """So that the limits above are none of any two runs."""
    once = EveryVersions(num_versions=4)
    buffer = FedBuff(num_updates=4, training=CLIENTS)
    buffered = versions(4, *FREQUENCIES_HZ, protocol=buffer, evaluation=once)
    with pytest.raises(AssertionError):
        close_weights(rounds(4, *FREQUENCIES_HZ), buffered)
