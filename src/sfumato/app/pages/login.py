"""Sign in and out, where other machines can reach the page."""

from __future__ import annotations

from threading import BoundedSemaphore

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app.guard import Door
from sfumato.app.rendering import explained, in_thread, read_form, read_unsigned_form, render, text_of

_at_once = BoundedSemaphore(2)
"""Each try takes 32 MB; more than two at a time would be an attack on the memory."""


def _door(request: Request) -> Door:
    return request.app.state.door  # type: ignore[no-any-return]


@explained
async def show(request: Request) -> Response:
    """The form; on the steward's own machine there is nothing to sign in to."""
    if _door(request).accounts is None or request.state.session is not None:
        return RedirectResponse("/", 303)
    return render(request, "login.html", problem="")


@explained
async def sign_in(request: Request) -> Response:
    """Look at the password, unless too many wrong ones came before it."""
    door, form = _door(request), await read_unsigned_form(request)
    if door.accounts is None:
        return RedirectResponse("/", 303)
    name, password = text_of(form, "name"), form.get("password", "")
    address = request.client.host if request.client else ""
    if door.throttle.must_wait(name, address):
        problem = "Too many wrong passwords. Wait a quarter of an hour, and try again."
        return render(request, "login.html", 429, problem=problem)
    door.throttle.failed(name, address)  # until it turns out to be right: tries at the same time all count
    if not isinstance(password, str) or not await in_thread(_admits, door, name, password):
        return render(request, "login.html", 403, problem="The name and the password do not belong together.")
    door.throttle.succeeded(name, address)
    response = RedirectResponse("/", 303)
    door.let_in(response, name)
    return response


@explained
async def sign_out(request: Request) -> Response:
    """End this browser's session."""
    door = _door(request)
    await read_form(request)
    door.sessions.end(request.cookies.get(door.cookie, ""))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(door.cookie, path="/", secure=True, httponly=True, samesite="strict")
    return response


def _admits(door: Door, name: str, password: str) -> bool:
    with _at_once:
        return door.accounts is not None and door.accounts.admits(name, password)
