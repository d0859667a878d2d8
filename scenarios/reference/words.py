"""Words of cosim, docs/words.md: what each means, and where it lives.

A meaning is the first paragraph of the docstring at the word's home; only homes are listed here.
"""

import importlib
import inspect
from pathlib import Path
from typing import Any

from scenarios.reference.rows import first_line, table

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "words.md"

HOMES = {
    "allotment": "cosim.records.rows.Allotment",
    "assignment": "cosim.protocols.assignment.Assignment",
    "band": "cosim.radio.sharing.port.Band",
    "battery": "cosim.devices.battery.Battery",
    "cause": "cosim.engine.clients.availability.Cause",
    "cell": "cosim.jobs.cell",
    "checkpoint": "cosim.engine.store.checkpoint",
    "client": "cosim.jobs.cell.Client",
    "cloud": "cosim.protocols.servers.Cloud",
    "codec": "cosim.codecs.port.Codec",
    "cohort": "cosim.engine.learning.cohorts",
    "course": "cosim.links.traces.course",
    "critical path": "analysis.critical_path",
    "cycles": "cosim.devices.cycles",
    "data": "cosim.data.port.Data",
    "deadline": "cosim.waiting.deadlines.Deadline",
    "design": "cosim.studies.designs.Design",
    "digest": "cosim.recording.digest",
    "door": "cosim.doors",
    "draw": "cosim.clock.draws",
    "dropped": "cosim.clock.side_by_side.Dropped",
    "edge server": "cosim.jobs.cell.Edge",
    "end": "cosim.ends.port.End",
    "evaluation": "cosim.records.rows.Evaluation",
    "fading": "cosim.radio.fading",
    "fate": "cosim.records.rows.Fate",
    "fleet": "cosim.engine.clients.fleet",
    "flight": "cosim.engine.servers.flights",
    "form": "cosim.configuration.forms",
    "instant": "cosim.clock.instants",
    "job": "cosim.jobs.job.Job",
    "journal": "cosim.engine.store.journal",
    "kept model": "cosim.engine.store.kept_model",
    "kind": "cosim.configuration.kinds",
    "knob": "cosim.configuration.fields.knob",
    "learner": "cosim.engine.learning.learner",
    "level": "cosim.engine.learning.levels",
    "link": "cosim.links.port.Link",
    "load": "cosim.devices.load.Load",
    "machine": "cosim.links.machine.Machine",
    "metric": "cosim.tasks.metric.Metric",
    "own model": "cosim.engine.learning.own_models",
    "part": "cosim.configuration.fields.part",
    "part of a network": "cosim.values.submodels.Part",
    "payload": "cosim.jobs.payload.Payload",
    "pending value": "cosim.values.pending.PendingValue",
    "port": "cosim.configuration.port.Port",
    "presence": "cosim.devices.presence.Presence",
    "propagation": "cosim.radio.propagation.port.Propagation",
    "protocol": "cosim.protocols.port.Protocol",
    "provenance": "cosim.results.provenance",
    "record": "cosim.records.rows",
    "recorder": "cosim.recording.recorder",
    "resolver": "cosim.engine.learning.resolver",
    "result": "cosim.results.result.Result",
    "round": "cosim.records.rows.Round",
    "run": "cosim.engine.run.run",
    "schedule": "cosim.schedules.port.Schedule",
    "selection": "cosim.selection.port.Selection",
    "server update": "cosim.server_updates.port.ServerUpdate",
    "sharing": "cosim.radio.sharing.port.Sharing",
    "simulation": "cosim.clock.simulation.Simulation",
    "span": "cosim.records.rows.Span",
    "split": "cosim.data.splits",
    "staleness": "cosim.protocols.asynchronous.staleness",
    "start": "cosim.protocols.asynchronous.starts.Starts",
    "study": "cosim.studies.study.Study",
    "submodel": "cosim.values.submodels",
    "system": "cosim.system.System",
    "tally": "cosim.records.rows.Tally",
    "task": "cosim.tasks.port.Task",
    "topology": "cosim.topology.port",
    "trainee": "cosim.protocols.asynchronous.trainee.Trainee",
    "transfer": "cosim.records.rows.Transfer",
    "update": "cosim.values.pending.PendingUpdate",
    "upload": "cosim.links.upload.Upload",
    "version": "cosim.records.rows.Version",
    "waiting": "cosim.waiting.port",
    "way": "cosim.links.way",
    "workload": "cosim.protocols.servers.Workload",
}
"""Word -> the module, class or function whose docstring says what it means."""


def page() -> str:
    """The whole page, as Markdown."""
    rows = [(f"**{word}**", meaning(word), _link(home)) for word, home in HOMES.items()]
    return (
        "# Words\n\nMade from docstrings by `python -m scenarios.reference`; do not edit it by hand.\n\n"
        "Each word has one meaning, and lives in one place. Words of the field, such as client, round and "
        "staleness, mean what papers mean by them; [Architecture](architecture.md) shows how they work."
        "\n\n"
        f"{table(('word', 'meaning', 'lives in'), rows)}\n"
    )


def meaning(word: str) -> str:
    """First paragraph of the docstring at a word's home, without the word itself at its head."""
    text = first_line(_found(HOMES[word]))
    head, colon, rest = text.partition(": ")
    text = rest if colon and head.lower().rstrip("s") == word.rstrip("s") else text
    return text[:1].upper() + text[1:]


def _found(home: str) -> Any:
    """The module of a dotted name, or what is in it."""
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError:
        module, _, name = home.rpartition(".")
        return getattr(importlib.import_module(module), name)


def _link(home: str) -> str:
    file = Path(inspect.getsourcefile(_found(home)) or "").relative_to(ROOT).as_posix()
    return f"[`{home}`](../{file})"
