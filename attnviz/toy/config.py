"""The toy block's settings. Independent of torch, so that pages can import it before torch is loaded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from attnviz.trace.model import ProjectionKind

WIDTH = 16
"""C: small enough to show every number of an embedding on the screen."""
MAX_HEADS, MAX_HEAD_SIZE, MAX_TOKENS = 8, 64, 512
MAX_AVERAGED = 64
"""The most tokens whose embeddings are averaged in a Python loop, which is slow."""

Positions = Literal["none", "sinusoidal", "lab", "random"]
"""As `attnviz.toy.positions` makes them; random: as a learned table is before training"""


@dataclass(frozen=True, slots=True)
class ToyConfig:
    """The block's settings. A field changes only the quantities that depend on it."""

    heads: int = 2
    head_size: int = 8
    qkv: ProjectionKind = "linear"
    positions: Positions = "sinusoidal"
    scale: str = "sqrt_d"
    """sqrt_d: 1/√D, sqrt_c: 1/√C, off: 1, or a number such as "0.125\""""
    causal: bool = False
    projection: bool = True
    seed: int = 0

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> ToyConfig:
        """Return the settings of a view; `get` returns a setting by its link key.

        Raises:
            ValueError: the number of heads or the head size is out of range.
        """
        names = ("heads", "head_size", "qkv", "positions", "scale", "projection", "seed")
        return cls(**{name: get(name) for name in names}, causal=get("mask") == "causal")

    def __post_init__(self) -> None:
        if not 1 <= self.heads <= MAX_HEADS:
            raise ValueError(f"{self.heads} heads: the toy has 1 to {MAX_HEADS}")
        if not 2 <= self.head_size <= MAX_HEAD_SIZE:
            raise ValueError(f"head size {self.head_size}: the toy has 2 to {MAX_HEAD_SIZE}")

    @property
    def scale_factor(self) -> float:
        """`scale` as a number."""
        named = {"sqrt_d": 1 / math.sqrt(self.width_per_head), "sqrt_c": 1 / math.sqrt(WIDTH), "off": 1.0}
        return named[self.scale] if self.scale in named else float(self.scale)

    @property
    def kind(self) -> Literal["encoder", "decoder"]:
        """The kind of attention: a decoder's with the causal mask, else an encoder's."""
        return "decoder" if self.causal else "encoder"

    @property
    def head_count(self) -> int:
        """The effective H: without projections all heads would be equal, so there is one."""
        return 1 if self.qkv == "identity" else self.heads

    @property
    def width_per_head(self) -> int:
        """The effective D: only linear projections change the width."""
        return self.head_size if self.qkv == "linear" else WIDTH
