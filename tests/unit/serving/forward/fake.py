"""A small HTTP server in place of the service, which answers as a test wants."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from attnviz.serving.forward.answering import Answering
from attnviz.serving.forward.messages import Answer

Way = Callable[["Handler"], None]


class Fake(ThreadingHTTPServer):
    """The server; `way` answers a request."""

    daemon_threads = True

    def __init__(self, way: Way) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.way = way
        self.bodies: list[bytes] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/forward"


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open."""

    protocol_version = "HTTP/1.1"
    server: Fake

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(self.body)
        self.server.way(self)

    def send(self, answer: Answer, **headers: str) -> None:
        self.send_response(answer.status)
        fields = {"Content-Length": str(len(answer.body)), "Content-Digest": answer.digest}
        for name, value in (fields | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def fake(way: Way) -> Iterator[Fake]:
    """Run a server that answers in this way."""
    server = Fake(way)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def rightly(served: Answering) -> Way:
    """Answer as the service does."""

    def answer(handler: Handler) -> None:
        checked = served.check(handler.body)
        handler.send(checked if isinstance(checked, Answer) else served.run(checked))

    return answer


def drop_by_drop(handler: Handler) -> None:
    """Send a byte of the headers now and then, for a second."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    try:
        for _ in range(100):
            handler.wfile.write(b"X")
            time.sleep(0.01)
    except OSError:
        pass
    handler.close_connection = True
