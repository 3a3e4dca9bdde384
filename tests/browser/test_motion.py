"""Steps that are played: every number on the way is torch's, and the bar plays, stops, and goes cell by cell."""

from __future__ import annotations

import io
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence
from playwright.sync_api import Locator, Page, expect

from attnviz.document import document_of_layer, write
from attnviz.figures.style import AXIS_TITLE
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.modules import BYTES, CORE, Run
from tests.browser.settle import frames
from tests.loaded import built_in_model
from tests.toy import run_block

TEXT = "The animal didn't cross the street because it was too tired."
LAYER, HEAD = 1, 3
Q, K = 10, 2

STILLS = f"""
  {BYTES}
  const {{ read }} = await import("{CORE}/document.ts");
  const {{ pictureOf }} = await import("{CORE}/../walk/pictures.ts");
  const document = read(bytes(given.file));
  const picture = pictureOf(document, given.step, given.head);
  const {{ factorsOf }} = await import("{CORE}/../walk/choices.ts");
  const timeline = m.timelineOf({{
    step: given.step, picture, ...factorsOf(document.header), example: given.example
  }});
  if (!timeline) return null;
  const cells = (boxes = []) => boxes.reduce((sum, {{ rows, columns }}) => sum + rows * columns, 0);
  return timeline.stills.map((t) => {{
    const {{ blank, written, flights, work, says }} = timeline.at(t);
    const open = Object.fromEntries(Object.entries(blank).map(([name, boxes]) => [name, cells(boxes)]));
    return {{ t, open, written, flights, work, says: says.map(([text]) => text).join("") }};
  }});
"""
"""What is shown at each still: of the cells that are not there yet, how many"""

pytestmark = pytest.mark.page("one_page")


@pytest.fixture(scope="module")
def walk() -> Walk:
    return built_in_model().trace(TEXT).walk(LAYER, HEAD)


@pytest.fixture(scope="module")
def file(walk: Walk) -> bytes:
    return write(document_of_layer(walk, (HEAD,)))


@pytest.fixture(scope="module")
def walks(file: bytes) -> Iterator[WalkPage]:
    with serving(WalkPage({LAYER: file})) as page:
        yield page


Stills = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def stills(run: Run, file: bytes) -> Stills:
    """Return the stills of a step: `stills("scores", q=7, k=2)`."""

    def get(step: str, of: bytes = file, head: int = HEAD, q: int | None = Q, k: int | None = K) -> Any:
        given = {"file": b64encode(of).decode(), "step": step, "head": head, "example": {"q": q, "k": k}}
        return run("motion/timeline.ts", STILLS, given)

    return get


def values(cells: list[dict[str, Any]], panel: str) -> dict[tuple[int, int], float]:
    """Return the numbers that cells of a matrix show, by row and column."""
    return {(cell["row"], cell["column"]): cell["value"] for cell in cells if cell["panel"] == panel}


def test_one_row_meets_one_column_and_the_products_add_up(stills: Stills, walk: Walk) -> None:
    query, key = (array.double().numpy() for array in (walk.steps.query, walk.steps.key))
    products = query[Q] * key[K]
    width, (rows, columns) = len(products), walk.steps.scores.shape
    found = stills("scores")
    adding = [still for still in found if still["work"] and still["work"]["count"] <= width][:width]
    for n, still in enumerate(adding):
        term = still["work"]["terms"][n]
        assert (term["left"], term["right"]) == pytest.approx((query[Q, n], key[K, n]), rel=1e-6)
        assert still["work"]["count"] == n + 1
        assert term["product"] == pytest.approx(products[n], rel=1e-6)
        assert still["work"]["sum"] == pytest.approx(products[: n + 1].sum(), abs=1e-5)
        assert values(still["written"], "scores") == {(Q, K): pytest.approx(products[: n + 1].sum(), abs=1e-5)}
        assert still["open"]["scores"] == rows * columns - 1
        assert [flight["value"] for flight in still["flights"]] == pytest.approx(query[Q].tolist(), rel=1e-6)
    # Then each cell has a still of its own, with its own sum, until all are there.
    sums = [still["work"]["sum"] for still in found[-rows * columns - 1 :] if still["work"]]
    order = [Q, *(i for i in range(rows) if i != Q)]
    across = [K, *(j for j in range(columns) if j != K)]
    expected = [(query[i] @ key.T)[across if i == Q else slice(None)] for i in order]
    assert sums == pytest.approx(np.concatenate(expected).tolist(), rel=1e-5, abs=1e-5)
    opened = [still["open"].get("scores", 0) for still in found]
    assert opened[0] == rows * columns
    assert opened[-1] == 0
    assert all(before >= after for before, after in pairwise(opened))


