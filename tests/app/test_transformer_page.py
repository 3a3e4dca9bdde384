"""Transformer through `app.py`: what it shows equals torch, links reproduce, bad input gets a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attnviz.links.link import CHECKS as CHECK_NAMES
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING
from attnviz.sources.shown import TRANSFORMER_SOURCES
from attnviz.steps import PARTS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import EXAMPLE_TARGET, TransformerConfig
from attnviz.toy.transformer import draw_stack, trace_transformer
from tests.app.pages import SETTINGS_OPEN, choose, messages, open_page, payload
from tests.app.walking import panels, values, walk
from tests.unit.toy.transformers import torchs_stack


def opened(**query: str) -> AppTest:
    return open_page("transformer", **query)


def model(at: AppTest) -> dict[str, Any]:
    header, _ = payload(at, "walk")
    found: dict[str, Any] = header["model"]
    return found


def test_the_page_opens_on_a_small_encoder_with_a_document_for_each_attention() -> None:
    at = opened()
    header, document = walk(at)
    assert len(header["documents"]) == len(header["layers"]) == len(model(at)["attentions"]) == 2
    assert (document.header.kind, document.header.place, document.header.layer) == ("block", "encoder block 0", 0)
    assert document.header.query.labels == WordTokenizer().tokenize(OPENING["text"]).labels
    assert header["link"]["names"] == {"step": "part", "layer": "block"}
    assert not at.warning


def test_a_soft_cap_a_sink_and_a_window_are_among_the_settings_and_in_the_link() -> None:
    at = open_page("transformer", SETTINGS_OPEN, architecture="decoder", part="weights", text="the cat saw a dog")
    names = [name for name, _ in model(at)["attentions"][0]["steps"]]
    assert "capped" not in names
    for key, value in (("cap", 0.5), ("sink", -0.25), ("window", 2)):
        at.number_input(key=key).set_value(value).run()
    assert dict(at.query_params) | {"cap": "0.5", "sink": "-0.25", "window": "2"} == dict(at.query_params)
    attentions = model(at)["attentions"]
    assert all("capped" in [name for name, _ in attention["steps"]] for attention in attentions)
    assert [attention["mark"] for attention in attentions] == ["window of 2"] * 2
    config = TransformerConfig("decoder", cap=0.5, sink=-0.25, window=2)
    trace = trace_transformer(WordTokenizer().tokenize("the cat saw a dog"), None, config)
    expected = trace.layer(0, "decoder").head(0)
    shown = panels(at)
    np.testing.assert_allclose(np.nan_to_num(shown["weights"]), expected.weights, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shown["sink"], expected.sink, rtol=1e-5, atol=1e-6)
    assert says_window(at)


def says_window(at: AppTest) -> bool:
    return any("a token sees no further than its window in its own text" in one.value for one in at.caption)


@pytest.mark.parametrize(("architecture", "widest"), [("encoder", 8), ("decoder", 5), ("both", 8)])
def test_a_window_is_spoken_of_only_where_it_hides_something(architecture: str, widest: int) -> None:
    """A text of five tokens, and one of two for a decoder beside an encoder, whose window ends earlier."""
    text, pair = "the cat saw a dog", "a dog"
    tokens = WordTokenizer().tokenize(text), WordTokenizer().tokenize(pair) if architecture == "both" else None
    whole = trace_transformer(*tokens, TransformerConfig(architecture))
    said = {}
    for window in (1, widest - 1, widest, widest + 1, widest + 4):
        trace = trace_transformer(*tokens, TransformerConfig(architecture, window=window))
        hides = any(
            not torch.equal(trace.attentions(place.layer, place.kind), whole.attentions(place.layer, place.kind))
            for place in trace.places
        )
        link = {"architecture": architecture, "text": text, "pair": pair, "window": str(window)}
        said[window] = hides, says_window(open_page("transformer", SETTINGS_OPEN, **link))
    assert all(hides is is_said for hides, is_said in said.values()), said
    assert {hides for hides, _ in said.values()} == {True, False}


def test_without_a_text_the_purpose_of_the_architecture_is_said_all_the_same() -> None:
    at = open_page("transformer", SETTINGS_OPEN, architecture="decoder", window="1", text=" ")
    assert any(one.value.startswith("A decoder alone writes") for one in at.caption)
    assert not says_window(at)


def test_heads_can_share_keys_and_queries_and_keys_can_be_normalised() -> None:
    """Also those of the attention to the encoder."""
    text, pair = "the cat saw a dog", "a dog saw"
    link = {"architecture": "both", "heads": "4", "text": text, "pair": pair, "block": "5", "head": "3"}
    at = open_page("transformer", SETTINGS_OPEN, **link, part="qkv")
    assert "normed" not in [name for name, _ in model(at)["attentions"][5]["steps"]]
    assert [one["key_heads"] for one in model(at)["attentions"]] == [4] * 6
    assert at.selectbox(key="kv_heads").options == ["1", "2"]
    at.selectbox(key="kv_heads").set_value(2).run()
    at.toggle(key="qk_norm").set_value(True).run()
    assert dict(at.query_params) == {**link, "part": "qkv", "kv_heads": "2", "qk_norm": "1"}
    assert [one["key_heads"] for one in model(at)["attentions"]] == [2] * 6
    assert walk(at)[1].header.shared_by == 2
    config = TransformerConfig("both", heads=4, kv_heads=2, qk_norm=True)
    tokenize = WordTokenizer().tokenize
    expected = trace_transformer(tokenize(text), tokenize(pair), config).layer(1, "cross")
    np.testing.assert_allclose(panels(at)["key"], expected.projected("key")[3], rtol=1e-5, atol=1e-6)
    shown = panels(opened(**link, part="normed", kv_heads="2", qk_norm="1"))
    normed = torch.nn.functional.rms_norm(expected.projected("key")[2], (8,), eps=1e-6)
    np.testing.assert_allclose(shown["normed_key"], normed, rtol=1e-5, atol=1e-5)


def test_the_heads_of_keys_are_fitted_to_heads_that_are_fitted_to_the_width() -> None:
    at = open_page("transformer", SETTINGS_OPEN, width="32", heads="6", kv_heads="3", part="qkv")
    assert messages(at) == (
        "A width of 32 can't be divided into 6 heads, so there are 4. "
        "4 heads can't share 3 heads of keys evenly, so each has its own."
    )
    assert walk(at)[1].header.shared_by == 1
    assert at.selectbox(key="kv_heads").options == ["1", "2"]
    at.selectbox(key="kv_heads").set_value(2).run()
    for heads, shared in ((1, 1), (4, 1)):
        at.select_slider(key="heads").set_value(heads).run()
        assert (messages(at), walk(at)[1].header.shared_by) == ("", shared)
    at = open_page("transformer", width="32", heads="6", kv_heads="6", part="qkv")
    assert messages(at) == "A width of 32 can't be divided into 6 heads, so there are 4."
    nonsense = open_page("transformer", kv_heads="9", qk_norm="yes")
    assert "kv_heads=9 is not a whole number from 1 to 8" in messages(nonsense)
    assert "qk_norm=yes is not" in messages(nonsense)


def torchs_states(config: TransformerConfig) -> np.ndarray:
    """Return the last states of the decoder of a model with both, as torch's modules compute them."""
    tokenize = WordTokenizer().tokenize
    trace = trace_transformer(tokenize(DEFAULT_TEXT), tokenize(EXAMPLE_TARGET), config)
    x, y = (sum(one.values(), start=torch.zeros(())) for one in (trace.embedding_parts, trace.decoder_embedding_parts))
    theirs = torchs_stack(config, draw_stack(config))
    with torch.no_grad():
        mask = theirs.generate_square_subsequent_mask(len(y))
        states: np.ndarray = theirs(x[None], y[None], tgt_mask=mask, tgt_is_causal=True)[0].numpy()
    return states


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_last_state_of_a_model_with_both_is_torchs(norm: Any) -> None:
    at = opened(
        architecture="both", norm=norm, depth="2", block="5", part="final_norm" if norm == "pre" else "block_output"
    )
    shown = panels(at)["final_norm" if norm == "pre" else "block_output"]
    np.testing.assert_allclose(shown, torchs_states(TransformerConfig("both", norm=norm)), rtol=1e-5, atol=1e-5)


