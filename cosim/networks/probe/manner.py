"""Manner: whether clients are trained together in one program, or one by one, and why.

Which it is follows from what is known of a network, or from a trial: two clients with other weights and other
samples each take two steps together, in the very program that would train them, and alone. What torch.func
cannot batch, and what comes out different, is trained client by client.

Scope and limitations: a trial of a few samples. What only some batches do to others, torch.func refuses in
every batch: an `if` on values, a boolean mask, `nonzero`.

Validation: tests/networks/probe/test_probe_manner.py.
"""

import re
import warnings

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.networks.own_networks import OwnNetworks
from cosim.networks.probe.kept import close, largest
from cosim.networks.probe.memory import moved
from cosim.networks.probe.outputs import told
from cosim.own_code.dropout import dropping_layers
from cosim.own_code.global_generators import alone
from cosim.tasks.port import Task
from cosim.training.programs.gradients import gradients_of
from cosim.training.training_set import TrainingSet, batching_of
from cosim.values.submodels import NetworkShape
from cosim.values.weights import own_weights

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
NUM_CLIENTS, NUM_SAMPLES, BATCH_SIZE, NUM_STEPS = 2, 4, 3, 2
"""Of a trial."""

ROUNDING = 1e-3
"""Share of a tensor's largest gradient by which gradients in float32 may differ; its square, of the largest
of all, for such as are 0 but for rounding. [no source]"""

NUDGE, AS_FAR, MOST_FAR = 1e-7, 3.0, 0.1
"""Batch norm over few samples makes more of a rounding. Where weights that are changed by the first share
move a gradient, up to the last share of the largest of all, it may differ `AS_FAR` times as far. [no
source]"""

LOOPS = "not yet implemented the batching rule"
"""Warning of torch.func where it calls an operation client by client."""


@attrs.frozen
class Manner:
    """How rules of the engine train clients; a train function of a user's own is called client by client.

    Attributes:
        together: True if one program trains many of them.
        why: The reason, in words.
        cannot_batch: Why torch.func cannot. None means that it can, or that it was not asked.
    """

    together: bool
    why: str
    cannot_batch: str | None = None

    @property
    def words(self) -> str:
        """Both, as a sentence without its full stop."""
        return (
            f"rules of the engine train clients {'together' if self.together else 'one by one'}: {self.why}"
        )


def manner_of(network: nn.Module, shape: NetworkShape, dataset: Dataset, task: Task, device: str) -> Manner:
    """How clients are trained.

    On a CPU dense layers gain from being trained together. Convolutions with weights of their own for every
    client are slower together, and where layers are frozen most of the work is one client's batch times
    common weights; such networks are trained client by client (benchmarks/submodels.py). So are networks with
    dropout, on every device, because a mask belongs to one client.

    Raises:
        ConfigurationError: They cannot be.
    """
    if getattr(network, "relu_layers", None) is not None and task.form == "cross_entropy":
        return Manner(True, "fully connected layers with ReLU between, whose products are batched by hand")
    trial = _Trial(network, shape, dataset, task)
    try:
        trial.left(0)
    except Exception as error:  # whatever a user's forward pass raises
        raise _untrainable(error, dataset, task) from None
    if dropping_layers(network):
        return Manner(False, "masks of dropout belong to one client")
    if device == "cpu" and any(isinstance(layer, CONVOLUTIONS) for layer in network.modules()):
        return Manner(False, "convolutions with weights of their own are faster so on a CPU")
    if device == "cpu" and any(not p.requires_grad for p in network.parameters()):
        return Manner(False, "what is frozen is common to all clients, which is faster so on a CPU")
    cannot_batch = trial.why_apart()
    if cannot_batch is None:
        return Manner(True, "torch.func batches the network")
    return Manner(False, f"torch.func cannot batch the network ({cannot_batch})", cannot_batch)


