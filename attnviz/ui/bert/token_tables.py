"""Embeddings and back: what model, embedding table and output layer compute of a text, and its tokens as tables.

The tables are the candidates for each token, and the tokens that the output layer favours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TypeVar

import streamlit as st
import torch
from torch import Tensor

from attnviz.bert.round_trip import (
    LOST,
    EmbeddingAndOutput,
    Neighbours,
    Operands,
    RoundTrip,
    TokenExtremes,
    drawn,
    favoured,
    neighbours,
    operands,
    there_and_back,
    tied,
)
from attnviz.bert.table import EmbeddingTable, table_of
from attnviz.formatting import number, percent
from attnviz.pretrained import BUILT_IN, PretrainedModel
from attnviz.pretrained.names import shown
from attnviz.runtime.cache import Sized
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.caches import result
from attnviz.ui.tokens.chips import shorten
from attnviz.ui.widgets import notice

V = TypeVar("V", bound=Sized)
RESULT_BYTES = 8 * 2**20
"""Size of the cache: a hundred texts of 512 tokens"""
LABEL = 18
"""Maximum characters of a token in a table"""
SOFTMAX = (
    "Why a softmax, if only the largest logit counts? The maximum has no gradient: a slightly larger logit changes "
    "nothing, or jumps. The softmax is a maximum that has one, so training can raise the right token."
)
ZEROS = "its row of the table is all zeros, so its logits are all 0"
SAME = "two rows of the same direction can't be told apart"
FAVOURED_TITLES = {"bias": ("largest bias", "smallest bias"), "length": ("longest rows", "shortest rows")}
"""Titles of the two tables"""
NO_HEAD = "No language head was found in {name}: the output layer is the table alone, without a bias."
NO_BIAS = "The language head of {name} has no bias."


@dataclass(frozen=True, slots=True, eq=False)
class RoundTripSetup:
    """A text, a model, and its embedding table and output layer."""

    model: PretrainedModel
    table: EmbeddingTable
    tokens: Tokens
    is_random: bool
    is_unit: bool
    """Whether the rows of the table have length 1"""
    seed: int
    scale: float

    def ends(self) -> EmbeddingAndOutput:
        """Return the embedding table and the output layer. This is quick: their rows are computed when read."""
        weight = self.table.weight
        return drawn(self.seed, *weight.shape) if self.is_random else tied(weight, is_unit=self.is_unit)

    def round_trip(self) -> RoundTrip:
        """Return the text's round trip."""
        ids = self.tokens.ids
        return self._cached(("back", ids, self.scale), partial(there_and_back, ids, self.ends(), scale=self.scale))

    def nearest(self, token: int) -> Neighbours:
        """Return the nearest neighbours of an id in the embedding table."""
        return self._cached(("near", token), partial(neighbours, token, self.ends()))

    @property
    def bias(self) -> Tensor | None:
        """(V,): the bias of the model's own output layer; None if it has none, or if the layers are random."""
        return None if self.is_random else self.model.output_bias

    def favoured(self) -> TokenExtremes:
        """Return which tokens the output layer favours before any text is read."""
        return self._cached(("favoured",), partial(favoured, self.ends().output, self.bias))

    def operands(self, token: int, candidates: tuple[int, ...]) -> Operands:
        """Return the vectors whose products are the logits of candidates for an id."""
        return self._cached(("operands", token, candidates), partial(operands, token, candidates, self.ends()))

    def _cached(self, name: Hashable, compute: Callable[[], V]) -> V:
        weights = ("random", self.seed) if self.is_random else ("tied", self.is_unit)
        key = self.model.name, self.model.trace_budget.number, weights, name
        return result("embeddings and back", RESULT_BYTES, key, compute)


def setup_of(model: PretrainedModel) -> RoundTripSetup | None:
    """Return the view's setup for a model; None if its text has no tokens."""
    text = state.get("text")
    tokens = model.tokenize(text)
    if not text.strip() or not len(tokens):
        return None
    is_random = state.get("back_weights") == "random"
    return RoundTripSetup(
        model, table_of(model), tokens, is_random, state.get("back_unit") and not is_random, state.get("seed"),
        float(state.get("back_scale")),
    )  # fmt: skip


def chosen_place(tokens: Tokens) -> int:
    """Return the position of the chosen token: the view's, or else the first that is not special."""
    place = state.get("q")
    if place is not None and place < len(tokens):
        return int(place)
    return next((index for index, special in enumerate(tokens.special) if not special), 0)


def show_html(html: str) -> None:
    """Show HTML in this part's style."""
    st.html(f'<div class="back">{html}</div>')


