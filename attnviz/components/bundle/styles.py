"""Puts style sheets into one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from attnviz.components.bundle.linking import FRONTEND
from attnviz.components.bundle.reading import BundleError

_IMPORT = re.compile(r'^@import url\("([\w./-]+\.css)"\);\n', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/\n?", re.DOTALL)


@cache
def styles(entry: str, root: Path = FRONTEND) -> str:
    """Return a style sheet with those that it imports in their places, each once.

    Raises:
        BundleError: a style sheet is missing or loads anything else.
    """
    seen: set[Path] = set()

    def read(file: Path) -> str:
        if file in seen:
            return ""
        seen.add(file)
        if not file.is_file() or not file.is_relative_to(root.resolve()):
            raise BundleError(f"{file.name} is not a style sheet of ours")
        text = _COMMENT.sub("", file.read_text(encoding="utf-8"))
        whole = _IMPORT.sub(lambda found: read((file.parent / found[1]).resolve()), text)
        if "@import" in whole or "url(" in whole:
            raise BundleError(f"{file.name} loads a file in a way that is not known")
        return whole

    return read((root / entry).resolve())
