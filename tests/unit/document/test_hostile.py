"""Documents from elsewhere: refused in one sentence, and never anything but that."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.document import Document, DocumentError, read, write
from tests.documents import changed, hostile, random_document

HOSTILE = hostile()
GOOD = changed(lambda *_: None)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_document_is_refused_in_one_sentence(name: str) -> None:
    data, sentence = HOSTILE[name]
    with pytest.raises(DocumentError) as refusal:
        read(data)
    assert re.fullmatch(r"[^\n]{10,200}\.", str(refusal.value))
    assert sentence == str(refusal.value)


def test_more_bytes_than_a_document_has_are_not_read() -> None:
    with pytest.raises(DocumentError, match="The file has 134,217,729 bytes"):
        read(bytes(134_217_729))


def test_what_hostile_files_are_made_of_is_a_document() -> None:
    assert isinstance(read(GOOD), Document)


@settings(max_examples=500)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes_are_refused_or_read(flips: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for at, bits in flips:
        data[at] ^= bits
    with suppress(DocumentError):
        read(write(read(bytes(data))))


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    for body in (data, len(data).to_bytes(8, "little") + data, GOOD[:8] + data, GOOD + data):
        if body != GOOD:
            with pytest.raises(DocumentError):
                read(body)


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_file_cut_anywhere_is_refused(start: int, length: int) -> None:
    data = write(random_document(3))
    start, length = start % len(data), 1 + length % len(data)
    with pytest.raises(DocumentError):
        read(data[:start] + data[start + length :])
