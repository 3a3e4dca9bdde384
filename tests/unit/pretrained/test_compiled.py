"""The graph of the built-in model's forward pass does what the encoder does in Python, bit for bit."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from inspect import unwrap
from unittest.mock import Mock

import pytest
import torch

from attnviz.pretrained import PretrainedModel, built_in, load
from attnviz.trace.recorder import Pass, Replacement, replaced

TEXT = "The animal didn't cross the street because it was too tired."
TEXTS = {"nothing": "", "a word": "a", "a sentence": TEXT, "130 tokens": "word " * 128, "too long": "word " * 600}


@pytest.fixture(scope="module")
def minilm() -> PretrainedModel:
    return load()


def both(model: PretrainedModel, text: str) -> tuple[Pass, Pass]:
    """Return the records of a pass in the graph, and of one in Python."""
    tokens, _ = model.read(text, "and a pair")
    return model.run(tokens.ids, tokens.segments, None), PretrainedModel.run(model, tokens.ids, tokens.segments, None)


def assert_equal(graph: Pass, python: Pass) -> None:
    assert torch.equal(graph.hidden, python.hidden)
    for one, other in zip(graph.calls, python.calls, strict=True):
        assert one.scale == other.scale
        assert one.mask is other.mask is None
        assert one.query_input is one.key_input
        for name in ("query", "key", "value", "query_input"):
            assert torch.equal(getattr(one, name), getattr(other, name)), name
            assert getattr(one, name).stride() == getattr(other, name).stride(), name


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_pass_in_the_graph_equals_one_in_python(minilm: PretrainedModel, text: str) -> None:
    for _ in range(1 if text == TEXTS["too long"] else 3):  # TorchScript optimises a graph in its first runs
        assert_equal(*both(minilm, text))


def test_threads_share_the_graph(minilm: PretrainedModel) -> None:
    texts = [f"{TEXT} {'again ' * number}" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        for graph, python in threads.map(lambda text: both(minilm, text), texts * 2):
            assert_equal(graph, python)


def test_the_first_pass_makes_the_graph_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mock(side_effect=unwrap(built_in.compiled))
    monkeypatch.setattr(built_in, "compiled", made)
    model = load()
    assert model.tokenize(TEXT).ids
    assert not made.called
    with ThreadPoolExecutor(4) as threads:
        for graph, python in threads.map(lambda _: both(model, TEXT), range(8)):
            assert_equal(graph, python)
    assert made.call_count == 1


def test_a_token_id_that_the_model_does_not_have_is_an_error(minilm: PretrainedModel) -> None:
    with pytest.raises(IndexError):
        PretrainedModel.run(minilm, [10**6], [0], None)
    with pytest.raises((IndexError, RuntimeError)):
        minilm.run([10**6], [0], None)
    assert_equal(*both(minilm, TEXT))


def test_other_threads_run_during_a_pass(minilm: PretrainedModel) -> None:
    """The graph leaves the interpreter to other threads for most of a pass: they count on meanwhile."""
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1

    tokens, _ = minilm.read("word " * 510)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted
        minilm.run(tokens.ids, tokens.segments, None)
        during = counted - before
    finally:
        over.set()
        thread.join()
    assert during > 1000


def test_padded_texts_are_each_as_if_alone(minilm: PretrainedModel) -> None:
    for pairs in ((("a dog", "it barks too"), ("the cat", None)), (("one two", "three"), ("one", "two three"))):
        texts = [minilm.tokenize(*pair) for pair in pairs]
        with torch.inference_mode():
            hidden = minilm.padded_forward([text.ids for text in texts], [text.segments for text in texts])
            for text, found in zip(texts, hidden, strict=True):
                alone = minilm.forward(text.ids, text.segments, None)
                torch.testing.assert_close(found[: len(text)], alone, rtol=0, atol=1e-5)


def test_a_head_that_is_switched_off_adds_nothing_in_a_pass(minilm: PretrainedModel) -> None:
    """As if the rows of W_O that take head 5 of layer 2 were 0; the graph knows nothing of it."""
    tokens = minilm.tokenize(TEXT)
    changed = copy.deepcopy(minilm.body)
    with torch.inference_mode():
        changed.encoder.layers[2].attention.output.weight[:, 5 * 32 : 6 * 32] = 0
        wanted = changed(torch.tensor(tokens.ids), torch.tensor(tokens.segments))
    with replaced({minilm.body.encoder.layers[2].attention: Replacement.by_zero([5], heads=12)}):
        found = minilm.run(tokens.ids, tokens.segments, None)
    torch.testing.assert_close(found.hidden, wanted, rtol=0, atol=1e-5)
    plain = minilm.forward(tokens.ids, tokens.segments, None)
    assert not torch.allclose(plain, wanted, atol=1e-3)
