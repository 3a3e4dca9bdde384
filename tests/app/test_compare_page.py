"""Compare through `app.py`: what the picture is given equals torch, links reproduce it, bad input is survived."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained import load
from attnviz.tokens import WordPiece, WordTokenizer
from attnviz.toy.config import ToyConfig
from attnviz.ui.compare.panes import PRESETS
from tests.app.pages import messages, open_page, payload, sent
from tests.toy import run_block
from tests.unit.families import save

WIDE = MINIMAL_PAIRS[0].b
open_link = partial(open_page, "compare")


def picture(at: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what the picture is given."""
    return payload(at, "compare")


def link(at: AppTest) -> dict[str, str]:
    return dict(at.query_params)


def press(at: AppTest, preset: str) -> AppTest:
    at.button_group(key="compare_preset").set_value(preset).run()
    assert not at.exception
    return at


def notice(at: AppTest) -> str:
    return " ".join(box.proto.body for box in at.get("html"))


def words(text: str = DEFAULT_TEXT) -> tuple[int, ...]:
    return WordTokenizer().tokenize(text).ids


def sdpa(layer: Any, head: int, *, causal: bool = False, scale: float | None = None) -> np.ndarray:
    """Work out a head's weights with torch's own attention."""
    query, key = layer.query[head][None, None], layer.key[head][None, None]
    identity = torch.eye(key.shape[2])[None, None]
    found = F.scaled_dot_product_attention(query, key, identity, is_causal=causal, scale=scale or layer.scale)
    return found[0, 0].numpy()


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_plain_link_shows_a_word_changed() -> None:
    at = open_link()
    assert link(at) == {"b_text": WIDE}
    header, arrays = picture(at)
    a, b = (run_block(words(text), ToyConfig()).layer(0) for text in (DEFAULT_TEXT, WIDE))
    same(arrays["a"], sdpa(a, 0))
    same(arrays["b"], sdpa(b, 0))
    same(arrays["difference"], sdpa(a, 0) - sdpa(b, 0))
    assert header["labels"]["query"][-2:] == ["too", "tired. | wide."]
    assert header["own"]["a"]["key"][-1] == "tired."
    assert header["own"]["b"]["key"][-1] == "wide."
    assert [panel["title"] for panel in header["panels"]][:2] == ["A · tired.", "B · wide."]


def test_two_heads_of_a_model_equal_torch() -> None:
    at = open_link(source="pretrained", layer="3", head="5", b_head="7")
    layer = load("minilm").trace(DEFAULT_TEXT).layer(3)
    _, arrays = picture(at)
    same(arrays["a"], sdpa(layer, 5))
    same(arrays["b"], sdpa(layer, 7))
    np.testing.assert_array_equal(arrays["difference"], arrays["a"] - arrays["b"])
    middle = (arrays["a"].astype(float) + arrays["b"]) / 2
    kl = [np.sum(p * np.log2(p / middle), axis=1) for p in (arrays["a"].astype(float), arrays["b"].astype(float))]
    np.testing.assert_allclose(arrays["divergence"][:, 0], np.mean(kl, axis=0), atol=1e-6)


@pytest.mark.parametrize("source", ["toy", "pretrained"])
@pytest.mark.parametrize(("preset", "b"), [("scale", {"scale": 1.0}), ("mask", {"causal": True})])
def test_scale_and_mask_change_on_the_same_queries_and_keys(source: str, preset: str, b: dict[str, Any]) -> None:
    at = press(open_link(source=source, head="1"), preset)
    trained = load("minilm").trace(DEFAULT_TEXT).layer(0)
    layer = run_block(words(), ToyConfig()).layer(0) if source == "toy" else trained
    _, arrays = picture(at)
    same(arrays["a"], sdpa(layer, 1))
    same(np.nan_to_num(arrays["b"]), sdpa(layer, 1, **b))
    same(arrays["difference"], sdpa(layer, 1) - sdpa(layer, 1, **b))
    assert ("what if?" in notice(at)) == (source == "pretrained")


