"""The style sheets of the browser side: each of many files, put into one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent / "frontend"
"""The sources of the browser side"""

_IMPORT = re.compile(r'^@import url\("([\w./-]+\.css)"\);\n', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/\n?", re.DOTALL)
_INDENT = re.compile(r"^ +", re.MULTILINE)


@cache
def styles(entry: str, root: Path = SOURCES) -> str:
    """Return a style sheet with those that it imports in their places, each once.

    Raises:
        ValueError: a style sheet is missing or loads anything else; the message names it.
    """
    seen: set[Path] = set()

    def read(file: Path) -> str:
        if file in seen:
            return ""
        seen.add(file)
        if not file.is_file() or not file.is_relative_to(root.resolve()):
            raise ValueError(f"{file.name} is not a style sheet of the browser side")
        text = _INDENT.sub("", _COMMENT.sub("", file.read_text(encoding="utf-8")))
        whole = _IMPORT.sub(lambda match: read((file.parent / match[1]).resolve()), text)
        if "@import" in whole or "url(" in whole:
            raise ValueError(f"{file.name} loads a file in a way that is not known")
        return whole

    return read((root / entry).resolve())
