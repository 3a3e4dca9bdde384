"""From a view, as a link holds it, to the walk that it shows. No Streamlit: the app and the command line both ask here.

A view is a mapping of the keys of `attnviz.links.link`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from attnviz.export.walk import Subject
from attnviz.links.link import write_link
from attnviz.tokens import CharVocab, Tokens, WordPiece, WordTokenizer
from attnviz.toy.block import trace_toy
from attnviz.toy.config import MAX_TOKENS, ToyConfig
from attnviz.trace.walk import Walk

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel, Trace

View = Mapping[str, Any]

WALK_KEYS = ("text", "pair", "source", "model", "kind", "layer", "head", "tokenizer", "charset", "positions", "qkv",
             "heads", "head_size", "scale", "mask", "projection", "seed")  # fmt: skip
"""The keys that shape a walk, in the order in which its link writes them"""


def link_of(view: View, site: str) -> str:
    """Return the address of a walk on the page Step by step of this site; "" where no site is known."""
    return f"{site.rstrip('/')}/?{urlencode(write_link(view, WALK_KEYS))}" if site else ""


def toy_tokens(view: View) -> Tokens:
    """Cut a view's text with the toy's tokenizer. An uploaded vocabulary is not in a link; Shakespeare's stands in."""
    text, name = view["text"], view["tokenizer"]
    if name == "char":
        vocabulary = CharVocab.from_text(text) if view["charset"] == "text" else CharVocab.shakespeare()
        return vocabulary.tokenize(text, max_tokens=MAX_TOKENS)
    return (WordPiece() if name == "bert" else WordTokenizer()).tokenize(text, max_tokens=MAX_TOKENS)


def toy_config(view: View) -> ToyConfig:
    """Read the block's settings from a view."""
    return ToyConfig.of(view.__getitem__)


def toy_subject(view: View, tokens: Tokens, trace: Trace | None = None, *, site: str = "") -> Subject:
    """Return the toy's walk on these tokens.

    Raises:
        NoTokensError: there is no token.
        IndexError: a head that the toy does not have with these settings.
    """
    config = toy_config(view)
    trace = trace or trace_toy(tokens, config)
    layer = trace.layer(0)
    head, heads = view["head"], layer.heads
    if head >= heads:
        raise IndexError(f"head {head} is not there: the toy has heads 0 to {heads - 1} with these settings")
    walk = Walk(tokens.labels, tokens.labels, layer, head, trace.parts)
    return Subject(walk, tokens, f"toy, seed {config.seed} · head {head}", link_of(view, site))


def pretrained_subject(view: View, model: PretrainedModel, trace: Trace | None = None, *, site: str = "") -> Subject:
    """Return a model's walk on a view's text.

    Raises:
        NoTokensError: the tokenizer makes nothing of the text.
        IndexError: a kind, a layer or a head that the model does not have.
    """
    kind, layer, head = view["kind"], view["layer"], view["head"]
    trace = trace or model.trace(view["text"], view["pair"].strip() or None)
    shown = trace.layer(layer, kind)
    if head >= shown.heads:
        raise IndexError(f"head {head} is not there: this layer has heads 0 to {shown.heads - 1}")
    tokens = trace.query_tokens(kind)
    walk = Walk(tokens.labels, trace.key_tokens(kind).labels, shown, head)
    which = "" if len(trace.kinds) == 1 else f" · {'decoder to encoder' if kind == 'cross' else kind}"
    return Subject(walk, tokens, f"{model.name}{which} · layer {layer} · head {head}", link_of(view, site))
