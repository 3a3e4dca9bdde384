"""The parts of /bert on language models in Chromium: without training, heads on subsets, and blanks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor, nn
from torch.nn import functional

from attnviz.bert.table import table_of
from tests.app.test_bert_blank import theirs
from tests.browser.board import cells, middle_of_cell
from tests.browser.settings import open_settings
from tests.browser.settle import settled
from tests.loaded import built_in_model
from tests.unit.bert.test_blank import saved

MINUTE = 60_000
TEXT = "The cat sat on the mat."


def logits_of(ids: list[int], table: Tensor) -> Tensor:
    """Return the logits of two blocks without a mask, of torch's own modules with the seed 3."""
    torch.manual_seed(3)
    layers = [nn.Linear(384, 384) for _ in range(2)]
    x = table[torch.tensor(ids)]
    with torch.inference_mode():
        for linear in layers:
            x = linear(functional.scaled_dot_product_attention(x[None], x[None], x[None])[0])
        return x @ table.T


def read_changes(page: Page, moved: Tensor) -> None:
    """Compare the height of the bars of all rows, and what is said of one that is pointed at."""
    bars = page.locator(".st-key-language_moved .columns li")
    heights = torch.tensor([box["height"] for bar in bars.locator("i").all() if (box := bar.bounding_box())])
    assert (heights / heights.max()).tolist() == pytest.approx((moved / moved.max()).tolist(), abs=0.01)
    bars.nth(6).hover()
    said = bars.nth(6).evaluate("bar => getComputedStyle(bar, '::after').content")
    assert float(re.findall(r"a logit ([\d.]+)", said)[0]) == pytest.approx(moved[6].item(), rel=0.02)


