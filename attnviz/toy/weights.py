"""Seeded weights, for models to train and for the toys, where a setting must not change unrelated weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import init
from torch.overrides import TorchFunctionMode

from attnviz.toy.config import MAX_MODEL_WIDTH, MAX_WIDTH, WIDTH, Embedding

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
        """Call a function of torch, with the generator if it draws numbers."""
        arguments = dict(kwargs or {})
        if func in DRAWING:
            arguments["generator"] = self._generator
        return func(*args, **arguments)
