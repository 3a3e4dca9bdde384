"""The part of /bert that switches heads off: what it says is what torch computes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from streamlit.testing.v1 import AppTest

from attnviz.bert.ablation import cosine, effects, head_means, head_measures, hidden_without
from attnviz.bert.classification.shipped import load as classifier
from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import built_in as reference
from attnviz.export.code.bert.uses import BY_MEAN_LINES, WITHOUT_LINES
from attnviz.formatting import percent
from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.ui.answer import signed
from attnviz.ui.bert import ablation
from tests.app.bars import side_by_side
from tests.app.pages import (
    BAD_SELECTIONS,
    SETTINGS_OPEN,
    lines_of_torch,
    messages,
    open_page,
    payload,
    payloads,
    select,
    send_update,
)

LONG = "one word after another " * 35


def opened(settings: Mapping[str, object] | None = None, /, **query: str) -> AppTest:
    return open_page("bert", settings, bert_part="without", **query)


def said(at: AppTest) -> str:
    return " ".join(re.sub(r"\\(.)", r"\1", one.value) for one in at.markdown)


def off_in(at: AppTest) -> str | None:
    """Return the link's heads that are off, as the page has written them."""
    found = at.query_params.get("off")
    return found[0] if isinstance(found, list) else found


@pytest.mark.parametrize("by", ["zero", "mean"])
def test_the_output_without_heads_is_torchs(minilm: BuiltInModel, by: str) -> None:
    """The means are those that the page has: the test after this one and tests/unit/bert/test_ablation.py hold them."""
    at, off = opened(off="3.1_5.7", off_by=by), [(3, 1), (5, 7)]
    assert not at.get("plotly_chart")  # it takes the browser a second
    (header, arrays), (bars,) = payload(at, "matrix"), side_by_side(at)
    trace, means = minilm.trace(DEFAULT_TEXT), ablation.means_of(minilm) if by == "mean" else None
    after = hidden_without(minilm, trace.tokens, off, means)
    of_tokens = cosine(trace.last_hidden_state, after)
    changes = torch.tensor([share for _, share in bars]).double() * (1 - of_tokens).max()
    torch.testing.assert_close(changes, 1 - of_tokens, rtol=0, atol=1e-6)
    assert [text.split()[-1] for text, _ in bars] == [f"{one:.4f}" for one in of_tokens.tolist()]
    whole = cosine(trace.last_hidden_state.mean(0), after.mean(0))
    assert f"Without **2 heads** the sentence embedding has a cosine of **{whole:.4f}**" in said(at)
    found, effect = torch.tensor(arrays["heads"]) / 1000, effects(trace, means).sentence
    torch.testing.assert_close(found, effect, rtol=0, atol=1e-6)
    assert header["chosen"] == "3.1_5.7"
    assert header["readings"][5 * 12 + 11] == f"layer 5 · head 11: 1 − cosine {effect[5, 11]:.3g}"


