"""Inventory of the papers: no number without a row, links that are there, verdicts of what is kept."""

import re

import attrs
import numpy as np
import pytest

import cosim
from cosim.files.on_disk import read_json
from scenarios import results
from scenarios.results import across, inventory
from scenarios.results.inventory import rows
from scenarios.results.inventory.items import named, numbers, numbers_of

pytestmark = pytest.mark.quick

PAPERS = rows.papers()
KEPT = results.kept()
COMMAND = "python -m scenarios.results"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_a_paper_has_a_row(paper):
    """A page that lacks one is refused, whichever it is."""
    own = rows.rows_of(paper)
    for kind, text in read_json(rows.FOLDER / "numbers.json")[paper].items():
        for number in numbers(text):
            without = [row for row in own if number not in numbers_of(row.items).get(kind, ())]
            assert len(without) < len(own)
            with pytest.raises(cosim.ConfigurationError, match=rf"no row has .*\b{kind} {number}\b"):
                rows.check(paper, without)


def test_numbers_that_a_paper_has_not_are_refused():
    row = attrs.evolve(rows.rows_of("vhfl")[0], items="equation 72")
    with pytest.raises(cosim.ConfigurationError, match="items has equation 72, which the paper has not"):
        rows.check("vhfl", [*rows.rows_of("vhfl"), row])


def test_items_are_read_and_named():
    text = "equation 2-4 28a-28c; table I; figure 4a 4b"
    assert numbers_of(text) == {
        "equation": {"2", "3", "4", "28a", "28b", "28c"},
        "table": {"I"},
        "figure": {"4a", "4b"},
    }
    assert named(text) == "eq. 2 to 4, 28a to 28c; Table I; Fig. 4a, 4b"


GOOD = rows.Row(
    section="II",
    items="",
    what="so",
    here="cosim/protocols/hist.py:Hist",
    held_by="tests/protocols/test_hist.py:test_one_cell_is_hfedavg",
    state=rows.IMPLEMENTED,
    remark="",
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": "done"}, "state = 'done': must be one of comes out, .* Use one of them"),
        ({"held_by": ""}, "a test must hold it. Use held_by"),
        ({"state": rows.NOT_HERE}, "the reason or the command must be there. Use remark"),
        ({"here": "hist-fig4"}, "hist-fig4 says what comes out. Leave it out"),
        ({"here": "cosim/protocols/hist.py:Histo"}, "hist.py:Histo: is not there. Use"),
        ({"here": "cosim/protocols/histo.py"}, "histo.py: is not there. Use"),
        ({"here": "validate:nothing"}, "validate:nothing: is not there. Use"),
        ({"held_by": "tests/protocols/test_hist.py:test_two"}, "test_two: is not there. Use"),
    ],
)
def test_rows_that_lead_nowhere_are_refused(changes, message):
    assert not list(rows.faults(GOOD))
    assert any(re.search(message, fault) for fault in rows.faults(attrs.evolve(GOOD, **changes)))


def test_the_page_has_every_claim_of_the_papers_and_none_of_ours():
    figures = [*KEPT, *across.claims_across(results.FOLDER, KEPT)]
    lines = inventory.page(figures, COMMAND).splitlines()
    for told in KEPT:
        for claim in told["claims"]:
            words = claim["paper"].replace("|", r"\|")
            own = [line for line in lines if f"| {words} |" in line]
            if claim["is_ours"]:
                assert not own
            else:
                assert any(told["figure"] in line and claim["verdict"] in line for line in own)


# --- What is kept -------------------------------------------------------------------------------------------


def told(figure, *claims, command=""):
    """A figure with claims, each a sentence and its verdict."""
    made = [{"paper": paper, "verdict": verdict, "is_ours": False} for paper, verdict in claims]
    return {"figure": figure, "command": command, "claims": made, "seeds": [1, 2], "core_hours": 0.5}


def lines_of(here, *figures, items="figure 1"):
    row = attrs.evolve(GOOD, here=here, state="", items=items, held_by="")
    return [line[1:] for line in inventory.lines_of([row], figures)]


