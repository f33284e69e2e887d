"""Checks of the accounts: the ledger by itself, against the schema, and against the noisy tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import isclose
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.fitting import note_schema
from sfumato.privacy.events import PERSONS, Choice, Event, Free, Noisy, table_question
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import GRID, SCORES
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.release import Release, storage
from sfumato.release.metadata import metadata
from sfumato.verify.findings import Finding, found

NEAR = 1e-9
"""Figures for readers may be rounded otherwise by another version, by no more than this part of them."""

_PAIRS = re.compile(rf"dependence of ([0-9]{{1,9}}) pairs of columns, in rows / {GRID}")
_DISTANCES = re.compile(rf"distance of ([0-9]{{1,9}}) tables to those of a model, in rows / {GRID}")
_PARENTS = re.compile(r"one of [0-9]{1,9} sets of parents, by score ([A-Z]+)")
_AGAIN = "ask for these tables again"


def check_ledger(folder: Path) -> Finding:
    """The events, as exact fractions, cost what the ledger says, and no more than its budget."""
    record = storage.read_json(folder / "ledger.json")
    try:
        statement = Statement.from_dict(record)
    except SfumatoError as problem:
        return found("ledger", [str(problem)], "")
    right = f"{len(statement.entries)} events, recomputed exactly, within the budget: {statement.sentence()}"
    return found("ledger", differences(statement.to_dict(), record), right)


def check_unit(release: Release) -> Finding:
    """The ledger protects whom the schema names, and charges how far one of them can move each answer."""
    statement, neighbours = release.ledger, Neighbours.of(release.schema)
    problems = []
    if statement.protects != str(neighbours) and not is_study(release):
        problems.append(f"the ledger protects {statement.protects!r}, and the schema says {str(neighbours)!r}")
    for number, (_, event) in enumerate(statement.entries):
        if isinstance(event, Free):
            continue
        try:
            wanted = declared_sensitivity(event, neighbours)
        except (KeyError, ValueError):
            problems.append(f"event {number} asks {event.question[:60]!r}, which no version of Sfumato is known to ask")
            continue
        if event.sensitivity != wanted:
            problems.append(f"event {number} charges another sensitivity than follows from the schema")
    ledger = Ledger(statement.budget, statement.protects)
    note_schema(ledger, release.schema)
    for _, note in ledger.statement().entries:
        if note not in [event for _, event in statement.entries]:
            problems.append(f"the ledger lacks the note {note.question!r}, which the schema asks for")
    return found("unit", problems, f"protects {statement.protects}, as the schema says; sensitivities follow from it")


def declared_sensitivity(event: Noisy | Choice, neighbours: Neighbours) -> Sensitivity | int:
    """How far neighbours can be apart in the answer to a question; a KeyError or ValueError if it is unknown.

    A new kind of question needs a line here, beside its proof.
    """
    if isinstance(event, Choice):
        return neighbours.score(SCORES[_matched(_PARENTS, event.question)])
    if event.question.startswith("table "):
        return neighbours.marginal
    if event.question == PERSONS and neighbours.persons:
        return neighbours.person
    if found := _DISTANCES.fullmatch(event.question):
        return neighbours.distance.repeated(int(found[1]))
    return neighbours.dependence.repeated(int(_matched(_PAIRS, event.question)))


def check_tables(release: Release, folder: Path) -> Finding:
    """Each noisy table was paid for by one event, of its columns and width; no event is without a table."""
    entries = release.ledger.entries
    paid = {number for number, (_, event) in enumerate(entries) if is_table(event)}
    problems = []
    uses = Counter(one.event for one in release.model.measurements)
    ratios: list[float] = []
    parts = release.schema.unit.parts
    for number, one in enumerate(release.model.measurements):
        event = entries[one.event][1] if one.event in paid else None
        if not isinstance(event, Noisy) or uses[one.event] > 1:
            problems.append(f"table {number} was not paid for, or its event pays for another table too")
            continue
        if event.question != table_question(one.clique, parts):
            problems.append(f"table {number} is over {' × '.join(one.clique)}, and its event says {event.question!r}")
        ratio = one.variance * parts**2 / event.noise.variance
        # Shares of noise from more parties than must be honest add up to more noise than is charged, never to less.
        if not isclose(ratio, 1, rel_tol=NEAR) and (ratio < 1 or not event.noise.divisible):
            problems.append(f"table {number} has noise of variance {one.variance:g}, paid for {event.noise.variance:g}")
        ratios.append(ratio)
    if ratios and not is_study(release) and not isclose(min(ratios), max(ratios), rel_tol=NEAR):
        problems.append("some tables have more noise than was paid for, and others have not")
    unused = paid - uses.keys()
    if unused and not (is_study(release) and any(event.question == _AGAIN for _, event in entries)):
        problems.append(f"events {sorted(unused)[:5]} paid for tables that are not there")
    problems += _persons_problems(release)
    problems += storage.published_problems(folder, release.model, release.schema)
    problems += _answer_problems(release)
    right = f"{len(uses)} noisy tables, each paid for by one event, with its columns and noise"
    if release.answers:
        right += f"; so were {len(release.answers)} other noisy answers"
    return found("tables", problems, right)


def _answer_problems(release: Release) -> list[str]:
    """Where scores, distances and choices are not those that were paid for: one answer an event, of its size."""
    if release.answers is None:
        return []
    wanted = {
        number: event
        for number, (_, event) in enumerate(release.ledger.entries)
        if isinstance(event, Noisy | Choice) and not is_table(event) and event.question != PERSONS
    }
    problems = [f"answer {number} was not paid for" for number in sorted(release.answers.keys() - wanted.keys())]
    problems += [f"event {number} paid for an answer that is not there" for number in wanted.keys() - release.answers]
    for number in sorted(wanted.keys() & release.answers.keys()):
        event, numbers = wanted[number], release.answers[number]
        counted = re.search("of ([0-9]{1,9}) ", event.question)
        size = int(counted[1]) if counted else 0
        choice = isinstance(event, Choice)
        if len(numbers) != (1 if choice else size) or (choice and numbers[0] not in range(size)):
            problems.append(f"answer {number} is of another size than was asked for")
    return problems


def _persons_problems(release: Release) -> list[str]:
    """Where the table of persons is not the one that was paid for: once if an identifier tells them apart, else never.

    Many parties do not count persons, of whom one may have rows at several.
    """
    paid = [number for number, (_, event) in enumerate(release.ledger.entries) if event.question == PERSONS]
    unit, persons = release.schema.unit, release.persons
    if unit.column is None or is_shared(release):
        return ["persons were counted, and nothing tells them apart"] if paid or persons is not None else []
    if persons is None or paid != [persons.event] or persons.most != unit.rows:
        return ["the table of persons by their number of rows was not paid for by one event, or is not there"]
    event = release.ledger.entries[persons.event][1]
    right = isinstance(event, Noisy) and isclose(persons.variance, event.noise.variance, rel_tol=NEAR)
    return [] if right else ["the table of persons by their number of rows has other noise than was paid for"]


def check_description(release: Release, folder: Path) -> Finding:
    """release.json, schema.json and metadata say what follows from the other files, and nothing else."""
    record = storage.read_json(folder / "release.json")
    problems: list[str] = []
    wanted: dict[str, Any] = release.description()
    # These are those of the run that made the release, which may be another version than this one.
    wanted |= {key: record.get(key) for key in ("versions", "arithmetic", "sample")}
    if "book" in record:
        wanted["book"] = record["book"]
        if not is_receipt(record["book"]):
            problems.append("'book' does not say which payment of a book this was")
    if release.schema.rules:
        rules = record.get("rules")
        share = rules.get("share_of_rows_drawn_again") if isinstance(rules, dict) else None
        # Which part of the rows was drawn again depends on the arithmetic of the run, as the rows do.
        wanted["rules"] = {"declared": len(release.schema.rules), "violations": 0, "share_of_rows_drawn_again": share}
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            problems.append("'rules' does not say which part of the rows was drawn again")
    problems += differences(wanted, record)
    problems += differences(release.schema.to_dict(), storage.read_json(folder / "schema.json"), "schema.json")
    if not is_sample(record.get("sample")):
        problems.append("'sample' does not say which rows were drawn")
    elif (folder / record["sample"]["file"]).is_file():
        made = metadata(folder, record["sample"]["file"], release.schema, release.ledger, release.recipe)
        wrong = [name for name, text in made.items() if _text(folder / name) != text]
        problems += [f"{name} does not describe this release" for name in wrong]
    if not isinstance(record.get("versions"), dict) or not isinstance(record.get("arithmetic"), str):
        problems.append("'versions' and 'arithmetic' do not say what the release was made with")
    right = "release.json, schema.json and metadata say what follows from the other files, and nothing else"
    return found("description", problems, right)


def _text(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def is_study(release: Release) -> bool:
    """Whether the statement is about the parties of a study, whose noise is made of shares."""
    return release.ledger.protects.startswith(f"{Neighbours.of(release.schema)}, at each of ")


def is_shared(release: Release) -> bool:
    """Whether the noise is made of shares of parties, whose number is not published."""
    return is_study(release) or share_ratio(release) != 1


def share_ratio(release: Release) -> float:
    """How many parties there are for each that must be honest, so much wider is the noise; 1 where one has all rows.

    It is the largest that tables show: that of rounds in which all parties answered.
    """
    entries, largest = release.ledger.entries, 1.0
    for one in release.model.measurements:
        event = entries[one.event][1] if one.event is not None and one.event in range(len(entries)) else None
        if isinstance(event, Noisy):
            largest = max(largest, one.variance * release.schema.unit.parts**2 / event.noise.variance)
    # The quotient of two small numbers, but for rounding.
    return 1.0 if largest <= 1 + NEAR else float(Fraction(largest).limit_denominator(1000))


def is_table(event: Event) -> bool:
    """Whether an event is the noise of one table."""
    return isinstance(event, Noisy) and event.question.startswith("table ")


def differences(wanted: Any, given: Any, where: str = "") -> list[str]:
    """Where two JSON values differ; floats may differ by rounding, and a list by nothing else than its items."""
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        keys = dict.fromkeys([*wanted, *given])
        lacking = [f"{_at(where, key)} should not be there" for key in keys if key not in wanted]
        lacking += [f"{_at(where, key)} is missing" for key in keys if key not in given]
        both = [key for key in keys if key in wanted and key in given]
        return lacking + [one for key in both for one in differences(wanted[key], given[key], _at(where, key))]
    if isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
        if len(wanted) != len(given):
            return [f"{where} has {len(given)} items, and {len(wanted)} are wanted"]
        pairs = enumerate(zip(wanted, given, strict=True))
        return [one for place, (a, b) in pairs for one in differences(a, b, f"{where}[{place}]")]
    if type(wanted) is float and type(given) is float:
        return [] if isclose(wanted, given, rel_tol=NEAR) else [f"{where} is {given:.12g}, and {wanted:.12g} is right"]
    return [] if type(wanted) is type(given) and wanted == given else [f"{where} is not what follows from the rest"]


def _at(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)


def is_receipt(book: Any) -> bool:
    """Whether a release names a payment of a book, and a head of it."""
    return (
        isinstance(book, dict)
        and book.keys() == {"payment", "head"}
        and type(book["payment"]) is int
        and type(book["head"]) is str
        and re.fullmatch("[0-9a-f]{64}", book["head"]) is not None
    )


def is_sample(sample: Any) -> bool:
    """Whether a release says which rows were drawn, in a form that can be repeated."""
    return (
        isinstance(sample, dict)
        and sample.keys() == {"file", "rows", "seed"}
        and sample["file"] in ("synthetic.csv", "synthetic.parquet")
        and all(type(sample[key]) is int and sample[key] >= 0 for key in ("rows", "seed"))
    )


def _matched(pattern: re.Pattern[str], text: str) -> str:
    if (match := pattern.fullmatch(text)) is None:
        raise ValueError
    return match[1]
