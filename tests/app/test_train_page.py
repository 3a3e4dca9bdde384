"""The page Train without a browser: what it offers before, during and after a training, and bad input."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count, cycle, islice
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attnviz.runtime.arrays import NotOfferedError
from attnviz.toy.language.config import BigramConfig
from attnviz.toy.language.model import TokenModel
from attnviz.training.evaluation import attentions
from attnviz.training.jobs.weights import model_of
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import IGNORED
from attnviz.ui.train.runs import diverging
from attnviz.ui.training_jobs import training_jobs
from tests.app.pages import SETTINGS_OPEN, boxes, go_to_page, messages, open_page, payload, send_update
from tests.app.training import accuracies, moment, run_until

FAST = {"steps": "20", "batch": "16", "rate": "0.01"}
_numbers = count(1)


pytestmark = pytest.mark.usefixtures("no_training_is_left")


def told(at: AppTest) -> dict[str, Any]:
    return payload(at, "training")[0]


def newest(at: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = told(at)["runs"][-1]
    return found


def command(at: AppTest, name: str) -> AppTest:
    return send_values(at, commands=[[next(_numbers), name]])


def send_values(at: AppTest, **values: object) -> AppTest:
    return send_update(at, "training", {"number": next(_numbers), "values": values})


def until(at: AppTest, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Run the page as the browser does while a training goes on, until its newest run is as wanted."""
    run_until(at, lambda: true(newest(at)), why=lambda: newest(at)["state"])
    return newest(at)


def trained(at: AppTest, name: str = "train") -> dict[str, Any]:
    command(at, name)
    return until(at, lambda run: run["state"] == "done")


def test_before_a_training_the_untrained_model_is_there() -> None:
    at = open_page("train", steps="700")
    run = newest(at)
    assert (run["state"], run["snapshots"], run["steps"]) == ("new", [0], 700)
    assert len(told(at)["runs"]) == 1
    (kind,) = run["kinds"]
    assert (kind["kind"], kind["layers"], kind["heads"], kind["rows"]) == ("decoder", 2, 2, 18)
    found = moment(run["digest"], 0)["weights.decoder"] / 65535
    task = TASKS["induction"]
    model = build(task.model, 0).eval()
    assert isinstance(model, TokenModel)
    ids = torch.tensor([[ord(letter) - ord("a") for letter in task.examples[0]]])
    x, first = model.embed(ids), next(iter(attentions(model).values()))
    with torch.no_grad():
        query, key = (layer(x)[0].view(18, 2, 16).transpose(0, 1) for layer in (first.query, first.key))
        scores = (query @ key.transpose(1, 2) / 4).masked_fill(torch.ones(18, 18).triu(1).bool(), -torch.inf)
    np.testing.assert_allclose(found[0, :2], scores.softmax(-1), rtol=0, atol=1e-5)
    assert not training_jobs().jobs(told(at)["values"]["visitor"]), "a link alone starts no training"


def test_a_training_runs_and_its_snapshots_are_its_own_models() -> None:
    at = open_page("train", seed="3", **FAST)
    run = trained(at)
    header, arrays = payload(at, "training")
    assert run["step"] == run["steps"] == 20
    assert run["snapshots"] == [0, 5, 10, 15, 20]
    assert arrays["0.loss"].shape == (20,)
    assert arrays["0.evaluated"].tolist() == [0, 10, 20]
    assert arrays["0.scores.1"].shape == (3, 4)
    (job,) = training_jobs().jobs(header["values"]["visitor"])
    assert (job.plan.training.seed, job.plan.training.learning_rate, job.plan.training.batch) == (3, 0.01, 16)
    snapshot = next(one for one in job.view.snapshots if one.step == 15)
    model = model_of(job.plan.model, snapshot.weights)
    ids = torch.tensor([[ord(letter) - ord("a") for letter in TASKS["induction"].examples[0]]])
    with torch.no_grad():
        expected = model(ids)[0].softmax(-1)
    found = moment(run["digest"], 15)
    assert found["answer"][0].tolist() == expected.argmax(-1).tolist()
    np.testing.assert_allclose(found["probability"][0], expected.max(-1).values, rtol=0, atol=1e-6)
    without = accuracies(run["digest"], 20)
    assert without.shape == (5,)
    held = TASKS["induction"].held_out()
    with torch.no_grad():
        right = model_of(job.plan.model, job.view.snapshots[-1].weights)(held.ids).argmax(-1) == held.targets
    assert without[4] == pytest.approx(float(right[held.targets >= 0].float().mean()), abs=1e-6)
    assert arrays["0.accuracy"][-1] == pytest.approx(without[4], abs=2e-3)  # of float32 weights, not of float16


