"""The whole model: a figure of all stages between text and answer, whose boxes are links, and the model's cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import streamlit as st

from attnviz.formatting import counted, nonzero
from attnviz.links.pages import PAGES
from attnviz.measures.cost import BERT_BASE, PAPER_BASE, cost, equal_at, maps_in_words, parameters
from attnviz.steps import names_at
from attnviz.trained.shipped import title
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.styles import style
from attnviz.ui.tokens.chips import shorten
from attnviz.ui.widgets import notice, palette, plot

if TYPE_CHECKING:
    from attnviz.sources.shown import ShownPart
    from attnviz.trace.model import ModelSizes
    from attnviz.trace.trace import Trace


Link = Callable[[str, Mapping[str, Any]], str]
"""Returns the address of a page with some values of the view changed"""

QUOTED, FIRST = 24, 4
"""The most characters of the text in its box, and the most tokens listed"""


@dataclass(frozen=True, slots=True)
class Box:
    """One stage between a text and an answer."""

    title: str
    shape: str
    """The shape of its output, such as "(7, 32)", or a few words about it"""
    says: str
    """What happens in this stage, in one sentence"""
    address: str
    """The address of the page that shows it, relative to the app's root; "" if none does"""
    kind: Literal["", "attention", "task"] = ""
    item: str = ""
    """How words of a lesson call it"""


def overview(here: ShownPart, trace: Trace, link: Link) -> dict[str, list[Box]]:
    """Return the stages of each stack, the encoder first; all shapes are those of the trace.

    Args:
        here: what the page shows.
        trace: the trace of the page's text.
        link: returns the addresses of the boxes.
    """
    stacks = tuple(dict.fromkeys(place.stack for place in trace.places))
    return {stack: _boxes(here, trace, stack, link, is_last=stack == stacks[-1]) for stack in stacks}


def _boxes(here: ShownPart, trace: Trace, stack: str, link: Link, *, is_last: bool) -> list[Box]:
    numbers = [number for number, place in enumerate(trace.places) if place.stack == stack]
    first, last, layers = numbers[0], numbers[-1], len({trace.places[number].layer for number in numbers})
    tokens = trace.query_tokens(trace.places[first].kind)
    width = trace.last_hidden_state.shape[-1]
    rows = f"({len(tokens)}, {width})"

    def at(number: int, *steps: str) -> str:
        """Return the address of the first of these steps that an attention has; "" if it has none of them."""
        available = names_at(here.model.description, trace.places[number])
        part = next((step for step in steps if step in available), None)
        return (
            ""
            if part is None
            else link("transformer", {"block": number, "part": part, "check": None, "q": None, "k": None})
        )

    labels = " · ".join(shorten(label) for label in tokens.labels[:FIRST])
    text = tokens.text
    boxes = [
        Box("Text", f"“{text[:QUOTED]}{'…' if len(text) > QUOTED else ''}”", "What is typed.",
            link("tokens", {"text": text}), item="text"),
        Box("Tokens", f"{len(tokens)}: {labels}{' …' if len(tokens) > FIRST else ''}",
            "Pieces of the text; each has an id.", at(first, "tokens", "embeddings", "qkv"), item="tokens"),
        Box("Embeddings", rows, f"A table gives each token {width} numbers; its neighbours play no part.",
            at(first, "embeddings", "qkv"), item="embeddings"),
        Box(f"{counted(layers, 'layer')} with attention", _weights(trace, stack),
            "Each token takes from others what fits. Only here does one token reach another.",
            at(first, "weights"), "attention", item="layers"),
        Box("Vectors", rows, "One row a token again, now of the token in its text.",
            at(last, "block_output", "output", "head_outputs"), item="vectors"),
    ]  # fmt: skip
    if is_last:
        boxes += _answer(trace, at, link, last)
    else:
        cross = next(number for number, place in enumerate(trace.places) if place.kind == "cross")
        boxes.append(Box("To the decoder", "keys and values", "Each layer of the decoder reads these vectors.",
                         at(cross, "qkv", "scores"), "task"))  # fmt: skip
    return boxes


