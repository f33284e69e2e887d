"""Every page: no violation that axe knows, in light and dark, at the width of a phone and of a desk; and on paper."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect
from steps import shows

PICTURES = os.environ.get("SFUMATO_PICTURES")
"""A folder for pictures of all pages; without it none are taken."""

LOOKS = {
    "desk": ("light", 1280, 900),
    "phone": ("dark", 390, 844),
}
ANSWER = "/release/people-1?column=2&column=7"
PAGES = {
    "home": "/",
    "table": "/new",
    "schema": "{schema}",
    "column": "{draft}/column?column=3",
    "plan": "{draft}/plan",
    "confirm": "{draft}/confirm",
    "proposal": "{proposal}",
    "run": "{run}",
    "release": ANSWER,
    "mean": "/release/people-1?column=1&mean=3&confidence=0.99",
    "verify": "/release/people-1/verify",
    "card": "/release/people-1/card",
    "internal": "/internal/people-1",
    "book": "/book",
    "audit": "/audit",
    "refused": "/nowhere",
}


def look_at(page, name, problems):
    """Try a page in all looks; what is wrong goes into a list."""
    from axe_playwright_python.sync_playwright import Axe

    for look, (scheme, width, height) in LOOKS.items():
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        found = Axe().run(page).response["violations"]
        problems += [(name, look, one["id"], one["nodes"][0]["html"]) for one in found]
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            problems.append((name, look, "is wider than the window"))
        if PICTURES:
            Path(PICTURES).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(PICTURES) / f"{name}-{look}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def address(furnished, name):
    places = {"schema": furnished.schema, "draft": furnished.schema.rsplit("/", 1)[0]}
    found = PAGES[name].format(**places, proposal=furnished.proposal, run=furnished.run)
    return found if found.startswith("http") else furnished.server.origin + found


def test_no_page_keeps_anybody_out(furnished):
    problems = []
    for name in PAGES:
        furnished.page.goto(address(furnished, name), timeout=120_000)
        look_at(furnished.page, name, problems)
    assert problems == []


def test_every_field_has_a_name_and_every_page_one_heading(furnished):
    page = furnished.page
    for name in PAGES:
        page.goto(address(furnished, name), timeout=120_000)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        nameless = page.evaluate(
            """[...document.querySelectorAll("input:not([type=hidden]), select, textarea")].filter(
            one => !one.labels.length && !one.ariaLabel).map(one => one.outerHTML)"""
        )
        assert nameless == []


@pytest.mark.parametrize("name", ["plan", "confirm", "release", "mean", "verify", "book", "proposal"])
def test_the_command_that_a_page_shows_really_works(furnished, name, tmp_path):
    page = furnished.page
    page.goto(address(furnished, name), timeout=120_000)
    page.locator("details.command").first.evaluate("one => one.open = true")
    words = shlex.split(page.locator("details.command code").first.inner_text())
    assert words[0] == "sfumato"
    if name in ("plan", "confirm", "proposal"):
        words.append("--help")  # it would spend budget, or take minutes; the options at least must exist
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=tmp_path, timeout=180, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_printed_has_the_figures_and_no_buttons(furnished):
    page = furnished.page
    page.goto(address(furnished, "release"))
    page.emulate_media(media="print")
    assert page.get_by_role("region", name="Answer").is_visible()
    expect(page.get_by_role("button", name="Ask")).to_have_count(0)
    expect(page.get_by_role("navigation")).to_have_count(0)
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / "release-paper.png", full_page=True)
    page.emulate_media(media="screen")


def test_forecasts_follow_what_is_typed(furnished):
    page = furnished.page
    page.goto(address(furnished, "plan"))
    forecast = page.get_by_role("status", name="Forecast")
    page.get_by_label("Budget (epsilon)").fill("0.5")
    forecast.get_by_text("epsilon = 0.5").wait_for()
    forecast.get_by_text("after this release").wait_for()
    page.get_by_label("Budget (epsilon)").fill("9")
    forecast.get_by_text("not allowed").wait_for()
    page.get_by_label("Budget (epsilon)").fill("0.01")
    forecast.get_by_text("noise will drown").first.wait_for()
    page.get_by_label("Budget (epsilon)").fill("much")
    forecast.get_by_text(re.compile("number")).first.wait_for()


def test_two_persons_pay_what_one_may_not(furnished):
    page, origin = furnished.page, furnished.server.origin
    token = page.goto(f"{origin}/new") and page.locator("input[name=form_token]").first.input_value()
    draft = furnished.schema.rsplit("/", 1)[0]
    fields = {"form_token": token, "epsilon": "3", "delta": "1e-9", "method": "auto", "population": "0"}
    alone = page.request.post(
        f"{draft}/pay", form={**fields, "release": "alone", "release_again": "alone"}, headers={"origin": origin}
    )
    assert "wants two names" in alone.text()
    early = page.request.post(
        f"{furnished.proposal}/pay",
        form={"form_token": token, "release_again": "people-2"},
        headers={"origin": origin},
    )
    assert "needs the approval of two persons" in early.text()
    page.goto(furnished.proposal)
    expect(page.get_by_role("button", name="Pay and start")).to_have_count(0)
    page.locator("#person").fill("ann  STEWARD")
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("another person has to").wait_for()
    page.goto(furnished.proposal)
    page.locator("#person").fill("Bob Officer")
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Ann Steward, Bob Officer").wait_for()
    page.get_by_label(re.compile("^Type")).fill("people-2")
    page.get_by_role("button", name="Pay and start").click()
    page.get_by_role("heading", name="people-2").wait_for()
    page.get_by_role("button", name="Stop the run").click()
    page.get_by_text("Stopped.").wait_for(timeout=120_000)
    shows(page, "It cost")


def test_more_rows_obey_all_conditions(furnished):
    import csv

    page = furnished.page
    page.goto(address(furnished, "release"))
    page.get_by_label("How many").fill("50")
    for number, (column, value) in enumerate([("sex", "female"), ("region", "Caldora"), ("region", "Brennvik")]):
        page.locator(f"#given_column{number}").select_option(label=column)
        page.locator(f"#given_value{number}").fill(value)
    with page.expect_download() as download:
        page.get_by_role("button", name="Draw").click()
    with open(download.value.path(), newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert {row["sex"] for row in rows} == {"female"}
    assert {row["region"] for row in rows} <= {"Caldora", "Brennvik"}


def test_an_answer_has_a_chart_and_intervals(furnished):
    page = furnished.page
    page.goto(address(furnished, "release"))
    expect(page.locator("svg.chart rect")).to_have_count(21)
    expect(page.get_by_role("region", name="Answer").get_by_role("row")).to_have_count(22)
    # Noise decides which pairs are measured, and only a measured table gives intervals. Single columns always are.
    page.goto(furnished.server.origin + "/release/people-1?column=7")
    expect(page.locator("svg.chart rect")).to_have_count(7)
    expect(page.locator("svg.chart line.interval")).to_have_count(3 * 7)


def test_an_audit_runs_beside_the_page(furnished):
    page = furnished.page
    page.goto(f"{furnished.server.origin}/audit")
    page.get_by_label("and the method").select_option("pgm")
    page.get_by_role("button", name="Audit").click()
    page.get_by_role("link", name="Open what was found").click(timeout=180_000)
    page.get_by_text("Passed: none of the checks found a fault").wait_for()
    assert page.get_by_role("region", name="Checks").get_by_role("row").count() >= 7
    problems = []
    look_at(page, "audited", problems)
    assert problems == []


def test_the_whole_way_by_keyboard(open_page):
    """No mouse: from the first page to the page that pays."""
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"

    def reach(wanted):
        """Press Tab until what has the focus is called so."""
        for _ in range(80):
            named = page.evaluate(
                """(one => (one.labels && one.labels[0] ? one.labels[0].textContent : one.textContent).trim())(
                document.activeElement)"""
            )
            if named.startswith(wanted):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"the keyboard cannot reach {wanted!r}")

    def press(wanted):
        reach(wanted)
        page.keyboard.press("Enter")
        page.wait_for_load_state()

    press("New release")
    page.get_by_role("heading", name="Which table?").wait_for()
    press("Draft the schema")
    page.get_by_role("heading", name="What is publicly known").wait_for()
    press("Go on to the budget")
    page.get_by_role("heading", name="How much privacy").wait_for()
    reach("Budget (epsilon)")
    page.keyboard.type("1")
    press("Go on to confirm")
    page.get_by_role("heading", name="Confirm and pay").wait_for()
    reach("Type the name again")
    page.keyboard.type("survey-1")
    reach("Pay and start")
