"""20 Newsgroups on disk: find its documents, cut their headers off, turn them into GPT-2's tokens.

The set is 18,846 messages to twenty Usenet groups, split by date, one file each in the folder of its group:

    20news-bydate-train/<group>/<number>
    20news-bydate-test/<group>/<number>

Labels number the groups in the order of their names, documents come in the order of group and file name. The
header of a message (all lines up to the first blank one: From, Subject, Organization, ...) and white space at
both ends are removed (no source); quotes and signatures stay. A message that is then empty becomes the one
token `<|endoftext|>`. Tokens are GPT-2's own byte-pair encoding, cut to the first 128.

Scope and limitations: nothing is downloaded; any groups in folders of this form are taken, without checking
that they are the published set; hidden files (.name) are ignored. The text is read as Latin-1. The public
code of the HIST paper's reference [51] keeps the header, which names sender and organisation, so accuracies
are not comparable.

Usage::

    news = load(Path("20news"), Path("gpt2"))
    news.train_tokens, news.train_labels

Source: http://qwone.com/~jason/20Newsgroups/, 20news-bydate.tar.gz; HIST journal, Appendix A; 128 tokens from
https://github.com/imkevinkuo/flasc, the public code of reference [51].
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError

TRAIN, TEST = "20news-bydate-train", "20news-bydate-test"
NUM_TOKENS = 128
NUM_GROUPS = 20
PADDING = -1
"""Filler of a row after the last token of a short document."""
END_OF_TEXT = "<|endoftext|>"

_GET_NEWS = (
    "Unpack 20news-bydate.tar.gz of http://qwone.com/~jason/20Newsgroups/ and name the folder with "
    f"{TRAIN} and {TEST} in it with --data-dir or $COSIM_DATA."
)
_GET_GPT2 = (
    "Name a folder with config.json, model.safetensors, vocab.json and merges.txt of "
    "https://huggingface.co/openai-community/gpt2 with $COSIM_GPT2."
)


class Stamp(NamedTuple):
    """State of a file: its modification time in nanoseconds and its size in bytes."""

    path: Path
    changed_ns: int
    num_bytes: int


class Newsgroups(NamedTuple):
    """Documents as tokens; all arrays are read-only.

    Attributes:
        train_tokens: Token numbers, int64, shape (training documents, num_tokens), padded with -1 on the
            right.
        train_labels: Numbers of the groups, int64, shape (training documents,).
        test_tokens: As train_tokens, shape (test documents, num_tokens).
        test_labels: As train_labels, shape (test documents,).
        groups: Names of the groups, sorted.
    """

    train_tokens: NDArray[np.int64]
    train_labels: NDArray[np.int64]
    test_tokens: NDArray[np.int64]
    test_labels: NDArray[np.int64]
    groups: tuple[str, ...]


def load(
    data_dir: Path | None = None, gpt2_dir: Path | None = None, *, num_tokens: int = NUM_TOKENS
) -> Newsgroups:
    """Read the set from a folder; it is read once per process, until a file changes.

    Args:
        data_dir: Folder with both splits; None means $COSIM_DATA.
        gpt2_dir: Folder of GPT-2, for its tokenizer: vocab.json and merges.txt, or else tokenizer.json; None
            means $COSIM_GPT2.
        num_tokens: Number of tokens to which a document is cut.

    Raises:
        ConfigurationError: No folder is named; a folder or a split is missing; the groups of the splits
            differ; fewer than two groups; a group without documents; a file that cannot be read; no
            tokenizer, a damaged one or one of another network; transformers is not installed.
    """
    if num_tokens < 1:
        raise ConfigurationError(f"num_tokens = {num_tokens}: must be at least 1. Use 128.")
    named = data_dir or os.environ.get("COSIM_DATA")
    if not named:
        raise ConfigurationError(f"20 Newsgroups: no folder is named. {_GET_NEWS}")
    train, test = _documents(Path(named) / TRAIN), _documents(Path(named) / TEST)
    if odd := sorted(train.keys() ^ test.keys()):
        raise ConfigurationError(
            f"{named}: {', '.join(odd)} is in only one of {TRAIN} and {TEST}, which need the same "
            f"groups. {_GET_NEWS}"
        )
    if len(train) < 2:
        raise ConfigurationError(
            f"{Path(named) / TRAIN}: {len(train)} groups, but there must be at least 2. {_GET_NEWS}"
        )
    return _read(tuple(train), *map(_flat, (train, test)), _tokenizer_files(gpt2_dir), num_tokens)


@lru_cache(maxsize=1)
def _read(
    groups: tuple[str, ...],
    train: tuple[Stamp, ...],
    test: tuple[Stamp, ...],
    tokenizer_files: tuple[Stamp, ...],
    num_tokens: int,
) -> Newsgroups:
    """Read the set; the stamps tell versions of the files apart."""
    tokenizer = _tokenizer([file.path for file in tokenizer_files])
    tokenizer.no_padding()
    tokenizer.enable_truncation(num_tokens)

    def arrays(files: tuple[Stamp, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        texts = [_body(file.path) or END_OF_TEXT for file in files]
        tokens = np.full((len(files), num_tokens), PADDING, dtype=np.int64)
        for row, found in zip(tokens, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
            row[: len(found)] = found.ids
        labels = np.array([groups.index(file.path.parent.name) for file in files], dtype=np.int64)
        tokens.flags.writeable = labels.flags.writeable = False
        return tokens, labels

    return Newsgroups(*arrays(train), *arrays(test), groups)


def _documents(split: Path) -> dict[str, tuple[Stamp, ...]]:
    """Files of each group by its name, both in the order of their names."""
    try:
        groups = [path for path in _shown(split) if path.is_dir()]
        found = {group.name: tuple(_stamp(path) for path in _shown(group)) for group in groups}
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: {error.strerror}. {_GET_NEWS}") from None
    for name, files in found.items():
        if not files:
            raise ConfigurationError(
                f"{split / name}: no document in this group. Remove the group from both splits. Or: "
                f"{_GET_NEWS}"
            )
    return found


def _flat(documents: dict[str, tuple[Stamp, ...]]) -> tuple[Stamp, ...]:
    return tuple(file for files in documents.values() for file in files)


def _shown(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return Stamp(path, found.st_mtime_ns, found.st_size)


def _body(path: Path) -> str:
    """A message without its header: the lines after the first blank one."""
    try:
        message = path.read_text(encoding="latin-1")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}. {_GET_NEWS}") from None
    return f"\n{message}".partition("\n\n")[2].strip()


def _tokenizer_files(gpt2_dir: Path | None) -> tuple[Stamp, ...]:
    named = gpt2_dir or os.environ.get("COSIM_GPT2")
    if not named:
        raise ConfigurationError(f"GPT-2's tokenizer: no folder is named. {_GET_GPT2}")
    for names in (("vocab.json", "merges.txt"), ("tokenizer.json",)):
        paths = [Path(named) / name for name in names]
        if all(path.is_file() for path in paths):
            return tuple(_stamp(path) for path in paths)
    raise ConfigurationError(
        f"{named}: neither vocab.json and merges.txt nor tokenizer.json is there. {_GET_GPT2}"
    )


def _tokenizer(paths: list[Path]) -> Any:
    """GPT-2's tokenizer from vocab.json and merges.txt, or from tokenizer.json."""
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers  # comes with transformers
    except ImportError as error:
        raise ConfigurationError(
            f"GPT-2's tokenizer needs transformers: {error}. Run pip install 'cosim[lora]'."
        ) from None
    files = [str(path) for path in paths]
    try:
        tokenizer = (
            Tokenizer.from_file(*files) if len(files) == 1 else Tokenizer(models.BPE.from_file(*files))
        )
    except Exception as error:  # the library raises no narrower error
        raise ConfigurationError(f"{files[0]}: no tokenizer: {error}. {_GET_GPT2}") from None
    if tokenizer.token_to_id(END_OF_TEXT) is None:
        raise ConfigurationError(f"{files[0]}: has no token {END_OF_TEXT}, so it is not GPT-2's. {_GET_GPT2}")
    if len(files) == 2:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer
