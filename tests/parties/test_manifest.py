import json
import os
import pickle
import stat
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from helpers_consortium import manifest_of
from helpers_hostile import changes

from helpers_persons import schema_of
from sfumato.errors import BudgetError, FileError, MethodError, ProtocolError, SchemaError, SfumatoError
from sfumato.identity import Signer, verified
from sfumato.parties.audit import AuditLog, verify_log
from sfumato.parties.authority import write_certificates
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.consortium import add_signature, read_manifest, signature_problems, signed_manifest, write_manifest
from sfumato.parties.manifest import Manifest
from sfumato.recipes import RECIPES

SCHEMA = {"name": "clinic", "columns": [{"name": "smoker", "type": "boolean"}, {"name": "ill", "type": "boolean"}]}


@pytest.fixture
def signers():
    return {name: Signer.new() for name in ("north", "south", "west", "east", "curator")}


@pytest.fixture
def consortium(tmp_path, signers):
    """A folder that everybody has signed."""
    write_manifest(tmp_path, manifest_of(signers))
    for signer in signers.values():
        add_signature(tmp_path, signer)
    return tmp_path


def test_a_manifest_that_all_have_signed_is_accepted(consortium, signers):
    assert signed_manifest(consortium) == manifest_of(signers)
    assert signature_problems(consortium, manifest_of(signers)) == {}


CHANGES = {
    "name": "flu2",
    "schema_text": json.dumps(SCHEMA | {"name": "other"}),
    "method": "priview",
    "epsilon": "1.0000000001",
    "delta": "1e-9",
    "colluding": 2,
    "missing": 1,
    "parties": None,
    "curator": None,
    "max_parties_per_person": 2,
    "most_rows": 99_999_999,
    "purpose": "to plan beds",
    "contact": "study@clinic.example",
    "valid_until": "2100-01-01",
    "code": "0.0.1",
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_of_any_field_after_signing_is_seen(consortium, signers, field):
    other = Signer.new().public
    signed = manifest_of(signers)
    parties = (("north", other), *signed.parties[1:])
    value = {"parties": parties, "curator": other}.get(field, CHANGES[field])
    changed = replace(signed, **{field: value})
    (consortium / "consortium.json").write_text(json.dumps(changed.to_dict()))
    assert set(signature_problems(consortium, changed)) == set(changed.keys)
    with pytest.raises(ProtocolError, match="north signed something else"):
        signed_manifest(consortium)


def test_every_field_of_a_manifest_is_tried_above():
    assert set(CHANGES) == set(Manifest.__dataclass_fields__)


def test_a_schema_that_does_not_fit_its_hash_is_refused(consortium):
    record = json.loads((consortium / "consortium.json").read_text())
    record["schema_text"] = record["schema_text"].replace("ill", "well")
    (consortium / "consortium.json").write_text(json.dumps(record))
    with pytest.raises(ProtocolError, match="was changed"):
        read_manifest(consortium)


@pytest.mark.parametrize("key", ["format", "schema_sha256", "observed", "parties", "epsilon", "curator"])
def test_a_manifest_without_one_of_its_keys_is_refused(consortium, key):
    record = json.loads((consortium / "consortium.json").read_text())
    del record[key]
    (consortium / "consortium.json").write_text(json.dumps(record))
    with pytest.raises(ProtocolError, match="cannot be read"):
        read_manifest(consortium)


def test_a_manifest_with_a_key_too_many_or_of_another_format_is_refused(consortium):
    record = json.loads((consortium / "consortium.json").read_text())
    for change, words in (({"more": 1}, "cannot be read"), ({"format": 1}, "format 1")):
        (consortium / "consortium.json").write_text(json.dumps(record | change))
        with pytest.raises(ProtocolError, match=words):
            read_manifest(consortium)
    for text in ("[]", "{", "7"):
        (consortium / "consortium.json").write_text(text)
        with pytest.raises(ProtocolError, match="consortium init"):
            read_manifest(consortium)


def test_a_party_that_has_not_signed_is_named(consortium):
    (consortium / "signatures" / "south.json").unlink()
    with pytest.raises(ProtocolError, match=r"everybody: south has not signed\."):
        signed_manifest(consortium)


def test_one_party_cannot_sign_for_another(consortium):
    signatures = consortium / "signatures"
    (signatures / "south.json").write_text((signatures / "north.json").read_text())
    with pytest.raises(ProtocolError, match=r"everybody: south signed something else\."):
        signed_manifest(consortium)
    (signatures / "south.json").write_text("{}")
    with pytest.raises(ProtocolError, match="south has a signature file that cannot be read"):
        signed_manifest(consortium)


def test_a_stranger_cannot_sign(consortium):
    with pytest.raises(ProtocolError, match="is not in the manifest; members are north, south, west, east, curator"):
        add_signature(consortium, Signer.new())


def test_a_manifest_of_another_version_is_refused(tmp_path, signers):
    write_manifest(tmp_path, manifest_of(signers, code="0.0.1"))
    for signer in signers.values():
        add_signature(tmp_path, signer)
    with pytest.raises(ProtocolError, match=r"is for Sfumato 0\.0\.1"):
        signed_manifest(tmp_path)


def test_a_consortium_is_never_overwritten(consortium, signers):
    with pytest.raises(ProtocolError, match="has a consortium already"):
        write_manifest(consortium, manifest_of(signers))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colluding": 0}, "1 is the least"),
        ({"colluding": 4}, "nobody whose noise protects"),
        ({"missing": 3}, "nobody whose noise protects"),
        ({"missing": 2}, "from 8 parties on"),
        ({"missing": -1}, "nobody whose noise protects"),
    ],
)
def test_numbers_that_protect_nobody_are_refused(signers, change, words):
    with pytest.raises(ProtocolError, match=words):
        manifest_of(signers, **change)


