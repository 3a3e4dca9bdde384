"""Writes pictures that a browser recorded as PowerPoint slides: native shapes and text, and images of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import count, pairwise
from math import atan2, ceil, cos, degrees, hypot, sin
from typing import Any

import numpy as np
from PIL import Image

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import LIGHT_THEME, Text
from attnviz.export.drawing.picture import MAX_PIXELS, channels, hexadecimal
from attnviz.export.files.slides import MAX_ALT, PIXEL, add_text, new_deck, saved, solid
from attnviz.export.recording import Clip, Mark, Path, Picture, Pixels, Recording, RecordingError, Shape, TextLine
from attnviz.export.sheets import HEIGHT, WIDTH

MOST_SHAPES = 5_000
"""The most shapes, texts and images of a deck: PowerPoint opens them in a few seconds"""
LARGEST = 2.5
"""How many times as large as on the page a picture may be"""
SIZES = (2.0, 5000.0)
"""The smallest and the largest font size in pixels: PowerPoint takes 1 to 4,000 points"""
CURVE = 12
"""The straight lines that a curve becomes where a clip cuts it"""
NAMESPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)

Box = tuple[float, float, float, float]
"""left, top, right, bottom"""
Points = list[tuple[float, float]]
EVERYWHERE: Box = (-1e9, -1e9, 1e9, 1e9)


def write_picture_slides(recordings: Sequence[Recording]) -> bytes:
    """Return a deck with a slide of 16:9 for each picture, as large as it fits, and its caption in the speaker notes.

    Raises:
        RecordingError: they need more than `MOST_SHAPES`, or there is no picture.
    """
    if not recordings:
        raise RecordingError("There is no picture for a slide.")
    deck, numbers = new_deck(recordings[0].title), count(1)
    for recording in recordings:
        _add_slide(deck, recording, numbers)
    return saved(deck)


def _add_slide(deck: Any, recording: Recording, numbers: Iterator[int]) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.turbo_add_enabled = True
    if recording.paper and recording.paper.upper() != LIGHT_THEME.paper.upper():
        solid(slide.background.fill, recording.paper)  # light slides keep the background of the deck
    picture = _PictureSlide(slide, recording, numbers)
    for mark in recording.marks:
        picture.draw(mark)
    slide.notes_slide.notes_text_frame.text = "\n\n".join(filter(None, (recording.title, recording.caption)))


class _PictureSlide:
    """Draws marks of a recording on a slide; `numbers` are those of all shapes of the deck, from 1."""

    def __init__(self, slide: Any, recording: Recording, numbers: Iterator[int]) -> None:
        self.shapes = slide.shapes
        self.alt = ". ".join(filter(None, (recording.title, recording.caption)))
        """The alternative text of cells, which no other text of the slide describes"""
        self.scale = min(WIDTH / recording.width, HEIGHT / recording.height, LARGEST)
        self.left = (WIDTH - self.scale * recording.width) / 2
        self.top = (HEIGHT - self.scale * recording.height) / 2
        self.paper = recording.paper or LIGHT_THEME.paper
        self.numbers = numbers
        self.shares = shares_of_size(recording.marks)
        self.clip: Clip = ()
        self.box = EVERYWHERE
        """The box of the clip"""

    def at(self, x: float, y: float) -> tuple[int, int]:
        """Return a place of the picture in units of the slide."""
        return round((self.left + self.scale * x) * PIXEL), round((self.top + self.scale * y) * PIXEL)

    def number(self) -> int:
        """Return the number of the next shape, text or image; raises RecordingError if there are too many."""
        number = next(self.numbers)
        if number > MOST_SHAPES:
            raise RecordingError("There are too many shapes for slides; take SVG or PNG.")
        return number

    def draw(self, mark: Mark) -> None:
        if mark.clip is not self.clip:
            self.clip, self.box = mark.clip, box_of_clip(mark.clip)
        match mark:
            case Shape():
                self.shape(mark, self.box)
            case TextLine():
                self.text_line(mark, self.box)
            case Picture():
                self.image(
                    mark.pixels, self.box, mark.alpha, is_sharp=mark.is_cells, alt=self.alt if mark.is_cells else ""
                )

    # ---- shapes

    def shape(self, shape: Shape, clip: Box) -> None:
        around = bounds(shape.path)
        if around is None or not overlap(around, clip):
            return
        if is_within(around, clip):
            self.freeform(shape.path, shape, fill=shape.fill, stroke=shape.stroke)
            return
        parts = polygons(shape.path)
        areas = [area for part in parts if (area := cut_area(part, clip))] if shape.fill else []
        lines = [line for part in parts for line in cut_lines(part, clip)] if shape.stroke else []
        if areas:
            self.freeform(as_path([[*area, area[0]] for area in areas]), shape, fill=shape.fill, stroke=None)
        if lines:
            self.freeform(as_path(lines), shape, fill=None, stroke=shape.stroke)

    def freeform(self, path: Path, looks: Shape, *, fill: str | None, stroke: str | None) -> None:
        from pptx.oxml import parse_xml

        number = self.number()
        left, top, right, bottom = bounds(path) or (0, 0, 0, 0)
        (x, y), (x1, y1) = self.at(left, top), self.at(right, bottom)
        wide, high = max(1, x1 - x), max(1, y1 - y)
        steps = "".join(self._step(kind, numbers, (x, y)) for kind, numbers in path)
        colour = _colour(fill, looks.alpha) if fill else "<a:noFill/>"
        self.shapes._spTree.append(parse_xml(
            f'<p:sp {NAMESPACES}><p:nvSpPr><p:cNvPr id="{number + 10 * MOST_SHAPES}" name="shape {number}"/>'
            f'<p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="{wide}" cy="{high}"/>'
            "</a:xfrm><a:custGeom><a:avLst/><a:gdLst/><a:ahLst/><a:cxnLst/>"
            '<a:rect l="0" t="0" r="r" b="b"/><a:pathLst>'
            f'<a:path w="{wide}" h="{high}"{"" if fill else " fill=" + chr(34) + "none" + chr(34)}>{steps}</a:path>'
            f"</a:pathLst></a:custGeom>{colour}{self._line(looks, stroke)}</p:spPr></p:sp>"
        ))  # fmt: skip

    def _step(self, kind: str, numbers: Sequence[float], corner: tuple[int, int]) -> str:
        if kind == "Z":
            return "<a:close/>"
        if kind == "R":
            x, y, wide, high = numbers
            around = [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]
            first, *others = (self._point(*point, corner) for point in around)
            lines = "".join(f"<a:lnTo>{point}</a:lnTo>" for point in others)
            return f"<a:moveTo>{first}</a:moveTo>{lines}<a:close/>"
        name = {"M": "moveTo", "L": "lnTo", "C": "cubicBezTo"}[kind]
        points = zip(numbers[::2], numbers[1::2], strict=True)
        return f"<a:{name}>{''.join(self._point(x, y, corner) for x, y in points)}</a:{name}>"

    def _point(self, x: float, y: float, corner: tuple[int, int]) -> str:
        across, down = self.at(x, y)
        return f'<a:pt x="{across - corner[0]}" y="{down - corner[1]}"/>'

    def _line(self, looks: Shape, stroke: str | None) -> str:
        if not stroke:
            return "<a:ln><a:noFill/></a:ln>"
        lengths = looks.dash if len(looks.dash) % 2 == 0 else looks.dash * 2
        dashes = "".join(
            f'<a:ds d="{round(100_000 * drawn / looks.line)}" sp="{round(100_000 * space / looks.line)}"/>'
            for drawn, space in zip(lengths[::2], lengths[1::2], strict=True)
            if looks.line
        )
        dash = f"<a:custDash>{dashes}</a:custDash>" if dashes else ""
        width = round(looks.line * self.scale * PIXEL)
        return f'<a:ln w="{width}">{_colour(stroke, looks.alpha)}{dash}<a:round/></a:ln>'

    # ---- text

    def text_line(self, line: TextLine, clip: Box) -> None:
        """Write a line of text. A piece that needs fonts of the browser is its image, with the text as alternative."""
        a, b, _, _, x, y = line.matrix
        angle, growth = atan2(b, a), hypot(a, b)
        left, top, right, bottom = clip
        if not (left - 1 <= x <= right + 1 and top - 1 <= y <= bottom + line.size * growth):
            return
        widths = [piece.width if piece.seen else fonts.width(piece.text, line.size, line.bold) for piece in line.pieces]
        start = {"start": 0.0, "middle": -sum(widths) / 2, "end": -sum(widths)}[line.anchor]
        is_one = len(line.pieces) == 1
        for piece, width in zip(line.pieces, widths, strict=True):
            if piece.seen:
                self.image(moved(piece.seen, line, start), EVERYWHERE, line.alpha, turn=degrees(angle), alt=piece.text)
            elif piece.text.strip():
                along = 0.0 if is_one else start * growth
                self.words(piece.text, line, (x + along * cos(angle), y + along * sin(angle)), is_one=is_one)
            start += width

    def words(self, text: str, line: TextLine, at: tuple[float, float], *, is_one: bool) -> None:
        a, b, *_ = line.matrix
        size = line.size * hypot(a, b) * self.scale * self.shares.get((line.size, line.bold), 1.0)
        if not SIZES[0] <= size <= SIZES[1]:
            return
        self.number()
        with fonts.in_any_font():
            x, y = self.left + self.scale * at[0], self.top + self.scale * at[1]
            colour = blended(line.colour, self.paper, line.alpha)
            anchor = line.anchor if is_one else "start"
            turn = -degrees(atan2(b, a))
            add_text(self.shapes, Text(x, y, text, size, colour, line.bold, anchor=anchor, turn=turn))

    # ---- images

    def image(
        self, pixels: Pixels, clip: Box, alpha: float, *, is_sharp: bool = False, turn: float = 0.0, alt: str = ""
    ) -> None:
        cut = cut_pixels(pixels, clip)
        if cut is None:
            return
        self.number()
        image = faded(enlarged(cut.image) if is_sharp else cut.image, alpha)
        x, y, wide, high = cut.box
        (left, top), (right, bottom) = self.at(x, y), self.at(x + wide, y + high)
        file = BytesIO()
        image.save(file, "PNG")
        picture = self.shapes.add_picture(file, left, top, max(1, right - left), max(1, bottom - top))
        picture.rotation = turn
        picture._element.nvPicPr.cNvPr.set("descr", safe(alt)[:MAX_ALT])


def shares_of_size(marks: Sequence[Mark]) -> dict[tuple[float, bool], float]:
    """Return the share of its size at which no text of a size and weight is wider in the deck's font than it is drawn.

    Texts of one size stay of one size.
    """
    shares: dict[tuple[float, bool], float] = {}
    for line in marks:
        if not isinstance(line, TextLine):
            continue
        for piece in line.pieces:
            own = fonts.width(piece.text, 1.0, line.bold)
            with fonts.in_any_font():
                share = own / (fonts.width(piece.text, 1.0, line.bold) or 1.0)
            if not piece.seen and own:
                kind = (line.size, line.bold)
                shares[kind] = min(shares.get(kind, 1.0), share)
    return shares


def _colour(colour: str, alpha: float) -> str:
    opacity = f'<a:alpha val="{round(100_000 * alpha)}"/>' if alpha < 1 else ""
    return f'<a:solidFill><a:srgbClr val="{colour[1:].upper()}">{opacity}</a:srgbClr></a:solidFill>'


def blended(colour: str, paper: str, alpha: float) -> str:
    """Return a colour of this opacity on paper."""
    front, back = np.array(channels(colour), float), np.array(channels(paper), float)
    return hexadecimal(np.rint(back + alpha * (front - back)))


def enlarged(image: Image.Image) -> Image.Image:
    """Return an image whose pixels are squares of many: programs that enlarge an image blur it."""
    times = max(1, min(ceil(MAX_PIXELS / 2 / max(image.size)), 64))
    return image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)


def faded(image: Image.Image, alpha: float) -> Image.Image:
    """Return an image with its opacity times `alpha`."""
    if alpha == 1:
        return image
    image = image.copy()
    image.putalpha(image.getchannel("A").point(lambda opacity: round(alpha * opacity)))
    return image


def moved(pixels: Pixels, line: TextLine, start: float) -> Pixels:
    """Return the image of a piece of text, unturned, at its place in the picture; `start` is where the piece begins."""
    a, b, _, _, x, y = line.matrix
    angle, growth = atan2(b, a), hypot(a, b)
    left, top, wide, high = pixels.box
    across, down = growth * (start + left + wide / 2), growth * (top + high / 2)  # of its middle
    middle = (x + across * cos(angle) - down * sin(angle), y + across * sin(angle) + down * cos(angle))
    box = (middle[0] - growth * wide / 2, middle[1] - growth * high / 2, growth * wide, growth * high)
    return Pixels(pixels.image, box)


# ---- clips: a slide has none, so what is drawn is cut to the box of its clip


def bounds(path: Path) -> Box | None:
    """Return the box of a path with the control points of its curves, or None if it has no point."""
    xs: list[float] = []
    ys: list[float] = []
    for kind, numbers in path:
        if kind == "R":
            x, y, wide, high = numbers
            xs += (x, x + wide)
            ys += (y, y + high)
        else:
            xs += numbers[::2]
            ys += numbers[1::2]
    return (min(xs), min(ys), max(xs), max(ys)) if xs else None


def box_of_clip(clip: Clip) -> Box:
    """Return the box that the boxes of all clipping paths share."""
    left, top, right, bottom = EVERYWHERE
    for path in clip:
        x, y, x1, y1 = bounds(path) or (0.0, 0.0, 0.0, 0.0)
        left, top, right, bottom = max(left, x), max(top, y), min(right, x1), min(bottom, y1)
    return left, top, right, bottom


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share a point."""
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def is_within(inner: Box, outer: Box) -> bool:
    """Whether a box lies in another."""
    left, top, right, bottom = outer
    return left <= inner[0] and top <= inner[1] and inner[2] <= right and inner[3] <= bottom


