"""The card of a release: the publishable report, made from the release folder alone. It never sees a real row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

from sfumato.errors import ReleaseError
from sfumato.exact import exact_number, printed_up
from sfumato.files import check_new, write_new
from sfumato.intake.labels import labels
from sfumato.models.residuals import NoisyTable as NoisyCounts
from sfumato.release import Release, storage
from sfumato.release.expected import ExpectedNoise, expected_noise
from sfumato.release.intervals import table_interval
from sfumato.report import charts, spending
from sfumato.report.card_about import about_of, checksums_of, few, files_section, use_section
from sfumato.report.page import (
    PARTLY,
    PUBLISHABLE,
    Stamp,
    beside,
    figure,
    folded,
    framed,
    html_name,
    page,
    paragraph,
    section,
    single,
    table,
    tiles,
)
from sfumato.report.spending import Spending, spending_of
from sfumato.report.svg import percent, short
from sfumato.schema.columns import Boolean, Categorical, Column, ordered_size

LISTED = 12
"""The most categories that are listed, and the most tables that are drawn."""


@dataclass(frozen=True)
class NoisyTable(ExpectedNoise):
    """A table of counts with noise.

    Args:
        interval: half the width of the 95 % interval of a count in it, in rows, if all noisy tables are used.
    """

    interval: float


@dataclass(frozen=True)
class ColumnCard:
    """A column as declared in public: its values, and where these were taken from."""

    name: str
    type: str
    values: str
    nullable: bool
    domain_from: str
    note: str


@dataclass(frozen=True)
class Card:
    """All figures of a card, and the day on which it was made; a release itself has no date."""

    name: str
    about: dict[str, str]
    method: str
    estimated_rows: int
    cut: str
    spending: Spending
    tables: tuple[NoisyTable, ...]
    columns: tuple[ColumnCard, ...]
    observed: tuple[str, ...]
    accepted: tuple[str, ...]
    warnings: tuple[str, ...]
    parameters: dict[str, str]
    versions: dict[str, str]
    book: str
    checksums: dict[str, str]
    date: str

    @property
    def stamp(self) -> Stamp:
        """What the page says at its top: amber, where the guarantee leaves out what was read from the data."""
        return PARTLY if self.observed else PUBLISHABLE

    def save(self, file: str | Path) -> Path:
        """Write the page to a new .html file."""
        path = html_name(Path(file))
        check_new(path)
        write_new({path: card_report(self)})
        return path

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        return framed(card_report(self))

    def to_dict(self) -> dict[str, Any]:
        """These figures as JSON, with the stamp first."""
        return {"stamp": f"{self.stamp.words}: {self.stamp.reason}", **asdict(self)}


def card_of(folder: Path) -> Card:
    """Read the figures of a card from a release folder."""
    release = Release.load(folder)
    description = storage.read_json(folder / "release.json")
    try:
        # Those of the run that made the release, not of the program that reads it now.
        versions = {str(name): str(version) for name, version in description["versions"].items()}
        receipt = description.get("book")
        book = f"payment {receipt['payment']}, head {receipt['head']}" if receipt else "none: see docs/book.md"
    except (KeyError, AttributeError, TypeError):
        raise ReleaseError(
            f"{str(folder / 'release.json')!r} lacks versions; give a folder as Sfumato wrote it"
        ) from None
    return _card(release, versions, checksums_of(folder), book)


def card_of_release(release: Release) -> Card:
    """The figures of a card of a release that is not saved yet."""
    versions = {str(name): str(version) for name, version in release.description()["versions"].items()}
    return _card(release, versions, {}, "none: not saved yet")


def _card(release: Release, versions: dict[str, str], checksums: dict[str, str], book: str) -> Card:
    schema = release.schema
    return Card(
        name=schema.name,
        about=about_of(schema),
        method=release.method,
        estimated_rows=release.rows,
        cut="" if release.persons is None else release.persons.sentence(),
        spending=spending_of(release.ledger),
        tables=tuple(_noisy(one, release) for one in release.noisy_tables),
        columns=tuple(map(_column, schema.columns)),
        observed=schema.observed,
        accepted=tuple(f"{few(one.columns)} by {one.by}: {one.reason}" for one in schema.accept_observed),
        warnings=release.warnings,
        parameters=release.recipe.parameters(),
        versions=versions,
        book=book,
        checksums=checksums,
        date=date.today().isoformat(),
    )


def _noisy(table: NoisyCounts, release: Release) -> NoisyTable:
    (noise,) = expected_noise([table.measurement], release.ledger, release.rows)
    interval = table_interval(release.noisy_tables, table, release.model.recoding.fine)
    return NoisyTable(**vars(noise), interval=interval)


def _column(column: Column) -> ColumnCard:
    names = labels(column)[: -1 if column.nullable else None]
    if isinstance(column, Categorical | Boolean):
        values = ", ".join(names[:LISTED])
        if len(names) > LISTED:
            values += f" … and {len(names) - LISTED} more"
    else:
        bins = ordered_size(column)
        values = f"{column.min} to {column.max}, in {bins} bins"
        values += f", and {', '.join(names[bins:])} by themselves" if names[bins:] else ""
    return ColumnCard(column.name, column.type, values, column.nullable, column.domain_from, column.note or "")


def card_report(card: Card) -> str:
    """The whole HTML file."""
    return page(card.stamp, f"Release card: {card.name}", _body(card))


def _body(card: Card) -> Iterator[str]:
    about = f"A differentially private release of the table {card.name!r}, made by the method {card.method}."
    yield paragraph(about, "lead")
    if card.observed:
        yield paragraph(_exception(card), "warning")
    for warning in card.warnings:
        yield paragraph(f"Warning: {warning}.", "warning")
    numbers = [(printed_up(exact_number(value)), name) for name, value in card.spending.guarantee.items() if value]
    yield tiles(
        [
            *numbers,
            (f"{card.estimated_rows:,}", "rows, estimated from the noisy tables"),
            (f"{len(card.columns)}", "columns"),
            (f"{len(card.tables)}", "noisy tables of counts, and synthetic rows made from them"),
        ]
    )
    yield use_section(card.about | {"date": card.date})
    yield beside(_guarantee(card), _budget(card.spending), _expected(card))
    yield _schema(card)
    yield _errors(card)
    yield _ledger(card.spending)
    yield _method(card)
    yield files_section(card.checksums)
    yield f"<footer>{card.stamp.words}: {card.stamp.reason}. Written by sfumato card on {card.date}.</footer>"


def _exception(card: Card) -> str:
    words = (
        f"The guarantee does not cover the declared values of {few(card.observed)}: they were observed in the "
        "data and are published as they are. "
    )
    return words + (f"Accepted as public: {'; '.join(card.accepted)}." if card.accepted else "A person accepted them.")


def _guarantee(card: Card) -> str:
    spent = card.spending
    parts = []
    if spent.best_guess is not None:
        guesses = {"a coin": 0.5, "with this release": spent.best_guess, "certainty": 1.0}
        drawing = charts.ranked_bars(
            list(guesses), list(guesses.values()), [_at_most(one) for one in guesses.values()], "stage2", spent.sentence
        )
        title = "How often can an attacker guess whether a row is in the table?"
        parts.append(single(figure(title, "at most", drawing)))
    if spent.guarantee.get("epsilon") is not None and not spent.guarantee["delta"]:
        odds = exp(min(spent.guarantee["epsilon"], 700.0)) / 99
        parts.append(
            paragraph(
                "In other words: whoever thought beforehand, with 1 chance in 100, that certain rows are in the "
                "table, and knows all others in it, thinks so with at most "
                f"{_at_most(odds / (1 + odds))} afterwards."
            )
        )
    return section("The guarantee", f"{spent.sentence}.", *parts)


def _at_most(share: float) -> str:
    """A bound in percent, rounded up."""
    return f"{printed_up(Fraction(100 * share), 3)}\u00a0%"


def _budget(spent: Spending) -> str:
    words = "The privacy budget, cut into the questions that were asked of the real rows, stage by stage."
    drawing = figure("The budget", f"{percent(spent.spent / spent.available)} spent", spending.drawn(spent))
    return section("What it cost", words, single(drawing))


def _ledger(spent: Spending) -> str:
    words = (
        f"Every question that was asked of the real rows, and what it cost: {spent.spent:.6g} of {spent.available:.6g} "
        f"{spent.unit} in all. Anyone can add it up; nothing else was asked."
    )
    rows = [
        (one.question, one.stage, one.noise, f"{one.cost:.4g}", percent(one.cost / spent.available))
        for one in spent.questions
    ]
    heads = ("question", "stage", "noise", f"cost ({spent.unit})", "of the budget")
    return folded("The ledger", words, table(heads, rows, frozenset({3, 4})))


def _ranked(card: Card) -> list[NoisyTable]:
    return sorted(card.tables, key=lambda one: -one.share_of_rows)


def _expected(card: Card) -> str:
    words = (
        "What the noise alone does to each table, as a share of the rows that it puts into wrong cells: known from "
        "the noise, without real rows."
    )
    shown = _ranked(card)[:LISTED]
    drawing = charts.ranked_bars(
        [" × ".join(one.columns) for one in shown],
        [one.share_of_rows for one in shown],
        [percent(one.share_of_rows) if one.share_of_rows <= 1 else "all" for one in shown],
        "stage1",
        "Tables by expected noise",
    )
    title = (
        "Expected noise" if len(shown) == len(card.tables) else f"The {LISTED} noisiest of {len(card.tables)} tables"
    )
    cut = [paragraph(f"Of persons with many rows: {card.cut}.")] if card.cut else []
    return section("How exact it is", words, single(figure(title, "", drawing)), *cut)


def _errors(card: Card) -> str:
    words = (
        'Each cell of a table is off by noise of the given standard deviation, in rows. "Share of rows" is the '
        "expected total of the noise, halved, beside all rows: about the distance from the exact table "
        "(total variation). Making the tables agree usually lowers it. An interval around a count that all noisy "
        "tables give together, this wide to each side, holds the count without noise 95 times in 100: sfumato query "
        "prints it."
    )
    rows = [
        (
            " × ".join(one.columns),
            f"{one.cells:,}",
            f"{one.deviation:,.1f}",
            f"± {one.interval:,.1f}",
            percent(one.share_of_rows),
        )
        for one in _ranked(card)
    ]
    heads = ("table", "cells", "noise in a cell", "95 % interval", "share of rows")
    return folded("Expected error of each table", words, table(heads, rows, frozenset({1, 2, 3, 4})))


def _schema(card: Card) -> str:
    rows = [
        (
            one.name,
            one.type,
            one.values + (" (may be missing)" if one.nullable else ""),
            one.domain_from,
            short(one.note, 160),
        )
        for one in card.columns
    ]
    words = "The columns as they were declared in public, and where the bounds and categories were taken from."
    heads = ("column", "type", "values", "source of the values", "note")
    return (section if len(rows) <= LISTED else folded)("The schema", words, table(heads, rows))


def _method(card: Card) -> str:
    rows = [(name, part) for name, part in card.parameters.items()]
    rows.append(("book that paid for it", card.book))
    rows += [(f"version of {name}", version) for name, version in card.versions.items()]
    words = f"The method {card.method}, stage by stage, and the software that made this release."
    return folded("Method and versions", words, table(("part", "setting"), rows))
