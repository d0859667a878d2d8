"""Video catalogue: genres with equal numbers of contents, their similarities, and the most popular ones.

Contents differ in their features; within a genre, cosines between the features give the similarity of two
contents, and one content is the most popular. Contents are numbered genre by genre: content = genre x
contents_per_genre + place.

Scope and limitations: popularity is the same for all users and never changes; only its first place matters.
Catalogues do not grow. Similarities are symmetric.

Source: RawHFL paper, Section II-B. The law of the features and the ranks have no source.
"""

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@attrs.frozen(kw_only=True, eq=False)
class Catalog:
    """Contents, genre by genre.

    Attributes:
        popularity_ranks: Rank of a content within its genre, 0 the most popular; shape (genres, contents per
            genre).
        features: Features that distinguish contents, shape (genres, contents per genre, features), none of
            them all 0.
    """

    popularity_ranks: Whole = attrs.field(repr=False)
    features: Array = attrs.field(repr=False)

    num_genres = property(lambda self: self.popularity_ranks.shape[0])
    contents_per_genre = property(lambda self: self.popularity_ranks.shape[1])
    num_contents = property(lambda self: self.popularity_ranks.size)

    @cached_property
    def similarities(self) -> Array:
        """Cosines with the contents of its genre, 1 with itself; shape (contents, contents per genre)."""
        unit = self.features / np.linalg.norm(self.features, axis=-1, keepdims=True)
        cosines = unit @ unit.swapaxes(1, 2)
        itself = np.arange(self.contents_per_genre)
        cosines[:, itself, itself] = 1.0
        return cosines.reshape(self.num_contents, -1)

    @cached_property
    def most_similar(self) -> Whole:
        """The most similar other content of the genre, shape (contents,)."""
        content = np.arange(self.num_contents)
        genre, place = np.divmod(content, self.contents_per_genre)
        others = self.similarities.copy()
        others[content, place] = -np.inf
        return genre * self.contents_per_genre + others.argmax(axis=1)

    @cached_property
    def most_popular(self) -> Whole:
        """The most popular content of each genre, shape (genres,)."""
        return np.arange(self.num_genres) * self.contents_per_genre + self.popularity_ranks.argmin(axis=1)
