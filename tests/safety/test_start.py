"""A server for the public has its limits; test_replicas.py has those of one for which all was imported before."""

from __future__ import annotations

from urllib.parse import quote

from tests.browser.server import Server
from tests.safety.client import Visitor
from tests.safety.server import SECRET, serve

PROGRAM = """
from attnviz.settings import settings
settings()
from attnviz.serving.run import serve
serve('127.0.0.1', {port})
"""


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


def test_limits_hold_where_the_command_starts_the_server(served: Server) -> None:
    check_limits(served)


def test_a_program_that_has_read_other_settings_starts_no_server() -> None:
    server = serve({}, program=PROGRAM)
    try:
        assert server.process.wait(60) == 1
        assert "SettingsError: Other settings were read before" in server.log_text()
    finally:
        server.stop()
        server.log.unlink()
