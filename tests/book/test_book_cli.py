"""Runs that a book pays for."""

import json

import pytest
from typer.testing import CliRunner

from helpers_closing import closed_later
from sfumato.book import Book
from sfumato.cli import app
from sfumato.identity import Signer
from sfumato.verify import Result, verify

SCHEMA = {"name": "x", "columns": [{"name": "sex", "type": "categorical", "categories": ["f", "m"]}]}


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "rows.csv").write_text("sex\n" + "f\nm\n" * 50)
    (tmp_path / "bad.csv").write_text("sex\nx\n")
    (tmp_path / "x.json").write_text(json.dumps(SCHEMA))
    policy = {"budget": {"kind": "pure", "epsilon": "2"}, "two_names_above": "1"}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    done = run(
        "book",
        "open",
        tmp_path / "b",
        "--population",
        "p",
        "--schema",
        tmp_path / "x.json",
        "--policy",
        tmp_path / "policy.json",
    )
    assert done.exit_code == 0, done.output
    return tmp_path


def synthesize(place, data, epsilon, out, *more):
    return run(
        "synthesize", place / data, "--schema", place / "x.json", "--epsilon", epsilon, "--method", "dpview",
        "--out", place / out, "--book", place / "b", "--population", "p", *more,
    )  # fmt: skip


def left(place):
    return closed_later(Book(place / "b")).standing("p").left


def test_a_run_is_paid_for_and_the_release_and_the_book_name_each_other(place):
    done = synthesize(place, "rows.csv", 1, "first")
    assert done.exit_code == 0, done.output
    assert left(place) == 1
    found = {one.check: one.result for one in verify(place / "first", book=place / "b").findings}
    assert (found["book"], found["description"]) == (Result.PASSED, Result.PASSED)
    assert run("verify", place / "first", "--book", place / "b").exit_code == 0
    assert run("verify", place / "first", "--book", place / "none").exit_code == 2
    head = json.loads((place / "first" / "release.json").read_text())["book"]["head"]
    assert run("book", "check", place / "b", "--head", head).exit_code == 0
    assert run("book", "check", place / "b", "--head", "f" * 64).exit_code == 2
    listed = json.loads(run("book", "show", place / "b", "--json").stdout)["populations"]["p"]["releases"]
    assert [(one["title"], one["state"]) for one in listed] == [("first", "spent")]


def test_a_release_of_another_book_or_payment_is_noticed(place):
    synthesize(place, "rows.csv", "0.5", "first")
    synthesize(place, "rows.csv", "0.5", "second")
    from sfumato.release.manifest import write_manifest

    path = place / "second" / "release.json"
    content = json.loads(path.read_text())
    content["book"]["payment"] = json.loads((place / "first" / "release.json").read_text())["book"]["payment"]
    path.write_text(json.dumps(content, indent=1) + "\n")
    write_manifest(place / "second")
    found = {one.check: one.result for one in verify(place / "second", book=place / "b").findings}
    assert found["book"] is Result.FAILED


def test_what_the_policy_forbids_is_refused_before_a_row_is_read(place):
    assert synthesize(place, "rows.csv", 1, "first").exit_code == 0
    done = synthesize(place, "there-is-no-such-table.csv", "1.01", "second")
    assert done.exit_code == 2
    assert "two names" in done.output or "nothing was read" in done.output
    assert not (place / "second").exists()
    number = run("book", "propose", place / "b", "--population", "p", "--title", "t", "--epsilon", "1.5", "--as", "ann")
    assert number.exit_code == 2  # beyond the budget


def test_two_names_and_then_a_run(place):
    asked = run(
        "book", "propose", place / "b", "--population", "p", "--title", "large", "--epsilon", "1.5",
        "--method", "dpview", "--as", "ann", "--json",
    )  # fmt: skip
    number = json.loads(asked.stdout)["proposal"]
    assert synthesize(place, "rows.csv", "1.5", "out", "--proposal", number).exit_code == 2
    assert run("book", "approve", place / "b", number, "--as", "ann").exit_code == 0
    assert run("book", "approve", place / "b", number, "--as", "bob").exit_code == 0
    assert synthesize(place, "rows.csv", "1.5", "out", "--proposal", number).exit_code == 0
    assert "after this release" in run("book", "what-if", place / "b", "--population", "p", "--epsilon", "0.5").output


def test_approvals_by_key(place):
    keys = {}
    for name in ("ann", "bob"):
        assert run("key", place / name).exit_code == 0
        keys[name] = Signer.load(place / name).public
    policy = {"budget": {"kind": "pure", "epsilon": "2"}, "two_names_above": "1", "approvers": keys}
    (place / "policy.json").write_text(json.dumps(policy))
    opened = ("--population", "q", "--schema", place / "x.json", "--policy", place / "policy.json")
    assert run("book", "open", place / "b", *opened).exit_code == 0
    asked = ("--population", "q", "--title", "large", "--epsilon", "1.5", "--method", "dpview", "--json")
    number = json.loads(run("book", "propose", place / "b", *asked).stdout)["proposal"]
    assert run("book", "approve", place / "b", number, "--as", "ann").exit_code == 2
    for name in keys:
        assert run("book", "approve", place / "b", number, "--key", place / name).exit_code == 0
    assert "2 signed approvals" in run("book", "check", place / "b").stdout


def test_a_table_that_is_refused_costs_nothing_and_a_crash_after_the_first_question_costs_all(place, monkeypatch):
    assert synthesize(place, "bad.csv", 1, "out").exit_code == 2
    assert left(place) == 2

    for problem, code, rest in ((RuntimeError, 1, 1), (MemoryError, 2, 0)):

        def crash(*arguments, problem=problem):
            raise problem

        monkeypatch.setattr("sfumato.pipeline.reconciled", crash)
        assert synthesize(place, "rows.csv", 1, "out").exit_code == code
        assert left(place) == rest
        assert not (place / "out").exists()


def test_options_that_belong_together(place):
    done = run(
        "synthesize", place / "rows.csv", "--schema", place / "x.json", "--epsilon", 1, "--out", place / "o",
        "--book", place / "b",
    )  # fmt: skip
    assert done.exit_code == 2
    assert run("book", "withdraw", place / "b", 7).exit_code == 2
    recorded = run(
        "book", "record", place / "b", "--population", "p", "--title", "t", "--epsilon", 1, "--remark", "other tool"
    )
    assert recorded.exit_code == 0
    assert left(place) == 1
