"""A walk on a page: the values sent to and received from the browser, and the documents that the browser requests.

A page offers the documents of all layers of a text, or of all attentions of a model, without computing them. The first
request for one runs the model, for all visitors. Large arrays are not part of a document; the browser requests them
when they are shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from attnviz.components.walk import walk as walk_component
from attnviz.links.link import KEYS, SHARED_KEYS
from attnviz.links.pages import Page
from attnviz.pretrained import BUILT_IN
from attnviz.runtime.arrays import PART, NotOfferedError, UnmakeableError, array_store
from attnviz.sources.shown import ShownHead
from attnviz.steps import PARTS
from attnviz.tokens import NoTokensError, Tokens
from attnviz.trace.matrices import NORMED, QKV, ROTATED
from attnviz.ui import caches, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.sources import RESOURCES, SavedView, shown_with

if TYPE_CHECKING:
    from attnviz.document import Document, ReferTo
    from attnviz.measures.score_parts import ScoreParts
    from attnviz.trace.model import Kind
    from attnviz.trace.walk import Walk


DRAWINGS = {"stage": "Animated", "chart": "Plotly"}
Keys = Mapping[str, str]
"""Link keys, by the names of their values in a walk"""


def mount_walk(
    page: Page,
    documents: Sequence[str | None],
    keys: Keys,
    *,
    source: str | None = None,
    takes: Mapping[str, Callable[[object], None]] = MappingProxyType({}),
    **header: Any,
) -> None:
    """Mount the walk of a page.

    Args:
        page: the page.
        documents: the digest of each layer's document; None for a layer without attention.
        keys: the link keys of the user's choices, by their names in the walk (`WalkValues` in
            frontend/types/walk.d.ts).
        source: the view's source of attention, if the page's links contain one.
        takes: callbacks for what else the browser may send, by its name.
        header: further fields of the component's header.
    """
    payload = {
        "values": {name: state.get(key) for name, key in keys.items()},
        "layers": (),
        "layer_marks": {},
        "only_layer": "",
        "opening": None,
        "linked": state.is_opening_link(),
        "asks": lesson_state.asks(),
        "model": None,
        "hides": False,
        "hidden": None,
        "first": (),
        "writes": None,
        "follows": None,
        **header,
        "documents": documents,
        "drawings": list(DRAWINGS.items()),
        "lecture": state.get("lecture"),
        "link": {
            "keys": (*page.link_keys(source), *SHARED_KEYS),
            "names": {name: key for name, key in keys.items() if name != key},
            "bare": urlencode(page.first_view),
            "plain": urlencode(page.plain),
            "defaults": {name: KEYS[key].default for name, key in keys.items()},
        },
    }
    walk_component(payload, key="walk", on_update=partial(_take, keys, takes))


def _take(keys: Keys, takes: Mapping[str, Callable[[object], None]], values: Mapping[str, object]) -> None:
    """Apply the values of a walk that the browser has sent; `keys` are their keys in the view."""
    had_question = lesson_state.asks()
    for name, take in takes.items():
        if name in values:
            take(values[name])
    by_key = {key: values[name] for name, key in keys.items() if name in values}
    state.apply_from_browser(by_key, keys.values())
    state.expect_link(by_key, keys.values())
    if had_question and not lesson_state.asks():
        state.run_page()  # so that the lesson's bar shows the answer


def check_step(key: str, available: Sequence[str], place: str, kind: Kind) -> None:
    """If an attention does not have the view's step, go to the nearest earlier step, with a note.

    Args:
        key: the link key of the step.
        available: the names of the attention's steps.
        place: where it is, to begin a sentence.
        kind: the kind of attention.
    """
    requested = state.get(key)
    if requested in available:
        return
    order = list(PARTS)
    nearest = max((name for name in available if order.index(name) < order.index(requested)), key=order.index)
    missing, shown = (PARTS[name].title_of(kind) for name in (requested, nearest))
    state.note(f"{place} has no step “{missing}” in this model: the nearest before it, “{shown}”, is shown.")
    state.put(key, nearest)


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a page."""

    page: str
    key: str
    """The link key of the chosen check"""
    modules: Mapping[str, str]
    """The module of each check, by its name in links; the function `show_<name>` shows it"""

    def stand_alone(self) -> bool:
        """Whether a check replaces the walk: in lecture mode and in a lesson, which show one thing at a time."""
        state.sync_widget(self.key)
        return bool(state.get(self.key) and (state.get("lecture") or lesson_bar.is_open()))

    def show(self, here: ShownHead) -> None:
        """Show the choice of a check, and the chosen one.

        In lecture mode, the choice is shown only if a check is chosen and no lesson is open.
        """
        if not state.get("lecture") or (state.get(self.key) and not lesson_bar.is_open()):
            self.choose()
        self.show_chosen(here)

    def show_chosen(self, here: ShownHead) -> None:
        """Show the chosen check, if any."""
        chosen = state.get(self.key)
        if chosen:
            name = here.model.name if here.source.has_names else None
            shown = shown_with(name, page=self.page)  # with the model's weights
            getattr(import_module(self.modules[chosen]), f"show_{chosen}")(shown)

    def choose(self) -> None:
        """Show the choice of a check."""
        state.choice(self.key, st.segmented_control, "Look further")


