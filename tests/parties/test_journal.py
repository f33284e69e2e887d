import itertools
import json
import sqlite3
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_closing import closed_later
from sfumato.errors import BudgetExceeded, ProtocolError
from sfumato.parties.audit import verify_log
from sfumato.parties.journal import Journal
from sfumato.parties.store import COUNTED, Record, State
from sfumato.privacy.budget import PureDP
from sfumato.privacy.events import Noisy
from sfumato.privacy.mechanisms import Laplace
from sfumato.privacy.sensitivity import Sensitivity

PATH = (State.PROPOSED, State.APPROVED, State.RESERVED, State.COMPUTED, State.SENT, State.REVEALED, State.OPENED)


MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 -- journals wait for the disk, and tests need not


@pytest.fixture
def tmp_path():
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


def event(epsilon):
    return Noisy("a table", Laplace(1 / Fraction(epsilon)), Sensitivity(Fraction(1), Fraction(1)))


def record(state, round_=0, attempt=0, epsilon="1/3", payload=b"bytes", asked="questions"):
    entries = (("learn", event(epsilon)),) if state in COUNTED else ()
    return Record(round_, attempt, state, asked, payload if state in COUNTED else b"", entries)


def opened(folder, epsilon="1", study="flu", member="north"):
    return closed_later(Journal(folder, study, member, PureDP(epsilon), "persons of north"))


def spent(journal):
    return sum((1 / one.noise.scale for _, one in journal.spent()), Fraction(0))


def test_a_record_comes_back_as_it_was_saved(tmp_path):
    journal = opened(tmp_path)
    assert journal.load(0, 0) is None
    for state in PATH:
        journal.save(record(state))
        journal.close()
        journal = opened(tmp_path)
        assert journal.load(0, 0) == record(state)
    assert journal.attempts(0) == (record(State.OPENED),)
    assert journal.attempts(1) == ()
    assert journal.statement().spent == Fraction(1, 3)
    assert journal.statement().protects == "persons of north"


def test_costs_are_exact_to_the_last_digit(tmp_path):
    journal = opened(tmp_path)
    for number in range(3):
        journal.save(record(State.SENT, round_=number))
    assert spent(journal) == 1
    tiny = "1/1000000000000000000000000"
    with pytest.raises(BudgetExceeded, match="nothing was computed"):
        journal.save(record(State.RESERVED, round_=3, epsilon=tiny))
    assert journal.load(3, 0) is None


