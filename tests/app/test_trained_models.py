"""The pages with models that were trained here: their numbers, their cards, and texts that do not fit."""

from __future__ import annotations

import json
from itertools import cycle

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional

from attnviz import trained
from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import OPENING
from attnviz.trained import shipped
from attnviz.trained.model import heads
from attnviz.training.tasks import TASKS
from tests.app.compare import picture
from tests.app.pages import SETTINGS_OPEN, open_page
from tests.app.walking import panels

TEXT = "qweasdqweasd"


def weights(layer: int, head: int) -> np.ndarray:
    """Compute one head's weights from the file's own matrices, with torch's own attention."""
    from safetensors.torch import load_file

    own = {name: one.float() for name, one in load_file(shipped.FOLDER / "induction.safetensors").items()}
    ids = torch.tensor([TASKS["induction"].labels.index(one) for one in TEXT])
    x = own["token.weight"][ids] + own["position.weight"][: len(ids)]
    for number in range(layer + 1):

        def project(name: str, given: torch.Tensor = x, at: str = f"blocks.layers.{number}.attention") -> torch.Tensor:
            mapped = functional.linear(given, own[f"{at}.{name}.weight"], own[f"{at}.{name}.bias"])
            return mapped.unflatten(-1, (2, -1)).transpose(0, 1)

        q, k, v = (project(name) for name in ("query", "key", "value"))
        if number == layer:
            every = functional.scaled_dot_product_attention(q, k, torch.eye(len(ids)).expand(2, -1, -1), is_causal=True)
            found: np.ndarray = every[head].numpy()
            return found
        joined = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(0, 1).flatten(1)
        at = f"blocks.layers.{number}.attention.output"
        x = x + functional.linear(joined, own[f"{at}.weight"], own[f"{at}.bias"])
    raise AssertionError


def test_step_by_step_shows_the_head_with_torch_s_numbers() -> None:
    at = open_page(source="trained", model="induction", text=TEXT, layer="1", head="0", step="weights")
    assert not at.exception
    assert not at.warning
    np.testing.assert_allclose(np.nan_to_num(panels(at)["weights"]), weights(1, 0), rtol=0, atol=1e-5)


def test_compare_shows_two_of_its_heads() -> None:
    at = open_page(
        "compare", SETTINGS_OPEN, source="trained", model="induction", text=TEXT, layer="1", head="0", b_layer="0"
    )
    assert not at.exception
    _, arrays = picture(at)
    for name, layer in (("a", 1), ("b", 0)):
        np.testing.assert_allclose(np.nan_to_num(arrays[name]), weights(layer, 0), rtol=0, atol=1e-5)
    assert "induction" in at.selectbox(key="compare_source_B").options


@pytest.mark.parametrize("page", ["", "heads", "transformer", "compare"])
def test_a_text_that_the_vocabulary_lacks_is_marked_and_the_rest_goes_on(page: str) -> None:
    """The long text in three models, each other text in one.

    `test_any_text_is_read_and_answered` in tests/unit/training/test_tasks_learning.py reads texts in every task.
    """
    names = ("induction", "numbers", "tagging")
    texts = ("Zoë said 你好 👋🏽 שלום", "<script>alert(1)</script>", "\x00 **b**", "12")
    for text, name in [*zip(texts, cycle(names), strict=False), *(("many words " * 300, name) for name in names)]:
        at = open_page(page, source="trained", model=name, text=text)
        assert not at.exception, (text, name)
        assert not at.error, (text, name)


def test_a_model_that_does_not_exist_is_named_and_another_is_shown() -> None:
    for name, reason in (("nonsense", "There is no trained model “nonsense”"), ("trained-0123456789ab", "no longer")):
        at = open_page(source="trained", model=name, text=TEXT)
        assert not at.exception
        assert any(reason in error.value and "Showing induction" in error.value for error in at.error)
    at = open_page(source="trained", text=TEXT)
    assert not at.error
    assert at.query_params["model"] == "induction"


def test_a_change_of_source_changes_the_model_with_it() -> None:
    at = open_page(source="trained", model="reverse", text="stressed", step="weights")
    at.segmented_control(key="source").set_value("pretrained").run()
    assert not at.exception
    assert not at.error
    assert at.selectbox(key="model").value == "minilm"
    at.segmented_control(key="source").set_value("trained").run()
    assert at.selectbox(key="model").value == "induction"
    assert not at.error


def test_the_card_names_the_heads_and_opens_them_and_offers_texts() -> None:
    at = open_page(source="trained", model="induction", text="nothing to see")
    assert any("100" in one.value and "Induction" in one.value for one in at.caption)
    says, _, layer, head = heads(trained.load("induction"))[1]
    assert "looks at what came after the same letter" in says
    at.button(key="trained_head_1").click().run()
    assert (at.query_params["layer"], at.query_params.get("head", "0"), at.query_params["step"]) == (
        str(layer),
        str(head),
        "weights",
    )
    at.button(key="trained_text_0").click().run()
    assert at.query_params["text"] == TASKS["induction"].examples[0]
    assert not at.warning
    at = open_page("transformer", source="trained", model="induction", text=TEXT)
    at.button(key="trained_head_1").click().run()
    assert at.query_params["block"] == "1"


def test_a_model_of_ones_own_is_opened_by_its_name() -> None:
    model = shipped.keep((shipped.FOLDER / "reverse.safetensors").read_bytes())
    at = open_page(source="trained", model=model.name, text="stressed", step="weights")
    assert not at.exception
    assert not at.error
    assert at.query_params["model"] == model.name
    at = open_page("heads", model=model.name, text="stressed")
    assert not at.exception
    assert not at.error