def test_the_softmax_is_exponentials_their_sum_and_a_division(stills: Stills, walk: Walk) -> None:
    exponentials = walk.steps.masked[Q].double().exp()
    weights = torch.softmax(walk.steps.masked.double(), -1)
    found = stills("weights")
    count = len(exponentials)
    last = values(found[count]["written"], "weights")
    assert [last[Q, k] for k in range(count)] == pytest.approx(exponentials.tolist(), rel=1e-5)
    assert values(found[count + 1]["written"], "row_sum") == {
        (Q, 0): pytest.approx(float(exponentials.sum()), rel=1e-5)
    }
    for k, still in enumerate(found[count + 2 : 2 * count + 2]):
        assert (Q, k) not in values(still["written"], "weights")
        assert len(values(still["written"], "weights")) == count - k - 1
        said = float(still["says"].rsplit("= ", 1)[1].replace("−", "-"))
        assert said == pytest.approx(float(weights[Q, k]), abs=0.0051)
    assert found[-1]["open"] == {}


def test_values_are_weighted_and_added(stills: Stills, walk: Walk) -> None:
    weights = torch.softmax(walk.steps.masked.double(), -1)[Q]
    parts = weights[:, None] * walk.steps.value.double()
    found = stills("head_outputs")
    for n, still in enumerate(found[1 : len(weights) + 1]):
        shown = values(still["written"], "head_outputs")
        assert [shown[Q, d] for d in range(parts.shape[1])] == pytest.approx(parts[: n + 1].sum(0).tolist(), abs=1e-5)
        assert still["work"]["terms"][n]["left"] == pytest.approx(float(weights[n]), abs=1e-6)


@pytest.mark.parametrize("step", ["scaled", "masked"])
def test_each_score_is_scaled_and_masked(stills: Stills, step: str) -> None:
    walk = run_block(range(1, 8), ToyConfig(causal=True)).walk(0, 0)
    found = stills(step, write(document_of_layer(walk)), 0, 3, 1)
    after = getattr(walk.steps, step)
    order = [1, *(k for k in range(7) if k != 1)]
    for k, still in zip(order, found[1:8], strict=True):
        last = still["says"].rsplit(" ", 1)[1]
        number = float(after[3, k])
        if step == "masked":
            assert ("hidden" in still["says"]) == np.isinf(number)
        else:
            assert float(last.replace("−", "-")) == pytest.approx(number, abs=0.0051)


def test_q_k_v_heads_and_w_o_are_played_too(stills: Stills) -> None:
    block = run_block(range(1, 8), ToyConfig(heads=3, causal=True))
    walk = block.walk(0, 1)
    toy = write(document_of_layer(walk))
    x, w = (array.double().numpy() for array in (walk.layer.query_input, walk.layer.projections["query"].weight))
    term = stills("qkv", toy, 1, 2, None)[3]["work"]["terms"]
    width = walk.layer.head_size
    assert [one["product"] for one in term] == pytest.approx((x[2] * w[1, :, 0]).tolist(), abs=1e-5)
    heads = stills("concat", toy, 1, 2, None)
    assert [still["open"].get("concat", 0) for still in heads] == [21 * width, 14 * width, 7 * width, 0, 0]
    mixed = stills("output", toy, 1, 2, None)
    concat, projection = walk.layer.concat().double().numpy(), walk.layer.output_projection.weight.double().numpy()
    full = next(still for still in mixed if still["work"] and still["work"]["count"] == len(concat[2]))
    assert full["work"]["sum"] == pytest.approx(float(concat[2] @ projection[:, 0]), abs=1e-5)


def test_a_long_text_is_played_by_rows(stills: Stills) -> None:
    walk = run_block(range(1, 51), ToyConfig()).walk(0, 0)
    found = stills("scores", write(document_of_layer(walk)), 0, None, None)
    assert len(found) < 50 + 30
    opened = [still["open"].get("scores", 0) for still in found]
    assert [before - after for before, after in pairwise(opened)][-40:-1] == [50] * 39


# ---- the bar under the picture


