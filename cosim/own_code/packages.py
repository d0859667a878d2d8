"""Packages: files of a user's that hide one of ours, because they are called alike.

Python looks for `import analysis` beside the running script first, so a file of that name there takes the
place of the package that comes with the simulator. A script is warned when it imports cosim; a command, which
needs these packages, refuses such a folder. A file called as the package of models hides only the networks
that are named by a family, which say so themselves (`cosim.networks.named`).
"""

import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("analysis", "cosim", "scenarios")
_HOME = Path(__file__).resolve().parents[2]


def hiding_in(folder: Path) -> Iterator[Path]:
    """The files of a folder by which Python would find another package than ours."""
    for name in PACKAGES:
        for file in (folder / f"{name}.py", folder / name / "__init__.py"):
            if file.is_file() and file.resolve() != _HOME / name / "__init__.py":
                yield file


def in_words(file: Path) -> str:
    """Sentence about a file that hides a package: what is wrong, and the fix."""
    package = file.stem if file.stem != "__init__" else file.parent.name
    return f"{file}: hides the package {package}, which comes with cosim. Use another name for it."


def warn_of_hidden() -> None:
    """Warn of files that hide a package, unless this is a process of a study, whose script has warned."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return
    for name in PACKAGES:
        spec = getattr(sys.modules.get(name), "__spec__", None) or (
            name not in sys.modules and find_spec(name)
        )
        file = Path(spec.origin).resolve() if spec and spec.origin else None
        if file is not None and file.parent != _HOME / name:
            warnings.warn(in_words(file), stacklevel=3)
