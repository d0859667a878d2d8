"""The reference, docs/reference.md, out of the code: configuration, tables, functions, commands.

    python -m scenarios.reference

writes it again. Descriptions, units, defaults and sources come from the classes; only the meaning of columns
is said here, because a record's columns have no room for it.
"""

import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs
import docstring_parser

import cosim
from cosim.configuration.forms import is_base
from cosim.configuration.kinds import is_configuration, kinds_of
from cosim.records import job_costs
from cosim.records.rows import (
    Allotment,
    Applied,
    ClientTotals,
    Evaluation,
    Fate,
    Round,
    Span,
    Tally,
    Traffic,
    Transfer,
    Version,
)
from cosim.results.summary import CHECKSUMS, Summary
from cosim.studies import table as table_of_runs
from cosim.units import unit_of
from scenarios.command_line import commands, convert, looking, reproductions, run
from scenarios.command_line import study as study_command
from scenarios.command_line import table as table_command
from scenarios.command_line.catalogue import ROOMS, catalogue, find
from scenarios.command_line.scenario import FOR_SCENARIOS
from scenarios.reference import matrix as matrix
from scenarios.reference import words as words
from scenarios.reference.rows import first_line, functions, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"
COMMAND = "python -m scenarios.reference"

COLUMNS = {
    "node": "name of the node: cloud, edge-00, client-0000",
    "activity": "what: train, send, wait, receive, backhaul, collect, listen",
    "start_s": "when it began",
    "end_s": "when it ended",
    "energy_j": "energy that it took; of an evaluation or a run, of all clients up to then",
    "job": "number of the client's job; -1: of none",
    "outcome": "done, or the reason why it was cut short",
    "client": "name of the client",
    "edge": "edge server of the client's cell",
    "global_round": "number of the global round, from 1; 0: before the first; -1: none",
    "edge_round": "number of the edge round in it, from 0; -1: none",
    "payload_bits": "what was to be sent",
    "sent_bits": "what had been sent when it ended; of a download, what had come",
    "arrived": "true if all of it had",
    "direction": "up: from the client; down: to it",
    "time_s": "instant; of a run, the end of its last global round",
    "is_able": "true if it could do one step within deadline and budget",
    "is_selected": "true if the plan takes it",
    "num_steps": "local steps that it is asked for",
    "frequency_hz": "CPU frequency: of a plan what it is asked for, of a client its highest",
    "tx_power_w": "transmit power: of a plan what it is asked for, of a client its highest",
    "planned_s": "how long that will take",
    "planned_j": "what it will cost",
    "server": "server that has applied it: cloud, edge-00",
    "started_version": "version of the server's model that it started from",
    "made_version": "version that it is in",
    "staleness": "versions made between; 0: it started from the one before",
    "weight": "factor of the client's change, or of its model, in that version",
    "arrival_s": "when it was with the server",
    "applied_s": "when that version was made",
    "station": "name of the station",
    "num_packets": "packets that came to it",
    "num_lost": "packets that left without service",
    "num_client_packets": "packets of clients among all that came",
    "num_lost_client_packets": "packets of clients among all that were lost",
    "num_in_flight": "jobs that had begun and were in no version, nor are in this one",
    "kind": "name of its kind in a mixture or a table of devices; no column where devices have no kinds",
    "distance_m": "distance from its edge server",
    "snr_db": "mean SNR in the whole band at its highest power, before fading; no column without one",
    "num_samples": "training samples that it held at the end; no column in a run of timing only",
    "num_labels": "distinct classes among them; no column where no classes are learned",
    "num_jobs": "jobs that had ended: arrived, late or left",
    "num_late": "jobs that a server or a deadline cut off or dropped",
    "num_left": "jobs that ended since the client left, or its battery or energy budget was empty",
    "level": "edge or global",
    "num_wanted": "participants that were wanted",
    "num_present": "clients of the cell that were present when it began",
    "num_participants": "participants that there were",
    "num_arrived": "updates that arrived in time",
    "num_trained": "clients that had trained and begun to send",
    "train_s": "time that they trained, sum over clients",
    "wait_s": "time until uploads and downloads were granted; of an edge round, sum over clients",
    "send_s": "time that they sent, sum over clients",
    "idle_s": "time that they idled before it, since their last activity, sum over clients",
    "sleep_s": "time that they slept before it, sum over clients",
    "train_j": "energy of the training",
    "wait_j": "energy of waiting to send",
    "send_j": "energy of the sending",
    "idle_j": "energy of the idling",
    "sleep_j": "energy of the sleep",
    "upload_p10_s": "from the end of training to that of the upload: a tenth take at most so long",
    "upload_p50_s": "half of them do",
    "upload_p90_s": "nine tenths of them do",
    "upload_max_s": "all of them do; none: no upload has ended",
    "receive_s": "time that they received, sum over clients",
    "receive_j": "energy of the receiving",
    "received_bits": "what had come of their downloads when the round ended",
    "version": "which model: the global round after which it was made; 0: before the first",
    "accuracy": "of a classification: share of the test set, or of a client's part of it, that is right",
    "perplexity": "of next tokens: exponential of the mean cross entropy on the test set",
    "loss_nats": "of a classification: mean cross entropy on the test set",
    "test_mse": "of a regression: mean squared error on the test set",
    "train_mse": "of a regression: mean squared error on the training set",
    "error_ratio": "of a regression: sum of absolute errors over sum of absolute targets, test set",
    "scores": "column -> value of the last evaluation; none: empty",
    "measures": "column -> what that means: words, whether higher is better, whether it is a share",
    "checksums": "table -> SHA-256 of its file; one that has another is not what the run has written",
    "bits_per_client": "bits sent up to then, dropped uploads included, mean over clients",
    "received_bits_per_client": "bits received, what was cut included, mean over clients",
    "latest_s": "instant at which the run's end stops the clock in any case; nan without one",
    "protocol": "kind of its protocol, by whose rule versions are made",
    "kept_version": "version of the model whose weights the folder keeps; -1: none",
    "status": "complete, running, interrupted or failed; of a study's run also waiting",
    "num_global_rounds": "global rounds that have ended",
    "num_updates": "updates that were asked for",
    "num_dropped": "updates that did not arrive in time",
    "design": "number of the design, from 0",
    "name": "what tells it from the others, in words",
    "seed": "seed of the run",
    "error": "why it failed, or empty",
    "folder": "run folder within the study's",
    "base": "name of the system that the design changes; base where it has none",
    "last_version": "version of the last evaluation",
    "is_diverged": "true if a score of its last evaluation is no finite number",
    "time_to_0.8_s": "simulated time of the evaluation that reaches a target of 0.8; so for each target",
    "energy_to_0.8_j": "energy of all clients up to then",
    "bits_per_client_to_0.8": "bits sent up to then, mean over clients",
    "versions_to_0.8": "version that was evaluated then",
}
"""Meaning of each column, whichever table it is in."""


