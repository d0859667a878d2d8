"""Recorded: gradients of a network as the torch operations that autograd calls, to be compiled (`compiled`).

Autograd and torch.func call Python again in every step: for a small network that takes longer than its
products, and threads wait for Python's lock. The operations of a step are the same in each one as long as
the shapes are. So they are recorded once, forward and back, and compiled with the step that follows.

A recording is used only where nothing else could come of it:

- The steps before it are taken by autograd. One more batch passes three times from the same values: by
  autograd, while it is recorded, and as the compiled recording. Gradients, buffers and parameters must have
  the same bits.
- A step that draws, looks at values or takes a tensor from elsewhere is not recorded (`transcript`).
- Code of a user's own (`cosim.own_code.known_code`) passes without values before, where what looks at them
  fails. It is recorded again for each cohort, on its first batch; where an operation or a number in one is
  another, autograd is used from then on.

Scope and limitations: on a CPU, which is slower at calls than at small products. Recordings belong to a copy
of a network, and so to a thread. Networks with dropout are not recorded: their masks come from elsewhere, and
another pass would draw more.

Validation: tests/training/test_recorded.py; speed in benchmarks/learner.py and benchmarks/submodels.py.
"""

import sys
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import attrs
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules import module

from cosim.own_code.dropout import dropping_layers
from cosim.own_code.known_code import is_known
from cosim.own_code.unchanged import differ
from cosim.training.programs.compiled import of_source
from cosim.training.programs.steps import CompiledStep
from cosim.training.programs.transcript import written
from cosim.values.weights import Weights, tensors_of

LEAST_STEPS = 10
"""Steps of a shape before it is recorded, which takes about as long. [no source]"""

LEAST_BEFORE_AN_IMPORT, COMPILER = 1000, "torch._dynamo"
"""Steps of a shape before a pass without values imports torch's compiler, which takes as long. [no source]"""

MOST_SHAPES = 128
"""Shapes that are known of a network at a time: as many as have room among the compiled. [no source]"""

LEAST_OF_OWN = 4
"""Steps of a cohort for which it is worth recording a user's own code once more. [no source]"""


class Batch(NamedTuple):
    """Tensors from which the gradients of a step follow.

    Attributes:
        parameters: Values of the parameters.
        buffers: Of running statistics and state.
        x: Features.
        y: Classes or targets.
    """

    parameters: list[Tensor]
    buffers: list[Tensor]
    x: Tensor
    y: Tensor

    def copy(self) -> "Batch":
        """The same values in memory of its own."""
        values, buffers = ([of.clone() for of in own] for own in (self.parameters, self.buffers))
        return Batch(values, buffers, self.x.clone(), self.y.clone())

    @property
    def look(self) -> Hashable:
        """Shapes, types and order in memory."""
        tensors = (*self.parameters, *self.buffers, self.x, self.y)
        return len(self.parameters), *((of.shape, of.stride(), of.dtype) for of in tensors)


Gradients = Callable[[Batch], list[Tensor]]
"""Gradients of the parameters, then the buffers as the pass leaves them."""

_HOOKS_OF_ALL = module._global_forward_hooks, module._global_forward_pre_hooks
"""Hooks that torch calls for every module."""


@attrs.define
class _Shape:
    """State of a network for one shape of cohort.

    Attributes:
        num_steps: Steps that were asked for.
        source: The recording, if there is one.
        is_over: True if there will be none.
        is_known: True if there is no code of a user's own.
    """

    num_steps: int = 0
    source: str | None = None
    is_over: bool = False
    is_known: bool = False


_found: WeakKeyDictionary[nn.Module, dict[Hashable, _Shape]] = WeakKeyDictionary()


class Recorded:
    """A recording that holds for a cohort.

    Args:
        source: Its gradients.
        constants: Tensors of the network that it is given beside its batch.
    """

    def __init__(self, source: str, constants: list[Tensor]) -> None:
        self._source, self._constants = source, constants

    def gradients(self, batch: Batch) -> list[Tensor]:
        """Gradients, and buffers after the pass."""
        parameters, buffers, x, y = batch
        with torch.enable_grad():  # without it an LSTM leaves nothing for its way back
            return of_source(self._source, "gradients")(parameters, buffers, self._constants, x, y)

    def take_steps(
        self,
        parameters_C: Weights,
        first: Batch,
        x_ND: Tensor,
        y_N: Tensor,
        batches: Sequence[Tensor],
        step: CompiledStep,
    ) -> list[Tensor]:
        """Take all steps in place on the parameters; returns the buffers.

        Args:
            parameters_C: Name -> the clients' values, shape (clients, ...).
            first: Parameters as the network takes them, in the same memory, and the first buffers.
            x_ND: Training samples.
            y_N: Their classes or targets.
            batches: Sample indices of each step.
            step: Step that uses the gradients.
        """
        none = x_ND.new_empty(0)
        take = of_source(self._source, "take_steps", *step.functions, take_steps)
        nones = [none] * len(parameters_C)
        own = [*first.parameters], [*first.buffers], self._constants
        with torch.enable_grad():  # as above
            return take(x_ND, y_N, [*batches], *own, step.places, [*nones, none], nones, step.numbers)


