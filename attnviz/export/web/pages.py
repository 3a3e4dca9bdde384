"""What a page of its own holds, for each page of the app that can be exported as one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from math import isqrt

import numpy as np

from attnviz.components.packing import pack
from attnviz.export import captions
from attnviz.export.views import View, on_page
from attnviz.export.web.page import Page
from attnviz.links.link import KEYS, STRETCH
from attnviz.links.pages import PAGES
from attnviz.sources import Resources
from attnviz.sources.compared import choices, default_of_b, run
from attnviz.sources.shown import KIND_NAMES, Shown, shown
from attnviz.tokens import NoTokensError
from attnviz.toy.config import MAX_TOKENS
from attnviz.trained.shipped import title

WALK_KEYS = ("step", "layer", "head", "q", "k", "predict", "stretch", "limit", "focus")
"""The keys of links for what is chosen in a walk"""
HEADS_KEYS = ("layer", "head", "rollout", "chosen", "q", "k", "show", "direction", "threshold", "strongest", "special",
              "between", "values", "mean", "stretch", "sort", "label")  # fmt: skip
"""The keys of links for what is chosen in Heads"""
HEADS_BYTES = 1_900_000
"""The most bytes of weights in a page of Heads, which is then within 3 MB, in base64 and with all else"""
PROJECTIONS = ("W_query", "W_key", "W_value", "U_query", "U_key", "U_value")
"""The arrays of a head that grow with the width of the model"""

ROUNDED = (
    "Weights are rounded to 16 bits: each is at most {error} from the one that the model computed. Measures are "
    "computed from its 32-bit numbers. Layers and heads are counted from 0."
)
CAUTION = "A weight says where a head looks, not why the model answers as it does."


class NoPageError(ValueError):
    """A view can't be a page of its own. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Maker:
    """How the views of one page of the app become pages of their own."""

    limit: Callable[[Shown], tuple[int, str]]
    """The most tokens that a page holds, so that it opens quickly everywhere, and the first half of a sentence on it"""
    shown: Callable[[View, Resources], Iterable[Shown]]
    """Resolves a view to the heads that it shows"""
    make: Callable[[View, Resources], Page]


def check_page(name: str, view: View, resources: Resources) -> None:
    """Check that a view can be a page, without running a model; `name` is the name of the app's page.

    Raises:
        NoPageError: this page of the app has no static form, or the text is too long.
        attnviz.pretrained.ModelError: a model can't be loaded.
        attnviz.tokens.NoTokensError: the text has no token for the model.
    """
    if name not in MAKERS:
        *others, last = (PAGES[one].title for one in MAKERS)
        can = f"{', '.join(others)} and {last}"
        raise NoPageError(f"A view of {PAGES[name].title} can't be a web page of its own; one of {can} can.")
    maker = MAKERS[name]
    for one in maker.shown(on_page(name, view), resources):
        count = one.longest()
        if not count:
            raise NoTokensError
        most, sentence = maker.limit(one)
        if count > most:
            raise NoPageError(f"{sentence} takes up to {most} tokens, and this text has {count}.")


def make_page(name: str, view: View, resources: Resources) -> Page:
    """Return a view as a page; raises as `check_page` does."""
    check_page(name, view, resources)
    return MAKERS[name].make(on_page(name, view), resources)


def _one(page: str, view: View, resources: Resources) -> Iterable[Shown]:
    return [PAGES[page].shows(view.__getitem__, resources)]


def _walk_page(page: str, view: View, resources: Resources) -> Page:
    from attnviz.document import document_of_layer, write
    from attnviz.measures.thumbnails import thumbnails

    (here,) = _one(page, view, resources)
    walk = here.walk(resources)
    small = thumbnails(walk.layer.attentions().numpy())
    document = document_of_layer(walk, thumbnails=small, refer_to=partial(_leave_out, here.head))
    chosen = {**view, "layer": here.layer, "head": here.head}
    layer = f" · layer {here.layer}" if here.source.has_layers else ""
    where = f" · {document.header.place}" if document.header.place else layer
    keys = {**{name: name for name in WALK_KEYS}, "step": PAGES[page].step_key}
    return Page(
        "walk",
        f"{title(here.model.name)}{where}, step by step",
        captions.caption(page, chosen.__getitem__),
        write(document),
        json.dumps(asdict(document.header), ensure_ascii=False),
        {name: KEYS[key].write(chosen[key]) for name, key in keys.items() if chosen[key] is not None},
        missing=f"this page holds the projections of head {here.head} only",
        lecture=view["lecture"],
    )


