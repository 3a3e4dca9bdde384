"""Heads through `app.py`: what the explorer is sent equals torch, links reproduce, bad input gets a sentence."""

from __future__ import annotations

import json
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.bert.ablation import effects, hidden_without
from attnviz.export.csv_files import table_csv
from attnviz.formatting import percent
from attnviz.links.link import DEFAULT_TEXT
from attnviz.measures.survey import survey
from attnviz.pretrained import load
from attnviz.tokens import NoTokensError
from attnviz.ui.heads import table as heads_table
from tests.app.heads import every_weight, shared, weights
from tests.app.pages import messages, open_page, open_parts, page_links, payload, send_update, sent
from tests.loaded import built_in_model
from tests.unit.families import save

open_link = partial(open_page, "heads")


def explorer(at: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what the explorer is sent."""
    return payload(at, "explorer")


def view(at: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = explorer(at)[0]["view"]
    return found


def test_every_weight_of_the_built_in_model_equals_its_trace() -> None:
    header, _ = explorer(open_link(text=DEFAULT_TEXT))
    trace = built_in_model().trace(DEFAULT_TEXT)
    assert header["query_labels"][:3] == ["[CLS]", "the", "animal"]
    expected = np.concatenate([trace.attentions(layer).double().numpy() for layer in range(6)])
    np.testing.assert_allclose(every_weight(header) / 65535, expected, rtol=0, atol=7.7e-6)


def test_a_bare_address_opens_on_a_head_that_means_something_and_stays_bare() -> None:
    at = open_link()
    assert dict(at.query_params) == {}
    assert not at.warning
    header, shown = explorer(at)[0], view(at)
    assert (shown["layer"], shown["head"], shown["k"]) == (3, 1, None)
    row = weights(header, 3, 1)[shown["q"]] / 65535
    assert (header["query_labels"][shown["q"]], header["key_labels"][row.argmax()]) == ("it", "bicycle")
    assert f"{row.max():.2f}" == "0.97"


def test_a_link_with_a_layer_or_a_head_opens_what_it_always_opened() -> None:
    for link, head in (({"text": DEFAULT_TEXT}, (0, 0)), ({"layer": "2"}, (2, 0)), ({"head": "5"}, (0, 5))):
        at = open_link(**link)
        assert dict(at.query_params) == link
        assert (view(at)["layer"], view(at)["head"], view(at)["q"]) == (*head, None)
        assert at.text_area(key="text").value == DEFAULT_TEXT


def test_a_link_holds_the_whole_view() -> None:
    link = {
        "text": "the cat.", "pair": "the dog.", "layer": "3", "head": "5", "chosen": "3.5_1.8_2.r", "q": "4", "k": "2",
        "show": "lines", "direction": "horizontal", "threshold": "0.2", "strongest": "3", "special": "hide",
        "between": "ab", "values": "norms", "mean": "1", "stretch": "1", "sort": "entropy", "label": "broad",
        "more": "care",
    }  # fmt: skip
    at = open_link(**link)
    assert not at.warning
    assert dict(at.query_params) == link
    assert view(at) == {
        "layer": 3, "head": 5, "chosen": [[3, 5], [1, 8], [2, -1]], "q": 4, "k": 2, "show": "lines",
        "direction": "horizontal", "threshold": 0.2, "strongest": 3, "special": "hide", "between": "ab",
        "values": "norms", "mean": True, "stretch": "1", "sort": "entropy", "label": "broad",
    }  # fmt: skip
    header, _ = explorer(at)
    assert header["query_labels"] == ["[CLS]", "the", "cat", ".", "[SEP]", "the", "dog", ".", "[SEP]"]
    assert header["query_groups"] == [0, 1, 1, 1, 0, 2, 2, 2, 0]
    again, _ = explorer(open_link(**at.query_params))
    assert again == header  # and so are the digests of the weights


def test_rollout_in_a_link() -> None:
    at = open_link(layer="4", head="7", rollout="1")
    assert (view(at)["layer"], view(at)["head"]) == (4, -1)
    header, _ = explorer(at)
    np.testing.assert_allclose(weights(header, 4, -1).sum(1) / 65535, 1, atol=16 * 7.7e-6)
    assert dict(at.query_params) == {"layer": "4", "head": "7", "rollout": "1"}


def test_a_long_text_is_offered_head_by_head_with_a_note() -> None:
    at = open_link(text="word " * 800, layer="2", head="9")
    header, _ = explorer(at)
    assert len(header["files"]["weights"]) == 72
    assert shared(header)["overview"].shape == (6, 12, 48, 48)
    assert weights(header, 2, 9).shape == (512, 512)
    assert len(sent(at, "explorer")[0]) < 40_000
    assert "first 512 tokens are used; 290 were dropped" in messages(at)


@pytest.mark.parametrize(
    ("link", "note"),
    [
        ({"layer": "99"}, "Layer 99 does not exist"),
        ({"head": "12"}, "Head 12 does not exist"),
        ({"layer": "x"}, "layer=x is not a whole number"),
        ({"chosen": "3.5,1.1"}, "chosen=3.5,1.1 is not a list of up to 24 heads"),
        ({"chosen": "3.5_99.1_2.77"}, "Not available, so not shown: 99.1, 2.77"),
        ({"q": "400"}, "The pinned row 400 does not exist: this text has rows 0 to 15"),
        ({"k": "16"}, "The pinned column 16 does not exist"),
        ({"show": "dance"}, "show=dance is not one of both, lines, heatmap"),
        ({"threshold": "nan"}, "threshold=nan is not a number from 0 to 1"),
        ({"strongest": "-1"}, "strongest=-1 is not a whole number"),
        ({"sort": "beauty"}, "sort=beauty is not one of entropy"),
        ({"sort": "first"}, "no measure first on this text"),
        ({"label": "<img src=x onerror=alert(1)>"}, "No head can have the label “<img src=x onerror=alert(1)>” here"),
        ({"more": "money"}, "more=money is not one of table"),
        ({"rollout": "yes"}, "rollout=yes is not one of 0, 1"),
        ({"kind": "cross"}, "This model has no cross attention"),
    ],
)
def test_nonsense_in_a_link_gives_defaults_and_a_note(link: dict[str, str], note: str) -> None:
    at = open_link(**link)
    assert note in messages(at)
    header, _ = explorer(at)
    shown = {**header["view"], "chosen": [one for one in header["view"]["chosen"] if one != [3, 5]]}
    assert shown == view(open_link(text=DEFAULT_TEXT))


HOSTILE = ["<img src=x onerror=alert(1)> &amp; <b>", "مرحبا بالعالم", "👩\u200d👩\u200d👧 e\u0301", "\0\x1b", "a" * 300,
           "x", "[CLS] [SEP]", "."]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("more", ["table", "measures"])
def test_any_text(text: str, more: str) -> None:
    header, _ = explorer(open_link(text=text, more=more))
    every = every_weight(header)
    np.testing.assert_allclose(every.sum(-1) / 65535, 1, atol=header["cols"] * 7.7e-6)
    assert len(header["query_labels"]) == header["rows"] == every.shape[1]


def test_a_model_that_is_not_there_falls_back_with_a_sentence() -> None:
    at = open_link(model="../../etc/passwd")
    assert "neither a folder here nor a name" in messages(at)
    assert explorer(at)[0]["model"] == "minilm"


@pytest.mark.parametrize(("kind", "shape"), [("encoder", (5, 5)), ("decoder", (6, 6)), ("cross", (6, 5))])
def test_an_encoder_decoder(kind: str, shape: tuple[int, int], tmp_path: Path) -> None:
    folder = str(save("bart", tmp_path / "bart"))
    at = open_link(model=folder, text="the cat sat", pair="the dog sat down", kind=kind, rollout="1", sort="next")
    header, _ = explorer(at)
    every = every_weight(header)
    assert header["kind"] == kind
    assert every.shape[1:] == shape
    trace = load(folder).trace("the cat sat", "the dog sat down")
    expected = np.concatenate([trace.attentions(layer, kind).double().numpy() for layer in header["layers"]])  # type: ignore[arg-type]
    np.testing.assert_allclose(every / 65535, expected, rtol=0, atol=7.7e-6)
    assert len(header["files"]["rollout"]) == (0 if kind == "cross" else len(header["layers"]))
    assert ("no rollout of cross-attention" in messages(at)) is (kind == "cross")
    assert ("no measure next" in messages(at)) is (kind != "encoder")


def test_a_text_of_which_the_tokenizer_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None:
        raise NoTokensError

    monkeypatch.setattr("attnviz.ui.caches.trace", nothing)
    at = open_link(text="\u200b")
    assert "The tokenizer drops every character of this text" in messages(at)
    assert not sent(at, "explorer")


def test_the_caution_stands_beside_the_picture_and_the_rest_below() -> None:
    at = open_link()
    assert "A weight says where a head looks, not why" in " ".join(caption.value for caption in at.caption)
    open_parts(at, more="care")
    assert "Jain and Wallace 2019" in " ".join(text.value for text in at.markdown)
    open_parts(at, more="measures")
    shown = " ".join(text.value for text in at.markdown)
    assert r"| to \[SEP\] | $\sum_{j \in S} \alpha_{ij}$ |" in shown
    assert "| 4.000 bits |" in shown  # 16 tokens


def test_the_table_holds_every_head_ranked() -> None:
    at = open_link(more="table", sort="previous", layer="3", head="5")
    (table,) = at.dataframe
    found = table.value
    assert len(found) == 72
    assert found["previous"].is_monotonic_decreasing
    assert (found["layer"][0], found["head"][0], found["labels"][0]) == (0, 2, "previous-token head")
    trace = built_in_model().trace(DEFAULT_TEXT)
    row = found[(found["layer"] == 3) & (found["head"] == 5)].iloc[0]
    weights = trace.attentions(3)[5].double().numpy()
    assert row["cls"] == pytest.approx(weights[:, 0].mean(), rel=1e-5)
    assert row["entropy"] == pytest.approx(-(weights * np.log2(weights)).sum(1).mean(), rel=1e-5)
    assert json.loads(table.proto.selection_default)["selection"]["rows"] == [row.name]


def test_a_row_of_the_table_chooses_its_head_and_a_head_chosen_elsewhere_resets_the_row() -> None:
    at = open_link(more="table", sort="previous", layer="3", head="5")
    key = at.dataframe[0].proto.id
    for rows, head in (([0], ("0", "2")), ([], ("0", "2")), ([99], ("0", "2"))):
        states = at._tree.get_widget_states()
        states.widgets.add(id=at.dataframe[0].proto.id, string_value=json.dumps({"selection": {"rows": rows}}))
        at._run(states)
        assert not at.exception
        assert (at.query_params.get("layer", "0"), at.query_params["head"]) == head
        assert at.dataframe[0].proto.id == key, "the row stays selected"
    send_update(at, "explorer", {"number": 1, "values": {"head": 7}})
    assert at.query_params["head"] == "7"
    assert at.dataframe[0].proto.id != key


def test_the_table_as_csv() -> None:
    trace = built_in_model().trace(DEFAULT_TEXT)
    table = heads_table.heads_table(survey(trace, "encoder", ""), "")
    read = pd.read_csv(StringIO(table_csv(table, index=False).decode("utf-8-sig")), keep_default_na=False)
    assert list(read.columns) == list(table.columns)
    for name in table.columns:
        if name != "labels":
            np.testing.assert_array_equal(read[name].astype(table[name].dtype), table[name])
    assert read["labels"].tolist() == table["labels"].tolist()
    assert table[["layer", "head"]].values.tolist() == [[layer, head] for layer in range(6) for head in range(12)]


def test_the_way_to_step_by_step_and_back_keeps_head_and_settings() -> None:
    at = open_link(text="the cat", layer="3", head="5", chosen="3.5_1.1", threshold="0.2")
    (link,) = page_links(at)
    query = {name: value for name, (value,) in parse_qs(link.query_string).items()}
    assert query == {"text": "the cat", "source": "pretrained", "layer": "3", "head": "5", "step": "weights",
                     "chosen": "3.5_1.1", "threshold": "0.2"}  # fmt: skip
    assert "Layer 3 · head 5" in link.label
    at.switch_page("../../pages/step_by_step.py")
    at.query_params.update(query)
    at.run()
    assert not at.exception
    assert (at.query_params["layer"], at.query_params["head"], at.query_params["step"]) == ("3", "5", "weights")
    at.switch_page("../../pages/heads.py")
    at.query_params.clear()
    at.run()
    at.run()
    assert view(at)["chosen"] == [[3, 5], [1, 1]]
    assert view(at)["threshold"] == 0.2


def test_another_text_keeps_the_head() -> None:
    at = open_link(layer="3", head="5")
    before, _ = explorer(at)
    at.text_area(key="text").set_value("Quite another text").run()
    after, _ = explorer(at)
    assert (after["view"]["layer"], after["view"]["head"]) == (3, 5)
    assert after["trace"] != before["trace"]
    assert not {before["files"]["shared"], *before["files"]["rollout"]} & {*after["files"]["rollout"]}
    assert len(every_weight(after)) == 72
    assert shared(after).keys() == {"key_norms"}


def test_a_model_whose_heads_share_keys_says_which(tmp_path: Path) -> None:
    folder = save("llama", tmp_path)
    said = "4 heads of queries share 2 heads of keys and values, each used by 2 of them (grouped-query "
    said += "attention): heads 0 and 1; 2 and 3."
    at = open_link(text="the cat sat", source="pretrained", model=str(folder))
    cautions = [caption.value for caption in at.caption if "says where a head looks" in caption.value]
    assert [caution.endswith(said) for caution in cautions] == [True]
    assert not any("heads of queries" in caption.value for caption in open_link(text="the cat sat").caption)


MASKED = "The cat [MASK] on the mat."


def test_switched_off_shows_the_answer_without_the_head_and_ranks_all_heads_by_it() -> None:
    at = open_link(text=MASKED, more="off", layer="5", head="9")
    assert not at.exception
    model = built_in_model()
    trace = model.trace(MASKED)
    before, after = (
        model.vocabulary.logits(hidden_without(model, trace.tokens, off)[[3]])[0].softmax(-1) for off in ((), [(5, 9)])
    )
    best = before.topk(5).indices.tolist()
    table = at.table[0].value
    assert list(table.index)[:5] == [model.label(token) for token in best]
    for name, shares in (("all heads", before), ("without", after)):
        assert table[name].tolist()[:5] == [percent(float(shares[token]), 1) for token in best]
    said = " ".join(one.value for one in at.markdown)
    assert f"without **layer 5 · head 9** it has **{percent(float(after[best[0]]), 1)}**" in said
    assert "right for" in " ".join(one.value for one in at.caption)
    ranked = at.dataframe[0].value
    changes = effects(trace).answer
    assert changes is not None
    np.testing.assert_allclose(
        ranked["answer"], 100 * changes[list(ranked["layer"]), list(ranked["head"])], rtol=0, atol=1e-3
    )
    assert ranked["answer"].abs().is_monotonic_decreasing and "entropy" in ranked


def test_switched_off_says_what_it_lacks_and_measures_a_long_text_on_request() -> None:
    assert "Write [MASK] in the text" in open_link(text="The cat sat.", more="off").info[0].value.replace("\\", "")
    assert "choose a head" in open_link(text=MASKED, more="off", rollout="1").info[0].value
    at = open_link(text=f"{'the cat sat ' * 30}[MASK]", more="off")
    assert not at.dataframe
    at.button(key="off_measure").click().run()
    assert len(at.dataframe[0].value) == 72


def test_switched_off_is_for_decoders_too() -> None:
    at = open_link(text="ROMEO", model="chargpt", more="off", layer="0", head="2")
    said = " ".join(one.value for one in at.markdown)
    assert "After “O”, the last token, the model’s first guess is **“\\:”**" in said
    ranked = at.dataframe[0].value
    assert (ranked["layer"][0], ranked["head"][0]) == (0, 2) and ranked["answer"][0] < -50
