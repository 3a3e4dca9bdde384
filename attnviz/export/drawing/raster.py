"""Rasterises matrices with many cells, with whole pixels per cell so that they stay sharp."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from math import ceil

import numpy as np
import numpy.typing as npt
from PIL import Image

from attnviz.export.drawing.colours import channels
from attnviz.export.drawing.marks import Matrix, Rgb
from attnviz.export.drawing.themes import Theme

MAX_VECTOR_CELLS = 1024
"""The most cells drawn as vector shapes; larger matrices become raster images, which open quickly everywhere"""
MAX_PIXELS = 2400
"""The longest side of a raster image in pixels"""


def is_raster(matrix: Matrix) -> bool:
    """Whether a matrix has too many cells for vector shapes."""
    return matrix.rows * matrix.cols > MAX_VECTOR_CELLS


def image(matrix: Matrix) -> Image.Image:
    """Return a matrix as an image: each cell a rectangle of whole pixels, hidden cells hatched."""
    down = max(1, min(ceil(2 * matrix.height / max(1, matrix.rows)), MAX_PIXELS // max(1, matrix.rows)))
    across = max(1, min(ceil(2 * matrix.width / max(1, matrix.cols)), MAX_PIXELS // max(1, matrix.cols)))
    pixels = matrix.colours.repeat(down, axis=0).repeat(across, axis=1)
    hidden = matrix.hidden.repeat(down, axis=0).repeat(across, axis=1)
    return Image.fromarray(hatched(pixels, hidden, matrix.theme))


def hatched(pixels: Rgb, hidden: npt.NDArray[np.bool_], theme: Theme) -> Rgb:
    """Return pixels (height, width, 3) with the hidden ones, (height, width), hatched."""
    if not hidden.any():
        return pixels
    ground, line = theme.hatch
    y, x = np.indices(hidden.shape)
    striped = np.asarray((x + y) % 16 < 5)[..., None]
    hatch = np.where(striped, channels(line), channels(ground)).astype(np.uint8)
    return np.where(hidden[..., None], hatch, pixels)


def png(matrix: Matrix) -> bytes:
    """Return `image` as a PNG."""
    file = BytesIO()
    image(matrix).save(file, "PNG", optimize=True)
    return file.getvalue()


def data_url(matrix: Matrix) -> str:
    """Return `png` as a data URL."""
    return f"data:image/png;base64,{b64encode(png(matrix)).decode()}"
