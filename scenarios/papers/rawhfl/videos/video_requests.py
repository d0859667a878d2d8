"""Video requests: users that ask for videos, and the prediction of their next request.

Requests follow `request_model`; they are made slot by slot while the clock runs (`request_log`), so training
samples belong to the user that makes them, and their number grows. Test samples of the same users are drawn
beforehand.

Scope and limitations: as for the model and the log; no split, because a sample belongs to its user.

Validation: `tests/papers/rawhfl/test_video_requests.py` compares sequences with
`analysis/closed_forms/request_model.py`.

Source: Pervej et al., "Resource-aware hierarchical federated learning in wireless video caching networks"
(RawHFL), Sections II-B and V-A.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import (
    a_share,
    at_least,
    between,
    knob,
    lasting,
    not_negative,
    one_or_range,
    part,
    positive,
    refuse,
)
from cosim.data.dataset import Dataset
from cosim.data.port import Data
from scenarios.papers.rawhfl.videos.catalog import Catalog
from scenarios.papers.rawhfl.videos.request_log import MOST_SLOTS, RequestLog
from scenarios.papers.rawhfl.videos.request_model import RequestModel, Users, feature_table, user_name

if TYPE_CHECKING:
    from cosim.training.programs.batching import Batching

Whole = NDArray[np.int64]


def _two_genres(count: int) -> str | None:
    return None if count >= 2 else "must be at least 2, or there is no other genre to explore"


def _two_contents(count: int) -> str | None:
    return None if count >= 2 else "must be at least 2, or a genre has no other content that is similar"


@part
class VideoRequests(Data):
    """Videos that users will ask for next, from requests that grow while the clock runs.

    A probability of two values is drawn for every user, uniformly between them; one value holds for all.

    Attributes:
        num_users: Users that request videos, dealt to the clients in order and as evenly as possible: one
            each, or all to one client. [RawHFL, Section V-A]
        num_genres: Genres of the catalogue. [RawHFL, Section V-A]
        contents_per_genre: Contents of each genre. [RawHFL, Section V-A]
        num_content_features: Independent standard normal features of a content; with a single one, all
            cosines are 1 or -1. [no source]
        genre_concentration: Concentration of the Dirichlet distribution of a user's preferences; smaller is
            less even. [RawHFL, Section V-A]
        genre_preferences: Preferences of all users, one for each genre, with the sum 1; None means that each
            user's are drawn. [no source]
        similar_probability: Probability v of staying in the genre. [RawHFL, Section V-A]
        active_probability: Probability of a request in a slot. [RawHFL, Section V-A]
        slot_s: Length of a slot. [RawHFL, Section V-A]
        num_past_requests: Requests of every user before the first slot. [no source]
        num_test_requests: Test samples of every user. [no source]
    """

    num_users: int = knob(between(1, 10_000), default=48)
    num_genres: int = knob(_two_genres, default=8)
    contents_per_genre: int = knob(_two_contents, default=32)
    num_content_features: int = knob(at_least(2), default=16)
    genre_concentration: float = knob(positive, between(1e-3, 1e6), default=0.3)
    genre_preferences: tuple[float, ...] | None = knob(not_negative, default=None)
    similar_probability: tuple[float, ...] = knob(a_share, one_or_range, default=(0.1, 0.8))
    active_probability: tuple[float, ...] = knob(a_share, one_or_range, default=(0.2, 0.8))
    slot_s: float = knob(lasting, default=150.0)
    num_past_requests: int = knob(at_least(2), default=50)
    num_test_requests: int = knob(at_least(1), default=200)

    def __attrs_post_init__(self) -> None:
        given = self.genre_preferences
        if given is not None and len(given) != self.num_genres:
            rule = f"must be one for each of the {self.num_genres} genres"
            raise refuse(
                "VideoRequests", "genre_preferences", given, rule, "Use another num_genres, or None."
            )
        if given is not None and abs(math.fsum(given) - 1.0) > 1e-9:
            rule = f"must sum to 1, not to {math.fsum(given):.10g}"
            raise refuse(
                "VideoRequests", "genre_preferences", given, rule, "Divide each of them by their sum."
            )

    @override
    def fit(self, system: Any) -> None:
        """Refuse more slots in an edge round than a log can hold."""
        round_s = system.protocol.waiting.least_s
        if round_s / self.slot_s > MOST_SLOTS:
            rule = f"an edge round of {round_s:g} s would have more than {MOST_SLOTS:,} slots"
            fix = "Use a deadline of minutes, or a longer slot."
            raise refuse("VideoRequests", "slot_s", self.slot_s, rule, fix)

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """Rows of all users' requests, and test samples of every user; there are no files to name."""
        model = self.model(sim)
        rngs = [sim.stream(user_name(number), "test requests", 0) for number in range(self.num_users)]
        test_x, test_y = self.test_set(model, rngs)
        return Dataset(
            name="video-requests",
            train_x=feature_table(model),
            train_y=None,
            test_x=test_x,
            test_y=test_y,
            num_classes=model.catalog.num_contents,
            batching=_distinct_rows,
        )

    @override
    def held(
        self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]
    ) -> Sequence[Callable[[], Whole]]:
        num_clients = sum(cell_sizes)
        if num_clients > self.num_users:
            rule = f"is less than the number of clients ({num_clients}), so some would have no data"
            raise refuse(
                "VideoRequests", "num_users", self.num_users, rule, f"Use at least {num_clients} users."
            )
        log = self.log(sim)
        firsts = [number * self.num_users // num_clients for number in range(num_clients + 1)]
        return [partial(log.samples, range(*ends)) for ends in pairwise(firsts)]

    def model(self, sim: Simulation) -> RequestModel:
        """Catalogue and users of a run, always the same."""
        tastes = [sim.stream(user_name(number), "tastes", 0) for number in range(self.num_users)]
        catalog = self.catalog(sim.stream("catalog", "contents", 0))
        return RequestModel(catalog=catalog, users=self.users(tastes))

    def log(self, sim: Simulation) -> RequestLog:
        """Log of requests that begins now."""
        model = self.model(sim)
        return RequestLog(sim, model, slot_s=self.slot_s, num_past_requests=self.num_past_requests)

    def catalog(self, rng: np.random.Generator) -> Catalog:
        """Catalogue, drawn from `rng`: the ranks first, then the features."""
        ranks = np.tile(np.arange(self.contents_per_genre), (self.num_genres, 1))
        ranks = rng.permuted(ranks, axis=1)
        return Catalog(
            popularity_ranks=ranks,
            features=rng.standard_normal((*ranks.shape, self.num_content_features)),
        )

    def users(self, rngs: Iterable[np.random.Generator]) -> Users:
        """One user for every generator, which draws its v, its activity, and then its preferences."""
        similar, active, preferences = [], [], []
        for rng in rngs:
            for drawn, ends in ((similar, self.similar_probability), (active, self.active_probability)):
                drawn.append(ends[0] + (ends[-1] - ends[0]) * rng.random())
            given = self.genre_preferences
            alpha = np.full(self.num_genres, self.genre_concentration)
            preferences.append(rng.dirichlet(alpha) if given is None else given)
        return Users(
            similar_probability=np.array(similar, float),
            active_probability=np.array(active, float),
            genre_preferences=np.array(preferences, float).reshape(-1, self.num_genres),
        )

    def test_set(
        self, model: RequestModel, rngs: Sequence[np.random.Generator]
    ) -> tuple[NDArray[np.float32], Whole]:
        """Features and next contents of requests that no user trains on, num_test_requests for each user.

        Each user's requests are successive, from a sequence drawn by its own generator. Its first
        num_past_requests are left out, so that its beginning hardly matters: n requests later, a user is
        still in its first genre with probability v^n.

        Returns:
            Shapes (users x num_test_requests, inputs) and (users x num_test_requests,), user by user.
        """
        samples = []
        for user, rng in zip(range(len(model.users.genre_preferences)), rngs, strict=True):
            length = self.num_past_requests + self.num_test_requests + 1
            contents = model.sequence(user, length, rng)
            samples.append(model.samples(user, contents[self.num_past_requests :]))
        rows, next_contents = np.divmod(np.concatenate(samples), model.catalog.num_contents)
        return feature_table(model)[rows], next_contents


def _distinct_rows() -> "Batching":
    """Batching for a client's requests, which repeat a few dozen rows, each with several labels."""
    from scenarios.papers.rawhfl.recurring_rows import RecurringRows

    return RecurringRows()
