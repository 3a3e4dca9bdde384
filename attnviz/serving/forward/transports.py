"""Two ways to ask the service: over HTTP, or, on a node of its cluster, over a handle of Ray Serve."""

from __future__ import annotations

import http.client
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from attnviz.cluster import check_address
from attnviz.serving.forward.messages import Answer

Why = Literal["unreachable", "slow", "full", "refused", "damaged", "error"]
"""Why the service did not help. refused: it does not serve this model or text; error: it said so itself"""
CONNECT_SECONDS = 1.0
KEPT = 16
"""Connections that are kept open"""
NAME = "attnviz-forward"
"""Of the application in Ray Serve"""


class FailedError(Exception):
    """The service did not answer as it should."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


class Transport(Protocol):
    """A way to ask the service."""

    def ask(self, body: bytes, seconds: float, most: int) -> Answer:
        """Send a request, and return the answer.

        Args:
            body: of the request.
            seconds: after which it is given up, once there is a connection.
            most: the most bytes of an answer.

        Raises:
            FailedError: there is no answer.
        """

    def close(self) -> None:
        """Close what is kept open."""


def transport(setting: str) -> Transport:
    """Return the transport that the setting `forward` names: "ray", or an address of HTTP."""
    return OverHandle() if setting == "ray" else OverHttp(setting)


class _Deadline(socket.socket):
    """A socket that receives until a point in time, however slowly what it waits for comes."""

    until = 0.0

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        """Receive, as `socket.socket` does."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)
        return super().recv_into(*args, **kwargs)


class _Connection(http.client.HTTPConnection):
    """A connection whose socket has a deadline."""

    def connect(self) -> None:
        """Connect, within `CONNECT_SECONDS` for each address of the host."""
        plain = socket.create_connection((self.host, self.port), CONNECT_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = _Deadline(plain.family, plain.type, plain.proto, plain.detach())

    def wait_until(self, until: float) -> None:
        """Set the deadline."""
        if isinstance(self.sock, _Deadline):
            self.sock.until = until
            self.sock.settimeout(max(0.001, until - time.monotonic()))


class OverHttp:
    """Asks by POST. Connections are kept open."""

    def __init__(self, address: str) -> None:
        """Keep the address, which `attnviz.settings` has checked."""
        parts = urlsplit(address)
        self._host, self._port, self._path = parts.hostname or "", parts.port or 80, parts.path or "/"
        self._lock = threading.Lock()
        self._free: list[_Connection] = []

    def ask(self, body: bytes, seconds: float, most: int) -> Answer:
        """Send a request, and return the answer; raises FailedError."""
        with self._lock:
            kept = self._free.pop() if self._free else None
        with _failures():
            if kept is not None:
                with suppress(ConnectionError):  # the service had closed it while it was idle
                    return self._ask(kept, body, seconds, most)
            return self._ask(self._connected(), body, seconds, most)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            while self._free:
                self._free.pop().close()

    def _connected(self) -> _Connection:
        connection = _Connection(self._host, self._port)
        try:
            connection.connect()
        except OSError as error:
            raise FailedError("unreachable") from error
        return connection

    def _ask(self, connection: _Connection, body: bytes, seconds: float, most: int) -> Answer:
        is_kept = False
        try:
            connection.wait_until(time.monotonic() + seconds)
            connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            found = response.read(most + 1)
            if len(found) > most:
                raise FailedError("damaged")
            answer = Answer(response.status, found, response.headers.get("Content-Digest", ""))
            is_kept = response.isclosed() and not response.will_close
            return answer
        finally:
            with self._lock:
                is_kept = is_kept and len(self._free) < KEPT
                if is_kept:
                    self._free.append(connection)
            if not is_kept:
                connection.close()


@contextmanager
def _failures() -> Iterator[None]:
    """Tell why a request over HTTP failed."""
    try:
        yield
    except TimeoutError as error:
        raise FailedError("slow") from error
    except OSError as error:
        raise FailedError("unreachable") from error
    except http.client.HTTPException as error:  # no HTTP, or it ends early
        raise FailedError("damaged") from error


class OverHandle:
    """Asks over a handle: this process joins the Ray cluster that runs on its machine, at the first request.

    When the cluster does not answer, the process leaves it: Ray ends processes whose cluster has gone for a minute.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: Any = None

    def ask(self, body: bytes, seconds: float, most: int) -> Answer:
        """Send a request, and return the answer; raises FailedError."""
        handle = self._connected()
        from ray.exceptions import RayError
        from ray.serve.exceptions import BackPressureError, RayServeException

        try:
            answer = handle.ask.remote(body).result(timeout_s=seconds)
        except TimeoutError as error:
            self._leave()
            raise FailedError("slow") from error
        except BackPressureError as error:
            raise FailedError("full") from error
        except (RayError, RayServeException, RuntimeError, OSError) as error:  # Ray raises plain ones too
            self._leave()
            raise FailedError("unreachable") from error
        if not isinstance(answer, Answer) or len(answer.body) > most:
            raise FailedError("damaged")
        return answer

    def close(self) -> None:
        """Leave the cluster."""
        self._leave()

    def _leave(self) -> None:
        """Leave the cluster, for all threads; the next request that may ask joins it again."""
        handle, self._handle = self._handle, None
        if handle is not None:
            threading.Thread(target=self._shut_down, daemon=True).start()  # takes seconds where the cluster has gone

    def _shut_down(self) -> None:
        import ray

        with self._lock, suppress(Exception):  # Ray raises plain ones
            ray.shutdown()

    def _connected(self) -> Any:
        """Return the handle. While one thread connects, which takes seconds, the others do without the service."""
        if self._handle is not None:
            return self._handle
        if not self._lock.acquire(blocking=False):
            raise FailedError("unreachable")
        try:
            self._handle = connect()
        finally:
            self._lock.release()
        return self._handle


def connect() -> Any:
    """Join the cluster on this machine, and return the handle of the service; raises FailedError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        from ray import serve
        from ray.serve.exceptions import RayServeException
    except ImportError as error:
        raise FailedError("unreachable") from error
    try:
        if not ray.is_initialized():
            check_address("auto")
            ray.init("auto", log_to_driver=False, logging_level=logging.ERROR)
        return serve.get_app_handle(NAME)
    except (ray.exceptions.RayError, RayServeException, OSError, RuntimeError, ValueError) as error:
        raise FailedError("unreachable") from error
