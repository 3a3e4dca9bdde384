"""The main part of Step by step: the walk through all steps of a head, and checks of its numbers.

The document of the opening view ships with the app, so that it is available before the model is loaded.
`python -m attnviz.ui.step_by_step` recreates the file, and a test compares it with the model's results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from attnviz import files, trained
from attnviz.formatting import nonzero, number
from attnviz.links.link import read_link, write_link
from attnviz.links.pages import OPENING, PAGES
from attnviz.pretrained import BUILT_IN
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.sources import PRETRAINED, TRAINED
from attnviz.sources.shown import HiddenWord, ShownHead
from attnviz.steps import PARTS, STEPS, names_at, walk_names_at
from attnviz.trace.model import Place, places
from attnviz.trained.shipped import TITLES
from attnviz.training.series import STORIES
from attnviz.ui import caches, shell, state
from attnviz.ui.messages import plain
from attnviz.ui.sources import DESCRIBED, RESOURCES, SavedView, shown_with, view_of
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.tokens.choices import char_vocab
from attnviz.ui.walk import Checks, Shipped, address_of, check_step, document_of_walk, mount_walk, offer_documents
from attnviz.ui.widgets import palette, plot

if TYPE_CHECKING:
    from attnviz.document import Document
    from attnviz.measures.recomputed import FromPast, LoopScores
    from attnviz.tokens import Tokens
    from attnviz.trace.model import Model
    from attnviz.trace.walk import Walk


_VALUES = ("step", "layer", "head", "q", "k", "drawing", "predict", "stretch", "limit", "focus", "dim", "why", "play",
           "blank_at")  # fmt: skip
CHOICES = {name: name for name in _VALUES}
"""The user's choices in the walk, with their link keys"""


def show_walk(here: ShownHead) -> None:
    """Show the walk of a text.

    Raises:
        attnviz.tokens.NoTokensError: the text has no tokens.
    """
    state.check_run()
    if state.get("step") not in STEPS:  # only some layers have it; for the others, the model need not be open
        place = Place(here.kind, here.layer)
        check_step("step", walk_names_at(here.model.description, place), "This layer", here.kind)
    queries, keys = here.axes()
    shell.token_notes(queries)
    _choose_last(queries)
    state.keep_pin(queries.labels, keys.labels)
    view = SavedView(view_of(here), char_vocab(here.text))
    first = _first_views()
    mount_walk(
        PAGES["step_by_step"],
        offer_documents(here, view, (queries, keys), SHIPPED),
        CHOICES,
        source=here.source.key,
        values={name: state.get(name) for name in CHOICES} | {"layer": here.layer, "head": here.head},
        layers=here.layers,
        layer_marks=here.model.description.layer_marks(here.kind),
        only_layer=here.source.only_layer,
        takes={"opens": _open_first, "written": _append},
        opening=any(model["shown"] for model in first),
        first=first,
        writes=_writing(here),
        follows=_following(here),
        hides=here.model.description.guesses_well,
        hidden=here.hidden and {**here.hidden.named, "ranked": _ranking(here.hidden, here)},
    )


@dataclass(frozen=True, slots=True)
class FirstView:
    """A view that the app offers to begin with."""

    title: str
    says: str
    """What computes its attention, for the sentence above the walk"""
    link: Mapping[str, str]
    """Its link; empty for the view of the bare address"""

    def is_shown(self, view: Mapping[str, Any]) -> bool:
        """Whether a view is this one. Its model is loaded only if the view has all values of the link."""
        page = PAGES["step_by_step"]
        link = page.opened(self.link)
        named = read_link(link)[0]
        if any(view[name] != named[name] for name in link):
            return False
        keys = page.link_keys(view["source"])
        return write_link(view, keys) == write_link(page.read(link)[0], keys)


FIRST_VIEWS = {
    BUILT_IN: FirstView("MiniLM, a BERT", "a real BERT", {}),
    STORIES: FirstView(
        TITLES[STORIES],
        "a small GPT that writes stories, word by word",
        {"source": TRAINED.key, "step": "tokens", "q": "13", "model": STORIES},
    ),
}
"""By the names of their models. The story GPT opens with its own text and head (`trained.shipped.opening`); the last
word is chosen, a pronoun, after which it writes on."""


def _first_views() -> list[dict[str, Any]]:
    """Return `FirstView` of frontend/types/walk.d.ts for each of the first views whose model is here."""
    view = state.every()
    return [
        {"name": name, "title": first.title, "says": first.says, "shown": first.is_shown(view)}
        for name, first in FIRST_VIEWS.items()
        if not first.link or trained.is_name(name)
    ]


