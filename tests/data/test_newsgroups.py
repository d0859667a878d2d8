"""20 Newsgroups: what is cut off, every token in its place, and every fault named."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures.fixes import has_fix

from cosim.configuration import ConfigurationError
from cosim.data.texts.newsgroups_files import END_OF_TEXT, TEST, TRAIN, Newsgroups, load

HEADER = "From: somebody@example.org (Some Body)\nSubject: Re: orbits\nLines: 2\n\n"
BODIES = {
    f"{TRAIN}/sci.space/61000": "The moon is far away.\n\nIt's round, isn't it?  1992!",
    f"{TRAIN}/sci.space/9": "Orbit",
    f"{TRAIN}/rec.autos/7": "My car has 4 wheels,\n\tand a spare wheel.",
    f"{TRAIN}/rec.autos/8": "",
    f"{TEST}/sci.space/1": "> The moon is near\nNo.\n--\nSome Body",
    f"{TEST}/rec.autos/2": "Señor, £5 \xff",
}
"""File -> what is left of it without the header; rec.autos is 0, sci.space 1, "61000" comes before "9"."""


@pytest.fixture
def news(tmp_path) -> Path:
    """The documents above in the real layout, in Latin-1."""
    for name, body in BODIES.items():
        path = tmp_path / "news" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((HEADER + body).encode("latin-1"))
    return tmp_path / "news"


@pytest.fixture(scope="session")
def saved_tokenizers(tmp_path_factory) -> Path:
    """A tokenizer as two files, in "pair", and as one that also pads, cuts and adds an end, in "single"."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(BODIES.values(), trainer)
    folder = tmp_path_factory.mktemp("tokenizers")
    for name in ("pair", "single"):
        (folder / name).mkdir()
    tokenizer.model.save(str(folder / "pair"))
    ends = f"$A {END_OF_TEXT}"
    tokenizer.post_processor = processors.TemplateProcessing(ends, special_tokens=[(END_OF_TEXT, 0)])
    tokenizer.enable_padding(length=50)
    tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "single" / "tokenizer.json"))
    return folder


@pytest.fixture
def gpt2(saved_tokenizers, tmp_path) -> Path:
    return Path(shutil.copytree(saved_tokenizers / "pair", tmp_path / "gpt2"))


def tokenizer_of(gpt2: Path):
    """Transformers' own tokenizer, whose import takes most of a second."""
    from transformers import GPT2TokenizerFast

    return GPT2TokenizerFast.from_pretrained(gpt2)


def expected_rows(gpt2: Path, names: list[str], num_tokens: int) -> list[list[int]]:
    """Row by row from transformers' own tokenizer."""
    tokenizer = tokenizer_of(gpt2)
    found = [tokenizer(BODIES[name] or END_OF_TEXT)["input_ids"][:num_tokens] for name in names]
    return [ids + [-1] * (num_tokens - len(ids)) for ids in found]


def in_order(split: str) -> list[str]:
    return sorted(name for name in BODIES if name.startswith(split))


def assert_same(found: Newsgroups, expected: Newsgroups):
    assert found.groups == expected.groups
    for array, other in zip(found[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("num_tokens", [1, 9, 64])
def test_every_token_lands_in_its_place(news, gpt2, num_tokens):
    found = load(news, gpt2, num_tokens=num_tokens)
    assert found.groups == ("rec.autos", "sci.space")
    assert found.train_tokens.tolist() == expected_rows(gpt2, in_order(TRAIN), num_tokens)
    assert found.test_tokens.tolist() == expected_rows(gpt2, in_order(TEST), num_tokens)
    assert found.train_labels.tolist() == [0, 0, 1, 1]
    assert found.test_labels.tolist() == [0, 1]
    for array in found[:4]:
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
        assert not array.flags.writeable


def test_documents_have_128_tokens_unless_told(news, gpt2):
    (news / TRAIN / "sci.space" / "9").write_text(HEADER + "moon " * 300)
    found = load(news, gpt2)
    assert found.train_tokens.shape == (4, 128)
    assert (found.train_tokens[3] >= 0).all()
    assert (found.train_tokens[:3, -1] == -1).all()


def test_tokens_spell_the_documents(news, gpt2):
    """Back from the tokens alone: the header is gone, all else is there."""
    tokenizer = tokenizer_of(gpt2)
    found = load(news, gpt2)
    for name, row in zip(in_order(TRAIN), found.train_tokens, strict=True):
        assert tokenizer.decode(row[row >= 0]) == (BODIES[name] or END_OF_TEXT)


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (b"From: a\nSubject: b\n\nthe moon", "the moon"),
        (b"From: a\n\nthe\n\nmoon", "the\n\nmoon"),
        (b"From: a\n\n\n\n  the moon \n\n", "the moon"),
        (b"\nthe moon", "the moon"),
        (b"From: a\r\n\r\nthe moon\r\nis round\r\n", "the moon\nis round"),
        (b"From: a\nSubject: b\n", END_OF_TEXT),
        (b"From: a\n\n \n", END_OF_TEXT),
        (b"", END_OF_TEXT),
    ],
    ids=["header", "blank line", "white space", "no header", "CRLF", "only header", "blank", "empty"],
)
def test_header_is_all_up_to_the_first_blank_line(news, gpt2, message, body):
    (news / TRAIN / "rec.autos" / "7").write_bytes(message)
    row = load(news, gpt2).train_tokens[0]
    assert row[row >= 0].tolist() == tokenizer_of(gpt2)(body)["input_ids"]


