"""The project's attention function for models of transformers, and its comparison with their own eager attention.

When a model is opened, it is compared on a few words. For the families that the tests cover, this is all. Any other
model is also compared on every text, in one layer that depends on the text: only the attention module of that layer
runs twice.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attnviz.attention import AttentionSteps
from attnviz.formatting import counted
from attnviz.pretrained.names import UnfitError
from attnviz.reprs import ShortRepr
from attnviz.trace.position_bias import PositionTerms, ScaledBias
from attnviz.trace.recorder import Inputs, is_replacing, recorded_attention

IMPLEMENTATION = "attnviz"
"""The name under which the attention function is registered in transformers."""

WITHOUT_EFFECT = frozenset({
    "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k",  # for fused kernels, to locate packed texts
    "is_causal", "sliding_window", "indices", "block_indices",  # for fused kernels: the eager mask includes these
    "deterministic", "output_attentions", "output_hidden_states", "return_dict", "use_cache",
    "output_router_logits", "logits_to_keep",  # for the parts of a model after attention
    "position_ids",  # the queries and keys are already rotated by them
})  # fmt: skip
"""Arguments that transformers passes to attention functions and that its eager functions ignore"""

USED = ("softcap", "s_aux", "sinks")
"""Arguments of some families: a soft cap; a sink's score for each head, (H,), or for each query too, (B, H, Tq, 1)"""

CHANGES: Mapping[str, str] = {
    "attention_bias": "adds a bias to its scores outside the mask",
    "head_mask": "multiplies the weights of its heads by a mask",
}
"""By known argument name: what a model that passes this argument does, as a clause"""
OTHER_CHANGE = "gives its attention an argument “{name}”, of which nothing is known here"
NOT_SHOWN = "a step between scores and head outputs that is not shown here"


def attention_function(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | Tensor | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | PositionTerms | ScaledBias | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    """Run `attend` with transformers' attention interface: takes (B, H, T, D), returns (B, T, H, D) and the weights.

    For grouped-query attention, keys and values are repeated for each query head. A position bias, such as T5's,
    broadcasts to (B, H, Tq, Tk); T5 gives its cross-attention one of zeros, which is none. It may be
    given by its terms instead, or with the scale that multiplies it too. `others` may have `USED`.

    Raises:
        UnfitError: an argument asks for a step that `attend` does not have.
    """
    check_arguments(others)
    if dropout and module.training:
        raise UnfitError("drops weights of its attention at random, and so has other numbers in each run")
    if isinstance(scaling, Tensor):
        if scaling.numel() > 1:
            raise UnfitError(f"multiplies its scores by a scale for each head or token: {NOT_SHOWN}")
        scaling = float(scaling)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    cells = position_bias.unscaled if isinstance(position_bias, ScaledBias) else position_bias
    if isinstance(cells, Tensor) and not bool(cells.any()):
        position_bias = None
    cap, of_heads, sinks = (others.get(name) for name in USED)
    if of_heads is not None:
        sinks = of_heads.detach().reshape(-1, 1, 1)  # a weight of the model's
    of_scores: dict[str, Any] = {"scale": scaling, "cap": cap, "sinks": sinks, "position_bias": position_bias}
    window = others.get("sliding_window")
    steps = recorded_attention(module, query, key, value, mask=attention_mask, **of_scores, window=window)
    return steps.head_outputs.transpose(1, 2).contiguous(), steps.weights


def check_arguments(others: Mapping[str, Any]) -> None:
    """Check the arguments that a model passes to its attention and that `attention_function` does not use.

    Raises:
        UnfitError: an argument is neither None nor known to have no effect. The message describes it.
    """
    for name, value in others.items():
        if value is not None and name not in WITHOUT_EFFECT and name not in USED:
            what = CHANGES.get(name) or OTHER_CHANGE.format(name=name.replace("_", " ").strip())
            raise UnfitError(f"{what}: {NOT_SHOWN}")


def attention_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
    """Return the query and key inputs, (B, T, C), from the arguments of an attention module of transformers.

    In cross-attention, the keys' input is the encoder's output.
    """
    x = args[0] if args else kwargs.get("hidden_states")
    other = kwargs.get("key_value_states", kwargs.get("encoder_hidden_states"))
    return x, x if other is None else other


AttentionInterface.register(IMPLEMENTATION, attention_function)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)


def copied(model: Any, implementation: str = IMPLEMENTATION) -> Any:
    """Return a copy of a transformers model with this attention function, on the CPU and in float32.

    The user's hooks run in the copy too, since they affect the result.
    """
    ours = _duplicate(model, {id(tensor): _on_cpu(tensor) for tensor in _tensors(model)})
    ours.config.return_dict = True
    _set_attention(ours, implementation)
    return ours


def with_eager_attention(model: Any) -> Any:
    """Return the same model with transformers' own eager attention. Both share the same tensors in memory.

    Falcon's eager attention adds an ALiBi twice (transformers 5.23): its default, which adds it once, is taken.
    """
    theirs = _duplicate(model, {id(tensor): tensor for tensor in _tensors(model)})
    adds_twice = model.config.model_type == "falcon" and model.config.alibi
    _set_attention(theirs, "sdpa" if adds_twice else "eager")
    return theirs


def _set_attention(model: Any, implementation: str) -> None:
    """Set the attention function of a model, also of Falcon, whose modules read it in the configuration."""
    model.set_attn_implementation(implementation)
    model.config._attn_implementation = implementation


