"""A view that leaves the browser: its address, its code to scan, its scene file, its numbers. Each opens the same."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest
import segno
import streamlit
import torch
import yaml
from PIL import Image
from playwright.sync_api import Page, expect
from pptx import Presentation
from pypdf import PdfReader
from torch.nn import functional as F

from attnviz.steps import STEPS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.browser.board import matrix
from tests.browser.contexts import Contexts
from tests.browser.settle import settled, settled_at
from tests.toy import run_block

SVG = "{http://www.w3.org/2000/svg}"
TEXT = "=1+1 <b>é</b> 🙂 four"
LINK = "?text=%3D1%2B1+%3Cb%3E%C3%A9%3C%2Fb%3E+%F0%9F%99%82+four&step=weights&q=1&k=2&mask=causal"


def torchs_weights() -> np.ndarray:
    layer = run_block(WordTokenizer().tokenize(TEXT).ids, ToyConfig(causal=True)).layer(0)
    query, key = layer.query[None], layer.key[None]
    return F.scaled_dot_product_attention(query, key, torch.eye(4)[None, None], is_causal=True)[0, 0].numpy()


KNOWN = [f"{weight:.2f}" for weight in torchs_weights()[np.tril_indices(4)]]
"""What is written in the cells of the weights, row by row; hidden cells are empty."""

pytestmark = pytest.mark.page("one_page")


def taken(page: Page, label: str, folder: Path) -> Path:
    """Click a download button, and return the file that comes."""
    with page.expect_download() as coming:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name=label).click()
    file = folder / coming.value.suggested_filename
    coming.value.save_as(file)
    return file


def modules_seen(page: Page, size: int) -> list[list[int]]:
    """Read the code off the screen, as a camera does: dark or light in the middle of each module."""
    box = page.get_by_label("QR code of this view").locator("svg")
    image = Image.open(io.BytesIO(box.screenshot())).convert("L")
    quiet = 4
    step = image.width / (size + 2 * quiet)
    middle = [round((quiet + i + 0.5) * step) for i in range(size)]
    return [[int(image.getpixel((x, y)) < 128) for x in middle] for y in middle]


@pytest.fixture
def with_clipboard(page: Page) -> Iterator[Page]:
    """Return the page of the file, in the dark, with the right to read and write the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.emulate_media(color_scheme="dark")
    yield page
    page.context.clear_permissions()


def test_a_view_is_copied_scanned_saved_and_opened_elsewhere(
    app_url: str, with_clipboard: Page, new_context: Contexts, tmp_path: Path
) -> None:
    page = with_clipboard
    settled_at(page, f"{app_url}/{LINK}")
    page.locator(".st-key-share button").first.click()
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    address = page.evaluate("navigator.clipboard.readText()")
    assert address == page.url

    page.get_by_role("button", name="Show a QR code").click()
    dialog = page.get_by_role("dialog", name="QR code of this view")
    expect(dialog.locator("svg path")).to_be_visible()
    code = segno.make_qr(address, error="l")
    assert modules_seen(page, code.symbol_size(border=0)[0]) == [list(row) for row in code.matrix]
    drawn = dialog.locator("svg").bounding_box()
    assert drawn is not None
    assert drawn["height"] > 600  # of 720: to be read from the last row
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()

    (scene,) = yaml.safe_load(taken(page, "Scene file", tmp_path).read_text(encoding="utf-8"))["scenes"]
    assert scene["query"] == {"text": TEXT, "step": "weights", "q": "1", "k": "2", "mask": "causal"}
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)

    other = new_context().new_page()
    settled_at(other, address)
    np.testing.assert_allclose(np.nan_to_num(matrix(other, "weights")), torchs_weights(), rtol=1e-5, atol=1e-6)
    assert other.url == address

    other.locator(".st-key-export button").first.click()
    other.get_by_role("tab", name="Numbers, code").click()
    archive = zipfile.ZipFile(taken(other, "CSV", tmp_path))
    rows = list(csv.reader(io.StringIO(archive.read("weights.csv").decode("utf-8-sig"))))
    np.testing.assert_allclose(np.array([row[1:] for row in rows[1:]], float), torchs_weights(), rtol=1e-5, atol=1e-6)
    assert [row[0] for row in rows[1:]] == ["[0] =1+1", "[1] <b>é</b>", "[2] 🙂", "[3] four"]
    with np.load(taken(other, "npz", tmp_path)) as found:
        np.testing.assert_allclose(found["weights"][0], torchs_weights(), rtol=1e-5, atol=1e-6)
    notebook = nbformat.read(taken(other, "Notebook", tmp_path), as_version=4)
    nbformat.validate(notebook)
    script = taken(other, "Script", tmp_path).read_text(encoding="utf-8")
    assert all(cell.source in script for cell in notebook.cells if cell.cell_type == "code")

    settled_at(page, f"{app_url}/?step=tokens&text={'long' * 800}")
    page.locator(".st-key-share button").first.click()
    settled(page)
    expect(page.get_by_text("too long for mail and chat")).to_be_visible()
    page.get_by_role("button", name="Show a QR code").click()
    expect(page.get_by_text("too long for a QR code")).to_be_visible()
    expect(page.get_by_label("QR code of this view")).to_be_hidden()
    page.keyboard.press("Escape")


