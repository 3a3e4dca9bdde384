"""One head with its tokens, the input of figures, explanations and exports. Matrices are computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from torch import Tensor

from attnviz.attention import AttentionSteps
from attnviz.reprs import NotebookRepr
from attnviz.tokens import Tokens
from attnviz.trace.context import AttentionContext
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind, RowGuesses


@dataclass(frozen=True, slots=True)
class HeadSummary:
    """Numbers of one head's steps."""

    cells: int
    """Queries times keys; if this is 0, so are the other numbers"""
    largest: int
    """The cell of the score with the largest magnitude, counted row by row"""
    largest_score: float
    """That magnitude"""
    largest_scaled: float
    """The largest magnitude of a scaled score"""
    hidden: int
    """Masked cells"""
    strongest: int
    """The cell of the largest weight, counted row by row"""
    strongest_weight: float
    """That weight"""
    row_maxima: tuple[float, ...]
    """The largest weight of each row"""


def summaries(steps: AttentionSteps, *, but_diagonal: bool) -> list[HeadSummary]:
    """Return the summary of each head.

    Args:
        steps: the steps of all heads, (H, Tq, Tk), or of one, (Tq, Tk).
        but_diagonal: whether `strongest` ignores the diagonal, by counting its weights as -1.
    """
    matrices = steps.weights, steps.scores, steps.hidden
    weights, scores, hides = (matrix[None] if matrix.ndim == 2 else matrix for matrix in matrices)
    heads, queries, keys = weights.shape
    if not queries * keys:
        return [HeadSummary(0, 0, 0.0, 0.0, 0, 0, 0.0, ())] * heads
    sizes = scores.abs().flatten(1)
    largest = sizes.amax(1)
    scaled = (largest * steps.scale).abs()  # the largest magnitude of the scaled scores
    others = weights
    if but_diagonal:
        others = others.clone()
        others.diagonal(dim1=1, dim2=2).fill_(-1)
    others = others.flatten(1)
    hidden, maxima = hides.sum((1, 2)), weights.amax(2)
    columns = sizes.argmax(1), largest, scaled, hidden, others.argmax(1), others.amax(1), maxima
    return [
        HeadSummary(queries * keys, cell, before, after, count, strongest, weight, tuple(rows))
        for cell, before, after, count, strongest, weight, rows in zip(*map(Tensor.tolist, columns), strict=True)
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Walk(NotebookRepr):
    """One head's computation from the embeddings to the output, with its tokens.

    Its fields are immutable and the cached properties are computed from them, so sessions can share a walk.
    """

    query_tokens: Tokens
    """The tokens on the rows"""
    key_tokens: Tokens
    """The tokens on the columns; the same object if rows and columns are the same text"""
    layer: LayerTrace
    """The attention of the layer"""
    head: int
    """The head's number in the layer"""
    parts: tuple[Tensor, Tensor] | None = None
    """Token and position embeddings, (T, C) each, whose sum is the input; None if they are not known separately"""
    has_positions: bool | None = None
    """Whether the embeddings of a first layer include positions; None if that is not known"""
    name: str = ""
    """For titles, such as "MiniLM (a small BERT) · layer 3 · head 5" """
    link: str = ""
    """The address of this view in the app; "" if not known"""
    layer_index: int = 0
    """The layer's number in the model"""
    number: int | None = None
    """In a walk through a block: the number of its attention among all those of the model, in order of computation"""
    model: str = ""
    """The model's name; "" if not known"""
    kind: Kind = "encoder"
    """The kind of attention"""
    averages: Mapping[str, Tensor] = field(default_factory=dict)
    """The matrices of `attnviz.toy.block.average_past` by name: the means of the embeddings over the past, and the
    weights behind them; empty unless the walk goes from averages to attention"""
    block: AttentionContext | None = None
    """The steps around the attention, if the walk goes through them too"""
    known_summary: HeadSummary | None = None
    """The summary, if it has been computed already"""
    guess: Callable[[], tuple[RowGuesses, ...]] = field(default=tuple, repr=False)
    """Computes the model's guesses for the rows (`Trace.guesses`)"""
    guess_cells: int = field(default=0, repr=False)
    """How many logits that takes"""
    head_note: str = field(default="", repr=False)
    """What is said of the model's language head beside its numbers (`Vocabulary.note`)"""

    @property
    def query_labels(self) -> tuple[str, ...]:
        """The labels of the rows."""
        return self.query_tokens.labels

    @property
    def key_labels(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return self.key_tokens.labels

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels by axis, "query" and "key"."""
        return {"query": self.query_labels, "key": self.key_labels}

    @cached_property
    def steps(self) -> AttentionSteps:
        """Every step of this head."""
        return self.layer.head(self.head)

    @cached_property
    def summary(self) -> HeadSummary:
        """The numbers of this head that texts quote; the strongest weight is one between different tokens."""
        return self.known_summary or self._summaries(self.steps)[0]

    def of_heads(self, heads: Sequence[int], of_all: AttentionSteps | None = None) -> list[Walk]:
        """Return these heads of the layer, with their summaries.

        Args:
            heads: the heads.
            of_all: the steps of all heads, if `LayerTrace.all_heads` has computed them already.

        Raises:
            IndexError: the layer has no such head.
        """
        for head in heads:
            self.layer.mask_of(head)  # raises IndexError
        numbers = self._summaries(self.layer.all_heads() if of_all is None else of_all)
        return [replace(self, head=head, known_summary=numbers[head]) for head in heads]

    def _summaries(self, steps: AttentionSteps) -> list[HeadSummary]:
        to_itself = self.layer.query_input is self.layer.key_input and self.query_labels == self.key_labels
        return summaries(steps, but_diagonal=to_itself)

    @cached_property
    def concat(self) -> Tensor:
        """The concatenated head outputs of the layer, (Tq, H·D)."""
        return self.layer.concat()
