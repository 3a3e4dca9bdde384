"""`python -m attnviz serve`: the tuned server, hardened for a public link."""

from __future__ import annotations

import argparse
from typing import Any

from attnviz.cli import failed

ABOUT = """Serve the app to many visitors. Environment variables ATTNVIZ_*, or the TOML file named by ATTNVIZ_SETTINGS,
set what visitors may do; docs/hosting.md lists them."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser("serve", help="start the server for a public link", description=ABOUT)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 is every one (%(default)s)")
    parser.add_argument("--port", type=int, default=8501, help="port to listen on; 0 is any free one (%(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until stopped. Exit codes: 0 stopped normally, 1 the server can't start, 2 an invalid setting."""
    from attnviz.serving.run import StartError, serve
    from attnviz.settings import SettingsError

    try:
        serve(arguments.host, arguments.port)
    except (StartError, SettingsError) as error:
        return failed(str(error), 2 if isinstance(error, SettingsError) else 1)
    return 0
