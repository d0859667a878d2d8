"""Writes: the tensors that operations of a forward pass write into, for any values.

Scope and limitations: torch's operations. Rows of an `nn.Embedding` with `max_norm` that a pass looks up are
written, too, with the same result each time, so they do not count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from typing_extensions import override

from cosim.own_code.each_operation import EachOperation
from cosim.own_code.unchanged import place
from cosim.values.submodels import MEAN, VARIANCE

RENORM = "embedding_renorm_"


class Writes(EachOperation):
    """Records what torch's operations write into, by `place`.

    Attributes:
        by_norm: What `batch_norm` is given to move; its schema does not say that it writes.
        others: What else is written into.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_norm: set[int] = set()
        self.others: set[int] = set()

    @override
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note, and go on."""
        kwargs = kwargs or {}
        arguments = func._schema.arguments
        given = dict(zip((of.name for of in arguments), args, strict=False)) | kwargs
        if given.get("training", True):
            self.by_norm |= {place(given[name]) for name in (MEAN, VARIANCE) if given.get(name) is not None}
        for of in arguments if func.overloadpacket.__name__ != RENORM else ():
            if of.alias_info is not None and of.alias_info.is_write and of.name in given:
                values = given[of.name]
                self.others |= set(map(place, values if isinstance(values, list | tuple) else (values,)))
        return func(*args, **kwargs)


@contextmanager
def written_parameters(network: nn.Module) -> Iterator[list[str]]:
    """Names of a network's parameters that are written into meanwhile, there when it has ended."""
    found: list[str] = []
    places = {name: place(values) for name, values in network.named_parameters()}
    with Writes() as writes:
        yield found
    ended = {name: place(values) for name, values in network.named_parameters()}
    found += [name for name, of in places.items() if of in writes.others or ended.get(name) != of]
