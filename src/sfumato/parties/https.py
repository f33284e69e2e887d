"""A mailbox over HTTPS: the curator listens, parties only ever connect to it. Needs the extra `sfumato[parties]`.

    PUT /STUDY/messages/HASH/PART/PARTS     a part of a message to the curator; 202 more parts wanted, 200 accepted
    GET /STUDY/inbox/PARTY/NUMBER/PART      a part of a party's message of that number; 204 there is none yet

Parts have at most 512 kB, which every common proxy lets through. Both sides show certificates; an inbox is open to the
party whose certificate it is, and unfinished messages count against the member that sent their parts. A message is
taken in only if a member has signed it; the same message again is accepted silently, another one in its place refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.errors import FileError, ProtocolError
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.envelopes import open_
from sfumato.parties.letters import CURATOR, Members
from sfumato.parties.mailbox import LONGEST, Mailbox

CHUNK = 512 * 1000
"""Most bytes of the body of a request or an answer."""

MOST_PARTS = -(-LONGEST // CHUNK)
PART_COSTS = 1000
"""What a pending part counts beside its bytes."""

MOST_PENDING = LONGEST + PART_COSTS * MOST_PARTS
"""Most bytes that one member's unfinished messages may take; when there are more, all of its own are forgotten."""

MOST_CONNECTIONS = 16
"""Most connections of one member at a time."""

REQUEST_SECONDS = 120.0
"""Seconds that a request may take from the first to its last byte."""

HANDSHAKE_SECONDS = 10.0
"""Seconds in which whoever connects must have shown a certificate of a member."""

MOST_REFUSED = 10_000
"""Most reasons of refusal that are kept for the audit log."""

_DIGEST, _DIGITS = re.compile("[0-9a-f]{64}"), re.compile("[0-9]{1,9}")


class Reception:
    """Takes in messages part by part at the curator, and hands out those to parties.

    Args:
        mailbox: where they are kept.
        members: who may send and fetch.
        list_id: names the lists of this mailbox. A curator that has lost them has another one, and parties begin anew.
    """

    def __init__(self, mailbox: Mailbox, members: Members, list_id: str = ""):
        self._mailbox = mailbox
        self._members = members
        self.list_id = list_id
        self._pending: dict[str, dict[tuple[str, int], dict[int, bytes]]] = {}
        self._accepted: set[str] = set()
        self._delivered: dict[str, int] = dict.fromkeys(members.names, 0)
        self.refused: list[str] = []
        self.trouble: list[str] = []
        self.seen: dict[str, float] = {}

    def take(self, member: str, digest: str, part: int, parts: int, chunk: bytes) -> tuple[int, str]:
        """Take in one part of a message that a member sends: a status of HTTP, and why."""
        if not 0 <= part < parts <= MOST_PARTS:
            return self._refuse(413, "a message has more parts than any may have")
        if not _DIGEST.fullmatch(digest) or not chunk:
            return self._refuse(400, "a part is empty, or its message has no hash")
        if digest in self._accepted:
            return 200, "accepted before"
        unfinished = self._pending.setdefault(member, {})
        if sum(len(one) + PART_COSTS for pending in unfinished.values() for one in pending.values()) > MOST_PENDING:
            unfinished.clear()
        pending = unfinished.setdefault((digest, parts), {})
        pending[part] = chunk
        if len(pending) < parts:
            return 202, "more parts are wanted"
        del unfinished[digest, parts]
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
        except FileError as problem:
            # No refusal: the party tries again, and the curator's operator is told.
            if len(self.trouble) < MOST_REFUSED:
                self.trouble.append(str(problem))
            return 507, "the curator cannot store messages now"
        except ProtocolError as problem:
            return self._refuse(409, str(problem))
        self._accepted.add(digest)
        return 200, "accepted"

    def hand_out(self, party: str, number: int) -> bytes | None:
        """A party's message of that number, if it is there."""
        self._delivered[party] = max(self._delivered[party], number)
        self.seen[party] = time.time()
        return next(iter(self._mailbox.fetch(party, number)), None)

    def has_all(self, party: str) -> bool:
        """Whether a party has come back after all messages that are there for it."""
        return not self._mailbox.fetch(party, self._delivered[party])

    def drain(self) -> Counter[str]:
        """What was refused since the last call, and what went wrong, each with how often."""
        found = Counter(self.refused) + Counter(self.trouble)
        self.refused, self.trouble = [], []
        return found

    def _refuse(self, status: int, why: str) -> tuple[int, str]:
        if len(self.refused) < MOST_REFUSED:
            self.refused.append(why)
        return status, why


