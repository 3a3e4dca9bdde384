"""The recorded trainings on the page Train, without a browser."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnviz.runtime.arrays import NotOfferedError
from attnviz.trained import recorded
from attnviz.training.jobs.weights import model_of
from attnviz.training.tasks import TASKS
from tests.app.pages import open_page, payload
from tests.app.test_train_page import FAST, newest, send_values, told, trained
from tests.app.training import accuracies, moment

pytestmark = pytest.mark.usefixtures("no_training_is_left")


def test_a_recorded_training_can_be_gone_through_before_there_is_one() -> None:
    at = open_page("train")
    header, arrays = payload(at, "training")
    assert [(run["id"], run["title"], run["state"]) for run in header["runs"]] == [
        ("control", "recorded control", "recorded"),
        ("recorded", "recorded", "recorded"),
    ]
    run = newest(at)
    assert run["message"].startswith("Recorded: trained earlier with seed 0, learning rate 0.001, 800 steps of 64")
    recording = recorded.load("induction")
    assert run["snapshots"] == [one.step for one in recording.view.snapshots]
    assert arrays["1.accuracy"][-1] == pytest.approx(recording.card.accuracy)
    ids = torch.tensor([[ord(letter) - ord("a") for letter in TASKS["induction"].examples[0]]])
    for snapshot in recording.view.snapshots[::12]:
        with torch.no_grad():
            expected = model_of(recording.plan.model, snapshot.weights)(ids)[0].softmax(-1)
        found = moment(run["digest"], snapshot.step)
        np.testing.assert_allclose(found["probability"][0], expected.max(-1).values, rtol=0, atol=1e-6)
    with pytest.raises(NotOfferedError):
        moment(run["digest"], 1)
    assert accuracies(run["digest"], 800)[-1] == pytest.approx(recording.card.accuracy, abs=4e-3)


def test_a_training_appears_beside_the_recorded_one_and_a_link_can_choose_it() -> None:
    at = open_page("train", run="control", **FAST)
    assert [run["id"] for run in told(at)["runs"]] == ["control", "recorded", "0"]
    assert told(at)["values"]["run"] == "control"
    trained(at)
    assert told(at)["values"]["run"] == ""
    assert "run" not in at.query_params
    send_values(at, run="recorded")
    assert at.query_params["run"] == "recorded"
    titles = [run["title"] for run in told(at)["runs"]]
    assert titles[:2] == ["recorded control", "recorded"]
    assert titles[2].startswith("learning rate 0.01")


def test_a_task_that_was_not_recorded_begins_with_the_untrained_model() -> None:
    (run,) = told(open_page("train", task="depth", run="recorded"))["runs"]
    assert (run["state"], run["snapshots"]) == ("new", [0])


def test_a_row_is_covered_and_revealed() -> None:
    at = open_page("train", run="recorded", q="12", predict="1")
    assert told(at)["values"]["predict"]
    send_values(at, predict=False)
    assert not told(at)["values"]["predict"]
    assert "predict" not in at.query_params
