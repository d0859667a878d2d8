"""Workload: what training and carrying a part of a model takes.

The one place where parameters become cycles and bits.

Scope and limitations: a codec that changes values codes updates; models, on their way down or over the
backhaul, have 32 bits a value then (`cosim.codecs.port`), unless the downlink codes them. Running
statistics and state are coded by nothing: 32 bits a value, everywhere.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cosim.clock.draws import Numbers
from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import FLOAT_BITS, Codec
from cosim.configuration import ConfigurationError, refuse
from cosim.devices.load import Costs, Load
from cosim.jobs.payload import Payload
from cosim.values.submodels import NetworkShape, Part, Shapes

if TYPE_CHECKING:
    from cosim.networks.flops import TrainingFlops


@attrs.frozen(kw_only=True, eq=False)
class Workload:
    """Operations and bits of training and carrying parts of a model.

    Attributes:
        flops: Operations of training.
        costs: Cost of a local step.
        model_codec: What models are on their way down. None means that they are the same as elsewhere.
    """

    shape: NetworkShape
    flops: "TrainingFlops"
    codec: Codec
    costs: Costs
    model_codec: ModelCodec | None = None

    def of(self, part: Part | None = None, companions: Shapes | None = None) -> Load:
        if part is not None:
            self._refuse_personal("a cell has other units of the model in every global round")
        return self._of(part, companions) if part is not None or companions else self._whole

    @cached_property
    def _whole(self) -> Load:
        return self._of(None, None)  # asked for by every cell, and by every job of an asynchronous run

    def _of(self, part: Part | None, companions: Shapes | None) -> Load:
        num_beside = sum(map(math.prod, (companions or {}).values()))
        num_coded, num_sent = self.shape.num_coded(part), self.shape.num_sent(part)
        own = self.shape.num_parameters(part), self.shape.num_values(part)
        counts = lambda: self.flops.of(part), lambda: self.flops.activation_bits(part)
        return self._load(num_coded + num_beside, num_sent - num_coded, *own, counts)

    def of_clients_part(self, num_samples: int) -> Load:
        self._refuse_personal("a part of the model is the server's")
        num_own, num_beside = self.shape.num_local_parameters, num_samples * self.shape.num_central_outputs
        counts = self.flops.of_clients_part, self.flops.activation_bits_of_clients_part
        return attrs.evolve(self._load(num_own + num_beside, 0, num_own, num_own, counts), fraction=1.0)

    def _refuse_personal(self, why: str) -> None:
        if self.shape.personal:
            names, rule = tuple(sorted(self.shape.personal)), f"clients keep it, but {why}"
            raise refuse(
                "System", "personal", names, rule, "Use HFedAvg, whose clients train the whole model."
            )

    def by_units(self, group: str) -> tuple[Load, Load]:
        shape, num_units = self.shape, self.shape.num_units[group]
        num_cut, num_cut_values = (
            sum(map(count, shape.num_units)) for count in (shape.num_cut_parameters, shape.num_cut_values)
        )
        uncut = (shape.num_parameters() - num_cut, shape.num_values() - num_cut_values)
        unit = (num_cut / num_units, num_cut_values / num_units)

        def planned(num_parameters: float, num_values: float) -> Load:
            return self._load(num_parameters, num_values - num_parameters, num_parameters, num_values)

        return planned(*uncut), planned(*unit)

    def check(self, clients: Numbers) -> None:
        """Refuse steps that take no cycles, and a network that cannot be coded, before the clock starts.

        Raises:
            ConfigurationError: The client whose steps take no cycles, or the network, and the fix.
        """
        self.codec.check(self.shape)
        cycles = self.of().step_cycles(clients, 1)
        for place in np.flatnonzero(~((cycles > 0.0) & (cycles < math.inf))).tolist():
            raise ConfigurationError(
                f"System.cycles: a local step of {clients[place]} on one sample takes "
                f"{cycles[place]:g} cycles: must be a finite number above 0. Use another rule or value.",
                "System.cycles",
            )

    def _load(
        self,
        num_coded: Any,
        num_moving: float,
        num_parameters: float,
        num_values: float,
        counts: tuple[Callable[[], int], Callable[[], int]] | None = None,
    ) -> Load:
        """Load of coded values, and of running statistics and state beside them.

        Args:
            counts: Of operations of a sample, and of bits of its activations. None means a planner's load, of
                parts of a number and of a bit.
        """
        codec, down = self.codec, self.model_codec
        if counts is None:
            model, upload = codec.model_bits(num_coded), codec.bits(num_coded)
            download = model if down is None else down.bits(num_coded)
        else:
            model, upload = codec.model_payload(num_coded).bits, codec.payload(num_coded).bits
            download = model if down is None else down.payload(num_coded).bits
        num, moving_bits = num_coded + num_moving, FLOAT_BITS * num_moving
        return Load(
            model=Payload(num, model + moving_bits),
            download=Payload(num, download + moving_bits),
            upload=Payload(num, upload + moving_bits),
            coding_cycles=0.0 if counts is None else codec.cycles(num_coded),
            fraction=num_parameters / self.shape.num_parameters(),
            sample_flops=_unknown if counts is None else counts[0],
            num_values=num_values,
            num_parameters=num_parameters,
            activation_bits=_unknown if counts is None else counts[1],
            costs=self.costs,
        )


def _unknown() -> int:
    raise ConfigurationError(
        "System.cycles: the operations of units that are not chosen yet are unknown. Use CyclesPerStep.",
        "System.cycles",
    )
