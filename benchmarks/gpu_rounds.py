"""Rounds: small data sets, clients' updates on them, and what is made of the updates, all pending.

A result is a function of the model that it starts from, the network's shape, and a number of local steps.
"""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.data.dataset import Dataset
from cosim.protocols.asynchronous.changes import Change, mixed, moved_along
from cosim.protocols.combinations import AssembledModel, Submodel, mean_of_models
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.server_updates.port import ServerUpdate
from cosim.training.port import LocalTraining
from cosim.training.sgd import Sgd
from cosim.values.combinations import NoisyMean, ReceivedModel, mean
from cosim.values.pending import PendingModel, PendingState, PendingUpdate
from cosim.values.submodels import NetworkShape
from scenarios.papers.rawhfl.recurring_rows import RecurringRows

NUM_CLIENTS, NUM_STEPS, NUM_SAMPLES = 6, 4, 40
SGD = Sgd(batch_size=10, learning_rate=0.1)


def features(size: tuple[int, ...], num_classes: int | None = 10, **more: Any) -> Dataset:
    """Normal features with labels that a network can learn; with None targets."""
    rng = np.random.default_rng(1)
    num = NUM_CLIENTS * NUM_SAMPLES
    x = rng.standard_normal((num, *size), np.float32)
    told = x.reshape(num, -1)[:, : num_classes or 1]
    y = told.argmax(1) if num_classes else told.astype(np.float32)
    return Dataset(name="features", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes, **more)


def rows() -> Dataset:
    """Rows of features that recur with several labels."""
    x = np.random.default_rng(1).standard_normal((30, 16), np.float32)
    return Dataset(
        name="rows",
        train_x=x,
        train_y=None,
        test_x=x,
        test_y=np.arange(30) % 10,
        num_classes=10,
        batching=RecurringRows,
    )


def tokens(size: int, num_classes: int) -> Dataset:
    """Token numbers."""
    rng = np.random.default_rng(1)
    num = NUM_CLIENTS * NUM_SAMPLES
    x, y = rng.integers(0, 50, (num, size)), rng.integers(0, num_classes, num)
    return Dataset(name="tokens", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=num_classes)


def updates(
    start: PendingModel,
    rule: LocalTraining,
    codec: Codec | None = None,
    num_steps: int = NUM_STEPS,
    num_clients: int = NUM_CLIENTS,
) -> list[PendingUpdate]:
    """A round of clients, of which the first `NUM_CLIENTS` have samples of their own."""
    return [
        PendingUpdate(
            client=f"client{i}",
            model=start,
            samples=np.arange(NUM_SAMPLES) + NUM_SAMPLES * (i % NUM_CLIENTS),
            num_steps=num_steps,
            training=rule,
            key=i,
            codec=codec,
        )
        for i in range(num_clients)
    ]


def averaged(
    start: PendingModel,
    shape: NetworkShape,
    num_steps: int = NUM_STEPS,
    *,
    rule: LocalTraining = SGD,
    codec: Codec | None = None,
) -> PendingModel:
    """The plain round."""
    return mean(updates(start, rule, codec, num_steps), range(1, NUM_CLIENTS + 1))


def twice(
    start: PendingModel,
    shape: NetworkShape,
    num_steps: int = NUM_STEPS,
    *,
    rule: LocalTraining = SGD,
    codec: Codec | None = None,
    share: float = 1.0,
) -> PendingModel:
    """Two rounds, of which the second continues with what each client, and its codec, has kept.

    Args:
        share: Share of the cell's clients that have sent an update.
    """
    first = updates(start, rule, codec, num_steps)
    model = rule.received(start, mean(first), share)
    again = [
        attrs.evolve(
            update,
            model=model,
            key=100 + update.key,
            state=update.next_state,
            codec_state=update.next_codec_state,
            own=update.next_own,
        )
        for update in first
    ]
    return mean(again)


def received(
    start: PendingModel, shape: NetworkShape, num_steps: int = NUM_STEPS, *, codec: ModelCodec
) -> PendingModel:
    """A round of clients that get a model which a codec has changed."""
    return mean(updates(ReceivedModel(start, codec), SGD, num_steps=num_steps))


def in_parts(
    start: PendingModel, shape: NetworkShape, num_steps: int = NUM_STEPS, *, num_lost: int = 0
) -> PendingModel:
    """Three cells that train disjoint parts, assembled; of the cells that sent nothing, what was before."""
    counts = even_counts(shape.num_units, num_cells=3)
    parts = draw_parts(shape.num_units, counts, np.random.default_rng(1))[num_lost:]
    cells = [mean(updates(Submodel(start, of_cell), SGD, num_steps=num_steps)) for of_cell in parts]
    return AssembledModel(parts, cells, start if num_lost else None)


def over_the_air(start: PendingModel, shape: NetworkShape, num_steps: int = NUM_STEPS) -> PendingModel:
    """A sum with noise."""
    return NoisyMean(updates(start, SGD, num_steps=num_steps), lambda: 0.01, key=7)


def accumulated(start: PendingModel, shape: NetworkShape, num_steps: int = NUM_STEPS) -> PendingModel:
    """Gradients that are added up."""
    changes = [Change(start, update) for update in updates(start, SGD, num_steps=num_steps)]
    return moved_along(start, changes, [0.1] * NUM_CLIENTS, 1.0)


def in_flight(start: PendingModel, shape: NetworkShape, num_steps: int = NUM_STEPS) -> PendingModel:
    """Updates that are mixed in one by one, then late ones in a buffer, then a mean of models."""
    model = start
    for update in updates(start, SGD, num_steps=num_steps):
        model = mixed(model, Change(start, update), 0.3)
    late = [*updates(start, SGD, num_steps=num_steps)[:2], *updates(model, SGD, num_steps=num_steps)]
    changes = [Change(update.model, update) for update in late]
    return mean_of_models([model, moved_along(model, changes, [0.5] * len(late), len(late))], [1.0, 3.0])


def by_server(
    start: PendingModel,
    shape: NetworkShape,
    num_steps: int = NUM_STEPS,
    *,
    server: ServerUpdate,
    codec: Codec | None = None,
) -> PendingModel:
    """Two rounds of a server's rule; every other client takes a step more."""
    model: PendingModel = start
    state: PendingState | None = None
    for key in (1, 2):
        few = _uneven(updates(model, SGD, codec, num_steps))
        model, state = server.moved(model, server.averaging.mean_of(model, few), state, key)
    return model


def _uneven(few: Sequence[PendingUpdate]) -> list[PendingUpdate]:
    return [attrs.evolve(update, num_steps=update.num_steps + update.key % 2) for update in few]
