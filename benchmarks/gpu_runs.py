"""Runs: a whole run on a GPU has the tables that it has on a CPU, also if it is stopped and resumed."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from gpu_right import AS_FAR, NUM_ROUNDINGS, rounded, tried

import models

MOST_LOSS_APART = 1e-3
"""By which the loss of a whole run may differ between devices, in nats. Where it differs by more, it may be
`AS_FAR` times what rounding the samples makes of it on the CPU: `TopK` then chooses other values."""


def systems() -> dict[str, Any]:
    """Name -> system."""
    import cosim
    from scenarios.quickstart import system

    rounds = cosim.evolve(system(), end=cosim.AfterRounds(num_global_rounds=5))
    local = cosim.training.Adam(batch_size=10, learning_rate=0.01, keeps_state=True)
    asynchronous = cosim.evolve(
        rounds,
        model="mlpdropout-64-32-10",
        devices=cosim.DrawnDevices(training_time=cosim.devices.ExponentialTime()),
        protocol=cosim.FedBuff(training=cosim.ClientTraining(num_local_steps=10, local=local)),
        codec=cosim.codecs.ErrorFeedback(codec=cosim.codecs.TopK()),
        end=cosim.ends.AfterUpdates(num_updates=120),
        evaluation=cosim.ends.EveryVersions(num_versions=2),
    )
    return {"quickstart": rounds, "asynchronous": asynchronous}


class _Stopped(Exception):
    """A run that was stopped."""


def whole_runs(device: str, until_s: float) -> Iterator[dict[str, Any]]:
    """Each system on the CPU, on the device, and there once more with a stop in the middle."""
    for name, system in systems().items():
        yield tried(name, partial(_run, name, system, device), until_s)


def _run(name: str, system: Any, device: str) -> dict[str, Any]:
    import cosim

    begin_s, stop_at = time.perf_counter(), 3
    run = partial(cosim.run, system, partial(models.build, system.model))  # no package may offer its name

    def stop(report: Any) -> None:
        if report.version == stop_at:
            raise _Stopped

    on_cpu = run()
    with TemporaryDirectory() as folder:
        found = run(device=device, out=Path(folder) / "whole")
        resumed = partial(run, device=device, out=Path(folder) / "stopped")
        with suppress(_Stopped):
            resumed(listener=stop)
        again = resumed(resume=True)
        resumes = all(found.tables[of].equals(again.tables[of]) for of in found.tables)
        assert found.learned is not None
        assert again.learned is not None
        resumes &= all(np.array_equal(found.learned[of], again.learned[of]) for of in found.learned)
    learned = list(found.summary.measures)
    same = all(
        on_cpu.tables[of]
        .drop(columns=learned, errors="ignore")
        .equals(found.tables[of].drop(columns=learned, errors="ignore"))
        for of in on_cpu.tables
    )
    apart = _apart(found, on_cpu)
    more: dict[str, float] = {}
    if apart >= MOST_LOSS_APART:
        more["sensitivity"] = max(_apart(other, on_cpu) for other in _rounded(run))
    return {
        "case": name,
        "same_tables": same,
        "resumes": resumes,
        "loss_difference": apart,
        **more,
        "seconds": time.perf_counter() - begin_s,
        "is_right": same and resumes and apart < max(MOST_LOSS_APART, AS_FAR * more.get("sensitivity", 0.0)),
    }


def _apart(found: Any, expected: Any) -> float:
    """Largest difference of a loss, in nats."""
    return float((found.evaluations["loss_nats"] - expected.evaluations["loss_nats"]).abs().max())


def _rounded(run: Callable[[], Any]) -> Iterator[Any]:
    """Runs on the CPU of which each has its samples rounded otherwise."""
    from cosim.data import Digits

    for seed in range(NUM_ROUNDINGS):
        load = Digits.load
        with patch.object(Digits, "load", lambda *given, load=load, seed=seed: rounded(load(*given), seed)):
            yield run()
