"""Hugging Face models, traced: their own forward pass, with every layer's query, key and value kept.

`load("minilm").trace("some text").head(layer=3, head=5)` gives the `AttentionSteps` of one head.
"""

from attnviz.pretrained.loading import BUILT_IN, ModelError, load
from attnviz.pretrained.model import PretrainedModel
from attnviz.pretrained.recording import Kind, Trace

__all__ = ["BUILT_IN", "Kind", "ModelError", "PretrainedModel", "Trace", "load"]
