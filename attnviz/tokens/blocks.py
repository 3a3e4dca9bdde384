"""Training examples of a language model: every context in a block of tokens, with the token that follows it."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.tokens.value import Tokens


def context_pairs(tokens: Tokens | Sequence[int], block_size: int) -> list[tuple[tuple[int, ...], int]]:
    """Return the (context, next id) pairs of the first block: `block_size` + 1 ids give `block_size` pairs.

    Contexts grow from one id to `block_size` ids. A shorter text of n tokens gives n - 1 pairs.

    Raises:
        ValueError: `block_size` is below 1.
    """
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}; it must be at least 1")
    ids = tuple(tokens.ids if isinstance(tokens, Tokens) else tokens)[: block_size + 1]
    return [(ids[:end], ids[end]) for end in range(1, len(ids))]
