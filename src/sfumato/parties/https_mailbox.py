"""A party's mailbox over HTTPS: it polls the curator's server (`parties.https`). Needs the extra `sfumato[parties]`."""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from sfumato.errors import ProtocolError
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.https import CHUNK, MOST_PARTS, number_in
from sfumato.parties.mailbox import LONGEST
from sfumato.text import one_line

RETRY_AFTER = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts to reach the curator; the last one is repeated."""


@dataclass(frozen=True)
class _Answer:
    """An answer of the curator: its status, its content, and of how many parts it is one (-1 if that is no number)."""

    status: int
    content: bytes
    parts: int


def _read(response: httpx.Response) -> _Answer:
    """Read an answer; refuses one that is longer than any may be."""
    content = bytearray()
    for piece in response.iter_raw():
        content += piece
        if len(content) > CHUNK:
            raise ProtocolError(f"the curator answered with more than {CHUNK} bytes; it is not read")
    return _Answer(response.status_code, bytes(content), number_in(response.headers.get("sfumato-parts", "1")))


class HttpsMailbox:
    """A party's way to the curator: it polls, and tries again when the curator is away.

    Args:
        url: where the curator listens, for example https://curator.example:8443.
        study: the study, as messages name it.
        tls: this party's certificate and key.
        patience: how many seconds to go on trying when the curator does not answer.
        sleep: for tests.
    """

    def __init__(
        self, url: str, study: str, tls: TlsFiles, patience: float, sleep: Callable[[float], None] = time.sleep
    ):
        if not url.startswith("https://"):
            raise ProtocolError(f"the curator's address is {url!r}; it must start with https://")
        self._root = f"{url.rstrip('/')}/{study}"
        self._patience = patience
        self._sleep = sleep
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
            message = self._message(recipient, seen + len(messages))
            if message is None:
                break
            messages.append(message)
        return messages

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _message(self, recipient: str, number: int) -> bytes | None:
        chunks: list[bytes] = []
        parts = 1
        while len(chunks) < parts:
            answer = self._request("GET", f"/inbox/{recipient}/{number}/{len(chunks)}")
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
        waited, tries = 0.0, 0
        while True:
            started = time.monotonic()
            try:
                with self._client.stream(method, self._root + path, content=content) as response:
                    if response.status_code < 500:
                        return _read(response)
            except httpx.TransportError as problem:
                if isinstance(problem.__context__, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY" in str(
                    problem
                ):
                    raise ProtocolError(
                        f"whoever answers at {self._root.rpartition('/')[0]} has no certificate of this consortium "
                        "for that name; check the address, and the names given to: sfumato consortium certificates"
                    ) from None
            if waited >= self._patience:
                raise ProtocolError(
                    f"the curator at {self._root.rpartition('/')[0]} has not answered for {waited:.0f} seconds; start "
                    "again when it is back: nothing is lost, and nothing is spent twice"
                )
            pause = RETRY_AFTER[min(tries, len(RETRY_AFTER) - 1)]
            waited, tries = waited + (time.monotonic() - started) + pause, tries + 1
            self._sleep(pause)
