"""A simulated survey of people with the troubles of real ones: skew, long tails, missing answers.

The same rows come out for ever: the only randomness is the raw 64-bit stream of PCG64, which NumPy promises
not to change, and all draws are inverse distribution functions. Their order, causes before effects, is part
of the data. docs/survey.md tells the dependencies in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from sfumato.errors import DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SEED = 1503  # the year in which the most famous sfumato portrait was begun
_FIRST_DAY, _DAYS = np.datetime64("2024-01-01", "D"), 731  # two years from a Monday on

# Share of the people, how urban (0 to 1), wages and rents (shifts of the logarithm), sector of its own.
_REGION: dict[str, tuple[float, float, float, float, str]] = {
    "Aldermoor": (0.18, 1.00, 0.14, 0.45, "finance"),
    "Brennvik": (0.14, 0.85, 0.08, 0.25, "technology"),
    "Caldora": (0.12, 0.80, 0.06, 0.20, "public administration"),
    "Dunmarsh": (0.10, 0.55, 0.00, 0.00, "manufacturing"),
    "Estrelle": (0.09, 0.60, 0.02, 0.15, "education"),
    "Fennholt": (0.08, 0.35, -0.05, -0.15, "manufacturing"),
    "Garrow": (0.08, 0.45, -0.12, -0.25, "transport"),
    "Highmere": (0.06, 0.15, -0.06, 0.05, "hospitality"),
    "Ilvane": (0.05, 0.25, -0.08, -0.25, "agriculture"),
    "Jorvale": (0.045, 0.30, -0.04, -0.10, "construction"),
    "Kestrel Coast": (0.035, 0.20, -0.12, 0.10, "hospitality"),
    "Lowfield": (0.02, 0.00, -0.15, -0.40, "agriculture"),
}
_SHARE, _URBAN, _WAGES, _RENTS = np.array([row[:4] for row in _REGION.values()]).T

# Letter of its occupations, weight, usual education, its spread, log odds of men, log wage, lean to cities.
_SECTOR: dict[str, tuple[str, float, float, float, float, float, float]] = {
    "agriculture": ("A", 0.6, 1.5, 1.6, 0.6, -0.25, -2.6),
    "manufacturing": ("B", 1.6, 2.4, 1.5, 0.8, 0.05, -0.9),
    "construction": ("C", 1.1, 2.0, 1.2, 2.0, 0.02, -0.3),
    "trade": ("D", 1.8, 2.2, 1.4, -0.1, -0.12, 0.0),
    "transport": ("E", 0.9, 1.8, 1.2, 1.3, -0.04, 0.2),
    "hospitality": ("F", 0.9, 1.3, 1.3, -0.3, -0.30, 0.3),
    "technology": ("G", 1.0, 4.4, 1.0, 1.1, 0.25, 1.3),
    "finance": ("H", 0.7, 4.2, 1.0, 0.1, 0.28, 1.4),
    "education": ("J", 1.2, 4.8, 1.0, -1.0, -0.02, 0.0),
    "health care": ("K", 1.6, 3.6, 1.4, -1.4, 0.00, 0.0),
    "public administration": ("L", 1.0, 3.4, 1.2, -0.1, 0.04, 0.2),
}
_WEIGHT, _USUAL, _SPREAD, _MEN, _PAY, _CITY = np.array([row[1:] for row in _SECTOR.values()]).T
_OWN, _COMMON = 13, 17  # of occupations: in one sector only, in all sectors (letter X)
_PLACES = np.r_[1 : _OWN + 1, 1 : _COMMON + 1]  # the number of an occupation under its letter
_OCCUPATION = tuple(
    [f"{row[0]}{place:02d}" for row in _SECTOR.values() for place in _PLACES[:_OWN]]
    + [f"X{place:02d}" for place in _PLACES[_OWN:]]
)
_SEX = ("female", "male", "other")
_EDUCATION = ("primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master", "doctor")
_EDUCATION_CUTS = (-1.75, -1.05, -0.15, 0.45, 1.15, 2.15)
_EDUCATION_FROM_AGE = np.array([18, 18, 18, 20, 21, 23, 27])
_HEALTH = ("very poor", "poor", "fair", "good", "very good")
_HEALTH_CUTS = (-2.6, -1.6, -0.5, 0.9)
_HOUSEHOLD = ("alone", "couple", "couple with children", "single parent", "with parents", "shared")
_ALONE, _COUPLE, _FAMILY, _SINGLE_PARENT, _WITH_PARENTS, _SHARED = range(6)
_AGE_BANDS = (25, 35, 45, 55, 65, 75)
_HOUSEHOLD_WEIGHTS = (  # one row for each age band
    (12, 7, 2, 1, 60, 18),
    (24, 27, 25, 4, 11, 9),
    (17, 14, 53, 9, 4, 3),
    (20, 23, 42, 9, 3, 3),
    (26, 52, 14, 3, 1, 4),
    (30, 63, 3, 1, 0, 3),
    (52, 40, 1, 1, 0, 6),
)
_EMPLOYMENT = ("employed", "self-employed", "unemployed", "student", "retired", "at home", "unable to work")
_EMPLOYED, _SELF_EMPLOYED, _UNEMPLOYED, _STUDENT, _RETIRED, _AT_HOME, _UNABLE = range(7)
_NEVER_WORKED = np.array([0.0, 0.0, 0.12, 0.70, 0.02, 0.40, 0.25])
_NO_INCOME = np.array([0.0, 0.05, 0.22, 0.40, 0.01, 0.60, 0.05])
_LOG_INCOME = np.array([10.45, 10.40, 9.35, 8.70, 9.95, 8.40, 9.55])
_LOG_INCOME_SPREAD = np.array([0.33, 0.70, 0.40, 0.70, 0.40, 0.80, 0.30])


@dataclass(frozen=True)
class _Draws:
    """Random columns of one length, each from the next part of the stream."""

    bits: np.random.PCG64
    rows: int

    def uniform(self) -> Floats:
        """Numbers strictly between 0 and 1: the middles of 2^52 equal steps, all exact in a double."""
        return ((self.bits.random_raw(self.rows) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def normal(self) -> Floats:
        return np.asarray(ndtri(self.uniform()), dtype=np.float64)

    def chance(self, probability: ArrayLike) -> Flags:
        return self.uniform() < np.asarray(probability)

    def by_group(self, weights: Floats, group: Codes) -> Codes:
        """A category for each row, by the row of `weights` that belongs to its group."""
        cumulative = np.cumsum(weights, axis=1)
        # Shares plus the number of the group make one sorted list: a single search serves all groups.
        steps = (cumulative / cumulative[:, -1:] + np.arange(len(weights))[:, None]).ravel()
        found = np.searchsorted(steps, self.uniform() + group, side="right")
        return np.asarray(np.minimum(found - group * weights.shape[1], weights.shape[1] - 1), dtype=np.int64)

    def by_row(self, weights: Floats) -> Codes:
        """A category for each row, by weights of its own."""
        cumulative = np.cumsum(weights, axis=1)
        level = self.uniform()[:, None] * cumulative[:, -1:]
        return np.asarray((level >= cumulative[:, :-1]).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True)
class _People:
    """What is drawn first and drives the rest. Codes count from 0 in the order of the labels."""

    region: Codes
    sex: Codes
    age: Codes
    education: Codes
    household: Codes
    employment: Codes


def simulate(rows: int = 30_000) -> pa.Table:
    """Simulate the survey: a row for each person, 16 columns, for ever the same for the same `rows`."""
    if rows < 1:
        raise DataError("a survey without rows was asked for; ask for at least one row")
    draws = _Draws(np.random.PCG64(_SEED), rows)
    people = _people(draws)
    working = people.employment <= _SELF_EMPLOYED
    sector, occupation, skill = _work(draws, people)
    never_worked = draws.chance(_NEVER_WORKED[people.employment])
    hours = _hours(draws, people, sector)
    income, refused = _income(draws, people, _PAY[sector] + 0.05 * (skill - 3), np.where(working, hours, 38))
    wealth = np.log(income / 25_000 + 0.05)
    smoker = _smoker(draws, people)
    health = _health(draws, people, wealth, smoker)
    day = _interview_day(draws, people.region, working)
    columns = {
        "interview_date": pa.array(_FIRST_DAY + day),
        "region": _labels(_REGION, people.region),
        "sex": _labels(_SEX, people.sex),
        "age": pa.array(people.age),
        "household": _labels(_HOUSEHOLD, people.household),
        "children": pa.array(_children(draws, people)),
        "education": _labels(_EDUCATION, people.education),
        "employment": _labels(_EMPLOYMENT, people.employment),
        "sector": _labels(_SECTOR, sector, never_worked),
        "occupation": _labels(_OCCUPATION, occupation, never_worked | draws.chance(0.07 / (1 + skill))),
        "hours": pa.array(hours, mask=~working),
        "income": pa.array(income, mask=refused),
        "rent": _rent(draws, people, wealth),
        "smoker": pa.array(smoker, mask=draws.chance(0.02 + 0.05 * smoker)),
        "health": _labels(_HEALTH, health),
        "satisfaction": _satisfaction(draws, people, wealth, health, day),
    }
    return pa.table(columns)


def _labels(labels: Iterable[str], codes: Codes, missing: Flags | None = None) -> pa.Array:
    return pa.array(list(labels)).take(pa.array(codes, mask=missing))


def _raising(household: Codes) -> Flags:
    return np.isin(household, (_FAMILY, _SINGLE_PARENT))


def _people(draws: _Draws) -> _People:
    region = draws.by_row(np.broadcast_to(_SHARE, (draws.rows, len(_SHARE))))
    sex = draws.by_row(np.broadcast_to([0.508, 0.487, 0.005], (draws.rows, 3)))
    ages = np.arange(18, 96)
    lean = np.exp(-0.02 * (_URBAN[:, None] - 0.6) * (ages - 45))  # the young live in the cities
    age = ages[draws.by_group(lean * expit((74 - ages) / 7), region)]
    schooling = 0.6 * (_URBAN[region] - 0.6) - 0.017 * (age - 45) + 0.2 * ((sex == 0) & (age < 50))
    reached = np.searchsorted(_EDUCATION_CUTS, schooling + draws.normal())
    education = np.minimum(reached, np.searchsorted(_EDUCATION_FROM_AGE, age, side="right") - 1)
    weights = np.array(_HOUSEHOLD_WEIGHTS, dtype=np.float64)[np.searchsorted(_AGE_BANDS, age, side="right")]
    weights[:, _ALONE] *= (0.7 + 0.6 * _URBAN[region]) * np.where((sex == 0) & (age > 70), 1.8, 1.0)
    weights[:, _SINGLE_PARENT] *= np.where(sex == 0, 1.7, 0.35)
    weights[:, _SHARED] *= 0.4 + 1.2 * _URBAN[region]
    household = draws.by_row(weights)
    employment = draws.by_row(_employment_weights(_URBAN[region], sex, age, education, household))
    return _People(region, sex, age, education, household, employment)


def _employment_weights(urban: Floats, sex: Codes, age: Codes, education: Codes, household: Codes) -> Floats:
    below = 3 - education
    active = expit((70 - age) / 2.5)
    mother = (sex == 0) & _raising(household)
    weights = np.empty((len(age), len(_EMPLOYMENT)))
    weights[:, _EMPLOYED] = active
    weights[:, _SELF_EMPLOYED] = 0.09 * active * (1 + (sex == 1)) * (1.4 - 0.5 * urban) * (0.3 + age / 50)
    weights[:, _UNEMPLOYED] = 0.07 * active * np.exp(0.3 * below)
    weights[:, _STUDENT] = 3.0 * expit((22.5 - age) / 1.6) * np.where(education >= 2, 1.0, 0.35)
    weights[:, _RETIRED] = 14.0 * expit((age - 66.5 + 0.6 * below) / 1.4)
    weights[:, _AT_HOME] = 0.03 + 0.14 * mother * np.exp(0.2 * below)
    weights[:, _UNABLE] = 0.025 * active * np.exp(0.3 * below + (age - 45) / 16)
    return weights


def _children(draws: _Draws, people: _People) -> Codes:
    """Children ever had, grown-up ones too: who raises children now has at least one."""
    household, raising = people.household, _raising(people.household)
    mean = expit((people.age - 33) / 5) * np.exp(0.8 + 0.008 * people.age - 0.08 * people.education)
    mean *= np.select([household == _WITH_PARENTS, household == _COUPLE, raising], [0.05, 1.0, 1.5], 0.55)
    number = np.arange(9)
    weights = mean[:, None] ** number / np.cumprod(np.maximum(number, 1)) ** 1.5
    weights[raising, 0] = 0
    return draws.by_row(weights)


def _work(draws: _Draws, people: _People) -> tuple[Codes, Codes, Codes]:
    """Sector, occupation and the skill that the occupation asks for: present ones, or the last."""
    lean = _MEN * ((people.sex == 1)[:, None] - 0.5) + _CITY * (_URBAN[people.region][:, None] - 0.6)
    weights = _WEIGHT * np.exp(lean - 0.5 * ((people.education[:, None] - _USUAL) / _SPREAD) ** 2)
    own = np.array([list(_SECTOR).index(row[-1]) for row in _REGION.values()])
    weights[np.arange(draws.rows), own[people.region]] *= 4.0
    sector = draws.by_row(weights)
    levels = np.arange(len(_EDUCATION))
    skills = (3 * _PLACES + np.arange(len(_SECTOR))[:, None]) % len(levels)
    fit = np.exp(-0.5 * ((skills[:, None, :] - levels[:, None]) / 1.2) ** 2) / _PLACES**1.3
    fit[..., _OWN:] *= 0.2
    place = draws.by_group(fit.reshape(-1, _OWN + _COMMON), sector * len(levels) + people.education)
    occupation = np.where(place < _OWN, sector * _OWN, (len(_SECTOR) - 1) * _OWN) + place
    return sector, occupation, skills[sector, place]


def _hours(draws: _Draws, people: _People, sector: Codes) -> Codes:
    """Hours in a usual week; many people work the agreed 38 or 40 or answer in steps of five."""
    mother = (people.sex == 0) & _raising(people.household)
    part_time = draws.chance(expit(-1.9 + 0.9 * (people.sex == 0) + 1.0 * mother - 0.5 * _MEN[sector]))
    usual = np.where(draws.chance(0.6), 40, 38) + np.where(draws.chance(0.45), 5 * np.abs(draws.normal()), 0)
    free = people.employment == _SELF_EMPLOYED
    hours = np.select([free, part_time], [46 + 11 * draws.normal(), 23 + 6 * draws.normal()], usual)
    hours = np.where(draws.chance(0.4) & (hours != 38), 5 * np.rint(hours / 5), np.rint(hours))
    return np.clip(hours, 1, 80).astype(np.int64)


def _income(draws: _Draws, people: _People, pay: Floats, hours: Codes) -> tuple[Codes, Flags]:
    """Yearly income before tax and who refuses to tell it; a job counts in full, by half in its pension."""
    status, working = people.employment, people.employment <= _SELF_EMPLOYED
    share = np.select([working, status == _RETIRED], [1.0, 0.5], 0.1)
    job = pay + 0.12 * (people.education - 2) + _WAGES[people.region] - 0.12 * (people.sex == 0)
    career = 0.85 * np.log(hours / 38) - 0.0004 * (people.age - 52) ** 2 * working
    log_income = _LOG_INCOME[status] + share * job + career + _LOG_INCOME_SPREAD[status] * draws.normal()
    some = np.clip(np.rint(np.exp(log_income)), 1, 500_000)
    income = np.where(draws.chance(_NO_INCOME[status]), 0, some).astype(np.int64)
    refusal = 0.03 + 0.12 * (status == _SELF_EMPLOYED) + 0.07 * (people.age >= 70) + 0.1 * (income > 80_000)
    return income, draws.chance(refusal)


def _rent(draws: _Draws, people: _People, wealth: Floats) -> pa.Array:
    """Monthly rent or mortgage; nothing for most who live with their parents or have paid off their home."""
    paid_off = expit((people.age - 66) / 8 - 1.5 * (_URBAN[people.region] - 0.6) + 0.2 * wealth)
    nothing = draws.chance(np.where(people.household == _WITH_PARENTS, 0.85, paid_off))
    size = np.array([-0.05, 0.20, 0.45, 0.25, -0.70, -0.40])[people.household]
    log_rent = 6.45 + _RENTS[people.region] + size + 0.2 * wealth + 0.28 * draws.normal()
    rent = np.where(nothing, 0, np.clip(np.rint(np.exp(log_rent)), 1, 5_000)).astype(np.int64)
    return pa.array(rent, mask=draws.chance(0.02 + 0.1 * (people.household == _SHARED)))


def _smoker(draws: _Draws, people: _People) -> Flags:
    habit = -0.38 * people.education - 0.0009 * (people.age - 38) ** 2 - 2 * _WAGES[people.region]
    return draws.chance(expit(0.1 + habit + 0.35 * (people.sex == 1)))


def _health(draws: _Draws, people: _People, wealth: Floats, smoker: Flags) -> Codes:
    body = 0.6 - 0.034 * (people.age - 45) - 0.5 * smoker - 2.0 * (people.employment == _UNABLE)
    means = 0.3 * wealth + 0.08 * (people.education - 3)
    return np.asarray(np.searchsorted(_HEALTH_CUTS, body + means + draws.normal()), dtype=np.int64)


def _interview_day(draws: _Draws, region: Codes, working: Flags) -> Codes:
    """Few interviews on Sundays, in August and at the end of a year; each region has its own busy months."""
    day = np.arange(_DAYS)
    angle = 2 * np.pi * (day % 366) / 366
    season = 1 + 0.3 * np.cos(2 * angle) - 0.75 * np.exp(-0.5 * ((day % 366 - 226) / 14) ** 2)
    season *= np.where((day % 366 > 356) | (day % 366 < 2), 0.05, 1.0)
    week = np.array([[1.2, 1.2, 1.2, 1.1, 0.8, 0.4, 0.1], [0.8, 0.9, 0.9, 0.9, 0.7, 1.6, 0.3]])[:, day % 7]
    round_trip = 1 + 0.7 * np.cos(angle - 2 * np.pi * np.arange(len(_REGION))[:, None] / len(_REGION))
    return draws.by_group((round_trip[:, None, :] * (season * week)).reshape(-1, _DAYS), 2 * region + working)


def _satisfaction(draws: _Draws, people: _People, wealth: Floats, health: Codes, day: Codes) -> pa.Array:
    """Satisfaction with life from 0 to 10: health, company, money, work and a little sunshine."""
    company = np.isin(people.household, (_COUPLE, _FAMILY))
    score = 4.6 + 0.75 * health + 0.6 * company + 0.35 * wealth - 1.2 * (people.employment == _UNEMPLOYED)
    score += -0.2 * np.cos(2 * np.pi * day / 365.5) + 1.3 * draws.normal()
    return pa.array(np.clip(np.rint(10 * score), 0, 100) / 10, mask=draws.chance(0.01 + 0.06 * (health <= 1)))
