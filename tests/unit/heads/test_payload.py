"""What the explorer is sent, and what it may request: the numbers equal torch's, and no file is too large."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.attention import Mask, causal_mask
from attnviz.components.payload import write_payload
from attnviz.heads.all_heads import (
    ALL_BYTES,
    ERROR,
    PART_BYTES,
    Arrays,
    encode,
    encoded_weights,
    explorer_payload,
    groups,
    parts,
    shared_arrays,
)
from attnviz.measures.summary import measure_head
from attnviz.measures.survey import Survey, hidden_cells, rolled_out, rollout, survey, survey_name, transformed_norms
from attnviz.measures.thumbnails import thumbnails
from attnviz.pretrained import Kind, Trace
from attnviz.trace.layer import Block, LayerTrace
from tests.loaded import built_in_model
from tests.payloads import read_payload
from tests.unit.families import opened

TEXT = "The cat sat on the mat, and <img src=x onerror=alert(1)> was “🙂 مرحبا”."


def surveyed(trace: Trace, kind: Kind = "encoder") -> Survey:
    return survey(trace, kind, survey_name(trace, kind))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return built_in_model().trace(TEXT, "Another one.")


@pytest.fixture(scope="module")
def long_trace() -> Trace:
    return built_in_model().trace("word and " * 100)


@pytest.fixture(scope="module")
def bart() -> Trace:
    return opened("bart").trace("the cat sat", "le chat assis la")


@pytest.fixture(scope="module")
def gpt2() -> Trace:
    return opened("gpt2").trace("the cat sat on the mat")


def sent(trace: Trace, kind: Kind) -> dict[str, Any]:
    """Return the header of the payload."""
    header, arrays = read_payload(
        write_payload(*explorer_payload(trace, kind, surveyed(trace, kind), {}, {"layer": 1}))
    )
    assert arrays.keys() == {"measures"}
    np.testing.assert_array_equal(arrays["measures"], surveyed(trace, kind).values)
    return header


def shared(trace: Trace, kind: Kind) -> Arrays:
    """Return what all heads share, without their weights."""
    return shared_arrays(surveyed(trace, kind), None)


@pytest.mark.parametrize(("first", "count"), [(0, 72), (41, 1), (36, 12), (30, 25), (71, 1)])
def test_weights_are_torchs_to_half_a_step(trace: Trace, first: int, count: int) -> None:
    codes = encoded_weights(trace, "encoder", first, count)
    expected = torch.cat([trace.attentions(layer) for layer in range(6)])[first : first + count]
    assert codes.dtype == np.uint16
    np.testing.assert_allclose(codes / 65535, expected.double().numpy(), rtol=0, atol=ERROR)


def test_rollout_is_that_of_the_measures_to_half_a_step(trace: Trace) -> None:
    rolled = rollout(trace.attentions(layer).mean(0) for layer in range(6))
    np.testing.assert_allclose(
        encode(rolled_out(trace, "encoder")) / 65535, rolled.double().numpy(), rtol=0, atol=ERROR
    )


def test_weights_of_one_and_of_nothing_are_exact() -> None:
    query = torch.tensor([[[100.0], [-100.0], [0.0]]])
    tokens = built_in_model().tokenize("a")
    trace = Trace(tokens, None, {"encoder": (Block(LayerTrace(query, query, query, 1.0)),)}, torch.zeros(3, 1))
    codes = encoded_weights(trace, "encoder", 0, 1)
    assert codes.tolist() == [[[65535, 0, 0], [0, 65535, 0], [21845, 21845, 21845]]]


def test_a_payload_holds_all_that_is_known_of_the_text(trace: Trace) -> None:
    header = sent(trace, "encoder")
    assert (header["model"], header["kind"], header["layers"], header["heads"]) == (
        "minilm",
        "encoder",
        list(range(6)),
        12,
    )
    assert header["rows"] == header["cols"] == len(trace.tokens)
    assert header["query_labels"] == header["key_labels"] == list(trace.tokens.labels)
    assert header["rollout"] is True
    assert (header["norms"], header["has_sinks"]) == (True, False)
    assert header["causal"] is False
    assert header["limited"] == [False] * 6
    assert header["view"] == {"layer": 1}
    about = surveyed(trace)
    names = [one["name"] for one in header["measures"]]
    assert names == [one.name for one in about.measures]
    for layer in range(6):
        measured = measure_head(trace.attentions(layer), about.measures).numpy()
        np.testing.assert_allclose(about.values[layer], measured, atol=1e-5)


def test_heads_share_norms_and_without_all_weights_thumbnails(trace: Trace, long_trace: Trace) -> None:
    whole = shared_arrays(surveyed(trace), encoded_weights(trace, "encoder", 0, 72))
    assert whole.keys() == {"weights", "key_norms"}
    for layer in range(6):
        np.testing.assert_array_equal(whole["key_norms"][layer], transformed_norms(trace.layer(layer)).numpy())
    part = shared(long_trace, "encoder")
    assert part.keys() == {"overview", "key_norms"}
    assert part["overview"].shape == (6, 12, 48, 48)
    for layer in (0, 5):
        difference = part["overview"][layer].astype(int) - thumbnails(long_trace.attentions(layer).numpy())
        assert np.abs(difference).max() <= 1  # the same weights, computed in parts


def test_a_causal_model_says_so_and_sends_no_mask(gpt2: Trace) -> None:
    header = sent(gpt2, "decoder")
    assert header["causal"] is True
    assert "hidden" not in shared(gpt2, "decoder")
    assert "next" not in [one["name"] for one in header["measures"]]
    n = len(gpt2.tokens)
    assert not encoded_weights(gpt2, "decoder", 0, 1)[0][np.triu_indices(n, 1)].any()
    np.testing.assert_array_equal(surveyed(gpt2, "decoder").hidden, np.triu(np.ones((n, n), bool), 1))


def test_a_position_bias_is_no_part_of_the_mask() -> None:
    t5 = opened("t5").trace("the cat sat", "le chat")
    header = sent(t5, "decoder")
    assert header["causal"] is True and "hidden" not in shared(t5, "decoder")
    assert "next" not in [one["name"] for one in header["measures"]]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_all_kinds_of_an_encoder_decoder(bart: Trace, kind: Kind) -> None:
    header, codes = sent(bart, kind), encoded_weights(bart, kind, 1, 1)
    queries, keys = bart.query_tokens(kind), bart.key_tokens(kind)
    assert codes.shape == (1, len(queries), len(keys))
    assert header["query_labels"] == list(queries.labels)
    assert header["key_labels"] == list(keys.labels)
    assert header["rollout"] is (kind != "cross")
    assert header["causal"] is (kind == "decoder")
    np.testing.assert_allclose(codes[0] / 65535, bart.attentions(0, kind)[1].double().numpy(), rtol=0, atol=ERROR)
    assert len({survey_name(bart, one) for one in bart.kinds}) == 3


def layer_with(mask: torch.Tensor | None) -> LayerTrace:
    q = torch.zeros(2, 3, 4)
    return LayerTrace(q, q, q, 1.0, Mask.recognise(mask))


def test_hidden_cells_are_those_that_every_mask_hides() -> None:
    first = torch.ones(3, 3, dtype=torch.bool)
    first[0, 2] = False
    of_head_1 = torch.zeros(2, 3, 3)
    of_head_1[:, 0, 2] = -torch.inf
    of_head_1[1, 1, 1] = -torch.inf
    cell = np.zeros((3, 3), bool)
    cell[0, 2] = True
    np.testing.assert_array_equal(hidden_cells([layer_with(first)]), cell)
    np.testing.assert_array_equal(hidden_cells([layer_with(first), layer_with(of_head_1)]), cell)
    np.testing.assert_array_equal(hidden_cells([layer_with(of_head_1)]), cell)
    np.testing.assert_array_equal(hidden_cells([layer_with(first[None, :1])]), [[False, False, True]] * 3)
    assert not hidden_cells([layer_with(first), layer_with(None)]).any()
    assert not hidden_cells([layer_with(torch.randn(2, 3, 3))]).any()
    assert hidden_cells([layer_with(causal_mask(3))]).sum() == 3


def test_what_holds_for_one_layer_alone_is_not_said_of_all(trace: Trace) -> None:
    known = trace.layer(0)
    causal = replace(known, mask=Mask.causal(len(trace.tokens)), output_projection=None)
    for layers in ((known, causal), (causal, known)):
        about = surveyed(replace(trace, blocks={"encoder": tuple(map(Block, layers))}, numbers={}))
        assert not about.causal
        assert about.key_norms is None
        assert not about.hidden.any()


def test_a_sink_is_said_since_rows_then_sum_to_less_than_1(trace: Trace) -> None:
    layer = trace.layer(0)
    sinks = torch.zeros(layer.heads, 1, 1)
    with_sink = LayerTrace(layer.query, layer.key, layer.value, layer.scale, sinks=sinks)
    found = Trace(trace.tokens, None, {"encoder": (Block(layer), Block(with_sink))}, trace.last_hidden_state)
    assert sent(found, "encoder")["has_sinks"] is True


def test_other_masks_than_a_causal_one_are_sent(trace: Trace) -> None:
    layer = trace.layer(0)
    n = len(trace.tokens)
    mask = causal_mask(n)
    mask[n - 1, 0] = False
    masked = LayerTrace(layer.query, layer.key, layer.value, layer.scale, Mask.recognise(mask))
    found = Trace(trace.tokens, None, {"encoder": (Block(masked),)}, trace.last_hidden_state)
    header, arrays = sent(found, "encoder"), shared(found, "encoder")
    assert header["causal"] is False
    assert header["limited"] == [True], "a causal window of all keys but one"
    assert header["norms"] is False
    assert arrays.keys() == {"overview", "hidden"}
    np.testing.assert_array_equal(arrays["hidden"], (~mask).numpy())


def test_a_name_changes_with_whatever_shapes_the_numbers(trace: Trace, bart: Trace) -> None:
    model = built_in_model()
    others = [model.trace(TEXT), model.trace(TEXT, "Another one"), model.trace("A", "b"), model.trace("a", "b"),
              model.trace("a", "B")]  # fmt: skip
    names = [survey_name(one, "encoder") for one in (trace, *others)]
    assert len(set(names)) == 6
    assert survey_name(model.trace(TEXT, "Another one."), "encoder") == names[0]
    assert "cat" not in " ".join(names)
    decoders = [replace(bart, decoder_tokens=model.tokenize(text)) for text in ("a", "A")]
    assert len({survey_name(one, "cross") for one in (bart, *decoders)}) == 3


def test_what_sessions_share_can_not_be_changed(trace: Trace) -> None:
    about = surveyed(trace)
    for array in (
        about.values,
        about.uniform,
        about.overview,
        about.key_norms,
        about.hidden,
        rolled_out(trace, "encoder"),
    ):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert about.nbytes >= about.values.nbytes + about.overview.nbytes


def test_special_tokens_and_sentences_have_different_groups() -> None:
    tokens = built_in_model().tokenize("one [SEP] two", "three")
    assert groups(tokens) == [0, 1, 0, 1, 0, 2, 0]


# ---- files


@pytest.mark.parametrize("tokens", [1, 16, 64, 128, 131])
def test_a_small_text_is_one_file(tokens: int) -> None:
    each = tokens**2 * 2
    assert list(parts(6, 12, each)) == [(0, 72)]
    assert each * 72 <= ALL_BYTES


@pytest.mark.parametrize(("tokens", "count"), [(132, 12), (201, 12), (256, 6), (300, 4), (512, 1), (1024, 1)])
def test_a_large_text_is_files_of_one_layer_each(tokens: int, count: int) -> None:
    each = tokens**2 * 2
    found = list(parts(6, 12, each))
    assert [first for first, _ in found] == list(range(0, 72, count))
    assert {size for _, size in found} == {count}
    assert count * each <= PART_BYTES or count == 1


@pytest.mark.parametrize(
    ("layers", "heads", "each"), [(24, 16, 90_000), (3, 7, 300_000), (1, 1, 10**8), (2, 5, 900_000)]
)
def test_every_head_is_in_one_file(layers: int, heads: int, each: int) -> None:
    every = [head for first, count in parts(layers, heads, each) for head in range(first, first + count)]
    assert every == list(range(layers * heads))
