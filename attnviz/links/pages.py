"""The registries of pages and places: name, title, path, script and link keys of each page; a place's chapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnviz import files
from attnviz.links.bert import BERT_KEYS
from attnviz.links.link import KEYS, SHARED_KEYS, read_link, write_link
from attnviz.links.train import OF_A_SUBJECT
from attnviz.sources import PRETRAINED, SOURCES, TOY, TRAINED, Get, Resources, Source
from attnviz.sources.compared import B_KEYS
from attnviz.sources.models import TRAINED_NAMES
from attnviz.sources.shown import TRANSFORMER_SOURCES, ShownHead, shown, shown_part, shown_with_hidden_word
from attnviz.trained import is_name
from attnviz.trained.shipped import OPENING_KEYS, opening

SUBJECT = "what attention computes"


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the bar at the top, in which pages and their parts are chapters."""

    title: str
    opens: str
    """The name of the page that its link opens"""


START = Place("Start", "lessons")
ONE_HEAD = Place("One head", "step_by_step")
WHOLE_MODEL = Place("Whole model", "transformer")
MAKE = Place("Make", "train")

PLACES = (START, ONE_HEAD, WHOLE_MODEL, MAKE)
"""In the order of the bar"""

OPENING: Mapping[str, str] = MappingProxyType({
    "text": "My sister bought a bicycle because she wanted to ride it to work.",
    "source": PRETRAINED.key, "step": "tokens", "q": "11", "layer": "3", "head": "1",
})  # fmt: skip
"""The link of the view that the app opens with: a head of the built-in model in which "it" attends to "bicycle"."""

OPENING_OF_HEADS: Mapping[str, str] = MappingProxyType({name: OPENING[name] for name in ("text", "layer", "head", "q")})
"""The link of the view that Heads opens with: the same head among all others"""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app."""

    name: str
    """Its name in lessons, exports and code, and the name of its script"""
    title: str
    path: str
    """Its address, relative to the app's root"""
    places: Place | Mapping[str, Place]
    """Its place; for a page whose parts are chapters of their own, the place of each part"""
    keys: tuple[str, ...]
    """The keys of its links; `SHARED_KEYS` are in the links of every page"""
    part_key: str = ""
    """The link key of the part, if the parts are chapters"""
    of_a_part: tuple[str, ...] = ()
    """The keys whose values belong to one part: another part begins with their defaults"""
    shows_source: bool = False
    """Whether its links also have the keys of the view's source of attention"""
    source: str | None = None
    """The source that it always shows; None if the view chooses one, or the page shows none"""
    sources: Mapping[str, Source] = field(default_factory=lambda: SOURCES)
    """The sources that its views can choose, by name in links"""
    shows: Callable[[Get, Resources], ShownHead] = shown
    """Resolves one of its views to the part of a model that it shows"""
    short_title: str = ""
    """Its title as a chapter; `title` if empty"""
    step_key: str = "step"
    """The link key of the step, if it has steps"""
    in_lessons: bool = True
    """Whether a scene of a lesson may show it"""
    opening: Mapping[str, str] = field(default_factory=dict)
    """The link of the page's own first view, if it has one (`first_view`)"""

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        """Its chapters: itself, or its parts in their order."""
        if isinstance(self.places, Place):
            return (Chapter(self, self.places, self.short_title or self.title, self.title),)
        titles = KEYS[self.part_key].titles
        return tuple(Chapter(self, place, titles[part], titles[part], part) for part, place in self.places.items())

    def chapter(self, get: Get) -> Chapter:
        """Return the chapter that a view shows."""
        return next(chapter for chapter in self.chapters if not chapter.part or chapter.part == get(self.part_key))

    def part_of(self, query: Mapping[str, str]) -> str | None:
        """Return the part that a link names if it is the link of one of the page's chapters; else None."""
        return next((chapter.part for chapter in self.chapters if chapter.part and chapter.query == query), None)

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
    def first_view(self) -> dict[str, str]:
        """The link of the view that a bare address opens (`is_bare`); every other link uses the keys' defaults.

        Without a first view of its own, a page with a text opens with the app's first sentence.
        """
        return dict(self.opening) or ({"text": OPENING["text"]} if "text" in self.keys else {})

    @property
    def plain(self) -> dict[str, str]:
        """The link of the view with all defaults, which names one of them: a bare address may open another view."""
        name = next((name for name in ("source", "text") if name in self.keys), self.part_key)
        return {name: KEYS[name].write(KEYS[name].default)}

    def is_bare(self, query: Mapping[str, str]) -> bool:
        """Whether an address has no key of the page's views. Keys that all pages share, and others', do not count."""
        return not any(name in query for name in self.link_keys())

    def opened(self, query: Mapping[str, str]) -> dict[str, str]:
        """Return a link in full: a bare one stands for the first view, with the keys that all pages share."""
        return {**self.first_view, **query} if self.is_bare(query) else dict(query)

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

        For the first view it has only the keys that all pages share, except in a lesson: without a key of the view, the
        link would open the scene's own view.
        With a trained model the text is always included: without it, the link would open the model's own view.
        """
        names = tuple(names)
        written = write_link(view, names)
        if "text" in names and self.trained_model(view.__getitem__) is not None:
            written = {"text": KEYS["text"].write(view["text"]), **written}
        shared = {name: written.pop(name) for name in SHARED_KEYS if name in written}
        is_first = written == self.first_view and "lesson" not in shared
        own = {} if is_first else written or self.plain
        return {**own, **shared}


@dataclass(frozen=True, slots=True)
class Chapter:
    """One entry of a place: a page, or one of its parts."""

    page: Page
    place: Place
    title: str
    """Its title in the bar"""
    heading: str
    """Its title on the page"""
    part: str = ""
    """The value of the page's `part_key`"""

    @property
    def query(self) -> dict[str, str]:
        """The query of its link, which names the part even where that is the default."""
        return {self.page.part_key: self.part} if self.part else {}

    @property
    def tab_title(self) -> str:
        """The title of its browser tab. The page at the app's own address says what the app is."""
        return f"attnviz: {SUBJECT}" if self.page.path == "/" else f"{self.heading} · attnviz"


