"""Request log: samples grow at the ends of slots, by activity, and belong to users."""

from itertools import pairwise

import numpy as np
import pytest

from analysis.intervals.statistics import binomial
from cosim import ConfigurationError, Simulation, evolve
from scenarios.papers.rawhfl import VideoRequests

SMALL = VideoRequests(
    num_users=4, num_genres=3, contents_per_genre=4, num_past_requests=10, num_test_requests=5
)


def samples_at(times_s: list[float], num_users: int = 4, requests: VideoRequests = SMALL, seed: int = 1):
    """Samples of every user at each time, in one run."""
    sim, found = Simulation(seed), []
    log = evolve(requests, num_users=num_users).log(sim)

    def watch():
        for time_s in times_s:
            if time_s > sim.now_s:
                yield from sim.spend("users", "watch", time_s - sim.now_s)
            found.append([log.samples([user]).tolist() for user in range(num_users)])

    sim.run(watch())
    return found


def test_before_the_first_slot_ends_there_are_the_past_requests_only():
    for held in samples_at([0.0, 149.999]):
        assert [len(of_user) for of_user in held] == [9] * 4


def test_samples_only_grow_at_the_ends_of_slots_by_one_at_most():
    times_s = [0.0, 100.0, 150.0, 299.0, 300.0, 450.0, 1500.0]
    found = samples_at(times_s)
    for user in range(4):
        lists = [held[user] for held in found]
        for earlier, later in pairwise(lists):
            assert later[: len(earlier)] == earlier
        grown = [len(samples) - 9 for samples in lists]
        assert grown[0] == grown[1] == 0
        assert grown[2] == grown[3] <= 1
        assert grown[-1] <= 10
    assert samples_at([1500.0])[0] == found[-1]  # at any time


def test_who_asks_at_the_end_of_a_slot_gets_its_requests():
    """Users that are active in every slot of 0.1 s."""
    requests = VideoRequests(num_genres=3, contents_per_genre=4, slot_s=0.1, active_probability=(1.0,))
    times_s = [number / 10 for number in range(30)]
    found = samples_at(times_s, num_users=1, requests=requests)
    assert [len(held[0]) - len(found[0][0]) for held in found] == list(range(30))


def test_a_sample_goes_on_from_the_one_before():
    (held,) = samples_at([15_000.0])
    for user, samples in enumerate(held):
        rows, nexts = np.divmod(np.array(samples), 12)
        assert np.all(rows // 12 == user)
        assert np.all(rows[1:] % 12 == nexts[:-1])


def test_activity_is_how_often_a_user_asks():
    requests = VideoRequests(num_genres=3, contents_per_genre=4, active_probability=(0.3,))
    (held,) = samples_at([150.0 * 2000], num_users=2, requests=requests)
    for samples in held:
        assert binomial(len(samples) - 49, 2000, 0.999).contains(0.3)
        assert not binomial(len(samples) - 49, 2000, 0.999).contains(0.4)


def test_another_user_moves_nobody_elses_requests():
    assert samples_at([3000.0], num_users=6)[0][:4] == samples_at([3000.0], num_users=4)[0]
    assert samples_at([3000.0], seed=2) != samples_at([3000.0])


def test_the_data_set_fits_the_log():
    sim = Simulation(1)
    dataset, model = SMALL.load(sim, None), SMALL.model(sim)
    assert dataset.train_x.shape == (4 * 12, 1 + 3 + 1 + 4 + 1)
    assert (len(dataset.test_y), dataset.num_classes) == (4 * 5, 12)
    assert SMALL.log(sim).samples(range(4)).max() < dataset.num_sample_numbers
    np.testing.assert_array_equal(model.catalog.most_similar, SMALL.model(sim).catalog.most_similar)


def test_users_are_dealt_in_order():
    data = evolve(SMALL, num_users=6)
    sim = Simulation(1)
    dataset = data.load(sim, None)
    own = [samples() for samples in data.held(sim, dataset, (3, 3))]
    (all_of_them,) = (samples() for samples in data.held(Simulation(1), dataset, (1,)))
    np.testing.assert_array_equal(np.concatenate(own), all_of_them)
    pairs = [samples() for samples in data.held(Simulation(1), dataset, (2, 1))]
    assert [sorted(set(s // 144)) for s in pairs] == [[0, 1], [2, 3], [4, 5]]
    assert not all_of_them.flags.writeable


def test_what_does_not_fit_is_refused():
    data, sim = evolve(SMALL, num_users=2), Simulation(1)
    dataset = data.load(sim, None)
    with pytest.raises(ConfigurationError, match=r"num_users = 2: is less than the number of clients \(3\)"):
        data.held(sim, dataset, (2, 1))


def test_more_slots_than_can_be_drawn_are_refused():
    sim = Simulation(1)
    log = VideoRequests(num_users=2, slot_s=1.0).log(sim)
    sim.run(sim.spend("users", "wait", 2e5))
    with pytest.raises(ConfigurationError, match="slot_s = 1: 2e\\+05 slots passed"):
        log.samples([0])
