"""The pictures that the browser makes of a document are those that Python makes of the same heads."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnviz.document import Document, document_of_layer, write
from attnviz.figures.steps import WITH_HIDDEN_CELLS, describe, lay_out
from attnviz.links.link import STRETCH
from attnviz.pretrained import load
from attnviz.steps import ATTENTION
from attnviz.steps.averages import WAYS
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.matrices import matrix
from attnviz.trace.walk import Walk
from tests.browser.modules import BASE64, BYTES, CORE, Run
from tests.loaded import built_in_model
from tests.pictures import board_picture
from tests.toy import run_block, tokens_of
from tests.unit.families import save

PICTURES = f"""
  {BYTES} {BASE64}
  const {{ read }} = await import("{CORE}/document.ts");
  const document = read(bytes(given.file));
  return given.views.map(([step, head, stretch]) => {{
    const {{ panels, ...picture }} = m.pictureOf(document, step, head, {{ stretch }});
    const arrays = panels.map(({{ data, shape }}) => base64({{ data, shape }}));
    return {{ ...picture, panels: panels.map(({{ data, shape, ...panel }}) => panel), arrays }};
  }});
"""
"""Of each view (step, head, stretch): the picture, and the matrices of its panels."""

LABELS = ("the", "cat", "the", "<b>", "🙂", "a" * 40, "", "\0", "x")
TEXT = "The animal didn't cross the street because it was too tired."


def toy(tokens: int = 5, **config: Any) -> Walk:
    return run_block(range(1, tokens + 1), ToyConfig(**config), LABELS[:tokens]).walk(0, 0)


def walks(folder: Path) -> Iterator[tuple[str, Walk, tuple[int, ...] | None]]:
    """Yield a walk of each kind, and the heads that its document has; None for all."""
    yield "toy", toy(), None
    yield "toy, causal", toy(9, causal=True, heads=3), None
    yield "toy, one token", toy(1, causal=True), None
    yield "toy, one head of two", toy(causal=True), (1,)
    yield "toy, positions mixed", toy(qkv="positions", causal=True), None
    yield "toy, nothing learned", toy(qkv="identity", scale="off"), None
    yield "toy, no positions", toy(positions="none", projection=False, scale="0.3"), None
    minilm = built_in_model()
    yield "minilm", minilm.trace(TEXT).walk(3, 5), (0, 5)
    yield "minilm, 64 tokens", minilm.trace(" ".join(f"word{i}" for i in range(40))).walk(1, 0), (0, 7)
    bart = load(str(save("bart", folder))).trace("the cat sat", "on the mat and")
    yield "cross", bart.walk(1, 2, "cross"), None
    yield "causal", bart.walk(1, 2, "decoder"), None
    tokens = tokens_of(range(1, 10), LABELS)
    yield "averages", walk_to_attention(tokens, ToyConfig()), None
    yield "averages, 64 tokens", walk_to_attention(tokens_of(range(64)), ToyConfig(seed=3)), None
    for architecture, norm, number in (("encoder", "post", 1), ("decoder", "pre", 1), ("both", "pre", 5)):
        config = TransformerConfig(architecture, norm=norm)  # type: ignore[arg-type]
        target = tokens_of(range(7, 10)) if architecture == "both" else None
        yield f"block, {architecture}", trace_transformer(tokens, target, config).walk_at(number, 0), None
    yield "masks of heads", load(str(save("t5", folder))).trace("the cat sat", "on the mat").walk(1, 0, "encoder"), None


NAMES = (
    "toy", "toy, causal", "toy, one token", "toy, one head of two", "toy, positions mixed", "toy, nothing learned",
    "toy, no positions", "minilm", "minilm, 64 tokens", "cross", "causal", "masks of heads",
    "averages", "averages, 64 tokens", "block, encoder", "block, decoder", "block, both",
)  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Walk, tuple[int, ...] | None]]:
    return {name: (walk, heads) for name, walk, heads in walks(tmp_path_factory.mktemp("models"))}


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_pythons(run: Run, name: str, every: dict[str, tuple[Walk, tuple[int, ...] | None]]) -> None:
    walk, heads = every[name]
    document = document_of_layer(walk, heads)
    views = [
        (step.name, head, stretch)
        for step in document.header.steps
        if step.picture
        for head in document.header.heads
        for stretch in (STRETCH if head == document.header.heads[0] else ["0"])
    ]
    steps = {"scores", "scaled", "masked", "weights", "head_outputs", "concat"}
    assert {view[0] for view in views} >= (set(WAYS) if walk.averages else steps)
    reasons = None if walk.layer.mask_reasons is None else asdict(walk.layer.mask_reasons)
    found = run("walk/pictures.ts", PICTURES, {"file": b64encode(write(document)).decode(), "views": views})
    for (step, head, stretch), seen in zip(views, found, strict=True):
        layout = lay_out(replace(walk, head=head), step, stretch=STRETCH[stretch])
        sources = {"masked": "biased"} if walk.layer.position_bias is not None else {}
        header, arrays = board_picture(layout, walk.labels, sources)
        header["products"] |= operations(document, step, walk)
        for panel in header["panels"]:
            if panel["name"] in WITH_HIDDEN_CELLS:
                panel["reasons"] = json.loads(json.dumps(reasons))
            if panel["cols"] == "vocabulary":  # whose columns the browser labels as an axis
                header["labels"]["vocabulary"] = list(panel.pop("ticks").values())
        assert seen.pop("alt") == describe(layout)
        compare_arrays(seen.pop("arrays"), arrays, header)
        assert_equal(seen, as_json(header), f"{step}, head {head}")


def operations(document: Document, step: str, walk: Walk) -> dict[str, dict[str, Any]]:
    """Return how the matrices of a step are made that are no products: only the browser writes them out."""
    (picture,) = [one.picture for one in document.header.steps if one.name == step]
    assert picture
    made = {result: asdict(operation) for result, operation in picture.operations.items()}
    for one in made.values():
        one |= {name: matrix(walk, one[name]).tolist() for name in ("weight", "bias") if one[name] is not None}
    return made


def compare_arrays(seen: list[Any], arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Compare the matrices.

    What the document holds is equal to the last bit. Of what is derived, weights lie within 1e-6 and all else within
    1e-5 of the largest number: Python sums in float32, the browser in double precision.
    """
    assert len(seen) == len(arrays)
    for panel, sent, expected in zip(header["panels"], seen, arrays.values(), strict=True):
        ours = np.frombuffer(b64decode(sent["data"]), np.float32).reshape(sent["shape"])
        assert ours.shape == expected.shape
        largest = np.nanmax(np.abs(expected), initial=0)
        tolerance = {"weights": 1e-6, "row_sum": 1e-6, "softmax_weights": 1e-6}.get(panel["name"], 1e-5 * largest)
        if panel["name"] not in DERIVED:
            tolerance = 0
        np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance, err_msg=panel["name"])


