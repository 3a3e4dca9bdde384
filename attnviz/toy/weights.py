"""Seeded weights, for models to train and for the toys, where a setting must not change unrelated weights.

Also the toys' token and position embeddings: drawn from the seed, or computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import init
from torch.overrides import TorchFunctionMode

from attnviz.toy.config import MAX_MODEL_WIDTH, MAX_TOKENS, MAX_WIDTH, NOT_ADDED, WIDTH, Embedding, Positions
from attnviz.trace.buckets import Buckets
from attnviz.trace.position_bias import PositionBias, alibi
from attnviz.trace.rotation import Rotation

NUMBERS = {"normal": torch.randn, "uniform": torch.rand}
"""The function that draws each kind of numbers"""


def draw(seed: int, quantity: str, index: int, rows: int, cols: int, kind: Embedding = "normal") -> Tensor:
    """Draw (rows, cols) numbers that depend only on the arguments: standard normal, or uniform from 0 to 1.

    Callers draw the largest size and slice it, so that a narrow matrix is a slice of a wide one.
    """
    return NUMBERS[kind](rows, cols, generator=generator(seed, quantity, index))


def draw_wide(seed: int, quantity: str, index: int, rows: int, width: int, kind: Embedding = "normal") -> Tensor:
    """Draw (rows, C) numbers as `draw` does; the first columns do not depend on the width C.

    The columns beyond `WIDTH`, and those beyond `MAX_WIDTH`, are drawn separately.
    """
    drawn = draw(seed, quantity, index, rows, WIDTH, kind)
    if width > WIDTH:
        drawn = torch.cat((drawn, draw(seed, f"{quantity}, wider", index, rows, MAX_WIDTH - WIDTH, kind)), dim=1)
    if width > MAX_WIDTH:
        others = draw(seed, f"{quantity}, widest", index, rows, MAX_MODEL_WIDTH - MAX_WIDTH, kind)
        drawn = torch.cat((drawn, others), dim=1)
    return drawn[:, :width]


def draw_tall(draw_rows: Callable[[str, int], Tensor], quantity: str, rows: int) -> Tensor:
    """Draw a number of rows of a quantity; the first ones do not depend on that number.

    Args:
        draw_rows: draws a number of rows of a named quantity. Rows beyond `MAX_WIDTH` are a separate quantity.
        quantity: its name.
        rows: up to `MAX_MODEL_WIDTH`.
    """
    drawn = draw_rows(quantity, MAX_WIDTH)
    if rows > MAX_WIDTH:
        drawn = torch.cat((drawn, draw_rows(f"{quantity}, taller", MAX_MODEL_WIDTH - MAX_WIDTH)))
    return drawn[:rows]


def generator(seed: int, quantity: str, index: int) -> torch.Generator:
    """Return a random generator whose seed depends only on the arguments."""
    name = f"{seed}/{quantity}/{index}".encode()
    return torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(name, digest_size=7).digest()))


DRAWING = (Tensor.uniform_, Tensor.normal_, init.uniform_, init.normal_, init.kaiming_uniform_, init.xavier_uniform_)
"""The functions with which torch's layers draw their weights"""


class SeededWeights(TorchFunctionMode):
    """A context in which this thread's modules draw their weights from a separate generator.

    torch has one generator for all threads, so with `torch.manual_seed` a server's other threads would take some of the
    numbers. The weights are the same as after `torch.manual_seed` in a single-threaded process.
    """

    def __init__(self, seed: int) -> None:
        """Begin with the first number of this seed."""
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function of torch, with the generator if it draws numbers.

        On the "meta" device nothing is drawn: there, `normal_` imports torch's compiler, which takes four seconds.
        """
        arguments = dict(kwargs or {})
        if func in DRAWING:
            tensor: Tensor = args[0] if args else arguments["tensor"]
            if tensor.is_meta:
                return tensor
            arguments["generator"] = self._generator
        return func(*args, **arguments)


BASE = 10000
"""The wavelengths range from 2π to about `BASE` · 2π."""


def sinusoidal_positions(n: int, width: int) -> Tensor:
    """Return sin and cos of position / 10000^(2i/C), interleaved, (n, C) (Vaswani et al. 2017, section 3.5).

    Dimensions 2i and 2i + 1 share a frequency, so all rows have the norm √(C/2), and the dot product of two rows
    depends only on their distance. For odd C the last cosine is left out.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    angle = torch.arange(n)[:, None] / BASE ** (torch.arange(0, width, 2) / max(width, 1))  # (n, C/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :width]  # (n, C/2, 2) -> (n, C)


