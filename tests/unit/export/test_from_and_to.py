"""Every file with a matrix of queries and keys says what its rows and columns are: each is read back."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pptx import Presentation
from pypdf import PdfReader

from attnviz.cli.export import FORMATS as NAMES
from attnviz.export.drawing.marks import LIGHT_THEME, Text
from attnviz.export.files import images
from attnviz.export.files.formats import FORMATS, svg_files
from attnviz.export.files.images import Frame, write_animation
from attnviz.export.files.picture_slide import write_picture_slides
from attnviz.export.jobs import WEB, Exporter
from attnviz.export.recording import Picture, Pixels, Recording
from attnviz.export.sheets import sheets
from attnviz.export.views import caption
from attnviz.export.web.mistake import ALONE, BESIDE, SIZE, draw, found_in
from attnviz.export.web.pictures import draw_view
from attnviz.figures.corpus import by_part
from attnviz.figures.panels import Layout, Panel
from attnviz.figures.steps import step_spec
from attnviz.figures.style import AXIS_TITLE, LIGHT, ROWS_AND_COLUMNS, brief_title
from attnviz.links.link import KEYS, read_link
from attnviz.notebook.widgets import draw_heads, draw_step
from attnviz.sources.models import DirectResources
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from tests.unit.export.test_walk import toy

TITLES = (AXIS_TITLE["query"], AXIS_TITLE["key"])
Drawn = list[str]
"""The texts that were drawn as pixels"""


@pytest.fixture
def pixels(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Return the list that gets each text as it is drawn into a picture of pixels."""
    drawn: Drawn = []
    draw_text = images._Canvas.text

    def recorded(self: Any, mark: Text) -> None:
        drawn.append(mark.text)
        draw_text(self, mark)

    monkeypatch.setattr(images._Canvas, "text", recorded)
    return drawn


def texts_of_svg(data: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(data).iter("{http://www.w3.org/2000/svg}text")]


def texts_of_slides(data: bytes) -> list[str]:
    (slide,) = Presentation(io.BytesIO(data)).slides
    return [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]


def texts_of_pdf(data: bytes) -> list[str]:
    return PdfReader(io.BytesIO(data)).pages[0].extract_text().splitlines()


def texts_of_tikz(data: bytes) -> list[str]:
    return re.findall(r"\\avsize\{[\d.]+\}([^}]*)\};", data.decode())


def texts_of_tables(data: bytes) -> list[str]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert json.loads(archive.read("about.json"))["axes"] == ROWS_AND_COLUMNS
    ((first, *_), *_) = csv.reader(io.StringIO(archive.read("weights.csv").decode("utf-8-sig")))
    return first.split(" \\ ")


def texts_of_arrays(data: bytes) -> list[str]:
    with np.load(io.BytesIO(data)) as arrays:
        return [str(arrays["axes"])]


def texts_of_notebook(data: bytes) -> list[str]:
    heading: list[str] = json.loads(data)["cells"][0]["source"]
    return heading


def texts_of_script(data: bytes) -> list[str]:
    return [line.removeprefix("# ") for line in data.decode().splitlines()]


READ: dict[str, Callable[[bytes], list[str]]] = {
    "svg": texts_of_svg, "pptx": texts_of_slides, "pdf": texts_of_pdf, "tikz": texts_of_tikz, "csv": texts_of_tables,
    "npz": texts_of_arrays, "ipynb": texts_of_notebook, "py": texts_of_script,
}  # fmt: skip


def says_both(texts: list[str], titles: tuple[str, ...] = TITLES) -> bool:
    """Whether the axes have their titles, or a sentence says what rows and columns are."""
    return set(titles) <= {text.strip() for text in texts} or any(ROWS_AND_COLUMNS in text for text in texts)


def of_head(kind: str, step: str = "weights", **link: str) -> list[str]:
    """Return the texts of a step of a head in a format of the command line."""
    view, notes = read_link({"text": "the cat sat", **link})
    assert not notes
    exporter = Exporter()
    (job,) = exporter.jobs([view], [0], [1])
    (data,) = exporter.make(job, exporter.walk(job.view), kind, [step]).values()
    return READ[kind](data)


@pytest.mark.parametrize("kind", [kind for kind in NAMES if kind != WEB])
def test_every_format_of_the_command_line_says_it(kind: str) -> None:
    assert says_both(of_head(kind))


