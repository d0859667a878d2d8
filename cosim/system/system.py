"""System: the whole configuration of a run, and the network of nodes that it describes.

The defaults come from the HIST journal paper, Section VI.

Usage::

    system = System(num_cells=2, uplink=QueuedLink(), protocol=HFedAvg())
    wider = system.but(num_clients=24, bandwidth_hz=2e6)
    chosen = system.but({"selection.kind": "Oort"})
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

import attrs
from typing_extensions import override

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.codecs.uncompressed import Uncompressed
from cosim.configuration import Ask, Lack, at_least, knob, not_empty, not_negative, own_function, part, refuse
from cosim.configuration.going_together import DOWNLOADS_APART, EDGE_ROUNDS
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import Broken
from cosim.data.pictures.fashion_mnist import FashionMnist
from cosim.data.port import Data
from cosim.devices.cycles import Cycles, CyclesPerStep
from cosim.devices.drawn_devices import DrawnDevices
from cosim.devices.port import Devices
from cosim.display.short_tables import in_a_line, table
from cosim.ends.after import AfterRounds
from cosim.ends.evaluation_times import EvaluationTimes, EveryVersions
from cosim.ends.port import End
from cosim.links.fitting import check_directions
from cosim.links.instantaneous import Instantaneous
from cosim.links.port import Link
from cosim.protocols.hist import Hist
from cosim.protocols.port import Protocol
from cosim.radio.radio import Radio
from cosim.records.tables import SEEDS
from cosim.schedules.port import check_schedules
from cosim.system.changes import changed
from cosim.system.differences import NOTHING, differences, in_a_few_words
from cosim.system.fit import apart, check_asks, check_fit
from cosim.tasks.port import Task
from cosim.topology.disc import Disc
from cosim.topology.port import Topology, even_cells

_PARTS = ("protocol", "data", "devices", "uplink", "end")
_SHOWN = {"seed", "num_clients", "num_cells", "model", *(f"{part}.kind" for part in _PARTS)}
_LINE = 280
"""Letters of a system in a line, about."""


def _fits_tables(seed: Any) -> Broken | None:
    """A seed that tables can hold as a whole number of 64 bits."""
    return None if seed < SEEDS else Broken("must be below 2**63", "Use a smaller one, such as 1.")


@part
class System:
    """Everything that decides a run.

    Attributes:
        seed: Names the run's randomness. [no source]
        num_cells: Cells, each with an edge server. [HIST journal, Section VI-B]
        num_clients: Clients in all cells together, dealt as evenly as they go. [HIST journal, Section VI-A]
        cell_sizes: Clients of each cell, where they are not dealt evenly. None means evenly. [HIST journal,
            Section VI-A: evenly]
        model: Network by name: a family such as relu (no biases) or mlp (biases), then its layer sizes; or
            module:function, a function of your own that returns a torch.nn.Module. [HIST journal, Section
            VI-B]
        initial_weights: Drawn: what the network's own initialisation draws follows from the seed, and what it
            loads stays; network: the weights that a network of your own has, the same for every seed. [HIST
            journal: drawn]
        personal: Parts of the network that clients keep to themselves: names of layers or tensors; batch
            norm, for layers that have running statistics; running statistics, for these alone. [no source]
        data: What is learned, and which client holds which samples.
        task: What is minimised and reported. None means classification where samples have classes, regression
            where they have quantities. [HIST journal, Section VI-A: classification]
        topology: Where the nodes stand.
        devices: The clients' processors and transmitters.
        cycles: What a local step costs a processor. [HIST journal, Section VI-C: as much for every network]
        codec: What a model is on the air. [HIST journal, Section VI-B: uncompressed]
        model_codec: What models are on their way down. None means that they arrive as they are, with bits by
            codec. [no source]
        downlink: How models travel to the clients. [HIST journal, Section IV-A: at once]
        downloads_count: True if an edge round's deadline, its number of updates and energy budgets count the
            downloads; else all clients have received before the round's clock starts. [no source]
        uplink: How updates travel. [HIST journal, Section IV-A: by radio]
        protocol: Which clients train what, and how it is combined.
        end: When the run is over.
        evaluation: Which versions of the global model are evaluated on the test set, besides the first and
            the last; Never: timing only, nothing is learned.
    """

    lacks = (
        Lack(
            DOWNLOADS_APART,
            "downloads_count, and a downlink that takes time",
            lambda own: own.downloads_count and own.downlink.takes_time,
        ),
    )
    asks = (
        Ask(
            EDGE_ROUNDS,
            "lets the clients of an edge round wait for each other",
            "downloads_count = true",
            "downloads_count = false",
            lambda own: not own.downloads_count,
        ),
    )

    seed: int = knob(not_negative, _fits_tables, default=1)
    num_cells: int = knob(at_least(1), default=4)
    num_clients: int = knob(at_least(1), default=60)
    cell_sizes: tuple[int, ...] | None = knob(not_empty, at_least(1), default=None)
    model: str = knob(own_function, default="relu-784-300-10")
    initial_weights: Literal["drawn", "network"] = "drawn"
    personal: tuple[str, ...] = ()
    data: Data = FashionMnist()
    task: Task | None = None
    topology: Topology = Disc()
    devices: Devices = DrawnDevices()
    cycles: Cycles = CyclesPerStep()
    codec: Codec = Uncompressed()
    model_codec: ModelCodec | None = None
    downlink: Link = Instantaneous()
    downloads_count: bool = True
    uplink: Link = Radio()
    protocol: Protocol = Hist()
    end: End = AfterRounds()
    evaluation: EvaluationTimes = EveryVersions()

    def __attrs_post_init__(self) -> None:
        _check_magnitudes(self)
        if self.num_cells > self.num_clients:
            rule = f"is more than num_clients = {self.num_clients}, so some cells would have no client"
            raise refuse("System", "num_cells", self.num_cells, rule, f"Use at most {self.num_clients}.")
        if self.cell_sizes is not None and (len(self.cell_sizes), sum(self.cell_sizes)) != (
            self.num_cells,
            self.num_clients,
        ):
            rule = (
                f"must be {self.num_cells} numbers, one for each cell, that add up to num_clients = "
                f"{self.num_clients}"
            )
            raise refuse("System", "cell_sizes", self.cell_sizes, rule, "Use None for even cells.")
        for name, value in apart(self).items():
            object.__setattr__(self, name, value)
        check_schedules(self)
        check_directions(self)
        check_asks(self)
        check_fit(self)

    @override
    def __repr__(self) -> str:
        shown = self._shown()
        numbers = in_a_few_words(self, self._own(), _LINE - len(in_a_line("System", shown)))
        return in_a_line("System", shown | ({"not as by default": numbers} if numbers else {}))

    def _repr_html_(self) -> str:
        found = self._own().items()
        of = {path: own if usual == NOTHING else f"{own} (default: {usual})" for path, (own, usual) in found}
        return table("System", self._shown() | of)

    def _own(self) -> dict[str, tuple[str, str]]:
        """Fields of its own that are not as by default, without the ones that the summary shows."""
        found = self.differences().items()
        return {path: both for path, both in found if both[0] != NOTHING and path not in _SHOWN}

    def _shown(self) -> dict[str, str]:
        """Summary: the kinds of its main parts, and its size."""
        size = {"clients": f"{self.num_clients:,}", "cells": str(self.num_cells), "model": self.model}
        return {name: type(getattr(self, name)).__name__ for name in _PARTS} | size | {"seed": str(self.seed)}

    def differences(self, other: "System | None" = None) -> dict[str, tuple[str, str]]:
        """Fields in which it differs from another system, with their values in words, its own first.

        Args:
            other: The other system. None means one with all defaults.
        """
        return differences(self, System() if other is None else other)

    def but(self, changes: Mapping[str, Any] | None = None, /, **values: Any) -> Self:
        """The same system with other values of some fields, of its own or of its parts.

        Args:
            changes: Path of a field, or as much of its end as tells it from the others -> its value, such as
                {"selection.kind": "Oort"}; for names with a dot.
            values: The same by name, such as bandwidth_hz=2e6.

        Raises:
            ConfigurationError: There is no such field, a name fits several, or a value breaks a rule.
        """
        return changed(self, {} if changes is None else changes, **values)

    def sizes(self) -> tuple[int, ...]:
        """Clients of each cell."""
        return self.cell_sizes or even_cells(self.num_clients, self.num_cells)


def _check_magnitudes(config: Any) -> None:
    """Refuse numbers so large or so small that a product of a few of them could overflow or vanish."""
    for name in attrs.fields_dict(type(config)):
        value = getattr(config, name)
        if value is None or isinstance(value, str):
            continue
        if is_configuration(type(value)):
            _check_magnitudes(value)
            continue
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and number and not 1e-30 <= abs(number) <= 1e30:
                rule = "its magnitude must lie from 1e-30 to 1e30, or be 0"
                raise refuse(type(config), name, value, rule, "Check the unit.")
            if isinstance(number, int) and abs(number) > 2**32 and name != "seed":
                rule = "a whole number must be at most 2**32"
                raise refuse(type(config), name, value, rule, "Check the unit.")
