"""Forms: a class has one, by itself, by a base and by a mixin; a rule for one client gives an array."""

import attrs
import numpy as np
import pytest

from cosim.configuration import ConfigurationError, Forms, Port, for_each, one_of, part
from cosim.configuration.forms import form_of

pytestmark = pytest.mark.quick


@part
class Rule(Port):
    forms = one_of(numbers=("most_s", "least_s"), events=("wait",))

    @property
    def most_s(self):
        return 7.0

    def wait(self):
        return self.most_s


@part
class Limit(Rule):
    most_s: float = 3.0


class Waits:
    def wait(self):
        return 5.0


def test_the_port_derives_what_a_kind_leaves_out():
    class Patient(Waits, Rule):
        pass

    assert (Limit().wait(), Limit.form) == (3.0, "numbers")
    assert (Patient().wait(), Patient().most_s, Patient.form) == (5.0, 7.0, "events")
    assert attrs.evolve(Limit(), most_s=4.0).wait() == 4.0


def test_a_class_with_two_forms_cannot_be_made():
    one, other = r"numbers \(Limit.most_s\)", r"events \({}.wait\)"
    with pytest.raises(ConfigurationError, match=f"^Own has two forms, {one} and {other.format('Own')}"):

        class Own(Limit):
            def wait(self):
                return 1.0

    mixed = type("Mixed", (Waits, Rule), {})
    for bases in ((Waits, Limit), (Limit, mixed), (mixed, Limit)):
        with pytest.raises(ConfigurationError, match="two forms"):
            type("Both", bases, {})


def test_a_class_without_a_form_has_no_instances():
    class Base(Rule):
        pass

    for kind in (Base, Rule):
        with pytest.raises(ConfigurationError, match=r"none of the forms of a Rule.*Write most_s or wait"):
            kind()


def test_two_methods_of_one_form_go_together():
    class Floor(Limit):
        least_s = 1.0

    assert Floor.form == "numbers"


@part
class AtMost(Rule):
    wraps = "rule"

    rule: Rule = Limit()

    @property
    def most_s(self):
        return self.rule.most_s

    def wait(self):
        return self.rule.wait()


def test_what_wraps_a_part_has_its_form():
    class Patient(Waits, Rule):
        pass

    for rule, form in ((Limit(), "numbers"), (Patient(), "events"), (AtMost(rule=Patient()), "events")):
        assert form_of(rule) == form_of(AtMost(rule=rule)) == form
    with pytest.raises(ConfigurationError, match=r"Waits.wait: a Own takes its form from the rule that it"):
        type("Own", (Waits, AtMost), {})
    with pytest.raises(ConfigurationError, match=r"Shorter.most_s: a Shorter takes its form from the rule"):

        class Shorter(AtMost):
            most_s = 1.0


class Numbers(Forms):
    forms = one_of(numbers=("of",))


def test_a_rule_for_one_client_gives_the_numbers_of_many():
    class Own(Numbers):
        @for_each
        def of(self, sim, client, job, step_s, *, shared):
            return len(client) + job + step_s + shared[0]

    found = Own().of(None, ["a", "bb", "ccc"], 10, np.array([0.1, 0.2, 0.3]), shared=[100])
    assert found.tolist() == [111.1, 112.2, 113.3]
