"""Levels: the order in which pending models are computed.

A model's level is the largest number of trainings on a way to it, so all cells' updates of one edge round
fall into one level even where one cell's way has more aggregations.
"""

from collections.abc import Iterator

from cosim.learning.pending import PendingModel


def levels(model: PendingModel) -> Iterator[list[PendingModel]]:
    """Unsettled ancestors of a model, itself included, level by level, each after what it depends on.

    The reader settles every model of a level before it asks for the next. Nothing here keeps a level that was
    handed out, so settled models that nobody else holds are freed on the way. No recursion: any depth works.
    """
    level_of: dict[PendingModel, int] = {}
    found: list[list[PendingModel]] = []
    stack = [model]
    while stack:
        node = stack[-1]
        if node in level_of or node.weights is not None:
            stack.pop()
            continue
        depends_on = [d for d in dict.fromkeys(_dependencies(node)) if d.weights is None]
        missing = [d for d in depends_on if d not in level_of]
        if missing:
            stack.extend(missing)
            continue
        level = max((level_of[d] for d in depends_on), default=0) + bool(node.updates)
        found.extend([] for _ in range(level + 1 - len(found)))
        found[level].append(node)
        level_of[node] = level
    del level_of, model
    found.reverse()
    while found:
        yield found.pop()


def _dependencies(model: PendingModel) -> Iterator[PendingModel]:
    yield from model.parents
    for update in model.updates:
        yield update.start
