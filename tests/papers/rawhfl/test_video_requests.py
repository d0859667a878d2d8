"""Video requests: catalogue and steps against brute force, sequences against closed form and wrong ones."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.closed_forms.request_model import RequestPrediction
from cosim.configuration import ConfigurationError, from_dict, to_dict
from scenarios.papers.rawhfl.videos.request_model import RequestModel, Users, feature_table
from scenarios.papers.rawhfl.videos.video_requests import VideoRequests

PREFERENCES = (0.5, 0.3, 0.15, 0.05)
NORMAL_999 = 3.29
"""Half the width of a 99.9 % interval, in standard deviations."""
ALMOST_ONE = math.nextafter(1.0, 0.0)


def rngs(count, purpose=1):
    return [np.random.default_rng([purpose, number]) for number in range(count)]


def model_of(requests, num_users=1, seed=7):
    catalog = requests.catalog(np.random.default_rng(seed))
    return RequestModel(catalog=catalog, users=requests.users(rngs(num_users)))


def same_users(v, preferences, num_users=1, contents_per_genre=8):
    """Users of one taste, in a catalogue of few contents."""
    requests = VideoRequests(
        num_genres=len(preferences),
        contents_per_genre=contents_per_genre,
        genre_preferences=preferences,
        similar_probability=(v,),
    )
    return model_of(requests, num_users)


def many_requests(model, num_requests, rng):
    """Requests of all users side by side, shape (requests, users)."""
    users = np.arange(len(model.users.similar_probability))
    contents = [model.first(users, rng.random(len(users)))]
    while len(contents) < num_requests:
        contents.append(model.next(users, contents[-1], rng.random(len(users)), rng.random(len(users))))
    return np.array(contents)


def is_likely(counts, law):
    """True if independent counts, in rows, can come from laws: Pearson's test, 99.9 %."""
    counts, law = np.atleast_2d(counts), np.atleast_2d(law)
    expected = counts.sum(axis=1, keepdims=True) * law
    if counts[expected == 0.0].any():
        return False
    expected, counts = expected[expected > 0.0], counts[expected > 0.0]
    assert expected.min() > 5.0
    statistic = ((counts - expected) ** 2 / expected).sum()
    return statistic < stats.chi2.ppf(0.999, len(expected) - len(law))


# --- the catalogue ---


def test_catalogue_by_brute_force():
    requests = VideoRequests(num_genres=3, contents_per_genre=5, num_content_features=2)
    catalog = requests.catalog(np.random.default_rng(4))
    assert (catalog.num_genres, catalog.contents_per_genre, catalog.num_contents) == (3, 5, 15)
    for genre in range(3):
        assert sorted(catalog.popularity_ranks[genre]) == [0, 1, 2, 3, 4]
        assert catalog.popularity_ranks[genre, catalog.most_popular[genre] - 5 * genre] == 0
        for place in range(5):
            mine, cosines = catalog.features[genre, place], []
            for other in catalog.features[genre]:
                cosines.append(sum(mine * other) / math.hypot(*mine) / math.hypot(*other))
            np.testing.assert_allclose(catalog.similarities[5 * genre + place], cosines, atol=1e-12)
            assert catalog.similarities[5 * genre + place, place] == 1.0
            cosines[place] = -2.0
            assert catalog.most_similar[5 * genre + place] == 5 * genre + cosines.index(max(cosines))


def test_stays_end_in_pairs():
    """Similarity is symmetric, so following it ends where two contents point at each other."""
    catalog = VideoRequests(num_genres=50).catalog(np.random.default_rng(2))
    content = np.arange(catalog.num_contents)
    for _ in range(32):
        content = catalog.most_similar[content]
    np.testing.assert_array_equal(catalog.most_similar[catalog.most_similar[content]], content)


