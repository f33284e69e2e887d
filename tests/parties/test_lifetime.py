"""One budget for a party's table over all studies: reserved before anything is sent, paid once, never forgotten."""

import threading
from fractions import Fraction

import pytest
from helpers_consortium import NAMES, SCHEMA
from helpers_study import Parties, Study, folder, refused, sfumato, study

from sfumato.book import Book, Policy
from sfumato.errors import BudgetExceeded
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.lifetime import Lifetime
from sfumato.parties.study import budget_of_study
from sfumato.privacy.budget import PureDP, SkellamDP
from sfumato.privacy.neighbours import Neighbours
from sfumato.schema.schema import Schema

__all__ = ["folder", "study"]  # the fixtures


def book_of(folder, budget, schema):
    book = Book.create(folder / "patients.book")
    book.open("patients", Neighbours.of(schema), Policy(budget))
    book.close()
    return folder / "patients.book"


def standing(file):
    book = Book(file)
    try:
        return book.standing("patients")
    finally:
        book.close()


def lifetime(file, study):
    return Lifetime(file, "patients", study.manifest, budget_of_study(study.manifest))


def test_a_study_is_paid_for_once_however_often_it_is_started(folder):
    study = Study(folder, epsilon="1")
    file = book_of(folder, PureDP("2.5"), study.schema)
    first = lifetime(file, study)
    assert lifetime(file, study).number == first.number
    assert standing(file).left == Fraction(3, 2)
    first.finish()
    again = lifetime(file, study)
    again.finish()
    assert (again.number, standing(file).left) == (first.number, Fraction(3, 2))


def test_a_study_that_the_book_cannot_pay_for_is_refused_before_anything_is_sent(folder):
    study = Study(folder, epsilon="1")
    file = book_of(folder, PureDP("1.5"), study.schema)
    other = folder / "other"
    other.mkdir()
    lifetime(file, Study(other, epsilon="1", name="cough"))
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        lifetime(file, study)
    result = study.serve("--book", file, "--population", "patients")
    refused(result, "nothing was read and nothing was spent")
    assert not (study.folder / "mail").exists()
    refused(study.serve("--book", file), "--book and --population belong together")


def test_what_was_never_asked_is_given_back(folder):
    study = Study(folder, epsilon="1")
    file = book_of(folder, PureDP("1.5"), study.schema)
    lifetime(file, study).give_back()
    assert standing(file).left == Fraction(3, 2)
    assert lifetime(file, study).number > 0  # and may be reserved again


def test_a_study_over_persons_at_two_parties_is_paid_from_the_same_account(folder):
    study = Study(folder, epsilon="1", max_parties_per_person=2)
    file = book_of(folder, PureDP("2"), study.schema)
    lifetime(file, study)
    assert standing(file).left == 1


def test_studies_with_a_delta_add_up_in_an_account_of_their_kind(folder):
    file = book_of(folder, SkellamDP("4", "1e-6"), Schema.parse(SCHEMA))
    spent = []
    for number in range(3):
        place = folder / str(number)
        place.mkdir()
        lifetime(file, Study(place, epsilon="1", delta="1e-6", method="privsyn", name=f"study {number}"))
        spent.append(standing(file).to_dict()["spent"]["epsilon"])
    assert spent[0] <= 1.0001
    assert spent[2] < 2  # three studies of epsilon 1 compose to less than 3


def test_a_whole_study_through_the_command(study):
    file = book_of(study.folder, PureDP("2000"), study.schema)
    box = FolderMailbox(study.folder / "mail", study.manifest)
    releases = []
    with Parties(study, lambda name, stack: box, NAMES[1:]):
        curator = threading.Thread(
            target=lambda: releases.append(study.curate(FolderMailbox(study.folder / "mail", study.manifest)))
        )
        curator.start()
        result = study.serve("--book", file, "--population", "patients", patience=600, poll=0.02)
        curator.join(600)
    assert result.exit_code == 0, result.output
    (payment,) = standing(file).payments
    assert (payment.state, payment.release) == ("spent", study.manifest.digest)
    assert standing(file).left == 1000
    assert "flu" in sfumato("book", "show", file).output
