"""`sfumato card`: from the release alone, and every bad input refused with exit code 2."""

import json
import shutil

import pytest
from test_commands import SCHEMA, accepting, clinic, sfumato, synthesize, table

from helpers_html import read

__all__ = ["clinic"]  # the fixture

SECRET = "zebra-4711"


@pytest.fixture
def alone(clinic):
    """A release whose private table, with a value that was never declared, is gone."""
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"][1]["other"] = "m"
    (clinic / "clinic.schema.json").write_text(json.dumps(schema))
    table().replace({"sex": {"m": SECRET}}).to_csv(clinic / "clinic.csv", index=False)
    assert SECRET in (clinic / "clinic.csv").read_text()
    assert synthesize(clinic, "--seed", "1").exit_code == 0
    (clinic / "clinic.csv").unlink()
    (clinic / "clinic.schema.json").unlink()
    (clinic / "release" / "synthetic.csv").unlink()
    return clinic


def test_a_card_needs_the_release_alone(alone):
    result = sfumato("card", alone / "release", "--out", alone / "card.html")
    assert result.exit_code == 0, result.output
    assert "PUBLISHABLE" in result.stdout
    html = (alone / "card.html").read_text()
    assert SECRET not in html
    text = read(html).text
    for column in SCHEMA["columns"]:
        assert column["name"] in text
    assert "epsilon = 2, delta = 1e-6, protecting one row, added or removed" in text
    assert {path.name for path in alone.iterdir()} == {"release", "card.html"}


def test_a_domain_that_was_read_from_the_data_is_an_exception_in_the_guarantee(clinic):
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"][1]["domain_from"] = "observed"
    (clinic / "clinic.schema.json").write_text(json.dumps(schema))
    assert synthesize(clinic, *accepting("sex")).exit_code == 0
    words = "except that the domain of sex was read from the data"
    assert words in json.loads((clinic / "release" / "release.json").read_text())["guarantee"]
    assert words in " ".join(sfumato("ledger", clinic / "release").stdout.split())
    assert sfumato("card", clinic / "release", "--out", clinic / "card.html").exit_code == 0
    text = read((clinic / "card.html").read_text()).text
    assert words in text
    assert "NOT FULLY PROTECTED" in text[:200]
    assert "Accepted as public: sex by A. Steward: it is in the codebook" in text
    assert "PUBLISHABLE" not in text
    ledger = clinic / "release" / "ledger.json"
    ledger.write_text(json.dumps(json.loads(ledger.read_text()) | {"observed": []}))
    refused(
        sfumato("card", clinic / "release", "--out", clinic / "other.html"), clinic / "other.html", "sex", "observed"
    )


def test_json_for_programs(alone):
    result = sfumato("card", alone / "release", "--out", alone / "card.html", "--json")
    card = json.loads(result.stdout)
    assert card["stamp"].startswith("PUBLISHABLE")
    index = json.loads((alone / "release" / "marginals" / "index.json").read_text())
    assert [one["deviation"] for one in card["tables"]] == pytest.approx(
        [one["standard_deviation"] for one in index["tables"]]
    )
    ledger = json.loads((alone / "release" / "ledger.json").read_text())
    assert card["spending"]["spent"] == pytest.approx(ledger["spent"])


def test_versions_are_those_of_the_run(alone):
    file = alone / "release" / "release.json"
    described = json.loads(file.read_text())
    described["versions"]["numpy"] = "0.0.7"
    file.write_text(json.dumps(described))
    card = json.loads(sfumato("card", alone / "release", "--out", alone / "card.html", "--json").stdout)
    assert card["versions"]["numpy"] == "0.0.7"
    del described["versions"]
    file.write_text(json.dumps(described))
    refused(sfumato("card", alone / "release", "--out", alone / "other.html"), alone / "other.html", "versions")


def refused(result, file, *words):
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert not file.exists()
    assert not [path for path in file.parent.iterdir() if path.name.startswith(".")]


def test_what_is_not_a_release_is_refused(alone):
    out = alone / "card.html"
    refused(sfumato("card", alone / "nowhere", "--out", out), out, "nowhere")
    refused(sfumato("card", alone, "--out", out), out, "release.json")
    shutil.rmtree(alone / "release" / "model")
    refused(sfumato("card", alone / "release", "--out", out), out, "model.json")


def test_names_that_cannot_be_written(alone):
    refused(sfumato("card", alone / "release", "--out", alone / "card.pdf"), alone / "card.pdf", ".html")
    (alone / "card.html").write_text("mine")
    result = sfumato("card", alone / "nowhere", "--out", alone / "card.html")
    assert result.exit_code == 2
    assert "exists already" in result.stderr  # before the folder is even looked at
    assert (alone / "card.html").read_text() == "mine"
