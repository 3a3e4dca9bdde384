"""Starting the tuned server: the app of `streamlit run app.py`, under uvicorn, with the limits of a public link."""

from __future__ import annotations

import errno
import os
import socket
import sys
import tomllib
from collections.abc import Mapping
from typing import Any

from attnviz import files

HEAD = 512 * 2**10
"""Bytes of a request's first line and headers, at most: a text of 20,000 letters has nine bytes a letter in a link."""
FAREWELL = 5
"""Seconds that open connections have to end when the server is told to stop."""


class StartError(RuntimeError):
    """The server can't start. The message is one line for whoever asked for it."""


def serve(host: str, port: int) -> None:
    """Serve until told to stop.

    Raises:
        StartError: the port is taken.
        attnviz.settings.SettingsError: a setting is wrong.
    """
    os.environ.setdefault("ATTNVIZ_PUBLIC", "1")
    from attnviz.settings import settings

    limits = settings()
    listening = listen(host, port)
    import streamlit as st
    import uvicorn
    from streamlit import config

    from attnviz.serving.app import ROUTES, middleware, warm_up
    from attnviz.serving.http.messages import MESSAGE
    from attnviz.serving.logs import keep_texts_out
    from attnviz.serving.patches import apply_patches
    from attnviz.ui import FRAME

    keep_texts_out()
    app = st.App(FRAME, lifespan=warm_up, routes=ROUTES, middleware=middleware())
    chosen = options(tomllib.loads(files.CONFIG.read_text(encoding="utf-8")))
    for option, value in {**chosen, **tuned(host, listening.getsockname()[1], limits.largest_upload)}.items():
        config.set_option(option, value)
    apply_patches()
    server = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MESSAGE,
        h11_max_incomplete_event_size=HEAD,
        access_log=False,
        log_level="warning",
        proxy_headers=False,  # the app reads them itself, from proxies that the settings trust
        server_header=False,
        timeout_graceful_shutdown=FAREWELL,
    )
    uvicorn.Server(server).run(sockets=[listening])


def options(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the tables of a config.toml as options by their full names, such as theme.light.textColor."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= options(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def tuned(host: str, port: int, largest_upload: int) -> dict[str, Any]:
    """Return the options of Streamlit that a server needs, whatever the file beside the app says."""
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",
        "server.maxUploadSize": largest_upload,
        "runner.postScriptGC": False,
        "logger.enableRich": False,  # which would print exceptions past the log, with what visitors typed
        "client.showErrorDetails": "none",
        "browser.gatherUsageStats": False,
    }


def listen(host: str, port: int) -> socket.socket:
    """Bind the port before anything slow is imported, so that a mistake is said at once.

    Raises:
        StartError: another program has it, or this address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        taken = getattr(error, "errno", None) == errno.EADDRINUSE
        why = "is taken by another program" if taken else f"can't be opened ({error})"
        raise StartError(f"Port {port} of {host} {why}; choose another with --port.") from error


def say(sentence: str) -> None:
    """Tell whoever reads the terminal or the log."""
    sys.stderr.write(f"attnviz: {sentence}\n")
