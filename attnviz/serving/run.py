"""Starts the tuned server: the app of `streamlit run app.py`, under uvicorn, by default with a public link's limits."""

from __future__ import annotations

import errno
import os
import socket
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from attnviz import files
from attnviz.settings import read, use

MAX_HEAD = 512 * 2**10
"""Maximum bytes of a request's first line and headers: a link can hold 20,000 letters of nine bytes each."""
SHUTDOWN_TIMEOUT = 5
"""Seconds that open connections have to finish when the server stops."""


class StartError(RuntimeError):
    """The server can't start. The message is one line for the person who started it."""


def serve(host: str, port: int, *, public: bool = True, on_listening: Callable[[int], None] | None = None) -> None:
    """Serve until a signal stops the process.

    Args:
        host: the address to listen on.
        port: the port to listen on; 0 is any free one.
        public: use the settings of a public link unless the environment has ATTNVIZ_PUBLIC=0, whatever the settings
            file says; otherwise the environment and that file decide.
        on_listening: called with the port when the server is about to answer.

    Raises:
        StartError: the port can't be opened.
        attnviz.settings.SettingsError: a setting is invalid, or this process has read other settings before.
    """
    limits = read({"ATTNVIZ_PUBLIC": "1", **os.environ} if public else os.environ)
    use(limits)
    listening = listen(host, port)
    import streamlit as st
    import uvicorn
    from streamlit import config

    from attnviz.serving.app import ROUTES, middleware, warm_up
    from attnviz.serving.logs import keep_texts_out
    from attnviz.serving.messages import MESSAGE
    from attnviz.ui import FRAME

    keep_texts_out()
    app = st.App(FRAME, lifespan=warm_up, routes=ROUTES, middleware=middleware())
    chosen = options(tomllib.loads(files.CONFIG.read_text(encoding="utf-8")))
    opened = listening.getsockname()[1]
    for option, value in {**chosen, **tuned(host, opened, limits.largest_upload)}.items():
        config.set_option(option, value)
    server = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MESSAGE,
        http="h11",  # httptools, which uvicorn uses if another package installs it, refuses links of 64 kB
        h11_max_incomplete_event_size=MAX_HEAD,
        access_log=False,
        log_level="warning",
        proxy_headers=False,  # the app reads them itself, from proxies that the settings trust
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
    )
    if on_listening:
        on_listening(opened)
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after Ctrl-C, when it has stopped
        uvicorn.Server(server).run(sockets=[listening])


def options(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the entries of a config.toml, keyed by full name, such as theme.light.textColor."""
    entries: dict[str, Any] = {}
    for name, value in table.items():
        entries |= options(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return entries


def tuned(host: str, port: int, largest_upload: int) -> dict[str, Any]:
    """Return the Streamlit options of a server. They override the app's config.toml."""
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",
        "server.maxUploadSize": largest_upload,
        "runner.postScriptGC": False,
        "logger.enableRich": False,  # it would print exceptions, with visitors' texts, without using the log
        "client.showErrorDetails": "none",
        "browser.gatherUsageStats": False,
    }


def listen(host: str, port: int) -> socket.socket:
    """Bind the port. This comes before slow imports, so that an error appears at once.

    Raises:
        StartError: another program uses the port, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        taken = getattr(error, "errno", None) == errno.EADDRINUSE
        why = "is taken by another program" if taken else f"can't be opened ({error})"
        raise StartError(f"Port {port} of {host} {why}; choose another with --port.") from error
