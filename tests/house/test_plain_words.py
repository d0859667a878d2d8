"""Plain English in docstrings, comments and docs, by the rules of `plain.py`."""

import plain
import pytest

pytestmark = pytest.mark.quick


def test_docstrings_comments_and_docs_are_plain():
    found = plain.offences()
    assert not found, "\n".join(f"{name}:{line}: {rule}: {text}" for name, line, rule, text in found)


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Rules that refuse a text, by the name of its file."""
    monkeypatch.setattr(plain, "ROOT", tmp_path)

    def rules(text, name="one.py"):
        (tmp_path / name).write_text(text)
        plain.read.cache_clear()
        plain.parsed.cache_clear()
        return [(found.line, found.rule) for found in plain.words(name)]

    yield rules
    plain.read.cache_clear()
    plain.parsed.cache_clear()


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ('"""Clients who send."""', [(1, "word")]),
        ('"""Clients that send, drawn anew; so\nmany of them."""', [(1, "word"), (1, "word")]),
        ("x = 1  # nobody waits", [(1, "word")]),
        ('"""Those clients; those of a cell, and\nthose."""', [(1, "first word"), (1, "word"), (2, "word")]),
        ('"""Clients of those cells, by `who` in `theirs`."""', []),
        ('"""Whether it sends."""', [(1, "first word")]),
        ('"""True if it sends, whether or not it trains."""', []),
        ('def f():\n    """As before."""', [(2, "first word")]),
        ('"""Last round; None: no end."""', [(1, "None")]),
        ('"""Last round. None means no end."""', []),
        ("text = 'nobody waits'", []),
    ],
)
def test_words_of_a_program(refused, text, rules):
    assert sorted(refused(text)) == rules


def test_words_of_a_page(refused):
    assert refused("# A page\n\nClients\nwho send `anew`.\n", "page.md") == [(4, "word")]


def test_an_override_that_says_no_more_than_its_port(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "ROOT", tmp_path)
    (tmp_path / "port.py").write_text(
        'class Port:\n    def f(self):\n        """Rate in bit/s; 0 when off."""\n'
    )
    (tmp_path / "kind.py").write_text(
        "class Middle(Port):\n    pass\n"
        'class Same(Middle):\n    @override\n    def f(self):\n        """Rate in bit/s; 0 when off"""\n'
        'class Part(Port):\n    @override\n    def f(self):\n        """Rate in bit/s."""\n'
        'class More(Port):\n    @override\n    def f(self):\n        """Rate in bit/s by the table."""\n'
    )
    found = list(plain.overrides(["kind.py", "port.py"]))
    assert [(one.line, one.text) for one in found] == [
        (5, "f: rate in bit/s; 0 when off"),
        (9, "f: rate in bit/s"),
    ]
