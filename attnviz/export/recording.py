"""A picture as a browser's pen records it (`frontend/pen/recording.ts`), read from untrusted JSON."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NoReturn, TypeVar

from PIL import Image

from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import Anchor

LIMITS = {
    "pictures": 100, "marks": 20_000, "path segments": 100_000, "images": 1_500, "pixels": 2**23, "cells": 40_000,
}  # fmt: skip
"""The largest number of each in one file. Marks include pieces of text; cells are pixels that are drawn as rectangles.
A picture at a limit takes one to three seconds; the app's own pictures take a tenth of a second."""
MAX_DEPTH = 16
MAX_SIDE = 19_200.0
"""The longest side of a picture in pixels: 14,400 points, the most that PDF readers show"""
MAX_NUMBER = 1e6
MAX_TEXT = 10_000
"""Characters of one text"""

ANCHORS = ("start", "middle", "end")
COORDINATES = {"M": 2, "L": 2, "C": 6, "R": 4, "Z": 0}
"""The kinds of path segments: move, line, Bézier curve, rectangle (x, y, width, height), close"""

_COLOUR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE | re.ASCII)
V = TypeVar("V")
Path = tuple[tuple[str, tuple[float, ...]], ...]
Clip = tuple[Path, ...]
"""Nested clipping paths, the outermost first: nothing is drawn outside any of them"""


class RecordingError(ValueError):
    """A recording is refused; the message says why, in one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A path, filled, stroked, or both."""

    path: Path
    fill: str | None
    stroke: str | None
    line: float
    dash: tuple[float, ...]
    alpha: float
    clip: Clip


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """An image, in a rectangle of the picture or of a text."""

    image: Image.Image
    box: tuple[float, float, float, float]
    """x, y, width and height"""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of a line of text."""

    text: str
    """In visual order"""
    width: float
    seen: Pixels | None
    """An image of it by the browser, if the font can't write it; its x is relative to the piece"""


@dataclass(frozen=True, slots=True, eq=False)
class TextLine:
    """A line of text; its anchor is at (0, 0) of the matrix (a, b, c, d, e, f)."""

    pieces: tuple[Piece, ...]
    matrix: tuple[float, ...]
    size: float
    bold: bool
    anchor: Anchor
    colour: str
    alpha: float
    clip: Clip


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """An image."""

    pixels: Pixels
    is_cells: bool
    """Whether each pixel is drawn as a rectangle"""
    alpha: float
    clip: Clip


