"""Documents of all kinds of heads, written and read: against safetensors' own reader, torch, and the head itself."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from safetensors.numpy import load as load_arrays
from torch.nn import functional as F

from attnviz.attention import Mask
from attnviz.document import (
    Document,
    DocumentError,
    Header,
    Reference,
    StepText,
    array_of,
    document_of,
    document_of_layer,
    read,
    write,
)
from attnviz.document.files import MAX_BYTES, read_header, write_header
from attnviz.document.value import ARRAYS, check_header
from attnviz.mask_reasons import MaskReasons
from attnviz.measures.thumbnails import hidden_thumbnail, thumbnails
from attnviz.steps import ATTENTION, WALK
from attnviz.steps.picture import AXES, MatrixProduct, MorphSource, Operation, OperationKind, PanelSpec, Picture
from attnviz.toy.config import ToyConfig
from attnviz.trace.buckets import Buckets
from attnviz.trace.walk import Walk
from tests.documents import document, random_document
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.families import opened

ROOT = Path(__file__).resolve().parents[3]
TOYS = {
    "toy": ToyConfig(),
    "causal toy": ToyConfig(causal=True, positions="none", projection=False),
    "identity": ToyConfig(qkv="identity"),
    "position mixing": ToyConfig(qkv="positions", head_size=16),
    "rotary toy": ToyConfig(positions="rotary", head_size=7),
}
FAMILIES = {"gpt2": "decoder", "t5": "decoder", "bart": "cross", "llama": "decoder"}
ROTARY = ("rotary toy", "llama")


@pytest.fixture(scope="module")
def walks() -> dict[str, Walk]:
    """Heads of each source, with causal, added, cross and no masks, with and without known projections."""
    found = {name: run_block((4, 8, 15, 16), config, "abcd").walk(0, 0) for name, config in TOYS.items()}
    found["minilm"] = built_in_model().trace("The cat sat on the mat.", "Did it?").walk(3, 5)
    for name, kind in FAMILIES.items():
        model = opened(name)
        found[name] = model.trace("the cat sat on the mat", "the dog" if name in ("t5", "bart") else None).walk(
            1, 2, kind
        )
    return found


ALL = (*TOYS, "minilm", *FAMILIES)


@pytest.mark.parametrize("name", ALL)
def test_what_is_written_is_read(walks: dict[str, Walk], name: str) -> None:
    document = document_of(walks[name])
    data = write(document)
    again = read(data)
    assert again.header == document.header
    opened = load_arrays(data)  # safetensors' own reader
    assert opened.keys() == again.arrays.keys() == document.arrays.keys()
    for key, array in opened.items():
        np.testing.assert_array_equal(again.arrays[key], array)
        np.testing.assert_array_equal(document.arrays[key], array)
    assert write(again) == data


def of(document: Document, name: str) -> torch.Tensor:
    """Return an array; of the first head if it is one of a head."""
    own = f"{name}/{document.header.heads[0]}"
    return torch.tensor(document.arrays[own if own in document.arrays else name])


def bases(document: Document) -> set[str]:
    """Return the names of the arrays without their heads."""
    return {name.partition("/")[0] for name in document.arrays}


@pytest.mark.parametrize("name", ALL)
def test_the_arrays_give_the_heads_numbers(walks: dict[str, Walk], name: str) -> None:
    walk = walks[name]
    document = read(write(document_of(walk)))
    header = document.header
    mask = of(document, "mask") if "mask" in bases(document) else None
    if name == "t5":  # its mask is causal
        bias = of(document, "position_bias")
        mask = bias.masked_fill(torch.ones_like(bias).triu(1).bool(), -torch.inf)
    operands = ("rotated_query", "rotated_key") if "rotated_query" in bases(document) else ("query", "key")
    expected = F.scaled_dot_product_attention(
        *(of(document, key)[None] for key in (*operands, "value")),
        attn_mask=mask, is_causal=mask is None and header.mask == "causal", scale=header.scale,
    )[0]  # fmt: skip
    torch.testing.assert_close(expected, walk.layer.head(walk.head).head_outputs, rtol=1e-5, atol=1e-6)
    assert (header.layer, *header.heads) == ((1, 2) if name in FAMILIES else (3, 5) if name == "minilm" else (0, 0))
    assert header.key.labels == walk.key_labels
    assert len(header.query.ids) == len(walk.query_tokens)


@pytest.mark.parametrize("name", ["toy", "minilm", "gpt2", "bart"])
def test_the_weights_give_query_key_value_and_the_output(walks: dict[str, Walk], name: str) -> None:
    walk = walks[name]
    document = document_of(walk)
    x = of(document, "embeddings")
    other = of(document, "embeddings_k") if name == "bart" else x
    assert ("embeddings_k" in document.arrays) == (name == "bart")
    for key, source in {"query": x, "key": other, "value": other}.items():
        bias = of(document, f"b_{key}") if f"b_{key}" in bases(document) else None
        projected = F.linear(source, of(document, f"W_{key}").T, bias)
        torch.testing.assert_close(projected, of(document, key), rtol=1e-5, atol=1e-5)
    layer = walk.layer
    heads = torch.cat([layer.head(n).head_outputs for n in range(layer.heads)], dim=-1)
    torch.testing.assert_close(of(document, "concat"), heads)
    bias = of(document, "b_output") if "b_output" in document.arrays else None
    projected = F.linear(of(document, "concat"), of(document, "W_output").T, bias)
    torch.testing.assert_close(projected, of(document, "output"), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(projected, layer.output(), rtol=1e-4, atol=1e-5)


def test_masks_are_held_only_where_their_kind_does_not_say_them(walks: dict[str, Walk]) -> None:
    kinds = {name: document_of(walk) for name, walk in walks.items()}
    assert {name: document.header.mask for name, document in kinds.items() if document.header.mask != "none"} == {
        "causal toy": "causal", "gpt2": "causal", "llama": "causal", "t5": "causal",
    }  # fmt: skip
    assert not [name for name, document in kinds.items() if "mask" in bases(document)]
    assert [name for name, document in kinds.items() if "position_bias" in bases(document)] == ["t5"]
    assert kinds["t5"].header.buckets == Buckets(32, 128, both_sides=False)
    written = json.loads(write_header(kinds["t5"].header))
    assert written["buckets"] == {"count": 32, "max_distance": 128, "both_sides": False}
    assert "buckets" not in json.loads(write_header(kinds["llama"].header))


@pytest.mark.parametrize("buckets", [(32, 16, True), (16, 8, True), (32, 16, False), (16, 8, False)])
def test_a_header_with_a_small_distance_of_buckets_is_read(walks: dict[str, Walk], buckets: Any) -> None:
    written = dict(zip(("count", "max_distance", "both_sides"), buckets, strict=True))
    header = read_header(json.dumps(json.loads(write_header(document_of(walks["t5"]).header)) | {"buckets": written}))
    check_header(header)
    cells = Buckets(*buckets).of(8, 8)
    assert 0 <= int(cells.min()) <= int(cells.max()) < buckets[0]


@pytest.mark.parametrize("buckets", [
    {"count": 3, "max_distance": 128, "both_sides": True}, {"count": 32, "max_distance": 8, "both_sides": True},
    {"count": 1, "max_distance": 128, "both_sides": False}, {"count": 32, "max_distance": 15, "both_sides": False},
    {"count": 10**30, "max_distance": 10**30, "both_sides": True},
    {"count": 32.0, "max_distance": 128, "both_sides": True}, {"count": 32, "max_distance": 128, "both_sides": 1},
    {"count": 32, "max_distance": 128}, [32, 128, True],
])  # fmt: skip
def test_a_header_with_other_buckets_is_refused(walks: dict[str, Walk], buckets: Any) -> None:
    header = json.loads(write_header(document_of(walks["t5"]).header))
    assert read_header(json.dumps(header)).buckets == Buckets(32, 128, both_sides=False)
    with pytest.raises(DocumentError, match=r"header\.buckets|header is not as version"):
        check_header(read_header(json.dumps(header | {"buckets": buckets})))


def grid(step: StepText) -> list[list[str | None]]:
    """Return the names of the matrices in the rows of a picture."""
    assert step.picture is not None
    panels = step.picture.panels
    return [[None if number is None else panels[number].name for number in row] for row in step.picture.grid]


def test_steps_show_what_the_head_has(walks: dict[str, Walk]) -> None:
    steps = {name: {step.name: step for step in document_of(walk).header.steps} for name, walk in walks.items()}
    assert all(list(steps[name]) == ["tokens", *ATTENTION] for name in ALL if name not in (*ROTARY, "t5"))
    of_others = ("normed", "capped", "biased")
    assert all(list(steps[name]) == [step for step in WALK if step not in of_others] for name in ROTARY)
    assert list(steps["t5"]) == [step for step in WALK if step not in ("normed", "rotated", "capped")]
    weights = steps["minilm"]["weights"]
    assert (weights.title, weights.code) == ("Weights", "weights = torch.softmax(masked, dim=-1)")
    assert grid(weights) == [["masked", "weights", "row_sum"]]
    assert grid(steps["minilm"]["output"]) == [[None, "W_output"], ["concat", "output"]]
    assert grid(steps["position mixing"]["qkv"])[1] == ["U_query", "query"]
    turned = [["query", "query_angles", "rotated_query"], ["key", "key_angles", "rotated_key"]]
    for name in ROTARY:
        assert not steps[name]["qkv"].missing and grid(steps[name]["qkv"]) == grid(steps["minilm"]["qkv"])
        assert grid(steps[name]["rotated"]) == turned
        assert grid(steps[name]["scores"]) == [[None, "key_t"], ["rotated_query", "scores"]]
    assert steps["minilm"]["tokens"].picture is None


def test_only_a_soft_cap_and_a_sink_are_written(walks: dict[str, Walk]) -> None:
    plain = document_of(walks["toy"])
    assert plain.header.cap is None and "sinks" not in bases(plain)
    assert b'\\"cap\\"' not in write(plain)
    walk = run_block((4, 8, 15, 16), ToyConfig(cap=2.5, sink=-0.5, heads=3), "abcd").walk(0, 1)
    made = document_of_layer(walk)
    again = read(write(made))
    assert again.header == made.header
    assert (again.header.cap, sorted(name for name in again.arrays if name.startswith("sinks"))) == (
        2.5, ["sinks/0", "sinks/1", "sinks/2"],
    )  # fmt: skip
    np.testing.assert_array_equal(again.arrays["sinks/1"], np.full((4, 1), -0.5, np.float32))
    assert [step.name for step in again.header.steps][4:7] == ["scaled", "capped", "masked"]
    with pytest.raises(DocumentError, match="cap is not above 0"):
        Document(replace(again.header, cap=0.0), again.arrays)


def test_why_cells_are_hidden_and_who_shares_keys_are_written_and_read_where_there_is_something_to_say() -> None:
    plain, causal = (document_of(run_block((4, 8, 15), config, "abc").walk(0, 0))
                     for config in (ToyConfig(), ToyConfig(causal=True)))  # fmt: skip
    for each in (plain, causal):
        assert not {"mask_reasons", "shared_by"} & set(json.loads(write_header(each.header)))
    config = ToyConfig(heads=4, kv_heads=2, causal=True, window=2, padding=1)
    several = document_of(run_block((4, 8, 15, 16), config, "abcd").walk(0, 1))
    written = json.loads(write_header(several.header))
    assert written["mask_reasons"] == {"causal": True, "window": [1, 0], "padding": [0]}
    assert written["shared_by"] == 2
    again = read(write(several)).header
    assert (again.mask_reasons, again.shared_by) == (MaskReasons(True, (1, 0), (0,)), 2)


@pytest.mark.parametrize("value", ["50", [1], True, 10**400, {}])
@pytest.mark.parametrize("name", ["cap", "scale", "mask_value"])
def test_a_header_whose_numbers_are_none_is_rejected(walks: dict[str, Walk], name: str, value: Any) -> None:
    header = json.loads(write_header(document_of(walks["toy"]).header))
    read_header(json.dumps({**header, name: 2}))
    with pytest.raises(DocumentError, match="header is not as version"):
        read_header(json.dumps({**header, name: value}))


@pytest.mark.parametrize(("name", "value"), [
    *(("mask_reasons", value) for value in (
        {"causal": "yes"}, {"window": [1]}, {"window": [1, -1]}, {"window": 1}, {"window": [1, 10**30]},
        {"padding": ["a"]}, {"padding": 1}, {"padding": [True]}, {"other": 1}, [True], 5, True, "",
    )),
    *(("shared_by", value) for value in (0, -1, "2", 1.5, [1], True, None, 10**30)),
    *((name, value) for name in ("guesses_at", "guesses_note") for value in (5, None, ["a"], {})),
])  # fmt: skip
def test_a_header_with_other_values_is_refused(walks: dict[str, Walk], name: str, value: Any) -> None:
    header = json.loads(write_header(document_of(walks["toy"]).header))
    right = {"mask_reasons": {"causal": True, "window": [1, 0], "padding": [0]}, "shared_by": 2}
    read_header(json.dumps({**header, name: right.get(name, "a")}))
    with pytest.raises(DocumentError, match="header is not as version"):
        read_header(json.dumps({**header, name: value}))


def test_a_field_that_files_had_for_a_time_is_left_out(walks: dict[str, Walk]) -> None:
    header = json.loads(write_header(document_of(walks["toy"]).header))
    assert read_header(json.dumps({**header, "distances": ["distance −1"]})) == read_header(json.dumps(header))


def test_a_document_does_not_change(walks: dict[str, Walk]) -> None:
    document = read(write(document_of(walks["toy"])))
    with pytest.raises(ValueError, match="read-only"):
        document.arrays["query/0"][0, 0] = 1.0
    with pytest.raises(TypeError):
        document.arrays["query/0"] = document.arrays["key/0"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        document.header.layer = 3  # type: ignore[misc]


def test_a_head_that_no_reader_takes_is_refused(walks: dict[str, Walk]) -> None:
    walk = walks["toy"]
    broken = replace(walk, layer=replace(walk.layer, value=walk.layer.value * torch.nan))
    with pytest.raises(DocumentError, match="Array value/0 holds a number that is not finite"):
        document_of(broken)
    small, large = np.zeros((1, 1), np.float32), np.zeros((1, MAX_BYTES // 4), np.float32)
    with pytest.raises(DocumentError, match="bytes; a document has at most 134,217,728"):
        write(document(1, {"query/0": small, "key/0": small, "value/0": large}))


def test_any_text_is_kept() -> None:
    labels = ("🙂", "<script>", "\0", "\ud800", "é" * 50)
    document = random_document(5)
    header = replace(document.header, query=replace(document.header.query, labels=labels, text="".join(labels)))
    assert read(write(replace(document, header=header))).header == header


def test_a_file_has_one_key_of_metadata() -> None:
    data = write(random_document(1))
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header["__metadata__"].keys() == {"attnviz"}


def test_the_docs_name_every_field_and_array_and_their_example_runs() -> None:
    docs = (ROOT / "docs" / "document.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in docs.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall("`(.+?)`", row)} - set(get_args(OperationKind))
    assert named == {*ARRAYS, *(field.name for value in (Header, PanelSpec) for field in fields(value))}
    others = [
        field.name
        for value in (StepText, Picture, MatrixProduct, Operation, MorphSource, Reference)
        for field in fields(value)
    ]
    assert [name for name in (*(set(AXES) - set(ARRAYS)), *others) if f"`{name}`" not in docs] == []
    space: dict[str, object] = {}
    exec(docs.partition("```python\n")[2].partition("```")[0], space)
    document = space["document"]
    assert isinstance(document, Document)
    assert document.header.query.labels[:3] == ("[CLS]", "the", "animal")
    assert document.arrays["query/5"].shape == (16, 32)


@pytest.fixture(scope="module")
def walk() -> Walk:
    return built_in_model().trace("The cat sat on the mat.").walk(3, 5)


def test_each_array_is_in_the_file_or_made_apart(walk: Walk) -> None:
    whole = document_of_layer(walk, (5, 6))
    sizes = {}

    def refer(name: str, nbytes: int) -> str | None:
        sizes[name] = nbytes
        return "d-" + name.replace("/", "-") if name not in ("query/5", "key/5", "value/5") else None

    parts = read(write(document_of_layer(walk, (5, 6), refer_to=refer)))
    assert set(parts.arrays) == {"query/5", "key/5", "value/5"}
    assert sizes == {name: array.nbytes for name, array in whole.arrays.items()}
    for name, reference in parts.header.references.items():
        head = 6 if name.endswith("/6") else 5
        own = walk if head == 5 else built_in_model().trace("The cat sat on the mat.").walk(3, 6)
        assert reference.digest == "d-" + name.replace("/", "-")
        made = array_of(own, name)
        assert made.shape == reference.shape
        np.testing.assert_array_equal(made, whole.arrays[name])


def test_an_array_that_no_document_holds_is_a_key_error(walk: Walk) -> None:
    with pytest.raises(KeyError):
        array_of(walk, "weights/5")


def test_the_heads_are_not_joined_for_arrays_that_are_not_in_the_file() -> None:
    one = run_block((4, 8, 15, 16, 23), ToyConfig(heads=3)).walk(0, 1)
    document = document_of(one, refer_to=lambda name, _: "a" if name in ("concat", "output") else None)
    assert document.header.references.keys() == {"concat", "output"}
    assert [reference.shape for reference in document.header.references.values()] == [(5, 24), (5, 16)]
    assert "concat" not in vars(one)  # where a walk keeps what it has computed


def test_a_document_whose_file_has_none_of_its_heads_is_refused(walk: Walk) -> None:
    with pytest.raises(DocumentError, match="query, key and value of at least one head"):
        document_of_layer(walk, refer_to=lambda *_: "a")


@pytest.mark.parametrize("causal", [False, True])
def test_thumbnails_are_of_all_heads_with_the_cells_that_the_mask_hides(causal: bool) -> None:
    one = run_block((4, 8, 15, 16, 23), ToyConfig(heads=3, causal=causal)).walk(0, 1)
    small = thumbnails(one.layer.attentions().numpy())
    arrays = read(write(document_of_layer(one, [2], thumbnails=True))).arrays
    np.testing.assert_array_equal(arrays["thumbnails"], small)
    assert ("hidden_thumbnail" in arrays) == causal
    if causal:
        hidden = one.layer.hidden(0).numpy().astype(np.uint8)
        np.testing.assert_array_equal(arrays["hidden_thumbnail"], hidden_thumbnail(hidden))
    assert "thumbnails" not in document_of_layer(one).arrays


@pytest.mark.parametrize("mask_value", ["-inf", "-1e10"])
def test_the_hidden_cells_of_thumbnails_say_why_they_are_hidden(mask_value: Any) -> None:
    config = ToyConfig(causal=True, window=3, padding=1, mask_value=mask_value)
    one = run_block((4, 8, 15, 16, 23), config).walk(0, 1)
    arrays = document_of_layer(one, thumbnails=True).arrays
    expected = MaskReasons(causal=True, window=(2, 0), padding=(0,)).codes(5, 5)
    if mask_value != "-inf":
        expected[0] = 0  # row 0 sees no key, so every hidden cell has a weight
    np.testing.assert_array_equal(arrays["hidden_thumbnail"], expected)


def test_the_hidden_cells_of_a_mask_that_is_not_made_of_reasons_are_1() -> None:
    one = run_block((4, 8, 15, 16, 23), ToyConfig()).walk(0, 1)
    seen = torch.ones(5, 5, dtype=torch.bool)
    seen[2, 1] = seen[0, 3] = False
    one = replace(one, layer=replace(one.layer, mask=Mask.recognise(seen)))
    assert one.layer.mask_reasons is None
    arrays = document_of_layer(one, thumbnails=True).arrays
    np.testing.assert_array_equal(arrays["hidden_thumbnail"], ~seen)
