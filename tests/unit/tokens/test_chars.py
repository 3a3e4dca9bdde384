"""Vocabularies of characters: Shakespeare's, a text's own, an uploaded file's; and words with hashed ids."""

from __future__ import annotations

import codecs
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.tokens import (
    BUCKETS,
    MAX_UPLOAD,
    NO_ID,
    BadUploadError,
    CharVocab,
    UnknownCharacterError,
    WordTokenizer,
    read_upload,
    repair,
)
from tests.unit.tokens.test_value import ANY_TEXT

SHAKESPEARE = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def test_shakespeare_has_its_65_characters_in_code_point_order() -> None:
    vocab = CharVocab.shakespeare()
    assert vocab.characters == tuple(sorted(set(SHAKESPEARE))) == tuple(SHAKESPEARE)
    assert len(vocab) == 65


def test_known_ids() -> None:
    vocab = CharVocab.shakespeare()
    assert vocab.encode("hii there") == [46, 47, 47, 1, 58, 46, 43, 56, 43]
    assert vocab.decode([46, 47, 47, 1, 58, 46, 43, 56, 43]) == "hii there"
    assert (vocab.encode("\n"), vocab.encode("z")) == ([0], [64])


def test_from_text_numbers_in_code_point_order() -> None:
    vocab = CharVocab.from_text("banana 🙂")
    assert vocab.characters == (" ", "a", "b", "n", "🙂")
    assert vocab.encode("nab") == [3, 1, 2]


def test_equal_characters_make_equal_vocabularies() -> None:
    assert CharVocab.from_text("abba") == CharVocab.from_text("ab")
    assert CharVocab.from_text("") == CharVocab(())


@given(ANY_TEXT)
def test_there_and_back(text: str) -> None:
    vocab = CharVocab.from_text(text)
    assert vocab.decode(vocab.encode(text)) == repair(text)


def test_an_unknown_character_is_named() -> None:
    with pytest.raises(UnknownCharacterError) as raised:
        CharVocab.shakespeare().encode("Good mornéng, é")
    assert (raised.value.character, raised.value.position) == ("é", 9)
    assert str(raised.value) == "not in the vocabulary of 65 characters: 'é' (U+00E9) at position 9"


def test_an_invisible_unknown_character_is_named_visibly() -> None:
    with pytest.raises(
        UnknownCharacterError, match=r"^not in the vocabulary of 65 characters: 'U\+0000' \(U\+0000\) at position 1$"
    ):
        CharVocab.shakespeare().encode("a\0")


def test_tokenize_marks_unknown_characters() -> None:
    tokens = CharVocab.shakespeare().tokenize("aé b")
    assert tokens.pieces == ("a", "é", " ", "b")
    assert tokens.ids == (39, NO_ID, 1, 40)
    assert tokens.unknown == (False, True, False, False)
    assert tokens.labels == ("a", "é", "␣", "b")
    assert (tokens.dropped, tokens.vocab_size, tokens.tokenizer, tokens.pair) == (0, 65, "char", None)
    assert CharVocab.shakespeare().decode(tokens.ids) == "a\ufffd b"


@given(ANY_TEXT, st.integers(0, 70))
def test_any_text_has_one_token_a_character(text: str, limit: int) -> None:
    tokens = CharVocab.shakespeare().tokenize(text, max_tokens=limit)
    assert len(tokens) + tokens.dropped == len(text)
    assert len(tokens) == min(limit, len(text))
    assert tuple(tokens.source(i) for i in range(len(tokens))) == tokens.pieces
    assert all(tokens.labels)
    assert [id_ == NO_ID for id_ in tokens.ids] == list(tokens.unknown)


@pytest.mark.parametrize("id_", [-2, 65, 1000])
def test_decode_refuses_ids_that_are_not_there(id_: int) -> None:
    with pytest.raises(ValueError, match=f"unknown id {id_}: the vocabulary has ids 0 to 64"):
        CharVocab.shakespeare().decode([1, id_])


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^max_tokens is -1; it must be at least 0$"):
        CharVocab.shakespeare().tokenize("a", max_tokens=-1)


def test_an_upload_becomes_a_vocabulary() -> None:
    assert CharVocab.from_bytes("żółw 🙂\n".encode()) == CharVocab.from_text("żółw 🙂\n")


def test_a_byte_order_mark_is_no_character() -> None:
    assert read_upload(codecs.BOM_UTF8 + b"ab") == "ab"


NOT_UTF8 = "which is not UTF-8: save it as UTF-8"
REFUSED = {
    "binary": (b"\x89PNG\r\n\x1a\n\0\0", "holds NUL bytes, so it is not text"),
    "latin-1": ("café".encode("latin-1"), f"has the byte 0xE9 at position 3, {NOT_UTF8}"),
    "bad after a mark": (codecs.BOM_UTF8 + b"a\xff", f"has the byte 0xFF at position 4, {NOT_UTF8}"),
    "cut in a character": ("a🙂".encode()[:3], f"has the byte 0xF0 at position 1, {NOT_UTF8}"),
    "encoded surrogate": (b"\xed\xa0\x80", f"has the byte 0xED at position 0, {NOT_UTF8}"),
    "utf-16": ("hello".encode("utf-16"), "is UTF-16: save it as UTF-8"),
    "utf-16 without a mark": ("hello".encode("utf-16-le"), "holds NUL bytes, so it is not text"),
    "empty": (b"", "is empty"),
    "only a mark": (codecs.BOM_UTF8, "is empty"),
    "too large": (b"a" * (6 * 2**20), "has 6.0 MB"),
    "just too large": (b"a" * (MAX_UPLOAD + 1), "has 1 byte more"),
}


