"""Drafting columns of dates and times: formats that read every value, and bounds rounded to years."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

Keys = dict[str, Any]

DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d", "%d.%m.%y", "%d %b %Y")
MONTHS = ("%Y-%m", "%m/%Y", "%m.%Y", "%b %Y")
CLOCKS = ("%H:%M", "%H:%M:%S")
MOMENTS = (*(f"{day} {clock}" for day in DAYS[:6] for clock in CLOCKS), "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M")
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_START = datetime(1, 1, 1, tzinfo=UTC)
NO_MOMENT = -(2**62)
"""Stands for a moment that is missing."""

MOST_FORMATS = 3
MANY = 20


def dated_keys(texts: list[str]) -> tuple[Keys, str] | None:
    """The keys of texts that are all dates or all times, and what was seen; None if they are neither."""
    if not texts or not any(char.isdigit() for char in texts[0]) or max(map(len, texts)) > 40:
        return None
    if all(_ISO.fullmatch(text) for text in texts):
        try:
            return _of_iso(texts), ""
        except ValueError:
            return None
    for group in (CLOCKS, DAYS, MONTHS, MOMENTS):
        formats = covering(texts, group)
        if formats:
            return _of_formats(texts, formats, group), _doubt(texts, formats)
    return None


_FAR = re.compile(r"(?<![0-9])(9999|2999|1900|1899|1800|1753|1111|0001)(?![0-9])")
_FAR_DAYS = {(12, 31), (1, 1), (11, 11), (12, 30)}
_FAR_YEARS = 50


def far_dates(texts: list[str]) -> list[str]:
    """The texts of days that stand for none, such as 31.12.9999: the first or last of a year far from all others."""
    found = {text: moment for text in texts if _FAR.search(text) and (moment := _day(text.strip())) is not None}
    found = {text: moment for text, moment in found.items() if (moment.month, moment.day) in _FAR_DAYS}
    others = [text.strip() for text in texts if text not in found]
    keys = dated_keys(others) if found and others else None
    if keys is None or keys[0]["type"] not in ("date", "datetime"):
        return []
    low, high = int(keys[0]["min"][:4]), int(keys[0]["max"][:4])
    far = (text for text, moment in found.items() if not low - _FAR_YEARS <= moment.year <= high + _FAR_YEARS)
    return sorted(far)


def _day(text: str) -> datetime | None:
    return next((moment for one in (*DAYS, *MOMENTS) if (moment := _read(text, one))), None)


def covering(texts: list[str], group: Iterable[str]) -> list[str]:
    """Formats that read all texts between them, the one that reads most first; nothing if there are none."""
    rest, chosen = list(texts), list[str]()
    while rest and len(chosen) < MOST_FORMATS:
        left = {one: [text for text in rest if _read(text, one) is None] for one in group}
        best = min(left, key=lambda one: len(left[one]))
        if len(left[best]) == len(rest):
            return []
        rest = left[best]
        chosen.append(best)
    return chosen if not rest else []


def _read(text: str, form: str) -> datetime | None:
    # %Y%m%d would read 1234567 as a day of the year 1234.
    if form == "%Y%m%d" and not re.fullmatch(r"(19|20)[0-9]{6}", text):
        return None
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _doubt(texts: list[str], formats: list[str]) -> str:
    if "%d/%m/%Y" in formats and covering(texts, ("%m/%d/%Y",)):
        return "; day or month may come first, nothing in the data tells: check the format"
    return f"; {len(formats)} formats are mixed" if len(formats) > 1 else ""


def _of_formats(texts: list[str], formats: list[str], group: tuple[str, ...]) -> Keys:
    moments = [next(moment for one in formats if (moment := _read(text, one))) for text in texts]
    form: Any = formats if len(formats) > 1 else formats[0]
    if group is CLOCKS:
        bounds = {"min": "1900-01-01T00:00:00", "max": "1900-01-01T23:59:59"}
        finest = "second" if any(moment.second for moment in moments) else "minute"
        return {"type": "datetime", **bounds, "format": form, "granularity": finest, "bins": 24}
    if group is MOMENTS:
        return of_moments(moments) | {"format": form}
    keys = of_moments([moment.date() for moment in moments]) | {"format": form}
    return keys | ({"granularity": "month"} if group is MONTHS else {})


def _of_iso(texts: list[str]) -> Keys:
    if all(len(text) == 10 for text in texts):
        return of_moments([date.fromisoformat(text) for text in texts])
    if not all(len(text) > 10 for text in texts):
        raise ValueError("dates and times are mixed")
    return of_moments([datetime.fromisoformat(text) for text in texts])


def of_moments(values: list[Any]) -> Keys:
    """The keys of dates or datetimes; of many different ones, bounds are whole years."""
    days = not isinstance(values[0], datetime)
    if not days:
        values = [value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value for value in values]
    low, high = min(values), max(values)
    if len(set(values)) > MANY:
        low, high = low.replace(month=1, day=1), high.replace(month=12, day=31)
        if not days:
            low, high = low.replace(hour=0, minute=0, second=0), high.replace(hour=23, minute=59, second=59)
    if days:
        return {"type": "date", "min": low.isoformat(), "max": high.isoformat()}
    finest = "day"
    for unit in ("hour", "minute", "second"):
        finest = unit if any(getattr(value, unit) for value in values) else finest
    bounds = (bound.replace(microsecond=0).isoformat() for bound in (low, high))
    return {"type": "datetime", **dict(zip(("min", "max"), bounds, strict=True)), "granularity": finest}


def moments_of(values: Iterable[Any], column: Keys) -> list[int]:
    """The second of each value of a column, from its keys; `NO_MOMENT` where it is missing or no moment."""
    form = column.get("format", [])
    formats = [form] if isinstance(form, str) else form
    known: dict[Any, int] = {}
    found = []
    for value in values:
        if value not in known:
            known[value] = _moment(value, formats)
        found.append(known[value])
    return found


def _moment(value: Any, formats: list[str]) -> int:
    if isinstance(value, str):
        text = value.strip()
        try:
            value = next((read for one in formats if (read := _read(text, one))), None) if formats else _iso(text)
        except ValueError:
            return NO_MOMENT
    if isinstance(value, datetime):
        return int((value.replace(tzinfo=value.tzinfo or UTC) - _START).total_seconds())
    return value.toordinal() * 86_400 if isinstance(value, date) else NO_MOMENT


def _iso(text: str) -> date:
    return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
