"""Step by step through `app.py`: what the figure holds equals torch, links reproduce, bad input gets a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from attnviz.components.packing import unpack
from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained import load
from attnviz.steps import STEPS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.app.pages import choose, messages, open_page, payload, send_update, sent
from tests.toy import run_block

COMPUTED = [step for step in STEPS if step != "tokens"]


def figure(at: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the page's picture, as it goes to the browser."""
    (found,) = [(header, arrays) for header, arrays in payloads(at) if "layout" in header or "grid" in header]
    return found


def panels(at: AppTest) -> dict[str, np.ndarray]:
    """Read the matrices of the page's picture."""
    header, arrays = figure(at)
    described = header["panels"] if "grid" in header else header["data"]
    return {panel["name"]: arrays[str(index)] for index, panel in enumerate(described)}


def payloads(at: AppTest) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Read what the page's browser components are given."""
    return [unpack(found) for name in ("stage", "inspector", "chart") for found in sent(at, name)]


def inspector(at: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what the inspector is given."""
    return next((header, arrays) for header, arrays in payloads(at) if "query_labels" in header)


def stepper(at: AppTest) -> dict[str, Any]:
    """Return the stepper's header."""
    header, _ = payload(at, "stepper")
    return header


def words(text: str = DEFAULT_TEXT) -> tuple[int, ...]:
    return WordTokenizer().tokenize(text).ids


@pytest.mark.parametrize("causal", [False, True])
def test_the_toys_figures_equal_torch(causal: bool) -> None:
    at = open_page(step="head_outputs", mask="causal" if causal else "none")
    layer = run_block(words(), ToyConfig(causal=causal)).layer(0)
    q, k, v = layer.query, layer.key, layer.value
    expected = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0, 0]
    np.testing.assert_allclose(panels(at)["head_outputs"], expected.numpy(), rtol=1e-5, atol=1e-6)
    choose(at, "step", "weights")
    wanted_weights = F.scaled_dot_product_attention(q[None], k[None], torch.eye(11)[None, None], is_causal=causal)[0, 0]
    found = np.nan_to_num(panels(at)["weights"])
    np.testing.assert_allclose(found, wanted_weights.numpy(), rtol=1e-5, atol=1e-6)


def test_a_head_of_the_built_in_model_equals_its_trace() -> None:
    at = open_page(source="pretrained", layer="3", head="5", step="weights")
    expected = load("minilm").trace(DEFAULT_TEXT).attentions(3)[5]
    np.testing.assert_array_equal(panels(at)["weights"], expected.numpy())
    header, arrays = inspector(at)
    assert header["query_labels"][:3] == ["[CLS]", "the", "animal"]
    np.testing.assert_array_equal(arrays["query"], load("minilm").trace(DEFAULT_TEXT).layer(3).query[5].numpy())


@pytest.mark.parametrize("step", COMPUTED)
@pytest.mark.parametrize("source", ["toy", "pretrained"])
def test_every_step_of_both_sources_shows_a_figure(source: str, step: str) -> None:
    at = open_page(source=source, step=step)
    assert step in panels(at) or step == "qkv"
    assert not at.warning
    assert not at.error


def test_every_step_can_be_chosen() -> None:
    at = open_page(step="tokens")
    for step in [*COMPUTED, "tokens"]:
        choose(at, "step", step)
        assert not at.exception
        assert stepper(at)["chosen"]["step"] == step
        assert at.query_params.get("step", "scores") == step


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("head", "1", {"head": "1"}),
        ("drawing", "chart", {"drawing": "chart"}),
        ("predict", "1", {"predict": "1"}),
        ("stretch", "1", {"stretch": "1"}),
        ("head", "5", {}),  # two heads are there
        ("head", "-1", {}),
        ("head", 1, {}),
        ("layer", "x", {}),
        ("step", "<script>", {}),
        ("step", None, {}),
        ("step", ["weights"], {}),
        ("predict", "yes", {}),
        ("drawing", "no such drawing", {}),
    ],
)
def test_a_choice_is_written_to_the_link_and_invalid_choices_are_ignored(
    name: str, value: object, expected: dict[str, str]
) -> None:
    at = choose(open_page(step="weights"), name, value)
    assert not at.exception
    assert not at.error
    found = dict(at.query_params)
    assert found == {"step": "weights", **expected}
    assert {key: stepper(at)["chosen"][key] for key in expected} == expected


def acknowledged(at: AppTest) -> tuple[int, int]:
    """Read the numbers of the last updates that the stepper and the inspector know to have arrived."""
    stepper, inspector = (payload(at, key)[0]["acknowledged"] for key in ("stepper", "inspector"))
    return stepper, inspector


