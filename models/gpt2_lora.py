"""GPT-2 with low-rank adapters for text classification, which the HIST paper fine-tunes on 20 Newsgroups.

The attention of every layer begins with one matrix for queries, keys and values, `c_attn` (768 -> 2304 in
GPT-2 small). An adapter adds to what it makes of z

    y = W z + (alpha / rank) B A z,    A of shape (rank, 768), B of shape (2304, rank), B = 0 at first.

A is to B what the weight before a hidden layer is to the weight after it, so the ranks are units: rank r is
row r of A and column r of B. A network can be cut into submodels by them. [HIST journal, Appendix A]

The factor alpha / rank stays that of the whole network in every part, whose own rank is smaller. So what the
adapters of disjoint parts add to one z sums up to what the whole adapter adds.

Only the adapters are trained and travel: in GPT-2 small 12 x 16 x (768 + 2304) = 589,824 parameters, 2.25 MiB
in float32. Table III counts in this unit ("MB" there is 2^20 bytes): all entries but one are within 0.01 MB
of a multiple of 2.25 MB for HFedAvg, of 2.25 / N MB for HIST in N cells; 177.45 is not.

Scope and limitations: the weights of GPT-2 come from a folder and are frozen, and so is the classification
head, a matrix drawn once from a fixed key as transformers draws its own. The paper does not say how its head
was trained; a head that travels has no room in Table III. The public code of its reference [51] trains one,
and has adapters on every matrix of a layer and dropout; here there is no dropout, in any mode. Attention is
transformers' "eager", because torch has no batching rule for its fused kernel on a CPU.

Usage::

    network = Gpt2Lora(gpt2_of(Path("gpt2")), num_classes=20)
    scores = network(tokens)  # int64, shape (documents, tokens), padded with -1 on the right

Validation: the tests compare with plain GPT-2 whose `c_attn` holds the merged weight W + (alpha / rank) B A,
and Table III with the sizes.

Source: HIST journal, Appendix A; Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022;
alpha from https://github.com/imkevinkuo/flasc, the public code of the paper's reference [51].
"""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from models.relu_network import UnitGroups

if TYPE_CHECKING:
    from transformers.models.gpt2.modeling_gpt2 import GPT2Model

HEAD_KEY = 1
"""From which the classification head is drawn (no source)."""

_GET_GPT2 = (
    "Name a folder with config.json, model.safetensors, vocab.json and merges.txt of "
    "https://huggingface.co/openai-community/gpt2 with $COSIM_GPT2."
)


