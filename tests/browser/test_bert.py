"""The parts of /bert in Chromium but the classifier and the heads switched off: what is read is what torch computes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import transformers as tf
from playwright.sync_api import Page, expect
from torch import Tensor, nn
from torch.nn import functional

from attnviz.bert.search import built_in
from attnviz.bert.table import table_of
from attnviz.pretrained.described import find_folder
from tests.app.test_bert_blank import theirs
from tests.browser.board import cells, middle_of_cell
from tests.browser.settings import open_settings, type_text
from tests.browser.settle import settled, settled_at
from tests.loaded import built_in_model
from tests.unit.bert.test_blank import saved

TEXT = "The cat sat on the mat."
QUERY, PASTED = "someone is ill", "The train was late. A cat was sleeping on the sofa. Prices went up."

pytestmark = pytest.mark.page("one_page")


# ---- configuration, embeddings and back


def test_the_numbers_are_those_of_the_loaded_model(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert")
    words = page.locator(".sizes.words")
    expect(words).to_be_visible()
    settled(page)
    model = built_in_model()
    vocabulary, width = model.bert.embeddings.token.weight.shape
    assert words.locator("td.own").all_inner_texts()[:2] == [f"{vocabulary:,}", f"{width:,}"]
    tables = page.locator(".sizes:not(.words) tbody")
    expect(tables).to_contain_text(f"{nn.Embedding(20_000, 32).weight.numel():,}")
    expect(tables).to_contain_text(f"{vocabulary * width:,}")
    bars = page.get_by_role("list", name="parameters, millions").get_by_role("img")
    assert bars.count() == 2 * 6
    assert bars.first.get_attribute("aria-label") == f"MiniLM (a small BERT): {vocabulary * width / 1e6:.3g}"
    lengths = [bar.evaluate("(e) => e.querySelector('i')?.getBoundingClientRect().width ?? 0") for bar in bars.all()]
    assert abs(lengths[0] / lengths[1] - width / 768) < 0.01, "the tables of tokens have as many rows"
    assert lengths[-2] == 0, "the pooler is not loaded"
    page.get_by_text("All numbers of parameters").click()
    together = page.get_by_role("row", name="together")
    expect(together).to_contain_text(f"{sum(weight.numel() for weight in model.bert.parameters()):,}")
    expect(together).to_contain_text("109,482,240")


def test_a_text_is_lost_and_comes_back_and_its_numbers_are_torchs(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=back&back_weights=random&text={TEXT}")
    out = page.locator(".back .out")
    expect(page.locator(".back .texts")).to_contain_text("0 of 9 ids come back")
    settled(page)
    page.locator(".st-key-back_weights button", has_text="The model's own").click()
    expect(out).to_have_text(TEXT.lower())
    settled(page)
    page.locator(".st-key-back_view button", has_text="written out").click()
    page.locator(".st-key-q button", has_text="cat").click()
    expect(page.locator(".back .written").first).to_contain_text("“cat”")
    settled(page)
    model = built_in_model()
    weight, cat = model.bert.embeddings.token.weight, model.tokenize(TEXT).ids[2]
    logits = weight @ weight[cat]
    logit, total = (page.locator(f".back b.{name}").inner_text().replace(",", "") for name in ("logit", "sum"))
    assert float(logit) == pytest.approx(logits.max().item(), abs=6e-4)
    assert float(total) == pytest.approx((logits - logits.max()).exp().sum().item(), rel=1e-4)
    page.locator(".st-key-back_view button", has_text="Nearest").click()
    search = page.locator(".st-key-back_piece input")
    search.fill("queen")
    search.press("Enter")
    table = page.locator('.back table[data-by="cosine"]')
    expect(table).to_contain_text("“queen”")
    settled(page)
    row = weight[torch.tensor(model.tokenize("queen").ids[1])]
    second = functional.cosine_similarity(weight, row[None]).topk(2).values[1].item()
    assert float(table.locator("tbody tr").nth(1).locator("td").nth(2).inner_text()) == pytest.approx(second, abs=6e-4)
    expect(page).to_have_url(re.compile("back_piece=queen"))


# ---- a language model, heads on subsets, blanks


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
    expect(page.locator(".inout .chosen")).to_have_attribute("title", re.compile("^row 2: cat"))


def test_junk_comes_out_and_the_mask_hides_a_change(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=language&seed=3&q=4&text={TEXT}")
    change = page.locator("[data-testid=stMarkdown]", has_text="becomes “cat”")
    expect(change).to_contain_text("those before it by at most 0. With the mask")
    settled(page)
    page.mouse.move(*middle_of_cell(page, 2, 4))
    expect(page.locator(".st-key-language_weights .line")).to_have_text("2 cat → 4 on: 0 (masked)")
    open_settings(page)
    page.locator(".st-key-lm_mask label").click()
    expect(change).to_contain_text("Without a mask, every row depends on all others.")
    other = page.locator(".st-key-other input")
    other.fill("dog")
    other.press("Enter")
    change = page.locator("[data-testid=stMarkdown]", has_text="becomes “dog”")
    expect(change).to_be_visible()
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
    shown = page.locator(".st-key-language_likely .bars li").first.get_attribute("title") or ""
    assert float(shown.split()[-2]) == pytest.approx(100 * torch.softmax(before[4], -1).max().item(), rel=0.005)
    read_changes(page, moved)
    read_weights(page, table[torch.tensor(list(model.tokenize(TEXT).ids))])
    page.get_by_role("link", name="Train a language model").click()
    page.wait_for_url(re.compile("/train.*train_part=text"))
    expect(page.locator(".model-series tr[data-stage]").first).to_be_visible()


def test_the_embedding_is_cut_into_other_parts(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/bert?bert_part=subsets&q=2&text={TEXT}")
    page.locator(".st-key-subset_heads").get_by_text("8", exact=True).click()
    said = page.locator(".said", has_text="8 heads give 8")
    expect(said).to_be_visible()
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
    expect(page.locator(".said", has_text="“on”")).to_be_visible()
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
    expect(page.locator(".filled mark")).to_have_count(1)
    settled(page)
    type_text(page, "The cat [MASK] on the mat.")
    expect(page.get_by_text("[MASK], position 3")).to_be_visible()
    settled(page)
    (best,) = theirs(str(folder), "The cat [MASK] on the mat.").topk(5).values
    shown = page.locator(".st-key-blank_0 .bars li").evaluate_all(
        "all => all.map((one) => one.title.split(' ').at(-2))"
    )
    assert [float(one) for one in shown] == pytest.approx((100 * best).tolist(), rel=0.005)
    assert page.locator(".filled").inner_text().endswith(" on the mat.")


# ---- search by meaning


def cosines(query: str, sentences: list[str]) -> torch.Tensor:
    """Compute the cosines of sentence embeddings with transformers."""
    tokenizer = tf.AutoTokenizer.from_pretrained(find_folder())
    model = tf.AutoModel.from_pretrained(find_folder()).eval()
    inputs = tokenizer([query, *sentences], padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state
    sums = (hidden * inputs["attention_mask"][..., None]).sum(1)
    return torch.cosine_similarity(sums[:1], sums[1:])


def test_a_query_is_typed_a_hit_is_read_and_a_text_is_pasted(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=search")
    best = page.locator(".st-key-hit_meaning_1")
    expect(best).to_be_visible()
    field = page.locator(".st-key-find input")
    field.fill(QUERY)
    field.press("Enter")
    sentences = list(built_in().sentences)
    expected = cosines(QUERY, sentences)
    expect(best).to_contain_text(sentences[int(expected.argmax())])
    expect(page).to_have_url(re.compile(r"find=someone\+is\+ill|find=someone%20is%20ill"))
    score = float(re.findall(r"\d\.\d+", best.inner_text())[0])
    assert score == pytest.approx(float(expected.max()), abs=6e-4)
    # A point of the map is clicked: its sentence is shown.
    page.locator(".st-key-find_view").get_by_text("Map", exact=True).click()
    points = page.locator(".stPlotlyChart .scatterlayer .trace").nth(1).locator("path.point")
    expect(points).to_have_count(5)  # the best hits but the one that is looked at
    settled(page)
    points.last.click(force=True)
    expect(page).to_have_url(re.compile("hit=[0-9]+"))
    chosen = sentences[int(re.findall("hit=([0-9]+)", page.url)[0])]
    assert chosen in [sentences[place] for place in expected.argsort(descending=True)[1:6].tolist()]
    expect(page.get_by_text(chosen).first).to_be_visible()
    # A text is pasted: it is searched, and the field is empty again, so that no later message carries it.
    page.locator(".st-key-find_view").get_by_text("Ranking", exact=True).click()
    open_settings(page)
    page.locator(".st-key-search_text_from").get_by_text("Paste", exact=True).click()
    area = page.locator(".st-key-search_text_pasted textarea")
    area.fill(PASTED)
    page.get_by_role("button", name="Search in this text").click()
    expect(page.locator('[class*="st-key-hit_meaning_"]')).to_have_count(3)
    expect(area).to_have_value("")
    own = ["The train was late.", "A cat was sleeping on the sofa.", "Prices went up."]
    expect(best).to_contain_text(own[int(cosines(QUERY, own).argmax())])
    assert "cat" not in page.url
