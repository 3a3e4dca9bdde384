"""From averages to attention in Chromium: its numbers are torch's, and each can be followed, pinned and played."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from torch.nn import functional as F

from attnviz.document import document_of_layer, write
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig
from tests.browser.apps.inspector_page import InspectorPage
from tests.browser.board import matrix
from tests.browser.modules import Run
from tests.browser.settle import settled, settled_once_at
from tests.browser.test_motion import STILLS
from tests.toy import run_block

TEXT = "The cat sat on the mat and slept"
N = 8
WAYS = ("loop", "matrix", "softmax", "data")
Q, K, FEATURE = 4, 2, 5


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    """The embeddings, (8, 16)."""
    found = run_block(WordTokenizer().tokenize(TEXT).ids, ToyConfig()).layer(0).query_input
    assert found is not None
    return found


@pytest.fixture(scope="module")
def attended(x: torch.Tensor) -> torch.Tensor:
    """Torch's own causal attention, whose values are the embeddings."""
    toy = run_block(WordTokenizer().tokenize(TEXT).ids, ToyConfig()).layer(0)
    return F.scaled_dot_product_attention(toy.query[:1], toy.key[:1], x[None], is_causal=True)[0]


@pytest.fixture(scope="module")
def means(x: torch.Tensor) -> torch.Tensor:
    return x.double().cumsum(0) / torch.arange(1, N + 1)[:, None]


pytestmark = pytest.mark.page("one_page")


@pytest.fixture
def opened(page: Page, app_url: str) -> Callable[..., InspectorPage]:
    return lambda **link: InspectorPage.open(page, app_url, "/averages", text=TEXT, **link)


Opened = Callable[..., InspectorPage]


def test_the_numbers_of_each_way_are_torchs(
    opened: Opened, page: Page, x: torch.Tensor, means: torch.Tensor, attended: torch.Tensor
) -> None:
    opened()
    for way in WAYS:
        expected = attended if way == "data" else means
        np.testing.assert_allclose(matrix(page, f"by_{way}"), expected, rtol=0, atol=1e-5 if way == "data" else 1e-6)
        np.testing.assert_array_equal(matrix(page, "embeddings_k"), x)
        page.keyboard.press("ArrowRight")
    hidden = torch.ones(N, N).triu(1).bool()
    shares = torch.softmax(torch.zeros(N, N).masked_fill(hidden, -torch.inf), -1)
    page.keyboard.press("PageUp")
    page.wait_for_url(re.compile("way=softmax"))
    np.testing.assert_allclose(matrix(page, "softmax_weights"), shares.masked_fill(hidden, np.nan), atol=1e-7)
    np.testing.assert_array_equal(matrix(page, "masked_zeros"), torch.zeros(N, N).masked_fill(hidden, np.nan))
    page.keyboard.press("PageUp")
    page.wait_for_url(re.compile("way=matrix"))
    np.testing.assert_allclose(matrix(page, "triangle"), shares, atol=1e-7)


def test_a_step_asks_the_server_nothing_and_the_address_follows(opened: Opened, page: Page) -> None:
    opened(seed=1)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_role("radio", name="A softmax").click()
    expect(
        page.get_by_role("region", name="Steps, layer and heads").get_by_role("radio", name="A softmax")
    ).to_be_checked()
    page.wait_for_url(re.compile("way=softmax"))
    page.get_by_role("radio", name="Scores from the data").click()
    page.wait_for_url(re.compile("way=data"))
    # The script that writes rows in words comes when the browser is idle: before this, or now.
    assert [url for url in sent if not url.endswith("/rows.js")] == []
    page.go_back()
    settled_once_at(page, re.compile("way=softmax"))
    assert matrix(page, "softmax_weights").shape == (N, N)
    page.go_back()
    settled_once_at(page, lambda url: "way" not in url)
    assert matrix(page, "by_loop").shape == (N, 16)


def test_the_loop_is_a_running_sum_and_a_division(opened: Opened, x: torch.Tensor, means: torch.Tensor) -> None:
    inspector = opened()
    inspector.hover("by_loop", Q, FEATURE)
    assert inspector.result("mean") == pytest.approx(float(means[Q, FEATURE]), abs=1e-6)
    expect(inspector.line("mean")).to_contain_text(f"/ {Q + 1}")
    inspector.click("by_loop", Q, FEATURE)
    inspector.leave()  # what was clicked stays when the pointer leaves it
    inspector.line("mean").get_by_text(f"all {Q + 1} running sums").click()
    sums = inspector.panel.locator("[data-running]")
    expect(sums).to_have_count(Q + 1)
    running = sums.evaluate_all("all => all.map((one) => +one.dataset.running)")
    assert running == pytest.approx(x.double().cumsum(0)[: Q + 1, FEATURE].tolist(), abs=1e-9)
    lit = inspector.page.locator(
        "[data-attnviz-overlay] [data-panel=embeddings_k][data-shape=column][data-state=hovered]"
    )
    whole = inspector.page.locator("[data-attnviz-overlay] [data-panel=by_loop][data-shape=column][data-state=hovered]")
    high, all_rows = (float(one.get_attribute("height") or 0) for one in (lit, whole))
    rows = inspector.page.evaluate("() => deepFind('.attnviz-board').attnviz.panels().map(({ y }) => y._length)")
    assert high / rows[0] == pytest.approx((Q + 1) / N, abs=0.02)  # the rows that it adds up
    assert all_rows == pytest.approx(rows[1], abs=1)


