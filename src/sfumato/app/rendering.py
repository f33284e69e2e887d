"""Pages from templates. Every text that comes from outside is shown as one visible line, without markup."""

from __future__ import annotations

import hmac
import shlex
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from sfumato.app.chart import figure
from sfumato.app.guard import FORM_FIELD
from sfumato.app.sessions import Session
from sfumato.app.work import Work
from sfumato.errors import DataError, SfumatoError
from sfumato.report.svg import percent
from sfumato.text import one_line

LARGEST_FORM = 4_000_000
"""Bytes of a form; a schema of some thousand columns fits."""

Handler = Callable[[Request], Awaitable[Response]]


def _seen(value: Any) -> Any:
    """What a template prints: text of strangers in one visible line, which Jinja then escapes."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else one_line(value)


environment = Environment(
    loader=PackageLoader("sfumato.app"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_seen,
    trim_blocks=True,
    lstrip_blocks=True,
)
environment.filters["number"] = lambda value: f"{value:,}"
environment.filters["figure"] = figure
environment.filters["percent"] = percent
environment.filters["size"] = lambda size: f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page of ours."""
    session: Session | None = request.state.session
    text = environment.get_template(template).render(
        form_token=session.form if session else "",
        person=session.person if session else "",
        path=request.url.path,
        **values,
    )
    return HTMLResponse(text, status)


def person_of(request: Request, form: FormData, field: str = "person") -> str:
    """Who acts: the account that is signed in, or, on the steward's own machine, the name that was typed."""
    name = str(request.state.session.person) or " ".join(text_of(form, field).split())
    if not name:
        raise DataError("give your name; it is written down with what you do")
    return name


def work_of(request: Request) -> Work:
    """The work folder of this server."""
    return request.app.state.work  # type: ignore[no-any-return]


def command(*words: str) -> str:
    """The command line that does the same."""
    return shlex.join(("sfumato", *words))


async def read_form(request: Request) -> FormData:
    """The fields of a form of ours; any other is refused."""
    _check_length(request, LARGEST_FORM)
    form = await request.form(max_files=1, max_fields=20_000)
    session: Session | None = request.state.session
    given = form.get(FORM_FIELD)
    known = (
        isinstance(given, str) and session is not None and hmac.compare_digest(given.encode(), session.form.encode())
    )
    if not known:
        raise FormError("The form is older than this server. Go back, reload the page, and send it again.")
    return form


async def read_unsigned_form(request: Request) -> FormData:
    """The fields of the one form that somebody sends who has no session yet."""
    _check_length(request, 10_000)
    return await request.form(max_files=0, max_fields=10)


def _check_length(request: Request, most: int) -> None:
    if int(request.headers.get("content-length", most + 1)) > most:
        raise FormError("The form is too large.")


class FormError(Exception):
    """A form that is none of ours."""


def text_of(form: FormData, name: str) -> str:
    """A field of a form as text; empty if it was left out."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def explained(handler: Handler) -> Handler:
    """A page that says what was wrong and what to do, instead of an error."""

    @wraps(handler)
    async def safe(request: Request) -> Response:
        try:
            return await handler(request)
        except FormError as problem:
            return PlainTextResponse(str(problem), 403)
        except SfumatoError as problem:
            return render(request, "refused.html", 400, lines=str(problem).split("\n"))

    return safe


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that takes its time, without holding up other pages."""
    return await run_in_threadpool(function, *arguments)
