"""The toy: one block of multi-head self-attention whose every knob can be turned.

Shapes: T tokens, C model width, H heads, D head width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from attnviz.attention import Mask
from attnviz.toy.weights import draw
from attnviz.trace.layer import LayerTrace, OutputProjection, Projection, ProjectionKind, held_bytes

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
    def head_count(self) -> int:
        """H as it runs: without a projection there is nothing to tell heads apart, so there is one."""
        return 1 if self.qkv == "identity" else self.heads

    @property
    def width_per_head(self) -> int:
        """D as it runs: only a linear projection changes the width."""
        return self.head_size if self.qkv == "linear" else WIDTH


@dataclass(frozen=True, slots=True, eq=False)
class ToyTrace:
    """The block on one text."""

    token_embeddings: Tensor
    """(T, C)"""
    position_embeddings: Tensor | None
    """(T, C), or None where positions are off"""
    layer: LayerTrace
    """The attention; its `query_input` is the sum of the two"""

    @property
    def nbytes(self) -> int:
        """Memory that the trace holds, weights included, in bytes."""
        weights = [p.weight for p in (self.layer.projections or {}).values()]
        parts = (self.token_embeddings, self.position_embeddings, *weights)
        return held_bytes([t for t in parts if t is not None] + self.layer.tensors())


def run_block(ids: Sequence[int], config: ToyConfig) -> ToyTrace:
    """Run the block on token ids.

    Raises:
        ValueError: more tokens than MAX_TOKENS.
    """
    if len(ids) > MAX_TOKENS:
        raise ValueError(f"{len(ids)} tokens: the toy takes at most {MAX_TOKENS}")
    tokens = embed_tokens(ids, config.seed)
    positions = embed_positions(len(ids), config.positions, config.seed)
    x = tokens if positions is None else tokens + positions  # (T, C)
    projections = {name: project(name, config, len(ids)) for name in ("query", "key", "value")}
    layer = LayerTrace(
        query=projections["query"].apply(x),
        key=projections["key"].apply(x),
        value=projections["value"].apply(x),
        scale=config.scale_factor,
        mask=Mask.causal(len(ids)) if config.causal else Mask(),
        query_input=x,
        key_input=x,
        projections=projections,
        output_projection=project_output(config),
    )
    return ToyTrace(tokens, positions, layer)


def embed_tokens(ids: Sequence[int], seed: int) -> Tensor:
    """Look up one standard normal vector a token id: (T, C). Equal ids get equal vectors in every text."""
    if not ids:
        return torch.zeros(0, WIDTH)
    return torch.cat([draw(seed, "embedding", token, 1, WIDTH) for token in ids])


def embed_positions(n: int, kind: Positions, seed: int) -> Tensor | None:
    """Return what position adds to the embeddings, (n, C), or None.

    sinusoidal: sin and cos of position / 10000^(2i/C), interleaved (Vaswani et al. 2017, section 3.5).
    random: one standard normal vector a position, as a learned table holds before training.
    """
    if kind == "none":
        return None
    if kind == "random":
        return draw(seed, "position", 0, MAX_TOKENS, WIDTH)[:n]
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)  # (n, C/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)  # (n, C/2, 2) -> (n, C)


def project(name: str, config: ToyConfig, n: int) -> Projection:
    """Draw the map from X to one of "query", "key", "value", for all heads.

    Linear weights have variance 1/C, so that a projection keeps the size of what it projects; position-mixing
    weights have variance 1/16, whatever the length, so that a longer text does not redraw them.
    """
    if config.qkv == "identity":
        return Projection("identity")
    if config.qkv == "positions":
        mixes = [draw(config.seed, f"U_{name}", h, MAX_TOKENS, MAX_TOKENS)[:n, :n] for h in range(config.heads)]
        return Projection("positions", torch.stack(mixes) / 4)
    maps = [draw(config.seed, f"W_{name}", h, WIDTH, MAX_HEAD_SIZE)[:, : config.head_size] for h in range(config.heads)]
    return Projection("linear", torch.stack(maps) / math.sqrt(WIDTH))


def project_output(config: ToyConfig) -> OutputProjection | None:
    """Draw W_O, (H·D, C): the rows of one head stay the same when another head is added. None when it is off."""
    if not config.projection:
        return None
    rows = [
        draw(config.seed, "W_output", h, MAX_HEAD_SIZE, WIDTH)[: config.width_per_head]
        for h in range(config.head_count)
    ]
    return OutputProjection(torch.cat(rows) / math.sqrt(WIDTH))
