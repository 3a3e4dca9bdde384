"""The lines on a page of their own: seeded weights, what their owner was called with, and every text that they drew."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.browser.contexts import EMPTY

LINES = "/frontend/lines/lines.ts"
COLOURS = ("#5E3C99", "#B35806", "#009E73", "#0072B2")

SET_UP = """async ([url, given, size]) => {
  window.lines?.destroy();
  document.body.replaceChildren();
  document.body.style.margin = 0;
  const box = document.createElement('div');
  Object.assign(box.style, { width: `${size[0]}px`, height: `${size[1]}px`, font: '16px sans-serif' });
  document.body.append(box);
  window.box = box;
  window.texts = [];
  const write = (window.write ??= CanvasRenderingContext2D.prototype.fillText);
  CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
    const { a, b, c, d, e, f } = this.getTransform();
    const place = [a * at[0] + c * at[1] + e, b * at[0] + d * at[1] + f];
    texts.push({ text: text.replace(/[\\u2068\\u2069]/g, ''), font: this.font, alpha: this.globalAlpha, place });
    return write.call(this, text, ...at);
  };
  const head = ({ bytes, ...rest }) => {
    const raw = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
    return { ...rest, at: new Float32Array(raw.buffer) };
  };
  window.decode = (state) => (state.heads ? { ...state, heads: state.heads.map(head) } : state);
  const { Lines } = await import(url);
  window.pointed = [];
  window.pins = [];
  window.lines = new Lines(box, { onPoint: (cell) => pointed.push(cell), onPin: (cell) => pins.push(cell) });
  lines.update(decode(given));
}"""


def softmax_rows(seed: int, heads: int, rows: int, cols: int, *, causal: bool = False) -> np.ndarray:
    """Draw float32 weights (heads, rows, cols) whose rows sum to 1, NaN where a causal mask hides a cell."""
    scores = np.random.default_rng(seed).normal(size=(heads, rows, cols)) * 2
    if causal:
        scores[:, np.triu(np.ones((rows, cols), bool), 1)] = -np.inf
    lifted = np.exp(scores)
    weights = (lifted / lifted.sum(2, keepdims=True)).astype(np.float32)
    return np.where(np.isneginf(scores), np.float32(np.nan), weights)


def kept(weights: np.ndarray, threshold: float = 0, strongest: int = 0) -> np.ndarray:
    """Say with numpy alone which weights (heads, rows, cols) are drawn: of equal ones the first."""
    allowed = (weights > 0) & (weights.astype(np.float64) >= threshold)
    if not strongest:
        return allowed
    order = np.argsort(np.where(allowed, -weights, np.inf), axis=2, kind="stable")
    rank = np.argsort(order, axis=2, kind="stable")
    return allowed & (rank < strongest)


def heads_of(weights: np.ndarray) -> list[dict[str, Any]]:
    """Give weights (heads, rows, cols) the form in which a page decodes them."""
    _, rows, cols = weights.shape
    return [
        {
            "name": f"layer 1 · head {h}",
            "colour": COLOURS[h % len(COLOURS)],
            "rows": rows,
            "cols": cols,
            "bytes": base64.b64encode(np.ascontiguousarray(own, "<f4").tobytes()).decode(),
        }
        for h, own in enumerate(weights)
    ]


@dataclass
class LinesPage:
    """The lines of some weights (heads, rows, cols), as their user meets them."""

    page: Page
    weights: np.ndarray
    queries: Sequence[str] = ()
    keys: Sequence[str] = ()
    size: tuple[int, int] = (1000, 600)
    state: dict[str, Any] = field(default_factory=dict)

    def open(self, served: str) -> LinesPage:
        """Draw them on an empty page of the server, in place of other lines if there are any."""
        _, rows, cols = self.weights.shape
        queries = list(self.queries) or [f"from{i}" for i in range(rows)]
        keys = list(self.keys) or [f"to{i}" for i in range(cols)]
        if self.page.url != served + EMPTY or not self.page.evaluate("() => Boolean(window.lines)"):
            self.page.goto(served + EMPTY)
        given = {"queryLabels": queries, "keyLabels": keys, "heads": heads_of(self.weights), **self.state}
        self.page.evaluate(SET_UP, [LINES, given, self.size])
        return replace(self, queries=queries, keys=keys).painted()

    def update(self, **changes: Any) -> LinesPage:
        """Change something of what is shown."""
        self.page.evaluate("(changes) => lines.update(decode(changes))", changes)
        return self.painted()

    def painted(self) -> LinesPage:
        """Wait until all of it is on the canvas."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(self.root).to_have_attribute("data-finished", "true")
        return self

    @property
    def root(self) -> Locator:
        return self.page.get_by_role("application")

    @property
    def status(self) -> str:
        text = self.page.get_by_role("status").inner_text()
        return text.replace("\u2068", "").replace("\u2069", "")

    @property
    def drawn(self) -> dict[str, int]:
        drawn: dict[str, int] = self.page.evaluate("() => lines.drawn")
        return drawn

    @property
    def lit(self) -> int:
        """How many lines are drawn of the tokens that are meant."""
        return int(self.root.get_attribute("data-lit") or -1)

    def place(self, side: str, index: int) -> tuple[float, float]:
        """Where a token is written, in the window."""
        number = ["query", "key"].index(side)
        x, y = self.page.evaluate(
            "([side, i]) => { const { left, top } = lines.element.getBoundingClientRect();"
            " const [x, y] = lines.layout.point(side, lines.layout.label + 6, lines.layout.at(side, i));"
            " return [left + x, top + y]; }",
            [number, index],
        )
        return x, y

    def hover(self, side: str, index: int) -> None:
        self.forget()
        self.page.mouse.move(*self.place(side, index))
        self.painted()

    def click(self, side: str, index: int) -> None:
        self.page.mouse.click(*self.place(side, index))

    def forget(self) -> None:
        """Begin a new list of the texts that are drawn."""
        self.page.evaluate("() => { texts.length = 0 }")

    @property
    def texts(self) -> list[dict[str, Any]]:
        """All texts drawn since they were last forgotten: {text, font, alpha, place}."""
        found: list[dict[str, Any]] = self.page.evaluate("() => texts")
        return found

    def events(self, name: str) -> list[Any]:
        """The calls of the owner: `pointed` or `pins`."""
        found: list[Any] = self.page.evaluate(f"() => {name}")
        return found
