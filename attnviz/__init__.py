"""attnviz shows what attention computes, on your own text, down to the last number.

In a notebook:

    import attnviz
    steps = attnviz.trace("The cat sat on the mat.").head(layer=3, head=5)
    steps.weights

A transformers model that you hold in memory is traced with `attnviz.trace_model(model, tokenizer, text)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The first import of the folder attnviz/trace/ would otherwise replace the function `trace`.
import attnviz.trace as _folder  # noqa: F401

if TYPE_CHECKING:
    from attnviz.pretrained import Trace

__all__ = ["trace", "trace_model"]


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
    from attnviz.pretrained import load  # late: it imports torch, and transformers for all but the built-in model

    return load(model).trace(text, pair)


def trace_model(model: Any, tokenizer: Any, text: str, pair: str | None = None) -> Trace:
    """Run a transformers model that is in memory on a text, as `trace` does.

    What runs is a copy, on the CPU, in float32 and in evaluation mode, so that the model and the tokenizer stay as they
    are, and the trace keeps its numbers if the model is trained further. Weights in half precision keep their values,
    but the pass is more exact than one in half precision. Forward hooks run in the copy too. To trace many texts with
    one copy, use `attnviz.pretrained.open_model(model, tokenizer).trace(text, pair)`.

    Args:
        model: a `transformers.PreTrainedModel`, with or without a head.
        tokenizer: its fast tokenizer.
        text: what the model reads.
        pair: a second sentence; in an encoder-decoder model, what the decoder reads.

    Raises:
        attnviz.pretrained.ModelError: the model is not of transformers, is quantised, does more than softmax attention,
            or does not run through transformers' AttentionInterface; or the tokenizer is not fast or not the model's.
        attnviz.tokens.NoTokensError: the tokenizer makes no token of the text.
    """
    from attnviz.pretrained import open_model

    return open_model(model, tokenizer).trace(text, pair)
