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

from tests.browser.server import Server

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


def check_socket(url: str) -> None:
    """Open a connection to a server that this process has started, and look at the server's side of it."""
    client = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0)
    client.request("GET", "/_stcore/health")
    client.getresponse().read()
    ours = client.sock.getsockname()[1]
    ((process, accepted),) = [
        (server.pid, connection)
        for server in psutil.Process().children()
        for connection in server.net_connections("tcp")
        if connection.raddr and connection.raddr.port == ours
    ]
    try:
        theirs = socket_of(process, accepted.fd)
    except OSError as error:
        pytest.skip(f"this system does not let a process look at another's sockets: {error}")
    with theirs:
        assert theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.close()


def test_the_side_of_attnviz_serve_sends_at_once(served: Server) -> None:
    check_socket(served.url)
