"""The agent of /bert: its decision, its calls and its threshold are torch's and scikit-learn's numbers."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score
from streamlit.testing.v1 import AppTest

from attnviz.bert.agent import REVIEW, TITLES, message
from attnviz.bert.classification.classifier import RATE, pool
from attnviz.bert.classification.examples import ACTIONS, built_in
from attnviz.bert.classification.shipped import load
from attnviz.links.bert import REPORT
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.training.vectors import split
from attnviz.ui.bert.agent import WARNING, tables
from tests.app.pages import boxes as boxes_of
from tests.app.pages import html, messages, open_page
from tests.app.test_bert_classifier import figures, said, trained
from tests.loaded import pooled
from tests.unit.bert.classification.test_trained import by_hand

pytestmark = pytest.mark.usefixtures("shared_vectors")
HOSTILE = "<b>\x00 😀\u202e"


def opened(**query: str) -> AppTest:
    return open_page("bert", bert_part="agent", **query)


@pytest.fixture(scope="module")
def held_out() -> tuple[np.ndarray, torch.Tensor]:
    """Return the classes of the held-out reports, and the probabilities of the layer that ships."""
    examples, shipped = built_in("reports"), load("agent").classifier
    held = split(torch.from_numpy(examples.classes.copy()), 0)[1]
    features = pooled("reports").mean[held]
    return examples.classes[held], torch.softmax(features @ shipped.weight.T + shipped.bias, -1)


def test_a_report_is_decided_as_torch_decides_and_each_action_says_its_call(minilm: BuiltInModel) -> None:
    at, layer = opened(), load("agent").classifier
    probabilities = torch.softmax(layer.weight @ pool(minilm, [REPORT]).mean[0] + layer.bias, -1)
    action = int(probabilities.argmax())
    sentence = f"{action} {TITLES[action]}** with a probability of **{100 * probabilities[action]:.1f} %**"
    assert sentence in said(at)
    calls = [json.loads(unescape(one)) for one in re.findall("<code>(.+?)</code>", html(at))]
    assert [one["action"] for one in calls] == [0, 1, 2, 3]
    assert calls[3]["arguments"]["report"] == REPORT
    assert [f"<td>{one}</td>" in html(at) for one in ("up", "right", "down", "left")] == [True] * 4
    for one in probabilities.tolist():
        assert f"<td>{100 * one:.1f} %</td>" in html(at)
    assert "no medical device" in " ".join(boxes_of(at, "caption"))


def test_below_the_threshold_a_human_is_asked() -> None:
    assert "**Ask a human**" in said(opened(confidence="0.99"))
    assert "**Ask a human**" not in said(opened(confidence="0.01"))


@pytest.mark.parametrize("threshold", [0.0, 0.4, 0.7, 1.0])
def test_coverage_and_error_are_scikit_learn_s(held_out: tuple[np.ndarray, torch.Tensor], threshold: float) -> None:
    at = opened(agent_view="threshold", confidence=f"{threshold:g}")
    classes, probabilities = held_out
    confidence, predicted = probabilities.max(-1)
    stays = confidence.numpy() >= threshold
    assert f"is sure enough on **{100 * stays.mean():.1f} %** of {len(classes)} held-out reports" in said(at)
    if stays.any():
        error = 1 - accuracy_score(classes[stays], predicted[stays])
        assert f", and wrong on **{100 * error:.1f} %** of these; the other {(~stays).sum()} go" in said(at)
    asks = predicted.numpy() == ACTIONS.index("ask")
    assert f"On {(stays & asks).sum()} of those it is sure of, it chooses to ask a human" in said(at)
    acts_wrongly = (stays & ~asks & (predicted.numpy() != classes)).sum()
    assert f"; on {acts_wrongly} it would take a wrong action." in said(at)
    (figure,) = figures(at)
    assert figure["layout"]["shapes"][0]["x0"] == threshold
    at_it = round(threshold * 100)
    assert figure["data"][0]["y"][at_it] == pytest.approx(100 * stays.mean())
    assert "no medical device" in " ".join(boxes_of(at, "caption"))


def test_a_maximum_over_positions_is_shown_as_the_mistake_that_it_is(minilm: BuiltInModel) -> None:
    at, layer = opened(agent_view="positions"), load("agent").classifier
    hidden = minilm.trace(REPORT).last_hidden_state
    logits = torch.nn.functional.linear(hidden, layer.weight, layer.bias)
    labels = minilm.tokenize(REPORT).labels
    named = ", ".join(f"{place} (“{labels[place]}”)" for place in logits.argmax(0).tolist())
    assert f"it gives the positions {named}: tokens, not actions" in said(at)
    assert f"is the number **{int(logits.argmax())}** of 0 to {4 * len(labels) - 1}" in said(at)
    action = int(torch.nn.functional.linear(hidden.mean(0), layer.weight, layer.bias).argmax())
    assert f"the largest is action **{action}, {TITLES[action]}**" in said(at)
    (figure,) = figures(at)
    np.testing.assert_allclose(figure["data"][0]["z"], logits.T, atol=1e-4)


def test_only_the_last_layer_is_trained_and_then_shown(minilm: BuiltInModel) -> None:
    at = trained(opened(agent_view="result", class_steps="20"))
    count = load("agent").card.seeds[0].classifier.total
    shown = re.search(rf"\*\*([\d.]+) %\*\* of {count} held-out reports are right", said(at))
    classes = torch.from_numpy(built_in("reports").classes.copy())
    features, held = pooled("reports").mean, split(classes, 0)[1]
    layer = by_hand(features, classes, 4, steps=20, rate=RATE, seed=0)
    right = (layer(features[held]).argmax(-1) == classes[held]).float().mean().item()
    assert shown
    assert float(shown[1]) == pytest.approx(100 * right, abs=1.2)  # one text at the border
    assert "Trained now, on the mean over tokens: seed 0, 20 steps" in " ".join(boxes_of(at, "caption"))
    at.segmented_control(key="agent_view").set_value("sentence").run()  # what was trained is asked, not what ships
    percents = [float(cell) for cell in re.findall(r"<td>([\d.]+) %</td>", html(at))]
    expected = layer(pool(minilm, [REPORT]).mean)[0].softmax(-1).detach()
    assert percents == pytest.approx((100 * expected).tolist(), abs=0.3)  # weights are kept in float16
    assert "the agent beats both baselines" in said(opened(agent_view="seeds"))


@pytest.mark.parametrize("view", ["sentence", "positions"])
@pytest.mark.parametrize("text", ["", "word", "one word after another " * 150, HOSTILE, '"\\{}$x$ :smile:'])
def test_no_report_breaks_its_view(view: str, text: str) -> None:
    for lecture in ("0", "1"):
        assert not opened(agent_view=view, report=text, lecture=lecture).exception


@pytest.mark.parametrize("view", ["result", "wrong", "seeds", "threshold"])
def test_no_report_breaks_a_view_without_it(view: str) -> None:
    for lecture in ("0", "1"):
        assert not opened(agent_view=view, report=HOSTILE, lecture=lecture).exception


def test_links_with_nonsense_fall_back_with_notes() -> None:
    said = messages(opened(agent_view="no", confidence="2"))
    assert "The link's agent_view=no" in said
    assert "The link's confidence=2" in said


def test_thresholds_are_exported(monkeypatch: pytest.MonkeyPatch, held_out: tuple[np.ndarray, torch.Tensor]) -> None:
    from attnviz.links.link import KEYS
    from attnviz.ui import state

    monkeypatch.setattr(state, "get", {name: key.default for name, key in KEYS.items()}.__getitem__)
    found = tables()["thresholds"]
    classes, probabilities = held_out
    assert len(found) == 101
    assert found["error"].iloc[0] == pytest.approx(1 - accuracy_score(classes, probabilities.argmax(-1)))


def test_a_human_is_asked_at_an_address_that_is_said_to_be_an_example() -> None:
    assert json.loads(message(3, "a report"))["arguments"] == {
        "to": "https://clinic.example/review",
        "report": "a report",
    }
    assert urlsplit(REVIEW).hostname.endswith(".example")  # RFC 2606: nobody can have such a name
    assert "nothing is called or sent: clinic.example is an example address" in WARNING
