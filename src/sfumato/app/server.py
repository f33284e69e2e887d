"""The server: on this machine alone, or on others with TLS and accounts."""

from __future__ import annotations

import socket
import ssl
import webbrowser
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato.app.accounts import Accounts
from sfumato.app.guard import Door, Guard
from sfumato.app.pages import audit, book, home, login, pay, plan, proposal, release, report, run, schema, study, table
from sfumato.app.rendering import render
from sfumato.app.work import Work
from sfumato.errors import FileError
from sfumato.identity import read_secret
from sfumato.parties.certificates import hosts_of

MOST_CONNECTIONS = 200
"""At a time, where other machines can reach the page."""


@dataclass(frozen=True)
class Reachable:
    """Where other machines reach the page.

    Args:
        host: the address to listen at, such as 0.0.0.0.
        certificate: a chain in PEM, which names the hosts by which browsers may call the page.
        key: its private key, which nobody else may read.
    """

    host: str
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """TLS 1.3 with this certificate."""
        read_secret(self.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError):
            raise FileError(
                f"{str(self.certificate)!r} and {str(self.key)!r} are not a certificate and its key, in PEM; give both"
            ) from None
        return context


def application(work: Work, door: Door) -> Starlette:
    """The page as an ASGI application."""
    draft, run_path, released = "/draft/{id}", "/run/{id}", "/release/{name}"
    routes = [
        Route("/", home.home),
        Route("/new", table.choose),
        Route("/new", table.begin, methods=["POST"]),
        Route(f"{draft}/schema", schema.show),
        Route(f"{draft}/schema", schema.change_many, methods=["POST"]),
        Route(f"{draft}/table", schema.change_table, methods=["POST"]),
        Route(f"{draft}/column", schema.column),
        Route(f"{draft}/column", schema.change_column, methods=["POST"]),
        Route(f"{draft}/import", schema.bring, methods=["POST"]),
        Route(f"{draft}/schema.json", schema.take),
        Route(f"{draft}/plan", plan.show),
        Route(f"{draft}/plan", plan.choose, methods=["POST"]),
        Route(f"{draft}/forecast", plan.forecast),
        Route(f"{draft}/confirm", pay.confirm),
        Route(f"{draft}/pay", pay.pay, methods=["POST"]),
        Route(f"{draft}/propose", proposal.propose, methods=["POST"]),
        Route("/proposal/{number}", proposal.show),
        Route("/proposal/{number}/approve", proposal.approve, methods=["POST"]),
        Route("/proposal/{number}/withdraw", proposal.withdraw, methods=["POST"]),
        Route("/proposal/{number}/pay", proposal.pay, methods=["POST"]),
        Route(run_path, run.show),
        Route(f"{run_path}/events", run.events),
        Route(f"{run_path}/plan", plan.rehearsed),
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
        Route("/audit", audit.ask),
        Route("/audit", audit.begin, methods=["POST"]),
        Route("/audit/{id}", audit.show),
        Route("/study/{id}", study.show),
        Route("/study/{id}/answer", study.answer_round, methods=["POST"]),
        Route("/login", login.show),
        Route("/login", login.sign_in, methods=["POST"]),
        Route("/logout", login.sign_out, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("sfumato.app", "static")])),
    ]
    handlers = {404: _not_found, 500: _fault}
    middleware = [Middleware(Guard, door=door)]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.state.work, app.state.door = work, door
    return app


def serve(work: Work, port: int = 0, browse: bool = True, reachable: Reachable | None = None) -> None:
    """Serve the page until interrupted; prints its address, and opens it if it is for this machine alone."""
    if reachable is None:
        listener = _listener("127.0.0.1", port)
        port = listener.getsockname()[1]
        door, context = Door.own_machine(port), None
        address = f"http://127.0.0.1:{port}/?token={door.token}"
        print(f"Open this address in your browser; it works once:\n\n    {address}\n", flush=True)
    else:
        context, accounts, names = reachable.context(), Accounts(work.folder), hosts_of(reachable.certificate)
        if not accounts.names:
            raise FileError(
                "nobody has an account, so nobody could come in; give somebody one first: sfumato account add NAME "
                f"--folder {work.folder}"
            )
        listener = _listener(reachable.host, port)
        port = listener.getsockname()[1]
        door = Door.with_accounts(names, port, accounts)
        hosts = "\n".join(f"    https://{host}/" for host in sorted(door.hosts))
        print(f"Open one of these addresses in a browser, and sign in:\n\n{hosts}\n", flush=True)
    if browse and reachable is None:
        webbrowser.open(address)
    config = uvicorn.Config(
        application(work, door),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # an address that a header claims would get round the throttle
        limit_concurrency=MOST_CONNECTIONS,
    )
    config.load()
    config.ssl = context
    uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FileError(f"nobody can listen at {host}:{port} ({reason}); give another address") from None


async def _not_found(request: Request, problem: Exception) -> Response:
    return render(request, "refused.html", 404, lines=["There is no such page; go back to the first one."])


async def _fault(request: Request, problem: Exception) -> Response:
    return render(request, "refused.html", 500, lines=["A fault in Sfumato; please report what you did."])
