"""Right: what is learned on a GPU is what is learned on a CPU, repeats bit for bit, and does not wait."""

import hashlib
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np
import torch
from gpu_cases import CASES, RELU, Case
from gpu_rounds import NUM_CLIENTS, NUM_SAMPLES, NUM_STEPS, features
from numpy.typing import NDArray

from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.tasks.classification import Classification

MOST_APART = 1e-5
"""Share of a tensor's largest value by which devices may differ: some hundred roundings of float32."""

ROUNDING, NUM_ROUNDINGS, AS_FAR = 1e-7, 4, 3.0
"""Batch norm in many layers makes more of a rounding. Where devices differ by more, samples are changed by
this share on the CPU, several times, and devices may be `AS_FAR` times as far apart as that takes weights."""

METRICS = ("MacroF1", "ClassAccuracy", "ClientAccuracy", "PersonalAccuracy")

Values = dict[str, NDArray[Any]]


def learner_of(case: Case, device: str) -> Learner:
    """A learner of a case."""
    return Learner(case.network(), case.dataset(), device, personal=case.personal)


def learned(case: Case, device: str) -> Values:
    """Weights of a case's result, and the loss on its test set."""
    learner = learner_of(case, device)
    model = case.result(learner.initial_model(key=1), learner.shape)
    scores = learner.evaluate(model)
    loss = next(scores[name] for name in scores if name != "accuracy")
    return learner.weights(model) | {"loss": np.array([loss])}


def read(device: str) -> Values:
    """Everything that is read of a model beside its weights: scores, ranks, losses of groups, accuracies."""
    owners = np.repeat(np.arange(NUM_CLIENTS), NUM_SAMPLES)
    learner = Learner(
        RELU(), features((16,), test_owners=owners), device, task=Classification(metrics=METRICS)
    )
    model = CASES["relu layers"].result(learner.initial_model(key=1), learner.shape)
    groups = np.split(np.arange(len(owners)), NUM_CLIENTS)
    learner.compute(model)
    own = {
        number: {"layers.1.weight": model.settled["layers.1.weight"] + number}
        for number in range(NUM_CLIENTS)
    }
    of_clients = learner.client_accuracies(model, NUM_CLIENTS)
    assert of_clients is not None
    return {
        "scores": np.array(list(learner.evaluate(model, own).values())),
        "ranks": learner.answers(model).label_ranks,
        "losses": learner.losses(model, groups),
        "of clients": of_clients,
    }


def largest_difference(found: Values, expected: Values) -> float:
    """Largest difference of a value, over the largest value of its tensor."""
    return max(
        float(np.abs(found[name] - values).max() / max(float(np.abs(values).max()), 1e-6))
        for name, values in expected.items()
    )


def rounded(dataset: Dataset, seed: int) -> Dataset:
    """A dataset whose training samples are rounded otherwise."""
    noise = 1.0 + ROUNDING * np.random.default_rng(seed).standard_normal(dataset.train_x.shape)
    return attrs.evolve(dataset, train_x=(dataset.train_x * noise).astype(np.float32))


def sensitivity(case: Case) -> float:
    """How far a rounding of the samples takes what is learned on the CPU, at most; tokens are not rounded."""
    expected, dataset = learned(case, "cpu"), case.dataset()
    if dataset.train_x.dtype == np.int64:
        return 0.0

    others = (case._replace(dataset=partial(rounded, dataset, seed)) for seed in range(NUM_ROUNDINGS))
    return max(largest_difference(learned(other, "cpu"), expected) for other in others)


def num_waits(case: Case, num_steps: int) -> int:
    """How often the CPU waits for the GPU while a case's rounds of `num_steps` steps are trained."""
    learner = learner_of(case, "cuda")
    start = learner.initial_model(key=1)
    learner.compute(case.result(start, learner.shape, num_steps))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            learner.compute(case.result(start, learner.shape, num_steps))
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in found)


def compared(name: str, values_on: Callable[[str], Values], device: str) -> dict[str, Any]:
    """Result of one case, on the CPU and twice on a device."""
    begin_s = time.perf_counter()
    expected, found, again = values_on("cpu"), values_on(device), values_on(device)
    difference = largest_difference(found, expected)
    repeats = all(np.array_equal(found[of], again[of], equal_nan=True) for of in found)
    bits = b"".join(np.ascontiguousarray(found[of]).tobytes() for of in sorted(found))
    return {
        "case": name,
        "difference": difference,
        "repeats": repeats,
        "digest": hashlib.sha256(bits).hexdigest()[:16],
        "seconds": time.perf_counter() - begin_s,
        "is_right": difference <= MOST_APART and repeats,
    }


def checked(device: str, until_s: float) -> Iterator[dict[str, Any]]:
    """Results of all cases that can be made here, and of what is read of a model."""
    for name, case in CASES.items():
        if "gpt2" in name and importlib.util.find_spec("transformers") is None:
            continue
        yield tried(name, partial(_case, name, case, device), until_s)
    yield tried("what is read", partial(compared, "what is read", read, device), until_s)


def tried(name: str, check: Callable[[], dict[str, Any]], until_s: float) -> dict[str, Any]:
    """A result; without time, or where it fails, why there is none."""
    if time.perf_counter() > until_s:
        return {"case": name, "is_right": False, "why": "no time was left"}
    try:
        return check()
    except Exception as error:
        return {"case": name, "is_right": False, "why": f"{type(error).__name__}: {error}"[:300]}


def _case(name: str, case: Case, device: str) -> dict[str, Any]:
    row = compared(name, partial(learned, case), device)
    if device == "cpu" or row["difference"] > MOST_APART:
        row["sensitivity"] = sensitivity(case)
        row["is_right"] = row["repeats"] and row["difference"] <= max(MOST_APART, AS_FAR * row["sensitivity"])
    if device == "cuda" and not case.host_in_steps:
        row["waits"], row["waits_of_twice"] = (num_waits(case, num * NUM_STEPS) for num in (1, 2))
        row["is_right"] &= row["waits_of_twice"] <= row["waits"]
    return row
