"""Pretrained models, traced: their own forward pass, with query, key and value of every layer recorded.

`load("minilm").trace("some text").head(layer=3, head=5)` returns the `AttentionSteps` of one head.

Importing this imports no torch; loading a model does.
"""

from typing import TYPE_CHECKING, Any

from attnviz.pretrained.loading import load, open_model
from attnviz.pretrained.names import BUILT_IN, ModelError
from attnviz.trace.model import Kind

if TYPE_CHECKING:
    from attnviz.pretrained.model import PretrainedModel
    from attnviz.trace.trace import Trace

__all__ = ["BUILT_IN", "Kind", "ModelError", "PretrainedModel", "Trace", "load", "open_model"]


def __getattr__(name: str) -> Any:
    if name == "PretrainedModel":
        from attnviz.pretrained.model import PretrainedModel

        return PretrainedModel
    if name == "Trace":
        from attnviz.trace.trace import Trace

        return Trace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
