"""Stand-in for GPT-2 and 20 Newsgroups: random weights and made-up texts in the real formats.

A message is 40 made-up words, each with probability 0.4 one of its group's 12, else one of 300 common ones.
The numbers have no source; what is learned from them says nothing about real texts.
"""

import json
from pathlib import Path

import numpy as np
import torch

from cosim import ConfigurationError

NUM_GROUPS, NUM_LAYERS = 6, 2
_NUM_TRAIN, _NUM_TEST = 90, 30
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def write(folder: Path) -> None:
    """Write `gpt2`, `20news-bydate-train` and `20news-bydate-test` into a folder; what is there stays.

    Raises:
        ConfigurationError: transformers is missing.
    """
    if (folder / "gpt2" / "model.safetensors").exists():
        return
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list(_LETTERS), size=6)) for _ in range(300 + 12 * NUM_GROUPS)]
    common, own = words[:300], np.array(words[300:]).reshape(NUM_GROUPS, 12)
    for part, num_messages in (("train", _NUM_TRAIN), ("test", _NUM_TEST)):
        for group in range(NUM_GROUPS):
            place = folder / f"20news-bydate-{part}" / f"group.{group}"
            place.mkdir(parents=True, exist_ok=True)
            for message in range(num_messages):
                is_own = rng.random(40) < 0.4
                text = np.where(is_own, rng.choice(own[group], 40), rng.choice(common, 40))
                (place / f"{message:05d}").write_text(f"Subject: none\n\n{' '.join(text)}\n")
    _write_gpt2(folder / "gpt2", words)


def _write_gpt2(folder: Path, words: list[str]) -> None:
    """A small GPT-2 of random weights, and a vocabulary in which each word is few tokens."""
    try:
        from tokenizers import ByteLevelBPETokenizer
        from transformers import GPT2Config, GPT2Model
    except ModuleNotFoundError:
        raise ConfigurationError(
            "hist-table3: needs transformers. Usual fix: pip install 'cosim[lora]'."
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        words, vocab_size=2000, special_tokens=["<|endoftext|>"], show_progress=False
    )
    tokenizer.save_model(str(folder))
    num_tokens = len(json.loads((folder / "vocab.json").read_text()))
    config = GPT2Config(vocab_size=num_tokens, n_positions=128, n_embd=64, n_layer=NUM_LAYERS, n_head=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        GPT2Model(config).save_pretrained(folder)
