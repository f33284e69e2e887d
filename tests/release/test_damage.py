"""Whatever happens to the files of a release, opening it ends in one clean error or in a release that works.

A changed byte may leave a release that is whole but another one: a label, a summary. Only a signature can tell.
"""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import SfumatoError

OLD = Path(__file__).parents[1] / "golden" / "releases"
METADATA = ("release.json", "ledger.json", "schema.json", "model/model.json", "marginals/index.json")


@pytest.fixture(scope="module", params=["format 1", "today"])
def folder(request, tmp_path_factory):
    target = tmp_path_factory.mktemp("damage") / "release"
    if request.param == "today":
        return sfumato.Release.load(OLD / "release-1-privbayes").save(target, rows=20, seed=1)
    return shutil.copytree(OLD / "release-1-privsyn", target)


def used(folder):
    """Open a release and do with it what people do; None if it says plainly that it cannot be done."""
    try:
        release = sfumato.Release.load(folder)
        release.description()
        release.ledger.sentence()
        rows = release.sample(5, seed=1)
        release.marginal(release.schema.names[0])
        return rows
    except SfumatoError:
        return None


def with_changed(folder, name, content, check):
    path = folder / name
    before = path.read_bytes()
    path.write_bytes(content(before))
    try:
        check(used(folder))
    finally:
        path.write_bytes(before)


many = settings(max_examples=100)


@many
@given(name=st.sampled_from(METADATA), place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
@example(name="ledger.json", place=0.0, byte=0)
@example(name="schema.json", place=0.0, byte=91)
def test_any_changed_byte_is_a_clean_error_or_a_release_that_works(folder, name, place, byte):
    def change(before):
        at = int(place * len(before))
        return before[:at] + bytes([byte]) + before[at + 1 :]

    with_changed(folder, name, change, lambda rows: None)


def paths(value, here=()):
    """The places of all values in JSON."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


ODD = (None, True, -1, 0, 10**30, 0.5, float("nan"), float("inf"), "", "x", "1e999999", [], [[]], {}, {"part": "Once"})


@many
@given(
    name=st.sampled_from(METADATA),
    choice=st.floats(0, 1, exclude_max=True),
    odd=st.sampled_from(ODD),
    drop=st.booleans(),
)
def test_any_changed_value_is_a_clean_error_or_a_release_that_works(folder, name, choice, odd, drop):
    def change(before):
        record = json.loads(before)
        places = list(paths(record))[1:]
        *way, last = places[int(choice * len(places))]
        inner = record
        for key in way:
            inner = inner[key]
        if drop:
            del inner[last]
        else:
            inner[last] = odd
        return json.dumps(record).encode()

    with_changed(folder, name, change, lambda rows: None)


@pytest.mark.parametrize("name", METADATA)
def test_a_file_that_is_gone_empty_or_cut_off_is_a_clean_error(folder, name):
    def refused(rows):
        assert rows is None

    for content in (lambda before: b"", lambda before: before[: len(before) // 2], lambda before: b"[" * 100_000):
        with_changed(folder, name, content, refused)
    path = folder / name
    aside = path.rename(path.with_suffix(".aside"))
    try:
        refused(used(folder))
    finally:
        aside.rename(path)


@settings(max_examples=40)
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), table=st.booleans())
def test_a_changed_byte_in_a_table_is_a_clean_error_or_a_release_that_works(folder, place, byte, table):
    name = "model/tables.npz" if table else f"marginals/{sorted((folder / 'marginals').glob('*.parquet'))[0].name}"

    def change(before):
        at = int(place * len(before))
        return before[:at] + bytes([byte]) + before[at + 1 :]

    with_changed(folder, name, change, lambda rows: None)


@pytest.mark.parametrize("name", METADATA)
def test_spaces_between_values_change_nothing(folder, name):
    expected = used(folder)

    def same(rows):
        assert rows is not None
        assert rows.equals(expected)

    with_changed(folder, name, lambda before: json.dumps(json.loads(before), indent=4).encode(), same)


@pytest.mark.parametrize(
    "forge",
    [
        lambda selection: selection["structure"]["families"][0].__setitem__(0, None),
        lambda selection: selection["structure"]["families"][0].__setitem__(0, "nobody"),
        lambda selection: selection["structure"]["families"][1].__setitem__(1, "stay"),
        lambda selection: selection["structure"]["families"].pop(),
        lambda selection: selection["structure"]["families"].reverse(),
        lambda selection: selection["structure"]["families"].append(selection["structure"]["families"][0]),
        lambda selection: selection["cliques"].append(["nobody"]),
        lambda selection: selection["cliques"].append(["age", "age"]),
        lambda selection: selection["weights"].append(1.0),
        lambda selection: selection["weights"].extend([float("inf")] * len(selection["cliques"])),
        lambda selection: selection["structure"].update(kind="apart", groups=[["age"]], selections=[]),
        lambda selection: selection["structure"].update(kind="chain", base=[["age"]], cross=[], upper=[]),
    ],
)
def test_a_selection_that_does_not_fit_is_refused_when_a_release_is_opened(tmp_path, forge):
    folder = sfumato.Release.load(OLD / "release-1-privbayes").save(tmp_path / "release", rows=5, seed=1)
    path = folder / "model" / "model.json"
    record = json.loads(path.read_text())
    forge(record["selection"])
    path.write_text(json.dumps(record))
    with pytest.raises(SfumatoError):
        sfumato.Release.load(folder)
