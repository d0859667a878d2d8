"""Networks: what the tools train, with the same first weights; and the loss of a model.

The network of a tool counts the samples of its forward passes in training, so that a run says how many steps
it took. cosim's does not: cosim counts by itself, and refuses a network that keeps something.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from typing_extensions import override

from benchmarks.peers import work


class Counting(nn.Sequential):
    """Layers of a work that count what they are trained on.

    Attributes:
        trained: Samples of each forward pass in training, in this process; a list, for its threads.
    """

    trained: ClassVar[list[int]] = []

    @override
    def forward(self, input: Tensor) -> Tensor:
        if self.training:
            Counting.trained.append(len(input))
        return super().forward(input)


def network(name: str, kind: type[nn.Sequential] = Counting) -> nn.Sequential:
    """Network of a work with its first weights."""
    shapes = work.SHAPES[name]
    if name == "W2":
        layers = [
            *(nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
        ]
    else:
        first, last = (nn.Linear(i, o, bias=False) for o, i in shapes.values())
        layers = [first, nn.ReLU(), last]
    found = kind(*layers)
    found.load_state_dict({key: torch.from_numpy(of) for key, of in work.first_weights(name).items()})
    return found


def client_steps(name: str) -> float:
    """Local steps that this process has taken."""
    return sum(Counting.trained) / work.LEARNING[name].batch_size


def test_loss(own: nn.Module, samples: work.Samples) -> float:
    """Cross entropy on the test samples."""
    own.eval()
    with torch.no_grad():
        return float(cross_entropy(own(torch.from_numpy(samples.test_x)), torch.from_numpy(samples.test_y)))