def _duplicate(model: Any, tensors: Mapping[int, Tensor]) -> Any:
    """Copy a model's modules and configuration with new tensors, by the `id` of the old ones, and the same hooks."""
    hooks = {
        id(hook): hook
        for module in model.modules()
        for hook in chain(module._forward_hooks.values(), module._forward_pre_hooks.values())
    }
    return copy.deepcopy(model, {**tensors, **hooks})  # deepcopy uses these instead of copying


def _tensors(model: nn.Module) -> chain[Tensor]:
    return chain(model.parameters(), model.buffers())


def _on_cpu(tensor: Tensor) -> Tensor:
    dtype = torch.float32 if tensor.is_floating_point() else tensor.dtype
    on_cpu = tensor.detach().to("cpu", dtype, copy=True)
    return nn.Parameter(on_cpu, requires_grad=False) if isinstance(tensor, nn.Parameter) else on_cpu


CHECKED = frozenset({"bert", "roberta", "distilbert", "gpt2", "bart", "t5", "electra", "albert", "llama", "opt"})
"""The families, by `model_type`, whose weights the tests compare with eager attention in every layer and head"""
MOST_DIFFERENCE = 1e-4
"""The largest allowed difference, relative to the largest value if that is above 1"""
DIFFERS = (
    "attends in another way than softmax(QKᵀ · scale + mask) V: its own eager attention gives other numbers, here in "
    "attention call {number} of {calls}"
)


@dataclass(slots=True, repr=False)
class Comparison(ShortRepr):
    """The comparison with the model's own attention in some calls of a forward pass."""

    numbers: Collection[int]
    """Which calls to compare, counted in order of execution"""
    modules: int = 0
    """How many attention modules have run"""
    weights: dict[int, Tensor] = field(default_factory=dict)
    """By call: the weights of eager attention, (H, Tq, Tk), if the module returns them"""
    differing: list[int] = field(default_factory=list)
    """The calls for which the module's output is different with eager attention"""


_comparison: ContextVar[Comparison | None] = ContextVar("comparison", default=None)


class OwnAttention:
    """A model with its own eager attention. It shares its tensors with the model, and is immutable too."""

    def __init__(self, model: Any) -> None:
        """Copy the modules of a model, before any of its attention modules is watched."""
        self.model = with_eager_attention(model)
        self._modules: dict[nn.Module, nn.Module] = {}

    def watch(self, model: nn.Module, modules: Collection[nn.Module]) -> None:
        """Compare these attention modules of the model inside `compared`."""
        paths = {module: path for path, module in model.named_modules()}
        for module in modules:
            self._modules[module] = self.model.get_submodule(paths[module])
            module.register_forward_hook(self._compare, with_kwargs=True)

    @contextmanager
    def compared(self, numbers: Collection[int]) -> Iterator[Comparison]:
        """Compare these calls of the forward pass that this thread runs inside the `with` block."""
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
        theirs = _returned(self._modules[module](*args, **kwargs))
        ours = _returned(output)
        if not is_replacing() and not _is_near(ours[0], theirs[0]):
            comparison.differing.append(number)
        weights = [tensor for tensor in theirs[1:] if tensor.ndim == 4]  # T5 returns its position bias before them
        if weights:
            comparison.weights[number] = weights[-1][0]


def check_shown(comparison: Comparison, shown: Sequence[AttentionSteps | None]) -> None:
    """Check the weights to be shown, for each call, or None for calls that were not compared.

    Some models with a sink return the weights of a softmax without it, and then take its share from the output.

    Raises:
        UnfitError: a module called attention more than once, or its weights or outputs differ by more than
            `MOST_DIFFERENCE`.
    """
    if comparison.modules != len(shown):
        raise UnfitError(
            f"computes {counted(len(shown), 'attention')} in {counted(comparison.modules, 'layer')}: "
            "how they make one is not known here"
        )
    for number, steps in enumerate(shown):
        wanted = comparison.weights.get(number)
        differs = steps is not None and wanted is not None and not _has_weights(steps, wanted)
        if differs or number in comparison.differing:
            raise UnfitError(DIFFERS.format(number=number, calls=len(shown)))


def _has_weights(steps: AttentionSteps, theirs: Tensor) -> bool:
    return any(_is_near(weights, theirs) for weights in with_and_without_sink(steps))


def with_and_without_sink(steps: AttentionSteps) -> list[Tensor]:
    """Return the weights, and with a sink also those of the same softmax over the keys alone."""
    return [steps.weights] if steps.sink is None else [steps.weights, torch.softmax(steps.masked, dim=-1)]


def call_to_compare(calls: int, *ids: Sequence[int] | None) -> int:
    """Return which call of a pass to compare: it depends only on the token ids."""
    digest = hashlib.sha256(repr([None if row is None else list(row) for row in ids]).encode()).digest()
    return int.from_bytes(digest) % calls


def is_checked(model: Any, modules: Collection[nn.Module]) -> bool:
    """Return whether a model belongs to a family in `CHECKED` and its attention is transformers' code."""
    sources = (type(module).__module__ for module in (model, *modules))
    return model.config.model_type in CHECKED and all(name.startswith("transformers.models.") for name in sources)


def _returned(output: Any) -> list[Tensor]:
    """Return the tensors in the output of an attention module; its result is the first."""
    items = output if isinstance(output, (tuple, list)) else (output,)
    return [item for item in items if isinstance(item, Tensor)]


def _is_near(ours: Tensor, theirs: Tensor) -> bool:
    if ours.shape != theirs.shape:
        return False
    if not theirs.numel():
        return True
    largest = float(theirs.abs().max())
    return bool(torch.isfinite(ours).all()) and float((ours - theirs).abs().max()) <= MOST_DIFFERENCE * max(
        1.0, largest
    )
