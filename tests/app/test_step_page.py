"""Step by step through `app.py`: what the figure holds equals torch, links reproduce, bad input gets a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from attnviz.links.link import DEFAULT_TEXT, KEYS
from attnviz.links.pages import OPENING
from attnviz.steps import STEPS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import Positions, ToyConfig
from tests.app.pages import choose, messages, open_page, payload, send_update
from tests.app.walking import of_head, panels, step_of, values, walk
from tests.loaded import built_in_model
from tests.toy import run_block

COMPUTED = [step for step in STEPS if step != "tokens"]


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
    expected = built_in_model().trace(DEFAULT_TEXT).attentions(3)[5]
    np.testing.assert_allclose(panels(at)["weights"], expected.numpy(), rtol=0, atol=1e-6)
    _, document = walk(at)
    assert document.header.query.labels[:3] == ("[CLS]", "the", "animal")
    np.testing.assert_array_equal(document.arrays["query/5"], built_in_model().trace(DEFAULT_TEXT).layer(3).query[5])


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
        assert values(at)["step"] == step
        assert at.query_params.get("step", "scores") == step


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("head", 1, {"head": "1"}),
        ("head", 1.0, {"head": "1"}),  # JSON does not tell integers from floats
        ("predict", True, {"predict": "1"}),
        ("drawing", "chart", {"drawing": "chart"}),
        ("stretch", "1", {"stretch": "1"}),
        ("stretch", "off", {"stretch": "off"}),
        ("stretch", True, {}),
        ("q", 3, {"q": "3"}),
        ("q", None, {}),
        ("head", 5, {}),  # two heads are there
        ("head", -1, {}),
        ("head", 0.5, {}),
        ("head", True, {}),
        ("head", [1], {}),
        ("head", 10**400, {}),
        ("q", 400, {}),
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
    assert {key: KEYS[key].write(values(at)[key]) for key in expected} == expected


def acknowledged(at: AppTest) -> int:
    """Read the number of the last update that the walk knows to have arrived."""
    number: int = payload(at, "walk")[0]["acknowledged"]
    return number


def test_the_walk_receives_the_number_of_its_last_acknowledged_update() -> None:
    at = open_page(step="scores")
    assert acknowledged(at) == 0
    chosen = {"step": "weights", "head": 1, "q": 2, "k": 3}
    send_update(at, "walk", {"number": 1_790_000_000_000, "values": chosen})
    send_update(at, "walk", {"number": 1_790_000_000_000 - 1, "values": {"step": "qkv"}})  # too late
    assert acknowledged(at) == 1_790_000_000_000
    assert dict(at.query_params) == {"step": "weights", "head": "1", "q": "2", "k": "3"}


@pytest.mark.parametrize(
    "message",
    [
        None, 3, "step", [], ["step"], {}, {"values": None}, {"values": ["step"]},
        {"number": "1", "values": 1}, {"number": -1}, {"number": 2**53}, {"number": 1e400}, {"number": [1]},
        {"number": True, "values": {"no such choice": "1", "step": {"a": 1}}},
    ],
)  # fmt: skip
def test_a_forged_message_changes_nothing(message: object) -> None:
    at = send_update(open_page(step="scaled"), "walk", message)
    assert not at.exception
    assert not at.error
    assert dict(at.query_params) == {"step": "scaled"}
    assert acknowledged(at) == 0


def test_a_change_in_the_walk_computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    at = open_page(source="pretrained", step="scores")
    documents = payload(at, "walk")[0]["documents"]
    assert len(documents) == 6
    monkeypatch.setattr("attnviz.ui.caches.trace", lambda *_: pytest.fail("the page runs the model"))
    for name, value in (("step", "weights"), ("head", 3), ("layer", 5), ("q", 2), ("drawing", "chart")):
        choose(at, name, value)
        assert not at.exception
        assert payload(at, "walk")[0]["documents"] == documents


def test_the_thumbnails_are_the_weights_of_every_head() -> None:
    _, document = walk(open_page(mask="causal", step="weights", heads="3"))
    weights = run_block(words(), ToyConfig(causal=True, heads=3)).layer(0).attentions()
    np.testing.assert_allclose(document.arrays["thumbnails"] / 255, weights.numpy(), atol=0.5 / 255 + 1e-6)
    np.testing.assert_array_equal(document.arrays["hidden_thumbnail"], np.triu(np.ones((11, 11)), 1))


def test_a_link_holds_the_whole_view() -> None:
    link = {
        "text": "To be or not", "tokenizer": "char", "heads": "4", "head_size": "6", "mask": "causal", "scale": "0.125",
        "seed": "7", "positions": "random", "step": "weights", "head": "3", "q": "4", "k": "2", "projection": "0",
    }  # fmt: skip
    at = open_page(**link)
    assert not at.warning
    assert dict(at.query_params) == link
    header, document = walk(at)
    assert [header["values"][name] for name in ("q", "k", "head")] == [4, 2, 3]
    assert document.header.scale == 0.125
    assert document.header.query.labels[:3] == ("T", "o", "␣")
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
    _, document = walk(at)
    assert document.header.query.labels == ("[CLS]", "the", "cat", "[SEP]", "the", "dog", "[SEP]")


def test_a_pin_and_a_drawing_of_a_link_reach_the_walk() -> None:
    at = open_page(source="pretrained", step="weights", q="3", k="1", drawing="chart")
    assert [values(at)[name] for name in ("drawing", "q", "k")] == ["chart", 3, 1]
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
        header, document = walk(at)
        assert "mixes positions" in of_head(step_of(header, document).notice, header, document)


def test_averages_page_shows_three_equal_results() -> None:
    at = open_page("averages")
    assert payload(at, "walk")[0]["link"]["names"] == {"step": "way"}
    results = {}
    for number, way in enumerate(("loop", "matrix", "softmax", "data"), 1):
        send_update(at, "walk", {"number": number, "values": {"step": way, "q": number}})
        assert not at.exception
        assert at.query_params.get("way", "loop") == way
        results[way] = panels(at)[f"by_{way}"]
    layer = run_block(words(OPENING["text"]), ToyConfig()).layer(0)
    x = layer.query_input
    assert x is not None
    expected = x.cumsum(0) / torch.arange(1, len(x) + 1)[:, None]
    for way in ("loop", "matrix", "softmax"):
        np.testing.assert_allclose(results[way], expected.numpy(), rtol=1e-5, atol=1e-6)
    attended = F.scaled_dot_product_attention(layer.query[:1], layer.key[:1], x[None], is_causal=True)[0]
    np.testing.assert_allclose(results["data"], attended.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"step": "weights", "q": "3", "k": -1}, {"way": "softmax", "q": "3"}),
        ({"step": "<script>", "layer": 4, "head": 9, "predict": True, "q": 99}, {"way": "softmax"}),
        ({"way": "data"}, {"way": "softmax"}),
        ({"drawing": "chart", "q": 2.0, "k": 1}, {"way": "softmax", "drawing": "chart", "q": "2", "k": "1"}),
    ],
)
def test_averages_take_from_the_browser_what_a_link_could_hold(sent: dict[str, Any], expected: dict[str, str]) -> None:
    at = open_page("averages", way="softmax")
    send_update(at, "walk", {"number": 1, "values": sent})
    assert not at.exception
    assert at.query_params == expected


def test_a_soft_cap_is_a_step_of_a_toy_that_has_one_and_a_link_to_it_says_where_there_is_none() -> None:
    at = open_page(step="capped", cap="0.5", sink="1", heads="1")
    layer = run_block(words(), ToyConfig(heads=1, cap=0.5, sink=1.0)).layer(0)
    steps = layer.head(0)
    capped = 0.5 * torch.tanh(steps.scaled / 0.5)
    np.testing.assert_allclose(panels(at)["capped"], capped.numpy(), rtol=1e-5, atol=1e-6)
    choose(at, "step", "weights")
    shown = panels(at)
    whole = torch.softmax(torch.cat([capped, torch.ones(11, 1)], -1), -1)
    np.testing.assert_allclose(shown["weights"], whole[:, :-1].numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shown["sink"], whole[:, -1:].numpy(), rtol=1e-5, atol=1e-6)
    assert not messages(at)
    plain = open_page(step="capped")
    note = "This layer has no step “Capped” in this model: the nearest before it, “Scaled”, is shown."
    assert note in messages(plain)
    assert values(plain)["step"] == "scaled"


@pytest.mark.parametrize("kind", ["alibi", "buckets"])
def test_a_position_bias_is_a_step_of_a_toy_that_has_one(kind: Positions) -> None:
    at = open_page(step="biased", positions=kind, heads="3", head="1")
    steps = run_block(words(), ToyConfig(heads=3, positions=kind)).layer(0).head(1)
    bias = steps.position_bias
    assert bias is not None
    shown = panels(at)
    np.testing.assert_allclose(shown["position_bias"], bias.expand(11, 11).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shown["biased"], (steps.scaled + bias).numpy(), rtol=1e-5, atol=1e-5)
    choose(at, "step", "weights")
    expected = torch.softmax(steps.scaled + bias, -1)
    np.testing.assert_allclose(panels(at)["weights"], expected.numpy(), rtol=1e-5, atol=1e-6)
    assert not messages(at)
    assert values(open_page(step="biased"))["step"] == "scaled"
