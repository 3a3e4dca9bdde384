"""One attention of a model with the steps around it, up to the next attention."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnviz.reprs import ShortRepr

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.model import Activation

NORMS = ("input_norm", "attention_norm", "feed_forward_norm", "block_output", "final_norm", "transform_norm")
"""The results of LayerNorms in `BlockPart.matrices`; each has a weight `gamma_<name>` and may have a bias
`beta_<name>`, (C,). `block_output` is there in a post-norm block only: in a pre-norm one it is the residual sum"""

MATRICES = (
    "input_norm", "attention_residual", "attention_norm", "feed_forward_norm", "W_1", "b_1", "feed_forward_inner",
    "feed_forward_hidden", "W_2", "b_2", "feed_forward_output", "feed_forward_residual", "block_output", "final_norm",
    "W_transform", "b_transform", "transform_inner", "transform_hidden", "transform_norm",
    "W_vocabulary", "b_vocabulary", "logits", "logits_and_rest", "probabilities",
    *(f"{letter}_{norm}" for norm in NORMS for letter in ("gamma", "beta")),
)  # fmt: skip
"""The names in `BlockPart.matrices`, in the order of computation"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockPart(ShortRepr):
    """An attention's surroundings in its block: what it reads, and what follows it up to the next attention."""

    place: str
    """Where it is in the model, such as "encoder block 2" """
    x: Tensor
    """(Tq, C): the stream of residuals that enters, before any norm"""
    matrices: Mapping[str, Tensor]
    """By the names in `MATRICES`, as far as the model has them and they are known"""
    eps: Mapping[str, float] = field(default_factory=dict)
    """What each norm adds to the variance, by the names in `NORMS`"""
    activation: Activation | None = None
    """The activation of the feed-forward; None if there is none or it is another"""
    head_activation: Activation | None = None
    """That of a language head's transform"""
    vocabulary: tuple[str, ...] = ()
    """What the columns of the logits stand for; empty if this part has none"""
    rest: int = 0
    """How many tokens of the vocabulary have no column of their own: the last column of `logits_and_rest` and of
    `probabilities` stands for all of them"""
    focus: int = 0
    """The first row in focus: its likeliest tokens come first"""
    has_learned: bool = False
    """Whether its weights come from training"""

    @property
    def settings(self) -> Hashable:
        """All that is the same for every text of this length and vocabulary."""
        shapes = tuple((name, one.shape) for name, one in self.matrices.items())
        return (
            shapes,
            tuple(self.eps.items()),
            self.activation,
            self.head_activation,
            self.vocabulary,
            self.rest,
            self.has_learned,
        )

    def _summary(self) -> Iterator[str]:
        yield from (self.place, *(name for name in MATRICES if name in self.matrices))
