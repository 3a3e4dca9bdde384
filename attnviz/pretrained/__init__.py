"""Pretrained models, traced: their own forward pass, with query, key and value of every layer recorded.

`load("minilm").trace("some text").head(layer=3, head=5)` returns the `AttentionSteps` of one head.
"""

from attnviz.pretrained.loading import load, open_model
from attnviz.pretrained.model import PretrainedModel
from attnviz.pretrained.names import BUILT_IN, ModelError
from attnviz.trace.model import Kind
from attnviz.trace.whole import Trace

__all__ = ["BUILT_IN", "Kind", "ModelError", "PretrainedModel", "Trace", "load", "open_model"]