def test_popularity_and_features_are_random():
    """The most popular place is uniform, and cosines have mean 0 and variance 1 / features."""
    requests = VideoRequests(num_genres=2000, contents_per_genre=4, num_content_features=5)
    catalog = requests.catalog(np.random.default_rng(3))
    assert is_likely(np.bincount(catalog.most_popular % 4), np.full(4, 0.25))
    cosines = catalog.similarities[::4, 1]  # one pair of each genre, so that all are independent
    assert abs(cosines.mean()) < NORMAL_999 / math.sqrt(5 * 2000)
    # Fourth moment 3 / (5 x 7), so the squares have variance 3/35 - 1/25.
    assert abs((cosines**2).mean() - 1 / 5) < NORMAL_999 * math.sqrt((3 / 35 - 1 / 25) / 2000)


# --- users ---


def test_one_more_user_moves_nobody():
    requests = VideoRequests(num_past_requests=5, num_test_requests=7)
    catalog = requests.catalog(np.random.default_rng(1))
    few, more = requests.users(rngs(3)), requests.users(rngs(4))
    for name in ("similar_probability", "active_probability", "genre_preferences"):
        np.testing.assert_array_equal(getattr(few, name), getattr(more, name)[:3])
        assert len(np.unique(getattr(more, name), axis=0)) == 4
    small, large = (RequestModel(catalog=catalog, users=users) for users in (few, more))
    (small_x, small_y), (large_x, large_y) = (
        requests.test_set(small, rngs(3, 2)),
        requests.test_set(large, rngs(4, 2)),
    )
    np.testing.assert_array_equal(small_x, large_x[:21])
    np.testing.assert_array_equal(small_y, large_y[:21])


def test_a_range_moves_no_other_draw():
    drawn = VideoRequests().users(rngs(5))
    narrow = VideoRequests(similar_probability=(0.5,), active_probability=(0.3, 0.4)).users(rngs(5))
    assert (narrow.similar_probability == 0.5).all()
    np.testing.assert_allclose((narrow.active_probability - 0.3) * 6, drawn.active_probability - 0.2)
    np.testing.assert_array_equal(narrow.genre_preferences, drawn.genre_preferences)


def test_laws_of_users():
    """Uniform v and activity, independent; a Dirichlet preference is a beta variable; and wrong ones fail."""
    users = VideoRequests().users(rngs(2000))

    def fits(values, law):
        return stats.kstest(values, law.cdf).pvalue > 0.001

    assert fits(users.similar_probability, stats.uniform(0.1, 0.7))
    assert fits(users.active_probability, stats.uniform(0.2, 0.6))
    assert not fits(users.similar_probability, stats.uniform(0.2, 0.6))
    correlation = np.corrcoef(users.similar_probability, users.active_probability)[0, 1]
    assert abs(correlation) < NORMAL_999 / math.sqrt(2000)
    np.testing.assert_allclose(users.genre_preferences.sum(axis=1), 1.0, rtol=1e-12)
    for genre in (0, 7):
        preferences = users.genre_preferences[:, genre]
        assert fits(preferences, stats.beta(0.3, 7 * 0.3))
        assert not fits(preferences, stats.beta(1.0, 7 * 1.0))


# --- requests ---


def next_by_hand(model, user, previous, u_similar, u_genre):
    """One request with scalars only."""
    catalog, preferences = model.catalog, model.users.genre_preferences[user]
    if u_similar < model.users.similar_probability[user]:
        return catalog.most_similar[previous]
    genre = previous // catalog.contents_per_genre
    others = [other for other in range(catalog.num_genres) if other != genre]
    rest = sum(preferences[other] for other in others)
    reached = 0.0
    for other in others:
        reached += preferences[other] / rest
        if u_genre < reached:
            return catalog.most_popular[other]
    raise AssertionError("rounding: try another seed")


def test_requests_by_hand():
    """Single values, arrays over users and `sequence` all take the steps that scalars take."""
    model, num_users = model_of(VideoRequests(), 30), 30
    draws = np.stack([rng.random((40, 2)) for rng in rngs(num_users, 3)], axis=1)
    expected = np.empty((40, num_users), int)
    for user in range(num_users):
        reached = np.cumsum(model.users.genre_preferences[user])
        expected[0, user] = model.catalog.most_popular[np.flatnonzero(draws[0, user, 1] < reached)[0]]
        for number in range(1, 40):
            expected[number, user] = next_by_hand(
                model, user, expected[number - 1, user], *draws[number, user]
            )
        np.testing.assert_array_equal(model.sequence(user, 40, rngs(num_users, 3)[user]), expected[:, user])
    together = [model.first(np.arange(num_users), draws[0, :, 1])]
    for u_similar, u_genre in draws[1:].swapaxes(1, 2):
        together.append(model.next(np.arange(num_users), together[-1], u_similar, u_genre))
    np.testing.assert_array_equal(together, expected)
    assert together[0].dtype == together[1].dtype == model.sequence(0, 3, rngs(1)[0]).dtype == np.int64


