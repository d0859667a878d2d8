"""ceiling: nothing but the matrix products of a work's steps, by benchmarks/learner.py's own.

The faster of client by client and of all clients of a core in one call, with a thread for each core.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch

from benchmarks import learner
from benchmarks.peers import work
from benchmarks.peers.entry import Asked, Told, asked, tell

CHOSEN_BY = 5
"""A fifth of the rounds decides which way is the faster."""


def sizes_of(name: str) -> list[int]:
    """Units of the layers of a work's network; from then on `learner.products` takes the work's steps."""
    own = work.LEARNING[name]
    learner.BATCH_SIZE, learner.NUM_STEPS = own.batch_size, own.num_steps
    return [own.shape[0], *(shape[0] for shape in work.SHAPES[name].values())]


def products(given: Asked) -> Told:
    """Compute the products of all steps."""
    own, sizes = work.LEARNING[given.name], sizes_of(given.name)
    shares = [own.num_participants // given.num_cores] * given.num_cores
    torch.set_num_threads(1)

    def rounds(num_rounds: int, batched: bool) -> float:
        start_s = time.perf_counter()
        for _ in range(num_rounds):
            for _ in workers.map(partial(learner.products, sizes, batched=batched), shares):
                pass
        return time.perf_counter() - start_s

    with ThreadPoolExecutor(given.num_cores) as workers:
        rounds(1, False)
        rounds(1, True)
        trial = max(1, own.num_rounds // CHOSEN_BY)
        batched = rounds(trial, True) < rounds(trial, False)
        return Told(own.client_steps, rounds(own.num_rounds, batched))


if __name__ == "__main__":
    tell(products(asked()), "numpy", "torch")
