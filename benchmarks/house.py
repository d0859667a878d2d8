"""House: numbers on how cosim is built, read off its source.

Usage::

    python -m benchmarks.house
    python -m benchmarks.house path/of/a/checkout -v

Lines by room, and of the kernel; yes/no flags on ports; look-ups of what a class overrides; methods that only
forward; circles of files; imports from parts to the engine, and from the engine to kinds; the five longest
functions.

A *port* is a class that derives from `Port` itself; a *kind* derives from a port, directly or over others.
*Parts* are files below the rooms `PARTS`; the *engine* is what `ENGINE` names. Type-only imports count as
none.

Scope and limitations: counts of text, by simple rules; for comparing two checkouts, not for judging one.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ENGINE = ("engine", "networks")
"""Modules below cosim that make up the engine, with what is below them."""
KERNEL = (
    "clock",
    "configuration",
    "doors",
    "engine",
    "files",
    "names",
    "recording",
    "records",
    "units",
    "values",
)
"""The base and the engine: a change of the engine needs these and no more."""
PARTS = (
    "client_values",
    "codecs",
    "data",
    "devices",
    "ends",
    "jobs",
    "links",
    "protocols",
    "queues",
    "radio",
)
PARTS = (*PARTS, "schedules", "selection", "server_updates", "tasks", "topology", "training", "waiting")
"""Rooms that hold parts."""


class Function(NamedTuple):
    """A function or a method.

    Attributes:
        where: Its module and its name.
        num_parameters: Without self.
        num_lines: From its first to its last.
    """

    where: str
    num_parameters: int
    num_lines: int


class House:
    """The source of cosim.

    Args:
        root: Of a checkout.
    """

    def __init__(self, root: Path) -> None:
        self.files: dict[str, Path] = {}
        for path in sorted((root / "cosim").rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            self.files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    @cached_property
    def trees(self) -> Mapping[str, ast.Module]:
        """Module -> its syntax."""
        return {name: ast.parse(path.read_text()) for name, path in self.files.items()}

    @cached_property
    def imports(self) -> Mapping[str, frozenset[str]]:
        """Module -> modules of cosim that it imports when it runs, in functions too."""
        return {name: frozenset(self._imported(tree)) - {name} for name, tree in self.trees.items()}

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            children: list[ast.stmt] | Iterator[ast.AST] = node.orelse
        else:
            children = ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in self.files)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                for name in (f"{node.module}.{alias.name}", node.module):
                    if name in self.files:
                        yield name
                        break
        for child in children:
            yield from self._imported(child)

    def circles(self) -> list[list[str]]:
        """Files that import each other, directly or over others; the largest circle first."""
        reached = {name: self._reached(name) for name in self.imports}
        found = {frozenset(b for b in of if name in reached[b]) for name, of in reached.items()}
        return sorted((sorted(circle) for circle in found if circle), key=len, reverse=True)

    def _reached(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = self.imports.get(waiting.pop(), frozenset()) - found
            found |= new
            waiting += new
        return found

    @cached_property
    def classes(self) -> Mapping[str, tuple[str, ast.ClassDef]]:
        """Class -> its module and its syntax; of two of one name the later."""
        return {
            node.name: (name, node)
            for name, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and not _is_view(tree, node)
        }

    @cached_property
    def ports(self) -> frozenset[str]:
        """Classes that derive from `Port` itself."""
        return frozenset(name for name, (_, node) in self.classes.items() if "Port" in _bases(node))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Classes that derive from a port, directly or over others."""
        found: set[str] = set()
        while True:
            of = self.ports | found
            new = {name for name, (_, node) in self.classes.items() if _bases(node) & of} - of
            if not new:
                return frozenset(found)
            found |= new

    def kernel(self) -> int:
        """Lines of the base and the engine."""
        own = [path for name, path in self.files.items() if name.split(".")[1:2] in [[one] for one in KERNEL]]
        return sum(len(path.read_text().splitlines()) for path in own)

    def lines(self) -> Mapping[str, int]:
        """Room -> lines of its files."""
        found: Counter[str] = Counter()
        for name, path in self.files.items():
            rooms = name.split(".")[1:]
            is_room = path.name == "__init__.py" or len(rooms) > 1
            found[rooms[0] if rooms and is_room else "(files)"] += len(path.read_text().splitlines())
        return found

    def flags(self) -> list[str]:
        """Class.name of what ports say with yes or no: fields of a class, properties and methods."""
        found = []
        for port in sorted(self.ports):
            for node in self.classes[port][1].body:
                said = node.returns if isinstance(node, ast.FunctionDef) else None
                said = node.annotation if isinstance(node, ast.AnnAssign) else said
                name = getattr(node, "name", "") or ast.unparse(getattr(node, "target", node))
                if said is not None and ast.unparse(said) in ("bool", "ClassVar[bool]"):
                    found.append(f"{port}.{name}")
        return found

    def look_ups(self) -> list[str]:
        """Places that ask which class a method is of, such as `overrides(...)` or `kind.m is Class.m`."""
        asked = re.compile(r"\boverrides\(|\bpassed_over\(|\bstand_for\(|\bgives\(|\bHELPERS\b")
        found = []
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
                    sides = [node.left, node.comparators[0]]
                    if all(isinstance(side, ast.Attribute) for side in sides) and _is_of_class(sides[1]):
                        found.append(f"{name}:{node.lineno}")
                elif isinstance(node, ast.Call) and asked.match(ast.unparse(node.func) + "("):
                    found.append(f"{name}:{node.lineno}")
        return found

    def forwards(self) -> list[str]:
        """Methods whose body is one call, or one read, of the same name on a part of the object."""
        found = []
        for cls, (_, node) in sorted(self.classes.items()):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and (value := _only_returned(method)) is not None:
                    of = value.func if isinstance(value, ast.Call) else value
                    text = ast.unparse(of)
                    if text.startswith("self.") and text.count(".") > 1 and text.endswith(f".{method.name}"):
                        found.append(f"{cls}.{method.name}")
        return found

    def to_engine(self) -> list[str]:
        """Imports from parts to the engine."""
        return [f"{a} -> {b}" for a, b in self._arrows() if is_part(a) and is_engine(b)]

    def to_kinds(self) -> list[str]:
        """Names of kinds that the engine imports, as module -> Class."""
        found = []
        for name, tree in self.trees.items():
            if not is_engine(name):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module in self.files:
                    own = set(self._kinds_in(self.trees[node.module]))
                    found += [f"{name} -> {alias.name}" for alias in node.names if alias.name in own]
        return found

    def _kinds_in(self, tree: ast.Module) -> Iterator[str]:
        for node in tree.body:
            if not isinstance(node, ast.ClassDef) or _is_view(tree, node):
                continue
            if _bases(node) & (self.ports | self.kinds):
                yield node.name

    def _arrows(self) -> Iterator[tuple[str, str]]:
        return ((a, b) for a, of in self.imports.items() for b in sorted(of))

    def functions(self) -> list[Function]:
        """All functions, the longest first."""
        found = []
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    of = node.args
                    names = [a.arg for a in (*of.posonlyargs, *of.args, *of.kwonlyargs)]
                    num = len([a for a in names if a not in ("self", "cls")])
                    length = (node.end_lineno or node.lineno) - node.lineno + 1
                    found.append(Function(f"{name}.{node.name}", num, length))
        return sorted(found, key=lambda one: -one.num_lines)


