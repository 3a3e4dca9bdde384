"""Exported walks: the numbers in every file are torch's, decks and pages are whole, and no text breaks a file."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pptx import Presentation
from pptx.opc.constants import RELATIONSHIP_TYPE
from pypdf import PdfReader
from torch.nn.functional import scaled_dot_product_attention

from attnviz.attention import causal_mask
from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe, wrap
from attnviz.export.drawing.marks import LIGHT_THEME, THEMES, Matrix, Text
from attnviz.export.drawing.picture import image, png
from attnviz.export.files.formats import FORMATS, TooLongError, svg_files
from attnviz.export.files.pdf import write_pdf
from attnviz.export.files.slides import write_slides
from attnviz.export.files.svg import write_svg
from attnviz.export.files.tikz import tex, write_tikz
from attnviz.export.sheets import (
    HEIGHT,
    PICTURE_BOTTOM,
    WIDTH,
    draw_sheet,
    link_to,
    sheets,
)
from attnviz.export.views import walk_of
from attnviz.figures.panels import Panel
from attnviz.links.link import read_link
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import shown
from attnviz.steps import ATTENTION, STEPS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.walk import Walk
from tests.toy import run_block, tokens_of

DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
SVG = "{http://www.w3.org/2000/svg}"
SITE = "http://hall.example:8501"
NASTY = r"<img src=x onerror=alert(1)> \input{x} $a_1^2$ 100% & # ~ } 你好 🙂 مرحبا é" + " " + "x" * 200 + " \0 \ufffe"


def toy(text: str, **settings: str) -> Walk:
    view, notes = read_link({"text": text, "head": "1"} | settings)
    assert not notes
    return walk_of(view, shown(view.__getitem__, DirectResources()), DirectResources(), SITE)


@cache
def causal_toy() -> Walk:
    return toy("The cat sat down .", mask="causal")


@cache
def minilm() -> Walk:
    view, _ = read_link({"text": "The cat sat.", "source": "pretrained", "layer": "3", "head": "5"})
    return walk_of(view, shown(view.__getitem__, DirectResources()), DirectResources(), SITE)


def weights_of_torch(walk: Walk) -> np.ndarray:
    """Torch's own attention on values that are unit vectors gives its weights."""
    layer, head = walk.layer, walk.head
    n = layer.key.shape[1]
    mask = None if layer.mask.kind == "none" else causal_mask(n)
    return scaled_dot_product_attention(
        layer.query[None, head], layer.key[None, head], torch.eye(n)[None], attn_mask=mask, scale=layer.scale
    )[0].numpy()


def read(text: str) -> float:
    """Read a number as it is written in a cell; a hidden cell, "", has a weight of 0."""
    return float(text.replace("−", "-").replace("$", "") or 0)


def in_svg(walk: Walk, name: str, shape: tuple[int, int]) -> list[float]:
    root = ET.fromstring(write_svg(draw_sheet(sheets(walk, [name])[0])))
    group = next(g for g in root.iter(f"{SVG}g") if g.get("data-name") == name)
    box = group.findall(f"{SVG}rect")[-1]  # the frame comes last
    wide, high = (float(box.get(side, "")) / n for side, n in zip(("height", "width"), shape, strict=True))
    found = np.zeros(shape)
    for text in group.iter(f"{SVG}text"):
        i = int((float(text.get("y", "")) - float(box.get("y", ""))) / wide)
        found[i, int((float(text.get("x", "")) - float(box.get("x", ""))) / high)] = read(text.text or "")
    return found.flatten().tolist()


def in_deck(walk: Walk, name: str, shape: tuple[int, int]) -> list[float]:
    deck = Presentation(io.BytesIO(write_slides(sheets(walk, [name]))))
    table = next(shape_ for shape_ in deck.slides[0].shapes if shape_.has_table and shape_.name == name).table
    assert (len(table.rows), len(table.columns)) == shape
    return [read(cell.text) for row in table.rows for cell in row.cells]


def in_tikz(walk: Walk, name: str, shape: tuple[int, int]) -> list[float]:
    rows, cols = shape
    source = write_tikz(sheets(walk, [name])).split(f"% {name}, {rows} x {cols}")[1].split(r"\end{scope}")[0]
    found = np.zeros(shape)
    for i, j, number in re.findall(r"\\avcell\{(\d+)\}\{(\d+)\}\{\w{6}\}\{\w{6}\}\{([^}]*)\}", source):
        found[int(i), int(j)] = read(number)
    return found.flatten().tolist()


