"""Prediction of video requests: by hand, by the chain of all contents solved numerically, as published."""

import math

import numpy as np
import pytest

from analysis.closed_forms.request_model import RequestPrediction

EXACTLY = {"rtol": 1e-12, "atol": 1e-15}
PREFERENCES = (0.5, 0.3, 0.15, 0.05)


def prediction(v, preferences=PREFERENCES):
    return RequestPrediction(similar_probability=v, genre_preferences=preferences)


def shares_of_time(steps):
    """The stationary law of a chain, from its balance as a linear system."""
    balance = np.vstack([steps.T - np.eye(len(steps)), np.ones(len(steps))])
    return np.linalg.lstsq(balance, np.append(np.zeros(len(steps)), 1.0))[0]


def steps_of_contents(v, preferences, most_similar, most_popular):
    """From every content to every other, number by number; contents per genre as in `most_similar`."""
    per_genre = len(most_similar) // len(preferences)
    steps = np.zeros((len(most_similar), len(most_similar)))
    for content in range(len(most_similar)):
        genre = content // per_genre
        steps[content, most_similar[content]] += v
        for other, preference in enumerate(preferences):
            if other != genre:
                steps[content, most_popular[other]] += (1.0 - v) * preference / (1.0 - preferences[genre])
    return steps


def test_two_genres_by_hand():
    """Both are visited equally often, whatever is preferred, and nothing is left to choose."""
    two = prediction(0.3, (0.9, 0.1))
    np.testing.assert_allclose(two.genre_law, [0.5, 0.5], **EXACTLY)
    assert two.accuracy == pytest.approx(0.7, rel=1e-12)
    assert two.similar_accuracy == 0.3


def test_three_genres_by_hand():
    """`p (1 - p)` is 0.24, 0.21 and 0.09; the best guesses are right in 0.6 x 3/4, 0.6 x 6/7 and 0.4."""
    three = prediction(0.4, (0.6, 0.3, 0.1))
    np.testing.assert_allclose(three.genre_law, np.array([24, 21, 9]) / 54, **EXACTLY)
    np.testing.assert_allclose(three.next_law[0], [0.45, 0.4, 0.15], **EXACTLY)
    np.testing.assert_allclose(three.next_law[2], [0.4, 0.4, 0.2], **EXACTLY)
    right = (24 * 0.45 + 21 * 0.6 * 6 / 7 + 9 * 0.4) / 54
    assert three.accuracy == pytest.approx(right, rel=1e-12)
    second = (24 * 0.4 + 21 * 0.4 + 9 * 0.4) / 54
    assert three.top_accuracy(2) == pytest.approx(right + second, rel=1e-12)
    assert three.top_accuracy(3) == three.top_accuracy(7) == pytest.approx(1.0, rel=1e-12)


# Genre 0 begins in its pair, genre 1 one content and genre 2 two contents before, genre 3 as genre 0.
MOST_SIMILAR = [1, 0, 1, 2, 5, 6, 5, 6, 10, 10, 11, 10, 13, 12, 15, 14]
MOST_POPULAR = [0, 4, 9, 14]
VISITED = [[0, 1], [4, 5, 6], [9, 10, 11], [14, 15]]
NUM_BEFORE_PAIR = [0, 1, 1, 0]


@pytest.mark.parametrize("v", [0.0, 0.2, 0.6, 0.95])
@pytest.mark.parametrize("preferences", [PREFERENCES, (0.25,) * 4, (0.05, 0.9, 0.0, 0.05)])
def test_against_the_chain_of_contents(v, preferences):
    """Genres, contents and every accuracy, from 16 contents and their steps without any thought of genres."""
    steps = steps_of_contents(v, preferences, MOST_SIMILAR, MOST_POPULAR)
    law = shares_of_time(steps)
    predicted = prediction(v, preferences)
    np.testing.assert_allclose(predicted.genre_law, law.reshape(4, 4).sum(axis=1), rtol=1e-9, atol=1e-12)
    contents = np.zeros(16)
    for genre, visited in enumerate(VISITED):
        contents[visited] = predicted.genre_law[genre] * predicted.stay_law(NUM_BEFORE_PAIR[genre])
    np.testing.assert_allclose(contents, law, rtol=1e-9, atol=1e-12)
    likeliest = -np.sort(-steps, axis=1)
    for num_guesses in range(1, 6):
        expected = law @ likeliest[:, :num_guesses].sum(axis=1)
        assert predicted.top_accuracy(num_guesses) == pytest.approx(expected, rel=1e-9)
    assert predicted.accuracy == predicted.top_accuracy(1)