def recorded(
    network: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    gradients: Gradients,
    names: Sequence[str],
    first: Batch,
    num_steps: int,
) -> Recorded | None:
    """A recording that a cohort may be trained by; None if there is none, or not yet.

    Args:
        network: The calling thread's own.
        loss: Mean loss of a batch, from outputs and targets.
        gradients: Gradients by autograd; it changes no more of its batch than a pass of the network does.
        names: Tensors of the network that are in the batch; the others are constants.
        first: The cohort's first batch; copies of it are used.
        num_steps: Steps of the cohort.
    """
    if first.x.device.type != "cpu":
        return None
    shapes = _found.setdefault(network, {})
    if len(shapes) > MOST_SHAPES:  # submodels may have another one in each round
        shapes.clear()
    found = shapes.setdefault((loss, *names, first.look), _Shape())
    if found.is_over:
        return None
    in_batch = set(names)
    constants = [of for name, of in tensors_of(network).items() if name not in in_batch]
    if found.source is None:
        found.num_steps += num_steps
        if found.num_steps < LEAST_STEPS:
            return None
        found.is_known = is_known(network, loss, *_HOOKS_OF_ALL)
        may_import = COMPILER in sys.modules or found.num_steps >= LEAST_BEFORE_AN_IMPORT
        if not (found.is_known or may_import):
            return None
        if not dropping_layers(network):
            found.source = _tried(gradients, first, constants, found.is_known)
    elif not found.is_known:
        if num_steps < LEAST_OF_OWN:
            return None
        if _recording(gradients, first.copy(), constants) != found.source:
            found.source = None
    found.is_over = found.source is None
    return None if found.source is None else Recorded(found.source, constants)


def _looks_at_no_values(gradients: Gradients, first: Batch) -> bool:
    """True if a pass needs none."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        mode.cache_enabled = False  # it keeps every operation of every shape until the process ends

        def fake(values: Tensor) -> Tensor:
            return mode.from_tensor(values)

        own = [*map(fake, first.parameters)], [*map(fake, first.buffers)]
        try:
            gradients(Batch(*own, fake(first.x), fake(first.y)))
        except Exception:  # of any kind: the pass is the user's own
            return False
    return True


def _tried(gradients: Gradients, first: Batch, constants: list[Tensor], is_known: bool) -> str | None:
    """A recording that has the bits of autograd."""
    by_autograd, compiled = first.copy(), first.copy()
    expected = gradients(by_autograd)  # first, so that what a network makes once has values
    if not (is_known or _looks_at_no_values(gradients, first)):
        return None
    source = _recording(gradients, first.copy(), constants)
    if source is None:
        return None
    try:
        found = Recorded(source, constants).gradients(compiled)
    except Exception:  # an operation that TorchScript has not, or calls otherwise
        return None
    one = (*expected, *by_autograd.parameters, *by_autograd.buffers)
    other = (*found, *compiled.parameters, *compiled.buffers)
    return None if any(map(differ, one, other)) else source


def _recording(gradients: Gradients, batch: Batch, constants: list[Tensor]) -> str | None:
    given = {"x": batch.x, "y": batch.y}
    for kind, tensors in (
        ("parameters", batch.parameters),
        ("buffers", batch.buffers),
        ("constants", constants),
    ):
        given |= {f"{kind}[{number}]": tensor for number, tensor in enumerate(tensors)}
    return written(given, partial(gradients, batch))


def take_steps(
    x_ND: Tensor,
    y_N: Tensor,
    batches: list[Tensor],
    parameters: list[Tensor],
    buffers: list[Tensor],
    constants: list[Tensor],
    places: list[list[Tensor]],
    lefts: list[Tensor],
    wholes: list[Tensor],
    numbers: list[list[float]],
) -> list[Tensor]:
    """Take all steps of a `CompiledStep` along recorded gradients."""
    for batch in batches:
        if batch.dim() == 1:
            x, y = x_ND.index_select(0, batch), y_N.index_select(0, batch)
        else:
            x, y = x_ND[batch], y_N[batch]
        found = gradients(parameters, buffers, constants, x, y)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        buffers = found[len(parameters) :]
        rights = found[: len(parameters)]
        if batch.dim() == 1:
            rights = [of.unsqueeze(0) for of in rights]
        move(places, lefts, rights, wholes, numbers)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    return buffers
