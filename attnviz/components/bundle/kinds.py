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
    page_styles: str = ""
    """The name in `PAGE_STYLES` of the style sheet of what stands in the page, beside the shadow root; "" if none"""


KINDS = {
    "compare": Kind("compare/compare.js", "compare/compare.css"),
    "explorer": Kind("page/explorer.js", "heads/explorer.css"),
    "export_view": Kind("export/view.js", "export/view.css"),
    "generation": Kind("generation/generation.js", "generation/generation.css"),
    "ladder": Kind("ladder/ladder.js", "ladder/ladder.css"),
    "lecture": Kind("page/lecture.js", "page/lecture.css"),
    "share": Kind("page/share.js", "page/share.css"),
    "tour": Kind("tour/tour.js", "tour/tour.css"),
    "training": Kind("training/training.js", "training/training.css"),
    "transformer": Kind("page/transformer.js", "page/transformer.css", page_styles="chart"),
    "walk": Kind("page/walk.js", "page/walk.css", page_styles="chart"),
}
PAGE_STYLES = {"chart": "chart/chart.css"}
"""Style sheets that the page itself needs, in `frontend/`"""


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
    if not address.startswith(folder()):
        return None
    if suffix == "js" and name in KINDS:
        return linking.shared_module(KINDS[name].module)
    sheets = {one: kind.styles for one, kind in KINDS.items()} | PAGE_STYLES
    return styles(sheets[name]) if suffix == "css" and name in sheets else None
