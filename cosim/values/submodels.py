"""Submodels: random disjoint parts of a network, one per cell, that add up to the whole.

A network declares groups of units (`unit_groups`: group name -> (tensor, axis) pairs): hidden units of dense
layers, channels of convolutions, ranks of adapters. A part holds some units of every group. Cutting a network
by a part keeps the rows and columns of its units: a smaller, dense network. Because no tensor is cut by two
groups, disjoint parts that cover all units hold each element of a cut tensor exactly once. [HIST journal,
Section II-B, Fig. 1b, equations 2, 3; Remark 1; Appendix A]

The tensors are the parameters that are trained, the running statistics of normalisation layers, which follow
their channels, and state of a network's own. Frozen parameters (which need no gradient) and constant buffers
(tables, masks) are no part of it: they never travel.

Scope and limitations: tensors that no group cuts (an output bias, convolutions of LeNet-5, the last matrix of
a network with an even number of hidden layers) are whole in every part. Equation 3 does not hold for them;
they are averaged over cells when a model is assembled. Shapes and indices only, for the event side; weights
are cut in `weights.py`.

Usage::

    shape = NetworkShape.of(network)
    upload_bits = 32 * shape.num_sent(Part({"hidden": [0, 2, 3]}))
"""

import math
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, Self

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError

Shapes = dict[str, tuple[int, ...]]
"""Tensor name -> its shape."""

CENTRAL, LOCAL = "central.", "local."
"""How the parameters of a network in two parts begin: the server's part, and the clients'."""

MEAN, VARIANCE = "running_mean", "running_var"
"""Names that normalisation layers give their running statistics."""


