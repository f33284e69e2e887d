"""The rules of docs/testing.md that the suite can hold itself to."""

import random
import re
from pathlib import Path

import pytest

from helpers_entropy import ScriptedEntropy
from sfumato.privacy.entropy import SystemEntropy

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "testing.md").read_text(encoding="utf-8")
RATE = re.compile(r"(?:below )?(?:(\d+)·)?10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")


def rates(text):
    """The probabilities that a text states, such as 2·10⁻¹⁰."""
    powers = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    return [int(factor or 1) * 10.0 ** -int(power.translate(powers)) for factor, power in RATE.findall(text)]


def table():
    """The page's table of tests that are left to chance: what each line names, and what it says of false alarms."""
    lines = PAGE.split("| test |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    return {cell[0]: cell[2] for cell in cells}


def test_noise_is_scripted_unless_a_test_asks_for_the_real_one(request):
    script = random.Random(request.node.nodeid)
    for _ in range(2):  # every source has a script of its own
        wanted = ScriptedEntropy(script.getrandbits(64)).words(5)
        assert SystemEntropy().words(5).tolist() == wanted.tolist()


@pytest.mark.real_entropy
def test_real_noise_is_no_script(request):
    script = ScriptedEntropy(random.Random(request.node.nodeid).getrandbits(64))
    assert SystemEntropy().words(5).tolist() != script.words(5).tolist()  # equal once in 2^320 runs


def test_every_test_with_real_noise_states_its_rate():
    marked = [
        path.relative_to(TESTS.parent)
        for path in TESTS.rglob("test_*.py")
        if "mark.real_entropy" in path.read_text(encoding="utf-8")
    ]
    assert len(marked) > 2
    named = " ".join(table())
    assert [str(path) for path in marked if path.as_posix() not in named] == []


def test_false_alarms_add_up_to_what_the_page_says():
    lines = table()
    together = rates(lines.pop("all"))
    (budget,) = rates(re.search(r"The budget is (\S+) in all", PAGE)[1])
    stated = [sum(rates(cell)[:1]) for cell in lines.values()]
    assert sum(stated) <= together[0] <= budget == 1e-6
