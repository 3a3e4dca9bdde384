"""No answer waits for the acknowledgement of the one before it: connections have TCP_NODELAY, set by uvloop."""

from __future__ import annotations

import ctypes
import http.client
import os
import socket
import sys
from urllib.parse import urlsplit

import psutil
import pytest

from tests.browser.server import Server, free_port, launch

PIDFD_GETFD = 438
"""The number of the system call, the same on every architecture of Linux"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads another process's sockets by a call of Linux")


def socket_of(process: int, descriptor: int) -> socket.socket:
    """Return a duplicate of another process's socket.

    Raises:
        OSError: this user may not trace that process.
    """
    library = ctypes.CDLL(None, use_errno=True)
    handle = os.pidfd_open(process)
    try:
        found = library.syscall(PIDFD_GETFD, handle, descriptor, 0)
    finally:
        os.close(handle)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.socket(fileno=found)


def check_socket(server: Server) -> None:
    """Open a connection, and look at the server's side of it."""
    client = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port or 0)
    client.request("GET", "/_stcore/health")
    client.getresponse().read()
    ours = client.sock.getsockname()[1]
    (accepted,) = [
        connection
        for connection in psutil.Process(server.process.pid).net_connections("tcp")
        if connection.raddr and connection.raddr.port == ours
    ]
    try:
        theirs = socket_of(server.process.pid, accepted.fd)
    except OSError as error:
        pytest.skip(f"this system does not let a process look at another's sockets: {error}")
    with theirs:
        assert theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.close()


def test_the_side_of_attnviz_serve_sends_at_once(served: Server) -> None:
    check_socket(served)


def test_the_side_of_streamlit_run_sends_at_once() -> None:
    port = free_port()
    server = launch(["streamlit", "run", "app.py", "--server.headless", "true", "--server.port", str(port)], port)
    try:
        server.wait()
        check_socket(server)
    finally:
        server.stop()
        server.log.unlink()
