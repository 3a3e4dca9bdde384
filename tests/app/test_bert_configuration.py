"""The configuration in words on /bert: its numbers are those of transformers, for any model that can be loaded."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import torch
import transformers as tf
from streamlit.testing.v1 import AppTest

from attnviz.bert.configuration import BERT_BASE
from attnviz.ui.bert.configuration import _heads
from tests.app.pages import html, messages, open_page
from tests.unit.families import BART, FAMILIES, HYBRIDS, save, save_model


def opened(**query: str) -> AppTest:
    return open_page("bert", {"configuration_counts": True}, bert_part="configuration", **query)


def sizes(at: AppTest) -> dict[str, list[str]]:
    """Return the numbers and the meaning of each field, by its name in the configuration."""
    (found,) = [one.proto.body for one in at.get("html") if 'class="sizes words"' in one.proto.body]
    rows = re.findall(r"<code>(.*?)</code></th><td.*?>(.*?)</td><td.*?>(.*?)</td><td.*?>(.*?)</td>", found)
    return {name.replace("<wbr>", ""): list(map(unescape, cells)) for name, *cells in rows}


def test_the_numbers_are_those_of_both_models() -> None:
    at = opened()
    found = sizes(at)
    base = tf.BertConfig()
    assert found["vocab_size"][:2] == ["30,522", f"{base.vocab_size:,}"]
    assert found["hidden_size"][:2] == ["384", str(base.hidden_size)]
    assert found["intermediate_size"][:2] == ["1,536", f"{base.intermediate_size:,}"]
    assert "4\u00a0·\u00a0C" in found["intermediate_size"][2]
    assert found["max_position_embeddings"][:2] == ["512", str(base.max_position_embeddings)]
    assert found["num_attention_heads"][:2] == ["12 × 32", "12 × 64"]
    assert "C\u00a0/\u00a0H\u00a0=\u00a032" in found["num_attention_heads"][2]
    assert found["num_hidden_layers"][:2] == ["6", str(base.num_hidden_layers)]
    assert "widens each token to F numbers, then returns to C" in found["intermediate_size"][2]
    assert not any(re.search(r"\bso (many|much)\b", meaning, re.IGNORECASE) for *_, meaning in found.values())
    with torch.device("meta"):
        whole = tf.BertModel(base)
    of_base = sum(weight.numel() for weight in whole.parameters())
    counts = at.table[0].value
    assert counts.loc["together"].tolist() == ["22,565,376", f"{of_base:,}"]
    drawn = next(one.proto.body for one in at.get("html") if "bars beside" in one.proto.body)
    for part, (own, other) in counts.drop("together").iterrows():
        for name, count in (("MiniLM (a small BERT)", own), ("bert-base-uncased", other)):
            number = int(count.replace(",", "")) if count[0].isdigit() else 0
            assert not number or f'"{name}: {number / 1e6:.3g}"' in drawn, part
    tables = html(at, "20000")
    for arithmetic in ("30,522 · 384 = <b>11,720,448", "30,522 · 768 = <b>23,440,896", "20,000 · 32 = <b>640,000"):
        assert arithmetic in tables


@pytest.mark.parametrize("family", ["bert", "t5", "albert"])
def test_another_model_is_shown_too(family: str, tmp_path: Path) -> None:
    at = opened(model=str(save(family, tmp_path)))
    assert messages(at) == ""
    found = sizes(at)
    assert found["hidden_size"][0] == "32"
    expected = sum(weight.numel() for weight in FAMILIES[family].make().parameters())
    assert at.table[0].value.loc["together"].iloc[0] == f"{expected:,}"
    if family == "t5":
        assert found["max_position_embeddings"][0] == "–"
        assert "no table of positions" in found["max_position_embeddings"][2]
        assert "D = 6" in found["num_attention_heads"][2]


@pytest.mark.parametrize("part", ["configuration", "back"])
@pytest.mark.parametrize("name", ["MBart", "Pegasus", "Whisper"])
def test_a_decoder_without_its_encoder_is_shown(name: str, part: str, tmp_path: Path) -> None:
    """Only the model with the language head says where its token embeddings are."""
    config = getattr(tf, f"{name}Config")(**BART, pad_token_id=0, eos_token_id=2)
    model = getattr(tf, f"{name}ForCausalLM")(config)
    at = open_page("bert", bert_part=part, model=str(save_model(model, tmp_path, name)))
    assert messages(at) == ""
    if part == "configuration":
        assert sizes(at)["vocab_size"][0] == f"{config.vocab_size:,}"
        assert sizes(at)["num_hidden_layers"][0] == str(config.decoder_layers)


@pytest.mark.parametrize("name", HYBRIDS)
def test_layers_without_attention_count_as_layers(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = HYBRIDS[name]()
    found = sizes(opened(model=str(save_model(model, tmp_path, name))))
    assert found["num_hidden_layers"][0] == str(len(model.layers)) == str(model.config.num_hidden_layers)
    assert "2 of them have attention" in found["num_hidden_layers"][2]


def test_feed_forwards_of_two_widths_are_both_named(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = tf.BartModel(tf.BartConfig(**{**BART, "decoder_ffn_dim": 80}))
    number, _, meaning = sizes(opened(model=str(save_model(model, tmp_path, "bart"))))["intermediate_size"]
    assert number == "48 or 80"
    assert "holds for some" in meaning


@pytest.mark.parametrize("name", ["/no/such/<b>folder", "../../x", "induction", ""])
def test_a_model_that_cannot_be_shown_falls_back_with_a_sentence(name: str) -> None:
    at = opened(model=name)
    assert sizes(at)["hidden_size"][0] == "384"
    assert not name or "Showing MiniLM (a small BERT)." in messages(at)


def test_a_lecture_has_the_numbers_without_what_is_to_be_read_later() -> None:
    at = opened(lecture="1")
    assert sizes(at)["hidden_size"][0] == "384"
    assert not at.table
    assert not at.expander


def test_one_wide_head_shares_c_also_where_numbers_have_commas() -> None:
    wide = replace(BERT_BASE, width=1024, heads=1, head_size=1024, heads_and_sizes="1 × 1,024")
    assert _heads(wide).replace("\u00a0", " ").startswith("The heads of a layer share C, so D = C / H = 1,024: more")
    mixed = replace(wide, heads_and_sizes="1 × 512 or 1,024")
    assert _heads(mixed).startswith("Layers differ")
