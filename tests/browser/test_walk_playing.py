"""The walk that plays itself: its schedule, its sentences against torch, and what plays, pauses and ends it."""

from __future__ import annotations

import io
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence
from playwright.sync_api import Locator, Page, expect
from torch.nn import functional as F

from attnviz.document import document_of_layer, write
from attnviz.figures.style import AXIS_TITLE
from attnviz.links.pages import OPENING
from attnviz.toy.config import ToyConfig
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.walk import Walk
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.contexts import Contexts
from tests.browser.modules import BYTES, CORE, Run
from tests.browser.settle import frames, in_the_end, settled_at
from tests.browser.web_pages import exported, opened
from tests.loaded import built_in_model
from tests.toy import run_block

LAYER, HEAD, Q, K = 3, 1, 11, 5
STEPS = ["tokens", "embeddings", "qkv", "scores", "scaled", "masked", "weights", "head_outputs", "concat", "output"]

pytestmark = pytest.mark.page("one_page")


CAPTIONS = f"""
  {BYTES}
  const {{ read }} = await import("{CORE}/document.ts");
  const {{ matricesOf }} = await import("{CORE}/../walk/matrices.ts");
  const {{ pairOf }} = await import("{CORE}/../walk/row_words.ts");
  const document = read(bytes(given.file));
  const matrices = matricesOf(document, given.head);
  return given.pins.map(([q, k]) => {{
    const pair = pairOf(matrices, {{ q, k }});
    const steps = document.header.steps.map((step) => [step.name, m.captionOf(matrices, step, pair)]);
    return [pair, Object.fromEntries(steps)];
  }});
"""


Said = tuple[dict[str, int], dict[str, Any]]


def captions(run: Run, walk: Walk, *pins: tuple[int | None, int | None]) -> list[Said]:
    """Return of each pin the pair that a walk speaks of, and what it says of each step: pieces of text, their inks."""
    given = {"file": b64encode(write(document_of_layer(walk))).decode(), "head": walk.head, "pins": pins}
    return [(pair, said) for pair, said in run("walk/captions.ts", CAPTIONS, given)]


def test_the_sentence_about_turned_queries_says_the_angle_of_the_position(run: Run) -> None:
    walk = run_block(range(6), ToyConfig(positions="rotary"), "abcdef").walk(0, 1)
    ((_, said),) = captions(run, walk, (3, 1))
    assert text(said["rotated"]) == (
        "Position 3 turns the query and the key of “d”: their first pair of dimensions by 3.00 radians, "
        "without full turns (2π)."
    )
    products = [float(x) for x in (walk.layer.query[1, 3] @ walk.layer.key[1, 1],)]
    assert numbers(said["scores"]) == pytest.approx(products, abs=0.0051)
    assert numbers(said["qkv"])[0] == pytest.approx(float(walk.layer.projected("query")[1, 3, 0]), abs=0.0051)


def test_the_sentence_about_normed_queries_says_their_lengths(run: Run) -> None:
    walk = run_block(range(6), ToyConfig(), "abcdef").walk(0, 1)
    norms = {name: HeadNorm("rms", torch.full((2, 8), 0.5), None, 1e-6) for name in ("query", "key")}
    walk = replace(walk, layer=replace(walk.layer, norms=norms))
    ((_, said),) = captions(run, walk, (3, 1))
    lengths = [float(of[1, 3].norm()) for of in (walk.layer.projected("query"), walk.layer.normed("query"))]
    assert numbers(said["normed"]) == pytest.approx(lengths, abs=0.0051)
    assert text(said["normed"]).startswith("The query of “d” had a length of")


def text(said: list[list[str]]) -> str:
    return "".join(piece for piece, *_ in said)


def numbers(said: list[list[str]]) -> list[float]:
    """Return the decimals of a sentence."""
    return [float(one.replace("−", "-")) for one in re.findall(r"−?\d+\.\d+(?:e−?\d+)?", text(said))]


@pytest.fixture(scope="module")
def walk() -> Walk:
    return built_in_model().trace(OPENING["text"]).walk(LAYER, HEAD)