def test_what_the_decoder_reads_can_be_given() -> None:
    at = open_page(source="trained", model="numbers", text="342", kind="cross", step="weights")
    assert panels(at)["weights"].shape[0] == 5
    assert any(field.label == "What the decoder reads" for field in at.text_input)
    at = open_page(source="trained", model="numbers", text="342", kind="cross", step="weights", pair="three hundred")
    assert panels(at)["weights"].shape[0] == 3
    assert not at.exception


def opens_on(name: str) -> dict[str, str]:
    """Return what the model's card and task say: its first example, and the head of the task's last pattern."""
    plan = json.loads((shipped.FOLDER / f"{name}.json").read_text())
    task = TASKS.get(name)
    if task is None:
        return {
            "text": "To be, or not to be: ",
            "kind": "decoder",
            "layer": "0",
            "head": "2",
        }
    head = plan["heads"][task.patterns[-1].name]
    return {"text": task.examples[0], **{key: str(head[key]) for key in ("kind", "layer", "head")}}


def shown(at: AppTest) -> dict[str, str]:
    defaults = {"kind": "encoder", "layer": "0", "head": "0", "block": "0", "text": DEFAULT_TEXT}
    return {name: at.query_params.get(name, default) for name, default in defaults.items()}


@pytest.mark.parametrize("name", trained.names())
@pytest.mark.parametrize("page", ["", "heads", "transformer", "compare"])
def test_a_link_that_only_names_a_model_opens_its_own_example_and_the_head_of_its_card(page: str, name: str) -> None:
    at = open_page(page, source="trained", model=name)
    assert not at.error
    assert [one.value for one in at.warning] == []
    wanted = opens_on(name)
    if page == "transformer":
        architecture = json.loads((shipped.FOLDER / f"{name}.json").read_text())["plan"]["model"]
        number = int(wanted["layer"])
        if architecture["architecture"] == "both":  # encoder, then decoder and cross of each of its blocks
            number = architecture["layers"] + 2 * number + (wanted["kind"] == "cross")
        wanted = {"text": wanted["text"], "head": wanted["head"], "block": str(number)}
    found = shown(at)
    assert {key: found[key] for key in wanted} == wanted


def test_a_link_that_gives_a_text_a_layer_or_a_head_keeps_them() -> None:
    for given in ({"text": "zzz"}, {"layer": "1"}, {"head": "1"}, {"text": DEFAULT_TEXT}):
        at = open_page(source="trained", model="induction", **given)
        kept = {"text": DEFAULT_TEXT, "layer": "0", "head": "0", **given}
        found = shown(at)
        assert {name: found[name] for name in kept} == kept
        again = open_page(**at.query_params)  # what the address has now opens the same
        assert shown(again) == found


@pytest.mark.parametrize("page", ["", "transformer", "heads"])
def test_a_model_from_the_menu_opens_its_example_and_gives_the_text_before_back(page: str) -> None:
    start = {} if page == "heads" else {"source": "pretrained"}
    before = {"text": MINIMAL_PAIRS[1].a, "head": "3"}
    at = open_page(page, **start, **before)
    for name in ("induction", "reverse"):
        if page != "heads" and name == "induction":
            at.segmented_control(key="source").set_value("trained").run()
        else:
            at.selectbox(key="model").set_value(name).run()
        assert not at.exception
        wanted = opens_on(name)
        found = shown(at)
        assert (found["text"], found["head"]) == (wanted["text"], wanted["head"])
        assert at.text_area(key="text").value == wanted["text"]
        assert [one.value for one in at.warning] == []
    if page == "heads":
        at.selectbox(key="model").set_value("minilm").run()
    else:
        at.segmented_control(key="source").set_value("pretrained").run()
    found = shown(at)
    assert {name: found[name] for name in before} == before


def test_a_text_that_the_user_typed_stays_and_only_the_head_changes() -> None:
    at = open_page(source="pretrained", text="my own words")
    at.segmented_control(key="source").set_value("trained").run()
    found, head = shown(at), {**opens_on("induction"), "text": "my own words"}
    assert {name: found[name] for name in head} == head


def test_an_example_of_a_model_that_a_link_opened_does_not_stay_with_another_source() -> None:
    at = open_page(source="trained", model="reverse")
    at.segmented_control(key="source").set_value("pretrained").run()
    assert at.text_area(key="text").value == OPENING["text"]


def test_a_trained_model_in_a_pane_of_compare_reads_its_own_example() -> None:
    at = open_page("compare", SETTINGS_OPEN)
    at.selectbox(key="compare_source_B").set_value("reverse").run()
    wanted = opens_on("reverse")
    assert at.query_params["b_text"] == wanted["text"]
    assert [one.value for one in at.warning] == []
    at.selectbox(key="compare_source_B").set_value(None).run()
    assert at.query_params["b_text"] == MINIMAL_PAIRS[0].b
    at.selectbox(key="compare_source_A").set_value("induction").run()
    assert [one.value for one in at.warning] == []
    assert (at.query_params["text"], at.query_params["b_text"]) == TASKS["induction"].examples[:2]
    assert (at.query_params["layer"], at.query_params.get("head", "0")) == ("1", "0")
    at.button_group(key="compare_preset").set_value("head").run()
    at.button_group(key="compare_preset").set_value("text").run()
    assert [one.value for one in at.warning] == []
    assert (at.query_params["text"], at.query_params["b_text"]) == TASKS["induction"].examples[:2]
