"""Periods: days, weeks, months … as whole numbers, so a date is an integer in disguise.

Moments are whole seconds since 1970-01-01 without time zone; a period is a number that grows by one from one
period to the next. Weeks start on Monday.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
DateGranularity = Literal["day", "week", "month", "quarter", "year"]
Granularity = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"]

DAY = 86_400
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": DAY, "week": 7 * DAY}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_EPOCH = datetime(1970, 1, 1)
# 1970-01-01 was a Thursday: the week that holds it began three days earlier.
_MONDAY = -3 * DAY


def seconds_of(moment: date) -> int:
    """Seconds since 1970-01-01 of a date (at midnight) or of a datetime without time zone."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return (moment - _EPOCH) // timedelta(seconds=1)


def moment_of(seconds: int) -> datetime:
    """The datetime that many seconds after 1970-01-01."""
    return _EPOCH + timedelta(seconds=seconds)


def period_of(seconds: Ints, granularity: Granularity) -> Ints:
    """The period in which each moment lies."""
    if granularity in _SECONDS:
        return (seconds - (_MONDAY if granularity == "week" else 0)) // _SECONDS[granularity]
    days = (seconds // DAY).astype("datetime64[D]")
    return days.astype("datetime64[M]").astype(np.int64) // _MONTHS[granularity]


def start_of(periods: Ints, granularity: Granularity) -> Ints:
    """The first second of each period."""
    if granularity in _SECONDS:
        return periods * _SECONDS[granularity] + (_MONDAY if granularity == "week" else 0)
    months = (periods * _MONTHS[granularity]).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64) * DAY