def lab_positions(n: int, width: int) -> Tensor:
    """Return a variant that is often taught, in which dimension j has the frequency 1 / 10000^(j/C), (n, C).

    Even dimensions are sines, odd ones cosines. In the paper's formula both dimensions of a pair have the frequency of
    the first. Here each dimension has its own frequency: the sines are the paper's, the cosines are a little slower. So
    the norms of the rows vary, and the dot product of two rows does not depend only on their distance.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    dimension = torch.arange(width)
    angle = torch.arange(n)[:, None] / BASE ** (dimension / max(width, 1))  # (n, C)
    return torch.where(dimension % 2 == 0, angle.sin(), angle.cos())


def rotary_positions(n: int, width: int) -> Rotation | None:
    """Return what turns queries and keys of this width D at n positions (Su et al. 2021, section 3.2).

    Dimensions 2i and 2i + 1 turn by position / 10000^(2i/D): the angles of `sinusoidal_positions`. Of an odd D the last
    dimension stays. None if D is 1: there is no pair to turn.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    even = width - width % 2
    if not even:
        return None
    angle = torch.arange(n)[:, None] / BASE ** (torch.arange(0, even, 2) / even)  # (n, D/2)
    return Rotation(angle.cos(), angle.sin(), "neighbours")


BUCKETS = 32
"""How many buckets the toys have, as T5"""
MAX_DISTANCE = 128
"""The distance from which on all are in one, as in T5"""


def draw_position_bias(kind: Positions, heads: int, n: int, seed: int, *, causal: bool) -> PositionBias | None:
    """Return what is added to the scores of n positions; None for kinds of positions that are not.

    alibi: minus slope times distance. buckets: a standard normal number for each bucket and head, as in T5 before
    training; a decoder has no buckets for later keys.
    """
    if kind == "alibi":
        return alibi(heads, n)
    if kind != "buckets":
        return None
    buckets = Buckets(BUCKETS, MAX_DISTANCE, both_sides=not causal)
    table = torch.cat([draw(seed, "position bias", head, 1, BUCKETS) for head in range(heads)])  # (H, 32)
    return PositionBias(table[:, buckets.of(n, n)], buckets)


def sinks_of(score: float | None, heads: int) -> Tensor | None:
    """Return the sinks of heads that all have this score, (H, 1, 1); None for none. A model learns one for each head,
    the toys draw none: the user sets it."""
    return None if score is None else torch.full((heads, 1, 1), float(score))


def _check(n: int, width: int) -> None:
    if n < 0 or width < 0:
        raise ValueError(f"{n} positions of width {width}: neither can be negative")


Ids = Sequence[int] | Sequence[Sequence[int]]
"""Token ids of a text, or of a batch of texts of equal length"""


QUANTITY: dict[Embedding, str] = {"normal": "embedding", "uniform": "uniform embedding"}
"""The name of the token vectors from which their seed is computed"""


def embed_tokens(ids: Ids, seed: int, width: int = WIDTH, embedding: Embedding = "normal") -> Tensor:
    """Return one vector per token id, (T, C), or (B, T, C) for a batch. Equal ids have equal vectors in every text.

    Any integer is a valid id: rows are drawn on demand. The numbers are standard normal, or uniform from 0 to 1.

    Raises:
        ValueError: the texts of a batch differ in length.
    """
    if not ids:
        return torch.zeros(0, width)
    texts = [[item] if isinstance(item, int) else item for item in ids]
    if isinstance(ids[0], int):
        return torch.cat([draw_wide(seed, QUANTITY[embedding], token, 1, width, embedding) for (token,) in texts])
    lengths = sorted({len(text) for text in texts})
    if len(lengths) > 1:
        raise ValueError(f"texts of a batch have {lengths[0]} to {lengths[-1]} tokens; they need as many each")
    return torch.stack([embed_tokens(text, seed, width, embedding) for text in texts])


def embed_positions(n: int, kind: Positions, seed: int, width: int = WIDTH) -> Tensor | None:
    """Return the position embeddings, (n, C), or None for those of `NOT_ADDED`.

    sinusoidal, lab: see `attnviz.toy.weights`.
    random: one standard normal vector per position, like a learned table before training.
    """
    if kind in NOT_ADDED:
        return None
    if kind == "random":
        return draw_wide(seed, "position", 0, MAX_TOKENS, width)[:n]
    return (lab_positions if kind == "lab" else sinusoidal_positions)(n, width)


def sum_of(parts: dict[str, Tensor]) -> Tensor:
    """Return the sum of the embeddings' summands, (..., T, C)."""
    first, *others = parts.values()
    return sum(others, start=first)
