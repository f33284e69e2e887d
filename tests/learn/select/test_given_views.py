import json

import numpy as np
import pytest

from helpers_holders import holder_of
from helpers_select import chosen
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError, ModelTooLarge, SfumatoError
from sfumato.learn.measure import Tables
from sfumato.learn.select.given_views import GivenView, GivenViews, read_views
from sfumato.privacy.budget import PureDP
from sfumato.privacy.events import Free
from sfumato.privacy.neighbours import Neighbours

DOMAIN = Domain({"age": 74, "sex": 2, "income": 50, "city": 300, "street": 9_000})


def holding(budget):
    return holder_of(Records(DOMAIN, [np.zeros(3, int)] * len(DOMAIN)), budget)


def write(folder, content):
    path = folder / "views.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


class TestUse:
    VIEWS = GivenViews((GivenView(("sex", "age"), 3), GivenView(("income", "sex"), 0.5)))

    def test_views_come_in_column_order_and_other_columns_alone_with_the_smallest_weight(self):
        holder, ledger = holding(PureDP(1))
        selection = chosen(self.VIEWS, holder, PureDP(1).total)
        assert selection.cliques == (("age", "sex"), ("sex", "income"), ("city",), ("street",))
        assert selection.weights == (3.0, 0.5, 0.5, 0.5)
        assert self.VIEWS.tables(DOMAIN, PureDP(1).total, Neighbours()) == 4
        assert ledger.left == 1
        assert [type(event) for _, event in ledger.statement().entries] == [Free]

    def test_weights_are_the_parts_of_the_budget_that_is_spent(self):
        holder, ledger = holding(PureDP(1))
        Tables()(holder, chosen(self.VIEWS, holder, PureDP(1).total), PureDP(1).total)
        costs = [float(event.cost(PureDP.notion)) for _, event in ledger.statement().entries]
        assert costs[1:] == pytest.approx([3 / 4.5, 0.5 / 4.5, 0.5 / 4.5, 0.5 / 4.5], rel=1e-6)

    def test_a_view_inside_another_is_allowed_because_it_was_asked_for(self):
        holder, _ = holding(PureDP(1))
        views = GivenViews((GivenView(("age", "sex")), GivenView(("sex",))))
        assert chosen(views, holder, PureDP(1).total).cliques[:2] == (("age", "sex"), ("sex",))

    @pytest.mark.parametrize(
        ("columns", "kind", "message"),
        [
            (("age", "wage"), MethodError, "names column 'wage', which is not in the table; it has age, sex, income"),
            (
                ("city", "street"),
                ModelTooLarge,
                r"city \(300\), street \(9000\) has 2,700,000 cells; at most 1,000,000",
            ),
        ],
    )
    def test_views_that_do_not_fit_the_table_are_refused_before_anything_is_spent(self, columns, kind, message):
        views = GivenViews((GivenView(("age", "sex")), GivenView(columns)))
        with pytest.raises(kind, match=message):
            views.check(DOMAIN)
        holder, ledger = holding(PureDP(1))
        with pytest.raises(kind, match=message):
            chosen(views, holder, PureDP(1).total)
        assert ledger.left == 1

    def test_views_that_fit_pass_the_check(self):
        self.VIEWS.check(DOMAIN)


class TestFile:
    def test_weight_is_one_unless_given(self, tmp_path):
        path = write(tmp_path, [{"columns": ["age", "sex"], "weight": 2}, {"columns": ["income"]}])
        assert read_views(path) == GivenViews((GivenView(("age", "sex"), 2), GivenView(("income",), 1)))
        assert read_views(str(path)) == read_views(path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ({"columns": ["age"]}, "holds a mapping; a list of views is wanted"),
            ("3", "holds a number; a list of views is wanted"),
            ("null", "holds null; a list of views is wanted"),
            ("[{]", "is not valid JSON, see line 1"),
            ([], "no views were given; give at least one"),
            ([["age", "sex"]], "view number 1 is a list; a mapping with the key 'columns' is wanted"),
            (
                [{"columns": ["age"], "wieght": 2}],
                "view number 1 has the unknown key 'wieght'; known keys are",
            ),
            ([{"columns": ["age"]}, {"weight": 2}], "view number 2 has no list of column names .* name at least one"),
            ([{"columns": []}], "view number 1 has no list of column names"),
            ([{"columns": "age"}], "view number 1 has no list of column names"),
            ([{"columns": ["age", 3]}], "view number 1 has no list of column names"),
            (
                [{"columns": ["age", "sex", "age"]}],
                "the view over age, sex, age names age twice; name each",
            ),
            ([{"columns": ["age", "sex"]}, {"columns": ["sex", "age"]}], "the view over sex, age is given twice"),
        ],
    )
    def test_files_that_make_no_sense_are_refused(self, tmp_path, content, message):
        with pytest.raises(MethodError, match=message):
            read_views(write(tmp_path, content))

    @pytest.mark.parametrize("weight", ["0", "-1", "NaN", "Infinity", '"2"', "true", "null", "[1]", "1" + "0" * 400])
    def test_weights_that_are_no_positive_finite_numbers_are_refused(self, tmp_path, weight):
        path = write(tmp_path, '[{"columns": ["age", "sex"], "weight": ' + weight + "}]")
        with pytest.raises(MethodError, match=r"the view over age, sex has the weight .* a positive, finite number"):
            read_views(path)

    def test_weights_too_far_apart_are_refused(self):
        light, heavy = GivenView(("age",), 1e-9), GivenView(("sex",), 1.0)
        with pytest.raises(MethodError, match="the weights go from 1e-09 to 1; the largest may be at most 1,000,000"):
            GivenViews((light, heavy))

    def test_files_that_cannot_be_read_are_refused(self, tmp_path):
        with pytest.raises(MethodError, match=r"none\.json' cannot be read: No such file"):
            read_views(tmp_path / "none.json")
        (tmp_path / "latin.json").write_bytes(b'[{"columns": ["\xe4"]}]')
        with pytest.raises(MethodError, match="is not UTF-8"):
            read_views(tmp_path / "latin.json")


def test_a_view_without_columns_is_refused():
    with pytest.raises(SfumatoError, match="a view has no columns; name at least one"):
        GivenView(())
