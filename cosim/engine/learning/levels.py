"""Levels: the order in which pending values are computed.

The level of an update is one more than the level of its model and of the state it gets; the level of a model,
or of a state that is left, is the largest of its parents' and updates': the number of trainings on the
longest way to it. So all cells' updates of one edge round fall into one level, even where one cell's way has
more aggregations. The updates in flight of an asynchronous run do so as well, although each is mixed into the
model that the one before it has left.

An update is trained with the first level that has a model made of it. Models of one level may be made of each
other; each is combined as soon as its updates are added and its parents are settled.
"""

import copy
import weakref
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping

import attrs

from cosim.values.pending import PendingState, PendingUpdate, PendingValue
from cosim.values.weights import WeightedSum, Weights


def levels(*values: PendingValue) -> Iterator[list[PendingValue]]:
    """Unsettled ancestors of values, themselves included, level by level, each after what it depends on.

    The reader settles every value of a level before it asks for the next. Nothing here keeps a level that was
    handed out, so settled values without another reference are freed on the way. No recursion: any depth
    works.
    """
    found = _by_level(values)
    found.reverse()
    while found:
        yield found.pop()


def _by_level(values: Iterable[PendingValue]) -> list[list[PendingValue]]:
    level_of: dict[PendingValue, int] = {}
    found: list[list[PendingValue]] = []
    stack = list(values)
    while stack:
        node = stack[-1]
        if node in level_of or node.tensors is not None:
            stack.pop()
            continue
        inputs = [value for update in node.updates for value in update.inputs]
        depends_on = dict.fromkeys((*node.parents, *inputs))
        missing = [d for d in depends_on if d.tensors is None and d not in level_of]
        if missing:
            stack.extend(missing)
            continue
        of_parents = (level_of.get(parent, 0) for parent in node.parents)
        of_updates = (1 + level_of.get(value, 0) for value in inputs)
        level = max((*of_parents, *of_updates), default=0)
        found.extend([] for _ in range(level + 1 - len(found)))
        found[level].append(node)
        level_of[node] = level
    return found


@attrs.define(eq=False)
class Need:
    """An update that values of a level are made of.

    Attributes:
        update: The level's own copy.
        original: What was asked for, as long as anybody else references it.
        trained: Its trained weights, where an earlier level or read has left them; else None.
        place: The least number of models with updates, one made of the other, that come before it in its
            level.
        uses: The models, and its coefficient in the sum of each; none, where only the state is needed that it
            leaves.
    """

    update: PendingUpdate
    original: "weakref.ref[PendingUpdate]"
    trained: Weights | None
    place: int
    uses: list[tuple[PendingValue, float]] = attrs.field(factory=list)


class Level:
    """The values of one level, each handed out as soon as everything it depends on is ready.

    Nothing here keeps a value that was handed out, nor its sum. The values get copies of their updates: an
    original that is still alive is referenced elsewhere and may be read later. With the copies a read that
    was interrupted can be made again.

    Args:
        values: Unsettled, each after its parents; all models of their updates are settled.
        kept: Trained weights of updates, from earlier levels and reads.

    Attributes:
        needs: The updates to be trained, by the level's copies; the reader removes them.
    """

    def __init__(self, values: Iterable[PendingValue], kept: Mapping[PendingUpdate, Weights]) -> None:
        self.needs: dict[PendingUpdate, Need] = {}
        self._num_awaited: dict[PendingValue, int] = {}
        self._readers: defaultdict[PendingValue, list[PendingValue]] = defaultdict(list)
        self._ready: deque[PendingValue] = deque()
        self._sums: dict[PendingValue, WeightedSum] = {}
        own: dict[PendingUpdate, PendingUpdate] = {}
        places: dict[PendingValue, int] = {}
        for value in values:
            parents = [parent for parent in dict.fromkeys(value.parents) if parent.tensors is None]
            place = max((places[parent] + bool(parent.updates) for parent in parents), default=0)
            places[value] = place
            for update, coefficient in zip(value.updates, value.coefficients, strict=True):
                if update not in own:
                    same = own[update] = copy.copy(update)
                    self.needs[same] = Need(same, weakref.ref(update), kept.get(update), place)
                need = self.needs[own[update]]
                need.place = min(need.place, place)
                if coefficient is not None:
                    need.uses.append((value, coefficient))
            value.updates = tuple(own[update] for update in value.updates)
            for parent in parents:
                self._readers[parent].append(value)
            self._num_awaited[value] = 0
            self._wait(value, len(parents) + len(value.updates))

    def add(self, sums: dict[PendingValue, WeightedSum]) -> None:
        """Remove and return what a cohort adds to the models' sums."""
        while sums:
            model, addend = sums.popitem()
            if model in self._sums:
                self._sums[model].add(1.0, addend.total)
            else:
                self._sums[model] = addend
            self._wait(model, -addend.num_terms)

    def left(self, state: PendingState) -> None:
        """Record a settled state that an update has left."""
        if state in self._num_awaited:
            self._wait(state, -1)

    def ready(self) -> Iterator[tuple[PendingValue, Weights | None]]:
        """Models that can be combined, with the sum of their updates; None without updates.

        The reader settles each before it asks for the next. States are among them, and settled already: with
        what they came from.
        """
        while self._ready:
            value = self._ready.popleft()
            update_sum = self._sums.pop(value, None)
            yield value, None if update_sum is None else update_sum.total
            for reader in self._readers.pop(value, ()):
                self._wait(reader, -1)

    def _wait(self, value: PendingValue, num_more: int) -> None:
        self._num_awaited[value] += num_more
        if self._num_awaited[value] == 0:
            del self._num_awaited[value]
            self._ready.append(value)
