"""The settings of trainable models: token models, from token ids to logits, and a single linear layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from attnviz.toy.config import Architecture
from attnviz.trace.model import Activation, Kind


@dataclass(frozen=True, slots=True)
class TokenConfig:
    """The shape of a token model. Blocks are pre-norm, as in GPT-2, and positions are learned."""

    vocabulary: int
    """V, the number of token ids that it reads"""
    block_size: int
    """The longest sequence"""
    architecture: Architecture = "decoder"
    layers: int = 4
    """L; 0 means only embeddings and the output layer"""
    heads: int = 4
    """H"""
    width: int = 128
    """C"""
    feed_forward: int | None = None
    """F; 4 · C if None; 0 leaves the feed-forward out"""
    residual: bool = True
    """Whether the output of attention and feed-forward is added to their input"""
    norm: bool = True
    """Whether there are norms"""
    activation: Activation = "gelu"
    dropout: float = 0.0
    bias: bool = True
    """Whether linear maps and norms inside the blocks add a bias"""
    outputs: int | None = None
    """The number of logits at each position; V if None"""
    padding: int | None = None
    """The id of padding tokens; an encoder's padding is hidden from attention"""

    def __post_init__(self) -> None:
        for name in ("vocabulary", "block_size", "heads", "width"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.layers < 0 or (self.feed_forward is not None and self.feed_forward < 0):
            raise ValueError(f"layers {self.layers} and feed_forward {self.feed_forward} can't be negative")
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} can't be divided into {self.heads} heads")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; it must be at least 0 and below 1")
        if self.architecture == "both" and (self.layers < 1 or not self.is_complete):
            raise ValueError("an encoder with a decoder has at least one layer each, with all of its parts")

    @property
    def is_complete(self) -> bool:
        """Whether its blocks have all parts of a transformer block."""
        return self.residual and self.norm and self.feed_forward != 0

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention that its layers have."""
        return ("encoder", "decoder", "cross") if self.architecture == "both" else (self.architecture,)

    @property
    def feed_forward_width(self) -> int:
        """F; 0 if there is no feed-forward."""
        return 4 * self.width if self.feed_forward is None else self.feed_forward

    @property
    def logit_count(self) -> int:
        """The number of logits at each position."""
        return self.vocabulary if self.outputs is None else self.outputs


@dataclass(frozen=True, slots=True)
class GRUConfig:
    """The shape of a recurrent model, `GRUModel`."""

    vocabulary: int
    block_size: int
    width: int = 128
    layers: int = 1


@dataclass(frozen=True, slots=True)
class BigramConfig:
    """The shape of a `BigramModel`."""

    vocabulary: int


ModelConfig = TokenConfig | GRUConfig | BigramConfig
"""The shape of a token model"""


def longest_context(config: ModelConfig) -> int:
    """Return the most tokens from which a model of this shape predicts; 1 for a bigram model."""
    return 1 if isinstance(config, BigramConfig) else config.block_size


def has_attention(config: AnyConfig) -> TypeGuard[TokenConfig]:
    """Whether a model of this shape has heads."""
    return isinstance(config, TokenConfig) and config.layers > 0


@dataclass(frozen=True, slots=True)
class LinearConfig:
    """The shape of a linear layer (torch's `nn.Linear`) that classifies given vectors."""

    features: int
    """C, the numbers of a vector"""
    classes: int

    def __post_init__(self) -> None:
        for name in ("features", "classes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")


AnyConfig = ModelConfig | LinearConfig