def test_a_second_training_and_the_control_stand_beside_the_first() -> None:
    at = open_page("train", **FAST)
    trained(at)
    trained(at, "control")
    assert [(run["title"], run["is_control"]) for run in told(at)["runs"]] == [
        ("2 layers, 2 heads", False),
        ("control", True),
    ]
    at.selectbox("train_setting_rate").select(0.1).run()
    trained(at)
    titles = [run["title"] for run in told(at)["runs"]]
    assert titles == ["learning rate 0.01", "control", "learning rate 0.1"]
    assert at.query_params["rate"] == "0.1"


def test_stop_one_step_and_continue() -> None:
    at = open_page("train", batch="4", steps="100000")
    command(at, "train")
    until(at, lambda run: run["step"] > 0)
    command(at, "stop")
    stopped = until(at, lambda run: run["state"] == "stopped")
    command(at, "step")
    after = until(at, lambda run: run["step"] > stopped["step"])
    assert after["step"] == stopped["step"] + 1
    command(at, "continue")
    until(at, lambda run: run["state"] == "running" and run["step"] > after["step"] + 1)


def test_a_stopped_training_can_t_go_on_after_a_newer_one_on_a_text() -> None:
    at = open_page("train", batch="4", steps="100000")
    command(at, "train")
    until(at, lambda run: run["step"] > 0)
    command(at, "stop")
    until(at, lambda run: run["state"] == "stopped")
    assert newest(at)["can_continue"]
    jobs, visitor = training_jobs(), told(at)["values"]["visitor"]
    jobs.start(visitor, Plan(TEXT, BigramConfig(2), TrainingSettings(steps=1, batch=2)), "abab" * 100)
    at.run()
    assert newest(at)["state"] == "stopped"
    assert not newest(at)["can_continue"]


def test_a_command_that_comes_twice_counts_once() -> None:
    at = open_page("train", **FAST)
    send_values(at, commands=[[7, "train"]])
    send_values(at, commands=[[7, "train"]])
    until(at, lambda run: run["state"] == "done")
    assert len(training_jobs().jobs(told(at)["values"]["visitor"])) == 1


def test_a_training_is_still_there_on_the_way_back_and_in_a_new_session() -> None:
    at = open_page("train", **FAST)
    trained(at)
    visitor = told(at)["values"]["visitor"]
    go_to_page(at, "tokens", {})
    go_to_page(at, "train", FAST)
    assert newest(at)["state"] == "done"
    after_a_reload = open_page("train", **FAST)
    assert newest(after_a_reload)["state"] == "new"
    send_values(after_a_reload, visitor=visitor)
    assert newest(after_a_reload)["state"] == "done"


def test_what_a_browser_may_not_send_changes_nothing() -> None:
    at = open_page("train")
    before = told(at)
    for values in (
        {"commands": [[1, "rm -rf"]]}, {"commands": "train"}, {"commands": [[2]]}, {"commands": [["3", "train"]]},
        {"commands": [[2**60, ["train"]]]}, {"visitor": "someone-elses-visitor-x"}, {"visitor": 3}, {"slow": -1},
        {"slow": "x"}, {"run": 3}, {"run": "x" * 999}, {"watch": "no.such.head"}, {"snapshot": -3}, {"pin": 3},
        {"pin": {"q": "x", "k": -1}},
    ):  # fmt: skip
        send_values(at, **values)
        assert not at.exception, values
        after = told(at)
        assert (after["runs"], after["task"]) == (before["runs"], before["task"]), values
        assert not training_jobs().jobs(after["values"]["visitor"]), values