def page() -> str:
    """The whole reference, as Markdown."""
    parts = (_head(), *_configuration(), *_tables_of_a_run(), *functions(), *_commands())
    return "\n\n".join(parts) + "\n"


def _head() -> str:
    return (
        f"# Reference\n\nMade from the code by `{COMMAND}`; do not edit it by hand.\n\n"
        "[Configuration](#configuration), [tables of a run](#tables-of-a-run), [functions](#functions), "
        "[commands](#commands)."
    )


def _configuration() -> Iterator[str]:
    yield (
        "## Configuration\n\n"
        "Everything that a run can be told. On the command line a field is an option named by its path, such "
        "as `--uplink.sharing.bandwidth-hz 5e6`; in Python it is `cosim.evolve`. `cosim show SCENARIO` "
        'prints the values of a scenario. *Source* says where a default comes from; "no source" marks a '
        "choice of ours."
    )
    for cls in configurations():
        rows = [
            (
                f"`{attribute.name}`",
                _type(attribute.type),
                unit_of(attribute.name),
                _default(attribute.default),
                *_described(cls, attribute.name),
            )
            for attribute in attrs.fields(cls)
        ]
        shown = table(("field", "type", "unit", "default", "what", "source"), rows) if rows else "No fields."
        yield f"### {cls.__name__}\n\n{first_line(cls)} Module `{cls.__module__}`.\n\n{shown}"