def test_an_encoder_of_six_blocks_stands_beside_a_decoder_of_one() -> None:
    at = opened(architecture="both", depth="6", decoder_depth="1", block="7", part="block_output")
    expected = torchs_states(TransformerConfig("both", 6, decoder_depth=1))
    np.testing.assert_allclose(panels(at)["block_output"], expected, rtol=1e-5, atol=1e-5)
    kinds = [attention["kind"] for attention in model(at)["attentions"]]
    assert kinds == [*["encoder"] * 6, "decoder", "cross"]


def test_the_decoder_has_as_many_blocks_as_the_encoder_until_another_number_is_chosen() -> None:
    def counts() -> tuple[int, int]:
        kinds = [attention["kind"] for attention in model(at)["attentions"]]
        return kinds.count("encoder"), kinds.count("cross")

    at = opened(architecture="both", depth="3")
    assert (counts(), at.slider(key="decoder_blocks").value) == ((3, 3), 3)
    at.slider(key="depth").set_value(5).run()
    assert (counts(), at.slider(key="decoder_blocks").value) == ((5, 5), 5)
    at.slider(key="decoder_blocks").set_value(1).run()
    assert counts() == (5, 1)
    assert dict(at.query_params) == {"architecture": "both", "depth": "5", "decoder_depth": "1"}
    at.slider(key="depth").set_value(4).run()
    assert counts() == (4, 1)
    at.slider(key="decoder_blocks").set_value(4).run()
    assert counts() == (4, 4)
    assert dict(at.query_params) == {"architecture": "both", "depth": "4"}


