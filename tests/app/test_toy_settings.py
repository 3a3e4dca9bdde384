"""How the toy's embeddings and weights are drawn, through `app.py`: the width, standard deviations, uniform numbers."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from attnviz.cli import main
from attnviz.toy.config import ToyConfig
from tests.app.compare import open_settings, picture, same, sdpa, words
from tests.app.pages import SETTINGS_OPEN, messages, open_page
from tests.app.walking import of_head, panels, step_of, walk
from tests.toy import run_block

TEXT = "Life is short eat dessert"
LINK = {
    "text": TEXT, "model_width": "512", "heads": "1", "head_size": "7", "std_q": "0.5", "std_k": "0.1", "std_v": "0.2",
    "embedding": "uniform", "positions": "none",
}  # fmt: skip
"""A cell as it is often given: X of torch.rand(5, 512), and W_q, W_k, W_v of (512, 7) with these deviations"""
STDS = {"W_query": 0.5, "W_key": 0.1, "W_value": 0.2}


def notice(at: AppTest) -> str:
    header, document = walk(at)
    return of_head(step_of(header, document).notice, header, document)


def test_the_cell_of_a_link_is_torchs_at_every_step() -> None:
    at = open_page(step="qkv", **LINK)
    assert not at.warning
    _, document = walk(at)
    found = {name.split("/")[0]: torch.from_numpy(np.array(array)) for name, array in document.arrays.items()}
    x = found["embeddings"]
    assert x.shape == (5, 512)
    assert 0 <= float(x.min()) < float(x.max()) < 1
    for name, std in STDS.items():
        assert found[name].shape == (512, 7)
        assert float(found[name].std()) == pytest.approx(std, rel=0.05)
    query, key, value = (F.linear(x, found[name].T) for name in STDS)
    expected = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
    np.testing.assert_allclose(found["query"], query, rtol=1e-4, atol=1e-4)
    at = open_page(step="scaled", **LINK)
    np.testing.assert_allclose(panels(at)["scaled"], query @ key.T / math.sqrt(7), rtol=1e-4, atol=1e-3)
    at = open_page(step="head_outputs", **LINK)
    np.testing.assert_allclose(panels(at)["head_outputs"], expected, rtol=1e-4, atol=1e-4)


def test_the_fields_change_what_is_drawn_and_are_in_the_link() -> None:
    at = open_page("", SETTINGS_OPEN, step="qkv", text=TEXT)
    before = panels(at)
    at.number_input(key="std_q").set_value(0.5).run()
    np.testing.assert_allclose(panels(at)["W_query"], before["W_query"] * 4 * 0.5, rtol=1e-6)
    np.testing.assert_array_equal(panels(at)["W_key"], before["W_key"])
    at.number_input(key="model_width").set_value(512).run()
    at.selectbox(key="embedding").set_value("uniform").run()
    assert dict(at.query_params) == {
        "text": TEXT, "step": "qkv", "std_q": "0.5", "model_width": "512", "embedding": "uniform",
    }  # fmt: skip
    at.number_input(key="std_q").set_value(None).run()
    at.number_input(key="model_width").set_value(16).run()
    at.selectbox(key="embedding").set_value("normal").run()
    assert dict(at.query_params) == {"text": TEXT, "step": "qkv"}
    for name, array in panels(at).items():
        np.testing.assert_array_equal(array, before[name])


def test_heads_can_share_keys_and_queries_and_keys_can_be_normalised() -> None:
    at = open_page("", SETTINGS_OPEN, step="qkv", text=TEXT, heads="4", head="3")
    before = panels(at)
    assert at.selectbox(key="kv_heads").options == ["1", "2"]
    at.selectbox(key="kv_heads").set_value(2).run()
    np.testing.assert_array_equal(panels(at)["query"], before["query"])
    other = panels(open_page(step="qkv", text=TEXT, heads="4", head="2"))
    np.testing.assert_array_equal(panels(at)["key"], other["key"])
    assert walk(at)[1].header.shared_by == 2
    at.toggle(key="qk_norm").set_value(True).run()
    assert dict(at.query_params)["kv_heads"] == "2"
    assert dict(at.query_params)["qk_norm"] == "1"
    at = open_page(step="normed", text=TEXT, heads="4", head="3", kv_heads="2", qk_norm="1")
    expected = F.rms_norm(torch.from_numpy(np.array(other["key"])), (8,), eps=1e-6)
    np.testing.assert_allclose(panels(at)["normed_key"], expected, rtol=1e-5, atol=1e-5)
    assert "γ by which a model would multiply each dimension is 1 here" in notice(at)


def test_a_number_of_heads_of_keys_that_does_not_fit_is_replaced_with_a_note() -> None:
    at = open_page("", SETTINGS_OPEN, step="qkv", text=TEXT, heads="6", kv_heads="4")
    assert messages(at) == "6 heads can't share 4 heads of keys evenly, so each has its own."
    assert (walk(at)[1].header.shared_by, "kv_heads" in at.query_params) == (1, False)
    assert at.selectbox(key="kv_heads").options == ["1", "2", "3"]
    at.slider(key="heads").set_value(5).run()
    assert (messages(at), at.selectbox(key="kv_heads").options) == ("", ["1"])


@pytest.mark.parametrize(
    ("heads", "keys", "said"),
    [
        ("1", "8", "8 heads of keys are more than 1 head can share, so none are shared."),
        ("2", "4", "4 heads of keys are more than 2 heads can share, so none are shared."),
        ("3", "2", "3 heads can't share 2 heads of keys evenly, so each has its own."),
        ("4", "4", ""),
        ("1", "1", ""),
        ("4", "2", ""),
    ],
)
def test_a_note_says_why_heads_do_not_share_what_a_link_asks_for(heads: str, keys: str, said: str) -> None:
    at = open_page("", step="qkv", text=TEXT, heads=heads, kv_heads=keys)
    assert messages(at) == said
    assert walk(at)[1].header.shared_by == (2 if (heads, keys) == ("4", "2") else 1)


def test_the_list_offers_what_differs_from_as_many_heads_of_keys_as_heads() -> None:
    for heads, offered in (("1", []), ("2", ["1"]), ("4", ["1", "2"]), ("7", ["1"]), ("8", ["1", "2", "4"])):
        at = open_page("", SETTINGS_OPEN, step="qkv", text=TEXT, heads=heads, kv_heads=heads)
        chosen = at.selectbox(key="kv_heads")
        assert (chosen.options, chosen.value, chosen.disabled) == (offered, None, not offered)
        assert "kv_heads" not in at.query_params


def test_heads_of_keys_that_no_longer_fit_are_as_many_as_heads_again() -> None:
    """Also if both numbers come with one message of the browser."""
    at = open_page("", SETTINGS_OPEN, step="qkv", text=TEXT, heads="8")
    at.selectbox(key="kv_heads").set_value(2).run()
    for heads, shared in ((6, 3), (3, 1), (6, 1)):
        at.slider(key="heads").set_value(heads).run()
        assert (walk(at)[1].header.shared_by, messages(at)) == (shared, "")
    at.selectbox(key="kv_heads").set_value(3)
    at.slider(key="heads").set_value(4).run()
    assert not at.exception
    assert (walk(at)[1].header.shared_by, at.selectbox(key="kv_heads").value) == (1, None)
    assert "kv_heads" not in at.query_params
    at = open_page("", SETTINGS_OPEN, step="qkv", text=TEXT, heads="8", kv_heads="4")
    at.selectbox(key="kv_heads").set_value(2)
    at.slider(key="heads").set_value(6).run()
    assert (walk(at)[1].header.shared_by, dict(at.query_params)["kv_heads"]) == (3, "2"), "the new number fits"


@pytest.mark.parametrize("qkv", ["identity", "positions"])
def test_nothing_is_said_of_heads_of_keys_where_none_are_shared(qkv: str) -> None:
    assert messages(open_page("", step="qkv", text=TEXT, qkv=qkv, heads="2", kv_heads="4")) == ""


@pytest.mark.parametrize("qkv", ["identity", "positions"])
def test_only_linear_weights_have_fields_for_their_standard_deviations(qkv: str) -> None:
    at = open_page("", SETTINGS_OPEN, step="qkv", **LINK)
    assert {one.key for one in at.number_input} >= {"std_q", "std_k", "std_v"}
    at = open_page("", SETTINGS_OPEN, step="weights", **{**LINK, "qkv": qkv})
    assert not {one.key for one in at.number_input} & {"std_q", "std_k", "std_v"}
    assert at.query_params["std_q"] == "0.5", "it counts again with other projections"
    assert panels(at)["weights"].shape == (5, 5)


@pytest.mark.parametrize("raw", ["nan", "inf", "-inf", "1e999", "-0.1", "10.01", "<b>", "", "1,5", "٣"])
def test_standard_deviations_that_can_not_be_have_notes_and_the_usual_numbers(raw: str) -> None:
    keys = ("std_q", "std_k", "std_v")
    at = open_page(step="weights", **dict.fromkeys(keys, raw))
    notes = " ".join(one.value.replace("\\", "") for one in at.warning)
    for key in keys:
        assert f"{key}={raw} is not a number from 0 to 10, so nothing is used" in notes
    expected = sdpa(run_block(words(), ToyConfig()).layer(0), 0)
    np.testing.assert_allclose(panels(at)["weights"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"model_width": "513"}, "model_width=513 is not a whole number from 8 to 512, so 16 is used"),
        ({"model_width": "1e999"}, "is not a whole number from 8 to 512"),
        ({"embedding": "rand"}, "embedding=rand is not one of normal, uniform, so normal is used"),
        ({"embedding": "<script>"}, "is not one of normal, uniform"),
    ],
)
def test_other_nonsense_is_named(query: dict[str, str], sentence: str) -> None:
    at = open_page(step="weights", **query)
    assert sentence in messages(at)
    assert panels(at)["weights"].shape == (11, 11)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 11.0, 1e300])
def test_what_a_client_sends_and_no_link_could_hold_changes_nothing(value: float) -> None:
    at = open_page("", SETTINGS_OPEN, step="weights")
    before = panels(at)["weights"]
    at.number_input(key="std_q").set_value(value).run()
    assert not at.exception
    np.testing.assert_array_equal(panels(at)["weights"], before)
    assert "std_q" not in at.query_params


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"positions": "none"}, "No position is added to it."),
        ({"positions": "none", "embedding": "uniform"}, "No position is added to it."),
        ({"positions": "random"}, "Position must be added"),
        ({"source": "pretrained"}, "a row of numbers for each token, position included."),
    ],
)
def test_what_is_said_of_positions_is_true(link: dict[str, str], said: str) -> None:
    at = open_page(step="embeddings", **link)
    assert said in notice(at)
    assert ("included" in notice(at)) == (link.get("source") == "pretrained")


@pytest.mark.parametrize("positions", ["none", "sinusoidal"])
def test_on_transformer_too(positions: str) -> None:
    at = open_page("transformer", part="embeddings", positions=positions)
    assert ("No position is added to it." in notice(at)) == (positions == "none")
    assert "included" not in notice(at)


def test_compare_has_the_same_settings() -> None:
    config: dict[str, Any] = {
        "width": 512, "heads": 1, "head_size": 7, "std_q": 0.5, "std_k": 0.1, "std_v": 0.2, "embedding": "uniform",
        "positions": "none",
    }  # fmt: skip
    at = open_settings(source="toy", **LINK, b_mask="causal")
    assert not at.warning
    _, arrays = picture(at)
    same(arrays["a"], sdpa(run_block(words(TEXT), ToyConfig(**config)).layer(0), 0))
    same(np.nan_to_num(arrays["b"]), sdpa(run_block(words(TEXT), ToyConfig(**config)).layer(0), 0, causal=True))
    at.number_input(key="std_q").set_value(2.0).run()
    same(picture(at)[1]["a"], sdpa(run_block(words(TEXT), ToyConfig(**{**config, "std_q": 2.0})).layer(0), 0))


@pytest.mark.parametrize("positions", ["rotary", "alibi", "buckets"])
def test_the_averages_leave_out_positions_that_are_no_part_of_x_and_say_so(positions: str) -> None:
    at, none = (open_page("averages", way="data", text=TEXT, positions=kind) for kind in (positions, "none"))
    assert "is no part of X, whose rows are averaged here. So it is left out." in messages(at)
    assert at.query_params["positions"] == ["none"] or at.query_params["positions"] == "none"
    for name, array in panels(none).items():
        np.testing.assert_array_equal(panels(at)[name], array)
    assert messages(none) == ""
    assert any("without position bias, soft cap, sink or window" in one.value for one in none.caption)


def test_the_averages_have_none_of_them() -> None:
    others = {key: value for key, value in LINK.items() if key not in ("text", "positions")}
    usual, same_ = (panels(open_page("averages", way="data", **link)) for link in ({}, others))
    np.testing.assert_array_equal(usual["by_data"], same_["by_data"])


@pytest.mark.parametrize("kind", ["py", "ipynb", "npz", "csv"])
def test_the_cell_is_exported(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = "http://localhost:8501/?source=toy&" + "&".join(f"{key}={value}" for key, value in LINK.items())
    address = link.replace(" ", "+")
    assert main(["export", "--link", address, "--format", kind, "--out", str(tmp_path), "--quiet"]) == 0
    (file,) = tmp_path.iterdir()
    expected = run_block(
        words(TEXT),
        ToyConfig(
            width=512, heads=1, head_size=7, std_q=0.5, std_k=0.1, std_v=0.2, embedding="uniform", positions="none"
        ),
    ).layer(0)
    if kind == "py":
        found = runpy.run_path(str(file))
        assert "matrices are those that the page showed" in capsys.readouterr().out
        np.testing.assert_allclose(found["weights"], expected.attentions(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["x"], expected.query_input, rtol=0, atol=0)
    elif kind == "npz":
        with np.load(file) as arrays:
            np.testing.assert_array_equal(arrays["W_query"], (expected.projections or {})["query"].weight)
    assert file.stat().st_size < 500_000


def test_what_is_typed_last_counts_where_the_settings_are_closed_with_it() -> None:
    """A click beside the settings sends both at once: the fields are not created in the run that follows."""
    at = open_page("", SETTINGS_OPEN, step="qkv", source="toy", text=TEXT)
    at.number_input(key="model_width").set_value(40)
    at.session_state["more_settings"] = False
    at.run()
    assert at.query_params["model_width"] in ("40", ["40"])
