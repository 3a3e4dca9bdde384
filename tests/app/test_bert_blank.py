"""Fill the blank on /bert: the numbers are transformers' own, and a model that can't says what is needed."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file
from streamlit.testing.v1 import AppTest

from attnviz.bert.head_card import read_card
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING
from attnviz.pretrained.described import HEAD_FILE, find_folder
from attnviz.settings import PUBLIC
from tests.app.bars import ranked
from tests.app.pages import html, lines_of_torch, messages, open_page, page_links
from tests.app.test_bert_language import HOSTILE, LONG, said
from tests.loaded import built_in_model
from tests.unit.bert.test_blank import made
from tests.unit.families import save_model

TEXT = "The cat [MASK] on the mat near Ann."


@pytest.fixture(scope="module")
def headless(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_model(made("bert"), tmp_path_factory.mktemp("models") / "headless", "bert"))


def opened(model: str = "minilm", **query: str) -> AppTest:
    return open_page("bert", bert_part="blank", model=model, **query)


def said_of_head(at: AppTest) -> bool:
    """Whether a caption says who trained the built-in model's head, and how often it is right."""
    right = f"{100 * read_card().seeds[0].words.top_1:.0f} %"
    captions = [one.value.replace("\\", "") for one in at.caption]
    return any("attnviz trained its language head" in one and f"for {right} of hidden words" in one for one in captions)


def filled(at: AppTest) -> tuple[str, list[str]]:
    """Return the completed text, and what was filled in."""
    (body,) = [one.proto.body for one in at.get("html") if 'class="filled"' in one.proto.body]
    text = re.findall(r'aria-label="Completed">(.*)</div>', body, re.DOTALL)[0]
    return unescape(re.sub("<.*?>", "", text)), [unescape(one) for one in re.findall("<mark>(.*?)</mark>", text)]


def titles(at: AppTest) -> list[str]:
    """Return what stands over the plots."""
    bodies = [one.proto.body for one in at.get("html") if ", position " in one.proto.body]
    return [unescape(re.sub("<.*?>", "", one)) for one in bodies]


def theirs(folder: str, text: str, masked: int | None = None) -> torch.Tensor:
    """Return the probabilities of transformers' own model at each mask, (M, V)."""
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text, return_tensors="pt").input_ids
    if masked is not None:
        ids[0, masked] = tokenizer.mask_token_id
    model = tf.AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[0]
    return torch.softmax(logits[ids[0] == tokenizer.mask_token_id], dim=-1)


@pytest.mark.parametrize("masked", [None, 2])
def test_each_mask_is_filled_as_transformers_fills_it(masked: int | None, folder: str) -> None:
    at = opened(folder, text=TEXT, blank_kept="7", **({} if masked is None else {"blank_at": str(masked)}))
    best = theirs(folder, TEXT, masked).topk(7)
    assert len(ranked(at)) == len(best.values) == 1 + (masked is not None)
    for bars, probabilities in zip(ranked(at), best.values, strict=True):
        assert [number for _, number in bars] == pytest.approx((100 * probabilities).tolist(), rel=1e-3)
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    names = [tokenizer.convert_ids_to_tokens(int(one)).removeprefix("##") for one in best.indices[:, 0]]
    text, found = filled(at)
    assert found == names
    assert text.startswith("The ")
    assert text.endswith(" on the mat near Ann.")


def test_without_a_mask_the_last_word_is_masked_and_its_rank_is_said(folder: str) -> None:
    at = opened(folder, text="The animal didn't cross the street since it was too tired.")
    (row,) = theirs(folder, "The animal didn't cross the street since it was too [MASK].")
    true = tf.AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids("tired")
    rank = 1 + row.argsort(descending=True).tolist().index(true)
    assert titles(at) == [f"tired, position 13, masked: rank {rank:,}, {100 * float(row[true]):.4f} %"]
    at.selectbox(key="blank_at").set_value(2).run()
    assert titles(at)[0].startswith("animal, position 2, masked: rank ")
    assert at.query_params["blank_at"] == "2"


@pytest.mark.parametrize(("text", "word"), [(DEFAULT_TEXT, "it"), (OPENING["text"], "to")])
def test_of_the_apps_own_sentences_a_word_is_masked_that_the_built_in_model_guesses(
    text: str, word: str, folder: str
) -> None:
    at = opened(**({} if text == DEFAULT_TEXT else {"text": text}))
    assert filled(at) == (text, [word])
    (title,) = titles(at)
    assert title.startswith(f"{word}, position ") and ", masked: rank 1, " in title
    assert at.selectbox(key="blank_at").placeholder == f"“{word}”"
    masked = text.replace(f" {word} ", " [MASK] ", 1) if word == "it" else text.replace("to ride", "[MASK] ride")
    (row,) = theirs(folder, masked)
    best = row.topk(5).values
    assert [number for _, number in ranked(opened(folder, text=text))[0]] == pytest.approx(
        (100 * best).tolist(), rel=1e-3
    )


