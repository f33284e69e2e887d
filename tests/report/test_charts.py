import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers_html import read
from sfumato.report import charts
from sfumato.report.svg import percent, short
from sfumato.text import one_line

shares = st.floats(0, 1)
label = st.text(st.characters(exclude_categories=()), max_size=30)


def widths(drawing, kind):
    return [float(w) for w in re.findall(rf'width="([\d.]+)" height="[\d.]+" class="{kind}"', drawing)]


@given(st.lists(st.tuples(label, shares, shares), min_size=1, max_size=40))
def test_a_histogram_is_well_formed_and_names_every_value(bars):
    names, real, synthetic = zip(*bars, strict=True)
    reader = read(charts.histogram(names, real, synthetic, "says"))
    titles = [one_line(f"{n}: real {percent(a)}, synthetic {percent(b)}") for n, a, b in bars]
    for title in titles:
        assert title in reader.words


def test_bars_are_as_long_as_their_shares():
    drawing = charts.histogram(["a", "b"], [0.75, 0.25], [0.5, 0.5], "says")
    real, synthetic = widths(drawing, "real"), widths(drawing, "synthetic")
    assert real[0] == pytest.approx(3 * real[1], rel=0.01)
    assert synthetic[0] == synthetic[1] == pytest.approx(2 * real[1], rel=0.01)


def test_one_value_that_dwarfs_the_others_is_drawn_on_a_root_scale_and_says_so():
    many = [0.9, *[0.1 / 29] * 29]
    assert "square-root scale" in charts.histogram([str(i) for i in range(30)], many, many, "says")
    even = [1 / 30] * 30
    assert "square-root scale" not in charts.histogram([str(i) for i in range(30)], even, even, "says")


def test_the_heat_is_strongest_where_the_error_is_largest():
    drawing = charts.heat_map(["one", "two"], [[0.0, 0.4], [0.4, 0.1]], "says")
    assert "one × two: 0.4000" in drawing
    strengths = [float(s) for s in re.findall(r'class="heat" fill-opacity="([\d.]+)"', drawing)]
    assert strengths == [0.0, 0.25]  # full strength has no attribute
    assert drawing.count('class="heat"') == 4


def test_a_difference_has_a_colour_for_each_sign():
    drawing = charts.table_map(["r"], ["a", "b", "c"], [[0.1, -0.1, 0.0]], 0.1, "says")
    assert drawing.count('class="heat"') == drawing.count('class="less"') == 1


def test_dots_lie_on_the_line_where_the_answers_agree():
    drawing = charts.scatter([(0.25, 0.25), (1.0, 0.0)], "says")
    (x, y), (right, bottom) = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawing)
    assert float(x) - 44 == pytest.approx(284 / 2)
    assert float(y) - 8 == pytest.approx(284 / 2)
    assert (float(right), float(bottom)) == (44 + 284, 8 + 284)


def test_the_questions_of_a_budget_fill_it():
    stages = [("select", [("which", 0.25)]), ("measure", [("x", 0.5), ("y", 0.25)])]
    reader = read(charts.spending(stages, 1.0, "epsilon", "says"))
    boxes = [a for tag, a in reader.tags if tag == "rect" and a["class"].startswith("stage")]
    whole = [float(a["width"]) for a in boxes if a["height"] == "12.0"]
    assert sum(whole) == pytest.approx(charts.WIDTH - 12, abs=0.2)
    assert "measure: 75 % of it in 2 questions" in reader.text.replace("\u00a0", " ")


def test_long_labels_stand_above_their_bars():
    low, high = (
        charts.ranked_bars([name], [0.5], ["half"], "heat", "says") for name in ("age", "age × education × sex")
    )
    assert 'text-anchor="end"' in low
    assert 'text-anchor="end"' not in high


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0"), (0.0004, "<0.1"), (-0.0004, ">-0.1"), (0.0123, "1.2"), (0.0999, "10"), (0.456, "46"), (1, "100")],
)
def test_percent(share, words):
    assert percent(share) == f"{words}\u00a0%"


def test_short():
    assert short("abcdef", 6) == "abcdef"
    assert short("abcdefg", 6) == "abcde…"
