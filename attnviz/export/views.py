"""The head, link, title and caption of a view in an export. A view is the parsed keys of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.formatting import counted
from attnviz.links.pages import PAGES
from attnviz.links.values import ROLLOUT
from attnviz.sources import PRETRAINED, SOURCES, Get, Resources, Source
from attnviz.sources.compared import of_b
from attnviz.steps import PARTS, WALK

if TYPE_CHECKING:
    from attnviz.sources.shown import ShownHead
    from attnviz.trace.walk import Walk

START = "step_by_step"
"""The page of a walk through one attention; Transformer has walks through a whole model"""
View = Mapping[str, Any]
"""Values by the keys of `attnviz.links.link`"""


def on_page(page: str, view: View) -> View:
    """Return a view with the page's fixed source of attention, if the page has one."""
    source = PAGES[page].source
    return view if source is None else {**view, "source": source}


def link_of(view: View, site: str, page: str = START) -> str:
    """Return the address of a view on a page of this site that shows a walk, or "" if the site is unknown."""
    if not site:
        return ""
    to = PAGES[page]
    sources = (to.sources[view["source"]], *to.sources.values())  # its own keys first
    place = ("block",) if "block" in to.keys else ()
    keys = dict.fromkeys(("text", "pair", "source", *place, *(key for source in sources for key in source.keys)))
    query = to.write(view, keys)
    return f"{site.rstrip('/')}{to.path}?{urlencode(query)}"


def walk_of(view: View, shown: ShownHead, resources: Resources, site: str = "", page: str = START) -> Walk:
    """Return the head that a view of a page shows, with its link.

    Raises:
        attnviz.tokens.NoTokensError: the text gives no token.
    """
    return replace(shown.walk(resources), link=link_of(view, site, page))


MAX_QUOTED_TEXT = 300
"""The most characters of the text in a caption."""


def title(page: str, get: Get) -> str:
    """Return the title of a page's picture; `page` is the page's name."""
    if page == "step_by_step":
        return " · ".join(filter(None, (_step(get), _head(get))))
    if page == "transformer":
        part = PARTS[get("part")]
        head = f" · head {get('head')}" if part.is_of_head else ""
        return f"{part.title} · attention {get('block')} of the model{head}"
    if page == "train":
        return _trained(get)[0]
    if page == "heads":
        return _heads(get)
    if page == "compare":
        return f"A, B and their difference: {get('quantity')}"
    return "Three tokenizers" if page == "tokens" else PAGES[page].chapter(get).heading


def _step(get: Get) -> str:
    """Return the title of a step; the input of a later layer is not called embeddings."""
    layer = get("layer") if SOURCES[get("source")].has_layers else 0
    return WALK[get("step")].title_of("encoder", layer)


def caption(page: str, get: Get) -> str:
    """Return the caption: the text and, where attention is shown, the model or seed and the axes."""
    if page == "train":
        return f"{_quoted(_trained(get)[1])} A small model in training. {ROWS_AND_COLUMNS}"
    if page == "bert":
        return _quoted(get("text"))
    if page == "tokens":
        return " ".join(_quoted(text) for text in (get("text"), get("pair")) if text.strip())
    if page == "compare":
        sides = [f"{name}: {_shown(side, SOURCES[side('source')])}" for name, side in (("A", get), ("B", of_b(get)))]
        return " ".join([*sides, ROWS_AND_COLUMNS])
    shown = PAGES[page]
    if page == "heads" and get("over") == "corpus":
        about = f"Mean weights over a corpus, by how far query and key stand apart. {PRETRAINED.about(get)}"
        return f"{about} {ROWS_AND_COLUMNS}"
    return f"{_shown(get, shown.sources[shown.source or get('source')])} {ROWS_AND_COLUMNS}"


def _heads(get: Get) -> str:
    """Return which heads are shown."""
    if get("over") == "corpus":
        return "All heads over a corpus"
    chosen = [_named(*head) for head in get("chosen") or [(get("layer"), get("head"))]]
    return ", ".join(chosen) if len(chosen) <= 4 else f"{len(chosen)} heads"


def _trained(get: Get) -> tuple[str, str]:
    """Return what a model in training learns, with the number of steps so far, and the text that it reads."""
    if get("train_part") != "task":
        return "A model of a text", get("sample")
    from attnviz.training.tasks import TASKS  # late: it imports torch

    task = TASKS.get(get("task")) or next(iter(TASKS.values()))
    after = "" if get("snapshot") is None else f" · after {counted(get('snapshot'), 'step')}"
    return f"{task.title}{after}", get("sample") if get("sample").strip() else task.examples[0]


def _shown(get: Get, source: Source) -> str:
    """Return the text and what computes its attention."""
    return f"{_quoted(get('text'))} {source.about(get)}".rstrip()


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return f"“{text}”" if len(text) <= MAX_QUOTED_TEXT else f"“{text[:MAX_QUOTED_TEXT]} …”"


def _head(get: Get) -> str:
    """Return the layer and head of a step, or the layer alone if the step is the same for all heads."""
    has_layers = SOURCES[get("source")].has_layers
    if not WALK[get("step")].is_of_head:
        return f"layer {get('layer')}" if has_layers else ""
    return _named(get("layer") if has_layers else None, get("head"))


def _named(layer: int | None, head: int) -> str:
    name = "rollout" if head == ROLLOUT else f"head {head}"
    return name if layer is None else f"layer {layer} · {name}"
