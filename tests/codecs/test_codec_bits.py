"""Bits of our codecs, as in an encoding that is written as zeros and ones, and read back."""

import math
import struct

import numpy as np
import pytest
import torch

import cosim
from cosim.codecs.coding import row_of
from cosim.codecs.sparse import drawn_places

pytestmark = pytest.mark.quick

SHARE = cosim.codecs.KeptShare(share=0.1)
CODECS = {
    "bfloat16": cosim.codecs.BFloat16(),
    "float16": cosim.codecs.Float16(),
    "qsgd": cosim.codecs.Qsgd(),
    "qsgd-small-buckets": cosim.codecs.Qsgd(num_levels=4, bucket_size=5),
    "topk": cosim.codecs.TopK(kept=SHARE),
    "topk-bitmap": cosim.codecs.TopK(kept=cosim.codecs.KeptShare(share=0.5)),
    "topk-all": cosim.codecs.TopK(kept=cosim.codecs.KeptNumber(num_values=4000)),
    "randomk": cosim.codecs.RandomK(kept=SHARE),
    "signs": cosim.codecs.Signs(step_size=0.5),
}


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def arrived(codec: cosim.codecs.FlatCodec, change: np.ndarray, seed: int = 1) -> np.ndarray:
    """Values that arrive of a row of values."""
    return row_of(codec, torch.tensor(change, dtype=torch.float32), generator(seed)).numpy()


def of_floats(values, form: str = ">f") -> str:
    return "".join(f"{byte:08b}" for value in values for byte in struct.pack(form, value))


def floats(bits: str, form: str = ">f") -> np.ndarray:
    size = 8 * struct.calcsize(form)
    parts = [bits[i : i + size] for i in range(0, len(bits), size)]
    return np.array([struct.unpack(form, int(p, 2).to_bytes(size // 8, "big"))[0] for p in parts])


def wholes(bits: str, size: int) -> list[int]:
    return [int(bits[i : i + size], 2) for i in range(0, len(bits), size)] if size else []


def written_and_read(codec, sent: np.ndarray, change: np.ndarray, seed: int) -> tuple[int, np.ndarray]:
    """Number of bits, and what they say, of what a client sends."""
    num, (write, read) = len(sent), FORMS[type(codec)]
    bits = write(codec, sent, change, seed)
    return len(bits), np.float32(read(codec, bits, num))


def write_bfloat16(codec, sent, change, seed):
    bits = of_floats(sent)
    halves = [bits[i : i + 16] for i in range(0, len(bits), 16)]
    assert set(halves[1::2]) <= {"0" * 16}  # the lower half of a float says nothing
    return "".join(halves[::2])


def read_bfloat16(codec, bits, num):
    return floats("".join(bits[i : i + 16] + "0" * 16 for i in range(0, len(bits), 16)))


def buckets(codec, row):
    return [row[i : i + codec.bucket_size] for i in range(0, len(row), codec.bucket_size)]


def level_bits(codec):
    return math.ceil(math.log2(2 * codec.num_levels + 1))


def write_qsgd(codec, sent, change, seed):
    bits = ""
    for found, told in zip(buckets(codec, sent), buckets(codec, change), strict=True):
        norm = float(torch.tensor(told).norm())
        levels = np.rint(found / norm * codec.num_levels).astype(int) + codec.num_levels
        bits += of_floats([norm]) + "".join(f"{level:0{level_bits(codec)}b}" for level in levels)
    return bits


def read_qsgd(codec, bits, num):
    size, row = level_bits(codec), []
    for bucket in buckets(codec, np.empty(num)):
        norm, bits = np.float32(floats(bits[:32])[0]), bits[32:]
        levels = np.array(wholes(bits[: size * len(bucket)], size)) - codec.num_levels
        row += list(norm * (np.float32(levels) / np.float32(codec.num_levels)))
        bits = bits[size * len(bucket) :]
    return row


def write_topk(codec, sent, change, seed):
    num, k = len(sent), codec.kept.num(len(sent))
    size = math.ceil(math.log2(num))
    places = np.sort(np.argsort(-np.abs(change), kind="stable")[:k])
    which = "".join(f"{place:0{size}b}" for place in places) if size else ""
    if k * size > num:
        which = "".join("01"[int(place in set(places))] for place in range(num))
    return (which if k < num else "") + of_floats(sent[places])


def read_topk(codec, bits, num):
    k, size, row = codec.kept.num(num), math.ceil(math.log2(num)), np.zeros(num)
    which, values = bits[: -32 * k], floats(bits[-32 * k :])
    if len(which) < num and k < num:
        row[wholes(which, size)] = values
    else:
        row[[place for place, bit in enumerate(which or "1" * num) if bit == "1"]] = values
    return row


def write_randomk(codec, sent, change, seed):
    drawn = int(torch.randint(2**32, (), generator=generator(seed)))
    places = drawn_places(drawn, len(sent), codec.kept.num(len(sent)))
    return f"{drawn:032b}" + of_floats(sent[places.numpy()])


def read_randomk(codec, bits, num):
    row = np.zeros(num)
    places = drawn_places(int(bits[:32], 2), num, codec.kept.num(num))
    row[places.numpy()] = floats(bits[32:])
    return row


def write_signs(codec, sent, change, seed):
    return "".join("01"[int(value > 0)] for value in sent)


def read_signs(codec, bits, num):
    return [codec.step_size if bit == "1" else -codec.step_size for bit in bits]


FORMS = {
    cosim.codecs.BFloat16: (write_bfloat16, read_bfloat16),
    cosim.codecs.Float16: (
        lambda codec, sent, change, seed: of_floats(sent, ">e"),
        lambda c, b, n: floats(b, ">e"),
    ),
    cosim.codecs.Qsgd: (write_qsgd, read_qsgd),
    cosim.codecs.TopK: (write_topk, read_topk),
    cosim.codecs.RandomK: (write_randomk, read_randomk),
    cosim.codecs.Signs: (write_signs, read_signs),
}


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("num_values", [1, 2, 3, 64, 1537])
def test_bits_are_those_of_what_is_written_and_read_back(codec, num_values):
    change = np.float32(np.random.default_rng(num_values).standard_normal(num_values))
    sent = arrived(codec, change)
    num_bits, read = written_and_read(codec, sent, change, seed=1)
    assert num_bits == codec.bits(num_values) == codec.payload(num_values).bits
    np.testing.assert_array_equal(read, sent)


def test_bits_by_hand():
    """512 values a bucket, of 4 bits each; the cheaper of indices and bitmap; d bits of signs."""
    assert cosim.codecs.Qsgd().bits(1000) == 2 * 32 + 1000 * 4
    assert cosim.codecs.Qsgd(num_levels=1).bits(512) == 32 + 512 * 2
    assert cosim.codecs.TopK(kept=cosim.codecs.KeptShare(share=0.01)).bits(1000) == 10 * (32 + 10)
    assert cosim.codecs.TopK(kept=cosim.codecs.KeptShare(share=0.5)).bits(1000) == 500 * 32 + 1000
    assert cosim.codecs.TopK(kept=cosim.codecs.KeptShare(share=1.0)).bits(1000) == 32_000
    assert cosim.codecs.RandomK(kept=cosim.codecs.KeptNumber(num_values=10)).bits(1000) == 10 * 32 + 32
    assert cosim.codecs.ErrorFeedback(codec=cosim.codecs.Qsgd()).bits(1000) == cosim.codecs.Qsgd().bits(1000)