def test_longer_sequences_begin_alike():
    model = model_of(VideoRequests())
    short, long = (model.sequence(0, length, rngs(1)[0]) for length in (10, 300))
    np.testing.assert_array_equal(short, long[:10])


@pytest.mark.parametrize("u", [0.0, 0.5, ALMOST_ONE])
def test_nobody_asks_for_what_nobody_likes(u):
    """Neither an unloved genre nor, on leaving it, the genre itself, even at the ends of the numbers."""
    preferences = (0.0, 0.1, 0.0, 0.7, 0.2, 0.0)
    model = same_users(0.0, preferences)
    assert preferences[model.first(0, u) // 8] > 0.0
    for previous in range(6):
        following = model.next(0, 8 * previous, 0.0, u) // 8
        assert following != previous
        assert preferences[following] > 0.0


def transition_counts(v, num_visits=2000):
    """After the first visits to each genre: how often each genre came next, shape (G, G).

    Visits are counted in advance, so what follows them is independent.
    """
    model = same_users(v, PREFERENCES)
    contents = model.sequence(0, 60_000, np.random.default_rng(11))
    following = set(map(tuple, np.stack((contents[:-1], contents[1:]), axis=1).tolist()))
    allowed = {
        (content, after)
        for content in range(32)
        for after in (model.catalog.most_similar[content], *model.catalog.most_popular)
        if after == model.catalog.most_similar[content] or after // 8 != content // 8
    }
    assert following <= allowed
    genres = contents // 8
    counts = []
    for genre in range(4):
        visits = np.flatnonzero(genres[:-1] == genre)[:num_visits]
        assert len(visits) == num_visits
        counts.append(np.bincount(genres[visits + 1], minlength=4))
    return np.array(counts)


def test_steps_follow_the_closed_form():
    counts, preferences, stay = transition_counts(0.4), np.array(PREFERENCES), 0.4 * np.eye(4)
    exploration = RequestPrediction(similar_probability=0.4, genre_preferences=PREFERENCES).exploration
    assert is_likely(counts, stay + 0.6 * exploration)
    not_renormalised = stay + 0.6 * np.tile(preferences, (4, 1))
    uniform = stay + 0.6 * (1 - np.eye(4)) / 3
    preferred_genre_again = 0.45 * np.eye(4) + 0.55 * exploration
    for wrong in (not_renormalised, uniform, preferred_genre_again):
        assert not is_likely(counts, wrong)


def test_shares_of_genres_and_contents():
    """4,000 independent users after 40 requests, of whom 0.6^40 are still where they began."""
    model = same_users(0.6, PREFERENCES, num_users=4000)
    contents = many_requests(model, 41, np.random.default_rng(5))
    predicted = RequestPrediction(similar_probability=0.6, genre_preferences=PREFERENCES)
    genres = [np.bincount(contents[number] // 8, minlength=4) for number in (0, 40)]
    assert is_likely(genres[0], PREFERENCES)
    assert is_likely(genres[1], predicted.genre_law)
    assert not is_likely(genres[0], predicted.genre_law)
    assert not is_likely(genres[1], PREFERENCES)
    longest = 0
    for genre, first in enumerate(model.catalog.most_popular):
        stay = [int(first)]
        while (similar := int(model.catalog.most_similar[stay[-1]])) not in stay:
            stay.append(similar)
        longest = max(longest, len(stay))
        counts = np.bincount(contents[40], minlength=32)[8 * genre : 8 * genre + 8]
        law = np.zeros(8)
        law[np.array(stay) - 8 * genre] = predicted.stay_law(len(stay) - 2)
        assert is_likely(counts, law)
    assert longest > 2  # else the part before the pair would not be met


# --- extremes ---


def test_who_never_leaves():
    model = same_users(1.0, PREFERENCES)
    contents = model.sequence(0, 50, np.random.default_rng(1))
    np.testing.assert_array_equal(contents[1:], model.catalog.most_similar[contents[:-1]])
    assert model.next(0, contents[-1], ALMOST_ONE, 0.0) == model.catalog.most_similar[contents[-1]]


def test_who_always_leaves():
    model = same_users(0.0, PREFERENCES)
    contents = model.sequence(0, 500, np.random.default_rng(1))
    assert set(contents) == set(model.catalog.most_popular)
    assert (contents[1:] // 8 != contents[:-1] // 8).all()
    assert model.next(0, contents[-1], 0.0, 0.5) in model.catalog.most_popular


def test_who_has_one_preference_only():
    """From there uniformly to the others, and back at once."""
    model = same_users(0.0, (0.0, 1.0, 0.0, 0.0))
    genres = model.sequence(0, 6001, np.random.default_rng(6)) // 8
    assert (genres[::2] == 1).all()
    assert is_likely(np.bincount(genres[1::2], minlength=4)[[0, 2, 3]], np.full(3, 1 / 3))


# --- samples and features ---


def test_features_by_hand():
    model = model_of(VideoRequests(), 5)
    table = feature_table(model)
    assert (table.shape, table.dtype) == ((5 * 256, 43), np.float32)
    for user, genre, place in ((0, 0, 0), (3, 5, 17), (4, 7, 31)):
        row = table[user * 256 + genre * 32 + place]
        expected = (
            model.users.similar_probability[user],
            *model.users.genre_preferences[user],
            genre / 8,
            *model.catalog.similarities[genre * 32 + place],
            place / 32,
        )
        np.testing.assert_array_equal(row, np.array(expected, np.float32))


def test_the_paper_has_43_inputs():
    """Its parameters: weights and offsets of 512 and 256 hidden units and of one output for each content."""
    inputs = feature_table(model_of(VideoRequests())).shape[1]
    assert (inputs + 1) * 512 + (512 + 1) * 256 + (256 + 1) * 256 == 219_648


def test_samples_are_successive_pairs():
    model = same_users(0.5, PREFERENCES, num_users=3)
    samples = model.samples(2, np.array([5, 31, 0, 8]))
    assert samples.dtype == np.int64
    assert samples.tolist() == [
        (2 * 32 + 5) * 32 + 31,
        (2 * 32 + 31) * 32 + 0,
        (2 * 32 + 0) * 32 + 8,
    ]


def test_the_test_set_by_hand():
    """Of every user's sequence what follows its past: pairs 3 to 6 of 7 requests and one more."""
    requests = VideoRequests(num_past_requests=3, num_test_requests=4)
    model = model_of(requests, 3)
    x, y = requests.test_set(model, rngs(3, 9))
    table = feature_table(model)
    assert (x.shape, x.dtype, y.shape, y.dtype) == ((12, 43), np.float32, (12,), np.int64)
    for user in range(3):
        contents = model.sequence(user, 8, rngs(3, 9)[user])
        np.testing.assert_array_equal(y[4 * user : 4 * user + 4], contents[4:])
        np.testing.assert_array_equal(x[4 * user : 4 * user + 4], table[user * 256 + contents[3:7]])


def guesses(x, most_popular, num_genres, per_genre):
    """Best guesses first, from features alone and from knowing what is popular; shape (samples, genres)."""
    found = []
    for row in x.astype(float):
        v, preferences = row[0], row[1 : 1 + num_genres]
        genre, place = round(row[1 + num_genres] * num_genres), round(row[-1] * per_genre)
        cosines = row[2 + num_genres : -1].copy()
        cosines[place] = -2.0
        likely = (1.0 - v) * preferences / np.delete(preferences, genre).sum()
        likely[genre] = v
        contents = most_popular.copy()
        contents[genre] = genre * per_genre + cosines.argmax()
        found.append(contents[np.argsort(-likely, kind="stable")])
    return np.array(found)


def test_the_best_prediction_is_as_good_as_predicted():
    """600 users on their own, so the mean of their deviations from the closed form is nearly normal."""
    requests = VideoRequests(contents_per_genre=6, similar_probability=(0.1, 0.4), num_test_requests=100)
    model = model_of(requests, 600)
    x, y = requests.test_set(model, rngs(600, 4))
    right = (guesses(x, model.catalog.most_popular, 8, 6) == y[:, None]).reshape(600, 100, 8)
    users = zip(model.users.similar_probability, model.users.genre_preferences, strict=True)
    forms = [RequestPrediction(similar_probability=v, genre_preferences=tuple(p)) for v, p in users]

    def agrees(num_guesses, theory):
        gaps = right[:, :, :num_guesses].sum(axis=2).mean(axis=1) - [theory(form) for form in forms]
        return abs(gaps.mean()) < NORMAL_999 * gaps.std(ddof=1) / math.sqrt(len(gaps))

    for num_guesses in (1, 2, 4):
        assert agrees(num_guesses, lambda form, m=num_guesses: form.top_accuracy(m))
    assert right.any(axis=2).all()

    def not_renormalised(form):
        v, p = form.similar_probability, np.array(form.genre_preferences)
        likeliest = [max(v, (1.0 - v) * np.delete(p, genre).max()) for genre in range(8)]
        return form.genre_law @ likeliest

    def genres_as_preferred(form):
        return np.array(form.genre_preferences) @ form.next_law[:, 0]

    for wrong in (not_renormalised, genres_as_preferred, lambda form: form.similar_accuracy):
        assert not agrees(1, wrong)


# --- bad input ---


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_genres": 1}, r"VideoRequests\.num_genres = 1: must be at least 2, or there is no other genre"),
        ({"contents_per_genre": 1}, r"contents_per_genre = 1: .* no other content that is similar"),
        ({"num_content_features": 1}, "num_content_features = 1: must be at least 2"),
        ({"genre_concentration": 0.0}, "genre_concentration = 0: must be above 0"),
        ({"genre_concentration": 1e9}, r"genre_concentration = 1e\+09: must lie from 0.001"),
        ({"genre_preferences": (0.5, 0.5)}, r"genre_preferences = .* one for each of the 8 genres"),
        ({"genre_preferences": (0.2,) * 8}, r"must sum to 1, not to 1\.6\. Divide each"),
        ({"genre_preferences": (0.5, 0.5 + 2e-9), "num_genres": 2}, r"not to 1\.000000002"),
        ({"genre_preferences": (1.5, -0.5), "num_genres": 2}, "must be 0 or above"),
        ({"similar_probability": (0.1, 1.1)}, r"similar_probability = \(0\.1, 1\.1\): must lie from 0 to 1"),
        ({"similar_probability": (0.8, 0.1)}, "must be one value, or the lowest and then"),
        ({"similar_probability": ()}, "must be one value, or the lowest and then"),
        ({"active_probability": (0.1, 0.2, 0.3)}, "active_probability .* must be one value, or"),
        ({"active_probability": (-0.1,)}, "must lie from 0 to 1"),
        ({"slot_s": 0.0}, "slot_s = 0: must be at least 1e-9"),
        ({"num_past_requests": 1}, "num_past_requests = 1: must be at least 2"),
        ({"num_test_requests": 0}, "num_test_requests = 0: must be at least 1"),
    ],
)
def test_bad_input(values, message):
    with pytest.raises(ConfigurationError, match=message):
        VideoRequests(**values)


def test_good_limits_and_their_json():
    requests = VideoRequests(
        num_genres=2,
        contents_per_genre=2,
        genre_preferences=(1.0, 0.0),
        similar_probability=(0.0, 1.0),
        active_probability=(0.0,),
    )
    assert from_dict(VideoRequests, to_dict(requests)) == requests
    assert isinstance(requests.users(rngs(2)), Users)
    assert requests.users(rngs(2)).genre_preferences.tolist() == [[1.0, 0.0]] * 2