@pytest.mark.parametrize("quantity", ["scores", "scaled", "masked", "weights"])
def test_every_quantity_of_both(quantity: str) -> None:
    at = open_link(quantity=quantity, b_mask="causal", b_head="1", mask="none")
    config = ToyConfig(), ToyConfig(causal=True)
    steps = [run_block(words(), each).layer(0).head(head) for head, each in enumerate(config)]
    _, arrays = picture(at)
    wanted = [getattr(each, quantity).numpy() for each in steps]
    same(arrays["a"], wanted[0])
    finite = np.isfinite(wanted[1])
    same(np.nan_to_num(arrays["b"]), np.where(finite, wanted[1], 0))
    same(arrays["difference"][finite], (wanted[0] - wanted[1])[finite])
    assert np.isnan(arrays["difference"])[~finite].all()


def test_the_toy_beside_a_model_has_the_same_tokens() -> None:
    at = press(open_link(), "source")
    header, arrays = picture(at)
    pieces = WordPiece().tokenize(DEFAULT_TEXT)
    assert header["labels"]["query"] == list(pieces.labels)
    same(arrays["a"], sdpa(run_block(pieces.ids, ToyConfig()).layer(0), 0))
    same(arrays["b"], sdpa(load("minilm").trace(DEFAULT_TEXT).layer(0), 0))
    assert "seed 0 and have learned nothing" in notice(at)
    assert [panel["title"] for panel in header["panels"]][:2] == ["A · toy", "B · minilm"]


def test_two_models(tmp_path: Path) -> None:
    folder = str(save("bert", tmp_path / "bert"))
    at = open_link(source="pretrained", b_model=folder, b_layer="1", b_head="3")
    _, arrays = picture(at)
    same(arrays["b"], sdpa(load(folder).trace(DEFAULT_TEXT).layer(1), 3))
    same(arrays["a"], sdpa(load("minilm").trace(DEFAULT_TEXT).layer(0), 0))


def test_a_model_that_reads_other_tokens_is_aligned(tmp_path: Path) -> None:
    folder = str(save("gpt2", tmp_path / "gpt2"))
    at = open_link(source="pretrained", b_model=folder, text="the cat sat", layer="1")
    header, arrays = picture(at)
    own = {side: [label for label in header["own"][side]["query"] if label is not None] for side in "ab"}
    assert own["a"] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert own["b"] == list(load(folder).tokenize("the cat sat").labels)
    there = np.array([label is not None for label in header["own"]["b"]["query"]])
    wanted = load(folder).trace("the cat sat").attentions(1)[0].numpy()
    same(np.nan_to_num(arrays["b"][there][:, there]), wanted)


def test_an_inserted_word_leaves_a_gap_that_is_marked() -> None:
    at = open_link(text="it was good", b_text="it was not good")
    header, arrays = picture(at)
    assert header["labels"]["key"] == ["it", "was", "– | not", "good"]
    assert np.isnan(arrays["a"][2]).all()
    assert np.isnan(arrays["difference"][:, 2]).all()
    b = run_block(words("it was not good"), ToyConfig()).layer(0)
    same(arrays["b"], sdpa(b, 0))
    assert "divergence" not in arrays
    assert "1 row only B has, 1 column only B has" in notice(at)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "model"])
