"""Authored text: sentences of made-up authors, each with words of its own, character by character.

A sentence is article, adjective, noun, verb, article, noun, and a full stop, such as "the old cat sees a
river." Each author takes its words from the same lists, with probabilities of its own from a symmetric
Dirichlet distribution; so with a small concentration an author has few words, and authors differ. A sample is
a window of characters, and its class is the next character; training and test text of an author are separate.

Characters are 26 letters, space and full stop, numbered 0 to 27.

Scope and limitations: no source; every author's text follows from the run's seed and the author's number, so
adding an author changes no other text. A space or a word's last letter is easy to predict, a word's first
letter is not.

Usage: `AuthoredText(num_authors=10, concentration=0.3)`, with `NextToken` and the model window-28-12-8-48.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import at_least, knob, part, positive
from cosim.data.dataset import Dataset
from cosim.data.split_data import SplitData
from cosim.data.splits.natural import Natural
from cosim.data.splits.port import Split
from cosim.names import CLOUD

CHARACTERS = "abcdefghijklmnopqrstuvwxyz ."
ARTICLES = ("a", "the", "some", "every", "no", "this")
ADJECTIVES = ("old", "red", "quiet", "bright", "small", "wild", "green", "kind", "lost", "empty")
NOUNS = ("cat", "river", "house", "stone", "bird", "queen", "winter", "garden", "market", "dog", "valley")
VERBS = ("sees", "finds", "holds", "loves", "crosses", "forgets", "paints", "hears", "leaves", "joins")
SENTENCE = (ARTICLES, ADJECTIVES, NOUNS, VERBS, ARTICLES, NOUNS)


@part
class AuthoredText(SplitData):
    """Generated sentences of authors; the next character is to be predicted.

    Attributes:
        num_authors: Authors, one client each unless another split deals them. [no source]
        num_characters: Training samples of an author; a quarter as many are for testing. [no source]
        window: Characters of a sample. [no source]
        concentration: Concentration of the Dirichlet distribution of an author's words. [no source]
        split: Rule that deals the samples to clients. [no source]
    """

    num_authors: int = knob(at_least(1), default=24)
    num_characters: int = knob(at_least(4), default=600)
    window: int = knob(at_least(1), default=12)
    concentration: float = knob(positive, default=0.3)
    split: Split = Natural()

    @property
    @override
    def has_classes(self) -> bool | None:
        return True

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """Name of the data set; the texts are drawn from the run's seed, without files."""
        num_test = self.num_characters // 4
        parts: list[list[NDArray[np.int64]]] = [[], [], [], []]
        for author in range(self.num_authors):
            rng = sim.stream(CLOUD, "text", author)
            words = [rng.dirichlet(np.full(len(kind), self.concentration)) for kind in SENTENCE]
            for place, num in ((0, self.num_characters), (2, num_test)):
                text = self._text(rng, words, num + self.window)
                windows = np.lib.stride_tricks.sliding_window_view(text, self.window + 1)
                parts[place].append(windows[:, :-1])
                parts[place + 1].append(windows[:, -1])
        train_x, train_y, test_x, test_y = map(np.concatenate, parts)
        authors = np.arange(self.num_authors)
        return Dataset(
            name="authored text",
            train_x=train_x,
            train_y=train_y,
            test_x=test_x,
            test_y=test_y,
            num_classes=len(CHARACTERS),
            train_owners=np.repeat(authors, self.num_characters),
            test_owners=np.repeat(authors, num_test),
        )

    def _text(
        self, rng: np.random.Generator, words: list[NDArray[np.float64]], num_characters: int
    ) -> NDArray[np.int64]:
        """A number of characters of an author's sentences, shape (characters,)."""
        text = ""
        while len(text) < num_characters:
            drawn = [kind[rng.choice(len(kind), p=p)] for kind, p in zip(SENTENCE, words, strict=True)]
            text += " ".join(drawn) + ". "
        return np.array([CHARACTERS.index(character) for character in text[:num_characters]])
