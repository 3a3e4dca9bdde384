"""Files in blocks of lines: each line once, whatever bytes it has, and those that are left out named."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.corpus.blocks import (
    EMPTY_LINE,
    LONGEST,
    NAMED,
    NOT_UTF8,
    TOO_LONG,
    Problems,
    blocks,
    read_block,
    sources,
)  # fmt: skip
from attnviz.corpus.sentences import CUT, Reader
from attnviz.corpus.statistics import HeadStatistics, Place
from tests.unit.corpus.conftest import same


class Listening(Reader):
    """Keeps what it is given to read, in place of reading it."""

    def __init__(self) -> None:
        self.given: list[tuple[str, Place | None]] = []
        self.weights = ""

    def read(self, sentences: Sequence[str], places: Sequence[Place] | None = None, **_: object) -> HeadStatistics:
        self.given += zip(sentences, places or [None] * len(sentences), strict=True)
        return HeadStatistics(1, 1)


LINE = st.one_of(
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" ")),
    st.text("aé \r\t🐶", max_size=6).map(str.encode),
    st.integers(LONGEST - 2, 2 * LONGEST + 3).map(lambda length: b"x" * length),
)


@settings(max_examples=60)
@given(lines=st.lists(LINE, max_size=14), ends=st.booleans(), size=st.integers(1, 5))
def test_every_line_is_read_once_or_named(
    lines: list[bytes], ends: bool, size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    file = tmp_path_factory.mktemp("lines") / "one.txt"
    file.write_bytes(data)
    expected_lines = data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None]
    [source] = sources([file])
    assert (source.size, source.lines) == (len(data), len(expected_lines))
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    found = list(blocks([source], size))
    assert [one.number for one in found] == list(range(len(found)))
    assert b"".join(data[one.start : one.start + one.size] for one in found) == data
    assert all(one.lines <= size for one in found)
    reader, problems = Listening(), Problems()
    for one in reversed(found):
        problems.merge(read_block(reader, one).problems)
    texts, left_out = {}, Counter[str]()
    for number, line in enumerate(expected_lines, 1):
        if len(line.rstrip(b"\r")) > LONGEST:
            left_out[TOO_LONG] += 1
            continue
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            left_out[NOT_UTF8] += 1
            continue
        if text:
            texts[Place(0, number)] = text
        else:
            left_out[EMPTY_LINE] += 1
    assert {place: text for text, place in reader.given} == texts
    assert len(reader.given) == len(texts)
    assert problems.counts == left_out


def test_blocks_of_several_files_add_up_to_one_reading(reader: Reader, tmp_path: Path) -> None:
    texts = [
        "A dog barks at the gate.",
        ("word " * 600).strip(),
        "Nobody came.",
        "It rained on the roof all night long.",
        "Yes.",
    ]
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("\n".join(texts[:3]))
    two.write_text("\n".join(texts[3:]) + "\n")
    every = list(blocks(sources([one, two]), 2))
    assert [(block.file, block.first_line, block.lines) for block in every] == [(0, 1, 2), (0, 3, 1), (1, 1, 2)]
    read = [read_block(reader, block) for block in every]
    assert read[0].problems.named == [(Place(0, 2), CUT)]
    found = read[2].statistics
    found.merge(read[0].statistics)
    found.merge(read[1].statistics)
    places = [Place(0, 1), Place(0, 2), Place(0, 3), Place(1, 1), Place(1, 2)]
    expected = reader.nothing()
    for batch in (slice(0, 2), slice(2, 3), slice(3, 5)):
        expected.merge(reader.read(texts[batch], places[batch]))
    assert same(found, expected)


def test_a_file_that_may_not_be_quoted_gives_no_examples(reader: Reader, tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("A dog barks at the gate of the house.")
    two.write_text("The secret of the old house is that it has none.")
    read = [read_block(reader, block) for block in blocks(sources([one, two], [one]))]
    assert list(read[0].statistics.strongest.texts) == [Place(0, 1)]
    assert not read[1].statistics.strongest.texts
    assert read[1].statistics.sums["sentences"] == 1


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text("One.")
    with pytest.raises(ValueError, match=r"^a file is given twice, so its sentences would count twice$"):
        sources([file, tmp_path / "." / "one.txt"])
    with pytest.raises(FileNotFoundError):
        sources([tmp_path / "none.txt"])


def test_the_first_problems_are_named() -> None:
    found = Problems()
    for line in range(100, 0, -1):
        found.add(Place(0, line), NOT_UTF8)
    assert found.counts[NOT_UTF8] == 100
    assert [place.line for place, _ in found.named] == list(range(1, NAMED + 1))