_COMPARED = dict.fromkeys(key for source in SOURCES.values() for key in source.keys if key != "projection")
"""The keys of all sources that Compare shows, each once"""

PAGES: dict[str, Page] = {
    page.name: page
    for page in (
        Page("lessons", "Start", "/lessons", START, ("text",), in_lessons=False),
        Page("tokens", "Tokens", "/tokens", ONE_HEAD, ("text", "pair", "charset", "tokenizer", "block_size")),
        Page(
            "averages", "From averages to attention", "/averages", ONE_HEAD,
            ("text", "way", "q", "k", "drawing", "focus", "tokenizer", "charset", "positions", "seed"), source=TOY.key,
            short_title="From averages",
        ),
        Page(
            "step_by_step", "Step by step", "/", ONE_HEAD,
            ("text", "source", "step", "q", "k", "stretch", "limit", "drawing", "predict", "focus", "dim", "why",
             "play", "blank_at", "recompute"),
            shows_source=True, shows=shown_with_hidden_word, opening=OPENING,
        ),
        Page(
            "heads", "Heads", "/heads", ONE_HEAD,
            ("text", *PRETRAINED.keys, "rollout", "chosen", "q", "k", "show", "direction",
             "special", "between", "values", "sort", "label", "mean", "stretch", "threshold", "strongest", "more",
             "over", "corpus", "corpus_view", "corpus_measure"),
            source=PRETRAINED.key, opening=OPENING_OF_HEADS,
        ),
        Page(
            "compare", "Compare", "/compare", ONE_HEAD,
            ("text", "source", *_COMPARED, "quantity", "stretch", "q", "k", "focus",
             "more", "compare", *(f"b_{name}" for name in B_KEYS)),
            # The minimal pair and head in which a pronoun's row changes most: a test measures it.
            opening={"source": PRETRAINED.key, "layer": "3", "head": "1", "q": "10", "k": "2"},
        ),
        Page(
            "transformer", "Transformer", "/transformer", WHOLE_MODEL,
            ("text", "source", "block", "part", "q", "k", "stretch", "limit", "drawing", "predict", "focus", "dim",
             "why", "play", "check", "other", "pads", "dropout", "draw", "over_all", "mistake", "answer"),
            shows_source=True, sources=TRANSFORMER_SOURCES, shows=shown_part, step_key="part",
        ),
        Page(
            "train", "Train", "/train", dict.fromkeys(("task", "text", "generate"), MAKE),
            ("train_part", "rung", "text_view", "train_block", "cut", "text_from", "text_to", "task", "sample", "steps",
             "batch", "rate", "seed", "warm_up", "decay", "optimiser", "weight_decay", "train_dropout", "train_layers",
             "train_heads", "train_width", "run", "watch", "snapshot", "q", "k", "predict", "text_model", "prompt",
             "halves", "length", "temperature", "top_k", "top_p", "cache", "drawn", "panel"),
            part_key="train_part", of_a_part=OF_A_SUBJECT,
        ),
        Page(
            "bert", "BERT", "/bert",
            {**dict.fromkeys(("configuration", "back", "language", "subsets"), WHOLE_MODEL),
             **dict.fromkeys(("classifier", "agent", "search", "without", "blank"), MAKE)},
            ("text", "model", "seed", "q", "other", *BERT_KEYS),
            part_key="bert_part", source=PRETRAINED.key,
        ),
    )
}  # fmt: skip
"""All pages by name, in the order of the chapters"""


def chapters(place: Place) -> tuple[Chapter, ...]:
    """Return the chapters of a place, in their order."""
    return tuple(chapter for page in PAGES.values() for chapter in page.chapters if chapter.place is place)
