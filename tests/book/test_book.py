"""One budget for a population: nothing is spent twice, forgotten, or beyond the policy."""

import json
import multiprocessing
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_closing import closed_later
from sfumato.book import Book, Policy
from sfumato.errors import BookError, BudgetError, BudgetExceeded
from sfumato.identity import Signer
from sfumato.privacy.accountant import gaussian_delta, gaussian_epsilon
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP, SkellamDP
from sfumato.privacy.neighbours import Neighbours

ROW = Neighbours()
PERSON = Neighbours(3, persons=True)
HASH = "a" * 64


@pytest.fixture
def path(tmp_path):
    return tmp_path / "patients.book"


def opened(path, policy, neighbours=ROW):
    book = closed_later(Book.create(path))
    book.open("patients", neighbours, policy)
    return book


def spent(book, title, budget, **options):
    payment = book.reserve("patients", title, budget, ROW, **options)
    book.spend(payment.number, HASH)
    return payment


def test_a_release_of_the_whole_budget_fits_and_nothing_after_it(path):
    for place, budget in enumerate([PureDP("1"), ApproxDP("1", "1e-9"), ZCDP("0.1"), SkellamDP("2", "1e-6")]):
        book = opened(path.with_name(f"{place}.book"), Policy(budget))
        spent(book, "all", budget)
        assert book.standing("patients").left == 0
        with pytest.raises(BudgetExceeded, match="nothing was read"):
            book.reserve("patients", "more", ZCDP("1e-9") if isinstance(budget, ZCDP) else PureDP("1e-4"), ROW)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["pure", "approximate"]), st.integers(1, 20)), max_size=12))
def test_whatever_is_asked_for_the_sum_stays_within_the_budget(tmp_path_factory, asked):
    budget = ApproxDP("3", "1e-9")
    book = opened(tmp_path_factory.mktemp("book") / "b", Policy(budget))
    taken = Fraction(0)
    for kind, tenths in asked:
        epsilon = Fraction(tenths, 10)
        wanted = PureDP(epsilon) if kind == "pure" else ApproxDP(epsilon, "1e-9")
        price = Policy(budget).price(wanted).amount
        if taken + price <= budget.total.amount:
            spent(book, "x", wanted)
            taken += price
        else:
            with pytest.raises(BudgetExceeded):
                book.reserve("patients", "x", wanted, ROW)
    standing = book.standing("patients")
    assert standing.counted().amount == taken <= budget.total.amount
    assert standing.to_dict()["spent"]["epsilon"] <= 3 * (1 + 1e-6)


def test_gaussian_releases_compose_better_than_their_epsilons_add_up(path):
    book = opened(path, Policy(ApproxDP("3", "1e-9")))
    for number in range(6):
        spent(book, str(number), ApproxDP("1", "1e-9"))
    found = book.standing("patients").to_dict()["spent"]["epsilon"]
    rho = 6 * ApproxDP("1", "1e-9").total.amount
    assert found == pytest.approx(gaussian_epsilon(rho, 1e-9), rel=1e-12)
    assert found < 2.8
    assert gaussian_delta(found, float(2 * rho) ** 0.5) <= 1e-9


def test_the_same_budget_costs_what_its_notion_says():
    pure, approximate, skellam, zcdp = PureDP("1"), ApproxDP("1", "1e-6"), SkellamDP("1", "1e-6"), ZCDP("0.5")
    assert Policy(PureDP("2")).price(pure).amount == 1
    assert Policy(ZCDP("2")).price(pure).amount == Fraction(1, 2)
    assert Policy(ZCDP("2")).price(approximate).amount == approximate.total.amount
    assert Policy(SkellamDP("2", "1e-6")).price(zcdp).amount == Fraction(1, 2)
    assert Policy(SkellamDP("2", "1e-6")).price(skellam).amount == skellam.total.amount
    stated = Policy(ApproxDP("2", "1e-5")).price(skellam)
    assert (stated.outside_delta, stated.amount) == (
        Fraction(1, 10**6),
        Policy(ApproxDP("2", "1e-5")).price(pure).amount,
    )
    for policy, budget in ((PureDP("2"), approximate), (PureDP("2"), zcdp), (ApproxDP("2", "1e-5"), zcdp)):
        with pytest.raises(BudgetError, match="no price"):
            Policy(policy).price(budget)


