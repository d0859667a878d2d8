"""Damaged configurations: each is refused in one line, or gives a whole run with finite tables."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosim import (
    AfterRounds,
    ConfigurationError,
    EdgeTraining,
    FashionMnist,
    GivenSnr,
    HFedAvg,
    Hist,
    QueuedLink,
    Radio,
    Rayleigh,
    Sgd,
    System,
    WaitForAll,
    run,
)
from cosim.configuration import to_dict
from cosim.data import Synthetic
from cosim.radio import LinkBudget
from cosim.topology import Disc
from cosim.training.local_steps import SameSteps
from cosim.waiting import UploadDeadline
from scenarios.command_line.run import read_config
from scenarios.papers.vhfl import CellTraffic, Traffic, Vhfl

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

NUM_BATCHES, BATCH = 6, 100
BAND, SNR = "uplink.sharing.bandwidth", "uplink.link.snr_db"
TRAINING = EdgeTraining(
    num_edge_rounds=1, steps=SameSteps(num_local_steps=2), local=Sgd(batch_size=5, learning_rate=0.1)
)
SMALL = tuple(
    System(
        num_cells=2,
        num_clients=4,
        cell_sizes=cell_sizes,
        model=model,
        data=Synthetic(),
        topology=Disc(backhaul_rate_bps=1e6),
        uplink=Radio(link=link, fading=Rayleigh(num_antennas=2)),
        protocol=protocol,
        end=AfterRounds(num_global_rounds=rounds),
    )
    for cell_sizes, model, link, protocol, rounds in (
        (None, "relu-12-8-4", GivenSnr(), Hist(training=TRAINING), 1),
        ((1, 3), "mlp-12-6-4", LinkBudget(), HFedAvg(training=TRAINING), 2),
    )
)
QUEUED = System(
    num_cells=1,
    num_clients=4,
    model="vertical-9-12-6-4",
    data=CellTraffic(num_cells=4, traffic=Traffic(num_days=2)),
    uplink=QueuedLink(),
    protocol=Vhfl(num_local_epochs=1, num_senders=3, waiting=UploadDeadline(upload_deadline_s=5.0)),
    end=AfterRounds(num_global_rounds=2),
)
SYSTEMS = (*SMALL, QUEUED)

TYPES = ("2", "", "nan", True, None, [], {}, [[]], {"a": {"b": [None]}}, [1, "x"], ["nan"], [None], [True])
NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e999, -1, -0.5, 0, -0.0, 0.5, 1, 2, 3, 7, 10)
EXTREMES = (1e-320, 1e-300, 1e-31, 1e-29, 1e29, 1e31, 1e200, 1e308, 10**40, 10**400, -1e300)
WORDS = (
    "relu",
    "relu-12-0-4",
    "relu-12-8-3",
    "mlp-12-4",
    "relu--4",
    "relu-12-" + "9" * 20 + "-4",
    "\ud800",
    "x" * 500,
)
NO_HUGE = ("num_", "batch_size", "coherence_time_s")
"""Fields that a run repeats or holds often: a huge number (or a tiny time) is legal, and endless."""
ALWAYS_REFUSED = ("num_cells", "num_clients", "num_participants", "cell_sizes", "shards_per_client")
"""Counts for which even an absurd number has to be refused at once."""


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything in nested objects and lists."""
    items = (
        values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    )
    for name, value in items:
        yield (*path, name)
        yield from places(value, (*path, name))


def new_value(rng: np.random.Generator, path: tuple[Any, ...], old: Any) -> Any:
    field = next(str(name) for name in reversed(path) if isinstance(name, str))
    pools: list[tuple[Any, ...]] = [TYPES, NUMBERS, NUMBERS, WORDS]
    if field in ALWAYS_REFUSED:
        pools += [(10**9, 10**5, [10**9], [10**9] * 2)] * 2
    elif not field.startswith(NO_HUGE):
        pools += [EXTREMES] * 2
    pool = pools[rng.integers(len(pools))]
    value = pool[rng.integers(len(pool))]
    return [value] if isinstance(old, list) and rng.random() < 0.5 else value


def damage(rng: np.random.Generator, values: dict[str, Any]) -> str:
    """Change one place; returns what was done."""
    every = list(places(values))
    path = every[rng.integers(len(every))]
    holder = values
    for name in path[:-1]:
        holder = holder[name]
    where, kind = ".".join(map(str, path)), rng.integers(9)
    if kind == 0:
        del holder[path[-1]]
        return f"{where} deleted"
    if kind == 1 and isinstance(holder, dict):
        holder[f"{path[-1]}s"] = holder.pop(path[-1])
        return f"{where} renamed"
    if kind == 2 and isinstance(holder[path[-1]], str):
        others = ("redivided", "budget", "none", "coherence-time", "edge-round", "Dirichlet", "Iid", "rma")
        holder[path[-1]] = others[rng.integers(len(others))]
    elif kind >= 6 and isinstance(holder[path[-1]], float):
        holder[path[-1]] *= rng.uniform(0.2, 5.0)  # mostly legal
    else:
        holder[path[-1]] = new_value(rng, path, holder[path[-1]])
    return f"{where} = {holder[path[-1]]!r:.60}"


