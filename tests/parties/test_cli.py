"""The commands of a consortium, and what they refuse."""

import json
import os
import re
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from helpers_consortium import NAMES, SCHEMA, certificates, manifest_of, new_signers
from helpers_study import Study, folder, refused, sfumato, study

from sfumato.errors import BudgetError, ProtocolError
from sfumato.identity import Signer
from sfumato.parties.envelopes import seal
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.letters import CURATOR
from sfumato.parties.messages import Ask
from sfumato.parties.questions import Question
from sfumato.parties.study import open_journal
from sfumato.privacy.mechanisms import Laplace
from sfumato.release import Release
from sfumato.survey import simulate

__all__ = ["folder", "study"]  # the fixtures


def test_a_consortium_agrees_on_the_command_line(folder):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    keys = {}
    for name in (*NAMES, CURATOR):
        result = sfumato("consortium", "key", folder / f"{name}.key")
        keys[name] = result.output.strip()
        assert re.fullmatch("[0-9a-f]{64}", keys[name])
        assert os.stat(folder / f"{name}.key").st_mode & 0o077 == 0
    parties = [text for name in NAMES for text in ("--party", f"{name}={keys[name]}")]
    common = ["--name", "flu", "--schema", folder / "schema.json", "--epsilon", "1", "--key", folder / "curator.key"]
    result = sfumato("consortium", "init", folder / "c", *common, *parties, "--method", "dpview")
    assert result.exit_code == 0, result.output
    refused(sfumato("consortium", "check", folder / "c"), "north has not signed", "curator: signed")
    for name in NAMES:
        result = sfumato("consortium", "sign", folder / "c", "--key", folder / f"{name}.key")
        assert f"{name} has signed" in result.output
        assert keys[name] in result.output
    result = sfumato("consortium", "check", folder / "c", "--json")
    assert result.exit_code == 0
    assert set(json.loads(result.output)["signatures"].values()) == {"signed"}
    text = (folder / "c" / "consortium.json").read_text()
    (folder / "c" / "consortium.json").write_text(text.replace('"epsilon": "1"', '"epsilon": "2"'))
    refused(sfumato("consortium", "check", folder / "c"), "west signed something else", "not signed by everybody")
    private = (folder / "north.key").read_text().splitlines()[1]
    assert private not in result.output
    result = sfumato("consortium", "certificates", folder / "c", "--host", "localhost", "--out", folder / "tls")
    assert sorted(path.name for path in (folder / "tls").iterdir()) == sorted((*NAMES, CURATOR))


def test_domains_that_were_observed_are_shown_before_every_signature(folder):
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"][2]["domain_from"] = "observed"
    schema["accept_observed"] = [{"columns": ["ward"], "by": "A. Curator", "reason": "wards are on the web site"}]
    (folder / "schema.json").write_text(json.dumps(schema))
    members = (*NAMES, CURATOR)
    keys = {name: sfumato("consortium", "key", folder / f"{name}.key").output.strip() for name in members}
    parties = [text for name in NAMES for text in ("--party", f"{name}={keys[name]}")]
    common = ["--name", "flu", "--schema", folder / "schema.json", "--epsilon", "1", "--key", folder / "curator.key"]
    init = ["consortium", "init", folder / "c", *common, *parties, "--method", "dpview"]
    refused(sfumato(*init), "the domain of ward was observed")
    assert not (folder / "c").exists()
    shown = "ward: no noise covers them"
    assert shown in sfumato(*init, "--accept-observed-domain").output
    for name in NAMES:
        sign = ["consortium", "sign", folder / "c", "--key", folder / f"{name}.key"]
        refused(sfumato(*sign), shown, "the domain of ward was observed", "--accept-observed-domain")
        assert not (folder / "c" / "signatures" / f"{name}.json").exists()
        assert f"{name} has signed" in sfumato(*sign, "--accept-observed-domain").output
    assert shown in sfumato("consortium", "check", folder / "c").output
    assert json.loads(sfumato("consortium", "check", folder / "c", "--json").output)["observed"] == ["ward"]


def test_an_operator_is_told_which_domains_no_noise_covers(folder):
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"][2]["domain_from"] = "observed"
    schema["accept_observed"] = [{"columns": ["ward"], "by": "A. Curator", "reason": "wards are on the web site"}]
    study = Study(folder, schema_text=json.dumps(schema), accept_observed_domain=True)
    (folder / "schema.json").write_text(json.dumps(schema))
    ask = Ask(0, 0, CURATOR, "north", "learn", "[]", (Question(("ward",), Laplace(Fraction(8))),))
    FolderMailbox(folder / "mail", study.manifest).put(seal(ask, study.manifest.study, study.signer(CURATOR)))
    result = study.serve(approve="ask", typed="n\n")
    assert " ".join(result.output.split()).count("No noise covers the values of ward") == 2  # at the start, and here
    journal = study.journal("north")
    assert "except that the domain of ward was read from the data" in journal.statement().sentence()
    journal.close()


def test_a_method_that_is_none_is_refused_by_init(folder):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    sfumato("consortium", "key", folder / "curator.key")
    parties = [text for name in NAMES for text in ("--party", f"{name}={Signer.new().public}")]
    common = ["--name", "flu", "--schema", folder / "schema.json", "--epsilon", "1", "--key", folder / "curator.key"]
    refused(sfumato("consortium", "init", folder / "c", *common, *parties, "--method", "privtrees"), "privbayes")
    assert not (folder / "c").exists()