def test_limits_of_a_release_and_of_a_year(path):
    policy = Policy(PureDP("3"), per_release=Fraction(1), per_year=Fraction(3, 2))
    year = [2026]
    book = opened(path, policy)
    book = closed_later(Book(path, now=lambda: datetime(year[0], 6, 1, tzinfo=UTC)))
    with pytest.raises(BudgetExceeded, match="in one release"):
        book.reserve("patients", "big", PureDP("1.2"), ROW)
    spent(book, "first", PureDP("1"))
    with pytest.raises(BudgetExceeded, match=r"of 1.5 in 2026"):
        book.reserve("patients", "second", PureDP("1"), ROW)
    year[0] = 2027
    spent(book, "second", PureDP("1"))
    year[0] = 2028
    spent(book, "third", PureDP("1"))
    year[0] = 2029  # a new year brings no new budget
    with pytest.raises(BudgetExceeded, match="of 3;"):
        book.reserve("patients", "fourth", PureDP("0.1"), ROW)


def test_two_persons_must_agree_above_a_limit(path):
    book = opened(path, Policy(PureDP("3"), two_names_above=Fraction(1, 2)))
    spent(book, "small", PureDP("0.5"))
    with pytest.raises(BookError, match="two names"):
        book.reserve("patients", "large", PureDP("1"), ROW)
    number = book.propose("patients", "large", PureDP("1"), "ann")
    assert book.standing("patients").left == Fraction(5, 2)  # a proposal does not count
    assert book.approve(number, "ann") == ("ann",)
    with pytest.raises(BookError, match="two names"):
        book.reserve("patients", "large", PureDP("1"), ROW, proposal=number)
    with pytest.raises(BookError, match="already"):
        book.approve(number, "ann")
    with pytest.raises(BookError, match="needs a name"):
        book.approve(number, " ")
    book.approve(number, "bob")
    for other in (PureDP("2"), ApproxDP("1", "1e-9")):
        with pytest.raises((BookError, BudgetError)):
            book.reserve("patients", "large", other, ROW, proposal=number)
    payment = book.reserve("patients", "large", PureDP("1"), ROW, proposal=number)
    assert (payment.number, payment.approved_by) == (number, ("ann", "bob"))
    with pytest.raises(BookError, match="is reserved, and a proposed one"):
        book.reserve("patients", "large", PureDP("1"), ROW, proposal=number)  # an approval is for one release


def test_where_the_policy_names_keys_an_approval_is_a_signature(path):
    ann, bob, eve = (Signer.new() for _ in range(3))
    keys = (("ann", ann.public), ("bob", bob.public))
    book = opened(path, Policy(PureDP("3"), two_names_above=Fraction(1, 2), approvers=keys))
    number = book.propose("patients", "large", PureDP("1"), "ann")
    for name, signer, problem in (
        ("ann", None, "give the key of 'ann'"),
        ("ann", bob, "not the key"),
        ("eve", eve, "none of them"),
    ):
        with pytest.raises(BookError, match=problem):
            book.approve(number, name, signer)
    assert book.approver(number, bob.public) == "bob"
    book.approve(number, "ann", ann)
    with pytest.raises(BookError, match="two names"):
        book.reserve("patients", "large", PureDP("1"), ROW, proposal=number)
    book.approve(number, "bob", bob)
    assert book.reserve("patients", "large", PureDP("1"), ROW, proposal=number).approved_by == ("ann", "bob")
    other = opened(path.with_name("other"), Policy(PureDP("3"), two_names_above=Fraction(1, 2)))
    with pytest.raises(BookError, match="names no keys"):
        other.approve(other.propose("patients", "large", PureDP("1"), "ann"), "ann", ann)