def _open_first(name: object) -> None:
    """Open one of the first views, from a callback."""
    if isinstance(name, str) and name in FIRST_VIEWS:
        state.run_page()
        state.visit(FIRST_VIEWS[name].link)


WRITTEN = 500
"""The most characters that the browser may add to the text at once"""


def _writing(here: ShownHead) -> dict[str, str | None] | None:
    """Return `WriteOn` of frontend/types/walk.d.ts: what the model writes after the text, or why it writes no more.

    None if it has not learned to write texts.
    """
    if here.source.key not in (TRAINED.key, PRETRAINED.key) or here.model.name == BUILT_IN:
        return None
    from attnviz.pretrained.model import MAX_TOKENS
    from attnviz.sources.writing import room
    from attnviz.trained.model import TrainedModel

    model, tokens = here.model, here.tokens()
    left = room(model, tokens)
    if left is None:
        return None
    if not left:
        why = f"The text fills all that the model can read, {len(tokens):,} tokens, so it writes no more."
        if len(tokens) == MAX_TOKENS:  # the model may read more
            most = "the most that attnviz shows"
            shown = f"of which attnviz shows the first {MAX_TOKENS:,}" if tokens.dropped else most
            why = f"The text has {len(tokens) + tokens.dropped:,} tokens, {shown}, so the model writes no more."
        return {"digest": None, "full": why}
    is_small = isinstance(model, TrainedModel)  # an offer may keep it; another one would not be evicted
    digest = model.digest if isinstance(model, TrainedModel) else model.trace_budget.number
    find = partial(_same_model, model.name, model.trace_budget.number)
    make = partial(_written, (lambda: model) if is_small else find, tokens)
    return {"digest": array_store().offer(("written on", model.name, digest, tokens.ids), make), "full": ""}


def _same_model(name: str, budget: int) -> Model:
    """Return the model with this name and budget.

    Raises:
        NotOfferedError: it can no longer be loaded, or is now another one.
    """
    from attnviz.pretrained import ModelError

    try:
        model = caches.named(name)
    except ModelError as error:
        raise NotOfferedError from error
    if model.trace_budget.number != budget:
        raise NotOfferedError
    return model


def _written(find: Callable[[], Model], tokens: Tokens) -> bytes:
    """Return what a model writes, as JSON: `Written` of frontend/types/walk.d.ts."""
    from attnviz.sources.writing import write_on

    return json.dumps(asdict(write_on(find(), tokens))).encode()


def _ranking(hidden: HiddenWord, here: ShownHead) -> str:
    """Return the address of the view that says where a hidden word stands among all guesses of the model.

    "" if that view would mask less: it has one text, and masks one token of it.
    """
    if here.pair is not None or hidden.masks != here.model.description.mask_piece:
        return ""
    page = PAGES["bert"]
    view = {**view_of(here), "text": state.get("text"), "bert_part": "blank", "blank_at": hidden.row}
    query = page.write(view, ("text", "model", "bert_part", "blank_at"))
    return f"{page.path.lstrip('/')}?{urlencode(query)}"


def _following(here: ShownHead) -> dict[str, Any] | None:
    """Return the way through the whole model after an attention's output: `Following` in frontend/types/walk.d.ts.

    It leads nowhere if the model has no answer, or names it after other rows than those shown: then it says only of
    which layers what follows is not known, and why. None if there is nothing to say.
    """
    description, page = here.model.description, PAGES["transformer"]
    numbers, all_places = description.numbers[here.kind], places(description.numbers)
    last = all_places[-1]
    leads = description.shows_logits and here.place.stack == last.stack
    unknown = numbers if description.norm_first is None else description.attention_alone.get(here.kind, ())
    if not here.source.has_names or here.source.key not in page.sources or not (leads or unknown):
        return None
    stack = [place for place in all_places if place.stack == last.stack]

    def after(layer: int) -> list[list[str]]:
        names = names_at(description, Place(here.kind, layer))
        return [[name, PARTS[name].title_of(here.kind, layer)] for name in names[names.index("output") + 1 :]]

    def next_place(layer: int) -> tuple[str, int] | None:
        at = stack.index(Place(here.kind, layer)) + 1
        if at == len(stack):
            return None
        title = f"layer {stack[at].layer}" if stack[at].layer != layer else "cross-attention"
        return title, all_places.index(stack[at])

    shown = {**here.choices, "text": here.text, "pair": here.pair or "", "q": None, "k": None}
    keys = [key for key in page.link_keys(here.source.key) if key not in ("block", "part")]
    query = page.write({**state.every(), **shown}, keys)
    return {
        "page": f"{page.path.lstrip('/')}?{urlencode(query)}",
        "answer": len(all_places) - 1 if leads and "probabilities" in names_at(description, last) else None,
        "layers": numbers,
        "blocks": [all_places.index(Place(here.kind, number)) for number in numbers],
        "steps": [after(number) for number in numbers if leads],
        "next": [next_place(number) for number in numbers if leads],
        "why": [description.why_not_after if number in unknown else "" for number in numbers],
    }


