"""Tokens: the text in numbered pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formulas.tree import Box, Relation, Symbol, Text
from attnviz.steps.step import Step
from attnviz.tokens import NO_ID

if TYPE_CHECKING:
    from attnviz.tokens import Tokens

_CODE = {
    "word": "hashes = [blake2b(word.encode(), digest_size=8).digest() for word in text.split()]\n"
    "ids = [int.from_bytes(digest) % 20_000 for digest in hashes]",
    "char": "ids = [vocabulary.find(character) for character in text]  # -1 where it is not in the vocabulary",
}


def _fact(tokens: Tokens) -> str:
    fact = f"Here {len(tokens)} tokens, from a vocabulary of {tokens.vocab_size:,}."
    return f"{fact} A character that is not in the vocabulary has no id." if NO_ID in tokens.ids else fact


STEP: Step[Tokens] = Step(
    name="tokens",
    title="Tokens",
    formula=lambda _: Relation("→", (Text("text"), Box(Text("tokens")), Symbol("X"))),
    notice=lambda _: (
        "Attention never sees letters or words, only these numbered pieces. Each becomes one row of every matrix that "
        "follows: row 0 is the first."
    ),
    code=lambda tokens: _CODE.get(tokens.tokenizer, "ids = tokenizer(text).input_ids"),
    fact=_fact,
    is_of_head=False,
)