def outcome(path: Path) -> str:
    """Run a config.json as `cosim run --config` does; "refused", "complete" or "long"."""
    try:
        _, system, _ = read_config(path, "--config", [])
        if isinstance(system.data, FashionMnist) or system.end.num_global_rounds > 10:
            return "long"  # a default has come in for what was deleted: legal, and minutes
        result = run(system, num_workers=1)
    except ConfigurationError as error:
        message = str(error)
        assert len(message) > 10
        assert "\n" not in message
        message.encode()
        return "refused"
    assert result.summary.status == "complete"
    assert result.summary.num_global_rounds == system.end.num_global_rounds
    training = getattr(system.protocol, "training", system.protocol)
    assert len(result.transfers) > 0 or training.waiting != WaitForAll()
    for table in (result.spans, result.transfers, result.rounds, result.evaluations):
        numbers = table.select_dtypes("number")
        if max(training.local.learning_rate, getattr(training.local, "central_learning_rate", 0.0)) > 1.0:
            errors = ["loss_nats", "train_mse", "test_mse", "error_ratio"]
            numbers = numbers.drop(columns=errors, errors="ignore")  # diverged, and says so
        assert np.isfinite(numbers.to_numpy(dtype=float)).all()
    assert np.isfinite([result.summary.time_s, result.summary.energy_j, result.summary.bits_per_client]).all()
    return "complete"


@pytest.mark.parametrize("batch", range(NUM_BATCHES))
def test_damaged_configuration_is_refused_in_one_line_or_runs_whole(batch: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(batch)
    outcomes = Counter()
    for example in range(BATCH):
        config = {"scenario": "tiny", "system": to_dict(SYSTEMS[example % len(SYSTEMS)])}
        done = [damage(rng, config) for _ in range(rng.integers(1, 3))]
        path = tmp_path / f"config-{example}.json"
        path.write_bytes(json.dumps(config).encode())
        try:
            outcomes[outcome(path)] += 1
        except Exception as error:
            raise AssertionError(f"{done}: {type(error).__name__}: {error}") from error
    assert outcomes["refused"] > BATCH / 4
    assert outcomes["complete"] > 0


def test_undamaged_configurations_run(tmp_path: Path) -> None:
    for system in SYSTEMS:
        (tmp_path / "config.json").write_text(json.dumps({"scenario": None, "system": to_dict(system)}))
        assert outcome(tmp_path / "config.json") == "complete"


LATE = "the run is not over at 1e\\+09 s"
SHORT = "less than a thousand steps of the clock"


@pytest.mark.parametrize(
    ("extremes", "refusal"),
    [
        (
            {
                "cycles.step_cycles": 1e30,
                "devices.min_frequency_hz.values": [1e-30],
                "devices.max_frequency_hz.values": [1e-30],
            },
            LATE,
        ),
        (
            {
                "cycles.step_cycles": 1e-30,
                "devices.min_frequency_hz.values": [1e30],
                "devices.max_frequency_hz.values": [1e30],
            },
            SHORT,
        ),
        ({f"{BAND}_hz": 1e-30, f"{SNR}.values": [-300.0], "codec.bits_per_parameter": 2**32}, LATE),
        ({f"{BAND}_hz": 1e30, f"{SNR}.values": [300.0], "devices.capacitance_j_per_hz2": 1e30}, SHORT),
        (
            {
                f"{BAND}_hz": 1e30,
                "uplink.link": {"kind": "LinkBudget", "noise_dbm_per_hz": 0.0, "noise_figure_db": 300.0},
                "devices.tx_power.power_w": 1e-30,
            },
            LATE,
        ),
        (
            {
                "topology.backhaul_rate_bps": 1e-30,
                "topology.backhaul_delay_s": 1e30,
                "topology.cell_radius_m": 1e30,
            },
            LATE,
        ),
        ({"protocol.training.waiting": {"kind": "Deadline", "deadline_s": 1e-30}}, "a nanosecond"),
        (
            {
                "protocol.training.waiting": {"kind": "Deadline", "deadline_s": 1e30},
                "cycles.step_cycles": 1e30,
            },
            LATE,
        ),
        ({"data.split": {"kind": "Dirichlet", "alpha": 1e-30}}, None),
        ({"protocol.submodel_sizes": {"kind": "Fractions", "values": [1e-30, 1.0]}}, None),
    ],
    ids=lambda case: ",".join(case) if isinstance(case, dict) else "",
)
def test_the_most_extreme_numbers_give_a_whole_run_or_leave_the_clock(
    extremes: dict[str, Any], refusal: str | None, tmp_path: Path
) -> None:
    values = copy.deepcopy(to_dict(SYSTEMS[0]))
    for place, value in extremes.items():
        holder = values
        *way, last = place.split(".")
        for name in way:
            holder = holder[name]
        holder[last] = value
    (tmp_path / "config.json").write_text(json.dumps({"system": values}))
    if refusal is None:
        assert outcome(tmp_path / "config.json") == "complete"
        return
    with pytest.raises(ConfigurationError, match=refusal):
        run(read_config(tmp_path / "config.json", "--config", [])[1], num_workers=1)
