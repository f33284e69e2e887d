"""Names of tables in databases: what they mean, what is refused, and that no secret is repeated."""

import sqlite3

import pytest

from sfumato.engines import sql
from sfumato.errors import DataError
from sfumato.tables.quiet import quiet


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.sqlite"
    sqlite3.connect(path).close()
    return path


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("postgresql:///clinic/visits", sql.Source("postgresql", "clinic", ("visits",))),
        ("postgresql://db:5433/clinic/visits", sql.Source("postgresql", "clinic", ("visits",), "db", 5433)),
        (
            "postgres://ada@db/clinic?table=w.visits",
            sql.Source("postgres", "clinic", ("w", "visits"), "db", None, "ada"),
        ),
    ],
)
def test_a_name_says_which_table(name, wanted):
    assert sql.is_source(name)
    assert sql.parse(name) == wanted


@pytest.mark.parametrize("path", ["sqlite:///{}?table=people", "sqlite://{}?table=people", "duckdb:///{}?table=people"])
def test_a_file_may_be_named_with_three_or_four_slashes(file, path):
    found = sql.parse(path.format(file))
    assert (found.place, found.table) == (str(file), ("people",))


def test_a_relative_file(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert sql.parse("sqlite:///people.sqlite?table=people").place == "people.sqlite"


@pytest.mark.parametrize("data", ["people.csv", "visits/*.parquet", "c://people", 3, None, "postgresql:/x/y"])
def test_what_is_no_database(data):
    assert not sql.is_source(data)


def test_a_password_in_a_name_is_refused_and_not_repeated():
    with pytest.raises(DataError, match="PGPASSFILE") as caught:
        next(sql.batches("postgresql://ada:sesame@db/clinic/visits"))
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["postgresql://db", "postgresql://db/clinic", "postgresql://db/clinic?table=", "postgresql://db/a/b/c",
     "postgresql://db:x/clinic/visits", "postgresql://db/clinic?table=a.b.c", "postgresql://db/clinic/visits?sslmode=x",
     "duckdb:///people.duckdb", "sqlite:///missing.sqlite?table=t", "sqlite://host/file?table=t"],
)  # fmt: skip
def test_a_name_that_does_not_say_which_table_is_refused(name):
    with pytest.raises(DataError, match=r"write postgresql://|does not exist"):
        sql.parse(name)


def test_what_a_driver_says_is_not_passed_on():
    def fail():
        raise ValueError("row (4711, 'Semiramide') and password sesame")

    with pytest.raises(DataError, match=r"^the table failed$") as caught:
        quiet("the table failed", fail)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
