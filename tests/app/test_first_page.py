"""The models to begin with on the first page, and what they and the character GPT write on, against plain torch."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
import transformers as tf
from streamlit.testing.v1 import AppTest

from attnviz import trained
from attnviz.links.pages import PAGES
from attnviz.pretrained import load
from attnviz.sources.writing import CHARACTERS, write_on
from attnviz.trained.model import examples
from attnviz.ui import caches
from attnviz.ui.step_by_step import FIRST_VIEWS, WRITTEN
from tests.app.pages import choose, open_page, payload
from tests.app.walking import requested, values, walk
from tests.unit.families import byte_level, save, save_model
from tests.unit.pretrained.test_blocks import GPT2


def header(at: AppTest) -> dict[str, object]:
    return payload(at, "walk")[0]


def shown(at: AppTest) -> list[str]:
    """Return which of the first views is on the page."""
    return [first["name"] for first in payload(at, "walk")[0]["first"] if first["shown"]]


def test_the_first_page_offers_a_bert_and_a_gpt() -> None:
    at = open_page()
    assert [first["title"] for first in payload(at, "walk")[0]["first"]] == ["MiniLM, a BERT", "Story GPT"]
    assert (shown(at), header(at)["opening"], header(at)["writes"]) == (["minilm"], True, None)
    choose(at, "opens", "stories")
    assert (shown(at), header(at)["opening"]) == (["stories"], True)
    model = trained.load("stories")
    text = examples(model)[0]
    assert at.text_area(key="text").value == text
    chosen, pieces = values(at), model.read(text)[0].pieces
    assert (chosen["step"], chosen["q"], pieces[-1]) == ("tokens", len(pieces) - 1, "It")
    assert walk(at)[1].header.model == "stories"
    head = model.card.heads["refers"]
    weights = model.trace(text).attentions(head.layer)[head.head, -1]
    assert pieces[int(weights.argmax())] == "rabbit"
    assert weights.max() > 0.5
    choose(at, "head", 0 if head.head else 1)
    assert (shown(at), header(at)["opening"]) == ([], False)
    choose(at, "opens", "minilm")
    assert (shown(at), dict(at.query_params)) == (["minilm"], {})


def test_the_bare_address_loads_no_second_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.trained.shipped.load", lambda name: pytest.fail(f"loads {name}"))
    assert shown(open_page()) == ["minilm"]


def test_a_name_that_is_none_of_theirs_opens_nothing() -> None:
    at = open_page()
    for name in ("reverse", 5, None):
        choose(at, "opens", name)
        assert shown(at) == ["minilm"]


def test_the_second_models_link_is_the_view_that_it_opens() -> None:
    view, _ = PAGES["step_by_step"].read(FIRST_VIEWS["stories"].link)
    link = PAGES["step_by_step"].write(view, PAGES["step_by_step"].link_keys("trained"))
    at = open_page(**link)
    assert (shown(at), dict(at.query_params)) == (["stories"], link)


def drawn_by_torch(name: str, given: Sequence[str], count: int) -> tuple[list[str], list[float]]:
    """Sample tokens with the first seed, each from all of the text before; return them and their shares."""
    model = trained.load(name)
    generator = torch.Generator().manual_seed(0)
    written, shares = list(given), []
    for _ in range(count):
        ids = torch.tensor([model.labels.index(label) for label in written])
        share, order = model.logits(ids)[-1].softmax(-1).sort(descending=True, stable=True)
        number = torch.rand((), generator=generator)
        rank = int((share.double().cumsum(-1) <= number).sum())
        written.append(model.labels[int(order[rank])])
        shares.append(float(share[rank]))
    return written[len(given) :], shares


def test_a_story_is_written_on_word_by_word_until_its_end() -> None:
    text = examples(trained.load("stories"))[1]
    at = open_page(source="trained", model="stories", text=text, step="tokens")
    pieces = trained.load("stories").read(text)[0].pieces
    tokens = json.loads(requested(payload(at, "walk")[0]["writes"]["digest"]))["tokens"]
    written, shares = drawn_by_torch("stories", pieces, 80 - len(pieces))
    count = written.index("<end>")
    assert [token["label"] for token in tokens] == written[:count]
    assert [token["share"] for token in tokens] == pytest.approx(shares[:count], abs=1e-4)
    more = "".join(token["text"] for token in tokens)
    assert more == re.sub(r" ([.,?])", r"\1", " " + " ".join(written[:count]))
    choose(at, "written", more)
    assert at.text_area(key="text").value == text + more
    assert trained.load("stories").read(text + more)[0].pieces == (*pieces, *written[:count])
    assert values(at)["q"] == len(pieces) + count - 1, "its last word is chosen"


def test_all_words_that_a_model_of_stories_knows_can_be_read() -> None:
    at = open_page(source="trained", model="stories", text="Tom had a dragon.", step="tokens")
    (words,) = [block.value.replace("\\", "").split() for block in at.markdown if "rabbit" in block.value]
    assert words == [label for label in trained.load("stories").labels if label != "<end>"]
    assert any("from a grammar of this project\\, of 482 different words" in caption.value for caption in at.caption)


def test_the_characters_that_are_written_on_are_torchs_and_become_the_text() -> None:
    at = open_page(source="trained", model="chargpt", text="ROMEO:", step="tokens")
    offered = payload(at, "walk")[0]["writes"]
    tokens = json.loads(requested(offered["digest"]))["tokens"]
    written, shares = drawn_by_torch("chargpt", "ROMEO:", CHARACTERS)
    assert [token["text"] for token in tokens] == written
    for token, share in zip(tokens, shares, strict=True):
        assert abs(token["share"] - share) < 1e-4
        if token["label"] in token["labels"]:
            assert token["shares"][token["labels"].index(token["label"])] == token["share"]
    first = "".join(written[:7])
    choose(at, "written", first)
    assert at.text_area(key="text").value == f"ROMEO:{first}"
    assert at.query_params["text"] == f"ROMEO:{first}"
    assert values(at)["q"] == 12, "its last character is chosen"
    again = open_page(source="trained", model="chargpt", text="ROMEO:", step="tokens")
    assert payload(again, "walk")[0]["writes"]["digest"] == offered["digest"]


def test_a_gpt_2_in_a_folder_writes_on_and_its_last_token_is_chosen_whatever_its_number(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = tf.GPT2Config(**{**GPT2, "vocab_size": len(byte_level()), "n_positions": 64})
    folder = str(save_model(tf.GPT2LMHeadModel(config), tmp_path / "gpt2", "gpt2"))
    at = open_page(source="pretrained", model=folder, text="the cat sat", step="tokens")
    offered = payload(at, "walk")[0]["writes"]
    tokens = json.loads(requested(offered["digest"]))["tokens"]
    model = load(folder)
    assert tokens == [asdict(token) | {"labels": list(token.labels), "shares": list(token.shares)}
                      for token in write_on(model, model.tokenize("the cat sat")).tokens]  # fmt: skip
    choose(at, "written", " on the mat and the log")
    (queries, _), found = model.read("the cat sat on the mat and the log"), values(at)
    assert (found["q"], at.text_area(key="text").value) == (len(queries) - 1, queries.text)
    choose(at, "q", 1)
    assert values(at)["q"] == 1
    whole = open_page(source="pretrained", model=folder, text="cat " * 80, step="tokens")
    read = "The text fills all that the model can read, 64 tokens, so it writes no more."
    assert payload(whole, "walk")[0]["writes"]["full"] == read
    caches.clear()
    longer = tf.GPT2Config(**{**GPT2, "vocab_size": len(byte_level()), "n_positions": 2048})
    shown_in_part = str(save_model(tf.GPT2LMHeadModel(longer), tmp_path / "longer", "gpt2"))
    reads_more = byte_level()
    reads_more.model_max_length = 2048
    reads_more.save_pretrained(tmp_path / "longer")
    cut = open_page(source="pretrained", model=shown_in_part, text="cat " * 1100, step="tokens")
    count = len(tf.AutoTokenizer.from_pretrained(shown_in_part)("cat " * 1100).input_ids)
    assert payload(cut, "walk")[0]["writes"]["full"] == (
        f"The text has {count:,} tokens, of which attnviz shows the first 1,024, so the model writes no more."
    )
    assert any(f"; {count - 1024} were dropped." in warning.value for warning in cut.warning)
    whole = open_page(source="pretrained", model=shown_in_part, text="cat " * 1023, step="tokens")
    assert payload(whole, "walk")[0]["writes"]["full"] == (
        "The text has 1,024 tokens, the most that attnviz shows, so the model writes no more."
    )
    caches.clear()
    headless = str(save("gpt2", tmp_path / "headless"))
    assert payload(open_page(source="pretrained", model=headless, step="tokens"), "walk")[0]["writes"] is None
    caches.clear()


def test_a_model_writes_until_its_text_is_full_and_only_if_it_learned_to_write() -> None:
    link = {"source": "trained", "model": "chargpt", "step": "tokens"}
    digests = {}
    for length in (126, 127, 128, 200):
        offered = payload(open_page(**link, text="a" * length), "walk")[0]["writes"]
        assert bool(offered["digest"]) is not bool(offered["full"])
        digests[length] = offered["full"] or len(json.loads(requested(offered["digest"]))["tokens"])
    full = "The text fills all that the model can read, {} tokens, so it writes no more."
    assert digests == {126: 2, 127: 1, 128: full.format(128), 200: full.format(128)}
    story = open_page(source="trained", model="stories", text="Tom had a ball. " * 16, step="tokens")
    assert payload(story, "walk")[0]["writes"] == {"digest": None, "full": full.format(80)}
    assert payload(open_page(**{**link, "model": "induction"}), "walk")[0]["writes"] is None
    unknown = payload(open_page(**link, text="ж"), "walk")[0]["writes"]
    assert len(json.loads(requested(unknown["digest"]))["tokens"]) == 60, "its guesses are shown too"


def test_only_a_text_is_added_and_not_more_than_a_model_writes() -> None:
    at = open_page(source="trained", model="chargpt", text="ab", step="tokens")
    for written in (5, None, ["x"]):
        choose(at, "written", written)
        assert at.text_area(key="text").value == "ab"
    choose(at, "written", "x" * 1000)
    assert at.text_area(key="text").value == "ab" + "x" * WRITTEN
