"""What those who run a study need: status, ledgers, health, logs, configuration, exit codes, dry runs."""

import contextlib
import json
import socket
import threading
import urllib.error
import urllib.request

import pytest
from helpers_consortium import NAMES, certificates
from helpers_study import Parties, folder, refused, sfumato, study

from sfumato.cli.parties_options import log_of
from sfumato.errors import ProtocolError, StudyEnded
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.health import reporting
from sfumato.parties.https_mailbox import HttpsMailbox
from sfumato.parties.letters import CURATOR
from sfumato.parties.receipts import check_everybody, check_receipt, receipt
from sfumato.parties.rehearsal import Rehearsal, rehearsing_seat
from sfumato.parties.study import Waiting, attend, open_journal
from sfumato.parties.watch import STALE, Watch, read_status

__all__ = ["folder", "study"]  # the fixtures


def curate(study, *more, **changes):
    options = {
        "consortium": study.folder / "consortium",
        "key": study.folder / "consortium" / "curator.key",
        "out": study.folder / "release",
        "mailbox": study.folder / "mail",
        "work": study.folder / "curator-work",
        "patience": 60,
        "poll": 0.02,
        "seed": 1,
    } | changes
    given = [text for option, value in options.items() if value is not None for text in (f"--{option}", value)]
    return sfumato("curate", *given, *more)


def by_folder(study):
    return lambda name, stack: FolderMailbox(study.folder / "mail", study.manifest)


def test_status_and_ledger_of_a_study_that_is_over(study):
    with Parties(study, by_folder(study)):
        result = curate(study, "--log", "json")
    assert result.exit_code == 0, result.output
    for group, work in (("curate", "curator-work"), ("party", "north-work")):
        shown = sfumato(group, "status", study.folder / work, "--json")
        assert shown.exit_code == 0, shown.output
        found = json.loads(shown.stdout)
        assert {one["state"] for one in found["rounds"]} == {"opened"}
        assert sfumato(group, "status", study.folder / work).exit_code == 0
    assert (
        json.loads(sfumato("curate", "status", study.folder / "curator-work", "--json").stdout)["state"] == "finished"
    )
    shown = sfumato(
        "party", "ledger", study.folder / "north-work", "--consortium", study.folder / "consortium", "--json"
    )
    found = json.loads(shown.stdout)
    assert 0 < found["spent"] <= 1000
    for parties in found["signed"].values():
        assert set(parties) == set(NAMES)
    assert "north: epsilon = 1000" in sfumato("party", "ledger", study.folder / "north-work").output
    refused(sfumato("party", "ledger", study.folder / "curator-work"), "no rows and no budget")
    refused(sfumato("party", "status", study.folder), "is not the work folder")


def test_a_receipt_in_which_anything_was_changed_is_refused(study):
    with Parties(study, by_folder(study)):
        study.curate(FolderMailbox(study.folder / "mail", study.manifest))
    journal = study.journal("north")
    whole = receipt(journal.load(0, 0))
    journal.close()
    signed = check_receipt(json.loads(json.dumps(whole)), study.manifest)
    assert set(signed) == set(NAMES)
    text = json.dumps(whole)
    for name in NAMES:
        for field in ("asked", "head", "vector_sha256"):
            value = signed[name][field]
            changed = text.replace(value, value[:-1] + ("0" if value[-1] != "0" else "1"))
            assert changed != text
            with pytest.raises(ProtocolError, match="signature that is wrong or missing"):
                check_receipt(json.loads(changed), study.manifest)
    with pytest.raises(ProtocolError, match="cannot be read"):
        check_receipt({"round": 0}, study.manifest)


def test_the_curator_shows_what_everybody_signed_and_nothing_can_be_left_out(study):
    with Parties(study, by_folder(study)):
        study.curate(FolderMailbox(study.folder / "mail", study.manifest))
    place = [study.folder / "curator-work", "--consortium", study.folder / "consortium"]
    result = sfumato("curate", "signatures", *place)
    assert result.exit_code == 0, result.output
    found = json.loads(sfumato("curate", "signatures", *place, "--json").stdout)
    assert f"{3 * len(found['rounds'])} signatures in" in result.output
    assert all(set(parties) == set(NAMES) for parties in found["signed"].values())
    whole = found["rounds"][0]
    assert check_everybody(whole, study.manifest) == found["signed"]["0.0"]
    text = json.dumps(whole)
    for facts in found["signed"]["0.0"].values():
        for value in facts.values():
            changed = json.loads(text.replace(value, value[:-1] + ("0" if value[-1] != "0" else "1")))
            with pytest.raises(ProtocolError, match="not all there, or not all right"):
                check_everybody(changed, study.manifest)
    for count in (1, 2):  # signatures that are left out
        roster, marks, *rest = whole["go"]
        fewer = dict(list(marks.items())[:count])
        with pytest.raises(ProtocolError, match="not all there, or not all right"):
            check_everybody({**whole, "go": [roster, fewer, *rest]}, study.manifest)
    refused(sfumato("curate", "signatures", study.folder / "north-work", *place[1:]), "is not the work folder of this")


def test_a_journal_can_be_read_while_its_process_runs(study):
    journal = study.journal("north")
    study.seat("north", journal)
    assert sfumato("party", "status", study.folder / "north-work", "--json").exit_code == 0
    assert sfumato("party", "ledger", study.folder / "north-work", "--json").exit_code == 0
    journal.close()


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    place = tmp_path_factory.mktemp("tls")
    certificates(place)
    return place