@pytest.mark.parametrize("query", [{}, {"source": "pretrained", "head": "2"}, {"text": "No pair.", "scale": "off"}])
def test_every_preset_differs_in_what_it_says_and_its_link_reproduces(preset: str, query: dict[str, str]) -> None:
    at = press(open_link(**query), preset)
    assert not at.warning
    assert not at.error
    assert at.session_state["compare_preset"] == preset
    header, arrays = picture(at)
    again, others = picture(open_link(**link(at)))
    assert again["trace"] == header["trace"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(others[name], array)
    assert np.nanmax(np.abs(arrays["difference"])) > 0


@pytest.mark.asks_outside
def test_a_second_model_that_is_not_on_this_machine_is_named() -> None:
    at = press(open_link(), "model")
    assert "bert-base-uncased is not on this machine" in messages(at)
    assert "both panes would show minilm, and there is nothing to compare" in messages(at)
    assert "mean |A" not in "".join(html.proto.body for html in at.get("html"))  # no figures of a model beside itself
    at.selectbox(key="b_head").set_value(3).run()
    assert np.abs(picture(at)[1]["difference"]).max() > 0  # what differs otherwise is compared
    at.selectbox(key="b_head").set_value(None).run()
    assert link(at) == {"source": "pretrained", "b_model": "bert-base-uncased"}


def test_b_follows_a_where_it_has_nothing_of_its_own() -> None:
    at = press(open_link(), "head")
    at.number_input(key="seed").set_value(7).run()
    at.selectbox(key="mask").set_value("causal").run()
    layer = run_block(words(), ToyConfig(seed=7, causal=True)).layer(0)
    _, arrays = picture(at)
    same(np.nan_to_num(arrays["b"]), sdpa(layer, 1, causal=True))
    assert link(at) == {"seed": "7", "mask": "causal", "b_head": "1"}


def test_b_takes_as_value_again() -> None:
    at = press(open_link(head="1"), "head")
    assert link(at) == {"head": "1", "b_head": "0"}
    at.selectbox(key="b_head").set_value(None).run()
    assert link(at) == {"head": "1", "compare": "same"}
    assert at.session_state["compare_preset"] is None
    _, arrays = picture(at)
    assert not arrays["difference"].any()
    assert "equal in every cell" in notice(at)
    _, again = picture(open_link(**link(at)))
    assert not again["difference"].any()


def test_emptying_bs_text_is_not_undone() -> None:
    at = open_link()
    at.text_area(key="b_text").set_value("  ").run()
    at.run()
    assert link(at) == {"compare": "same"}


def test_the_model_of_a_pane_is_chosen_with_its_source() -> None:
    at = open_link()
    at.selectbox(key="compare_source_B").set_value("minilm").run()
    assert link(at)["b_source"] == "pretrained"
    assert link(at)["b_model"] == "minilm"
    at.selectbox(key="compare_source_B").set_value(None).run()
    assert "b_source" not in link(at)
    at.selectbox(key="compare_source_A").set_value("minilm").run()
    assert link(at)["source"] == "pretrained"


def test_a_pair_of_sentences_goes_to_both_panes() -> None:
    at = open_link()
    at.selectbox(key="compare_pair").set_value(3).run()
    assert (link(at)["text"], link(at)["b_text"]) == (MINIMAL_PAIRS[3].a, MINIMAL_PAIRS[3].b)
    assert at.text_area(key="text").value == MINIMAL_PAIRS[3].a


def test_settings_survive_a_change_of_page() -> None:
    at = press(open_link(seed="5"), "head")
    _, before = picture(at)
    at.switch_page("../../pages/tokens.py").run()
    at.run()
    at.switch_page("../../pages/compare.py").run()
    at.run()
    assert not at.exception
    _, after = picture(at)
    np.testing.assert_array_equal(after["difference"], before["difference"])
    assert link(at) == {"seed": "5", "b_head": "1"}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"b_layer": "x"}, "b_layer=x is not a whole number from 0 to 100000, so A's is used"),
        ({"quantity": "dance"}, "quantity=dance is none of scores, scaled, masked, weights, so weights is used"),
        ({"compare": "other"}, "compare=other is none of same, so nothing is used"),
        ({"b_head": "99"}, "Head 99 of B is not there: the choices go from 0 to 1"),
        ({"head": "99"}, "Head 99 of A is not there: the choices go from 0 to 1"),
        ({"b_source": "pretrained", "b_layer": "6"}, "Layer 6 of B is not there: the choices go from 0 to 5"),
        ({"source": "pretrained", "b_kind": "cross"}, "The model of B has no cross attention"),
        ({"q": "400", "k": "1"}, "pinned row 400 is not there: there are rows 0 to 10"),
        ({"b_source": "pretrained", "b_model": "../../etc/passwd"}, "neither a folder here nor a name"),
        ({"b_scale": "nan"}, "b_scale=nan is neither"),
    ],
)
def test_nonsense_in_a_link_gives_defaults_and_a_note(query: dict[str, str], said: str) -> None:
    at = open_link(**query)
    assert said in messages(at)
    assert picture(at)[1]["a"].size


