"""Loading: the data set of a run, of which all that is drawn follows from the run's seed.

A data set is loaded, and its samples are dealt, while the global generators
(`cosim.own_code.global_generators`) follow from the seed. So a function that splits by `torch.randperm`, or a
transform that draws, does alike in every process and thread. Code of a user's may draw elsewhere, as
`np.random.default_rng()` without a seed: what loads quickly is loaded once more and must be the same; so must
what has asked the system for randomness.

Scope and limitations: what takes long to load and draws from the time, or from `random.Random()`, is not
found here. But a hash of the samples is kept with a run (`provenance.json`), which goes on with no others.

Validation: tests/data/test_loading.py.
"""

import hashlib
import time
from pathlib import Path
from typing import NamedTuple

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, parts_of
from cosim.data.dataset import Dataset
from cosim.data.port import Data
from cosim.names import CLOUD
from cosim.own_code.global_generators import asked_for_randomness, seeded
from cosim.own_code.sources import sources_of

_QUICK_WALL_S = 2.0
"""Wall-clock time in s; data that load within it are loaded once more. [no source]"""


class Loaded(NamedTuple):
    """A data set, and a hash of its samples where code of a user's gives them."""

    dataset: Dataset
    hash: str | None


def load(data: Data, seed: int, data_dir: Path | None) -> Loaded:
    """The data set of a run.

    Args:
        seed: The run's seed, whose streams draw what is generated.
        data_dir: Folder that the user names. None means the usual places.

    Raises:
        ConfigurationError: Files that are missing or wrong; samples that do not follow from the seed.
    """
    sim = Simulation(seed)
    key, begun = sim.key(CLOUD, "data"), time.monotonic()
    with seeded(key), asked_for_randomness() as asked:
        found = data.load(sim, data_dir)
    is_quick = time.monotonic() - begun < _QUICK_WALL_S
    if not isinstance(found, Dataset) or not _is_of_a_user(data):
        return Loaded(found, None)
    name, own = found.name, _hash(found)
    if is_quick or asked:
        del found  # the same will come once more, and takes its memory
        with seeded(key):
            found = data.load(Simulation(seed), data_dir)
        if _hash(found) != own:
            raise ConfigurationError(
                f"{name}: gives other samples each time it is loaded with the same seed, so the "
                "seed would not determine the results. Draw from a global generator of torch, numpy "
                "or Python, which the run's seed sets, or give your generator a seed, as "
                "np.random.default_rng(1)."
            )
    return Loaded(found, own)


def _is_of_a_user(data: Data) -> bool:
    """True if a user's own code gives the samples, or deals them."""
    files = {text for part in parts_of(data) for text in part.files()}
    return bool(sources_of(data).keys() - files)


def _hash(dataset: Dataset) -> str:
    found = hashlib.sha256()
    names = ("train_x", "train_y", "test_x", "test_y", "train_owners", "test_owners")
    for name in names:
        if (values := getattr(dataset, name)) is not None:
            found.update(f"{name}{values.dtype}{values.shape}".encode())
            found.update(values.reshape(-1).view("u1") if values.flags.c_contiguous else values.tobytes())
    return found.hexdigest()[:16]
