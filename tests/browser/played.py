"""Reads a step that is played: at each moment every number on the board, and where it stands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from playwright.sync_api import Page
from torch.nn import functional as F

from attnviz.document import Document
from tests.browser.evaluate import evaluate

Array = npt.NDArray[Any]

MOMENTS = """async ({ shares, most }) => {
  const { stripOf } = await import("/frontend/motion/strip.ts");
  const { motion, stage: { board } } = walk.view.drawing;
  const { timeline, shown } = motion;
  if (!timeline) return null;
  const rounded = (x) => Math.round(10 * x) / 10;
  const seen = () => {
    const real = document.createElement("canvas").getContext("2d");
    let texts = [];
    const pen = new Proxy(real, {
      get(target, property) {
        const value = target[property];
        if (typeof value !== "function") return value;
        if (property === "fillText") {
          return (text, x, y) => {
            const width = target.measureText(text).width;
            const middle = x + { left: width / 2, center: 0, right: -width / 2 }[target.textAlign];
            const at = target.getTransform().transformPoint({ x: middle, y });
            if (target.globalAlpha > 0.01) texts.push({ text, x: at.x, y: at.y });
          };
        }
        if (property === "fillRect") {
          return (x, y, width, height) => {
            // What is painted over is not seen. A veil lets it through.
            if (target.globalAlpha < 0.9) return;
            texts = texts.filter((one) =>
              one.x < x || one.x > x + width || one.y < y || one.y > y + height);
          };
        }
        return value.bind(target);
      },
      set: (target, property, value) => { target[property] = value; return true; },
    });
    board.paint(pen);
    return texts;
  };
  const beats = timeline.stills.length - 1;
  const chosen = Array.from({ length: beats }, (_, n) => n)
    .filter((n) => n < most || n === beats - 1 || n % 31 === 0);
  const found = [];
  for (const n of chosen) {
    const [from, to] = [timeline.stills[n], timeline.stills[n + 1]];
    // Of a beat its end, and every other share, by turns; of the last one all.
    for (const share of shares.filter((one, at) => one === 1 || n === beats - 1 || at % 2 === n % 2)) {
      const t = from + share * (to - from);
      motion.seek(t);
      const frame = timeline.at(t);
      const places = board.places;
      const pen = { context: document.createElement("canvas").getContext("2d"), font: board.font, type: board.type };
      const strip = frame.upright && stripOf(pen, frame.upright, { places, picture: shown.header });
      found.push({
        t, share, lit: frame.lit, strip, texts: seen(), work: frame.work, upright: frame.upright,
        written: frame.written,
        blank: frame.blank, turn: frame.turn, row: shown.example.q,
        flights: frame.flights.slice(0, 12), titles: frame.stands,
        says: motion.player.says.textContent,
        panels: board.panels().map(({ name, rows, cols, x, y, width, height }) => ({
          name, rows, cols, columns: width, count: height,
          box: [x._offset, y._offset, x._length, y._length].map(rounded),
          view: [[x.p2l(0) + 0.5, x.p2l(x._length) + 0.5], [y.p2l(0) + 0.5, y.p2l(y._length) + 0.5]],
        })),
      });
    }
  }
  return found;
}"""
"""Goes through the motion of the step that is shown, and returns what is seen at each moment"""

TITLE = 30  # px above a matrix
NUMBER = re.compile(r"−?(\d+\.?\d*|\.\d+)(e−?\d+)?")
DECIMAL = re.compile(r"−?\d*\.\d+|−?\d(?:\.\d+)?e−?\d+")


def read(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def rounds_to(text: str, value: float) -> bool:
    """Whether a text is this number, rounded to as many digits as it has."""
    mantissa, _, exponent = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    unit = 10.0 ** (read(exponent or "0") - digits)
    return abs(read(text) - value) <= 0.501 * unit + 2e-6 * max(1, abs(value))


class Expected:
    """The matrices of a head by torch, from the arrays that its document holds."""

    def __init__(self, document: Document, head: int) -> None:
        self.document, self.head = document, head
        self.known: dict[str, torch.Tensor] = {}
        self.arrays: dict[str, Array] = {}

    def held(self, name: str, head: int | None = None) -> torch.Tensor | None:
        arrays = self.document.arrays
        alias = "embeddings" if name == "embeddings_k" and "embeddings_k" not in arrays else name
        found = arrays.get(f"{name}/{self.head if head is None else head}", arrays.get(alias))
        return None if found is None else torch.from_numpy(np.array(found))

    def get(self, name: str) -> torch.Tensor:
        if name not in self.known:
            held = self.held(name)
            self.known[name] = (held if held is not None else self.computed(name, self.head)).double()
        return self.known[name]

    def number(self, name: str, i: int, j: int) -> float:
        if name not in self.arrays:
            self.arrays[name] = self.get(name).numpy()
        return float(self.arrays[name][i, j])

    def operand(self, name: str, head: int) -> torch.Tensor | None:
        """The queries or keys of the scores: after norms and rotary positions, if there are any."""
        changed = (self.held(one, head) for one in (f"rotated_{name}", f"normed_{name}", name))
        return next((one for one in changed if one is not None), None)

    def masked(self, head: int) -> torch.Tensor:
        query, key = (self.operand(name, head) for name in ("query", "key"))
        assert query is not None
        assert key is not None
        header = self.document.header
        scaled = F.linear(query.double(), key.double()) * header.scale
        return scaled.masked_fill(self.hidden(head), -torch.inf if header.mask_value is None else header.mask_value)

    def hidden(self, head: int) -> torch.Tensor:
        """The cells that the mask hides, (Tq, Tk)."""
        rows, columns = (len(axis.labels) for axis in (self.document.header.query, self.document.header.key))
        mask = self.held("mask", head)
        if mask is not None:
            return ~mask.bool()
        nothing = torch.zeros(rows, columns, dtype=torch.bool)
        return nothing if self.document.header.mask == "none" else ~nothing.logical_not().tril()

    def computed(self, name: str, head: int) -> torch.Tensor:
        if name in ("query_angles", "key_angles"):
            cos, sin = self.held("cos"), self.held("sin")
            assert cos is not None and sin is not None
            return torch.atan2(sin.double(), cos.double())
        query, key, value = self.operand("query", head), self.operand("key", head), self.held("value", head)
        rows = len(self.document.header.query.labels)
        past = torch.zeros(rows, rows).masked_fill(torch.ones(rows, rows).triu(1).bool(), -torch.inf).double()
        if name in ("triangle", "softmax_weights"):
            return torch.softmax(past, -1)
        if name == "masked_zeros":
            return past
        if name == "concat":
            heads = self.document.header.heads
            return torch.cat([self.computed("head_outputs", one) for one in heads], -1)
        assert query is not None
        assert key is not None
        assert value is not None
        masked = self.masked(head)
        weights = torch.softmax(masked, -1).nan_to_num()
        return {
            "key_t": lambda: key.double().T,
            "scores": lambda: F.linear(query.double(), key.double()),
            "scaled": lambda: F.linear(query.double(), key.double()) * self.document.header.scale,
            "masked": lambda: masked,
            "weights": lambda: weights,
            "row_sum": lambda: weights.sum(-1, keepdim=True),
            "head_outputs": lambda: weights @ value.double(),
            "by_data": lambda: weights @ value.double(),
        }[name]()


@dataclass
class Cell:
    panel: str
    i: int
    j: int
    text: str


class Moment:
    """What is seen of a step at one moment."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.says: str = found["says"]
        self.cells: list[Cell] = []
        """The numbers over matrices"""
        self.outside: list[dict[str, Any]] = []
        """Other numbers with decimals"""
        for one in found["texts"]:
            cell = self._cell(one) if NUMBER.fullmatch(one["text"]) else None
            if cell:
                self.cells.append(cell)
            elif DECIMAL.fullmatch(one["text"]):
                self.outside.append(one)

    def _cell(self, text: dict[str, Any]) -> Cell | None:
        for panel in self.found["panels"]:
            if self.found["turn"] and panel["name"] == self.found["turn"]["over"] and self.found["turn"]["along"] < 1:
                continue
            left, top, width, height = panel["box"]
            if not (left < text["x"] < left + width and top < text["y"] < top + height):
                continue
            (x0, x1), (y0, y1) = panel["view"]
            j = math.floor(x0 + (text["x"] - left) / width * (x1 - x0))
            i = math.floor(y0 + (text["y"] - top) / height * (y1 - y0))
            return Cell(panel["name"], i, j, text["text"])
        return None

    def title(self, shown: str) -> bool:
        """Whether a text is on the board, perhaps shortened in its middle."""
        for first, dots, last in (one["text"].partition("…") for one in self.found["texts"]):
            if shown in first or (dots and shown.startswith(first) and shown.endswith(last)):
                return True
        return False

    @property
    def written(self) -> dict[tuple[str, int, int], float]:
        return {(one["panel"], one["row"], one["column"]): one["value"] for one in self.found["written"]}

    def is_blank(self, cell: Cell) -> bool:
        return any(
            box["row"] <= cell.i < box["row"] + box["rows"] and box["column"] <= cell.j < box["column"] + box["columns"]
            for box in self.found["blank"].get(cell.panel, [])
        )

    def strip(self) -> dict[int, str]:
        """The numbers that stand upright in the corner, by the row of the right matrix that they stand beside."""
        strip, upright = self.found["strip"], self.found["upright"]
        if not strip or not self.found["flights"] or self.found["flights"][0]["along"] < 1:
            return {}
        panel = next(one for one in self.found["panels"] if one["name"] == upright["beside"])
        _, top, _, height = panel["box"]
        inside = [one for one in self.outside if abs(one["x"] - strip["x"] - strip["width"] / 2) < strip["width"] / 2]
        rows = [(one["y"] - top) / height * panel["count"] for one in inside]
        return {math.floor(row): one["text"] for row, one in zip(rows, inside, strict=True) if 0 < row < panel["count"]}

    def work(self) -> list[list[str]]:
        """The lines of arithmetic in the corner, from the top."""
        strip = self.found["strip"]
        if not self.found["work"] or not strip:
            return []
        below = min(panel["box"][1] for panel in self.found["panels"] if panel["box"][0] < strip["x"])
        wanted = [
            one
            for one in self.found["texts"]
            if one["x"] < strip["x"] and one["y"] < below - TITLE and "[" not in one["text"]
        ]
        lines: dict[int, list[dict[str, Any]]] = {}
        for one in wanted:
            lines.setdefault(round(one["y"]), []).append(one)
        return [
            [one["text"] for one in sorted(line, key=lambda one: float(one["x"]))] for _, line in sorted(lines.items())
        ]


def moments(page: Page, shares: tuple[float, ...] = (0.02, 0.4, 0.72, 1), most: int = 6) -> list[Moment]:
    """Play the step that is shown through, and return what is seen; nothing where it is not played."""
    found = evaluate(page, MOMENTS, {"shares": list(shares), "most": most})
    return [Moment(one) for one in found or []]
