"""FLASH: the states of phones, as lines with a stamp of the wall clock for each user.

A file in JSON has an entry for each user, whose key `messages` is a text of lines:

| line | |
|---|---|
| `2020-01-02 08:00:00<tab>battery_charged_on` | from this second on the phone charges |
| `2020-01-02 08:03:10<tab>wifi` | it is on Wi-Fi; `4G`, `3G`, `2G` and `unknown` end that |
| `2020-01-02 08:05:00<tab>screen_lock` | it is locked |

Source: C. Yang et al., "Characterizing Impacts of Heterogeneity in Federated Learning upon Large-Scale
Smartphone Data", WWW 2021; a user of its simulator is ready while the phone is locked, charging and on Wi-Fi,
and its trace begins again at the last line.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean, short
from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.entries import Entry, entries_of
from cosim.formats.inputs import one_file
from cosim.formats.windows import Stays, Windows

STAMP = "%Y-%m-%d %H:%M:%S"
RUNNING = "running"
"""State that is always needed, and on until a line says otherwise."""
CHANGES: dict[str, tuple[str, bool]] = {
    "battery_charged_on": ("charging", True),
    "battery_charged_off": ("charging", False),
    "wifi": ("wifi", True),
    **dict.fromkeys(("unknown", "2g", "3g", "4g", "5g"), ("wifi", False)),
    "screen_lock": ("locked", True),
    "screen_unlock": ("locked", False),
    "screen_off": ("dark", True),
    "screen_on": ("dark", False),
    "phone_on": (RUNNING, True),
    "phone_off": (RUNNING, False),
}
"""Event -> the state that it changes, and to what."""
IGNORED = ("battery_okay", "battery_low")
"""Events that change no state that can be needed; levels of the battery, such as 85.0%, are ignored, too."""


def flash_states(
    file: AnyPath,
    *,
    repeats: bool,
    needs: str = "locked charging wifi",
    begins: str | None = None,
    num_clients: int | None = None,
    skip_absent: bool = False,
) -> Windows:
    """FLASH's state_traces.json: times at which phones are in the states that training needs.

    A state is off until a line says otherwise, and the last line ends every window. A phone that is switched
    off is away.

    Args:
        file: The file in JSON.
        repeats: True if each user's lines repeat from the last one on; else the phone stays away.
        needs: States that are needed together: locked, charging, wifi, dark (the screen).
        begins: Stamp at which the run begins, such as 2020-01-02 00:00:00. None means the first stamp of all.
        num_clients: Number of users to take, in the order of the file and in turn. None means all.
        skip_absent: True to leave out users that are never there.

    Raises:
        ConfigurationError: The file does not fit; a user is never there.
    """
    path = one_file(file)
    needed = _needed(needs)
    users = [(entry, list(_lines(entry))) for entry in entries_of(path, num_clients)]
    start = _begin(begins) if begins is not None else min(lines[0][0] for _, lines in users)
    each = [_stays(entry, lines, needed, start, repeats) for entry, lines in users]
    return Windows.of(each, shown(path), skip_absent=skip_absent)


def _needed(needs: str) -> frozenset[str]:
    known = sorted({state for state, _ in CHANGES.values()} - {RUNNING})
    found = frozenset(needs.split())
    for state in found:
        if state not in known:
            hint = did_you_mean(state, known)
            raise ConfigurationError(f"needs: {state!r} is no state.{hint} Use {', '.join(known)}.")
    if not found:
        raise ConfigurationError(f"needs: names no state. Use one or more of {', '.join(known)}.")
    return found


def _begin(text: str) -> datetime:
    try:
        return datetime.strptime(text, STAMP)
    except ValueError:
        raise ConfigurationError(
            f"begins: {short(repr(text))} is no stamp. Use one such as 2020-01-02 00:00:00."
        ) from None


def _lines(entry: Entry) -> Iterator[tuple[datetime, str]]:
    """Stamps and events of a user, in order."""
    text, before, number = entry.value("messages"), None, 0
    if not isinstance(text, str) or not text.strip():
        raise entry.fault(
            f"messages is {short(repr(text))}, and no text with lines", "lines of stamp and event"
        )
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        words = line.strip().split("\t")
        try:
            stamp = datetime.strptime(words[0].strip(), STAMP)
        except ValueError:
            what = f"line {number}: {short(repr(line))} does not begin with a stamp and a tab"
            raise entry.fault(what, "lines such as 2020-01-02 08:00:00<tab>wifi") from None
        event = words[1].strip().lower() if len(words) == 2 else ""
        if event not in CHANGES and event not in IGNORED and not event.endswith("%"):
            raise entry.fault(
                f"line {number}: {short(repr(line))} is no known event", f"{', '.join((*CHANGES, *IGNORED))}"
            )
        if before is not None and stamp < before:
            raise entry.fault(f"line {number}: {stamp} is before {before}, the line above", "lines in order")
        before = stamp
        yield stamp, event


def _stays(
    entry: Entry,
    lines: Sequence[tuple[datetime, str]],
    needed: frozenset[str],
    start: datetime,
    repeats: bool,
) -> Stays:
    """Windows of a user, in s since the start of the run."""
    first, last = lines[0][0], lines[-1][0]
    length_s = (last - first).total_seconds()
    if not length_s:
        raise entry.fault("has lines at one second only, and no length", "lines over some time")
    is_on, since, windows = {**dict.fromkeys(needed, False), RUNNING: True}, None, []
    for stamp, event in lines:
        state, is_so = CHANGES.get(event, ("", False))
        if state in is_on:
            is_on[state] = is_so
        if all(is_on.values()) and since is None:
            since = stamp
        if since is not None and (not all(is_on.values()) or stamp == last):
            windows.append(((since - start).total_seconds(), (stamp - start).total_seconds()))
            since = None if not all(is_on.values()) else stamp
    if not repeats:
        return Stays(entry.name, [(max(from_s, 0.0), to_s) for from_s, to_s in windows], None)
    return Stays(entry.name, list(_turned(windows, length_s)), length_s)


def _turned(windows: Sequence[tuple[float, float]], period_s: float) -> Iterator[tuple[float, float]]:
    """Windows within the first period of the run."""
    for from_s, to_s in windows:
        begin_s = from_s % period_s
        end_s = begin_s + to_s - from_s
        yield begin_s, min(end_s, period_s)
        if end_s > period_s:
            yield 0.0, end_s - period_s