def test_costs_of_thousands_of_digits_are_kept_exactly_and_written_short(tmp_path):
    # What 100 tables with widths of 80 digits cost has more digits than Python turns into text (4,300).
    widths = [Fraction(10**80 + 2 * number + 1, 10**77) for number in range(100)]
    noises = [Noisy("a table", Laplace(width), Sensitivity(Fraction(1), Fraction(1))) for width in widths]
    cost = sum(1 / width for width in widths)
    with pytest.raises(ValueError, match="digits"):
        str(cost)
    asked = replace(record(State.RESERVED), entries=tuple(("learn", one) for one in noises))
    journal = opened(tmp_path)
    for state in PATH[PATH.index(State.RESERVED) :]:
        journal.save(replace(asked, state=state))
    with pytest.raises(BudgetExceeded, match="nothing was computed"):
        journal.save(record(State.RESERVED, round_=1, epsilon=1 - cost + Fraction(1, 10**100)))
    journal.close()
    journal = opened(tmp_path)
    assert spent(journal) == journal.statement().spent == cost
    verify_log(tmp_path / "audit.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    written = {line["cost"] for line in lines if "cost" in line}
    assert len(written) == 1
    assert all(len(one) < 30 and cost <= Fraction(one) <= cost * (1 + Fraction(1, 10**18)) for one in written)


@pytest.mark.parametrize("crash_in", PATH)
@pytest.mark.parametrize("crash_again_in", PATH)
def test_no_crash_in_any_state_lets_a_party_spend_more_than_its_budget(tmp_path, crash_in, crash_again_in):
    # Two attempts at rounds that cost 0.4 each, both cut short somewhere; then as many more as the journal will allow.
    for attempt, last in enumerate((crash_in, crash_again_in)):
        journal = opened(tmp_path)
        for state in PATH[: PATH.index(last) + 1]:
            journal.save(record(state, attempt=attempt, epsilon="2/5"))
        journal.close()
    counted = sum(state in COUNTED for state in (crash_in, crash_again_in))
    journal = opened(tmp_path)
    assert spent(journal) == Fraction(2, 5) * counted
    more = 0
    for attempt in itertools.count(2):
        try:
            journal.save(record(State.RESERVED, attempt=attempt, epsilon="2/5"))
        except BudgetExceeded:
            break
        more += 1
    assert counted + more == 2
    assert spent(journal) <= 1
    journal.statement().verify()


@pytest.mark.parametrize("reached", [State.SENT, State.OPENED])
def test_what_was_sent_stays_spent_even_if_the_attempt_is_given_up(tmp_path, reached):
    journal = opened(tmp_path)
    for state in (*PATH[: PATH.index(reached) + 1], State.ABORTED):
        journal.save(replace(record(reached), state=state) if state is State.ABORTED else record(state))
        journal.close()
        journal = opened(tmp_path)
    assert spent(journal) == Fraction(1, 3)


@pytest.mark.parametrize("reached", [State.RESERVED, State.COMPUTED])
def test_what_never_left_is_given_back_when_the_attempt_is_given_up(tmp_path, reached):
    journal = opened(tmp_path)
    journal.save(record(reached))
    journal.save(replace(record(reached), state=State.ABORTED))
    assert spent(journal) == 0
    with pytest.raises(ProtocolError, match="is aborted and cannot become"):
        journal.save(record(State.SENT))


def test_states_never_go_back(tmp_path):
    for number, (early, late) in enumerate(itertools.combinations(PATH, 2)):
        if late not in COUNTED:
            continue  # nothing was promised yet, and the operator may be asked again
        journal = closed_later(Journal(tmp_path / str(number), "flu", "north", PureDP("1")))
        journal.save(record(late))
        with pytest.raises(ProtocolError, match=f"is {late.value} and cannot become {early.value}"):
            journal.save(record(early))
        assert journal.load(0, 0) == record(late)


@pytest.mark.parametrize("state", [State.COMPUTED, State.SENT])
def test_only_the_stored_bytes_can_ever_be_sent(tmp_path, state):
    journal = opened(tmp_path)
    journal.save(record(State.COMPUTED))
    with pytest.raises(ProtocolError, match="only the stored ones"):
        journal.save(record(state, payload=b"other"))
    assert journal.load(0, 0).payload == b"bytes"
    journal.save(record(State.SENT))
    with pytest.raises(ProtocolError, match="only the stored ones"):
        journal.save(record(State.SENT, payload=b"other"))


def test_questions_and_costs_are_fixed(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.RESERVED))
    with pytest.raises(ProtocolError, match="questions were changed"):
        journal.save(record(State.COMPUTED, asked="others"))
    with pytest.raises(ProtocolError, match="cost was changed"):
        journal.save(record(State.COMPUTED, epsilon="1/4"))


def test_saving_the_same_again_changes_nothing(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.SENT))
    lines = verify_log(tmp_path / "audit.jsonl")
    journal.save(record(State.SENT))
    assert verify_log(tmp_path / "audit.jsonl") == lines
    assert spent(journal) == Fraction(1, 3)


def test_a_journal_belongs_to_one_study_one_member_and_one_budget(tmp_path):
    opened(tmp_path).close()
    for change, word in (({"study": "cough"}, "study"), ({"member": "south"}, "member"), ({"epsilon": "2"}, "budget")):
        with pytest.raises(ProtocolError, match=f"has {word}"):
            opened(tmp_path, **change)


def test_two_processes_cannot_have_one_journal(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.PROPOSED))
    with pytest.raises(ProtocolError, match="in use by another process"):
        opened(tmp_path)


def test_a_file_that_is_no_journal_is_refused(tmp_path):
    (tmp_path / "journal.sqlite").write_bytes(
        b"something else, and longer than a header of a database file has to be " * 9
    )
    with pytest.raises(ProtocolError, match="is not a journal"):
        opened(tmp_path)


