"""Weights of a seed, also where other threads draw numbers at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import init
from torch.overrides import TorchFunctionMode

DRAWING = (Tensor.uniform_, Tensor.normal_, init.uniform_, init.normal_, init.kaiming_uniform_, init.xavier_uniform_)
"""What torch's layers draw their weights with"""


class SeededWeights(TorchFunctionMode):
    """Inside it, this thread's modules draw their weights from a generator of their own.

    torch has one generator for all threads, so that with `torch.manual_seed` a server's other threads would take some
    of the numbers. The weights are those that `torch.manual_seed` gives in a process of one thread.
    """

    def __init__(self, seed: int) -> None:
        """Begin with the first number of this seed."""
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function of torch, with the generator if it draws numbers."""
        given = dict(kwargs or {})
        if func in DRAWING:
            given["generator"] = self._generator
        return func(*args, **given)
