"""The app's own typeface as files that slides and pages can carry: made once of what Streamlit brings along.

Streamlit packs Source Sans (SIL Open Font License 1.1) as one variable font. Writers of PDF take static fonts only, so
the two weights that are used are cut from it here. Positioning and substitution tables are left out: what is exported
is set letter by letter, and without them the cut takes a second instead of a minute.
"""

from __future__ import annotations

import threading
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

FAMILY = "Source Sans"
REGULAR, BOLD = 400, 600
"""The weights on the `wght` axis: text, and titles as the app sets them."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character that the typeface does not have, where a file carries this typeface only"""

_LEFT_OUT = ["GSUB", "GPOS", "GDEF", "BASE", "STAT", "MVAR"]


class FontError(RuntimeError):
    """The typeface is not where Streamlit keeps it. The message is one sentence with what to do."""


_cutting = threading.Lock()


def ttf(bold: bool = False) -> bytes:
    """Return Source Sans as a static TrueType font, every character that it has; about 120 kB.

    Raises:
        FontError: this Streamlit does not bring the font.
    """
    with _cutting:  # a class that exports at once cuts it once
        return _static(bold)


@cache
def _static(bold: bool) -> bytes:
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer

    font = TTFont(BytesIO(_variable_font().read_bytes()), lazy=True)
    _cut(font, sorted(font.getBestCmap()))
    static = instancer.instantiateVariableFont(font, {"wght": BOLD if bold else REGULAR}, optimize=False)
    # A reader tells fonts apart by their names; the two weights must not share one.
    for record in static["name"].names:
        if record.nameID == 6:
            record.string = f"SourceSans-{'Semibold' if bold else 'Regular'}"
    return _saved(static)


def subset(text: str, bold: bool = False) -> bytes:
    """Return a WOFF2 font with the characters of `text` only, for a picture that carries its own letters.

    Raises:
        FontError: see `ttf`.
    """
    from fontTools.ttLib import TTFont

    font = TTFont(BytesIO(ttf(bold)))
    _cut(font, sorted({ord(character) for character in text} & set(_widths(bold))))
    return _saved(font, "woff2")


def covers(character: str) -> bool:
    """Say whether the typeface has this character."""
    return ord(character) in _widths(False)


def missing(text: str) -> str:
    """Return the characters of `text` that the typeface lacks, each once, in their order."""
    return "".join(dict.fromkeys(character for character in text if not covers(character)))


def replace_missing(text: str) -> str:
    """Return `text` with a visible replacement for each character that the typeface lacks."""
    return text if not missing(text) else "".join(c if covers(c) else REPLACEMENT for c in text)


def width(text: str, size: float, bold: bool = False) -> float:
    """Measure a line of text, in the unit of `size`; a character that the typeface lacks counts one em."""
    known = _widths(bold)
    return sum(known.get(ord(character), 1.0) for character in text) * size


@cache
def _widths(bold: bool) -> dict[int, float]:
    """Return how far each character advances, in em, by code point."""
    from fontTools.ttLib import TTFont

    font = TTFont(BytesIO(ttf(bold)), lazy=True)
    advance, em = font["hmtx"].metrics, font["head"].unitsPerEm
    return {code: advance[glyph][0] / em for code, glyph in font.getBestCmap().items()}


def _cut(font: Any, codes: list[int]) -> None:
    """Keep these characters of a font, without hinting and without layout tables."""
    from fontTools import subset as cutting

    options = cutting.Options(layout_features=[], notdef_outline=True, hinting=False, name_IDs=["*"])
    options.drop_tables += _LEFT_OUT
    cutter = cutting.Subsetter(options)
    cutter.populate(unicodes=codes)
    cutter.subset(font)


def _saved(font: Any, flavor: str | None = None) -> bytes:
    font.flavor = flavor
    file = BytesIO()
    font.save(file)
    return file.getvalue()


def _variable_font() -> Path:
    # Found without importing Streamlit: a command line that draws a slide has no use for the rest of it.
    spec = find_spec("streamlit")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder, "static").glob("**/SourceSansVF-Upright*.woff2")):
            return file
    raise FontError("Streamlit's Source Sans is not there; install the versions that requirements.txt names.")
