"""Request model: a user's next request for a video, and the features of the one before.

A user first asks for the most popular content, in a catalogue (`catalog`), of a genre drawn by its
preferences p_g, and after a content of genre g

- with probability v, for the most similar other content of genre g,
- otherwise for the most popular content of another genre, g' with probability p_g' / (1 - p_g).

A training sample is a pair of requests: features of the first, the number of the second. Features are

| features, in this order | number |
|---|---|
| v | 1 |
| p_g of every genre | num_genres |
| genre of the content, over num_genres | 1 |
| cosines with every content of its genre, itself (1) included | contents_per_genre |
| place of the content in its genre, over contents_per_genre | 1 |

43 for the defaults. The paper speaks of the rest of the genre, one cosine less; but its model, 512 and 256
hidden units and 256 outputs, has its 219,648 parameters with 43 inputs only. All of this is static, so a
sample is one whole number: a row of `feature_table`, which stands for user and content, and the next content.

Scope and limitations: users forget all but their last request. The request log decides if a user asks at all
in a slot (`active_probability`). A user that prefers one genre entirely explores the others uniformly, the
limit of equal preferences for them. Similarities are symmetric, so that a long stay in a genre ends in two
contents by turns.

Usage::

    model = VideoRequests().model(sim)
    past = model.sequence(3, 50, sim.stream(user_name(3), "past"))
    samples = model.samples(3, past)
    x, y = feature_table(model)[samples // model.catalog.num_contents], samples % model.catalog.num_contents

Validation: `tests/papers/rawhfl/test_video_requests.py` compares sequences with
`analysis/closed_forms/request_model.py`.

Source: Pervej et al., "Resource-aware hierarchical federated learning in wireless video caching networks"
(RawHFL), Sections II-B and V-A. The draw of another genre has no source.
"""

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from scenarios.papers.rawhfl.videos.catalog import Catalog

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Numbers = Whole | int
Uniform = Array | float


def user_name(number: int) -> str:
    """Name of a user, which also names its random streams."""
    return f"user-{number:04d}"


@attrs.frozen(kw_only=True, eq=False)
class Users:
    """Tastes of the users.

    Attributes:
        similar_probability: v of each user, shape (users,).
        active_probability: Probability of a request in a slot, shape (users,).
        genre_preferences: p_g of each user, shape (users, genres).
    """

    similar_probability: Array = attrs.field(repr=False)
    active_probability: Array = attrs.field(repr=False)
    genre_preferences: Array = attrs.field(repr=False)


@attrs.frozen(kw_only=True, eq=False)
class RequestModel:
    """Requests of users in a catalogue, from uniform numbers in [0, 1); users and contents by number.

    `first` and `next` take single values or arrays of one shape, and give int64 of that shape. They check
    nothing, because they are called in every slot.
    """

    catalog: Catalog
    users: Users

    @cached_property
    def _first_genre(self) -> Array:
        return _cumulative(self.users.genre_preferences)

    @cached_property
    def _other_genre(self) -> Array:
        """Probability of each next genre, shape (users, genre before, genres)."""
        is_other = 1.0 - np.eye(self.catalog.num_genres)
        law = self.users.genre_preferences[:, None, :] * is_other
        return _cumulative(np.where(law.any(axis=-1, keepdims=True), law, is_other))

    def first(self, user: Numbers, u: Uniform) -> Whole:
        """First request: the most popular content of a preferred genre."""
        genre = (np.asarray(u)[..., None] >= self._first_genre[user]).sum(axis=-1)
        return self.catalog.most_popular[genre]

    def next(self, user: Numbers, previous: Numbers, u_similar: Uniform, u_genre: Uniform) -> Whole:
        """Request after the content `previous`; one number decides if the user stays, the other the genre."""
        genre = previous // self.catalog.contents_per_genre
        other = (np.asarray(u_genre)[..., None] >= self._other_genre[user, genre]).sum(axis=-1)
        stays = np.less(u_similar, self.users.similar_probability[user])
        return np.where(stays, self.catalog.most_similar[previous], self.catalog.most_popular[other])

    def sequence(self, user: int, num_requests: int, rng: np.random.Generator) -> Whole:
        """Requests of one user from the first on, shape (requests,); each takes two draws."""
        contents = np.empty(num_requests, np.int64)
        for number, (u_similar, u_genre) in enumerate(rng.random((num_requests, 2))):
            if number == 0:
                contents[0] = self.first(user, u_genre)
            else:
                contents[number] = self.next(user, int(contents[number - 1]), u_similar, u_genre)
        return contents

    def samples(self, user: int, contents: Whole) -> Whole:
        """Training samples from one user's successive requests, one fewer than the requests.

        A sample is (user x contents + previous content) x contents + next content.
        """
        num_contents = self.catalog.num_contents
        return (user * num_contents + contents[:-1]) * num_contents + contents[1:]


def feature_table(model: RequestModel) -> NDArray[np.float32]:
    """Features of every user's request of every content, shape (users x contents, inputs), user by user."""
    catalog, users = model.catalog, model.users
    num_users = len(users.similar_probability)
    content = np.arange(catalog.num_contents)
    genre, place = np.divmod(content, catalog.contents_per_genre)
    of_user = np.column_stack((users.similar_probability, users.genre_preferences))
    of_content = np.column_stack(
        (genre / catalog.num_genres, catalog.similarities, place / catalog.contents_per_genre)
    )
    table = np.hstack((np.repeat(of_user, len(content), axis=0), np.tile(of_content, (num_users, 1))))
    return np.ascontiguousarray(table, np.float32)


def _cumulative(law: Array) -> Array:
    """Cumulative sums along the last axis that end in exactly 1, so that no number reaches an empty end."""
    sums = np.cumsum(law, axis=-1)
    return sums / sums[..., -1:]
