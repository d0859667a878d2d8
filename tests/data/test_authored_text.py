"""Authored text, next tokens and test shares: exact shares, authors apart, and a model that learns."""

import math

import attrs
import numpy as np
import pytest
from data_sets import loaded

import cosim
from cosim.configuration import ConfigurationError
from cosim.data.client_test_shares import NO_CLIENT, owners_by_class
from cosim.data.synthetic import Synthetic
from cosim.data.texts.authored_text import ARTICLES, CHARACTERS, NOUNS, VERBS
from cosim.testing import check_data, check_task, small_system

TEXT = cosim.data.AuthoredText(num_authors=5, num_characters=200, window=6)


def system(**changes) -> cosim.System:
    found = attrs.evolve(small_system(), data=TEXT, model="window-28-6-4-16", task=cosim.tasks.NextToken())
    return attrs.evolve(found, **changes)


def text_of(dataset: cosim.data.Dataset, author: int) -> str:
    windows = dataset.train_x[dataset.train_owners == author]
    tail = [*windows[-1, 1:], dataset.train_y[dataset.train_owners == author][-1]]
    return "".join(CHARACTERS[token] for token in [*windows[:, 0], *tail])


def test_windows_are_of_one_text_and_what_follows_is_its_next_character():
    dataset = loaded(TEXT)
    for author in range(5):
        own = dataset.train_owners == author
        windows, following = dataset.train_x[own], dataset.train_y[own]
        assert (windows[1:, :-1] == windows[:-1, 1:]).all()
        assert (windows[1:, -1] == following[:-1]).all()
    sentence = text_of(dataset, 0).split(". ")[1].split(" ")
    assert len(sentence) == 6
    assert sentence[0] in ARTICLES
    assert sentence[2] in NOUNS
    assert sentence[3] in VERBS
    assert set(np.unique(dataset.test_owners)) == set(range(5))


def test_another_author_moves_nobodys_text_and_few_words_make_authors_differ():
    few, more = loaded(TEXT), loaded(attrs.evolve(TEXT, num_authors=6))
    assert [text_of(few, author) for author in range(5)] == [text_of(more, author) for author in range(5)]

    def distance(concentration: float) -> float:
        dataset = loaded(attrs.evolve(TEXT, num_characters=4000, concentration=concentration))
        shares = [
            np.bincount(dataset.train_y[dataset.train_owners == a], minlength=28) / 4000 for a in range(5)
        ]
        return float(np.mean([np.abs(a - b).sum() for a in shares for b in shares]))

    assert distance(0.1) > 2 * distance(100.0)


def test_data_and_task_keep_the_laws():
    check_data(TEXT, system(evaluation=cosim.Never()))
    check_task(cosim.tasks.NextToken(metrics=("ClientAccuracy",)), system())


def test_perplexity_is_the_exponential_of_the_loss_and_falls_below_that_of_single_characters():
    local = cosim.Sgd(batch_size=10, learning_rate=0.3)
    training = cosim.EdgeTraining(num_edge_rounds=2, steps=cosim.SameSteps(num_local_steps=10), local=local)
    protocol, end = cosim.HFedAvg(training=training), cosim.AfterRounds(num_global_rounds=12)
    found = cosim.run(system(protocol=protocol, end=end)).evaluations
    np.testing.assert_allclose(found["perplexity"], np.exp(found["loss_nats"]), rtol=1e-12)
    dataset = loaded(TEXT)
    shares = np.bincount(dataset.test_y) / len(dataset.test_y)
    entropy = -sum(share * math.log(share) for share in shares if share)
    assert found["perplexity"].iloc[-1] < 0.6 * math.exp(entropy)
    scores = cosim.tasks.NextToken().scores({"accuracy": 0.0, "loss_nats": 9e9, "num_samples": 1}, None)
    assert scores["perplexity"] == math.inf


def test_next_tokens_want_tokens():
    with pytest.raises(ConfigurationError, match=r"NextToken: samples of 'synthetic' are not windows"):
        cosim.run(attrs.evolve(small_system(), task=cosim.tasks.NextToken()))


def test_shares_of_the_test_set_are_in_proportion_class_by_class():
    """Class 0: all at client 0; 1: a quarter at client 1; 2: no client; 3: a third each."""
    dataset = loaded(Synthetic())
    of = [np.flatnonzero(dataset.train_y == label) for label in range(4)]
    samples = [
        np.concatenate([of[0], of[1][:30], of[3][:50]]),
        np.concatenate([of[1][30:40], of[3][50:100]]),
        of[3][100:150],
    ]
    owners = owners_by_class(cosim.Simulation(1), dataset, samples)
    counts = [
        [int((owners[dataset.test_y == label] == client).sum()) for client in (0, 1, 2, NO_CLIENT)]
        for label in range(4)
    ]
    assert counts == [[100, 0, 0, 0], [75, 25, 0, 0], [0, 0, 0, 100], [33, 34, 33, 0]]


@pytest.mark.parametrize(
    "split", [cosim.data.Shards(), cosim.data.Dirichlet(), cosim.data.Iid(), cosim.data.Sampled()]
)
def test_a_share_has_its_clients_mix_of_classes(split):
    data, sizes = Synthetic(split=split), (3, 2)
    dataset = loaded(data)
    owners = data.test_owners(cosim.Simulation(1), dataset, sizes)
    held = [own() for own in data.held(cosim.Simulation(1), dataset, sizes)]
    of_class = sum(np.bincount(dataset.train_y[own], minlength=4) for own in held)
    for client, own in enumerate(held):
        wanted = 100 * np.bincount(dataset.train_y[own], minlength=4) / of_class
        found = np.bincount(dataset.test_y[owners == client], minlength=4)
        assert (np.abs(found - wanted) <= 1.0).all()
