"""attnviz shows what attention computes, on your own text, down to the last number.

In a notebook:

    import attnviz
    steps = attnviz.trace("The cat sat on the mat.").head(layer=3, head=5)
    steps.weights
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnviz.pretrained import Trace

__all__ = ["trace"]


def trace(text: str, pair: str | None = None, *, model: str = "minilm") -> Trace:
    """Run a model on a text and keep every layer's query, key and value.

    Args:
        text: what the model reads.
        pair: a second sentence; in an encoder-decoder model, what the decoder reads.
        model: "minilm" (built in), a name on the Hugging Face hub, or a local folder.

    Raises:
        attnviz.pretrained.ModelError: the model can't be loaded.
        attnviz.tokens.NoTokensError: the model's tokenizer makes no token of the text.
    """
    from attnviz.pretrained import load  # torch and transformers take seconds to import

    return load(model).trace(text, pair)
