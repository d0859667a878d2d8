"""Reproductions in this process: runs that are small or made up, and the claims that are written."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cosim
from scenarios.reproduce.claims import COMES_OUT, DOES_NOT_SHOW, NOT_RUN, TOO_NOISY
from scenarios.reproduce.figures import Options, Runs

YES, NO, NOISY, MISSING = COMES_OUT, DOES_NOT_SHOW, TOO_NOISY, NOT_RUN
RunAll = Callable[[str, Mapping[str, cosim.System], Options], Runs]


class Captured(Exception):
    """The systems of a figure, in place of their runs."""


class Unseen:
    """A picture, or what is in it, at which a test does not look: it takes every call, and draws nothing."""

    def __init__(self, **options: object) -> None:
        pass

    def __getattr__(self, name: str) -> "Unseen":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *asked: object, **options: object) -> "Unseen":
        return self

    def __getitem__(self, place: int) -> "Unseen":
        return self

    def savefig(self, file: Path, **options: object) -> None:
        file.touch()

    def subplots(self, num_rows: int = 1, num_columns: int = 1, **options: object) -> Any:
        return np.squeeze(np.full((num_rows, num_columns), self))[()]


def unseen(monkeypatch: pytest.MonkeyPatch, modules: Iterable[ModuleType]) -> None:
    """Lets modules draw what is not seen."""
    for module in modules:
        monkeypatch.setattr(module, "Figure", Unseen, raising=False)


@cache
def of_seed(system: cosim.System, seed: int) -> cosim.System:
    """The system with another seed; claims on made-up numbers ask for the same ones again and again."""
    return cosim.evolve(system, seed=seed)


def each_seed(result: Callable[[str, cosim.System], cosim.Result]) -> RunAll:
    """In place of `run_all`: the result of every label and seed."""

    def run(figure: str, systems: Mapping[str, cosim.System], options: Options) -> Runs:
        return {
            label: [result(label, of_seed(system, seed)) for seed in options.every_seed]
            for label, system in systems.items()
        }

    return run


def run_here(tiny: Callable[[cosim.System], cosim.System] = lambda system: system) -> RunAll:
    """In place of `run_all`: systems that are made small, run without folders."""
    return each_seed(lambda label, system: cosim.run(tiny(system), num_workers=1))


def claimed(folder: Path, figure: str) -> list[dict[str, Any]]:
    """The claims in a figure's NAME.json."""
    return json.loads((folder / f"{figure}.json").read_text())["claims"]


def verdicts(folder: Path, figure: str) -> list[str]:
    """Of every claim."""
    return [claim["verdict"] for claim in claimed(folder, figure)]


def exit_code_of(claims: Iterable[Mapping[str, Any]]) -> int:
    """The one that claims in a NAME.json ask for."""
    required = {claim["verdict"] for claim in claims if claim["is_required"]}
    return 1 if NO in required else 3 if NOISY in required else 0


def wrong(folder: Path, figure: str, pieces: Iterable[str]) -> dict[str, str]:
    """Verdicts of the claims that do not come out, by the piece of their sentence that is in this."""
    found = {claim["paper"]: claim["verdict"] for claim in claimed(folder, figure)}
    return {
        next((piece for piece in pieces if piece in paper), paper): verdict
        for paper, verdict in found.items()
        if verdict != YES
    }


def ends(claim: Mapping[str, Any]) -> list[list[float]]:
    """Mean, lower and upper end of every quantity of a claim."""
    return [[found["estimate"], found["low"], found["high"]] for found in claim["quantities"]]
