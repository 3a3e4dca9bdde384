"""The toy block's settings. Independent of torch, so that pages can import it before torch is loaded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from attnviz.trace.model import ProjectionKind

WIDTH, MIN_WIDTH, MAX_WIDTH = 16, 8, 128
"""C: as it is unless a view says otherwise, small enough to show every number of an embedding, and its limits in a
transformer"""
MAX_MODEL_WIDTH = 512
"""The largest C of the toy block"""
MAX_STD = 10
"""The largest standard deviation of the weights of a projection"""
MAX_HEADS, MAX_HEAD_SIZE, MAX_TOKENS = 8, 64, 512
MAX_AVERAGED = 64
"""The most tokens whose embeddings are averaged in a Python loop, which is slow."""

Positions = Literal["none", "sinusoidal", "lab", "random"]
"""As `attnviz.toy.embeddings` makes them; random: as a learned table is before training"""
Embedding = Literal["normal", "uniform"]
"""normal: with mean 0 and standard deviation 1; uniform: from 0 to 1, as torch.rand draws"""
MaskValue = Literal["-inf", "-1e10", "-1e10_before"]
"""What the mask fills into hidden cells: −∞ or −1e10 after the scaling, or −1e10 before it"""


@dataclass(frozen=True, slots=True)
class ToyConfig:
    """The block's settings. A field changes only the quantities that depend on it."""

    width: int = WIDTH
    """C"""
    heads: int = 2
    head_size: int = 8
    qkv: ProjectionKind = "linear"
    std_q: float | None = None
    """The standard deviation of the linear weights W_query; None: 1/√C"""
    std_k: float | None = None
    """The same of W_key"""
    std_v: float | None = None
    """The same of W_value"""
    embedding: Embedding = "normal"
    """How token embeddings are drawn"""
    positions: Positions = "sinusoidal"
    scale: str = "sqrt_d"
    """sqrt_d: 1/√D, sqrt_c: 1/√C, off: 1, or a number such as "0.125\""""
    causal: bool = False
    padding: int = 0
    """How many tokens, from the first on, are padding: no query looks at them"""
    mask_value: MaskValue = "-inf"
    projection: bool = True
    bias: bool = False
    """Whether linear projections to queries, keys and values, and the output projection add one"""
    seed: int = 0

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> ToyConfig:
        """Return the settings of a view; `get` returns a setting by its link key.

        Raises:
            ValueError: a number is out of range.
        """
        names = (
            "heads", "head_size", "qkv", "std_q", "std_k", "std_v", "embedding", "positions", "scale", "padding",
            "mask_value", "projection", "seed",
        )  # fmt: skip
        causal, width, bias = get("mask") == "causal", get("model_width"), get("projection_bias")
        return cls(**{name: get(name) for name in names}, causal=causal, width=width, bias=bias)

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("heads", self.heads, 1, MAX_HEADS),
            ("numbers a head", self.head_size, 2, MAX_HEAD_SIZE),
            ("numbers a token", self.width, MIN_WIDTH, MAX_MODEL_WIDTH),
            ("tokens of padding", self.padding, 0, MAX_TOKENS),
        ):
            if not low <= value <= high:
                raise ValueError(f"{value} {name}: the toy has {low} to {high}")
        for name, std in self.stds.items():
            if std is not None and not 0 <= std <= MAX_STD:  # nan is neither
                raise ValueError(f"a standard deviation of {std} of W_{name}: the toy has 0 to {MAX_STD}")

    @property
    def stds(self) -> dict[str, float | None]:
        """The standard deviations of the linear weights of "query", "key" and "value"; None: 1/√C."""
        return {"query": self.std_q, "key": self.std_k, "value": self.std_v}

    @property
    def scale_factor(self) -> float:
        """`scale` as a number."""
        named = {"sqrt_d": 1 / math.sqrt(self.width_per_head), "sqrt_c": 1 / math.sqrt(self.width), "off": 1.0}
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
        return self.head_size if self.qkv == "linear" else self.width
