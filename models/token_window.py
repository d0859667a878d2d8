"""Token window: what follows a window of tokens, from the embeddings of all of them."""

import torch
from torch import Tensor, nn

from models.relu_network import UnitGroups


class TokenWindow(nn.Module):
    """Embeddings side by side, a hidden layer with ReLU, a score for every token.

    After Bengio et al., "A Neural Probabilistic Language Model", JMLR 2003, with ReLU for tanh and without
    direct connections. Units of the hidden layer are a group; embeddings and the output's bias are whole in
    every cell.

    Args:
        sizes: Tokens, window, embedding, hidden units.

    Attributes:
        unit_groups: Group name -> (parameter name, axis) pairs.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        num_tokens, window, embedding, num_hidden = sizes
        self.embedding = nn.Embedding(num_tokens, embedding)
        self.hidden = nn.Linear(window * embedding, num_hidden)
        self.output = nn.Linear(num_hidden, num_tokens)
        self.unit_groups: UnitGroups = {
            "hidden": (("hidden.weight", 0), ("hidden.bias", 0), ("output.weight", 1))
        }

    def forward(self, x_BT: Tensor) -> Tensor:
        """Scores of the next token, shape (batch, tokens), of windows of tokens, shape (batch, window)."""
        return self.output(torch.relu(self.hidden(self.embedding(x_BT).flatten(1))))
