"""Files of strangers: too deep, or far larger than they look; each is refused at once."""

import json

import pytest
from test_commands import clinic, sfumato

from sfumato.schema.expansion import expanded_size

__all__ = ["clinic"]  # the fixture

LAUGHS = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
BOMBS = {
    "categories": f"a0: &a0 [x]\n{LAUGHS}name: t\ncolumns:\n- {{name: a, type: categorical, categories: *a29}}\n",
    "name": f"a0: &a0 [x]\n{LAUGHS}name: *a29\ncolumns: [{{name: a, type: boolean}}]\n",
    "holds itself": "name: t\ncolumns: &a [*a]\n",
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=list(BOMBS))
def test_a_schema_that_says_more_than_it_seems_is_refused_at_once(clinic, text):
    (clinic / "bomb.yaml").write_text(text)
    result = sfumato("schema", "check", clinic / "clinic.csv", "--schema", clinic / "bomb.yaml")
    assert result.exit_code == 2
    assert "bomb.yaml' is not valid YAML" in result.stderr


def test_aliases_that_say_what_they_seem_to_say_are_read(clinic):
    text = """
name: t
columns:
- {name: a, type: categorical, categories: &yes [x, y]}
- {name: b, type: categorical, categories: *yes}
"""
    (clinic / "schema.yaml").write_text(text)
    (clinic / "table.csv").write_text("a,b\nx,y\n")
    assert sfumato("schema", "check", clinic / "table.csv", "--schema", clinic / "schema.yaml").exit_code == 0
    shared = {"k": [1, 2]}
    assert expanded_size([shared, shared, 5]) == 1 + 2 * (1 + 1 + 3) + 1


@pytest.mark.parametrize("command", ["ledger", "card", "query"])
def test_a_release_with_files_that_are_too_deep_is_damaged(tmp_path, command):
    for name in ("ledger.json", "release.json", "schema.json"):
        (tmp_path / name).write_text("[" * 100_000)
    more = {"card": ["--out", tmp_path / "card.html"], "query": ["a"]}.get(command, [])
    result = sfumato(command, tmp_path, *more)
    assert result.exit_code == 2
    assert "the release is damaged" in result.stderr


def test_an_error_of_several_lines_keeps_them(clinic):
    schema = {"name": "t", "columns": [{"name": "a\nerror: b", "type": "what"}, {"name": "c", "type": "what"}]}
    (clinic / "schema.json").write_text(json.dumps(schema))
    result = sfumato("schema", "check", clinic / "clinic.csv", "--schema", clinic / "schema.json")
    lines = result.stderr.splitlines()
    assert len(lines) > 1
    assert [line[:7] for line in lines] == ["error: ", *["       "] * (len(lines) - 1)]
