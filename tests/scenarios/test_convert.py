"""`cosim data convert`: from a file as it is to a run, formats of a user's own, refusals."""

import pytest

from cosim import formats
from scenarios import command_line
from scenarios.command_line import convert


@pytest.fixture(name="cosim_")
def fixture_cosim(tmp_path, monkeypatch, capsys):
    """The command, in a folder with a list of mahimahi's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lte.up").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            command_line.main(["data", "convert", *words])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), " ".join(printed.out.split()), printed.err

    return call


def test_help_has_every_format_in_a_line(cosim_):
    code, out, _ = cosim_("--help")
    assert code == 0
    assert {"mahimahi", "throughput"} <= {*convert.formats()}
    assert all(f"│ {name} │" in out for name in convert.formats())


@pytest.mark.parametrize("name", convert.formats())
def test_help_of_a_format_says_what_it_is_and_its_options(cosim_, name):
    code, out, _ = cosim_(name, "--help")
    assert code == 0
    options = convert.asked(convert.formats()[name])
    assert all(f"--{option.replace('_', '-')}" in out for option in ("out", *options))


def test_it_ends_with_what_was_written_and_how_a_scenario_uses_it(cosim_, tmp_path):
    code, out, _ = cosim_("mahimahi", "lte.up", "--out", "trace.parquet", "--slot-s", "0.1")
    assert (code, out) == (
        0,
        "trace.parquet: 1 client, 1 s, mean 12.03, median 12.03 Mbit/s. Use: --uplink.kind TracedLink "
        "--trace.file trace.parquet --trace.dealing.kind InTurns --trace.past-end.kind RepeatTrace",
    )
    assert "--trace.file 'my trace.csv' " in cosim_("mahimahi", "lte.up", "--out", "my trace.csv")[1]
    words = out.partition("Use: ")[2].split()
    with pytest.raises(SystemExit) as ended:
        command_line.main(
            ["run", "quickstart", *words, "--num-global-rounds", "1", "--quiet", "--out", "run"]
        )
    assert not ended.value.code
    assert (tmp_path / "run" / "transfers.parquet").is_file()


@pytest.mark.parametrize("word", ["true", "True"])
def test_true_and_false_are_read_as_a_message_has_them(cosim_, tmp_path, word):
    (tmp_path / "t.json").write_text('{"a": {"active": [0], "inactive": [3], "finish_time": 4}}')
    code, _, err = cosim_("fedscale-availability", "t.json", "--out", "x.csv")
    assert (code, "Give --repeats with true or false." in err) == (2, True)
    code, out, _ = cosim_("fedscale-availability", "t.json", "--repeats", word, "--out", "x.csv")
    assert (code, out.partition(". Use")[0]) == (0, "x.csv: 1 client, there 75 % of the time")


def test_a_function_of_a_user_is_a_format(cosim_, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_format.py").write_text(
        '''
import pandas as pd

from cosim.formats import Rates


def steady(*files: str, rate_bps: float, lasts_s: float = 10.0) -> Rates:
    """One rate for each file.

    Args:
        rate_bps: The rate.
    """
    rows = [(time_s, file, rate_bps) for file in files for time_s in (0.0, lasts_s / 2)]
    return Rates(pd.DataFrame(rows, columns=["time_s", "device", "rate_bps"]))


def nothing(*files):
    return 3
'''
    )
    code, out, _ = cosim_("my_format.py:steady", "a", "b", "--rate-bps", "2e6", "--out", "t.csv")
    assert (code, out.partition(". Use")[0]) == (0, "t.csv: 2 clients, 10 s, mean 2, median 2 Mbit/s")
    assert (tmp_path / "t.csv").read_text().count("\n") == 5
    code, out, err = cosim_("my_format.py:steady", "a", "--out", "t.csv")
    assert code == 2
    assert "--rate-bps" in out + err
    code, _, err = cosim_("my_format.py:nothing", "a", "--out", "u.csv")
    assert (code, "nothing: returns int" in err, (tmp_path / "u.csv").exists()) == (2, True, False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mahimahy", "lte.up"), "no format 'mahimahy'. Did you mean mahimahi?"),
        (("mahimahi",), "needs a file or a folder to read"),
        (("mahimahi", "lte.up"), "needs --out, where to write"),
        (("mahimahi", "lte.up", "--out", "x.txt"), "a name ends in .parquet"),
        (("mahimahi", "no.up", "--out", "x.csv"), "no.up: there is no such file"),
        (
            ("mahimahi", "lte.up", "--out", "x.csv", "--slots", "1"),
            "no option --slots. Did you mean --slot-s?",
        ),
        (("throughput", "lte.up", "--out", "x.csv"), "lte.up, row 1: has 1 words"),
        (("--out", "x.csv"), "needs a format"),
        (
            ("flash-states", "lte.up", "lte.up", "--repeats", "True", "--out", "x.csv"),
            "flash_states: does not take 2 files (too many positional arguments). Use a command for each",
        ),
        (("my.py:f", "a", "--out", "x.csv"), "there is no file my.py"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(cosim_, tmp_path, words, said):
    code, _, err = cosim_(*words)
    assert code == 2
    assert said in err
    assert [path.name for path in tmp_path.iterdir()] == ["lte.up"]


def test_every_function_of_the_room_is_a_format():
    assert [*convert.formats()] == [name.replace("_", "-") for name in formats.__all__ if name.islower()]
