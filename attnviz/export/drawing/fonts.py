"""Static fonts for embedding in exports, instantiated once from Streamlit's variable font.

Streamlit includes Source Sans (SIL Open Font License 1.1) as one variable font. PDF needs static fonts, so this module
instantiates the two weights in use. It drops positioning and substitution tables: exports place every letter
themselves, and instantiation then takes a second instead of a minute. Widths come from the variable font, at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

FAMILY = "Source Sans"
REGULAR, BOLD = 400, 600
"""The positions on the `wght` axis of text and of titles, as in the app."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Replaces a character that the font lacks, in files with only this font"""

_DROPPED_TABLES = ["GSUB", "GPOS", "GDEF", "BASE", "STAT", "MVAR"]


class FontError(RuntimeError):
    """Streamlit's font file is missing. The message is one sentence that tells the user what to do."""


_lock = threading.Lock()


def ttf(bold: bool = False) -> bytes:
    """Return Source Sans as a static TrueType font with all its characters, about 120 kB.

    Raises:
        FontError: this version of Streamlit does not include the font.
    """
    with _lock:  # simultaneous exports instantiate it once
        return _static(bold)


@cache
def _static(bold: bool) -> bytes:
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer

    static = TTFont(BytesIO(_reduced()), recalcTimestamp=False)
    weight = {"wght": BOLD if bold else REGULAR}
    instancer.instantiateVariableFont(static, weight, inplace=True, optimize=False)
    # PDF readers identify fonts by name, so the two weights need different names.
    for record in static["name"].names:
        if record.nameID == 6:
            record.string = f"SourceSans-{'Semibold' if bold else 'Regular'}"
    return _saved(static)


@cache
def _reduced() -> bytes:
    """Return the variable font without what no export uses. To decode it takes as long as to instantiate a weight."""
    from fontTools.ttLib import TTFont

    font = TTFont(BytesIO(variable_font().read_bytes()), lazy=True, recalcTimestamp=False)
    _reduce(font, sorted(font.getBestCmap()))
    return _saved(font)


def subset(text: str, bold: bool = False) -> bytes:
    """Return a WOFF2 font with only the characters of `text`, for embedding in a picture.

    Raises:
        FontError: see `ttf`.
    """
    return _subset(tuple(sorted({ord(character) for character in text} & _widths(bold).keys())), bold)


@lru_cache(64)  # some 10 kB each: the light and the dark picture of a page have the same characters
def _subset(codes: tuple[int, ...], bold: bool) -> bytes:
    from fontTools.ttLib import TTFont

    font = TTFont(BytesIO(ttf(bold)), recalcTimestamp=False)  # the same characters give the same file
    _reduce(font, list(codes))
    return _saved(font, "woff2")


def characters() -> str:
    """Return all characters of the font."""
    return "".join(map(chr, sorted(_widths(False))))


def covers(character: str) -> bool:
    """Whether the font has this character."""
    return ord(character) in _widths(False)


def missing(text: str) -> str:
    """Return the characters of `text` that the font lacks, without duplicates, in order."""
    return "".join(dict.fromkeys(character for character in text if not covers(character)))


def replace_missing(text: str) -> str:
    """Return `text` with `REPLACEMENT` for each character that the font lacks."""
    return text if not missing(text) else "".join(c if covers(c) else REPLACEMENT for c in text)


_in_any_font: ContextVar[bool] = ContextVar("in_any_font", default=False)


@contextmanager
def in_any_font() -> Iterator[None]:
    """Let `width` be that of the widest font in which a file may be shown, for files that can't embed their font."""
    before = _in_any_font.set(True)
    try:
        yield
    finally:
        _in_any_font.reset(before)


def width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a line of text, in the unit of `size`. A character that the font lacks counts as 1 em."""
    widths = _widest(bold) if _in_any_font.get() else _widths(bold)
    return sum(widths.get(ord(character), 1.0) for character in text) * size


@cache
def _widest(bold: bool) -> dict[int, float]:
    """Return the largest advance width of each character in em, by code point.

    Compared are Source Sans, Arial (as Helvetica) and Bitstream Vera Sans, which is DejaVu Sans: the font that programs
    without Arial take, and as wide as Verdana. ReportLab includes the widths of both. What Vera lacks is as much wider
    than in Source Sans as a letter is on average.
    """
    from reportlab.pdfbase.pdfmetrics import getFont
    from reportlab.pdfbase.ttfonts import TTFontFile

    vera = TTFontFile("VeraBd.ttf" if bold else "Vera.ttf", validate=0).charWidths
    arial = getFont("Helvetica-Bold" if bold else "Helvetica")
    own = _widths(bold)
    letters = [code for code in vera if code in own and chr(code).isalpha()]
    wider = sum(vera[code] for code in letters) / sum(own[code] for code in letters) / 1000
    return {
        code: max(width, vera.get(code, 1000 * wider * width) / 1000, arial.stringWidth(chr(code), 1.0))
        for code, width in own.items()
    }


@cache
def _widths(bold: bool) -> dict[int, float]:
    """Return the advance width of each character in em, by code point: those of `ttf`."""
    from fontTools.misc.roundTools import otRound
    from fontTools.ttLib import TTFont
    from fontTools.varLib.models import normalizeLocation, piecewiseLinearMap
    from fontTools.varLib.varStore import VarStoreInstancer

    font = TTFont(BytesIO(variable_font().read_bytes()), lazy=True)
    axes, widths = font["fvar"].axes, font["HVAR"].table
    bounds = {axis.axisTag: (axis.minValue, axis.defaultValue, axis.maxValue) for axis in axes}
    place = normalizeLocation({"wght": BOLD if bold else REGULAR}, bounds)
    place = {axis: piecewiseLinearMap(at, font["avar"].segments[axis]) for axis, at in place.items()}
    change = VarStoreInstancer(widths.VarStore, axes, place)
    entry = widths.AdvWidthMap.mapping if widths.AdvWidthMap else font.getReverseGlyphMap()
    defaults, em = font["hmtx"].metrics, font["head"].unitsPerEm
    return {code: otRound(defaults[glyph][0] + change[entry[glyph]]) / em for code, glyph in font.getBestCmap().items()}


def _reduce(font: Any, codes: list[int]) -> None:
    """Reduce a font in place to these characters, without hinting and layout tables."""
    from fontTools.subset import Options, Subsetter

    options = Options(layout_features=[], notdef_outline=True, hinting=False, name_IDs=["*"])
    options.drop_tables += _DROPPED_TABLES
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)


def _saved(font: Any, flavor: str | None = None) -> bytes:
    font.flavor = flavor
    file = BytesIO()
    font.save(file)
    return file.getvalue()


def variable_font() -> Path:
    """Return Streamlit's font file, WOFF2; raises as `ttf` does."""
    # Locates the file without importing Streamlit, which the command line does not need.
    spec = find_spec("streamlit")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder, "static").glob("**/SourceSansVF-Upright*.woff2")):
            return file
    raise FontError("Streamlit's font Source Sans is missing; install the versions in requirements.txt.")
