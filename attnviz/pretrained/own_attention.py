"""Compares what is shown of a pass with the attention that the model itself computes, transformers' eager one.

A family that the tests hold equal to it is compared when a model is opened, on a few words. Any other model is compared
on every text too, in one layer, which the text chooses: the layer's attention module runs twice, and nothing else does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.pretrained.attention_interface import with_eager_attention
from attnviz.pretrained.names import UnfitError
from attnviz.reprs import ShortRepr
from attnviz.trace.ablation import is_replacing

CHECKED = frozenset({"bert", "roberta", "distilbert", "gpt2", "bart", "t5", "electra", "albert", "llama", "opt"})
"""The families, by `model_type`, whose weights the tests compare with eager attention in every layer and head"""
MOST = 1e-4
"""The largest difference between two weights, or between two outputs in units of the largest one"""
DIFFERS = (
    "attends in another way than softmax(QKᵀ · scale + mask) V: its own eager attention gives other numbers, here in "
    "attention call {number} of {calls}"
)


@dataclass(slots=True, repr=False)
class Comparison(ShortRepr):
    """The model's own attention in some calls of a pass."""

    numbers: Collection[int]
    """Which calls, counted in order of execution"""
    modules: int = 0
    """How many attention modules have run"""
    weights: dict[int, Tensor] = field(default_factory=dict)
    """The weights that eager attention gives, (H, Tq, Tk), if the module returns them"""
    differing: list[int] = field(default_factory=list)
    """The calls after which the module returns something else under eager attention"""


_comparison: ContextVar[Comparison | None] = ContextVar("comparison", default=None)


class OwnAttention:
    """A model under its own eager attention. It shares its tensors with the model, and is immutable too."""

    def __init__(self, model: Any) -> None:
        """Copy the modules of a model whose attention modules are not watched yet."""
        self.model = with_eager_attention(model)
        self._modules: dict[nn.Module, nn.Module] = {}

    def watch(self, model: nn.Module, modules: Collection[nn.Module]) -> None:
        """Compare these attention modules of the model whenever `compared` asks for it."""
        paths = {module: path for path, module in model.named_modules()}
        for module in modules:
            self._modules[module] = self.model.get_submodule(paths[module])
            module.register_forward_hook(self._compare, with_kwargs=True)

    @contextmanager
    def compared(self, numbers: Collection[int]) -> Iterator[Comparison]:
        """Compare these calls of the pass that this thread runs inside the `with` block."""
        comparison = Comparison(numbers)
        token = _comparison.set(comparison)
        try:
            yield comparison
        finally:
            _comparison.reset(token)

    def _compare(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        comparison = _comparison.get()
        if comparison is None:
            return
        number = comparison.modules
        comparison.modules += 1
        if number not in comparison.numbers:
            return
        theirs = _tensors(self._modules[module](*args, **kwargs))
        ours = _tensors(output)
        if not is_replacing() and not _is_near(ours[0], theirs[0]):
            comparison.differing.append(number)
        weights = [one for one in theirs[1:] if one.ndim == 4]  # T5 returns its position bias before them
        if weights:
            comparison.weights[number] = weights[-1][0]


def check(comparison: Comparison, shown: Sequence[Tensor | None]) -> None:
    """Check the weights that are shown, (H, Tq, Tk), by call; None for those that were not compared.

    Raises:
        UnfitError: a module called attention more than once, or its weights or outputs differ by more than `MOST`.
    """
    if comparison.modules != len(shown):
        raise UnfitError(
            f"computes {len(shown)} attentions in {comparison.modules} layers: how they make one is not known here"
        )
    for number, weights in enumerate(shown):
        wanted = comparison.weights.get(number)
        differs = weights is not None and wanted is not None and not _is_near(weights, wanted)
        if differs or number in comparison.differing:
            raise UnfitError(DIFFERS.format(number=number, calls=len(shown)))


def chosen(calls: int, *ids: Sequence[int] | None) -> int:
    """Return which of a pass's calls is compared: any, and always the same for the same token ids."""
    digest = hashlib.sha256(repr([None if row is None else list(row) for row in ids]).encode()).digest()
    return int.from_bytes(digest) % calls


def is_checked(model: Any, modules: Collection[nn.Module]) -> bool:
    """Return whether a model is of a family of `CHECKED`, and its attention is transformers' code."""
    own_code = (type(module).__module__ for module in (model, *modules))
    return model.config.model_type in CHECKED and all(name.startswith("transformers.models.") for name in own_code)


def _tensors(output: Any) -> list[Tensor]:
    """Return the tensors that an attention module returns; its result is the first."""
    return [one for one in (output if isinstance(output, (tuple, list)) else (output,)) if isinstance(one, Tensor)]


def _is_near(ours: Tensor, theirs: Tensor) -> bool:
    if ours.shape != theirs.shape:
        return False
    if not theirs.numel():
        return True
    largest = float(theirs.abs().max())
    return bool(torch.isfinite(ours).all()) and float((ours - theirs).abs().max()) <= MOST * max(1.0, largest)
