"""Stop ends the training of a linear layer, and no other one of the same visitor."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import pytest
import streamlit as st
import torch

from attnviz.bert.classification.classifier import plan_of
from attnviz.bert.classification.examples import Examples, built_in
from attnviz.toy.language.config import BigramConfig
from attnviz.training.jobs.jobs import Jobs
from attnviz.training.plan import LabelledVectors, Plan
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.ui import training_jobs
from attnviz.ui.bert.classifier import training
from attnviz.ui.bert.classifier.data import AGENT, CLASSIFIER
from attnviz.ui.bert.classifier.views import TypedText, softmax_of, weakness

VISITOR = "a visitor"
EXAMPLES = built_in("reviews")
VECTORS = LabelledVectors(np.eye(20, 4, dtype=np.float32), np.arange(20) % 2)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Return jobs that all wait: no process is started for them."""
    monkeypatch.setattr(Jobs, "_schedule", lambda _: None)
    found = Jobs(is_here=lambda _: True)
    for module in (training, training_jobs):
        monkeypatch.setattr(module, "training_jobs", lambda: found)
        monkeypatch.setattr(module, "visitor", lambda: VISITOR)
    return found


def test_without_a_training_nothing_is_live(jobs: Jobs) -> None:
    training.stop()
    assert not training.is_live()
    assert jobs.job(VISITOR) is None


def test_a_linear_layer_is_live_until_it_is_stopped(jobs: Jobs) -> None:
    job = jobs.start(VISITOR, plan_of(2, 4, steps=20, rate=0.01, seed=0), VECTORS)
    assert training.is_live()
    training.stop()
    assert job.view.status == "stopped"
    assert not training.is_live()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace what the session keeps, and what reads the page's texts."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    monkeypatch.setattr(training, "chosen_examples", lambda _: EXAMPLES)
    monkeypatch.setattr(training, "current_plan", lambda _: plan_of(2, 4, steps=20, rate=0.01, seed=3))
    monkeypatch.setattr(training, "vectors", lambda _: VECTORS)
    return kept


@pytest.mark.parametrize(("seeds", "expected"), [(1, [3]), (5, [3, 4, 5, 6, 7])])
def test_a_training_begins_once_and_not_before_the_page_runs(
    jobs: Jobs, session: dict[str, Any], seeds: int, expected: list[int]
) -> None:
    training.train(CLASSIFIER, seeds)
    assert not jobs.jobs(VISITOR)
    for _ in range(2):
        training.begin(CLASSIFIER)
        (job,) = jobs.jobs(VISITOR)
        assert [plan.training.seed for plan in (job.plan, *job.then)] == expected


def test_a_training_whose_reading_was_interrupted_begins_in_the_next_run_but_not_in_another_part(
    jobs: Jobs, session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Examples) -> LabelledVectors:
        raise InterruptedError

    training.train(CLASSIFIER)
    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(training, "vectors", interrupted)
        training.begin(CLASSIFIER)
    training.begin(CLASSIFIER)
    assert len(jobs.jobs(VISITOR)) == 1
    training.stop()
    training.train(CLASSIFIER)
    training.begin(AGENT)
    training.begin(CLASSIFIER)
    assert not training.is_live()


def test_without_texts_no_training_is_kept_for_later(
    jobs: Jobs, session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "chosen_examples", lambda _: None)
    training.train(CLASSIFIER)
    training.begin(CLASSIFIER)
    assert not jobs.jobs(VISITOR)


def test_a_stopped_training_goes_on_with_its_own_texts_and_settings_only(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples, shown = cast(Any, None), plan_of(2, 4, steps=20, rate=0.01, seed=3)
    monkeypatch.setattr(training, "current_plan", lambda _: shown)
    monkeypatch.setattr(training, "kept_vectors", lambda _: VECTORS)
    job = jobs.start(VISITOR, plan_of(2, 4, steps=20, rate=0.01, seed=5), VECTORS)  # the third of five seeds
    assert not training.can_go_on(examples)
    training.stop()
    assert training.can_go_on(examples)
    monkeypatch.setattr(training, "kept_vectors", lambda _: LabelledVectors(-VECTORS.features, VECTORS.classes))
    assert not training.can_go_on(examples)
    monkeypatch.setattr(training, "kept_vectors", lambda _: VECTORS)
    monkeypatch.setattr(training, "current_plan", lambda _: plan_of(2, 4, steps=30, rate=0.01, seed=3))
    assert not training.can_go_on(examples)
    training.go_on()
    assert job in jobs._queue
    jobs.start(VISITOR, Plan(TEXT, BigramConfig(2), TrainingSettings()), "abab" * 100)
    assert not training.can_go_on(examples)


def test_another_page_s_training_is_not_live_here_and_goes_on(jobs: Jobs) -> None:
    jobs.start(VISITOR, plan_of(2, 4, steps=20, rate=0.01, seed=0), VECTORS)
    other = jobs.start(VISITOR, Plan(TEXT, BigramConfig(2), TrainingSettings()), "abab" * 100)
    assert not training.is_live()
    training.stop()
    assert other.view.status == "queued"


@pytest.mark.parametrize("logits", [[1.25, -0.5, 3.0], [-4.0, -2.5], [2000.0, -3000.0, 1999.0]])
def test_a_softmax_is_torch_s_however_large_its_logits_are(logits: list[float]) -> None:
    found = TypedText("text", torch.zeros(1), torch.tensor(logits))
    said, top = softmax_of(found, "class"), max(logits)
    expected = torch.softmax(torch.tensor(logits, dtype=torch.float64), -1).max().item()
    shown = re.search(r"= ([\d.]+) / ([\d.]+) = \*\*([\d.]+)\*\*", said)
    assert shown
    assert float(shown[1]) / float(shown[2]) == pytest.approx(expected, abs=1e-3)
    assert float(shown[3]) == pytest.approx(expected, abs=1e-4)
    exponents = re.findall(r"e\^\((\S+) − \(?([^)]+)\)?\)", said)
    assert {one for _, one in exponents} == {f"{top:.3f}".replace("-", "−")} or {
        float(one.replace("−", "-").replace(",", "")) for _, one in exponents
    } == {top}
    assert len(exponents) == len(logits) + 1
    assert "changes no probability" in said


def test_no_reason_is_given_for_a_weakness_on_plain_texts() -> None:
    assert weakness("plain") == "It is weakest on “plain”."
    assert "little of what they do to each other" in weakness("irony")