@pytest.mark.parametrize("forged", [{}, {"signature": "00" * 64}, {"signature": "zz"}, "of another proposal"])
def test_an_approval_that_is_written_by_hand_is_noticed_although_the_chain_is_whole(path, forged):
    ann, bob = Signer.new(), Signer.new()
    keys = (("ann", ann.public), ("bob", bob.public))
    book = opened(path, Policy(PureDP("3"), two_names_above=Fraction(1, 2), approvers=keys))
    first, second = (book.propose("patients", title, PureDP("1"), "eve") for title in ("one", "two"))
    book.approve(first, "ann", ann)
    if forged == "of another proposal":
        forged = {"signature": book.entries()[-1]["signature"]}
    with book._chain.change() as change:
        change.append({"what": "approved", "time": "2026-01-01", "payment": second, "by": "ann", **forged})
    again = closed_later(Book(path))  # every hash is right
    with pytest.raises(BookError, match="not signed with the key"):
        again.standing("patients")
    with pytest.raises(BookError, match="not signed with the key"):
        again.reserve("patients", "two", PureDP("1"), ROW, proposal=second)


def test_only_methods_of_the_policy_and_only_who_is_protected(path):
    book = opened(path, Policy(PureDP("3"), methods=("dpview",)), PERSON)
    with pytest.raises(BookError, match="allows the methods dpview"):
        book.reserve("patients", "x", PureDP("1"), PERSON, method="privbayes")
    for other in (ROW, Neighbours(3), Neighbours(3, replace=True, persons=True)):
        with pytest.raises(BookError, match="costs add up only"):
            book.reserve("patients", "x", PureDP("1"), other, method="dpview")
    book.reserve("patients", "x", PureDP("1"), Neighbours(9, persons=True), method="dpview")


def test_pure_releases_add_up_in_the_part_that_is_kept_for_them(path):
    book = opened(path, Policy(ApproxDP("4", "1e-6"), pure_epsilon=Fraction(2), per_release=Fraction(1)))
    spent(book, "pure", PureDP("1"))
    spent(book, "Gaussian", ApproxDP("1", "1e-6"))
    figures = book.standing("patients").to_dict()
    assert figures["spent"]["epsilon"] == pytest.approx(2, rel=1e-6)
    spent(book, "pure again", PureDP("1"))
    with pytest.raises(BudgetExceeded, match="of which 2 is kept for pure releases"):
        book.reserve("patients", "more", PureDP("0.01"), ROW)
    with pytest.raises(BudgetExceeded, match="in one release"):
        book.reserve("patients", "more", ApproxDP("1.1", "1e-6"), ROW)
    # Without such a part a pure release is as dear as the Gaussian one that it is at most as bad as.
    assert Policy(ApproxDP("4", "1e-6")).stated(Policy(ApproxDP("4", "1e-6")).price(PureDP("1")))["epsilon"] > 5


def test_releases_of_other_tools_count_even_beyond_the_budget(path):
    policy = Policy(ApproxDP("4", "1e-6"), pure_epsilon=Fraction(2), outside_delta=Fraction(1, 10**7))
    book = opened(path, policy)
    book.record_outside("patients", "histogram", ApproxDP("1", "5e-8"), "ann", "another tool, report 7")
    spent(book, "ours", ApproxDP("1", "1e-6"))
    figures = book.standing("patients").to_dict()
    assert figures["spent"]["delta"] == pytest.approx(1e-6 - 1e-7 + 5e-8)
    assert 1.9 < figures["spent"]["epsilon"] < 2.1
    book.record_outside("patients", "model", ApproxDP("1", "1e-7"), "ann", "weights")
    with pytest.raises(BudgetExceeded, match="outside_delta"):
        book.reserve("patients", "more", ApproxDP("0.1", "1e-9"), ROW)
    book.record_outside("patients", "all", PureDP("50"), "ann", "a slip")
    with pytest.raises(BudgetExceeded):
        book.reserve("patients", "more", PureDP("0.001"), ROW)
    plain = opened(path.with_name("plain"), Policy(PureDP("1")))
    plain.record_outside("patients", "too much", PureDP("3"), "ann", "before there was a book")
    assert plain.standing("patients").left == -2


