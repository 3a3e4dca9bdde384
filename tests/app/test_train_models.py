"""What one does with a trained model, without a browser: open it elsewhere, and open a file of it; hostile files."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save
from streamlit.testing.v1 import AppTest

from attnviz import trained
from attnviz.trained import recorded, shipped
from attnviz.training.jobs.weights import model_of
from attnviz.ui.training_jobs import training_jobs
from tests.app.pages import boxes, go_to_page, open_page, open_parts, payload
from tests.app.test_train_page import FAST, command, newest, send_values, told
from tests.app.test_train_page import trained as train
from tests.app.walking import panels

INDUCTION = (shipped.FOLDER / "induction.safetensors").read_bytes()
TEXT = "abcabcabc"


pytestmark = pytest.mark.usefixtures("no_training_is_left")


def upload(at: AppTest, data: bytes, name: str = "mine.safetensors") -> AppTest:
    """Open the button with the field, and upload a file."""
    open_parts(at, more_of_model=True)
    return at.file_uploader(key="trained_file").set_value((name, data, "application/octet-stream")).run()


def test_the_shown_snapshot_opens_on_step_by_step_with_its_own_weights() -> None:
    at = open_page("train", sample=TEXT, watch="decoder.0.1", **FAST)
    train(at)
    send_values(at, snapshot=10)
    (job,) = training_jobs().jobs(told(at)["values"]["visitor"])
    command(at, "open step_by_step")
    link = dict(at.query_params)
    assert (link["source"], link["text"], link["head"]) == ("trained", TEXT, "1")
    model = trained.load(link["model"])
    snapshot = next(one for one in job.view.snapshots if one.step == 10)
    module = model_of(job.plan.model, snapshot.weights)
    for name, one in module.state_dict().items():
        assert torch.equal(model.module.state_dict()[name], one), name
    shown = np.nan_to_num(panels(at)["weights"])
    np.testing.assert_allclose(shown, model.trace(TEXT).attentions(0)[1].numpy(), rtol=0, atol=1e-6)
    assert at.selectbox(key="model").options[-1].startswith("induction, 10 steps")
    # Whoever has the link sees the same.
    other = open_page(**link)
    np.testing.assert_allclose(np.nan_to_num(panels(other)["weights"]), shown, rtol=0, atol=0)
    assert not other.error


@pytest.mark.parametrize("page", ["heads", "compare", "transformer"])
def test_it_opens_on_the_other_pages_without_a_warning(page: str) -> None:
    at = open_page("train", **FAST)
    train(at)
    command(at, f"open {page}")
    assert not at.exception
    assert [*boxes(at, "warning"), *boxes(at, "error")] == []
    assert at.query_params["model"].startswith("trained-")
    assert (at.query_params.get("b_model", "") != "") == (page == "compare"), "beside it, before its training"


def test_what_can_not_be_opened_is_said_before_it_is_tried() -> None:
    at = open_page("train", task="sort", **FAST)
    run = train(at, "control")
    assert "no attention" in run["cannot_open"]
    command(at, "open step_by_step")
    assert any("no attention" in warning for warning in boxes(at, "warning"))
    for name in ("open", "open ", "open train", "open ../../etc", "open heads heads"):
        command(at, name)
        assert not at.exception
    assert newest(at)["state"] == "done", "it is still the page Train"


def test_nothing_opens_before_a_training() -> None:
    at = open_page("train", steps="700")
    command(at, "open step_by_step")
    assert not at.exception
    assert told(at)["task"]["name"] == "induction"


def test_a_recorded_snapshot_opens_too() -> None:
    recording = recorded.load("induction")
    at = open_page("train", sample=TEXT, snapshot="250", run="recorded")
    command(at, "open step_by_step")
    module = trained.load(at.query_params["model"]).module
    snapshot = next(one for one in recording.view.snapshots if one.step == 250)
    for name, one in model_of(recording.plan.model, snapshot.weights).state_dict().items():
        assert torch.equal(module.state_dict()[name], one), name


def test_a_file_is_opened_and_offered_in_this_session() -> None:
    at = upload(open_page("train"), INDUCTION)
    assert at.query_params["source"] == "trained"
    name = at.query_params["model"]
    assert name.startswith("trained-")
    pattern = json.loads((shipped.FOLDER / "induction.json").read_text())["heads"]["match"]
    assert at.query_params["layer"] == str(pattern["layer"])  # it opens on the head that the task is about
    weights = trained.load("induction").trace(at.query_params["text"]).attentions(pattern["layer"])[pattern["head"]]
    np.testing.assert_allclose(np.nan_to_num(panels(at)["weights"]), weights.numpy(), rtol=0, atol=1e-6)
    go_to_page(at, "step_by_step", {"source": "trained", "model": "reverse", "text": TEXT})
    assert shipped.title(name) in at.selectbox(key="model").options
    go_to_page(at, "heads", {"model": "induction", "text": TEXT})
    assert shipped.title(name) in at.selectbox(key="model").options
    upload(at, (shipped.FOLDER / "reverse.safetensors").read_bytes())
    assert at.query_params["model"].startswith("trained-")
    assert at.query_params["model"] != name


HOSTILE = {
    "nothing": b"",
    "a pickle": pickle.dumps({"weights": [1.0]}),
    "a ZIP": b"PK\x03\x04" + bytes(1000),
    "text": b"# my model",
    "another safetensors file": save({"weight": torch.zeros(2)}),
    "the half": INDUCTION[: len(INDUCTION) // 2],
    "a damaged header": INDUCTION[:20] + b"\x00" + INDUCTION[21:],
    "not finite": INDUCTION[:-2] + b"\x00\x7c",
    "too large": bytes(8 * 2**20 + 1),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_is_no_trained_model_is_refused_in_a_sentence(data: bytes) -> None:
    for at in (open_page("train"), open_page(source="trained", model="induction", text=TEXT)):
        before = dict(at.query_params)
        upload(at, data)
        assert not at.exception
        (said,) = boxes(at, "error")
        assert said.endswith(".")
        assert dict(at.query_params) == before
        assert payload(at, "training" if not before else "walk")


def test_the_message_about_a_refused_file_goes_with_the_next_choice() -> None:
    at = open_page("train")
    upload(at, HOSTILE["text"])
    at.run()
    assert boxes(at, "error")  # nothing has been chosen since
    at.number_input(key="seed").set_value(5).run()
    assert not boxes(at, "error")
    at.number_input(key="seed").set_value(0).run()
    assert not boxes(at, "error")
    upload(at, HOSTILE["text"])
    assert boxes(at, "error")
    go_to_page(at, "heads", {"model": "induction", "text": TEXT})
    assert not boxes(at, "error")


def test_the_field_for_a_model_s_file_is_created_when_its_button_opens() -> None:
    at = open_page("train")
    assert not at.get("file_uploader")
    open_parts(at, more_of_model=True)
    assert at.get("file_uploader")
