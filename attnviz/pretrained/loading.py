"""Opens a model by name, the built-in one or one that transformers can load, or from memory."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from attnviz.pretrained.names import BUILT_IN, ModelError, attempt, check_tokenizer, shown

if TYPE_CHECKING:
    from attnviz.pretrained.model import PretrainedModel


def load(name: str = BUILT_IN) -> PretrainedModel:
    """Load a model by name: "minilm" (built in), a hub name such as "bert-base-uncased", or a local folder.

    A hub name is looked up in the local cache first, and only then on the hub.

    Raises:
        ModelError: no network, no such model, no safetensors, custom code, a damaged file, an unknown architecture.
    """
    name = name.strip()
    try:
        if name == BUILT_IN:
            from attnviz.pretrained import built_in

            return built_in.BuiltInModel(built_in.find_folder())
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
    from attnviz.pretrained.transformers_model import TransformersModel

    if not isinstance(model, PreTrainedModel):
        raise ModelError(f"A {type(model).__name__} is no model of transformers; pass the PreTrainedModel inside it.")
    name = shown(model.name_or_path or type(model).__name__)
    if getattr(model.config, "quantization_config", None) is not None:
        raise ModelError(f"{name} is quantised, so its weights can't be copied in float32; load it unquantised.")
    check_tokenizer(tokenizer, name)
    own = attempt(lambda: copied(model), name, "weights")
    return attempt(lambda: TransformersModel(own, copy.deepcopy(tokenizer), name), name, "attention")
