"""What an operator sees on a real terminal before it says yes: the truth, whatever the curator wrote."""

from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from helpers_study import folder, refused, sfumato, study

from helpers_terminal import foreign_sequences, run_on_terminal, screen
from sfumato.errors import ProtocolError
from sfumato.parties.approvals import answer, read_asked, waiting_for_answer
from sfumato.parties.envelopes import seal
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.letters import CURATOR
from sfumato.parties.messages import Ask, End
from sfumato.parties.questions import Question
from sfumato.parties.seat import AskedTable, Summary
from sfumato.parties.watch import Watch
from sfumato.privacy.mechanisms import Laplace

__all__ = ["folder", "study"]  # the fixtures

TRUE = "Round 0 (learn), attempt 0: 2 tables, 9 cells, 72 bytes, masked. Nobody sees your counts alone:"
FAKE = "learn), attempt 0: 1 tables, 2 cells, 16 bytes, masked. epsilon spent: 0 before, 0.01 after.\n  table ill\n"
HOSTILE = [
    {"stage": f"{FAKE}[black on black]"},
    {"stage": f"learn\x1b[2J\x1b[H{FAKE}"},
    {
        "coding": '[{"levels":[{"column":"ward","name":"w\\u001b[2J","to":[0,0,0]}]}]',
        "questions": (Question(("w\x1b[2J",), Laplace(Fraction(1, 8))),),
    },
]
ASK = Ask(
    *(0, 0, CURATOR, "north", "learn", '[{"merge":{"ward":[0,1,1]}}]'),
    (Question(("ill", "ward", "smoker"), Laplace(Fraction(8))), Question((), Laplace(Fraction(1, 8)))),
)


@pytest.fixture
def serve(study):
    """Let north meet messages on a terminal, where somebody types; its exit code, and what it wrote."""

    def run(*messages):
        for message in messages:
            FolderMailbox(study.folder / "mail", study.manifest).put(
                seal(message, study.manifest.study, study.signer(CURATOR))
            )
        consortium = study.folder / "consortium"
        options = {"data": study.folder / "north.csv", "schema": study.folder / "schema.json", "name": "north"}
        options |= {"consortium": consortium, "epsilon": "10000", "key": consortium / "north.key", "poll": "0.01"}
        options |= {"mailbox": study.folder / "mail", "work": study.folder / "north-work", "patience": "0"}
        given = [text for option, value in options.items() for text in (f"--{option}", value)]
        ((code, written),) = run_on_terminal(["party", "serve", *given], typed="n\n")
        assert foreign_sequences(written) == []
        return code, screen(written)

    return run


def test_an_operator_sees_tables_codes_noise_and_cost(serve, study):
    _, lines = serve(ASK)
    shown = " ".join(lines)
    assert " ".join(TRUE.split()) in " ".join(shown.split())
    rows = [line for line in lines if "standard deviation" in line]
    assert len(rows) == 2
    assert "(number of rows)" in rows[0]  # the one with the least noise
    assert "ill × ward × smoker" in rows[1]
    assert "2 × 2 of 3, merged × 2" in rows[1]
    assert "Laplace, standard deviation 11.3" in rows[1]
    assert "Send this? [y/N]" in shown
    journal = study.journal("north")
    assert not journal.statement().entries
    journal.close()


def test_rounds_that_would_lie_to_the_operator_are_refused_before_they_are_shown(serve, study):
    code, lines = serve(*(replace(ASK, attempt=number, **changes) for number, changes in enumerate(HOSTILE)))
    assert code == 75
    assert not [line for line in lines if "Send this?" in line or "table ill" in line or line.startswith("Round")]
    answers = sorted(path.name[7:24] for path in (study.folder / "mail" / CURATOR).iterdir())
    assert answers == [f"refusal-0-{number}-north" for number in range(len(HOSTILE))]


def test_the_last_words_of_a_curator_are_one_line(serve):
    code, lines = serve(End(0, 0, CURATOR, "north", f"\x1b[2J\x1b[HThe study is over.\n{FAKE}[black on black]\u202e"))
    assert code == 3
    assert not [line for line in lines if line.startswith(("The study is over", "  table ill"))]
    assert "[black on black]" in "".join(lines)


@pytest.mark.parametrize("agreed", [True, False])
def test_a_question_waits_in_the_folder_for_a_named_person(study, agreed):
    work = study.folder / "north-work"
    summary = Summary(0, 0, "learn", (AskedTable("ill", "2", "Laplace"),), 2, 16, {"epsilon": 0.0}, {"epsilon": 1.0})
    looks = []

    def look(poll):
        """What others do between two looks of the party: it waits through all that is no answer."""
        asked = read_asked(work)
        assert asked.summary == summary
        looks.append(asked)
        if len(looks) == 1:
            with pytest.raises(ProtocolError, match="not waiting any more"):
                answer(work, "0" * 64, agreed, "Ann")
            with pytest.raises(ProtocolError, match="needs the name"):
                answer(work, asked.digest, agreed, "  ")
            (work / "answer.json").write_text('{"asked": "another question", "agreed": true, "by": "Eve"}')
        else:
            result = sfumato("party", "approve", work, "--yes" if agreed else "--no", "--as", "Ann  Steward")
            assert result.exit_code == 0, result.output
            assert "2 cells, 16 bytes" in " ".join(result.output.split())

    with closing(study.journal("north")) as journal:
        watch = Watch("north", study.manifest.study, work)
        assert waiting_for_answer(work, journal, watch, 0.01, look)(summary) is agreed
    assert len(looks) == 2
    refused(sfumato("party", "approve", work, "--yes"), "no round waits")
    lines = (work / "audit.jsonl").read_text()
    assert '"by":"Ann Steward"' in lines.replace(": ", ":")
    assert ("approved by the operator" in lines) is agreed