def test_each_sentence_has_the_numbers_that_torch_computes_of_what_is_pinned_or_shown(run: Run, walk: Walk) -> None:
    query, key, value = (array.double() for array in (walk.steps.query, walk.steps.key, walk.steps.value))
    score = float(query[Q] @ key[K])
    scaled = score / 32**0.5
    row = (query[Q] @ key.T / 32**0.5).exp()
    weights = F.softmax(query[Q] @ key.T / 32**0.5, dim=0)
    dim = int(value[K].abs().argmax())
    output = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
    ((pair, said), *others) = captions(run, walk, (Q, K), (None, None), (3, None), (None, 2), (3, 0))
    assert pair == {"q": Q, "k": K}
    assert list(said) == STEPS
    x = walk.layer.query_input[Q].double()
    heads = F.linear(walk.layer.concat().double(), walk.layer.output_projection.weight.double().T)[Q]
    bias = walk.layer.output_projection.bias
    mixed = heads if bias is None else heads + bias.double()
    expected = {
        "embeddings": [*x[:2]], "qkv": [query[Q, 0], key[K, 0]], "scores": [score],
        "scaled": [score, 32**-0.5, scaled], "masked": [scaled],
        "weights": [scaled, row[K], row.sum()],
        "head_outputs": [weights[K], value[K, dim], weights[K] * value[K, dim], output[Q, dim]],
        "output": [*mixed[:2]],
    }  # fmt: skip
    for step, wanted in expected.items():
        assert numbers(said[step]) == pytest.approx([float(x) for x in wanted], abs=0.0051), step
    percent = f"{100 * float(weights[K]):.0f} %"
    assert percent == "97 %"
    assert text(said["tokens"]).startswith(f"“it” gives {percent} of its attention to “bicycle”.")
    assert text(said["weights"]).endswith(f"“it” gives “bicycle” {percent}.")
    assert f"to dim {dim} of the output" in text(said["head_outputs"])
    assert "32 products add up to the score" in text(said["scores"])
    assert "head 1 fills columns 32 to 63" in text(said["concat"])
    inks = {piece: ink for piece, *rest in said["scores"] for ink in rest}
    assert (inks["“it”"], inks["“bicycle”"]) == ("query", "key")
    for step, one in said.items():
        assert 5 <= len(text(one).replace("×", "").split()) <= 20, (step, text(one))
    # Where less is pinned, the pair is the opening's, the largest weight of the row, and that of the column.
    every = torch.softmax(walk.steps.masked.double(), -1)
    pairs = [(Q, K), (3, int(every[3].argmax())), (int(every[:, 2].argmax()), 2), (3, 0)]
    assert [(one["q"], one["k"]) for one, _ in others] == pairs


def test_of_a_hidden_pair_it_is_said_that_it_is_hidden(run: Run) -> None:
    toy = run_block(range(1, 8), ToyConfig(causal=True, heads=2)).walk(0, 1)
    (_, said), (_, seen) = captions(run, toy, (2, 5), (5, 2))
    assert "may not look at" in text(said["masked"])
    assert text(said["masked"]).endswith("the mask makes it −∞.")
    assert text(said["weights"]).startswith("exp(−∞) = 0.00, divided by")
    assert text(said["weights"]).endswith(" 0 %.")
    assert text(seen["masked"]).startswith("The mask lets it be: ")


def test_all_steps_have_their_part_in_some_90_seconds(run: Run, walk: Walk) -> None:
    steps = [{"name": name, "title": name.upper(), "picture": None if name == "tokens" else {}, "missing": ""}
             for name in STEPS]  # fmt: skip
    more = [{"name": f"more{n}", "title": "", "picture": {}, "missing": ""} for n in range(8)]
    lost = [{"name": "concat", "title": "", "picture": None, "missing": "It is not here."}]
    body = """
      const of = (steps) => m.scheduleOf({ steps });
      const own = of(given.steps);
      const moments = own.parts.flatMap((part) =>
        [0, 0.05, 0.3, 0.6, 0.75, 0.8, 0.9].map((t) => m.momentAt(part, part.from + t * part.ms, 0.4)));
      const at = own.parts.map(({ from, ms }) => [from, from + ms - 1].map((time) => m.partAt(own, time)));
      return { own, moments, at, long: of([...given.steps, ...given.more]).ms,
        lost: of([...given.steps.slice(0, 2), ...given.lost]).parts.map(({ step }) => step) };
    """
    found = run("walk/schedule.ts", body, {"steps": steps, "more": more, "lost": lost})
    parts = found["own"]["parts"]
    assert [part["step"] for part in parts] == STEPS
    assert 80_000 <= found["own"]["ms"] <= 95_000
    assert found["own"]["ms"] == sum(part["ms"] for part in parts)
    assert [before["from"] + before["ms"] for before, _ in pairwise(parts)] == [part["from"] for part in parts[1:]]
    assert found["at"] == [[n, n] for n in range(len(STEPS))]
    moments = np.array(found["moments"]).reshape(len(STEPS), 7)
    assert (moments[:, [0, 1, 6]] == 1).all()  # first and last the whole picture
    assert (np.diff(moments[:, 2:5], axis=1) > 0).all()
    assert moments[:, 4] == pytest.approx(0.4)  # then the example is there
    assert ((moments[:, 5] > 0.4) & (moments[:, 5] < 1)).all()
    assert found["long"] == pytest.approx(100_000)
    assert found["lost"] == ["tokens", "embeddings"]


