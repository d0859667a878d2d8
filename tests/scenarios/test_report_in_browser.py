"""The page of `cosim report` in a real browser: a run and a study, on a desk and a phone, light and dark.

Headless Chromium over the DevTools protocol, by a pipe: https://chromedevtools.github.io/devtools-protocol.
Without a browser the tests are skipped, or fail where COSIM_REQUIRE_BROWSER is 1.
"""

import base64
import contextlib
import fcntl
import io
import itertools
import json
import os
import re
import select
import shutil
import signal
from functools import cache
from pathlib import Path
from typing import NamedTuple

import attrs
import numpy as np
import pytest
from matplotlib.image import imread

import cosim
from analysis.report.report import report, write
from cosim import (
    AfterRounds,
    Deadline,
    DrawnDevices,
    EdgeTraining,
    FixedShares,
    Hist,
    PerGroup,
    Radio,
    System,
    evolve,
)
from cosim.data import Synthetic

SYSTEM = System(
    num_cells=2,
    num_clients=6,
    model="relu-12-8-4",
    data=Synthetic(),
    devices=DrawnDevices(
        min_frequency_hz=PerGroup(values=(0.5e9,)), max_frequency_hz=PerGroup(values=(4e9,))
    ),
    uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6)),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=3, steps=cosim.SameSteps(num_local_steps=2), waiting=Deadline(deadline_s=0.0012)
        )
    ),
    end=AfterRounds(num_global_rounds=3),
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESK, PHONE, A4 = 1200, 390, 718
"""CSS pixels; of A4 between margins of 1 cm."""
PATIENCE_S = 300.0
MEASURE = """(() => {
    const size = each => (box => [box.x, box.y, box.width, box.height])(each.getBoundingClientRect());
    const all = (selector, of) => [...document.querySelectorAll(selector)].map(of);
    const folded = {
        text: document.body.innerText,
        pictures: all('svg', each => each.closest('details:not([open])') ? null : size(each)).filter(Boolean),
        cut: all('.scroll', box => [box.scrollWidth, box.clientWidth]),
    };
    all('details', each => { each.open = true });
    const ends = all('body *', each => each.closest('.scroll') ? 0 : each.getBoundingClientRect().right);
    return JSON.stringify({...folded, widest: Math.max(document.documentElement.scrollWidth, ...ends)});
})()"""


class View(NamedTuple):
    """Outcome of opening a file."""

    text: str
    pictures: list[list[float]]
    """Left, top, width and height of each, in CSS pixels."""
    cut: list[list[float]]
    """Width of what is in a box that scrolls, and of the box."""
    widest: float
    complaints: list[str]
    requests: list[str]
    shot: np.ndarray
    """Grey level of each CSS pixel of the whole page, shape (height, width), 0 to 1."""


class Browser:
    """One page of a headless browser."""

    def __init__(self, program, profile):
        down, self.commands = os.pipe()
        self.answers, up = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (down, up)]
        null = os.open(os.devnull, os.O_RDWR)
        flags = ["--headless", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run"]
        flags += ["--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        flags += ["--no-sandbox"] if os.geteuid() == 0 else []
        places = zip((null, null, null, *ends), range(5), strict=True)
        self.process = os.posix_spawn(
            program,
            [program, *flags, "about:blank"],
            os.environ | {"HOME": str(profile)},
            file_actions=[(os.POSIX_SPAWN_DUP2, end, place) for end, place in places],
            setpgroup=0,
        )
        for end in (down, up, null, *ends):
            os.close(end)
        self.numbers, self.events, self.unread, self.session = itertools.count(1), [], b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """The answer to a command; events until then are kept."""
        number = next(self.numbers)
        to = {"sessionId": self.session} if self.session else {}
        command = {"id": number, "method": method, "params": parameters} | to
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (message := self.message()).get("id") != number:
            self.events.append(message)
        assert "error" not in message, (method, message["error"])
        return message["result"]

    def message(self):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.answers], [], [], PATIENCE_S)
            part = os.read(self.answers, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self.unread += part
        message, _, self.unread = self.unread.partition(b"\0")
        return json.loads(message)

    def view(self, path, width, scheme, media="screen"):
        """Open a file in a window of a width in CSS pixels, with a colour scheme."""
        narrow = width < 500
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=narrow
        )
        scheme = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=Path(path).as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        measured = self.call("Runtime.evaluate", expression=MEASURE)["result"]["value"]
        events = [(event["method"], event["params"]) for event in self.events]
        complaints = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return View(
            **json.loads(measured),
            complaints=[json.dumps(said) for method, said in events if method in complaints],
            requests=[
                said["request"]["url"] for method, said in events if method == "Network.requestWillBeSent"
            ],
            shot=imread(io.BytesIO(base64.b64decode(shot)))[..., :3].mean(axis=-1),
        )

    def quit(self):
        with contextlib.suppress(OSError, AssertionError):
            self.session = None
            self.call("Browser.close")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.commands)
        os.close(self.answers)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        reason = f"no browser: none of {', '.join(NAMES)} is installed"
        if os.environ.get("COSIM_REQUIRE_BROWSER") == "1":
            pytest.fail(f"COSIM_REQUIRE_BROWSER is 1, but: {reason}", pytrace=False)
        pytest.skip(reason)
    opened = Browser(program, tmp_path_factory.mktemp("browser"))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def runs():
    return [cosim.run(evolve(SYSTEM, seed=seed)) for seed in (1, 2)]