DERIVED = (
    "biased",
    "scores",
    "scaled",
    "masked",
    "weights",
    "row_sum",
    "head_outputs",
    "concat",
    "output",
    "by_data",
    "softmax_weights",
)


def as_json(header: dict[str, Any]) -> dict[str, Any]:
    """Return the header as the browser has it: keys are texts, tuples are lists."""
    panels = [
        {**panel, **({"ticks": {str(at): text for at, text in panel["ticks"].items()}} if "ticks" in panel else {})}
        for panel in header["panels"]
    ]
    return {**header, "panels": panels}


def assert_equal(seen: Any, expected: Any, where: str) -> None:
    """Compare two values; ends of colours may differ in the last bits of a float32, as the numbers they are of."""
    if isinstance(expected, dict):
        assert seen.keys() == expected.keys(), where
        for key in expected:
            assert_equal(seen[key], expected[key], f"{where}: {key}")
    elif isinstance(expected, list | tuple):
        assert len(seen) == len(expected), where
        for index, (one, other) in enumerate(zip(seen, expected, strict=True)):
            assert_equal(one, other, f"{where}: {index}")
    elif isinstance(expected, float):
        assert seen == pytest.approx(expected, rel=1e-5), where
    else:
        assert seen == expected, where


def test_what_is_not_in_the_file_is_named(run: Run) -> None:
    document = document_of_layer(toy(heads=2), refer_to=lambda name, _: None if name.endswith("/0") else name[:1])
    body = f"""
      {BYTES}
      const {{ read }} = await import("{CORE}/document.ts");
      const document = read(bytes(given));
      const views = [["scores", 0], ["scores", 1], ["weights", 1], ["head_outputs", 1], ["qkv", 1], ["concat", 0]];
      return views.map(([step, head]) => m.pictureOf(document, step, head)?.needs ?? null);
    """
    own = ["query/1", "key/1"]
    found = run("walk/pictures.ts", body, b64encode(write(document)).decode())
    assert [None if names is None else sorted(names) for names in found] == [
        None, sorted(own), sorted(own), sorted([*own, "value/1"]),
        sorted([*own, "value/1", "embeddings", "W_query/1", "W_key/1", "W_value/1"]), sorted([*own, "value/1"]),
    ]  # fmt: skip


def test_every_step_of_attention_has_a_picture() -> None:
    document = document_of_layer(toy())
    assert [step.name for step in document.header.steps if step.picture] == list(ATTENTION)
