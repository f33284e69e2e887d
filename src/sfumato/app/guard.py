"""Who may talk to the page: this machine's browser, with the token that was printed once, from our own pages.

Any web site that a steward has open can send requests to 127.0.0.1, and a name that it owns can be made to resolve
there. So every request must name our own host, carry the cookie that the printed address was exchanged for, and, if it
changes anything, come from one of our forms.
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

COOKIE = "sfumato"
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


@dataclass(frozen=True)
class Keys:
    """The secrets of one start of the server.

    Args:
        token: in the printed address; exchanged for the cookie and worth nothing after that.
        session: the value of the cookie.
        form: what every form carries.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class Guard(BaseHTTPMiddleware):
    """Refuses every request that does not come from the steward's own browser and our own pages."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        super().__init__(app)
        self.keys = keys
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self.token_left = True

    async def dispatch(self, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        """Answer a request, or refuse it."""
        response = self._refusal(request) or self._exchange(request) or self._without_cookie(request)
        if response is None:
            response = await call_next(request)
        _harden(response)
        return response

    def _refusal(self, request: Request) -> Response | None:
        """What no page of ours ever sends: another host, or a request that another site makes."""
        if request.headers.get("host") not in self.hosts:
            return PlainTextResponse("This page answers to its own address only.", 421)
        site = request.headers.get("sec-fetch-site")
        origin = request.headers.get("origin")
        own = origin is None or urlsplit(origin).netloc in self.hosts
        if request.method not in ("GET", "HEAD") and (site not in (None, "same-origin") or not own):
            return PlainTextResponse("Another site sent this form. Nothing was done.", 403)
        return None

    def _exchange(self, request: Request) -> Response | None:
        """The printed address, opened for the first time: the token becomes a cookie and leaves the address."""
        given = request.query_params.get("token")
        if given is None or request.method != "GET" or not self.token_left:
            return None
        if not hmac.compare_digest(given.encode(), self.keys.token.encode()):
            return None
        self.token_left = False
        response = RedirectResponse(request.url.path, 303)
        response.set_cookie(COOKIE, self.keys.session, httponly=True, samesite="strict", path="/")
        return response

    def _without_cookie(self, request: Request) -> Response | None:
        given = request.cookies.get(COOKIE, "")
        if hmac.compare_digest(given.encode(), self.keys.session.encode()):
            return None
        return PlainTextResponse(
            "This browser is not signed in. Open the address that `sfumato app` printed; it works once. "
            "Start `sfumato app` again for a new one.",
            401,
        )


def _harden(response: Response) -> None:
    headers = response.headers
    headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    # With no-referrer a browser sends `Origin: null` along with our own forms, and they would be refused.
    headers["Referrer-Policy"] = "same-origin"
