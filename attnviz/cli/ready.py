"""`python -m attnviz ready`: is all ready for class?"""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser(
        "ready",
        help="check that all is ready for class",
        description="Check versions, the model, lessons, port and memory; ends with 1 where something is wrong.",
    )
    parser.add_argument("--port", type=int, default=8501, help="the port that the server shall have (%(default)s)")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Make the checks and print them; 0 is ready, 1 is not."""
    from attnviz.ready import checks, print_checks

    fine = print_checks(checks(asked.port))
    sys.stdout.write("Ready for class.\n" if fine else "Not ready: see the lines that begin with fail.\n")
    return 0 if fine else 1