@pytest.mark.parametrize("reader", [in_svg, in_deck, in_tikz])
@pytest.mark.parametrize("walk", [causal_toy, minilm])
def test_the_weights_in_the_files_are_those_of_torch(
    walk: Callable[[], Walk], reader: Callable[[Walk, str, tuple[int, int]], list[float]]
) -> None:
    expected = weights_of_torch(walk())
    np.testing.assert_allclose(reader(walk(), "weights", expected.shape), expected.flatten(), atol=0.005 + 1e-6)


def test_the_head_outputs_in_the_files_are_those_of_torch() -> None:
    walk = causal_toy()
    layer = walk.layer
    expected = scaled_dot_product_attention(
        layer.query[None, 1], layer.key[None, 1], layer.value[None, 1], is_causal=True, scale=layer.scale
    )[0].numpy()
    for reader in (in_svg, in_deck, in_tikz):
        np.testing.assert_allclose(reader(walk, "head_outputs", (5, 8)), expected.flatten(), atol=0.005 + 1e-6)
    page = PdfReader(io.BytesIO(write_pdf([draw_sheet(sheets(walk, ["head_outputs"])[0])]))).pages[0].extract_text()
    for number in expected.flatten():
        assert f"{number:.2f}".replace("-", "−") in page or abs(number) < 0.005


def test_why_cells_are_masked_is_seen_and_said_in_every_format() -> None:
    walk = run_block(range(7), ToyConfig(causal=True, window=3, padding=2)).walk(0, 0)
    reasons = walk.layer.mask_reasons
    assert reasons is not None
    counts, sheet = reasons.counts(7, 7), sheets(walk, ["masked"])
    picture = write_svg(draw_sheet(sheet[0]))
    ids = {"future": "hatch", "window": "hatch-window", "padding": "hatch-padding"}
    assert {name: picture.count(f'fill="url(#{ids[name]})"') for name in counts} == counts
    assert all(picture.count(f'<pattern id="{name}"') == 1 for name in ids.values())
    assert "/ future, \\ outside of the window, × padding" in picture
    deck = Presentation(io.BytesIO(write_slides(sheet)))
    table = next(shape for shape in deck.slides[0].shapes if shape.has_table and shape.name == "masked").table
    fills = [cell._tc.tcPr.find("{*}pattFill") for row in table.rows for cell in row.cells]
    presets = Counter(fill.get("prst") for fill in fills if fill is not None)
    assert presets == dict(zip(("wdUpDiag", "wdDnDiag", "openDmnd"), counts.values(), strict=True))
    source = write_tikz(sheet)
    for command, name in (("avhidden", "future"), ("avwindow", "window"), ("avpadding", "padding")):
        cells = re.findall(rf"^\\{command}{{\d+}}{{\d+}}{{(\d+)}}$", source, re.MULTILINE)
        assert sum(map(int, cells)) == counts[name]
    assert picture_colours(walk) >= {colour for pair in LIGHT_THEME.hatch.values() for colour in pair}


def picture_colours(walk: Walk) -> set[str]:
    """Return the colours of the pixels of the masked scores."""
    matrix = next(each for each in draw_sheet(sheets(walk, ["masked"])[0]).matrices if each.name == "masked")
    pixels = np.asarray(image(matrix)).reshape(-1, 3)
    return {"#{:02X}{:02X}{:02X}".format(*pixel) for pixel in np.unique(pixels, axis=0)}


def test_masked_cells_are_hatched_and_carry_no_number() -> None:
    walk, hidden = causal_toy(), 10
    sheet = sheets(walk, ["masked"])
    assert write_svg(draw_sheet(sheet[0])).count('fill="url(#hatch)"') == hidden
    deck = Presentation(io.BytesIO(write_slides(sheet)))
    table = next(shape for shape in deck.slides[0].shapes if shape.has_table and shape.name == "masked").table
    patterned = [cell for row in table.rows for cell in row.cells if cell._tc.tcPr.find("{*}pattFill") is not None]
    assert len(patterned) == hidden
    assert not any(cell.text for cell in patterned)
    spans = re.findall(r"\\avhidden\{\d\}\{\d\}\{(\d)\}", write_tikz(sheet))
    assert sum(map(int, spans)) == hidden


