import contextlib
import hashlib
import socket
import ssl

import httpx
import pytest
from helpers_consortium import certificates, manifest_of, new_signers, share_of

from sfumato.errors import ProtocolError
from sfumato.parties.authority import write_certificates
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.envelopes import seal
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.https import CHUNK, MOST_PARTS, Reception, listening, owner, serving
from sfumato.parties.https_mailbox import HttpsMailbox
from sfumato.parties.messages import Done


@pytest.fixture(scope="module")
def signers():
    return new_signers()


@pytest.fixture(scope="module")
def manifest(signers):
    return manifest_of(signers)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    certificates(folder)
    return folder


class Curator:
    """A listening curator: its mailbox, its reception, and ways to reach it."""

    def __init__(self, folder, manifest, tls):
        self.manifest, self.tls = manifest, tls
        self.mailbox = FolderMailbox(folder, manifest)
        self.reception = Reception(self.mailbox, manifest)
        self.clients = contextlib.ExitStack()

    def client(self, name="north", study=None, tls=None):
        files = TlsFiles((tls or self.tls) / name)
        mailbox = HttpsMailbox(self.url, study or self.manifest.study, files, patience=0)
        self.clients.callback(mailbox.close)
        return mailbox

    def put(self, path, content, name="north"):
        with httpx.Client(verify=TlsFiles(self.tls / name).context(server=False)) as client:
            return client.put(f"{self.url}/{self.manifest.study}{path}", content=content)

    def get(self, path, name="north"):
        with httpx.Client(verify=TlsFiles(self.tls / name).context(server=False)) as client:
            return client.get(f"{self.url}/{path}")


@pytest.fixture
def curator(tmp_path, manifest, tls):
    found = Curator(tmp_path, manifest, tls)
    with listening(found.reception, manifest, "127.0.0.1", 0, TlsFiles(tls / "curator")) as port:
        found.url = f"https://localhost:{port}"
        with found.clients:
            yield found


def whole(envelope):
    return f"/messages/{hashlib.sha256(envelope).hexdigest()}/0/1"