def test_the_means_are_those_over_the_reference_sentences(
    minilm: BuiltInModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the first of them, which take a hundredth of the time."""
    few = replace(reference(), sentences=reference().sentences[:5])
    monkeypatch.setattr(ablation, "reference", lambda: few)
    monkeypatch.setattr(ablation, "result", lambda _name, _size, _key, make: make())
    torch.testing.assert_close(ablation.means_of(minilm), head_means(minilm, few.sentences))


@pytest.mark.parametrize("name", ["largest", "norm"])
def test_all_heads_stand_by_a_measure_and_their_effect(minilm: BuiltInModel, name: str) -> None:
    at, trace = opened(off_view="measures", off_measure=name), minilm.trace(DEFAULT_TEXT)
    measure, effect = getattr(head_measures(trace), name).flatten(), effects(trace).sentence.flatten()
    (figure,) = at.get("plotly_chart")
    points = json.loads(figure.proto.spec)["data"]
    found = {tuple(place): x for one in points for place, x in zip(one["customdata"], one["x"], strict=True)}
    assert found == {divmod(n, 12): pytest.approx(float(one)) for n, one in enumerate(measure)}
    ends = "(1: the same order, 0: no relation, −1: the reverse order)"
    assert f"**{spearmanr(measure, effect).statistic:.2f}** {ends}" in said(at)


def test_the_classifier_says_what_its_weights_say(minilm: BuiltInModel) -> None:
    text = "The film was not bad at all, but I would not call it good."
    at, (layer, shown) = opened(text=text, off="5.9", off_view="classifier"), (classifier("classifier").classifier, {})
    for name, off in (("all heads", []), ("without", [(5, 9)])):
        hidden = hidden_without(minilm, minilm.tokenize(text), off)
        features = hidden[0] if layer.how == "cls" else hidden.mean(0)
        features = features.tanh() if layer.tanh else features
        shown[name] = torch.nn.functional.linear(features, layer.weight, layer.bias).softmax(-1)
    table = at.table[0].value
    for name, shares in shown.items():
        assert table[name].tolist() == [f"{100 * float(share):.1f} %" for share in shares]
    assert f"{100 * float(shown['all heads'].max()):.1f} %" in said(at)


def test_the_answer_for_a_mask_is_shown_with_and_without_heads(minilm: BuiltInModel) -> None:
    text = "The animal did not cross the [MASK] because it was too tired."
    at, tokens = opened(text=text, off="5.9", off_view="answer"), minilm.tokenize(text)
    place = tokens.ids.index(103)
    assert minilm.language_head is not None
    before, after = (
        minilm.language_head(hidden_without(minilm, tokens, off)[[place]])[0].softmax(-1) for off in ([], [(5, 9)])
    )
    shares, heads = at.table[0].value, at.table[1].value
    best = before.topk(5).indices.tolist()
    assert list(shares.index)[:5] == [minilm.label(token) for token in best]
    for name, probabilities in (("all heads", before), ("without", after)):
        assert shares[name].tolist()[:5] == [percent(float(probabilities[token]), 1) for token in best]
    assert f"“{minilm.label(best[0])}”** with **{percent(float(before[best[0]]), 1)}**" in said(at)
    changes = effects(minilm.trace(text)).answer
    assert changes is not None
    layer, head = divmod(int(changes.abs().argmax()), 12)
    assert heads.index[0] == f"layer {layer} · head {head}"
    assert heads.iloc[0, 0] == signed(float(changes[layer, head]))
    assert "Write [MASK] in the text" in opened(off_view="answer").info[0].value


def test_the_search_ranks_the_sentences_anew(minilm: BuiltInModel) -> None:
    at, sentences = opened(off="5.11", off_view="search"), reference().sentences
    index, hidden = (
        embed_sentences(sentences, model=minilm),
        hidden_without(minilm, minilm.tokenize(DEFAULT_TEXT), [(5, 11)]),
    )
    scores = index @ torch.nn.functional.normalize(hidden.mean(0), dim=0)
    before = index @ embed_sentences([DEFAULT_TEXT], model=minilm)[0]
    order = scores.argsort(descending=True)[:5]
    table = at.table[0].value
    assert table["sentence"].tolist() == [sentences[place] for place in order]
    assert table["cosine"].tolist() == [f"{float(scores[place]):.2f}" for place in order]
    assert table["was"].tolist() == [1 + int((before > before[place]).sum()) for place in order]
    assert table["was"].tolist()[0] == 1 and "without **layer 5 · head 11** the same sentence comes first." in said(at)
    at = opened(off="_".join(f"{layer}.{head}" for layer in range(6) for head in range(12)), off_view="search")
    first = at.table[0].value["was"].tolist()[0]
    assert first > 1 and f" the sentence that comes first was number {first}. " in said(at)


def test_the_table_has_all_heads_in_the_order_of_their_effects(minilm: BuiltInModel) -> None:
    at = opened(off_view="table")
    table = at.dataframe[0].value
    assert len(table) == 72
    assert (table["layer"][0], table["head"][0]) == divmod(
        int(effects(minilm.trace(DEFAULT_TEXT)).sentence.argmax()), 12
    )
    assert table["1 − cosine, sentence"].is_monotonic_decreasing
    columns = json.loads(at.dataframe[0].proto.columns)
    assert {name: columns[name]["type_config"]["format"] for name in table.columns[2:]} == {
        name: "%.4f" if "cosine" in name else "%.3f" for name in table.columns[2:]
    }


def test_a_lecture_has_the_heads_with_the_largest_effects_alone(minilm: BuiltInModel) -> None:
    at = opened(off_view="table", lecture="1")
    assert not at.dataframe
    shown, found = at.table[0].value, effects(minilm.trace(DEFAULT_TEXT)).sentence
    values, places = found.flatten().topk(len(shown))
    assert [*shown.index] == [divmod(int(place), 12) for place in places]
    assert [*shown["1 − cosine, sentence"]] == [f"{float(value):.4f}" for value in values]


def test_a_layer_is_switched_off_and_on_by_one_press() -> None:
    at = opened(SETTINGS_OPEN, off="5.11")
    at.button("off_layer_2").click().run()
    assert off_in(at) == "_".join(f"2.{head}" for head in range(12)) + "_5.11"
    at.button("off_layer_2").click().run()
    assert off_in(at) is None  # the default again
    for off in ("_".join(f"2.{head}" for head in range(12)), ""):  # nothing but the layer
        if off:
            at.button("off_none").click().run()
        at.button("off_layer_2").click().run()
        assert off_in(at) == off
    assert "every cosine is **1**" in said(at)
    at.multiselect("off").set_value([(0, 2)]).run()
    assert off_in(at) == "0.2"
    assert not at.exception


def test_the_choice_of_heads_changes_link_sentence_and_grid_in_one_run() -> None:
    at = opened(SETTINGS_OPEN, off="5.11")
    for off, name in (([(0, 2)], "layer 0 · head 2"), ([(0, 2), (3, 1)], "2 heads")):
        at.multiselect("off").set_value(off).run()
        assert off_in(at) == "_".join(f"{layer}.{head}" for layer, head in off)
        assert f"Without **{name}**" in said(at)
        assert payload(at, "matrix")[0]["chosen"] == off_in(at)


def test_a_click_in_the_grid_switches_a_head_and_no_message_breaks_the_page() -> None:
    at = opened(off="5.11")
    send_update(at, "matrix", {"number": 1, "values": {"chosen": "0.2_5.11"}})
    assert off_in(at) == "0.2_5.11"
    assert payload(at, "matrix")[0]["acknowledged"] == 1
    bad: tuple[object, ...] = (None, 5, True, [], {}, [[0, 1]], "x", "1", "1.", "1.2.3", "-1.2", "5.r", "1.1_" * 5000)
    for number, chosen in enumerate(bad, start=2):
        send_update(at, "matrix", {"number": number, "values": {"chosen": chosen, "text": "other"}})
        assert not at.exception and not at.error
        assert off_in(at) == "0.2_5.11"
    send_update(at, "matrix", {"number": 99, "values": {"chosen": "9.2_0.2"}})
    assert off_in(at) == "0.2"  # the model does not have the other
    send_update(at, "matrix", {"number": 100, "values": {"chosen": ""}})
    assert off_in(at) == ""


def test_a_click_among_all_heads_by_a_measure_switches_one_and_no_message_breaks_the_page() -> None:
    at = opened(off="5.11", off_view="measures")
    select(at, {"selection": {"points": [{"customdata": [0, 2]}]}})
    assert off_in(at) == "0.2_5.11"
    for message in BAD_SELECTIONS:
        select(at, message)
        assert not at.exception and not at.error
        assert off_in(at) == "0.2_5.11"


@pytest.mark.parametrize(("by", "lines"), [("zero", WITHOUT_LINES), ("mean", BY_MEAN_LINES)])
def test_the_lines_of_torch_are_those_of_the_way_that_is_chosen(by: str, lines: str) -> None:
    assert lines_of_torch(opened(off_by=by)) == lines


def test_a_text_without_a_word_has_nothing_to_rank() -> None:
    at = opened(text="\u200b", off_view="measures", off_measure="largest")
    assert "There is nothing to be ranked" in messages(at)
    assert "Spearman" not in said(at)


def test_heads_that_the_model_does_not_have_are_left_out_with_a_note() -> None:
    at = opened(off="3.1_6.0_0.12")
    assert "Layer 0 · head 12 does not exist: there are 6 x 12 heads." in messages(at)
    assert off_in(at) == "3.1"


@pytest.mark.parametrize("view", ["tokens", "measures", "classifier", "search", "table"])
@pytest.mark.parametrize("text", ["a", "\x00 <script>alert(1)</script> *b* $x$", "🙂 ש"])
def test_any_text_has_every_view(view: str, text: str) -> None:
    assert not opened(text=text, off_view=view, off="").exception


def test_a_blank_text_gives_a_hint() -> None:
    assert "Type a sentence" in messages(opened(text="  "))


def test_a_long_text_measures_all_heads_only_when_asked() -> None:
    at = opened(text=LONG, off="5.11", off_view="measures")
    assert "not measured yet" in messages(at)
    header, arrays = payload(at, "matrix")
    assert np.isnan(arrays["heads"]).all()
    assert "cosine" not in "".join(header["readings"])
    assert header["panels"][0]["is_blank"]  # hatching means "masked"
    assert header["hint"] == "The effects of the heads are not measured yet."
    assert header["alt"].endswith("not computed yet; chosen: layer 5 head 11")
    at.button("off_measure_all").click().run(timeout=120)
    assert not at.exception
    header, arrays = payload(at, "matrix")
    assert arrays["heads"].min() >= 0
    assert not header["panels"][0]["is_blank"]
    assert header["hint"] == "Point at a head to read its effect."
    assert "not measured yet" not in messages(at)


def test_a_lecture_has_no_controls() -> None:
    at = opened(lecture="1")
    assert len(side_by_side(at)) == 1
    assert not [one for one in at.button if one.key.startswith("off_")]


def test_export_has_the_tables_and_the_script() -> None:
    names = {
        tab: [button.key for button in open_page(
            "bert", {"export": True, "export_tab": tab}, bert_part="without", off="3.1"
        ).get("download_button")]
        for tab in ("Numbers", "Script")
    }  # fmt: skip
    assert names == {
        "Numbers": ["export_output", "export_heads", "export_classifier", "export_search"], "Script": ["export_script"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "pictures", "camera"),
    [({"bert_part": "without", "off_view": "tokens"}, 1, False),
     ({"bert_part": "without", "off_view": "measures"}, 1, True),
     ({"bert_part": "language"}, 1, False), ({"bert_part": "blank"}, 1, False), ({"bert_part": "subsets"}, 1, False),
     ({"bert_part": "search"}, 0, True)],
)  # fmt: skip
def test_export_speaks_of_the_camera_where_a_plot_of_plotlys_is(
    query: dict[str, str], pictures: int, camera: bool
) -> None:
    at = open_page("bert", {"export": True, "export_tab": "Pictures"}, **query)
    assert not at.exception
    assert any("press the camera" in one.value for one in at.caption) == camera
    found = [header for name, (header, _) in payloads(at) if name == "export_view"]
    assert len(found) == pictures
    assert all("camera" not in words["none"] for words in found)
