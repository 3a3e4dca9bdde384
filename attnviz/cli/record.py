"""`python -m attnviz record`: records a training that ships with the app, so that visitors need not wait."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from attnviz.cli import failed

ABOUT = """Train as the page Train does by default, and write losses, evaluations and some snapshots to one safetensors
file, with its card beside it."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    from attnviz.trained.recorded import NAMES

    parser = subparsers.add_parser("record", help="record a training, with its snapshots", description=ABOUT)
    parser.add_argument("name", choices=NAMES, help=f"one of {', '.join(NAMES)}", metavar="name")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where it is written (default: NAME.safetensors)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Record. Exit codes: 0 done, 1 the file can't be written or the loss diverged."""
    import torch

    from attnviz.files import write_atomically
    from attnviz.trained.card import as_file
    from attnviz.trained.recorded import write
    from attnviz.trained.recording import record
    from attnviz.training.loop import DivergedError

    out: Path = arguments.out or Path(f"{arguments.name}.safetensors")
    if out.exists() and not arguments.force:
        return failed(f"{out}: it already exists; --force overwrites it", 1)
    torch.set_num_threads(1)
    try:
        recording = record(arguments.name)
        data = write(recording)
        write_atomically(out, data)
        write_atomically(out.with_suffix(".json"), as_file(recording.plan, recording.card))
    except DivergedError as error:
        return failed(str(error), 1)
    except OSError as error:
        return failed(f"{error.filename or out}: {error.strerror or 'it can’t be written'}", 1)
    kept, last = len(recording.view.snapshots), recording.view.evaluations[-1]
    sys.stdout.write(
        f"{out}: {len(data):,} bytes, {kept} snapshots, loss {last.loss:.4f}, accuracy {last.accuracy:.2%}\n"
    )
    return 0