SAMPLES = ("", "4711", "   ", "é 👋🏽", "שלום", "\x00<b>x</b>")


@pytest.mark.parametrize(("number", "task"), [*enumerate(TASKS)])
def test_any_text_can_be_shown_to_any_task(number: int, task: str) -> None:
    """A long sample and two others to each task.

    `test_any_text_is_read_and_answered` in tests/unit/training/test_tasks_learning.py gives all tasks all texts.
    """
    for sample in ("x" * 300, *islice(cycle(SAMPLES), number, number + 2)):
        at = open_page("train", task=task, sample=sample)
        run = newest(at)
        if run["digest"]:
            assert moment(run["digest"], 0)["answer"].shape == (1, len(told(at)["task"]["read"])), sample
        else:
            assert "The model knows none of these symbols" in messages(at), sample
            assert run["snapshots"] == []


def test_every_task_can_be_trained_and_its_control_too() -> None:
    at = open_page("train", steps="2", batch="4")
    for task in TASKS:
        at.selectbox("task").select(task).run()
        for name in ("train", "control"):
            run = trained(at, name)
            assert moment(run["digest"], 2)["answer"].size
        assert 0 <= accuracies(run["digest"], 2)[-1] <= 1  # of the control, on the same examples
        assert told(at)["task"]["name"] == task


def test_another_task_has_no_text_and_no_head_of_the_one_before() -> None:
    chosen = {"sample": "abab", "watch": "decoder.0.1", "snapshot": "0", "q": "1", "k": "0"}
    at = open_page("train", **chosen)
    assert dict(at.query_params) == chosen
    at.selectbox("task").select("reverse").run()
    assert dict(at.query_params) == {"task": "reverse"}
    assert newest(at)["kinds"][0]["kind"] == "encoder"


def test_settings_that_do_not_fit_are_said_and_not_trained() -> None:
    at = open_page("train", SETTINGS_OPEN, train_heads="3", train_width="16")
    (warning,) = boxes(at, "warning")
    assert "a width of 16 can't be divided into 3 heads" in warning
    assert at.selectbox("train_setting_train_heads").options == ["1", "2", "3", "4", "8"], "3 is the link's"
    command(at, "train")
    assert any(box.startswith("This can't be trained") for box in boxes(at, "warning"))
    assert newest(at)["state"] == "recorded", "the task's own model is shown"


def test_why_a_training_has_ended_is_said() -> None:
    at = open_page("train", **FAST)
    trained(at)
    (job,) = training_jobs().jobs(told(at)["values"]["visitor"])
    job.set("diverged", message="The training diverged: the loss at step 9 is nan.")
    at.run()
    assert (newest(at)["state"], newest(at)["message"]) == ("diverged", job.view.message)


def test_who_waits_is_told_the_place_in_line() -> None:
    visitors = [open_page("train", batch="4", steps="100000") for _ in range(4)]
    for at in visitors:
        command(at, "train")
    for at in visitors:
        at.run()
    messages_said = [newest(at)["message"] for at in visitors]
    assert messages_said[:2] == ["", ""]
    assert messages_said[2].startswith("Next in line")
    assert messages_said[3].startswith("Waiting: number 2 in line")


def test_a_setting_of_the_task_itself_leaves_the_link() -> None:
    at = open_page("train", SETTINGS_OPEN, rate="0.01")
    at.selectbox("train_setting_rate").select(0.001).run()
    assert dict(at.query_params) == {}
    at.number_input("train_setting_steps").set_value(300).run()
    assert dict(at.query_params) == {"steps": "300"}
    at.number_input("train_setting_weight_decay").set_value(0.05).run()
    assert at.query_params["weight_decay"] == "0.05"


