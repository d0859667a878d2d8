"""Levels: the order in which pending models are computed.

The level of an update is one more than the level of its start, and the level of a model is the largest of its
parents' and updates': the number of trainings on the longest way to it. So all cells' updates of one edge
round fall into one level, even where one cell's way has more aggregations. The updates in flight of an
asynchronous run do so as well, although each is mixed into the model that the one before it has left.

An update is trained with the first level that has a model made of it. Models of one level may be made of each
other; each is combined as soon as its updates are added and its parents are settled.
"""

import copy
import weakref
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import attrs

from cosim.learning.pending import PendingModel, PendingUpdate
from cosim.learning.weights import WeightedSum, Weights


def levels(model: PendingModel) -> Iterator[list[PendingModel]]:
    """Unsettled ancestors of a model, itself included, level by level, each after what it depends on.

    The reader settles every model of a level before it asks for the next. Nothing here keeps a level that was
    handed out, so settled models that nobody else holds are freed on the way. No recursion: any depth works.
    """
    found = _by_level(model)
    found.reverse()
    while found:
        yield found.pop()


def _by_level(model: PendingModel) -> list[list[PendingModel]]:
    level_of: dict[PendingModel, int] = {}
    found: list[list[PendingModel]] = []
    stack = [model]
    while stack:
        node = stack[-1]
        if node in level_of or node.weights is not None:
            stack.pop()
            continue
        depends_on = dict.fromkeys((*node.parents, *(update.start for update in node.updates)))
        missing = [d for d in depends_on if d.weights is None and d not in level_of]
        if missing:
            stack.extend(missing)
            continue
        of_parents = (level_of.get(parent, 0) for parent in node.parents)
        of_updates = (1 + level_of.get(update.start, 0) for update in node.updates)
        level = max((*of_parents, *of_updates), default=0)
        found.extend([] for _ in range(level + 1 - len(found)))
        found[level].append(node)
        level_of[node] = level
    return found


class Use(NamedTuple):
    """A model that is made of an update, and the update's coefficient in its sum."""

    model: PendingModel
    coefficient: float


@attrs.define(eq=False)
class Need:
    """An update that models of a level are made of.

    Attributes:
        update: The models' own copy.
        original: What was asked for, as long as anybody else references it.
        known: Its trained weights, where an earlier level or read has left them; else None.
        place: The least number of models with updates, one made of the other, that come before it in its
            level.
        uses: The models.
    """

    update: PendingUpdate
    original: "weakref.ref[PendingUpdate]"
    known: Weights | None
    place: int
    uses: list[Use] = attrs.field(factory=list)


class Level:
    """The models of one level, each handed out as soon as all it is made of is there.

    Nothing here keeps a model that was handed out, nor its sum. The models get copies of their updates: an
    original that is still alive is referenced by somebody else, who may read it later. With the copies a read
    that was interrupted can be made again.

    Args:
        models: Unsettled, each after its parents; all that their updates start from is settled.
        kept: Trained weights of updates, from earlier levels and reads.

    Attributes:
        needs: What is to be trained, by the models' copies; the reader takes it out.
    """

    def __init__(self, models: Iterable[PendingModel], kept: Mapping[PendingUpdate, Weights]) -> None:
        self.needs: dict[PendingUpdate, Need] = {}
        self._num_awaited: dict[PendingModel, int] = {}
        self._readers: defaultdict[PendingModel, list[PendingModel]] = defaultdict(list)
        self._ready: deque[PendingModel] = deque()
        self._sums: dict[PendingModel, WeightedSum] = {}
        own: dict[PendingUpdate, PendingUpdate] = {}
        places: dict[PendingModel, int] = {}
        for model in models:
            parents = [parent for parent in dict.fromkeys(model.parents) if parent.weights is None]
            place = max((places[parent] + bool(parent.updates) for parent in parents), default=0)
            places[model] = place
            for update, coefficient in zip(model.updates, model.coefficients, strict=True):
                if update not in own:
                    same = own[update] = copy.copy(update)
                    self.needs[same] = Need(same, weakref.ref(update), kept.get(update), place)
                need = self.needs[own[update]]
                need.place = min(need.place, place)
                need.uses.append(Use(model, coefficient))
            model.updates = tuple(own[update] for update in model.updates)
            for parent in parents:
                self._readers[parent].append(model)
            self._num_awaited[model] = 0
            self._wait(model, len(parents) + len(model.updates))

    def add(self, sums: dict[PendingModel, WeightedSum]) -> None:
        """Take out what a cohort adds to the models' sums."""
        while sums:
            model, addend = sums.popitem()
            if model in self._sums:
                self._sums[model].add(1.0, addend.total)
            else:
                self._sums[model] = addend
            self._wait(model, -addend.num_terms)

    def ready(self) -> Iterator[tuple[PendingModel, Weights | None]]:
        """Models that can be combined, with the sum of their updates; None without updates.

        The reader settles each before it asks for the next.
        """
        while self._ready:
            model = self._ready.popleft()
            update_sum = self._sums.pop(model, None)
            yield model, None if update_sum is None else update_sum.total
            self._settled(model)

    def _settled(self, model: PendingModel) -> None:
        for reader in self._readers.pop(model, ()):
            self._wait(reader, -1)

    def _wait(self, model: PendingModel, num_more: int) -> None:
        self._num_awaited[model] += num_more
        if self._num_awaited[model] == 0:
            del self._num_awaited[model]
            self._ready.append(model)