def _untrainable(error: Exception, dataset: Dataset, task: Task) -> ConfigurationError:
    """The refusal of a network that cannot be trained even alone."""
    fix = "Use a forward pass that autograd can go back through."
    if "does not require grad" in str(error):
        fix = "Use outputs that follow from parameters, without detach() and torch.no_grad()."
    elif batching_of(dataset, task) is not None:
        fix = "Use operations that torch.func can batch, as repeated rows cannot be trained otherwise."
    return ConfigurationError(
        f"the network takes samples of {dataset.name!r}, but cannot be trained on them ({told(error)}). {fix}"
    )


class _Trial:
    """Two clients of a few samples, from all over a training set."""

    def __init__(self, network: nn.Module, shape: NetworkShape, dataset: Dataset, task: Task) -> None:
        num_samples = NUM_CLIENTS * NUM_SAMPLES
        chosen = np.linspace(0, len(dataset.train_x) - 1, num_samples).astype(np.int64)
        train_y = None if dataset.train_y is None else dataset.train_y[chosen]
        few = attrs.evolve(dataset, train_x=dataset.train_x[chosen], train_y=train_y, train_owners=None)
        self._data, self._networks = TrainingSet(few, "cpu", task), OwnNetworks(network, "cpu")
        own = own_weights(network, shape)
        others = [moved(network, shape, seed) for seed in range(NUM_CLIENTS)]
        self._weights = [own | {name: other[name] for name in shape.parameters} for other in others]
        labels = 1 if dataset.train_y is not None else dataset.num_classes or 1
        self._samples = labels * np.arange(num_samples).reshape(NUM_CLIENTS, NUM_SAMPLES)

    def left(self, *clients: int) -> dict[str, list[Tensor]]:
        """Of clients that are trained together: every step's gradients, and what statistics became.

        By name, shapes (clients, ...).
        """
        return gradients_of(
            self._networks.of_this_thread().train(),
            [self._weights[client] for client in clients],
            self._data,
            [self._samples[client] for client in clients],
            clients,
            num_steps=NUM_STEPS,
            batch_size=BATCH_SIZE,
        )

    def why_apart(self) -> str | None:
        """Why these cannot be trained together; None if they can."""
        with alone(), warnings.catch_warnings(record=True) as warned:  # of which a process has one list
            warnings.filterwarnings("always", message=f".*{LOOPS}")
            try:
                together = self.left(*range(NUM_CLIENTS))
            except Exception as error:  # of torch.func, or of a module that meets its tensors
                return told(error)
        for warning in warned:
            if LOOPS in (words := str(warning.message)):
                operation = re.search(r"aten::\w+", words)
                return f"{operation.group() if operation else 'an operation'} goes over clients in a loop"
        for client in range(NUM_CLIENTS):
            by_itself = self.left(client)
            most = max(largest(own) for of in by_itself.values() for own in of[1:])
            of_client = {name: [of_all[client, None] for of_all in of] for name, of in together.items()}
            if _apart(of_client, by_itself, most) is None:
                continue
            if name := _apart(of_client, by_itself, most, self._nudged(client)):
                return f"the gradient of {name} would be another"
        return None

    def _nudged(self, client: int) -> dict[str, list[Tensor]]:
        """Gradients of a client by itself whose weights are rounded otherwise."""
        generator = torch.Generator().manual_seed(client)
        usual = self._weights[client]
        self._weights[client] = {
            name: values * (1.0 + NUDGE * torch.randn(values.shape, generator=generator))
            if values.is_floating_point()
            else values
            for name, values in usual.items()
        }
        try:
            return self.left(client)
        finally:
            self._weights[client] = usual


def _apart(
    found: dict[str, list[Tensor]],
    expected: dict[str, list[Tensor]],
    most: float,
    nudged: dict[str, list[Tensor]] | None = None,
) -> str | None:
    """Name of a tensor that is another one in a step, up to rounding; None if all are the same.

    Args:
        most: The largest gradient of all.
        nudged: What a rounding makes of the expected.
    """
    for name, of_steps in expected.items():
        for step, (one, other) in enumerate(zip(found[name], of_steps, strict=True)):
            far = 0.0 if nudged is None else largest(nudged[name][step] - other)
            least = AS_FAR * far if far <= MOST_FAR * most else 0.0
            if not close(one, other, ROUNDING, max(least, ROUNDING**2 * most)):
                return name
    return None
