"""Reads a board: the texts and numbers painted on its canvas, and the matrices behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from playwright.sync_api import Page

from tests.browser.evaluate import evaluate

BOARD = ".attnviz-board"

TEXT_PEN = """(write) => new Proxy(document.createElement('canvas').getContext('2d'), {
  get(target, property) {
    const value = target[property];
    if (property === 'fillText') return (text, x, y) => write(target, text, x, y);
    return typeof value === 'function' ? value.bind(target) : value;
  },
  set: (target, property, value) => { target[property] = value; return true; },
})"""
"""Makes the context of a canvas that gives each text to a function, in place of painting it."""

PAINTED = """([css, name]) => {
  const board = deepFind(css).attnviz;
  const at = board.panels().find((panel) => panel.name === name);
  const inside = ({ x, y }) =>
    x > at.x._offset && x < at.x._offset + at.x._length && y > at.y._offset && y < at.y._offset + at.y._length;
  const texts = [];
  board.paint((TEXT_PEN)((target, text, x, y) =>
    texts.push({ text, place: target.getTransform().transformPoint({ x, y }) })));
  const order = (a, b) => Math.round(a.place.y - b.place.y) || a.place.x - b.place.x;
  const words = (some) => some.sort(order).map(({ text }) => text);
  return { inside: words(texts.filter(({ place }) => inside(place))), all: words(texts) };
}""".replace("TEXT_PEN", TEXT_PEN)
"""Paints the board and returns its texts in reading order: those inside one matrix, and all."""

HAS_PANEL = "([css, name]) => deepFind(css)?.attnviz?.panels().some((one) => one.name === name)"

VALUES = """([css, name]) => {
  const panel = deepFind(css).attnviz.panels().find((one) => one.name === name);
  return Array.from(panel.z, (row) => Array.from(row));
}"""


MIDDLE = """([css, i, j]) => {
  const element = deepFind(css);
  element.scrollIntoView({ block: 'nearest' });
  const [{ x, y }] = element.attnviz.panels();
  const { left, top } = element.getBoundingClientRect();
  return [left + x._offset + x.l2p(j), top + y._offset + y.l2p(i)];
}"""

DARK = """([css, name]) => {
  const element = deepFind(css);
  const { x, y } = element.attnviz.panels().find((one) => one.name === name);
  const density = element.querySelector('canvas').width / element.clientWidth;
  const box = [x._offset, y._offset, x._length, y._length].map((length) => Math.round(length * density));
  const { data } = element.querySelector('canvas').getContext('2d').getImageData(...box);
  let dark = 0;
  for (let at = 0; at < data.length; at += 4) dark += data[at] < 175;  // half of the way from white to purple
  return (4 * dark) / data.length;
}"""


def middle_of_cell(page: Page, i: int, j: int, css: str = BOARD) -> tuple[float, float]:
    """Scroll a board into the window, and return where row i and column j of its first matrix cross, in px."""
    x, y = page.evaluate(MIDDLE, [css, i, j])
    return x, y


def dark_share(page: Page, panel: str, css: str = BOARD) -> float:
    """Return the share of a matrix's pixels, in the light theme, that have more than half of the darkest colour."""
    share: float = page.evaluate(DARK, [css, panel])
    return share


def painted(page: Page, panel: str, css: str = BOARD) -> dict[str, list[str]]:
    """Return the painted texts: those "inside" the matrix, and "all" texts of the picture."""
    texts: dict[str, list[str]] = page.evaluate(PAINTED, [css, panel])
    return texts


def cells(page: Page, panel: str, css: str = BOARD) -> np.ndarray:
    """Return the numbers painted in a matrix's cells, row by row."""
    return np.array([float(text.replace("−", "-")) for text in painted(page, panel, css)["inside"]])


def matrix(page: Page, panel: str, css: str = BOARD) -> np.ndarray:
    """Wait until a matrix is on the board, and return its numbers, (rows, cols)."""
    page.wait_for_function(HAS_PANEL, arg=[css, panel])
    values: Any = evaluate(page, VALUES, [css, panel])
    return np.array(values, dtype=float)
