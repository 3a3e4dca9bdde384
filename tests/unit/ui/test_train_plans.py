"""What the page Train makes of a view's settings, and the parts of its files, without a training."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnviz.trace.model import Place
from attnviz.training.jobs.view import Evaluation
from attnviz.training.series import SERIES
from attnviz.training.settings import TrainingSettings
from attnviz.training.tagged.files import tagged_files
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import TASKS
from attnviz.training.text.cut import MOST
from attnviz.ui.train import exports
from attnviz.ui.train.plans import (
    OF_MODEL,
    OF_TRAINING,
    STAGES,
    fitting_plan,
    is_of,
    is_usual,
    plan_of,
    sample_of,
    schedule,
    settings_of,
)
from attnviz.ui.train.plans import stage_plan_of as stage_plan

EMPTY: dict[str, Any] = {
    **dict.fromkeys([*OF_TRAINING, *OF_MODEL, "train_block", "cut"]), "seed": 5, "task": "", "sample": " ",
}  # fmt: skip
"""A view that changes nothing"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            TrainingSettings(steps=100, learning_rate=0.01, warm_up=10, decay="none"),
            "The learning rate rises over 10 steps and then stays: 0.001 at step 0, 0.01 at step 9, 0.01 at step 49, "
            "0.01 at step 99.",
        ),
        (
            TrainingSettings(steps=3, learning_rate=0.01, warm_up=1, decay="cosine", last_rate=0.5),
            "The learning rate rises over 1 step and then falls along a cosine to 0.5 of its value: 0.01 at step 0, "
            "0.00875 at step 1, 0.00625 at step 2.",  # 0.005, and of the rest (1 + cos 60°) / 2, (1 + cos 120°) / 2
        ),
        (
            TrainingSettings(steps=1, learning_rate=0.01, warm_up=4, decay="none"),
            "The learning rate rises over 4 steps and then stays: 0.0025 at step 0.",
        ),
        (
            TrainingSettings(steps=2, learning_rate=0.01, warm_up=0, decay="none"),
            "The learning rate stays: 0.01 at step 0, 0.01 at step 1.",
        ),
    ],
)
def test_the_learning_rate_is_told_where_it_turns(settings: TrainingSettings, said: str) -> None:
    assert schedule(settings) == said


def test_settings_that_do_not_fit_leave_the_tasks_own_model_and_keep_the_training() -> None:
    task = next(iter(TASKS.values()))
    view = EMPTY | {"train_width": 30, "train_heads": 4, "steps": 7, "rate": 0.5}
    plan, why = fitting_plan(view.get)
    assert "30" in why
    assert plan.model == task.model
    assert (plan.training.steps, plan.training.learning_rate, plan.training.seed) == (7, 0.5, 5)
    assert fitting_plan((view | {"train_width": 32}).get)[1] == ""
    assert sample_of(EMPTY.get) == task.examples[0]
    assert sample_of((EMPTY | {"sample": "ab "}).get) == "ab "


@pytest.mark.parametrize("name", TASKS)
def test_a_plan_is_found_again_in_its_settings(name: str) -> None:
    task = TASKS[name]
    view = EMPTY | {"task": name, "train_dropout": 0.25, "train_layers": task.model.layers + 1, "steps": 7}
    changed = {key: view[key] for key in ("train_dropout", "train_layers", "steps", "seed")}
    own = settings_of(plan_of(view.get), task)
    assert {key: value for key, value in own.items() if value is not None} == changed
    # A control has a shape of its own, but the same training and dropout.
    control = plan_of(view.get, control=True)
    assert control.model == replace(task.control_model, dropout=0.25)
    found = settings_of(control, task)
    assert {key: value for key, value in found.items() if value is not None} == {
        key: view[key] for key in ("train_dropout", "steps", "seed")
    }


def test_a_cut_of_lines_has_the_longest_blocks_unless_others_are_chosen() -> None:
    gpt = SERIES[-1]
    usual = stage_plan(gpt, 60, EMPTY.get).token_model
    blocks = [
        getattr(stage_plan(gpt, 60, (EMPTY | {"cut": cut, "train_block": block}).get).token_model, "block_size", None)
        for cut, block in (("blocks", None), ("chunks", None), ("chunks", 16), ("blocks", 16))
    ]
    assert blocks == [getattr(usual, "block_size", None), MOST, 16, 16]


