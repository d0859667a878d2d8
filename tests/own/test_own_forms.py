"""A part of a user's own in each form of each port that has forms: run, studied, killed and resumed."""

import os
from collections.abc import Iterator

import attrs
import own_forms
import own_links
import own_parts
import own_radio
import pytest
from both_clocks import assert_same

import cosim
from cosim import Never
from cosim.configuration import ConfigurationError, Forms
from cosim.studies.study import Study
from cosim.testing import small_system

LEARNS = attrs.evolve(small_system(), end=cosim.AfterRounds(num_global_rounds=2))
SMALL = attrs.evolve(LEARNS, evaluation=Never())
TRAINING = SMALL.protocol.training
SLOW = cosim.FixedShares(bandwidth_hz=1e6)


def trained(usual: cosim.System = SMALL, **parts) -> cosim.System:
    return attrs.evolve(usual, protocol=cosim.HFedAvg(training=attrs.evolve(TRAINING, **parts)))


def radio(**parts) -> cosim.System:
    return attrs.evolve(SMALL, uplink=cosim.Radio(**({"sharing": SLOW} | parts)))


def band(name: str) -> cosim.System:
    return radio(sharing=own_forms.OwnShares(band=name, bandwidth_hz=1e6))


def queued(discipline: cosim.queues.Discipline) -> cosim.System:
    way = cosim.QueuedLink(
        paths=cosim.queues.SharedPath(), initial_work=cosim.queues.NoWork(), discipline=discipline
    )
    return attrs.evolve(SMALL, uplink=way)


def learned(**parts) -> cosim.System:
    return attrs.evolve(LEARNS, **parts)


OWN = {
    ("Waiting", "numbers"): trained(waiting=own_forms.Pair()),
    ("Waiting", "events"): trained(waiting=own_parts.Grace()),
    ("CellLink", "rates"): attrs.evolve(SMALL, uplink=own_links.Rates()),
    ("CellLink", "course"): attrs.evolve(SMALL, uplink=own_links.Fading()),
    ("CellLink", "together"): attrs.evolve(SMALL, uplink=own_forms.Chorus()),
    ("CellLink", "machine"): attrs.evolve(SMALL, uplink=own_links.Shared()),
    ("CellLink", "events"): attrs.evolve(SMALL, uplink=own_links.Line()),
    ("Redrawn", "numbers"): radio(fading=cosim.Rayleigh(redrawn=own_forms.ByJob())),
    ("Redrawn", "course"): radio(fading=cosim.Rayleigh(redrawn=own_forms.ByClock())),
    ("Fading", "vectors"): radio(fading=own_radio.TwoPaths()),
    ("Fading", "gains"): radio(fading=own_radio.Shadows()),
    ("Fading", "course"): radio(fading=own_radio.Steps()),
    ("CellSnr", "flat"): radio(link=own_radio.PerWatt()),
    ("CellSnr", "by_bandwidth"): radio(link=own_radio.Dense()),
    ("Band", "steady"): band("Halves"),
    ("Band", "together"): band("Sums"),
    ("Band", "machine"): band("Narrow"),
    ("Band", "events"): band("Alone"),
    ("LocalSteps", "same"): trained(steps=own_forms.Five()),
    ("LocalSteps", "numbers"): trained(steps=own_forms.ByNumber()),
    ("Processor", "numbers"): attrs.evolve(SMALL, devices=cosim.DrawnDevices(processor=own_forms.Hot())),
    ("Discipline", "in_order"): queued(own_forms.InOrder()),
    ("Discipline", "queue"): queued(own_parts.LastComeFirstServed()),
    ("ServerUpdate", "mean"): trained(LEARNS, server=own_forms.Plain()),
    ("ServerUpdate", "weights"): trained(LEARNS, server=own_forms.FirstMost()),
    ("ServerUpdate", "own_mean"): trained(LEARNS, server=own_forms.OnlyOne()),
    ("ServerUpdate", "step"): trained(LEARNS, server=own_forms.Twice()),
    ("ServerUpdate", "moved"): trained(LEARNS, server=own_forms.Stays()),
    ("LocalTraining", "one_by_one"): trained(LEARNS, local=own_forms.Idle(batch_size=10)),
    ("LocalTraining", "together"): trained(LEARNS, local=own_forms.Halved(batch_size=10)),
    ("Task", "cross_entropy"): learned(task=own_forms.Hits()),
    ("Task", "loss"): learned(task=own_forms.Squared()),
    ("Codec", "uncoded"): learned(codec=own_forms.Short()),
    ("Codec", "signs"): learned(codec=own_forms.Steps()),
    ("Codec", "row"): learned(codec=own_forms.Row()),
    ("Codec", "tensors"): learned(codec=own_parts.Largest()),
}
BY_EVENTS = {
    *((port, "events") for port in ("Waiting", "CellLink", "Band")),
    *(("Discipline", form) for form in ("in_order", "queue")),
}
OF_NO_SYSTEM = {("Machine", "change"), ("Machine", "advance")}
"""They are held by tests/links/test_machine.py and tests/radio/sharing/test_division.py."""


def of_all(kind: type) -> Iterator[type]:
    yield kind
    for below in kind.__subclasses__():
        yield from of_all(below)


def test_every_form_of_every_port_has_a_part_here():
    """`Redrawn` has the forms of `Blocks`, and counts once."""
    named = {}
    for kind in of_all(Forms):
        if kind.__module__.startswith("cosim.") and "forms" in vars(kind) and kind.forms:
            named.setdefault(id(kind.forms), kind)
    found = {(kind.__name__, form) for kind in named.values() for form in kind.forms}
    assert found - OF_NO_SYSTEM == OWN.keys()


def killed(system: cosim.System, folder) -> None:
    """A run in a process that ends at its second version, at once and without a word."""

    def kill(report) -> None:
        if report.version == 1:
            os._exit(9)

    child = os.fork()
    if not child:
        try:
            cosim.run(system, num_workers=1, out=folder, listener=kill)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.fixture(scope="module")
def studied(tmp_path_factory) -> dict[str, cosim.Result]:
    """The run of each in a study of all of them."""
    folder = tmp_path_factory.mktemp("study")
    runs = Study({".".join(of): system for of, system in OWN.items()}, {}, seeds=1).run(folder, num_workers=1)
    assert set(runs["status"]) == {"complete"}, runs["error"].tolist()
    return {
        name: cosim.Result.load(folder / run) for name, run in zip(runs["name"], runs["folder"], strict=True)
    }


@pytest.mark.parametrize("of", OWN, ids=".".join)
def test_it_is_run_studied_killed_and_resumed(of, studied, tmp_path):
    system = OWN[of]
    whole = cosim.run(system, num_workers=1, clock="events" if of in BY_EVENTS else "arrays")
    if of in BY_EVENTS:
        with pytest.raises(ConfigurationError, match="by events only"):
            cosim.run(system, clock="arrays")
    killed(system, tmp_path / "killed")
    cosim.run(system, num_workers=1, out=tmp_path / "killed", resume=True)
    for by_events in (studied[".".join(of)], cosim.Result.load(tmp_path / "killed")):
        assert_same(by_events, whole)
