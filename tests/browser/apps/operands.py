"""Seeded operands of a layer's heads: what a page shows, as a document, and what torch computes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from attnviz.attention import Mask, Masked
from attnviz.document import Document, document_of_layer, write
from attnviz.trace.buckets import Buckets
from attnviz.trace.layer import LayerTrace, Projection
from attnviz.trace.position_bias import PositionBias, PositionTerms
from attnviz.trace.walk import Walk
from tests.toy import tokens_of

HOSTILE = "<img src=x onerror=alert(1)>"
WIDTH = 6
LAYER = 3
MAX_DISTANCE = 10


def labels(tokens: int) -> list[str]:
    """Tokens, some of them unkind."""
    return ["The", "animal", HOSTILE, "\u202etfel", "'s", " ", "a" * 60, "🙂", "##ing", "[SEP]", "the", "."][
        :tokens
    ] + [f"w{n}" for n in range(12, tokens)]


FILLED: dict[str, Masked] = {"-1e10": "scaled", "-1e10 before": "scores"}


@dataclass(frozen=True)
class Operands:
    """One head: everything follows from the seed. The embeddings are those of every head."""

    tokens: int = 12
    size: int = 8
    seed: int = 0
    mask: str = "none"
    cap: float | None = None
    sink: float | None = None
    """The score of the sink of head 0; that of head n is n more"""
    buckets: int | None = None
    """How many buckets the position bias has, on both sides; None if there is none. Each head has its own numbers"""
    span: int | None = None
    """The most that a relative position is from 0, if the position bias has DeBERTa's terms; None if it has none"""

    def drawn(self, stream: int, *shape: int) -> np.ndarray:
        """Draw float32 numbers that depend on the seed and the stream's number only."""
        return np.random.default_rng((self.seed, stream)).normal(size=shape).astype(np.float32)

    @cached_property
    def embeddings(self) -> np.ndarray:
        return np.random.default_rng(0).normal(size=(self.tokens, WIDTH)).astype(np.float32)

    @cached_property
    def weight(self) -> np.ndarray:
        return self.drawn(1, WIDTH, self.size)

    @cached_property
    def bias(self) -> np.ndarray:
        return self.drawn(2, self.size)

    @cached_property
    def query(self) -> np.ndarray:
        return self.embeddings @ self.weight + self.bias

    @cached_property
    def key_weight(self) -> np.ndarray:
        return self.drawn(3, WIDTH, self.size)

    @cached_property
    def key(self) -> np.ndarray:
        return self.embeddings @ self.key_weight

    @cached_property
    def value_weight(self) -> np.ndarray:
        return self.drawn(4, WIDTH, self.size)

    @cached_property
    def value(self) -> np.ndarray:
        return self.embeddings @ self.value_weight

    @cached_property
    def added(self) -> np.ndarray:
        """What the mask adds to the scaled scores."""
        n = self.tokens
        if self.mask == "causal":
            return np.triu(np.full((n, n), -np.inf, np.float32), 1)
        added = np.zeros((n, n), np.float32)
        if self.mask == "array":
            added[:, 0], added[1, 3], added[5, :] = -np.inf, 0.35, -np.inf
        if self.mask in FILLED:
            added[:, 0], added[5, :] = -np.inf, -np.inf
        return added

    @property
    def position_bias(self) -> np.ndarray:
        """What is added to the capped scores, worked out bucket by bucket: half of a side's have one distance each."""
        n, count = self.tokens, self.buckets or 4
        table = self.drawn(5, count)
        sides = np.array_split(table, 2)  # of keys before the query, and after it
        single = count // 4

        def number(q: int, k: int) -> float:
            bucket, distance = abs(k - q), abs(k - q)
            if distance >= single:
                widened = math.log(distance / single) / math.log(MAX_DISTANCE / single) * (count // 2 - single)
                bucket = min(single + int(widened + 1e-6), count // 2 - 1)
            return float(sides[int(k > q)][bucket])

        return np.array([[number(q, k) for k in range(n)] for q in range(n)], np.float32)

    @cached_property
    def position_key(self) -> np.ndarray:
        return self.drawn(6, 2 * (self.span or 0) + 1, self.size)

    @cached_property
    def position_query(self) -> np.ndarray:
        return self.drawn(7, 2 * (self.span or 0) + 1, self.size)

    @cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Content to position and position to content, worked out cell by cell in double precision."""
        n, span = self.tokens, self.span or 0
        query, key, of_key, of_query = (
            x.astype(float) for x in (self.query, self.key, self.position_key, self.position_query)
        )
        rows = [[min(max(q - k, -span), span) + span for k in range(n)] for q in range(n)]
        to_position = [[query[q] @ of_key[rows[q][k]] for k in range(n)] for q in range(n)]
        to_content = [[key[k] @ of_query[rows[q][k]] for k in range(n)] for q in range(n)]
        return np.array(to_position) / self.size**0.5, np.array(to_content) / self.size**0.5

    @property
    def shown_mask(self) -> Mask:
        """The mask as a head has it."""
        cells = torch.from_numpy(self.added)
        if self.mask not in FILLED:
            return Mask.recognise(cells)
        return Mask("other", ~cells.isneginf(), -1e10, FILLED[self.mask])


def oracle(given: Operands) -> dict[str, np.ndarray]:
    """Work out every step with torch, from the operands alone, in double precision."""
    query, key, value = (torch.from_numpy(x).double() for x in (given.query, given.key, given.value))
    scores = query @ key.T
    scaled = scores / given.size**0.5

    def under_cap(x: torch.Tensor) -> torch.Tensor:
        return x if given.cap is None else given.cap * torch.tanh(x / given.cap)

    capped = under_cap(scaled)
    biased = capped if given.buckets is None else capped + torch.from_numpy(given.position_bias)
    if given.span is not None:
        biased = biased + torch.from_numpy(sum(given.terms))
    masked, hidden = biased + torch.from_numpy(given.added), torch.from_numpy(given.added).isneginf()
    if given.mask == "-1e10":
        masked = biased.masked_fill(hidden, -1e10)
    if given.mask == "-1e10 before" and given.buckets is None:
        masked = under_cap(scores.masked_fill(hidden, -1e10) / given.size**0.5)
    sinks = torch.full((given.tokens, 1), -math.inf if given.sink is None else given.sink + given.seed).double()
    weights, sink = torch.softmax(torch.cat([masked, sinks], -1), -1).nan_to_num(0.0).split([given.tokens, 1], -1)
    steps = {
        "scores": scores, "scaled": scaled, "capped": capped, "biased": biased, "masked": masked, "weights": weights,
        "sink": sink, "head_outputs": weights @ value,
    }  # fmt: skip
    return {name: step.numpy() for name, step in steps.items()}


def document(given: Operands, heads: int) -> bytes:
    """Return the document of a layer whose heads have the seeds 0, 1, ...; its tokens are `labels`."""
    walk = Walk(*[tokens_of(range(given.tokens))] * 2, layer_of(given, heads), 0, layer_index=LAYER)
    made = document_of_layer(walk, thumbnails=True)
    axis = replace(made.header.query, labels=tuple(labels(given.tokens)))  # not as attnviz would make them printable
    return write(Document(replace(made.header, query=axis, key=axis), made.arrays))


def layer_of(given: Operands, heads: int) -> LayerTrace:
    """Return the trace of a layer whose heads have the seeds 0, 1, ..."""
    every = [replace(given, seed=seed) for seed in range(heads)]

    def stacked(name: str) -> torch.Tensor:
        return torch.from_numpy(np.stack([getattr(one, name) for one in every]))

    x = torch.from_numpy(given.embeddings)
    projections = {
        "query": Projection("linear", stacked("weight"), stacked("bias")),
        "key": Projection("linear", stacked("key_weight")),
        "value": Projection("linear", stacked("value_weight")),
    }
    buckets = None if given.buckets is None else Buckets(given.buckets, MAX_DISTANCE, both_sides=True)
    bias = None if buckets is None else PositionBias(stacked("position_bias"), buckets)
    query, key, n = stacked("query"), stacked("key"), given.tokens
    if given.span is not None:
        relative = torch.arange(n)[:, None] - torch.arange(n)
        tables = stacked("position_key"), stacked("position_query")
        bias = PositionBias(
            None,
            terms=PositionTerms(query, key, given.size**-0.5, relative, -given.span, *tables),
        )
    return LayerTrace(
        query, key, stacked("value"), float(given.size**-0.5),
        given.shown_mask, x, x, projections, cap=given.cap,
        sinks=None if given.sink is None else torch.arange(heads).float()[:, None, None] + given.sink,
        position_bias=bias,
    )  # fmt: skip
