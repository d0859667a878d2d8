"""Wall clock: stamps of a column as nanoseconds, in a form that is named or is one of a short list.

| form | |
|---|---|
| `2019.12.14_11.05.08` | G-NetTrack |
| `2019-12-14 11:05:08.25`, `2019-12-14T11:05:08+01:00` | ISO 8601 |
| `14/12/2019 11:05:08`, `12/14/2019 11:05:08`, `14.12.2019 11:05:08` | day or month first, as the days tell |
| `11:05:08` | time of day |
| `1576321508`, `1576321508123` | seconds, ms, us or ns since 1970, as their size tells |

Fractions of a second may follow. If a column fits two forms that differ, or its numbers could be seconds and
milliseconds, it is refused. A form of one's own is that of Python's `strptime`, or s, ms, us or ns for
numbers.
"""

import math
import re

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.tables.table import Names, Table
from cosim.tables.text_column import number_of

NS_PER_S = 10**9
UNITS_NS = {"s": NS_PER_S, "ms": 10**6, "us": 10**3, "ns": 1}
"""Unit of numbers -> nanoseconds."""
_DATES = ("%Y.%m.%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y")
_ISO = "ISO8601"
_KNOWN = (
    _ISO,
    *(f"{date} %H:%M:%S" for date in _DATES),
    "%Y.%m.%d_%H.%M.%S",
    "%Y%m%d_%H%M%S",
    "%Y%m%d%H%M%S",
    "%H:%M:%S",
)
_FORMS = tuple(form + fraction for form in _KNOWN for fraction in ("", ".%f"))
_IS_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_FIRST_S, _LAST_S = 1e9, 4e9
"""Years 2001 and 2096: numbers between them are stamps since 1970. [no source]"""
_MOST_NS = 9e18
"""Of an int64."""
_FIX = "time_format, such as %d/%m/%Y %H:%M:%S, or s or ms for numbers"


def stamps_ns(table: Table, column: str, time_format: str | None) -> NDArray[np.int64]:
    """Stamps of a column, from a beginning of their own, in nanoseconds, shape (rows,).

    Args:
        time_format: Form of the stamps. None means that it is one of the list.

    Raises:
        ConfigurationError: A stamp has another form, or several forms fit.
    """
    names = table.names(column)
    if time_format in UNITS_NS:
        return _of_numbers(table, column, names, UNITS_NS[time_format])
    if time_format is not None:
        found, is_wrong = _parsed(names, time_format)
        table.check(column, is_wrong[names.which], f"is no time of the form {time_format}", _FIX)
        return found[names.which]
    text, first = names.each[0], number_of(names.each[0])
    is_a_date = len(text) == 14 and text.startswith(("19", "20"))  # 20191214110508, a number as well
    if not math.isnan(first) and not is_a_date:
        return _of_numbers(table, column, names, _unit_ns(table, column, first))
    return _recognised(table, column, names)


def _of_numbers(table: Table, column: str, names: Names, unit_ns: int) -> NDArray[np.int64]:
    """Numbers in a unit; of one since 1970 a float has not enough digits."""
    numbers = table.numbers(column, most=_MOST_NS / unit_ns)
    parts = [text.partition(".") for text in names.each]
    if not all(whole.isdecimal() and (not rest or rest.isdecimal()) for whole, _, rest in parts):
        return np.round(numbers * unit_ns).astype(np.int64)
    found = [int(whole) * unit_ns + round(float(f"0.{rest}") * unit_ns) for whole, _, rest in parts]
    return np.array(found, dtype=np.int64)[names.which]


def _unit_ns(table: Table, column: str, first: float) -> int:
    """Unit of numbers since 1970 by the first of them."""
    for unit_ns in UNITS_NS.values():
        if _FIRST_S <= first * unit_ns / NS_PER_S <= _LAST_S:
            return unit_ns
    raise table.fault(0, column, f"{first:g} may be seconds or milliseconds", "time_format = s, or ms")


def _recognised(table: Table, column: str, names: Names) -> NDArray[np.int64]:
    """Stamps in the one form of the list that all of them have."""
    fits: dict[str, NDArray[np.int64]] = {}
    closest = np.ones(len(names.each), dtype=bool)
    first = Names(names.each[:1], names.which[:1])
    of_first = [form for form in _FORMS if not _parsed(first, form)[1].any()]  # most forms need no more
    for form in of_first or _FORMS:
        found, is_wrong = _parsed(names, form)
        if not is_wrong.any():
            fits[form] = found
        elif is_wrong.sum() < closest.sum():
            closest = is_wrong
    if not fits:
        right = np.flatnonzero(~closest)
        like = (
            f"no time like {short(repr(names.each[right[0]]))}" if len(right) else "no time of a known form"
        )
        table.check(column, closest[names.which], f"is {like}", _FIX)
    form, *others = fits
    for other in others:
        if (fits[other] != fits[form]).any():
            what = f"{short(repr(names.each[0]))} may be {form} or {other}, and so may all the others"
            raise table.fault(0, column, what, "time_format, with the one that it is")
    return fits[form][names.which]


def _parsed(names: Names, form: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nanoseconds of the times that names say in a form, and which say none."""
    import pandas as pd

    texts = list(names.each)
    if form == _ISO:
        texts = [text if _IS_ISO.fullmatch(text) else "no time" for text in texts]
    try:
        found = pd.to_datetime(pd.Series(texts), format=form, errors="coerce", utc=True)
    except ValueError as error:
        raise ConfigurationError(
            f"time_format = {short(repr(form))}: is no form of times ({error}). Use one such as "
            "%d/%m/%Y %H:%M:%S."
        ) from None
    times = found.dt.tz_localize(None).to_numpy(dtype="datetime64[ns]")
    return times.astype(np.int64), np.isnat(times)
