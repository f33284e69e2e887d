"""A real server, as `sfumato app` starts it, and a real Chromium."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import steps

if "SFUMATO_BROWSER" not in os.environ:
    collect_ignore_glob = ["test_*.py"]

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


@dataclass
class Server:
    """A running `sfumato app`."""

    process: subprocess.Popen
    address: str
    folder: Path

    @property
    def origin(self):
        return self.address.split("/?")[0].rstrip("/")

    @property
    def port(self):
        return int(self.origin.rsplit(":", 1)[1])

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def start_server(folder, tables=None, *more):
    """Start the command, and read the address that it prints."""
    words = [sys.executable, "-m", "sfumato", "app", "--folder", str(folder), "--no-browser", *map(str, more)]
    words += ["--tables", str(tables)] if tables else []
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if found := re.search(r"https?://\S+", line):
            return Server(process, found[0], Path(folder))
    process.wait()
    raise AssertionError("the server ended without printing an address")


@pytest.fixture
def server(tmp_path):
    """A server with an empty work folder, and a folder `data` from which it may read tables."""
    (tmp_path / "data").mkdir()
    one = start_server(tmp_path / "work", tmp_path / "data")
    yield one
    one.stop()


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system; no download."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "these tests need Chromium: make test-browser installs it"
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield one
        one.close()


@pytest.fixture
def open_page(browser, server):
    """Opens pages in a browser that has used the printed address; keyword arguments are those of a context."""
    contexts = []

    def opened(**options):
        context = browser.new_context(**options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(server.address)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def furnished(browser, tmp_path_factory):
    """A page with something on every page: a book, a paid release and an open proposal, in a browser that came in."""
    place = tmp_path_factory.mktemp("furnished")
    (place / "data").mkdir()
    one = start_server(place / "work", place / "data")
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(one.address)
    steps.begin_survey(page, "people")
    schema = page.url
    steps.open_account(page, one.origin, "people 2026", two_names_above="2")
    page.goto(schema)
    steps.choose_budget(page, "1")
    steps.confirm_and_pay(page, "people-1")
    page.goto(schema)
    steps.choose_budget(page, "3")
    page.get_by_label("Your name").fill("Ann Steward")
    page.get_by_role("button", name="Propose").click()
    page.get_by_role("heading", name="It waits for another person").wait_for()
    furnished = Furnished(one, page, schema, page.url)
    page.goto(one.origin)
    page.get_by_role("row", name="people-1").get_by_role("link").click()
    steps.wait_for_end(page)
    furnished.run = page.url
    yield furnished
    context.close()
    one.stop()


@dataclass
class Furnished:
    """A server, a page of a browser that came in, and addresses."""

    server: Server
    page: object
    schema: str
    proposal: str
    run: str = ""
