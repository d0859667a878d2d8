"""Arrays: npz archives of numbers are read, and all else is refused by name, place and type."""

import io
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosim import ConfigurationError
from cosim.tables.arrays import Arrays


def saved(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "a.npz", **{name: np.asarray(values) for name, values in arrays.items()})
    return folder / "a.npz"


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "f4", "f2", "i1", "u8", ">i4", "g"])
def test_numbers_are_read_whatever_their_width(dtype, tmp_path):
    values = np.array([[1, 2], [3, 100]], dtype=dtype)
    found = Arrays(saved(tmp_path, gain=values)).numbers("gain")
    assert found.dtype == np.float64
    assert found.tolist() == [[1.0, 2.0], [3.0, 100.0]]


def test_columns_of_fortran_are_read_as_they_are(tmp_path):
    values = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert Arrays(saved(tmp_path, gain=values)).numbers("gain").tolist() == values.tolist()


TYPES = {
    "complex": (np.array([1 + 2j]), r"complex128, and no number\. Use power gains: abs\(values\) \*\* 2"),
    "durations": (np.array([1, 2], "m8[us]"), "timedelta64.*Use seconds as floats"),
    "times": (np.array(["2024-01-01"], "M8[s]"), "datetime64.*since the start"),
    "bools": (np.array([True]), "bool"),
    "texts": (np.array(["1"]), "<U1"),
    "objects": (np.array([None]), "object"),
    "structures": (np.zeros(2, dtype=[("re", "f8"), ("im", "f8")]), "no number"),
}


@pytest.mark.parametrize("case", TYPES)
def test_other_types_are_refused_where_they_are_asked_for(case, tmp_path):
    values, said = TYPES[case]
    arrays = Arrays(saved(tmp_path, gain=values, time_s=[0.0]))
    assert arrays.numbers("time_s").tolist() == [0.0]
    with pytest.raises(ConfigurationError, match=rf"a\.npz: array 'gain' is of type .*{said}"):
        arrays.numbers("gain")


class Bomb:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


def test_no_code_of_a_stranger_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held = np.empty(1, dtype=object)
    held[0] = Bomb()
    with pytest.raises(ConfigurationError, match="type object"):
        Arrays(saved(tmp_path, gain=held)).numbers("gain")
    (tmp_path / "pickled.npz").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ConfigurationError, match="is no npz archive"):
        Arrays(tmp_path / "pickled.npz")
    assert not Path("exploded").exists()


def test_files_that_are_something_else(tmp_path):
    def told(content: bytes, said: str) -> None:
        (tmp_path / "other.npz").write_bytes(content)
        with pytest.raises(ConfigurationError, match=rf"other\.npz.*{said}.* Use "):
            Arrays(tmp_path / "other.npz")

    plain, empty, doubled = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(plain, np.ones(3))
    np.savez(empty)
    with zipfile.ZipFile(doubled, "w") as archive:
        archive.writestr("gain.npy", plain.getvalue())
        archive.writestr("gain", plain.getvalue())
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "none")
    told(plain.getvalue(), "is one array, as numpy.save writes it")
    told(empty.getvalue(), "holds no arrays")
    told(doubled.getvalue(), "holds 2 arrays 'gain'")
    told(other.getvalue(), "cannot be read")
    told(b"", "is no npz archive")
    told(b"PK", "cannot be read")


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    st.integers(0, 2000),
)
def test_damaged_files_are_arrays_or_one_sentence(tmp_path, packed, changes, cut):
    buffer = io.BytesIO()
    save = np.savez_compressed if packed else np.savez
    save(buffer, time_s=np.arange(20.0), gain=np.ones((20, 3)))
    content = bytearray(buffer.getvalue())
    for place, value in changes:
        content[place % len(content)] = value
    (tmp_path / "damaged.npz").write_bytes(bytes(content[: cut or None]))
    with suppress(ConfigurationError):
        Arrays(tmp_path / "damaged.npz").numbers("time_s")
