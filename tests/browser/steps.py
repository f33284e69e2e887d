"""What a steward does on the pages, step by step."""

import re

SURVEY = "the built-in survey"


def begin_survey(page, name="people"):
    page.get_by_role("link", name="New release").first.click()
    page.get_by_label("What do you call it?").fill(name)
    page.get_by_label("The file").select_option(SURVEY)
    page.get_by_role("button", name="Draft the schema").click()
    page.get_by_role("heading", name="What is publicly known").wait_for()


def pay(page, release, epsilon="1"):
    page.get_by_role("link", name="Go on to the budget").click()
    page.get_by_label("Budget (epsilon)").fill(epsilon)
    page.get_by_role("button", name="Go on to confirm").click()
    page.get_by_label("Name of the release").fill(release)
    page.get_by_label("Type the name again to pay").fill(release)
    page.get_by_role("button", name="Pay and start").click()
    page.wait_for_url(re.compile("/run/"))


def wait_for_end(page):
    """Wait until a run has ended, by the script of the page or by its reloading without one."""
    page.get_by_role("link", name="Open the release").wait_for(timeout=180_000)


def whole_way(page, release="survey-1"):
    begin_survey(page)
    pay(page, release)
    wait_for_end(page)
    page.get_by_role("link", name="Open the release").click()
    page.get_by_role("heading", name=release, exact=True).wait_for()
