"""Is learning on a GPU right, does it repeat bit for bit, and how fast is it?

    python benchmarks/gpu.py
    python benchmarks/gpu.py --out gpu.json --minutes 5
    python benchmarks/gpu.py --device cpu    # to try the program where there is no GPU

Three parts, with one line a case:

    right    one round of 6 clients on the GPU and on the CPU: largest difference of a weight, over the
             largest weight of its tensor, at most 1e-5 (or what a rounding of the samples makes of it); a
             second round on the GPU, from scratch: the same bits; the CPU waits for the GPU as often in 8
             steps as in 4
    run      the scenario quickstart, shortened, on both: the same tables but for what is learned
    speed    client-steps per second (batches of 50, of conv networks 10, of GPT-2 4) over the number of
             clients that are trained together, beside a plain loop on the same device; the most memory of the
             learner's own cohorts, and memory of a further client over what is counted of it

A machine with a GPU may have torch and little else. Beside torch and numpy, `right` and `speed` need attrs,
cattrs, typing-extensions and tqdm; GPT-2 needs transformers, `run` the other requirements of cosim. All but
torch are small wheels that `pip download` puts in a folder, to be carried there.

Ends with exit status 1 where something is not right.
"""

import argparse
import importlib.util
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np
import torch
from gpu_cases import CASES, NUM_STEPS, SGD, STEPPED, Case, features, gpt2_lora, updates
from torch import nn

import models
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.arithmetic import exact
from cosim.engine.learning.cohorts import FLOAT32_BYTES, WorkingSet
from cosim.engine.learning.learner import Learner
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate

MOST_APART = 1e-5
"""Share of a tensor's largest value by which devices may differ: some hundred roundings of float32."""

ROUNDING, NUM_ROUNDINGS, AS_FAR = 1e-7, 4, 3.0
"""Batch norm over few samples makes more of a rounding. Where devices differ by more, samples are changed by
this share on the CPU, several times, and devices may be `AS_FAR` times as far apart as that takes weights."""

COHORTS, NUM_OWN = (1, 4, 16, 64, 256, 1024), 256
"""Clients that are trained together; clients of a round in cohorts of the learner's own size."""


def weights_of(case: Case, device: str) -> tuple[dict[str, np.ndarray], float]:
    """Weights of a case's result, and the loss on its test set."""
    learner = Learner(case.network(), case.dataset(), device)
    model = case.result(learner.initial_model(key=1), learner.shape)
    scores = learner.evaluate(model)
    return learner.weights(model), next(scores[name] for name in scores if name != "accuracy")


