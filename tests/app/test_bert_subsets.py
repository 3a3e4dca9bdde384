"""Heads on subsets of the embedding on /bert: their numbers are torch's, and no text and no link breaks the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from streamlit.testing.v1 import AppTest
from torch.nn import functional
from transformers import AutoModel

from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained import PretrainedModel
from attnviz.pretrained.described import find_folder
from tests.app.pages import html, lines_of_torch, messages, open_page, payloads, send_update
from tests.app.test_bert_language import HOSTILE, LONG
from tests.payloads import Payload


@pytest.fixture(scope="module")
def x(minilm: PretrainedModel) -> torch.Tensor:
    """Return transformers' own embeddings of the text, (T, C)."""
    ids = torch.tensor([minilm.tokenize(DEFAULT_TEXT).ids])
    with torch.no_grad():
        embedded: torch.Tensor = AutoModel.from_pretrained(find_folder()).embeddings(ids)[0]
    return embedded


def opened(**query: str) -> AppTest:
    return open_page("bert", bert_part="subsets", **query)


def shown(at: AppTest) -> list[Payload]:
    """Return the header and the arrays of the matrices above, and of those of the chosen row."""
    return [payload for name, payload in payloads(at) if name == "matrix"]


def said(at: AppTest) -> str:
    return html(at, 'class="said"')


@pytest.mark.parametrize("heads", [1, 4, 12])
def test_all_weights_and_the_chosen_row_are_torchs(heads: int, x: torch.Tensor) -> None:
    at = opened(subset_heads=str(heads), q="10")
    (above, weights), (below, row) = shown(at)
    expected = [torch.softmax(x @ x.T / 384**0.5, -1)]
    for head in x.chunk(heads, dim=1):
        expected.append(torch.softmax(head @ head.T / (384 / heads) ** 0.5, -1))
        attended = functional.scaled_dot_product_attention(head[None], head[None], head[None])[0]
        torch.testing.assert_close(expected[-1] @ head, attended, rtol=1e-4, atol=1e-5)
    names = ["whole X", *(f"head {head}" for head in range(heads))]
    assert [panel["name"] for panel in above["panels"]] == names
    assert weights.keys() == set(names)
    for name, one in zip(names, expected, strict=True):
        assert weights[name] == pytest.approx(one.numpy(), abs=1e-5)
    assert above["row"] == 10
    rows = np.stack([one[10].numpy() for one in expected])
    assert row["weight"] == pytest.approx(rows, abs=1e-5)
    bits = entropy(rows, base=2, axis=1)
    for label, name, number in zip(below["labels"]["softmax"], names, bits, strict=True):
        assert label.startswith(f"{name}, ")
        assert float(label.split()[-2]) == pytest.approx(number, abs=0.051)
    apart = np.abs(rows[:, None] - rows[None]).sum(-1) / 2
    assert row["difference"] == pytest.approx(apart, abs=1e-5)
    limits = {panel["high"] for panel in (*above["panels"], below["panels"][0])}
    assert len(limits) == 1, "weights have the same colours everywhere"
    assert limits.pop() == pytest.approx(max(float(one.max()) for one in expected), abs=1e-5)


def test_a_click_chooses_a_row_and_no_message_breaks_the_page() -> None:
    at = opened(q="9")
    send_update(at, "matrix", {"number": 1, "values": {"row": 3}}, first_of=2)
    assert (at.query_params["q"], at.selectbox(key="q").value) == ("3", 3)
    assert shown(at)[0][0]["row"] == 3
    assert "“didn”" in said(at)
    bad: tuple[object, ...] = (None, True, "5", [], {}, -1, 16, 1e300, 2.5)
    for number, row in enumerate(bad, start=2):
        send_update(at, "matrix", {"number": number, "values": {"row": row, "text": "other"}}, first_of=2)
        assert not at.exception and not at.error
        assert at.query_params["q"] == "3"


def test_the_text_says_that_the_parts_are_joined() -> None:
    at = opened(subset_heads="6")
    assert "<b>joined</b> side by side to (16, 384), <b>not summed</b>" in said(at)
    assert "6 parts</b> of 64 columns, with the scale 1/√64; each gives (16, 64)" in said(at)
    assert "6 heads give 6" in said(at)
    at = opened(subset_heads="1")
    assert "1 part</b> of 384 columns" in said(at)
    assert "heads give" not in said(at)


def test_another_number_of_parts_is_chosen_and_in_the_link() -> None:
    at = opened()
    assert len(shown(at)[0][1]) == 5
    at.button_group(key="subset_heads").set_value(8).run()
    assert not at.exception
    assert len(shown(at)[0][1]) == 9
    assert at.query_params["subset_heads"] == "8"


def test_a_row_that_nobody_has_chosen_is_found_anew_in_another_text() -> None:
    texts = ("The animal was tired.", "So yesterday the animal was tired.", "Oh so yesterday the animal was tired.")
    at = opened(text=texts[0])
    for text in texts:
        at.text_area(key="text").set_value(text).run()
        assert at.selectbox(key="q").value == opened(text=text).selectbox(key="q").value
    at.selectbox(key="q").set_value(6).run()
    assert at.selectbox(key="q").options[6] == "6 was"
    at.text_area(key="text").set_value(texts[1]).run()
    assert at.selectbox(key="q").options[at.selectbox(key="q").value] == "5 was"


def test_a_number_that_divides_nothing_and_a_row_beyond_the_text_are_said() -> None:
    at = opened(subset_heads="5", q="99")
    assert "The link's subset_heads=5 is not one of 1, 2, 3, 4, 6, 8, 12, so 4 is used." in messages(at)
    assert "Row 99 does not exist: they go from 0 to 15." in messages(at)
    assert at.selectbox(key="q").value == opened(text=DEFAULT_TEXT).selectbox(key="q").value


@pytest.mark.parametrize("text", [HOSTILE, "a", "\u200b", "🙂 é\u0301", "   "])
def test_any_text_is_shown_or_answered(text: str) -> None:
    at = opened(q="3")
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    assert "<script>" not in said(at)
    if not text.strip():
        assert "Type a sentence" in messages(at)


def test_512_tokens_are_drawn_small_and_the_row_whole() -> None:
    at = opened(text=LONG, subset_heads="12")
    (_, weights), (_, row) = shown(at)
    assert [one.shape for one in weights.values()] == [(64, 64)] * 13
    assert row["weight"].shape == (13, 512)
    send_update(at, "matrix", {"number": 1, "values": {"row": 10}}, first_of=2)
    assert at.query_params["q"] == "80", "a row is a block of 8 tokens"
    assert shown(at)[0][0]["row"] == 10


def test_a_lecture_has_the_choice_of_parts() -> None:
    at = opened(lecture="1")
    assert at.button_group(key="subset_heads")
    assert not at.expander


def test_the_lines_of_torch_give_the_weights() -> None:
    at = opened(subset_heads="3")
    space: dict[str, Any] = {}
    exec(lines_of_torch(at), space)
    _, drawn = shown(at)[0]
    assert len(space["weights"]) == 3
    for head, weights in enumerate(space["weights"]):
        assert drawn[f"head {head}"] == pytest.approx(weights.numpy(), abs=1e-5)


def test_export_has_the_tables_and_the_script() -> None:
    for tab, keys in {"Numbers": ["export_row_9", "export_differences_of_row_9"], "Script": ["export_script"]}.items():
        at = open_page("bert", {"export": True, "export_tab": tab}, bert_part="subsets", q="9")
        assert [button.key for button in at.get("download_button")] == keys
