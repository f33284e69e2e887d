"""Signatures, the program for outsiders, and the commands."""

import base64
import json
import subprocess
import sys
from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from helpers_release import Forger, released
from sfumato.cli import app
from sfumato.errors import ReleaseError
from sfumato.identity import Signer
from sfumato.privacy.accountant import gaussian_delta
from sfumato.privacy.conversions import gaussian_of_pure
from sfumato.privacy.mechanisms import NOISES
from sfumato.privacy.scores import GRID, SCORES
from sfumato.release import standalone
from sfumato.release.manifest import ENVELOPE, write_manifest
from sfumato.verify import Result, verify
from sfumato.verify.signing import sign, signers


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    folder = released(tmp_path_factory.mktemp("signed") / "release", "dpview", rows=20)
    signer = Signer.new()
    assert sign(folder, signer) == signer.public
    return folder, signer


def signature(verdict):
    return next(one.result for one in verdict.findings if one.check == "signature")


def alone(folder, key=None):
    return {name: passed for name, passed, _ in standalone.check(str(folder), key)}["signature"]


def test_a_signature_is_right_by_its_key_and_by_no_other(signed):
    folder, signer = signed
    other = Signer.new().public
    assert signature(verify(folder, signer.public.upper())) is Result.PASSED
    assert signature(verify(folder, other)) is Result.FAILED
    assert signature(verify(folder)) is Result.NOT_CHECKED
    assert (alone(folder, signer.public), alone(folder, other), alone(folder)) == (True, False, None)


def test_a_release_that_was_changed_and_given_a_new_manifest_has_no_right_signature(signed, tmp_path):
    folder, signer = signed
    forged = Forger(folder, tmp_path).rewritten("synthetic.csv", lambda text: text + b"1,f,true,a\n")
    for key in (None, signer.public):
        assert signature(verify(forged, key)) is Result.FAILED
        assert alone(forged, key) is False
    (forged / ENVELOPE).unlink()
    assert signature(verify(forged)) is Result.NOT_CHECKED
    assert signature(verify(forged, signer.public)) is Result.FAILED
    assert alone(forged, signer.public) is False


@pytest.mark.parametrize(
    "change",
    [
        lambda envelope: envelope | {"payloadType": "text/plain"},
        lambda envelope: envelope | {"payload": base64.b64encode(b"{}").decode()},
        lambda envelope: envelope | {"signatures": []},
        lambda envelope: envelope | {"signatures": 3},
        lambda envelope: envelope | {"signatures": [{"keyid": "00" * 32, "sig": envelope["signatures"][0]["sig"]}]},
        lambda envelope: envelope | {"signatures": [envelope["signatures"][0] | {"sig": "!"}]},
        lambda envelope: envelope | {"signatures": [envelope["signatures"][0] | {"sig": "AAAA"}]},
        lambda envelope: [envelope],
    ],
)
def test_a_changed_envelope_is_noticed(change, signed, tmp_path):
    folder, signer = signed
    forged = Forger(folder, tmp_path).changed(ENVELOPE, change, manifest=False)
    assert signature(verify(forged, signer.public)) is Result.FAILED
    assert alone(forged, signer.public) is False


def test_several_persons_can_sign_and_nobody_signs_what_was_changed(signed, tmp_path):
    folder, first = signed
    copy = Forger(folder, tmp_path).copy()
    second = Signer.new()
    sign(copy, second)
    sign(copy, second)
    assert signers(copy) == (first.public, second.public)
    for one in (first, second):
        assert signature(verify(copy, one.public)) is Result.PASSED
        assert alone(copy, one.public) is True
    (copy / "synthetic.csv").write_text("age\n")
    with pytest.raises(ReleaseError, match="not those of its manifest"):
        sign(copy, second)
    write_manifest(copy)
    with pytest.raises(ReleaseError, match="damaged"):
        sign(copy, second)


