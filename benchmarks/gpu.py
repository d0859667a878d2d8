"""Is learning on a GPU right, does it repeat bit for bit, and how fast is it?

    python benchmarks/gpu.py
    python benchmarks/gpu.py --out gpu.json --minutes 5
    python benchmarks/gpu.py --parts right    # digests made by another process
    python benchmarks/gpu.py --device cpu     # to try the program where there is no GPU

Three parts, with one line a case:

    right    rounds of 6 clients on the GPU and on the CPU: largest difference of a weight, over the largest
             weight of its tensor, at most 1e-5; the same again on the GPU, from scratch: the same bits; the
             CPU waits for the GPU as often in 8 steps as in 4
    run      the scenario quickstart, shortened, and an asynchronous run with dropout, on both: the same
             tables but for what is learned; a run on the GPU that is stopped and resumed: all the same bits
    speed    client-steps per second (batches of 50, of conv networks 10, of GPT-2 4) over the number of
             clients that are trained together, beside a plain loop on the same device; the most memory of the
             learner's own cohorts, and memory of a further client over what is counted of it

A machine with a GPU may have torch and little else. Beside torch and numpy, it needs attrs,
cattrs, simpy, tqdm and typing-extensions; GPT-2 needs transformers; `run` needs pandas, pyarrow, filelock and
scikit-learn, whose digits it learns. All but torch are small wheels. What that machine lacks can be carried:

    pip download --no-deps --only-binary=:all: --python-version 3.12 -d wheels cattrs simpy    # here
    pip install --no-index --no-deps --target site wheels/*.whl                                # there
    PYTHONPATH=site:. python benchmarks/gpu.py                                                 # there

Ends with exit status 1 where something is not right.
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_speed
import torch
from gpu_right import checked
from gpu_runs import whole_runs

PARTS = ("right", "run", "speed")


def words_of(row: dict[str, Any]) -> str:
    """One line of what was checked."""
    told = [f"{name} {value:.2g}" for name, value in row.items() if isinstance(value, float)]
    told += [
        f"{name} {value}"
        for name, value in row.items()
        if name.startswith(("waits", "repeats", "resumes", "same", "why"))
    ]
    return f"{row['case']:22} {'right' if row['is_right'] else 'WRONG':6} {', '.join(told)}"


def results(part: str, device: str, until_s: float) -> Iterator[dict[str, Any]]:
    """Results of a part, each printed."""
    if part == "speed":
        print(f"\n{gpu_speed.HEADER}", flush=True)
        for row in gpu_speed.measured(device, until_s):
            print(gpu_speed.line_of(row), flush=True)
            yield row
        return
    if part == "run" and importlib.util.find_spec("sklearn") is None:
        return
    for row in checked(device, until_s) if part == "right" else whole_runs(device, until_s):
        print(words_of(row), flush=True)
        yield row


def main() -> None:
    """Check, measure, print and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--device", default="cuda", choices=("cuda", "cpu"), help="what is checked (default: cuda)"
    )
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS, help="(default: all)")
    parser.add_argument("--out", type=Path, help="JSON file of all numbers")
    parser.add_argument("--minutes", type=float, default=9.0, help="most of its time (default: 9)")
    options = parser.parse_args()
    begin_s, device = time.perf_counter(), options.device
    end_s = begin_s + 60.0 * options.minutes
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device here. Use --device cpu to try the program.")
    card = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    found: dict[str, Any] = {"torch": torch.__version__, "device": card, **{part: [] for part in PARTS}}
    print(f"torch {torch.__version__}, {card}", flush=True)
    for part in options.parts:
        share = {"right": 0.4, "run": 0.7, "speed": 1.0}[part]
        for row in results(part, device, begin_s + share * (end_s - begin_s)):
            found[part].append(row)
            found["minutes"] = (time.perf_counter() - begin_s) / 60.0
            if options.out is not None:
                options.out.write_text(json.dumps(found, indent=1) + "\n")
    every = found["right"] + found["run"]
    wrong = [row["case"] for row in every if not row["is_right"]]
    print(f"{len(every) - len(wrong)} of {len(every)} cases right" + f"; not: {wrong}" * bool(wrong))
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