@dataclass(slots=True)
class _AppendedRecord:
    """Whether the text has just been written on: then its last token is chosen, which is known once it is read."""

    is_new: bool = False


def _append(written: object) -> None:
    """Add characters that the model has written to the text, from a callback."""
    if isinstance(written, str):
        state.apply_from_browser({"text": state.get("text") + written[:WRITTEN]}, ("text",))
        state.record(_AppendedRecord).is_new = True


def _choose_last(tokens: Tokens) -> None:
    """Choose the last token of a text that has just been written on."""
    kept = state.record(_AppendedRecord)
    if kept.is_new:
        state.put("q", len(tokens) - 1)
    kept.is_new = False


def follow_hidden_word(here: ShownHead, model_name: str | None) -> ShownHead:
    """Return what is shown after the hidden word was followed into another text or model (`state.keep_token`)."""
    before = state.get("blank_at")
    if before is None:
        return here
    pair = (state.get("pair").strip() or None) if "pair" in here.source.keys else None
    labels = here.model.read(state.get("text"), pair)[0].labels
    if state.keep_token("blank_at", "The hidden word", labels) == before:
        return here
    return shown_with(model_name, resources=DESCRIBED)


CHECKS = Checks("step_by_step", "recompute", dict.fromkeys(("loop", "past"), __name__))
"""Checks that compute the numbers of the head in another way"""


def show_loop(here: ShownHead) -> None:
    """Show two ways to compute the head's scores, and compare their results."""
    from attnviz.measures.recomputed import LOOP, MOST_LOOPED, PRODUCT, scores_by_loop

    walk = here.walk(RESOURCES)
    query, key = walk.layer.query[walk.head], walk.layer.key[walk.head]
    scores = scores_by_loop(query[:MOST_LOOPED], key[:MOST_LOOPED])
    left, right = st.columns(2)
    with left:
        st.markdown("**A double loop**: one dot product for each query and each key")
        st.code(LOOP, language="python")
    with right:
        st.markdown("**One matrix product**: all of them at once")
        st.code(PRODUCT, language="python")
    st.markdown(_about_loop(scores, walk))
    cell = _cell(scores)
    if cell:
        st.markdown(cell)
    if max(len(query), len(key)) > MOST_LOOPED:
        st.caption(f"Of the first {MOST_LOOPED} queries and keys: a loop in Python is slow.")


def _about_loop(scores: LoopScores, walk: Walk) -> str:
    """Return a sentence on whether the scores are equal, and where and by how much they differ most."""
    cells, (q, k) = scores.gaps.numel(), scores.at
    where = f"row {q} “{plain(walk.query_labels[q])}”, column {k} “{plain(walk.key_labels[k])}”"
    if scores.largest == 0:
        return f"**Equal: yes.** The largest difference of the {cells:,} scores is **0**: every rounding is the same."
    answer = "yes" if scores.are_equal else "no"
    limit = nonzero(float(scores.rounding[q, k]))
    return (
        f"**Equal: {answer}.** The largest difference of the {cells:,} scores is **{nonzero(scores.largest)}**, in "
        f"{where}. Both sums are rounded to float32 after each addition, in another order; this alone may make up to "
        f"{limit} there."
    )


def _cell(scores: LoopScores) -> str:
    """Return both results for the pinned cell; empty if none is pinned, or the loop does not reach it."""
    q, k = state.get("q"), state.get("k")
    rows, columns = scores.by_loop.shape
    if q is None or k is None or q >= rows or k >= columns:
        return ""
    loop, product = (number(float(way[q, k]), 6) for way in (scores.by_loop, scores.by_product))
    return f"The pinned cell, row {q}, column {k}: the loop gives {loop}, the product {product}."


