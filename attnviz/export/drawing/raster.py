"""Rasterises matrices with many cells, with whole pixels per cell so that they stay sharp."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from math import ceil

import numpy as np
from PIL import Image

from attnviz.export.drawing.colours import channels
from attnviz.export.drawing.marks import Matrix

MAX_VECTOR_CELLS = 1024
"""The most cells drawn as vector shapes; larger matrices become raster images, which open quickly everywhere"""
MAX_PIXELS = 2400
"""The longest side of a raster image in pixels"""


def is_raster(matrix: Matrix) -> bool:
    """Whether a matrix has too many cells for vector shapes."""
    return matrix.rows * matrix.cols > MAX_VECTOR_CELLS


def png(matrix: Matrix) -> bytes:
    """Return a matrix as a PNG: each cell a rectangle of whole pixels, hidden cells hatched."""
    down = max(1, min(ceil(2 * matrix.height / max(1, matrix.rows)), MAX_PIXELS // max(1, matrix.rows)))
    across = max(1, min(ceil(2 * matrix.width / max(1, matrix.cols)), MAX_PIXELS // max(1, matrix.cols)))
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
    """Return `png` as a data URL."""
    return f"data:image/png;base64,{b64encode(png(matrix)).decode()}"
