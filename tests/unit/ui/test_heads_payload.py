"""What the explorer is sent: the numbers equal torch's, nothing is too large, and nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.attention import Mask, causal_mask
from attnviz.components.explorer import MAX_REQUESTED, read_heads
from attnviz.components.packing import unpack
from attnviz.links.link import Head
from attnviz.measures.norms import transformed_norms
from attnviz.measures.rollout import rollout
from attnviz.measures.summary import measure_head
from attnviz.measures.survey import Survey, hidden_cells, rolled_out, survey, survey_name
from attnviz.measures.thumbnails import thumbnails
from attnviz.pretrained import Kind, Trace, load
from attnviz.trace.block import Block
from attnviz.trace.layer import LayerTrace
from attnviz.ui.heads.delivery import UNCERTAIN_SECONDS, Delivery
from attnviz.ui.heads.payload import ALL_BYTES, MAX_BYTES, explorer_payload, first_heads, groups, within
from attnviz.ui.heads.weights import encoded_weights
from tests.unit.families import save

TEXT = "The cat sat on the mat, and <img src=x onerror=alert(1)> was “🙂 مرحبا”."
STEP = 7.7e-6


def surveyed(trace: Trace, kind: Kind = "encoder") -> Survey:
    return survey(trace, kind, survey_name(trace, kind))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return load("minilm").trace(TEXT, "Another one.")


@pytest.fixture(scope="module")
def long_trace() -> Trace:
    return load("minilm").trace("word and " * 100)


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load(str(save("bart", tmp_path_factory.mktemp("models") / "bart"))).trace("the cat sat", "le chat assis la")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load(str(save("gpt2", tmp_path_factory.mktemp("models") / "gpt2"))).trace("the cat sat on the mat")


def sent(trace: Trace, kind: Kind, heads: list[Head], *, first: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    about = surveyed(trace, kind)
    rolled = None if kind == "cross" else rolled_out(trace, kind)
    return unpack(
        explorer_payload(
            trace, kind, about, {"layer": 1}, heads, encoded_weights(trace, kind, heads, rolled), first=first
        )
    )


def test_weights_are_torchs_to_half_a_step(trace: Trace) -> None:
    heads = [(3, 5), (0, 0), (3, 11), (5, -1), (3, 2), (0, -1)]
    _, arrays = sent(trace, "encoder", heads)
    rolled = rollout(trace.attentions(layer).mean(0) for layer in range(6))
    expected = torch.stack([rolled[layer] if head < 0 else trace.attentions(layer)[head] for layer, head in heads])
    assert arrays["weights"].dtype == np.uint16
    np.testing.assert_allclose(arrays["weights"] / 65535, expected.double().numpy(), rtol=0, atol=STEP)


def test_weights_of_one_and_of_nothing_are_exact() -> None:
    query = torch.tensor([[[100.0], [-100.0], [0.0]]])
    tokens = load("minilm").tokenize("a")
    trace = Trace(tokens, None, {"encoder": (Block(LayerTrace(query, query, query, 1.0)),)}, torch.zeros(3, 1))
    codes = encoded_weights(trace, "encoder", [(0, 0)], None)
    assert codes.tolist() == [[[65535, 0, 0], [0, 65535, 0], [21845, 21845, 21845]]]


def test_a_first_payload_holds_all_that_is_known(trace: Trace) -> None:
    every = [(layer, head) for layer in range(6) for head in range(12)]
    header, arrays = sent(trace, "encoder", every)
    assert header["sent"] == [list(head) for head in every]
    assert (header["model"], header["kind"], header["layers"], header["heads"]) == ("minilm", "encoder", 6, 12)
    assert header["rows"] == header["cols"] == len(trace.tokens)
    assert header["query_labels"] == header["key_labels"] == list(trace.tokens.labels)
    assert header["rollout"] is True
    assert header["norms"] is True
    assert header["causal"] is False
    assert header["view"] == {"layer": 1}
    assert "overview" not in arrays
    assert "hidden" not in arrays
    about = surveyed(trace)
    names = [one["name"] for one in header["measures"]]
    assert names == [one.name for one in about.measures]
    for layer in range(6):
        np.testing.assert_allclose(
            arrays["measures"][layer], measure_head(trace.attentions(layer), about.measures).numpy(), atol=1e-5
        )
        np.testing.assert_array_equal(arrays["key_norms"][layer], transformed_norms(trace.layer(layer)).numpy())


def test_where_heads_are_left_out_thumbnails_stand_for_them(long_trace: Trace) -> None:
    header, arrays = sent(long_trace, "encoder", [(2, 3)])
    assert arrays["overview"].shape == (6, 12, 48, 48)
    for layer in (0, 5):
        difference = arrays["overview"][layer].astype(int) - thumbnails(long_trace.attentions(layer).numpy())
        assert np.abs(difference).max() <= 1  # the same weights, computed in parts
    assert header["sent"] == [[2, 3]]
    _, all_and_rollout = sent(long_trace, "encoder", [(2, 3), (2, -1)])
    assert "overview" in all_and_rollout


def test_a_later_payload_repeats_nothing(trace: Trace) -> None:
    header, arrays = sent(trace, "encoder", [], first=False)
    assert header["sent"] == []
    assert arrays.keys() == {"measures", "weights"}
    assert arrays["weights"].shape == (0, len(trace.tokens), len(trace.tokens))


def test_a_causal_model_says_so_and_sends_no_mask(gpt2: Trace) -> None:
    header, arrays = sent(gpt2, "decoder", [(0, 0)])
    assert header["causal"] is True
    assert "hidden" not in arrays
    assert "next" not in [one["name"] for one in header["measures"]]
    n = len(gpt2.tokens)
    assert not arrays["weights"][0][np.triu_indices(n, 1)].any()
    np.testing.assert_array_equal(surveyed(gpt2, "decoder").hidden, np.triu(np.ones((n, n), bool), 1))


def test_a_causal_mask_with_relative_positions_is_sent_as_cells(tmp_path: Path) -> None:
    t5 = load(str(save("t5", tmp_path))).trace("the cat sat", "le chat")
    header, arrays = sent(t5, "decoder", [(0, 0)])
    assert header["causal"] is False
    np.testing.assert_array_equal(arrays["hidden"], np.triu(np.ones(arrays["hidden"].shape, bool), 1))
    assert "next" not in [one["name"] for one in header["measures"]]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_all_kinds_of_an_encoder_decoder(bart: Trace, kind: Kind) -> None:
    header, arrays = sent(bart, kind, [(0, 1)])
    queries, keys = bart.query_tokens(kind), bart.key_tokens(kind)
    assert arrays["weights"].shape == (1, len(queries), len(keys))
    assert header["query_labels"] == list(queries.labels)
    assert header["key_labels"] == list(keys.labels)
    assert header["rollout"] is (kind != "cross")
    assert header["causal"] is (kind == "decoder")
    np.testing.assert_allclose(
        arrays["weights"][0] / 65535, bart.attentions(0, kind)[1].double().numpy(), rtol=0, atol=STEP
    )
    assert len({survey_name(bart, one) for one in bart.kinds}) == 3


def layer_with(mask: torch.Tensor | None, heads: int = 2, n: int = 3) -> LayerTrace:
    q = torch.zeros(heads, n, 4)
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
    np.testing.assert_array_equal(hidden_cells([layer_with(first[None, :1])]), [[False, False, True]] * 3)
    assert not hidden_cells([layer_with(first), layer_with(None)]).any()
    assert not hidden_cells([layer_with(torch.randn(2, 3, 3))]).any()
    assert hidden_cells([layer_with(causal_mask(3))]).sum() == 3


def test_other_masks_than_a_causal_one_are_sent(trace: Trace) -> None:
    layer = trace.layer(0)
    n = len(trace.tokens)
    mask = causal_mask(n)
    mask[n - 1, 0] = False
    masked = LayerTrace(layer.query, layer.key, layer.value, layer.scale, Mask.recognise(mask))
    header, arrays = sent(
        Trace(trace.tokens, None, {"encoder": (Block(masked),)}, trace.last_hidden_state), "encoder", [(0, 0)]
    )
    assert header["causal"] is False
    assert header["norms"] is False
    np.testing.assert_array_equal(arrays["hidden"], (~mask).numpy())


def test_a_name_changes_with_whatever_shapes_the_numbers(trace: Trace) -> None:
    model = load("minilm")
    others = [model.trace(TEXT), model.trace(TEXT, "Another one"), model.trace("A", "b"), model.trace("a", "b")]
    names = [survey_name(one, "encoder") for one in (trace, *others)]
    assert len(set(names)) == 5
    assert survey_name(model.trace(TEXT, "Another one."), "encoder") == names[0]
    assert "cat" not in " ".join(names)


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
    tokens = load("minilm").tokenize("one [SEP] two", "three")
    assert groups(tokens) == [0, 1, 0, 1, 0, 2, 0]


# ---- what is sent when


def size(tokens: int, layers: int = 6, heads: int = 12) -> Survey:
    """A survey that says no more than how large everything is."""
    nothing = np.zeros((layers, heads, 0), np.float32)
    overview = np.zeros((layers, heads, 1, 1), np.uint8)
    hidden = np.broadcast_to(np.False_, (tokens, tokens))
    return Survey("", (), nothing, nothing[0, 0], (), overview, None, hidden, causal=False)


@pytest.mark.parametrize("tokens", [1, 16, 64, 128, 131])
def test_a_small_text_goes_all_at_once(tokens: int) -> None:
    heads = first_heads(size(tokens), 3, [(3, 5), (2, -1)])
    assert heads == [*((layer, head) for layer in range(6) for head in range(12)), (2, -1)]
    assert tokens**2 * 2 * 72 <= ALL_BYTES


@pytest.mark.parametrize(("tokens", "of_layer"), [(132, 12), (256, 12), (300, 11), (512, 3), (1024, 1)])
def test_of_a_large_text_the_chosen_heads_and_their_layer_go_first(tokens: int, of_layer: int) -> None:
    heads = first_heads(size(tokens), 3, [(3, 5)])
    assert heads[0] == (3, 5)
    assert len(heads) == len(set(heads)) == of_layer
    assert {layer for layer, _ in heads} == {3}


def test_no_message_is_too_large() -> None:
    large = size(512)
    chosen = [(layer, head) for layer in range(2) for head in range(12)]
    assert first_heads(large, 0, chosen) == chosen[: MAX_BYTES // (512 * 512 * 2)]
    every = [(layer, head) for layer in range(6) for head in range(12)]
    assert len(within(large, every)) * 512 * 512 * 2 <= MAX_BYTES
    assert len(within(size(3000), every)) == 1


def test_what_is_no_head_of_this_model_is_not_sent() -> None:
    asked = [(0, 12), (6, 0), (5, 11), (5, 11), (-1, 0), (2, -1), (2, -2), (10**30, 0)]
    assert within(size(16), asked) == [(5, 11), (2, -1)]
    assert within(size(16), asked, rollout=False) == [(5, 11)]


@pytest.mark.parametrize(
    ("sent", "heads"),
    [
        ([[1, 2], [3, 4.0], [1, 2]], [(1, 2), (3, 4)]),
        ([[2, -1], [2, -2], [-1, 0]], [(2, -1)]),
        ([], []),
        ([[True, 1], [1, None], [1], [1, 2, 3], "ab", None, {"0": 1}, [[1], 2], ["1", "2"], [0.5, 1]], []),
        ([[10**40, 0]], [(10**40, 0)]),
        ([[float("nan"), 0], [float("inf"), 0], [1e300, float("nan")]], []),
        (None, None),
        ("[[0, 0]]", None),
        ({"0": [0, 0]}, None),
        (7, None),
    ],
)
def test_heads_from_the_browser(sent: object, heads: list[Head] | None) -> None:
    assert read_heads(sent) == heads


def test_a_request_for_a_million_heads_is_cut() -> None:
    assert read_heads([[n, 0] for n in range(1_000_000)]) == [(n, 0) for n in range(MAX_REQUESTED)]


def test_the_first_payload_goes_once_for_each_trace() -> None:
    delivery = Delivery()
    assert delivery.pending("a", 0) == (True, [])
    delivery.mark_sent("a", [(0, 0)], 0, first=True)
    assert delivery.pending("a", 1) == (False, [])
    assert delivery.pending("b", 1) == (True, [])
    delivery.mark_sent("b", [], 1, first=True)
    assert delivery.pending("a", 2) == (True, [])


def test_a_request_is_fulfilled_once_after_it_is_passed_to_streamlit() -> None:
    delivery = Delivery()
    delivery.mark_sent("a", [], 0, first=True)
    delivery.request([(1, 2), (1, 3)])
    delivery.request([(1, 3), (4, 5)])
    for _ in range(2):  # a run that was interrupted
        first, heads = delivery.pending("a", 1)
        assert not first
        assert sorted(heads) == [(1, 2), (1, 3), (4, 5)]
    delivery.mark_sent("a", heads, 1, first=False)
    assert delivery.pending("a", 2) == (False, [])


def test_a_browser_that_lacks_everything_gets_everything() -> None:
    delivery = Delivery()
    delivery.mark_sent("a", [], 0, first=True)
    delivery.request([])
    assert delivery.pending("a", 1) == (True, [])


def test_a_possibly_replaced_message_is_repeated_once() -> None:
    delivery = Delivery()
    soon = UNCERTAIN_SECONDS / 2
    delivery.mark_sent("a", [(0, 0)], 0, first=True)
    assert delivery.pending("a", soon) == (True, [(0, 0)])
    delivery.mark_sent("a", [(0, 0)], soon, first=True)
    assert delivery.pending("a", 1.1 * UNCERTAIN_SECONDS) == (False, [])
    delivery.request([(1, 1)])
    delivery.mark_sent("a", [(1, 1)], 1, first=False)
    assert delivery.pending("a", 1 + soon) == (False, [(1, 1)])
    assert delivery.pending("b", 1 + soon) == (True, [])
