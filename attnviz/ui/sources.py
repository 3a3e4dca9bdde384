"""From the view to what is shown: the tokens at once, then one layer of attention from the toy or from a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnviz.tokens import Tokens, WordTokenizer
from attnviz.ui import caches, state
from attnviz.ui.tokens.tokenizers import char_vocab, wordpiece

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.pretrained import PretrainedModel
    from attnviz.toy.config import ToyConfig
    from attnviz.trace.layer import LayerTrace

TOY_TOKENS = 512
"""The toy's limit, the same as BERT's."""

Get = Callable[[str], Any]
"""How a setting is read: from the view, or from one pane of a page that shows two."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One layer's attention, ready to be walked through."""

    query_tokens: Tokens
    key_tokens: Tokens
    layer: LayerTrace
    parts: tuple[Tensor, Tensor] | None = None


def toy_tokens(text: str, limit: int = TOY_TOKENS, get: Get = state.get) -> Tokens:
    """Cut a text into at most `limit` of the toy's tokens with the view's tokenizer."""
    name = get("tokenizer")
    if name == "bert":
        return wordpiece().tokenize(text, max_tokens=limit)
    if name == "word":
        return WordTokenizer().tokenize(text, max_tokens=limit)
    return char_vocab(text).tokenize(text, max_tokens=limit)


def toy_config(get: Get = state.get) -> ToyConfig:
    """Read the block's settings from the view."""
    from attnviz.toy.config import ToyConfig

    return ToyConfig.of(get)


def toy_source(tokens: Tokens, get: Get = state.get) -> Source:
    """Run the toy block on tokens."""
    trace = caches.toy_trace(tokens, toy_config(get))
    return Source(tokens, tokens, trace.layer(0), trace.parts)


def pretrained_tokens(model: PretrainedModel, get: Get = state.get) -> Tokens:
    """Cut the view's text, or pair, into the tokens on the rows of the view's kind of attention."""
    tokens, decoder_tokens = model.read(get("text"), get("pair").strip() or None)
    return tokens if decoder_tokens is None or get("kind") == "encoder" else decoder_tokens


def pretrained_source(model: PretrainedModel, get: Get = state.get) -> Source:
    """Trace the view's text through a model, and pick the view's kind and layer, or the nearest that is there."""
    trace = caches.trace(model, get("text"), get("pair").strip() or None)
    kind = get("kind")
    return Source(trace.query_tokens(kind), trace.key_tokens(kind), trace.layer(get("layer"), kind))
