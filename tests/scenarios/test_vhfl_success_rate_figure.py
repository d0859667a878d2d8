"""The reproduction of VHFL's Fig. 7: the points that it measures and claims, and that claims can fail."""

from pathlib import Path

import attrs
import numpy as np
import pandas as pd
import pytest
from run_here import NO, YES, claimed, ends, verdicts

import cosim
from scenarios.reproduce.vhfl import fig7
from scenarios.reproduce.vhfl.fig7 import Options
from scenarios.validate.sojourns import Options as Points
from scenarios.validate.sojourns import in_arrays, on_the_clock
from scenarios.validate.success_rate import compare

Patch = pytest.MonkeyPatch


@pytest.fixture
def small_points(monkeypatch: Patch) -> list[dict[str, int]]:
    """Lets Fig. 7 measure few points; what it asked for comes into the list."""
    asked: list[dict[str, int]] = []

    def small(**wanted: int) -> Points:
        asked.append(wanted)
        return Points(
            seed=wanted["seed"],
            fast_weights=(0.5, 0.8),
            success_rates=(0.5, 0.9),
            num_packets=60_000,
            num_array_packets=60_000,
        )

    monkeypatch.setattr(fig7, "Points", small)
    return asked


def test_points_that_agree_are_written(small_points: list[dict[str, int]], tmp_path: Path) -> None:
    out = tmp_path / "new"
    assert fig7.main(Options(quick=True, seed=2, seeds=2, out=out)) == 0
    of_each = {"num_packets": 1_000_000, "num_array_packets": 5_000_000}
    assert small_points == [{"seed": 2, **of_each}, {"seed": 3, **of_each}]
    table = pd.read_csv(out / "vhfl-fig7.csv")
    for seed, own in table.groupby("seed"):
        assert list(own["method"]) == ["clock"] * 4 + ["arrays"] * 4
        measured = compare(fig7.Points(seed=seed), in_arrays, "arrays").assign(seed=seed)
        found = own[own["method"] == "arrays"].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, measured, rtol=1e-12)
    assert table.groupby("seed")["estimate"].first().nunique() == 2
    assert (out / "vhfl-fig7.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert verdicts(out, "vhfl-fig7") == [YES, YES, YES, NO, YES]
    agree, smaller, *_ = claimed(out, "vhfl-fig7")
    assert ends(agree) == [[0.0, 0.0, 0.0]]
    needed_s = table.groupby(["fast_weight", "success_rate"])["waiting_time_s"].first()
    assert ends(smaller)[0][0] == pytest.approx((needed_s[0.5] / needed_s[0.8]).min(), rel=1e-9)


def test_a_folder_that_cannot_be_made_is_refused_first(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(fig7, "compare", lambda *arguments: pytest.fail("it has started"))
    with pytest.raises(cosim.ConfigurationError, match="cannot be written"):
        fig7.main(Options(quick=True, out=tmp_path / "file" / "x"))


@pytest.mark.usefixtures("small_points")
def test_claims_can_fail(tmp_path: Path, monkeypatch: Patch) -> None:
    points = fig7.Points(seed=1)
    measured = compare(points, in_arrays, "arrays")

    def said(points: Points, measured: pd.DataFrame) -> list[str]:
        return [claim.verdict for claim in fig7.claims(points, measured)]

    assert said(points, measured) == [YES, YES, YES, NO, YES]
    for verdict in ("disagrees", "too noisy"):
        assert said(points, measured.assign(verdict=[verdict, *measured["verdict"][1:]])) == [
            NO,
            YES,
            YES,
            NO,
            YES,
        ]

    class Reversed(Points):
        """Larger weights of the fast stage need more time."""

        def theory(self, fast_weight: float):
            return super().theory(1.0 - fast_weight)

    turned = Reversed(**attrs.asdict(points, recurse=False) | {"fast_weights": (0.4, 0.5)})
    assert said(turned, measured) == [YES, NO, YES, NO, YES]
    swapped = lambda options, weight: on_the_clock(options, 1.0 - weight)  # noqa: E731
    monkeypatch.setattr(fig7, "on_the_clock", swapped)
    assert fig7.main(Options(quick=True, out=tmp_path)) == 1
    assert verdicts(tmp_path, "vhfl-fig7") == [NO, YES, YES, NO, YES]


def test_an_exponential_describes_the_plotted_range_and_a_line_or_a_longer_range_does_not() -> None:
    """Of the T_p between its ends on a straight line, and up to 0.98, R^2 is less than is asked."""
    rates, logs = fig7.plotted_logs(Points(seed=1))
    assert (rates[0], rates[-1], len(rates)) == (0.5, 0.9, 41)
    line, *_ = np.polyfit(rates, logs, 1, full=True)
    rest = logs - np.polyval(line, rates)
    assert fig7.of_a_line(rates, logs) == pytest.approx(1.0 - rest.var() / logs.var(), rel=1e-9)
    assert fig7.of_a_line(rates, logs) > 0.999 > fig7.EXPLAINED
    straight_s = np.interp(rates, rates[[0, -1]], np.exp(logs[[0, -1]]))
    longer = np.linspace(0.5, 0.98, 49)
    for others in ((rates, np.log(straight_s)), (longer, np.log(fig7.waits_s(Points(seed=1), 0.5, longer)))):
        assert fig7.of_a_line(*others) < fig7.EXPLAINED
