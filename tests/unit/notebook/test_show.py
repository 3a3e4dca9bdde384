"""What the widget is given, what its traits take, and what is said where there is nothing to show."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import load
from traitlets import TraitError

import attnviz
from attnviz.document import read
from attnviz.export.drawing.marks import Drawing
from attnviz.notebook import NotebookError, bundle
from attnviz.notebook.heads import NO_TRACE, PROJECTIONS, heads_of
from attnviz.notebook.widgets import GAP, LARGEST, LEFT, TOP, BaseWidget, ChoiceError, _span, draw_heads
from attnviz.steps import STEPS
from attnviz.tokens import CharVocab
from attnviz.toy.block import Toy
from attnviz.toy.config import ToyConfig
from attnviz.trace.layer import Block, LayerTrace
from attnviz.trace.model import Kind, RowGuesses
from attnviz.trace.trace import Trace
from tests.payloads import read_payload
from tests.scripts import ROOT, run_alone
from tests.toy import tokens_of
from tests.unit.families import save

TEXT = "The animal didn't cross the street."
SIDE = LARGEST
"""Of the thumbnails of twelve heads"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return attnviz.trace(TEXT)


def test_a_text_a_trace_and_a_head_are_shown(trace: Trace) -> None:
    assert repr(attnviz.show(TEXT, layer=3, head=5)) == "WalkWidget(step weights, layer 3, head 5)"
    assert repr(attnviz.show(trace, step="scores")) == "WalkWidget(step scores, layer 0, head 0)"
    alone = attnviz.show(trace.walk(2, 4))
    assert repr(alone) == "WalkWidget(step weights, layer 2, head 4)"
    assert (alone._layers, attnviz.show(trace)._layers) == ([], list(range(6)))
    toy = Toy(ToyConfig(), CharVocab.from_text("abc").tokenize).trace("abcab")
    assert read(attnviz.show(toy)._document).header.query.labels == tuple("abcab")


def test_the_head_that_is_shown_has_the_numbers_of_the_trace(trace: Trace) -> None:
    widget = attnviz.show(trace, layer=1, head=2)
    assert torch.equal(widget.walk.steps.weights, trace.head(1, 2).weights)
    document = read(widget._document)
    assert document.header.layer == 1 and {"W_query/2"} == {name for name in document.arrays if "W_query" in name}
    widget.layer, widget.head = 4, 7
    sent = widget.get_state()  # to the browser
    assert [sent[name] for name in ("layer", "head", "q", "k")] == [4, 7, None, None]
    assert torch.equal(widget.walk.steps.weights, trace.head(4, 7).weights)
    assert repr(attnviz.show(trace.walk(2, 4), head=0)) == "WalkWidget(step weights, layer 2, head 0)"


def test_the_document_has_all_that_its_first_head_needs_and_refers_to_the_rest(trace: Trace) -> None:
    heads, _ = heads_of(trace)
    document = read(heads.document(3, 5))
    assert document.header.heads == tuple(range(12))
    assert {"W_query/5", "query/0", "output", "thumbnails"} <= set(document.arrays)
    assert {name.partition("/")[0] for name in document.header.references} <= set(PROJECTIONS)
    for name, reference in document.header.references.items():
        data = load(heads.array(reference.digest))["array"]
        assert data.shape == tuple(reference.shape)
        kind, _, head = name.partition("/")
        projection = (trace.layer(3).projections or {})[kind.removeprefix("W_")]
        assert projection.weight is not None
        np.testing.assert_array_equal(data, projection.weight[int(head)].numpy())