def test_budgets_that_make_no_sense_are_refused(signers):
    with pytest.raises(BudgetError, match="epsilon is -1"):
        manifest_of(signers, epsilon="-1")
    with pytest.raises(BudgetError, match="needs a delta"):
        manifest_of(signers, method="privsyn")


@pytest.mark.parametrize("name", ["curator", "North", "", "a/b", "..", "x" * 41])
def test_names_that_could_be_mistaken_are_refused(signers, name):
    with pytest.raises(ProtocolError, match="cannot have this name"):
        manifest_of(signers, parties=((name, signers["north"].public), ("south", signers["south"].public)))


def test_names_and_keys_belong_to_one_member_each(signers):
    key = signers["north"].public
    for parties in ((("a", key), ("b", key)), (("a", key), ("a", signers["south"].public))):
        with pytest.raises(ProtocolError, match="one name or one key"):
            manifest_of(signers, parties=parties)
    with pytest.raises(ProtocolError, match="one name or one key"):
        manifest_of(signers, curator=key)


def test_a_private_key_is_readable_by_its_owner_only_and_is_never_shown(tmp_path):
    signer = Signer.new()
    signer.save(tmp_path / "key.pem")
    assert stat.S_IMODE(os.stat(tmp_path / "key.pem").st_mode) == 0o600
    again = Signer.load(tmp_path / "key.pem")
    assert again.public == signer.public
    assert verified(signer.public, again.sign(b"x"), b"x")
    assert (tmp_path / "key.pem").read_text().splitlines()[1] not in repr(signer)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(signer)
    with pytest.raises(FileError, match="never overwritten"):
        signer.save(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(0o640)
    with pytest.raises(ProtocolError, match="can be read by others"):
        Signer.load(tmp_path / "key.pem")


def test_what_is_no_key_is_refused(tmp_path):
    (tmp_path / "key.pem").write_text("hello")
    (tmp_path / "key.pem").chmod(0o600)
    with pytest.raises(ProtocolError, match="is not a private key"):
        Signer.load(tmp_path / "key.pem")
    with pytest.raises(ProtocolError, match="cannot be read"):
        Signer.load(tmp_path / "nothing.pem")
    assert not verified("zz", b"", b"")


def test_an_audit_log_is_chained_and_shows_every_change(tmp_path):
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    for number in range(3):
        log.record("sent", round=number)
    assert verify_log(path) == (3, log.head) == (AuditLog(path).length, AuditLog(path).head)
    lines = path.read_text().splitlines(keepends=True)
    tampered = [
        [lines[0], lines[1].replace('"round": 1', '"round": 7'), lines[2]],
        [lines[0], lines[2]],
        [lines[1], lines[0], lines[2]],
        [*lines, "{}\n"],
        [*lines, "[]\n"],
    ]
    for wrong in tampered:
        path.write_text("".join(wrong))
        with pytest.raises(ProtocolError, match="broken at line"):
            verify_log(path)
    path.write_text("".join(lines[:2]))
    assert verify_log(path)[1] != log.head  # a log without its end is whole, but its head is an old one


def test_a_line_that_was_cut_by_a_crash_is_removed(tmp_path):
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    log.record("asked")
    with path.open("a") as file:
        file.write('{"number": 2, "ha')
    again = AuditLog(path)
    assert (again.length, again.head) == (1, log.head)
    again.record("sent")
    assert verify_log(path) == (2, again.head)
    with pytest.raises(ProtocolError, match="cannot be read"):
        verify_log(tmp_path / "nothing.jsonl")


def test_certificates_are_private_and_never_overwritten(tmp_path):
    write_certificates(tmp_path, ["curator", "north"], "curator", ["localhost", "127.0.0.1"])
    files = TlsFiles(tmp_path / "north")
    assert stat.S_IMODE(os.stat(files.key).st_mode) == 0o600
    files.context(server=False)
    with pytest.raises(ProtocolError, match="never overwritten"):
        write_certificates(tmp_path, ["north"], "curator", [])
    files.certificate.write_text("no")
    with pytest.raises(ProtocolError, match="does not have a certificate"):
        files.context(server=False)
    files.key.chmod(0o644)
    with pytest.raises(ProtocolError, match="can be read by others"):
        files.context(server=False)


def test_a_manifest_in_which_anything_was_changed_is_refused_or_read(consortium):
    record = json.loads((consortium / "consortium.json").read_text())
    for name, changed in changes(record):
        if changed() == record:
            continue
        (consortium / "consortium.json").write_text(json.dumps(changed()))
        started = time.process_time()
        try:
            with suppress(SfumatoError):
                manifest = read_manifest(consortium)
                assert set(signature_problems(consortium, manifest)) == set(manifest.keys)
        except Exception as problem:
            raise AssertionError(name) from problem
        assert time.process_time() - started < 2, name


def test_a_schema_or_a_signature_in_which_anything_was_changed_is_refused_or_read(consortium, signers):
    for name, changed in changes(SCHEMA):
        with suppress(SfumatoError):
            assert manifest_of(signers, schema_text=json.dumps(changed())).schema, name
    manifest = read_manifest(consortium)
    file = consortium / "signatures" / "north.json"
    record = json.loads(file.read_text())
    texts = [json.dumps(changed()) for _, changed in changes(record)] + [
        "[" * 5000,
        "",
        "\ud800".encode(errors="replace").decode(),
    ]
    for text in texts:
        file.write_text(text)
        assert set(signature_problems(consortium, manifest)) <= {"north"}


def test_files_that_are_too_long_or_too_deep_are_not_read(consortium, monkeypatch):
    for text in ("[" * 100_000, '{"a":' * 50_000, "1" * 5000, " " * 1000):
        (consortium / "consortium.json").write_text(text)
        with pytest.raises(ProtocolError, match="is not JSON"):
            read_manifest(consortium)
    monkeypatch.setattr("sfumato.parties.manifest.LONGEST", 10)
    (consortium / "consortium.json").write_text(" " * 11)
    with pytest.raises(ProtocolError, match="is not JSON"):
        read_manifest(consortium)


@pytest.mark.parametrize(
    "name", ["x" * 101, "flu\x1b[2J", "flu\ncurator: signed", "\u202eulf", "flu     2026", "\ud800"]
)
def test_a_study_has_a_name_that_can_be_shown(signers, name):
    with pytest.raises(ProtocolError, match="give a name of one line"):
        manifest_of(signers, name=name)


def test_a_method_that_no_federation_can_run_is_refused_before_anybody_signs(consortium, signers, monkeypatch):
    for method in RECIPES:
        manifest_of(signers, method=method, delta="1e-9")
    monkeypatch.setattr("sfumato.parties.federation.OFFERS", frozenset())
    with pytest.raises(MethodError, match="method 'privbayes' "):
        manifest_of(signers, method="privbayes")
    text = (consortium / "consortium.json").read_text()
    (consortium / "consortium.json").write_text(text.replace('"dpview"', '"privbayes"'))
    for refuse in (read_manifest, signed_manifest, lambda folder: add_signature(folder, signers["north"])):
        with pytest.raises(MethodError, match="use one of auto, "):
            refuse(consortium)


def test_domains_that_were_observed_are_named_in_the_manifest_and_accepted_by_each_signature(tmp_path, signers):
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"][1]["domain_from"] = "observed"
    schema["accept_observed"] = [{"columns": ["ill"], "by": "A. Curator", "reason": "two words"}]
    write_manifest(tmp_path, manifest_of(signers, schema_text=json.dumps(schema)))
    record = json.loads((tmp_path / "consortium.json").read_text())
    assert record["observed"] == ["ill"]
    for signer in signers.values():
        with pytest.raises(SchemaError, match="the domain of ill was observed in the data"):
            add_signature(tmp_path, signer)
    assert not list((tmp_path / "signatures").iterdir())
    for signer in signers.values():
        add_signature(tmp_path, signer, accept_observed_domain=True)
    assert signed_manifest(tmp_path).schema.observed == ("ill",)
    for hidden in ([], ["smoker"], "ill", None):
        (tmp_path / "consortium.json").write_text(json.dumps(record | {"observed": hidden}))
        with pytest.raises(ProtocolError, match="does not name the domains"):
            read_manifest(tmp_path)


def test_the_papers_own_mode_is_refused_on_a_network(signers):
    with pytest.raises(MethodError, match="method 'dp-subn-faithful' is unknown"):
        manifest_of(signers, method="dp-subn-faithful")


def test_no_manifest_can_want_persons_counted(signers):
    """One person may have rows at several parties, so nobody is asked to sign such a study."""
    text = json.dumps(schema_of().to_dict())
    with pytest.raises(MethodError, match="one person may have rows at several"):
        manifest_of(signers, schema_text=text)