def _weights(trace: Trace, stack: str) -> str:
    kinds = [kind for kind in trace.kinds if (kind == "encoder") == (stack == "encoder")]
    shapes = (
        f"({trace.layer(0, kind).heads}, {len(trace.query_tokens(kind))}, {len(trace.key_tokens(kind))})"
        for kind in kinds
    )
    return f"weights {', to the encoder '.join(shapes)}"


def _answer(trace: Trace, at: Callable[..., str], link: Link, last: int) -> list[Box]:
    """Return the boxes of a task's layer and its answer: the language head, or a layer that is still to be trained."""
    if trace.vocabulary is None:
        width = trace.last_hidden_state.shape[-1]
        return [
            Box("Layer for a task", f"({width}, answers)", "Not in this model: a task trains one of its own.",
                link("bert", {"bert_part": "classifier"}), "task", item="task"),
            Box("Answer", "a class, an action, a hit", "What comes out depends on that layer alone.",
                link("bert", {"bert_part": "agent"}), "task", item="answer"),
        ]  # fmt: skip
    row = trace.focus[-1]
    tokens = trace.query_tokens(trace.places[-1].kind)
    probabilities = trace.vocabulary.logits(trace.last_hidden_state[[row]])[0].double().softmax(-1)
    likeliest = int(probabilities.argmax())
    share = nonzero(100 * float(probabilities[likeliest]), 1)
    shown = shorten(trace.vocabulary.label(likeliest))
    return [
        Box("Layer for the task", f"logits ({len(tokens)}, {trace.vocabulary.size})",
            "Maps each vector to a number for each token of the vocabulary.", at(last, "logits"), "task", item="task"),
        Box("Answer", f"“{shown}” {share} %", f"The likeliest token of row {row}, by softmax.",
            at(last, "probabilities"), "task", item="answer"),
    ]  # fmt: skip


def html(rows: Mapping[str, Sequence[Box]]) -> str:
    """Return the figure as HTML, with a row for each stack; everything from a text is escaped."""
    shown = "".join(_row_html(stack if len(rows) > 1 else "", boxes) for stack, boxes in rows.items())
    return f'<div class="ov-rows">{shown}</div>'


def _row_html(name: str, row: Sequence[Box]) -> str:
    named = f'<div class="ov-stack">{name.capitalize()}</div>' if name else ""
    boxes = "".join(
        f'<a class="ov-box{f" ov-{box.kind}" if box.kind else ""}"{_href(box)} data-item="{box.item}">'
        f'<span class="ov-title">{escape(box.title)}</span><span class="ov-shape">{escape(box.shape)}</span>'
        f"<span>{escape(box.says)}</span></a>"
        for box in row
    )
    return f'<div>{named}<div class="ov-row">{boxes}</div></div>'


def _href(box: Box) -> str:
    return f' href="{escape(box.address)}" target="_self"' if box.address else ""


def address(page: str, view: Mapping[str, Any], source: str | None = None) -> str:
    """Return the address of a view of a page, relative to the app's root."""
    target = PAGES[page]
    query = urlencode(target.write(view, target.link_keys(source)))
    return f"{target.path.lstrip('/')}?{query}" if query else target.path.lstrip("/")


def show_overview(here: ShownPart) -> None:
    """Show the figure for the model and the text of the page."""
    view = state.every()

    def link(page: str, changed: Mapping[str, Any]) -> str:
        return address(page, {**view, **changed}, here.source.key if page == "transformer" else None)

    trace = here.trace(RESOURCES)
    st.html(style("overview"))
    st.html(html(overview(here, trace, link)))
    notice("Embeddings and the last layer treat each token by itself: only attention carries anything between tokens.")
    if here.model.description.head_note and not state.get("lecture"):  # the figure fills the hall's screen
        st.caption(plain(here.model.description.head_note))