def read_weights(page: Page, x: Tensor) -> None:
    """Compare a weight that is pointed at, and one that is pinned by keys."""
    matrix = page.locator(".st-key-language_weights")
    weights, line = torch.softmax(x @ x.T / 384**0.5, dim=-1), matrix.locator(".line")
    page.mouse.move(*middle_of_cell(page, 4, 2))
    expect(line).to_have_text(f"4 on → 2 cat: {weights[4, 2]:.4f}")
    page.mouse.move(0, 0)
    expect(line).to_have_text("Point at a cell to read it; a click chooses its row.")
    matrix.get_by_role("application").focus()
    for key in ("Enter", "ArrowUp", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    expect(line).to_have_text(f"2 cat → 1 the: {weights[2, 1]:.4f}")
    expect(page).to_have_url(re.compile("q=2"))
    expect(page.locator(".inout .chosen")).to_have_attribute("title", re.compile("^row 2: cat"), timeout=MINUTE)


def test_junk_comes_out_and_the_mask_hides_a_change(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=language&seed=3&q=4&text={TEXT}")
    change = page.locator("[data-testid=stMarkdown]", has_text="becomes “cat”")
    expect(change).to_contain_text("those before it by at most 0. With the mask", timeout=MINUTE)
    settled(page)
    page.mouse.move(*middle_of_cell(page, 2, 4))
    expect(page.locator(".st-key-language_weights .line")).to_have_text("2 cat → 4 on: 0 (masked)")
    open_settings(page)
    page.locator(".st-key-lm_mask label").click()
    expect(change).to_contain_text("Without a mask, every row depends on all others.", timeout=MINUTE)
    other = page.locator(".st-key-other input")
    other.fill("dog")
    other.press("Enter")
    change = page.locator("[data-testid=stMarkdown]", has_text="becomes “dog”")
    expect(change).to_be_visible(timeout=MINUTE)
    settled(page)
    model = built_in_model()
    table, ids = model.bert.embeddings.token.weight, list(model.tokenize(TEXT).ids)
    before = logits_of(ids, table)
    labels = table_of(model).labels
    assert page.locator(".inout b").all_inner_texts() == [labels[one] for one in before.argmax(-1).tolist()]
    ids[6] = model.tokenize("dog").ids[1]
    moved = (logits_of(ids, table) - before).abs().amax(-1)
    most = re.findall(r"by at most ([\d.]+)\.", change.inner_text())[0]
    assert float(most) == pytest.approx(moved[:6].max().item(), abs=6e-5)
    shown = page.locator(".st-key-language_likely .bars b").first.text_content()
    assert float(shown or "nan") == pytest.approx(100 * torch.softmax(before[4], -1).max().item(), rel=0.005)
    read_changes(page, moved)
    read_weights(page, table[torch.tensor(list(model.tokenize(TEXT).ids))])
    page.get_by_role("link", name="Train a language model").click()
    page.wait_for_url(re.compile("/train.*train_part=text"))
    expect(page.locator(".model-series tr[data-stage]").first).to_be_visible(timeout=MINUTE)


def test_the_embedding_is_cut_into_other_parts(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=subsets&q=2&text={TEXT}")
    settled(page)
    page.locator(".st-key-subset_heads").get_by_text("8", exact=True).click()
    said = page.locator(".said", has_text="8 heads give 8")
    expect(said).to_be_visible(timeout=MINUTE)
    settled(page)
    model = built_in_model()
    tokens = model.tokenize(TEXT)
    x = model.bert.embeddings(torch.tensor(tokens.ids), torch.tensor(tokens.segments))
    heads = torch.stack([torch.softmax(part @ part.T / 48**0.5, -1) for part in x.chunk(8, dim=1)])
    rows = heads[:, 2]
    most = (rows[:, None] - rows[None]).abs().sum(-1).max().item() / 2
    assert float(re.findall(r"differ by up to ([\d.]+) ", said.inner_text())[0]) == pytest.approx(most, abs=0.006)
    matrices = page.locator(".st-key-subsets_weights_many .matrix")
    page.mouse.click(*middle_of_cell(page, 4, 2))
    whole = torch.softmax(x @ x.T / 384**0.5, -1)[4, 2]
    numbers = [f"whole X {whole:.4f}", *(f"head {head} {heads[head, 4, 2]:.4f}" for head in range(8))]
    expect(matrices.locator(".line")).to_have_text(f"4 on → 2 cat: {' · '.join(numbers)}")
    expect(page).to_have_url(re.compile("q=4"))
    expect(page.locator(".said", has_text="“on”")).to_be_visible(timeout=MINUTE)
    page.mouse.move(0, 0)
    marked = matrices.locator("[data-shape=cell][data-state=pinned]:visible")
    expect(marked).to_have_count(9)  # one pin over all of them
    matrices.get_by_role("button", name="Focus on head 3").click()
    drawn = cells(page, "head 3").reshape(9, 9)
    assert drawn == pytest.approx(heads[3].numpy(), abs=0.0051)
    page.get_by_role("button", name="Export").click()
    view = page.locator(".export-view[data-ready]")
    expect(view.get_by_text("heatmaps")).to_have_count(2)
    with page.expect_download() as download:
        view.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "attnviz-bert-subsets.svg"
    svg = download.value.path().read_text(encoding="utf-8")
    texts = set(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    assert {"head 3", "query (from)", "key (to)", "difference: half the sum of |p − q|"} <= texts


def test_a_blank_is_typed_and_filled(page: Page, app_url: str, tmp_path: Path) -> None:
    folder = saved("bert", tmp_path / "bert")
    page.goto(f"{app_url}/bert?bert_part=blank&model={folder}")
    expect(page.locator(".filled mark")).to_have_count(1, timeout=MINUTE)
    settled(page)
    page.locator(".st-key-text textarea").fill("The cat [MASK] on the mat.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("[MASK], position 3")).to_be_visible(timeout=MINUTE)
    settled(page)
    (best,) = theirs(str(folder), "The cat [MASK] on the mat.").topk(5).values
    shown = page.locator(".st-key-blank_0 .bars b").all_text_contents()
    assert [float(one) for one in shown] == pytest.approx((100 * best).tolist(), rel=0.005)
    assert page.locator(".filled").inner_text().endswith(" on the mat.")
