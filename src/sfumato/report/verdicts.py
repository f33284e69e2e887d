"""What a report answers: is the table good enough, for what, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.evaluate.raw import RawFigures
from sfumato.report.svg import percent

GOOD, FAIR = 0.05, 0.15
"""Errors up to these are good and fair, whatever chance alone would do; twice and five times chance are as well."""

NEVER_GOOD, NEVER_FAIR = 0.2, 0.5
"""Larger errors are not, however small the real table is: a reader would be misled."""

ACTIONS = 5
"""The most things to do that are told."""


@dataclass(frozen=True)
class Verdict:
    """How good a table is for one use.

    Args:
        use: single columns, crosstabs or models.
        grade: good, fair or poor.
        words: the figures behind it.
    """

    use: str
    grade: str
    words: str


@dataclass(frozen=True)
class Alert:
    """Something that a reader would find wrong with the table, and what to do about it."""

    words: str
    action: str


def table_verdict(use: str, error: float, halves: float, where: str = "") -> Verdict:
    """A verdict by the distance of tables, beside that of two random halves of the real rows.

    Two samples of n / 2 rows are as far apart as chance makes them, h = 2 c / sqrt(n). A sample of m rows is
    c / sqrt(m) from the table it was drawn from. So an error e is that of a sample of h^2 / (4 e^2) of the rows.
    """
    good, fair = min(NEVER_GOOD, max(GOOD, 2 * halves)), min(NEVER_FAIR, max(FAIR, 5 * halves))
    grade = "good" if error <= good else "fair" if error <= fair else "poor"
    share = 1.0 if error <= 0 else min(1.0, (halves / (2 * error)) ** 2)
    words = f"error {percent(error)}{where and ' '}{where}, two halves of the real rows {percent(halves)}"
    if 0 < share < 1:
        words += f"; as good as a random {percent(share)} sample of the real rows"
    return Verdict(use, grade, words)


def model_verdict(real: float, synthetic: float) -> Verdict:
    """A verdict by the accuracy of the best classifier, trained on real and on synthetic rows."""
    loss = real - synthetic
    grade = "good" if loss <= 0.02 else "fair" if loss <= 0.05 else "poor"
    return Verdict("models", grade, f"best accuracy {synthetic:.3f}, and {real:.3f} after training on real rows")


def raw_alerts(figures: tuple[RawFigures, ...]) -> Iterator[Alert]:
    """Smeared spikes, numbers beyond the bounds, distributions that differ inside their bins."""
    for one in figures:
        smeared = [spike for spike in one.spikes if abs(spike.synthetic - spike.real) > max(0.02, spike.real / 3)]
        if smeared:
            worst = max(smeared, key=lambda spike: abs(spike.real - spike.synthetic))
            own = f"give {one.name} a code of its own for {worst.number:.10g}: 'special': [{worst.number:.10g}]"
            yield Alert(
                f"{one.name}: {worst.number:.10g} is in {percent(worst.real)} of the real rows and in "
                f"{percent(worst.synthetic)} of the synthetic ones",
                own if not worst.alone else f"give {one.name} more budget, or the table fewer columns or values",
            )
        elif one.distinct[1] > 3 * one.distinct[0] and one.distinct[0] <= 64:
            yield Alert(
                f"{one.name}: {one.distinct[0]:,} different numbers became {one.distinct[1]:,}",
                f"list the numbers of {one.name} in 'values'",
            )
        elif one.distance > FAIR:
            yield Alert(
                f"{one.name}: the distribution of the numbers differs by up to {percent(one.distance)}; the median is "
                f"{one.quantiles[1][2]:.6g} and should be {one.quantiles[0][2]:.6g}",
                f"give {one.name} finer or growing bins ('edges'), or more budget",
            )
        if one.outside > 0.01:
            yield Alert(
                f"{one.name}: {percent(one.outside)} of the real numbers lie outside the declared bounds",
                f"widen the bounds of {one.name} to what is publicly known",
            )


def missing_alert(name: str, real: float, synthetic: float) -> Alert | None:
    """Missing values that were lost, or made up."""
    if abs(real - synthetic) <= max(0.02, real / 3):
        return None
    return Alert(
        f"{name}: {percent(real)} of the real values are missing, and {percent(synthetic)} of the synthetic ones",
        f"declare {name} nullable with the texts that stand for missing, or give it more budget",
    )


def single_value_alert(name: str, real: float, synthetic: float) -> Alert | None:
    """One value nearly everywhere, where it was not."""
    if synthetic < 0.95 or real > synthetic - 0.05:
        return None
    return Alert(
        f"{name}: one value has {percent(synthetic)} of the synthetic rows, and {percent(real)} of the real ones",
        f"give {name} fewer values, or more budget",
    )


def rule_alert(rule: str, real: float, synthetic: float) -> Alert | None:
    """A rule that synthetic rows break and real ones do not."""
    if synthetic <= real + 0.001:
        return None
    return Alert(
        f"rule broken by {percent(synthetic)} of the synthetic rows (real: {percent(real)}): {rule}",
        "state what follows from other columns as 'derived', or recode the columns of the rule as one",
    )
