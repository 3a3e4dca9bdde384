"""What the server is started with: Streamlit's options, a port, and one line for whoever started it."""

from __future__ import annotations

import socket
import tomllib

import pytest
from streamlit import config

from attnviz import files
from attnviz.serving.run import StartError, listen, options, tuned


def test_options_are_named_as_streamlit_names_them() -> None:
    assert options({"a": 1, "theme": {"light": {"ink": "x"}, "base": [2]}}) == {
        "a": 1, "theme.light.ink": "x", "theme.base": [2]
    }  # fmt: skip
    known = config.get_config_options()
    chosen = options(tomllib.loads(files.CONFIG.read_text(encoding="utf-8")))
    assert [name for name in (*chosen, *tuned("here", 1, 1)) if name not in known] == []


def test_a_server_tells_visitors_and_others_nothing_of_itself() -> None:
    given = tuned("1.2.3.4", 81, 7)
    assert (given["server.address"], given["server.port"], given["server.maxUploadSize"]) == ("1.2.3.4", 81, 7)
    assert given["client.showErrorDetails"] == "none"
    assert given["server.fileWatcherType"] == "none"
    assert [given[name] for name in ("browser.gatherUsageStats", "logger.enableRich", "runner.postScriptGC")] == [
        False, False, False
    ]  # fmt: skip
    assert given["server.headless"] is True


def test_a_port_is_opened_or_one_line_says_why_not() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()
        with pytest.raises(StartError) as raised:
            listen("127.0.0.1", port)
    assert str(raised.value) == (f"Port {port} of 127.0.0.1 is taken by another program; choose another with --port.")
    with pytest.raises(StartError, match=r"^Port 1 of 192\.0\.2\.1 can't be opened \(.*\); choose another"):
        listen("192.0.2.1", 1)  # no address of this machine
    if socket.has_dualstack_ipv6():
        with listen("::1", 0) as newer:
            assert newer.family == socket.AF_INET6
