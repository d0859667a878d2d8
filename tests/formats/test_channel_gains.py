"""Channel gains: powers of paths and antennas by hand, quantities told apart by size, upload times."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from fixtures.fixes import has_fix
from fixtures.through_gains import ends_s, radio
from scipy.io import savemat

from cosim import ConfigurationError
from cosim.formats import channel_gains
from scenarios.command_line import data


def npz(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "found.npz", **{name: np.asarray(values) for name, values in arrays.items()})
    return folder / "found.npz"


def test_paths_and_antennas_of_the_server_add_up_and_those_of_a_client_share_its_power(tmp_path):
    """Sionna's axes, two clients with two antennas each, three of the server, and two paths, at two times."""
    rng = np.random.default_rng(1)
    a = 1e-5 * (rng.normal(size=(2, 2, 1, 3, 2, 2)) + 1j * rng.normal(size=(2, 2, 1, 3, 2, 2)))
    axes = "client client-antenna one antenna path time"
    found = channel_gains(npz(tmp_path, a=a), quantity="amplitude", axes=axes, step_s=0.5)
    assert found.time_s.tolist() == [0.0, 0.5]
    for client in range(2):
        for row in range(2):
            powers = [
                abs(a[client, own, 0, server, path, row]) ** 2
                for own in range(2)
                for server in range(3)
                for path in range(2)
            ]
            assert found.gain[row, client] == pytest.approx(sum(powers) / 2, rel=1e-12)
    sends = np.moveaxis(a, (0, 1, 2, 3), (2, 3, 0, 1))
    axes = "one antenna client client-antenna path time"
    again = channel_gains(npz(tmp_path, a=sends), quantity="amplitude", axes=axes, step_s=0.5)
    assert again.gain == pytest.approx(found.gain, rel=1e-12)


def test_phases_of_paths_cancel_where_they_are_asked_for(tmp_path):
    file = npz(tmp_path, a=[[1e-4, -1e-4 + 2e-5j]])
    powers = channel_gains(file, quantity="amplitude", axes="client path")
    phases = channel_gains(file, quantity="amplitude", axes="client path", paths="phases")
    assert powers.gain.tolist() == [[pytest.approx(2e-8 + 4e-10, rel=1e-12)]]
    assert phases.gain.tolist() == [[pytest.approx(4e-10, rel=1e-12)]]


SAME = {
    "amplitude": [[1e-4, 2e-5], [math.nan, 1e-5]],
    "power": [[1e-8, 4e-10], [0.0, 1e-10]],
    "power_db": [[-80.0, 10 * math.log10(4e-10)], [-math.inf, -100.0]],
    "path_loss_db": [[80.0, -10 * math.log10(4e-10)], [math.inf, 100.0]],
}


@pytest.mark.parametrize("quantity", SAME)
def test_quantities_say_the_same(quantity, tmp_path):
    found = channel_gains(npz(tmp_path, x=SAME[quantity]), quantity=quantity, axes="client path")
    assert found.gain.tolist() == [[pytest.approx(1.04e-8, rel=1e-9), pytest.approx(1e-10, rel=1e-9)]]


def test_mat_files_are_read_as_deepmimo_and_quadriga_write_them(tmp_path):
    savemat(tmp_path / "power_t001.mat", {"power": np.array([[-80.0, np.nan], [-90.0, -90.0]], "f4")})
    walk = channel_gains(tmp_path / "power_t001.mat", quantity="power_db", axes="time path", step_s=1.0)
    assert walk.gain.tolist() == [[pytest.approx(1e-8)], [pytest.approx(2e-9)]]
    coeff = np.full((1, 2, 3, 4), 1e-5 + 0j)
    savemat(tmp_path / "c.mat", {"coeff": coeff, "name": "link"}, do_compression=True)
    axes = "client-antenna antenna path time"
    found = channel_gains(tmp_path / "c.mat", quantity="amplitude", axes=axes, array="coeff", step_s=1e-3)
    assert found.gain.ravel().tolist() == pytest.approx([6e-10] * 4)


def test_an_upload_takes_the_time_that_the_coefficients_say(tmp_path):
    """SNRs of 3 and 7, so 2 Mbit/s for 0.5 s and 3 Mbit/s after it; the other client's rate is 1 Mbit/s."""
    h = np.sqrt([[3e-9, 1e-9], [7e-9, 1e-9]]) * np.exp(1j)
    file = npz(tmp_path, h=h, time_s=[10.0, 10.5])
    found = channel_gains(file, quantity="amplitude", axes="time client")
    saved = str(found.save(tmp_path / "gains.npz"))
    assert ends_s(radio(saved), [4e6, 2e6]) == pytest.approx([0.5 + 3.0 / 3.0, 2.0], rel=1e-9)
    assert found.summary == "2 clients, 2 rows to 0.5 s, median -86.99 dB"


