"""`python -m attnviz site`: writes a lesson as a static site, for any file host."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.cli import failed

if TYPE_CHECKING:
    from attnviz.lessons import Lesson

ABOUT = """Write a lesson as a static site: an index and a page for each scene, with all numbers and scripts inside. Any
file host can serve it, and it opens from a disk; it requests nothing but its own files."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser("site", help="write a lesson as a static site", description=ABOUT)
    parser.add_argument("lesson", help="a lesson file (YAML), or one that comes with attnviz: attention, heads, why, "
                                       "transformer, mistakes, forming, ladder, explanation, bert, "
                                       "claims, gallery")  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder, created if missing")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument("--quiet", action="store_true", help="no summary")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the site. Exit codes: 0 success, 1 it could not be made or written, 2 this is not a lesson."""
    from attnviz.export.drawing.fonts import FontError
    from attnviz.export.web.site import build_site
    from attnviz.lessons import LessonError
    from attnviz.pretrained import ModelError
    from attnviz.sources.models import DirectResources
    from attnviz.tokens import NoTokensError

    try:
        lesson = _lesson(arguments.lesson)
    except (LessonError, OSError) as error:
        return failed(f"{arguments.lesson} is not a lesson: {error}", 2)
    out: Path = arguments.out
    if (out / "index.html").exists() and not arguments.force:
        return failed(f"{out / 'index.html'} already exists; --force overwrites", 1)
    written = 0
    try:
        for name, content in build_site(lesson, DirectResources()):
            file = out / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            written += 1
    except (ModelError, NoTokensError, FontError) as error:
        return failed(str(error), 1)
    except OSError as error:
        return failed(f"{out} can't be written: {error.strerror or error}", 1)
    if not arguments.quiet:
        sys.stdout.write(f"{written} files in {out.resolve()}: open index.html\n")
    return 0


def _lesson(name: str) -> Lesson:
    """Return a lesson that comes with attnviz, or the lesson in a file.

    Raises:
        LessonError: the file is not a valid lesson.
        OSError: the file can't be read.
    """
    from attnviz.lessons import OWN, gallery_lesson, read_lesson, shipped

    lessons = {**shipped(), "gallery": gallery_lesson()}
    return lessons[name] if name in lessons else read_lesson(Path(name).read_bytes(), OWN)
