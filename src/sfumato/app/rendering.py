"""Pages from templates. Every text that comes from outside is shown as one visible line, without markup."""

from __future__ import annotations

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

from sfumato.app.guard import FORM_FIELD, Keys
from sfumato.app.work import Work
from sfumato.errors import SfumatoError
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


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page of ours."""
    keys: Keys = request.app.state.keys
    text = environment.get_template(template).render(form_token=keys.form, path=request.url.path, **values)
    return HTMLResponse(text, status)


def work_of(request: Request) -> Work:
    """The work folder of this server."""
    return request.app.state.work  # type: ignore[no-any-return]


def command(*words: str) -> str:
    """The command line that does the same."""
    return shlex.join(("sfumato", *words))


async def read_form(request: Request) -> FormData:
    """The fields of a form of ours; any other is refused."""
    if int(request.headers.get("content-length", LARGEST_FORM + 1)) > LARGEST_FORM:
        raise FormError("The form is too large.")
    form = await request.form(max_files=1, max_fields=20_000)
    keys: Keys = request.app.state.keys
    if form.get(FORM_FIELD) != keys.form:
        raise FormError("The form is older than this server. Go back, reload the page, and send it again.")
    return form


class FormError(Exception):
    """A form that is none of ours."""


def text_of(form: FormData, name: str) -> str:
    """A field of a form as text; empty if it was left out."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def explained(handler: Handler) -> Handler:
    """A page that says what was wrong and what to do, in the place of an error."""

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
