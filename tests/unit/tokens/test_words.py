"""Words with hashed ids."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.tokens import BUCKETS, WordTokenizer, repair
from tests.unit.tokens.test_value import ANY_TEXT

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
