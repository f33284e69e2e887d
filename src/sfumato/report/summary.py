"""The first page of the internal report: a verdict for each use, what is wrong, what to do, and raw values."""

from __future__ import annotations

from sfumato.report.figures import Assessment
from sfumato.report.page import bullets, section, table, verdicts
from sfumato.report.svg import percent
from sfumato.report.verdicts import ACTIONS


def answer(a: Assessment) -> str:
    """A verdict for each use, first of all."""
    words = (
        "By its distance from the real table, beside that of two random halves of the real rows, which is chance "
        "alone; columns of numbers count by their values, not by their bins."
    )
    found = [(one.grade, one.use, one.words) for one in a.verdicts]
    return section("Good enough for what?", words, verdicts(found), _rules(a))


def alerts(a: Assessment) -> str:
    """What is wrong, and five things to do about it."""
    if not a.alerts:
        return section("Alerts", "None: no rule is broken, no spike smeared, no missing value lost.")
    actions = list(dict.fromkeys(one.action for one in a.alerts))[:ACTIONS]
    return section(
        f"Alerts ({len(a.alerts)})",
        "What a reader of the synthetic table would find wrong, the worst kinds first.",
        bullets([one.words for one in a.alerts]),
        "<h3>What to do</h3>",
        bullets(actions),
    )


def raw_values(a: Assessment) -> str:
    """Means, medians, quantiles, spikes and missing values of both tables."""
    if not a.raw and not a.missing:
        return ""
    rows = []
    for one in a.raw:
        (low, _, middle, _, high), (low2, _, middle2, _, high2) = one.quantiles
        spike = one.spikes[0] if one.spikes else None
        rows.append(
            (
                one.name,
                f"{one.mean[0]:.6g} → {one.mean[1]:.6g}",
                f"{middle:.6g} → {middle2:.6g}",
                f"{low:.6g} … {high:.6g} → {low2:.6g} … {high2:.6g}",
                f"{spike.number:.6g}: {percent(spike.real)} → {percent(spike.synthetic)}" if spike else "",
                percent(one.distance),
            )
        )
    heads = ("column", "mean", "median", "5 to 95 %", "most frequent", "distance")
    words = "Real → synthetic, in raw values. Distance is the largest difference of the two distribution functions."
    parts = [table(heads, rows, frozenset({5}))] if rows else []
    if a.missing:
        lost = [(one.name, percent(one.real), percent(one.synthetic)) for one in a.missing]
        parts += ["<h3>Missing values</h3>", table(("column", "real rows", "synthetic rows"), lost, frozenset({1, 2}))]
    return section("Numbers as they are", words, *parts)


def _rules(a: Assessment) -> str:
    if not a.rules:
        return ""
    broken = [(one.rule, percent(one.real), percent(one.synthetic)) for one in a.rules if one.real or one.synthetic]
    number = len(a.rules)
    if not broken:
        return f"<h3>Rules</h3><p>All rules of the schema ({number}) hold in every row, real and synthetic.</p>"
    words = f"<p>{number - len(broken)} of {number} rules hold in every row, real and synthetic. The others:</p>"
    return f"<h3>Rules</h3>{words}" + table(("broken rule", "real rows", "synthetic rows"), broken, frozenset({1, 2}))
