"""Run options: how a run is asked for, beside its system and its network (`cosim.run`)."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import attrs

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import shown
from cosim.engine.learning.workers import workers_for
from cosim.engine.servers.cloud import VersionReport
from cosim.files.on_disk import place
from cosim.system.loading import SCENARIO
from cosim.system.needs import ClockKind, RecordsKind


def _at_least_1(_options: Any, attribute: Any, number: int | None) -> None:
    if number is not None and number < 1:
        raise ConfigurationError(f"run: {attribute.name} = {number}: must be at least 1. Leave it out.")


def _name_of_a_scenario(_options: Any, _attribute: Any, name: str | None) -> None:
    if name is not None and not re.fullmatch(SCENARIO, name):
        raise ConfigurationError(
            f"run: scenario = {shown(name)}: must be a scenario's name, or module:function. Use None; "
            "a title is progress=."
        )


@attrs.frozen(kw_only=True)
class RunOptions:
    """The options of `cosim.run`, which documents them; values that no run can have are refused."""

    checkpoint_every: int | None = attrs.field(validator=_at_least_1)
    num_workers: int | None = attrs.field(validator=_at_least_1)
    scenario: str | None = attrs.field(validator=_name_of_a_scenario)
    out: Path | None = attrs.field(converter=attrs.converters.optional(place))
    data_dir: Path | None = attrs.field(converter=attrs.converters.optional(place))
    device: str
    listener: Callable[[VersionReport], None]
    shuffle_ties: int | None
    clock: ClockKind
    records: RecordsKind
    resume: bool | Literal["as found"]
    keep: str
    group_rows: int
    progress: bool | str

    @property
    def num_threads(self) -> int:
        """Threads that learn."""
        return workers_for(self.device) if self.num_workers is None else self.num_workers

    @property
    def as_found(self) -> bool:
        """True if a complete run is read, and one that is missing is begun."""
        return self.resume == "as found"

    @property
    def title(self) -> str:
        """The run's name in progress and remarks."""
        return self.progress if isinstance(self.progress, str) else self.scenario or "run"

    @property
    def started_with(self) -> dict[str, Any]:
        """Options that config.json does not hold, so that a resumed run goes on in the same way."""
        return {
            "data_dir": None if self.data_dir is None else str(self.data_dir),
            "workers": self.num_workers,
            "device": self.device,
            "checkpoint_every": self.checkpoint_every,
            "clock": self.clock,
            "records": self.records,
            "keep": self.keep,
        }