def test_states_go_one_way(path):
    book = opened(path, Policy(PureDP("3")))
    payment = book.reserve("patients", "x", PureDP("1"), ROW)
    with pytest.raises(BookError, match="is reserved, and a proposed one"):
        book.abort(payment.number, "never mind")
    book.spend(payment.number, HASH)
    for step in (
        lambda: book.spend(payment.number, HASH),
        lambda: book.abort(payment.number, "never mind"),
        lambda: book.abort(payment.number, "never mind", nothing_was_asked=True),
        lambda: book.approve(payment.number, "ann"),
        lambda: book.spend(99, HASH),
    ):
        with pytest.raises(BookError):
            step()
    assert book.standing("patients").left == 2
    with pytest.raises(BookError, match="cannot be changed"):
        book.open("patients", ROW, Policy(PureDP("100")))
    with pytest.raises(BookError, match="known ones: patients"):
        book.standing("others")


def stopped(book, stop, *stages):
    with book.paid("patients", "x", PureDP("1"), ROW, "", None) as running:
        for stage in stages:
            running.progress(stage)
        raise stop


def test_a_run_that_never_came_to_the_rows_gives_its_reservation_back_and_any_other_does_not(path):
    book = opened(path, Policy(PureDP("3")))
    for stop in (ValueError, KeyboardInterrupt):
        with pytest.raises(stop):
            stopped(book, stop, "read")
    assert book.standing("patients").left == 3
    for stop in (ValueError, KeyboardInterrupt):
        with pytest.raises(stop):
            stopped(book, stop, "read", "encode")
    assert book.standing("patients").left == 1


# ---- the file


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET entry = replace(entry, '\"3\"', '\"9\"') WHERE number = 1",
        "UPDATE entries SET hash = 'x' WHERE number = 2",
        "DELETE FROM entries WHERE number = 2",
        "INSERT INTO entries VALUES (0, '{}', 'x')",
        "UPDATE entries SET number = 99 WHERE number = 3",
        "DROP TABLE entries",
    ],
)
def test_a_book_that_was_changed_by_hand_is_refused(change, path):
    book = opened(path, Policy(PureDP("3")))
    spent(book, "x", PureDP("1"))
    book.close()
    with sqlite3.connect(path) as raw:
        if not change.startswith(("DROP", "INSERT")):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                raw.execute(change)
            raw.executescript("DROP TRIGGER never_changed; DROP TRIGGER never_removed")
        raw.execute(change)
    raw.close()
    with pytest.raises(BookError, match=r"broken|book of Sfumato"):
        Book(path)


def test_an_older_copy_lacks_the_head_that_somebody_kept(path, tmp_path):
    book = opened(path, Policy(PureDP("3")))
    old = path.read_bytes()
    spent(book, "x", PureDP("1"))
    head = book.head
    assert book.holds(head)
    book.close()
    path.write_bytes(old)
    assert not closed_later(Book(path)).holds(head)


def test_what_is_no_book_is_refused_and_what_exists_is_not_overwritten(path, tmp_path):
    with pytest.raises(BookError, match="no book"):
        Book(path)
    path.write_text("hello, this is not a database at all" * 100)
    with pytest.raises(BookError, match=r"not a book|cannot be read"):
        Book(path)
    with pytest.raises(BookError, match="cannot be made"):
        Book.create(path)
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(BookError):
        Book(empty)
    mine = tmp_path / "mine"
    Book.create(mine).close()
    assert mine.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"budget": 3},
        {"budget": {"kind": "pure", "epsilon": "1"}, "per_yaer": "1"},
        {"budget": {"kind": "pure", "epsilon": "1"}, "per_year": "x"},
        {"budget": {"kind": "pure", "epsilon": "1"}, "per_year": "-1"},
        {"budget": {"kind": "pure", "epsilon": "1"}, "outside_delta": "1e-9"},
        {"budget": {"kind": "pure", "epsilon": "1"}, "pure_epsilon": "0.5"},
        {"budget": {"kind": "approximate", "epsilon": "1", "delta": "1e-9"}, "pure_epsilon": "1"},
        {"budget": {"kind": "pure", "epsilon": "1"}, "methods": "dpview"},
        {"budget": {"kind": "pure", "epsilon": "1"}, "approvers": ["ann"]},
        {"budget": {"kind": "pure", "epsilon": "1"}, "approvers": {"ann": "d7" * 32}},
        {"budget": {"kind": "pure", "epsilon": "1"}, "approvers": {"ann": "d7" * 32, "bob": "D7" * 32}},
        {"budget": {"kind": "approximate", "epsilon": "1", "delta": "1e-9"}, "outside_delta": "1e-9"},
        [],
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(record):
    with pytest.raises(BudgetError):
        Policy.from_dict(record)