Mark = Shape | TextLine | Picture


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A picture in pixels, its y axis pointing down, with its marks from back to front."""

    width: float
    height: float
    paper: str | None
    """The colour of the background; None is transparent"""
    title: str
    caption: str
    marks: tuple[Mark, ...]


def read_recording(data: bytes) -> Recording:
    """Read a recording.

    Raises:
        RecordingError: it is not in the pen's format, or it is too large.
    """
    return _read(data, _Reader().recording)


def read_recordings(data: bytes) -> list[Recording]:
    """Read a list of recordings, which share the limits of one; raises as `read_recording` does."""
    reader = _Reader()
    return _read(data, lambda raw: [reader.recording(one) for one in _list(raw)])


def _read(data: bytes, read: Callable[[Any], V]) -> V:
    try:
        return read(json.loads(data))
    except RecordingError:
        raise
    except (ValueError, RecursionError, LookupError, TypeError) as error:  # not JSON, or a part is missing
        raise RecordingError("This is not a picture as attnviz records it.") from error


class _Reader:
    """Reads recordings, and counts what they draw."""

    def __init__(self) -> None:
        self.left = dict(LIMITS)
        self.clips: list[Clip] = []
        self.entered: Clip = ()
        """The clip of the last mark"""

    def recording(self, raw: Any) -> Recording:
        self.count("pictures")
        self.clips, self.entered = [], ()
        for clip in _list(raw["clips"]):
            self.clips.append((*self.clip(clip["parent"]), self.path(clip["path"])))
            if len(self.clips[-1]) > MAX_DEPTH:
                _refuse(f"A clip of the picture lies in more than {MAX_DEPTH - 1} others")
        width, height = (_number(raw[side], 1, MAX_SIDE) for side in ("width", "height"))
        title, caption = _text(raw["title"]), _text(raw["caption"])
        marks = tuple(self.mark(mark) for mark in _list(raw["marks"]))
        return Recording(width, height, _optional(raw["paper"], _colour), title, caption, marks)

    def mark(self, raw: Any) -> Mark:
        self.count("marks")
        alpha, clip = _number(raw["alpha"], 0, 1), self.clip(raw["clip"])
        if clip is not self.entered:  # a file has a clip's paths once more each time that it is entered
            self.count("path segments", sum(map(len, clip)))
            self.entered = clip
        match raw["kind"]:
            case "shape":
                fill, stroke = (_optional(raw[name], _colour) for name in ("fill", "stroke"))
                dash = tuple(_number(length, 0) for length in _list(raw["dash"]))
                line = _number(raw["lineWidth"], 0)
                return Shape(self.path(raw["path"]), fill, stroke, line, dash if any(dash) else (), alpha, clip)
            case "text":
                pieces = tuple(self.piece(piece) for piece in _list(raw["pieces"]))
                matrix = tuple(_number(value) for value in _list(raw["matrix"], 6))
                size, bold, anchor = _number(raw["size"], 0), raw["bold"] is True, raw["anchor"]
                if anchor not in ANCHORS:
                    _refuse("A text of the picture has an unknown anchor")
                return TextLine(pieces, matrix, size, bold, anchor, _colour(raw["fill"]), alpha, clip)
            case "image":
                pixels, is_cells = self.pixels(raw), raw["cells"] is True
                if is_cells:
                    self.count("cells", pixels.image.width * pixels.image.height)
                return Picture(pixels, is_cells, alpha, clip)
        raise RecordingError("A mark of the picture is of an unknown kind.")

    def clip(self, raw: Any) -> Clip:
        """Return a clip by its number, or () for null. A clip comes after the one that it is nested in."""
        return () if raw is None else self.clips[int(_number(raw, 0))]

    def path(self, raw: Any) -> Path:
        self.count("path segments", len(raw))
        path = tuple(
            (kind, tuple(_number(value) for value in _list(numbers, COORDINATES[kind])))
            for kind, *numbers in _list(raw)
        )
        if path and path[0][0] not in "MR":
            _refuse("A path of the picture does not begin with a place")
        return path

    def piece(self, raw: Any) -> Piece:
        self.count("marks")
        return Piece(_text(raw["text"]), _number(raw["width"], 0), _optional(raw["image"], self.pixels))

    def pixels(self, raw: Any) -> Pixels:
        x, y = _number(raw["x"]), _number(raw["y"])
        box = (x, y, _number(raw["width"], 0), _number(raw["height"], 0))
        self.count("images")
        data = b64decode(raw["png"], validate=True)
        try:
            image = Image.open(BytesIO(data), formats=("PNG",))
            self.count("pixels", image.width * image.height)  # the size in its header, before decompression
            return Pixels(image.convert("RGBA"), box)
        except RecordingError:
            raise
        except Exception as error:  # Pillow raises many kinds for a damaged image
            raise RecordingError("An image of the picture is damaged or too large.") from error

    def count(self, what: str, number: int = 1) -> None:
        self.left[what] -= number
        if self.left[what] < 0:
            _refuse(f"There are too many {what} for this format; take SVG or PNG")


def _refuse(why: str) -> NoReturn:
    raise RecordingError(f"{why}.")


def _optional(raw: Any, read: Callable[[Any], V]) -> V | None:
    return None if raw is None else read(raw)


def _number(raw: Any, low: float = -MAX_NUMBER, high: float = MAX_NUMBER) -> float:
    if type(raw) not in (int, float) or not low <= raw <= high:  # also NaN, which Python reads as JSON
        _refuse("A number of the picture is missing or out of range")
    return float(raw)


def _list(raw: Any, length: int | None = None) -> list[Any]:
    if not isinstance(raw, list) or (length is not None and len(raw) != length):
        _refuse("A list of the picture is missing or has another length")
    return raw


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or len(raw) > MAX_TEXT:
        _refuse(f"A text of the picture is missing or has more than {MAX_TEXT:,} characters")
    return safe(raw)


def _colour(raw: Any) -> str:
    if not isinstance(raw, str) or not _COLOUR.fullmatch(raw):
        _refuse("A colour of the picture is not of the kind #5e3c99")
    return raw
