"""The parts of /bert in Chromium: what is clicked, typed and read there is what torch computes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
import torch
import transformers as tf
from playwright.sync_api import Page, expect
from torch import Tensor, nn
from torch.nn import functional

from attnviz.bert.ablation import cosine, hidden_without
from attnviz.bert.search import built_in
from attnviz.links.link import DEFAULT_TEXT
from attnviz.pretrained.described import find_folder
from tests.app.test_bert_classifier import CSV
from tests.browser.board import cells, middle_of_cell, painted
from tests.browser.settings import open_settings, type_text
from tests.browser.settle import settled, settled_at
from tests.loaded import built_in_model

TEXT = "The cat sat on the mat."
QUERY, PASTED = "someone is ill", "The train was late. A cat was sleeping on the sofa. Prices went up."

pytestmark = pytest.mark.page("one_page")


# ---- configuration


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
    widths = "all => all.map((bar) => bar.querySelector('i')?.getBoundingClientRect().width ?? 0)"
    lengths = bars.evaluate_all(widths)
    assert abs(lengths[0] / lengths[1] - width / 768) < 0.01, "the tables of tokens have as many rows"
    assert lengths[-2] == 0, "the pooler is not loaded"
    page.get_by_text("All numbers of parameters").click()
    together = page.get_by_role("row", name="together")
    expect(together).to_contain_text(f"{sum(weight.numel() for weight in model.bert.parameters()):,}")
    expect(together).to_contain_text("109,482,240")


# ---- a language model, heads on subsets


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


def test_the_mask_is_a_switch_and_without_it_a_change_and_weights_are_torchs(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=language&seed=3&q=4&other=dog&text={TEXT}")
    change = page.locator("[data-testid=stMarkdown]", has_text="becomes “dog”")
    expect(change).to_contain_text("those before it by at most 0. With the mask")
    settled(page)
    page.mouse.move(*middle_of_cell(page, 2, 4))
    expect(page.locator(".st-key-language_weights .line")).to_have_text("2 cat → 4 on: 0 (masked)")
    open_settings(page)
    page.locator(".st-key-lm_mask label").click()
    expect(change).to_contain_text("Without a mask, every row depends on all others.")
    settled(page)
    model = built_in_model()
    table, ids = model.bert.embeddings.token.weight, list(model.tokenize(TEXT).ids)
    before = logits_of(ids, table)
    read_weights(page, table[torch.tensor(ids)])
    ids[6] = model.tokenize("dog").ids[1]
    read_changes(page, (logits_of(ids, table) - before).abs().amax(-1))
    page.get_by_role("link", name="Train a language model").click()
    page.wait_for_url(re.compile("/train.*train_part=text"))


def test_the_embedding_is_cut_into_other_parts(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/bert?bert_part=subsets&subset_heads=8&q=2&text={TEXT}")
    model = built_in_model()
    tokens = model.tokenize(TEXT)
    x = model.bert.embeddings(torch.tensor(tokens.ids), torch.tensor(tokens.segments))
    heads = torch.stack([torch.softmax(part @ part.T / 48**0.5, -1) for part in x.chunk(8, dim=1)])
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
    page.keyboard.press("Escape")
    expect(view).to_be_hidden()


# ---- search by meaning


def cosines(query: str, sentences: Sequence[str]) -> list[float]:
    """Compute the cosines of sentence embeddings with transformers."""
    tokenizer = tf.AutoTokenizer.from_pretrained(find_folder())
    model = tf.AutoModel.from_pretrained(find_folder()).eval()
    inputs = tokenizer([query, *sentences], padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state
    sums = (hidden * inputs["attention_mask"][..., None]).sum(1)
    found: list[float] = torch.cosine_similarity(sums[:1], sums[1:]).tolist()
    return found


def test_a_query_is_typed_a_hit_is_read_and_a_text_is_pasted(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=search")
    best = page.locator(".st-key-hit_meaning_1")
    expect(best).to_be_visible()
    field = page.locator(".st-key-find input")
    field.fill(QUERY)
    field.press("Enter")
    expect(page).to_have_url(re.compile(r"find=someone\+is\+ill|find=someone%20is%20ill"))
    settled(page)
    hits = page.locator('[class*="st-key-hit_meaning_"]').all_inner_texts()
    sentences = [next(one for one in built_in().sentences if one in hit) for hit in hits]
    scores = [float(re.findall(r"\d\.\d+", hit)[0]) for hit in hits]
    everything = list(built_in().sentences)
    assert len(hits) == 6
    assert sentences[0] == max(zip(cosines(QUERY, everything), everything, strict=True))[1]
    assert scores == sorted(scores, reverse=True) == pytest.approx(cosines(QUERY, sentences), abs=6e-4)
    # A point of the map is clicked: its sentence is shown.
    page.locator(".st-key-find_view").get_by_text("Map", exact=True).click()
    points = page.locator(".stPlotlyChart .scatterlayer .trace").nth(1).locator("path.point")
    expect(points).to_have_count(5)  # the best hits but the one that is looked at
    settled(page)
    points.last.click(force=True)
    expect(page).to_have_url(re.compile("hit=[0-9]+"))
    chosen = built_in().sentences[int(re.findall("hit=([0-9]+)", page.url)[0])]
    assert chosen in sentences[1:]
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
    expect(best).to_contain_text(max(zip(cosines(QUERY, own), own, strict=True))[1])
    assert "cat" not in page.url


# ---- a classifier, whose numbers tests/app/test_bert_classifier.py compares with torch


def test_a_file_is_trained_on_and_what_it_makes_is_asked(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=classifier&class_steps=100&seed=1")
    open_settings(settled(page))
    page.locator(".st-key-class_from button", has_text="Your CSV").click()
    page.locator(".st-key-class_file input[type=file]").set_input_files(
        {"name": "weather.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
    )
    expect(page.get_by_text("weather.csv: 40 rows")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("Trained now, on the mean over tokens: seed 1, 100 steps")).to_be_visible()
    expect(page.get_by_text("100.0 % of 10 held-out texts are right")).to_be_visible()
    page.locator(".st-key-class_view button", has_text="Your sentence").click()
    type_text(page, "cold rain at night", "sentence")
    expect(page.get_by_text(re.compile(r"rain [5-9]\d\.\d %")).first).to_be_visible()


# ---- heads switched off


def whole(off: list[tuple[int, int]]) -> float:
    """Return the cosine of the sentence embedding without heads to that of the whole model."""
    model = built_in_model()
    hidden = hidden_without(model, model.tokenize(DEFAULT_TEXT), off)
    return float(cosine(model.trace(DEFAULT_TEXT).last_hidden_state.mean(0), hidden.mean(0)))


def test_a_head_is_switched_off_and_on_by_clicks_and_the_cosine_is_torchs(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/bert?bert_part=without&off=")
    said = page.locator(".st-key-off_right .stMarkdown").first
    expect(said).to_contain_text("Nothing is switched off")
    settled(page)
    for head, off in (((3, 1), [(3, 1)]), ((5, 7), [(3, 1), (5, 7)]), ((3, 1), [(5, 7)])):
        page.mouse.click(*middle_of_cell(page, *head))
        expect(page).to_have_url(re.compile(rf"off={'_'.join(f'{one}.{other}' for one, other in off)}$"))
        settled(page)
        found = re.search(r"a cosine of (\d\.\d{4}) to", said.inner_text())
        assert found is not None
        assert float(found[1]) == pytest.approx(whole(off), abs=6e-5)

    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{app_url}/bert?bert_part=without&off=&lecture=1")
    expect(said).to_contain_text("Nothing is switched off")
    settled(page)
    matrix, type_size = page.locator(".st-key-off_grid"), "element => parseFloat(getComputedStyle(element).fontSize)"
    assert (
        matrix.locator(".frame").evaluate("frame => frame.firstChild.attnviz.type.label") >= 27
    )  # 18 px at 1280 x 720
    assert page.locator(".st-key-off_tokens .columns li small").first.evaluate(type_size) >= 27
    assert matrix.locator(".line").evaluate(type_size) >= 27
    page.mouse.click(*middle_of_cell(page, 2, 3))
    expect(page).to_have_url(re.compile("off=2.3&"))


def test_a_head_is_switched_off_by_keys_and_its_effect_is_read(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/bert?bert_part=without&off=")
    matrix = page.locator(".st-key-off_grid")
    frames, line = matrix.locator("[data-state=pinned-frame]:visible"), matrix.locator(".line")
    expect(line).to_have_text("Point at a head to read its effect.")
    matrix.get_by_role("application").focus()
    for key in ("Enter", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(line).to_contain_text("layer 1 · head 2: 1 − cosine ")
    effect = re.findall(r"cosine ([\d.e−-]+)", line.inner_text())[0]
    assert float(effect.replace("−", "-")) == pytest.approx(1 - whole([(1, 2)]), rel=0.01)
    expect(line).to_contain_text("a click switches it off")
    page.keyboard.press("Enter")
    expect(frames).to_have_count(1)
    expect(page).to_have_url(re.compile("off=1.2$"))
    expect(line).to_contain_text("a click switches it on again")
    announced = matrix.get_by_role("status")
    expect(announced).to_have_text(re.compile(r"^layer 1 · head 2: 1 − cosine \S+; switched off$"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile("off=1.2_2.2$"))
    expect(frames).to_have_count(2)
    page.keyboard.press("Space")
    expect(announced).to_have_text(re.compile("; switched on again$"))
    expect(page).to_have_url(re.compile("off=1.2$"))
    expect(frames).to_have_count(1)


def test_the_matrix_and_the_bars_are_saved_as_pictures(page: Page, app_url: str) -> None:
    settled_at(page, f"{app_url}/bert?bert_part=without&off=3.1")
    numbers = painted(page, "heads")["inside"]
    page.get_by_role("button", name="Export").click()
    view = page.locator(".export-view[data-ready]")
    expect(view.get_by_text("tokens without layer 3 · head 1")).to_be_visible()
    expect(view.get_by_text("heatmaps")).to_be_visible()
    with page.expect_download() as download:
        view.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "attnviz-bert-without.svg"
    svg = download.value.path().read_text(encoding="utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert texts.count("1 − cosine") == 1
    assert not {"tired", "token", "layer", "head", *numbers} - set(texts)
    page.keyboard.press("Escape")
    expect(view).to_be_hidden()
    turned = re.findall(r"<text[^>]*>animal</text>", svg)[0]
    assert "matrix" in turned or "rotate" in turned
