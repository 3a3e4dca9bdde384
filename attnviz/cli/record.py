"""`python -m attnviz record`: records a training that ships with the app, so that visitors need not wait."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from attnviz.cli import add_output_options, run_checked

ABOUT = """Train as the page Train does by default, and write losses, evaluations and some snapshots to one safetensors
file, with its card beside it."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    from attnviz.trained.recorded import NAMES

    parser = subparsers.add_parser("record", help="record a training, with its snapshots", description=ABOUT)
    parser.add_argument("name", choices=NAMES, help=f"one of {', '.join(NAMES)}", metavar="name")
    add_output_options(parser, quiet="no report")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Record. Exit codes: 0 done, 1 the file can't be written or the loss diverged, 2 wrong usage."""
    from attnviz.training.loop import DivergedError

    return run_checked(_record, arguments, DivergedError)


def _record(arguments: argparse.Namespace) -> int:
    import torch

    from attnviz.files import write_atomically
    from attnviz.trained.card import as_file
    from attnviz.trained.making import record
    from attnviz.trained.recorded import write

    torch.set_num_threads(1)
    recording, out = record(arguments.name), arguments.out
    data = write(recording)
    write_atomically(out, data)
    write_atomically(out.with_suffix(".json"), as_file(recording.plan, recording.card))
    kept, last = len(recording.view.snapshots), recording.view.evaluations[-1]
    if not arguments.quiet:
        sys.stdout.write(
            f"{out}: {len(data):,} bytes, {kept} snapshots, loss {last.loss:.4f}, accuracy {last.accuracy:.2%}\n"
        )
    return 0
