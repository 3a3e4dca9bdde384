"""A hidden word on Step by step: the attention is that of the text with a mask, the guesses are transformers' own."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import pytest
import torch
import transformers as tf
from streamlit.testing.v1 import AppTest

from attnviz.pretrained import load
from attnviz.ui import caches
from tests.app.pages import choose, messages, open_page
from tests.app.walking import hidden, panels, values, walk
from tests.unit.families import BERT, save_model

TEXT = "The cat sat on the mat near Ann."
SAT = 3


def opened(model: str, **query: str) -> AppTest:
    return open_page(**{"source": "pretrained", "model": model, "text": TEXT, "step": "weights", **query})


def test_the_attention_is_that_of_the_masked_text_and_the_guesses_are_transformers(folder: str) -> None:
    at = opened(folder, blank_at=str(SAT), layer="1", head="2")
    masked = TEXT.replace("sat", "[MASK]")
    expected = load(folder).trace(masked)
    torch.testing.assert_close(torch.tensor(panels(at)["weights"]), expected.attentions(1)[2], rtol=0, atol=1e-6)
    header, document = walk(at)
    assert (header["hides"], hidden(at)) == (True, {"row": SAT, "word": "sat", "label": "sat"})
    assert document.header.query.labels[SAT] == "[MASK]"
    assert at.text_area(key="text").value == TEXT
    ids = tf.AutoTokenizer.from_pretrained(folder)(masked, return_tensors="pt").input_ids
    with torch.inference_mode():
        logits = tf.AutoModelForMaskedLM.from_pretrained(folder).eval()(input_ids=ids).logits[0, SAT]
    best = logits.double().softmax(-1).topk(5)
    (of,) = document.header.guesses
    assert of.row == SAT
    assert of.shares == pytest.approx(best.values.tolist(), rel=1e-4)


def test_the_way_to_the_answer_is_the_last_step_of_the_whole_model(folder: str) -> None:
    follows = walk(opened(folder, blank_at=str(SAT), layer="1", head="2"))[0]["follows"]
    path, _, query = follows["page"].partition("?")
    link = dict(parse_qsl(query))
    assert (path, link["text"]) == ("transformer", TEXT.replace("sat", "[MASK]"))
    at = open_page("transformer", **link, block=str(follows["answer"]), part="probabilities", q=str(SAT))
    assert not messages(at)
    chosen = values(at)
    assert (chosen["step"], chosen["layer"], chosen["q"]) == ("probabilities", 1, SAT)


def test_a_word_is_hidden_and_shown_again(folder: str) -> None:
    at = opened(folder)
    header, document = walk(at)
    assert (header["hides"], header["hidden"], document.header.guesses) == (True, None, ())
    choose(at, "blank_at", SAT)
    assert at.query_params["blank_at"] == str(SAT)
    assert walk(at)[1].header.query.labels[SAT] == "[MASK]"
    choose(at, "blank_at", None)
    assert "blank_at" not in at.query_params
    assert walk(at)[1].header.query.labels[SAT] == "sat"


def test_the_built_in_model_offers_to_hide_no_word_but_a_link_hides_one() -> None:
    at = open_page(source="pretrained", text="The cat Sat on the mat.", step="weights", blank_at=str(SAT))
    header, document = walk(at)
    assert (header["hides"], hidden(at)) == (False, {"row": SAT, "word": "Sat", "label": "sat"})
    assert [of.row for of in document.header.guesses] == [SAT]
    assert "attnviz trained its language head" in document.header.guesses_note


def test_the_way_to_the_rank_of_the_hidden_word_opens_the_view_that_says_it(folder: str) -> None:
    path, _, query = walk(opened(folder, blank_at=str(SAT)))[0]["hidden"]["ranked"].partition("?")
    there = open_page(path, **dict(parse_qsl(query)))
    vocabulary = load(folder).trace(TEXT.replace("sat", "[MASK]")).logits[SAT].argsort(descending=True)
    rank = vocabulary.tolist().index(load(folder).read(TEXT)[0].ids[SAT]) + 1
    assert f"<b>sat</b>, position {SAT}, masked: rank {rank:,}," in "".join(
        html.proto.body for html in there.get("html")
    )
    of_two_pieces = opened(folder, text="The embeddings sat.", blank_at="2")
    hidden_there = walk(of_two_pieces)[0]["hidden"]
    assert hidden_there["ranked"] == ""
    assert set(hidden_there["masks"].split("[MASK]")) == {""} and hidden_there["masks"].count("[MASK]") > 1


def test_the_hidden_word_is_followed_into_another_text(folder: str) -> None:
    at = opened(folder, blank_at=str(SAT), q=str(SAT))
    at.text_area(key="text").set_value(f"Today {TEXT}").run()
    assert at.query_params["blank_at"] == str(SAT + 1)
    assert hidden(at) == {"row": SAT + 1, "word": "sat", "label": "sat"}
    at.text_area(key="text").set_value("All is other here.").run()
    assert "blank_at" not in at.query_params
    assert walk(at)[0]["hidden"] is None


@pytest.mark.parametrize(("place", "said"), [("0", "Position 0 is no word"), ("400", "Position 400 is no word")])
def test_a_link_that_hides_no_word_is_answered_in_a_sentence(folder: str, place: str, said: str) -> None:
    at = opened(folder, blank_at=place)
    assert said in messages(at)
    assert values(at)["blank_at"] is None
    assert walk(at)[1].header.guesses == ()


def test_a_model_without_a_head_hides_no_word(tmp_path: Path) -> None:
    torch.manual_seed(0)
    headless = save_model(tf.BertModel(tf.BertConfig(**BERT)), tmp_path / "bert", "bert")
    at = opened(str(headless), blank_at=str(SAT))
    assert "guesses no hidden word" in messages(at)
    assert (walk(at)[0]["hides"], walk(at)[0]["hidden"]) == (False, None)
    caches.clear()