def test_a_consortium_cannot_be_made_of_nonsense(folder):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    sfumato("consortium", "key", folder / "curator.key")
    refused(sfumato("consortium", "key", folder / "curator.key"), "never overwritten")
    common = ["--name", "flu", "--schema", folder / "schema.json", "--key", folder / "curator.key"]
    for given, words in (
        (["--epsilon", "1", "--party", "north", "--method", "dpview"], "wanted is NAME=KEY"),
        (["--epsilon", "1", "--party", "north=12", "--method", "dpview"], "64 hexadecimal digits"),
        (["--epsilon", "0", "--party", f"north={Signer.new().public}", "--method", "dpview"], "nobody whose noise"),
        (["--epsilon", "1", "--party", f"north={Signer.new().public}", "--method", "magic"], "nobody whose noise"),
    ):
        refused(sfumato("consortium", "init", folder / "c", *common, *given), words)
    assert not (folder / "c").exists()


def test_nothing_is_sent_before_everybody_has_signed_the_manifest_as_it_is(study):
    (study.folder / "consortium" / "signatures" / "south.json").unlink()
    refused(study.serve(), "south has not signed")
    out = study.folder / "release"
    options = ["--consortium", study.folder / "consortium", "--key", study.folder / "consortium" / "curator.key"]
    refused(sfumato("curate", *options, "--out", out, "--mailbox", study.folder / "mail"), "south has not signed")
    assert not (study.folder / "mail").exists()
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": "999"}, "may cost epsilon 1000, and 999 is allowed here"),
        ({"epsilon": "much"}, "epsilon is 'much'"),
        ({"name": "south"}, "belongs to 'north' and not to 'south'"),
        ({"approve": "maybe"}, "give ask, wait or always"),
        ({"mailbox": None}, "say how messages travel"),
        ({"url": "https://localhost:1"}, "say how messages travel"),
        ({"mailbox": None, "url": "https://localhost:1"}, "say how messages travel"),
        ({"poll": "0"}, "give numbers above 0"),
    ],
)
def test_a_party_that_cannot_take_part_is_told_why(study, changes, words):
    refused(study.serve(**changes), words)


def test_a_party_whose_curator_is_away_is_told_to_try_again(study):
    refused(study.serve(), "nothing has come from the curator for 0 seconds", code=75)


def test_a_party_must_have_the_schema_of_the_manifest(study):
    other = SCHEMA | {"columns": SCHEMA["columns"][:2]}
    (study.folder / "other.json").write_text(json.dumps(other))
    refused(study.serve(schema=study.folder / "other.json"), "not the one in the manifest")


def test_https_without_its_packages_is_explained(study, monkeypatch):
    monkeypatch.setattr("sfumato.cli.parties_options.find_spec", lambda name: None)
    refused(study.serve(mailbox=None, url="https://localhost:1", tls=study.folder), "install sfumato[parties]")


def test_the_curator_runs_the_method_that_was_signed(study):
    options = ["--consortium", study.folder / "consortium", "--key", study.folder / "consortium" / "curator.key"]
    options += ["--out", study.folder / "release", "--work", study.folder / "work"]
    mail = ["--mailbox", study.folder / "mail"]
    refused(sfumato("curate", *options, *mail, "--method", "priview"), "signed for method 'dpview'")
    refused(sfumato("curate", *options), "give --listen and --tls")
    certificates(study.folder / "tls")
    listening_badly = ["--listen", "8443", "--tls", study.folder / "tls" / CURATOR]
    refused(sfumato("curate", *options, *listening_badly), "give HOST:PORT")
    refused(sfumato("curate", *options, *mail, "--patience", "0"), "cannot go on without north (no answer)", code=75)
    north = ["--consortium", study.folder / "consortium", "--key", study.folder / "consortium" / "north.key"]
    refused(sfumato("curate", *north, *options[4:], *mail), "belongs to 'north' and not to 'curator'")


def test_an_audit_log_is_checked_on_the_command_line(study):
    with closing(study.journal("north")) as journal:
        journal.note("hello")
    work = study.folder / "north-work"
    result = sfumato("party", "audit", work)
    assert "1 lines, an unbroken chain" in result.output
    (work / "audit.jsonl").write_text((work / "audit.jsonl").read_text().replace("hello", "hullo"))
    refused(sfumato("party", "audit", work), "broken at line 1")


def test_a_manifest_of_another_study_has_another_journal(study):
    study.journal("north").close()
    other = replace(study.manifest, name="cough")
    with pytest.raises(ProtocolError, match="has study"):
        open_journal(study.folder / "north-work", other, "north", study.signer("north"), "1000")
    with pytest.raises(BudgetError, match="may cost epsilon 1000"):
        open_journal(study.folder / "x", study.manifest, "north", study.signer("north"))
    assert manifest_of(new_signers()).study != study.manifest.study


def test_the_demonstration_plays_it_all_with_real_processes(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.survey.simulate", lambda: simulate(600))
    result = sfumato("demo", "--parties", "2", "--out", tmp_path / "release", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    guarantee = Release.load(tmp_path / "release").ledger.guarantee
    assert guarantee == {"epsilon": pytest.approx(1, abs=1e-6), "delta": 0}
    assert guarantee["epsilon"] <= 1
    assert report["spent"] == {"north": guarantee, "south": guarantee}
    assert sum(row["bytes_from_party"] for row in report["traffic"]) > 1000
    refused(sfumato("demo", "--parties", "1", "--out", tmp_path / "other"), "2 to 10")
