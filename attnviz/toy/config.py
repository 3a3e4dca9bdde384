"""What shapes the toy block. No torch here, so that a page reads it before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from attnviz.trace.model import ProjectionKind

WIDTH = 16
"""C: small enough for every number of an embedding to be read on a screen."""
MAX_HEADS, MAX_HEAD_SIZE, MAX_TOKENS = 8, 64, 512

Positions = Literal["none", "sinusoidal", "random"]


@dataclass(frozen=True, slots=True)
class ToyConfig:
    """What shapes the block. Every field moves only the quantities that depend on it."""

    heads: int = 2
    head_size: int = 8
    qkv: ProjectionKind = "linear"
    positions: Positions = "sinusoidal"
    scale: str = "sqrt_d"
    """sqrt_d: 1/√D · sqrt_c: 1/√C · off: 1 · or a number written out, such as 0.125"""
    causal: bool = False
    projection: bool = True
    seed: int = 0

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> ToyConfig:
        """Read the block's settings by the names that a link gives them.

        Raises:
            ValueError: more heads, or wider ones, than the toy has.
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
        """The number behind `scale`."""
        named = {"sqrt_d": 1 / math.sqrt(self.width_per_head), "sqrt_c": 1 / math.sqrt(WIDTH), "off": 1.0}
        return named[self.scale] if self.scale in named else float(self.scale)

    @property
    def kind(self) -> Literal["encoder", "decoder"]:
        """What the block's attention is: a decoder's where no query sees its future."""
        return "decoder" if self.causal else "encoder"

    @property
    def head_count(self) -> int:
        """H as it runs: without a projection there is nothing to tell heads apart, so there is one."""
        return 1 if self.qkv == "identity" else self.heads

    @property
    def width_per_head(self) -> int:
        """D as it runs: only a linear projection changes the width."""
        return self.head_size if self.qkv == "linear" else WIDTH
