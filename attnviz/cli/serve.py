"""`attnviz` alone, or `attnviz start`: the app on this machine, in the browser. `attnviz serve`: for a public link."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import webbrowser
from typing import Any

from attnviz.cli import failed

PORT = 8501
START = """Start the app for yourself and open it in the browser. Only this machine can reach it, and nothing is
restricted: models of the Hugging Face hub and of folders can be opened. For others, use serve."""
SERVE = """Serve the app to many visitors. Environment variables ATTNVIZ_*, or the TOML file named by ATTNVIZ_SETTINGS,
set what visitors may do; docs/hosting.md lists them."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add these commands to the command line."""
    parser = subparsers.add_parser("serve", help="start the server for a public link", description=SERVE)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 is every one (%(default)s)")
    parser.add_argument("--port", type=int, default=PORT, help="port to listen on; 0 is any free one (%(default)s)")
    parser.set_defaults(run=run_server)
    parser = subparsers.add_parser(
        "start", help="start the app and open it in the browser (the default)", description=START
    )
    parser.add_argument("--port", type=int, help=f"port to listen on (default: {PORT}, or any free one if it is taken)")
    parser.add_argument("--no-browser", action="store_true", help="only say the address")
    parser.set_defaults(run=run_here)


def run_server(arguments: argparse.Namespace) -> int:
    """Serve until stopped. Exit codes: 0 stopped normally, 1 the server can't start, 2 an invalid setting."""
    from attnviz.serving.run import StartError, serve
    from attnviz.settings import SettingsError

    try:
        serve(arguments.host, arguments.port)
    except (StartError, SettingsError) as error:
        return failed(str(error), 2 if isinstance(error, SettingsError) else 1)
    return 0


def run_here(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Exit codes: 0 stopped normally, 1 the app can't start, 2 an invalid setting."""
    from attnviz.serving.run import StartError, serve
    from attnviz.settings import SettingsError

    def announce(port: int) -> None:
        address = f"http://127.0.0.1:{port}"  # another program may listen at localhost, on ::1
        sys.stdout.write(f"attnviz is at {address} (press Ctrl-C to stop)\n")
        sys.stdout.flush()
        if not arguments.no_browser and has_display():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    ports = (PORT, 0) if arguments.port is None else (arguments.port,)
    for port in ports:
        try:
            serve("127.0.0.1", port, public=False, on_listening=announce)
        except StartError as error:
            if port == ports[-1]:
                return failed(str(error), 1)
        except SettingsError as error:
            return failed(str(error), 2)
        else:
            break
    return 0


def has_display() -> bool:
    """Return whether a browser can have a window: without a display, Linux would open one inside the terminal."""
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