@pytest.fixture(scope="module")
def files(runs, tmp_path_factory):
    """The pages of a run and of a study of 12 designs."""
    folder = tmp_path_factory.mktemp("pages")
    write(report(runs[:1]), folder / "run.html")
    study = [
        attrs.evolve(run, config=run.config | {"system": run.config["system"] | {"num_cells": n, "model": m}})
        for n in (2, 3, 4)
        for m in ("relu-12-8-4", "relu-12-16-4", "a-model-with-quite-a-long-name-1", "relu-12-64-4")
        for run in runs
    ]
    write(report(study), folder / "study.html")
    return folder


@pytest.fixture(scope="module", params=["run", "study"])
def page(request):
    return request.param


@pytest.fixture(scope="module")
def opened(browser, files):
    """View of a page in a window of a width, with a colour scheme; the same one is opened once."""
    return cache(lambda page, width, scheme: browser.view(files / f"{page}.html", width, scheme))


@pytest.fixture(scope="module", params=[(DESK, "light"), (DESK, "dark"), (PHONE, "light"), (PHONE, "dark")])
def view(request, opened, page):
    return opened(page, *request.param)


def says(word, value):
    """True of a number rounded to at least two digits."""
    if not re.fullmatch(r"\d+\.?\d*", word) or len(word.replace(".", "").lstrip("0")) < 2:
        return False
    return abs(float(word) - value) <= 0.5000001 * 10.0 ** -len(word.partition(".")[2])


def test_the_page_tells_the_numbers(view, runs, page):
    chosen = runs[:1] if page == "run" else runs
    summaries = [run.summary for run in chosen]
    for value in (
        np.mean([each.time_s for each in summaries]),
        np.mean([each.energy_j for each in summaries]),
        100.0 * np.mean([each.scores["accuracy"] for each in summaries]),
        100.0 * np.mean([each.num_dropped / each.num_updates for each in summaries]),
    ):
        assert value > 0.0
        in_units = value, 1e3 * value, 1e-3 * value
        assert any(says(word, of) for word in view.text.split() for of in in_units), value
    for heading in ("What was asked", "Where the energy went", "Dropped updates, by reason", "Provenance"):
        assert heading in view.text


def test_every_picture_is_seen(view, page):
    assert len(view.pictures) == (3 + 3 if page == "run" else 3 + 3 + 4)
    for left, top, width, height in view.pictures:
        assert width > 300
        assert height > 80
        box = view.shot[int(top) : int(top + height), int(left) : int(left + min(width, 350))]
        assert 0.01 < np.mean(np.abs(box - view.shot[2, 2]) > 0.2) < 0.9


def test_nothing_leaves_the_page_sideways(view):
    width = view.shot.shape[1]
    assert width in (DESK, PHONE)
    assert view.widest <= width
    if width == DESK:
        assert all(inside <= box for inside, box in view.cut)


def test_on_paper_no_table_loses_a_column(browser, files, page):
    view = browser.view(files / f"{page}.html", A4, "light", media="print")
    assert view.widest <= A4
    assert all(inside <= box for inside, box in view.cut)


def test_the_file_is_enough_and_the_console_silent(view, files, page):
    assert view.requests == [(files / f"{page}.html").as_uri()]
    assert view.complaints == []


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_the_page_is_as_light_as_the_system_asks(opened, width):
    light, dark = opened("run", width, "light"), opened("run", width, "dark")
    assert np.median(light.shot) > 0.95
    assert np.median(dark.shot) < 0.15
    assert np.quantile(light.shot, 0.005) < 0.3
    assert np.quantile(dark.shot, 0.995) > 0.7
    assert light.shot.shape == dark.shot.shape


def test_a_broken_page_is_noticed(browser, tmp_path):
    path = tmp_path / "broken.html"
    path.write_text(
        "<body style='background: #fff'><svg style='width: 0'></svg><div style='width: 900px'>wide</div>"
        "<img src='http://127.0.0.1:9/x.png'><script>console.error('told'); missing()</script>"
    )
    view = browser.view(path, PHONE, "dark")
    assert view.widest >= 900
    assert view.pictures[0][2] == 0
    assert "http://127.0.0.1:9/x.png" in view.requests
    assert any("told" in said for said in view.complaints)
    assert any("missing is not defined" in said for said in view.complaints)
    assert np.median(view.shot) > 0.95