def test_a_product_is_a_row_of_weights_with_a_column_of_x(
    opened: Opened, page: Page, means: torch.Tensor, attended: torch.Tensor
) -> None:
    inspector = opened(way="matrix")
    for way, left in (("matrix", "triangle"), ("softmax", "softmax_weights"), ("data", "weights")):
        matrix(page, f"by_{way}")
        inspector.hover(f"by_{way}", Q, FEATURE)
        expected = (attended if way == "data" else means)[Q, FEATURE]
        assert inspector.result("product") == pytest.approx(float(expected), abs=1e-5)
        expect(inspector.panel.get_by_role("heading")).to_contain_text(f"Y[{Q}, feature {FEATURE}]")
        apart = inspector.line("meaning").locator("[data-result]").get_attribute("data-value")
        assert float(apart or "nan") == pytest.approx(abs(float(expected - means[Q, FEATURE])), abs=1e-6)
        assert {(left, "row"), ("embeddings_k", "column"), (f"by_{way}", "cell")} <= inspector.marks()
        inspector.leave()
        page.keyboard.press("ArrowRight")
        settled(page)


def test_shares_are_explained_in_each_way(opened: Opened, page: Page) -> None:
    inspector = opened(way="matrix", q=Q, k=K)
    assert inspector.result("weights") == pytest.approx(1 / (Q + 1))
    expect(inspector.line("weights")).to_contain_text("among the 5 tokens up to its own")
    page.keyboard.press("ArrowRight")
    expect(inspector.line("scores")).to_contain_text("every score is 0")
    expect(inspector.line("weights")).to_contain_text("1.0000 / 5.0000")  # exp(0) = 1, five times
    assert inspector.result("weights") == pytest.approx(1 / (Q + 1))
    page.keyboard.press("ArrowRight")
    toy = run_block(WordTokenizer().tokenize(TEXT).ids, ToyConfig()).layer(0)
    scores = (toy.query[0].double() @ toy.key[0].double().T)[Q]
    assert inspector.result("scores") == pytest.approx(float(scores[K]), rel=1e-6)
    weights = torch.softmax(scores[: Q + 1] / 8**0.5, -1)
    assert inspector.result("weights") == pytest.approx(float(weights[K]), abs=1e-7)
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(inspector.line("head_outputs")).to_contain_text("x₂ is one of the 5")
    expect(inspector.line("scores")).to_have_count(0)
    assert f"q={Q}&k={K}" in page.url


def test_the_largest_difference_is_named_and_lit_where_it_is(opened: Opened, page: Page) -> None:
    walk = walk_to_attention(WordTokenizer().tokenize(TEXT), ToyConfig())
    inspector = opened()
    for way, name in (("matrix", "A matrix"), ("data", "Scores from the data")):
        page.keyboard.press("Escape")  # without a pin, the notice speaks of all rows
        page.get_by_role("radio", name=name).click()
        settled_once_at(page, re.compile(f"way={way}"))
        found = walk.steps.head_outputs if way == "data" else walk.averages[f"by_{way}"]
        gaps = (found.double() - walk.averages["by_loop"].double()).abs()
        row, feature = divmod(int(gaps.argmax()), 16)
        expect(page.locator(".notice")).to_contain_text(f"in row {row}, “{walk.query_labels[row]}”, feature {feature}.")
        button = page.get_by_role("button", name="Show where it is largest")
        button.hover()
        assert (f"by_{way}", "cell") in inspector.marks()
        apart = inspector.line("meaning").locator("[data-result]").get_attribute("data-value")
        assert float(apart or "nan") == pytest.approx(float(gaps.max()), rel=1e-3)
        inspector.leave()
        assert inspector.marks() == set()
        button.focus()
        assert (f"by_{way}", "cell") in inspector.marks()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(f"q={row}"))


