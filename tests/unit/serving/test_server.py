"""What happens once when the server starts."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from attnviz.serving.app import answer_at_once

OPEN = Path("/proc/self/fd")

pytestmark = pytest.mark.skipif(not OPEN.is_dir(), reason="where there is no /proc, nothing is done")


def test_listening_sockets_answer_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not server.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        answer_at_once()
        assert server.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Neither those of files and pipes, which are no sockets, nor those of sockets of another kind."""
    reader, writer = os.pipe()
    one, other = socket.socketpair()
    with (tmp_path / "file").open("w"), one, other, socket.create_server(("127.0.0.1", 0)):
        before = sorted(os.listdir(OPEN))  # noqa: PTH208 — the folder's own descriptor is the same both times
        answer_at_once()
        assert sorted(os.listdir(OPEN)) == before  # noqa: PTH208
    os.close(reader)
    os.close(writer)
