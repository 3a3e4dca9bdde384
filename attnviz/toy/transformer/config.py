"""The toy transformer's settings. Independent of torch, so that pages can import it before torch is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from attnviz.toy.config import MAX_HEADS, MAX_WIDTH, MIN_WIDTH, Positions
from attnviz.trace.model import Activation, Kind

Architecture = Literal["encoder", "decoder", "both"]
"""encoder: every token looks at every token (BERT); decoder: at itself and those before it (GPT); both: an encoder of
one text, and a decoder of another that also looks at the encoder's output (the paper)"""
NormPlace = Literal["post", "pre"]
"""post: after each residual sum, as in the paper and BERT; pre: before attention and feed-forward, as in GPT-2"""

ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
NORM_PLACES: tuple[NormPlace, ...] = get_args(NormPlace)
MAX_LAYERS = 12
MAX_TOKENS = 128
"""Of each text: the logits have a column for each of its tokens that differ"""
FACTOR = 4
"""F / C unless a view sets F, as in the paper (section 3.3)"""
MAX_FEED_FORWARD = FACTOR * MAX_WIDTH
"""The largest F"""
EXAMPLE_TARGET = "This is an example of what the decoder has written so far."
"""What the decoder reads beside an encoder if a view gives no second text"""


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """The settings. A field changes only the quantities that depend on it."""

    architecture: Architecture = "encoder"
    depth: int = 2
    """L: blocks of the encoder or the decoder alone; of a model with both, the encoder's"""
    heads: int = 2
    width: int = 32
    """C"""
    activation: Activation = "relu"
    norm: NormPlace = "post"
    positions: Positions = "sinusoidal"
    bias: bool = True
    """Whether linear maps and norms add one"""
    seed: int = 0
    decoder_depth: int | None = None
    """Blocks of the decoder of a model with both; None: as many as the encoder has"""
    feed_forward: int | None = None
    """F of every block; None: 4 · C"""

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> TransformerConfig:
        """Return the settings of a view; `get` returns a setting by its link key.

        A number of heads by which the width can't be divided is replaced by `fitting_heads`.

        Raises:
            ValueError: a number is out of range.
        """
        given = {one.name: get(one.name) for one in fields(cls)}
        return cls(**{**given, "heads": fitting_heads(given["heads"], given["width"])})

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("layers", self.depth, 1, MAX_LAYERS),
            ("layers of the decoder", self.decoder_blocks, 1, MAX_LAYERS),
            ("heads", self.heads, 1, MAX_HEADS),
            ("numbers a token", self.width, MIN_WIDTH, MAX_WIDTH),
            ("hidden numbers of a feed-forward", self.hidden_width, 1, MAX_FEED_FORWARD),
        ):
            if not low <= value <= high:
                raise ValueError(f"{value} {name}: the toy transformer has {low} to {high}")
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} can't be divided into {self.heads} heads")

    @property
    def layers(self) -> dict[Kind, tuple[int, int]]:
        """The number of layers and of heads, by kind of attention."""
        if self.architecture != "both":
            return {self.architecture: (self.depth, self.heads)}
        kinds: tuple[Kind, ...] = ("decoder", "cross")
        return {"encoder": (self.depth, self.heads), **dict.fromkeys(kinds, (self.decoder_blocks, self.heads))}

    @property
    def decoder_blocks(self) -> int:
        """The blocks of the decoder of a model with both."""
        return self.depth if self.decoder_depth is None else self.decoder_depth

    @property
    def hidden_width(self) -> int:
        """F, the hidden width of every feed-forward."""
        return default_hidden_width(self.width) if self.feed_forward is None else self.feed_forward


def default_hidden_width(width: int) -> int:
    """Return the F of a model of this width C, unless a view sets another one."""
    return FACTOR * width


def fitting_heads(heads: int, width: int) -> int:
    """Return the largest number of heads, up to this one, into which the width can be divided."""
    return next(count for count in range(min(heads, width), 0, -1) if width % count == 0)
