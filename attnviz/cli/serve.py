"""`python -m attnviz serve`: the tuned server, safe for a public link."""

from __future__ import annotations

import argparse
import sys
from typing import Any

ABOUT = """Serve the app to many at once. What visitors may do is set by variables ATTNVIZ_* of the environment, or by
the TOML file that ATTNVIZ_SETTINGS names; docs/hosting.md lists them."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser("serve", help="start the server for a public link", description=ABOUT)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 is every one (%(default)s)")
    parser.add_argument("--port", type=int, default=8501, help="port to listen on; 0 is any free one (%(default)s)")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Serve until told to stop; 0 is a good end, 1 a server that can't start, 2 a wrong setting."""
    from attnviz.serving.run import StartError, serve
    from attnviz.settings import SettingsError

    try:
        serve(asked.host, asked.port)
    except (StartError, SettingsError) as error:
        sys.stderr.write(f"attnviz: {error}\n")
        return 2 if isinstance(error, SettingsError) else 1
    return 0