def test_what_is_not_offered_can_not_be_requested() -> None:
    at = open_page("train")
    with pytest.raises(NotOfferedError):
        moment(newest(at)["digest"], 5)


@pytest.mark.parametrize(
    ("task", "right", "sign"), [("sort", "11234569", ">"), ("addition", "132", "="), ("induction", "", "q")]
)
def test_what_the_model_writes_comes_with_each_snapshot(task: str, right: str, sign: str) -> None:
    at = open_page("train", task=task, **FAST)
    shown = told(at)["task"]
    assert shown["right"] == right
    assert shown["read"][shown["first"]] == sign
    assert shown["first"] == (TASKS[task].held_out().targets != IGNORED).any(0).int().argmax() * bool(TASKS[task].sign)
    run = trained(at)
    found = moment(run["digest"], 20)
    assert ("written" in found) == TASKS[task].writes
    if TASKS[task].writes:
        (job,) = training_jobs().jobs(told(at)["values"]["visitor"])
        model = model_of(job.plan.model, job.view.snapshots[-1].weights)
        assert isinstance(model, TokenModel)
        said = bytes(found["written"][0]).rstrip(b"\0").decode()
        assert said == TASKS[task].answer(model, TASKS[task].examples[0])
        assert said


def test_the_control_with_dropout_writes_too() -> None:
    at = open_page("train", task="numbers", train_dropout="0.2", **FAST)
    assert moment(trained(at, "control")["digest"], 20)["written"].size


def test_the_link_describes_the_training_that_is_shown() -> None:
    at = open_page("train", steps="20", batch="16", rate="0.01", seed="3")
    trained(at)
    first = newest(at)["id"]
    at.selectbox("train_setting_rate").select(0.1).run()
    at.number_input("train_setting_steps").set_value(15).run()
    trained(at)
    assert (at.query_params["rate"], at.query_params["steps"]) == ("0.1", "15")
    send_values(at, run=first)
    assert dict(at.query_params) == {"steps": "20", "batch": "16", "rate": "0.01", "seed": "3"}
    assert at.selectbox("train_setting_rate").value == 0.01
    assert told(at)["values"]["run"] == first
    visitor = told(at)["values"]["visitor"]
    after_a_reload = open_page("train", **dict(at.query_params))
    send_values(after_a_reload, visitor=visitor)
    assert told(after_a_reload)["values"]["run"] == first
    # Another visitor's page with this link trains the same: the curve is equal to the last digit.
    other = open_page("train", **dict(at.query_params))
    trained(other)
    (job,) = training_jobs().jobs(told(other)["values"]["visitor"])
    original = next(one for one in training_jobs().jobs(visitor) if str(one.number) == first)
    assert job.view.losses.tobytes() == original.view.losses.tobytes()
    send_values(after_a_reload, run="999")
    assert not after_a_reload.exception


def test_a_rate_that_is_far_too_high_diverges_and_the_page_says_so() -> None:
    at = open_page("train", task="numbers", rate="10", steps="400", batch="16")
    command(at, "train")
    run = until(at, lambda run: run["state"] not in ("running", "queued", "new"))
    assert run["state"] == "diverged"
    assert re.fullmatch(r"The training diverged: .*\. A lower learning rate may help\.", run["message"])
    assert run["snapshots"], "those before it stay"
    # A loss that stays a number, but is far above where it began.
    at = open_page("train", rate="1", steps="60", batch="16")
    run = trained(at)
    assert re.match(r"This training diverges: its loss was 3\.\d+ at first, and is [\d,]{4,}", run["message"])


def test_a_training_that_goes_well_is_not_said_to_diverge() -> None:
    for losses in ([], [4.0], [4.0] * 30, [4.0, *[0.1] * 30], [4.0, 90.0, *[3.0] * 30], [4.0] * 10 + [9.0] * 5):
        assert diverging(np.array(losses, np.float32)) == ""
    assert diverging(np.array([4.0, *[8.2] * 30], np.float32)).startswith("This training diverges: its loss was 4.00")