def largest_difference(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Largest difference of a value, over the largest value of its tensor."""
    return max(
        float(np.abs(found[name] - values).max() / max(float(np.abs(values).max()), 1e-6))
        for name, values in expected.items()
    )


def sensitivity(case: Case, expected: dict[str, np.ndarray]) -> float:
    """How far a rounding of the samples takes the weights on the CPU, at most; tokens are not rounded."""
    if case.dataset().train_x.dtype == np.int64:
        return 0.0

    def rounded(seed: int) -> Dataset:
        dataset = case.dataset()
        noise = 1.0 + ROUNDING * np.random.default_rng(seed).standard_normal(dataset.train_x.shape)
        return attrs.evolve(dataset, train_x=(dataset.train_x * noise).astype(np.float32))

    others = (case._replace(dataset=partial(rounded, seed)) for seed in range(NUM_ROUNDINGS))
    return max(largest_difference(weights_of(other, "cpu")[0], expected) for other in others)


def num_waits(case: Case, num_steps: int) -> int:
    """How often the CPU waits for the GPU while a round of `num_steps` steps is trained."""
    learner = Learner(case.network(), case.dataset(), "cuda")
    start = learner.initial_model(key=1)
    learner.compute(mean(updates(start, SGD, num_steps=num_steps)))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            learner.compute(mean(updates(start, SGD, num_steps=num_steps)))
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in found)


def checked(device: str, until_s: float) -> Iterator[dict[str, Any]]:
    """Results of all cases that can be made here."""
    for name, case in CASES.items():
        if "gpt2" in name and importlib.util.find_spec("transformers") is None:
            continue
        if time.perf_counter() > until_s:
            yield {"case": name, "is_right": False, "why": "no time was left"}
            continue
        try:
            expected, expected_loss = weights_of(case, "cpu")
            (found, loss), (again, loss_again) = weights_of(case, device), weights_of(case, device)
            difference = largest_difference(found, expected)
            repeats = all(np.array_equal(found[n], again[n]) for n in found) and loss == loss_again
            row: dict[str, Any] = {
                "case": name,
                "difference": difference,
                "loss_difference": abs(loss - expected_loss),
                "repeats": repeats,
            }
            if difference > MOST_APART or device == "cpu":
                row["sensitivity"] = sensitivity(case, expected)
            most_apart = max(MOST_APART, AS_FAR * row.get("sensitivity", 0.0))
            is_right = difference <= most_apart and repeats
            if device == "cuda" and name in STEPPED:
                row["waits"], row["waits_of_twice"] = (
                    num_waits(case, NUM_STEPS),
                    num_waits(case, 2 * NUM_STEPS),
                )
                is_right &= row["waits_of_twice"] <= row["waits"]
            yield row | {"is_right": is_right}
        except Exception as error:
            yield {"case": name, "is_right": False, "why": f"{type(error).__name__}: {error}"[:300]}


def whole_run(device: str) -> dict[str, Any]:
    """The scenario quickstart on both devices."""
    import cosim
    from scenarios.quickstart import system

    short = cosim.evolve(system(), end=cosim.AfterRounds(num_global_rounds=5))
    on_cpu, found = cosim.run(short), cosim.run(short, device=device)
    names = ("spans", "transfers", "rounds")
    same = all(getattr(on_cpu, name).equals(getattr(found, name)) for name in names)
    difference = float((on_cpu.evaluations["loss_nats"] - found.evaluations["loss_nats"]).abs().max())
    is_right = same and difference < 1e-3
    return {"case": "quickstart", "same_tables": same, "loss_difference": difference, "is_right": is_right}


class Speed(NamedTuple):
    """A network whose speed is measured.

    Attributes:
        network: Makes it.
        dataset: Makes its data set.
        batch_size: Samples of a mini-batch.
    """

    network: Callable[[], nn.Module]
    dataset: Callable[[], Dataset]
    batch_size: int


def wide_tokens(size: int) -> Dataset:
    """Token numbers of GPT-2's own vocabulary."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 50257, (400, size)), rng.integers(0, 5, 400)
    return Dataset(name="tokens", train_x=x, train_y=y, test_x=x[:8], test_y=y[:8], num_classes=5)


SPEEDS = {
    "relu-784-300-10": Speed(partial(models.build, "relu-784-300-10"), partial(features, (784,)), 50),
    "relu-64-32-10": Speed(partial(models.build, "relu-64-32-10"), partial(features, (64,)), 50),
    "lenet5-10": Speed(partial(models.build, "lenet5-10"), partial(features, (784,)), 10),
    "resnet18-16-10": Speed(partial(models.build, "resnet18-16-10"), partial(features, (3072,)), 10),
    "gpt2 small, lora": Speed(partial(gpt2_lora, 12, 768, 12, 50257), partial(wide_tokens, 64), 4),
}
ROUND_STEPS, LEAST_ROUNDS = 10, 3


def synchronised(device: str) -> float:
    """The time in s, when all work of the device is done."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def rate_of(work: Callable[[], object], num_client_steps: int, device: str) -> float:
    """Client-steps per second, median of a few rounds after one that warms up."""
    work()
    durations_s = []
    for _ in range(LEAST_ROUNDS):
        begin_s = synchronised(device)
        work()
        durations_s.append(synchronised(device) - begin_s)
    return num_client_steps / statistics.median(durations_s)


def loop(network: nn.Module, dataset: Dataset, batch_size: int, device: str, num_clients: int) -> None:
    """The plain way: one client after the other by torch.optim.SGD."""
    trained = [values for values in network.parameters() if values.requires_grad]
    start = [values.detach().clone() for values in trained]
    x, y = (torch.from_numpy(array).to(device) for array in (dataset.train_x, dataset.train_y))
    rng = np.random.default_rng(1)
    for _ in range(num_clients):
        optimizer = torch.optim.SGD(trained, lr=0.01)
        with torch.no_grad():
            for values, first in zip(trained, start, strict=True):
                values.copy_(first)
        batches = torch.from_numpy(rng.integers(0, len(x), (ROUND_STEPS, batch_size))).to(device)
        for batch in batches:
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()


def of_round(learner: Learner, few: Callable[[], list[PendingUpdate]]) -> None:
    """A round of the learner's."""
    learner.compute(mean(few()))


def measured(device: str, until_s: float) -> Iterator[dict[str, Any]]:
    """Speeds of all networks that can be made here."""
    for place, (name, speed) in enumerate(SPEEDS.items()):
        if "gpt2" in name and importlib.util.find_spec("transformers") is None:
            continue
        own_until_s = time.perf_counter() + (until_s - time.perf_counter()) / (len(SPEEDS) - place)
        dataset = speed.dataset()
        network = speed.network().to(device)
        beside = partial(loop, network, dataset, speed.batch_size, device, 2)
        with exact(device):
            row: dict[str, Any] = {
                "network": name,
                "loop": rate_of(beside, 2 * ROUND_STEPS, device),
                "together": {},
            }
        learner = Learner(speed.network(), dataset, device)
        row["manner"] = learner.manner.words if learner.manner is not None else ""
        start, rule = learner.initial_model(key=1), Sgd(batch_size=speed.batch_size, learning_rate=0.01)
        usual = learner._resolver.working_set
        for together in (None, *COHORTS):
            if time.perf_counter() > own_until_s:
                break
            one = WorkingSet(num_bytes=2**50, num_clients=together or 0, num_cohorts=1)
            learner._resolver.working_set = usual if together is None else one
            num_clients = together or NUM_OWN
            few = partial(updates, start, rule, num_steps=ROUND_STEPS, num_clients=num_clients)
            if device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            try:
                rate = rate_of(partial(of_round, learner, few), num_clients * ROUND_STEPS, device)
            except ConfigurationError as error:
                row["together"][together or "learner"] = {"client_steps_per_s": None, "why": str(error)}
                break
            most_bytes = torch.cuda.max_memory_allocated() if device == "cuda" else 0
            found = {"client_steps_per_s": rate, "most_GB": most_bytes / 1e9}
            row["together"][together or "learner"] = found
        row["counted_GB"] = counted_bytes(learner, speed.batch_size) / 1e9
        yield row


def counted_bytes(learner: Learner, batch_size: int) -> float:
    """Bytes of a client in a cohort, as its size is reckoned: weights, and what the backward pass holds."""
    weights = FLOAT32_BYTES * sum(map(math.prod, learner.shape.tensors.values()))
    return weights + batch_size * learner.flops.activation_bits() / 8


def over_counted(row: dict[str, Any]) -> float:
    """Memory that a further client takes, over what is counted of it; nan where none was measured."""
    most_GB = {of: each["most_GB"] for of, each in row["together"].items() if each.get("most_GB")}
    sizes = sorted(of for of in most_GB if of != "learner")
    if len(sizes) < 2:
        return math.nan
    first, last = sizes[0], sizes[-1]
    return (most_GB[last] - most_GB[first]) / (last - first) / row["counted_GB"]


def words_of(row: dict[str, Any]) -> str:
    """One line of what was checked."""
    told = [f"{name} {value:.2g}" for name, value in row.items() if isinstance(value, float)]
    told += [
        f"{name} {value}"
        for name, value in row.items()
        if name.startswith(("waits", "repeats", "same", "why"))
    ]
    return f"{row['case']:18} {'right' if row['is_right'] else 'WRONG':6} {', '.join(told)}"


def speeds_of(row: dict[str, Any]) -> str:
    """One line of what was measured; a dash where there was no memory, or no time."""
    found = {"loop": row["loop"]} | {of: each["client_steps_per_s"] for of, each in row["together"].items()}
    rates = [found.get(of) for of in ("loop", "learner", *COHORTS)]
    cells = "".join(f"{'-' if rate is None else round(rate):>9}" for rate in rates)
    most_GB = row["together"].get("learner", {}).get("most_GB", math.nan)
    return f"{row['network']:24}{cells}{most_GB:>7.2f}{over_counted(row):>9.1f}"


def main() -> None:
    """Check, measure, print and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--device", default="cuda", choices=("cuda", "cpu"), help="what is checked (default: cuda)"
    )
    parser.add_argument("--out", type=Path, help="JSON file of all numbers")
    parser.add_argument("--minutes", type=float, default=9.0, help="most of its time (default: 9)")
    options = parser.parse_args()
    begin_s, device = time.perf_counter(), options.device
    end_s = begin_s + 60.0 * options.minutes
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device here. Use --device cpu to try the program.")
    card = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    found: dict[str, Any] = {"torch": torch.__version__, "device": card, "right": [], "run": [], "speed": []}
    print(f"torch {torch.__version__}, {card}", flush=True)

    def save() -> None:
        found["minutes"] = (time.perf_counter() - begin_s) / 60.0
        if options.out is not None:
            options.out.write_text(json.dumps(found, indent=1) + "\n")

    for row in checked(device, begin_s + 0.4 * (end_s - begin_s)):
        found["right"].append(row)
        print(words_of(row), flush=True)
        save()
    if importlib.util.find_spec("simpy") is not None:
        try:
            found["run"].append(whole_run(device))
        except Exception as error:
            found["run"].append(
                {"case": "quickstart", "is_right": False, "why": f"{type(error).__name__}: {error}"[:300]}
            )
        print(words_of(found["run"][-1]), flush=True)
        save()
    print(
        f"\n{'client-steps per second':24}"
        + "".join(f"{of!s:>9}" for of in ("loop", "learner", *COHORTS))
        + f"{'GB':>7}{'counted':>9}"
    )
    for row in measured(device, end_s):
        found["speed"].append(row)
        print(speeds_of(row), flush=True)
        save()
    wrong = [row["case"] for row in found["right"] + found["run"] if not row["is_right"]]
    print(
        f"{len(found['right']) - len(wrong)} of {len(found['right'])} cases right"
        + f"; not: {wrong}" * bool(wrong)
    )
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