def polygons(path: Path) -> list[Points]:
    """Return each part of a path as points; curves become `CURVE` straight lines."""
    parts: list[Points] = []
    for kind, numbers in path:
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if kind == "M":
            parts.append(points)
        elif kind == "R":
            (x, y), (wide, high) = points
            parts.append([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)])
        elif kind == "Z":
            parts[-1].append(parts[-1][0])
        elif kind == "L":
            parts[-1] += points
        else:
            parts[-1] += _curve(parts[-1][-1], points)
    return parts


def _curve(begin: tuple[float, float], points: Points) -> Iterator[tuple[float, float]]:
    """Yield points of a cubic Bézier curve, without its beginning."""
    ends = np.array([begin, *points])
    for t in np.linspace(0, 1, CURVE + 1)[1:]:
        shares = np.array([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3])
        x, y = (shares @ ends).tolist()
        yield x, y


def as_path(lines: Sequence[Points]) -> Path:
    """Return lines as one path."""
    return tuple(("L" if n else "M", point) for line in lines for n, point in enumerate(line))


def cut_lines(points: Points, clip: Box) -> list[Points]:
    """Return the parts of a line inside a box (Liang and Barsky)."""
    parts: list[Points] = []
    for (x, y), (x1, y1) in pairwise(points):
        begin, end = 0.0, 1.0
        for at, change, low, high in ((x, x1 - x, clip[0], clip[2]), (y, y1 - y, clip[1], clip[3])):
            if change:
                first, last = sorted(((low - at) / change, (high - at) / change))
                begin, end = max(begin, first), min(end, last)
            elif not low <= at <= high:
                end = -1.0
        if begin >= end:
            continue
        first_point, last_point = ((x + t * (x1 - x), y + t * (y1 - y)) for t in (begin, end))
        if parts and begin == 0 and parts[-1][-1] == (x, y):
            parts[-1].append(last_point)
        else:
            parts.append([first_point, last_point])
    return parts


