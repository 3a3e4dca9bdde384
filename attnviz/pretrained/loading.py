"""Loads a model by name: the built-in one, or one that transformers can load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.pretrained.names import BUILT_IN, ModelError, shown

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
        raise ModelError(f"{shown(name)} can't be read: {error.strerror or 'the file system says no'}.") from error
