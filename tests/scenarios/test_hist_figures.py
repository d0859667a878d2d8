"""The reproductions of Figs. 4 to 7: what they run, write, claim, and how they go on after a stop."""

import importlib
import json

import attrs
import pandas as pd
import pytest

import cosim
from cosim import running
from cosim.configuration import to_dict
from scenarios.reproduce.figures import play_all
from scenarios.reproduce.hist import figures as hist_figures
from scenarios.reproduce.hist.figures import Options, hist_system, uploads, uploads_to

FIGURES = {
    name: importlib.import_module(f"scenarios.reproduce.hist.{name}")
    for name in ("fig4", "fig5", "fig6", "fig7")
}


def tiny(options, *, num_global_rounds, swap=False, whole_model=False, **settings):
    """The same setting on synthetic data, two global rounds at most per unit of the original."""
    system = hist_system(
        options, num_global_rounds=min(4, num_global_rounds), whole_model=whole_model != swap, **settings
    )
    training = attrs.evolve(
        system.protocol.training,
        steps=cosim.SameSteps(num_local_steps=2),
        local=attrs.evolve(system.protocol.training.local, batch_size=10),
    )
    return attrs.evolve(
        system,
        model="relu-12-24-4",
        data=cosim.Synthetic(split=system.data.split),
        protocol=attrs.evolve(system.protocol, training=training),
    )


def shrink(monkeypatch, make):
    """Let every reproduction make its systems so."""
    for module in (hist_figures, FIGURES["fig6"], FIGURES["fig7"]):
        monkeypatch.setattr(module, "hist_system", make)


@pytest.mark.parametrize("name", FIGURES)
def test_a_reproduction_writes_its_table_and_its_picture(name, tmp_path, monkeypatch, capsys):
    figure = FIGURES[name]
    shrink(monkeypatch, tiny)
    figure.main(Options(quick=True, out=tmp_path))
    table = pd.read_csv(tmp_path / f"hist-{name}.csv")
    assert {"curve", "accuracy", "uploads_per_client", "bits_per_client", "energy_j", "time_s"} <= set(
        table.columns
    )
    for curve, rows in table.groupby("curve"):
        system = cosim.Result.load(
            tmp_path / "runs" / curve.replace(" ", "_").replace(",", "").replace("=", "")
        ).config["system"]
        training = system["protocol"]["training"]
        share = 1 if system["protocol"]["kind"] == "HFedAvg" else 1 / system["num_cells"]
        part = training["selection"].get("num_participants", 20) / 20 if system["num_cells"] == 3 else 1.0
        expected = rows["version"] * training["num_edge_rounds"] * share * part
        assert rows["uploads_per_client"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    picture = (tmp_path / f"hist-{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "the paper says" in printed
    assert str(tmp_path.name) in printed


def test_the_required_claims_can_fail(tmp_path, monkeypatch):
    swapped = lambda options, **settings: tiny(options, swap=True, **settings)  # noqa: E731
    shrink(monkeypatch, swapped)
    assert FIGURES["fig4"].main(Options(quick=True, out=tmp_path)) == 1


def test_a_stopped_reproduction_goes_on_with_what_is_missing(tmp_path, monkeypatch):
    options = Options(out=tmp_path)
    systems = {f"N={n}": tiny(options, num_cells=n, split="cell-iid", num_global_rounds=2) for n in (2, 3)}
    first = play_all("f", {"N=2": systems["N=2"]}, options)["N=2"]
    unfinished = tmp_path / "runs" / "N3"
    unfinished.mkdir()
    config = {"scenario": "f", "system": to_dict(systems["N=3"])}
    (unfinished / "config.json").write_text(json.dumps(config))
    clocks, real = [], running.Simulation
    monkeypatch.setattr(running, "Simulation", lambda *a, **k: clocks.append(real(*a, **k)) or clocks[-1])
    results = play_all("f", systems, options)
    (clock,) = clocks
    assert clock.now_s == results["N=3"].summary.time_s
    assert "resumed" in json.loads((unfinished / "provenance.json").read_text())
    pd.testing.assert_frame_equal(results["N=2"].evaluations, first.evaluations)
    with pytest.raises(cosim.ConfigurationError, match="another configuration"):
        play_all("f", {"N=2": attrs.evolve(systems["N=2"], seed=2)}, options)


def test_forms(tmp_path):
    quick, full, paper = Options(quick=True), Options(), Options(paper_scale=True)
    assert [o.rounds(3, 10) for o in (quick, full, paper)] == [3, 10, 50]
    systems = [
        hist_system(o, num_cells=2, split="cell-iid", num_global_rounds=1) for o in (quick, full, paper)
    ]
    rates = [system.protocol.training.local.learning_rate for system in systems]
    assert rates == [0.05, 0.05, 0.01]
    with pytest.raises(cosim.ConfigurationError, match="one of them"):
        Options(quick=True, paper_scale=True)
    assert len({o.folder("hist-fig4") for o in (quick, full, paper)}) == 3
    assert hist_figures.Options(out=tmp_path).folder("x") == tmp_path


def test_hist_reaches_75_percent_with_less_upload_than_hfedavg(fashion_mnist, tmp_path):
    """The paper's main statement on real data: N = 4, fully non-i.i.d. (HIST journal paper, Fig. 4a).

    Of the seeds 1 to 4, HIST is there after 7.5 uploads with 2 and 3, after 10 with all; HFedAvg after 10
    with none.
    """
    options = Options(out=tmp_path, seed=3)
    systems = {
        "HIST": hist_system(options, num_cells=4, split="shards", num_global_rounds=6),
        "HFedAvg": hist_system(options, num_cells=4, split="shards", num_global_rounds=2, whole_model=True),
    }
    results = play_all("f", systems, options)
    assert uploads(results["HIST"]).iloc[-1] == pytest.approx(7.5, rel=1e-12)
    assert uploads(results["HFedAvg"]).iloc[-1] == pytest.approx(10.0, rel=1e-12)
    assert uploads_to(results["HIST"], 0.75) is not None
    assert uploads_to(results["HFedAvg"], 0.75) is None
