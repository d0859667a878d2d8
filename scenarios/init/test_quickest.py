"""Quickest keeps the laws that every part keeps, and does what it says."""

import cosim
from cosim.testing import check_selection
from quickest import Quickest
from scenario import system


def test_quickest_keeps_the_laws_of_runs():
    check_selection(Quickest(num_participants=1, num_spare=1))


def training_s(num_spare):
    """Duration of a training of each client that takes part, where links are alike."""
    alike = system().but(num_spare=num_spare, fading=cosim.radio.NoFading(), evaluation=cosim.Never())
    spans = cosim.run(alike).spans
    trainings = spans[spans["activity"] == "train"]
    return (trainings["end_s"] - trainings["start_s"]).groupby(trainings["node"]).first()


def test_if_all_are_drawn_the_fastest_processors_of_each_cell_train():
    of_all, of_the_quickest = training_s(num_spare=0), training_s(num_spare=7)
    assert len(of_all) == 20
    fastest = {*of_all[:10].nsmallest(3).index, *of_all[10:].nsmallest(3).index}
    assert set(of_the_quickest.index) == fastest
