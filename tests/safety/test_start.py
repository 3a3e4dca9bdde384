"""A server for the public has its limits, whatever was imported before it started."""

from __future__ import annotations

from urllib.parse import quote

from tests.browser.server import Server
from tests.safety.client import Visitor
from tests.safety.server import SECRET, serve, wait_until_ready

SERVE = "from attnviz.serving.run import serve; serve('127.0.0.1', {port})"


def shown(server: Server, page: str, query: str) -> str:
    """Return the messages that a new visitor is shown."""
    with Visitor(server.url) as visitor:
        return visitor.open(page, query).text


def check_limits(server: Server) -> None:
    foreign, longer, longest = (
        shown(server, page, query)
        for page, query in (
            ("", "source=pretrained&model=gpt2&text=it"),
            ("tokens", f"text={quote(SECRET + 'é' * (5_001 - len(SECRET)))}"),
            ("tokens", f"text={quote(SECRET + 'é' * (5_000 - len(SECRET)))}"),
        )
    )
    assert "“gpt2” is not offered on this server, which has MiniLM (a small BERT)." in foreign
    assert "longer than 5,000 characters and was cut there" in longer
    assert "was cut there" not in longest


def test_limits_hold_whatever_is_imported_before_the_server() -> None:
    server = serve({}, program=f"import attnviz.serving.app, attnviz.ui.caches, attnviz.ui.shell; {SERVE}")
    try:
        wait_until_ready(server)
        check_limits(server)
    finally:
        server.stop()
        server.log.unlink()


def test_limits_hold_where_the_command_starts_the_server(served: Server) -> None:
    check_limits(served)


def test_a_program_that_has_read_other_settings_starts_no_server() -> None:
    server = serve({}, program=f"from attnviz.settings import settings; settings(); {SERVE}")
    try:
        assert server.process.wait(60) == 1
        assert "SettingsError: Other settings were read before" in server.log_text()
    finally:
        server.stop()
        server.log.unlink()
