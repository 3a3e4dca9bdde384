"""Pictures of a document: what a reader draws from the file alone is what the figures draw from the head."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from torch import Tensor

from attnviz.annotated_text import Mark, marks_of
from attnviz.attention import Mask
from attnviz.document import Document, document_of, document_of_layer, read, write
from attnviz.document.files import SAID
from attnviz.figures.steps import lay_out
from attnviz.formatting import number
from attnviz.formulas import mathml
from attnviz.links.link import STRETCH
from attnviz.pretrained import load
from attnviz.steps import steps_of, unavailable
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.walk import Walk
from tests.loaded import built_in_model
from tests.pictures import Matrices, board_picture, board_picture_of
from tests.toy import run_block, tokens_of
from tests.unit.families import BERT, opened, save_model

TOYS = {
    "default": ToyConfig(),
    "causal, no scale": ToyConfig(causal=True, scale="off", heads=5),
    "scale 1/8": ToyConfig(scale="0.125", head_size=16, positions="none"),
    "scale 0": ToyConfig(scale="0"),
    "no output projection": ToyConfig(scale="sqrt_c", projection=False, positions="random"),
    "identity": ToyConfig(qkv="identity"),
    "position mixing": ToyConfig(qkv="positions", causal=True, heads=3),
    "rotary": ToyConfig(positions="rotary", heads=3),
    "rotary, odd width": ToyConfig(positions="rotary", head_size=5, causal=True),
    "ALiBi": ToyConfig(positions="alibi", causal=True, cap=2.0),
    "buckets": ToyConfig(positions="buckets", heads=3),
}
FAMILIES = {"gpt2": "decoder", "t5": "decoder", "bart": "cross", "llama": "decoder", "opt": "decoder"}

NORMED = {
    "qwen3": lambda: tf.Qwen3Model(tf.Qwen3Config(**BERT, num_key_value_heads=2, head_dim=8)),
    "olmo2": lambda: tf.Olmo2Model(tf.Olmo2Config(**BERT, num_key_value_heads=2)),
    "cohere": lambda: tf.CohereModel(tf.CohereConfig(**BERT, num_key_value_heads=2, use_qk_norm=True)),
}
"""Their queries and keys have norms: of each head, of all heads together, and LayerNorms"""


def toy(config: ToyConfig = TOYS["default"], tokens: int = 5) -> Walk:
    return run_block(range(3, 3 + tokens), config).walk(0, 0)


def masked(cells: Tensor, **changes: Any) -> Walk:
    """Return a head of the toy, with 6 tokens and 2 heads, that has this mask."""
    walk = toy(tokens=6)
    return replace(walk, layer=replace(walk.layer, mask=Mask.recognise(cells), **changes))


def masks() -> dict[str, Walk]:
    drawn = torch.Generator().manual_seed(0)
    hidden_row = torch.rand(6, 6, generator=drawn) < 0.5
    hidden_row[2] = False
    added = torch.randn(2, 6, 6, generator=drawn)
    return {
        "padding": masked(torch.tensor([True] * 4 + [False] * 2).expand(6, 6)),
        "padding as numbers": masked(torch.tensor([0.0] * 4 + [-torch.inf] * 2).expand(6, 6)),
        "a hidden row": masked(hidden_row),
        "relative positions": masked(added),
        "relative positions and causal": masked(added.masked_fill(~torch.ones(6, 6).tril().bool(), -torch.inf)),
        "one mask for all heads": masked(added[:1]),
        "zeros": masked(torch.ones(6, 6).tril().bool(), query=torch.zeros(2, 6, 8)),
    }


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Walk]:
    """A head of many layers, the others of which are drawn too."""
    found = {name: toy(config) for name, config in TOYS.items()} | masks()
    found["one token"], found["12 tokens"] = toy(tokens=1), toy(ToyConfig(causal=True), tokens=12)
    found["no X"] = replace(found["default"], layer=replace(found["default"].layer, query_input=None, key_input=None))
    found |= {name: averages(tokens) for name, tokens in AVERAGES.items()}
    found |= {name: block(*of) for name, of in BLOCKS.items()}
    found["minilm"] = built_in_model().trace("The cat sat on the mat.", "Did it?").walk(3, 5)
    for name, make in NORMED.items():
        model = load(str(save_model(make(), tmp_path_factory.mktemp(name), name)))
        found[name] = model.trace("the cat sat on the mat").walk(1, 2)
    for name, kind in FAMILIES.items():
        model = opened(name)
        found[name] = model.trace("the cat sat on the mat", "the dog" if name in ("t5", "bart") else None).walk(
            1,
            2,
            kind,  # type: ignore[arg-type]
        )
    return found


def block(config: TransformerConfig, number: int) -> Walk:
    """Return a head of a toy transformer's attention, with the steps around it."""
    source, target = tokens_of(range(3, 8)), tokens_of(range(7, 13))
    return trace_transformer(source, target if config.architecture == "both" else None, config).walk_at(number, 0)


BLOCKS = {
    "block of an encoder": (TransformerConfig(), 1),
    "block of a decoder": (TransformerConfig("decoder", norm="pre", activation="gelu", bias=False), 1),
    "block with both attentions": (TransformerConfig("both", norm="pre", heads=4), 5),
    "attention to the encoder": (TransformerConfig("both", positions="lab"), 3),
}


