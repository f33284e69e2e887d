"""What an operator meets: wrong certificates and clocks, proxies, full disks, lost folders, IPv6, idle connections."""

import contextlib
import shutil
import socket
import ssl
import threading
import time

import httpx
import pytest
from helpers_consortium import NAMES, certificates, manifest_of, new_signers, share_of
from helpers_study import Parties, check_outcome, folder, study

from sfumato.errors import FileError, ProtocolError, TryAgain
from sfumato.parties.authority import write_certificates
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.https import Reception, listening
from sfumato.parties.https_mailbox import HttpsMailbox
from sfumato.parties.letters import CURATOR
from sfumato.parties.study import Waiting

__all__ = ["folder", "study"]  # the fixtures


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    place = tmp_path_factory.mktemp("tls")
    certificates(place)
    return place


@contextlib.contextmanager
def curator(study, tls, host="127.0.0.1", name=CURATOR, mail="mail", list_id="a"):
    box = FolderMailbox(study.folder / mail, study.manifest)
    reception = Reception(box, study.manifest, list_id)
    with listening(reception, study.manifest, host, 0, TlsFiles(tls / name)) as port:
        yield reception, port


@contextlib.contextmanager
def party(study, url, files, patience=30, said=None):
    told = [] if said is None else said
    box = HttpsMailbox(url, study.manifest.study, files, patience, sleep=lambda _: None, told=told.append)
    with contextlib.closing(box):
        yield box


def test_a_certificate_that_the_curator_does_not_accept_ends_at_once(study, tls, tmp_path, monkeypatch):
    # The party trusts the curator, and has a certificate of another authority itself.
    write_certificates(tmp_path / "other", ["north", CURATOR], CURATOR, ["localhost"])
    shutil.copy(tls / "north" / "authority.pem", tmp_path / "other" / "north" / "authority.pem")
    files = TlsFiles(tmp_path / "other" / "north")
    with pytest.raises(ProtocolError, match="was made by another authority"):
        files.context(server=False)
    monkeypatch.setattr(TlsFiles, "check", lambda self: None)
    with (
        curator(study, tls) as (_, port),
        party(study, f"https://localhost:{port}", files, patience=1000) as box,
        pytest.raises(ProtocolError, match="does not accept the certificate of this party"),
    ):
        box.fetch("north", 0)


class CutOff(httpx.SyncByteStream):
    def __iter__(self):
        yield b"half"
        raise httpx.ReadError("reset")


def broken(error, *, begun):
    def answer(request):
        if begun:
            return httpx.Response(200, stream=CutOff())
        raise error

    return httpx.Client(transport=httpx.MockTransport(answer))


@pytest.mark.parametrize(
    "error", [httpx.RemoteProtocolError("end"), httpx.ReadError("pipe"), httpx.WriteError("reset")]
)
def test_connections_closed_without_a_word_end_the_study_however_that_is_said(study, tls, error, monkeypatch):
    # The curator's server sends no alert when it refuses a certificate, and what TCP then says is a matter of timing.
    with party(study, "https://localhost:1", TlsFiles(tls / "north"), patience=1000) as box:
        box.close()
        monkeypatch.setattr(box, "_client", broken(error, begun=False))
        with pytest.raises(ProtocolError, match=r"does not accept the certificate .* closed 5 connections"):
            box.fetch("north", 0)
        monkeypatch.setattr(box, "_client", broken(error, begun=True))  # who has begun to answer has let this party in
        with pytest.raises(TryAgain, match="has not answered"):
            box.fetch("north", 0)


@pytest.mark.parametrize(("days", "words"), [(-400, "certificate has expired"), (400, "certificate is not yet valid")])
def test_a_certificate_of_another_time_is_named_as_such(study, tmp_path, days, words, monkeypatch):
    write_certificates(tmp_path / "old", [*NAMES, CURATOR], CURATOR, ["localhost"], begin_in_days=days)
    with pytest.raises(ProtocolError, match=f"{words}: it holds from .* the clock of this machine says"):
        TlsFiles(tmp_path / "old" / "north").context(server=False)
    monkeypatch.setattr(TlsFiles, "check", lambda self: None)  # only the other side's clock is wrong
    with (
        curator(study, tmp_path / "old") as (_, port),
        party(study, f"https://localhost:{port}", TlsFiles(tmp_path / "old" / "north")) as box,
        pytest.raises(ProtocolError, match=f"{words}.*clock"),
    ):
        box.fetch("north", 0)