def test_a_frame_says_the_accuracy_that_was_measured_last() -> None:
    view: Any = SimpleNamespace(evaluations=(Evaluation(5, 2.0, 0.25), Evaluation(10, 1.0, 0.5)))
    said = [exports._caption(view, step) for step in (1, 5, 9, 10, 2000)]
    assert said == [
        "after 1 step", "after 5 steps · accuracy 25 %", "after 9 steps · accuracy 25 %",
        "after 10 steps · accuracy 50 %", "after 2,000 steps · accuracy 50 %",
    ]  # fmt: skip
    places = (Place("decoder", 1), Place("cross", 0))
    assert [exports._name_of(place) for place in places] == ["layer 1", "decoder to encoder, layer 0"]


def test_what_is_measured_after_the_last_step_has_a_row_of_its_own() -> None:
    """A name that a spreadsheet would compute is text."""
    measured = (Evaluation(0, 2.0, 0.25), Evaluation(2, 1.0, 0.5))
    all_ = [
        exports.CurvesOf("=1+1", np.array([0.1, 3], np.float32), measured),
        exports.CurvesOf("b", np.array([4.0]), ()),
    ]
    rows = list(csv.reader(io.StringIO(exports.curves_csv(all_).decode("utf-8-sig"), newline="")))
    assert rows[1:] == [
        ["'=1+1", "0", "0.100000001", "2.0", "0.25", ""], ["'=1+1", "1", "3.0", "", "", ""],
        ["'=1+1", "2", "", "1.0", "0.5", ""], ["b", "0", "4.0", "", "", ""],
    ]  # fmt: skip


def test_a_page_holds_fewer_snapshots_where_each_is_large_or_there_are_more_trainings() -> None:
    def steps(count: int, cells: int, runs: int) -> list[int]:
        kinds = [{"layers": 1, "heads": 2, "rows": cells // 2, "cols": 1}]
        return exports._steps({"snapshots": list(range(0, 10 * count, 10)), "kinds": kinds}, runs)

    assert steps(5, 100, 1) == [0, 10, 20, 30, 40]
    most = exports.BYTES // 2  # weights of 2 bytes each
    assert steps(5, most // 3, 1) == [0, 20, 40]
    assert steps(5, most // 6, 2) == [0, 20, 40]
    assert steps(5, most, 4) == [0, 40]  # the first and the last are always there
    assert steps(1, most, 1) == [0]


def test_a_training_on_files_is_of_the_same_files_alone() -> None:
    one, other = (tagged_files(b"a X\nb Y", test) for test in (b"a X", b"b Y"))
    job: Any = SimpleNamespace(data=one)
    assert is_of(job, TaggedSentences(tagged_files(b"a X\nb Y", b"a X")))
    assert not is_of(job, TaggedSentences(other)) and not is_of(job, TASKS["tagging"])
    generated: Any = SimpleNamespace(data=None, plan=SimpleNamespace(subject="tagging"))
    assert is_of(generated, TASKS["tagging"]) and not is_of(generated, TASKS["sort"])


@pytest.mark.parametrize("cut", ["chunks", "plain"])
def test_lines_are_cut_into_the_same_lengths_for_all_stages(cut: str) -> None:
    for stage in SERIES:
        assert stage_plan(stage, 30, (EMPTY | {"cut": cut}).get).block_size == MOST
        assert stage_plan(stage, 30, (EMPTY | {"cut": cut, "train_block": 16}).get).block_size in (16, MOST)


def test_a_stages_losses_hold_with_another_seed_and_other_steps_alone() -> None:
    stage = STAGES["head"]
    for changed, holds in (({}, True), ({"steps": 500}, True), ({"seed": 9}, True), ({"rate": 0.5}, False),
                           ({"train_block": 16}, False), ({"cut": "plain"}, False), ({"batch": 4}, False)):  # fmt: skip
        assert is_usual(stage, stage_plan(stage, 30, (EMPTY | changed).get)) is holds, changed
