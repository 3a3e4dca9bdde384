"""A picture as a browser's pen records it (`frontend/pen/recording.ts`), read from JSON that may come from anywhere."""

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

LIMITS = {"marks": 20_000, "path segments": 100_000, "images": 1_500, "pixels": 2**23, "cells": 40_000}
"""The most of each in a picture. Marks include pieces of text; cells are pixels that are drawn as rectangles. A picture
at a limit takes one to three seconds; the app's take a tenth of one."""
MAX_DEPTH = 16
MAX_SIDE = 19_200.0
"""The longest side of a picture in pixels: 14,400 points, which is the most that readers of PDF show"""
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
"""Paths outside of which nothing is drawn, the outermost first"""


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
    """In the order in which the letters stand"""
    width: float
    seen: Pixels | None
    """How the browser draws it if the font can't; its x begins at the piece"""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
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


Mark = Shape | Words | Picture


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
        RecordingError: it is not as the pen writes it, or too large.
    """
    try:
        return _Reader().recording(json.loads(data))
    except RecordingError:
        raise
    except (ValueError, RecursionError, LookupError, TypeError) as error:  # no JSON, or a part is missing
        raise RecordingError("This is not a picture as attnviz records it.") from error


class _Reader:
    """Reads one recording, and counts what it draws."""

    def __init__(self) -> None:
        self.left = dict(LIMITS)
        self.clips: list[Clip] = []

    def recording(self, given: Any) -> Recording:
        for clip in _list(given["clips"]):
            self.clips.append((*self.clip(clip["parent"]), self.path(clip["path"])))
            if len(self.clips[-1]) > MAX_DEPTH:
                _refuse(f"A clip of the picture lies in more than {MAX_DEPTH - 1} others")
        width, height = (_number(given[side], 1, MAX_SIDE) for side in ("width", "height"))
        title, caption = _text(given["title"]), _text(given["caption"])
        marks = tuple(self.mark(mark) for mark in _list(given["marks"]))
        return Recording(width, height, _optional(given["paper"], _colour), title, caption, marks)

    def mark(self, given: Any) -> Mark:
        self.count("marks")
        alpha, clip = _number(given["alpha"], 0, 1), self.clip(given["clip"])
        match given["kind"]:
            case "shape":
                fill, stroke = (_optional(given[name], _colour) for name in ("fill", "stroke"))
                dash = tuple(_number(length, 0) for length in _list(given["dash"]))
                line = _number(given["lineWidth"], 0)
                return Shape(self.path(given["path"]), fill, stroke, line, dash if any(dash) else (), alpha, clip)
            case "text":
                pieces = tuple(self.piece(piece) for piece in _list(given["pieces"]))
                matrix = tuple(_number(value) for value in _list(given["matrix"], 6))
                size, bold, anchor = _number(given["size"], 0), given["bold"] is True, given["anchor"]
                if anchor not in ANCHORS:
                    _refuse("A text of the picture has an unknown anchor")
                return Words(pieces, matrix, size, bold, anchor, _colour(given["fill"]), alpha, clip)
            case "image":
                pixels, is_cells = self.pixels(given), given["cells"] is True
                if is_cells:
                    self.count("cells", pixels.image.width * pixels.image.height)
                return Picture(pixels, is_cells, alpha, clip)
        raise RecordingError("A mark of the picture is of an unknown kind.")

    def clip(self, given: Any) -> Clip:
        """Return a clip by its number, or none for null. A clip comes after the one that it lies in."""
        return () if given is None else self.clips[int(_number(given, 0))]

    def path(self, given: Any) -> Path:
        self.count("path segments", len(given))
        path = tuple(
            (kind, tuple(_number(value) for value in _list(numbers, COORDINATES[kind])))
            for kind, *numbers in _list(given)
        )
        if path and path[0][0] not in "MR":
            _refuse("A path of the picture does not begin with a place")
        return path

    def piece(self, given: Any) -> Piece:
        self.count("marks")
        return Piece(_text(given["text"]), _number(given["width"], 0), _optional(given["image"], self.pixels))

    def pixels(self, given: Any) -> Pixels:
        x, y = _number(given["x"]), _number(given["y"])
        box = (x, y, _number(given["width"], 0), _number(given["height"], 0))
        self.count("images")
        data = b64decode(given["png"], validate=True)
        try:
            image = Image.open(BytesIO(data), formats=("PNG",))
            self.count("pixels", image.width * image.height)  # as its header says, before it is decompressed
            return Pixels(image.convert("RGBA"), box)
        except RecordingError:
            raise
        except Exception as error:  # Pillow raises many kinds for a damaged image
            raise RecordingError("An image of the picture is damaged or too large.") from error

    def count(self, what: str, number: int = 1) -> None:
        self.left[what] -= number
        if self.left[what] < 0:
            _refuse(f"The picture has too many {what} for a PDF; take SVG or PNG")


def _refuse(why: str) -> NoReturn:
    raise RecordingError(f"{why}.")


def _optional(given: Any, read: Callable[[Any], V]) -> V | None:
    return None if given is None else read(given)


def _number(given: Any, low: float = -MAX_NUMBER, high: float = MAX_NUMBER) -> float:
    if type(given) not in (int, float) or not low <= given <= high:  # also NaN, which Python takes for JSON
        _refuse("A number of the picture is missing or out of range")
    return float(given)


def _list(given: Any, length: int | None = None) -> list[Any]:
    if not isinstance(given, list) or (length is not None and len(given) != length):
        _refuse("A list of the picture is missing or has another length")
    return given


def _text(given: Any) -> str:
    if not isinstance(given, str) or len(given) > MAX_TEXT:
        _refuse(f"A text of the picture is missing or has more than {MAX_TEXT:,} characters")
    return safe(given)


def _colour(given: Any) -> str:
    if not isinstance(given, str) or not _COLOUR.fullmatch(given):
        _refuse("A colour of the picture is not of the kind #5e3c99")
    return given
