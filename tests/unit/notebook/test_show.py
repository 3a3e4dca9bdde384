"""What the widget is given, what its traits take, and what is said where there is nothing to show."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import load
from traitlets import TraitError

import attnviz
from attnviz.document import read
from attnviz.notebook import NotebookError, bundle
from attnviz.notebook.base import BaseWidget, ChoiceError
from attnviz.notebook.heads import PROJECTIONS, heads_of
from attnviz.notebook.widgets import GAP, LARGEST, LEFT, TOP
from attnviz.steps import STEPS
from attnviz.tokens import CharVocab
from attnviz.toy.block import Toy
from attnviz.toy.config import ToyConfig
from attnviz.trace.trace import Trace
from tests.payloads import read_payload

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
    widget.layer, widget.head = 4, 7
    assert torch.equal(widget.walk.steps.weights, trace.head(4, 7).weights)


def test_the_document_has_all_that_its_first_head_needs_and_refers_to_the_rest(trace: Trace) -> None:
    heads, _ = heads_of(trace)
    document = read(heads.document(3, 5))
    assert document.header.heads == tuple(range(12))
    assert {"W_query/5", "query/0", "output", "thumbnails"} <= set(document.arrays)
    assert {name.partition("/")[0] for name in document.header.references} <= set(PROJECTIONS)
    for name, reference in document.header.references.items():
        data = load(heads.array(reference.digest))["array"]
        assert data.shape == reference.shape
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
    assert refused.value._render_traceback_() == [f"attnviz.notebook.base.ChoiceError: {refused.value}"]
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
    [{}, {"layer": 6}, {"layer": "x"}, {"layer": None}, {"layer": [0]}, {"layer": 0.5}, {"array": "x"}, {"array": 5},
     {"array": "9-W_query-0"}, {"array": "0-W_query-99"}, {"array": "0-W_query--1"}, {"array": "0-secret"},
     {"array": "0-W_query-0-0"}, {"array": "../../etc"}],
)  # fmt: skip
def test_what_the_browser_may_not_ask_for_is_answered_with_a_sentence(trace: Trace, asked: Any) -> None:
    content, buffers = answers(attnviz.show(trace), asked)
    assert content["error"]
    assert buffers == []


def test_the_browser_gets_the_document_of_another_layer(trace: Trace) -> None:
    widget = attnviz.show(trace)
    content, (data,) = answers(widget, {"layer": 4, "number": "a-1"})
    assert content == {"number": "a-1"}
    assert read(data).header.layer == 4


@pytest.mark.parametrize("step", [*STEPS])
def test_a_saved_notebook_has_a_picture_of_each_step(trace: Trace, step: str) -> None:
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


def test_without_anywidget_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = util.find_spec
    monkeypatch.setattr("attnviz.notebook.find_spec", lambda name: None if name == "anywidget" else real(name))
    with pytest.raises(
        NotebookError, match=r'^Widgets need anywidget: install it with `pip install "attnviz\[notebook'
    ):
        attnviz.show(TEXT)


def test_tracing_loads_no_widgets() -> None:
    code = "import sys, attnviz; attnviz.trace('a'); print('anywidget' in sys.modules, 'traitlets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_the_examples_of_the_docs_run() -> None:
    docs = (Path(__file__).resolve().parents[3] / "docs" / "notebook.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.+?)```", docs, re.DOTALL):
        exec(example, names)
    widget = names["widget"]
    assert repr(widget) == "WalkWidget(step weights, layer 3, head 5, q 13, k 0)"
    assert [widget.walk.query_labels[widget.q], widget.walk.key_labels[widget.k]] == ["tired", "[CLS]"]
