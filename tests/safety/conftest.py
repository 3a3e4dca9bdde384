"""One server for all of these tests, started as for a public link, but with uploads switched on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.browser.server import Server
from tests.safety.server import SECRET, serve, wait_until_ready


class OneServer(LoadFileScheduling):
    """Gives all of these tests to one process, so that the server is started once, and other tests by their files."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/safety" if nodeid.startswith("tests/safety/") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Take `OneServer` where tests are spread by files."""
    return OneServer(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="package")
def served() -> Iterator[Server]:
    """Serve the app; afterwards its log holds no word of a visitor, and it has asked nobody outside."""
    with closing(socket.create_server(("127.0.0.1", 0))) as outside:
        url = f"http://127.0.0.1:{outside.getsockname()[1]}"
        server = serve({"ATTNVIZ_UPLOADS": "1", "HF_ENDPOINT": url, "http_proxy": url, "https_proxy": url})
        try:
            wait_until_ready(server)
            yield server
        finally:
            server.stop()
            log = server.log_text()
            server.log.unlink()
        outside.setblocking(False)
        with pytest.raises(BlockingIOError):
            outside.accept()
    assert SECRET.lower() not in log.lower(), f"the log holds a visitor's text:\n{log}"