def test_the_shown_address_follows_while_share_is_open(app_url: str, page: Page, tmp_path: Path) -> None:
    settled_at(page, f"{app_url}/?text=one+two&step=scaled")
    page.locator(".st-key-share button").first.click()
    field = page.get_by_label("Address of this view")
    expect(field).to_have_value(page.url)

    def follows(step: str) -> None:
        page.wait_for_url(f"**step={step}")
        expect(field).to_have_value(page.url)
        page.wait_for_timeout(300)  # then the server hears of it
        settled(page)
        (scene,) = yaml.safe_load(taken(page, "Scene file", tmp_path).read_text(encoding="utf-8"))["scenes"]
        assert scene["query"]["step"] == step

    page.keyboard.press("PageDown")
    follows("masked")
    page.go_back()
    follows("scaled")


def written_in_cells(svg: bytes, name: str) -> list[str]:
    """Return what stands in the cells of one matrix of a picture."""
    (group,) = (g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("data-name") == name)
    return [text.text or "" for text in group.iter(f"{SVG}text")]


def check_slides(deck: Presentation, site: str) -> str:
    """Look through a deck of the view; return the address on the slide of the weights."""
    assert [slide.shapes.title.text for slide in deck.slides] == [step.title for step in STEPS.values()]
    for slide, step in zip(deck.slides, STEPS.values(), strict=True):
        notes = slide.notes_slide.notes_text_frame.text
        assert notes.startswith(f"{step.title}: ")
        assert f"Text: {TEXT}" in notes
        (box,) = (shape for shape in slide.shapes if shape.name == "link")
        address = box.text_frame.paragraphs[0].runs[0].hyperlink.address
        assert address.startswith(f"{site}/?")
        assert f"step={step.name}" in address
        assert f"This step in the app: {address}" in notes
    weights = deck.slides[list(STEPS).index("weights")]
    (table,) = (shape.table for shape in weights.shapes if shape.has_table and shape.name == "weights")
    assert [cell.text for row in table.rows for cell in row.cells if cell.text] == KNOWN
    (box,) = (shape for shape in weights.shapes if shape.name == "link")
    return str(box.text_frame.paragraphs[0].runs[0].hyperlink.address)


def test_all_steps_are_taken_along_as_slides_pages_pictures_and_tikz(page: Page, app_url: str, tmp_path: Path) -> None:
    settled_at(page, f"{app_url}/{LINK}")
    page.locator(".st-key-export button").first.click()
    page.get_by_role("tab", name="All steps").click()
    page.get_by_text("Files link to this computer").click()  # which they don't unless asked
    settled(page)
    deck = taken(page, "PowerPoint", tmp_path)
    address = check_slides(Presentation(str(deck)), app_url)
    pages = PdfReader(taken(page, "PDF", tmp_path)).pages
    assert len(pages) == len(STEPS)
    texts = {name: sheet.extract_text() for name, sheet in zip(STEPS, pages, strict=True)}
    for name, step in STEPS.items():
        assert step.title in texts[name]
    for written in ("softmax(", "=1+1", "<b>é</b>", "four", "query (from)", *KNOWN):
        assert written in texts["weights"]
    assert pages[list(STEPS).index("weights")]["/Annots"][0].get_object()["/A"]["/URI"] == address

    tex = taken(page, "TikZ", tmp_path)
    if shutil.which("pdflatex"):
        command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", tex.name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=200, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        assert len(PdfReader(tex.with_suffix(".pdf")).pages) == len(STEPS)

    page.get_by_role("radio", name="Dark").click()
    settled(page)
    pictures = zipfile.ZipFile(taken(page, "SVGs", tmp_path))
    assert pictures.namelist() == [f"{i:02d}-{step}.svg" for i, step in enumerate(STEPS, 1)]
    drawn = pictures.read("07-weights.svg")
    assert written_in_cells(drawn, "weights") == KNOWN
    root = ET.fromstring(drawn)
    assert root.find(f"{SVG}rect").get("fill") == "#14141B"
    assert {"=1+1", "<b>é</b>", "🙂", "four"} <= {text.text for text in root.iter(f"{SVG}text")}
    check_what_is_said_of_a_failure(page)

    page.keyboard.press("Escape")
    settled_at(page, f"{app_url}/?text=another+text&step=tokens")
    settled_at(page, address)
    np.testing.assert_allclose(np.nan_to_num(matrix(page, "weights")), torchs_weights(), rtol=1e-5, atol=1e-6)


def check_what_is_said_of_a_failure(page: Page) -> None:
    """Where a file can't be made, Streamlit's own words give way to a sentence that says what to do."""
    (own,) = Path(streamlit.__file__).parent.glob("static/static/js/DownloadButton.*.js")
    assert '"data-testid":`stDownloadButtonError`' in own.read_text(encoding="utf-8")
    script = """(button) => {
      const words = Object.assign(document.createElement('small'), { textContent: 'Failed to generate' });
      words.dataset.testid = 'stDownloadButtonError';
      button.append(words);
      const [own, instead] = [getComputedStyle(words), getComputedStyle(words, '::after')];
      const found = [own.fontSize, instead.content, instead.fontSize];
      words.remove();
      return found;
    }"""
    found = page.locator(".st-key-export_walk_pdf [data-testid=stDownloadButton]").evaluate(script)
    assert (found[0], found[2]) == ("0px", "14px")
    assert found[1].startswith('"The file could not be made. Close and reopen Export')


def test_an_open_export_takes_no_style_sheet_of_the_page_away(page: Page, app_url: str) -> None:
    """Fragments write their style sheets over those that the page has written after them."""
    settled_at(page, f"{app_url}/?lesson=attention&scene=1")
    page.locator(".st-key-export button").first.click()
    page.get_by_role("tab", name="Web page").click()
    settled(page)
    expect(page.locator(".st-key-lesson_bar")).not_to_have_css("border-radius", "0px")
