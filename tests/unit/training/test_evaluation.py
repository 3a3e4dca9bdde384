"""Which head of a training is shown, and what an evaluation of a memorised task says, on cases made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.toy.language.config import BigramConfig
from attnviz.trace.model import Kind, Place
from attnviz.training.evaluation import Evaluator, Head, evaluate, head_of
from attnviz.training.jobs.view import Evaluation, View
from attnviz.training.plan import Plan
from attnviz.training.tasks import TASKS


def plan_of(task: str, **shape: Any) -> Plan:
    made = TASKS[task]
    return Plan(task, replace(made.model, **shape), made.training)


def measured(step: int, scores: dict[str, dict[Place, tuple[float, ...]]]) -> Evaluation:
    return Evaluation(step, 1.0, 0.5, scores)


BOTH = plan_of("numbers", layers=3, heads=4)
FIRST = measured(0, {"weight": {Place("cross", 0): (0.9, 0.1, 0.1, 0.1)}})
LAST = measured(9, {
    "aligned": {Place("cross", 0): (0.1, 0.1, 0.1, 0.9)},
    "weight": {Place("cross", 0): (0.1, 0.2, 0.1, 0.1), Place("cross", 1): (0.1, 0.1, 0.7, 0.1)},
})  # fmt: skip
SEEN = View("running", 10, evaluations=(FIRST, LAST))


@pytest.mark.parametrize(
    ("watch", "kind", "layer", "head"),
    [("encoder.2.3", "encoder", 2, 3), ("decoder.0.1", "decoder", 0, 1), ("cross.2.0", "cross", 2, 0),
     ("cross.2.4", "cross", 1, 2), ("cross.3.0", "cross", 1, 2), ("", "cross", 1, 2)],
)  # fmt: skip
def test_the_watched_head_is_shown_or_the_best_of_the_last_pattern_now(
    watch: str, kind: Kind, layer: int, head: int
) -> None:
    assert head_of(BOTH, SEEN, watch) == Head(Place(kind, layer), head)


@pytest.mark.parametrize(
    ("plan", "kind"),
    [(BOTH, "cross"), (plan_of("tagging", layers=3), "encoder"), (plan_of("induction", layers=3), "decoder"),
     (plan_of("numbers", layers=3, architecture="decoder"), "decoder"),
     (plan_of("reverse", layers=3, architecture="decoder"), "decoder"),
     (plan_of("reverse", layers=3, architecture="both"), "encoder")],
)  # fmt: skip
def test_before_any_evaluation_it_is_the_first_head_of_the_last_layer(plan: Plan, kind: Kind) -> None:
    assert head_of(plan, View("running", 10), "") == Head(Place(kind, 2), 0)
    assert head_of(plan, View("running", 10), "cross.0.9") == Head(Place(kind, 2), 0)


def test_a_model_without_attention_has_no_head() -> None:
    assert head_of(Plan("induction", BigramConfig(5), TASKS["induction"].training), SEEN, "") is None
    assert head_of(plan_of("induction", layers=0), SEEN, "decoder.0.0") is None


class Memorised(nn.Module):
    """Answers the training sums right, and all others wrong."""

    def __init__(self) -> None:
        super().__init__()
        seen = TASKS["modular"].trained_on()
        assert seen is not None
        self.sums = {(a, b) for a, b, _ in seen.ids.tolist()}

    def forward(self, ids: Tensor) -> Tensor:
        answers = torch.tensor([(a + b + ((a, b) not in self.sums)) % 31 for a, b, _ in ids.tolist()])
        return 2.0 * functional.one_hot(answers, 31)[:, None].expand(-1, 3, -1)


def test_a_task_learned_by_heart_is_right_on_its_training_alone() -> None:
    task, model = TASKS["modular"], Memorised()
    for whole in (False, True):
        found = Evaluator(task, 8).evaluate(model, whole=whole)
        assert (found["accuracy"], found["trained"], found["scores"]) == (0, 1, {})
        assert found["loss"] == pytest.approx(float(torch.logsumexp(torch.tensor([2.0] + [0.0] * 30), 0)), rel=1e-5)


@pytest.mark.parametrize("is_training", [True, False])
def test_an_evaluation_leaves_the_model_in_its_mode(is_training: bool) -> None:
    model = Memorised().train(is_training)
    evaluate(model, TASKS["modular"])
    assert model.training is is_training
