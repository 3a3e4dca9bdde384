"""Export this view: each format is downloaded from the pages as their users do it, opened, and compared with torch."""

from __future__ import annotations

import io
import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import numpy as np
import pypdf
import pytest
from fontTools.ttLib import TTFont
from PIL import Image
from playwright.sync_api import Page, expect
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from attnviz.compare.matrices import align_tokens
from attnviz.components.export_view import PATHS
from attnviz.export.files.pdf import OVERLAP
from attnviz.figures.style import AXIS_TITLE, brief_title
from attnviz.lessons import shipped
from attnviz.tokens import WordPiece, WordTokenizer
from attnviz.toy.config import ToyConfig
from attnviz.trained import recorded
from tests.browser.modules import Run
from tests.browser.settle import settled, settled_at
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.export.painted import painted
from tests.unit.export.test_walk import DRAWING

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "A <img src=x onerror=alert(1)> ]]> --> &amp; \x07 שלום 你好 👩‍👧 e\u0301 end"
TEXT = "The animal didn't cross the street"
NUMBER = re.compile(r"−?\d\.\d\d")


@pytest.fixture
def page(one_page: Page) -> Page:
    close_export(one_page)
    return one_page


def close_export(page: Page) -> None:
    """Close the popover, if it is open; what it then asks for would be drawn into the next page, which would break."""
    section = page.locator(".export-view")
    if section.count():
        page.keyboard.press("Escape")
        expect(section).to_be_hidden()
        settled(page)


class Exporting:
    """The popover Export of a page, with what it gives: title and caption too, whatever was chosen before."""

    def __init__(self, page: Page, url: str, **link: str | int) -> None:
        self.page = page
        self.section = page.locator(".export-view")
        settled_at(page, f"{url}?{urlencode(link)}")
        page.locator(".st-key-export button").first.click()
        expect(self.section).to_be_visible()
        self.section.get_by_label("Title and caption").check()

    def choose(self, **looks: str) -> Exporting:
        for name, value in looks.items():
            self.section.locator(f"input[name={name}][value='{value}']").check(force=True)
        return self

    def download(self, form: str) -> tuple[str, bytes]:
        """Return the file's name and its bytes."""
        self.choose(format=form)
        with self.page.expect_download() as found:
            self.section.get_by_role("button", name=f"Download {form.upper()}").click()
        return found.value.suggested_filename, Path(found.value.path()).read_bytes()

    def svg(self) -> Drawn:
        return Drawn(self.download("svg")[1])

    def png(self, **looks: str) -> Image.Image:
        return Image.open(io.BytesIO(self.choose(format="png", **looks).download("png")[1])).convert("RGBA")

    def pdf(self) -> pypdf.PageObject:
        pages = pypdf.PdfReader(io.BytesIO(self.download("pdf")[1]), strict=True).pages
        assert len(pages) == 1
        return pages[0]


class Drawn:
    """An SVG file, parsed; reading it fails where it is not well-formed."""

    def __init__(self, data: bytes) -> None:
        self.root = ET.fromstring(data)
        self.texts = ["".join(text.itertext()) for text in self.root.iter(f"{SVG}text")]
        self.size = (float(self.root.get("width", "")), float(self.root.get("height", "")))

    def numbers(self) -> np.ndarray:
        """Return the numbers that are written in cells, in the order in which they were."""
        return np.array([float(text.replace("−", "-")) for text in self.texts if NUMBER.fullmatch(text)])

    def check_from_and_to(self, matrices: int) -> None:
        """At least so many matrices say at their axes which side looks and which is looked at."""
        texts = [text.removeprefix("↓ ").removeprefix("→ ") for text in self.texts]
        for title in (AXIS_TITLE["query"], AXIS_TITLE["key"]):
            assert sum(text in (title, brief_title(title)) for text in texts) >= matrices, title

    def rectangles(self) -> np.ndarray:
        """Return left, top, right and bottom of each, (n, 4)."""
        found = [[float(one.get(side, "0")) for side in ("x", "y", "width", "height")]
                 for one in self.root.iter(f"{SVG}rect")]  # fmt: skip
        return np.array([(x, y, x + wide, y + high) for x, y, wide, high in found])

    def check_self_contained(self) -> None:
        """Nothing is fetched from elsewhere, nothing can run, and the font has every letter that it is asked for."""
        for element in self.root.iter():
            assert element.tag.removeprefix(SVG) in {
                "svg", "title", "desc", "style", "g", "rect", "path", "text", "image", "clipPath"
            }  # fmt: skip
            for name, value in element.attrib.items():
                assert not name.startswith("on")
                assert not name.endswith("href") or value.startswith("data:image/png;base64,")
                assert "url(" not in value or re.fullmatch(r"url\(#clip\d+\)", value)
        style = self.root.findtext(f"{SVG}style") or ""
        faces = dict(re.findall(r"font-weight:(\d+);src:url\(data:font/woff2;base64,([^)]+)\)", style))
        assert style.count("url(") == len(faces)
        for weight in ("400", "600"):
            written = {
                letter
                for text in self.root.iter(f"{SVG}text")
                for letter in "".join(text.itertext())
                if text.get("font-weight", "400") == weight
            }
            font = TTFont(io.BytesIO(b64decode(faces[weight])))
            names = font.getBestCmap()
            held = {chr(code) for code in names}
            assert set("ehlop") & written <= held
            assert all(unicodedata.mirrored(letter) for letter in held - written)  # brackets in text from the right
            outlines = font["glyf"]
            assert all(outlines[names[ord(letter)]].numberOfContours for letter in set("ehlop") & written)