def test_words_light_what_they_name_and_keys_pin_move_play_and_open_the_code_and_a_phone_shows_its_width(
    opened: Opened, page: Page
) -> None:
    inspector = opened(way="softmax")
    page.get_by_role("button", name="the future", exact=True).hover()
    assert {panel for panel, _ in inspector.marks()} == {"masked_zeros", "softmax_weights"}
    page.get_by_role("button", name="equal scores").hover()
    assert {panel for panel, _ in inspector.marks()} == {"masked_zeros"}
    page.get_by_role("button", name=re.compile("^row ")).hover()
    assert {panel for panel, _ in inspector.marks()} == {"by_softmax"}
    inspector.leave()
    page.keyboard.press("f")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile("q=2&k=1"))
    assert inspector.result("weights") == pytest.approx(1 / 3)
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "q=" not in url)
    page.keyboard.press("c")
    expect(page.get_by_role("region", name="Python code").or_(page.locator(".listing pre"))).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    across = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
    assert page.evaluate(across) == 0
    page.set_viewport_size({"width": 1280, "height": 720})
    page.keyboard.press(".")
    expect(page.locator(".player:not(.of-walk) .says")).not_to_have_text(re.compile("^Play this step"))
    assert float(page.locator(".player:not(.of-walk)").get_attribute("data-t") or 1) < 1


# ---- the ways are played


def stills(run: Run, way: str, q: int | None = Q, text: str = TEXT) -> list[dict[str, Any]]:
    file = write(document_of_layer(walk_to_attention(WordTokenizer().tokenize(text), ToyConfig())))
    given = {"file": b64encode(file).decode(), "step": way, "head": 0, "example": {"q": q, "k": None}}
    found: list[dict[str, Any]] = run("motion/timeline.ts", STILLS, given)
    return found


def written(still: dict[str, Any], panel: str) -> list[float]:
    return [cell["value"] for cell in still["written"] if cell["panel"] == panel]


def test_the_loop_adds_row_after_row_and_divides(run: Run, x: torch.Tensor, means: torch.Tensor) -> None:
    found = stills(run, "loop")
    running = x.double().cumsum(0)
    for j in range(Q + 1):
        assert written(found[j + 1], "by_loop") == pytest.approx(running[j].tolist(), abs=1e-6)
        assert f"x[{j}]" in found[j + 1]["says"]
    divided = found[Q + 2]
    assert divided["written"] == []  # the matrix itself
    assert f"÷ {Q + 1} = {means[Q, 0]:.2f}".replace("-", "−") in divided["says"]
    opened = [still["open"].get("by_loop", 0) for still in found]
    assert (opened[0], opened[-1]) == (N * 16, 0)
    assert all(before >= after for before, after in pairwise(opened))


def test_the_matrix_meets_the_columns_of_x(run: Run, x: torch.Tensor, means: torch.Tensor) -> None:
    found = stills(run, "matrix", q=None)  # row 2 is the first that says something
    last = next(still for still in found if still["work"] and still["work"]["count"] == N)
    assert [term["left"] for term in last["work"]["terms"]] == pytest.approx([1 / 3] * 3 + [0] * 5, abs=1e-7)
    assert [term["right"] for term in last["work"]["terms"]] == pytest.approx(x[:, 0].tolist())
    assert last["work"]["sum"] == pytest.approx(float(means[2, 0]), abs=1e-6)


@pytest.mark.parametrize("way", ["softmax", "data"])
def test_the_softmax_comes_before_the_product(run: Run, way: str) -> None:
    walk = walk_to_attention(WordTokenizer().tokenize(TEXT), ToyConfig())
    weights = "softmax_weights" if way == "softmax" else "weights"
    scores = walk.averages["masked_zeros"] if way == "softmax" else walk.steps.masked
    found = stills(run, way)
    exponentials = scores[Q].double().exp()
    assert written(found[N], weights) == pytest.approx(exponentials[: Q + 1].tolist(), rel=1e-5)
    said = float(found[N + 1]["says"].rsplit(" ", 1)[1])
    assert said == pytest.approx(float(exponentials.sum()), abs=0.0051)
    whole = N * 16
    halves = [still["open"].get(f"by_{way}", 0) for still in found]
    first = next(n for n, still in enumerate(found) if still["work"])
    assert halves[: first - 1] == [whole] * (first - 1)
    assert [still["open"].get(weights, 0) for still in found[first - 1 :]] == [0] * (len(found) - first + 1)
    assert halves[-1] == 0
    done = next(still for still in found[first:] if still["work"] and still["work"]["count"] == N)
    expected = walk.steps.head_outputs if way == "data" else walk.averages["by_softmax"]
    assert done["work"]["sum"] == pytest.approx(float(expected[Q, 0]), abs=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_one_token_is_played_too(run: Run, way: str) -> None:
    found = stills(run, way, q=None, text="alone")
    assert found[0]["open"][f"by_{way}"] == 16
    assert found[-1]["open"].get(f"by_{way}", 0) == 0
