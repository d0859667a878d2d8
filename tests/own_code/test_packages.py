"""Files of a user's that are called as a package of ours are told of in one sentence."""

import sys

import pytest

from cosim.own_code import packages
from scenarios import command_line

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", ["analysis", "scenarios"])
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py"])
def test_a_script_is_warned_of_a_file_that_hides_a_package(name, form, tmp_path, monkeypatch):
    file = tmp_path / form.format(name)
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.warns(UserWarning, match="hides") as warned:
        packages.warn_of_hidden()
    (warning,) = warned
    assert str(warning.message) == (
        f"{file}: hides the package {name}, which comes with cosim. Use another name for it."
    )


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_where_no_package_is_hidden(tmp_path, monkeypatch):
    (tmp_path / "analysis").mkdir()  # no package, so Python goes on to ours
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "analysis", raising=False)
    packages.warn_of_hidden()


@pytest.mark.parametrize("name", ["analysis", "scenarios", "cosim"])
def test_a_command_refuses_a_folder_that_hides_a_package(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("import cosim\n\ndef system():\n    return cosim.System()\n")
    (tmp_path / f"{name}.py").write_text("")
    monkeypatch.chdir(tmp_path)
    for words in (["show", "mine.py"], ["run", "mine:system"], ["study", "quickstart", "--import", "mine"]):
        with pytest.raises(SystemExit) as ended:
            command_line.main(words)
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert said.endswith(
            f"{name}.py: hides the package {name}, which comes with cosim. Use another name for it.\n"
        )
        assert said.count("\n") == 1
    assert str(tmp_path) not in sys.path
