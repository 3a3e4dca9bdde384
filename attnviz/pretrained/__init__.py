"""Tracing pretrained models: their own forward pass, with the query, key and value of every layer recorded.

`load("minilm").trace("some text").head(layer=3, head=5)` returns the `AttentionSteps` of one head.

Importing this package does not import torch; loading a model does.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from attnviz.pretrained.described import find_folder
from attnviz.pretrained.names import BUILT_IN, ModelError, attempt, check_tokenizer, shown
from attnviz.trace.model import Kind

if TYPE_CHECKING:
    from attnviz.pretrained.model import PretrainedModel
    from attnviz.trace.trace import Trace

__all__ = ["BUILT_IN", "Kind", "ModelError", "PretrainedModel", "Trace", "load", "open_model"]


def load(name: str = BUILT_IN) -> PretrainedModel:
    """Load a model by name: "minilm" (built in), a hub name such as "bert-base-uncased", or a local folder.

    A hub name is looked up in the local cache first, and only then on the hub.

    Raises:
        ModelError: no network, no such model, no safetensors, custom code, a damaged file, or an unknown architecture.
    """
    name = name.strip()
    try:
        if name == BUILT_IN:
            from attnviz.pretrained.built_in import BuiltInModel

            return BuiltInModel(find_folder())
        from attnviz.pretrained import opening  # imports transformers, which takes seconds

        return opening.open_folder(opening.find_folder(name), name)
    except OSError as error:
        raise ModelError(f"{shown(name)} can't be read: {error.strerror or 'unknown reason'}.") from error


def open_model(model: Any, tokenizer: Any) -> PretrainedModel:
    """Copy a transformers model and its tokenizer from memory.

    Raises:
        ModelError: see `attnviz.trace_model`.
    """
    from transformers import PreTrainedModel

    from attnviz.pretrained.attention_interface import copied
    from attnviz.pretrained.own_code import implementation_of
    from attnviz.pretrained.transformers_model import TransformersModel

    if not isinstance(model, PreTrainedModel):
        raise ModelError(
            f"A {type(model).__name__} is not a model of transformers; pass the PreTrainedModel inside it."
        )
    name = shown(model.name_or_path or type(model).__name__)
    if getattr(model.config, "quantization_config", None) is not None:
        raise ModelError(f"{name} is quantised, so its weights can't be copied in float32; load it unquantised.")
    if any(parameter.is_meta for parameter in model.parameters()):
        raise ModelError(f"{name} has no weights in memory: its parameters are on the meta device; load them first.")
    check_tokenizer(tokenizer, name)
    model_copy = attempt(lambda: copied(model, implementation_of(model.config)), name, "weights")
    return attempt(lambda: TransformersModel(model_copy, copy.deepcopy(tokenizer), name), name, "attention")


def __getattr__(name: str) -> Any:
    if name == "PretrainedModel":
        from attnviz.pretrained.model import PretrainedModel

        return PretrainedModel
    if name == "Trace":
        from attnviz.trace.trace import Trace

        return Trace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
