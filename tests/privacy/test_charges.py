"""What a holder charges, held against what one person can do to the whole answer: every question, every relation.

All tables of up to four rows over three binary columns, all their neighbours, one, two and three questions in a call.
The sensitivity is read from the ledger, not from the formula that was meant to be charged.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from helpers_holders import holder_of, silence
from sfumato.data.coding import Coding, Keep, Merge
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.privacy.budget import ZCDP, Currency, PureDP, Share, SkellamDP
from sfumato.privacy.mechanisms import Laplace
from sfumato.privacy.mechanisms.exponential import Race
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.party_holder import PartyHolder
from sfumato.privacy.scores import GRID, SCORES
from sfumato.privacy.sensitivity import Notion

DOMAIN = Domain({"a": 2, "b": 2, "c": 2})
CELLS = list(product(range(2), repeat=3))
MOST = 4
RELATIONS = [Neighbours(rows, replace) for rows in (1, 2, 3) for replace in (False, True)]
PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]
FAMILIES = [Family("a", ("b",)), Family("b", ("a", "c")), Family("c", ())]
TABLES = [table for rows in range(MOST + 1) for table in combinations_with_replacement(CELLS, rows)]
PLACE = {table: place for place, table in enumerate(TABLES)}

every_relation = pytest.mark.parametrize("relation", RELATIONS, ids=str)
every_number = pytest.mark.parametrize("count", [1, 2, 3])


@cache
def neighbour_places(relation):
    """The places of all pairs of neighbouring tables of up to MOST rows, as two lists."""
    people = [person for k in range(relation.rows + 1) for person in combinations_with_replacement(CELLS, k)]
    changes = list(combinations(people, 2)) if relation.replace else [((), person) for person in people if person]
    found = {
        (PLACE[tuple(sorted(table + one))], PLACE[tuple(sorted(table + other))])
        for table in TABLES
        if len(table) + relation.rows <= MOST
        for one, other in changes
    }
    return np.array(sorted(found)).T


def records(table):
    return Records(DOMAIN, list(np.array(table, dtype=np.int64).reshape(-1, 3).T))


def asked(relation, ask, budget=None):
    """The exact answer on every table, one line each, and the events that were charged for it."""
    lines, charged = [], set()
    for table in TABLES:
        holder, ledger = holder_of(records(table), budget or ZCDP(10**8), relation)
        lines.append(ask(holder, ledger))
        charged.add(tuple(event for _, event in ledger.statement().entries))
    (events,) = charged  # what is charged must not depend on the rows
    return np.array(lines), events


def moved(relation, lines):
    """How far the answers of neighbours are from each other: every line is one pair of tables."""
    one, other = neighbour_places(relation)
    return np.abs(lines[one] - lines[other])


@pytest.fixture(autouse=True)
def without_noise(monkeypatch):
    silence(monkeypatch)


WHO = {
    "holder, pure": PureDP(1),
    "holder, zCDP": ZCDP(1),
    "holder, Skellam": SkellamDP(1, "1e-6"),
    "party": PureDP(1),
}


@every_relation
@pytest.mark.parametrize(
    ("who", "count"),
    [*((who, count) for who in ("holder, zCDP", "party") for count in (1, 2, 3)), ("holder, pure", 3),
     ("holder, Skellam", 3)],
)  # fmt: skip
def test_tables_are_charged_for_what_one_person_moves(who, relation, count):
    cliques = [*PAIRS[: count - 1], ("b", "c", "a")]
    cells = [DOMAIN.cells(clique) for clique in cliques]
    parts = WHO[who].total.split([1.0, 2.0, 3.0][:count])

    def ask(holder, ledger):
        if who != "party":
            return np.concatenate([one.marginal.counts.ravel() for one in holder.measure(cliques, parts)])
        noises = [Laplace.calibrate(part.amount, relation.marginal) for part in parts]
        party = PartyHolder(holder._engine, relation)
        mask = np.zeros(sum(cells), dtype=np.uint64)
        return party.share(Coding(DOMAIN), cliques, noises, 2, mask, ledger).view(np.int64)

    lines, events = asked(relation, ask, WHO[who])
    assert len(events) == count
    moves = moved(relation, lines)
    for part, event, wanted in zip(np.split(moves, np.cumsum(cells)[:-1], axis=1), events, parts, strict=True):
        assert part.sum(axis=1).max() == event.sensitivity.l1  # reached: nothing is charged in vain
        assert (part**2).sum(axis=1).max() == event.sensitivity.l2_squared
        # The holder spends what it was told to spend on each table, and no more.
        spent = event.cost(WHO[who].notion) / wanted.amount
        assert (Fraction(9, 10) if "Skellam" in who else 1 - Fraction(1, 10**6)) < spent <= 1
    assert moves.sum(axis=1).max() <= sum(event.sensitivity.l1 for event in events)
    assert (moves**2).sum(axis=1).max() <= sum(event.sensitivity.l2_squared for event in events)


@every_relation
def test_a_coding_does_not_let_one_person_move_more_than_is_charged(relation):
    def ask(holder, ledger):
        coded = holder.through(Keep(("c", "a"))).through(Merge((("a", (0, 0)),)))
        (table,) = coded.measure([("a", "c")], [Share(Currency.RHO, Fraction(1))])
        return table.marginal.counts.ravel()

    lines, (event,) = asked(relation, ask)
    moves = moved(relation, lines)
    assert moves.sum(axis=1).max() == event.sensitivity.l1
    assert (moves**2).sum(axis=1).max() == event.sensitivity.l2_squared


@every_number
@every_relation
def test_dependences_are_charged_for_what_one_person_moves_in_all_of_them(relation, count):
    part = Share(Currency.RHO, Fraction(1, 3))

    def ask(holder, ledger):
        return np.rint(holder.dependence(PAIRS[:count], part).scores * GRID).astype(np.int64)

    lines, events = asked(relation, ask)
    moves = moved(relation, lines)
    charged = sum(event.sensitivity.l1 for event in events), sum(event.sensitivity.l2_squared for event in events)
    assert moves.sum(axis=1).max() <= charged[0]
    assert (moves**2).sum(axis=1).max() <= charged[1]
    # Each further score may move as far as the first, on larger tables than these: it is charged in full.
    assert charged[0] == count * relation.dependence.l1
    assert charged[1] == count * relation.dependence.l2_squared
    (event,) = events
    assert part.amount * (1 - Fraction(1, 10**6)) < event.cost(Notion.CONCENTRATED) <= part.amount


@pytest.mark.parametrize(("name", "count"), [("R", 1), ("R", 2), ("R", 3), ("I", 3), ("F", 3)])
@every_relation
def test_a_choice_is_charged_for_what_one_person_moves_any_score_by(relation, count, name, monkeypatch):
    compared = []
    monkeypatch.setattr(Race, "winner", lambda race, scores, rate: compared.append((scores, rate)) or 0)
    handicaps = [5, 0, -3][:count]
    part = Share(Currency.EPSILON, Fraction(1, 7))

    def ask(holder, ledger):
        holder.choose(FAMILIES[:count], SCORES[name], part, handicaps)
        return [score + less for score, less in zip(compared[-1][0], handicaps, strict=True)]

    lines, events = asked(relation, ask, PureDP(1))
    (event,) = events
    epsilon = event.cost(Notion.PURE)
    assert {rate for _, rate in compared} == {event.mechanism.rate}
    assert epsilon == part.amount
    moves = moved(relation, lines)
    assert moves.max() <= event.sensitivity
    # The probabilities themselves, as the rate that was drawn with makes them.
    scores = (lines - np.array(handicaps)) * float(event.mechanism.rate)
    logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    assert moved(relation, logs).max() <= float(epsilon) * (1 + 1e-9)


def test_a_choice_pays_pure_epsilon_and_no_more_than_was_asked_for():
    holder, ledger = holder_of(records(TABLES[7]), PureDP(1))
    holder.choose(FAMILIES, SCORES["R"], ledger.budget.total, [0, 0, 0])
    assert ledger.left == 0
