"""The lessons and example sentences that come with attnviz, read once per process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attnviz import files
from attnviz.annotated_text import AnnotatedText
from attnviz.lessons.lesson import Lesson, Scene, query_of, read_lesson, read_yaml
from attnviz.lessons.targets import marked_text
from attnviz.links.link import KEYS
from attnviz.sources import PRETRAINED

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = (
    "attention",
    "heads",
    "why",
    "transformer",
    "mistakes",
    "forming",
    "ladder",
    "explanation",
    "bert",
    "today",
    "claims",
)
"""The names of the shipped lessons, in the order of the page Start; each is a file of this name."""
GALLERY_TITLE = "Heads that do something clear"
GALLERY_SUMMARY = (
    "Sentences on which one head of MiniLM (a small BERT) shows a clear pattern. Layers and heads are counted from 0."
)


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence on which a head of the built-in model shows a clear pattern."""

    title: str
    text: str
    layer: int
    head: int
    measure: str
    """The measure of the pattern: one of `attnviz.measures.NAMES`, or "weight" for the weight of one cell"""
    figure: str
    """The value of the measure, as written in `says`"""
    says: str
    """What the head does, as the author writes it, with marks: see `attnviz.annotated_text.annotated`"""
    q: int | None = None
    k: int | None = None
    """The cell, if `measure` is "weight\""""

    @property
    def said(self) -> AnnotatedText:
        """What the head does, with marks on the words that name a part of its picture."""
        return self._marked(self.says)

    @property
    def sentence(self) -> str:
        """Which head it is and what it does, as its author writes it."""
        return f"[Layer {self.layer} · head {self.head}](layer={self.layer} head={self.head}). {self.says}"

    @property
    def explained(self) -> AnnotatedText:
        """`sentence`, with marks on the words that name a part of the picture."""
        return self._marked(self.sentence)

    def _marked(self, text: str) -> AnnotatedText:
        return marked_text("heads", query_of(self.link("heads")), text)

    def link(self, page: str) -> dict[str, str]:
        """Return the query of a link to this example on `heads` or `compare`, or to its sentence on `step_by_step`."""
        cell = {name: str(at) for name, at in (("q", self.q), ("k", self.k)) if at is not None}
        shown = {"text": self.text, "layer": str(self.layer), "head": str(self.head), **cell}
        source = {} if page == "heads" else {"source": PRETRAINED.key}
        step = {"step": "tokens"} if page == "step_by_step" else {}
        link = {**shown, **source, **step}
        return {name: value for name, value in link.items() if value != str(KEYS[name].default)}


@dataclass(frozen=True, slots=True)
class TextExample:
    """A sentence that shows something on a page without a model's heads."""

    page: str
    title: str
    text: str
    says: str


@cache
def shipped() -> Mapping[str, Lesson]:
    """Return the shipped lessons by name, in order."""
    return MappingProxyType({name: read_lesson((files.LESSONS / f"{name}.yaml").read_bytes(), name) for name in NAMES})


@cache
def gallery() -> tuple[Example, ...]:
    """Return the example sentences, in order."""
    return tuple(_example(raw) for raw in _gallery_file()["examples"])


@cache
def text_examples() -> tuple[TextExample, ...]:
    """Return the sentences for pages without a model's heads, in order."""
    return tuple(TextExample(**raw) for raw in _gallery_file()["texts"])


def _gallery_file() -> dict[str, list[dict[str, Any]]]:
    content: dict[str, list[dict[str, Any]]] = read_yaml((files.LESSONS / "gallery.yaml").read_bytes())
    return content


def gallery_lesson() -> Lesson:
    """Return the example sentences as a lesson: each head among all others."""
    scenes = (Scene(example.title, example.sentence, "heads", query_of(example.link("heads"))) for example in gallery())
    return Lesson("gallery", GALLERY_TITLE, GALLERY_SUMMARY, tuple(scenes))


def _example(raw: dict[str, Any]) -> Example:
    numbers: dict[str, Any] = {name: int(raw[name]) for name in ("layer", "head", "q", "k") if name in raw}
    return Example(**(raw | numbers))
