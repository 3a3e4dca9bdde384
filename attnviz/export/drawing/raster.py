"""Matrices with many cells as pictures: whole pixels a cell, so that they stay crisp where a viewer would smooth."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from math import ceil

import numpy as np
from PIL import Image

from attnviz.export.drawing.colours import channels
from attnviz.export.drawing.marks import Matrix

MOST_VECTORS = 1024
"""Cells of a matrix that are drawn one by one; with more it is a picture, which every program opens quickly"""
LARGEST = 2400
"""Pixels of a picture's longer side"""


def is_picture(matrix: Matrix) -> bool:
    """Say whether a matrix has too many cells to draw each."""
    return matrix.rows * matrix.cols > MOST_VECTORS


def png(matrix: Matrix) -> bytes:
    """Return a matrix as a PNG, each cell a rectangle of whole pixels, hidden cells hatched."""
    down = max(1, min(ceil(2 * matrix.height / max(1, matrix.rows)), LARGEST // max(1, matrix.rows)))
    across = max(1, min(ceil(2 * matrix.width / max(1, matrix.cols)), LARGEST // max(1, matrix.cols)))
    pixels = matrix.colours.repeat(down, axis=0).repeat(across, axis=1)
    hidden = matrix.hidden
    if hidden.any():
        ground, line = matrix.theme.hatch
        y, x = np.indices(pixels.shape[:2])
        striped = np.asarray((x + y) % 16 < 5)[..., None]
        hatch = np.where(striped, channels(line), channels(ground)).astype(np.uint8)
        pixels = np.where(hidden.repeat(down, axis=0).repeat(across, axis=1)[..., None], hatch, pixels)
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()


def data_url(matrix: Matrix) -> str:
    """Return `png` as an address that holds the picture itself."""
    return f"data:image/png;base64,{b64encode(png(matrix)).decode()}"
