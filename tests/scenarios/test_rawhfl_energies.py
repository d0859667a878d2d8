"""The energies of RawHFL's tables: the problem read back, the sweep, and what each claim would miss."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

import cosim
from scenarios.papers.rawhfl import Unconstrained
from scenarios.papers.rawhfl.plans import common_steps
from scenarios.papers.rawhfl.plans.problem import Plan, Problem
from scenarios.reproduce.rawhfl import energies, stragglers
from scenarios.reproduce.rawhfl.energies import MOVED, OFF, claims, swept
from scenarios.reproduce.rawhfl.figures import Options, system_of
from scenarios.reproduce.rawhfl.planned_problem import problem_of
from scenarios.reproduce.rawhfl.readings import PRINTED, READINGS, TABLES
from scenarios.reproduce.rawhfl.tables import PAPER_EDGE_ROUND_J

ASKED: list[Problem] = []


class Listening(Unconstrained):
    """H-FedAvg-UB that keeps what it was asked."""

    def solver_for(self, sim: cosim.Simulation, cell: Any) -> Callable[[Problem], Any]:
        solve = super().solver_for(sim, cell)

        def kept(problem: Problem) -> Any:
            ASKED.append(problem)
            return solve(problem)

        return kept


@pytest.fixture(scope="module")
def unconstrained() -> cosim.Result:
    """One global round of H-FedAvg-UB by the reading of the tables."""
    ASKED.clear()
    system = system_of("H-FedAvg-UB", Options(num_global_rounds=1), 4, learns=False)
    protocol = cosim.evolve(system.protocol, policy=Listening())
    return cosim.run(cosim.evolve(system, protocol=protocol))


def test_the_problem_is_read_back_from_times_and_energies(unconstrained: cosim.Result) -> None:
    found = problem_of(unconstrained)
    assert len(ASKED) == 4
    for name in ("step_cycles", "max_frequency_hz", "max_power_w", "snr_per_w", "energy_budget_j"):
        asked = np.stack([getattr(problem, name) for problem in ASKED]).T.ravel()  # client by client
        np.testing.assert_allclose(getattr(found, name), asked, rtol=1e-6, err_msg=name)
    for name in ("payload_bits", "bandwidth_hz", "deadline_s", "max_steps", "capacitance_j_per_hz2"):
        assert getattr(found, name) == getattr(ASKED[0], name)


def test_the_sweep_has_the_energy_of_the_run_at_its_own_gain(unconstrained: cosim.Result) -> None:
    sweep = swept([unconstrained]).set_index(["algorithm", "sample_bits", "gain_db"])["edge_round_j"]
    spent_j = unconstrained.spans["energy_j"].sum() / 4
    assert sweep["H-FedAvg-UB", 1408, 3.0] == pytest.approx(spent_j, rel=1e-9)
    own = cosim.run(system_of("H-FedAvg-M2", Options(num_global_rounds=1), 4, learns=False))
    assert sweep["H-FedAvg-M2", 1408, 3.0] == pytest.approx(own.spans["energy_j"].sum() / 4, rel=1e-6)


def test_stragglers_by_the_plans_of_each_edge_round(unconstrained: cosim.Result) -> None:
    """Energies and steps of M2 by its three rules, and of M1."""

    def mean_j(plans: list[Plan]) -> float:
        return sum(plan.energy_j(of).sum() for plan, of in zip(plans, ASKED[:4], strict=True)) / 4

    found = stragglers.trial(unconstrained)
    assert found["m2_own_j"] == pytest.approx(
        mean_j([common_steps.without_stragglers(of, own_steps=True) for of in ASKED[:4]]), rel=1e-6
    )
    together = [common_steps.without_stragglers(of) for of in ASKED[:4]]
    assert found["m2_all_j"] == pytest.approx(mean_j(together), rel=1e-6)
    steps = np.concatenate([plan.num_steps[plan.is_selected] for plan in together])
    assert found["m2_all_steps"] == pytest.approx(steps.mean())
    assert found["m2_all_steps"] < found["m2_cell_steps"] < found["m2_own_steps"] < 50.0
    assert found["m1_j"] == mean_j([common_steps.all_or_nothing(of) for of in ASKED[:4]]) == 0.0
    assert found["all_able_share"] == 0.0


def test_claims_on_stragglers_know_rare_trials_and_steps() -> None:
    rows = pd.DataFrame(
        {
            "m1_j": [0.0] * 19 + [12.0],
            **{f"m2_{rule}_j": np.linspace(27.5, 28.5, 20) for rule in stragglers.RULES},
            **{f"m2_{rule}_steps": np.linspace(2.4, 2.6, 20) for rule in stragglers.RULES},
        }
    )
    assert {claim.verdict for claim in stragglers.claims(rows)} == {"comes out"}
    at_least_one = 1.0 - 0.95**10  # of ten trials at 12 J, so that the mean is 1.2 J
    assert stragglers.share_of_groups(rows["m1_j"].to_numpy(), 1.2) == pytest.approx(at_least_one, abs=0.01)
    off = rows.assign(m1_j=0.1, m2_all_j=20.0, m2_own_steps=40.0)
    missed = [claim.paper for claim in stragglers.claims(off) if claim.verdict == "does not show"]
    assert [paper.partition(":")[0] for paper in missed] == [
        "H-FedAvg-M1",
        "H-FedAvg-M2, common to all cells",
        "H-FedAvg-M2, the most that each can",
    ]


def test_an_edge_round_of_the_reading_by_hand(unconstrained: cosim.Result) -> None:
    """48 clients do 50 steps of 320 samples of 1,408 bits, and send 33 bits of each of 219,648 parameters."""
    problem = ASKED[0]
    samples, sent = 50 * 320 * 1408, 33 * 219_648
    cycles_per_bit = problem.step_cycles / (320 * 1408)
    assert ((cycles_per_bit >= 25.0) & (cycles_per_bit <= 40.0)).all()
    hz, watt = problem.max_frequency_hz, problem.max_power_w
    train_j = 1e-28 * samples * cycles_per_bit * hz**2
    send_j = watt * sent / (540e3 * np.log2(1.0 + problem.snr_per_w * watt))
    first = unconstrained.plans["edge_round"] == 0
    assert unconstrained.plans.loc[first, "planned_j"].sum() == pytest.approx((train_j + send_j).sum())
    alone = system_of("H-FedAvg-UB", Options(num_global_rounds=1, reading="no-gain"), 4, learns=False)
    del ASKED[4:]
    cosim.run(cosim.evolve(alone, protocol=cosim.evolve(alone.protocol, policy=Listening())))
    np.testing.assert_allclose(problem.snr_per_w / ASKED[4].snr_per_w, 10.0**0.3, rtol=1e-12)


def test_readings_differ_in_one_part_each() -> None:
    parts = {name: attrs.asdict(reading, recurse=False) for name, reading in READINGS.items()}
    differing = {
        name: {field for field, value in own.items() if value != parts["tables"][field]}
        for name, own in parts.items()
    }
    assert differing == {
        "tables": set(),
        "printed": set(attrs.asdict(PRINTED)),
        "no-gain": {"antenna_gain_db", "noise_figure_db"},
        "planned-power": {"plans_power"},
        "equal-shares": {"initial_selection"},
        "common-steps": {"own_steps"},
    }
    assert (TABLES.gain_db, PRINTED.gain_db) == (3.0, 0.0)


def made_up(factor: Callable[[str, str], float]) -> dict[tuple[str, str], Any]:
    """Energies of three seeds, as multiples of the paper's."""
    spread = np.array([0.99, 1.0, 1.01])
    return {
        (reading, name): PAPER_EDGE_ROUND_J[name] * factor(reading, name) * spread
        for reading, names in MOVED.items()
        for name in names
    }


