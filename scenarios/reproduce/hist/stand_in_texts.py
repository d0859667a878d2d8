"""Stand-in for GPT-2 and 20 Newsgroups: random weights and made-up texts in the real formats.

A message is 40 made-up words, each with probability 0.35 one of its group's 12, else one of 300 common ones.
The numbers have no source; what is learned from them says nothing about real texts.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch

from cosim import ConfigurationError
from cosim.data.texts.newsgroups_files import END_OF_TEXT, TEST, TRAIN

NUM_GROUPS, NUM_LAYERS = 6, 2
_NUM_MESSAGES = {TRAIN: 90, TEST: 30}
_LETTERS = list("abcdefghijklmnopqrstuvwxyz")


def write(folder: Path) -> None:
    """Make a folder with GPT-2 (`gpt2`) and messages (`20news-bydate-...`), whole, unless it is there.

    Raises:
        ConfigurationError: transformers is missing.
    """
    if folder.exists():
        return
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(_LETTERS, size=6)) for _ in range(300 + 12 * NUM_GROUPS)]
    with tempfile.TemporaryDirectory(dir=folder.parent) as staging:
        made = Path(staging) / "made"
        _write_gpt2(made / "gpt2", words)
        _write_messages(made, words, rng)
        made.rename(folder)


def _write_messages(folder: Path, words: list[str], rng: np.random.Generator) -> None:
    common, own = words[:300], np.array(words[300:]).reshape(NUM_GROUPS, 12)
    for part, num_messages in _NUM_MESSAGES.items():
        for group in range(NUM_GROUPS):
            place = folder / part / f"group.{group}"
            place.mkdir(parents=True)
            for message in range(num_messages):
                is_own = rng.random(40) < 0.35
                text = np.where(is_own, rng.choice(own[group], 40), rng.choice(common, 40))
                (place / f"{message:05d}").write_text(f"Subject: none\n\n{' '.join(text)}\n")


def _write_gpt2(folder: Path, words: list[str]) -> None:
    """A small GPT-2 of random weights, and a vocabulary in which each word is few tokens."""
    try:
        from safetensors.torch import save_file
        from tokenizers import ByteLevelBPETokenizer
        from transformers.models.gpt2.configuration_gpt2 import GPT2Config
        from transformers.models.gpt2.modeling_gpt2 import GPT2Model
    except ModuleNotFoundError:
        raise ConfigurationError("hist-table3: needs transformers. Run pip install 'cosim[lora]'.") from None
    folder.mkdir(parents=True)
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        [f" {word}" for word in words],
        vocab_size=2000,
        min_frequency=1,
        special_tokens=[END_OF_TEXT],
        show_progress=False,
    )
    tokenizer.save_model(str(folder))
    vocabulary = json.loads((folder / "vocab.json").read_text())
    end = vocabulary[END_OF_TEXT]
    config = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=128,
        n_embd=64,
        n_layer=NUM_LAYERS,
        n_head=4,
        bos_token_id=end,
        eos_token_id=end,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        save_file(GPT2Model(config).state_dict(), folder / "model.safetensors", metadata={"format": "pt"})
    config.save_pretrained(folder)
