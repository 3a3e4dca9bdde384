"""Pictures as the browser's board draws them: from a document alone, in numpy; and from a layout of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.document import Document
from attnviz.figures.colour_limit import colour_limit, darkened_limit
from attnviz.figures.panels import Layout, Panel
from attnviz.steps.picture import MADE_FROM, ROLE, PanelSpec, Picture

Array = npt.NDArray[Any]


class Matrices:
    """The matrices of one head of a document by their names. Sums run in double precision, results are float32."""

    def __init__(self, document: Document, head: int) -> None:
        self.document, self.head = document, head

    def get(self, name: str) -> Array:
        """Return a matrix, or a bias; hidden cells of `masked` are −inf."""
        if name == "embeddings_k" and "embeddings_k" not in self.document.arrays:
            name = "embeddings"
        for held in (f"{name}/{self.head}", name):
            if held in self.document.arrays:
                return self.document.arrays[held]
        with np.errstate(over="ignore", invalid="ignore"):  # a scale may be as large as it likes
            computed: Array = getattr(self, name)().astype(np.float32)
        return computed

    def double(self, name: str) -> Array:
        return self.get(name).astype(np.float64)

    def operand(self, name: str) -> str:
        """Return the name of the queries or keys that the scores are made of."""
        changed = (f"rotated_{name}", f"normed_{name}")
        return next((one for one in changed if f"{one}/{self.head}" in self.document.arrays), name)

    def query_angles(self) -> Array:
        return np.arctan2(self.double("sin"), self.double("cos"))

    key_angles = query_angles

    def key_t(self) -> Array:
        return self.get(self.operand("key")).T

    def scores(self) -> Array:
        return self.double(self.operand("query")) @ self.double(self.operand("key")).T

    def scaled(self) -> Array:
        return self.scores() * self.document.header.scale

    def capped(self) -> Array:
        cap = self.document.header.cap
        return self.scaled() if cap is None else cap * np.tanh(self.scaled() / cap)

    def biased(self) -> Array:
        has_bias = f"position_bias/{self.head}" in self.document.arrays
        return self.capped() + self.double("position_bias") if has_bias else self.capped()

    def masked(self) -> Array:
        biased, kind = self.biased(), self.document.header.mask
        if kind == "none":
            return biased
        cells = np.tri(*biased.shape, dtype=bool) if kind == "causal" else self.get("mask")
        return np.where(cells, biased, -np.inf) if cells.dtype == bool else biased + cells

    def with_sink(self) -> Array:
        """The softmax over the keys, and over a sink that stands after them; −∞ where there is none."""
        own = f"sinks/{self.head}"
        masked = self.masked()
        sinks = self.double("sinks") if own in self.document.arrays else np.full((len(masked), 1), -np.inf)
        masked = np.hstack([masked, sinks])
        largest = masked.max(-1, keepdims=True)
        shares = np.exp(masked - np.where(np.isfinite(largest), largest, 0.0))
        return shares / np.maximum(shares.sum(-1, keepdims=True), np.finfo(float).tiny)  # zeros if all are hidden

    def weights(self) -> Array:
        return self.with_sink()[:, :-1]

    def sink(self) -> Array:
        return self.with_sink()[:, -1:]

    def row_sum(self) -> Array:
        return self.weights().sum(-1, keepdims=True)

    def head_outputs(self) -> Array:
        return self.weights() @ self.double("value")

    def by_data(self) -> Array:
        return self.head_outputs()

    def masked_zeros(self) -> Array:
        n = len(self.document.header.query.labels)
        return np.where(np.tri(n, dtype=bool), 0.0, -np.inf)

    def triangle(self) -> Array:
        past = np.tri(len(self.document.header.query.labels))
        return past / past.sum(-1, keepdims=True)

    def softmax_weights(self) -> Array:
        return self.triangle()

    def concat(self) -> Array:
        header = self.document.header
        assert len(header.heads) == header.heads_in_layer
        return np.concatenate([Matrices(self.document, head).head_outputs() for head in header.heads], axis=-1)

    def shown(self, name: str) -> Array:
        """Return a matrix with NaN in hidden cells."""
        values = self.get(name)
        if name not in ("masked", "weights", "masked_zeros", "softmax_weights"):
            return values
        return np.where(np.isneginf(self.get("masked")), np.float32(np.nan), values)

    def limit(self, *names: str) -> float:
        """Return the end of the colours that these matrices share."""
        return colour_limit(*map(self.shown, names))


def board_picture_of(
    document: Document, step: str, head: int, *, stretch: str = "0"
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays that `board_picture` gives for this head and step."""
    header = document.header
    found = next(one for one in header.steps if one.name == step).picture
    picture = Picture((), (), (), ()) if found is None else found
    matrices = Matrices(document, head)
    products = {
        result: {
            "left": product.left,
            "right": product.right,
            "bias": None if product.bias is None else matrices.get(product.bias).tolist(),
        }
        for result, product in picture.products.items()
    }
    drawn = {
        "panels": [_panel(panel, matrices, stretch) for panel in picture.panels],
        "grid": [list(row) for row in picture.grid],
        "widths": list(picture.widths),
        "heights": list(picture.heights),
        "products": products,
        "between": picture.between,
        "labels": {"query": list(header.query.labels), "key": list(header.key.labels)},
    }
    return drawn, {str(number): matrices.shown(panel.name) for number, panel in enumerate(picture.panels)}


