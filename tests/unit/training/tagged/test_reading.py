"""A user's file of words and tags: what is read, and the sentence about one that is refused."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.training.tagged import files
from attnviz.training.tagged.files import (
    LONGEST,
    MOST_BYTES,
    MOST_SENTENCES,
    MOST_WORDS,
    TaggedError,
    made_of,
    read_tagged,
    tagged_files,
)

GOOD = b"the DET\nold ADJ\n\nshe\tPRON\nplans   VERB\n"


def refusal(data: bytes, which: str = "training") -> str:
    with pytest.raises(TaggedError) as caught:
        read_tagged(data, which)
    return str(caught.value)


def test_words_tags_and_sentences_are_read() -> None:
    found = read_tagged(GOOD, "training", "mine.txt")
    assert found.sentences == ((("the", "DET"), ("old", "ADJ")), (("she", "PRON"), ("plans", "VERB")))
    assert found.lines == {"DET": 1, "ADJ": 2, "PRON": 4, "VERB": 5}
    assert (found.name, found.characters) == ("mine.txt", len(GOOD))
    assert found.sha256 == hashlib.sha256(GOOD).hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + GOOD,
        b"\n\n \t\n" + GOOD + b"\n\n\n",
        GOOD.rstrip(),
        GOOD.replace(b"old ADJ", b"  old \t ADJ  "),
    ],
)
def test_line_ends_blank_lines_and_spaces_make_no_difference(data: bytes) -> None:
    assert read_tagged(data, "test").sentences == read_tagged(GOOD, "test").sentences


def test_other_white_space_is_part_of_a_word() -> None:
    assert read_tagged("10\u00a0000 NUM\na\u2028b X\n".encode(), "test").sentences == (
        (("10\u00a0000", "NUM"), ("a\u2028b", "X")),
    )


RULE = "a line has a word and its tag, with a tab or spaces between them."


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"the DET\nold\n", f"Line 2 of the training file has one column, “old”: {RULE}"),
        (b"1 the the DET\n", f"Line 1 of the training file has 4 columns: {RULE}"),
        (b"a " * 8, f"Line 1 of the training file has 8 columns: {RULE}"),
        (b"a " * 9, f"Line 1 of the training file has more than 8 columns: {RULE}"),
        (b"a " * 5000, f"Line 1 of the training file has more than 8 columns: {RULE}"),
        (b"\n \n\t\n", f"The training file has no sentences: {RULE}"),
        (b"", "A training file is UTF-8 text of up to 1 MB; this one is empty."),
        (b"a X\nb\0 Y", "A training file is UTF-8 text of up to 1 MB; this one holds NUL bytes, so it is not text "
         "(line 2)."),
        (b"a X\r\nb Y\r\n\xe9 Z", "A training file is UTF-8 text of up to 1 MB; this one has the byte 0xE9 at position "
         "10, which is not UTF-8: save it as UTF-8 (line 3)."),
        (b"a X\n" + b"b" * (LONGEST + 1) + b" Y", "Line 2 of the training file has a word of 61 characters; it can "
         "have 60."),
        (b"a " + b"X" * (LONGEST + 1), "Line 1 of the training file has a tag of 61 characters; it can have 60."),
        (b"a" * LONGEST + b" " + b"X" * (LONGEST + 1), "Line 1 of the training file has a tag of 61 characters; it can "
         "have 60."),
        (b"a X\n\n" + b"a X\n" * (MOST_WORDS + 1), "Line 131 of the training file is word 129 of its sentence, which "
         "can have 128: a blank line ends a sentence."),
        (b"a X\n\n" * (MOST_SENTENCES + 1), "Sentence 20,001 of the training file ends at line 40,001: a file can have "
         "20,000 sentences."),
        (b"a X\n" * (MOST_BYTES // 4) + b"b Y",
         "A training file is UTF-8 text of up to 1 MB; this one has 3 bytes more."),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_with_its_line(data: bytes, said: str) -> None:
    assert refusal(data) == said


def test_two_lines_too_many_sentences_end_where_they_end() -> None:
    data = b"a X\n\n" * MOST_SENTENCES
    assert len(read_tagged(data, "test").sentences) == MOST_SENTENCES


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_read_or_refused_in_one_sentence(data: bytes) -> None:
    try:
        found = read_tagged(data, "test")
    except TaggedError as why:
        said = str(why)
        assert said.endswith(".")
        assert "\n" not in said
        assert len(said) < 300
    else:
        assert found.sentences
        assert all(
            word and tag and not set(word + tag) & set(" \t\r\n") for one in found.sentences for word, tag in one
        )


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0"), min_size=1, max_size=8)


@given(st.lists(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5), min_size=1, max_size=5))
def test_what_is_written_is_read_again(sentences: list[list[tuple[str, str]]]) -> None:
    text = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in one) for one in sentences)
    if text.startswith("\ufeff"):
        return  # a byte order mark
    assert read_tagged(text.encode(), "test").sentences == tuple(map(tuple, sentences))


def refused(train: bytes, test: bytes) -> str:
    with pytest.raises(TaggedError) as caught:
        tagged_files(train, test)
    return str(caught.value)


def test_what_two_files_lack_together_is_named() -> None:
    missing = "Line 3 of the test file has the tag “Z”, which the training file lacks: no model can learn it."
    assert refused(b"a X\nb Y", b"a X\n\nc Z\nd W") == missing
    assert refused(b"a X\nb X", b"a X") == "The training file has one tag only, “X”, so there is nothing to learn."
    many = b"".join(b"a T%d\n\n" % number for number in range(101))
    assert refused(many, b"a T1") == "Line 201 of the training file has the tag “T100”, the 101st: there can be 100."


def test_too_many_different_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.training.tagged.files.MOST_DIFFERENT", 2)
    assert refused(b"a X\nb Y\nc Y\n", b"a X") == (
        "The training file has 3 different words; it can have 2: use fewer of its sentences."
    )


def test_the_bound_of_different_words_is_that_of_a_models_file() -> None:
    from attnviz.trained.files import LARGEST_VOCABULARY
    from attnviz.training.tagged.files import NO_WORDS

    assert files.MOST_DIFFERENT + len(NO_WORDS) == LARGEST_VOCABULARY


def test_reading_twice_gives_equal_files() -> None:
    one, other = (made_of(read_tagged(GOOD, "training"), read_tagged(GOOD, "test")) for _ in range(2))
    assert one.digest == other.digest
    assert one.digest != tagged_files(GOOD, GOOD + b"\n").digest
