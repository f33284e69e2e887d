"""A mailbox over HTTPS: the curator listens, parties only ever connect to it. Needs the extra `sfumato[parties]`.

    PUT /STUDY/messages/HASH/PART/PARTS     a part of a message to the curator; 202 more parts wanted, 200 accepted
    GET /STUDY/inbox/PARTY/NUMBER/PART      a part of a party's message of that number; 204 there is none yet

Parts have at most 512 kB, which every common proxy lets through. Both sides show certificates. A message is taken in
only if a member has signed it; the same message again is accepted silently, another one in its place is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import ProtocolError
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.mailbox import LONGEST, Mailbox
from sfumato.parties.messages import CURATOR, Members, open_

CHUNK = 512 * 1000
"""Most bytes of the body of a request or an answer."""

MOST_PARTS = -(-LONGEST // CHUNK)
MOST_PENDING = 4 * LONGEST
"""Most bytes of messages of which parts are missing; when there are more, all of them are forgotten and sent again."""

RETRY_AFTER = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts to reach the curator; the last one is repeated."""


class Reception:
    """Takes in messages part by part at the curator, and hands out those to parties."""

    def __init__(self, mailbox: Mailbox, members: Members):
        self._mailbox = mailbox
        self._members = members
        self._pending: dict[tuple[str, int], dict[int, bytes]] = {}
        self._accepted: set[str] = set()
        self._delivered: dict[str, int] = dict.fromkeys(members.names, 0)
        self.refused: list[str] = []

    def take(self, digest: str, part: int, parts: int, chunk: bytes) -> tuple[int, str]:
        """Take in one part of a message: a status of HTTP, and why."""
        if not 0 <= part < parts <= MOST_PARTS:
            return self._refuse(413, "a message has more parts than any may have")
        if digest in self._accepted:
            return 200, "accepted before"
        if sum(len(one) for pending in self._pending.values() for one in pending.values()) > MOST_PENDING:
            self._pending.clear()
        pending = self._pending.setdefault((digest, parts), {})
        pending[part] = chunk
        if len(pending) < parts:
            return 202, "more parts are wanted"
        del self._pending[digest, parts]
        envelope = b"".join(pending[number] for number in range(parts))
        if hashlib.sha256(envelope).hexdigest() != digest:
            return self._refuse(400, "a message is not the one that its hash names")
        try:
            if open_(envelope, self._members).recipient != CURATOR:
                return self._refuse(403, "a message is not for the curator")
        except ProtocolError as problem:
            return self._refuse(403, str(problem))
        try:
            self._mailbox.put(envelope)
        except ProtocolError as problem:
            return self._refuse(409, str(problem))
        self._accepted.add(digest)
        return 200, "accepted"

    def hand_out(self, party: str, number: int) -> bytes | None:
        """A party's message of that number, if it is there."""
        self._delivered[party] = max(self._delivered[party], number)
        return next(iter(self._mailbox.fetch(party, number)), None)

    def has_all(self, party: str) -> bool:
        """Whether a party has come back after all messages that are there for it."""
        return not self._mailbox.fetch(party, self._delivered[party])

    def _refuse(self, status: int, why: str) -> tuple[int, str]:
        self.refused.append(why)
        return status, why


def create_app(reception: Reception, members: Members) -> Starlette:
    """The web application of the curator."""

    async def put(request: Request) -> Response:
        place = request.path_params
        body = bytearray()
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > CHUNK:
                    # Without this the server would go on to read, and to throw away, whatever still comes.
                    close = {"connection": "close"}
                    return PlainTextResponse(f"a part may have {CHUNK} bytes; this one has more", 413, close)
        except ClientDisconnect:
            return Response(status_code=400)
        status, why = reception.take(place["digest"], place["part"], place["parts"], bytes(body))
        return PlainTextResponse(why, status)

    async def get(request: Request) -> Response:
        place = request.path_params
        if place["party"] not in members.names:
            return PlainTextResponse("no such party", 404)
        message = reception.hand_out(place["party"], place["number"])
        if message is None:
            return Response(status_code=204)
        start = place["part"] * CHUNK
        parts = max(1, -(-len(message) // CHUNK))
        return Response(
            message[start : start + CHUNK],
            headers={"sfumato-parts": str(parts)},
            media_type="application/octet-stream",
        )

    root = f"/{members.study}"
    return Starlette(
        routes=[
            Route(root + "/messages/{digest:str}/{part:int}/{parts:int}", put, methods=["PUT"]),
            Route(root + "/inbox/{party:str}/{number:int}/{part:int}", get, methods=["GET"]),
        ]
    )


@contextmanager
def listening(reception: Reception, members: Members, host: str, port: int, tls: TlsFiles) -> Iterator[int]:
    """Serve a reception in a thread while the block runs; gives the port, which is a free one if 0 was asked for."""
    context = tls.context(server=True)
    try:
        listener = socket.create_server((host, port))
    except OSError as problem:
        raise ProtocolError(f"nobody can listen at {host}:{port} ({problem.strerror}); give another address") from None
    config = uvicorn.Config(
        create_app(reception, members),
        lifespan="off",
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=0,  # what was cut off is asked for again
    )
    config.load()
    config.ssl = context
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(_serve(server, listener)), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(5)
        listener.close()


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    await server.serve([listener])
    for connection in list(server.server_state.connections):
        connection.transport.abort()  # a party that is slow to say goodbye
    await asyncio.sleep(0.05)  # closed connections are only let go of in the next turns of the loop


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
        self._client = httpx.Client(verify=tls.context(server=False), timeout=30)

    def put(self, envelope: bytes) -> None:
        """Send a message to the curator, in parts; returns when it is stored there."""
        digest = hashlib.sha256(envelope).hexdigest()
        chunks = [envelope[start : start + CHUNK] for start in range(0, len(envelope), CHUNK)]
        for _ in range(3):  # a curator that restarts has forgotten the first parts of a message
            for number, chunk in enumerate(chunks):
                answer = self._request("PUT", f"/messages/{digest}/{number}/{len(chunks)}", chunk)
                if answer.status_code not in (200, 202):
                    raise ProtocolError(f"the curator refused a message: {answer.text[:300]}")
            if answer.status_code == 200:
                return
        raise ProtocolError("the curator did not take in a message that was sent three times; start it again")

    def fetch(self, recipient: str, seen: int) -> list[bytes]:
        """The messages to this party, without the first `seen` ones."""
        messages: list[bytes] = []
        while (message := self._message(recipient, seen + len(messages))) is not None:
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
            if answer.status_code == 204:
                return None
            if answer.status_code != 200 or len(answer.content) > CHUNK:
                raise ProtocolError(
                    f"the curator answered with status {answer.status_code} when asked for messages; check its address "
                    "and that both sides have the same manifest"
                )
            parts = min(int(answer.headers.get("sfumato-parts", "1")), MOST_PARTS)
            chunks.append(answer.content)
        return b"".join(chunks)

    def _request(self, method: str, path: str, content: bytes | None = None) -> httpx.Response:
        """Ask until there is an answer, at most as long as patience lasts."""
        waited, tries = 0.0, 0
        while True:
            started = time.monotonic()
            try:
                answer = self._client.request(method, self._root + path, content=content)
                if answer.status_code < 500:
                    return answer
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