def test_bs_last_head_stands_in_where_it_has_not_as_many() -> None:
    at = open_link(text="the cat sat", source="pretrained", head="9", b_source="toy")
    assert not at.warning
    header, arrays = picture(at)
    assert header["own"]["b"]["query"] == [None, "the", "cat", "sat", None]
    same(arrays["b"][1:4, 1:4], sdpa(run_block(words("the cat sat"), ToyConfig()).layer(0), 1))
    assert at.selectbox(key="b_head").placeholder == "head 1, the last"


@pytest.mark.parametrize("text", ["", "   "])
def test_empty_text_gives_a_hint(text: str) -> None:
    at = open_link()
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    assert "Type a sentence" in messages(at)
    assert not sent(at, "compare")


HOSTILE = [
    "<script>alert(1)</script> ![x](http://x) **b** $x$",
    "مرحبا بالعالم",
    "👩‍👩‍👧‍👦 é",
    "\0\x1b",
    "a" * 300,
    "x",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("source", ["toy", "pretrained"])
def test_any_text_beside_any_other(text: str, source: str) -> None:
    at = open_link(text=text, b_text="one two three", source=source)
    header, arrays = picture(at)
    rows, columns = arrays["difference"].shape
    assert len(header["labels"]["query"]) == rows == columns == len(header["labels"]["key"])
    assert "<script>" not in notice(at).replace("<style>", "")


def test_long_texts_are_cut_and_fit_in_what_a_view_may_send() -> None:
    at = open_link(source="pretrained", text="word " * 800, b_head="3")
    assert "first 512 tokens are used; 290 were dropped" in messages(at)
    assert len(sent(at, "compare")[0]) < 2_000_000
    header, arrays = picture(at)
    wanted = load("minilm").trace("word " * 800).attentions(0)[0].numpy()
    low, high = header["ranges"]["a"]
    assert np.abs(low + arrays["a"].astype(float) * (high - low) / 65534 - wanted).max() <= 8e-6


def test_a_pin_is_in_the_picture_and_in_the_link() -> None:
    at = open_link(q="3", k="1")
    header, _ = picture(at)
    assert (header["q"], header["k"]) == (3, 1)
    assert link(at)["q"] == "3"


def test_a_run_for_the_pin_alone_sends_the_pin_alone_and_the_next_one_all() -> None:
    at = open_link(q="3", k="1")
    whole, _ = picture(at)
    at.session_state["compare_pinned"] = at.session_state["compare_sent"]  # what a pin in the browser does
    header, arrays = picture(at.run())
    assert (header["trace"], header["q"], header["k"], arrays) == (whole["trace"], 3, 1, {})
    again, arrays = picture(at.run())
    assert (again["trace"], again["q"], sorted(arrays)) == (whole["trace"], 3, ["a", "b", "difference", "divergence"])


def test_a_pane_follows_the_number_of_heads_at_once() -> None:
    at = open_link(head="1", b_mask="causal")
    at.slider(key="heads").set_value(1).run()
    assert not at.exception
    _, arrays = picture(at)
    same(arrays["a"], sdpa(run_block(words(), ToyConfig(heads=1)).layer(0), 0))


def test_the_encoder_beside_cross_attention(tmp_path: Path) -> None:
    folder = str(save("bart", tmp_path / "bart"))
    at = open_link(
        source="pretrained", model=folder, text="the cat", pair="a dog barks", b_kind="cross", b_mask="causal"
    )
    assert not at.warning
    trace = load(folder).trace("the cat", "a dog barks")
    header, arrays = picture(at)
    there = {axis: [label is not None for label in header["own"]["b"][axis]] for axis in ("query", "key")}
    found = arrays["b"][there["query"]][:, there["key"]]
    same(found, trace.attentions(0, "cross")[0].numpy())  # where keys are another text, "causal" means nothing
    assert header["panels"][0]["title"] == "A · its own mask · encoder"
