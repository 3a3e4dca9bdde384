"""`python -m attnviz ready`: checks before a lecture."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser(
        "ready",
        help="check that everything is ready for class",
        description="Check versions, the model, lessons, port and memory. The exit code is 1 if a check fails.",
    )
    parser.add_argument("--port", type=int, default=8501, help="the port that the server will use (%(default)s)")
    parser.add_argument(
        "--report", action="store_true", help="print versions, settings and results, without texts, paths or hosts"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run and print the checks. Exit codes: 0 ready, 1 not ready."""
    from attnviz.ready import checks, print_checks, print_report

    ready = (print_report if arguments.report else print_checks)(checks(arguments.port))
    sys.stdout.write("Ready for class.\n" if ready else "Not ready: see the lines that begin with fail.\n")
    return 0 if ready else 1
