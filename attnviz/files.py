"""Paths of the app's files outside the package (pages, assets, Streamlit's options), and writing a file atomically."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "app"

FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""The folder of app.py: the root of a checkout, or the folder `app` inside the installed package (see setup.py)."""
PAGES = FOLDER / "pages"
LESSONS = FOLDER / "assets" / "lessons"
CONFIG = FOLDER / ".streamlit" / "config.toml"
"""Streamlit's options, which `streamlit run app.py` reads."""
REQUIREMENTS = FOLDER / "requirements.txt"
"""The versions with which the app is tested."""


def version() -> str:
    """Return the version of attnviz, from the pyproject.toml of the checkout or of the installed package."""
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file completely, or leave the old one unchanged.

    Raises:
        OSError: it can't be written.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` at the end of the `with` block, unless an exception ends that."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    try:
        temporary.chmod(0o644)  # all can read the folder's other files, but only its owner a temporary one
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