def _averages_page(view: View, resources: Resources) -> Page:
    from attnviz.document import document_of_layer, write
    from attnviz.sources.toy import averages_of

    document = document_of_layer(averages_of(view.__getitem__, resources))
    chosen = {"step": "way", "q": "q", "k": "k", "focus": "focus"}
    return Page(
        "walk",
        captions.title("averages", view.__getitem__),
        captions.caption("averages", view.__getitem__),
        write(document),
        json.dumps(asdict(document.header), ensure_ascii=False),
        {name: KEYS[key].write(view[key]) for name, key in chosen.items() if view[key] is not None},
        lecture=view["lecture"],
    )


def _leave_out(head: int, name: str, _: object) -> str | None:
    """Leave out the projections of other heads, which are far larger than all else that the page holds."""
    kind, _, of = name.partition("/")
    return "elsewhere" if kind in PROJECTIONS and of != str(head) else None


def _compared(view: View, resources: Resources) -> Iterable[Shown]:
    view = {**view, **default_of_b(view.__getitem__, resources)}
    return [shown(one.get, resources) for one in choices(view.__getitem__, resources)]


def _compare_page(view: View, resources: Resources) -> Page:
    from attnviz.compare.matrices import encode
    from attnviz.export.comparison import compared

    view = {**view, **default_of_b(view.__getitem__, resources)}
    a, b = choices(view.__getitem__, resources)
    both = compared((a, b), (run(a, resources), run(b, resources)), view["quantity"])
    coded = {name: encode(matrix) for name, matrix in both.matrices().items()}
    sizes = {"q": len(both.labels["query"]), "k": len(both.labels["key"])}
    header = {
        **both.header(stretch=STRETCH[view["stretch"]]),
        "ranges": {name: levels for name, (_, levels) in coded.items()},
        "acknowledged": 0,
        **{name: view[name] if (view[name] or 0) < size else None for name, size in sizes.items()},
        "focus": view["focus"],
    }
    return Page(
        "compare",
        captions.title("compare", view.__getitem__),
        captions.caption("compare", view.__getitem__),
        pack(header, {name: matrix for name, (matrix, _) in coded.items()}),
        json.dumps(header, ensure_ascii=False),
        notes=tuple(filter(None, (both.notice(), both.caveats(), _precision(levels for _, levels in coded.values())))),
        lecture=view["lecture"],
    )


def _precision(ranges: Iterable[list[float] | None]) -> str:
    """Return how exact encoded matrices are, as a sentence; "" if they are float32."""
    errors = [(found[1] - found[0]) / 131068 for found in ranges if found]
    return f"The numbers are rounded to 16 bits: an error of at most {max(errors):.1e}." if errors else ""


def _heads_page(view: View, resources: Resources) -> Page:
    from attnviz.heads import view as chosen
    from attnviz.heads.all_heads import ERROR, AllHeads

    (here,) = _one("heads", view, resources)
    every = AllHeads.of(here.trace(resources), here.kind)
    view = {**view, "layer": here.layer, "head": here.head}
    header, arrays = every.payload(chosen(view.__getitem__))
    files = {name: np.frombuffer(every.file(name), np.uint8) for name in every.names()}
    kind = f" · {KIND_NAMES[here.kind]}" if len(here.model.description.layers) > 1 else ""
    return Page(
        "heads",
        f"{title(here.model.name)}{kind}, all heads",
        captions.caption("heads", view.__getitem__),
        pack(header, {**arrays, **files}),
        json.dumps(header, ensure_ascii=False),
        {name: KEYS[name].write(view[name]) for name in HEADS_KEYS if view[name] is not None},
        notes=(ROUNDED.format(error=ERROR), CAUTION),
        lecture=view["lecture"],
    )


def _most_of_heads(here: Shown) -> tuple[int, str]:
    layers, heads = len(here.numbers), here.heads
    most = isqrt(HEADS_BYTES // (2 * layers * (heads + 1)))  # with the rollout
    return most, f"A web page of Heads has at most 3 MB: with {layers} x {heads} heads, it"


def _up_to(most: int, title: str) -> Callable[[Shown], tuple[int, str]]:
    return lambda _: (most, f"A web page of {title}")


def _walk_maker(page: str) -> Maker:
    return Maker(_up_to(512, PAGES[page].title), partial(_one, page), partial(_walk_page, page))


MAKERS: dict[str, Maker] = {
    "step_by_step": _walk_maker("step_by_step"),
    "heads": Maker(_most_of_heads, partial(_one, "heads"), _heads_page),
    "averages": Maker(_up_to(MAX_TOKENS, "From averages to attention"), partial(_one, "averages"), _averages_page),
    "transformer": _walk_maker("transformer"),
    "compare": Maker(_up_to(512, "Compare"), _compared, _compare_page),
}
"""By the names of the app's pages"""
