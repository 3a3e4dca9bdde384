"""The two panes of Compare: what each has of its own, presets, links, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from streamlit.testing.v1 import AppTest

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.formatting import number
from attnviz.settings import Settings
from attnviz.sources import models
from attnviz.toy.config import ToyConfig
from attnviz.ui.compare.panes import PRESETS
from tests.app.compare import link, notice, open_link, open_settings, picture, press, same, sdpa, words
from tests.app.pages import captions, html, messages
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.families import save

TEXT = "She put the cup on the table because it was empty."


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "model"])
@pytest.mark.parametrize("query", [{}, {"source": "pretrained", "head": "2"}, {"text": "No pair.", "scale": "off"}])
def test_every_preset_differs_in_what_it_says_and_its_link_reproduces(preset: str, query: dict[str, str]) -> None:
    at = press(open_link(**query), preset)
    assert not at.warning
    assert not at.error
    assert at.session_state["compare_preset"] == preset
    header, arrays = picture(at)
    again, others = picture(open_link(**link(at)))
    assert again["trace"] == header["trace"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(others[name], array)
    assert np.nanmax(np.abs(arrays["difference"])) > 0


@pytest.mark.asks_outside
def test_a_second_model_that_is_not_on_this_machine_is_named() -> None:
    at = open_settings(source="pretrained", b_model="bert-base-uncased")
    assert "bert-base-uncased is not on this machine" in messages(at)
    assert "both panes would show MiniLM (a small BERT), and there is nothing to compare" in messages(at)
    assert "mean |A" not in html(at)  # no figures of a model beside itself
    at.selectbox(key="b_head").set_value(3).run()
    assert np.abs(picture(at)[1]["difference"]).max() > 0  # what differs otherwise is compared
    at.selectbox(key="b_head").set_value(None).run()
    assert link(at) == {"source": "pretrained", "b_model": "bert-base-uncased"}


def test_b_follows_a_where_it_has_nothing_of_its_own() -> None:
    at = press(open_settings(seed="0"), "head")
    at.number_input(key="seed").set_value(7).run()
    at.selectbox(key="mask").set_value("causal").run()
    layer = run_block(words(), ToyConfig(seed=7, causal=True)).layer(0)
    _, arrays = picture(at)
    same(np.nan_to_num(arrays["b"]), sdpa(layer, 1, causal=True))
    assert link(at) == {"seed": "7", "mask": "causal", "b_head": "1"}


def test_b_takes_as_value_again() -> None:
    at = press(open_settings(head="1"), "head")
    assert link(at) == {"head": "1", "b_head": "0"}
    at.selectbox(key="b_head").set_value(None).run()
    assert link(at) == {"head": "1", "compare": "same"}
    assert at.session_state["compare_preset"] is None
    _, arrays = picture(at)
    assert not arrays["difference"].any()
    assert "equal in every cell" in notice(at)
    _, again = picture(open_settings(**link(at)))
    assert not again["difference"].any()


def test_emptying_bs_text_is_not_undone() -> None:
    at = open_settings(seed="0")
    at.text_area(key="b_text").set_value("  ").run()
    at.run()
    assert link(at) == {"compare": "same"}


def test_the_model_of_a_pane_is_chosen_with_its_source() -> None:
    at = open_settings(seed="0")
    at.selectbox(key="compare_source_B").set_value("minilm").run()
    assert link(at)["b_source"] == "pretrained"
    assert link(at)["b_model"] == "minilm"
    at.selectbox(key="compare_source_B").set_value(None).run()
    assert "b_source" not in link(at)
    at.selectbox(key="compare_source_A").set_value("minilm").run()
    assert link(at)["source"] == "pretrained"


def test_a_pair_of_sentences_goes_to_both_panes() -> None:
    at = open_settings(seed="0")
    at.button_group(key="compare_pair").set_value(3).run()
    assert (link(at)["text"], link(at)["b_text"]) == (MINIMAL_PAIRS[3].a, MINIMAL_PAIRS[3].b)
    assert at.text_area(key="text").value == MINIMAL_PAIRS[3].a
    assert at.session_state["compare_pair"] == 3
    assert "The film was <b>– / not</b> good." in notice(at)


def test_a_preset_leaves_nothing_behind() -> None:
    at = open_settings(source="pretrained", layer="3", head="1", seed="5")
    for preset in ("source", "text", "head", "layer", "source", "scale"):
        press(at, preset)
    assert link(at) == {"source": "pretrained", "layer": "3", "head": "1", "seed": "5", "b_scale": "off"}
    toy = press(press(open_settings(text="No pair.", seed="5"), "source"), "text")
    assert link(toy) == {"seed": "5", "b_text": MINIMAL_PAIRS[0].b}
    press(toy, "layer")
    assert link(toy)["source"] == "pretrained"
    toy.selectbox(key="layer").set_value(2).run()
    press(toy, "head")
    assert link(toy) == {"text": "No pair.", "layer": "2", "seed": "5", "b_head": "1"}


def test_what_is_chosen_after_a_preset_stays() -> None:
    at = press(open_settings(seed="5"), "source")
    at.selectbox(key="compare_source_A").set_value("minilm").run()
    press(at, "head")
    assert link(at) == {"source": "pretrained", "seed": "5", "b_head": "2"}


def presets(at: AppTest) -> list[str]:
    return [option.content for option in at.button_group(key="compare_preset").proto.options]


def test_two_models_are_offered_where_a_second_one_is_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(save("bert", tmp_path / "bert"))
    monkeypatch.setattr(models, "settings", lambda: Settings(models=("minilm", "nobody/has-this")))
    assert PRESETS["model"] not in presets(open_link(seed="5"))
    monkeypatch.setattr(models, "settings", lambda: Settings(models=("minilm", "nobody/has-this", folder)))
    at = open_link(seed="5")
    assert PRESETS["model"] in presets(at)
    assert link(press(at, "model")) == {"source": "pretrained", "seed": "5", "b_model": folder}


def test_settings_survive_a_change_of_page() -> None:
    at = press(open_link(seed="5"), "head")
    _, before = picture(at)
    at.switch_page("../../pages/tokens.py").run()
    at.run()
    at.switch_page("../../pages/compare.py").run()
    at.run()
    assert not at.exception
    _, after = picture(at)
    np.testing.assert_array_equal(after["difference"], before["difference"])
    assert link(at) == {"seed": "5", "b_head": "1"}


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ({"b_layer": "x"}, "b_layer=x is not a whole number from 0 to 100000, so A's is used"),
        (
            {"quantity": "dance"},
            "quantity=dance is not one of scores, scaled, capped, biased, masked, weights, so weights is used",
        ),
        ({"compare": "other"}, "compare=other is not one of same, so nothing is used"),
        ({"b_head": "99"}, "Head 99 of B does not exist: the choices go from 0 to 1"),
        ({"head": "99"}, "Head 99 of A does not exist: the choices go from 0 to 1"),
        ({"b_source": "pretrained", "b_layer": "6"}, "Layer 6 of B does not exist: the choices go from 0 to 5"),
        ({"source": "pretrained", "b_kind": "cross"}, "The model of B has no cross attention"),
        ({"q": "400", "k": "1"}, "pinned row 400 does not exist: there are rows 0 to 10"),
        ({"b_source": "pretrained", "b_model": "../../etc/passwd"}, "neither a folder here nor a name"),
        ({"b_scale": "nan"}, "b_scale=nan is neither"),
    ],
)
def test_nonsense_in_a_link_gives_defaults_and_a_note(query: dict[str, str], note: str) -> None:
    at = open_link(**query)
    assert note in messages(at)
    assert picture(at)[1]["a"].size


def test_bs_last_head_stands_in_where_it_has_not_as_many() -> None:
    at = open_settings(text="the cat sat", source="pretrained", head="9", b_source="toy")
    assert not at.warning
    header, arrays = picture(at)
    assert header["own"]["b"]["query"] == [None, "the", "cat", "sat", None]
    same(arrays["b"][1:4, 1:4], sdpa(run_block(words("the cat sat"), ToyConfig()).layer(0), 1))
    assert at.selectbox(key="b_head").placeholder == "head 1, the last"


HOSTILE = [
    "<script>alert(1)</script> ![x](http://x) **b** $x$",
    "مرحبا بالعالم",
    "👩‍👩‍👧‍👦 é",
    "\0\x1b",
    "a" * 300,
    "x",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("source", ["toy", "pretrained"])
def test_any_text_beside_any_other(text: str, source: str) -> None:
    at = open_link(text=text, b_text="one two three", source=source)
    header, arrays = picture(at)
    rows, columns = arrays["difference"].shape
    assert len(header["labels"]["query"]) == rows == columns == len(header["labels"]["key"])
    assert "<script>" not in notice(at).replace("<style>", "")


def test_a_pane_follows_the_number_of_heads_at_once() -> None:
    at = open_link(head="1", b_mask="causal")
    at.slider(key="heads").set_value(1).run()
    assert not at.exception
    _, arrays = picture(at)
    same(arrays["a"], sdpa(run_block(words(), ToyConfig(heads=1)).layer(0), 0))


def of_scipy(weights: np.ndarray, of: int) -> np.ndarray:
    """Return the mean Jensen-Shannon divergence in bits of each matrix from one, (N,): scipy gives its square root."""
    with np.errstate(invalid="ignore"):  # of a matrix beside itself, where rounding leaves less than 0
        roots = [jensenshannon(one, weights[of], base=2, axis=1) for one in weights.astype(float)]
    return np.array([np.nan_to_num(one**2).mean() for one in roots])


@pytest.mark.parametrize("query", [{"layer": "3", "head": "5"}, {"layer": "2", "head": "4", "scale": "off"}])
@pytest.mark.parametrize("which", ["head", "layer"])
def test_two_heads_and_two_layers_take_the_most_different_one_by_scipy(which: str, query: dict[str, str]) -> None:
    at = press(open_settings(source="pretrained", text=TEXT, b_mask="causal", **query), which)
    trace, layer, head = built_in_model().trace(TEXT), int(query["layer"]), int(query["head"])
    scale = 1.0 if "scale" in query else None
    if which == "head":
        every, of = np.stack([sdpa(trace.layer(layer), one, scale=scale) for one in range(12)]), head
    else:
        every, of = np.stack([sdpa(trace.layer(one), head, scale=scale) for one in range(6)]), layer
    bits = of_scipy(every, of)
    most = int(bits.argmax())
    assert link(at)[f"b_{which}"] == str(most)
    said = f"{which} {most} differs most from {which} {of} on A’s text: {number(float(bits[most]), 2)} bits"
    assert said in captions(at)
    other = next(one for one in range(len(bits)) if one not in (of, most))
    at.selectbox(key=f"b_{which}").set_value(other).run()
    assert said in captions(at)
    assert f"{which.capitalize()} {other}: {number(float(bits[other]), 2)}." in captions(at)


def test_two_heads_pressed_again_takes_the_most_different_one() -> None:
    at = open_link(source="pretrained", text=TEXT, layer="3", head="5")
    assert (link(at)["b_head"], at.session_state["compare_preset"]) == ("0", "head")
    most = link(press(open_link(source="pretrained", text=TEXT, layer="3", head="5", b_mask="causal"), "head"))
    at.button_group(key="compare_preset").set_value(None).run()
    assert link(at) == most


def test_a_link_that_names_b_s_head_keeps_it_and_says_which_differs_most() -> None:
    at = open_link(source="pretrained", text=TEXT, layer="3", head="5", b_head="0")
    assert link(at)["b_head"] == "0"
    assert "differs most from head 5" in captions(at)


def test_a_button_whose_label_changes_is_the_same_button_open_or_closed() -> None:
    at = open_link({"pane_A": True, "pane_B": False}, source="pretrained")

    def button() -> Any:
        (shown,) = [block.proto.popover for block in at.get("popover") if block.proto.popover.id.endswith("-pane_A")]
        return shown

    before = button()
    at.selectbox(key="head").set_value(7).run()
    assert "head 7" in button().label != before.label
    assert (button().id, button().open) == (before.id, True)
    # It is closed before the browser has the new label.
    at.selectbox(key="head").set_value(8)
    states = at._tree.get_widget_states()
    states.widgets.add(id=before.id, bool_value=False)
    at._run(states)
    assert "head 8" in button().label
    assert not button().open
    assert "head" not in [box.key for box in at.selectbox]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"quantity": "biased"}, "Scaled"),
        ({"quantity": "capped"}, "Scaled"),
        ({"quantity": "biased", "cap": "2"}, "Capped"),
        ({"quantity": "biased", "positions": "alibi"}, ""),
    ],
)
def test_a_quantity_that_neither_side_has_is_replaced_with_a_note(query: dict[str, str], shown: str) -> None:
    at = open_link(source="toy", b_head="1", **query)
    missing = query["quantity"].capitalize()
    expected = f"Neither A nor B has the step “{missing}”: the nearest before it, “{shown}”, is shown."
    assert messages(at) == (expected if shown else "")
    assert at.query_params["quantity"] == (shown.lower() or "biased")
