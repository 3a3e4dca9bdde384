"""A first language model on /bert: its numbers are torch's, and no text and no link breaks the page."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn
from torch.nn import functional

from attnviz.bert.table import table_of
from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained import PretrainedModel
from tests.app.bars import ranked, side_by_side
from tests.app.pages import boxes, html, lines_of_torch, messages, open_page, payload

LONG = "one word after another " * 200
HOSTILE = "<script>alert(1)</script> $x$ **b** [a](b) :smile: \u202e"


def opened(**query: str) -> AppTest:
    return open_page("bert", bert_part="language", **query)


def said(at: AppTest) -> str:
    return re.sub(r"\\(.)", r"\1", " ".join(one.value for one in at.markdown))


def path(at: AppTest) -> str:
    """Return what is said of the way through the model."""
    return html(at, 'class="path"')


def out(at: AppTest) -> list[str]:
    """Return the tokens that come out."""
    return [unescape(one) for one in re.findall(r'<b dir="auto">(.*?)</b>', path(at))]


def weights(at: AppTest) -> np.ndarray:
    """Return the weights on the screen, (T, T): NaN in hidden cells."""
    _, arrays = payload(at, "matrix")
    return arrays["weights"]


def theirs(minilm: PretrainedModel, ids: torch.Tensor, *, blocks: int, seed: int, causal: bool) -> torch.Tensor:
    """Return the logits of torch's own modules, (T, V)."""
    table = table_of(minilm).weight
    torch.manual_seed(seed)
    layers = [nn.Linear(384, 384) for _ in range(blocks)]
    x = functional.embedding(ids, table)
    with torch.no_grad():
        for linear in layers:
            x = linear(functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=causal)[0])
        return x @ table.T


@pytest.mark.parametrize(("blocks", "seed", "causal"), [(2, 0, True), (1, 5, False), (6, 3, True)])
def test_what_comes_out_is_torchs(blocks: int, seed: int, causal: bool, minilm: PretrainedModel) -> None:
    at = opened(lm_blocks=str(blocks), seed=str(seed), lm_mask=str(int(causal)), q="9")
    ids = torch.tensor(minilm.tokenize(DEFAULT_TEXT).ids)
    logits = theirs(minilm, ids, blocks=blocks, seed=seed, causal=causal)
    labels = table_of(minilm).labels
    assert out(at) == [labels[one][:14] for one in logits.argmax(-1).tolist()]
    assert not at.get("plotly_chart")  # it takes the browser a second
    best = torch.softmax(logits[9], dim=-1).topk(5)
    (likely,), (moved,), shown = ranked(at), side_by_side(at), weights(at)
    assert [number for _, number in likely] == pytest.approx((100 * best.values).tolist(), rel=1e-3)
    assert [label for label, _ in likely] == [labels[one] for one in best.indices.tolist()]
    x = functional.embedding(ids, table_of(minilm).weight)
    scores = x @ x.T / 384**0.5
    hidden = ~torch.ones(16, 16, dtype=torch.bool).tril()
    expected = torch.softmax(scores.masked_fill(hidden, -torch.inf) if causal else scores, -1)
    assert np.nan_to_num(shown) == pytest.approx(expected.numpy(), abs=1e-6)
    assert bool(np.isnan(shown).any()) == causal
    changed = ids.clone()
    changed[13] = minilm.tokenize("cat").ids[1]
    after = theirs(minilm, changed, blocks=blocks, seed=seed, causal=causal)
    difference = (after - logits).abs().amax(-1).numpy()
    changes = [float(text.split()[-1].replace("−", "-")) for text, _ in moved]
    assert changes == pytest.approx(difference, rel=0.02, abs=1e-5)
    assert [share * difference.max() for _, share in moved] == pytest.approx(difference, rel=0.02, abs=1e-5)
    assert ("those before it by at most **0**" in said(at)) == causal
    assert f"(seed {seed})" in said(at)
    assert "Junk comes out, as it should" in said(at)


def test_the_path_has_the_shapes_and_the_mask_is_a_switch() -> None:
    at = opened()
    for shape in ("(16,)", "(16, 384)", "(16, 30,522)", "384 → 384", "× 2"):
        assert shape in path(at)
    assert "attention, masked" in path(at)
    at.toggle(key="lm_mask").set_value(False).run()
    assert "attention, masked" not in path(at)
    assert at.query_params["lm_mask"] == "0"
    assert "every row depends on all others" in said(at)


def test_with_positions_x_is_what_the_model_itself_reads() -> None:
    at = opened(lm_x="embeddings")
    assert "X = embeddings" in path(at)
    own = weights(at).diagonal()[1:]
    assert np.nanmin(own) < 0.5 < np.nanmax(own)


def test_a_block_that_is_not_there_and_a_row_beyond_the_text_are_said() -> None:
    at = opened(lm_block="5", q="400")
    assert "Weights of block 5 does not exist" in messages(at)
    assert "Row 400 does not exist: they go from 0 to 15." in messages(at)
    assert at.selectbox(key="q").value == 13
    at = opened(lm_blocks="7", lm_x="nonsense", lm_mask="2", seed="-1")
    for name in ("lm_blocks", "lm_x", "lm_mask", "seed"):
        assert f"The link's {name}=" in messages(at)


@pytest.mark.parametrize(
    ("other", "why"),
    [("two words", "is not one token"), ("tired", "is this token already"), ("<b>", "is not one token"), (" ", "")],
)
def test_a_word_that_changes_nothing_is_refused_in_a_sentence(other: str, why: str) -> None:
    at = opened()
    at.text_input(key="other").set_value(other).run()
    assert not at.exception
    assert (why in " ".join(boxes(at, "info"))) if why else not at.info


@pytest.mark.parametrize("text", [HOSTILE, "a", "\u200b", "🙂 é\u0301", "   "])
def test_any_text_is_shown_or_answered(text: str) -> None:
    at = opened()
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    assert "<script>" not in path(at)
    if not text.strip():
        assert "Type a sentence" in messages(at)


def test_512_tokens_are_cut_and_shown() -> None:
    at = opened(text=LONG)
    assert "Only the first 512 tokens are used" in messages(at)
    assert weights(at).shape == (512, 512)
    assert len(out(at)) == 512


def test_a_lecture_has_the_switch_and_no_code() -> None:
    at = opened(lecture="1")
    assert at.toggle(key="lm_mask").value
    assert not at.expander


def test_the_lines_of_torch_give_what_comes_out(minilm: PretrainedModel) -> None:
    at = opened(lm_blocks="3")
    space: dict[str, Any] = {}
    exec(lines_of_torch(at), space)
    assert [table_of(minilm).labels[one][:14] for one in space["likely"].indices[:, 0].tolist()] == out(at)


def test_export_has_the_tables_and_the_script() -> None:
    for tab, keys in {
        "Numbers": ["export_language_model", "export_weights_of_block_1"],
        "Script": ["export_script"],
    }.items():
        at = open_page("bert", {"export": True, "export_tab": tab}, bert_part="language", lm_block="1")
        assert [button.key for button in at.get("download_button")] == keys