def _panel(spec: PanelSpec, matrices: Matrices, stretch: str) -> dict[str, Any]:
    values = matrices.shown(spec.name)
    darkens = {"0": values.shape[1] >= 40, "1": True, "off": False}[stretch]
    dark = darkened_limit(values) if spec.stretched and darkens else 1.0
    stretched = dark != 1  # of colours that end at 1 anyway, nothing is said
    heads = matrices.document.header.heads
    title = spec.title if isinstance(spec.title, str) else spec.title[heads.index(matrices.head)]
    if stretched:
        limit, title = dark, spec.stretched.format(f"{dark:.2g}")
    elif isinstance(spec.limit, tuple):
        limit = matrices.limit(*spec.limit)
    else:
        limit = matrices.limit(spec.name) if spec.limit is None else float(spec.limit)  # type: ignore[arg-type]
    panel: dict[str, Any] = {
        "name": spec.name, "title": title, "role": spec.role,
        "rows": spec.rows, "cols": spec.cols, "low": -limit if spec.scale == "signed" else 0.0, "high": limit,
        "scale": spec.scale, "numbered": spec.numbered, "bar": spec.bar,
    }  # fmt: skip
    if spec.made_from is not None:
        panel["made_from"] = {"name": spec.made_from.name, "pace": spec.made_from.pace}
    if spec.ticks:
        panel["ticks"] = dict(spec.ticks)
    if spec.part_width is not None:
        panel["parts"] = {"width": spec.part_width, "followed": matrices.head}
    return panel


def board_picture(
    layout: Layout, labels: Mapping[str, Sequence[str]], sources: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Serialise a layout for the board.

    Args:
        layout: the matrices and their places.
        labels: the tokens of the axis kinds "query" and "key".
        sources: the matrix that a panel is made from, where it is another than in most walks.

    Returns:
        The header (`panels`, `grid` of panel numbers, `widths`, `heights`, `products`, `between`, `labels`) and the
        matrices, (rows, cols) float32 each, keyed by the panel's number as a string.
    """
    panels = [panel for row in layout.grid for panel in row if panel is not None]
    numbers = {id(panel): index for index, panel in enumerate(panels)}
    header = {
        "panels": [_described(panel, sources or {}) for panel in panels],
        "grid": [[None if panel is None else numbers[id(panel)] for panel in row] for row in layout.grid],
        "widths": list(layout.widths),
        "heights": list(layout.heights),
        "products": layout.products,
        "between": layout.between,
        "labels": {kind: list(tokens) for kind, tokens in labels.items()},
    }
    return header, {str(index): panel.values for index, panel in enumerate(panels)}


def _described(panel: Panel, sources: Mapping[str, str]) -> dict[str, Any]:
    limit = panel.limit if panel.limit is not None else panel.largest or 1.0
    signed = panel.scale == "signed"
    described: dict[str, Any] = {
        "name": panel.name,
        "title": panel.title,
        "role": ROLE.get(panel.name),
        "rows": panel.rows,
        "cols": panel.cols,
        "low": -limit if signed else 0.0,
        "high": limit,
        "scale": panel.scale,
        "numbered": panel.numbered,
        "bar": panel.bar,
    }
    if panel.name in MADE_FROM:
        described["made_from"] = asdict(MADE_FROM[panel.name])
        described["made_from"]["name"] = sources.get(panel.name, MADE_FROM[panel.name].name)
    if panel.col_ticks:
        described["ticks"] = panel.col_ticks
    if panel.parts is not None:
        described["parts"] = {"width": panel.parts[0], "followed": panel.parts[1]}
    return described
