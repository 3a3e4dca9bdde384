"""Web pages of their own: one file with all that it needs, whatever the text; what can't be one is refused."""

from __future__ import annotations

import json
import re
import tomllib
import xml.etree.ElementTree as ET
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load as read

from attnviz.compare import matrices
from attnviz.components.styles import styles
from attnviz.document import read as document_of
from attnviz.export.drawing.marks import THEMES
from attnviz.export.web import MAKERS, NoPageError, check_page, iframe, make_page, pages, pictures, site, write_page
from attnviz.export.web.pages import Page, inline_script
from attnviz.export.web.pictures import draw_view
from attnviz.files import CONFIG
from attnviz.lessons import Lesson, Scene, shipped
from attnviz.links.link import read_link
from attnviz.pretrained.described import head_note
from attnviz.sources.models import DirectResources
from attnviz.tokens import NoTokensError
from attnviz.training.tasks import TASKS
from tests.payloads import read_payload
from tests.unit.families import save

HOSTILE = "</script><img src=x onerror=alert(1)> <!-- é 🙂 & \u2028 '\""
LOADS = ("src", "href", "srcset", "action", "formaction", "data", "poster", "background")


class Parsed(HTMLParser):
    """The elements of a page, with the text directly in them."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.is_open = False
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes), ""))
        self.is_open = True

    def handle_endtag(self, _: str) -> None:
        self.is_open = False

    def handle_data(self, data: str) -> None:
        if self.elements and self.is_open:
            tag, attributes, text = self.elements[-1]
            self.elements[-1] = tag, attributes, text + data

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]


def view(**link: str) -> dict[str, Any]:
    found, notes = read_link(link)
    assert not notes
    return found


def page_of(name: str, **link: str) -> Page:
    return make_page(name, view(**link), DirectResources())


def hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("name", MAKERS)
def test_a_page_is_one_file_that_allows_itself_and_nothing_else(name: str) -> None:
    page = page_of(name, text=HOSTILE)
    file = write_page(page)
    assert file == write_page(page)
    parsed = Parsed(file)
    (policy,) = (own["content"] for own, _ in parsed.all("meta") if own.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    *blocks, (attributes, script) = parsed.all("script")
    ((_, style),) = parsed.all("style")
    assert attributes == {}
    assert rules == {
        "default-src": "'none'", "script-src": hash_of(script), "style-src": hash_of(style), "img-src": "data: blob:",
        "font-src": "data:", "connect-src": "'none'", "form-action": "'none'", "base-uri": "'none'",
    }  # fmt: skip
    assert [own["type"] for own, _ in blocks] == ["application/json", "application/octet-stream;base64"]
    assert b64decode(blocks[1][1]) == page.numbers
    settings = json.loads(blocks[0][1])
    assert settings["view"] == page.view
    assert re.fullmatch(r"this page [^.]+", settings["missing"])  # the browser ends a sentence with it
    assert [own for _, own, _ in parsed.elements if own.keys() & set(LOADS)] == []
    assert re.findall(r"url\((?!data:font/woff2;base64,)", style) == []
    assert parsed.all("title")[0][1] == parsed.all("h1")[0][1] == page.title
    assert parsed.all("p")[0][1] == page.about
    tags = {tag for tag, *_ in parsed.elements}
    assert tags == {"html", "head", "meta", "title", "style", "body", "h1", "p", "div", "noscript", "script"}


def test_a_comparison_holds_the_numbers_of_both_heads() -> None:
    link = {"source": "pretrained", "layer": "3", "head": "1", "q": "10", "k": "99"}
    page = page_of("compare", **link)
    header, arrays = read_payload(page.numbers)
    trace = DirectResources().load("minilm").trace(view()["text"], None)
    np.testing.assert_array_equal(arrays["a"], trace.attentions(3)[1].numpy())
    assert np.nanmax(np.abs(arrays["difference"])) > 0.5  # as in the app, B is the other sentence of the pair
    assert (header["q"], header["k"]) == (10, None)
    assert page.about.startswith(
        "A: “The animal didn't cross the street because it was too tired.” Model: MiniLM (a small BERT). B: “"
    )
    assert page.notes[0].startswith("The row that changes most is “too”")


def test_a_page_of_averages_says_which_positions_it_leaves_out() -> None:
    page = page_of("averages", text="a rose is a rose", way="data", positions="alibi")
    assert page.notes == (
        "ALiBi is added to scores, and is no part of X, whose rows are averaged here. So it is left out.",
    )
    assert "So it is left out." in page.body
    none = page_of("averages", text="a rose is a rose", way="data", positions="none")
    assert (none.notes, none.numbers) == ((), page.numbers)


def test_averages_hold_all_ways_on_as_many_tokens_as_the_loop_takes() -> None:
    page = page_of("averages", text="word " * 80, way="softmax", q="3", source="pretrained")
    document = document_of(page.numbers)
    assert [step.name for step in document.header.steps] == ["loop", "matrix", "softmax", "data"]
    assert len(document.header.query.labels) == 64
    x = document.arrays["embeddings"]
    expected = x.cumsum(0) / np.arange(1, 65)[:, None]
    np.testing.assert_allclose(document.arrays["by_loop"], expected, rtol=0, atol=1e-5)
    assert page.view == {"step": "softmax", "q": "3", "focus": ""}
    assert "Toy weights of seed 0" in page.about  # whatever source the view says


def test_a_walk_holds_what_its_pinned_score_is_made_of() -> None:
    link = {"source": "pretrained", "text": "My sister bought a bicycle", "layer": "2", "head": "7"}
    page = page_of("step_by_step", **link, q="3", k="1", why="1")
    assert (list(page.scores), page.view["why"]) == (["~score-7-3-1"], "1")
    settings = json.loads(Parsed(write_page(page)).all("script")[0][1])
    assert settings["scores"] == page.scores
    trace = DirectResources().load("minilm").trace(link["text"], None)
    total = sum(value for _, value in page.scores["~score-7-3-1"]["query"])
    assert total == pytest.approx(float(trace.head(2, 7).scores[3, 1]), abs=1e-4)
    assert "β" in page.said
    for pin in ({"q": "3"}, {"q": "3", "k": "99"}):
        assert page_of("step_by_step", **link, **pin).scores == {}


def test_a_walk_holds_the_projections_of_its_own_head_and_says_so() -> None:
    page = page_of("step_by_step", text="a b", heads="3", head="1")
    names = document_of(page.numbers).arrays.keys()
    assert {name for name in names if name.startswith("W_")} == {"W_query/1", "W_key/1", "W_value/1", "W_output"}
    assert page.missing == "this page holds the projections of head 1 only"


@pytest.mark.parametrize(
    ("name", "link", "title", "chosen"),
    [("step_by_step", {"step": "weights", "head": "1", "k": "0"}, "toy, seed 0, step by step",
      {"step": "weights", "layer": "0", "head": "1", "k": "0"}),
     ("step_by_step", {"source": "pretrained", "layer": "2"}, "MiniLM (a small BERT) · layer 2, step by step",
      {"layer": "2"}),
     ("transformer", {"architecture": "decoder", "block": "1"},
      "toy transformer, seed 0 · decoder block 1, step by step", {"layer": "1"}),
     ("compare", {"quantity": "scores"}, "A, B and their difference: scores", {}),
     ("averages", {"way": "matrix", "k": "1"}, "From averages to attention", {"step": "matrix", "k": "1"})],
)  # fmt: skip
def test_a_page_has_its_title_what_is_chosen_and_the_type_of_lecture_mode(
    name: str, link: dict[str, str], title: str, chosen: dict[str, str]
) -> None:
    page = page_of(name, text="a b", lecture="1", **link)
    assert (page.title, page.lecture) == (title, True)
    assert page.view == page.view | chosen and "q" not in page.view
    assert not page_of(name, text="a b", **link).lecture


def test_the_frame_of_a_page_escapes_its_title_and_marks_lecture_mode() -> None:
    for lecture in (False, True):
        page = Parsed(pages.whole("a <b> \ud800", "<p>body</p>", policy="p", look="", code="", lecture=lecture))
        assert page.all("html")[0][0] == {"lang": "en"} | ({"class": "lecture"} if lecture else {})
        assert (page.all("title")[0][1], page.all("p")[0][1]) == ("a <b> ?", "body")


def test_settings_are_data_whatever_they_hold() -> None:
    page = Page("walk", "title", "about", b"123", "words", {"focus": HOSTILE}, (HOSTILE,), missing=HOSTILE)
    parsed = Parsed(page.body.encode())
    (own, settings), (_, numbers) = parsed.all("script")
    assert own["type"] == "application/json" and settings.isascii()
    read_settings = json.loads(settings)
    assert (read_settings["view"], read_settings["missing"]) == ({"focus": HOSTILE}, HOSTILE)
    assert b64decode(numbers) == b"123"
    assert parsed.all("p")[0][1] == HOSTILE and not parsed.all("img")


def test_a_part_of_a_transformer_is_a_page_with_its_steps() -> None:
    page = page_of("transformer", architecture="decoder", block="1", part="logits", q="2")
    document = document_of(page.numbers)
    assert document.header.place == "decoder block 1"
    assert page.title.endswith("decoder block 1, step by step")
    assert (page.view["step"], page.view["q"]) == ("logits", "2")
    arrays = document.arrays
    expected = arrays["block_output"] @ arrays["W_vocabulary"]
    np.testing.assert_allclose(arrays["logits"], expected, rtol=1e-4, atol=1e-5)


def test_pages_of_minilm_say_whose_head_it_is_beside_its_guesses_and_its_logits() -> None:
    link = {"source": "pretrained", "text": "The cat [MASK] on the mat."}
    header = document_of(page_of("step_by_step", **link, step="tokens").numbers).header
    assert [of.row for of in header.guesses] == [3] and header.guesses_note == head_note()
    header = document_of(page_of("transformer", **link, block="5", part="logits").numbers).header
    said = {step.name: step.notice for step in header.steps if isinstance(step.notice, str)}
    assert [name for name, notice in said.items() if notice.endswith(head_note())] == ["logits", "probabilities"]


def test_rounded_numbers_are_said_to_be_rounded_and_by_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"text": " ".join(f"w{number}" for number in range(20)), "b_head": "1", "quantity": "scores"}
    exact = page_of("compare", **link)
    assert not any("rounded" in note for note in exact.notes)
    monkeypatch.setattr(matrices, "EXACT_CELLS", 9)
    page = page_of("compare", **link)
    said = re.fullmatch(r"The numbers are rounded to 16 bits: an error of at most (\d\.\de-\d\d)\.", page.notes[-1])
    assert said
    (_, known), (header, arrays) = read_payload(exact.numbers), read_payload(page.numbers)
    errors = []
    for name, (low, high) in header["ranges"].items():
        assert arrays[name].dtype == np.uint16
        errors.append(np.abs(low + arrays[name] / 65534 * (high - low) - known[name]).max())
    assert 0.8 < max(errors) / float(said[1]) < 1.1


def test_a_token_that_a_link_marks_and_the_text_lacks_is_not_marked() -> None:
    header, _ = read_payload(page_of("compare", text="a b c", q="3", k="2").numbers)
    assert (header["q"], header["k"]) == (None, 2)


def test_what_can_not_be_a_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    can = "one of Step by step, Heads, From averages to attention, Transformer and Compare can."
    sentence = f"A view of Tokens can't be a web page of its own; {can}"
    with pytest.raises(NoPageError, match=f"^{re.escape(sentence)}$"):
        check_page("tokens", view(), DirectResources())
    with pytest.raises(NoTokensError):
        check_page("compare", view(text=" "), DirectResources())
    monkeypatch.setitem(MAKERS, "compare", replace(MAKERS["compare"], limit=lambda _: (2, "A page")))
    check_page("compare", view(text="two words"), DirectResources())
    with pytest.raises(NoPageError, match="A page takes up to 2 tokens, and this view has 3"):
        check_page("compare", view(text="now three words"), DirectResources())


@pytest.mark.parametrize(("kind", "refused"), [("encoder", "text"), ("decoder", "pair"), ("cross", "text pair")])
def test_a_page_of_heads_has_room_for_its_longer_side(
    kind: str, refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bart = str(save("bart", tmp_path))
    layers = {"encoder": 2, "decoder": 3, "cross": 3}[kind]
    monkeypatch.setattr(
        pages, "HEADS_BYTES", 2 * layers * (4 + 1) * 12**2
    )  # 12 tokens of 4 heads and a rollout a layer
    for long in ("text", "pair"):
        asked = view(**{"text": "a", "pair": "a", long: "a " * 11, "model": bart, "kind": kind})
        if long in refused:
            sentence = f"has at most 3 MB: with {layers} x 4 heads, it takes up to 12 tokens, and this view has 13."
            with pytest.raises(NoPageError, match=f"^A web page of Heads {sentence}$"):
                check_page("heads", asked, DirectResources())
        else:
            check_page("heads", asked, DirectResources())


@pytest.mark.parametrize(("layers", "heads"), [(6, 12), (2, 4), (12, 12), (1, 1)])
def test_the_weights_of_a_page_of_heads_and_of_its_rollout_are_as_many_as_fit(layers: int, heads: int) -> None:
    selection: Any = SimpleNamespace(numbers=range(layers), heads=heads)
    most, _ = pages._most_of_heads(selection)
    matrices_, number = layers * heads + layers, 2  # of each head and of each layer's rollout; bytes of a weight
    assert number * matrices_ * most**2 <= pages.HEADS_BYTES < number * matrices_ * (most + 1) ** 2


def test_a_page_of_heads_holds_all_of_them_and_what_is_chosen() -> None:
    link = {"layer": "3", "head": "1", "chosen": "3.1_0.r", "q": "2", "threshold": "0.25", "mean": "1", "text": "a b"}
    page = page_of("heads", **link)  # the page has one source, whatever the link says
    header, arrays = read_payload(page.numbers)
    trace = DirectResources().load("minilm").trace("a b", None)
    every = torch.cat([trace.attentions(layer) for layer in range(6)]).double().numpy()
    weights = read(arrays[header["files"]["shared"]].tobytes())["weights"] / 65535
    np.testing.assert_allclose(weights, every, rtol=0, atol=7.7e-6)
    assert arrays.keys() == {"measures", header["files"]["shared"], *header["files"]["rollout"]}
    assert header["view"]["chosen"] == [[3, 1], [0, -1]]
    assert page.view == page.view | {name: value for name, value in link.items() if name != "text"}
    assert page.title == "MiniLM (a small BERT), all heads"
    assert page.notes[0].startswith("Weights are rounded to 16 bits: each is at most 7.7e-06 from the one")


def test_heads_that_are_too_many_for_a_page_are_drawn_from_the_source_of_that_page() -> None:
    files, alt = draw_view("heads", view(text="two words", layer="5", head="11"), DirectResources())
    assert (
        "weights = softmax of each row, 4 rows: query (from), 4 columns: key (to)" in alt
    )  # MiniLM's tokens, not the toy's
    assert all(b"[CLS]" in file for file in files.values())


@pytest.mark.parametrize("text", ["two words", "w " * 60])
def test_tokens_are_drawn_in_the_middle_of_their_picture(text: str) -> None:
    for file in draw_view("tokens", view(text=text), DirectResources())[0].values():
        picture = ET.fromstring(file)
        lines = [(float(line.get("x1", "")), float(line.get("x2", ""))) for line in picture.iterfind(".//{*}line")]
        wide = float(picture.get("viewBox", "").split()[2])
        left, right = min(begin for begin, _ in lines), max(end for _, end in lines)
        assert 0 < left < right < wide and left == pytest.approx(wide - right, abs=0.1)


def test_a_scene_of_a_training_is_drawn_as_its_weights_at_that_step() -> None:
    files, alt = draw_view("train", view(run="recorded", snapshot="285", watch="decoder.1.0"), DirectResources())
    assert "weights of decoder layer 1 · head 0 after 285 steps, 18 rows: query (from), 18 columns: key (to)" in alt
    assert all(b">q<" in file for file in files.values())
    _, alt = draw_view("train", view(train_part="text", rung="heads"), DirectResources())
    assert alt.count("8 rows: query (from), 8 columns: key (to)") == 4
    for link in (
        {"train_part": "text", "rung": "bigram"}, {"train_part": "generate"}, {"task": "no_such_task"},
        {"sample": "no digit 7"}, {"watch": "cross.0.0"}, {"watch": "decoder.7.0"}, {"task": "addition"},
        {"task": "numbers", "watch": "cross.0.1"}, {"run": "control"},
    ):  # fmt: skip
        assert draw_view("train", view(**link), DirectResources())[1]


def test_the_snapshot_that_is_drawn_is_the_nearest_and_without_a_step_the_last() -> None:
    snapshots = [SimpleNamespace(step=step) for step in (0, 1, 2, 6, 20)]
    recording: Any = SimpleNamespace(view=SimpleNamespace(snapshots=snapshots))
    for asked, nearest in ((0, 0), (1, 1), (3, 2), (5, 6), (13, 6), (14, 20), (99, 20), (None, 20)):
        assert pictures._nearest(recording, asked).step == nearest


@pytest.mark.parametrize(("watch", "axes"), [("encoder.0.0", "ss"), ("decoder.0.0", "tt"), ("cross.0.0", "ts")])
def test_of_a_model_that_translates_each_axis_has_the_tokens_of_its_side(watch: str, axes: str) -> None:
    task = TASKS["numbers"]
    source, target = task.read(task.examples[0])
    assert target is not None and source.labels != target.labels
    layout, tokens = pictures._of_task(view(task="numbers", watch=watch))
    expected = [{"s": source, "t": target}[side].labels for side in axes]
    assert [tokens[axis].labels for axis in ("query", "key")] == expected
    assert layout is not None
    ((panel,),) = layout.grid
    assert panel is not None and panel.values.shape == tuple(map(len, expected))


@pytest.mark.parametrize("causal", [False, True])
def test_the_last_of_matrices_side_by_side_has_the_colour_bar_and_causal_ones_are_masked(*, causal: bool) -> None:
    weights = torch.full((3, 3), 0.25)
    layout = pictures._side_by_side([("a", weights), ("b", weights)], causal=causal)
    (first, last) = panels = [panel for panel in layout.grid[0] if panel is not None]
    assert [(panel.title, panel.bar) for panel in panels] == [("a", False), ("b", True)]
    for panel in (first, last):
        np.testing.assert_array_equal(panel.values == 0.25, np.tril(np.ones((3, 3))) if causal else np.ones((3, 3)))


def test_the_control_training_is_drawn_where_a_scene_asks_for_it() -> None:
    layouts = [pictures._of_task(view(task="induction", run=run))[0] for run in ("recorded", "control")]
    values = [layout.grid[0][0].values for layout in layouts]  # type: ignore[union-attr]
    assert np.nanmax(np.abs(values[0] - values[1])) > 0.1, "the control has learned something else"


def test_effects_of_heads_are_drawn_in_thousandths(monkeypatch: pytest.MonkeyPatch) -> None:
    known = torch.rand(6, 12)
    monkeypatch.setattr(pictures, "effects", lambda *_: SimpleNamespace(sentence=known))
    layout, _ = pictures._of_bert(view(bert_part="without", text="a b"), DirectResources())
    assert layout is not None
    ((panel,),) = layout.grid
    assert panel is not None and panel.title.endswith(", in thousandths") and panel.bar
    np.testing.assert_allclose(panel.values / 1000, known, rtol=1e-6)


@pytest.mark.parametrize("by", ["zero", "mean"])
def test_a_scene_without_a_head_is_drawn_as_the_effects_of_all_heads(by: str) -> None:
    files, alt = draw_view("bert", view(bert_part="without", off="3.1", off_by=by), DirectResources())
    assert alt.startswith("Heatmaps: 1 − cosine of the sentence embedding without each head")
    assert "6 rows: layer, 12 columns: head" in alt
    assert set(files) == {"light", "dark"}
    _, alt = draw_view("bert", view(bert_part="search", text="two words"), DirectResources())
    assert alt == "4 tokens with their positions and ids"
    assert draw_view("tokens", view(text="a", source="toy"), DirectResources())[1] == "1 token with its position and id"


@pytest.mark.parametrize(
    ("number", "ways"),
    [
        (1, ["index.html", "scene-02.html"]),
        (2, ["scene-01.html", "index.html", "scene-03.html"]),
        (3, ["scene-02.html", "index.html"]),
    ],
)
def test_a_scene_of_a_site_leads_to_the_one_before_all_scenes_and_the_next_one(number: int, ways: list[str]) -> None:
    scenes = tuple(Scene(f"title {one}", "sentence", "step_by_step") for one in range(1, 4))
    found = Parsed(site._heading(Lesson("own", "lesson", "", scenes), number).encode())
    assert [attributes["href"] for attributes, _ in found.all("a")] == ways
    assert found.all("a")[-2 if number < 3 else -1][1] == f"{number} of 3"
    assert found.all("h1")[0][1] == f"title {number}"


def test_a_site_has_a_page_for_each_scene_and_every_file_that_its_pages_name() -> None:
    scenes = (
        Scene("walk", "sentence", "step_by_step", "text=a+b"), Scene("drawn", "sentence é", "tokens", "text=a+b"),
        Scene("slip", "sentence", "transformer", "text=a+b&check=mistake&mistake=norm", question="why?"),
    )  # fmt: skip
    lesson = Lesson("own", "A <lesson>", "What it is about", scenes)
    files = dict(site.build_site(lesson, DirectResources()))
    names = [name for name in files if name.endswith(".html")]
    assert names == ["scene-01.html", "scene-02.html", "scene-03.html", "index.html"] and list(files)[-1] == names[-1]
    for name in names:
        page = Parsed(files[name])
        named = [value for _, own, _ in page.elements for key in LOADS if (value := own.get(key)) and ":" not in value]
        assert set(named) <= set(files), name
        dark = [own for own, _ in page.all("source")]
        assert all(own["media"] == "(prefers-color-scheme: dark)" and "-dark." in str(own["srcset"]) for own in dark)
        assert [len(dark), len(page.all("img"))] == [{"scene-02.html": 1, "scene-03.html": 2}.get(name, 0)] * 2
        assert all(own["alt"] and "-light." in str(own["src"]) for own, _ in page.all("img"))
    index, drawn = Parsed(files["index.html"]), Parsed(files["scene-02.html"])
    assert [(own["href"], text) for own, text in index.all("a")] == list(
        zip(names, ("walk", "drawn", "slip"), strict=False)
    )
    assert (index.all("title")[0][1], index.all("h1")[0][1]) == ("A <lesson>", "A <lesson>")
    assert index.all("p")[0][1] == "What it is about"
    assert drawn.all("title")[0][1] == "drawn · A <lesson>"
    assert drawn.all("img")[0][0]["alt"] == "2 tokens with their positions and ids"
    assert drawn.all("p")[-1][1] == "A picture of the page “Tokens”, which moves only in the app."
    assert Parsed(files["scene-01.html"]).all("p")[1][1].startswith("“a b” Toy weights of seed 0")
    svg = files["assets/scene-03-wrong-dark.svg"].decode()
    assert THEMES["dark"].paper in svg and THEMES["dark"].paper not in files["assets/scene-03-wrong-light.svg"].decode()


@pytest.mark.parametrize("name", sorted({*shipped()} - {"attention", "heads", "mistakes", "transformer"}))
def test_the_site_of_a_lesson_that_ships_has_a_page_for_each_scene(name: str) -> None:
    """tests/browser/test_site.py builds the sites of the others."""
    lesson = shipped()[name]
    files = dict(site.build_site(lesson, DirectResources()))
    pages_of_site = [Parsed(file) for path, file in files.items() if path.endswith(".html")]
    assert len(pages_of_site) == len(lesson.scenes) + 1
    titles = [*(scene.title for scene in lesson.scenes), lesson.title]
    assert [page.all("h1")[0][1] for page in pages_of_site] == titles


def test_the_answer_of_a_question_waits_and_no_title_is_markup() -> None:
    scenes = tuple(Scene("<i>title", "the <i>sentence", "step_by_step", question=asked) for asked in ("", "why <i>?"))
    own = Lesson("own", "<i>lesson", "", scenes)
    plain, asked = (site._heading(own, number) for number in (1, 2))
    assert "<i>" not in plain + asked
    hidden = [attributes for page in (plain, asked) for attributes, text in Parsed(page.encode()).all("p")
              if text == "the <i>sentence"]  # fmt: skip
    assert ["hidden" in attributes for attributes in hidden] == [False, True]
    assert [len(Parsed(page.encode()).all("button")) for page in (plain, asked)] == [0, 1]
    assert Parsed(asked.encode()).all("h1")[0][1] == "<i>title"


def test_a_scene_with_steps_names_them_for_its_script() -> None:
    scenes = (Scene("a", "b", "step_by_step", "step=scores", steps=("scaled", "weights")), Scene("a", "b", "heads"))
    named = [Parsed(site._heading(Lesson("own", "l", "", scenes), number).encode()).all("nav") for number in (1, 2)]
    assert [nav[0][0].get("data-steps") for nav in named] == ["scores scaled weights", None]


def test_the_lines_that_embed_a_page_are_html_whatever_its_name() -> None:
    lines = iframe('a "b".html', '<&">')
    ((attributes, _),) = Parsed(lines.encode()).all("iframe")
    assert attributes["src"] == "a%20%22b%22.html"
    assert attributes["title"] == '<&">'


def test_code_is_not_cut_short_by_its_own_strings() -> None:
    assert inline_script('const a = "</script><!--";') == 'const a = "<\\/script><\\!--";'


def test_the_colours_of_a_page_are_the_apps() -> None:
    themes = tomllib.loads(CONFIG.read_text())["theme"]
    sheet = styles("embed/page.css").lower()
    names = {"primaryColor": "primary-color", "backgroundColor": "background-color", "textColor": "text-color",
             "secondaryBackgroundColor": "secondary-background-color"}  # fmt: skip
    for key, name in names.items():
        light, dark = (themes[theme][key].lower() for theme in ("light", "dark"))
        assert f"--st-{name}: light-dark({light}, {dark});" in sheet
