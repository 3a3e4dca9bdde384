"""What every source of attention offers: a model that reads a text, runs, and says what it is. No torch here."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from attnviz.tokens import Tokens

if TYPE_CHECKING:
    from attnviz.trace.whole import Trace

Kind = Literal["encoder", "decoder", "cross"]
"""encoder: self-attention that sees both ways; decoder: causal self-attention; cross: decoder to encoder"""

ProjectionKind = Literal["identity", "linear", "positions"]
"""How query, key and value come from the input X: as it is, by X · W, or by U · X, which mixes positions"""


@dataclass(frozen=True, slots=True)
class Description:
    """What a model is, in numbers."""

    name: str
    layers: dict[Kind, tuple[int, int]]
    """Layers and heads of each kind of attention that the model has"""
    width: int
    """C"""
    head_size: int
    """D"""
    feed_forward: int | None = None
    """F; None where the model has no feed-forward, or it is not known"""
    vocabulary: int | None = None
    """V; None where any number is an id"""
    parameters: dict[str, int] = field(default_factory=dict)
    """How many numbers each part holds: embeddings, attention, ..."""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Quantities that the model can't show, each with the reason as a sentence"""


class Model(Protocol):
    """A model of any source. Nothing on it changes after it is made, so all sessions may share it."""

    @property
    def name(self) -> str:
        """What the model is called."""

    @property
    def description(self) -> Description:
        """What the model is."""

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Return what the model reads of a text, or two: its tokens, and the decoder's where it has an encoder too."""

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return what tells the traces of this model apart: equal keys, equal numbers."""

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the model on a text.

        Raises:
            attnviz.tokens.NoTokensError: the tokenizer makes no token of the text.
        """