# ---- in a page


class Bar:
    """The bar of the walk that plays itself."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root: Locator = page.get_by_role("group", name="The walk that plays itself")
        self.says = self.root.get_by_role("status")
        self.slider = self.root.get_by_role("slider", name="Position in the walk")

    @property
    def t(self) -> float:
        return float(self.root.get_attribute("data-t") or "nan")

    def title(self, title: str) -> None:
        """Wait until it speaks of a step."""
        expect(self.says).to_contain_text(f"{title} · ")

    def goes_on(self) -> None:
        """Hold that it plays."""
        before = self.t
        assert in_the_end(self.page, lambda: self.t, lambda t: t > before) > before


@pytest.fixture(scope="module")
def walks(walk: Walk) -> Iterator[WalkPage]:
    with serving(WalkPage({LAYER: write(document_of_layer(walk))})) as page:
        yield page


def test_it_plays_through_all_steps_and_is_told_to_the_page_once(page: Page, walks: WalkPage) -> None:
    view = WalkView.open(page, walks.url, layer=LAYER, head=HEAD, step="weights")
    page.evaluate("walk.playing.player.speed = 24")
    page.evaluate("""() => {
      window.heard = [];
      window.moving = [];
      const said = document.querySelector(".of-walk [role=status]");
      new MutationObserver(() => window.heard.push([walk.store.values.step, said.textContent]))
        .observe(said, { childList: true });
      const board = document.querySelector(".attnviz-board");
      const player = document.querySelector("[aria-label='How this step is computed']");
      new MutationObserver(() => window.moving.push([board.dataset.moving ?? null, player.checkVisibility()]))
        .observe(board, { attributeFilter: ["data-moving"] });
    }""")
    page.get_by_role("button", name="Play the walk").click()
    bar = Bar(page)
    page.wait_for_function("walk.playing.isOpen && !walk.playing.isPlaying")
    heard = page.evaluate("heard")
    assert [step for step, _ in heard] == STEPS  # one sentence a step
    assert all(text for _, text in heard)
    moving = page.evaluate("moving")
    assert ["", False] in moving
    assert ["", True] not in moving
    assert bar.t == 1
    expect(page.locator(view.picture)).to_have_attribute("data-step", "output")
    assert view.changes == [{"step": "output", "q": Q, "k": K}]
    expect(page.locator(".attnviz-board")).not_to_have_attribute("data-moving", re.compile(""))
    page.keyboard.press("Escape")
    expect(bar.root).to_be_hidden()
    expect(page.get_by_role("button", name="Play the walk")).to_be_focused()
    assert len(view.changes) == 1


def test_what_the_user_does_pauses_it(page: Page, walks: WalkPage) -> None:
    view = WalkView.open(page, walks.url, layer=LAYER, head=HEAD)
    page.keyboard.press("w")
    bar = Bar(page)
    bar.title("Sentence")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    bar.title("Scores")
    page.wait_for_function("walk.playing.part.step === 'scores' && walk.view.drawing.motion.t < 1")
    page.keyboard.press(" ")
    assert view.changes == [{"step": "scores", "q": Q, "k": K}]
    before = bar.t
    frames(page)
    assert bar.t == before
    page.keyboard.press(" ")
    bar.goes_on()
    view.step("Weights")  # a step that is pressed: its whole picture, paused
    assert not page.evaluate("walk.playing.isPlaying")
    assert page.evaluate("walk.view.drawing.motion.t") == 1
    assert view.changes[-1]["step"] == "weights"
    bar.title("Weights")
    page.keyboard.press("ArrowLeft")
    bar.title("Masked")
    assert bar.slider.get_attribute("aria-valuetext") == "Masked, step 6 of 10"
    bar.slider.fill("720")
    bar.title("Head outputs")
    page.evaluate("walk.choose({ q: 3, k: null })")
    expect(bar.says).to_contain_text("“bought”")
    expect(bar.says).not_to_contain_text("“it”")
    page.evaluate("walk.playing.play()")
    page.evaluate("walk.await({})")  # another text
    expect(bar.root).to_be_hidden()
    assert not page.evaluate("walk.playing.isPlaying")


def test_without_motion_it_is_a_walk_of_stills_with_next(page: Page, walks: WalkPage) -> None:
    page.emulate_media(reduced_motion="reduce")
    view = WalkView.open(page, walks.url, layer=LAYER, head=HEAD)
    page.get_by_role("button", name="Play the walk").click()
    bar = Bar(page)
    step_on = bar.root.get_by_role("button", name="Next step")
    expect(step_on).to_be_focused()
    expect(bar.root.locator(".play")).to_be_hidden()
    for n, name in enumerate(STEPS):
        assert page.evaluate("[walk.store.values.step, walk.view.drawing.motion.t]") == [name, 1]
        expect(bar.root).to_have_attribute("data-t", re.compile(r"^0"))
        if n < len(STEPS) - 1:
            step_on.click()
    assert not page.evaluate("walk.playing.isPlaying")
    assert view.changes[-1]["step"] == "output"


def test_a_row_that_is_guessed_is_not_given_away(page: Page, walks: WalkPage) -> None:
    WalkView.open(page, walks.url, layer=LAYER, head=HEAD, step="weights", predict=1)
    expect(page.get_by_role("button", name="Play the walk")).to_be_hidden()
    page.keyboard.press("w")
    expect(Bar(page).root).to_be_hidden()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play the walk")).to_be_visible()


def test_a_page_of_its_own_begins_with_it_without_a_network(new_context: Contexts, tmp_path: Path) -> None:
    file = exported(tmp_path, "http://localhost/?text=one+two+three&source=toy&step=weights&q=1&k=2")
    page = new_context(offline=True).new_page()
    assert opened(page, file, "#play=1", painted=".walk .word") == [file.as_uri()]
    bar = Bar(page)
    bar.title("Sentence")
    bar.goes_on()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    bar.title("Q, K, V")
    expect(page.locator(".attnviz-board")).to_have_attribute("data-moving", "")
    page.keyboard.press(" ")
    page.wait_for_url(lambda url: "step=qkv" in url)


# ---- a file of it

FILM = """async ([kind, speed]) => {
  const { canFilm, gifOf, videoOf } = await import("/frontend/export/animation.ts");
  const { walkAnimation } = await import("/frontend/export/walk_animation.ts");
  const { captionOf } = await import("/frontend/walk/captions.ts");
  const { pairOf } = await import("/frontend/walk/row_words.ts");
  if (kind === "video" && !(await canFilm())) return null;
  const all = await walkAnimation(walk, { theme: "light" });
  // The same walk, faster: a file of all of it would take the test too long.
  const animation = { ...all, ms: all.ms / speed };
  const said = [];
  const words = { title: "Walk of “the”", caption: "Rows → columns." };
  const file = await (kind === "video" ? videoOf : gifOf)(animation, (share) => said.push(share), words);
  const { parts, ms: long } = walk.playing.schedule;
  const whole = parts.filter(({ step }) => ["qkv", "head_outputs"].includes(step));
  const count = Math.ceil(animation.ms / 100);
  // A frame of the film in the second half of the step: what a file shows then is what is drawn.
  const times = [...whole.map(({ from, ms }) => Math.floor(((from + 0.95 * ms) / long) * count) / count), 1];
  const { matrices, values, current } = walk.store;
  const captions = whole.map(({ step }) => {
    const text = current.header.steps.find(({ name }) => name === step);
    return captionOf(matrices, text, pairOf(matrices, values)).map(([said]) => said).join("");
  });
  const written = [];
  const pen = animation.canvas.getContext("2d");
  pen.fillText = (text, x, y) => {
    written.at(-1).push(text);
    CanvasRenderingContext2D.prototype.fillText.call(pen, text, x, y);
  };
  const ends = times.map((t) => {
    written.push([]);
    const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
    canvas.getContext("2d").putImageData(
      new ImageData(new Uint8ClampedArray(animation.draw(t).buffer), 1280, 720), 0, 0);
    return canvas.toDataURL().split(",")[1];
  });
  animation.destroy();
  const read = new FileReader();
  const text = new Promise((done) => { read.onload = () => done(read.result.split(",")[1]); });
  read.readAsDataURL(file);
  window.file = file;
  const boards = document.querySelectorAll(".attnviz-board").length;
  const frames = times.map((t) => Math.round(t * count));
  return { file: await text, frames, ends, ms: all.ms, said, boards, captions, written };
}"""


def picture(data: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(b64decode(data))).convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def small() -> Iterator[WalkPage]:
    toy = run_block(range(1, 6), ToyConfig()).walk(0, 0)
    with serving(WalkPage({0: write(document_of_layer(toy))})) as page:
        yield page


def test_the_walk_is_a_gif_for_slides(page: Page, small: WalkPage) -> None:
    view = WalkView.open(page, small.url)
    film = page.evaluate(FILM, ["gif", 16])
    assert (film["boards"], view.changes) == (1, [])  # the page is as it was
    data = b64decode(film["file"])
    assert 50_000 < len(data) < 8_000_000 / 6
    with Image.open(io.BytesIO(data)) as gif:
        assert gif.size == (1280, 720)
        assert gif.info["comment"].decode() == "Walk of “the”\nRows → columns."
        found = [(frame.info["duration"], np.asarray(frame.convert("RGB"))) for frame in ImageSequence.Iterator(gif)]
    assert sum(duration for duration, _ in found) == pytest.approx(film["ms"] / 16 + 2500, abs=500)
    assert 25 < len(found) <= film["ms"] / 16 / 100 + 2
    assert np.abs(found[-1][1].astype(int) - picture(film["ends"][-1])).mean() < 2
    assert np.abs(picture(film["ends"][0]) - picture(film["ends"][1])).mean() > 2  # another step


def test_a_long_gif_has_four_frames_a_second(run: Run) -> None:
    body = """
      const draw = (t) => new Uint32Array(1024).fill(0xff000000).fill(0xffffffff, Math.floor(t * 1023));
      const bytes = new Uint8Array(await (await m.gifOf({ width: 32, height: 32, ms: 90_000, draw }, () => {}))
        .arrayBuffer());
      return [...bytes];
    """
    with Image.open(io.BytesIO(bytes(run("export/animation.ts", body)))) as gif:
        lasts = [frame.info["duration"] for frame in ImageSequence.Iterator(gif)]
    assert (len(lasts), lasts[0]) == (361, 250)


SEEN = """async (times) => {
  const video = Object.assign(document.createElement("video"), { muted: true, src: URL.createObjectURL(window.file) });
  const ready = (name) => new Promise((done, fail) => {
    video.addEventListener(name, done, { once: true });
    video.addEventListener("error", () => fail(new Error(video.error.message)), { once: true });
  });
  await ready("loadeddata");
  document.body.append(video);
  // A video that has sought may still show the frame before.
  const presented = (time) => new Promise((done) => {
    const wait = () => video.requestVideoFrameCallback((_, { mediaTime }) =>
      Math.abs(mediaTime - time) < 0.06 ? done() : wait());
    wait();
  });
  const seen = [];
  for (const time of times) {
    const frame = Promise.all([ready("seeked"), presented(time)]);
    video.currentTime = time;
    await frame;
    const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
    canvas.getContext("2d").drawImage(video, 0, 0);
    seen.push(canvas.toDataURL().split(",")[1]);
  }
  return { seen, size: [video.videoWidth, video.videoHeight], s: video.duration };
}"""


def test_the_walk_is_a_video_where_the_browser_can_encode_one(page: Page, small: WalkPage) -> None:
    WalkView.open(page, small.url)
    film = page.evaluate(FILM, ["video", 48])
    assert film is not None, "this Chromium encodes VP8"
    data = b64decode(film["file"])
    assert data[:4] == b"\x1a\x45\xdf\xa3"
    assert film["said"] == sorted(film["said"])
    seconds = film["ms"] / 48 / 1000
    shown = page.evaluate(SEEN, [(n + 0.5) / 10 for n in film["frames"]])
    assert shown["size"] == [1280, 720]
    assert shown["s"] == pytest.approx(seconds + 2.5, abs=0.13)
    seen = [picture(frame) for frame in shown["seen"]]
    for frame, drawn in zip(seen, film["ends"], strict=True):
        assert np.abs(frame - picture(drawn)).mean() < 6
    assert np.abs(seen[0] - seen[1]).mean() > 2  # another step
    for caption, written in zip(film["captions"], film["written"], strict=False):
        assert caption and caption in "".join(written)
    assert {AXIS_TITLE["query"], AXIS_TITLE["key"]} <= {text for written in film["written"] for text in written}
    title, caption = (text.encode() for text in ("Walk of “the”", "Rows → columns."))
    assert element(b"\x7b\xa9", title) in data and element(b"\x44\x87", caption) in data


def element(id_: bytes, content: bytes) -> bytes:
    """Return an element of a WebM file, whose length has eight bytes."""
    return id_ + (len(content) | 1 << 56).to_bytes(8) + content


# ---- in the app


def test_a_bare_address_plays_from_the_first_view_and_stops_at_a_true_link(page: Page, app_url: str) -> None:
    settled_at(page, app_url)
    page.get_by_role("group", name="What this is").get_by_role("button", name="Play the walk").click()
    bar = Bar(page)
    bar.title("Sentence")
    bar.goes_on()
    speed = bar.root.get_by_role("button", name="Speed")
    speed.click(click_count=2)  # four times as fast
    bar.title("Hidden states")  # it goes over to the matrices by itself, which are fetched meanwhile
    speed.click()  # half as fast: so that no step ends by itself from here on
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    bar.title("Scaled")
    assert page.url.rstrip("/") == app_url
    entries = page.evaluate("history.length")
    page.keyboard.press(" ")
    page.wait_for_url("**step=scaled**")
    assert page.evaluate("history.length") == entries + 1
    scaled = float(built_in_model().trace(OPENING["text"]).walk(LAYER, HEAD).steps.scaled[Q, K])
    expect(bar.says).to_contain_text(f"= {scaled:.2f}.")

    # It goes on in lecture mode, which the server knows of.
    page.keyboard.press(" ")
    page.keyboard.press("l")
    expect(page.get_by_role("button", name="Leave lecture mode (L)")).to_be_visible()
    bar.goes_on()
    expect(bar.root).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar.root).to_be_hidden()
    expect(page.get_by_role("button", name="Play the walk")).to_be_visible()  # in lecture mode, too


def test_a_link_plays_it_once_and_its_keys_go_on_through_the_lesson(page: Page, app_url: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    settled_at(page, f"{app_url}/lessons")  # a page without a walk: each link to one opens it anew
    scene = "lesson=attention&scene=1"
    page.goto(f"{app_url}/?{urlencode(OPENING)}&step=scores&play=1&lecture=1&{scene}")
    bar = Bar(page)
    bar.title("Sentence")
    for _ in STEPS[1:]:
        page.keyboard.press("PageDown")
    bar.title("Output")
    page.keyboard.press("PageDown")
    page.wait_for_url("**scene=2**")
    expect(bar.root).to_be_hidden()

    page.goto(f"{app_url}/?{urlencode(OPENING)}&play=1")
    bar.title("Sentence")
    page.keyboard.press("Escape")
    expect(bar.root).to_be_hidden()
    page.wait_for_url(lambda url: "play" not in url)

    settled_at(page, f"{app_url}/lessons")
    page.goto(f"{app_url}/?{urlencode(OPENING)}&play=1")  # a text overtakes what a link asks for
    bar.title("Sentence")
    page.get_by_label("Text", exact=True).fill("Another text.")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "text=Another" in url and "play" not in url)
    expect(bar.root).to_be_hidden()