def test_each_component_receives_the_number_of_its_last_acknowledged_update() -> None:
    at = open_page(step="scores")
    assert acknowledged(at) == (0, 0)
    send_update(at, "stepper", {"number": 1_790_000_000_000, "values": {"step": "weights", "head": "1"}})
    send_update(at, "inspector", {"number": 7, "values": {"pin": {"q": 2, "k": 3}}})
    send_update(at, "stepper", {"number": 1_790_000_000_000 - 1, "values": {"step": "qkv"}})  # too late
    assert (payload(at, "stepper")[0]["acknowledged"], payload(at, "inspector")[0]["acknowledged"]) == (
        1_790_000_000_000,
        7,
    )
    assert dict(at.query_params) == {"step": "weights", "head": "1", "q": "2", "k": "3"}


@pytest.mark.parametrize(
    "message",
    [
        None, 3, "step", [], ["step"], {}, {"values": None}, {"values": ["step"]},
        {"number": "1", "values": 1}, {"number": -1}, {"number": 2**53}, {"number": 1e400}, {"number": [1]},
        {"number": True, "values": {"no such choice": "1", "step": {"a": 1}}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("component", ["stepper", "inspector"])
def test_a_forged_message_changes_nothing(component: str, message: object) -> None:
    at = send_update(open_page(step="scaled"), component, message)
    assert not at.exception
    assert not at.error
    assert dict(at.query_params) == {"step": "scaled"}
    assert payload(at, component)[0]["acknowledged"] == 0


@pytest.mark.parametrize(
    ("link", "switches"),
    [
        ({"step": "tokens"}, []),
        ({"step": "qkv"}, []),
        ({"step": "scores"}, ["predict"]),
        ({"step": "weights"}, ["predict", "stretch"]),
        ({"step": "weights", "drawing": "chart"}, ["stretch"]),
    ],
)
def test_the_stepper_offers_what_a_step_has(link: dict[str, str], switches: list[str]) -> None:
    at = open_page(source="pretrained", **link)
    header, arrays = payload(at, "stepper")
    assert [name for name, *_ in header["switches"]] == switches
    assert [name for name, _ in header["steps"]] == list(STEPS)
    assert header["layers"] == 6
    if link["step"] == "tokens":
        assert (header["heads"], header["drawings"], arrays) == (0, [], {})
    else:
        assert (header["heads"], arrays["weights"].shape) == (12, (12, 16, 16))


def test_the_thumbnails_are_the_weights_of_every_head_and_lecture_mode_sends_none() -> None:
    at = open_page(mask="causal", step="weights", heads="3")
    _, arrays = payload(at, "stepper")
    weights = run_block(words(), ToyConfig(causal=True, heads=3)).layer(0).attentions()
    np.testing.assert_allclose(arrays["weights"] / 255, weights.numpy(), atol=0.5 / 255 + 1e-6)
    np.testing.assert_array_equal(arrays["hidden"], np.triu(np.ones((11, 11)), 1))
    assert payload(open_page(step="weights", lecture="1"), "stepper")[1] == {}


def test_a_link_holds_the_whole_view() -> None:
    link = {
        "text": "To be or not", "tokenizer": "char", "heads": "4", "head_size": "6", "mask": "causal", "scale": "0.125",
        "seed": "7", "positions": "random", "step": "weights", "head": "3", "q": "4", "k": "2", "projection": "0",
    }  # fmt: skip
    at = open_page(**link)
    assert not at.warning
    assert dict(at.query_params) == link
    header, _ = inspector(at)
    assert (header["q"], header["k"], figure(at)[0]["head"], header["scale"]) == (4, 2, 3, 0.125)
    assert header["query_labels"][:3] == ["T", "o", "␣"]
    again = open_page(**at.query_params)
    np.testing.assert_array_equal(panels(again)["weights"], panels(at)["weights"])


def test_a_plain_view_has_a_plain_link() -> None:
    assert dict(open_page().query_params) == {}


def test_settings_survive_a_change_of_page() -> None:
    at = open_page(step="scaled", seed="5", heads="3")
    before = panels(at)["scaled"]
    at.switch_page("../../pages/tokens.py").run()
    at.run()
    assert not at.exception
    at.switch_page("../../pages/step_by_step.py").run()
    at.run()
    np.testing.assert_array_equal(panels(at)["scaled"], before)
    assert at.query_params["seed"] == "5"


@pytest.mark.parametrize(
    ("link", "note"),
    [
        ({"step": "dance"}, "step=dance is not one of"),
        ({"heads": "99"}, "heads=99 is not a whole number from 1 to 8"),
        ({"scale": "nan"}, "scale=nan is neither"),
        ({"source": "<script>"}, "source=<script> is not one of"),
        ({"source": "pretrained", "layer": "99"}, "Layer 99 does not exist"),
        ({"source": "pretrained", "head": "12"}, "Head 12 does not exist"),
        ({"head": "5"}, "Head 5 does not exist"),
        ({"q": "400", "k": "1"}, "pinned row 400 does not exist"),
        ({"source": "pretrained", "kind": "cross"}, "no cross attention"),
    ],
)
def test_nonsense_in_a_link_gives_defaults_and_a_note(link: dict[str, str], note: str) -> None:
    at = open_page(**link)
    assert note in messages(at)
    assert panels(at)


def test_the_note_disappears_after_a_change() -> None:
    at = open_page(heads="99")
    assert at.warning
    choose(at, "step", "scaled")
    choose(at, "step", "weights")
    assert not at.warning


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_empty_text_gives_a_hint(text: str) -> None:
    at = open_page()
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    assert "Type a sentence" in messages(at)
    assert not payloads(at)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script> &amp; <b>", "مرحبا بالعالم", "👩‍👩‍👧‍👦 é é", "\0\x1b", "a" * 300, "x"]
)
@pytest.mark.parametrize("tokenizer", ["word", "char", "bert"])
def test_any_text_in_any_tokenizer(text: str, tokenizer: str) -> None:
    at = open_page(text=text, tokenizer=tokenizer, step="weights")
    weights = np.nan_to_num(panels(at)["weights"])
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)


def test_unknown_characters_are_named() -> None:
    at = open_page(text="naïve 7", tokenizer="char")
    assert "Not in the vocabulary: 'ï' (U+00EF) at position 2, '7' (U+0037) at position 6." in messages(at)


@pytest.mark.parametrize(
    ("link", "kept", "dropped"), [({}, 512, 288), ({"source": "pretrained"}, 512, 290)], ids=["toy", "model"]
)
def test_a_long_text_is_cut_with_the_number_of_dropped_tokens(link: dict[str, str], kept: int, dropped: int) -> None:
    at = open_page(text="word " * 800, step="weights", **link)
    assert panels(at)["weights"].shape == (kept, kept)
    assert f"first {kept} tokens are used; {dropped} were dropped" in messages(at)


def test_a_model_that_is_not_there_falls_back_with_a_sentence() -> None:
    at = open_page(source="pretrained", model="../../etc/passwd", step="weights")
    assert "neither a folder here nor a name" in messages(at)
    assert panels(at)["weights"].shape == (16, 16)


def test_a_sentence_pair_reaches_the_model() -> None:
    at = open_page(source="pretrained", text="the cat", pair="the dog", step="weights")
    header, _ = inspector(at)
    assert header["query_labels"] == ["[CLS]", "the", "cat", "[SEP]", "the", "dog", "[SEP]"]


def test_clicking_a_head_and_pinning_go_through_the_view() -> None:
    """The browser's answer arrives as component state; what it asks for must end in the view and the link."""
    at = open_page(source="pretrained", step="weights", q="3", k="1", drawing="chart")
    shapes = figure(at)[0]["layout"]["shapes"]
    assert {shape["line"]["color"] for shape in shapes} == {"#0072B2", "#D55E00"}
    assert at.query_params["q"] == "3"


def test_the_scale_can_be_a_number() -> None:
    at = open_page(step="scaled")
    at.selectbox(key="scale_choice").set_value("number").run()
    at.number_input(key="scale_number").set_value(0.5).run()
    found = panels(at)
    np.testing.assert_allclose(found["scaled"], found["scores"] * 0.5, rtol=1e-6)
    assert at.query_params["scale"] == "0.5"


@pytest.mark.parametrize("qkv", ["identity", "positions"])
def test_other_parametrisations(qkv: str) -> None:
    at = open_page(qkv=qkv, step="qkv", head="0")
    found = panels(at)
    if qkv == "identity":
        np.testing.assert_array_equal(found["query"], found["embeddings"])
    else:
        np.testing.assert_allclose(found["query"], found["U_query"] @ found["embeddings_k"], rtol=1e-4, atol=1e-4)
        assert "mixes positions" in " ".join(h.proto.body for h in at.get("html"))


def test_averages_page_shows_three_equal_results() -> None:
    at = open_page("averages")
    results = {}
    for number, way in enumerate(("loop", "matrix", "softmax", "data"), 1):
        send_update(at, "stepper", {"number": number, "values": {"step": way}})
        assert not at.exception
        assert at.query_params.get("way", "loop") == way
        results[way] = panels(at)["averages"]
    x = run_block(words(), ToyConfig()).layer(0).query_input
    assert x is not None
    expected = x.cumsum(0) / torch.arange(1, 12)[:, None]
    for way in ("loop", "matrix", "softmax"):
        np.testing.assert_allclose(results[way], expected.numpy(), rtol=1e-5, atol=1e-6)
    assert np.abs(results["data"] - results["loop"]).max() > 0.1
