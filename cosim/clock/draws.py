"""Draws: randomness that has names.

A draw depends on nothing but the run's seed, the node that draws, the purpose and an index, so adding a
client or changing a bandwidth changes no other draw. A node's name counts as its kind and number
(`cosim.names`). Draws that every client makes come in blocks of consecutive numbers, so that arrays of
clients and single clients see the same values, whatever the number of clients.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.names import ClientNames, SomeNames, by_number

BLOCK = 256
"""Number of clients whose draws are made together."""

Draw = Callable[[np.random.Generator, int], NDArray[Any]]
"""Function that draws a given number of rows."""


def uniforms(rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    """Uniform numbers from 0 to 1, one for each row."""
    return rng.random(num)


def normals(rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    """Standard normal numbers, one for each row."""
    return rng.standard_normal(num)


@attrs.frozen(eq=False)
class Numbers(Sequence[str]):
    """Clients of one kind by their numbers, a sequence of their names.

    Attributes:
        kind: The word before the number in their names.
        names: The clients' names, in order.
        blocks: Blocks of consecutive numbers that hold them.
        places: Position of each client in these blocks, concatenated, shape (clients,), or a slice.
    """

    names: Sequence[str]
    kind: str
    blocks: Sequence[int]
    places: NDArray[np.int64] | slice

    @classmethod
    def of(cls, clients: Sequence[str]) -> "Numbers":
        """Numbers of the clients with these names, which are of one kind."""
        if isinstance(clients, Numbers):
            return clients
        if len(clients) == 1:
            kind, number = by_number(clients[0])
            return cls(clients, kind, (number // BLOCK,), slice(number % BLOCK, number % BLOCK + 1))
        if isinstance(clients, ClientNames):
            (kind, first), last = by_number(clients[0]), clients.first + len(clients) - 1
            start = first % BLOCK
            blocks = range(first // BLOCK, last // BLOCK + 1)
            return cls(clients, kind, blocks, slice(start, start + len(clients)))
        kinds, numbers = zip(*map(by_number, clients), strict=True)
        assert len(set(kinds)) == 1
        blocks, which = np.unique(np.array(numbers) // BLOCK, return_inverse=True)
        places = which * BLOCK + np.array(numbers) % BLOCK
        return cls(clients, kinds[0], tuple(map(int, blocks)), places)

    @override
    def __len__(self) -> int:
        return len(self.names)

    @override
    def __getitem__(self, place: Any) -> Any:
        return self.names[place]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each client, shape (clients,)."""
        own = self.places
        places = np.arange(own.start, own.stop) if isinstance(own, slice) else own
        return np.asarray(self.blocks)[places // BLOCK] * BLOCK + places % BLOCK

    def rows(self, of_block: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
        """Rows of these clients, from arrays with a row for each client of a block."""
        found = [of_block(block) for block in self.blocks]
        return (found[0] if len(found) == 1 else np.concatenate(found))[self.places]

    def some(self, which: NDArray[np.int64]) -> "Numbers":
        """Clients at some places of this order, ascending."""
        own, blocks, num = self.places, self.blocks, len(which)
        places = own.start + which if isinstance(own, slice) else own[which]
        first, last = (places.item(0) // BLOCK, places.item(-1) // BLOCK) if num else (0, 0)
        if last - first <= num:
            blocks, places = blocks[first : last + 1], places - first * BLOCK if first else places
        else:
            used, of_own = np.unique(places // BLOCK, return_inverse=True)
            blocks = tuple(blocks[place] for place in used.tolist())
            places = of_own * BLOCK + places % BLOCK
        return Numbers(SomeNames(self.names, which), self.kind, blocks, places)

    def places_among(self, whole: "Numbers") -> NDArray[np.int64] | slice:
        """Places of these clients in a larger selection that includes them, both ascending."""
        names = self.names
        if len(self) == len(whole):
            return slice(None)
        if isinstance(names, SomeNames) and names.names is whole.names:
            return names.which
        return np.searchsorted(whole.numbers, self.numbers)


class BlockRows:
    """Rows of clients in arrays that are made for a block of clients at a time, and kept.

    Args:
        of_block: Gives a row for each of the `BLOCK` clients of a block: f(kind, block, *index).
        most: Number of arrays that are kept.
    """

    def __init__(self, of_block: Callable[..., NDArray[Any]], most: int = 8192) -> None:
        self._of_block = of_block
        self._kept = lru_cache(maxsize=most)(self._made)

    def of(self, clients: Numbers | str, *index: Any) -> Any:
        """Row of a client, or one row for each of many.

        Args:
            index: Further arguments of the function.
        """
        if isinstance(clients, str):
            kind, number = by_number(clients)
            return self._kept(kind, number // BLOCK, *index)[number % BLOCK]
        return clients.rows(lambda block: self._kept(clients.kind, block, *index))

    def _made(self, kind: str, block: int, *index: Any) -> NDArray[Any]:
        found = np.asarray(self._of_block(kind, block, *index))
        found.flags.writeable = False
        return found


class Draws:
    """The draws of a run.

    Args:
        seed: Names the run's randomness, any whole number.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[tuple[str, str], np.random.Generator] = {}
        self._of_clients = BlockRows(partial(draws_of_block, self))
        self._scratch = np.random.Generator(np.random.Philox(key=0))
        self._fresh = self._scratch.bit_generator.state

    def stream(self, node: str, purpose: str, *index: int) -> np.random.Generator:
        """Generator for these names: it lives as long as the run, or, with an index, is a fresh one."""
        if index:
            return np.random.Generator(np.random.Philox(key=self.key(node, purpose, *index)))
        known = self._streams.get((node, purpose))
        if known is None:
            known = np.random.Generator(np.random.Philox(key=self.key(node, purpose)))
            self._streams[node, purpose] = known
        return known

    def of_client(self, clients: Numbers | str, purpose: str, draw: Draw, *index: int) -> Any:
        """Draw of a client, given its name, or of many, one row each.

        It is the client's row of what the `BLOCK` clients of its block draw together.

        Args:
            draw: Draws a given number of rows from a generator, row k for the client with the number `BLOCK`
                j + k; a function of a module or a method of a part, since it tells its block from others.
            index: Number of the draw, such as the number of a job.
        """
        return self._of_clients.of(clients, purpose, draw, *index)

    def key(self, node: str, purpose: str, *index: int) -> int:
        """A 63-bit number that depends on nothing but the run's seed and these names."""
        return self._hashed(*by_number(node), purpose, index)

    def _hashed(self, kind: str, number: int, purpose: str, index: tuple[int, ...]) -> int:
        names = "\0".join((str(self.seed), kind, str(number), purpose, *map(str, index)))
        return int.from_bytes(hashlib.blake2b(names.encode(), digest_size=8).digest(), "big") >> 1


def draws_of_block(
    draws: Draws, kind: str, block: int, purpose: str, draw: Draw, *index: int
) -> NDArray[Any]:
    """Draws of the clients of a block, as from `of_client` but not kept; `draw` must not keep the generator.

    For a part that keeps what it makes of them (`BlockRows`).
    """
    draws._fresh["state"]["key"][0] = draws._hashed(f"{kind}*", block, purpose, index)
    draws._scratch.bit_generator.state = draws._fresh
    return draw(draws._scratch, BLOCK)
