"""The command line, `python -m attnviz <command>`: each command is a module with `add_parser` and `run`.

Commands import heavy modules only when they run, so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 on success, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m attnviz", description="What attention computes, on your own text, down to the last number."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in iter_modules(__path__, f"{__name__}."):
        import_module(command.name).add_parser(subparsers)
    parsed = parser.parse_args(arguments)
    code: int = parsed.run(parsed)
    return code


def failed(message: str, code: int) -> int:
    """Write a sentence to the standard error, and return the exit code."""
    sys.stderr.write(f"attnviz: {message}\n")
    return code


def check_free(out: Path, arguments: argparse.Namespace) -> None:
    """Raise FileExistsError if a file would be overwritten without `--force`."""
    if out.exists() and not arguments.force:
        raise FileExistsError(0, "it already exists; --force overwrites it", str(out))


@contextmanager
def wish_to_stop() -> Iterator[Callable[[], bool]]:
    """Treat Ctrl-C and SIGTERM as a request to stop; yield a function that returns whether one came."""
    requested = False

    def take(*_: object) -> None:
        nonlocal requested
        requested = True

    handlers = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: requested
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
