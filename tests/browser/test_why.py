"""Why a score is high or low, in a real browser: its sums against numpy, by pointing and by a link."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.apps.operands import LAYER, Operands, document, oracle
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.axe import violations

HEAD, Q, K = 0, 4, 9
PARTS = {
    "query": [("token", 3.0), ("position", -1.5), *((f"layer 0 head {n}", 0.25 * (n - 3)) for n in range(6))],
    "key": [("token", -2.0), ("b_K", 2.75)],
    "rows": ["token", "position"],
    "columns": ["b_K", "token"],
    "pairs": [[3.5, -0.5], [-0.75, -1.5]],
    "error": 2.4e-7,
    "note": "1 LayerNorm lies between a part and the score.",
}
NONE = {**PARTS, "query": [], "key": [], "rows": [], "columns": [], "pairs": [], "note": "They are not known."}

pytestmark = pytest.mark.page("one_page")


@pytest.fixture
def served() -> Iterator[WalkPage]:
    with serving(WalkPage({LAYER: document(Operands(mask="causal"), 2)}, scores(PARTS, (Q, K), (7, 3)))) as walk:
        yield walk


def scores(parts: Mapping[str, object], *pairs: tuple[int, int]) -> dict[str, bytes]:
    return {f"{LAYER}~score-{HEAD}-{q}-{k}": json.dumps(parts).encode() for q, k in pairs}


def open_walk(page: Page, served: WalkPage, **link: str | int) -> tuple[WalkView, Locator]:
    view = WalkView.open(page, served.url, **{"step": "scores", "q": 7, "k": 3, **link})
    return view, view.panel.locator(".why-score")


def table(why: Locator, name: str) -> list[tuple[str, float, float, str]]:
    """Return name, value, sum so far and share of each line that is listed."""
    lines = why.locator(f"> table[data-sums={name}] tbody tr")
    read = """all => all.map((line) => [line.querySelector("th").textContent,
      +line.querySelector("[data-value]").dataset.value, +line.querySelector("[data-sum]").dataset.sum,
      line.children[3].textContent])"""
    expect(lines.first).to_be_attached()
    return [tuple(line) for line in lines.evaluate_all(read)]


def test_the_products_of_the_dimensions_are_listed_by_size_and_sum_to_the_score(page: Page, served: WalkPage) -> None:
    _, why = open_walk(page, served)
    given = Operands(mask="causal")
    products = given.query[7].astype(float) * given.key[3].astype(float)
    row = oracle(given)["scores"][7, :8]  # what the mask does not hide
    high = "high" if row[3] >= row.mean() else "low"
    expect(why.locator("summary").first).to_have_text(f"Why is this score {high}?")
    expect(why.locator("table")).to_have_count(0)
    why.locator("summary").first.click()
    larger = int((row > row[3]).sum())
    said = f"Of the 8 scores of row 7, {larger or 'none'} {'are' if larger > 1 else 'is'} larger"
    expect(why.locator(".why-rank").first).to_contain_text(said)
    order = np.argsort(-np.abs(products), kind="stable")
    listed = table(why, "dimensions")
    assert [name for name, *_ in listed] == [*(f"dim {d}" for d in order[:5]), "3 others"]
    values = [*products[order[:5]], products[order[5:]].sum()]
    assert [value for _, value, *_ in listed] == pytest.approx(values, abs=1e-9)
    assert [so_far for _, _, so_far, _ in listed] == pytest.approx(np.cumsum(values), abs=1e-9)
    assert listed[-1][2] == pytest.approx(row[3], abs=1e-9)
    sizes = [*np.abs(products[order[:5]]), np.abs(products[order[5:]]).sum()]
    assert [int(share.removesuffix(" %")) for *_, share in listed] == pytest.approx(
        100 * np.array(sizes) / np.abs(products).sum(), abs=0.51
    )
    why.locator("[data-terms=dimensions] summary").click()
    everything = why.locator("[data-terms=dimensions] tbody [data-value]")
    expect(everything).to_have_count(8)
    assert everything.evaluate_all("all => all.map((one) => +one.dataset.value)") == pytest.approx(products[order])


def test_a_pinned_cell_is_split_by_the_parts_of_x(page: Page, served: WalkPage) -> None:
    view, why = open_walk(page, served, why=1)
    listed = table(why, "query")
    assert [(name, value) for name, value, *_ in listed] == [
        ("token", 3.0), ("position", -1.5), ("layer 0 head 0", -0.75), ("layer 0 head 1", -0.5),
        ("layer 0 head 5", 0.5), ("3 others", 0.0),
    ]  # fmt: skip
    assert listed[-1][2] == 0.75
    assert [line[:3] for line in table(why, "key")] == [("b_K", 2.75, 2.75), ("token", -2.0, 0.75)]
    pairs = why.locator(".pairs")
    assert pairs.locator("thead th").all_text_contents() == ["b_K", "token"]
    assert pairs.locator("tbody th").all_text_contents() == ["token", "position"]
    cells = pairs.locator("td[data-value]")
    assert cells.evaluate_all("all => all.map((one) => +one.dataset.value)") == [3.5, -0.5, -0.75, -1.5]
    assert cells.first.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(94, 60, 153)"
    expect(why.locator(".why-note")).to_have_text(
        ["The cells sum to the score; the difference is 2.4e−7.", str(PARTS["note"])]
    )
    assert violations(page, ".inspector") == []
    view.hover("scores", 9, 2)  # another cell: its products alone
    expect(why.locator("table[data-sums=dimensions]")).to_have_count(1)
    expect(why.locator("table[data-sums=query]")).to_have_count(0)
    expect(why.get_by_text("Click this cell to split its score")).to_be_visible()
    view.leave()
    expect(why.locator("table[data-sums=query]")).to_have_count(1)


def test_what_is_opened_is_said_to_the_page_and_stays_for_the_next_cell(page: Page, served: WalkPage) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("~")[2]))
    view, why = open_walk(page, served)
    why.locator("summary").first.click()
    expect(why.locator("table[data-sums=query]")).to_have_count(1)
    assert view.changes == [{"why": True}]
    assert [name for name in asked if name.startswith("score")] == ["score-0-7-3"]
    view.click("scores", Q, K)
    expect(why.locator("table[data-sums=query]")).to_have_count(1)
    view.click("scores", 7, 3)  # what has come is not asked for again
    expect(why.locator("table[data-sums=query]")).to_have_count(1)
    assert [name for name in asked if name.startswith("score")] == ["score-0-7-3", f"score-0-{Q}-{K}"]
    view.step("Scaled")
    expect(view.line("scaled")).to_be_visible()
    expect(why).to_have_count(0)
    view.step("Scores")
    expect(why.locator("table[data-sums=query]")).to_have_count(1)
    why.locator("summary").first.click()
    expect(why.locator("table")).to_have_count(0)
    assert view.changes[-1] == {"why": False}


AGAIN = """async () => {
  const { read } = await import("/frontend/core/document.ts");
  const answer = await fetch("documents/3");
  walk.show({}, read(new Uint8Array(await answer.arrayBuffer())));
}"""


def test_the_parts_are_those_of_the_text_that_is_shown(page: Page, served: WalkPage) -> None:
    _, why = open_walk(page, served, why=1)
    expect(why.locator("table[data-sums=query]")).to_have_count(1)
    served.scores = scores(NONE, (7, 3))
    page.evaluate(AGAIN)  # another text, with the same cell pinned
    expect(why.locator(".why-note")).to_have_text(["They are not known."])
    expect(why.locator("table[data-sums=query]")).to_have_count(0)


def test_a_hidden_cell_is_compared_with_all_scores_of_its_row(page: Page, served: WalkPage) -> None:
    _, why = open_walk(page, served, why=1, q=Q, k=K)
    expect(why.locator(".why-rank").first).to_contain_text(f"Of the 12 scores of row {Q},")


def test_the_only_score_that_is_not_hidden_has_no_rank(page: Page, served: WalkPage) -> None:
    _, why = open_walk(page, served, why=1, q=0, k=0)
    expect(why.locator(".why-rank").first).to_have_text(re.compile("is the only score of row 0 that is not hidden"))


def test_what_is_not_known_or_does_not_come_is_a_sentence(page: Page) -> None:
    walk = WalkPage({LAYER: document(Operands(), 2)}, scores(NONE, (7, 3)))
    with serving(walk):
        view, why = open_walk(page, walk, why=1)
        expect(why.locator(".why-note")).to_have_text(["They are not known."])
        expect(why.locator("table")).to_have_count(1)
        view.click("scores", 2, 2)
        expect(why.get_by_text("The parts of X can’t be shown: the server answers with status 404.")).to_be_visible()
        walk.scores = scores(PARTS, (2, 2))
        expect(why.locator("table[data-sums=query]")).to_have_count(1)  # it is asked for again