def test_parties_are_told_at_once_when_a_study_ends_in_an_error(study, tls):
    # Over HTTPS, with a patience of a day: north's operator says no, and the others hear of it.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ended = {}

    def take_part(name):
        box = HttpsMailbox(f"https://localhost:{port}", study.manifest.study, TlsFiles(tls / name), 86_400)
        with contextlib.closing(box):
            try:
                study.attend(name, box, approve=lambda summary: name != "north")
            except StudyEnded as problem:
                ended[name] = problem

    threads = [threading.Thread(target=take_part, args=(name,), daemon=True) for name in NAMES]
    for thread in threads:
        thread.start()
    result = curate(study, mailbox=None, listen=f"127.0.0.1:{port}", tls=tls / CURATOR, patience=86_400)
    for thread in threads:
        thread.join(60)
    assert set(ended) == set(NAMES)
    assert result.exit_code == 3, result.output
    assert "the operator of north did not approve" in result.output
    assert {problem.exit_code for problem in ended.values()} == {3}


def test_exit_codes_tell_what_to_do(study):
    assert study.serve(patience=0).exit_code == 75  # nobody is there: try again
    assert curate(study, patience=0).exit_code == 75
    assert study.serve(epsilon="0.5").exit_code == 2  # wrong input
    assert read_status(study.folder / "north-work")["state"] == "failed"
    assert read_status(study.folder / "north-work")["exit_code"] == 75


def test_options_come_from_a_file_and_the_command_line_counts_more(study):
    config = study.folder / "north.toml"
    where = study.folder
    config.write_text(
        f'data = "{where}/north.csv"\nschema = "{where}/schema.json"\nconsortium = "{where}/consortium"\n'
        f'name = "north"\nepsilon = "10000"\nkey = "{where}/consortium/north.key"\nmailbox = "{where}/mail"\n'
        f'work = "{where}/north-work"\napprove = "always"\npatience = 0\nlog = "json"\n'
    )
    result = sfumato("party", "serve", "--config", config)
    assert result.exit_code == 75, result.output
    assert json.loads(result.stderr.splitlines()[0])["event"] == "waiting for the curator"
    refused(sfumato("party", "serve", "--config", config, "--epsilon", "0.1"), "is allowed here")
    config.write_text("epsylon = 1\n")
    refused(sfumato("party", "serve", "--config", config), "epsylon", "is no option")
    config.write_text("= 1")
    refused(sfumato("party", "serve", "--config", config), "cannot be read as TOML")
    refused(sfumato("curate", "--config", study.folder / "nothing.toml"), "cannot be read")


def asked(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.headers["content-type"], answer.read().decode()
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, "", problem.read().decode()


def test_health_and_metrics():
    now = [1000.0]
    watch = Watch("north", "s", clock=lambda: now[0])
    watch.now("answering", round=2, attempt=0)
    watch.count("messages", 3)
    watch.gauge("spent_epsilon", 0.25)
    with reporting(watch, "127.0.0.1:0") as port:
        status, _, text = asked(port, "/healthz")
        assert (status, json.loads(text)["state"]) == (200, "answering")
        status, kind, text = asked(port, "/metrics")
        assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
        assert 'sfumato_messages_total{member="north",study="s"} 3' in text
        assert 'sfumato_spent_epsilon{member="north",study="s"} 0.25' in text
        assert 'sfumato_round{member="north",study="s"} 2' in text
        assert text.endswith("# EOF\n")
        assert asked(port, "/journal.sqlite")[0] == 404
        now[0] += STALE + 1
        assert asked(port, "/healthz")[0] == 503
        watch.alive()
        assert asked(port, "/healthz")[0] == 200
        watch.now("failed", reason="x")
        assert asked(port, "/healthz")[0] == 503


def test_a_log_has_a_line_for_each_change_and_is_json(capsys):
    watch = Watch("north", "s", log=log_of("json"))
    for _ in range(3):
        watch.now("waiting for the curator")
    watch.tell("no answer\x1b[2J\nfrom the curator", "warning")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["waiting for the curator", "no answer\\u001b[2J\\nfrom the curator"]
    assert {line["member"] for line in lines} == {"north"}


def test_a_dry_run_uses_the_real_way_and_spends_nothing(study):
    before = sorted(study.folder.iterdir())
    results = {}

    def rehearse(name):
        manifest = Rehearsal.of(study.manifest)
        assert manifest.study != study.manifest.study
        journal = open_journal(study.folder / f"{name}-dry", manifest, name, study.signer(name), "1000")
        seat = rehearsing_seat(manifest, name, study.signer(name), journal, lambda summary: True)
        results[name] = attend(seat, FolderMailbox(study.folder / "mail", manifest), journal, Waiting(0.02, 60))
        journal.close()

    threads = [threading.Thread(target=rehearse, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    result = curate(study, "--dry-run", out=None)
    for thread in threads:
        thread.join(60)
    assert result.exit_code == 0, result.output
    assert "nothing was spent" in result.output
    assert set(results) == set(NAMES)
    assert not (study.folder / "curator-work").exists()
    assert not (study.folder / "release").exists()
    after = [path for path in study.folder.iterdir() if path not in before]
    assert {path.name for path in after} == {"mail", *(f"{name}-dry" for name in NAMES)}
    # The study itself is not disturbed by what the dry run left in the shared folder.
    with Parties(study, by_folder(study)):
        assert curate(study).exit_code == 0


def test_a_dry_run_of_a_party_finds_a_table_that_does_not_fit(study):
    (study.folder / "north.csv").write_text("smoker,ill\ntrue,false\n")
    result = study.serve("--dry-run")
    refused(result, "ward")
    assert not (study.folder / "north-work").exists()


def test_what_a_signature_means_for_patients_of_two_hospitals_is_shown(study):
    shown = " ".join(sfumato("consortium", "check", study.folder / "consortium").output.split())
    assert "A person with rows at two of them is protected with twice the epsilon only" in shown
