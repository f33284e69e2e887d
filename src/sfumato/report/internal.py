"""The internal report: what an assessment found, pictures first. It reads real rows and says so on every page."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.evaluate.classifiers import Score
from sfumato.exact import exact_number, printed_up
from sfumato.report import charts, spending
from sfumato.report.figures import Assessment, ClassifierFigures, PairFigures, ReleaseFigures
from sfumato.report.page import (
    INTERNAL,
    beside,
    contents,
    figure,
    gallery,
    key,
    page,
    paragraph,
    section,
    single,
    table,
    tiles,
)
from sfumato.report.summary import alerts, answer, raw_values
from sfumato.report.svg import percent

MAPPED = 60
"""The most columns in the heat map; of more, those with the largest errors are shown."""

COLOURS = (("real", "real rows"), ("synthetic", "synthetic rows"))


def internal_report(assessment: Assessment) -> str:
    """The whole HTML file."""
    return page(INTERNAL, f"Is the synthetic table of {assessment.name} good enough?", _body(assessment))


def _body(a: Assessment) -> Iterator[str]:
    yield paragraph(
        f"{a.synthetic_rows:,} synthetic rows beside {a.real_rows:,} real ones, in the bins of the public schema. "
        "Distances are total variation: the share of rows that would have to change for two tables to be equal. "
        "0 is equal, 1 is disjoint.",
        "lead",
    )
    yield answer(a)
    yield alerts(a)
    yield contents(CONTENTS)
    yield _headline(a)
    yield _columns(a)
    yield raw_values(a)
    yield _pairs(a)
    yield _worst(a)
    yield _classifiers(a.classifiers)
    more = [] if a.release is None else [_stages(a.release), _intervals(a.release), _budget(a.release)]
    yield beside(_ranges(a), *more)
    yield _tables(a)
    yield _copies(a)
    effort = "with --fast: fewer classifiers, tables and queries" if a.fast else "in full"
    yield f"<footer>{INTERNAL.words}: {INTERNAL.reason}. Computed {effort} by sfumato evaluate.</footer>"


CONTENTS = ("Each column", "Numbers as they are", "Error of each pair", "Classifiers", "Range queries", "Exact copies")


def _headline(a: Assessment) -> str:
    words = {1: "error of single columns", 2: "error of pairs of columns", 3: "error of three columns"}
    found = [
        (percent(one.mean), f"{words[one.columns]} (two halves of the real rows: {percent(one.halves)})")
        for one in a.tables
    ]
    found.append((percent(a.range_error), "error of range queries over three columns"))
    if a.classifiers.majority is not None:
        best = max(score.accuracy for score in a.classifiers.trained_on_real)
        reached = max(score.accuracy for score in a.classifiers.trained_on_synthetic)
        found.append((f"{reached:.3f}", f"best accuracy after training on synthetic rows (on real rows: {best:.3f})"))
    if a.release is not None:
        numbers = a.release.spending.guarantee
        promise = ", ".join(f"{name} {printed_up(exact_number(value))}" for name, value in numbers.items() if value)
        found.append((a.release.method, f"method, with {promise}"))
    return tiles(found)


def _columns(a: Assessment) -> str:
    drawn = [
        figure(
            one.name,
            f"error {percent(one.error)}",
            charts.histogram(one.labels, one.real, one.synthetic, f"Histogram of {one.name}"),
            name=f"column-{place}",
        )
        for place, one in enumerate(a.columns)
    ]
    words = (
        "The share of the rows with each value. Figures beside bars are those of the synthetic rows; hover for both."
    )
    return section("Each column", words, key(COLOURS), gallery(*drawn))


def _pairs(a: Assessment) -> str:
    names, errors = [one.name for one in a.columns], a.pairs
    words = "Each cell is a pair of columns, and the diagonal is the single columns, with a link to its picture. "
    words += "Figures are percent; " if len(names) <= charts.FIGURED else "Hover over a cell for its figure; "
    words += f"the strongest colour is {percent(max(map(max, errors)))}."
    if len(names) > MAPPED:
        kept = sorted(sorted(range(len(names)), key=lambda i: -sum(errors[i]))[:MAPPED])
        names, errors = [names[i] for i in kept], tuple(tuple(errors[i][j] for j in kept) for i in kept)
        words += f" Shown are the {MAPPED} columns with the largest errors."
    pictures = {(one.name, one.name): f"column-{place}" for place, one in enumerate(a.columns)}
    for place, pair in enumerate(a.worst_pairs):
        pictures |= dict.fromkeys((pair.columns, pair.columns[::-1]), f"pair-{place}")  # type: ignore[arg-type]
    drawing = charts.heat_map(
        names, errors, "Heat map of the error of each pair of columns", lambda one, two: pictures.get((one, two))
    )
    hint = paragraph("Wider than a phone: scroll it sideways.", "hint")
    return section("Error of each pair", words, hint, f'<div class="scroll">{drawing}</div>')


def _worst(a: Assessment) -> str:
    words = (
        "Shares of the rows with both values, on a square-root scale. The third picture shows where the synthetic "
        "table has too many rows and where too few."
    )
    colours = key((("heat", "rows; in the third picture: too many"), ("less", "too few")))
    return section(
        f"The worst {len(a.worst_pairs)} pairs",
        words,
        colours,
        *(_pair(pair, place) for place, pair in enumerate(a.worst_pairs)),
    )


def _pair(pair: PairFigures, place: int) -> str:
    difference = [
        [b - a for a, b in zip(one, two, strict=True)] for one, two in zip(pair.real, pair.synthetic, strict=True)
    ]
    largest = max(max(map(max, pair.real)), max(map(max, pair.synthetic))) or 1.0
    widest = max(abs(value) for row in difference for value in row) or 1.0
    title = " × ".join(pair.columns)
    tables = (
        ("real", pair.real, largest),
        ("synthetic", pair.synthetic, largest),
        (f"difference, at most {percent(widest)}", difference, widest),
    )
    drawn = "".join(
        f"<div><p>{words}</p>{charts.table_map(*pair.labels, shares, scale, f'{title}, {words}')}</div>"
        for words, shares, scale in tables
    )
    drawing = f'<div class="triple">{drawn}</div>'
    note = f"error {percent(pair.error)}; {pair.columns[0]} down, {pair.columns[1]} across"
    return f'<div class="pair">{figure(title, note, drawing, name=f"pair-{place}")}</div>'


def _classifiers(found: ClassifierFigures) -> str:
    if found.majority is None:
        return section("Classifiers", f"Classifiers were left out: {found.left_out}.")
    words = (
        f"Each classifier learns to predict {found.label} and is tested on the same held-out real rows: once after "
        "learning from other real rows, once after learning from synthetic rows. The dashed line is always guessing "
        "the most frequent label."
    )
    names = [score.classifier for score in found.trained_on_real]
    drawn = []
    for title, pick in (("Accuracy", _accuracy), ("Area under the ROC curve", _auc), ("F1, mean of the labels", _f1)):
        real, synthetic = (list(map(pick, some)) for some in (found.trained_on_real, found.trained_on_synthetic))
        says = f"{title} of classifiers trained on real and on synthetic rows"
        drawn.append(
            figure(title, "", charts.paired_bars(names, real, synthetic, pick(found.majority), "majority", says))
        )
    colours = key((("real", "trained on real rows"), ("synthetic", "trained on synthetic rows")))
    return section("Classifiers", words, colours, gallery(*drawn))


def _accuracy(score: Score) -> float:
    return score.accuracy


def _auc(score: Score) -> float:
    return score.auc


def _f1(score: Score) -> float:
    return score.f1


def _ranges(a: Assessment) -> str:
    words = (
        f'{len(a.ranges):,} random questions such as "how many are 30 to 45, work in sales and have two children". '
        f"Each is a dot; on the dashed line the synthetic table answers as the real one. The mean error is "
        f"{percent(a.range_error)} of the rows."
    )
    drawing = charts.scatter(a.ranges, "Answers of range queries, real across and synthetic up")
    return section("Range queries", words, single(figure("Real against synthetic", "square-root scales", drawing)))


def _stages(release: ReleaseFigures) -> str:
    if release.stages is None:
        return section("Error by stage", "No pair of columns is small enough to be followed through the stages.")
    stages = {
        "selection": release.stages.selection,
        "+ noise": release.stages.noise,
        "+ reconciling": release.stages.reconcile,
        "+ synthesis": release.stages.synthesis,
    }
    words = (
        f"The mean error of the {release.staged_pairs} pairs of columns that are small enough to be followed (it may "
        "be lower than the error of all pairs) if the run had stopped there: with the selected "
        "tables exact, with noise in them, after they were made to agree, and in the synthetic rows. A stage that "
        "repairs makes the bar shorter."
    )
    drawing = charts.ranked_bars(
        list(stages), list(stages.values()), [percent(error) for error in stages.values()], "heat", "Error by stage"
    )
    return section("Error by stage", words, single(figure("Where the error comes from", "", drawing)))


def _intervals(release: ReleaseFigures) -> str:
    found = release.intervals
    if found is None:
        return ""
    words = (
        f"Of {found.cells:,} counts in the {found.tables} noisy tables of the release, "
        f"{percent(found.inside)} lie inside their {percent(found.confidence)} interval, as sfumato query prints it. "
        "Somewhat more than promised is usual where many cells are empty: intervals are cut at 0."
    )
    return section("Do the intervals hold?", words)


def _budget(release: ReleaseFigures) -> str:
    spent = release.spending
    words = f"The guarantee of the release: {spent.sentence}. What it cost is recomputed from its events."
    drawing = figure("The budget", f"{percent(spent.spent / spent.available)} spent", spending.drawn(spent))
    return section("What it cost", words, single(drawing))


def _tables(a: Assessment) -> str:
    rows = [
        (
            f"{one.columns}",
            f"{one.tables:,}",
            f"{one.mean:.4f}",
            f"{one.halves:.4f}",
            f"{one.worst:.4f}",
            " × ".join(one.worst_columns),
        )
        for one in a.tables
    ]
    heads = ("columns", "tables", "mean error", "two halves", "worst error", "worst table")
    words = (
        'Mean and largest total variation distance; "two halves" is the mean distance between two random halves of '
        "the real rows, which is chance alone. The mean difference of the associations of two columns (correlation, "
        f"or Cramér's V) is {a.association_error:.4f}."
    )
    return section("Tables over one, two and three columns", words, table(heads, rows, frozenset({1, 2, 3, 4})))


def _copies(a: Assessment) -> str:
    if a.copies is None:
        return ""
    words = (
        "A synthetic row that equals a real one is no breach by itself: common rows should come back. Compare the "
        "second line with the third, which shows how often other real people have the same row."
    )
    rows = [
        (label, percent(one.rows), percent(one.distinct))
        for label, one in (
            ("synthetic rows that occur among all real rows", a.copies.whole),
            ("synthetic rows that occur in a random half of them", a.copies.half),
            ("rows of the other half that occur in that half", a.copies.expected),
        )
    ]
    return section(
        "Exact copies", words, table(("copies", "of the rows", "of the distinct rows"), rows, frozenset({1, 2}))
    )
