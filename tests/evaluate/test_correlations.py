import numpy as np
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.errors import SchemaError
from sfumato.evaluate.correlations import association_error, associations, numbers_of
from sfumato.schema.schema import Schema

CODES = np.arange(3.0)


def records(*columns, size=3):
    return Records(
        Domain({f"c{i}": size for i in range(len(columns))}), [np.array(codes, dtype=int) for codes in columns]
    )


REAL = records([0, 0, 0, 1, 1, 2, 2, 2, 2, 0], [0, 1, 1, 1, 0, 0, 0, 1, 0, 0])
SYNTHETIC = records([0, 1, 1, 1, 2, 2, 0, 0], [1, 1, 0, 1, 0, 1, 1, 0])


def test_two_ordered_columns_have_the_correlation_of_sdmetrics():
    # SDMetrics 0.32, CorrelationSimilarity.compute_breakdown with coefficient "Pearson", computed once by hand;
    # its score is one minus half the difference of the two.
    numbers = {"c0": CODES, "c1": CODES}
    real, synthetic = associations(REAL, numbers), associations(SYNTHETIC, numbers)
    assert real[0, 1] == pytest.approx(-0.22821773229381914)
    assert synthetic[1, 0] == pytest.approx(-0.1240347345892085)
    assert association_error(real, synthetic) == pytest.approx(2 * (1 - 0.9479085011476946))
    assert np.diag(real) == pytest.approx(1)


def test_rows_without_a_number_do_not_count():
    numbers = {"c0": np.array([0.0, 1.0, np.nan]), "c1": CODES}
    kept = REAL["c0"] < 2
    wanted = np.corrcoef(REAL["c0"][kept], REAL["c1"][kept])[0, 1]
    assert associations(REAL, numbers)[0, 1] == pytest.approx(wanted)


def test_large_numbers_close_together_keep_their_correlation():
    seconds = 1e15 + CODES
    numbers = {"c0": seconds, "c1": CODES}
    assert associations(REAL, numbers)[0, 1] == pytest.approx(-0.22821773229381914)


def test_other_pairs_have_cramers_v_with_the_correction_of_bergsma():
    counts = np.array([[10, 5, 2], [3, 8, 12]])
    table = Marginal(Domain({"a": 2, "b": 3}), counts)
    rows = counts.sum()
    square = chi2_contingency(counts, correction=False).statistic / rows
    corrected = (square - 2 / (rows - 1)) / min(2 - 1 / (rows - 1) - 1, 3 - 4 / (rows - 1) - 1)
    found = associations(table, {"b": CODES})[0, 1]  # one column in order is not enough
    assert found == pytest.approx(np.sqrt(corrected))
    assert found == pytest.approx(0.4778520645759349)
    many = Marginal(table.domain, counts * 1_000_000)  # the correction vanishes
    assert associations(many, {})[0, 1] == pytest.approx(association(counts, method="cramer"), abs=1e-6)


def test_cramers_v_is_one_for_the_same_column_and_near_zero_for_strangers():
    rng = np.random.default_rng(0)
    column, other = rng.integers(0, 50, (2, 2000))
    same, strange = (associations(records(column, second, size=50), {})[0, 1] for second in (column, other))
    assert same == pytest.approx(1)
    assert strange < 0.05  # without the correction it would be 0.16


def test_a_column_that_never_varies_has_no_association():
    table = records([1, 1, 1, 1], [0, 1, 2, 0])
    assert associations(table, {})[0, 1] == 0
    assert associations(table, {"c0": CODES, "c1": CODES})[0, 1] == 0
    assert associations(records([], []), {"c0": CODES, "c1": CODES})[0, 1] == 0
    assert association_error(np.eye(1), np.eye(1)) == 0


def test_a_pair_of_too_many_cells_is_counted_where_there_are_rows():
    wide = Records(Domain({"c0": 10**5, "c1": 10**5}), [REAL["c0"].astype(int) * 30_000, REAL["c1"].astype(int) * 5])
    assert associations(wide, {})[0, 1] == pytest.approx(associations(REAL, {})[0, 1])
    numbers = {"c0": np.arange(1e5), "c1": np.arange(1e5)}
    assert associations(wide, numbers)[0, 1] == pytest.approx(-0.22821773229381914)


def test_numbers_are_middles_of_bins_ranks_and_nan():
    schema = Schema.parse(
        {
            "name": "t",
            "columns": [
                {"name": "age", "type": "integer", "min": 0, "max": 9, "bins": 2, "nullable": True},
                {"name": "size", "type": "categorical", "categories": ["S", "M", "L"], "ordered": True},
                {"name": "colour", "type": "categorical", "categories": ["red", "blue"]},
                {"name": "price", "type": "number", "min": 0.0, "max": 1.0, "bins": 2},
                {"name": "smokes", "type": "boolean"},
            ],
        }
    )
    numbers = numbers_of(schema.columns)
    assert list(numbers) == ["age", "size", "price"]
    assert numbers["age"] == pytest.approx([2.5, 7.5, np.nan], nan_ok=True)
    assert numbers["size"].tolist() == [0, 1, 2]
    assert numbers["price"] == pytest.approx([0.25, 0.75])


def test_numbers_for_other_codes_are_refused():
    with pytest.raises(SchemaError, match="2 numbers were given; column 'c0' has 3 codes"):
        associations(REAL, {"c0": CODES[:2]})
