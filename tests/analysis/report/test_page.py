"""The HTML of a report: balanced, self-contained, dark where it should be, and deaf to what files say."""

import re
from html.parser import HTMLParser

import attrs
import pytest

import cosim
from analysis.report.page import DARK_COLOURS, Section, Table, page
from analysis.report.report import NEEDED, report, write
from cosim import AfterRounds, ConfigurationError, Deadline, EdgeTraining, Hist, System
from cosim.data import Synthetic

SYSTEM = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=2, steps=cosim.SameSteps(num_local_steps=2), waiting=Deadline(deadline_s=0.02)
        )
    ),
    end=AfterRounds(num_global_rounds=2),
)
VOID = {"meta", "wbr"}
HOSTILE = """<script>alert(1)</script> "><img src=x onerror='alert(2)'> & $\\frac{1}{$"""


class Tags(HTMLParser):
    """All elements, in order, and what was not closed or never opened."""

    def __init__(self, html):
        super().__init__()
        self.open, self.wrong, self.elements, self.words = [], [], [], []
        self.feed(html)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def result():
    return cosim.run(SYSTEM)


@pytest.fixture(scope="module")
def html(result):
    return report([result, named(result, model="another")])


def named(result, folder=None, **fields):
    return attrs.evolve(
        result, config=result.config | {"system": result.config["system"] | fields}, folder=folder
    )


def test_the_same_runs_give_the_same_bytes(result, html):
    assert report([result, named(result, model="another")]) == html


def test_tags_balance_and_ids_are_unique(html):
    tags = Tags(html)
    assert not tags.wrong
    ids = [attributes["id"] for _, attributes in tags.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) > 8
    targets = [attributes["href"] for _, attributes in tags.elements if "href" in attributes]
    assert {target[1:] for target in targets} <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", html)) <= set(ids)


def test_nothing_beside_the_file_is_needed(html):
    tags = Tags(html)
    assert {tag for tag, _ in tags.elements}.isdisjoint({"script", "link", "img", "iframe", "object", "base"})
    for tag, attributes in tags.elements:
        assert not {"src", "srcset", "action"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert attributes.get("href", "#").startswith("#"), attributes
    css = "".join(re.findall(r"<style[^>]*>(.*?)</style>", html, flags=re.DOTALL))
    assert css
    assert not re.search(r"url\((?!#)|@import|https?:|//", css)
    assert not re.search(r"url\((?!#)", html)
    (policy,) = (a["content"] for _, a in tags.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_colour_of_a_picture_follows_the_page(html):
    pictures = "".join(re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL))
    used = set(re.findall(r"var\(--p([0-9a-f]{6}), #\1\)", pictures))
    assert used <= {colour[1:] for colour in DARK_COLOURS}
    bare = re.sub(r"var\(--p[0-9a-f]{6}, #[0-9a-f]{6}\)", "none", pictures)
    assert not re.search(r'#[0-9a-f]{6}[;"]|(fill|stroke)="(?!none|url\(#)', bare)
    for light, dark in DARK_COLOURS.items():
        assert f"--p{light[1:]}: {dark};" in html


def test_what_files_say_is_text(result, tmp_path):
    tame = report([result, named(result, model="tame", initial_weights="tame")])
    hostile = {"model": HOSTILE, "initial_weights": HOSTILE}
    runs = [result, named(result, folder=tmp_path / "<script>alert(3)<" / "<b>run", **hostile)]
    runs[1] = runs[1].with_tables(spans=result.spans.replace({"client-0000": "client-<i>$_{"}))
    tags = Tags(report(runs, title=HOSTILE, remarks=[HOSTILE]))
    assert not tags.wrong
    assert {tag for tag, _ in tags.elements} <= {tag for tag, _ in Tags(tame).elements} | {"p"}
    assert not any(name.startswith("on") for _, attributes in tags.elements for name in attributes)
    words = "".join(tags.words)
    assert words.count(HOSTILE) >= 4
    assert "<b>run" in words


def test_what_cannot_be_written_in_utf_8_is_text_too():
    values = {"apart": None, "shared": Table("a\udcffb<", ["a.b_c"], [["d\udcff.e"]])}
    html = page([Section("configuration", "Fields", values)])
    assert "a\\xffb&lt;" in html
    assert "a.<wbr>b_<wbr>c" in html
    assert "d\\xff.<wbr>e" not in html
    assert "d\\xff.e" in html


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_a_table_without_a_column_is_refused_in_one_message(result, name):
    damaged = result.with_tables(**{name: result.tables[name].drop(columns=NEEDED[name][-1])})
    with pytest.raises(ValueError, match=f"the table of {name} has no column {NEEDED[name][-1]}."):
        report([result, damaged])


def test_nothing_and_rounds_that_were_not_run_are_refused(result):
    with pytest.raises(ValueError, match="no runs"):
        report([])
    with pytest.raises(ValueError, match="global_round = 9: no run has it; there are 1 to 2"):
        report([result], global_round=9)
    assert "global round 2, 4 edge rounds" in report([result], global_round=2)


def test_a_run_without_rows_has_a_page(result):
    empty = {name: table.iloc[:0] for name, table in result.tables.items()}
    summary = result.summary._replace(status="interrupted", num_global_rounds=0, num_updates=0, num_dropped=0)
    html = report([attrs.evolve(result, summary=summary, tables=empty)])
    for said in (
        "is not complete",
        "Nothing was evaluated",
        "No client spent energy",
        "No client: no update was asked for.",
    ):
        assert said in html


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "page.html"
    write("one", path)
    write("two", path)
    assert path.read_text() == "two"
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match="folder: cannot be written"):
        write("three", tmp_path / "folder")
    assert {each.name for each in tmp_path.iterdir()} == {"page.html", "folder"}


def test_a_run_without_rows_of_its_clients_is_said_to_have_none(result):
    empty = {name: getattr(result, name).iloc[:0] for name in ("spans", "transfers", "fates", "plans")}
    bare = named(result, model="another").with_tables(**empty)
    html = report([bare])
    assert html.count("the run: the run kept no rows of its clients. Use cosim run --records all.") == 4
    assert "every update arrived" not in html
    assert "No client spent energy" not in html
    both = report([result, bare])
    assert both.count("model another: the run kept no rows of its clients.") == 4
    assert "Energy of a run, all clients together" in both
