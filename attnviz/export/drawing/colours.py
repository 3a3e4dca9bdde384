"""Maps numbers to the colours of exported pictures, with the colour scales of the board in the browser.

`blend` and `ink_on` are ported from the browser's core/colours.js.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attnviz.export.drawing.marks import Rgb
from attnviz.figures.panels import Panel
from attnviz.figures.style import Colours, Palette

DARK_INK_ON, LIGHT_INK_ON = "#1B1B26", "#FFFFFF"


def domain(panel: Panel) -> tuple[float, float]:
    """Return the ends of a panel's colour domain."""
    limit = panel.limit if panel.limit is not None else panel.largest or 1.0
    return (-limit if panel.scale == "signed" else 0.0), limit


def scale(panel: Panel, palette: Palette) -> Colours:
    """Return the colour scale of a panel, from low to high."""
    return palette.signed if panel.scale == "signed" else palette.weights


def blend(colours: Colours, shares: npt.NDArray[np.floating]) -> Rgb:
    """Interpolate the colours at `shares`, (...) from 0 to 1, as (..., 3). NaN takes the first colour."""
    along = np.nan_to_num(np.clip(shares, 0, 1), nan=0.0)
    stops = np.array([stop for stop, _ in colours], dtype=float)
    ends = np.array([channels(str(colour)) for _, colour in colours], dtype=float)
    mixed = np.stack([np.interp(along, stops, ends[:, channel]) for channel in range(3)], axis=-1)
    return np.floor(mixed + 0.5).astype(np.uint8)


def colour_cells(panel: Panel, palette: Palette) -> Rgb:
    """Return the colour of each cell of a panel, (rows, cols, 3)."""
    low, high = domain(panel)
    return blend(scale(panel, palette), (panel.values.astype(float) - low) / ((high - low) or 1.0))


def channels(colour: str) -> tuple[int, int, int]:
    """"#5E3C99" -> (94, 60, 153)."""  # fmt: skip
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def hexadecimal(rgb: npt.ArrayLike) -> str:
    """(94, 60, 153) -> "#5E3C99"."""
    red, green, blue = (int(channel) for channel in np.asarray(rgb))
    return f"#{red:02X}{green:02X}{blue:02X}"


def ink_on(rgb: npt.ArrayLike) -> str:
    """Return a text colour with a contrast of 3 or more on a colour of the scales: dark on light, light on dark."""
    red, green, blue = (float(channel) for channel in np.asarray(rgb))
    return DARK_INK_ON if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 140 else LIGHT_INK_ON