def configurations() -> list[type]:
    """Every configuration class that a system can hold or name, the system first, each before its parts."""
    found: list[type] = []

    def visit(annotation: Any) -> None:
        if is_configuration(annotation) and annotation not in found:
            found.append(annotation)
            for attribute in attrs.fields(annotation):
                visit(attribute.type)
            for kind in kinds_of(annotation):
                visit(kind)
        for argument in typing.get_args(annotation):
            visit(argument)

    visit(cosim.System)
    visit(cosim.tasks.Metric)
    return found


def _type(annotation: Any) -> str:
    """A field's type in words, and the choices of one that has some."""
    arguments = typing.get_args(annotation)
    if is_base(annotation):
        return " or ".join(map(_type, kinds_of(annotation)))
    if is_configuration(annotation):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if typing.get_origin(annotation) is Literal:
        return " / ".join(f"`{choice}`" for choice in arguments)
    if typing.get_origin(annotation) is tuple:
        kind = _type(arguments[0])
        return f"list of {kind}s" if arguments[-1] is Ellipsis else f"{len(arguments)} {kind}s"
    if typing.get_origin(annotation) is Mapping:
        return "object"
    if arguments:
        return " or ".join(map(_type, arguments))
    names = {int: "whole number", float: "number", str: "text", bool: "true or false", types.NoneType: "none"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _default(value: Any) -> str:
    if value is attrs.NOTHING:
        return "required"
    if is_configuration(type(value)):
        fields = attrs.fields_dict(type(value))
        own = {name: getattr(value, name) for name in fields if getattr(value, name) != fields[name].default}
        return f"{type(value).__name__}({', '.join(f'{name}={of!r}' for name, of in own.items())})"
    if isinstance(value, tuple):
        return ", ".join(map(_default, value)) or "nothing"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _described(cls: type, name: str) -> tuple[str, str]:
    """Description of a field in a docstring, its own or a base's, and the source in brackets."""
    for owner in cls.__mro__:
        for param in docstring_parser.parse(owner.__doc__ or "").params:
            if param.arg_name == name:
                text, _, source = " ".join((param.description or "").split()).partition(" [")
                return text, source.removesuffix("]")
    return "", ""


def _tables_of_a_run() -> Iterator[str]:
    yield (
        "## Tables of a run\n\n"
        "A run folder holds them as Parquet; `cosim.Result.load` reads them as pandas tables. Beside them "
        "lie `config.json`, which reloads to the same run, `provenance.json`, and, where something is "
        "learned, `checkpoint.npz`."
    )
    scores = [column for kind in kinds_of(cosim.tasks.Task) for column in kind().measures()]
    numbers = dict.fromkeys((*scores, "energy_j", "bits_per_client"), float)
    for file, record in (
        ("spans.parquet", Span),
        ("transfers.parquet", Transfer),
        ("fates.parquet", Fate),
        ("plans.parquet", Allotment),
        ("rounds.parquet", Round),
        ("tallies.parquet", Tally),
        ("versions.parquet", Version),
        ("updates.parquet", Applied),
        ("clients.parquet", ClientTotals),
        ("stations.parquet", Traffic),
        ("evaluations.parquet", Evaluation),
        ("summary.json", Summary),
    ):
        kinds = typing.get_type_hints(record)
        if record is Evaluation:
            kinds = {"time_s": float, "version": int} | numbers
        if record is Applied:
            kinds = kinds | dict.fromkeys(job_costs.COLUMNS, float)
        if record is Summary:
            kinds = kinds | {CHECKSUMS: kinds["measures"]}
        rows = [_column(name, _type(kind)) for name, kind in kinds.items()]
        shown = table(("column", "type", "unit", "what"), rows)
        yield f"### {file}\n\n{first_line(record)}\n\n{shown}"
    of_target = table_of_runs.target_columns("0.8").values()
    columns = table_of_runs.COLUMNS | dict.fromkeys([*scores, *of_target], "float64")
    rows = [_column(name, dtype) for name, dtype in columns.items()]
    rows.append(
        ("`field.PATH`", "text", "", "value of a field of the grid, as JSON; `analysis.load` reads it")
    )
    yield (
        "### runs.parquet\n\nThe table of a study, one row per run; what a run lacks is not a number. "
        "`analysis.load` adds `dropped_share`. Where a target has to hold for 2 evaluations, its columns say "
        f"`0.8_held_2`.\n\n{table(('column', 'type', 'unit', 'what'), rows)}"
    )


def _column(name: str, kind: str) -> tuple[str, ...]:
    return f"`{name}`", kind.replace("str", "text"), unit_of(name), COLUMNS[name]


def _commands() -> Iterator[str]:
    yield f"## Commands\n\n```text\n{commands.USAGE}```"
    for command in ROOMS:
        names = catalogue(command)
        rows = [(f"`cosim {command} {name}`", first_line(find(command, name))) for name in names]
        yield f"### cosim {command}\n\n{table(('command', 'question'), rows)}"
        if command == "run":
            paper = [f"`{name}`" for name in names if hasattr(find("run", name), "paper_scale")]
            yield (
                f"{_options(run.Options, run.ANYWHERE)}\n\nEvery field of the configuration is an option "
                "too, and `--PATH.kind CLASS` puts another class into a field that takes several. "
                f"`--paper-scale`: {', '.join(paper)}."
            )
        else:
            yield from _options_of_each(command)
    rows = [
        (f"`cosim data convert {name}`", first_line(function)) for name, function in convert.formats().items()
    ]
    yield (
        "### cosim data convert\n\nEach is a function of `cosim.formats`; its keyword arguments are options."
        "\n\n"
        f"{table(('command', 'files'), rows)}"
    )
    for name, options, anywhere in (
        ("study", study_command.Options, FOR_SCENARIOS),
        ("table", table_command.Options, {}),
        ("report", looking.ReportOptions, {}),
        ("trace", looking.TraceOptions, {}),
    ):
        yield f"### cosim {name}\n\n{_options(options, anywhere)}"


def _options_of_each(command: str) -> Iterator[str]:
    """The options of reproductions or validations, together where they are the same class."""
    if command == "reproduce":
        yield (
            f"`{reproductions.ALL}` in the place of a name: all of them, one after the other, and one table. "
            f"{reproductions.CODES}"
        )
    owners: dict[type, list[str]] = {}
    for name in catalogue(command):
        owners.setdefault(find(command, name).Options, []).append(f"`{name}`")
    for options, of in owners.items():
        yield f"Options of {', '.join(of)}:\n\n{_options(options)}"


def _options(cls: type, anywhere: Mapping[str, str] | None = None) -> str:
    rows = [
        (f"`{option}`", "", "", f"{what[0].upper()}{what[1:]}.") for option, what in (anywhere or {}).items()
    ]
    for attribute in attrs.fields(cls):
        text, _ = _described(cls, attribute.name)
        option = f"`--{attribute.name.replace('_', '-')}`"
        rows.append((option, unit_of(attribute.name), _default(attribute.default), text))
    return table(("option", "unit", "default", "what"), rows)
