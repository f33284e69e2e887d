"""From the first page to a release, in a real browser."""

import csv
import json

from playwright.sync_api import expect
from steps import begin_survey, confirm_and_pay, pay, shows, wait_for_end

from conftest import start_server


def test_the_survey_becomes_a_release_that_answers_without_a_script(open_page, server):
    """The way with the script is that of the furnished page in test_pages.py."""
    page = open_page(java_script_enabled=False)
    begin_survey(page)
    page.get_by_role("link", name="Go on to the budget").click()
    page.get_by_role("button", name="epsilon 1").click()
    page.get_by_text("What this budget means").wait_for()
    page.get_by_role("button", name="Go on to confirm").click()
    confirm_and_pay(page, "survey-1")
    wait_for_end(page)
    page.get_by_role("link", name="Open the release").click()
    shows(page, "epsilon = 1")
    page.get_by_label("sex", exact=True).check()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("region", name="Answer").get_by_role("row")).to_have_count(4)
    with page.expect_download() as download:
        page.get_by_role("button", name="Draw").click()
    with open(download.value.path(), newline="") as file:
        assert len(list(csv.DictReader(file))) == 1000
    description = json.loads((server.folder / "releases" / "survey-1" / "release.json").read_text())
    shows(page, description["guarantee"])


def test_a_run_survives_a_reload_a_second_tab_and_a_killed_server(open_page, server, browser, tmp_path):
    page = open_page()
    begin_survey(page)
    pay(page, "survey-2")
    shows(page, "Stopping now costs")
    other = page.context.new_page()
    other.goto(page.url)
    page.reload()
    assert other.get_by_role("heading", level=1).inner_text() == page.get_by_role("heading", level=1).inner_text()
    path = page.url.removeprefix(server.origin)
    server.stop()
    again = start_server(server.folder, tmp_path / "data")
    context = browser.new_context()
    try:
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(again.address)
        page.goto(again.origin + path)
        wait_for_end(page)
    finally:
        context.close()
        again.stop()


def test_a_table_of_a_hundred_columns_with_hostile_names(open_page, tmp_path):
    hostile = ['<img src=x onerror="document.title=1">', "{{ 7*7 }}", "naïve \u202e name", "a,b;c'd\""]
    names = [*hostile, *(f"column {number}" for number in range(96))]
    with (tmp_path / "data" / "<b>wide.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(names)
        lines.writerows([(row * place) % 3 for place in range(100)] for row in range(200))
    page = open_page()
    page.get_by_role("link", name="New release").first.click()
    page.get_by_label("What do you call it?").fill("wide")
    page.get_by_label("The file").select_option(label="data/<b>wide.csv")
    page.get_by_text("One row: every person").click()
    page.get_by_role("button", name="Draft the schema").click()
    shows(page, "100 columns")
    expect(page.locator("tbody").get_by_role("checkbox")).to_have_count(100)
    expect(page).to_have_title("Schema of wide · Sfumato")
    expect(page.locator("img")).to_have_count(0)
    assert "{{ 7*7 }}" in page.locator("table").inner_text()
    page.get_by_label("Find", exact=True).fill("column 9")
    page.get_by_label("Show", exact=True).select_option("observed domains")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody").get_by_role("checkbox")).to_have_count(7)
    page.get_by_text("Declare one domain for all of them").click()
    page.get_by_label("Type", exact=True).select_option("categorical")
    page.get_by_label("All labels, one a line").fill("0\n1\n2")
    page.get_by_label("All 7 that are shown").check()
    page.get_by_role("button", name="Declare").click()
    expect(page.locator("tbody").get_by_role("checkbox")).to_have_count(0)
    page.get_by_label("Find", exact=True).fill("")
    page.get_by_label("Show", exact=True).select_option("observed domains")
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Tick all that are shown").check()
    expect(page.locator("#ticked")).to_have_text("(93)")
    page.get_by_label("Your name").fill("A. Steward")
    page.get_by_label("Why these values may be public").fill("made up for a test")
    page.get_by_role("button", name="Sign for the observed domains").click()
    expect(page.locator("tbody tr")).to_have_count(0)
    page.get_by_label("Find", exact=True).fill("column 8")
    page.get_by_label("Show", exact=True).select_option("all columns")
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("All 11 that are shown").check()
    page.get_by_role("button", name="Leave out of the release").click()
    shows(page, "89 columns")
    pay(page, "wide-1")
    wait_for_end(page)


def test_what_a_draft_read_from_the_rows_is_on_no_page(open_page, tmp_path):
    (tmp_path / "data" / "t.csv").write_text("city,age\nKleinfeld,31\nGrossstadt,97\n")
    page = open_page()
    page.get_by_role("link", name="New release").first.click()
    page.get_by_label("The file").select_option(label="data/t.csv")
    page.get_by_text("One row: every person").click()
    page.get_by_role("button", name="Draft the schema").click()
    seen = [page.content()]
    for name in ("city", "age"):
        page.get_by_role("link", name=name, exact=True).click()
        seen.append(page.content())
        page.go_back()
    assert not any(value in text for text in seen for value in ("Kleinfeld", "Grossstadt", ">97<", '"97"'))