def named(label: str) -> str:
    """Return a token's label for HTML: escaped, and shortened if it is very long."""
    return escape(shorten(label, LABEL))


def value(x: float) -> str:
    """Format a logit, a cosine or an operand with three decimals."""
    return number(x, 3)


def show_tokens(setup: RoundTripSetup) -> None:
    """Show the candidates of all tokens."""
    notice(_tokens_notice(setup))
    show_html(_tokens_html(setup))


def _tokens_html(setup: RoundTripSetup) -> str:
    """Return the tokens with their candidates as a table."""
    back, labels = setup.round_trip(), setup.table.labels
    probabilities = back.probabilities.tolist()
    largest = max(max(row) for row in probabilities) or 1.0
    count = len(probabilities[0])
    head = "".join(f"<th>{place}.</th>" for place in range(2, count + 1))
    rows = []
    for place, (label, id_, returns, margin) in enumerate(
        zip(setup.tokens.labels, back.ids, back.returns.tolist(), back.margin.tolist(), strict=True)
    ):
        cells = "".join(
            f'<td class="tint" style="--part:{share / largest:.3f}">{named(labels[token])} '
            f'<span class="p">{percent(share, 1, exactly=True)}</span></td>'
            for token, share in zip(back.tokens[place].tolist(), probabilities[place], strict=True)
        )
        mark = '<td class="yes" aria-label="yes">✓</td>' if returns else '<td class="no" aria-label="no">✗</td>'
        rows.append(
            f'<tr><td class="n">{place}</td><td>{named(label)}</td><td class="n">{id_:,}</td>{mark}'
            f'<td class="n">{value(margin)}</td>{cells}</tr>'
        )
    return (
        '<div class="back-rows" data-item="candidates" tabindex="0" role="region" '
        'aria-label="Candidates of each token"><table>'
        '<thead><tr><th class="n">T</th><th>token</th><th class="n">id</th><th>back</th><th class="n">margin</th>'
        f"<th>likeliest</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<div class="p">back: whether the token comes back · margin: the largest logit less the second · colour: '
        f"probability, from 0 to {percent(largest, 1, exactly=True)}</div>"
    )


def _tokens_notice(setup: RoundTripSetup) -> str:
    vocabulary = len(setup.table.weight)
    if setup.is_random:
        return (
            f"Junk, as it should be: the output layer was drawn by itself (seed {setup.seed}), so none of its "
            f"{vocabulary:,} rows belongs to the embedding of any token, and a token comes back with a chance of 1 in "
            f"{vocabulary:,}. {SOFTMAX}"
        )
    if setup.is_unit:
        return f"{_cosines(setup)} {_sharpness(setup)}"
    lost = (~setup.round_trip().returns).nonzero().flatten().tolist()
    if lost:
        return _lost(setup, lost[0])
    some = " Not all would: try “conversions”, “asteroids” or [MASK]." if setup.model.name == BUILT_IN else ""
    return (
        "The output layer is the table itself: an embedding is compared with every row, and has the largest product "
        f"with its own.{some} {_sharpness(setup)}"
    )


def _cosines(setup: RoundTripSetup) -> str:
    """Say which tokens come back with rows of length 1: all, unless another row has the same direction."""
    back = setup.round_trip()
    lost = (~back.returns).nonzero().flatten().tolist()
    if not lost:
        return "Logits are cosines: 1 for a token with itself, less with all others. So every token comes back."
    label = setup.table.labels[back.ids[lost[0]]]
    why = f"“{label}” does not come back: {ZEROS}" if _is_zero(setup, lost[0]) else SAME
    return f"Logits are cosines: 1 for a token with itself, and not more with any other. But {why}."


def _sharpness(setup: RoundTripSetup) -> str:
    """Say how close the softmax is to a maximum."""
    if setup.scale == 1:
        return (
            f"The probabilities are small, because {len(setup.table.weight):,} similar logits share a total "
            "probability of 1: with logits times 10 or 100, the softmax is nearer to the maximum."
        )
    return (
        f"Logits times {setup.scale:g} have the same order, so the same ids come back; but the softmax is nearer "
        "to the maximum."
    )