def test_the_feed_forward_is_four_times_as_wide_as_the_model_until_another_width_is_chosen() -> None:
    def maps() -> list[list[int]]:
        found: list[list[int]] = model(at)["attentions"][0]["feed_forward"]
        return found

    at = opened(part="feed_forward_hidden")
    assert (maps(), at.number_input(key="hidden_width").value) == ([[32, 128], [128, 32]], 128)
    at.slider(key="width").set_value(48).run()
    assert (maps(), at.number_input(key="hidden_width").value) == ([[48, 192], [192, 48]], 192)
    assert dict(at.query_params) == {"part": "feed_forward_hidden", "width": "48"}
    at.number_input(key="hidden_width").set_value(64).run()
    assert maps() == [[48, 64], [64, 48]]
    assert dict(at.query_params) == {"part": "feed_forward_hidden", "width": "48", "feed_forward": "64"}
    at.slider(key="width").set_value(16).run()
    assert (maps(), at.number_input(key="hidden_width").value) == ([[16, 64], [64, 16]], 64)
    at.number_input(key="hidden_width").set_value(96).run()
    at.number_input(key="hidden_width").set_value(64).run()
    assert dict(at.query_params) == {"part": "feed_forward_hidden", "width": "16"}


@pytest.mark.parametrize("hidden", ["1", "64", "512"])
def test_the_feed_forward_of_a_link_is_torchs(hidden: str) -> None:
    at = opened(feed_forward=hidden, depth="1", part="block_output")
    config = TransformerConfig(depth=1, feed_forward=int(hidden))
    trace = trace_transformer(WordTokenizer().tokenize(DEFAULT_TEXT), None, config)
    x = sum(trace.embedding_parts.values(), start=torch.zeros(()))
    with torch.no_grad():
        expected = torchs_stack(config, draw_stack(config))(x[None])[0]
    np.testing.assert_allclose(panels(at)["block_output"], expected.numpy(), rtol=1e-5, atol=1e-5)
    _, document = walk(at)
    assert document.arrays["W_1"].shape == (32, int(hidden))
    assert document.arrays["feed_forward_hidden"].shape == (len(x), int(hidden))


@pytest.mark.parametrize("check", CHECK_NAMES)
@pytest.mark.parametrize("hidden", ["1", "64"])
def test_every_check_takes_a_feed_forward_of_another_width(check: str, hidden: str) -> None:
    at = opened(feed_forward=hidden, check=check, architecture="decoder", q="2")
    assert not at.exception
    assert not at.warning


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
@pytest.mark.parametrize("source", TRANSFORMER_SOURCES)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_diagram_says_the_steps_that_the_documents_have(source: str, architecture: str, norm: str) -> None:
    at = opened(source=source, architecture=architecture, norm=norm, depth="3", heads="4")
    told = model(at)
    for number, attention in enumerate(told["attentions"]):
        choose(at, "layer", number)
        _, document = walk(at)
        header = document.header
        assert [[step.name, step.title] for step in header.steps] == attention["steps"]
        assert (header.attention, header.heads_in_layer) == (attention["kind"], attention["heads"])
        assert header.place.startswith(f"{attention['stack']} block {attention['block']}")
        assert told["tokens"][attention["stack"]] == list(header.query.labels)
        if "logits" in document.arrays and source == "pretrained":
            assert told["vocabulary"] == 30522 > document.arrays["logits"].shape[1]  # the likely ones
        elif "logits" in document.arrays:
            assert document.arrays["logits"].shape[1] == told["vocabulary"]
        if "W_1" in document.arrays:
            assert list(document.arrays["W_1"].shape) == attention["feed_forward"][0]
    has_head = source != "toy" or architecture != "encoder"
    assert told["head"] == has_head == (told["vocabulary"] is not None)
    if source == "toy":
        assert (told["norm_first"], told["final_norm"]) == (norm == "pre", norm == "pre")


