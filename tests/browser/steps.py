"""What a steward does on the pages, step by step."""

import re

SURVEY = "the built-in survey"


def begin_survey(page, name="people"):
    page.get_by_role("link", name="New release").first.click()
    page.get_by_label("What do you call it?").fill(name)
    page.get_by_label("The file").select_option(SURVEY)
    page.get_by_role("button", name="Draft the schema").click()
    page.get_by_role("heading", name="What is publicly known").wait_for()


def choose_budget(page, epsilon):
    """From the schema to the page that asks for confirmation."""
    page.get_by_role("link", name="Go on to the budget").click()
    page.get_by_label("Budget (epsilon)").fill(epsilon)
    page.get_by_role("button", name="Go on to confirm").click()
    page.get_by_role("heading", name="Confirm and pay").wait_for()


def confirm_and_pay(page, release):
    page.get_by_label("Name of the release").fill(release)
    page.get_by_label("Type the name again to pay").fill(release)
    page.get_by_role("button", name="Pay and start").click()
    page.wait_for_url(re.compile("/run/"))


def pay(page, release, epsilon="1"):
    choose_budget(page, epsilon)
    confirm_and_pay(page, release)


def wait_for_end(page):
    """Wait until a run has ended, by the script of the page or by its reloading without one."""
    page.get_by_role("link", name="Open the release").wait_for(timeout=180_000)


def whole_way(page, release="survey-1"):
    begin_survey(page)
    pay(page, release)
    wait_for_end(page)
    page.get_by_role("link", name="Open the release").click()
    page.get_by_role("heading", name=release, exact=True).wait_for()


def open_account(page, origin, population, epsilon="4", two_names_above=""):
    page.goto(f"{origin}/book")
    page.get_by_label("Name of the population").fill(population)
    page.get_by_label("What may be spent for ever").fill(epsilon)
    page.get_by_label("Two persons for a release above").fill(two_names_above)
    page.get_by_role("button", name="Open the account").click()
    page.get_by_role("heading", name=population).wait_for()


def shows(page, text, tries=600):
    """Wait until the source of a page has a text: a click does not wait for the page that it leads to."""
    while text not in page.content():
        tries -= 1
        assert tries, f"the page never showed {text!r}"
        page.wait_for_timeout(100)