@pytest.mark.parametrize(("data", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_uploads_are_refused_with_the_limit(data: bytes, why: str) -> None:
    with pytest.raises(BadUploadError) as raised:
        CharVocab.from_bytes(data)
    assert str(raised.value) == f"A vocabulary file is UTF-8 text of up to 5 MB; this one {why}."


def test_an_upload_of_just_the_limit_is_taken() -> None:
    assert MAX_UPLOAD == 5_242_880
    assert len(read_upload(b"a" * MAX_UPLOAD)) == MAX_UPLOAD
    assert read_upload(b"abc", limit=2**20) == "abc"
    with pytest.raises(BadUploadError, match=r"^A text is UTF-8 text of up to 2 MB; this one has 3\.5 MB\.$"):
        read_upload(b"a" * (7 * 2**19), "A text", 2 * 2**20)


KNOWN = {"the": 16590, "The": 6414, "cat": 5519, "é": 13743, "": 9876, "مرحبا": 1651, "🙂": 18135}
"""Links, slides and trained weights hold these ids: they may never change."""


@pytest.mark.parametrize(("word", "id_"), KNOWN.items())
def test_ids_never_change(word: str, id_: int) -> None:
    assert WordTokenizer().id(word) == id_


def test_ids_are_the_same_in_another_process() -> None:
    code = "from attnviz.tokens import WordTokenizer; print(WordTokenizer().id('the'), hash('the'))"
    printed = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert [id_ for id_, _ in printed] == ["16590", "16590"]
    assert printed[0][1] != printed[1][1]  # Python's own hash does change


def test_words_are_what_white_space_parts() -> None:
    tokens = WordTokenizer().tokenize("  The cat,\n\tthe\u00a0cat\u3000is  here. ")
    assert tokens.pieces == ("The", "cat,", "the", "cat", "is", "here.")
    assert tokens.offsets == ((2, 5), (6, 10), (12, 15), (16, 19), (20, 22), (24, 29))
    assert tokens.ids[0] == KNOWN["The"]
    assert tokens.ids[2] == KNOWN["the"]
    assert (tokens.vocab_size, tokens.tokenizer, tokens.dropped, tokens.pair) == (20_000, "word", 0, None)
    assert not any(tokens.unknown + tokens.special)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"], ids=ascii)
def test_no_word_no_token(text: str) -> None:
    assert len(WordTokenizer().tokenize(text)) == 0
    assert WordTokenizer.from_text(text).lexicon == {}


@given(ANY_TEXT, st.integers(0, 10))
def test_any_text(text: str, limit: int) -> None:
    tokens = WordTokenizer().tokenize(text, max_tokens=limit)
    words = repair(text).split()
    # re's \S counts the four separators U+001C..U+001F as white space, and so does str.split
    assert list(tokens.pieces) == words[:limit]
    assert tokens.dropped == len(words) - len(tokens)
    assert tuple(tokens.source(i) for i in range(len(tokens))) == tokens.pieces
    assert all(tokens.labels)
    assert all(0 <= id_ < BUCKETS for id_ in tokens.ids)


def test_decode_knows_the_words_of_its_text() -> None:
    tokenizer = WordTokenizer.from_text("the  cat\nsat the")
    ids = tokenizer.tokenize("the  cat\nsat the").ids
    assert tokenizer.decode(ids) == "the cat sat the"
    assert tokenizer.collisions == {}
    assert len(tokenizer.lexicon) == 3


def test_decode_is_honest_about_ids_that_it_never_saw() -> None:
    assert WordTokenizer.from_text("the cat").decode([KNOWN["The"], KNOWN["cat"]]) == "\ufffd cat"
    assert WordTokenizer().decode([KNOWN["the"]]) == "\ufffd"


def test_two_words_on_one_id_are_reported() -> None:
    tokenizer = WordTokenizer.from_text("aje abq aje xyz")
    assert tokenizer.collisions == {9345: ("aje", "abq")}
    assert tokenizer.decode(tokenizer.tokenize("abq aje").ids) == "aje aje"


def test_fewer_buckets_collide_more() -> None:
    tokenizer = WordTokenizer.from_text("a b c", buckets=1)
    assert tokenizer.collisions == {0: ("a", "b", "c")}
    assert tokenizer.tokenize("z").vocab_size == 1


def test_the_lexicon_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        WordTokenizer.from_text("a").lexicon[0] = ("b",)  # type: ignore[index]


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^buckets is 0; it must be at least 1$"):
        WordTokenizer(0)
    with pytest.raises(ValueError, match=r"^max_tokens is -1; it must be at least 0$"):
        WordTokenizer().tokenize("a", max_tokens=-1)