HEADS_BYTES = 2**20
"""Up to this size, the document contains query, key and value of all heads; else only those of its first head."""
OTHER_BYTES = 2**14
"""Up to this size, the document contains any other array."""
GUESSED_BYTES = 2**22
"""Up to this size of the logits, it contains the model's guesses: some 30 rows of the built-in model's vocabulary."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A document that ships with the app, so that it is available before its model is loaded."""

    has: Callable[[Mapping[str, Any], int], bool]
    """Returns whether this is the document of a layer of a view"""
    document: Callable[[str], Document]
    """Returns the document; takes the digest under which it is offered"""


@dataclass(frozen=True, slots=True)
class _Layers:
    """The settings from which all layers of a text can be computed: without tensors, so that an offer can keep it."""

    view: SavedView
    budget: int | None
    """The number of the model's `TraceBudget`: a reloaded model may have other weights. None for the built-in model,
    whose weights are always the published ones."""
    shipped: Shipped | None

    def is_shipped(self, layer: int) -> bool:
        """Return whether a layer's document ships with the app."""
        return self.shipped is not None and self.shipped.has(self.view.view, layer)

    def walk(self, layer: int, head: int = 0) -> Walk:
        """Return a head, from the cached trace or computed again.

        Raises:
            NotOfferedError: the model can no longer be loaded, is now a different one, or has no such head.
        """
        with self._shown(layer, head) as here:
            return here.walk(RESOURCES)

    def score_parts(self, layer: int, head: int, q: int, k: int) -> ScoreParts:
        """Return what a score is made of; raises as `walk` does, and if there is no such query or key."""
        with self._shown(layer, head) as here:
            return here.score_parts(RESOURCES, q, k)

    def states(self, layer: int, row: int) -> dict[str, Any]:
        """Return a row before the first layer and after each: `RowStates` in frontend/types/walk.d.ts."""
        from attnviz.measures.residual_stream import RowStates

        with self._shown(layer, 0) as here:
            trace = here.trace(RESOURCES)
            states = RowStates.of(trace, row)
            if states is None:
                note = here.model.description.why_not_after
                return {"layers": [], "norms": [], "labels": [], "shares": [], "note": note}
            lens = caches.lens(trace, row)
            # Where guesses are listed, whose head makes them is said there.
            is_listed = row in trace.guessed_rows(here.kind)
            whose = "" if is_listed or trace.vocabulary is None else trace.vocabulary.note
            return {
                "layers": states.numbers,
                "norms": states.norms.tolist(),
                "labels": [] if lens is None else lens.labels(trace),
                "shares": [] if lens is None else lens.probabilities[:, 0].tolist(),
                "note": NO_LENS if lens is None else f"{RAW} {whose}".strip(),
            }

    @contextmanager
    def _shown(self, layer: int, head: int) -> Iterator[ShownHead]:
        from attnviz.pretrained import ModelError

        try:
            here = self.view.shown().at(layer, head)
            if self.budget not in (None, here.model.trace_budget.number):
                raise NotOfferedError
            yield here
        except (ModelError, NoTokensError, IndexError) as error:
            raise NotOfferedError from error