def test_a_deck_has_a_slide_a_step_with_notes_and_the_link() -> None:
    walk = minilm()
    deck = Presentation(io.BytesIO(FORMATS["pptx"].write(sheets(walk))))
    assert (deck.slide_width, deck.slide_height) == (12192000, 6858000)  # 16:9
    titles = [step.title for step in STEPS.values()]
    titles[1] = "Hidden states"  # a later layer receives no embeddings
    assert [slide.shapes.title.text for slide in deck.slides] == titles
    for slide, step in zip(deck.slides, STEPS, strict=True):
        link = f"{SITE}/?text=The+cat+sat.&source=pretrained&layer=3&head=5&step={step}"
        notes = slide.notes_slide.notes_text_frame.text
        assert f"This step in the app: {link}" in notes
        assert walk.layer.heads == 12
        assert "In P" in notes
        addresses = [r.hyperlink.address for s in slide.shapes if s.has_text_frame
                     for p in s.text_frame.paragraphs for r in p.runs]  # fmt: skip
        assert link in addresses
        if step != "tokens":
            assert ATTENTION[step].notice(walk) in notes
        assert all(s._element.nvPicPr.cNvPr.get("descr") for s in slide.shapes if s.shape_type == 13)


def test_pages_and_numbered_pictures() -> None:
    walk = causal_toy()
    reader = PdfReader(io.BytesIO(FORMATS["pdf"].write(sheets(walk))))
    assert len(reader.pages) == len(STEPS)
    assert "Each row now sums to 1" in reader.pages[6].extract_text()
    assert reader.pages[6]["/Annots"][0].get_object()["/A"]["/URI"] == sheets(walk)[6].link
    names = list(svg_files(sheets(walk, ["weights", "scores"])))
    assert names == ["04-scores.svg", "07-weights.svg"]


@pytest.mark.parametrize("words", [1, 5, 12, 60])
def test_nothing_lies_over_anything_else_or_off_the_sheet(words: int) -> None:
    walk = toy(" ".join(["internationalisation", "it", "was"][i % 3] + str(i) for i in range(words)), mask="causal")
    for sheet in sheets(walk):
        drawing = draw_sheet(sheet)
        boxes = [(m.x, m.y, m.x + m.width, m.y + m.height) for m in drawing.matrices]
        for mark in drawing.flat:
            if isinstance(mark, Text) and not mark.turn:
                wide = fonts.width(mark.text, mark.size, mark.bold)
                left = mark.x - {"start": 0.0, "middle": wide / 2, "end": wide}[mark.anchor]
                assert left >= 0, (sheet.step, mark)
                assert left + wide <= WIDTH, (sheet.step, mark)
                assert 0 < mark.y < HEIGHT
                boxes.append((left, mark.y - 0.6 * mark.size, left + wide, mark.y - 0.05 * mark.size))
        assert all(m.y + m.height <= PICTURE_BOTTOM for m in drawing.matrices)
        for i, (left, top, right, foot) in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = right <= other[0] + 1 or other[2] <= left + 1 or foot <= other[1] + 1 or other[3] <= top + 1
                assert apart, (sheet.step, words, boxes[i], other)