def test_every_part_can_be_chosen() -> None:
    at = opened(architecture="both", norm="pre", block="5")
    for name, _ in model(at)["attentions"][5]["steps"]:
        choose(at, "step", name)
        assert values(at)["step"] == name
        assert at.query_params.get("part", "embeddings") == name
        assert PARTS[name].name == name


def test_a_choice_in_the_walk_is_in_the_link() -> None:
    at = opened(depth="2")
    choose(at, "layer", 1)
    choose(at, "head", 1)
    choose(at, "q", 3)
    assert dict(at.query_params) == {"block": "1", "head": "1", "q": "3"}
    again = opened(**dict(at.query_params))
    assert values(again) == values(at)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"block": "2"}, "Attention 2 does not exist: the choices go from 0 to 1."),
        ({"head": "2"}, "Head 2 does not exist: the choices go from 0 to 1."),
        ({"heads": "3"}, "A width of 32 can't be divided into 3 heads, so there are 2."),
        (
            {"part": "logits"},
            "Encoder block 0 has no step “Logits” in this model: the nearest before it, “Norm (f",
        ),
        (
            {"part": "final_norm", "architecture": "both", "block": "2"},
            "before it, “Norm (attention)”, is shown",
        ),
        ({"part": "<b>"}, "part=<b> is not the name of a step"),
        ({"depth": "13"}, "depth=13 is not a whole number from 1 to 12"),
        ({"decoder_depth": "0"}, "decoder_depth=0 is not a whole number from 1 to 12, so nothing is used"),
        ({"architecture": "both", "depth": "6", "decoder_depth": "1", "block": "8"}, "the choices go from 0 to 7."),
        *(
            ({"feed_forward": raw}, f"feed_forward={raw} is not a whole number from 1 to 512, so nothing is used")
            for raw in ("0", "513", "-1", "nan", "inf", "1e999", "64.5", "<b>", "")
        ),
        ({"width": "1000000"}, "width=1000000 is not a whole number from 8 to 128"),
        ({"architecture": "x" * 99}, "is not one of encoder, decoder, both"),
        ({"q": "99"}, "The pinned row 99 does not exist"),
        ({"model": "/no/such/folder", "source": "pretrained"}, "Showing MiniLM"),
    ],
)
def test_a_link_with_nonsense_has_a_note_and_a_valid_view(query: dict[str, str], sentence: str) -> None:
    at = opened(**query)
    assert sentence in messages(at)
    assert walk(at)[1].header.kind == "block"


@pytest.mark.parametrize("text", ["<script>alert(1)</script> **b** $x$", "שלום 👋🏽 e\u0301 \x00", "a", "w " * 400])
@pytest.mark.parametrize("architecture", ["encoder", "both"])
def test_any_text_is_shown(text: str, architecture: str) -> None:
    at = opened(text=text, pair=text, architecture=architecture, block="0", part="feed_forward_hidden")
    assert not at.exception
    _, document = walk(at)
    assert len(document.header.query.labels) <= 128


def test_without_a_text_there_is_a_hint() -> None:
    at = opened(text="  ")
    assert [one.value for one in at.info]
    at = opened(architecture="both", pair="   ", part="embeddings")
    assert walk(at)[1].header.kind == "block"  # an empty second text stands for the example


def test_a_large_model_is_offered_in_small_documents() -> None:
    text = " ".join(f"w{number}" for number in range(64))
    at = opened(text=text, depth="12", heads="8", width="128", architecture="decoder", part="weights")
    header, _ = payload(at, "walk")
    assert len(header["documents"]) == 12
    from attnviz.runtime.arrays import array_store

    file = array_store().request(header["documents"][0]).result(120).decompressed()
    assert len(file) < 2_500_000