def _sorted_units(units: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    made = {}
    for group, indices in units.items():
        array = np.array(indices, dtype=np.int64)
        if array.ndim != 1 or len(array) == 0 or array[0] < 0 or (np.diff(array) <= 0).any():
            raise ConfigurationError(
                f"Part.units[{group!r}] = {array}: must be unit indices in rising order, at least one. "
                "Sort them."
            )
        array.flags.writeable = False
        made[group] = array
    return made


@attrs.frozen(eq=False)
class Part:
    """Units of the network that one cell trains.

    Attributes:
        units: Group name -> unit indices in rising order, shape (units of the cell,).
    """

    units: Mapping[str, NDArray[np.int64]] = attrs.field(converter=_sorted_units)


@attrs.frozen
class NetworkShape:
    """Names and shapes of a network's tensors and what its groups of units cut.

    Attributes:
        parameters: Trained parameter -> shape.
        unit_groups: Group name -> (tensor name, axis) pairs.
        num_central_outputs: Outputs of the server's part for one sample; 0 if the network has no such part.
        statistics: Running statistic -> shape.
        summed_statistics: Running statistic -> the group over whose units its layer's input is summed. What a
            part sees of such a sum is its share, so a part's statistics are its share of the whole's, and the
            shares of disjoint parts add up (variances as if units were uncorrelated).
        personal: Tensors that clients keep to themselves (`cosim.networks.personal`): they are part
            of a model and never travel.
        state: Any other buffer that training moves -> shape.
        whole_numbers: What of both a network holds as whole numbers or truths. A model has their mean, which
            is none; it is rounded where it is put into a network.

    Raises:
        ConfigurationError: a pair names no axis of a tensor, two cuts fall on one tensor, the axes of one
            group differ in length, or a summed statistic is none, or is cut.
    """

    parameters: Shapes
    unit_groups: Mapping[str, tuple[tuple[str, int], ...]] = attrs.field(factory=dict)
    num_central_outputs: int = 0
    statistics: Shapes = attrs.field(factory=dict)
    summed_statistics: Mapping[str, str] = attrs.field(factory=dict)
    personal: frozenset[str] = frozenset()
    state: Shapes = attrs.field(factory=dict)
    whole_numbers: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        cut_by: dict[str, str] = {}
        for group, cuts in self.unit_groups.items():
            for name, axis in cuts:
                if name not in self.tensors or not 0 <= axis < len(self.tensors[name]):
                    raise ConfigurationError(
                        f"unit_groups[{group!r}]: no axis {axis} of a tensor {name!r}. Known: {self.tensors}."
                    )
                if name in cut_by:
                    raise ConfigurationError(
                        f"unit_groups: {cut_by[name]!r} and {group!r} cut {name!r}, so parts would not add "
                        "up to the whole. Use groups on every second layer."
                    )
                cut_by[name] = group
            if len({self.tensors[name][axis] for name, axis in cuts}) != 1:
                raise ConfigurationError(
                    f"unit_groups[{group!r}]: its axes differ in length: {cuts}. Group axes of one length."
                )
        for name, group in self.summed_statistics.items():
            if name not in self.statistics or name in cut_by or group not in self.unit_groups:
                raise ConfigurationError(
                    f"summed_statistics: {name!r} over {group!r} must be a running statistic that no "
                    f"group cuts, and a group. Use one of {list(self.statistics)}, and one of "
                    f"{list(self.unit_groups)}."
                )

    @classmethod
    def of(cls, network: Any, statistics: Collection[str] | None = None, state: Collection[str] = ()) -> Self:
        """The shape of a `torch.nn.Module`; without `unit_groups` it cannot be split, only trained whole.

        Args:
            statistics: Buffers that are running statistics, besides the ones that the network declares. None
                means what layers call `running_mean` and `running_var` (`probe.buffers` knows better).
            state: Buffers that are state of its own.
        """
        buffers = dict(network.named_buffers())
        if statistics is None:
            statistics = {name for name in buffers if name.rpartition(".")[2] in (MEAN, VARIANCE)}
        statistics = {*statistics, *declared_statistics(network)}
        return cls(
            {name: tuple(p.shape) for name, p in network.named_parameters() if p.requires_grad},
            getattr(network, "unit_groups", {}),
            getattr(network, "num_central_outputs", 0),
            {name: tuple(v.shape) for name, v in buffers.items() if name in statistics},
            getattr(network, "summed_statistics", {}),
            state={name: tuple(v.shape) for name, v in buffers.items() if name in state},
            whole_numbers=tuple(
                name
                for name, values in buffers.items()
                if (name in state or name in statistics) and not values.is_floating_point()
            ),
        )

    @property
    def moving(self) -> Shapes:
        """Buffers that training moves without a gradient: running statistics, then state."""
        return self.statistics | self.state

    @property
    def tensors(self) -> Shapes:
        """Tensors of a model: trained parameters, then running statistics and state."""
        return dict(self._tensors)

    @cached_property
    def _tensors(self) -> Shapes:
        return self.parameters | self.moving

    @property
    def num_units(self) -> dict[str, int]:
        """Group name -> its number of units."""
        return {group: self._tensors[cuts[0][0]][cuts[0][1]] for group, cuts in self.unit_groups.items()}

    def cut(self, part: Part) -> Shapes:
        """Tensor name -> its shape within a part.

        Raises:
            ConfigurationError: the part and the network differ in their groups, or a unit is not there.
        """
        if part.units.keys() != self.unit_groups.keys():
            raise ConfigurationError(
                f"a part of groups {list(part.units)}, but the network has groups "
                f"{list(self.unit_groups)}. Use a part of this network."
            )
        shapes = self.tensors
        num_units = self.num_units
        for group, cuts in self.unit_groups.items():
            units = part.units[group]
            if units[-1] >= num_units[group]:
                raise ConfigurationError(
                    f"part of {group!r} names unit {units[-1]} of {num_units[group]}: there is no such "
                    f"unit. Use units below {num_units[group]}."
                )
            for name, axis in cuts:
                shape = list(shapes[name])
                shape[axis] = len(units)
                shapes[name] = tuple(shape)
        return shapes

    def num_parameters(self, part: Part | None = None) -> int:
        """Number of trained parameters of a part, or of the whole network for None."""
        return self._num_of(self.parameters, part)

    def num_values(self, part: Part | None = None) -> int:
        """Number of values of a model: trained parameters, running statistics and state."""
        return self._num_of(self._tensors, part)

    def num_sent(self, part: Part | None = None) -> int:
        """Number of values in an upload: all of a model that clients do not keep to themselves."""
        return self._num_of(self._tensors.keys() - self.personal, part)

    def num_coded(self, part: Part | None = None) -> int:
        """Number of values that a codec is given: what is trained. The others have 32 bits each."""
        return self._num_of(self.parameters.keys() - self.personal, part)

    def num_cut_parameters(self, group: str) -> int:
        """Number of trained parameters that a group of units cuts."""
        return self._num_of(self.parameters.keys() & dict(self.unit_groups[group]))

    def num_cut_values(self, group: str) -> int:
        """Number of values that a group of units cuts, running statistics included."""
        return self._num_of(dict(self.unit_groups[group]))

    @property
    def num_local_parameters(self) -> int:
        """Number of parameters that clients hold: all but the server's part."""
        return self._num_of({name for name in self.parameters if not name.startswith(CENTRAL)})

    def _num_of(self, names: Collection[str], part: Part | None = None) -> int:
        """Number of values of some tensors, in a part or in the whole network."""
        shapes = self._tensors if part is None else self.cut(part)
        return sum(math.prod(shapes[name]) for name in names)


def declared_statistics(network: Any) -> set[str]:
    """Names of what a network says that training moves or that a part has a part of, buffers among them."""
    cuts = getattr(network, "unit_groups", {}).values()
    names = {name for group in cuts for name, _ in group}
    return names | {*getattr(network, "summed_statistics", {}), *getattr(network, "moving_buffers", ())}
