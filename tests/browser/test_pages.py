"""Every page: no violation that axe knows, in light and in dark, at the width of a phone and of a desk."""

import os
from pathlib import Path

import pytest
from steps import begin_survey, pay, wait_for_end

PICTURES = os.environ.get("SFUMATO_PICTURES")
"""A folder for pictures of all pages; without it none are taken."""

LOOKS = [
    pytest.param({"color_scheme": "light", "viewport": {"width": 1280, "height": 900}}, id="desk"),
    pytest.param({"color_scheme": "dark", "viewport": {"width": 390, "height": 844}}, id="phone-dark"),
]


@pytest.mark.parametrize("look", LOOKS)
def test_no_page_keeps_anybody_out(open_page, server, look, request):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(**look)
    problems = {}

    def check(name):
        found = Axe().run(page).response["violations"]
        if found:
            problems[name] = [(one["id"], one["nodes"][0]["html"]) for one in found]
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        if wide:
            problems[f"{name} is wider than the window"] = True
        if PICTURES:
            folder = Path(PICTURES)
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}-{request.node.callspec.id}.png", full_page=True)

    check("home")
    page.goto(f"{server.origin}/new")
    check("table")
    page.goto(server.origin)
    begin_survey(page)
    check("schema")
    schema = page.url
    page.get_by_role("link", name="age", exact=True).click()
    check("column")
    page.goto(schema)
    page.get_by_role("link", name="Go on to the budget").click()
    check("budget")
    page.get_by_label("Budget (epsilon)").fill("1")
    page.get_by_role("button", name="Go on to confirm").click()
    check("confirm")
    page.goto(schema)
    pay(page, "looks")
    check("run")
    wait_for_end(page)
    page.goto(f"{server.origin}/release/looks?column=2&column=7")
    check("release")
    page.goto(f"{server.origin}/internal/looks")
    check("internal")
    page.goto(f"{server.origin}/nowhere")
    check("refused")
    assert problems == {}


def test_the_whole_way_by_keyboard(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Which table?").wait_for()
