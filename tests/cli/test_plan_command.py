"""`sfumato plan`: exit code 3 for a budget that cannot support the schema, 2 for what makes no sense, nothing spent."""

import json

import pytest
from test_commands import sfumato

from helpers_html import read

KEYS = {
    "name": "people",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
    ],
}


@pytest.fixture
def schema(tmp_path):
    file = tmp_path / "people.schema.json"
    file.write_text(json.dumps(KEYS))
    return file


def test_a_plan_says_what_its_figures_rest_on(schema):
    result = sfumato("plan", schema, "--rows-guess", "2000", "--epsilon", "2", "--method", "priview")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    for words in ("(proven)", "(rehearsed)", "Track record", "Nothing was spent", "smallest group", "2,000 rows"):
        assert words in text
    assert "2 (planned)" in text  # usual budgets side by side: attack rate as proven, noise as expected
    assert "88.1" in text
    assert list(schema.parent.iterdir()) == [schema]


def test_a_budget_that_cannot_support_the_schema_has_a_code_of_its_own(schema):
    poor = ("plan", schema, "--rows-guess", "100", "--epsilon", "0.01", "--method", "priview")
    result = sfumato(*poor)
    assert result.exit_code == 3
    assert "cannot support the schema. Columns at fault: age" in " ".join(result.stderr.split())
    assert [line[:3] for line in result.stderr.splitlines() if line[:2] in ("1.", "2.", "3.")] == ["1. ", "2. ", "3. "]
    report = sfumato(*poor, "--json")
    assert report.exit_code == 3
    assert json.loads(report.stdout)["supported"] is False


def test_a_page_is_written_once(schema):
    page = schema.parent / "plan.html"
    given = ("plan", schema, "--rows-guess", "500", "--epsilon", "2", "--method", "priview", "--out", page)
    assert sfumato(*given).exit_code == 0
    reader = read(page.read_text())
    assert "Error and attack rate against epsilon" in reader.text
    again = sfumato(*given)
    assert again.exit_code == 2
    assert "exists already" in again.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "1"), "no guess of the number of rows was given"),
        (("--rows-guess", "100"), "neither epsilon nor want was given"),
        (("--rows-guess", "100", "--want", "much", "--method", "priview"), "write it like '±50 in age × sex'"),
        (("--rows-guess", "100", "--want", "±5 in town", "--method", "priview"), "column 'town' is not in the schema"),
        (("--rows-guess", "100", "--epsilon", "-1"), "epsilon is -1; it must be above 0"),
        (("--rows-guess", "100", "--epsilon", "1", "--method", "magic"), "method 'magic' is unknown"),
        (("--rows-guess", "100", "--epsilon", "1", "--method", "privsyn"), "needs a delta"),
        (("--rows-guess", "100", "--epsilon", "1", "--out", "plan.txt"), "does not end in .html"),
    ],
)
def test_what_makes_no_sense_is_explained(schema, options, words):
    result = sfumato("plan", schema, *options)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