def cut_area(points: Points, clip: Box) -> Points:
    """Return the part of an area inside a box (Sutherland and Hodgman)."""
    area = points
    for axis, edge, sign in ((0, clip[0], 1), (0, clip[2], -1), (1, clip[1], 1), (1, clip[3], -1)):
        before, area = area, []
        for one, other in zip([*before[-1:], *before[:-1]], before, strict=True):
            depths = [sign * (point[axis] - edge) for point in (one, other)]
            if depths[0] * depths[1] < 0:
                t = depths[0] / (depths[0] - depths[1])
                area.append((one[0] + t * (other[0] - one[0]), one[1] + t * (other[1] - one[1])))
            if depths[1] >= 0:
                area.append(other)
    return area


def cut_pixels(pixels: Pixels, clip: Box) -> Pixels | None:
    """Return the pixels of an image that are at least half inside a box, or None if there is none."""
    x, y, wide, high = pixels.box
    if not wide or not high:
        return None
    columns, rows = pixels.image.size
    shares = [(clip[0] - x) / wide, (clip[1] - y) / high, (clip[2] - x) / wide, (clip[3] - y) / high]
    left, top, right, bottom = (
        min(max(round(share * count), 0), count)
        for share, count in zip(shares, (columns, rows, columns, rows), strict=True)
    )
    if left >= right or top >= bottom:
        return None
    across, down = wide / columns, high / rows
    box = (x + left * across, y + top * down, (right - left) * across, (bottom - top) * down)
    return Pixels(pixels.image.crop((left, top, right, bottom)), box)
