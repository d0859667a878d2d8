"""Names of nodes, and the order that they have by their numbers.

Names grow digits with the fleet, so ties and draws go by kind and number: `client-0003` and `client-00003`
are the same client, and client 10,000 comes after client 9,999.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

CLOUD = "cloud"


def client_number(name: str) -> int | None:
    """Number of the client with a name; None if it is another node's name."""
    kind, number = by_number(name)
    return number if kind == "client" and number >= 0 else None


def client_numbers(names: Sequence[str], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the clients at some places of names; -1 at all other places and for other nodes."""
    found = np.full(len(names), -1)
    if isinstance(names, ClientNames):
        found[which] = names.first + which
        return found
    for place in map(int, which):
        if (number := client_number(names[place])) is not None:
            found[place] = number
    return found


def edge_name(cell: int) -> str:
    """Name of a cell's edge server."""
    return f"edge-{cell:02d}"


def client_name(number: int) -> str:
    """Name of a client."""
    return f"client-{number:04d}"


@attrs.frozen
class ClientNames(Sequence[str]):
    """Names of clients with consecutive numbers, each made when it is asked for.

    Attributes:
        first: The number of the first.
        num: How many there are.
    """

    first: int
    num: int

    @override
    def __len__(self) -> int:
        return self.num

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    @override
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        numbers = range(self.first, self.first + self.num)[place]
        return client_name(numbers) if isinstance(numbers, int) else tuple(map(client_name, numbers))

    @override
    def __iter__(self) -> Iterator[str]:
        return map(client_name, range(self.first, self.first + self.num))


@attrs.frozen(eq=False)
class SomeNames(Sequence[str]):
    """Some names of many, each looked up when it is asked for.

    Attributes:
        which: Their places among the names, shape (clients,).
    """

    names: Sequence[str]
    which: NDArray[np.int64]

    @override
    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    @override
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self.names[int(one)] for one in self.which[place]]
        return self.names[self.which.item(place)]


def codec_of(client: str) -> str:
    """Name under which a client keeps what its codec has left out."""
    return f"{client} codec"


def personal_of(client: str) -> str:
    """Name under which a client keeps tensors of the network to itself."""
    return f"{client} personal"


@lru_cache(maxsize=1 << 20)
def by_number(name: str) -> tuple[str, int]:
    """Kind and number of a node such as `client-0003`, for sorting and for draws; without a number -1."""
    found = re.fullmatch(r"(.*)-(\d+)", name, re.DOTALL)
    return (found[1], int(found[2])) if found else (name, -1)
