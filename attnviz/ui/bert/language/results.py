"""What the first language model of the view makes of its text, once for all sessions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from attnviz.bert.blocks import Guesses, Setup, Stack, draw_layers, embed, guess, moved, run
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.tokens import Tokens
from attnviz.trace.layer import LinearMap
from attnviz.ui import state
from attnviz.ui.bert.rows import last_of_text
from attnviz.ui.caches import result

RUN_BYTES = 48 * 2**20
"""Four texts of 512 tokens through six blocks, or hundreds of sentences"""
MOVED_BYTES = 2**20
"""Of 500 texts of 512 tokens"""


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A text through the blocks, and what comes out."""

    stack: Stack
    guesses: Guesses

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.stack.nbytes + self.guesses.nbytes


@dataclass(frozen=True, slots=True)
class Change:
    """Another token in place of the text's last word."""

    place: int
    token: int


def setup_of() -> Setup:
    """Return the model that the view describes."""
    return Setup(state.get("lm_x"), state.get("lm_blocks"), state.get("seed"), state.get("lm_mask"))


def made_of(model: BuiltInModel, tokens: Tokens, setup: Setup) -> Made:
    """Return what the blocks make of a text."""
    return result("language", RUN_BYTES, (setup, tokens.ids), partial(_make, model, tokens, setup))


def change_of(model: BuiltInModel, tokens: Tokens, other: str) -> Change | None:
    """Return the change of the text's last word, or its last piece, into another; None if that is not one token."""
    read = model.tokenize(other)
    own = [place for place in range(len(read)) if not read.special[place]]
    return Change(last_of_text(tokens), read.ids[own[0]]) if len(own) == 1 else None


def moved_by(model: BuiltInModel, tokens: Tokens, setup: Setup, change: Change) -> Tensor:
    """Return by how much a logit of each row changes at most, (T,)."""

    def make() -> Tensor:
        ids = [change.token if place == change.place else one for place, one in enumerate(tokens.ids)]
        states = [
            run(embed(model, read, tokens.segments, setup.x), _layers(model, setup), causal=setup.causal).hidden
            for read in (tokens.ids, ids)
        ]
        return moved(states[0], states[1], model.bert.embeddings.token.weight)

    return result("language, moved", MOVED_BYTES, (setup, tokens.ids, change), make)


def _make(model: BuiltInModel, tokens: Tokens, setup: Setup) -> Made:
    stack = run(embed(model, tokens.ids, tokens.segments, setup.x), _layers(model, setup), causal=setup.causal)
    return Made(stack, guess(stack.hidden, model.bert.embeddings.token.weight))


def _layers(model: BuiltInModel, setup: Setup) -> tuple[LinearMap, ...]:
    return draw_layers(setup.seed, setup.blocks, model.description.width)
