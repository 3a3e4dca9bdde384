"""Texts in sentences: prose, wrapped prose, lists, other scripts, and whatever else is pasted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.bert import search
from attnviz.bert.search import LONGEST, MOST_SENTENCES, built_in, split
from attnviz.files import FOLDER

CASES = {
    "abbreviations": (
        "Dr. Smith met Mr. Jones at 3 p.m. on Jan. 5th. They talked, e.g. about fig. 3. It cost 3.50 euros.",
        ["Dr. Smith met Mr. Jones at 3 p.m. on Jan. 5th.", "They talked, e.g. about fig. 3.", "It cost 3.50 euros."],
    ),
    "initials": (
        "J. R. R. Tolkien wrote it. Version 2.0 is out!",
        ["J. R. R. Tolkien wrote it.", "Version 2.0 is out!"],
    ),
    "quotes": ("“We left.” Then he said: ‘Go!’ Nobody went.", ["“We left.”", "Then he said: ‘Go!’", "Nobody went."]),
    "question in a sentence": ('"Is it true?" he asked. She left.', ['"Is it true?" he asked.', "She left."]),
    "ellipses": ("Wait... what? I don't know… Maybe.", ["Wait... what?", "I don't know… Maybe."]),
    "addresses": ("See https://example.com/a.b?x=1. Bye.", ["See https://example.com/a.b?x=1.", "Bye."]),
    "Japanese": ("今日は雨です。明日は晴れるでしょう！はい。", ["今日は雨です。", "明日は晴れるでしょう！", "はい。"]),
    "Hindi": ("यह एक वाक्य है। यह दूसरा है।", ["यह एक वाक्य है।", "यह दूसरा है।"]),
    "Arabic": ("هل هذا صحيح؟ نعم. هذه جملة أخرى.", ["هل هذا صحيح؟", "نعم.", "هذه جملة أخرى."]),
    "wrapped prose": (
        "It was a dark\r\nand stormy night. He\r\nran home.\r\n\r\nNobody saw",
        ["It was a dark and stormy night.", "He ran home.", "Nobody saw"],
    ),
    "a list": ("Shopping:\n- Milk\n- 2 eggs\n\n***\nDone", ["Shopping:", "- Milk", "- 2 eggs", "Done"]),
    "no sentence": (" \n\n\t---\n...\n\x00\x01", []),
    "NUL": ("One\x00two. Three.", ["One two.", "Three."]),
    "emoji": ("🐶\n🐱!", ["🐶", "🐱!"]),
    "a lone surrogate": ("One \ud800. Two.", ["One \ufffd.", "Two."]),
    "empty": ("", []),
}


@pytest.mark.parametrize("case", CASES)
def test_texts_are_split_into_sentences(case: str) -> None:
    text, expected = CASES[case]
    assert list(split(text).sentences) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One\ntwo\nThree\nFour", 1),  # one of three lines goes on in lower case
        ("One\ntwo\nThree\nFour\nFive", 5),  # one of four
        ("One\nTwo", 2),
        ("One\n(two", 1),
    ],
)
def test_lines_are_wrapped_prose_if_a_third_of_them_goes_on_in_lower_case(text: str, count: int) -> None:
    assert len(split(text)) == count


def test_a_sentence_of_just_the_longest_is_whole() -> None:
    assert [len(one) for one in split("x" * LONGEST).sentences] == [LONGEST]
    assert split("x" * (LONGEST - 3) + " yz").sentences == ("x" * (LONGEST - 3) + " yz",)
    words = "x" * (LONGEST - 2) + " yz"
    assert split(words).sentences == tuple(words.split())
    assert split("a.\n" * 3).left_out == 0


def test_the_built_in_text_has_a_sentence_a_line() -> None:
    lines = (FOLDER / "assets" / "bert" / "sentences.txt").read_text(encoding="utf-8").split("\n")
    assert list(built_in().sentences) == [line for line in lines if line]
    assert len(built_in()) == len(set(built_in().sentences)) == 180


def test_a_long_sentence_is_cut_at_a_space_and_nothing_is_lost() -> None:
    words = [f"word{n}" for n in range(5000)]
    found = split(" ".join(words)).sentences  # of several blocks
    assert all(len(one) <= LONGEST for one in found)
    assert sum(len(one) < LONGEST - 10 for one in found) <= len(" ".join(words)) / search.BLOCK + 1
    assert " ".join(found).split() == words
    assert [len(one) for one in split("x" * (2 * LONGEST + 5)).sentences] == [LONGEST, LONGEST, 5]


def test_a_text_of_a_megabyte_on_one_line() -> None:
    text = "The cat sat. " * 80_000
    found = split(text)
    assert len(found) == MOST_SENTENCES and found.left_out == 80_000 - MOST_SENTENCES
    assert set(found.sentences) == {"The cat sat."}


def test_unbalanced_quotation_marks_are_no_burden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sentencex, time grows with the square of them: blocks bound it."""
    longest = []

    def segment(language: str, text: str) -> list[str]:
        longest.append(len(text))
        return [text]

    monkeypatch.setattr(search.sentencex, "segment", segment)
    split('"(“ ' * 100_000)
    assert max(longest) <= search.BLOCK


@given(st.text(max_size=300))
def test_any_text_gives_its_own_characters(text: str) -> None:
    found = split(text)
    assert all(one == " ".join(one.split()) and 0 < len(one) <= LONGEST for one in found.sentences)
    kept = "".join("".join(found.sentences).split())
    assert set(kept) <= {*text, "\ufffd"}
    assert split(text).digest == found.digest
    alphanumeric = [one for one in "".join(text.split()) if one.isalnum()]
    assert [one for one in kept if one.isalnum()] == alphanumeric