def test_a_policy_comes_back_from_json():
    policy = Policy(
        *(ApproxDP("4", "1e-9"), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**10)),
        ("privsyn", "pgm"),
        tuple((name, Signer.new().public) for name in ("ann", "bob")),
    )
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


_KILLED = """
import os, signal, sys
from pathlib import Path
from sfumato.book import Book
from sfumato.privacy.budget import PureDP
from sfumato.privacy.neighbours import Neighbours

def spend(path, die_at, witness):
    book, steps = Book(path), 0
    def count(statement):
        nonlocal steps
        steps += 1
        if steps == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
    book._chain._connection.set_trace_callback(count)
    with book.paid("patients", "x", PureDP("1"), Neighbours(), "", None) as running:
        running.progress("read")
        count("read")
        running.progress("encode")
        witness.write_text("rows were asked about")
        count("encode")
        running.finish("a" * 64)
    count("done")
    witness.write_text("finished")

for line in sys.stdin:
    path, die_at, witness = line.rstrip().split("\t")
    child = os.fork()
    if child == 0:
        spend(Path(path), int(die_at), Path(witness))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""A program that forks a victim for each line: it has the package loaded once, and no book open."""


def test_a_kill_at_any_step_never_loses_a_spend(path, tmp_path):
    opened(path, Policy(PureDP("100"))).close()
    counted = Fraction(0)
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victims:
        for step in range(1, 60):
            witness = tmp_path / f"witness-{step}"
            victims.stdin.write(f"{path}\t{step}\t{witness}\n")
            victims.stdin.flush()
            code = int(victims.stdout.readline())
            book = Book(path)  # opens: nothing is broken
            now = book.standing("patients").counted().amount
            book.close()
            if witness.exists():
                assert now == counted + 1, step
            assert counted <= now <= counted + 1
            counted = now
            if code == 0:
                break
            assert code == -signal.SIGKILL
        victims.stdin.close()
    assert (code, witness.read_text()) == (0, "finished")
    assert step > 8


def _greedy(path, queue):
    book = Book(path)
    taken = 0
    for _ in range(10):
        try:
            spent(book, "x", PureDP("0.1"))
            taken += 1
        except BudgetExceeded:
            pass
    queue.put(taken)


def test_processes_that_reserve_at_the_same_time_never_overspend_together(path):
    opened(path, Policy(PureDP("1.5"))).close()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_greedy, args=(path, queue)) for _ in range(2)]
    for one in workers:
        one.start()
    taken = sum(queue.get(timeout=120) for _ in workers)
    for one in workers:
        one.join()
    assert taken == 15
    assert closed_later(Book(path)).standing("patients").left == 0


def test_what_if_says_what_a_release_would_do_and_writes_nothing(tmp_path):
    book = closed_later(Book.create(tmp_path / "b.book"))
    book.open("p", Neighbours(), Policy(PureDP("2"), per_release=Fraction(3, 2), two_names_above=Fraction(1)))
    head = book.head
    small, large = (book.what_if("p", "t", PureDP(one), Neighbours(), "auto") for one in ("1", "1.2"))
    assert (small.refusal, small.two_names, small.after["spent"]["epsilon"]) == ("", False, 1.0)
    assert large.two_names
    assert "in one release" in book.what_if("p", "t", PureDP("1.6"), Neighbours(), "auto").refusal
    other = book.what_if("p", "t", PureDP("1"), Neighbours(rows=3), "auto")
    assert "would protect" in other.refusal
    assert other.after is None
    assert book.head == head


def test_one_person_is_not_two_by_spelling(tmp_path):
    book = closed_later(Book.create(tmp_path / "b.book"))
    book.open("p", Neighbours(), Policy(PureDP("2"), two_names_above=Fraction(1, 2)))
    number = book.propose("p", "t", PureDP("1"), "Ann Bee", "auto")
    book.approve(number, "Ann Bee")
    with pytest.raises(BookError, match="another person has to"):
        book.approve(number, " ANN  bee ")
    assert book.approve(number, "Bob") == ("Ann Bee", "Bob")