class LowRankAdapter(nn.Module):
    """Adds (alpha / rank) B A z to what a frozen matrix makes of z, for any number of rows of A.

    Args:
        num_inputs: Length of z.
        num_outputs: Length of what is added.
        rank: Rows of A and columns of B of the whole adapter.
        alpha: Factor, divided by rank.
        device: Where A and B lie.
    """

    def __init__(
        self, num_inputs: int, num_outputs: int, rank: int, alpha: float, device: torch.device
    ) -> None:
        super().__init__()
        self.factor = alpha / rank
        self.A = nn.Parameter(torch.empty(rank, num_inputs, device=device))
        self.B = nn.Parameter(torch.empty(num_outputs, rank, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw A as `nn.Linear` draws its weight, and set B to 0. [Hu et al., public code]"""
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        nn.init.zeros_(self.B)

    def forward(self, z_BTI: Tensor) -> Tensor:
        """Added term, shape (batch, tokens, outputs), for z of shape (batch, tokens, inputs)."""
        return self.factor * (z_BTI @ self.A.mT @ self.B.mT)

    def added(self, _matrix: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        """Forward hook of the frozen matrix: its output and what is added."""
        return output + self(inputs[0])


class Gpt2Lora(nn.Module):
    """GPT-2 with a low-rank adapter on `c_attn` of every layer, and class scores from the last token.

    The adapters' A and B are trained: `adapters.0.A`, `adapters.0.B`, `adapters.1.A`, ... All else is frozen.
    One group of units per layer, the ranks of its adapter. [HIST journal, Appendix A]

    Args:
        gpt2: Becomes part of this network, frozen and with hooks: use it for nothing else.
        num_classes: Outputs.
        rank: Of every adapter. [HIST journal, Appendix A]
        alpha: Numerator of the factor of every adapter. [public code of reference 51]

    Attributes:
        unit_groups: Group name -> (parameter name, axis) pairs.

    Raises:
        ValueError: a size or alpha that is not above 0, or a GPT-2 that has adapters.
    """

    def __init__(self, gpt2: "GPT2Model", num_classes: int, rank: int = 16, alpha: float = 16.0) -> None:
        super().__init__()
        if min(num_classes, rank, alpha) <= 0:
            raise ValueError(
                f"Gpt2Lora of {num_classes} classes, rank {rank}, alpha {alpha}: all must be above 0. "
                "Use rank 16, alpha 16."
            )
        self.gpt2 = gpt2.requires_grad_(False).eval()
        self.gpt2.set_attn_implementation("eager")
        config, device = gpt2.config, next(gpt2.parameters()).device
        self.adapters = nn.ModuleList()
        for depth in range(config.n_layer):
            matrix = gpt2.get_submodule(f"h.{depth}.attn.c_attn")
            if matrix._forward_hooks:
                raise ValueError(
                    "Gpt2Lora: this GPT-2 has adapters of another network, which would add up. Use a "
                    "GPT-2 of its own for each network."
                )
            adapter = LowRankAdapter(config.n_embd, 3 * config.n_embd, rank, alpha, device)
            matrix.register_forward_hook(adapter.added)
            self.adapters.append(adapter)
        head = torch.empty(num_classes, config.n_embd, device="cpu")
        head.normal_(0.0, config.initializer_range, generator=torch.Generator().manual_seed(HEAD_KEY))
        self.head = nn.Parameter(head.to(device), requires_grad=False)
        self.unit_groups: UnitGroups = {
            f"layer{depth}": ((f"adapters.{depth}.A", 0), (f"adapters.{depth}.B", 1))
            for depth in range(config.n_layer)
        }

    def train(self, mode: bool = True) -> Self:
        """Set the mode, but leave GPT-2 in evaluation mode: it never has dropout."""
        super().train(mode)
        self.gpt2.eval()
        return self

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Class scores (logits), shape (batch, classes), of rows of tokens.

        The scores come from the hidden state of the last token that is no padding. Attention looks only
        back, so no token sees the padding on its right. A row of nothing but padding reads as one token 0.

        Args:
            tokens_BT: Token numbers, int64, shape (batch, tokens), padded with -1 on the right.

        Raises:
            ValueError: more tokens than GPT-2 has positions.
        """
        if tokens_BT.shape[1] > self.gpt2.config.n_positions:
            raise ValueError(
                f"rows of {tokens_BT.shape[1]} tokens: this GPT-2 reads at most "
                f"{self.gpt2.config.n_positions}. Cut them shorter, such as to 128."
            )
        embedded_BTD = self.gpt2.get_input_embeddings()(tokens_BT.clamp(min=0))
        num_tokens = tokens_BT.shape[1]
        least = torch.finfo(embedded_BTD.dtype).min
        back_11TT = embedded_BTD.new_full((1, 1, num_tokens, num_tokens), least).triu(1)
        # GPT-2 would make the same mask, but look at values first, for which a GPU has to be waited for
        hidden_BTD = self.gpt2(
            inputs_embeds=embedded_BTD, attention_mask=back_11TT, use_cache=False
        ).last_hidden_state
        last_B = ((tokens_BT >= 0).sum(1) - 1).clamp(min=0)
        return hidden_BTD.take_along_dim(last_B[:, None, None], 1)[:, 0] @ self.head.mT


def gpt2_of(folder: Path | None = None) -> "GPT2Model":
    """GPT-2 as it lies in a folder, in float32; never from the network, never from pickles.

    While torch's device is "meta" it has no values and needs no weights; its sizes come from the folder's
    config.json, or from the small GPT-2 where no folder is named.

    Args:
        folder: With config.json and model.safetensors, as the Hugging Face Hub has them and `save_pretrained`
            writes them. None means $COSIM_GPT2.

    Raises:
        ValueError: no folder is named, transformers is not installed, or a file is missing, damaged or of
            another network.
    """
    named = folder or os.environ.get("COSIM_GPT2")
    has_values = torch.get_default_device().type != "meta"
    if not named and has_values:
        raise ValueError(f"GPT-2's weights: no folder is named. {_GET_GPT2}")
    try:
        from transformers.models.gpt2.configuration_gpt2 import GPT2Config
        from transformers.models.gpt2.modeling_gpt2 import GPT2Model
    except ImportError as error:
        raise ValueError(f"GPT-2 needs transformers: {error}. Run pip install 'cosim[lora]'.") from None
    if not named:
        return GPT2Model(GPT2Config())
    folder = Path(named)
    _check_kind(folder / "config.json")
    if not has_values:
        return GPT2Model(GPT2Config.from_json_file(str(folder / "config.json")))
    try:
        with _no_progress_bar():
            loaded: Any = GPT2Model.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
    except Exception as error:  # what the files can raise has no common base
        raise ValueError(f"{folder}: GPT-2 cannot be read: {error}. {_GET_GPT2}") from None
    gpt2, report = loaded
    # transformers draws what the weights file lacks at random, and leaves out layers that config.json lacks
    lacking = {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}
    surplus = {name for name in report["unexpected_keys"] if ".h." in f".{name}"}
    if lacking or surplus:
        raise ValueError(
            f"{folder}: the weights do not belong to config.json: {len(lacking)} are missing or of another "
            f"shape, {len(surplus)} are of further layers: {', '.join(sorted(lacking | surplus)[:3])}. "
            f"{_GET_GPT2}"
        )
    return gpt2


def _check_kind(path: Path) -> None:
    """Refuse what transformers would take: another network, or no file for GPT-2 small."""
    try:
        kind = json.loads(path.read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no configuration of GPT-2: {error!r}. {_GET_GPT2}") from None
    if kind != "gpt2":
        raise ValueError(f"{path}: of a network {kind!r}, not 'gpt2'. {_GET_GPT2}")


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
