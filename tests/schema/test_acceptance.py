"""Observed domains: accepted by column, name and reason, or not at all."""

import pytest

import sfumato
from sfumato.errors import DataError, SchemaError
from sfumato.schema.schema import Schema

NAMES = ["ann", "bob", "cyd"]


def schema_of(categories=NAMES, **keys):
    column = {"name": "x", "type": "categorical", "categories": categories, "domain_from": "observed"}
    return Schema.parse({"name": "t", "columns": [column, {"name": "y", "type": "boolean"}], **keys})


def table(values):
    import pyarrow as pa

    return pa.table({"x": values, "y": [True] * len(values)})


def test_nothing_is_spent_on_a_domain_that_nobody_accepted():
    with pytest.raises(SchemaError, match=r"domain of x was observed .* accept it by name"):
        sfumato.fit(table(NAMES), schema_of(), epsilon=1, method="dpview")


def test_name_and_reason_are_kept_in_the_release(tmp_path):
    accepted = schema_of().accepting(["x"], "A. Steward", "they are on the web site")
    folder = sfumato.fit(table(NAMES), accepted, epsilon=1, method="dpview").save(tmp_path / "r")
    release = sfumato.Release.load(folder)
    assert release.schema.accept_observed[0].by == "A. Steward"
    notes = [str(event.to_dict()) for _, event in release.ledger.entries]
    assert any("accepted as public by A. Steward: they are on the web site" in note for note in notes)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"columns": ["y"], "by": "a", "reason": "b"}, "holds 'y', whose domain is declared"),
        ({"columns": ["z"], "by": "a", "reason": "b"}, "holds 'z', which is not a column"),
        ({"columns": ["x", "x"], "by": "a", "reason": "b"}, "holds 'x' twice"),
        ({"columns": [], "by": "a", "reason": "b"}, "accept_observed"),
        ({"columns": ["x"], "by": "", "reason": "b"}, "accept_observed"),
        ({"columns": ["x"], "by": "a"}, "reason"),
    ],
)
def test_what_accepts_nothing_is_refused(keys, message):
    with pytest.raises(SchemaError, match=message):
        schema_of(accept_observed=[keys])


def test_a_list_that_is_too_long_cannot_be_accepted():
    many = schema_of([f"note {i}" for i in range(1_001)])
    with pytest.raises(SchemaError, match=r"1,001 categories .* cannot be accepted"):
        many.accepting(["x"], "me", "why not")


def test_a_list_as_long_as_the_table_is_refused_before_anything_is_spent():
    names = [f"case {i}" for i in range(60)]
    accepted = schema_of(names).accepting(["x"], "me", "why not")
    with pytest.raises(DataError, match=r"categories of x were observed .* copy of the column") as refused:
        sfumato.fit(table(names), accepted, epsilon=1, method="dpview")
    assert "case" not in str(refused.value)
    release = sfumato.fit(table(names * 3), accepted, epsilon=1, method="dpview")
    assert any("half as long as the table" in event.question for _, event in release.ledger.entries)


def test_columns_that_are_ignored_may_hold_anything(tmp_path):
    schema = schema_of(ignore=["note", "gone"]).accepting(["x"], "me", "known")
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,note,y\nann,\xff\xfe secret,true\nbob,,false\n")
    release = sfumato.fit(path, schema, epsilon=100, method="dpview")
    assert release.sample_arrow(5).column_names == ["x", "y"]
    saved = release.save(tmp_path / "r")
    assert not any(b"secret" in file.read_bytes() for file in saved.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"ignore": ["y"]}, "holds 'y', which is also declared"),
        ({"ignore": ["a", "a"]}, "holds 'a' twice"),
        ({"ignore": ["id"], "unit": {"column": "id"}}, "'unit.column' reads"),
    ],
)
def test_a_column_is_ignored_or_used(keys, message):
    with pytest.raises(SchemaError, match=message):
        schema_of(**keys)


DAYS = [{"name": name, "type": "date", "min": "2020-01-01", "max": "2020-12-31"} for name in ("a", "b")]
SEEN = {
    "name": "t",
    "columns": DAYS,
    "unit": {"column": "person", "rows": 2, "rows_from": "observed"},
    "rules": [{"less_or_equal": ["a", "b"]}],
    "rules_from": "observed",
}


def test_rules_and_rows_that_were_read_from_the_data_are_accepted_by_name_and_told(tmp_path):
    import pyarrow as pa

    rows = pa.table({"person": ["p", "q"], "a": ["2020-01-01"] * 2, "b": ["2020-02-01"] * 2})
    with pytest.raises(SchemaError, match=r"^the rules, and how many rows of a person count was observed"):
        sfumato.fit(rows, SEEN, epsilon=1, method="dpview")
    accepted = Schema.parse(SEEN).accepting(["rules", "unit.rows"], "A. Steward", "they follow from the form")
    release = sfumato.Release.load(sfumato.fit(rows, accepted, epsilon=1, method="dpview").save(tmp_path / "r"))
    assert release.ledger.observed == ("rules", "unit.rows")
    assert "except that the rules, and how many rows of a person count was read from the data" in (
        release.ledger.sentence()
    )
    assert "key 'rules' was observed in the data" in str([event.to_dict() for _, event in release.ledger.entries])
    assert sfumato.card(release).stamp.words == "NOT FULLY PROTECTED"


def test_a_key_that_was_not_observed_is_not_accepted():
    known = SEEN | {"rules_from": "known"}
    with pytest.raises(SchemaError, match="holds 'rules', and the schema does not say that it was observed"):
        Schema.parse(known).accepting(["rules"], "me", "why not")
    assert Schema.parse(known).observed == ("unit.rows",)


def test_a_column_with_the_name_of_an_observed_key_is_refused():
    clash = {"name": "rules", "type": "boolean"}
    with pytest.raises(SchemaError, match="rename the column"):
        Schema.parse(SEEN | {"columns": [*DAYS, clash]})
    assert Schema.parse(SEEN | {"columns": [*DAYS, clash], "rules_from": "known"}).unaccepted == ("unit.rows",)
