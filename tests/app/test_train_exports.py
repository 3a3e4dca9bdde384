"""The tabs of Export on the page Train, without a browser: what each file holds."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load
from streamlit.testing.v1 import AppTest

from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.trained.shipped import keep
from attnviz.training.jobs.weights import model_of
from attnviz.training.series import SERIES
from attnviz.training.tasks import TASKS
from attnviz.training.text.corpus import built_in
from attnviz.ui.train import EXPORTS, tabs
from attnviz.ui.train.arrays import accuracy_without, at_snapshots, reading_of
from attnviz.ui.train.chosen import GoneError, SnapshotName, model_file, script_of
from attnviz.ui.train.exports import CurvesOf, curves_csv, frames_of, moving_picture, training_file
from attnviz.ui.train.tabs import GENERATED, NO_TEXT, NOTHING
from attnviz.ui.training_jobs import training_jobs
from tests.app.pages import open_page
from tests.app.test_train_page import FAST, newest, told
from tests.app.test_train_page import trained as train
from tests.payloads import read_payload
from tests.waiting import until

SAMPLE = "</script><b>abcabcab"


pytestmark = pytest.mark.usefixtures("no_training_is_left")


def of(at: AppTest, step: int = 20, watch: str = "", sample: str = SAMPLE) -> SnapshotName:
    header = told(at)
    return SnapshotName(header["values"]["visitor"], header["task"]["name"], int(newest(at)["id"]), step, sample, watch)


@pytest.mark.parametrize("tab", EXPORTS)
def test_each_tab_says_what_to_do_before_a_training_and_offers_files_after_it(tab: str) -> None:
    at = open_page("train", {"export": True, "export_tab": tab}, **FAST)
    assert NOTHING in [one.value for one in at.caption]
    assert not at.get("download_button")
    train(at)
    at.run()
    assert not at.exception
    assert NOTHING not in [one.value for one in at.caption]
    assert at.get("download_button")
    assert not at.error


def test_a_model_without_attention_is_a_file_and_has_no_picture() -> None:
    at = open_page("train", task="sort", **FAST)
    train(at, "control")
    assert frames_of(of(at, sample="31")) == 0
    with pytest.raises(GoneError, match="no head to show"):
        moving_picture(of(at, sample="31"), "gif")
    assert model_file(of(at, sample="31")).card.after == 20


def test_what_is_no_longer_there_is_said() -> None:
    at = open_page("train", **FAST)
    train(at)
    chosen = of(at)
    training_jobs().release(chosen.visitor)
    for made in (model_file, training_file):
        with pytest.raises(GoneError, match="no longer on the server"):
            made(chosen)


@pytest.mark.parametrize("tab", ["Model", "Animation", "Web page", "Script"])
def test_a_training_that_goes_while_a_tab_is_drawn_is_said_there(tab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at = open_page("train", {"export": True, "export_tab": tab}, **FAST)
    train(at)
    gone = replace(of(at), number=99)
    monkeypatch.setattr(tabs, "chosen", lambda: gone)
    at.run()
    assert not at.exception
    assert any("no longer on the server" in each.value for each in at.caption)


def test_the_picture_has_a_frame_for_each_snapshot_and_its_cells_are_the_head_s_weights() -> None:
    at = open_page("train", **FAST)
    train(at)
    chosen = of(at, watch="decoder.0.1", sample="ab")
    assert frames_of(chosen) == 5
    picture = Image.open(BytesIO(moving_picture(chosen, "apng")))
    assert (picture.format, getattr(picture, "n_frames", 0)) == ("PNG", 5)
    reading, shown = reading_of(TASKS["induction"], *TASKS["induction"].read("ab")), set()
    for frame, snapshot in enumerate(chosen.job().view.snapshots):
        model = model_of(chosen.job().plan.model, snapshot.weights)
        assert isinstance(model, TokenModel)
        weight = float(at_snapshots([model], reading)["weights.decoder"][0, 1, 1, 0]) / 65535
        shown.add(round(weight, 1))
        picture.seek(frame)
        pixels = np.asarray(picture.convert("RGB"), np.int64)
        white, full = np.array([255, 255, 255]), np.array([0x5E, 0x3C, 0x99])
        is_cell = np.abs(pixels - (white + weight * (full - white))).max(-1) < 12
        assert is_cell.sum() > 4000, "a cell has the colour of its weight"
    assert len(shown) > 1


def test_the_web_page_holds_what_the_server_offers_and_not_who_trained() -> None:
    at = open_page("train", sample=SAMPLE, **FAST)
    train(at)
    train(at, "control")
    chosen = of(at)
    file = training_file(chosen).decode()
    assert chosen.visitor not in file
    assert "<b>abc" not in file
    found = re.search(r'id="attnviz-numbers">([^<]*)<', file)
    assert found
    header, arrays = read_payload(b64decode(found[1]))
    assert (header["is_page"], header["values"]["visitor"]) == (True, "")
    assert chosen.visitor not in json.dumps(header)
    assert [run["snapshots"] for run in header["runs"]] == [[0, 5, 10, 15, 20]] * 2
    reading = reading_of(TASKS["induction"], *TASKS["induction"].read(SAMPLE))
    for job, run in zip(reversed(training_jobs().jobs(chosen.visitor)), header["runs"], strict=True):
        for snapshot in job.view.snapshots:
            model = model_of(job.plan.model, snapshot.weights)
            assert isinstance(model, TokenModel)
            there = load(arrays[f"{run['digest']}~s.{snapshot.step}"].tobytes())
            for name, expected in at_snapshots([model], reading).items():
                np.testing.assert_array_equal(there[name], expected)
        assert isinstance(model, TokenModel)
        last = load(arrays[f"{run['digest']}~a.20"].tobytes())["accuracy"]
        np.testing.assert_array_equal(last, accuracy_without(model, TASKS["induction"]))


def test_a_model_of_a_text_is_a_file_that_the_other_pages_show_and_has_no_moving_picture() -> None:
    text = "to be or not to be, that is the question. " * 20
    plan = next(one for one in SERIES if one.name == "heads").plan(len(set(text)))
    jobs, visitor = training_jobs(), "a visitor of the test"
    jobs.start(visitor, replace(plan, training=replace(plan.training, steps=10, batch=4)), text)
    job = jobs.jobs(visitor)[0]
    until(lambda: job.view.has_ended)
    chosen = SnapshotName(visitor, "text", job.number, 10, "to be", "decoder.0.3")
    assert chosen.head() == (Place("decoder", 0), 3)
    made = model_file(chosen)
    assert (made.stem, made.card.after) == ("text-10-steps", 10)
    model = keep(made.data)
    assert model.trace("to be").attentions(0).shape == (4, 5, 5)
    assert b"question" not in made.data, "the text itself is not in the file"
    assert frames_of(chosen) == 0
    assert "torch" in script_of(chosen)
    at = open_page("train", {"export": True, "export_tab": "Animation"}, train_part="generate")
    assert GENERATED in [one.value for one in at.caption]


@pytest.mark.parametrize("tab", ["Model", "Script", "Numbers"])
def test_a_generated_text_has_its_model_its_script_and_its_numbers(tab: str) -> None:
    at = open_page("train", {"export": True, "export_tab": tab}, train_part="generate", length="3")
    assert not at.exception
    assert at.get("download_button")
    at = open_page("train", {"export": True, "export_tab": tab}, train_part="generate", prompt="漢字")
    assert not at.exception
    # The model's file is the same whatever the prompt.
    assert (NO_TEXT in [one.value for one in at.caption]) == (tab != "Model")
    assert bool(at.get("download_button")) == (tab == "Model")


@pytest.mark.parametrize("cut", ["", "chunks"])
def test_a_text_has_its_length_and_its_ids_as_json_lines(cut: str) -> None:
    opened = {"export": True, "export_tab": "Numbers"}
    at = open_page("train", opened, train_part="text", **({"cut": cut} if cut else {}))
    assert not at.exception
    said = next(one.value for one in at.caption if "len(dataset)" in one.value)
    train = built_in()[: int(0.9 * len(built_in()))]
    first = json.loads(at.code[0].value.splitlines()[0])["ids"]
    labels = sorted(set(built_in()))
    assert train.startswith("".join(labels[one] for one in first))
    if not cut:
        windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(train.encode(), np.uint8), len(first) + 1)
        assert f"{len(windows):,}:" in said


def test_the_table_of_curves_has_each_step_and_what_was_measured() -> None:
    at = open_page("train", **FAST)
    train(at)
    view = of(at).job().view
    patterns = TASKS[told(at)["task"]["name"]].patterns
    text = curves_csv([CurvesOf("=1", view.losses, view.evaluations, patterns)]).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [int(row["step"]) for row in rows] == list(range(len(view.losses) + 1)), "the last is measured after all"
    assert [np.float32(row["loss"]) for row in rows[:-1]] == view.losses.tolist()
    measured = {int(row["step"]): row["held-out accuracy"] for row in rows if row["held-out accuracy"]}
    assert {step: float(one) for step, one in measured.items()} == {
        one.step: pytest.approx(one.accuracy) for one in view.evaluations
    }
    for pattern in patterns:
        scores = {int(row["step"]): row[f"largest score: {pattern.title}"] for row in rows}
        for one in view.evaluations:
            heads = [score for scored in one.scores[pattern.name].values() for score in scored]
            assert float(scores[one.step]) == pytest.approx(max(heads))