@settings(max_examples=20)
@given(message=st.binary(max_size=100), place=st.integers(0, 127 * 8))
def test_the_signatures_of_the_program_for_outsiders_are_those_of_the_library(message, place):
    signer = Signer.new()
    public, signed = bytes.fromhex(signer.public), signer.sign(message)
    assert standalone.ed25519(public, signed, message)
    both = bytearray(signed + public + message)
    both[place // 8 % len(both)] ^= 1 << place % 8
    assert not standalone.ed25519(bytes(both[64:96]), bytes(both[:64]), bytes(both[96:]))


@settings(max_examples=60)
@given(epsilon=st.floats(1e-4, 50), mu=st.floats(1e-4, 12))
def test_the_integral_of_the_program_for_outsiders_is_the_delta_of_the_accountant(epsilon, mu):
    exact = gaussian_delta(epsilon, mu)
    assert standalone.hockey_stick(epsilon, mu) == pytest.approx(exact, rel=1e-7, abs=1e-30)


@settings(max_examples=60)
@given(st.fractions(Fraction(1, 1000), 500))
def test_costs_and_constants_of_the_program_for_outsiders_are_ours(epsilon):
    assert float(standalone.of_pure(epsilon)) == pytest.approx(float(gaussian_of_pure(epsilon)), rel=1e-6)
    assert standalone.GRID == GRID
    assert {name: (one.added, one.replaced, one.rounding) for name, one in SCORES.items()} == standalone.SCORES
    assert {kind: one.width_name for kind, one in NOISES.items()} == standalone.WIDTHS
    for kind, one in NOISES.items():
        if epsilon > Fraction(1, 100):
            assert standalone.variance(kind, float(epsilon)) == pytest.approx(one(epsilon).variance, rel=1e-9)


def test_the_program_for_outsiders_runs_without_any_package(signed):
    folder, signer = signed
    command = [sys.executable, "-I", "-S", str(folder / "verify.py"), "--key", signer.public]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("passed") == 5
    nothing = subprocess.run([*command, str(folder / "model")], capture_output=True, text=True, check=False)
    assert nothing.returncode == 2


def test_a_text_of_a_stranger_cannot_fake_a_line_of_the_program_for_outsiders(signed, tmp_path):
    folder, _ = signed
    forged = Forger(folder, tmp_path).changed("ledger.json", lambda one: one | {"protects": "me\x1b[2J\npassed  all"})
    command = [sys.executable, "-I", "-S", str(forged / "verify.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "\x1b" not in done.stdout
    assert "\npassed  all" not in done.stdout


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_commands_make_a_key_sign_and_verify(signed, tmp_path):
    copy = Forger(signed[0], tmp_path).copy()
    public = run("key", tmp_path / "steward.key").stdout.strip()
    assert run("sign", copy, "--key", tmp_path / "steward.key").exit_code == 0
    done = run("verify", copy, "--key", public, "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["consistent"]) == (0, True)
    assert {"check": "signature", "result": "passed", "detail": f"signed by {public}"} in found["checks"]
    assert len(found["cannot_be_shown"]) == 5


def test_the_exit_code_tells_a_wrong_release_from_wrong_input(signed, tmp_path):
    copy = Forger(signed[0], tmp_path).copy()
    (copy / "synthetic.csv").write_text("age\n")
    done = run("verify", copy)
    assert done.exit_code == 4
    assert "NOT consistent" in done.stdout
    assert json.loads(run("verify", copy, "--json").stdout)["consistent"] is False
    assert run("verify", tmp_path / "nothing").exit_code == 2
    assert run("verify", copy, "--key", "zz").exit_code == 2


def test_a_run_can_sign_its_release_and_needs_a_key_that_can_be_read(tmp_path, signed):
    (tmp_path / "rows.csv").write_text("sex\n" + "f\nm\n" * 50)
    schema = {"name": "x", "columns": [{"name": "sex", "type": "categorical", "categories": ["f", "m"]}]}
    (tmp_path / "x.json").write_text(json.dumps(schema))
    public = run("key", tmp_path / "steward.key").stdout.strip()
    arguments = ("synthesize", tmp_path / "rows.csv", "--schema", tmp_path / "x.json", "--epsilon", 1)
    arguments += ("--method", "dpview", "--out", tmp_path / "release", "--sign")
    assert run(*arguments, tmp_path / "none.key").exit_code == 2
    assert not (tmp_path / "release").exists()
    assert run(*arguments, tmp_path / "steward.key").exit_code == 0
    assert signers(tmp_path / "release") == (public,)


def test_square_roots_of_costs_are_what_the_proof_says():
    # One Gaussian of mu = 1 is (1, 0.12693…)-DP: Dong, Roth and Su (2022), Corollary 1.
    assert standalone.hockey_stick(1.0, sqrt(2 * 0.5)) == pytest.approx(0.12693674, abs=1e-8)
