"""Embeddings and back on /bert: what comes back is what torch's modules give, and no text breaks the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from streamlit.testing.v1 import AppTest
from torch import nn
from torch.nn import functional

from attnviz.bert.table import table_of
from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained import PretrainedModel, load
from attnviz.ui import caches
from attnviz.ui.bert import parts, round_trip
from attnviz.ui.widgets import FileOffer
from tests.app.pages import messages, open_page
from tests.loaded import built_in_model
from tests.unit.bert.test_blank import saved
from tests.unit.families import BERT, save, save_model

LONG = "one word after another " * 200


@pytest.fixture(scope="module", autouse=True)
def models_are_dropped() -> Iterator[None]:
    yield
    caches.clear()


def opened(**query: str) -> AppTest:
    return open_page("bert", bert_part="back", **query)


def html(at: AppTest) -> str:
    """Return what the part and its notice say."""
    bodies = [one.proto.body for one in at.get("html")]
    return " ".join(body for body in bodies if 'class="back"' in body or 'class="notice"' in body)


def came_back(at: AppTest) -> str:
    return unescape(re.findall(r'class="out">(.*?)</p>', html(at))[0])


def shown(at: AppTest, name: str) -> float:
    """Return a number that is written out."""
    text = re.findall(rf'<b class="{name}">(.*?)</b>', html(at))[0]
    return float(text.replace(",", "").replace("−", "-").removesuffix(" %"))


def rows(at: AppTest) -> list[list[str]]:
    """Return the cells of the table of all tokens."""
    table = html(at).partition('class="back-rows"')[2].partition("</table>")[0]
    return [
        [unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<td.*?>(.*?)</td>", row)]
        for row in re.findall(r"<tr><td.*?</tr>", table)
    ]


def test_the_text_comes_back_through_the_table_at_both_ends(minilm: PretrainedModel) -> None:
    at = opened(text=DEFAULT_TEXT)
    weight, ids = table_of(minilm).weight, torch.tensor(minilm.tokenize(DEFAULT_TEXT).ids)
    output = nn.Linear(384, 30522, bias=False)
    output.weight = nn.Parameter(weight)
    with torch.no_grad():
        logits = output(functional.embedding(ids, weight))
    best = logits.topk(2)
    for place, row in enumerate(rows(at)):
        assert row[2] == f"{int(ids[place]):,}"
        assert row[3] == "✓"
        assert float(row[4]) == pytest.approx((best.values[place, 0] - best.values[place, 1]).item(), abs=6e-4)
        share = functional.softmax(logits[place], dim=-1)[best.indices[place, 0]].item()
        assert row[5].split(" ")[-2].rstrip("0") == f"{100 * share:.2g}"
    assert len(rows(at)) == len(ids)
    assert came_back(at) == "the animal didn ' t cross the street because it was too tired."
    assert "16 of 16 ids come back" in html(at)
    assert "logits (16, 30,522)" in html(at)
    written = [row[5].rpartition(" ")[0].split(" ")[-1] for row in rows(at)]
    assert f"probability, from 0 to {max(written, key=float)} %" in html(at)


def test_random_ends_give_junk_and_another_seed_other_junk(minilm: PretrainedModel) -> None:
    at = opened(back_weights="random")
    assert "0 of 16 ids come back" in html(at)
    assert "(seed 0)" in html(at)
    junk = came_back(at)
    at.number_input(key="seed").set_value(1).run()
    assert at.query_params["seed"] in ("1", ["1"])
    assert came_back(at) != junk
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        embedding, output = nn.Embedding(30522, 384), nn.Linear(384, 30522, bias=False)
    with torch.no_grad():
        ids = output(embedding(torch.tensor(minilm.tokenize(DEFAULT_TEXT).ids))).argmax(-1)
    assert came_back(at) == table_of(minilm).decode(ids.tolist())


def test_a_token_that_is_lost_is_said_and_comes_back_with_rows_of_length_1() -> None:
    at = opened(text="The conversions of asteroids")
    assert "4 of 6 ids come back" in html(at)
    assert came_back(at) == "the conversion of asteroid"
    assert "“conversions” does not come back" in html(at)
    assert "longer" in html(at)
    at.toggle(key="back_unit").set_value(True).run()
    assert "6 of 6 ids come back" in html(at)


@pytest.mark.parametrize("scale", ["1", "10", "100"])
def test_one_token_is_written_out(scale: str, minilm: PretrainedModel) -> None:
    at = opened(back_view="one", q="2", back_scale=scale)
    weight = table_of(minilm).weight
    x = weight[minilm.tokenize(DEFAULT_TEXT).ids[2]]
    logits = float(scale) * (weight @ x)
    assert shown(at, "logit") == pytest.approx((x @ x).item(), abs=6e-4)
    assert shown(at, "sum") == pytest.approx((logits - logits.max()).exp().sum().item(), rel=1e-4)
    share = functional.softmax(logits, dim=0).max().item()
    assert shown(at, "probability") == pytest.approx(100 * share, rel=0.005)  # three digits
    at.button_group(key="q").set_value(3).run()
    assert "embedding of “didn”" in html(at)


def neighbours(at: AppTest, by: str) -> list[tuple[str, float]]:
    table = re.findall(rf'<table data-by="{by}">(.*?)</table>', html(at))[0]
    found = re.findall(r'<td class="tint".*?>(.*?)</td><td class="n">(.*?)</td>', table)
    return [(unescape(name), float(near.replace("−", "-"))) for name, near in found]


def test_neighbours_of_a_token_and_of_a_searched_piece_are_torchs(minilm: PretrainedModel) -> None:
    table = table_of(minilm)
    at = opened(back_view="near", q="8")
    for word in ("street", "king"):
        row = table.weight[table.pieces.index(word)]
        for by, near in (("cosine", functional.cosine_similarity(table.weight, row[None])),
                         ("dot product", table.weight @ row)):  # fmt: skip
            best = near.topk(8)
            assert [name for name, _ in neighbours(at, by)] == [table.labels[one] for one in best.indices]
            values = [value for _, value in neighbours(at, by)]
            assert values == pytest.approx(best.values.tolist(), abs=6e-4)
        at.text_input(key="back_piece").set_value(" King ").run()
    assert at.query_params["back_piece"] in ("King", ["King"], " King ", [" King "])
    at.button_group(key="q").set_value(2).run()  # a token of the text takes the place of what was searched
    assert neighbours(at, "cosine")[0] == ("animal", 1.0)


@pytest.mark.parametrize("searched", ["bicyclett", "<b>&*_`", "😀", "\0", "two words"])
def test_what_is_not_in_the_vocabulary_is_answered_in_words(searched: str) -> None:
    at = opened(back_view="near", back_piece=searched)
    assert f"“{searched}” is not in the vocabulary of 30,522 tokens." in messages(at) or searched == "\0"
    assert messages(at)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("weights", ["tied", "random"])
def test_no_text_breaks_a_view(weights: str, number: int) -> None:
    """The long text in all five views, each other text in three of them; of random weights, in two and in one."""
    text = ("<script>alert(1)</script> $x$", "\u202eabc\0", LONG, "😀", "[MASK]")[number]
    views = ("each", "one", "near", "bias", "targets")
    several = {"tied": (5, 3), "random": (2, 1)}[weights][text != LONG]
    for view in islice(cycle(views), number, number + several):
        at = opened(text=text, back_view=view, back_weights=weights, q="600", back_scale="100")
        assert "<script>" not in html(at), view
        assert "ids come back" in html(at), view
        if text == LONG:
            assert "512" in html(at), view
            assert "dropped" in messages(at), view


def test_without_a_text_the_page_says_what_to_do() -> None:
    assert "Type a sentence" in messages(opened(text=" "))


def test_a_position_that_does_not_exist_is_noted() -> None:
    assert "Token 99 does not exist" in messages(opened(back_view="one", q="99"))


def favoured(at: AppTest, title: str) -> list[list[str]]:
    """Return the cells of a table of what the output layer favours."""
    table = re.findall(rf'<table data-by="{title}">(.*?)</table>', html(at))[0]
    return [
        [unescape(re.sub("<.*?>", "", cell)).replace("−", "-") for cell in re.findall(r"<td.*?>(.*?)</td>", row)][1:]
        for row in re.findall(r"<tr><td.*?</tr>", table)
    ]


@pytest.mark.parametrize("weights", ["tied", "random"])
def test_it_begins_with_what_is_like_an_autoencoder_and_what_is_not(weights: str) -> None:
    text = html(opened(back_weights=weights))
    about = re.findall(r'<p class="about">(.*?)</p><ol', text)[0]
    assert "Like an autoencoder" in about
    assert "never trained to copy, and no bottleneck learned a short code: each token has its own 384 numbers." in about
    assert text.index("autoencoder") < text.index("embeddings (16, 384)")


def test_without_a_bias_the_lengths_of_the_rows_are_shown(tmp_path: Path) -> None:
    headless = save_model(tf.BertModel(tf.BertConfig(**BERT)), tmp_path / "headless", "bert")
    at, table = opened(back_view="bias", model=str(headless)), table_of(load(str(headless)))
    lengths = table.weight.norm(dim=1)
    for title, best in (("longest rows", lengths.topk(8)), ("shortest rows", lengths.topk(8, largest=False))):
        shown_rows = favoured(at, title)
        assert [name for name, _ in shown_rows] == [table.labels[one] for one in best.indices]
        assert [float(length) for _, length in shown_rows] == pytest.approx(best.values.tolist(), abs=6e-4)
    assert "the output layer is the table alone, without a bias" in html(at)
    at.toggle(key="back_unit").set_value(True).run()
    assert "Rows of length 1 favour no token either" in html(at)
    assert "longest rows" not in html(at)
    at = opened(back_view="bias", back_weights="random", seed="4")
    assert "drawn without a bias" in html(at)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        nn.Embedding(30522, 384)
        drawn_rows = nn.Linear(384, 30522, bias=False).weight.detach().norm(dim=1)
    names = [name for name, _ in favoured(at, "longest rows")]
    assert names == [table.labels[one] for one in drawn_rows.topk(8).indices]


def test_the_bias_of_a_language_head_is_transformers(tmp_path: Path) -> None:
    folder = saved("bert", tmp_path / "bert")
    whole = tf.AutoModelForMaskedLM.from_pretrained(folder)
    bias = whole.get_output_embeddings().bias.detach()
    at = opened(model=str(folder), back_view="bias")
    name, share = tf.AutoTokenizer.from_pretrained(folder).convert_ids_to_tokens, functional.softmax(bias, dim=0)
    for title, best in (("largest bias", bias.topk(8)), ("smallest bias", bias.topk(8, largest=False))):
        for (label, number, percent), token in zip(favoured(at, title), best.indices.tolist(), strict=True):
            assert label == name(token)
            assert float(number) == pytest.approx(bias[token].item(), abs=6e-4)
            assert float(percent.removesuffix(" %")) == pytest.approx(100 * share[token].item(), rel=0.06, abs=0.05)
    first, last = (name(int(one)) for one in (bias.argmax(), bias.argmin()))
    assert f"“{first}” is favoured most, “{last}” least" in html(at)
    with torch.no_grad():
        whole.get_output_embeddings().bias.zero_()
    whole.save_pretrained(tmp_path / "zero")
    tf.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "zero")
    assert "It is 0.000 for every token, so it favours none." in html(
        opened(model=str(tmp_path / "zero"), back_view="bias")
    )
    headless = opened(model=str(save("bert", tmp_path / "headless")), back_view="bias")
    assert "No language head was found in" in html(headless)


def test_tokens_that_share_the_smallest_bias_are_counted() -> None:
    bias = built_in_model().output_bias
    tied = int((bias == bias.min()).sum())
    assert tied > 10_000  # those that training never saw
    assert re.search(rf"{tied:,} tokens, “.*?” among them, equally least", html(opened(back_view="bias")))


def test_targets_are_shown_on_the_text() -> None:
    at = opened(back_view="targets", text="one two three four")
    for cell in (">one two three<", ">two three four<", ">one two [MASK] four<", "Das Tier"):
        assert cell in html(at)


def test_a_lecture_has_all_of_it_but_the_lines_of_torch() -> None:
    at = opened(lecture="1", back_view="one")
    assert shown(at, "logit") > 0
    assert not at.expander
    assert at.button_group(key="back_weights").value == "tied"


def test_export_has_the_numbers_and_the_script_of_the_model_on_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(saved("bert", tmp_path / "bert"))
    written: dict[str, Any] = {}

    def keep(_row: str, *offers: FileOffer) -> None:
        written.update({offer.key: offer.data for offer in offers})

    monkeypatch.setattr(parts, "offer_files", keep)
    asked: list[Any] = []
    monkeypatch.setattr(
        round_trip, "round_trip_script", lambda *given, **named: asked.append((given, named)) or "# torch"
    )
    for tab in ("Numbers", "Script"):
        open_page("bert", {"export": True, "export_tab": tab}, bert_part="back", model=folder, text="the cat", q="2")
    read = {name: pd.read_csv(BytesIO(make()), index_col=0) for name, make in written.items() if "script" not in name}
    assert [*read] == ["export_there_and_back", "export_output_layer", "export_neighbours"]
    whole = tf.AutoModelForMaskedLM.from_pretrained(folder)
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    weight, bias = whole.get_input_embeddings().weight.detach(), whole.get_output_embeddings().bias.detach()
    ids, name = tokenizer("the cat")["input_ids"], tokenizer.convert_ids_to_tokens

    back, logits = read["export_there_and_back"], weight[ids] @ weight.T
    best = logits.topk(3)
    assert back["id"].tolist() == ids and back.index.tolist() == [*range(len(ids))]
    assert back["comes back"].tolist() == [bool(one) for one in best.indices[:, 0] == torch.tensor(ids)]
    np.testing.assert_allclose(back["own logit"], logits[range(len(ids)), ids], atol=1e-5)
    for rank in (1, 2, 3):
        assert back[f"candidate {rank}"].tolist() == name(best.indices[:, rank - 1].tolist())
        np.testing.assert_allclose(back[f"logit {rank}"], best.values[:, rank - 1], atol=1e-5)
        shares = logits.softmax(1)[range(len(ids)), best.indices[:, rank - 1]]
        np.testing.assert_allclose(back[f"probability {rank}"], shares, rtol=1e-4)

    layer, most, least = read["export_output_layer"], bias.topk(8), bias.topk(8, largest=False)
    assert layer.index.tolist() == [f"{end} {rank}" for end in ("largest", "smallest") for rank in range(1, 9)]
    assert layer["token"].tolist() == name([*most.indices.tolist(), *least.indices.tolist()])
    np.testing.assert_allclose(layer["bias"], torch.cat([most.values, least.values]), atol=1e-6)
    chosen = bias.softmax(0)[layer["id"].tolist()]
    np.testing.assert_allclose(layer["softmax of the bias"], chosen, rtol=1e-4)

    near, cosines = read["export_neighbours"], functional.cosine_similarity(weight[ids[2]], weight)
    assert near.index.tolist() == [*range(1, len(near) + 1)] and near.index.name == f"nearest to {name(ids[2])}"
    assert near["by cosine"].tolist() == name(cosines.topk(len(near)).indices.tolist())
    assert near["by dot product"].tolist() == name(logits[2].topk(len(near)).indices.tolist())
    np.testing.assert_allclose(near["dot product"], logits[2].topk(len(near)).values, atol=1e-5)

    assert written["export_script"]() == b"# torch"
    (((trip,), named),) = asked
    assert (trip.is_random, trip.is_unit, trip.scale, trip.bias_of) == (False, False, 1.0, "MaskedLM")
    assert (named["model"], named["text"], list(named["ids"])) == (folder, "the cat", ids)
    assert (named["place"], named["token"]) == (2, ids[2])