class Bar:
    """The player of a walk."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root: Locator = page.get_by_role("group", name="How this step is computed")
        self.slider = self.root.get_by_role("slider")

    @property
    def t(self) -> float:
        return float(self.root.get_attribute("data-t") or "nan")

    @property
    def says(self) -> str:
        return self.root.locator(".says").inner_text()

    def drag(self, share: float) -> None:
        box = self.slider.bounding_box()
        assert box
        self.slider.hover(position={"x": box["width"] - 9, "y": box["height"] / 2})
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), box["y"] + box["height"] / 2, steps=4)
        self.page.mouse.up()


def test_a_step_is_played_paused_and_gone_through(page: Page, walks: WalkPage, walk: Walk) -> None:
    view = WalkView.open(page, walks.url, step="scores", head=HEAD, q=Q)
    bar = Bar(page)
    strongest = int(walk.steps.scores[Q].argmax())
    bar.root.get_by_role("button", name="Play this step").click()
    expect(bar.root).to_contain_text("Each row of K becomes a column")
    page.keyboard.press("k")
    before = bar.t
    assert 0 < before < 1
    frames(page)
    assert bar.t == before
    label = walk.key_labels[strongest]
    named = f"row {Q} “it” of query · column {strongest} “{label}” of keyᵀ"
    page.keyboard.press(".")
    page.keyboard.press(",")
    product = walk.steps.query[Q, 0] * walk.steps.key[strongest, 0]
    bar.drag(0)
    for _ in range(3):
        page.keyboard.press(".")
    assert f"= {float(product):.2f}".replace("-", "−") in bar.says.replace("(", "").replace(")", "")
    page.keyboard.press(",")
    assert bar.says == named
    assert bar.slider.get_attribute("aria-valuetext") == named
    bar.drag(0.6)
    assert 0.5 < bar.t < 0.7
    assert page.locator(".attnviz-board").get_attribute("data-moving") is not None
    view.step("Scaled")
    assert bar.t == 1
    page.locator(".menu summary").click()
    page.get_by_role("switch", name="Guess a row").click()
    expect(bar.root).to_be_hidden()


def test_without_motion_the_slider_goes_from_still_to_still(page: Page, walks: WalkPage) -> None:
    page.emulate_media(reduced_motion="reduce")
    WalkView.open(page, walks.url, step="weights")
    bar = Bar(page)
    expect(bar.root.locator(".play")).to_be_hidden()
    bar.drag(0.31)
    stills = page.evaluate("walk.view.drawing.motion.timeline.stills")
    assert bar.t in stills
    assert 0.2 < bar.t < 0.4
    page.keyboard.press("k")
    assert bar.t in stills
    assert not page.evaluate("walk.view.drawing.motion.isPlaying")


GIF = """async () => {
  const { gifOf } = await import("/frontend/export/animation.ts");
  const { motion } = walk.view.drawing;
  const all = motion.animation({ theme: "light", title: "Scores" });
  const animation = { ...all, ms: all.ms / 5 };  // faster: all of it takes a test too long
  const [said, texts] = [[], []];
  const pen = animation.canvas.getContext("2d");
  pen.fillText = (text, x, y) => {
    if (!said.length) texts.push(text);
    CanvasRenderingContext2D.prototype.fillText.call(pen, text, x, y);
  };
  const file = await gifOf(animation, (share) => said.push(share));
  const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
  const end = new Uint8ClampedArray(animation.draw(1).buffer);
  canvas.getContext("2d").putImageData(new ImageData(end, 1280, 720), 0, 0);
  animation.destroy();
  const read = new FileReader();
  const text = new Promise((done) => { read.onload = () => done(read.result.split(",")[1]); });
  read.readAsDataURL(file);
  const boards = document.querySelectorAll(".attnviz-board").length;
  return { file: await text, end: canvas.toDataURL().split(",")[1], ms: animation.ms, said, texts, boards };
}"""


def test_a_step_is_a_gif_for_slides(page: Page) -> None:
    walk = run_block(range(1, 6), ToyConfig()).walk(0, 0)
    with serving(WalkPage({0: write(document_of_layer(walk))})) as served:
        WalkView.open(page, served.url, step="scaled")
        made = page.evaluate(GIF)
    data = b64decode(made["file"])
    assert 20_000 < len(data) < 3_000_000
    assert made["boards"] == 1
    assert made["said"] == sorted(made["said"])
    assert {AXIS_TITLE["query"], AXIS_TITLE["key"]} <= set(made["texts"])
    with Image.open(io.BytesIO(data)) as gif:
        assert gif.size == (1280, 720)
        assert gif.info["loop"] == 0
        frames_ = [(frame.info["duration"], np.asarray(frame.convert("RGB"))) for frame in ImageSequence.Iterator(gif)]
    lasts = sum(duration for duration, _ in frames_)
    assert lasts == pytest.approx(made["ms"] + 2500, abs=200)
    assert 6 < len(frames_) < made["ms"] / 90
    pictures = [picture for _, picture in frames_]
    assert (pictures[0][2, 2] == 255).all()
    changes = [int((a != b).any(-1).sum()) for a, b in pairwise(pictures)]
    assert min(changes) > 0  # what stays the same is one frame that lasts longer
    # Cells are filled one after the other, until there is the whole picture.
    blank = [int((picture == [243, 243, 247]).all(-1).sum()) for picture in pictures]
    assert blank[0] > 50_000
    assert blank[-1] < blank[0] / 4
    end = np.asarray(Image.open(io.BytesIO(b64decode(made["end"]))).convert("RGB"))
    assert np.abs(pictures[-1].astype(int) - end).mean() < 2