@pytest.mark.parametrize(
    ("name", "value"),
    [("layer", 6), ("layer", -1), ("layer", None), ("head", 12), ("head", "5"), ("head", True), ("q", 11), ("k", 0.5),
     ("k", float("nan")), ("q", "x" * 10_000), ("step", "softmax"), ("step", None), ("step", 3)],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_one_sentence_and_the_old_one_stays(trace: Trace, name: str, value: Any) -> None:
    widget = attnviz.show(trace, layer=3, head=5)
    before = getattr(widget, name)
    with pytest.raises(ChoiceError, match=rf"^{name} takes .+; it stays {before}\.$") as refused:
        setattr(widget, name, value)
    assert getattr(widget, name) == before
    assert len(str(refused.value)) < 300
    assert refused.value._render_traceback_() == [f"attnviz.notebook.widgets.ChoiceError: {refused.value}"]
    assert isinstance(refused.value, TraitError)


def test_whole_numbers_of_numpy_and_torch_are_taken(trace: Trace) -> None:
    widget = attnviz.show(trace)
    widget.q, widget.k, widget.head = torch.tensor(3), np.int64(9), np.uint8(2)
    assert [type(value) for value in (widget.q, widget.k, widget.head)] == [int] * 3
    assert repr(widget) == "WalkWidget(step weights, layer 0, head 2, q 3, k 9)"
    widget.q = None
    assert widget.q is None


@pytest.mark.parametrize(
    ("what", "given", "said"),
    [(TEXT, {"model": "/nowhere/at/all"}, "“/nowhere/at/all” is neither a folder"),
     (TEXT, {"kind": "cross"}, "no cross attention: this model has encoder"),
     (3, {}, "A value of type int is neither a text nor a trace")],
)  # fmt: skip
def test_what_can_not_be_shown_is_said_in_one_sentence(what: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(NotebookError, match=said):
        attnviz.show(what, **given)
    with pytest.raises(ChoiceError, match="layer takes a whole number from 0 to 5, not 6"):
        attnviz.show(TEXT, layer=6)


def answers(widget: BaseWidget, asked: Any) -> tuple[dict[str, Any], list[bytes]]:
    """Return what a widget sends when the browser asks for this."""
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    widget.send = lambda content, buffers=(): sent.append((content, list(buffers)))  # type: ignore[method-assign]
    widget._answer(widget, asked, [])
    return sent[0]


@pytest.mark.parametrize(
    "asked",
    [{}, {"layer": 0}, {"file": None}, {"file": 5}, {"file": [0]}, {"file": "x"}, {"file": "../../etc"},
     {"file": "document-6"}, {"file": "document-x"}, {"file": "document-0.5"}, {"file": "x-0-W_query-0"},
     {"file": "ID-9-W_query-0"}, {"file": "ID-0-W_query-99"}, {"file": "ID-0-W_query--1"}, {"file": "ID-0-secret"},
     {"file": "ID-0-W_query-0-0"}, {"file": "document-0~score-x"}, {"file": "document-0~score-0-0"},
     {"file": "document-9~score-0-0-0"}, {"file": "document-0~score-0-99-0"}, {"file": "~score-0--1-0"}],
)  # fmt: skip
def test_what_the_browser_may_not_ask_for_is_answered_with_a_sentence(trace: Trace, asked: Any) -> None:
    widget = attnviz.show(trace)
    if isinstance(name := asked.get("file"), str):
        asked = {"file": name.replace("ID", widget._heads.id)}
    content, buffers = answers(widget, asked)
    assert content["error"]
    assert buffers == []


def test_the_browser_gets_the_document_of_another_layer(trace: Trace) -> None:
    widget = attnviz.show(trace)
    widget.head = 7
    content, (data,) = answers(widget, {"file": "document-4", "number": "a-1"})
    assert content == {"number": "a-1"}
    assert read(data).header.layer == 4 and "W_query/7" in read(data).arrays


def test_the_browser_gets_what_a_score_is_made_of(trace: Trace) -> None:
    widget = attnviz.show(trace)
    _, (data,) = answers(widget, {"file": "document-2~score-3-4-1"})
    found = json.loads(data)
    names = [name for name, _ in found["query"]]
    assert names[:4] == ["token", "segment", "position", "embedding norm β"], "as in the app"
    assert sum(value for _, value in found["query"]) == pytest.approx(float(trace.head(2, 3).scores[4, 1]), abs=1e-3)
    widget.layer = 1
    _, (data,) = answers(widget, {"file": "~score-3-4-1"})
    assert sum(value for _, value in json.loads(data)["key"]) == pytest.approx(
        float(trace.head(1, 3).scores[4, 1]), abs=1e-3
    )
    _, (data,) = answers(attnviz.show(trace.walk(2, 3)), {"file": "~score-3-4-1"})
    assert json.loads(data)["query"] == []
    assert json.loads(data)["note"] == NO_TRACE


def test_the_browser_gets_guesses_of_many_logits_when_it_asks_for_them() -> None:
    few, many = (attnviz.trace(" ".join(["[MASK]"] * count)) for count in (1, 9))
    header = read(attnviz.show(few)._document).header
    assert (len(header.guesses), header.guesses_at) == (1, "")
    widget = attnviz.show(many)
    header = read(widget._document).header
    assert header.guesses == () and header.guesses_note.startswith("MiniLM was made to compare sentences")
    _, (data,) = answers(widget, {"file": header.guesses_at})
    fetched = [RowGuesses(of["row"], tuple(of["labels"]), tuple(of["shares"])) for of in json.loads(data)]
    assert tuple(fetched) == many.guesses("encoder") and len(fetched) == 9


@pytest.mark.parametrize("step", ["embeddings", "masked", "weights"])
def test_a_saved_notebook_has_a_picture_of_its_step(trace: Trace, step: str) -> None:
    """The pictures of all steps are held by tests/unit/document/test_pictures.py."""
    data, _ = attnviz.show(trace, step=step)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.format == "PNG"
    assert len(picture.convert("RGB").getcolors(2**24) or ()) > 20


def test_all_heads_are_shown_with_their_weights(trace: Trace) -> None:
    widget = attnviz.show_heads(trace, layer=3, head=5)
    assert repr(widget) == "HeadsWidget(layer 3, head 5)"
    assert torch.equal(widget.walk.steps.weights, trace.head(3, 5).weights)
    header, _ = read_payload(widget._payload)
    assert (header["layers"], header["heads"]) == (list(range(6)), 12)
    assert {name: header["view"][name] for name in ("layer", "head", "chosen")} == {
        "layer": 3, "head": 5, "chosen": [[3, 5]],
    }  # fmt: skip
    codes = load(widget._shared)["weights"].reshape(6, 12, len(trace.tokens), -1)
    np.testing.assert_allclose(codes[4, 7] / 65535, trace.attentions(4)[7], atol=8e-6)
    widget.head = -1  # the rollout
    rollout = header["files"]["rollout"][3]
    content, (data,) = answers(widget, {"file": rollout, "number": "a-2"})
    assert content == {"number": "a-2"}
    assert load(data)["weights"].shape == (1, len(trace.tokens), len(trace.tokens))


def test_of_a_long_text_the_weights_are_sent_head_by_head() -> None:
    trace = attnviz.trace("word " * 400)
    widget = attnviz.show_heads(trace)
    header, _ = read_payload(widget._payload)
    assert "weights" not in load(widget._shared)
    name, first, count = header["files"]["weights"][3]
    _, (data,) = answers(widget, {"file": name})
    expected = trace.attentions(first // 12)[first % 12 : first % 12 + count]
    np.testing.assert_allclose(load(data)["weights"] / 65535, expected, atol=8e-6)


@pytest.mark.parametrize("asked", [{}, {"file": "x"}, {"file": None}, {"file": [1]}, {"layer": 0}])
def test_all_heads_have_no_other_files(trace: Trace, asked: Any) -> None:
    content, buffers = answers(attnviz.show_heads(trace), asked)
    assert content["error"]
    assert buffers == []


def test_what_can_not_be_shown_of_all_heads_is_said_in_one_sentence(trace: Trace) -> None:
    widget = attnviz.show_heads(trace)
    with pytest.raises(ChoiceError, match=r"^head takes a whole number from -1 to 11, not 12; it stays 0\.$"):
        widget.head = 12
    with pytest.raises(NotebookError, match="no cross attention"):
        attnviz.show_heads(trace, kind="cross")
    with pytest.raises(NotebookError, match="A value of type Walk is neither a text nor a trace"):
        attnviz.show_heads(trace.walk(0, 0))  # type: ignore[arg-type]


def test_a_saved_notebook_has_a_thumbnail_of_each_head(trace: Trace) -> None:
    data, _ = attnviz.show_heads(trace)._repr_mimebundle_()
    picture = np.array(Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB"))
    weights = trace.attentions(2)[11].numpy()
    x, y, side = (1.25 * length for length in (LEFT + 11 * (SIDE + GAP), TOP + 2 * (SIDE + GAP), SIDE))
    middles = (np.arange(len(weights)) + 0.5) * side / len(weights)
    seen = picture[np.rint(y + middles).astype(int)][:, np.rint(x + middles).astype(int)]
    dark = 255 - seen[..., 1].astype(float)  # the darker, the larger the weight
    assert np.corrcoef(dark.ravel(), weights.ravel())[0, 1] > 0.99


def test_outside_of_a_notebook_a_trace_is_shown_by_its_repr(trace: Trace) -> None:
    assert bundle(trace) is None
    assert trace._repr_mimebundle_() is None


WITHOUT_ANYWIDGET = """
import sys
sys.modules["anywidget"] = None  # as if it were not installed
from types import SimpleNamespace
import attnviz
from attnviz.notebook import NotebookError, bundle
sys.modules["IPython"] = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
trace = attnviz.trace("a")
assert bundle(trace) is trace._repr_mimebundle_() is None
for show in (attnviz.show, attnviz.show_heads):
    try:
        show("a")
    except NotebookError as error:
        print(*error._render_traceback_())
"""


def test_without_anywidget_a_sentence_says_what_to_install() -> None:
    """And a trace is shown by its repr, also in a notebook."""
    ran = run_alone(WITHOUT_ANYWIDGET, cwd=ROOT, has_attnviz=True)
    assert ran.returncode == 0, ran.stderr
    said = 'Widgets need anywidget: install it with `pip install "attnviz[notebook]"`.'
    assert ran.stdout.splitlines() == [f"attnviz.notebook.errors.NotebookError: {said}"] * 2


def test_the_examples_of_the_docs_run() -> None:
    docs = (Path(__file__).resolve().parents[3] / "docs" / "notebook.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.+?)```", docs, re.DOTALL):
        exec(example, names)
    widget = names["widget"]
    assert repr(widget) == "WalkWidget(step weights, layer 3, head 5, q 13, k 0)"
    assert [widget.walk.query_labels[widget.q], widget.walk.key_labels[widget.k]] == ["tired", "[CLS]"]


@pytest.mark.parametrize(
    ("choices", "said"),
    [((3,), "only 3"), ((0, 1), "a whole number from 0 to 1"), ((2, 5), "only 2 or 5"), ((1, 2, 5), "only 1, 2 or 5"),
     ((2, 3, 4), "a whole number from 2 to 4")],
)  # fmt: skip
def test_what_there_is_to_choose_from_is_said_in_words(choices: tuple[int, ...], said: str) -> None:
    assert _span(choices) == said


def test_a_pin_may_be_none_and_a_head_may_not(trace: Trace) -> None:
    widget = attnviz.show(trace, layer=3)
    with pytest.raises(ChoiceError, match=r"^q takes a whole number from 0 to 10 or None, not 11; it stays None\.$"):
        widget.q = 11
    with pytest.raises(ChoiceError, match=r"^head takes a whole number from 0 to 11, not None; it stays 0\.$"):
        widget.head = None
    with pytest.raises(ChoiceError, match=r"^step takes one of tokens, .*, not 'softmax'\.$"):
        attnviz.show(trace, step="softmax")
    widget.q, widget.k = 10, 0


def test_a_model_and_a_second_text_are_taken(tmp_path: Path) -> None:
    folder = str(save("bart", tmp_path))
    widget = attnviz.show("the cat sat", "a dog", model=folder, kind="cross", layer=1)
    walk = widget.walk
    assert (walk.query_tokens.text, walk.key_tokens.text, walk.kind) == ("a dog", "the cat sat", "cross")
    assert (widget.choices["q"], widget.choices["k"]) == (range(len(walk.query_tokens)), range(len(walk.key_tokens)))
    heads = attnviz.show_heads("the cat sat", "a dog", model=folder, kind="cross")
    assert heads.choices["head"] == range(heads.choices["head"].stop), "there is no rollout of a cross-attention"
    assert (heads.choices["q"], heads.choices["k"]) == (widget.choices["q"], widget.choices["k"])
    assert heads.walk.kind == "cross"
    first = attnviz.show_heads("the cat sat", "a dog", model=folder)
    assert (first.walk.kind, first.choices["head"].start) == ("encoder", -1)
    toy = Toy(ToyConfig(), CharVocab.from_text("abc").tokenize)
    assert attnviz.show("abc", model=toy).walk.model == "toy, seed 0"


def all_different() -> Trace:
    """Return a trace whose kinds of attention differ in layers, heads and tokens; its encoder's layers are 1 and 4."""
    made = torch.Generator().manual_seed(0)

    def blocks(layers: int, heads: int, queries: int, keys: int) -> tuple[Block, ...]:
        shapes = [(heads, length, 4) for length in (queries, keys, keys)]
        return tuple(
            Block(LayerTrace(*(torch.randn(shape, generator=made) for shape in shapes), 0.5)) for _ in range(layers)
        )

    return Trace(
        tokens_of((1, 2, 3), "abc"),
        tokens_of((4, 5), "de"),
        {"encoder": blocks(2, 4, 3, 3), "decoder": blocks(3, 2, 2, 2), "cross": blocks(1, 5, 2, 3)},
        torch.zeros(2, 8),
        model="tiny",
        numbers={"encoder": (1, 4)},
    )


@pytest.mark.parametrize(
    ("kind", "layers", "heads", "queries", "keys"),
    [(None, (1, 4), 4, 3, 3), ("decoder", (0, 1, 2), 2, 2, 2), ("cross", (0,), 5, 2, 3)],
)
def test_each_kind_of_attention_has_its_own_layers_heads_and_tokens(
    kind: Kind | None, layers: tuple[int, ...], heads: int, queries: int, keys: int
) -> None:
    trace = all_different()
    walk, all_heads = attnviz.show(trace, kind=kind), attnviz.show_heads(trace, kind=kind)
    assert walk._layers == (list(layers) if len(layers) > 1 else [])
    for widget, first in ((walk, 0), (all_heads, 0 if kind == "cross" else -1)):
        assert widget.walk.kind == (kind or "encoder")
        assert (widget.choices["layer"], widget.choices["head"]) == (layers, range(first, heads))
        assert (widget.choices["q"], widget.choices["k"]) == (range(queries), range(keys))
        widget.layer, widget.head = layers[-1], heads - 1
    last = walk._heads.array(f"{walk._heads.id}-{layers[-1]}-query-{heads - 1}")
    np.testing.assert_array_equal(load(last)["array"], trace.layer(layers[-1], kind or "encoder").query[-1])
    with pytest.raises(LookupError):
        walk._heads.array(f"{walk._heads.id}-3-query-0")


def test_a_layer_that_can_not_be_shown_is_answered_with_the_reason() -> None:
    trace = all_different()
    trace.layer(4).query[0, 0, 0] = torch.inf
    content, buffers = answers(attnviz.show(trace), {"file": "document-4", "number": "a-3"})
    assert (content["number"], buffers) == ("a-3", [])
    assert "finite" in content["error"] and not content["error"].endswith(".")


def test_the_picture_of_a_step_that_a_model_lacks_is_that_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    made = drawings(monkeypatch)
    attnviz.show(all_different(), step="embeddings")._picture()
    assert f"{[*STEPS].index('weights') + 1} / {len(STEPS)}" in [text.text for text in made[0].texts]


def test_the_rollout_is_no_head(trace: Trace) -> None:
    widget = attnviz.show_heads(trace, head=-1)
    with pytest.raises(IndexError):
        _ = widget.walk


@pytest.mark.parametrize(
    ("name", "nbytes", "digest"),
    [("W_query/5", 10, None), ("W_query/6", 10, "3-W_query-6"), ("U_value/6", 10, "3-U_value-6"),
     ("query/6", 2**20, None), ("query/6", 2**20 + 1, "3-query-6"), ("query/5", 2**30, None), ("output", 2**20, None),
     ("output", 2**20 + 1, "3-output")],
)  # fmt: skip
def test_small_arrays_and_those_of_the_first_head_are_sent_at_once(
    trace: Trace, name: str, nbytes: int, digest: str | None
) -> None:
    heads, _ = heads_of(trace)
    assert heads._refer_to(3, 5, name, nbytes) == (digest and f"{heads.id}-{digest}")


def test_an_array_is_that_of_its_layer_and_its_head(trace: Trace) -> None:
    heads, _ = heads_of(trace)
    for layer, head in ((2, 7), (5, 11), (0, 0)):
        sent = load(heads.array(f"{heads.id}-{layer}-query-{head}"))["array"]
        np.testing.assert_array_equal(sent, trace.layer(layer).query[head])
    output = trace.layer(4).output()
    assert output is not None
    np.testing.assert_allclose(load(heads.array(f"{heads.id}-4-output"))["array"], output, atol=1e-6)
    own, first = heads_of(trace.walk(2, 4))
    assert (own.layers, own.count, first) == ((2,), 12, {"layer": 2, "head": 4})
    assert read(own.document(2, 9)).header.layer == 2
    with pytest.raises(LookupError):
        own.array(f"{own.id}-3-query-0")


def drawings(monkeypatch: pytest.MonkeyPatch) -> list[Drawing]:
    """Return what is drawn from now on."""
    made: list[Drawing] = []
    monkeypatch.setattr("attnviz.notebook.widgets.write_png", lambda drawing: made.append(drawing) or b"png")
    return made


def test_the_picture_of_a_step_says_which_of_all_it_is_and_of_which_head(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = drawings(monkeypatch)
    for step in ("tokens", "weights"):
        attnviz.show(trace, layer=3, head=5, step=step)._picture()
    texts = [[text.text for text in one.texts] for one in made]
    assert [any("MiniLM (a small BERT) · layer 3 · head 5" in text for text in one) for one in texts] == [True, True]
    for one, place in zip(texts, ("1", str([*STEPS].index("weights") + 1)), strict=True):
        assert any(re.search(rf"\b{place} ?(/|of) ?{len(STEPS)}\b", text) for text in one), one
    named = trace.walk(1, 2)
    assert heads_of(named)[0].walk(1, 3).name == "MiniLM (a small BERT) · layer 1 · head 3"
    assert heads_of(replace(named, name="mine"))[0].walk(1, 3).name == "mine"
    assert heads_of(replace(named, model=""))[0].walk(1, 3).name == "layer 1 · head 3"


def test_the_thumbnails_of_many_heads_are_in_rows_of_layers_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    made = drawings(monkeypatch)
    for heads in (2, 40):
        overview = np.zeros((3, heads, 4, 4), np.uint8)
        overview[2, 1, 3, 0] = 255
        assert draw_heads(overview, (1, 4, 7), "All heads of x") == b"png"
        drawing, names = made[-1], [f"{layer}.{head}" for layer in range(3) for head in range(heads)]
        assert [matrix.name for matrix in drawing.matrices] == names
        boxes = {matrix.name: matrix for matrix in drawing.matrices}
        assert all(m.width == m.height for m in boxes.values())
        assert boxes["2.1"].values[3, 0] == 1 and boxes["2.1"].values.sum() == 1
        assert tuple(boxes["2.1"].colours[3, 0]) == (0x5E, 0x3C, 0x99)
        right = max(m.x + m.width for m in boxes.values())
        assert right <= drawing.width and max(m.y + m.height for m in boxes.values()) < drawing.height
        assert boxes["0.1"].x >= boxes["0.0"].x + boxes["0.0"].width
        assert boxes["1.0"].y >= boxes["0.0"].y + boxes["0.0"].height
        texts = {text.text: text for text in drawing.texts}
        assert drawing.title == "All heads of x" and "All heads of x" in texts
        for row, layer in enumerate((1, 4, 7)):
            box = boxes[f"{row}.0"]
            assert box.y < texts[f"layer {layer}"].y < box.y + box.height or box.height < 30
            assert texts[f"layer {layer}"].x < box.x
        for head in range(heads):
            box = boxes[f"0.{head}"]
            assert texts[str(head)].x == pytest.approx(box.x + box.width / 2) and texts[str(head)].y < box.y


def test_a_trace_in_a_notebook_is_shown_and_what_can_not_be_is_left_to_its_repr(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    found = bundle(trace.walk(3, 5))
    assert found is not None
    assert found[0]["text/plain"] == repr(trace.walk(3, 5)) and "image/png" in found[0]
    refusing = Toy(ToyConfig(scale="1e40"), CharVocab.from_text("abc").tokenize).trace("abc")
    assert bundle(refusing) is None
    for terminal in (SimpleNamespace(), None):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda terminal=terminal: terminal))
        assert bundle(trace) is None
