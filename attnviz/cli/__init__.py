"""The command line, `attnviz <command>`: each module adds one or more commands by `add_parser`.

Without a command, it starts the app, as `attnviz start` does; options alone are those of `start`. Commands import heavy
modules only when they run, so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from attnviz.files import version

OWN_OPTIONS = ("-h", "--help", "--version")
"""The options of `attnviz` itself, which may be shortened"""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 on success, 2 for wrong usage, `INTERRUPTED` after Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="attnviz",
        description="What attention computes, on your own text, down to the last number. Without a command, the app "
        "starts on this machine and opens in the browser: `attnviz --port 8600` is `attnviz start --port 8600`. "
        "`python -m attnviz` is the same as `attnviz`.",
    )
    parser.add_argument("--version", action="version", version=f"attnviz {version()}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in iter_modules(__path__, f"{__name__}."):
        import_module(command.name).add_parser(subparsers)
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or (given[0].startswith("-") and not any(own.startswith(given[0]) for own in OWN_OPTIONS)):
        given.insert(0, "start")
    parsed = parser.parse_args(given)
    try:
        code: int = parsed.run(parsed)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def failed(message: str, code: int) -> int:
    """Write a sentence to the standard error, and return the exit code."""
    sys.stderr.write(f"attnviz: {message}\n")
    return code


def add_output_options(parser: argparse.ArgumentParser, what: str = "it", *, quiet: str = "no progress bar") -> None:
    """Add the options of a command that writes `what` to one file. It runs with `run_checked`."""
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"where {what} is written (default: NAME.safetensors)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--quiet", action="store_true", help=quiet)


def run_checked(
    work: Callable[[argparse.Namespace], int], arguments: argparse.Namespace, *refusals: type[Exception]
) -> int:
    """Run the work of a command that writes `arguments.out`, by default `NAME.safetensors`, and return its exit code.

    It is 1 if the file exists and `--force` is not given, if a file can't be used, or at one of the `refusals`; 2 at a
    ValueError, when a setting is out of range. The error's message is written to the standard error.
    """
    arguments.out = out = arguments.out or Path(f"{arguments.name}.safetensors")
    try:
        if out.exists() and not arguments.force:
            return failed(f"{out}: it already exists; --force overwrites it", 1)
        return work(arguments)
    except refusals as error:
        return failed(str(error), 1)
    except OSError as error:
        return failed(f"{error.filename or out}: {error.strerror or 'it can’t be used'}", 1)
    except ValueError as error:
        return failed(str(error), 2)


def command_line(*words: str, **options: object) -> str:
    """Return `python -m attnviz` with these words and options.

    None and False leave an option out, True is one without a value, and a list has several values.
    """
    parts = ["python", "-m", "attnviz", *words]
    for name, value in options.items():
        if value is not None and value is not False:
            values = [] if value is True else value if isinstance(value, list) else [value]
            parts += [f"--{name.replace('_', '-')}", *map(str, values)]
    return shlex.join(parts)


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
