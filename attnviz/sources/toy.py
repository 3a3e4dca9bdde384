"""The source "toy": a block of attention with the view's settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from attnviz.sources.source import Get, Resources, Source
from attnviz.tokens import CharVocab, Tokens, WordPiece, WordTokenizer
from attnviz.toy.config import MAX_AVERAGED, MAX_TOKENS, ToyConfig

if TYPE_CHECKING:
    from attnviz.toy.block import Toy
    from attnviz.trace.walk import Walk

KEYS = ("head", "tokenizer", "charset", "positions", "model_width", "embedding", "qkv", "heads", "head_size", "std_q",
        "std_k", "std_v", "scale", "mask", "padding", "mask_value", "projection", "projection_bias",
        "seed")  # fmt: skip


@cache
def wordpiece() -> WordPiece:
    """Return BERT's tokenizer. It is immutable, so all sessions share it."""
    return WordPiece()


def tokenizer(get: Get, resources: Resources, *, limit: int = MAX_TOKENS) -> Callable[[str], Tokens]:
    """Return the view's tokenizer, which truncates texts to `limit` tokens."""
    chosen: WordPiece | WordTokenizer | CharVocab
    if get("tokenizer") == "char":
        chosen = resources.characters(get)
    else:
        chosen = wordpiece() if get("tokenizer") == "bert" else WordTokenizer()
    return partial(chosen.tokenize, max_tokens=limit)


def open_toy(get: Get, resources: Resources) -> Toy:
    """Return the toy with the view's settings."""
    from attnviz.toy.block import Toy

    return Toy(ToyConfig.of(get), tokenizer(get, resources))


def averages_of(get: Get, resources: Resources) -> Walk:
    """Return the walk from averages to attention on the first tokens of a view's text.

    It has the settings that the page offers; the view's other settings are ignored.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token.
    """
    from attnviz.toy.block import walk_to_attention

    tokens = tokenizer(get, resources, limit=MAX_AVERAGED)(get("text"))
    return walk_to_attention(tokens, ToyConfig(positions=get("positions"), seed=get("seed")))


def caution(get: Get) -> str:
    """Say that the weights have learned nothing."""
    return f"The toy's weights are drawn from seed {get('seed')} and have learned nothing."


TOY = Source(
    "toy",
    "Toy",
    KEYS,
    open_toy,
    entry="the toy",
    only_layer="the toy block",
    help="one block with weights drawn from a seed. It has learned nothing, and all of its settings are yours.",
    about=lambda get: f"Toy weights of seed {get('seed')}, which have learned nothing.",
    caution=caution,
)