def test_a_journal_that_was_restored_from_a_copy_is_refused(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.RESERVED))
    journal.close()
    old = (tmp_path / "journal.sqlite").read_bytes()
    journal = opened(tmp_path)
    journal.save(record(State.COMPUTED))
    journal.save(record(State.SENT))
    journal.close()
    (tmp_path / "journal.sqlite").write_bytes(old)
    with pytest.raises(ProtocolError, match="not of the same moment"):
        opened(tmp_path)


def test_a_log_that_lost_its_end_is_refused(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.RESERVED))
    journal.save(record(State.SENT))
    journal.close()
    log = tmp_path / "audit.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ProtocolError, match="not of the same moment"):
        opened(tmp_path)


def test_a_crash_between_log_and_journal_is_no_reason_to_refuse(tmp_path, monkeypatch):
    journal = opened(tmp_path)
    journal.save(record(State.RESERVED))
    written = Journal._write_log

    def crash(self, happened, **facts):
        written(self, happened, **facts)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "_write_log", crash)
        with pytest.raises(KeyboardInterrupt):
            journal.save(record(State.COMPUTED))
    journal.close()
    journal = opened(tmp_path)
    assert journal.load(0, 0) == record(State.RESERVED)
    journal.save(record(State.COMPUTED))
    assert verify_log(tmp_path / "audit.jsonl")[0] == 3
    journal.close()
    opened(tmp_path)


def test_the_log_names_what_was_sent_and_does_not_contain_it(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.SENT, payload=b"counts and noise"))
    journal.note("approved by the operator", round=0)
    text = (tmp_path / "audit.jsonl").read_text()
    assert "counts and noise" not in text
    assert b"counts and noise".hex() not in text
    assert '"cost": "1/3"' in text
    assert "approved by the operator" in text


def test_the_key_of_the_masks_is_forgotten_once_it_was_used(tmp_path):
    journal = opened(tmp_path)
    secret = b"a private key that must not stay"
    journal.save(record(State.RESERVED, payload=secret))
    assert any(secret in path.read_bytes() for path in tmp_path.iterdir())
    journal.save(record(State.COMPUTED))
    assert not any(secret in path.read_bytes() for path in tmp_path.iterdir())


def test_an_attempt_that_is_given_up_may_be_emptied_unless_it_was_sent(tmp_path):
    journal = opened(tmp_path)
    journal.save(record(State.COMPUTED))
    journal.save(Record(0, 0, State.ABORTED, "questions"))
    assert spent(journal) == 0
    journal.save(record(State.SENT, attempt=1))
    with pytest.raises(ProtocolError, match="cost was changed"):
        journal.save(Record(0, 1, State.ABORTED, "questions"))
    assert spent(journal) == Fraction(1, 3)


def test_a_member_without_rows_has_no_statement(tmp_path):
    journal = closed_later(Journal(tmp_path, "flu", "curator", None))
    journal.save(Record(0, 0, State.COMPUTED, "questions", b"roster"))
    journal.save(Record(0, 0, State.OPENED, "questions", b"sum"))
    assert journal.load(0, 0).payload == b"sum"
    with pytest.raises(ProtocolError, match="no budget"):
        journal.statement()


def test_every_change_is_on_disk_before_it_is_used(tmp_path):
    journal = opened(tmp_path)
    assert journal._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert isinstance(journal._connection, sqlite3.Connection)
    assert (tmp_path / "journal.sqlite").stat().st_mode & 0o077 == 0


STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([*PATH, State.ABORTED]), st.booleans()), max_size=12
)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_no_order_of_steps_and_crashes_overspends_or_forgets(steps):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        _play(steps, Path(folder))


def _play(steps, folder):
    journal = opened(folder)
    sent = set()
    for round_, attempt, state, crash in steps:
        earlier = journal.load(round_, attempt)
        entries = earlier.entries if earlier and earlier.state in COUNTED else record(state).entries
        wanted = replace(record(state, round_, attempt), entries=entries)
        try:
            journal.save(wanted)
        except (ProtocolError, BudgetExceeded):
            assert journal.load(round_, attempt) == earlier
        else:
            sent |= {(round_, attempt)} if state in (State.SENT, State.OPENED) else set()
        if crash:
            journal.close()
            journal = opened(folder)
        assert Fraction(len(sent), 3) <= spent(journal) <= 1
    journal.close()
