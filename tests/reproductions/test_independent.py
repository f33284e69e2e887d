"""Independent publication: the whole budget at each party, and as many rows as all of them have."""

import numpy as np
import pyarrow as pa
import pytest

from reproductions.independent import appended, independent
from sfumato.errors import DataError
from sfumato.schema.schema import Schema

KINDS = [{"name": name, "type": "categorical", "categories": ["0", "1", "2"]} for name in "abc"]
SCHEMA = Schema.parse({"name": "test", "columns": KINDS})


def table_of(rows, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, rows)
    columns = [np.where(rng.random(rows) < 0.2, rng.integers(0, 3, rows), first) for _ in "abc"]
    return pa.table({name: codes.astype(str).tolist() for name, codes in zip("abc", columns, strict=True)})


def test_each_party_spends_its_own_budget_and_all_rows_are_appended():
    tables = [table_of(3000, 1), table_of(2000, 2), table_of(1000, 3)]
    releases = independent(tables, SCHEMA, epsilon=8)
    assert [release.ledger.guarantee["epsilon"] <= 8 for release in releases] == [True] * 3
    joined = appended(releases, seed=0)
    assert joined.num_rows == sum(release.rows for release in releases)
    assert abs(joined.num_rows - 6000) < 100
    assert joined.equals(appended(releases, seed=0))
    same = np.mean(np.asarray(joined["a"]) == np.asarray(joined["b"]))
    real = np.mean(np.concatenate([np.asarray(one["a"]) == np.asarray(one["b"]) for one in tables]))
    assert abs(same - real) < 0.05


def test_other_methods_serve_too():
    releases = independent([table_of(500, 1)], SCHEMA, epsilon=1, delta="1e-6", method="privsyn")
    assert releases[0].method == "privsyn"


def test_no_party_is_refused():
    with pytest.raises(DataError, match="give at least one"):
        independent([], SCHEMA, epsilon=1)