def is_engine(module: str) -> bool:
    """True if a module belongs to the engine."""
    return any(f"{module}.".startswith(f"cosim.{engine}.") for engine in ENGINE)


def is_part(module: str) -> bool:
    """True if a module belongs to parts."""
    return module.split(".")[1:2] != [] and module.split(".")[1] in PARTS and not is_engine(module)


def _is_view(tree: ast.Module, node: ast.ClassDef) -> bool:
    """True if a class is a protocol of typing, which is what a part is given."""
    typed = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "typing"]
    return "Protocol" in _bases(node) and any(of.name == "Protocol" for one in typed for of in one.names)


def _bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0] for base in node.bases}


def _is_of_class(node: ast.expr) -> bool:
    """True if it is Class.method."""
    owner = node.value if isinstance(node, ast.Attribute) else node
    return isinstance(owner, ast.Name) and owner.id[:1].isupper() and not owner.id.isupper()


def _only_returned(method: ast.FunctionDef) -> ast.expr | None:
    """Expression that a method returns, if it does nothing else."""
    body = [node for node in method.body if not (isinstance(node, ast.Expr) and _is_text(node.value))]
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def main(root: Path) -> None:
    """Print the numbers of a checkout."""
    house = House(root)
    lines = house.lines()
    print(f"lines: {sum(lines.values()):,}, of the kernel {house.kernel():,}")
    print("  " + ", ".join(f"{room} {num:,}" for room, num in sorted(lines.items(), key=lambda of: -of[1])))
    for name, found in (
        ("yes/no flags on ports", house.flags()),
        ("look-ups of what a class overrides", house.look_ups()),
        ("methods that only forward", house.forwards()),
        ("imports from parts to the engine", house.to_engine()),
        ("imports from the engine to kinds", house.to_kinds()),
    ):
        print(f"{name}: {len(found)}")
        if "-v" in sys.argv:
            print("".join(f"  {one}\n" for one in found), end="")
    circles = house.circles()
    print(f"circles of files: {len(circles)}, of {[len(circle) for circle in circles]} files")
    for circle in circles:
        print("  " + ", ".join(name.removeprefix("cosim.") for name in circle))
    print("longest functions (lines, parameters):")
    for one in house.functions()[:5]:
        print(f"  {one.where.removeprefix('cosim.')}: {one.num_lines}, {one.num_parameters}")


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    main(Path(given[0]) if given else Path(__file__).resolve().parents[1])