def offer_documents(
    here: ShownHead, view: SavedView, tokens: tuple[Tokens | None, ...], shipped: Shipped | None = None
) -> list[str | None]:
    """Offer the documents of all layers, or attentions, and return their digests by layer number.

    Layers without attention have None.

    Args:
        here: what the page shows.
        view: the settings of that view.
        tokens: the tokens that the model reads.
        shipped: a document that does not need to be computed.
    """
    store = array_store()
    layers = _Layers(view, None if here.model.name == BUILT_IN else here.model.trace_budget.number, shipped)
    settings = [(name, view.view[name]) for name in here.source.keys if name not in ("layer", "head")]
    read = [None if part is None else (part.labels, part.ids) for part in tokens]
    text = store.digest((view.page, here.source.key, here.text, here.pair, layers.budget, settings, read))
    digests: list[str | None] = [None] * (here.numbers[-1] + 1)
    for layer in here.numbers:
        key = text, layer
        make = partial(_document, layers, layer, store.digest(key))
        is_opening = layers.is_shipped(layer)  # new visitors wait for it, so it is compressed
        digests[layer] = store.offer(key, make, part=partial(_array, layers, layer), compress=is_opening)
    return digests


def _document(layers: _Layers, layer: int, digest: str) -> bytes:
    from attnviz.document import DocumentError, write

    if layers.shipped is not None and layers.is_shipped(layer) and not caches.is_loaded(layers.view.view["model"]):
        return write(layers.shipped.document(digest))
    walk = layers.walk(layer)
    try:
        return write(document_of_walk(walk, digest))
    except DocumentError as error:
        raise UnmakeableError(str(error)) from error


def document_of_walk(walk: Walk, digest: str) -> Document:
    """Return the document of a walk's layer; the addresses of its large arrays begin with `digest`.

    Raises:
        DocumentError: see `document_of_layer`.
    """
    from attnviz.document import document_of_layer

    return document_of_layer(walk, thumbnails=True, refer_to=_referring(walk, digest))


def _referring(walk: Walk, digest: str) -> ReferTo:
    """Return the function that decides which arrays a document only refers to, and gives their addresses."""
    from attnviz.document import GUESSES

    layer = walk.layer
    changes = (layer.rotation is not None) + bool(layer.norms)  # each has queries and keys of its own
    numbers = layer.value.numel() + (1 + changes) * (layer.query.numel() + layer.key.numel())
    holds_all = 4 * numbers <= HEADS_BYTES

    def refer_to(name: str, nbytes: int) -> str | None:
        matrix, _, head = name.partition("/")
        is_operand = matrix in (*QKV, *NORMED, *ROTATED)
        most = GUESSED_BYTES if name == GUESSES else OTHER_BYTES
        is_held = holds_all or head == "0" if is_operand else nbytes <= most
        return None if is_held else address_of(name, digest)

    return refer_to


def address_of(name: str, digest: str) -> str:
    """Return the address of an array that the document with this digest refers to."""
    return f"{digest}{PART}{name.replace('/', '-')}"


_SCORE = re.compile(r"score-(\d{1,4})-(\d{1,6})-(\d{1,6})", re.ASCII)
_STATES = re.compile(r"states-(\d{1,6})", re.ASCII)
NO_LENS = (
    "The norm after the last layer is not a LayerNorm, so what the model would guess in between is not known here."
)
RAW = (
    "The language head was trained for the last state alone: what it makes of earlier ones is a hint (the logit lens)."
)


def _array(layers: _Layers, layer: int, part: str) -> bytes:
    """Return a file with one array, named `array`; `part` is its name in the document, with "-" in place of "/".

    Or return JSON: what a score is made of, for "score", the head, the query and the key; the guesses; or a row
    before the first layer and after each, for "states" and the row.
    """
    from safetensors.numpy import save

    from attnviz.document import GUESSES, array_of, guesses_of

    if score := _SCORE.fullmatch(part):
        return json.dumps(layers.score_parts(layer, *map(int, score.groups())).payload()).encode()
    if row := _STATES.fullmatch(part):
        return json.dumps(layers.states(layer, int(row[1]))).encode()
    if part == GUESSES:
        return guesses_of(layers.walk(layer))
    _, _, head = part.partition("-")
    walk = layers.walk(layer, int(head) if head.isdecimal() and len(head) < 5 else 0)
    try:
        return save({"array": array_of(walk, part.replace("-", "/"))})
    except KeyError as error:
        raise NotOfferedError from error
