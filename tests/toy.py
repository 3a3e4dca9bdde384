"""The toy on token ids alone, for tests that need no text."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.tokens import Tokens
from attnviz.toy.block import trace_toy
from attnviz.toy.config import ToyConfig
from attnviz.trace.trace import Trace


def tokens_of(ids: Sequence[int], pieces: Sequence[str] | None = None) -> Tokens:
    """Make tokens with these ids, which stand for no text."""
    ids = tuple(ids)
    pieces = tuple(map(str, ids)) if pieces is None else tuple(pieces)
    no, none = (False,) * len(ids), (0,) * len(ids)
    return Tokens("", None, pieces, ids, ((0, 0),) * len(ids), none, no, no, 0, 1, "ids")


def run_block(ids: Sequence[int], config: ToyConfig, pieces: Sequence[str] | None = None) -> Trace:
    """Run the toy on token ids."""
    return trace_toy(tokens_of(ids, pieces), config)
