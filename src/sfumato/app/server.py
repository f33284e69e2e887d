"""The server: loopback, a random port, an address that works once."""

from __future__ import annotations

import socket
import webbrowser

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato.app.guard import Guard, Keys
from sfumato.app.pages import book, home, pay, release, report, run, schema, table
from sfumato.app.rendering import render
from sfumato.app.work import Work


def application(work: Work, keys: Keys, port: int) -> Starlette:
    """The page as an ASGI application."""
    draft, run_path, released = "/draft/{id}", "/run/{id}", "/release/{name}"
    routes = [
        Route("/", home.home),
        Route("/new", table.choose),
        Route("/new", table.begin, methods=["POST"]),
        Route(f"{draft}/schema", schema.show),
        Route(f"{draft}/schema", schema.change_many, methods=["POST"]),
        Route(f"{draft}/column", schema.column),
        Route(f"{draft}/column", schema.change_column, methods=["POST"]),
        Route(f"{draft}/import", schema.bring, methods=["POST"]),
        Route(f"{draft}/schema.json", schema.take),
        Route(f"{draft}/budget", pay.budget),
        Route(f"{draft}/rehearse", pay.rehearse, methods=["POST"]),
        Route(f"{draft}/confirm", pay.confirm),
        Route(f"{draft}/pay", pay.pay, methods=["POST"]),
        Route(run_path, run.show),
        Route(f"{run_path}/events", run.events),
        Route(f"{run_path}/plan", pay.plan),
        Route(f"{run_path}/cancel", run.cancel, methods=["POST"]),
        Route(released, release.show),
        Route(f"{released}/card", release.card),
        Route(f"{released}/verify", release.verify),
        Route(f"{released}/sample", release.sample, methods=["POST"]),
        Route(f"{released}/file/{{file}}", release.file),
        Route("/internal/{name}", report.ask),
        Route("/internal/{name}", report.begin, methods=["POST"]),
        Route("/internal/{name}/report", report.show),
        Route("/book", book.show),
        Route("/book", book.open_account, methods=["POST"]),
        Route("/book/propose", book.propose, methods=["POST"]),
        Route("/book/approve", book.approve, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("sfumato.app", "static")])),
    ]
    handlers = {404: _not_found, 500: _fault}
    middleware = [Middleware(Guard, keys=keys, port=port)]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.state.work, app.state.keys = work, keys
    return app


def serve(work: Work, port: int = 0, browse: bool = True) -> None:
    """Serve the page on this machine until interrupted; prints the address, and opens it."""
    listener = socket.create_server(("127.0.0.1", port))
    port = listener.getsockname()[1]
    keys = Keys()
    address = f"http://127.0.0.1:{port}/?token={keys.token}"
    print(f"Open this address in your browser; it works once:\n\n    {address}\n", flush=True)
    if browse:
        webbrowser.open(address)
    config = uvicorn.Config(application(work, keys, port), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])


async def _not_found(request: Request, problem: Exception) -> Response:
    return render(request, "refused.html", 404, lines=["There is no such page; go back to the first one."])


async def _fault(request: Request, problem: Exception) -> Response:
    return render(request, "refused.html", 500, lines=["A fault in Sfumato; please report what you did."])
