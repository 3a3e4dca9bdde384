"""What a figure of a step is drawn from: one head of one layer, with its tokens. Matrices are computed when drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from attnviz.attention import AttentionSteps
from attnviz.trace.layer import LayerTrace


@dataclass(frozen=True, eq=False)
class Walk:
    """One head's way from the embeddings to the output.

    The cached properties are computed once, from immutable values, so a walk may be shared between sessions.
    """

    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    layer: LayerTrace
    head: int
    parts: tuple[Tensor, Tensor] | None = None
    """Token and position embeddings, (T, C) each, where they are known apart; they add up to the input"""

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