def test_a_tokenizer_in_one_file_gives_the_same(news, gpt2, saved_tokenizers):
    """Whatever was saved with it; where both are there, the two files count."""
    expected = load(news, gpt2)
    assert_same(load(news, saved_tokenizers / "single"), expected)
    (gpt2 / "tokenizer.json").write_text("{}")
    assert_same(load(news, gpt2), expected)


def test_folders_come_from_the_environment_unless_named(news, gpt2, tmp_path, monkeypatch):
    expected = load(news, gpt2)
    monkeypatch.setenv("COSIM_DATA", str(news))
    monkeypatch.setenv("COSIM_GPT2", str(gpt2))
    assert_same(load(), expected)
    monkeypatch.setenv("COSIM_DATA", "nowhere")
    monkeypatch.setenv("COSIM_GPT2", "nowhere")
    assert_same(load(news, gpt2), expected)
    monkeypatch.chdir(news)
    assert_same(load(Path("."), gpt2), expected)


def test_hidden_files_and_files_between_groups_are_passed_over(news, gpt2):
    expected = load(news, gpt2)
    (news / TRAIN / "README").write_text("no group")
    (news / TRAIN / ".git").mkdir()
    (news / TRAIN / "sci.space" / ".DS_Store").write_text("no document")
    assert_same(load(news, gpt2), expected)


def test_files_are_read_once_until_one_changes(news, gpt2):
    path = news / TRAIN / "sci.space" / "9"
    first = load(news, gpt2)
    assert load(news, gpt2) is first
    assert load(news, gpt2, num_tokens=2).train_tokens.shape == (4, 2)
    path.write_text(HEADER + "Moon!")
    os.utime(path, ns=(1, 1))
    row = load(news, gpt2).train_tokens[3]
    assert row[row >= 0].tolist() == tokenizer_of(gpt2)("Moon!")["input_ids"]


# --- faults ---


def remove(name: str):
    return lambda news, gpt2: shutil.rmtree(news / name)


def empty(name: str):
    def change(news: Path, gpt2: Path):
        shutil.rmtree(news / name)
        (news / name).mkdir()

    return change


def one_group(news: Path, gpt2: Path):
    for split in (TRAIN, TEST):
        shutil.rmtree(news / split / "rec.autos")


def write(name: str, text: str):
    def change(news: Path, gpt2: Path):
        (gpt2 / name).write_text(text)

    return change


def folder_in_a_group(news: Path, gpt2: Path):
    (news / TRAIN / "sci.space" / "more").mkdir()


FAULTS = {
    "no folder": (remove("."), rf"news/{TRAIN}: No such file or directory.*20news-bydate"),
    "no training split": (remove(TRAIN), rf"news/{TRAIN}: No such file or directory"),
    "no test split": (remove(TEST), rf"news/{TEST}: No such file or directory"),
    "group not in training": (remove(f"{TRAIN}/rec.autos"), r"news: rec\.autos is in only one of"),
    "group not in test": (remove(f"{TEST}/sci.space"), r"news: sci\.space is in only one of"),
    "empty group": (empty(f"{TEST}/sci.space"), rf"{TEST}/sci\.space: no document in this group"),
    "one group": (one_group, rf"news/{TRAIN}: 1 groups"),
    "no groups": (lambda news, gpt2: [empty(split)(news, gpt2) for split in (TRAIN, TEST)], "0 groups"),
    "folder in a group": (folder_in_a_group, r"sci\.space/more: Is a directory"),
    "no vocabulary": (lambda news, gpt2: (gpt2 / "vocab.json").unlink(), r"gpt2: neither vocab\.json and"),
    "no merges": (lambda news, gpt2: (gpt2 / "merges.txt").unlink(), r"gpt2: neither vocab\.json and"),
    "damaged vocabulary": (write("vocab.json", '{"a": 0'), r"gpt2/vocab\.json: no tokenizer: "),
    "damaged merges": (write("merges.txt", "a b\nQ Ω Z\n"), r"gpt2/vocab\.json: no tokenizer: "),
    "other vocabulary": (write("vocab.json", '{"a": 0, "b": 1, "ab": 2}'), r"vocab\.json: no tokenizer: "),
}


@pytest.mark.parametrize(("damage", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named(news, gpt2, damage, message):
    load(news, gpt2)
    damage(news, gpt2)
    with pytest.raises(ConfigurationError, match=message) as error:
        load(news, gpt2)
    assert has_fix(str(error.value))


def test_a_vocabulary_without_the_end_of_text_is_not_gpt2s(news, gpt2):
    (gpt2 / "vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (gpt2 / "merges.txt").write_text("a b\n")
    with pytest.raises(ConfigurationError, match=r"vocab\.json: has no token <\|endoftext\|>"):
        load(news, gpt2)


def test_at_least_one_token(news, gpt2):
    with pytest.raises(ConfigurationError, match="num_tokens = 0: must be at least 1"):
        load(news, gpt2, num_tokens=0)


def test_without_a_folder_or_a_library_it_says_what_to_do(news, gpt2, monkeypatch):
    monkeypatch.delenv("COSIM_DATA", raising=False)
    monkeypatch.delenv("COSIM_GPT2", raising=False)
    with pytest.raises(ConfigurationError, match=r"20 Newsgroups: no folder is named.*\$COSIM_DATA"):
        load(None, gpt2)
    with pytest.raises(ConfigurationError, match=r"GPT-2's tokenizer: no folder is named.*\$COSIM_GPT2"):
        load(news)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigurationError, match=r"needs transformers.*pip install 'cosim\[lora\]'"):
        load(news, gpt2)
