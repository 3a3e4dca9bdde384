"""Embeddings and back: the model, the tokens, the embedding table and output layer, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from torch import Tensor

from attnviz.bert.round_trip import (
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
from attnviz.pretrained import PretrainedModel
from attnviz.runtime.cache import Sized
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.caches import result

V = TypeVar("V", bound=Sized)
RESULT_BYTES = 8 * 2**20
"""Size of the cache: a hundred texts of 512 tokens"""


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
