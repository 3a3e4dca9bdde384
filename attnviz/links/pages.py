"""The registry of pages: name, title, path, script and link keys of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnviz import files
from attnviz.links.bert import BERT_KEYS
from attnviz.links.link import KEYS, SHARED_KEYS, read_link, write_link
from attnviz.sources import PRETRAINED, SOURCES, TOY, TRAINED, Get, Resources, Source
from attnviz.sources.compared import B_KEYS
from attnviz.sources.models import TRAINED_NAMES
from attnviz.sources.shown import TRANSFORMER_SOURCES, ShownHead, shown, shown_part
from attnviz.trained import is_name
from attnviz.trained.shipped import OPENING_KEYS, opening

SUBJECT = "what attention computes"

OPENING: Mapping[str, str] = MappingProxyType({
    "text": "My sister bought a bicycle because she wanted to ride it to work.",
    "source": PRETRAINED.key, "step": "tokens", "q": "11", "layer": "3", "head": "1",
})  # fmt: skip
"""The link of the view that the app opens with: a head of the built-in model in which "it" attends to "bicycle"."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app."""

    name: str
    """Its name in lessons, exports and code, and the name of its script"""
    title: str
    path: str
    """Its address, relative to the app's root"""
    keys: tuple[str, ...]
    """The keys of its links; `SHARED_KEYS` are in the links of every page"""
    shows_source: bool = False
    """Whether its links also have the keys of the view's source of attention"""
    source: str | None = None
    """The source that it always shows; None if the view chooses one, or the page shows none"""
    sources: Mapping[str, Source] = field(default_factory=lambda: SOURCES)
    """The sources that its views can choose, by name in links"""
    shows: Callable[[Get, Resources], ShownHead] = shown
    """Resolves one of its views to the part of a model that it shows"""
    short_title: str = ""
    """Its title in the navigation, which has all pages in one row; `title` if empty"""
    step_key: str = "step"
    """The link key of the step, if it has steps"""
    in_lessons: bool = True
    """Whether a scene of a lesson may show it"""
    opening: Mapping[str, str] = field(default_factory=dict)
    """The link of the view that a bare address opens (`is_bare`); every other link uses the keys' defaults"""

    @property
    def tab_title(self) -> str:
        """The title of its browser tab. The start page says what the app is."""
        return f"attnviz: {SUBJECT}" if self.path == "/" else f"{self.title} · attnviz"

    @property
    def menu_title(self) -> str:
        """The title in the navigation."""
        return self.short_title or self.title

    @property
    def script(self) -> Path:
        """The file that Streamlit runs."""
        return files.PAGES / f"{self.name}.py"

    def link_keys(self, source: str | None = None) -> tuple[str, ...]:
        """Return the keys of its links for one source of attention, or for all of them."""
        if not self.shows_source:
            return self.keys
        sources = self.sources.values() if source is None else (self.sources[source],)
        return tuple(dict.fromkeys((*self.keys, *(key for each in sources for key in each.keys))))

    @property
    def plain(self) -> dict[str, str]:
        """The link of the view with all defaults: it names one of them if a bare address does not open it."""
        return {"source": KEYS["source"].write(KEYS["source"].default)} if self.opening else {}

    def is_bare(self, query: Mapping[str, str]) -> bool:
        """Whether an address has no key of the page's views. Keys that all pages share, and others', do not count."""
        return not any(name in query for name in self.link_keys())

    def opened(self, query: Mapping[str, str]) -> dict[str, str]:
        """Return a link in full: a bare one stands for the opening view, with the keys that all pages share."""
        return {**self.opening, **query} if self.is_bare(query) else dict(query)

    def trained_model(self, get: Get) -> str | None:
        """Return the name of the trained model whose head a view shows; None if it shows another source."""
        if not {"model", "head"} <= set(self.link_keys()):
            return None
        name: str = get("model")
        if "source" in self.keys:
            return TRAINED_NAMES.own(name) if get("source") == TRAINED.key else None
        return name if is_name(name) else None

    def read(self, query: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
        """Parse a link to it, as `read_link` does. A link that only names a trained model opens that model's view."""
        view, notes = read_link(query)
        name = self.trained_model(view.__getitem__)
        if name is not None and not any(key in query for key in OPENING_KEYS):
            view |= opening(name)
        return view, notes

    def write(self, view: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
        """Return the query of a view: the keys among `names` without default values.

        For the opening view it has only the keys that all pages share.
        With a trained model the text is always included: without it, the link would open the model's own view.
        """
        names = tuple(names)
        written = write_link(view, names)
        if "text" in names and self.trained_model(view.__getitem__) is not None:
            written = {"text": KEYS["text"].write(view["text"]), **written}
        shared = {name: written.pop(name) for name in SHARED_KEYS if name in written}
        own = {} if self.opening and written == self.opening else written or self.plain
        return {**own, **shared}


def _keys_of_sources(*, without: str) -> tuple[str, ...]:
    """Return the keys of all sources, each once, except `without`."""
    return tuple(dict.fromkeys(key for source in SOURCES.values() for key in source.keys if key != without))


PAGES: dict[str, Page] = {
    page.name: page
    for page in (
        Page(
            "step_by_step", "Step by step", "/",
            ("text", "source", "step", "q", "k", "stretch", "limit", "drawing", "predict", "focus", "recompute"),
            shows_source=True, opening=OPENING,
        ),
        Page(
            "heads", "Heads", "/heads",
            ("text", *PRETRAINED.keys, "rollout", "chosen", "q", "k", "show", "direction",
             "special", "between", "values", "sort", "label", "mean", "stretch", "threshold", "strongest", "more",
             "over", "corpus", "corpus_view", "corpus_measure"),
            source=PRETRAINED.key,
        ),
        Page(
            "averages", "From averages to attention", "/averages",
            ("text", "way", "q", "k", "drawing", "focus", "tokenizer", "charset", "positions", "seed"), source=TOY.key,
            short_title="Averages",
        ),
        Page(
            "transformer", "Transformer", "/transformer",
            ("text", "source", "block", "part", "q", "k", "stretch", "limit", "drawing", "predict", "focus",
             "check", "other", "pads", "dropout", "draw", "over_all", "mistake", "answer"),
            shows_source=True, sources=TRANSFORMER_SOURCES, shows=shown_part, step_key="part",
        ),
        Page(
            "train", "Train", "/train",
            ("train_part", "rung", "text_view", "train_block", "cut", "text_from", "text_to", "task", "sample", "steps",
             "batch", "rate", "seed", "warm_up", "decay", "optimiser", "weight_decay", "train_dropout", "train_layers",
             "train_heads", "train_width", "run", "watch", "snapshot", "q", "k", "predict", "text_model", "prompt",
             "halves", "length", "temperature", "top_k", "top_p", "cache", "drawn", "panel"),
        ),
        Page(
            "bert", "BERT at work", "/bert", ("text", "model", "seed", "q", "other", *BERT_KEYS), source=PRETRAINED.key,
            short_title="BERT",
        ),
        Page("tokens", "Tokens", "/tokens", ("text", "pair", "charset", "tokenizer", "block_size")),
        Page(
            "compare", "Compare", "/compare",
            ("text", "source", *_keys_of_sources(without="projection"), "quantity", "stretch", "q", "k", "focus",
             "compare", *(f"b_{name}" for name in B_KEYS)),
            # The minimal pair and head in which a pronoun's row changes most: a test measures it.
            opening={"source": PRETRAINED.key, "layer": "3", "head": "1", "q": "10", "k": "2"},
        ),
        Page("lessons", "Lessons", "/lessons", ("text",), in_lessons=False),
    )
}  # fmt: skip
"""All pages by name, in the order of the navigation. The first is the app's start page."""
