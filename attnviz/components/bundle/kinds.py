"""What the browser loads of a component: one script and one style sheet, each made of the many files of `frontend/`.

Their folder has the name of a hash of all that shapes them: browsers may keep them for ever, and all replicas of one
version offer the same addresses.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attnviz.components.bundle import linking
from attnviz.components.bundle.styles import styles

PATH = "/attnviz/modules/"
"""Where the server offers them"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of component: its module, whose default export is its class, and its style sheet, both in `frontend/`."""

    module: str
    styles: str
    is_open: bool = False
    """Whether it stands in the page itself, not in a shadow root apart from the page's styles"""
    page_styles: str = ""
    """The kind whose style sheet the page itself needs too, for what stands beside the shadow root; "" if none"""


KINDS = {
    "chart": Kind("page/chart.js", "chart/chart.css", is_open=True),
    "compare": Kind("compare/compare.js", "compare/compare.css"),
    "explorer": Kind("page/explorer.js", "heads/explorer.css"),
    "export_view": Kind("export/view.js", "export/view.css"),
    "lecture": Kind("page/lecture.js", "page/lecture.css"),
    "share": Kind("page/share.js", "page/share.css"),
    "stage": Kind("page/stage.js", "walk/stage.css", is_open=True),
    "stepper": Kind("page/stepper.js", "walk/stepper.css"),
    "tour": Kind("tour/tour.js", "tour/tour.css"),
    "walk": Kind("page/walk.js", "page/walk.css", page_styles="chart"),
}


@cache
def folder() -> str:
    """Return the address of the folder with the files. It stays the same until the process ends."""
    made_of = [file for kind in ("*.js", "*.css") for file in linking.FRONTEND.rglob(kind)]
    made_by = Path(__file__).parent.glob("*.py")
    version = hashlib.sha256()
    for file in sorted((*made_of, *made_by)):
        text = file.read_bytes()
        version.update(f"{file.relative_to(linking.FRONTEND.parent).as_posix()} {len(text)}\n".encode() + text)
    return f"{PATH}{version.hexdigest()[:16]}/"


def read(address: str) -> str | None:
    """Return the text of a script or a style sheet in `folder()`; None if there is none at this address.

    Made at the first call, which takes some hundredths of a second.
    """
    name, _, suffix = address.removeprefix(folder()).rpartition(".")
    kind = KINDS.get(name)
    if kind is None or not address.startswith(folder()):
        return None
    makers = {"js": lambda: linking.shared_module(kind.module), "css": lambda: styles(kind.styles)}
    return makers[suffix]() if suffix in makers else None
