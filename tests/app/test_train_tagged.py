"""Tagging a user's own files on the page Train, without a browser: what is told, trained, exported and refused."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attnviz.settings import settings
from attnviz.trained.files import read
from attnviz.trained.shipped import load
from attnviz.training.jobs.weights import model_of
from attnviz.training.settings import TAGGED
from attnviz.training.tagged.files import UNKNOWN, tagged_files
from attnviz.training.tagged.task import TaggedSentences
from attnviz.ui.train.chosen import SnapshotName, model_file, script_of
from attnviz.ui.train.exports import frames_of, training_file
from attnviz.ui.train.tagged import facts_of
from attnviz.ui.training_jobs import training_jobs
from tests.app.pages import boxes, go_to_page, open_page, payload
from tests.app.test_train_page import FAST, command, newest, send_values, told, until
from tests.app.test_train_page import trained as train
from tests.app.training import accuracies, moment

PHRASES = (
    "she PRON plans VERB . STOP",
    "her DET plans NOUN work VERB . STOP",
    "the DET old ADJ plans NOUN fail VERB . STOP",
    "old ADJ plans NOUN help VERB her PRON . STOP",
)
TRAIN = "\n\n".join("\n".join(map("\t".join, zip(*[iter(one.split())] * 2, strict=True))) for one in PHRASES).encode()
TEST = b"she PRON\nplans VERB\n. STOP\n\nher DET\nold ADJ\nplans NOUN\nhelp VERB\n\nZebras NOUN\nfail VERB\n. STOP\n"
FILES = tagged_files(TRAIN, TEST, ("mine.tsv", "held.tsv"))


pytestmark = pytest.mark.usefixtures("no_training_is_left")


def opened(**query: str) -> AppTest:
    at = open_page("train", task="tagging", **query)
    at.segmented_control(key="tagged_from").set_value("own").run()
    return at


def upload(at: AppTest, which: str, data: bytes, name: str = "mine.tsv") -> AppTest:
    at.file_uploader(key=f"tagged_{which}").set_value((name, data, "text/plain")).run()
    assert not at.exception
    return at


def with_files(**query: str) -> AppTest:
    return upload(upload(opened(**query), "training", TRAIN), "test", TEST, "held.tsv")


def typed(at: AppTest, text: str) -> AppTest:
    at.text_input(key="sample").set_value(text).run()
    return at


def captions(at: AppTest) -> str:
    return shown(at.caption)


def shown(texts: Iterable[Any]) -> str:
    """Return texts as the browser shows them, without what keeps them from being Markdown."""
    return re.sub(r"\\(.)", r"\1", "\n".join(one.value for one in texts))


def test_until_both_files_are_there_the_format_and_the_generated_sentences_are_shown() -> None:
    at = opened()
    assert "a word and its tag a line" in captions(at)
    assert any("plans\tVERB" in one.value for one in at.code)
    assert told(at)["task"]["name"] == "tagging"
    upload(at, "training", TRAIN)
    assert "Until both files are there" in captions(at)
    assert told(at)["task"]["name"] == "tagging"


def test_what_is_known_of_the_files_is_told_before_a_training() -> None:
    at = with_files()
    said = captions(at)
    assert "Training file “mine.tsv”: 4 sentences, 17 words, 9 different; 6 tags." in said
    assert "Test file “held.tsv”: 3 sentences, 10 words; 10.0 % of these are unknown" in said
    assert "1 sentence of it stands in the training file too." in said
    # By hand: she, plans (NOUN: wrong), "."; her (DET, the first of two), old, plans, help;
    # Zebras (STOP, as frequent as VERB and first: wrong), fail, ".".
    assert "Baseline: 80.0 % of the test file's words" in said
    assert "Training: 4 sentences, 17 words, 6 tags. Test: 3 sentences, 10 words, 10.0 % unknown." in said
    assert "1 test sentence is in both. Baseline:" in said
    assert "Baseline: 80.0 % right. No link holds the files." in said
    task = told(at)["task"]
    assert task["baseline"] == pytest.approx(0.8)
    assert (task["title"], task["patterns"], task["answers"]) == ("Tagging: your files", [], list(FILES.tags))
    run = newest(at)
    assert (run["state"], run["snapshots"]) == ("new", [0])
    assert run["kinds"][0]["query"] == ["she", "plans", "."]
    assert "task" in at.query_params
    assert set(at.query_params) == {"task"}
    before = accuracies(run["digest"], 0)
    assert before.shape == (5,)


def test_what_files_lack_is_told_too() -> None:
    def facts(train: bytes, test: bytes) -> list[str]:
        return [*facts_of(TaggedSentences(tagged_files(train, test, ("a", "b"))))]

    twice = b"one A\ntwo B\n\none A\ntwo B\n"
    lacks = "No word stands only once in the training file, so a model learns nothing about unknown words."
    *_, last = facts(twice, b"three A\n")
    assert last == lacks
    assert lacks not in facts(twice, b"one A\n") and lacks not in facts(twice + b"\nfour A\n", b"three A\n")
    for test, seen in (
        (b"two B\n", "None of the sentences stands in the training file."),
        (b"one A\ntwo B\n\none A\n", "1 sentence of it stands in the training file too."),
        (b"one A\ntwo B\n\n" * 2, "2 sentences of it stand in the training file too."),
    ):
        assert facts(twice, test)[1].endswith(f" of these are unknown, as the training file lacks them. {seen}")
    watched = "While a model trains, and without one of its heads, 256 test sentences are measured, evenly spread "
    assert not any(watched in one for one in facts(twice, b"one A\n\n" * 256))
    assert facts(twice, b"one A\n\n" * 257)[-1] == f"{watched}over the file; at the end all of them."


def test_a_training_on_files_is_followed_and_tested_on_the_test_file() -> None:
    at = typed(with_files(**FAST), "she plans zebras")
    run = train(at)
    (job,) = training_jobs().jobs(told(at)["values"]["visitor"])
    assert job.plan.subject == TAGGED
    model = model_of(job.plan.model, job.view.snapshots[-1].weights)
    right, start = 0, 0
    for length in FILES.test.lengths.tolist():
        words, tags = (torch.from_numpy(one[start : start + length].astype("int64"))
                       for one in (FILES.test.words, FILES.test.tags))  # fmt: skip
        with torch.no_grad():
            right += int((model(words[None])[0].argmax(-1) == tags).sum())
        start += length
    arrays = payload(at, "training")[1]
    assert arrays["0.accuracy"][-1] == pytest.approx(right / 10, abs=1e-6)
    assert accuracies(run["digest"], 20)[-1] == pytest.approx(right / 10, abs=1e-6)
    at_the_end = moment(run["digest"], 20)
    known = [FILES.labels.index("she"), FILES.labels.index("plans"), UNKNOWN]
    with torch.no_grad():
        expected = model(torch.tensor([known]))[0].softmax(-1)
    assert at_the_end["answer"][0].tolist() == expected.argmax(-1).tolist()
    np.testing.assert_allclose(at_the_end["probability"][0], expected.max(-1).values, rtol=0, atol=1e-6)
    assert at_the_end["weights.encoder"].shape == (1, 4, 3, 3)
    assert any("not in the vocabulary" in one.value.lower() for one in at.warning)


def of(at: AppTest) -> SnapshotName:
    return SnapshotName(told(at)["values"]["visitor"], TAGGED, int(newest(at)["id"]), 20, "she plans", "")


def test_what_is_exported_is_of_the_files() -> None:
    at = with_files(**FAST)
    train(at)
    chosen = of(at)
    made = model_file(chosen)
    assert made.stem == "tagged-20-steps"
    card = json.loads(made.card_file())
    assert (card["corpus"]["name"], card["files"]["name"]) == ("mine.tsv", "held.tsv")
    assert (card["files"]["right"], card["files"]["words"], card["files"]["unknown"]) == (8, 10, 1)
    assert read(made.data).labels == FILES.labels
    script = script_of(chosen)
    assert FILES.train.sha256 in script
    assert FILES.test.sha256 in script
    assert frames_of(chosen) == 5
    page = training_file(chosen).decode()
    assert "Tagging: a small model in training" in page
    assert "zebras" not in page.lower()


@pytest.mark.parametrize("tab", ["Model", "Animation", "Web page", "Script", "Numbers"])
def test_each_tab_of_export_offers_its_files(tab: str) -> None:
    at = open_page("train", {"export": True, "export_tab": tab}, task="tagging", **FAST)
    at.segmented_control(key="tagged_from").set_value("own").run()
    upload(upload(at, "training", TRAIN), "test", TEST)
    train(at)
    at.run()
    assert not at.exception
    assert at.get("download_button")


def test_the_model_opens_on_step_by_step_and_heads() -> None:
    at = typed(with_files(**FAST), "she plans")
    train(at)
    command(at, "open step_by_step")
    assert not at.exception
    link = dict(at.query_params)
    assert (link["source"], link["text"]) == ("trained", "she plans")
    assert load(link["model"]).labels == FILES.labels
    assert boxes(at, "error") == []


def test_a_stopped_training_goes_on_and_other_sentences_hide_it() -> None:
    at = with_files(steps="3000", batch="16", rate="0.01")
    command(at, "train")
    until(at, lambda run: run["step"] > 0)
    command(at, "stop")
    stopped = until(at, lambda run: run["state"] == "stopped")
    assert stopped["can_continue"]
    at.segmented_control(key="tagged_from").set_value("built_in").run()
    assert told(at)["task"]["name"] == "tagging"
    assert [run["state"] for run in told(at)["runs"]] == ["new"]
    command(at, "continue")  # not of these sentences
    (job,) = training_jobs().jobs(told(at)["values"]["visitor"])
    assert job.view.status == "stopped"
    at.segmented_control(key="tagged_from").set_value("own").run()
    command(at, "continue")
    until(at, lambda run: run["step"] > stopped["step"])


def test_another_pair_of_files_has_trainings_of_its_own_and_the_control_fails_without_attention() -> None:
    at = with_files(**FAST)
    train(at)
    train(at, "control")
    assert [run["title"] for run in told(at)["runs"]] == ["1 layer, 4 heads", "control"]
    assert newest(at)["is_control"]
    upload(at, "test", TEST + b"\nthe DET\n")
    assert [run["state"] for run in told(at)["runs"]] == ["new"]
    upload(at, "test", TEST)
    assert len(told(at)["runs"]) == 2  # the same files again
    send_values(at, run=told(at)["runs"][0]["id"])
    assert not at.exception


@pytest.mark.parametrize(
    ("which", "data", "said"),
    [
        ("training", b"she PRON\nplans\n", "Line 2 of the training file has one column, “plans”"),
        ("training", b"\xff\xfe\x00", "UTF-16"),
        ("training", b"a X\n<script>\0 Y", "(line 2)"),
        (
            "test",
            b"she PRON\n\nplans XYZ\n",
            "Line 3 of the test file has the tag “XYZ”, which the training file lacks",
        ),
        ("test", b"", "empty"),
        ("test", b"\n\n", "The test file has no sentences"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused_in_a_sentence(which: str, data: bytes, said: str) -> None:
    at = with_files()
    upload(at, which, data)
    assert len(at.error) == 1
    assert said in shown(at.error)
    assert told(at)["task"]["name"] == "tagging"
    upload(at, which, TRAIN if which == "training" else TEST)
    assert not at.error
    assert told(at)["task"]["name"] == TAGGED


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "**bold** _x_", "\u202e\u200b", "😀", "$x$ :red[y]"])
def test_odd_words_tags_and_names_are_shown_as_text(text: str) -> None:
    word = text.replace(" ", "")
    data = f"{word}\tA{word}\nb\tB\n".encode()
    at = upload(upload(opened(), "training", data, f"{text}.txt"), "test", data, f"{text}.txt")
    assert not at.error
    assert newest(at)["kinds"][0]["rows"] == 2
    assert not at.exception


def test_the_files_stay_while_another_page_is_shown() -> None:
    at = with_files(**FAST)
    train(at)
    go_to_page(at, "tokens", {})
    at.run()
    go_to_page(at, "train", {"task": "tagging", **FAST})
    at.run()
    assert told(at)["task"]["name"] == TAGGED
    assert newest(at)["state"] == "done"


def test_where_uploads_are_switched_off_generated_sentences_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dataclasses.replace(settings(), uploads=False)
    monkeypatch.setattr("attnviz.ui.train.tagged.settings", lambda: few)
    at = open_page("train", task="tagging")
    assert not [one for one in at.get("button_group") if one.key == "tagged_from"]
    assert told(at)["task"]["name"] == "tagging"


def test_the_first_short_sentence_of_the_test_file_is_the_example() -> None:
    assert TaggedSentences(FILES).examples == ("she plans .",)
