"""The last redraw: rows that break a rule change as little as possible, the others not at all."""

import numpy as np
import pytest

from helpers_rules import random_schema, schema_with
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.intake.attributes import Attributes
from sfumato.intake.ruled import Ruled
from sfumato.synthesize.repair import broken, repaired


def random_records(domain, rows, seed):
    rng = np.random.default_rng(seed)
    return Records(domain, [rng.integers(0, size, rows) for size in domain.shape])


@pytest.mark.parametrize("seed", range(40))
def test_all_rows_obey_and_good_ones_stay(seed):
    schema = random_schema(1000 + seed)
    ruled, domain = Ruled(schema), Attributes(schema).domain
    rows = random_records(domain, 300, seed)
    bad = broken(rows, ruled.checks)
    found = repaired(rows, ruled.checks, ruled.constraints, ruled.example, np.random.default_rng(seed))
    assert not broken(found.records, ruled.checks).any()
    assert found.repairs == bad.sum()
    tied = {name for check in ruled.checks for name in check.clique}
    for name in domain:
        kept = ~bad if name in tied else slice(None)
        assert (found.records[name][kept] == rows[name][kept]).all()


def test_a_redraw_is_conditional():
    """Where `before` decides what `after` may be, new values of one follow the other as good rows do."""
    schema = schema_with([{"forbidden": ["before", "shape"], "rows": [["low", "flat"]]}])
    ruled, domain = Ruled(schema), Attributes(schema).domain
    rng = np.random.default_rng(0)
    columns = {name: np.zeros(40_000, dtype=np.int64) for name in domain}
    columns["before"] = rng.integers(0, 3, 40_000)
    columns["shape"] = np.where(rng.random(40_000) < 0.2, 2, rng.choice([0, 1], 40_000, p=[0.25, 0.75]))
    rows = Records(domain, [columns[name] for name in domain])
    bad = broken(rows, ruled.checks)
    found = repaired(rows, ruled.checks, ruled.constraints, ruled.example, rng).records
    redrawn = found["shape"][bad & (found["before"] == 0)]
    assert 0.7 < (redrawn == 1).mean() < 0.8  # of about 1,300 rows: 0.75 within four standard deviations


def test_without_any_good_row_one_is_found():
    schema = schema_with(
        [{"determines": ["shape", "before"], "values": {"round": "low", "square": "middle", "flat": "high"}}]
    )
    ruled, domain = Ruled(schema), Attributes(schema).domain
    rows = Records(domain, [np.full(5, int(name == "shape")) for name in domain])
    found = repaired(rows, ruled.checks, ruled.constraints, ruled.example, np.random.default_rng(0))
    assert not broken(found.records, ruled.checks).any()
    with pytest.raises(MethodError, match="no row was found that obeys all rules"):
        repaired(rows, ruled.checks, ruled.constraints, lambda: None, np.random.default_rng(0))