def show_past(here: ShownHead) -> None:
    """Show how much each row differs from the row computed from its past alone."""
    from attnviz.figures.plots import lines
    from attnviz.measures.recomputed import MOST_ROWS, NoPastError, rows_from_past

    walk = here.walk(RESOURCES)
    try:
        past = rows_from_past(walk.layer, walk.head)
    except NoPastError as error:
        st.info(str(error))
        return
    st.markdown(_about_past(past, walk))
    gaps = past.gaps.tolist()
    labels = numbered(walk.query_labels[: len(gaps)])
    figure = lines({"largest difference": gaps}, labels, palette(), title="largest difference", across="row")
    plot(figure, "recompute_past")
    computed = (
        "Row i from rows 0 to i of X, with the same weights, scale and mask: queries, keys, values, scores and softmax "
        "are computed again."
        if past.is_projected
        else "Row i from rows 0 to i of queries, keys and values: how this model makes them of X is not known."
    )
    more = f" The first {MOST_ROWS} rows." if len(walk.query_labels) > MOST_ROWS else ""
    st.caption(f"{computed} The head outputs are compared.{more}")


def _about_past(past: FromPast, walk: Walk) -> str:
    """Return a text on whether every row follows from its past; if not, which rows don't, and why."""
    differing, gaps = past.differing, past.gaps
    if not differing:
        largest = float(gaps.max())
        why = "" if largest == 0 else ": the rounding of float32 sums in another order"
        return (
            f"**Each row follows from its past alone: yes.** The largest difference to the head outputs of the whole "
            f"text is **{nonzero(largest)}**{why}."
        )
    row = int(gaps.argmax())
    where = f"row {row} “{plain(walk.query_labels[row])}”"
    same = [number for number in range(len(gaps)) if number not in differing]
    listed = ", ".join(map(str, same[:8])) + (f" and {len(same) - 8} more" if len(same) > 8 else "")
    rest = f" The same: {'row' if len(same) == 1 else 'rows'} {listed}." if same else ""
    if same == [len(walk.query_labels) - 1]:
        rest = " Only the last row is the same, after which nothing comes."
    return (
        f"**Each row follows from its past alone: no.** {len(differing)} of {len(gaps)} rows differ, most of all "
        f"{where}, by **{nonzero(float(gaps.max()))}**.{rest} {_why(walk)}"
    )


def _why(walk: Walk) -> str:
    mask, maps = walk.layer.mask, walk.layer.projections
    if maps and maps["query"].kind == "positions":
        return "U mixes positions before any mask, so that every row depends on those after it."
    if walk.kind != "decoder":
        return "Without a causal mask a row takes from the rows after it too."
    if mask.hides_rows and not mask.is_infinite:
        return "A row whose keys are all hidden is the average of all values, also of those after it."
    return "The mask does not hide all that comes after a row."


SHIPPED_FILE = files.FOLDER / "assets" / "opening.safetensors"
"""The document of the opening view's layer"""
_DECIDING = ("text", "pair", "source", "model", "kind", "layer", "blank_at")
"""The link keys on which the document depends: it contains all heads and all steps"""


def is_shipped(view: Mapping[str, Any], layer: int) -> bool:
    """Return whether the shipped document is the document of this layer in this view."""
    opening = _opening()
    return opening["layer"] == layer and all(view[name] == opening[name] for name in _DECIDING if name != "layer")


@cache
def _opening() -> Mapping[str, Any]:
    """Return the opening view."""
    return read_link(OPENING)[0]


def shipped_document(digest: str) -> Document:
    """Return the shipped document with addresses of its arrays that begin with `digest`, as the server offers it."""
    from attnviz.document import Document

    read = _read_shipped()
    references = {
        name: replace(reference, digest=address_of(name, digest)) for name, reference in read.header.references.items()
    }
    return Document(replace(read.header, references=references), read.arrays)


SHIPPED = Shipped(is_shipped, shipped_document)


@cache
def _read_shipped() -> Document:
    from attnviz.document import read

    return read(SHIPPED_FILE.read_bytes())


def make_document() -> Document:
    """Compute the document with the built-in model."""
    from attnviz.sources.models import DirectResources
    from attnviz.sources.shown import shown

    view, resources = read_link(OPENING)[0], DirectResources()
    return document_of_walk(shown(view.__getitem__, resources).walk(resources), "opening")


def main() -> None:
    """Write the file."""
    from attnviz.document import write

    SHIPPED_FILE.write_bytes(write(make_document()))


if __name__ == "__main__":
    main()
