"""A party's mailbox over HTTPS: it polls the curator's server (`parties.https`). Needs the extra `sfumato[parties]`."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from sfumato.errors import ProtocolError, TryAgain
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.https import CHUNK, MOST_PARTS, number_in
from sfumato.parties.mailbox import LONGEST
from sfumato.text import one_line

RETRY_AFTER = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts to reach the curator; the last one is repeated."""


_VERIFY = re.compile(r"certificate verify failed: ([^(\]]*)", re.IGNORECASE)
_ALERT = re.compile(r"alert[ _](unknown[ _]ca|(?:bad|unsupported)[ _]certificate|certificate[ _]\w+)", re.IGNORECASE)

CLOSED = 5
"""After this many connections in a row that were closed without a word, it is not the network."""

_HUNG_UP = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
"""How a party learns of it: as an end, a reset or a broken pipe, by which side was faster and which OpenSSL it has."""


@dataclass(frozen=True)
class _Answer:
    """An answer of the curator.

    Args:
        status: of HTTP.
        content: its body.
        parts: of how many parts it is one; -1 if that is no number.
        list_id: names the lists that it is from.
    """

    status: int
    content: bytes
    parts: int
    list_id: str = ""


def _read(response: httpx.Response) -> _Answer:
    """Read an answer; refuses one that is longer than any may be."""
    content = bytearray()
    for piece in response.iter_raw():
        content += piece
        if len(content) > CHUNK:
            raise ProtocolError(f"the curator answered with more than {CHUNK} bytes; it is not read")
    parts, list_id = number_in(response.headers.get("sfumato-parts", "1")), response.headers.get("sfumato-list", "")
    return _Answer(response.status_code, bytes(content), parts, list_id[:100])


