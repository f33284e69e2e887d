"""Who may talk to the page: browsers that have come in, from our own pages, under our own name.

Any web site that a steward has open can send requests to 127.0.0.1, and a name that it owns can be made to resolve
there. So every request must name our own host, carry the cookie of a session, and, if it changes anything, come from
one of our forms. On the steward's own machine the printed address begins the only session; where other machines can
reach the page, an account does, over TLS.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from sfumato.app.accounts import Accounts, Throttle
from sfumato.app.sessions import Sessions

FORM_FIELD = "form_token"

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of our own pages: scripts and styles are our files, and nothing is loaded from elsewhere."""

DOCUMENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)
"""Of cards and reports, which carry their style inside and have no script."""


@dataclass
class Door:
    """How browsers come in.

    Args:
        hosts: what a request may name as its host, with the port.
        cookie: the name of the cookie.
        accounts: who may sign in; None on the steward's own machine, where the token lets one browser in.
        token: in the printed address; exchanged for a cookie once, and worth nothing after that.
        sessions: the browsers that have come in.
        throttle: slows down whoever guesses passwords.
    """

    hosts: frozenset[str]
    cookie: str
    accounts: Accounts | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    sessions: Sessions = field(default_factory=Sessions)
    throttle: Throttle = field(default_factory=Throttle)

    @classmethod
    def own_machine(cls, port: int) -> Door:
        """The door of a page that only this machine can reach."""
        # Cookies know no ports: two servers on one machine would take each other's away.
        return cls(frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")), f"sfumato-{port}")

    @classmethod
    def with_accounts(cls, names: tuple[str, ...], port: int, accounts: Accounts) -> Door:
        """The door of a page that other machines can reach over TLS."""
        spelled = [f"[{name}]" if ":" in name else name.lower() for name in names]
        bare = spelled if port == 443 else []
        return cls(frozenset([*(f"{name}:{port}" for name in spelled), *bare]), "__Host-sfumato", accounts)

    def let_in(self, response: Response, person: str = "") -> None:
        """Begin a session, whose cookie goes with a response."""
        secure = self.accounts is not None
        cookie = self.sessions.begin(person)
        response.set_cookie(self.cookie, cookie, httponly=True, samesite="strict", secure=secure, path="/")


class Guard(BaseHTTPMiddleware):
    """Refuses every request that does not come from a browser that has come in and from our own pages."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        super().__init__(app)
        self.door = door

    async def dispatch(self, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        """Answer a request, or refuse it."""
        request.state.session = self.door.sessions.find(request.cookies.get(self.door.cookie, ""))
        response = self._refusal(request) or self._exchange(request) or self._outside(request)
        if response is None:
            response = await call_next(request)
        self._harden(response)
        return response

    def _refusal(self, request: Request) -> Response | None:
        """What no page of ours ever sends: another host, or a request that another site makes."""
        if request.headers.get("host", "").lower() not in self.door.hosts:
            return PlainTextResponse("This page answers to its own address only.", 421)
        if request.method in ("GET", "HEAD"):
            return None
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        own = origin is None or urlsplit(origin).netloc.lower() in self.door.hosts
        # Where accounts sign in, a form that nobody vouches for could sign a browser into a stranger's account.
        vouched = self.door.accounts is None or site is not None or origin is not None
        if site not in (None, "same-origin") or not own or not vouched:
            return PlainTextResponse("Another site sent this form. Nothing was done.", 403)
        return None

    def _exchange(self, request: Request) -> Response | None:
        """The printed address, opened for the first time: the token becomes a cookie and leaves the address."""
        given = request.query_params.get("token")
        if self.door.accounts is not None or given is None or request.method != "GET" or not self.door.token:
            return None
        if not hmac.compare_digest(given.encode(), self.door.token.encode()):
            return None
        self.door.token = ""
        response = RedirectResponse(request.url.path, 303)
        self.door.let_in(response)
        return response

    def _outside(self, request: Request) -> Response | None:
        """What somebody gets who has not come in."""
        if request.state.session is not None:
            return None
        if self.door.accounts is None:
            return PlainTextResponse(
                "This browser is not signed in. Open the address that `sfumato app` printed; it works once. "
                "Start `sfumato app` again for a new one.",
                401,
            )
        if request.url.path == "/login" or request.url.path.startswith("/static/"):
            return None
        if request.method == "GET":
            return RedirectResponse("/login", 303)
        return PlainTextResponse("You are not signed in any more. Sign in, and send the form again.", 401)

    def _harden(self, response: Response) -> None:
        headers = response.headers
        headers.setdefault("Content-Security-Policy", PAGE_POLICY)
        headers.setdefault("Cache-Control", "no-store")
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Cross-Origin-Resource-Policy"] = "same-origin"
        # With no-referrer a browser sends `Origin: null` along with our own forms, and they would be refused.
        headers["Referrer-Policy"] = "same-origin"
        if self.door.accounts is not None:
            headers["Strict-Transport-Security"] = "max-age=31536000"
