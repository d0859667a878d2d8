"""How well the next video request can be predicted (RawHFL paper, the request model of Section II-B).

After a content of genre g a user asks with probability v for the most similar content of that genre,
otherwise for the most popular content of another genre, g' with probability q_g' = p_g' / (1 - p_g), drawn by
its preferences p_g. The paper leaves the law of g' open. Its central model, right in 0.395 of the cases with
v = 0.3, rules out that all other genres are equally likely, where 0.3 would be best; with q, 0.415 is best on
average.

The G contents that can follow are distinct, so the best prediction is the likeliest of

    v,  (1 - v) q_g' for every g' other than g,

and the m likeliest hold the next request with the sum of their probabilities; G of them always do. (The paper
finds the request "almost surely" among 8 guesses; it has 8 genres.)

Genres alone are a chain with law pi_g proportional to p_g (1 - p_g), for that law satisfies detailed balance,

    p_g (1 - p_g) (1 - v) p_h / (1 - p_g) = (1 - v) p_g p_h, which is symmetric in g and h,

whatever v is; staying moves nothing. Not p_g: a user that prefers a genre must leave it to come back.

A stay in a genre begins with its most popular content and goes on to the most similar one again and again.
In equilibrium the number of steps since its beginning is k with probability (1 - v) v^k, whatever the genre.
Similarity is symmetric and only grows along the way, so after b contents that are not met again (0 if the
most popular one is of the pair) two contents follow by turns, with probabilities v^b / (1 + v) and
v^(b+1) / (1 + v) given the genre. So a list of contents that is the same in every slot is right as often as
the sum of its contents' probabilities.

Conditions: v and the preferences are known, or learned without error. Equilibrium: after n requests a share
v^n of users has yet to leave its first genre. No ties of similarity. Where all other preferences are 0, q is
uniform, the limit of equal ones. With v = 1 a user never leaves its first genre: then p is the law of genres,
and all predictions are right. With v = 0 and two genres, or one preference of 1, genres come by turns, and
laws are shares of time.

Source: Pervej et al., "Resource-aware hierarchical federated learning in wireless video caching networks"
(RawHFL), Section II-B for the model; nothing here is derived there.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@attrs.frozen(kw_only=True)
class RequestPrediction:
    """Prediction of one user's next request.

    Attributes:
        similar_probability: v.
        genre_preferences: p_g of every genre, 1 in sum.

    Raises:
        ValueError: If v lies outside [0, 1], a preference is negative, they do not sum to 1 within 1e-9, or
            there are fewer than 2.
    """

    similar_probability: float
    genre_preferences: tuple[float, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        p = self.genre_preferences
        for name, is_right, rule, fix in (
            ("similar_probability", 0.0 <= self.similar_probability <= 1.0, "lie from 0 to 1", "Give v."),
            ("genre_preferences", len(p) >= 2, "be at least 2", "Give a second genre."),
            (
                "genre_preferences",
                all(share >= 0.0 for share in p),
                "not be negative",
                "Use 0 for no interest.",
            ),
            ("genre_preferences", abs(math.fsum(p) - 1.0) <= 1e-9, "sum to 1", "Divide each by their sum."),
        ):
            if not is_right:
                value = getattr(self, name)
                raise ValueError(f"RequestPrediction.{name} = {value!r} must {rule}. {fix}")

    @property
    def exploration(self) -> Array:
        """q: from a genre (row) to another one (column), given that the user leaves; shape (G, G)."""
        is_other = 1.0 - np.eye(len(self.genre_preferences))
        law = is_other * np.array(self.genre_preferences)
        law = np.where(law.any(axis=1, keepdims=True), law, is_other)
        return law / law.sum(axis=1, keepdims=True)  # the sum of the others: 1 - p_g cancels near p_g = 1

    @property
    def genre_law(self) -> Array:
        """pi: shares of the genres among a user's requests in the long run, shape (G,)."""
        p = np.array(self.genre_preferences)
        if self.similar_probability == 1.0:
            return p / p.sum()
        others = np.array([p[np.arange(len(p)) != genre].sum() for genre in range(len(p))])
        if not others.all():
            return np.where(others == 0.0, 0.5, 0.5 / (len(p) - 1))
        return p * others / (p * others).sum()

    @property
    def next_law(self) -> Array:
        """Probabilities of what can follow a content of each genre, the likeliest first; shape (G, G)."""
        v = self.similar_probability
        law = (1.0 - v) * self.exploration
        np.fill_diagonal(law, v)
        return -np.sort(-law, axis=1)

    @property
    def accuracy(self) -> float:
        """Accuracy of the best prediction from the previous request."""
        return self.top_accuracy(1)

    def top_accuracy(self, num_guesses: int) -> float:
        """Share of requests that are among the m best guesses from the previous request."""
        if num_guesses < 1:
            raise ValueError(f"RequestPrediction: {num_guesses} guesses must be at least 1. Use 1.")
        return float(self.genre_law @ self.next_law[:, :num_guesses].sum(axis=1))

    @property
    def similar_accuracy(self) -> float:
        """Share of requests that are the most similar content to the one before: v."""
        return self.similar_probability

    def stay_law(self, num_before_pair: int) -> Array:
        """Shares of a genre's contents among the requests of this genre, in the order of a stay.

        Args:
            num_before_pair: b, contents from the most popular one on that come before the pair.

        Returns:
            Of these, then of the first and of the second of the pair, shape (b + 2,). All others have 0.
        """
        if num_before_pair < 0:
            raise ValueError(
                f"RequestPrediction: {num_before_pair} contents before the pair must be at least 0. "
                "Use 0 if the most popular content is of the pair."
            )
        v = self.similar_probability
        law = v ** np.arange(num_before_pair + 2.0)
        law[:-2] *= 1.0 - v
        law[-2:] /= 1.0 + v
        return law
