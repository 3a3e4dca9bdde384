"""What a document may just be and what it may not; documents from elsewhere are refused in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.attention import Mask
from attnviz.document import Document, DocumentError, document_of, document_of_layer, read, write
from attnviz.document import files as document_files
from attnviz.document.texts import _of_settings
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.trace.walk import Walk
from tests.documents import changed, document, hostile, random_document
from tests.toy import run_block, tokens_of
from tests.unit.toy.test_transformer import run


def of_size(tokens: int = 2, heads: int = 2, **fields: Any) -> Document:
    ones = np.ones((tokens, 1), np.float32)
    made = document(1, dict.fromkeys(("query/0", "key/0", "value/0"), ones[:1]))
    axis = replace(made.header.query, labels=("a",) * tokens)
    header = replace(made.header, query=axis, key=axis, heads_in_layer=heads, **fields)
    return Document(header, dict.fromkeys(made.arrays, ones))


@pytest.mark.parametrize(
    ("most", "more", "why"),
    [
        ({"tokens": 4096}, {"tokens": 4097}, "header.query has 4,097 labels; a document has 1 to 4,096."),
        ({"heads": 1024}, {"heads": 1025}, "header.heads_in_layer is not from 1 to 1,024."),
        ({"heads": 1}, {"heads": 0}, "header.heads_in_layer is not from 1 to 1,024."),
        ({"scale": -3.0}, {"scale": float("nan")}, "header.scale is not finite."),
    ],
)
def test_a_document_may_have_as_much_as_is_allowed_and_no_more(
    most: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    assert isinstance(of_size(**most), Document)
    with pytest.raises(DocumentError) as refused:
        of_size(**more)
    assert str(refused.value) == why


def test_a_file_may_have_as_many_bytes_as_are_allowed_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(of_size())
    header = int.from_bytes(data[:8], "little")
    assert header % 8 == 0
    for name, size, why in (
        ("MAX_BYTES", len(data), f"The file has {len(data):,} bytes; a document has at most {len(data) - 1:,}."),
        (
            "MAX_HEADER_BYTES",
            header,
            f"The file's header has {header:,} bytes; a document's has at most {header - 1:,}.",
        ),
    ):
        monkeypatch.setattr(document_files, name, size)
        read(data)
        monkeypatch.setattr(document_files, name, size - 1)
        with pytest.raises(DocumentError) as refused:
            read(data)
        assert str(refused.value) == why
        monkeypatch.undo()
    for short in (data[: 8 + header - 1], data[:8], data[:7]):
        with pytest.raises(DocumentError, match="not a safetensors file"):
            read(short)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"concat": (2, 8), "W_output": (8, 5), "output": (2, 5)}, ""),
        ({"concat": (2, 4)}, "Array concat is 2 × 4; it must be 2 × 8."),  # 2 heads of 4 numbers
        ({"output": (2, 5), "b_output": (6,)}, "Array output is 2 × 5; it must be 2 × 6."),
        ({"embeddings_k": (2, 7), "W_key/0": (7, 4), "W_value/0": (7, 4)}, ""),
        ({"embeddings_k": (2, 7), "W_key/0": (3, 4)}, "Array W_key/0 is 3 × 4; it must be 7 × 4."),
        ({"W_key/0": (7, 4)}, "Array W_key/0 is 7 × 4; it must be 3 × 4."),
        ({"query/1": (2, 4)}, "The document has an array with an unknown name."),
        ({"mask/0": (2, 2)}, ""),
        ({"U_query/0": (2, 2)}, ""),
        ({"U_query/0": (2, 3)}, "Array U_query/0 is 2 × 3; it must be 2 × 2."),
        ({"logits": (2, 3), "probabilities": (2, 4), "logits_and_rest": (2, 4)}, ""),
        ({"logits": (2, 3), "W_vocabulary": (3, 4)}, "Array logits is 2 × 3; it must be 2 × 4."),
    ],
)
def test_axes_of_one_name_have_one_length(arrays: dict[str, tuple[int, ...]], why: str) -> None:
    data = changed(lambda _, given: given.update({name: np.ones(one, np.float32) for name, one in arrays.items()}))
    if not why:
        assert set(arrays) <= read(data).arrays.keys()
        return
    with pytest.raises(DocumentError) as refused:
        read(data)
    assert sorted(str(refused.value)) == sorted(why)


def test_the_file_holds_a_head_whole_though_not_the_first() -> None:
    def take(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        header["heads"] = [0, 1]
        for name in ("query", "key", "value"):
            arrays[f"{name}/1"] = arrays.pop(f"{name}/0")
            header["references"][f"{name}/0"] = {"digest": "a", "dtype": "F32", "shape": [2, 4]}

    assert read(changed(take)).header.heads == (0, 1)


def test_a_place_is_a_range_of_characters_and_added_tokens_have_none() -> None:
    tokens = replace(
        tokens_of((4, 8, 15, 16), "abcd"),
        text="a bcd e",
        offsets=((0, 1), (2, 5), (5, 5), (6, 7)),
        special=(False, False, False, True),
    )
    walk = replace(run_block((4, 8, 15, 16), ToyConfig()).walk(0, 0), query_tokens=tokens, key_tokens=tokens)
    axis = document_of(walk).header.query
    assert axis.places == ("0", "2 to 4", "–", "")
    assert axis.covers[:2] == ("a", "bcd")


def toy(**config: Any) -> Walk:
    return run_block((4, 8, 15, 16, 23), ToyConfig(**config)).walk(0, 0)


def with_mask(cells: torch.Tensor) -> Walk:
    return replace(toy(), layer=replace(toy().layer, mask=Mask.recognise(cells)))


def near(distance: int) -> torch.Tensor:
    at = torch.arange(5)
    return (at[:, None] - at).abs() <= distance


def block(number: int = 0, **config: Any) -> Walk:
    return run(TransformerConfig(**config)).walk_at(number, 0)


ALIKE: dict[str, Callable[[], tuple[Walk, Walk]]] = {
    "layer": lambda: (toy(), replace(toy(), layer_index=1)),
    "kind": lambda: (toy(), replace(toy(), kind="cross")),
    "parts": lambda: (toy(), replace(toy(), parts=None)),
    "positions": lambda: (replace(toy(), parts=None), replace(toy(), parts=None, has_positions=False)),
    "scale": lambda: (toy(), toy(scale="off")),
    "bias": lambda: (toy(), toy(bias=True)),
    "projections": lambda: (toy(), toy(qkv="identity")),
    "output": lambda: (toy(), toy(projection=False)),
    "mask": lambda: (toy(), toy(causal=True)),
    "mask's value": lambda: (toy(causal=True), toy(causal=True, mask_value="-1e10")),
    "filled into": lambda: (toy(causal=True, mask_value="-1e10"), toy(causal=True, mask_value="-1e10_before")),
    "window": lambda: (with_mask(near(1)), with_mask(near(2))),
    "hidden rows": lambda: (with_mask(~near(1)), with_mask(~near(2))),
    "added": lambda: (
        with_mask(~near(0)),
        with_mask(torch.arange(25.0).view(5, 5)),
    ),
    "unavailable": lambda: (toy(), replace(toy(), layer=replace(toy().layer, unavailable={"projections": "No W."}))),
    "block": lambda: (block(), toy()),
    "activation": lambda: (block(), block(activation="gelu")),
    "norm": lambda: (block(), block(norm="pre")),
    "block's bias": lambda: (block(), block(bias=False)),
    "end": lambda: (block(1, architecture="decoder"), block(0, architecture="decoder")),
}


@pytest.mark.parametrize("name", ALIKE)
def test_no_text_is_that_of_other_settings(name: str) -> None:
    """Texts are kept by their settings: those made after another walk's are those made first."""
    one, other = ALIKE[name]()
    for first, second in ((one, other), (other, one)):
        _of_settings.cache.clear()
        alone = document_of_layer(second).header.steps
        _of_settings.cache.clear()
        assert document_of_layer(first).header.steps != alone
        assert document_of_layer(second).header.steps == alone


def test_the_header_says_what_the_head_is() -> None:
    def said(walk: Walk) -> tuple[object, ...]:
        header = document_of(walk).header
        return (header.kind, header.place, header.layer, header.mask, header.mask_value, header.mask_fills)

    assert said(toy()) == ("walk", "", 0, "none", None, "scaled")
    assert said(replace(toy(causal=True, mask_value="-1e10_before"), layer_index=3)) == (
        "walk", "", 3, "causal", -1e10, "scores",
    )  # fmt: skip
    cross = run(TransformerConfig("both", 2, 2, 16)).walk_at(5, 0)
    assert cross.layer_index == 1
    assert said(cross) == ("block", cross.block and cross.block.place, 5, "none", None, "scaled")
    header = document_of(toy(scale="0.125", head_size=16, heads=3)).header
    assert (header.scale, header.scale_label, header.heads_in_layer, header.heads) == (0.125, "0.125", 3, (0,))
    assert document_of(toy(head_size=16)).header.scale_label == "1/√16"


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
