"""Asks: two parts that do not go together are refused, wherever they are held, in one sentence."""

import pytest

from cosim.configuration import Ask, ConfigurationError, Lack, Port, part
from cosim.configuration.asks import Word
from cosim.system.fit import check_asks

pytestmark = pytest.mark.quick

ALL = Word("every update", of="way", lacking="some uploads never end", instead="no outages")
STILL = Word("channels that stay", lacking="channels change by themselves", instead="NoFading")


@part
class Fading(Port):
    changes: bool = False
    lacks = (Lack(STILL, "changes", lambda own: own.changes),)


@part
class Sharing(Port):
    """Asks for nothing."""


@part
class Sums(Sharing):
    asks = (Ask(STILL, "adds up what is sent"),)


@part
class Radio(Port):
    outages: float = 0.0
    fading: Fading = Fading()
    sharing: Sharing = Sharing()
    lacks = (Lack(ALL, "outages above 0", lambda own: own.outages > 0.0),)


@part
class Rule(Port):
    after_s: float | None = None
    asks = (
        Ask(ALL, "waits for every one", "a deadline", "without after_s", lambda own: own.after_s is None),
    )


@part
class Training(Port):
    rule: Rule = Rule()


@part
class World(Port):
    way: Radio = Radio()
    back: Radio = Radio()
    protocol: Training = Training()


LOSES, FADES = Radio(outages=0.1), Fading(changes=True)


def test_parts_that_go_together_pass():
    check_asks(World())
    check_asks(World(way=LOSES, protocol=Training(rule=Rule(after_s=1.0))))


def test_a_part_that_lacks_what_another_asks_for_is_refused():
    with pytest.raises(ConfigurationError) as refused:
        check_asks(World(way=LOSES))
    assert str(refused.value) == (
        "World.way = Radio: some uploads never end, and World.protocol.rule = Rule waits for every one. "
        "Use no outages, or a deadline."
    )


def test_a_word_is_asked_of_one_field_or_of_the_part_beside():
    check_asks(World(back=LOSES))
    check_asks(World(way=Radio(fading=FADES), back=Radio(sharing=Sums())))
    with pytest.raises(ConfigurationError, match=r"^World\.back\.fading = Fading: channels change"):
        check_asks(World(back=Radio(fading=FADES, sharing=Sums())))


def test_a_part_may_ask_in_one_field_only():
    @part
    class Loud(Radio):
        asks = (Ask(STILL, "sends more there", at="back"),)

    check_asks(World(way=Loud(fading=FADES)))
    with pytest.raises(
        ConfigurationError, match=r"World\.back\.fading = Fading.*World\.back = Loud sends more"
    ):
        check_asks(World(back=Loud(fading=FADES)))


def test_a_subclass_says_its_own():
    @part
    class Patient(Rule):
        asks = ()

    check_asks(World(way=LOSES, protocol=Training(rule=Patient())))