class HttpsMailbox:
    """A party's way to the curator: it polls, and tries again when the curator is away.

    Args:
        url: where the curator listens, for example https://curator.example:8443.
        study: the study, as messages name it.
        tls: this party's certificate and key.
        patience: how many seconds to go on trying when the curator does not answer.
        sleep: for tests.
        told: called with a sentence when the curator cannot be reached, and when it can again.
    """

    def __init__(
        self,
        url: str,
        study: str,
        tls: TlsFiles,
        patience: float,
        sleep: Callable[[float], None] = time.sleep,
        told: Callable[[str], None] = lambda sentence: None,
    ):
        if not url.startswith("https://"):
            raise ProtocolError(f"the curator's address is {url!r}; it must start with https://")
        self._root = f"{url.rstrip('/')}/{study}"
        self._patience = patience
        self._sleep = sleep
        self._told = told
        self._list_id: str | None = None
        self._before = 0  # messages of lists that the curator has lost
        # Answers are read as they come, piece by piece: a compressed one could be small on the way and fill all memory.
        plain = {"accept-encoding": "identity"}
        self._client = httpx.Client(verify=tls.context(server=False), timeout=30, headers=plain)

    def put(self, envelope: bytes) -> None:
        """Send a message to the curator, in parts; returns when it is stored there."""
        digest = hashlib.sha256(envelope).hexdigest()
        chunks = [envelope[start : start + CHUNK] for start in range(0, len(envelope), CHUNK)]
        for _ in range(3):  # a curator that restarts has forgotten the first parts of a message
            for number, chunk in enumerate(chunks):
                answer = self._request("PUT", f"/messages/{digest}/{number}/{len(chunks)}", chunk)
                if answer.status not in (200, 202):
                    why = one_line(answer.content.decode(errors="replace"), 300)
                    raise ProtocolError(f"the curator refused a message: {why}")
            if answer.status == 200:
                return
        raise ProtocolError("the curator did not take in a message that was sent three times; start it again")

    def fetch(self, recipient: str, seen: int) -> list[bytes]:
        """The messages to this party, without the first `seen` ones; at most as many as fit into memory."""
        messages: list[bytes] = []
        while sum(map(len, messages)) < LONGEST:
            before = self._before
            message = self._message(recipient, seen + len(messages))
            if before != self._before:
                continue  # another list has begun, and is read from its beginning
            if message is None:
                break
            messages.append(message)
        return messages

    def _note_list(self, list_id: str, asked: int) -> bool:
        """Whether an answer is from the list that was asked for; if not, what comes next is its first message."""
        if self._list_id in (None, list_id):
            self._list_id = list_id
            return True
        self._list_id, self._before = list_id, asked
        self._told("the curator has lost its messages and begins anew; what is stored here is sent again")
        return False

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _message(self, recipient: str, number: int) -> bytes | None:
        chunks: list[bytes] = []
        parts = 1
        while len(chunks) < parts:
            answer = self._request("GET", f"/inbox/{recipient}/{number - self._before}/{len(chunks)}")
            if answer.status in (200, 204) and not self._note_list(answer.list_id, number):
                return None
            if answer.status == 204:
                return None
            if answer.status != 200 or not 1 <= answer.parts <= MOST_PARTS:
                raise ProtocolError(
                    f"the curator answered with status {answer.status} when asked for messages; check its address, "
                    "that both sides have the same manifest, and that the certificate is that of this party"
                )
            parts = answer.parts
            chunks.append(answer.content)
        return b"".join(chunks)

    def _request(self, method: str, path: str, content: bytes | None = None) -> _Answer:
        """Ask until there is an answer, at most as long as patience lasts."""
        waited, tries, closed = 0.0, 0, 0
        while True:
            started, begun = time.monotonic(), False
            try:
                with self._client.stream(method, self._root + path, content=content) as response:
                    begun = True
                    if response.status_code < 500:
                        if tries:
                            self._told(f"the curator answers again after {waited:.0f} seconds")
                        return _read(response)
                    problem = f"status {response.status_code}"
            except httpx.TransportError as error:
                closed = closed + 1 if isinstance(error, _HUNG_UP) and not begun else 0
                self._check_final(error, closed)
                problem = type(error).__name__
            if not tries:
                self._told(f"no answer from the curator at {self._where} ({problem}); trying for {self._patience:g} s")
            if waited >= self._patience:
                raise TryAgain(
                    f"the curator at {self._where} has not answered for {waited:.0f} seconds; start again when it is "
                    "back: nothing is lost, and nothing is spent twice"
                )
            pause = RETRY_AFTER[min(tries, len(RETRY_AFTER) - 1)]
            waited, tries = waited + (time.monotonic() - started) + pause, tries + 1
            self._sleep(pause)

    @property
    def _where(self) -> str:
        return self._root.rpartition("/")[0]

    def _check_final(self, problem: httpx.TransportError, closed: int) -> None:
        """Refuse to try again what cannot succeed: certificates that are not accepted, and proxies that refuse."""
        reason = one_line(problem, 300)
        if isinstance(problem, httpx.ProxyError):
            raise ProtocolError(
                f"the proxy on the way to {self._where} refuses ({reason}); set HTTPS_PROXY to one that lets this "
                "through, or ask who runs it"
            ) from None
        if found := _VERIFY.search(reason):
            words = found[1]
            clock = "; check the clock of this machine, and when the certificates end"
            names = "; check the address, and the names given to: sfumato consortium certificates"
            raise ProtocolError(
                f"whoever answers at {self._where} has no certificate of this consortium for that name "
                f"({words}){clock if 'expired' in words or 'not yet' in words else names}"
            ) from None
        found = _ALERT.search(reason)
        if found or closed >= CLOSED:
            said = found[1].replace("_", " ").lower() if found else f"it closed {closed} connections without a word"
            raise ProtocolError(
                f"the curator at {self._where} does not accept the certificate of this party ({said}); give the one "
                "that was made for this party, by the authority that the curator trusts, and check both clocks"
            ) from None