@pytest.mark.parametrize("kind", ["svg", "pptx", "pdf", "tikz"])
def test_beside_a_matrix_too_low_for_the_title_stands_its_word(kind: str) -> None:
    (sheet,) = sheets(toy("the cat sat"), ["weights"])
    low = Panel("weights", "weights", np.ones((1, 3), np.float32), "query", "key")
    sheet = replace(sheet, layout=Layout([[low]] * 7, [1], [1] * 7))
    data = next(iter(svg_files([sheet]).values())) if kind == "svg" else FORMATS[kind].write([sheet])
    assert says_both(READ[kind](data), (brief_title(AXIS_TITLE["query"]), AXIS_TITLE["key"]))


AXES = "3 rows: query (from), 3 columns: key (to)"
"""What is said of a matrix of three tokens to those who do not see it"""


def test_a_slide_says_it_of_each_matrix_to_those_who_do_not_see_it() -> None:
    (sheet,) = sheets(toy("the cat sat"), ["weights"])
    (slide,) = Presentation(io.BytesIO(FORMATS["pptx"].write([sheet]))).slides
    said = [text for shape in slide.shapes if (text := shape._element.xpath(".//p:cNvPr/@descr"))]
    assert [AXES in text for (text,) in said] == [True, True, False]
    assert said[-1][0].startswith("Σ, 3 rows: query (from), 1 column, ")


def test_a_deck_of_the_browsers_pictures_says_it_of_cells() -> None:
    """The caption of the page says it."""
    cells = Picture(Pixels(Image.new("RGBA", (2, 2)), (0, 0, 20, 20)), is_cells=True, alpha=1, clip=())
    recording = Recording(40, 40, None, "Weights", caption("heads", lambda key: KEYS[key].default), (cells,))
    (slide,) = Presentation(io.BytesIO(write_picture_slides([recording]))).slides
    ((alt,),) = (shape._element.xpath(".//p:cNvPr/@descr") for shape in slide.shapes)
    assert alt.startswith("Weights. ") and alt.endswith(ROWS_AND_COLUMNS)


def test_a_picture_in_an_svg_file_says_it_to_those_who_do_not_see_it() -> None:
    (sheet,) = sheets(toy("the cat sat"), ["weights"])
    (data,) = svg_files([sheet]).values()
    (described,) = ET.fromstring(data).iter("{http://www.w3.org/2000/svg}desc")
    assert (described.text or "").count(AXES) == 2


@pytest.mark.parametrize("kind", ["gif", "apng"])
def test_an_animation_of_a_training_says_it(kind: Any, pixels: Drawn) -> None:
    write_animation([Frame(np.eye(2, 3), "step 0")], kind, title="t", labels=("ab", "cde"))
    assert says_both(pixels)


def test_the_pictures_that_a_notebook_keeps_say_it(pixels: Drawn) -> None:
    draw_step(toy("the cat sat"), "weights")
    assert says_both(pixels)
    pixels.clear()
    draw_heads(np.zeros((2, 3, 4, 4), np.uint8), [0, 1], "All heads")
    assert says_both(pixels)


def test_figures_of_plotly_say_it() -> None:
    parts = by_part(np.eye(2), ["special", "other"], LIGHT)["layout"]
    assert (parts["yaxis"]["title"]["text"], parts["xaxis"]["title"]["text"]) == TITLES
    layout = step_spec(toy("the cat sat"), "weights")["layout"]
    titles = [axis["title"]["text"] for name, axis in layout.items() if re.fullmatch(r"[xy]axis\d*", name)]
    assert says_both(titles)


@pytest.mark.parametrize(
    ("page", "link"),
    [("heads", {"layer": "5"}), ("train", {"run": "recorded"}), ("train", {"train_part": "text", "rung": "heads"})],
)
def test_the_pictures_of_a_static_site_say_it(page: str, link: dict[str, str]) -> None:
    view, _ = read_link({"text": "two words", **link})
    for data in draw_view(page, view, DirectResources())[0].values():
        assert says_both(texts_of_svg(data))


@pytest.mark.parametrize("size", [SIZE, ALONE, BESIDE])
def test_the_pictures_of_a_mistake_say_it(size: tuple[float, float]) -> None:
    trace = trace_transformer(WordTokenizer().tokenize("the cat saw the dog run"), None, TransformerConfig())
    view = {**{name: key.default for name, key in KEYS.items()}, "mistake": "same"}
    for side in ("wrong", "right"):
        assert says_both(texts_of_svg(draw(found_in(view, trace), side, LIGHT_THEME, size)[0]))


@pytest.mark.parametrize("page", ["step_by_step", "heads", "compare", "averages", "transformer", "train"])
def test_the_caption_of_a_page_with_a_matrix_says_it(page: str) -> None:
    assert caption(page, lambda key: KEYS[key].default).endswith(ROWS_AND_COLUMNS)