def test_a_position_that_is_no_token_is_said(folder: str) -> None:
    at = opened(folder, text=TEXT, blank_at="3")  # a mask already
    assert "Position 3 is no token of this text that can be masked." in messages(at)
    assert titles(at) == ["[MASK], position 3"]
    at = opened(folder, blank_at="400", blank_kept="21")
    assert "Position 400 is no token" in messages(at)
    assert "The link's blank_kept=21" in messages(at)


@pytest.mark.parametrize("text", [HOSTILE, "[MASK]", "[MASK]" * 12, "\u200b", "🙂", "   "])
def test_any_text_is_filled_or_answered(text: str, folder: str) -> None:
    at = opened(folder)
    at.text_area(key="text").set_value(text).run()
    assert not at.exception
    if text.strip("\u200b "):
        assert "<script>" not in html(at, "filled")
        assert len(ranked(at)) == min(9, max(1, text.count("[MASK]")))
    else:
        assert "Type a sentence" in messages(at)


def test_512_tokens_are_read_and_the_rest_is_said(folder: str) -> None:
    at = opened(folder, text=f"[MASK] {LONG}")
    assert "Only the first 512 tokens are used" in messages(at)
    assert len(ranked(at)) == 1


def test_the_built_in_model_fills_blanks_and_says_how_well() -> None:
    at = opened(text=TEXT)
    assert not at.exception
    theirs = tf.BertForMaskedLM.from_pretrained(find_folder()).eval()
    theirs.load_state_dict(load_file(HEAD_FILE), strict=False)
    ids = torch.tensor([built_in_model().tokenize(TEXT).ids])
    with torch.inference_mode():
        probabilities = theirs(input_ids=ids).logits[0, ids[0] == 103].softmax(-1)[0]
    (bars,) = ranked(at)
    best = probabilities.topk(len(bars))
    assert [name for name, _ in bars] == [built_in_model().label(token) for token in best.indices.tolist()]
    assert [number for _, number in bars] == pytest.approx((100 * best.values).tolist(), rel=1e-3)
    assert said_of_head(at)


def test_a_model_without_a_head_says_what_is_needed_and_what_works_meanwhile(headless: str) -> None:
    at = opened(headless, text=TEXT)
    assert "fills no blank.** That needs a model with a masked-language head, which the built-in one has." in said(at)
    assert "no masked-language head was found in it" in said(at)
    for part in (
        "bert-base-uncased",
        "The built-in model has one, trained by attnviz",
        "Hugging Face hub",
        "save_pretrained",
    ):
        assert part in said(at)
    links = [one.query_string for one in page_links(at)]
    assert "bert_part=blank" in links[0]
    assert "model" not in links[0]
    assert "bert_part=back" in links[1]
    assert "train_part=generate" in links[2]
    assert not ranked(at)


@pytest.mark.parametrize(("family", "why"), [("gpt2", "It is a decoder"), ("bart", "It has an encoder and a decoder")])
def test_models_that_write_say_why_they_fill_no_blank(family: str, why: str, tmp_path: Path) -> None:
    at = opened(str(save_model(made(family), tmp_path / family, family)))
    assert why in said(at)
    assert not ranked(at)


@pytest.mark.parametrize(
    ("page", "view"),
    [
        ("bert", {"bert_part": "without", "off_view": "answer", "text": TEXT}),
        ("transformer", {"source": "pretrained", "check": "lens"}),
        ("transformer", {"source": "pretrained", "check": "overview"}),
    ],
)
def test_each_place_of_the_built_in_head_says_how_well_it_guesses(page: str, view: dict[str, str], folder: str) -> None:
    """Its steps too: tests/unit/steps/test_block_words.py."""
    assert said_of_head(open_page(page, **view))
    if page == "transformer":
        assert not said_of_head(open_page(page, **view, model=folder))


def test_a_public_server_says_that_it_offers_no_other(headless: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.ui.bert.blank.settings", lambda: PUBLIC)
    assert "This server offers no model but the built-in one." in said(opened(headless))


def test_the_lines_of_torch_give_what_is_shown(folder: str) -> None:
    at = opened(folder, text=TEXT, blank_at="2")
    space: dict[str, Any] = {}
    exec(lines_of_torch(at), space)
    for bars, probabilities in zip(ranked(at), space["likely"].values, strict=True):
        assert [number for _, number in bars] == pytest.approx((100 * probabilities).tolist(), rel=1e-3)


def test_export_has_the_table_and_the_script(folder: str, headless: str) -> None:
    for tab, keys in {"Numbers": ["export_blanks"], "Script": ["export_script"]}.items():
        at = open_page("bert", {"export": True, "export_tab": tab}, bert_part="blank", model=folder)
        assert [button.key for button in at.get("download_button")] == keys
    at = open_page("bert", {"export": True, "export_tab": "Numbers"}, bert_part="blank", model=headless)
    assert not at.get("download_button")