@pytest.mark.parametrize("num_before_pair", [0, 1, 2, 5])
@pytest.mark.parametrize("v", [0.0, 0.3, 0.9])
def test_stays_by_summing_their_steps(v, num_before_pair):
    expected = np.zeros(num_before_pair + 2)
    for step in range(2000):
        place = step
        if step >= num_before_pair:
            place = num_before_pair + (step - num_before_pair) % 2
        expected[place] += (1.0 - v) * v**step
    np.testing.assert_allclose(prediction(v).stay_law(num_before_pair), expected, **EXACTLY)


def test_who_never_leaves():
    never = prediction(1.0)
    assert never.accuracy == never.similar_accuracy == 1.0
    np.testing.assert_allclose(never.genre_law, PREFERENCES, **EXACTLY)
    np.testing.assert_allclose(never.stay_law(2), [0.0, 0.0, 0.5, 0.5], **EXACTLY)


def test_who_has_one_preference_only():
    """Half of the time there, for from anywhere else the way leads back; near 1 nothing cancels."""
    for preferences in ((1.0, 0.0, 0.0), (1.0 - 1e-14, 5e-15, 5e-15), (1.0, 1e-30, 1e-30)):
        only = prediction(0.2, preferences)
        np.testing.assert_allclose(only.genre_law, [0.5, 0.25, 0.25], rtol=1e-12)
        np.testing.assert_allclose(only.exploration[0], [0.0, 0.5, 0.5], rtol=1e-12)
        assert only.accuracy == pytest.approx(0.5 * 0.4 + 0.5 * 0.8, rel=1e-12)


def test_as_published():
    """Table II to IV: the central model is right in 0.395, 0.701 and 0.518 of the cases; RawHFL in about v.

    Mean over 4,000 users, with preferences from Dir(0.3) in eight genres: standard error below 0.003. No
    model can do better than the prediction; the central one should do nearly as well.
    """
    rng = np.random.default_rng(3)
    for low, high, central, rawhfl in (
        (0.3, 0.3, 0.3947, 0.2994),
        (0.7, 0.7, 0.7013, 0.7013),
        (0.1, 0.8, 0.5180, 0.4485),
    ):
        users = [
            prediction(v, tuple(rng.dirichlet(np.full(8, 0.3)))) for v in rng.uniform(low, high, size=4000)
        ]
        best = np.mean([user.accuracy for user in users])
        assert best - 0.03 < central < best + 0.005
        assert np.mean([user.similar_accuracy for user in users]) == pytest.approx(rawhfl, abs=0.01)
        if high == 0.3:
            assert best == pytest.approx(0.415, abs=0.005)
            assert prediction(0.3, (0.125,) * 8).accuracy == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("v", "preferences", "message"),
    [
        (1.1, PREFERENCES, r"similar_probability = 1\.1 must lie from 0 to 1"),
        (-0.1, PREFERENCES, "from 0 to 1"),
        (math.nan, PREFERENCES, "from 0 to 1"),
        (0.5, (1.0,), "must be at least 2"),
        (0.5, (1.2, -0.2), "must not be negative"),
        (0.5, (0.5, 0.4), "must sum to 1.*Divide"),
        (0.5, (math.nan, 1.0), "must not be negative"),
    ],
)
def test_bad_symbols(v, preferences, message):
    with pytest.raises(ValueError, match=message):
        prediction(v, preferences)


def test_bad_arguments():
    with pytest.raises(ValueError, match="0 guesses must be at least 1"):
        prediction(0.5).top_accuracy(0)
    with pytest.raises(ValueError, match="-1 contents before the pair must be at least 0"):
        prediction(0.5).stay_law(-1)
