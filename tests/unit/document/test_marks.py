"""What words of a document's texts name: written, read back, and in the picture beside which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
import torch

from attnviz.annotated_text import Mark, marks_of
from attnviz.document import Document, document_of_layer, read, write
from attnviz.document.header import SAID
from attnviz.formatting import number
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.loaded import built_in_model
from tests.pictures import Matrices
from tests.toy import run_block


def walk_toy(config: ToyConfig, pieces: Sequence[str] = "abcde") -> Walk:
    return run_block(range(1, len(pieces) + 1), config, pieces).walk(0, 0)


WALKS = {
    "toy": lambda: walk_toy(ToyConfig()),
    "causal": lambda: walk_toy(ToyConfig(causal=True)),
    "identity": lambda: walk_toy(ToyConfig(qkv="identity", projection=False)),
    "positions": lambda: walk_toy(ToyConfig(qkv="positions")),
    "MiniLM": lambda: built_in_model().trace("My sister bought a bicycle because she wanted to ride it.").walk(3, 1),
}


def marks_in(document: Document) -> list[tuple[str, str, int, str, Mark]]:
    """Return all marks with the step, the text's name, the head, and the words."""
    found = []
    for step in document.header.steps:
        for name in SAID:
            texts = getattr(step, name)
            several = [texts] * len(document.header.heads) if isinstance(texts, str) else texts
            for head, text in zip(document.header.heads, several, strict=True):
                found += [(step.name, name, head, text[one.start : one.end], one) for one in marks_of(text)]
    return found


@pytest.fixture(params=WALKS)
def document(request: pytest.FixtureRequest) -> Document:
    walk: Walk = WALKS[request.param]()
    return document_of_layer(walk)


def test_marks_are_written_and_read_back(document: Document) -> None:
    again = read(write(document))
    assert marks_in(again) == marks_in(document) != []
    assert again.header == document.header


def test_words_name_what_the_picture_beside_them_shows(document: Document) -> None:
    of = {step.name: {panel.name for panel in step.picture.panels} for step in document.header.steps if step.picture}
    for step, _, head, words, mark in marks_in(document):
        target = mark.target
        assert not target.matrix or target.matrix in of[step], (step, words)
        assert target.head in (None, head), (step, words)
        assert len(words.split()) <= 6, "a whole sentence in colour would not be quiet"


def test_a_number_that_names_a_cell_is_that_of_the_cell(document: Document) -> None:
    seen = set()
    for step, _, head, words, mark in marks_in(document):
        target = mark.target
        if target.row is None or target.column is None:
            continue
        value = float(Matrices(document, head).get(target.matrix)[target.row, target.column])
        percent = words.endswith(" %")
        assert words == (f"{number(100 * value, 0)} %" if percent else number(abs(value))), (step, head)
        seen.add(step)
    assert seen == {"scaled", "weights"}


def test_a_token_that_occurs_twice_is_named_by_its_position() -> None:
    document = document_of_layer(walk_toy(ToyConfig(), ["the", "<b>cat</b>", "and", "the", "[x](row=9)"]))
    labels = document.header.query.labels
    facts = chain.from_iterable(
        marks_of(text) for step in document.header.steps if step.name == "weights" for text in step.fact
    )
    rows = [mark.target.row for mark in facts if mark.target.row is not None and mark.target.column is None]
    weights = [torch.from_numpy(Matrices(document, head).get("weights")).fill_diagonal_(-1) for head in (0, 1)]
    assert rows == [int(one.argmax()) // len(labels) for one in weights]
