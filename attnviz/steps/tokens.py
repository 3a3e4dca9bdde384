"""What stands beside the first step, the tokens: the formula, what to notice, and the same in Python."""

from __future__ import annotations

FORMULA = r"\text{text} \;\rightarrow\; \boxed{\text{tokens}} \;\rightarrow\; X"
NOTICE = (
    "Attention never sees letters or words, only these numbered pieces. Each becomes one row of every matrix that "
    "follows: row 0 is the first."
)
_CODE = {
    "word": "hashes = [blake2b(word.encode(), digest_size=8).digest() for word in text.split()]\n"
    "ids = [int.from_bytes(digest) % 20_000 for digest in hashes]",
    "char": "ids = [vocabulary.find(character) for character in text]  # -1 where it is not in the vocabulary",
}


def code(tokenizer: str) -> str:
    """Return the lines of Python that make ids of a text with this tokenizer."""
    return _CODE.get(tokenizer, "ids = tokenizer(text).input_ids")