def luminance(colour: str) -> float:
    """Return the relative luminance of "#5E3C99" (WCAG 2.2)."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", THEMES)
def test_every_word_of_a_sheet_is_read_well_in_the_light_and_in_the_dark(name: str) -> None:
    theme = THEMES[name]
    ink = theme.ink
    for sheet in sheets(causal_toy(), theme=theme):
        drawing = draw_sheet(sheet)
        paper = luminance(drawing.theme.paper)
        for text in drawing.texts:
            light, dark = sorted((luminance(text.colour), paper), reverse=True)
            least = 3 if text.colour in (ink.query, ink.key, ink.value, ink.attention) else 4.5
            assert (light + 0.05) / (dark + 0.05) >= least, (sheet.step, text)


def test_files_in_the_dark_hold_the_same_on_dark_paper() -> None:
    light, dark = (sheets(causal_toy(), ["tokens", "masked", "weights"], THEMES[name]) for name in ("light", "dark"))
    for one, other in zip(light, dark, strict=True):
        roots = [ET.fromstring(write_svg(draw_sheet(sheet))) for sheet in (one, other)]
        texts = [[text.text for text in root.iter(f"{SVG}text")] for root in roots]
        assert texts[0] == texts[1]
        hatches = [next(root.iter(f"{SVG}rect")).get("fill") for root in roots]
        grounds = [root.find(f"{SVG}rect").get("fill") for root in roots]
        assert grounds == ["#FFFFFF", "#14141B"]
        assert hatches == ["#D4D4DC", "#3A3A46"]
    deck = Presentation(io.BytesIO(FORMATS["pptx"].write(dark)))
    assert {str(slide.background.fill.fore_color.rgb) for slide in deck.slides} == {"14141B"}
    assert deck.slide_master._element.find("{*}clrMap").get("tx1") == "lt1"  # what is added is light
    theme = ET.fromstring(deck.slide_master.part.part_related_by(RELATIONSHIP_TYPE.THEME).blob)
    assert {link[0].get("val") for name in ("hlink", "folHlink") for link in theme.iter(f"{DRAWING}{name}")} == {
        "6CBDF0"
    }
    stream = PdfReader(io.BytesIO(FORMATS["pdf"].write(dark))).pages[2].get_contents().get_data()
    assert re.search(rb"\.078431 \.078431 \.105882 rg\s+n 0 0 1280 720 re f", stream)


def test_no_text_breaks_a_file() -> None:
    walk = toy(NASTY)
    shown = sheets(walk, ["tokens", "weights"])
    root = ET.fromstring(write_svg(draw_sheet(shown[0])))
    allowed = {"svg", "title", "desc", "defs", "style", "pattern", "rect", "text", "a", "line"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "onerror=alert(1)>" in texts
    assert "مرحبا" in texts
    page = PdfReader(io.BytesIO(write_pdf([draw_sheet(shown[0])]))).pages[0].extract_text()
    assert "U+4F60" in page  # named among what the typeface lacks
    deck = Presentation(io.BytesIO(write_slides(shown)))
    table = next(shape for shape in deck.slides[0].shapes if shape.has_table).table
    assert [row.cells[1].text for row in table.rows][1:4] == ["<img", "src=x", "onerror=alert(1)>"]
    assert r"\input" not in write_tikz(shown)


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
@pytest.mark.parametrize("with_beamer", [True, False])
def test_pdflatex_sets_it(with_beamer: bool, tmp_path: Path) -> None:
    source = write_tikz(sheets(toy(NASTY, mask="causal"), ["tokens", "scores", "weights"]))
    if not with_beamer:
        source = source.replace("beamer.cls", "not-installed.cls", 1)
    (tmp_path / "walk.tex").write_text(source, encoding="ascii")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "walk.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    pages = PdfReader(tmp_path / "walk.pdf").pages
    assert len(pages) == 3
    assert "U+4F60" in pages[0].extract_text()


@given(st.text())
def test_any_text_is_escaped_for_latex(text: str) -> None:
    written = tex(text)
    assert written.isascii()
    assert not re.search(r"(?<!\\)(\\\\)*[%#&$]", written.replace(r"\$", "").replace(r"\&", ""))
    bare = re.sub(r"\\[{}]", "", written)
    assert bare.count("{") == bare.count("}")


@given(st.text(), st.floats(30, 400))
@examples(max_examples=50)
def test_any_text_is_safe_in_xml_and_stays_in_its_room(text: str, room: float) -> None:
    assert ET.fromstring(f"<a>{safe(text).translate({38: None, 60: None, 62: None})}</a>").tag == "a"
    lines = wrap(safe(text), room, 20, 3)
    assert len(lines) <= 3
    assert all(fonts.width(line, 20) <= room for line in lines)


def test_large_matrices_are_pictures_with_whole_pixels_a_cell() -> None:
    from PIL import Image

    from attnviz.export.drawing.picture import colour_cells
    from attnviz.figures.style import LIGHT

    values = np.linspace(-3, 3, 40 * 60, dtype=np.float32).reshape(40, 60)
    values[0, 0] = np.nan
    colours = colour_cells(Panel("scores", "scores", values, "query", "key"), LIGHT)
    picture = np.asarray(Image.open(io.BytesIO(png(Matrix("scores", 0, 0, 301, 203, values, colours)))))
    down, across = picture.shape[0] // 40, picture.shape[1] // 60
    assert picture.shape == (40 * down, 60 * across, 3)
    np.testing.assert_array_equal(picture[down // 2 :: down, across // 2 :: across][1:], colours[1:])


def test_the_typeface_and_what_it_lacks() -> None:
    assert fonts.ttf()[:4] == fonts.ttf(bold=True)[:4] == b"\0\1\0\0"
    assert fonts.ttf() != fonts.ttf(bold=True)
    assert fonts.missing("0123456789−…·×√∞ᵀΣé") == ""
    assert fonts.replace_missing("a你") == "a\ufffd"
    assert fonts.width("mm", 10) > fonts.width("ii", 10) > 0
    assert fonts.subset("abc")[:4] == b"wOF2"


def test_texts_that_are_too_long_for_a_format_are_refused() -> None:
    walk = toy(" ".join("word" for _ in range(200)))
    with pytest.raises(TooLongError, match="TikZ takes up to 128 tokens, and this view has 200"):
        FORMATS["tikz"].check(walk)
    FORMATS["pptx"].check(walk)
    for queries, keys, longest in ((128, 5, 0), (129, 5, 129), (5, 129, 129)):
        sides: Any = SimpleNamespace(query_labels=["a"] * queries, key_labels=["b"] * keys)
        with pytest.raises(TooLongError, match=f"has {longest}") if longest else nullcontext():
            FORMATS["tikz"].check(sides)


def test_a_sheet_says_its_number_its_head_its_text_and_its_link() -> None:
    walk = toy("a b", seed="3")
    first, second = sheets(walk, ["qkv", "output"])
    for number, sheet in ((1, first), (2, second)):
        drawing = draw_sheet(sheet)
        texts = {text.text: text for text in drawing.texts}
        title, name, quoted = (texts[said] for said in (sheet.title, walk.name, "“a b”"))
        assert title.bold and title.anchor == "start" and title.size > max(name.size, quoted.size)
        assert name.anchor == quoted.anchor == "end" and title.x + name.x == quoted.x + title.x == WIDTH
        place, link = texts[f"{number} / 2"], texts[sheet.link]
        assert (place.anchor, place.x, link.x, place.y) == ("end", name.x, title.x, link.y)
        assert link.link == f"{SITE}/?text=a+b&head=1&seed=3&step={sheet.step}"
        assert drawing.title == f"{sheet.title} · {walk.name}" and drawing.alt == safe(sheet.alt)
        said = " ".join(text.text for text in drawing.texts if 630 < text.y < 700)
        assert f"{sheet.notice} {sheet.fact}".strip().startswith(said.rstrip("…"))
    unlinked = draw_sheet(sheets(replace(walk, link=""), ["qkv"])[0])
    assert not any(text.link for text in unlinked.texts) and "1 / 1" in {text.text for text in unlinked.texts}
    assert [text.link for text in draw_sheet(first, bare=True).texts if text.link] == []


def test_a_part_of_a_transformer_is_linked_by_the_key_of_its_page() -> None:
    trace = trace_transformer(WordTokenizer().tokenize("a b"), None, TransformerConfig("decoder", depth=1, width=8))
    walk = replace(trace.walk_at(0, 0), link=f"{SITE}/transformer?text=a+b&part=qkv")
    shown = sheets(walk, ["weights", "output"])
    assert [sheet.link.partition("?")[2] for sheet in shown] == [f"text=a+b&part={sheet.step}" for sheet in shown] != []


@pytest.mark.parametrize(("count", "begin", "end"), [
    (1, "1 token with its id: ", " 0."), (2, "2 tokens with their ids: ", " 1."), (50, "50 tokens with", " 49."),
    (51, "51 tokens with", " 49, …."),
])  # fmt: skip
def test_tokens_are_described_with_the_first_50_ids(count: int, begin: str, end: str) -> None:
    (sheet,) = sheets(replace(toy("a"), query_tokens=tokens_of(range(count))), ["tokens"])
    assert sheet.alt.startswith(begin) and sheet.alt.endswith(end)


def test_a_slide_of_tikz_has_its_title_its_head_its_notice_and_its_link() -> None:
    walk = replace(toy("a b"), name="50 % of a_model", link="https://x.example/?a=1&b=%25")
    (sheet,) = sheets(walk, ["scaled"])
    source = write_tikz([sheet])
    slide = source.partition("% ---- scaled\n")[2]
    assert slide.startswith(f"\\avslide{{{tex(sheet.title)}}}{{50 \\% of a\\_model}}{{")
    assert f"{{{tex(f'{sheet.notice} {sheet.fact}'.strip())}}}" in slide
    assert r"{\href{https://x.example/?a=1\&b=\%25\&step=scaled}{" in slide
    assert r"\href{http" not in write_tikz(sheets(replace(walk, link=""), ["scaled"]))
    assert write_tikz([sheet, *sheets(walk, ["scores"])]).count("% ---- ") == 2


def test_what_a_model_does_not_give_is_said_under_the_picture() -> None:
    walk = toy("a b")
    layer = replace(walk.layer, projections=None, unavailable={"projections": "This model hides its maps."})
    sheet = sheets(replace(walk, layer=layer), ["qkv"])[0]
    assert any("This model hides its maps." in text.text for text in draw_sheet(sheet).texts)
    assert "This model hides its maps." in sheet.notes


def test_notes_say_the_scale_with_four_digits_and_a_link_keeps_its_blank_keys() -> None:
    walk = toy("a b", scale="0.12345")
    assert "Scale = 0.1235;" in sheets(walk, ["scaled"])[0].notes
    assert link_to(f"{SITE}/?text=&head=1&step=qkv", "scores") == f"{SITE}/?text=&head=1&step=scores"
    assert link_to("", "scores") == ""
