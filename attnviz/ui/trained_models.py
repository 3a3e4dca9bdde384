"""Trained models in the app: opening them, offering them in the menus, and describing them in the side bar.

A trained model chosen in a menu opens in the same way as with a link that only names it (see `Page.read`). A text that
the user typed is kept. The replaced settings are restored when a model of another source is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.lessons import gallery, text_examples
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING, PAGES
from attnviz.pretrained.names import ModelError
from attnviz.trained.shipped import is_kept, keep, load, opening
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.tokens.choices import file_field, uploaded

if TYPE_CHECKING:  # torch, which the first view does not wait for
    from collections.abc import Iterator

    from attnviz.trained.model import TrainedModel


_REASON = "trained"
_ALONE = {"rollout": False, "chosen": (), "q": None, "k": None}
"""Settings that don't apply to the new text, with their defaults: the other heads on Heads, and the pinned cell"""


def take_choice() -> None:
    """Open the trained model chosen in a menu, from the callback of the menu of sources or of models."""
    page = PAGES[state.page()]
    open_chosen(page.trained_model(state.get), page.trained_model(_in_menus))


def open_chosen(before: str | None, after: str | None) -> None:
    """Open a trained model in place of another one, from a callback; None means a model of another source."""
    if before == after:
        return
    if not state.give_back(_REASON) and after is None and state.get("text") in examples_of(before):
        state.put("text", OPENING["text"])  # a link has opened the model, so there is no earlier text to restore
    if after is not None:
        values = opening(after)
        is_typed = not is_offered(state.get("text"), before)
        kept = ("text", "pair") if is_typed else ()
        state.replace(_REASON, {name: value for name, value in (values | _ALONE).items() if name not in kept})


def is_offered(text: str, model: str | None = None) -> bool:
    """Whether the app offers a text, in general or as an example for a trained model; if not, the user typed it."""
    return not text.strip() or text in _offered() or text in examples_of(model)


def examples_of(model: str | None) -> tuple[str, ...]:
    """Return the example texts of a trained model, by its name; empty if the model does not exist."""
    if model is None:
        return ()
    from attnviz.trained.model import examples  # imported late: it imports torch

    try:
        return examples(load(model))
    except ModelError:
        return ()


@cache
def _offered() -> frozenset[str]:
    from attnviz.trained.model import TEXTS
    from attnviz.training.tasks import TASKS

    def texts() -> Iterator[str]:
        yield DEFAULT_TEXT
        yield OPENING["text"]
        yield from (example.text for example in gallery())
        yield from (example.text for example in text_examples())
        yield from (text for pair in MINIMAL_PAIRS for text in (pair.a, pair.b))
        yield from TEXTS
        yield from (text for task in TASKS.values() for text in task.examples)

    return frozenset(texts())


def _in_menus(name: str) -> Any:
    """Return a setting from the menus; the view may still have the previous value."""
    chosen = st.session_state.get(name)
    return chosen if isinstance(chosen, str) else state.get(name)


MOST_OWN = 12
"""The most models offered, the newest ones. Older ones can still be opened by their links."""
LARGEST_MB = 8
_FILE = "trained_file"


@dataclass(slots=True)
class _ModelsRecord:
    """What a session keeps of the visitor's models."""

    models: tuple[str, ...] = ()
    """The names of the models that the visitor has trained or opened, the newest last"""
    refused: str = ""
    """Why the last file was refused"""
    refused_on: tuple[str, Mapping[str, Any]] | None = None
    """The page and the view on which it was refused: what is said of it holds for these"""
    opened: Mapping[str, str] | None = None
    """The link to the model whose file was just opened, on a page without named models"""


def own_names() -> tuple[str, ...]:
    """Return the names of this session's models that are still kept, the newest last."""
    return tuple(name for name in state.record(_ModelsRecord).models if is_kept(name))


def add_own(name: str) -> None:
    """Offer a model that `trained.keep` has stored."""
    kept = state.record(_ModelsRecord)
    others = [other for other in kept.models if other != name]
    kept.models = (*others[1 - MOST_OWN :], name)


def show_upload() -> None:
    """Show the field that opens a trained model's file. Call it only if `settings().uploads` is True."""
    file_field(
        "Open a model's file (safetensors, up to {most} MB)", _FILE, LARGEST_MB * 2**20, type=["safetensors"],
        on_change=_take_file, help="Export on the page Train makes such files. Nothing in a file is run.",
    )  # fmt: skip


def show_refusal() -> None:
    """Show why the last file was refused, until another page or anything else of the view is chosen."""
    kept = state.record(_ModelsRecord)
    if kept.refused_on != (state.page(), state.every()):
        kept.refused = ""
    if kept.refused:
        st.error(plain(kept.refused))


def go_if_opened() -> None:
    """On a page without named models: go to the model whose file was just opened."""
    kept = state.record(_ModelsRecord)
    link, kept.opened = kept.opened, None
    if link:
        state.go_to_page(PAGES["step_by_step"].script, link)


def _take_file() -> None:
    """Store the model of an uploaded file and choose it, or store the reason why it is refused."""
    file, kept = uploaded(_FILE), state.record(_ModelsRecord)
    kept.refused = ""
    if file is None:
        return
    try:
        if file.size > LARGEST_MB * 2**20:
            raise ModelError(f"The file has {file.size / 2**20:.1f} MB; a model's file has up to {LARGEST_MB} MB.")
        model = keep(file.getvalue())
    except ModelError as why:
        kept.refused, kept.refused_on = str(why), (state.page(), state.every())
        return
    add_own(model.name)
    if state.page() == "train":
        kept.opened = {"source": "trained", "model": model.name, "step": "weights"}
        return
    before = PAGES[state.page()].trained_model(state.get)
    state.put("model", model.name)
    if state.page() != "heads":
        state.put("source", "trained")
    open_chosen(before, model.name)


def show_card(model: object, page: str) -> None:
    """For a model trained with attnviz, show what it learned, which heads do it, and texts to try."""
    from attnviz.trained.model import TrainedModel, about, examples, heads

    if not isinstance(model, TrainedModel):
        return
    with st.container(key="trained_card", gap="xsmall"):
        st.caption(plain(about(model)), help=None if model.task is None else plain(model.task.explanation))
        if model.task is not None and model.task.end:
            with st.popover("All words that it knows", type="tertiary"):
                st.markdown(plain(" ".join(label for label in model.labels if label != model.task.end)))
        for at, (says, kind, layer, head) in enumerate(heads(model)):
            go = partial(_show_head, model, page, kind, layer, head)
            st.button(plain(says), key=f"trained_head_{at}", type="tertiary", help="Show this head", on_click=go)
        texts = [text for text in examples(model) if text != state.get("text")]
        if texts:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                st.caption("Try", width="content")
                for at, text in enumerate(texts):
                    st.button(
                        plain(text),
                        key=f"trained_text_{at}",
                        type="tertiary",
                        on_click=partial(state.put, "text", text),
                    )


def _show_head(model: TrainedModel, page: str, kind: str, layer: int, head: int) -> None:
    """Show a head, from a callback."""
    if page == "transformer":
        from attnviz.trace.model import places

        attentions: list[tuple[str, int]] = [(place.kind, place.layer) for place in places(model.description.numbers)]
        state.put("block", attentions.index((kind, layer)) if (kind, layer) in attentions else 0)
        state.put("head", head)
        return
    state.choose_head(layer, head)
    state.put("kind", kind)
    if page == "step_by_step":
        state.put("step", "weights")