PART_NAMES = {"feed_forward": "feed-forward"}
SET_SINKS = " The score of its sinks is set, not learned, so it is no parameter; gpt-oss learns one for each head."
HIDDEN_TOO = " A window saves nothing here: the scores of all pairs are computed, then hidden."
LENGTHS = tuple(2**power for power in range(3, 18))
UNITS = {"multiplications": "multiplications", "nbytes": "bytes"}


def show_parameters(here: ShownPart) -> None:
    """Show the numbers of parameters as a table."""
    import pandas as pd

    columns = {
        title(here.model.name): {
            PART_NAMES.get(name, name): count for name, count in here.model.description.parameters.items()
        },
        "BERT-base": parameters(BERT_BASE),
        "the paper's base": parameters(PAPER_BASE),
    }
    parts = list(dict.fromkeys(part for counts in columns.values() for part in counts))
    table = pd.DataFrame(
        {name: [counts.get(part, 0) for part in parts] + [sum(counts.values())] for name, counts in columns.items()},
        index=[*parts, "together"],
    )
    st.table(table.map(lambda count: f"{count:,}" if count else "–"))
    sizes = here.model.description.sizes
    st.caption(
        plain(
            "In BERT and in the paper, an attention has 4 · (C² + C) and a feed-forward 2 · C · F + F + C. The number "
            "of heads changes nothing: the same matrices are split among them. "
            + ("" if sizes is None else f"{_maps_here(sizes)}{_shared_keys(sizes)}")
            + (SET_SINKS if here.model.description.has_sinks and not here.source.has_names else "")
        )
    )


def _maps_here(sizes: ModelSizes) -> str:
    """Say which maps the model has, after a sentence about others; "" if it has none that are known."""
    said = maps_in_words(sizes)
    return f"Here {said[0].lower()}{said[1:]}" if said else ""


def _shared_keys(sizes: ModelSizes) -> str:
    """Say how many heads of queries share how many heads of keys, as a sentence; "" if none do, or if that differs."""
    counts = {(size.heads, size.key_heads) for size in sizes.attentions}
    heads, shared = counts.pop() if len(counts) == 1 else (0, None)
    if shared is None or shared == heads:
        return ""
    which = counted(shared, "head")
    return f" {heads} heads of queries share {which} of keys and values here, so the maps to these are narrower."


def show_cost(here: ShownPart) -> None:
    """Show the cost of a forward pass at lengths from 8 to 131,072 tokens."""
    sizes = here.model.description.sizes
    if sizes is None:
        st.info(
            "This model multiplies in a way that is not known here, such as by experts, so its cost is not counted."
        )
        return
    from attnviz.figures.plots import lines

    tokens = len(here.tokens())
    by_length = [cost(sizes, length) for length in LENGTHS]
    st.markdown(
        f"Scores and weighted values grow with T², all else with T. At **{equal_at(sizes):,.0f} tokens** both cost the "
        f"same number of multiplications; in a longer text, scores and values cost more. Here T = {tokens}."
    )
    for place, (field, unit) in zip(st.columns(2), UNITS.items(), strict=True):
        by_part = {part.name: [getattr(parts[n], field) for parts in by_length] for n, part in enumerate(by_length[0])}
        series = _together(by_part)
        with place:
            plot(
                lines(
                    series, LENGTHS, palette(), title=unit, across="tokens T", is_logarithmic=True,
                    marked=tokens,
                ),
                f"check_{field}",
            )  # fmt: skip
    windowed = HIDDEN_TOO if here.has_narrow_window() else ""
    st.caption(
        f"{maps_in_words(sizes)} One pass in float32; logits, norms, activations and softmax are left out.{windowed}"
    )


def _together(series: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Combine equal lines under one name, so that none hides another, and mark those that grow with T²."""
    titled: dict[str, Sequence[int]] = {}
    for numbers in dict.fromkeys(map(tuple, series.values())):
        names = [name for name, line in series.items() if tuple(line) == numbers]
        each = ", each" if len(names) > 1 else ""
        power = " (T²)" if numbers[-1] == numbers[-2] * (LENGTHS[-1] // LENGTHS[-2]) ** 2 else ""
        titled[f"{' and '.join(names)}{each}{power}"] = numbers
    return titled
