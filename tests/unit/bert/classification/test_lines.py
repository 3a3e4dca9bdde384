"""The lines of torch that the classifier and the agent show run, and give the numbers of the library."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoTokenizer, BertModel

from attnviz.bert.agent import over_positions, selective
from attnviz.bert.classification.classifier import Pooled, plan_of, pool, pool_in_steps, vectors_of
from attnviz.bert.classification.examples import Examples, built_in
from attnviz.bert.classification.shipped import load
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import find_folder
from attnviz.training.loop import Trainer
from attnviz.training.plan import build
from attnviz.training.vectors import Vectors
from attnviz.ui.bert import agent
from attnviz.ui.bert.classifier import views

TEXT = "Since the dose was raised she feels dizzy."
SOME = 48
"""Reviews, so that the lines read them one by one in little time"""


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """Return what the lines take for granted."""
    shipped = load("agent").classifier
    layer = nn.Linear(*shipped.weight.T.shape)
    layer.load_state_dict({"weight": shipped.weight, "bias": shipped.bias})
    model = BertModel.from_pretrained(find_folder(), attn_implementation="eager").eval().requires_grad_(False)
    tokenizer = AutoTokenizer.from_pretrained(find_folder())
    return {
        "torch": torch, "nn": nn, "F": functional, "model": model, "tokenizer": tokenizer, "text": TEXT,
        "layer": layer.requires_grad_(requires_grad=False),
    }  # fmt: skip


def test_the_lines_that_train_give_the_layer_of_a_training(minilm: BuiltInModel, names: dict[str, object]) -> None:
    whole = built_in("reviews")
    some = Examples("some", whole.texts[:SOME], whole.classes[:SOME], whole.labels, (), "")
    plan = plan_of(2, 384, steps=30, rate=0.01, seed=2)
    subject = Vectors(vectors_of(some, pool(minilm, some.texts), "mean", tanh=False), 2, 2)
    trainer = Trainer(build(plan.model, 2), subject.batch, plan.training)
    for _ in range(30):
        trainer.advance()
    given = {
        **names, "texts": some.texts, "classes": torch.from_numpy(some.classes.copy()), "train": subject.train_rows,
        "held_out": subject.held_out_rows, "generator": torch.Generator().manual_seed(2),
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        exec(views.TRAINING_LINES.format(width=384, classes=2, rate=0.01, steps=30, batch=32), given)
    layer = given["layer"]
    assert isinstance(layer, nn.Linear)
    torch.testing.assert_close(layer.weight, trainer.model.get_parameter("weight"), rtol=0, atol=1e-3)
    batch = subject.held_out()
    right = (trainer.model(batch.ids).argmax(-1) == batch.targets).float().mean()
    assert float(given["accuracy"]) == pytest.approx(float(right), abs=0.1)  # one text of 12 at the border


@pytest.mark.parametrize(("how", "tanh"), [("mean", False), ("cls", True)])
def test_the_lines_of_a_sentence_give_its_probabilities(
    minilm: BuiltInModel, names: dict[str, object], how: str, tanh: bool
) -> None:
    shipped = load("agent").classifier
    other = type(shipped)(shipped.weight, shipped.bias, shipped.labels, how, tanh)  # type: ignore[arg-type]
    lines = views.SENTENCE_LINES.format(width=384, classes=4)

    class Here:
        classifier = other

    given = dict(names)
    exec(views.features_in(lines, Here), given)  # type: ignore[arg-type]
    expected = other.probabilities(pool(minilm, [TEXT]))[0]
    torch.testing.assert_close(given["probabilities"], expected, rtol=0, atol=1e-5)
    trace = minilm.trace(TEXT)
    torch.testing.assert_close(given["from_cls"], views.from_cls(trace), rtol=0, atol=1e-5)


def test_texts_are_cut_as_transformers_cuts_them(minilm: BuiltInModel, names: dict[str, object]) -> None:
    texts = ["a dog " * 300, "short", "a dog " * 127, "a dog " * 127 + "x"]  # 602, 3, 256 and 257 tokens
    *counts, found = pool_in_steps(minilm, texts, 256)
    assert counts == [4]
    assert isinstance(found, Pooled)
    assert found.cut == 2
    for place, text in enumerate(texts):
        inputs = names["tokenizer"](text, truncation=True, max_length=256, return_tensors="pt")  # type: ignore[operator]
        hidden = names["model"](**inputs).last_hidden_state[0]  # type: ignore[operator]
        torch.testing.assert_close(found.mean[place], hidden.mean(0), rtol=0, atol=1e-5)
        torch.testing.assert_close(found.cls[place], hidden[0], rtol=0, atol=1e-5)
    assert pool(minilm, ["a dog " * 127 + "x"]).cut == 0


def test_the_lines_of_the_mistake_give_positions(minilm: BuiltInModel, names: dict[str, object]) -> None:
    inputs = names["tokenizer"](TEXT, return_tensors="pt")  # type: ignore[operator]
    given: dict[str, object] = {**names, "inputs": inputs}
    exec(agent.POSITIONS_LINES, given)
    found = over_positions(load("agent").classifier, minilm.trace(TEXT).last_hidden_state)
    assert given["wrong"].tolist() == list(found.positions)  # type: ignore[attr-defined]
    assert int(given["wrong_too"]) == found.place  # type: ignore[call-overload]
    right = load("agent").classifier.logits(pool(minilm, [TEXT]))[0].argmax()
    assert int(given["right"]) == int(right)  # type: ignore[call-overload]


def test_the_lines_of_the_threshold_give_coverage_and_error() -> None:
    outcome = load("agent").outcome(built_in("reports"))
    given: dict[str, object] = {
        "probabilities": torch.from_numpy(outcome.probabilities), "classes": torch.from_numpy(outcome.classes.copy()),
        "threshold": 0.5,
    }  # fmt: skip
    exec(agent.THRESHOLD_LINES, given)
    found = selective(outcome, [0.5])
    assert float(given["coverage"]) == pytest.approx(found.coverage[0])  # type: ignore[arg-type]
    assert float(given["error"]) == pytest.approx(found.error[0])  # type: ignore[arg-type]