def test_claims_come_out_where_the_paper_has_them_and_the_others_do_not() -> None:
    found = claims(made_up(lambda reading, name: 1.0 if reading == "tables" else 0.5))
    assert {claim.verdict for claim in found} == {"comes out"}


@pytest.mark.parametrize("off", ["RawHFL, Z=4", "H-FedAvg-UB", "H-FedAvg-M2"])
def test_an_energy_that_is_off_is_caught(off: str) -> None:
    energies_j = made_up(lambda reading, name: 0.5 if reading != "tables" or name == off else 1.0)
    missed = [claim.paper for claim in claims(energies_j) if claim.verdict != "comes out"]
    assert any(paper.startswith(off) for paper in missed)


@pytest.mark.parametrize("reading", OFF)
def test_a_part_that_could_be_left_out_is_said(reading: str) -> None:
    energies_j = made_up(lambda other, name: 1.0 if other in ("tables", reading) else 0.5)
    missed = [claim for claim in claims(energies_j) if claim.verdict != "comes out"]
    assert [(claim.paper.split(":")[0], claim.is_required) for claim in missed] == [(reading, True)]


def test_the_quick_form_has_five_seeds_of_every_reading_and_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unconstrained: cosim.Result
) -> None:
    """Runs whose energies are the paper's, or half of them; not of Z = 2 and 6, which take more seeds."""
    asked = {}

    class MadeUp:
        def __init__(self, options: Options, names: Sequence[str], *, learns: bool) -> None:
            assert not learns
            asked[options.reading] = list(options.every_seed)
            self.of, self.all, self.reading = {of: [unconstrained] for of in names}, [], options.reading

        def edge_round_j(self, name: str) -> np.ndarray:
            factor = 1.0 if self.reading == "tables" else 0.5
            return np.full(len(asked[self.reading]), factor * PAPER_EDGE_ROUND_J[name])

    monkeypatch.setattr(energies, "Runs", MadeUp)
    assert energies.main(energies.Options(quick=True, out=tmp_path)) == 0
    assert asked == {reading: [1, 2, 3, 4, 5] for reading in READINGS}
    table = pd.read_csv(tmp_path / "rawhfl-energies.csv")
    assert set(table["reading"]) == {*READINGS, "swept"}
    assert {name for name in table["algorithm"] if name.startswith("RawHFL")} == {"RawHFL, Z=4"}