def _lost(setup: RoundTripSetup, place: int) -> str:
    """Say why a token does not come back. Only a row that is longer, or equal, can have as large a product."""
    back, table, is_built_in = setup.round_trip(), setup.table, setup.model.name == BUILT_IN
    label = table.labels[back.ids[place]]
    if _is_zero(setup, place):
        return f"“{label}” does not come back: {ZEROS}. Nor does it with rows of length 1."
    other = int(back.tokens[place, 0])
    own_length, longer_length = (
        value(torch.linalg.vector_norm(table.weight[token]).item()) for token in (back.ids[place], other)
    )
    length = (
        "of nearly the same length"
        if own_length == longer_length
        else f"longer ({longer_length} instead of {own_length})"
    )
    count = f" Of all {len(table.weight):,} tokens {LOST} do not." if is_built_in else ""
    returns_at_unit_length = is_built_in or bool(replace(setup, is_unit=True).round_trip().returns[place])
    unit = (
        "With rows of length 1 it comes back"
        if returns_at_unit_length
        else f"Nor does it with rows of length 1: {SAME}"
    )
    return (
        f"“{label}” does not come back. Its logit is {value(back.input_logits[place].item())}, that of "
        f"“{table.labels[other]}” {value(back.logits[place, 0].item())}: a row of nearly the same direction, and "
        f"{length}.{count} {unit}."
    )


def _is_zero(setup: RoundTripSetup, place: int) -> bool:
    """Whether a token's embedding is 0, as the padding token's is in some models."""
    return not setup.table.weight[setup.round_trip().ids[place]].any()


def show_favoured(setup: RoundTripSetup) -> None:
    """Show the tokens with the largest and the smallest biases, or with the longest and the shortest rows."""
    favoured = setup.favoured()
    notice(_favoured_notice(setup, favoured))
    if not favoured.differ:
        return
    most, least = FAVOURED_TITLES[favoured.by]
    left, right = st.columns(2)
    with left:
        show_html(_favoured_html(setup, favoured, favoured.most, favoured.largest, most))
    with right:
        show_html(_favoured_html(setup, favoured, favoured.least, favoured.smallest, least))


def _favoured_html(setup: RoundTripSetup, favoured: TokenExtremes, ids: Tensor, numbers: Tensor, title: str) -> str:
    """Return tokens with their numbers as a table."""
    bottom, top = float(favoured.smallest[0]), float(favoured.largest[0])
    is_bias = favoured.by == "bias"
    chances = [
        f'<td class="n">{percent(probability, 1, exactly=True)}</td>'
        for probability in favoured.probabilities(numbers).tolist()
    ]
    rows = "".join(
        f'<tr><td class="n">{rank}</td>'
        f'<td class="tint" style="--part:{(number - bottom) / (top - bottom):.3f}">{named(label_in(setup, token))}</td>'
        f'<td class="n">{value(number)}</td>{chance if is_bias else ""}</tr>'
        for rank, (token, number, chance) in enumerate(
            zip(ids.tolist(), numbers.tolist(), chances, strict=True), start=1
        )
    )
    columns = '<th class="n">b</th><th class="n">softmax(b)</th>' if is_bias else '<th class="n">length of w</th>'
    return (
        f'<table data-by="{title}"><thead><tr><th class="n">#</th><th>{title}</th>{columns}</tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )


def label_in(setup: RoundTripSetup, token: int) -> str:
    """Return a token's label, or its id: an output layer may have more rows than the table."""
    labels = setup.table.labels
    return labels[token] if token < len(labels) else f"id {token}"


def _favoured_notice(setup: RoundTripSetup, favoured: TokenExtremes) -> str:
    name = shown(setup.model.name.strip())
    if favoured.by == "bias":
        adds = f"The language head of {name} adds a bias b to each logit: x · w + b."
        if not favoured.differ:
            return f"{adds} It is {value(float(favoured.largest[0]))} for every token, so it favours none."
        best, least = (label_in(setup, int(ids[0])) for ids in (favoured.most, favoured.least))
        lowest = f"“{least}”" if favoured.tied == 1 else f"{favoured.tied:,} tokens, “{least}” among them, equally"
        return (
            f"{adds} Before any text is read, with zeros in the place of x, the logits are b, and “{best}” is favoured "
            f"most, {lowest} least. The way there and back above leaves b out."
        )
    vocabulary = len(setup.table.weight)
    even = f"With zeros in the place of x every token has a probability of 1 in {vocabulary:,}."
    if setup.is_random:
        return (
            f"The output layer was drawn without a bias. {even} Of two rows w at the same acute angle to x, the longer "
            "one has the larger logit; here chance has made the lengths."
        )
    lacks = (NO_HEAD if setup.model.language_head is None else NO_BIAS).format(name=name)
    if not favoured.differ:
        return f"{lacks} {even} Rows of length 1 favour no token either."
    shortest = label_in(setup, int(favoured.least[0]))
    return (
        f"{lacks} {even} In its place stand the lengths of the rows: of two rows w at the same acute angle to x, the "
        f"longer one has the larger logit. “{shortest}” has the shortest row."
    )
