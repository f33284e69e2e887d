"""How long a new user takes on the web page, from the opened page to a verified release of the built-in survey.

    python benchmarks/new_user.py

A script clicks in Chromium. Before each click it waits as long as a person needs to read what is new on the page, at
240 words a minute, and before each field as long as it takes to type, at 3 keys a second. Prints both that time and
the part of it in which the machine worked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time

WORDS, KEYS = 240 / 60, 3.0
"""Words read and keys pressed a second."""


def main() -> None:
    """Walk once, and print what it took."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "sfumato", "app", "--folder", folder, "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(300_000)
        started, person = time.monotonic(), 0.0

        def read() -> None:
            nonlocal person
            person += len(page.locator("main").inner_text().split()) / WORDS

        def fill(label: str, text: str) -> None:
            nonlocal person
            person += len(text) / KEYS + 1
            page.get_by_label(label).fill(text)

        def click(role: str, name: str) -> None:
            nonlocal person
            person += 1
            page.get_by_role(role, name=name).first.click()
            page.wait_for_load_state()

        page.goto(address)
        read()
        click("link", "New release")
        read()
        fill("What do you call it?", "people")
        click("button", "Draft the schema")
        read()
        click("link", "Go on to the budget")
        read()
        click("button", "epsilon 1")
        read()
        click("button", "Go on to confirm")
        read()
        fill("Type the name again to pay", "people-1")
        click("button", "Pay and start")
        page.get_by_role("link", name="Open the release").wait_for()
        read()
        click("link", "Open the release")
        read()
        click("link", "Verify")
        page.get_by_text("The release is what it says").wait_for()
        machine = time.monotonic() - started
        print(f"machine {machine:.0f} s, reading and typing {person:.0f} s, together {machine + person:.0f} s")
        browser.close()
        server.kill()
        server.wait()
        server.stdout.close()


if __name__ == "__main__":
    main()
