"""The journal: numbers that are known are not computed again, and a checkpoint brings them back."""

import numpy as np
import pytest

from cosim.engine.store.checkpoint import Checkpoint
from cosim.engine.store.journal import Journal
from cosim.records.measures import Measure
from cosim.records.rows import Evaluation

pytestmark = pytest.mark.quick


def test_what_is_known_is_not_computed_again():
    asked = []

    def compute() -> np.ndarray:
        asked.append(1)
        return np.array([0.1, 0.2])

    first = Journal({})
    for _ in range(2):
        assert first.read("losses", compute).tolist() == [0.1, 0.2]
    assert len(asked) == 1
    again = Journal(first)
    assert again.read("losses", compute).tolist() == [0.1, 0.2]
    assert len(asked) == 1
    assert again.read("others", compute).tolist() == [0.1, 0.2]
    assert len(asked) == 2
    with pytest.raises(ValueError, match="read-only"):
        first["losses"][0] = 1.0


def test_a_checkpoint_has_the_numbers_to_the_bit(tmp_path):
    numbers = {"losses edge-00 1 0 client-0000": np.array([1 / 3, np.pi])}
    Checkpoint(
        version=1,
        rows={},
        weights={"a": np.zeros(2, np.float32)},
        evaluations=[Evaluation(0.0, 0, {"accuracy": 0.5}, {"accuracy": Measure("accuracy", True)})],
        journal=numbers,
    ).save(tmp_path)
    loaded = Checkpoint.load(tmp_path)
    assert loaded is not None
    (name,) = loaded.journal
    assert loaded.journal[name].tobytes() == numbers[name].tobytes()
