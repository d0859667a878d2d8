"""Vertical network: a server's part and a client's part that predict together (VHFL paper, Section V-A).

The server's part turns the features that only the server sees into outputs u; the client's part turns its own
features into as many, puts both side by side and predicts from them. Without the server's part the same
network is the baseline of horizontal federated learning.
"""

import torch
from torch import Tensor, nn

from models.mlp import Mlp


class Head(nn.Module):
    """The client's part: its own features through one perceptron, joined with u, through another.

    Args:
        num_central_outputs: Width of u; 0: there is none.
        num_local_features: The client's own features.
        num_hidden: Units of each hidden layer.
        num_outputs: Outputs of the first perceptron.
    """

    def __init__(
        self, num_central_outputs: int, num_local_features: int, num_hidden: int, num_outputs: int
    ) -> None:
        super().__init__()
        self.num_central_outputs = num_central_outputs
        self.features = Mlp((num_local_features, num_hidden, num_outputs))
        self.joined = Mlp((num_central_outputs + num_outputs, num_hidden, 1))

    def forward(self, x_BD: Tensor) -> Tensor:
        """Prediction, shape (batch, 1), of u and local features side by side, shape (batch, U + features)."""
        u_BU, x_BL = x_BD[..., : self.num_central_outputs], x_BD[..., self.num_central_outputs :]
        return self.joined(torch.cat((u_BU, torch.relu(self.features(x_BL))), -1))


class VerticalNetwork(nn.Module):
    """The joined network: the server's features come first in a sample.

    Args:
        sizes: Features of the server, features of a client, hidden units, outputs u.

    Attributes:
        central: The server's part.
        local: The clients' part.
        num_global_features: Features of the server.
        num_central_outputs: Outputs u of the server's part.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.num_global_features, num_local_features, num_hidden, self.num_central_outputs = sizes
        self.central = nn.Sequential(
            Mlp((self.num_global_features, num_hidden, self.num_central_outputs)), nn.ReLU()
        )
        self.local = Head(self.num_central_outputs, num_local_features, num_hidden, self.num_central_outputs)

    def forward(self, x_BD: Tensor) -> Tensor:
        """Prediction, shape (batch, 1), of samples, shape (batch, the server's and the client's features)."""
        x_BG, x_BL = x_BD[..., : self.num_global_features], x_BD[..., self.num_global_features :]
        return self.local(torch.cat((self.central(x_BG), x_BL), -1))


class HorizontalNetwork(Head):
    """The client's part on its own.

    Args:
        sizes: Features of a client, hidden units, outputs of the first perceptron.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        num_local_features, num_hidden, num_outputs = sizes
        super().__init__(0, num_local_features, num_hidden, num_outputs)