def test_the_command_converts_and_says_how_to_use_it(tmp_path, capsys):
    file = npz(tmp_path, p=[[1e-9, 1e-8]])
    words = ["convert", str(file), "--quantity", "power", "--axes", "time client"]
    out = tmp_path / "gains.npz"
    assert data.main([words[0], "channel-gains", *words[1:], "--out", str(out)]) == 0
    assert "--uplink.fading.kind GainTrace" in capsys.readouterr().out
    assert np.load(out)["gain"].tolist() == [[1e-9, 1e-8]]


REFUSED = {
    "a loss for a gain": (
        {"pl": [[92.0, 101.0]]},
        {"quantity": "power_db"},
        "pl[0, 0]: 92 is a power gain above 0 dB, as power_db. Use quantity = path_loss_db",
    ),
    "a gain for a loss": (
        {"pl": [[-92.0, -101.0]]},
        {"quantity": "path_loss_db"},
        "pl[0, 0]: -92 is a power gain above 0 dB, as path_loss_db. Use quantity = power_db",
    ),
    "a loss for a power": ({"pl": [[92.0, 101.0]]}, {}, "above 0 dB, as power. Use quantity = path_loss_db"),
    "dB for powers": (
        {"p": [[-92.0, -101.0]]},
        {},
        "p[0, 0]: -92 is no power, which is 0 or above. Use quantity = power_db",
    ),
    "dB for amplitudes": ({"p": [[-92.0, -101.0]]}, {"quantity": "amplitude"}, "Use quantity = power_db"),
    "real parts": (
        {"a": [[1e-4, -2e-4]]},
        {"quantity": "amplitude"},
        "a[0, 1]: -0.0002 is no amplitude, which is 0 or above. Use quantity = amplitude, and complex",
    ),
    "powers for amplitudes": (
        {"p": [[1e-9, 1e-10]]},
        {"quantity": "amplitude"},
        "at most a power gain of -180 dB, as amplitude. Use quantity = power,",
    ),
    "coefficients for powers": (
        {"a": [[1e-4 + 1j]]},
        {},
        "holds complex coefficients, and no power. Use quantity = amplitude",
    ),
    "strong coefficients": (
        {"a": [[1.0 + 1j]]},
        {"quantity": "amplitude"},
        "a[0, 0]: 1.41421 is a power gain above 0 dB, as amplitude. Use gains relative",
    ),
    "infinite power": ({"p": [[math.inf]]}, {}, "p[0, 0]: inf is infinite. Use NaN"),
    "no path": ({"p": [[math.nan]]}, {}, "has no path anywhere. Use"),
    "axes": ({"p": [[1e-9]]}, {"axes": "time"}, "has shape (1, 1), and axes names 1: time. Use 2 names"),
    "a word": ({"p": [[1e-9]]}, {"axes": "time clients"}, "Did you mean client? Use"),
    "twice": ({"p": [[1e-9]]}, {"axes": "time time"}, "time appears 2 times. Use it once"),
    "two servers": ({"p": [[1e-9, 1e-9]]}, {"axes": "client one"}, "axis one has length 2. Use"),
    "phases of powers": (
        {"p": [[1e-9]]},
        {"axes": "client path", "paths": "phases"},
        "which has no phases. Use paths = powers",
    ),
    "two arrays": ({"p": [[1e-9]], "q": [[1e-9]]}, {}, "has the arrays p, q. Use array ="),
    "no times": ({"p": [[1e-9], [1e-9]]}, {}, "has 2 rows and no array time_s. Use step_s ="),
    "times twice": (
        {"p": [[1e-9]], "time_s": [0.0]},
        {"step_s": 1.0},
        "step_s is given, too. Use step_s = None",
    ),
    "times back": (
        {"p": [[1e-9], [1e-9]], "time_s": [1.0, 1.0]},
        {},
        "time_s[1]: 1 is not after the one before. Use",
    ),
    "no step": ({"p": [[1e-9], [1e-9]]}, {"step_s": 0.0}, "step_s = 0: must be above 0. Use"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_the_likely_reading(case, tmp_path):
    arrays, options, said = REFUSED[case]
    with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
        channel_gains(npz(tmp_path, **arrays), **{"quantity": "power", "axes": "time client"} | options)
    assert has_fix(str(error.value))


def test_files_that_are_no_mat_files_are_refused(tmp_path):
    for content, said in {
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64": "version 7.3, which is HDF5. Use save",
        b"\x89HDF\r\n\x1a\n": "which is HDF5. Use save",
        b"nothing": "cannot be read",
        b"": "cannot be read",
    }.items():
        (tmp_path / "x.mat").write_bytes(content)
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            channel_gains(tmp_path / "x.mat", quantity="power", axes="time client")
    savemat(tmp_path / "x.mat", {"name": "text", "s": {"a": 1}})
    with pytest.raises(ConfigurationError, match=r"of type .*, and no number.*Use"):
        channel_gains(tmp_path / "x.mat", quantity="power", axes="time client", array="s")