def test_a_proxy_that_wants_a_password_ends_at_once(study, tls, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def refuse():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = proxy.accept()
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                    connection.close()

        threading.Thread(target=refuse, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "")
        with (
            party(study, "https://curator.example:8443", TlsFiles(tls / "north")) as box,
            pytest.raises(ProtocolError, match=r"proxy .*407"),
        ):
            box.fetch("north", 0)


def test_the_first_failed_try_is_told_and_so_is_that_it_works_again(study, tls):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    said = []
    with (
        party(study, f"https://localhost:{port}", TlsFiles(tls / "north"), patience=3, said=said) as box,
        pytest.raises(TryAgain, match="has not answered"),
    ):
        box.fetch("north", 0)
    assert len(said) == 1
    assert "no answer from the curator" in said[0]


def test_a_full_disk_at_the_curator_is_no_refusal(study, tls, monkeypatch):
    put, full = FolderMailbox.put, [True, True, False]

    def sometimes(self, envelope):
        if full.pop(0) if full else False:
            raise FileError("the mailbox cannot be written (No space left on device)")
        put(self, envelope)

    monkeypatch.setattr(FolderMailbox, "put", sometimes)
    message = share_of(study.manifest, study.signer("north"), "north")
    with (
        curator(study, tls) as (reception, port),
        party(study, f"https://localhost:{port}", TlsFiles(tls / "north")) as box,
    ):
        box.put(message)
        assert FolderMailbox(study.folder / "mail", study.manifest).fetch(CURATOR, 0) == [message]
        assert "No space left" in reception.trouble[0]


def test_a_file_that_cannot_be_written_is_a_file_error(study, tmp_path):
    (tmp_path / "curator").write_text("in the way")
    with pytest.raises(FileError, match=r"(cannot|could not) be written"):
        FolderMailbox(tmp_path, study.manifest).put(share_of(study.manifest, study.signer("north"), "north"))


@pytest.mark.parametrize("host", ["::1", "::"])
def test_ipv6(study, host, tmp_path):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    write_certificates(tmp_path / "tls", [*NAMES, CURATOR], CURATOR, ["::1", "127.0.0.1"])
    addresses = ["[::1]"] + (["127.0.0.1"] if host == "::" and socket.has_dualstack_ipv6() else [])
    with curator(study, tmp_path / "tls", host=host) as (_, port):
        for address in addresses:
            with party(study, f"https://{address}:{port}", TlsFiles(tmp_path / "tls" / "north")) as box:
                assert box.fetch("north", 0) == []


def test_a_curator_that_lost_its_folder_goes_on_with_parties_that_run_on(study, tls):
    # It is stopped after its first rounds, its folder is removed, and it is started again at the same address.
    lost, port = threading.Event(), 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def connected(name, stack):
        box = HttpsMailbox(f"https://localhost:{port}", study.manifest.study, TlsFiles(tls / name), 60)
        stack.callback(box.close)
        return box

    def start():
        journal = study.journal(CURATOR)
        box = FolderMailbox(study.folder / "curator-work" / "mailbox", study.manifest)
        reception = Reception(box, study.manifest, journal.identity)
        journal.close()
        return box, listening(reception, study.manifest, "127.0.0.1", port, TlsFiles(tls / CURATOR))

    class Stop(BaseException):
        pass

    class Stopping:
        """A mailbox of a curator that is stopped as soon as it would tell of the end of a round."""

        def __init__(self, box):
            self.box = box

        def put(self, envelope):
            if b'"done"' in envelope[:200]:
                raise Stop
            self.box.put(envelope)

        def fetch(self, recipient, seen):
            return self.box.fetch(recipient, seen)

    with Parties(study, connected) as parties:
        box, serving = start()
        with serving, pytest.raises(Stop):
            study.curate(Stopping(box))
        shutil.rmtree(study.folder / "curator-work")
        lost.set()
        box, serving = start()
        with serving:
            release = study.curate(box, Waiting(0.02, 60))
            time.sleep(1)
    check_outcome(study, release, parties.statements)


def test_a_member_cannot_take_all_connections(study, tls, monkeypatch):
    monkeypatch.setattr("sfumato.parties.https.MOST_CONNECTIONS", 3)
    with curator(study, tls) as (_, port), contextlib.ExitStack() as held:
        context = TlsFiles(tls / "south").context(server=False)
        ones = []
        for _ in range(8):
            plain = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            ones.append(held.enter_context(context.wrap_socket(plain, server_hostname="localhost")))
            with contextlib.suppress(OSError):
                ones[-1].sendall(b"GET / HT")  # half a header
        with party(study, f"https://localhost:{port}", TlsFiles(tls / "north")) as box:
            assert box.fetch("north", 0) == []
        for one in ones[3:]:
            one.settimeout(60)  # a limit for a busy machine: what is closed says so at once
            with contextlib.suppress(ConnectionError, ssl.SSLError):  # cut off: an end, or a reset
                assert one.recv(1) == b""
        for one in ones[:3]:
            one.setblocking(False)
            with pytest.raises(ssl.SSLWantReadError):  # open, and waited for
                one.recv(1)


def test_a_connection_that_says_nothing_is_closed(study, tls, monkeypatch):
    monkeypatch.setattr("sfumato.parties.https.REQUEST_SECONDS", 0.3)
    with curator(study, tls) as (_, port):
        context = TlsFiles(tls / "south").context(server=False)
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as one:
            one.sendall(b"GET / HT")
            one.settimeout(20)
            with contextlib.suppress(OSError):  # cut off: an end, or a reset
                assert one.recv(1) == b""


def test_a_stranger_who_shows_no_certificate_is_cut_off(study, tls, monkeypatch):
    monkeypatch.setattr("sfumato.parties.https.HANDSHAKE_SECONDS", 0.3)
    with curator(study, tls) as (_, port), socket.create_connection(("127.0.0.1", port)) as one:
        one.settimeout(30)  # asyncio's own limit is 60 seconds
        with contextlib.suppress(ConnectionError):  # cut off: an end, or a reset
            assert one.recv(1) == b""


def test_refusals_are_in_the_log_while_they_come(study, tls):
    forged = share_of(manifest_of(new_signers(), name="cough"), study.signer("north"), "north")
    box = FolderMailbox(study.folder / "mail", study.manifest)
    reception = Reception(box, study.manifest)
    for number in range(30):
        assert reception.take("north", f"{number:064}", 0, 1, forged)[0] == 400
    with pytest.raises(ProtocolError, match="no answer"):
        study.curate(box, Waiting(0.01, 0.05), refusals=reception.drain)
    log = (study.folder / "curator-work" / "audit.jsonl").read_text()
    assert log.count("a message is not the one that its hash names") == 1
    assert '"times": 30' in log
