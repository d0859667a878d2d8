"""Notebooks, run as a reader runs them: cell by cell, from top to bottom."""

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib


def cells(notebook: Path) -> list[dict[str, Any]]:
    """All cells."""
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def shown(notebook: Path) -> list[object]:
    """What each cell of code shows: the value of its last expression, or None."""
    before = matplotlib.get_backend()
    matplotlib.use("agg")
    names: dict[str, object] = {}
    values = []
    for cell in cells(notebook):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(notebook), "exec"), names)
        values.append(
            None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        )
    matplotlib.use(before)
    return values


def is_without_outputs(notebook: Path) -> bool:
    """True if no cell was saved with what it had shown."""
    return not any(cell.get("outputs") or cell.get("execution_count") for cell in cells(notebook))