def test_a_figures_claims_stand_below_it_with_a_verdict_by_every_reading():
    both, one = ("a", "comes out"), ("b", "too noisy")
    figures = told("vhfl-fig4", both), told("vhfl-fig4-printed", ("a", "does not show"), one)
    head, first, second = lines_of("vhfl-fig4", *figures)
    assert head[2] == "vhfl-fig4: comes out 1 of 1; vhfl-fig4-printed: does not show 1, too noisy 1 of 2"
    links = "[vhfl-fig4](vhfl.md#vhfl-fig4), [vhfl-fig4-printed](vhfl.md#vhfl-fig4-printed)"
    assert first == ("a", links, "comes out (vhfl-fig4), does not show (vhfl-fig4-printed)", "comes out")
    assert second[0::2] == ("b", "too noisy")


def test_a_sentence_is_judged_by_the_claims_that_it_names():
    figure = told("vhfl-fig4", ("more is better", "comes out"), ("less is worse", "does not show"))
    (line,) = lines_of("vhfl-fig4:*better*", figure, items="")
    assert line[2:] == ("vhfl-fig4: comes out 1 of 1", "comes out")
    (line,) = lines_of("vhfl-fig4:*better* vhfl-fig4:*worse*", figure, items="")
    links = "[vhfl-fig4](vhfl.md#vhfl-fig4)"
    assert line[1:] == (links, "vhfl-fig4: comes out 1, does not show 1 of 2", "does not show")
    with pytest.raises(cosim.ConfigurationError, match=r"vhfl-fig4:\*best\*: matches no claim. Use words"):
        lines_of("vhfl-fig4:*best*", figure)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ([], "not run: `cosim reproduce vhfl-fig4`"),
        ([told("vhfl-fig4", command="x --quick")], "not run: `cosim reproduce vhfl-fig4`"),
        (
            [told("vhfl-fig4-printed", ("a", "comes out"))],
            "not run: `cosim reproduce vhfl-fig4`; vhfl-fig4-printed has taken 0.5 core-hours with 2 seeds",
        ),
    ],
)
def test_a_form_that_was_not_run_has_its_command(figures, said):
    last = lines_of("vhfl-fig4", *figures)[-1]
    assert last[2:] == (said, "not run")


def test_a_reproduction_that_no_row_names_stands_at_the_end(monkeypatch):
    monkeypatch.setattr(inventory, "rows_of", lambda paper: [])
    page = inventory.page([told("vhfl-fig4", ("new", "comes out"))], COMMAND)
    assert page.endswith("|  | new | [vhfl-fig4](vhfl.md#vhfl-fig4) | comes out |\n")


# --- Across tables ------------------------------------------------------------------------------------------


def entry(accuracy, edge_round_j=3.0):
    return across.Entry(np.array([accuracy, accuracy + 0.01]), np.array([edge_round_j, 2.0]))


def tables(**changes):
    """Three tables of two seeds, in which every claim comes out."""
    names = [*across.RAWHFL, *across.OTHERS, across.UPPER]
    made = {
        label: {name: entry(0.3) for name in names} | {across.CENTRAL: entry(central)}
        for label, central in (("II", 0.4), ("III", 0.3), ("IV", 0.35))
    }
    for label, own in changes.items():
        made[label] |= own
    return made


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"IV": {"RawHFL, Z=6": entry(0.33)}}, [0, 1]),
        ({"II": {"RawHFL, Z=2": entry(0.27)}}, [0]),
        ({"III": {"H-FedAvg-M2": entry(0.33)}}, [1]),
        ({"III": {across.CENTRAL: entry(0.45)}}, [2]),
        ({"IV": {"FedAvg-UB": entry(0.3, 3.1)}}, [3]),
    ],
)
def test_claims_across_tables(changes, missed):
    verdicts = [claim.verdict for claim in across.claims(tables(**changes))]
    assert [number for number, verdict in enumerate(verdicts) if verdict != "comes out"] == missed


def test_tables_of_other_seeds_are_not_held_together(tmp_path):
    names = across.TABLES.values()
    figures = [told(name, command="cosim") | {"seeds": [number]} for number, name in enumerate(names)]
    assert across.claims_across(tmp_path, figures) == []