def averages(tokens: int) -> Walk:
    return walk_to_attention(tokens_of(range(3, 3 + tokens)), ToyConfig())


AVERAGES = {"averages": 5, "averages of one token": 1, "averages of 64 tokens": 64}
"""How many tokens they have"""
ALL = (*TOYS, *masks(), "one token", "12 tokens", "no X", "minilm", *AVERAGES, *BLOCKS, *FAMILIES, *NORMED)


def plain(header: dict[str, Any]) -> dict[str, Any]:
    """Return a header without the ends of its colours."""
    return {**header, "panels": [{**panel, "low": None, "high": None} for panel in header["panels"]]}


def compare(document: Document, walk: Walk) -> None:
    """Compare the pictures of all steps of one head: words and places exactly, numbers up to torch's float32 sums."""
    for step in (name for name, one in steps_of(walk).items() if one.matrices):
        for stretch, choice in STRETCH.items():
            before = "scaled" if walk.layer.cap is None else "capped"
            last = before if walk.layer.position_bias is None else "biased"
            sources = {"biased": before, "masked": last}
            expected, numbers = board_picture(lay_out(walk, step, stretch=choice), walk.labels, sources)
            found, arrays = board_picture_of(document, step, walk.head, stretch=stretch)
            assert plain(found) == plain(expected)
            for ours, theirs in zip(found["panels"], expected["panels"], strict=True):
                for end in ("low", "high"):
                    assert ours[end] == pytest.approx(theirs[end], rel=1e-5, abs=1e-6), (step, ours["name"])
            assert arrays.keys() == numbers.keys()
            for panel, (matrix_number, array) in zip(found["panels"], arrays.items(), strict=True):
                assert array.dtype == np.float32
                of_largest = 1.0 if panel["scale"] == "weights" else panel["high"]
                np.testing.assert_allclose(
                    array, numbers[matrix_number], rtol=0, atol=1e-6 * of_largest, err_msg=panel["name"]
                )


@pytest.mark.parametrize("name", ALL)
def test_every_picture_of_a_head_can_be_drawn_from_its_document(walks: dict[str, Walk], name: str) -> None:
    compare(read(write(document_of(walks[name]))), walks[name])


@pytest.mark.parametrize("name", ALL)
def test_every_picture_of_all_heads_can_be_drawn_from_the_document_of_the_layer(
    walks: dict[str, Walk], name: str
) -> None:
    walk = walks[name]
    document = read(write(document_of_layer(walk)))
    assert document.header.heads == tuple(range(walk.layer.heads))
    for head in sorted({0, walk.head, document.header.heads[-1]}):
        compare(document, replace(walk, head=head))


@pytest.mark.parametrize("name", ALL)
def test_a_layers_texts_are_those_of_each_head_and_held_once_if_they_are_the_same(
    walks: dict[str, Walk], name: str
) -> None:
    walk = walks[name]
    heads = [replace(walk, head=head) for head in range(walk.layer.heads)]
    steps = document_of_layer(walk).header.steps
    known = steps_of(walk)
    assert [step.name for step in steps] == list(known)
    for said in steps:
        step = known[said.name]
        of = heads if step.matrices else [walk.query_tokens] * len(heads)
        for field in ("formula", "notice", "fact", "advice", "code"):
            make = getattr(step, field)
            texts = [mathml(make(one)) if field == "formula" else make(one) for one in of]
            held = getattr(said, field)
            assert held == (texts[0] if len(set(texts)) == 1 else tuple(texts)), (said.name, field)
        assert said.missing == unavailable(step, walk)
        assert said.title == step.title_of(walk.kind, walk.layer_index)
        fields = ("is_by_cell", "can_be_covered", "can_be_stretched")
        assert [getattr(said, one) for one in fields] == [getattr(step, one) for one in fields]


def test_a_document_of_some_heads_holds_the_concatenation_of_all() -> None:
    walk = toy(ToyConfig(heads=4))
    document = document_of_layer(walk, (1, 3))
    assert (document.header.heads, document.header.heads_in_layer) == ((1, 3), 4)
    assert "concat" in document.arrays
    assert "concat" not in document_of_layer(walk).arrays
    assert {name.partition("/")[2] for name in document.arrays} == {"", "1", "3"}
    for head in (1, 3):
        compare(document, replace(walk, head=head))


def test_masks_are_held_once_unless_heads_have_their_own(walks: dict[str, Walk]) -> None:
    kinds = {name: document_of_layer(walk) for name, walk in walks.items()}
    held = {name: [array for array in kinds[name].arrays if re.match("mask", array)] for name in kinds}
    once = ("padding", "padding as numbers", "a hidden row", "one mask for all heads")
    own = {"relative positions": 2, "relative positions and causal": 2}
    assert {name: names for name, names in held.items() if names} == {
        **{name: ["mask"] for name in once},
        **{name: [f"mask/{head}" for head in range(heads)] for name, heads in own.items()},
    }
    assert kinds["padding as numbers"].arrays["mask"].dtype == bool
    assert kinds["one mask for all heads"].arrays["mask"].dtype == np.float32


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
