"""Messages: what is wrong, where, which rule; then the fix, an imperative sentence of plain English."""

import ast
import re
from collections.abc import Iterator

import plain
from fixtures.fixes import VERBS

IMPERATIVE = re.compile(rf"\b(?:{'|'.join(VERBS.split())})\b")
FIX = re.compile(rf"[.?}})\"'] (?:{'|'.join(VERBS.split())})\b")
PASSED_ON = re.compile(r"\{\}\.?$|\bKnown\b|\} Use |See --help|\{\}, then give")
"""Ends of messages whose fix is another message's, or a list of what there is."""
BANNED = re.compile(
    r"\b(?:who|whoever|somebody|nobody|those|theirs|anew|so many|goes without|comes to)\b|Usual fix",
    re.IGNORECASE,
)
OF_ERRORS = ("refuse", "Broken", "fault", "warn")
ROOMS = ("cosim/", "models/", "analysis/", "scenarios/")


def text(node: ast.expr) -> str:
    """The text of a literal, with {} for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "{}"


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def literals(node: ast.AST) -> Iterator[ast.expr]:
    """Literals of texts in a node, whole."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node  # type: ignore[misc]
        return
    for child in ast.iter_child_nodes(node):
        yield from literals(child)


def messages(tree: ast.Module) -> Iterator[ast.expr]:
    """Literals that errors are made of: in their calls, and in names such as `rule` and `fix`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (called(node).endswith("Error") or called(node) in OF_ERRORS):
            for argument in [*node.args, *(word.value for word in node.keywords)]:
                yield from literals(argument)
        elif isinstance(node, ast.Assign) and re.search(
            r"\b(?:rule|fix|why|what)\b", ast.unparse(node.targets[0])
        ):
            yield from literals(node.value)


def fixes(tree: ast.Module) -> Iterator[ast.expr]:
    """Literals given as `fix` to `refuse` and `Broken`."""
    for node in ast.walk(tree):
        place = {"refuse": 4, "Broken": 1}.get(called(node)) if isinstance(node, ast.Call) else None
        if place is not None and len(node.args) > place:
            yield from literals(node.args[place])


PROGRAMS = [name for name in plain.files() if name.startswith(ROOMS)]


def test_messages_have_no_banned_word():
    assert not [
        f"{name}:{node.lineno}: {text(node)}"
        for name in PROGRAMS
        for node in messages(plain.parsed(name))
        if BANNED.search(text(node))
    ]


def test_a_fix_is_an_imperative_sentence():
    assert not [
        f"{name}:{node.lineno}: {text(node)}"
        for name in PROGRAMS
        for node in fixes(plain.parsed(name))
        if not (IMPERATIVE.match(text(node)) and text(node).endswith("."))
    ]


def test_every_message_says_how_to_fix_it():
    made = [
        (name, node.args[0])
        for name in PROGRAMS
        for node in ast.walk(plain.parsed(name))
        if isinstance(node, ast.Call) and called(node) == "ConfigurationError" and node.args
    ]
    assert not [
        f"{name}:{said.lineno}: {text(said)}"
        for name, said in made
        if isinstance(said, ast.JoinedStr | ast.Constant)
        and not (FIX.search(text(said)) or PASSED_ON.search(text(said)))
    ]