def rectangles(page: pypdf.PageObject) -> np.ndarray:
    """Return left, top, right and bottom of each rectangle that is painted or clips, (n, 4), in pixels."""
    found = [path for _, state in painted(page) for path in (*state["path"], *state["clip"])]
    return np.array([places for kind, places in found if kind == "re"])


def check_fonts(page: pypdf.PageObject) -> None:
    """Text is in the app's two weights, and what they lack in a font that draws nothing; all are in the file."""
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    embedded = {font["/BaseFont"].split("+")[1]: font["/FontDescriptor"] for font in fonts if "/ToUnicode" in font}
    assert set(embedded) == {"SourceSans-Regular", "SourceSans-Semibold", "AttnvizUnseen"}
    for descriptor in embedded.values():
        assert TTFont(io.BytesIO(descriptor["/FontFile2"].get_data()))["maxp"].numGlyphs > 0


@pytest.fixture
def clipboard(page: Page) -> Iterator[None]:
    """Let the page use the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield
    page.context.clear_permissions()


@pytest.mark.usefixtures("clipboard")
def test_a_step_in_every_format_is_what_torch_computes_and_no_word_of_the_text_gets_out(
    page: Page, app_url: str
) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})  # so that cells have room for their numbers
    export = Exporting(page, app_url, step="weights", mask="causal", text=HOSTILE)
    tokens = WordTokenizer().tokenize(HOSTILE)
    weights = run_block(tokens.ids, ToyConfig(causal=True)).layer(0).head(0).weights.numpy()
    name, data = export.download("svg")
    assert name == "attnviz-step-by-step-weights.svg"
    drawn = Drawn(data)
    drawn.check_self_contained()
    assert set(tokens.labels) <= set(drawn.texts)
    lower = np.tril_indices(len(tokens))
    known = np.round(weights[lower].astype(float), 2)
    shown = drawn.numbers()
    starts = [
        n for n in range(len(shown) - len(known) + 1) if np.allclose(shown[n : n + len(known)], known, atol=0.0051)
    ]
    assert starts, "the weights of the lower triangle are written row by row"
    assert len(list(drawn.root.iter(f"{SVG}rect"))) > 2 * len(known)
    assert not list(drawn.root.iter(f"{SVG}image"))
    title, desc = drawn.root.findtext(f"{SVG}title"), drawn.root.findtext(f"{SVG}desc") or ""
    assert title == "Weights · head 0"
    assert "<img src=x onerror=alert(1)> ]]> -->" in desc

    sheet = export.pdf()
    check_fonts(sheet)
    assert [float(side) for side in sheet.mediabox[2:]] == [side * 0.75 for side in drawn.size]
    read = sheet.extract_text()
    for label in tokens.labels:
        assert label in read, label
    in_svg, in_pdf = drawn.rectangles(), rectangles(sheet)
    assert len(in_svg) > 2 * len(known)
    nearest = np.abs(in_pdf[None] - in_svg[:, None]).max(-1).min(-1)
    assert nearest.max() < 0.011 + OVERLAP, "each rectangle is where it is in the SVG"

    png = export.png(scale="4", ground="paper", theme="dark")
    assert png.size == tuple(side * 4 for side in drawn.size)
    assert png.getpixel((1, 1)) == (0x14, 0x14, 0x1B, 255)
    assert export.png(scale="1", ground="paper", theme="dark").size == drawn.size
    clear = export.png(scale="2", ground="none", theme="light")
    assert clear.getpixel((1, 1))[3] == 0
    assert len(clear.getcolors(2**24) or []) > 50
    export.section.get_by_role("checkbox", name="Title and caption").uncheck()
    bare = export.svg()
    assert "Weights · head 0" not in bare.texts
    bare.check_from_and_to(1)
    assert bare.size[1] < drawn.size[1]

    export.section.get_by_role("button", name="Copy picture").click()
    expect(export.section).to_contain_text("Copied as a picture, 2×.")
    copied = export.page.evaluate(
        """async () => {
          const [item] = await navigator.clipboard.read();
          const picture = await createImageBitmap(await item.getType('image/png'));
          return [picture.width, picture.height];
        }"""
    )
    assert copied == [side * 2 for side in bare.size]


def test_heads_compare_and_the_chart_are_exported_as_they_are_seen(page: Page, app_url: str) -> None:
    export = Exporting(page, f"{app_url}/heads", text=TEXT, layer=3, head=5, chosen="3.5", q=2)
    trace = built_in_model().trace(TEXT)
    labels = set(trace.query_tokens("encoder").labels)
    drawn = export.svg()
    drawn.check_self_contained()
    drawn.check_from_and_to(3)  # thumbnails, lines and a heatmap
    assert all(drawn.texts.count(label) >= 3 for label in labels)  # twice beside the lines, and at the heatmap's rows
    assert len(list(drawn.root.iter(f"{SVG}image"))) == 72
    strongest = trace.attentions(3)[5][2].max().item()
    assert f"{strongest:.4f}" in drawn.texts
    for other in ("grid", "heatmaps"):
        export.section.get_by_role("checkbox", name=other).uncheck()
    lines = export.svg()
    assert not list(lines.root.iter(f"{SVG}image"))
    lines.check_from_and_to(1)
    assert len(list(lines.root.iter(f"{SVG}path"))) > 5

    close_export(page)
    export = Exporting(page, f"{app_url}/compare", text=TEXT, b_text=TEXT.replace("street", "road"), q=2, k=1)
    a, b = (WordTokenizer().tokenize(text) for text in (TEXT, TEXT.replace("street", "road")))
    assert align_tokens(a, b).first == tuple(range(len(a)))
    one, two = (run_block(tokens.ids, ToyConfig()).layer(0).head(0).weights.numpy() for tokens in (a, b))
    plain = export.svg()
    plain.check_from_and_to(1)
    shown, cells = plain.numbers(), len(a) ** 2
    assert shown[2 * cells :][:2].tolist() == [1, 0.5]  # the colour bar of A and B
    shown = np.delete(shown, slice(2 * cells, 2 * cells + 2))
    for n, known in enumerate((one, two, one - two)):
        np.testing.assert_allclose(shown[n * cells : (n + 1) * cells], known.ravel(), atol=0.0051)
    export.section.get_by_role("checkbox", name="Tokens above").check()
    slide = export.choose(shape="wide").svg()
    assert slide.size[0] / slide.size[1] > 1.77
    assert slide.size[0] / slide.size[1] < 1.79
    assert sum(slide.texts.count(token) - plain.texts.count(token) for token in a.labels) == len(a) - 1  # street | road
    assert f"A {one[2, 1]:.4f} − B {two[2, 1]:.4f} = " in " ".join(slide.texts)
    assert all(text.get("textLength") for text in slide.root.iter(f"{SVG}text") if len(text.text or "") > 1)

    close_export(page)
    export = Exporting(page, app_url, text=TEXT, step="weights", drawing="chart")
    chart = export.choose(theme="dark").svg()
    chart.check_self_contained()
    chart.check_from_and_to(1)
    assert set(a.labels) <= set(chart.texts)
    shown = chart.numbers()
    assert any(np.allclose(shown[n : n + cells], one.ravel(), atol=0.0051) for n in range(len(shown) - cells + 1))


def test_a_way_of_averaging_says_from_and_to_without_its_caption(page: Page, app_url: str) -> None:
    export = Exporting(page, f"{app_url}/averages", text=TEXT, way="softmax")
    export.section.get_by_label("Title and caption").uncheck()
    export.svg().check_from_and_to(1)


def test_a_scene_is_exported_in_lecture_mode(page: Page, app_url: str) -> None:
    scene = shipped()["attention"].scenes[5]
    page.goto(f"{app_url}/?{scene.query}&lesson=attention&scene=6&lecture=1")
    button = settled(page).locator(".st-key-export button").first
    expect(button).to_be_hidden()
    page.keyboard.press("x")
    button.click()
    section = page.locator(".export-view")
    section.locator("input[name=format][value=svg]").check(force=True)
    section.get_by_label("Title and caption").check()
    expect(section.get_by_label("Title", exact=True)).to_have_value(scene.title)
    with page.expect_download() as found:
        section.get_by_role("button", name="Download SVG").click()
    texts = "".join(ET.fromstring(Path(found.value.path()).read_text(encoding="utf-8")).itertext())
    assert scene.title in texts
    assert "6.09" in texts  # the score of the pinned cell, which the sentence says
    page.keyboard.press("Escape")
    expect(section).to_be_hidden()
    page.keyboard.press("x")
    expect(button).to_be_hidden()


def test_tokens_are_exported_with_their_ids(page: Page, app_url: str) -> None:
    export = Exporting(page, f"{app_url}/tokens", text=HOSTILE)
    svg = export.svg()
    svg.check_self_contained()
    tokens = WordTokenizer().tokenize(HOSTILE)
    assert {*map(str, tokens.ids)} <= set(svg.texts)
    for label in tokens.labels:
        assert any(label in text for text in svg.texts), label
    assert {"Characters", "Words", "BERT WordPiece"} <= set(svg.texts)
    assert {*map(str, WordPiece().tokenize(HOSTILE).ids)} <= set(svg.texts)


def test_the_sentence_is_exported_with_its_arcs_and_shares(page: Page, app_url: str) -> None:
    export = Exporting(page, app_url, text=HOSTILE, step="tokens", q="1")
    svg = export.svg()
    svg.check_self_contained()
    steps = run_block(WordTokenizer().tokenize(HOSTILE).ids, ToyConfig()).layer(0).head(0)
    for label in WordTokenizer().tokenize(HOSTILE).labels:
        assert any(label in text for text in svg.texts), label
    row = steps.weights[1]
    assert f"{100 * float(row.max()):.0f} %" in svg.texts
    assert export.page.locator(".sentence path").count() == int((row >= 0.01).sum().clamp(max=12))


def test_curves_of_a_training_are_lines_and_text_on_a_slide(page: Page, app_url: str) -> None:
    export = Exporting(page, f"{app_url}/train", task="induction", run="recorded")
    expect(export.section.get_by_label("heatmaps")).to_be_checked()
    export.svg().check_from_and_to(2)
    for name in ("grid", "heatmaps"):
        export.section.locator(".pictures").get_by_label(name).uncheck()
    accuracy, loss = Presentation(io.BytesIO(export.download("pptx")[1])).slides
    texts = [shape.text_frame for slide in (accuracy, loss) for shape in slide.shapes if shape.has_text_frame]
    said = [{shape.text_frame.text for shape in slide.shapes if shape.has_text_frame} for slide in (accuracy, loss)]
    assert {"accuracy, held out", "100 %"} <= said[0] and {"Loss, in nats", "held out", "training"} <= said[1]
    sizes = [run.font.size.inches * 96 for one in texts for run in one.paragraphs[0].runs]
    assert min(sizes) >= 14  # a slide is 1280 pixels wide
    (recording, *_) = recorded.of_task("induction")
    steps, losses = np.array([(one.step, one.loss) for one in recording.view.evaluations]).T
    curves = [
        np.array([(int(at.get("x")), int(at.get("y"))) for at in shape._element.iter(f"{DRAWING}pt")]).T
        for shape in loss.shapes
        if shape.shape_type == MSO_SHAPE_TYPE.FREEFORM
    ]
    same = [(x, y) for x, y in curves if len(x) == len(steps) and len(set(y)) > 1]
    agreeing = [(x, y) for x, y in same if np.corrcoef(y, losses)[0, 1] < -0.9999]  # y points down
    assert len(agreeing) == 1
    assert np.corrcoef(agreeing[0][0], steps)[0, 1] > 0.9999


def test_only_a_server_offers_pdf_and_slides(run: Run) -> None:
    fields = """const said = document.createElement("p");
      const fields = new m.Fields({ said, onChange() {}, onDownload() {}, onCopy() {} });
      const asked = () => [...fields.element.querySelectorAll("[name=format]")];
      document.body.append(fields.element);
      fields.setWords({ title: "", caption: "", server: given.server }, "light");
      asked().find(({ value }) => value === given.chosen)?.click();
      return [asked().map(({ value }) => value), fields.download.textContent];"""
    with_server = run("export/fields.ts", fields, {"server": PATHS, "chosen": "pdf"})
    assert with_server == [["svg", "png", "pdf", "pptx", "gif", "webm"], "Download PDF"]
    assert run("export/fields.ts", fields, {"server": None, "chosen": "pdf"}) == [
        ["svg", "png", "gif", "webm"],
        "Download SVG",
    ]


def test_without_a_server_an_svg_names_its_font_and_holds_none(run: Run) -> None:
    text = {"kind": "text", "text": "a", "matrix": [1, 0, 0, 1, 5, 5], "size": 9, "bold": False, "anchor": "start",
            "width": 5, "fill": "#000000", "alpha": 1, "clip": None}  # fmt: skip
    sheet = {"marks": [text], "width": 20, "height": 10, "paper": None, "title": "t", "caption": ""}
    make = """const how = { scale: 1, server: null, family: "sans-serif" };
      return (await m.makeFile(given, "svg", how)).text();"""
    svg = run("export/files.ts", make, sheet)
    assert Drawn(svg.encode()).texts == ["a"]
    assert "Source Sans" in svg
    assert "@font-face" not in svg
