"""A study of three parties, of which one is approved on the page, round by round."""

import json
import os
import subprocess
import sys

from playwright.sync_api import expect
from test_pages import look_at

from conftest import start_server
from sfumato.identity import Signer
from sfumato.parties.consortium import add_signature, write_manifest
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest

NAMES = ("north", "south", "west")
HOSTILE = "ward <img src=x onerror=alert(1)> \u202e"
SCHEMA = {
    "name": "clinic",
    "columns": [
        {"name": "smoker", "type": "boolean"},
        {"name": "ill", "type": "boolean"},
        {"name": HOSTILE, "type": "categorical", "categories": ["a", "b", "c"]},
    ],
}


def consortium(folder, unsigned=()):
    """The folder of a study with one hostile name in it; the keys of all members."""
    signers = {name: Signer.new() for name in (*NAMES, CURATOR)}
    manifest = Manifest(
        name="flu <b>2026</b>",
        schema_text=json.dumps(SCHEMA),
        method="dpview",
        epsilon="1",
        delta=None,
        colluding=1,
        missing=0,
        purpose="how flu spreads",
        parties=tuple((name, signers[name].public) for name in NAMES),
        curator=signers[CURATOR].public,
    )
    write_manifest(folder / "consortium", manifest)
    for name, signer in signers.items():
        signer.save(folder / f"{name}.key")
        if name not in unsigned:
            add_signature(folder / "consortium", signer)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    for number, name in enumerate(NAMES):
        rows = [f"{str(row % 3 == number).lower()},{str(row % 2 == 0).lower()},{'abc'[row % 3]}" for row in range(200)]
        (folder / f"{name}.csv").write_text("\n".join([f'smoker,ill,"{HOSTILE}"', *rows]) + "\n")
    return manifest


def member(folder, *words, name):
    given = ["--consortium", "consortium", "--key", f"{name}.key", "--mailbox", "mail", "--work", f"{name}-work"]
    command = [sys.executable, "-m", "sfumato", *words, *given, "--poll", "0.2", "--patience", "300", "--log", "none"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdin=quiet, stdout=quiet, stderr=quiet, env=os.environ)


def test_a_round_is_approved_on_the_page_with_its_tables_and_cost(browser, tmp_path):
    studies = tmp_path / "studies"
    studies.mkdir()
    manifest = consortium(studies)
    processes = [member(studies, "curate", "--out", "release", name=CURATOR)]
    for name in NAMES:
        serve = ("party", "serve", "--data", f"{name}.csv", "--schema", "schema.json", "--name", name, "--epsilon", "1")
        approve = "wait" if name == "north" else "always"
        processes.append(member(studies, *serve, "--approve", approve, name=name))
    server = start_server(tmp_path / "work", None, "--studies", studies)
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    try:
        page.goto(server.address)
        page.get_by_role("link", name="flu <b>2026</b>").first.click()
        rounds, problems = 0, []
        while processes[0].poll() is None:
            page.reload()
            if page.get_by_role("button", name="Approve and send").count():
                if not rounds:
                    text = page.locator(".waits").inner_text()
                    assert "standard deviation" in text
                    assert "epsilon 0 before" in text
                    expect(page.locator("img")).to_have_count(0)
                    look_at(page, "study", problems)
                    token = page.locator("input[name=form_token]").first.input_value()
                    stale = {
                        "form_token": token,
                        "member": "0",
                        "digest": "0" * 64,
                        "decision": "approve",
                        "person": "Eve",
                    }
                    path = f"{server.origin}/study/{manifest.study}/answer"
                    answer = page.request.post(path, form=stale, headers={"origin": server.origin})
                    assert "not waiting any more" in answer.text()
                page.get_by_label("Your name").fill("Ann Steward")
                page.get_by_role("button", name="Approve and send").click()
                rounds += 1
            page.wait_for_timeout(300)
        assert [process.wait(60) for process in processes] == [0] * 4
        assert rounds >= 1
        assert problems == []
        page.reload()
        expect(page.get_by_role("region", name="Rounds of north").get_by_text("north, south, west")).to_have_count(
            rounds
        )
        assert "Ann Steward" in (studies / "north-work" / "audit.jsonl").read_text()
    finally:
        for process in processes:
            process.kill()
            process.wait()
        context.close()
        server.stop()


def test_a_study_says_who_has_not_signed(browser, tmp_path):
    studies = tmp_path / "studies"
    studies.mkdir()
    consortium(studies, unsigned=("west",))
    server = start_server(tmp_path / "work", None, "--studies", studies)
    context = browser.new_context()
    page = context.new_page()
    try:
        page.goto(server.address)
        page.get_by_text("1 of 4 have not signed").wait_for()
        page.get_by_role("link", name="flu <b>2026</b>").click()
        assert page.get_by_role("row", name="west").inner_text().split("\t")[-1].strip() == "has not signed"
    finally:
        context.close()
        server.stop()