def test_messages_go_both_ways_in_parts_that_every_proxy_lets_through(curator, manifest, signers):
    party = curator.client()
    small = share_of(manifest, signers["north"], "north")
    large = share_of(manifest, signers["north"], "north", cells=3 * CHUNK // 8 + 5, round_=2)
    party.put(small)
    party.put(large)
    assert curator.mailbox.fetch("curator", 0) == [small, large]
    to_north = share_of(manifest, signers["curator"], "curator", cells=2 * CHUNK // 8, recipient="north")
    done = seal(Done(1, 1, "curator", "north", "0" * 64), manifest.study, signers["curator"])
    curator.mailbox.put(to_north)
    curator.mailbox.put(done)
    assert not curator.reception.has_all("north")
    assert party.fetch("north", 0) == [to_north, done]
    assert party.fetch("north", 1) == [done]
    assert party.fetch("north", 2) == []
    assert curator.reception.has_all("north")
    assert curator.reception.has_all("south")


def test_a_message_may_be_sent_again_and_is_kept_once(curator, manifest, signers):
    party = curator.client()
    message = share_of(manifest, signers["north"], "north")
    for _ in range(3):
        party.put(message)
    assert curator.put(whole(message), message).status_code == 200
    assert curator.mailbox.fetch("curator", 0) == [message]
    with pytest.raises(ProtocolError, match="'north' has sent a share for round 1, attempt 1 already"):
        party.put(share_of(manifest, signers["north"], "north", value=8))
    assert curator.mailbox.fetch("curator", 0) == [message]
    assert len(curator.reception.refused) == 1


def test_forged_messages_are_refused(curator, manifest, signers):
    right = share_of(manifest, signers["north"], "north")
    forged = {
        "signed by another party": share_of(manifest, signers["south"], "north"),
        "changed on the way": right[:-80] + bytes([right[-80] ^ 1]) + right[-79:],
        "of another study": share_of(manifest_of(signers, name="cough"), signers["north"], "north"),
        "to a party": share_of(manifest, signers["north"], "north", recipient="south"),
        "in the name of the curator": share_of(manifest, signers["curator"], "curator", recipient="north"),
        "no message at all": b"hello",
    }
    for what, envelope in forged.items():
        assert curator.put(whole(envelope), envelope).status_code == 403, what
    for name in ("curator", "north", "south"):
        assert curator.mailbox.fetch(name, 0) == []
    assert len(curator.reception.refused) == len(forged)


def test_oversized_messages_are_refused_before_they_are_read(curator, manifest, signers):
    path = whole(b"")
    assert curator.put(path, bytes(CHUNK)).status_code == 400  # not what its hash names, but not too long
    assert curator.put(path, bytes(CHUNK + 1)).status_code == 413

    written = []

    def long():
        while len(written) < 400:  # the server must stop reading long before we stop writing
            written.append(CHUNK // 4)
            yield bytes(CHUNK // 4)

    with contextlib.suppress(httpx.TransportError):  # it may close the connection while we are still sending
        assert curator.put(path, long()).status_code == 413
    assert len(written) < 100
    digest = "0" * 64
    assert curator.put(f"/messages/{digest}/0/{MOST_PARTS + 1}", b"x").status_code == 413
    assert curator.put(f"/messages/{digest}/3/3", b"x").status_code == 413
    for part, parts, content in ((0, 1, b""), (0, 9, b""), ("9" * 5000, 9, b"x"), (-1, 9, b"x"), ("²", 9, b"x")):
        assert curator.put(f"/messages/{digest}/{part}/{parts}", content).status_code in (400, 413)
    assert curator.put("/messages/x/0/1", b"x").status_code == 400
    assert curator.mailbox.fetch("curator", 0) == []


def test_parts_that_nobody_completes_are_forgotten(manifest, signers, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.parties.https.MOST_PENDING", 2000)
    reception = Reception(FolderMailbox(tmp_path, manifest), manifest)
    message = share_of(manifest, signers["north"], "north")
    digest = hashlib.sha256(message).hexdigest()
    assert reception.take("south", "5" * 64, 0, 2, b"first")[0] == 202
    for number in range(50):
        assert reception.take("north", f"{number:064}", 0, 2, bytes(600))[0] == 202
    assert len(reception._pending["north"]) <= 3
    assert list(reception._pending["south"]) == [("5" * 64, 2)]  # what one member does costs no other its parts
    assert reception.take("north", digest, 0, 2, message[:50])[0] == 202
    reception._pending["north"].clear()  # forgotten: the sender starts again
    assert reception.take("north", digest, 1, 2, message[50:])[0] == 202
    assert reception.take("north", digest, 0, 2, message[:50])[0] == 200


def test_nobody_reads_the_mail_of_the_curator_over_the_network(curator, manifest, signers):
    curator.client().put(share_of(manifest, signers["north"], "north"))
    for party in ("curator", "stranger"):
        assert curator.get(f"{manifest.study}/inbox/{party}/0/0", name="south").status_code == 404
    assert curator.get("other/inbox/north/0/0").status_code == 404
    with pytest.raises(ProtocolError, match="status 404"):
        curator.client().fetch("curator", 0)


def test_an_inbox_is_open_to_its_owner_alone(curator, manifest, signers):
    done = seal(Done(1, 1, "curator", "north", "0" * 64), manifest.study, signers["curator"])
    curator.mailbox.put(done)
    assert curator.get(f"{manifest.study}/inbox/north/0/0", name="south").status_code == 403
    assert curator.get(f"{manifest.study}/inbox/north/999/0", name="south").status_code == 403
    assert not curator.reception.has_all("north")  # nobody else can make the curator believe that it was told
    for number in ("9" * 5000, "-1", "1e3", "²"):
        assert curator.get(f"{manifest.study}/inbox/north/{number}/0").status_code == 404
        assert curator.get(f"{manifest.study}/inbox/north/0/{number}").status_code == 404
    with pytest.raises(ProtocolError, match="status 403"):
        curator.client("south").fetch("north", 0)
    assert curator.client("north").fetch("north", 0) == [done]


@pytest.mark.parametrize(
    ("status", "headers", "content", "words"),
    [
        (200, {}, bytes(CHUNK + 1), "more than"),
        (200, {"sfumato-parts": "9" * 5000}, b"x", "status 200"),
        (200, {"sfumato-parts": "0"}, b"x", "status 200"),
        (200, {"sfumato-parts": "many"}, b"x", "status 200"),
        (404, {}, b"\x1b[2J", "status 404"),
        (307, {"location": "https://localhost/"}, b"", "status 307"),
    ],
)
def test_a_party_does_not_believe_every_answer(tls, status, headers, content, words):
    async def app(scope, receive, send):
        lines = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": content})

    with serving(app, "127.0.0.1", 0, TlsFiles(tls / "curator")) as port:
        mailbox = HttpsMailbox(f"https://localhost:{port}", "x", TlsFiles(tls / "north"), patience=0)
        with contextlib.closing(mailbox), pytest.raises(ProtocolError, match=words):
            mailbox.fetch("north", 0)


def test_a_member_is_named_by_its_certificate():
    assert owner({"subject": ((("countryName", "DE"),), (("commonName", "north"),))}) == "north"
    for strange in (None, {}, {"subject": ()}, {"subject": ((("commonName", "a"),), (("commonName", "b"),))}):
        assert owner(strange) == ""


def test_strangers_do_not_get_through_tls(curator, manifest, tmp_path):
    write_certificates(tmp_path / "strange", ["curator", "north"], "curator", ["localhost"])
    url = f"{curator.url}/{manifest.study}/inbox/north/0/0"
    trusting = ssl.create_default_context(cafile=str(TlsFiles(curator.tls / "north").authority))
    for context in (trusting, TlsFiles(tmp_path / "strange" / "north").context(server=False)):
        with httpx.Client(verify=context) as client, pytest.raises(httpx.TransportError):
            client.get(url)
    with pytest.raises(ProtocolError, match="no certificate of this consortium"):
        curator.client(tls=tmp_path / "strange").fetch("north", 0)


def test_a_party_cannot_pass_itself_off_as_the_curator(curator, manifest):
    with listening(curator.reception, manifest, "127.0.0.1", 0, TlsFiles(curator.tls / "south")) as port:
        curator.url = f"https://localhost:{port}"
        with pytest.raises(ProtocolError, match="no certificate of this consortium"):
            curator.client().fetch("north", 0)


def test_a_party_waits_for_a_curator_that_is_away_and_then_says_so(manifest, tls):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    pauses = []
    mailbox = HttpsMailbox(f"https://localhost:{port}", "x", TlsFiles(tls / "north"), 10, pauses.append)
    with pytest.raises(ProtocolError, match="has not answered for 14 seconds; start again when it is back"):
        mailbox.fetch("north", 0)
    assert pauses == [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 5.0]
    mailbox.close()


def test_a_party_goes_on_with_a_curator_that_came_back(tmp_path, manifest, signers, tls):
    def start(port=0):
        reception = Reception(FolderMailbox(tmp_path, manifest), manifest)
        return listening(reception, manifest, "127.0.0.1", port, TlsFiles(tls / "curator"))

    one, two = (share_of(manifest, signers["north"], "north", round_=number) for number in (1, 2))
    with start() as port:
        party = HttpsMailbox(f"https://localhost:{port}", manifest.study, TlsFiles(tls / "north"), 5)
        party.put(one)
    with start(port):
        party.put(one)
        party.put(two)
        assert FolderMailbox(tmp_path, manifest).fetch("curator", 0) == [one, two]
    party.close()


def test_addresses_that_cannot_be_used_are_explained(manifest, tls, curator):
    with pytest.raises(ProtocolError, match="must start with https://"):
        HttpsMailbox("http://localhost:1", "x", TlsFiles(tls / "north"), 0)
    port = int(curator.url.rpartition(":")[2])
    with (
        pytest.raises(ProtocolError, match="nobody can listen"),
        listening(curator.reception, manifest, "127.0.0.1", port, TlsFiles(tls / "curator")),
    ):
        pass
