"""Texts whose words name parts of a picture: how an author writes them, how they are joined, and what is refused."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.annotated_text import AnnotatedText, Mark, MarkError, Target, annotated, marks_of, named


def test_a_marked_text_is_plain_to_all_that_reads_it() -> None:
    text = annotated('The row [the row "it"](row=11) puts [[CLS] 0.97](row=11 column=5) on [V](matrix=value).')
    assert text == 'The row the row "it" puts [CLS] 0.97 on V.'
    assert list(text.pieces()) == [
        ("The row ", None), ('the row "it"', Target(row=11)), (" puts ", None),
        ("[CLS] 0.97", Target(row=11, column=5)), (" on ", None), ("V", Target(matrix="value")), (".", None),
    ]  # fmt: skip
    assert [marks_of(one) for one in (copy.deepcopy(text), pickle.loads(pickle.dumps(text)))] == [text.marks] * 2
    assert marks_of(f"{text}") == ()


@pytest.mark.parametrize(
    "source", ["[l](http://e.example)", "[x](see below)", "a[0](1)", "[](row=1)", "[a] (row=1)", "]([", "[", ""]
)
def test_brackets_of_other_texts_stay(source: str) -> None:
    assert (annotated(source), annotated(source).marks) == (source, ())


def test_a_backslash_keeps_a_mark_as_it_is_written() -> None:
    assert annotated(r"\[a](row=1) [b](row=2)") == "[a](row=1) b"


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("rows=1", "“rows=1” is none of row=, column=, matrix=, part=, layer=, head=, item=, step= with a value."),
        ("row=", "“row=” is none of"),
        ("row=1 it", "“it” is none of"),
        ("row=-1", "“-1” is not a position, counted from 0."),
        ("row=it", "“it” is not a position, counted from 0."),
        ("row=٣", "“٣” is not a position"),
        ("row=1 row=2", "It has row twice."),
        ("part=middle", "“middle” is not a part of a matrix: hidden, diagonal, largest, smallest are."),
        ("part=hidden row=1", "The part “hidden” is not one of a row or a column."),
        ("part=largest column=1", "The part “largest” is not one of a row or a column."),
        ("layer=1", "A layer alone names no part of a picture: give its head, too."),
    ],
)
def test_what_names_nothing_is_refused_in_a_sentence(mark: str, why: str) -> None:
    with pytest.raises(MarkError) as refused:
        annotated(f"See [this]({mark}).")
    assert str(refused.value).startswith(f"In “[this]({mark})”: {why}")


@given(st.text(max_size=20), st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_any_token_is_joined_as_it_is(before: str, token: str, after: str) -> None:
    """A token may hold what an author would write a mark with."""
    text = AnnotatedText.of(before, named(token, row=3), after)
    assert text == before + token + after
    assert text.marks == (Mark(len(before), len(before) + len(token), Target(row=3)),)
    assert AnnotatedText.of("😀", text).marks[0].start == len(before) + 1


@given(st.text(st.sampled_from("[]()\\row=1 a"), max_size=40))
def test_whatever_is_typed_is_read_or_refused(source: str) -> None:
    try:
        text = annotated(source)
    except MarkError as why:
        assert str(why).endswith(".")
        return
    assert "".join(piece for piece, _ in text.pieces()) == text


def test_sentences_are_joined_with_their_marks_and_empty_ones_are_left_out() -> None:
    joined = AnnotatedText.joined(["", annotated("See [this](row=3)."), "", "Plain.", annotated("[That](row=4).")])
    assert joined == "See this. Plain. That."
    assert [(joined[mark.start : mark.end], mark.target.row) for mark in joined.marks] == [("this", 3), ("That", 4)]
    assert AnnotatedText.joined(["", ""]) == ""


def test_a_mark_names_something() -> None:
    with pytest.raises(MarkError, match="names nothing"):
        Target()
    assert [Target(row=0).row, Target(column=0).column, Target(head=0).head] == [0, 0, 0]