class MemberProtocol(H11Protocol):
    """HTTP in which every request knows whose certificate its connection has shown."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Keep the name in the certificate for the requests of this connection."""
        super().connection_made(transport)
        self._member = owner(transport.get_extra_info("peercert"))
        self.app_state = {**self.app_state, "member": self._member}
        others = [one for one in self.connections if getattr(one, "_member", None) == self._member and one is not self]
        if len(others) >= MOST_CONNECTIONS:
            transport.abort()
        self._expect_request()

    def on_response_complete(self) -> None:
        """The next request of this connection must come in time too."""
        super().on_response_complete()
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is expected."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        """Close the connection if no whole header comes in time, or if the body of a request takes far too long."""
        if deadline := getattr(self, "_deadline", None):
            deadline.cancel()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


def owner(certificate: Mapping[str, Any] | None) -> str:
    """The name of the member whose certificate this is, as TLS gives it."""
    parts = (certificate or {}).get("subject", ())
    names = [value for part in parts for key, value in part if key == "commonName"]
    return names[0] if len(names) == 1 else ""


def create_app(reception: Reception, members: Members) -> Starlette:
    """The web application of the curator."""

    async def put(request: Request) -> Response:
        place = request.path_params
        part, parts = number_in(place["part"]), number_in(place["parts"])
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
        status, why = reception.take(request.state.member, place["digest"], part, parts, bytes(body))
        return PlainTextResponse(why, status)

    async def get(request: Request) -> Response:
        place = request.path_params
        party, number, part = place["party"], number_in(place["number"]), number_in(place["part"])
        if party not in members.names or min(number, part) < 0:
            return PlainTextResponse("no such party or message", 404)
        if party != request.state.member:
            return PlainTextResponse("the certificate is not that of this party", 403)
        message = reception.hand_out(party, number)
        if message is None:
            return Response(status_code=204, headers={"sfumato-list": reception.list_id})
        start = part * CHUNK
        parts = max(1, -(-len(message) // CHUNK))
        return Response(
            message[start : start + CHUNK],
            headers={"sfumato-parts": str(parts), "sfumato-list": reception.list_id},
            media_type="application/octet-stream",
        )

    root = f"/{members.study}"
    return Starlette(
        routes=[
            Route(root + "/messages/{digest}/{part}/{parts}", put, methods=["PUT"]),
            Route(root + "/inbox/{party}/{number}/{part}", get, methods=["GET"]),
        ]
    )


def number_in(text: str) -> int:
    """A number in a path or a header, or -1 for what is none, or too long to be one."""
    return int(text) if _DIGITS.fullmatch(text) else -1


def listening(
    reception: Reception, members: Members, host: str, port: int, tls: TlsFiles
) -> AbstractContextManager[int]:
    """Serve a reception in a thread while a block runs; gives the port, which is a free one if 0 was asked for."""
    return serving(create_app(reception, members), host, port, tls)


@contextmanager
def serving(app: ASGIApp, host: str, port: int, tls: TlsFiles) -> Iterator[int]:
    """Serve a web application in a thread while the block runs; gives the port."""
    context = tls.context(server=True)
    try:
        listener = _listener(host, port)
    except OSError as problem:
        raise ProtocolError(f"nobody can listen at {host}:{port} ({problem.strerror}); give another address") from None
    config = uvicorn.Config(
        app,
        http=MemberProtocol,
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


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens, with IPv4 or IPv6; with both where all addresses of IPv6 are meant."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    both = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, dualstack_ipv6=both)


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    # Uvicorn has no option for it, and this loop serves nothing else.
    create = partial(loop.create_server, ssl_handshake_timeout=HANDSHAKE_SECONDS)
    loop.create_server = create  # type: ignore[method-assign]
    await server.serve([listener])
    for connection in list(server.server_state.connections):
        connection.transport.abort()  # a party that is slow to say goodbye
    await asyncio.sleep(0.05)  # closed connections are only let go of in the next turns of the loop
