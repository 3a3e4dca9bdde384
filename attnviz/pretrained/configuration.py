"""What a model's configuration states and its modules show: its class, settings, layers and widths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_MAPPING_NAMES,
)

from attnviz.pretrained.families import FEED_FORWARD, count_layers, count_layers_of, layer_numbers
from attnviz.pretrained.model import BlockMaps, ModuleNames
from attnviz.trace.model import Kind, ModelSizes, feed_forward_widths
from attnviz.trace.recorder import Call

FEED_FORWARD_WIDTHS = ("intermediate_size", "d_ff", "encoder_ffn_dim", "ffn_dim", "hidden_dim")
"""The names of F in configurations: BERT and most others; T5; BART; OPT; DistilBERT"""


def auto_class(config: Any) -> Any:
    """Return transformers' class for a model: one with a language head if its files include that."""
    heads = (
        (AutoModelForCausalLM, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        (AutoModelForMaskedLM, MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    )
    stored = config.architectures or ()
    return next((auto for auto, names in heads if names.get(config.model_type) in stored), AutoModel)


def is_plain_body(model: Any, config: Any) -> bool:
    """Return whether AutoModel builds a model of this class from this configuration."""
    bodies = MODEL_MAPPING_NAMES.get(config.model_type, ())
    return type(model).__name__ in ((bodies,) if isinstance(bodies, str) else bodies)


def stated_by(config: Any, name: str) -> Any:
    """Return a setting of a configuration, or of its part about text if it has one; None if it lacks the setting.

    Gemma 3's configuration also has a part about pictures.
    """
    with suppress(ValueError):  # it has several parts about text
        config = config.get_text_config()
    return getattr(config, name, None)


def layer_counts(model: Any, names: Mapping[Kind, Sequence[ModuleNames]]) -> dict[Kind, int]:
    """Return the number of layers by kind of attention, given the names of the attention modules by kind.

    An encoder or a decoder of which no attention is recorded, such as PEGASUS-X's encoder, counts too.
    """
    depths = {kind: count_layers(model, of_kind) for kind, of_kind in names.items()}
    stacks: tuple[tuple[Kind, str], ...] = (("encoder", "get_encoder"), ("decoder", "get_decoder"))
    for kind, getter in stacks if model.config.is_encoder_decoder else ():
        stack = getattr(model, getter)()
        if kind not in depths and stack is not model:
            depths[kind] = count_layers_of(stack)
    return depths


def layers_with_steps(
    blocks: Sequence[BlockMaps], calls: Sequence[Call], names: Mapping[Kind, Sequence[ModuleNames]]
) -> dict[str, dict[Kind, tuple[int, ...]]]:
    """Return the numbers of the layers with each step that not every attention has, by step and kind.

    `blocks` and `calls` are in the order of the pass; `names` are those of the attention modules, by kind.
    """
    has: dict[str, Callable[[BlockMaps, Call], bool]] = {
        "normed": lambda block, _: bool(block.norms),
        "rotated": lambda block, _: block.rotary is not None,
        "capped": lambda _, call: call.cap is not None,
        "biased": lambda _, call: call.position_bias is not None,
    }
    layers: dict[str, dict[Kind, tuple[int, ...]]] = {}
    for (step, has_step), (kind, kind_names) in product(has.items(), names.items()):
        of_kind = [pair for pair in zip(blocks, calls, strict=True) if pair[0].kind == kind]
        numbers = zip(layer_numbers(kind_names), of_kind, strict=True)
        with_step = tuple(number for number, pair in numbers if has_step(*pair))
        if with_step:
            layers.setdefault(step, {})[kind] = with_step
    return layers


def layer_windows(kinds: Sequence[Kind], calls: Sequence[Call]) -> dict[Kind, tuple[int | None, ...]]:
    """Return the windows of all layers by kind of attention; empty if no layer has one.

    `kinds` and `calls` are in the order of the pass.
    """
    windows: dict[Kind, tuple[int | None, ...]] = {}
    for kind, call in zip(kinds, calls, strict=True):
        windows[kind] = (*windows.get(kind, ()), call.window)
    return windows if any(call.window for call in calls) else {}


def feed_forward_width(model: Any, sizes: ModelSizes | None, width: int) -> int | None:
    """Return F as the sizes of the matrix products have it, or as the configuration states it; None if neither does.

    What the configuration states counts only if a matrix of a feed-forward has that side: if all feed-forwards of
    a Qwen3-Next are experts, it has no use for it. `width` is C.
    """
    by_maps = () if sizes is None else feed_forward_widths(sizes, width)
    if by_maps:
        return by_maps[0]
    sides = {
        side
        for name, parameter in model.named_parameters()
        if FEED_FORWARD.search(name.rpartition(".")[0]) and parameter.ndim > 1
        for side in parameter.shape
    }
    stated = (stated_by(model.config, name) for name in FEED_FORWARD_WIDTHS)
    return next((number for number in stated if isinstance(number, int) and number in sides), None)
