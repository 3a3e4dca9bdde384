"""Compare through `app.py`: what the picture is given equals torch, whatever the two sides are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.compare.explain import FORMULAS
from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.formatting import percent
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import PAGES
from attnviz.measures.ablation import compared, hidden_without
from attnviz.pretrained import load
from attnviz.tokens import WordPiece
from attnviz.toy.config import ToyConfig
from attnviz.trace.model import Place
from tests.app.compare import link, notice, open_link, picture, press, same, sdpa, words
from tests.app.pages import messages, send_update, sent
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.families import save

WIDE = MINIMAL_PAIRS[0].b


def test_a_bare_address_opens_a_pair_on_which_a_head_of_the_real_model_differs() -> None:
    at = open_link()
    assert link(at) == {"source": "pretrained", "layer": "3", "head": "1", "q": "10", "k": "2", "b_text": WIDE}
    header, arrays = picture(at)
    for name, text in (("a", DEFAULT_TEXT), ("b", WIDE)):
        same(arrays[name], sdpa(built_in_model().trace(text).layer(3), 1))
    assert (header["labels"]["query"][header["q"]], header["labels"]["key"][header["k"]]) == ("it", "animal")
    assert arrays["a"][10, 2] > 0.6
    assert arrays["b"][10, 2] < 0.3
    assert "was too <b>tired. / wide.</b>" in notice(at)
    assert at.session_state["compare_preset"] == "text"


def test_of_all_pairs_and_heads_the_opening_is_where_a_pronoun_changes_most() -> None:
    minilm, changes = built_in_model(), dict[tuple[str, int, int, int], float]()
    for pair in MINIMAL_PAIRS:
        labels = [minilm.tokenize(text).labels for text in (pair.a, pair.b)]
        if len(labels[0]) != len(labels[1]):
            continue
        a, b = (_all_heads(text) for text in (pair.a, pair.b))  # (L, H, T, T)
        total = (a - b).abs().sum(dim=-1) / 2  # the total variation distance of each row
        for row, (one, other) in enumerate(zip(*labels, strict=True)):
            if one == other and one in ("it", "they", "she", "he"):
                at = int(total[..., row].argmax())
                changes[pair.a, *divmod(at, a.shape[1]), row] = float(total[..., row].max())
    opening = PAGES["compare"].opening
    assert max(changes, key=changes.__getitem__) == (
        DEFAULT_TEXT, int(opening["layer"]), int(opening["head"]), int(opening["q"]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "by_itself", "other"), [("The cat sat on the mat.", False, "1"), ("cat " * 12 + "dog " * 30, True, "off")]
)
def test_the_colours_are_darkened_by_themselves_in_a_long_text_and_by_a_switch(
    text: str, by_itself: bool, other: str
) -> None:
    at = open_link(source="toy", text=text, b_head="1")
    weights = run_block(words(text), ToyConfig()).attentions(0).numpy()
    largest = np.sort(weights[:2].max(axis=-1).ravel())
    dark = largest[int(0.9 * (len(largest) - 1))] if by_itself else largest[-1]
    switch = at.toggle(key="compare_darkened")
    assert switch.label == f"Darken: colours end at {dark:.2g}, not 1"
    said = f"The colours of A and B end at {dark:.2g}, not 1."
    for is_on, written in ((by_itself, None), (not by_itself, other), (by_itself, None)):
        assert at.toggle(key="compare_darkened").value == is_on
        high = picture(at)[0]["panels"][0]["high"]
        assert high == pytest.approx(dark if is_on else 1)
        assert (said in notice(at)) == is_on
        assert link(at).get("stretch") == written
        at.toggle(key="compare_darkened").set_value(not is_on).run()
        assert not at.exception


def test_nothing_is_to_be_darkened_where_that_changes_nothing() -> None:
    for query in ({"quantity": "scores"}, {"text": "a"}):
        at = open_link(source="toy", b_head="1", **query)
        assert not [one for one in at.toggle if one.key == "compare_darkened"]


def test_the_matrix_in_focus_is_sent_alone_and_one_that_is_not_there_is_noted() -> None:
    at = open_link(source="toy", b_head="1", focus="difference")
    assert picture(at)[0]["focus"] == "difference"
    send_update(at, "compare", {"number": 1, "values": {"focus": "b"}})
    header, arrays = picture(at)
    assert (header["focus"], "panels" in header, arrays) == ("b", False, {})
    assert link(at)["focus"] == "b"
    for number, sent_value in enumerate(("no such", None, 3, ["a"]), 2):
        send_update(at, "compare", {"number": number, "values": {"focus": sent_value}})
        assert link(at)["focus"] == "b"
    send_update(at, "compare", {"number": 10, "values": {"focus": ""}})
    assert "focus" not in link(at)
    at = open_link(source="toy", b_head="1", quantity="scores", focus="divergence")
    assert "shows no matrix divergence, so all are shown" in messages(at)
    assert picture(at)[0]["focus"] == ""


def _all_heads(text: str) -> torch.Tensor:
    trace = built_in_model().trace(text)
    return torch.stack([trace.attentions(layer) for layer in range(6)])


def test_a_link_with_any_key_shows_a_word_changed_of_the_toy() -> None:
    at = open_link(seed="0")
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
    layer = built_in_model().trace(DEFAULT_TEXT).layer(3)
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
    trained = built_in_model().trace(DEFAULT_TEXT).layer(0)
    layer = run_block(words(), ToyConfig()).layer(0) if source == "toy" else trained
    _, arrays = picture(at)
    same(arrays["a"], sdpa(layer, 1))
    same(np.nan_to_num(arrays["b"]), sdpa(layer, 1, **b))
    same(arrays["difference"], sdpa(layer, 1) - sdpa(layer, 1, **b))
    assert ("a what-if" in notice(at)) == (source == "pretrained")


@pytest.mark.parametrize("quantity", ["scores", "scaled", "masked", "weights"])
def test_every_quantity_of_both(quantity: str) -> None:
    at = open_link(quantity=quantity, b_mask="causal", b_head="1", mask="none")
    config = ToyConfig(), ToyConfig(causal=True)
    steps = [run_block(words(), each).layer(0).head(head) for head, each in enumerate(config)]
    _, arrays = picture(at)
    expected = [getattr(each, quantity).numpy() for each in steps]
    same(arrays["a"], expected[0])
    finite = np.isfinite(expected[1])
    same(np.nan_to_num(arrays["b"]), np.where(finite, expected[1], 0))
    same(arrays["difference"][finite], (expected[0] - expected[1])[finite])
    assert np.isnan(arrays["difference"])[~finite].all()


def test_the_toy_beside_a_model_has_the_same_tokens() -> None:
    at = press(open_link(seed="0"), "source")
    header, arrays = picture(at)
    pieces = WordPiece().tokenize(DEFAULT_TEXT)
    assert header["labels"]["query"] == list(pieces.labels)
    same(arrays["a"], sdpa(run_block(pieces.ids, ToyConfig()).layer(0), 0))
    same(arrays["b"], sdpa(built_in_model().trace(DEFAULT_TEXT).layer(0), 0))
    assert "seed 0 and have learned nothing" in notice(at)
    assert [panel["title"] for panel in header["panels"]][:2] == ["A · toy", "B · MiniLM (a small BERT)"]


def test_two_models(tmp_path: Path) -> None:
    folder = str(save("bert", tmp_path / "bert"))
    at = open_link(source="pretrained", b_model=folder, b_layer="1", b_head="3")
    _, arrays = picture(at)
    same(arrays["b"], sdpa(load(folder).trace(DEFAULT_TEXT).layer(1), 3))
    same(arrays["a"], sdpa(built_in_model().trace(DEFAULT_TEXT).layer(0), 0))


def test_a_model_that_reads_other_tokens_is_aligned(tmp_path: Path) -> None:
    folder = str(save("gpt2", tmp_path / "gpt2"))
    at = open_link(source="pretrained", b_model=folder, text="the cat sat", layer="1")
    header, arrays = picture(at)
    own = {side: [label for label in header["own"][side]["query"] if label is not None] for side in "ab"}
    assert own["a"] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert own["b"] == list(load(folder).tokenize("the cat sat").labels)
    there = np.array([label is not None for label in header["own"]["b"]["query"]])
    expected = load(folder).trace("the cat sat").attentions(1)[0].numpy()
    same(np.nan_to_num(arrays["b"][there][:, there]), expected)


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


def test_long_texts_are_cut_and_fit_in_what_a_view_may_send() -> None:
    at = open_link(source="pretrained", text="word " * 800, b_head="3")
    assert "first 512 tokens are used; 290 were dropped" in messages(at)
    assert len(sent(at, "compare")[0]) < 2_000_000
    header, arrays = picture(at)
    expected = built_in_model().trace("word " * 800).attentions(0)[0].numpy()
    low, high = header["ranges"]["a"]
    assert np.abs(low + arrays["a"].astype(float) * (high - low) / 65534 - expected).max() <= 8e-6


def test_a_pin_is_in_the_picture_and_in_the_link() -> None:
    at = open_link(q="3", k="1")
    header, _ = picture(at)
    assert (header["q"], header["k"]) == (3, 1)
    assert link(at)["q"] == "3"


def test_a_run_for_the_pin_alone_sends_the_pin_alone_and_the_next_one_all() -> None:
    at = open_link()
    whole, _ = picture(at)
    header, arrays = picture(send_update(at, "compare", {"number": 1, "values": {"pin": {"q": 3, "k": 1}}}))
    assert (header["trace"], header["q"], header["k"], arrays) == (whole["trace"], 3, 1, {})
    again, arrays = picture(at.run())
    assert (again["trace"], again["q"], sorted(arrays)) == (whole["trace"], 3, ["a", "b", "difference", "divergence"])


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


def test_the_answer_without_each_of_the_heads_is_below_when_the_link_or_the_user_asks_for_it() -> None:
    text = "The cat [MASK] on the mat."
    asked = {"text": text, "source": "pretrained", "layer": "5", "head": "9", "b_head": "3"}
    at = open_link(**asked)
    assert not at.table
    at.button_group(key="more").set_value("off").run()
    assert at.table and link(at)["more"] == "off", "the copied link opens the same view"
    at = open_link(**link(at))
    trace = built_in_model().trace(text)
    said = " ".join(one.value for one in at.markdown)
    for name, head, table in zip("AB", (9, 3), at.table, strict=True):
        answer = compared(trace, hidden_without(trace, [(Place("encoder", 5), head)]))
        assert f"**{name}** · For the first" in said and f"without **layer 5 · head {head}** it has" in said
        assert table.value["without"].tolist() == [percent(float(share), 1) for share in answer.after]
    at = open_link(text=text, more="off")
    assert [one.value[:3] for one in at.info] == ["A: ", "B: "], "a toy has learned nothing"


def test_the_formulas_and_more_measures_are_a_part_of_the_link_too() -> None:
    at = open_link(more="measures", b_head="1")
    a, b = (picture(at)[1][name].astype(float) for name in "ab")
    cosine = float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
    assert f"<b>{cosine:.4f}</b>" in notice(at) and len(at.latex) == len(FORMULAS) and link(at)["more"] == "measures"
    at = open_link(more="table")
    assert not at.latex and not at.table and "more" not in link(at)
    assert ["no part “Table of all heads”" in one.value for one in at.warning] == [True]
