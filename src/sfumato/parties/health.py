"""A health endpoint: `/healthz` and `/metrics` over plain HTTP, for a monitor on the same machine. Read only."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sfumato.errors import ProtocolError
from sfumato.parties.watch import Watch

OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@contextmanager
def reporting(watch: Watch, address: str | None) -> Iterator[int]:
    """Answer a monitor while the block runs; gives the port. Without an address nothing listens.

    Args:
        watch: what is told.
        address: HOST:PORT; port 0 takes a free one.
    """
    if address is None:
        yield 0
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ProtocolError(f"--health is {address!r}; give HOST:PORT, for example 127.0.0.1:9100")
    try:
        server = ThreadingHTTPServer((host.strip("[]"), int(port)), _handler(watch))
    except (OSError, OverflowError) as problem:
        raise ProtocolError(f"nobody can listen at {address} ({problem}); give another address") from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _handler(watch: Watch) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            if self.path == "/healthz":
                self._say(200 if watch.is_well else 503, "application/json", json.dumps(watch.status()))
            elif self.path == "/metrics":
                self._say(200, OPEN_METRICS, watch.metrics())
            else:
                self._say(404, "text/plain", "there are /healthz and /metrics\n")

        def _say(self, status: int, kind: str, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Monitors ask every few seconds; that is no news."""

    return Handler
