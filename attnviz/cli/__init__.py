"""The command line, `python -m attnviz <command>`: each command is a module with `add_parser` and `run`.

Nothing heavy is imported before a command is chosen, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 where it did what was asked, 2 where it was asked wrongly."""
    parser = argparse.ArgumentParser(
        prog="python -m attnviz", description="What attention computes, on your own text, down to the last number."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in iter_modules(__path__, f"{__name__}."):
        import_module(command.name).add_parser(subparsers)
    asked = parser.parse_args(arguments)
    code: int = asked.run(asked)
    return code
