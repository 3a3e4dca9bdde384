"""Models small enough to follow by hand: the toy block, the layers and stacks of a transformer, and language models.

Importing this package does not import torch; accessing one of its names does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.toy.language.model import BigramModel, CharGPT, GRUModel
    from attnviz.toy.layers import DecoderLayer, EncoderLayer, FeedForward, MultiHeadAttention
    from attnviz.toy.stacks import Decoder, Encoder, Seq2Seq
    from attnviz.toy.weights import lab_positions, rotary_positions, sinusoidal_positions

__all__ = [
    "BigramModel",
    "CharGPT",
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GRUModel",
    "MultiHeadAttention",
    "Seq2Seq",
    "lab_positions",
    "rotary_positions",
    "sinusoidal_positions",
]
_MODULES = {
    "language.model": ("BigramModel", "CharGPT", "GRUModel"),
    "layers": ("DecoderLayer", "EncoderLayer", "FeedForward", "MultiHeadAttention"),
    "weights": ("lab_positions", "rotary_positions", "sinusoidal_positions"),
    "stacks": ("Decoder", "Encoder", "Seq2Seq"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
