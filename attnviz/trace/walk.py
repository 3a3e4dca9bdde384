"""One head with its tokens: what figures, explanations and exports are made of. Matrices are computed when drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from attnviz.attention import AttentionSteps
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace


@dataclass(frozen=True, eq=False)
class Walk:
    """One head's way from the embeddings to the output.

    The cached properties are computed once, from immutable values, so a walk may be shared between sessions.
    """

    query_tokens: Tokens
    """The tokens on the rows"""
    key_tokens: Tokens
    """The tokens on the columns; the same object where both are one text"""
    layer: LayerTrace
    head: int
    parts: tuple[Tensor, Tensor] | None = None
    """Token and position embeddings, (T, C) each, where they are known apart; they add up to the input"""
    name: str = ""
    """What is shown, in words, such as "minilm · layer 3 · head 5" """
    link: str = ""
    """The address of this view in the app; "" where none is known"""

    @property
    def query_labels(self) -> tuple[str, ...]:
        """What the rows are called."""
        return self.query_tokens.labels

    @property
    def key_labels(self) -> tuple[str, ...]:
        """What the columns are called."""
        return self.key_tokens.labels

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The tokens by the kind of axis on which they stand."""
        return {"query": self.query_labels, "key": self.key_labels}

    @cached_property
    def steps(self) -> AttentionSteps:
        """This head's steps."""
        return self.layer.head(self.head)

    @cached_property
    def concat(self) -> Tensor:
        """All heads of the layer side by side, (Tq, H·D)."""
        return self.layer.concat()
