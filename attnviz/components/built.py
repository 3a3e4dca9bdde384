"""The browser side as it is served: the scripts that `npm run build` makes of `frontend/`, and its style sheets.

`dist/` holds the scripts: `app/` those of the components, which share others; `main/` the one that Streamlit serves;
`pages/` one for each kind of exported page; `notebook/` one for each widget. Their folder on the server has the name of
a hash of all that is in it: browsers may keep the files for ever, and all replicas of one version offer the same
addresses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnviz.components.styles import styles

DIST = Path(__file__).parent / "dist"
PATH = "/attnviz/modules/"
"""Where the server offers the files of components"""


KINDS = {
    "compare": "compare/compare.css",
    "explorer": "heads/explorer.css",
    "export_view": "export/view.css",
    "generation": "generation/generation.css",
    "matrix": "matrix/matrix.css",
    "model_series": "model_series/model_series.css",
    "lecture": "page/lecture.css",
    "share": "page/share.css",
    "training": "training/training.css",
    "transformer": "page/transformer.css",
    "walk": "page/walk.css",
}
"""The kinds of components, each with its style sheet in `frontend/`; its script has the kind's name"""
PAGE_STYLES = {"transformer": "chart", "walk": "chart"}
"""By kind: the style sheet of what stands in the page, beside the shadow root"""

_SHEETS = {**KINDS, "chart": "chart/chart.css"}


def page_script(kind: str) -> str:
    """Return the classic script of an exported page, which a page can also load from disk."""
    return _read(DIST / "pages" / f"{kind}.js")


def widget_module(name: str) -> str:
    """Return the ES module of a notebook's widget, which imports nothing."""
    return _read(DIST / "notebook" / f"{name}.js")


@cache
def folder() -> str:
    """Return the address of the folder with the files of components. It stays the same until the process ends."""
    files = {f"{name}.css": styles(sheet) for name, sheet in _SHEETS.items()}
    files |= {f"{name}.js": text for name, text in _scripts().items()}
    version = hashlib.sha256()
    for name, text in sorted(files.items()):
        version.update(f"{name} {len(text)}\n{text}".encode())
    return f"{PATH}{version.hexdigest()[:16]}/"


def addresses() -> tuple[str, ...]:
    """Return the addresses of all scripts and style sheets of components."""
    return (*(f"{folder()}{name}.js" for name in _scripts()), *(f"{folder()}{name}.css" for name in _SHEETS))


def read(address: str) -> str | None:
    """Return the text of a script or a style sheet in `folder()`; None if there is none at this address."""
    if not address.startswith(folder()):
        return None
    name, _, suffix = address.removeprefix(folder()).rpartition(".")
    if suffix == "js":
        return _scripts().get(name)
    return styles(_SHEETS[name]) if suffix == "css" and name in _SHEETS else None


def needed_by(kind: str) -> list[str]:
    """Return the names of the scripts that a component's script imports, directly or through others."""
    return list(about()["needed"][kind])


def missing() -> list[str]:
    """Return the names of the scripts in `dist/` without which components can't be shown, and that are not there."""
    names = ["built.json", "main/main.js"]
    if (DIST / names[0]).is_file():
        names += [f"app/{file}" for kind in KINDS for file in (f"{kind}.js", *needed_by(kind))]
    return [name for name in dict.fromkeys(names) if not (DIST / name).is_file()]


@cache
def about() -> Mapping[str, Any]:
    """Return `built.json`: `sources`, the digest of what the scripts were made of, and `needed` by each component."""
    return MappingProxyType(json.loads(_read(DIST / "built.json")))


@cache
def _scripts() -> dict[str, str]:
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted((DIST / "app").glob("*.js"))}


@cache
def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
