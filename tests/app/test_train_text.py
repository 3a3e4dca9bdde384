"""The part "Text" of Train without a browser: stages are trained, and a text that can't be trained on is refused."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load
from streamlit.testing.v1 import AppTest

from attnviz import trained
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.settings import settings
from attnviz.tokens.value import label_of
from attnviz.trained import recorded
from attnviz.training.jobs.weights import model_of
from attnviz.training.loop import Trainer
from attnviz.training.plan import build
from attnviz.training.text.chunks import chunks
from attnviz.training.text.corpus import built_in
from attnviz.training.text.cut import Cut, settings_of
from attnviz.training.text.subject import Documents, Text
from attnviz.ui.train.arrays import logits_of
from attnviz.ui.training_jobs import training_jobs
from tests.app.pages import SETTINGS_OPEN, boxes, go_to_page, messages, open_page, payload, send_update
from tests.app.training import run_until

_numbers = count(1)


pytestmark = pytest.mark.usefixtures("no_training_is_left")


def opened(settings: Mapping[str, object] | None = None, /, **query: str) -> AppTest:
    return open_page("train", settings, train_part="text", steps="5", **query)


def told(at: AppTest) -> dict[str, Any]:
    return payload(at, "model_series")[0]


def stage(at: AppTest, name: str) -> dict[str, Any]:
    (found,) = [one for one in told(at)["stages"] if one["name"] == name]
    return found


def command(at: AppTest, name: str) -> AppTest:
    return send_update(at, "model_series", {"number": next(_numbers), "values": {"commands": [[next(_numbers), name]]}})


def part(digest: str, name: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = load(array_store().request(f"{digest}~{name}").result(60).decompressed())
    return found


def upload(at: AppTest, data: bytes) -> AppTest:
    at.segmented_control(key="train_text_from").set_value("upload").run()
    at.file_uploader(key="train_text_file").set_value(("mine.txt", data, "text/plain")).run()
    assert not at.exception
    return at


def test_one_stage_and_then_the_whole_series_is_trained() -> None:
    at = opened()
    assert [one["run"]["state"] for one in told(at)["stages"]] == ["new"] * 8
    command(at, "train:head")
    run_until(at, lambda: stage(at, "head")["run"]["state"] == "done")
    job = training_jobs().job(told(at)["values"]["visitor"])
    assert job is not None
    blocks = told(at)["text"]["blocks"]
    expected = logits_of(model_of(job.plan.model, job.view.snapshots[-1].weights), blocks)
    digest = stage(at, "head")["run"]["digest"]
    assert part(digest, "l.5")["loss"] == pytest.approx(expected["loss"])
    assert part(digest, "s.0.5")["weights.decoder"].shape == (2, 1, 8, 8)
    command(at, "all")
    run_until(at, lambda: all(one["run"]["state"] == "done" for one in told(at)["stages"]))
    held = payload(at, "model_series")[1]
    assert all(np.isfinite(held[f"{n}.held_out"][-1]) for n in range(8))
    assert stage(at, "gpt")["samples"] == [0, 5]
    table = part(stage(at, "bigram")["run"]["digest"], "b.5")["probabilities"]
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-5)


def test_a_stage_opens_on_another_page_with_its_own_weights_and_on_generate() -> None:
    at = opened(sample="Anna")
    for name in ("gru", "head"):
        command(at, f"train:{name}")
        run_until(at, lambda name=name: stage(at, name)["run"]["state"] == "done")
    assert "no attention" in stage(at, "gru")["run"]["cannot_open"]
    assert stage(at, "head")["run"]["cannot_open"] == ""
    visitor = told(at)["values"]["visitor"]
    job = training_jobs().job(visitor)
    assert job is not None
    module = model_of(job.plan.model, job.view.snapshots[-1].weights)
    command(at, "open heads")
    link = dict(at.query_params)
    assert link["text"] == "Anna"
    model = trained.load(link["model"])
    for name, one in module.state_dict().items():
        assert torch.equal(model.module.state_dict()[name], one), name
    go_to_page(at, "train", {"train_part": "text", "steps": "5", "rung": "gru", "sample": "Anna"})
    command(at, "open generate")
    assert not at.exception
    header = payload(at, "generation")[0]
    assert header["model"]["title"].endswith(f"training {job.number - 1}, after 5 steps")
    assert "".join(header["model"]["characters"][one] for one in header["prompt"]) == "Anna"


def test_recorded_trainings_are_shown_until_a_stage_is_trained_or_set_otherwise() -> None:
    at = open_page("train", train_part="text", rung="head")
    assert [one["run"]["state"] for one in told(at)["stages"]] == ["recorded"] * 8
    recording = recorded.load("ladder-head")
    run = stage(at, "head")["run"]
    assert run["snapshots"] == [one.step for one in recording.view.snapshots]
    assert payload(at, "model_series")[1]["1.held_out"][-1] == pytest.approx(recording.card.loss)
    expected = logits_of(
        model_of(recording.plan.model, recording.view.snapshots[-1].weights), told(at)["text"]["blocks"]
    )
    assert part(run["digest"], "l.2000")["loss"] == pytest.approx(expected["loss"])
    with pytest.raises(NotOfferedError):
        part(run["digest"], "l.1")
    command(at, "train:head")
    assert stage(at, "head")["run"]["state"] in ("queued", "running")
    assert stage(at, "gpt")["run"]["state"] == "recorded"
    command(at, "stop")
    other = open_page("train", train_part="text", seed="1")
    assert [one["run"]["state"] for one in told(other)["stages"]] == ["new"] * 8


def test_a_second_training_is_drawn_over_the_first_and_one_that_diverges_is_said_to() -> None:
    at = open_page("train", train_part="text", steps="60", optimiser="sgd", rate="10", train_dropout="0.1")
    command(at, "train:head")
    run_until(at, lambda: stage(at, "head")["run"]["state"] == "done")
    job = training_jobs().job(told(at)["values"]["visitor"])
    assert job is not None
    assert (job.plan.training.optimiser, job.plan.training.learning_rate) == ("sgd", 10)
    assert getattr(job.plan.model, "dropout", None) == 0.1
    run, first = stage(at, "head")["run"], payload(at, "model_series")[1]["1.held_out"]
    assert f"diverges: its loss was {job.view.losses[0]:.2f} at first" in run["message"]
    assert stage(at, "head")["earlier"] == ["recorded"]
    assert stage(at, "head")["changed"] == "learning rate 10, steps 60, SGD"
    np.testing.assert_allclose(
        payload(at, "model_series")[1]["1.0.held_out"],
        [one.loss for one in recorded.load("ladder-head").view.evaluations],
        rtol=1e-6,
    )
    at.selectbox(key="rate").set_value(None).run()
    command(at, "train:head")
    run_until(at, lambda: stage(at, "head")["run"]["state"] == "done")
    assert stage(at, "head")["run"]["message"] == ""
    assert stage(at, "head")["run"]["speed"]
    assert stage(at, "head")["earlier"] == ["learning rate 10", "recorded"]
    np.testing.assert_array_equal(payload(at, "model_series")[1]["1.0.held_out"], first)


def test_one_step_after_another_and_slow_motion() -> None:
    at = opened()
    for step in (1, 2):
        command(at, "step:head")
        run_until(at, lambda step=step: stage(at, "head")["run"]["step"] == step)
        run_until(at, lambda: stage(at, "head")["run"]["state"] == "stopped")
    values = {"slow": 100, "commands": [[next(_numbers), "train:gpt"]]}
    send_update(at, "model_series", {"number": next(_numbers), "values": values})
    assert told(at)["values"]["slow"] == 100
    job = training_jobs().job(told(at)["values"]["visitor"])
    assert job is not None
    assert job.speed_limit == 10
    run_until(at, lambda: stage(at, "gpt")["run"]["state"] == "done")


def test_a_stage_is_stopped_and_goes_on_and_is_let_alone_by_commands_of_tasks_and_on_another_text() -> None:
    at = open_page("train", SETTINGS_OPEN, train_part="text", steps="100000", batch="4")
    command(at, "train:bigram")
    run_until(at, lambda: stage(at, "bigram")["run"]["step"] > 0)
    command(at, "stop")
    run_until(at, lambda: stage(at, "bigram")["run"]["state"] == "stopped")
    step = stage(at, "bigram")["run"]["step"]
    job = training_jobs().job(told(at)["values"]["visitor"])
    for foreign in ("train", "control", "all:bigram", "continue:bigram"):
        command(at, foreign)
        assert training_jobs().job(told(at)["values"]["visitor"]) is job
    at.number_input(key="text_to").set_value(20_000).run()
    command(at, "continue")
    assert job is not None
    assert (job.view.status, job.view.step) == ("stopped", step)
    at.number_input(key="text_to").set_value(None).run()
    command(at, "continue")
    run_until(at, lambda: stage(at, "bigram")["run"]["step"] > step)
    command(at, "stop")


def test_a_text_of_ones_own_is_used_and_no_link_holds_it() -> None:
    text = "Ein Text über Äpfel.\n" * 60
    at = upload(opened(), text.encode())
    assert told(at)["text"]["size"] == len(text)
    assert "mine" not in str(at.query_params)
    assert "Ein" not in str(at.query_params)
    assert stage(at, "gpt")["expected"] == []
    command(at, "train:bigram")
    run_until(at, lambda: stage(at, "bigram")["run"]["state"] == "done")
    at.segmented_control(key="train_text_from").set_value("built_in").run()
    assert stage(at, "bigram")["run"]["state"] == "new", "another text has trainings of its own"
    at.segmented_control(key="train_text_from").set_value("upload").run()
    assert stage(at, "bigram")["run"]["state"] == "done"
    go_to_page(at, "train", {"train_part": "task"})
    assert not at.exception


def test_a_pasted_text_is_used_up_to_the_limit_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dataclasses.replace(settings(), largest_text=1300)
    monkeypatch.setattr("attnviz.ui.train.text.settings", lambda: few)
    at = opened()
    at.segmented_control(key="train_text_from").set_value("paste").run()
    assert "Until then, the built-in corpus is shown." in " ".join(boxes(at, "caption"))
    (field,) = [one for one in at.text_area if one.label == "Your text"]
    assert (field.max_chars, field.placeholder) == (
        1300, "Paste some pages, up to 1,300 characters, and press Ctrl+Enter."
    )  # fmt: skip
    field.set_value("A cat sat. " * 100).run()
    assert "In use: 1,100 characters, 7 different ones." in " ".join(boxes(at, "caption"))
    assert told(at)["text"]["size"] == 1100


def test_the_first_four_places_of_words_are_offered_and_that_there_are_more_is_said() -> None:
    more = "And at further places: search for more words."
    at = upload(opened(SETTINGS_OPEN), ("cat " * 4 + "dog " * 5 + "A bird sat. " * 30).encode())
    for words, places, says in (("cat", [0, 4, 8, 12], False), ("dog", [16, 20, 24, 28], True), ("CAT", [], False)):
        at.text_input(key="train_text_words").set_value(words).run()
        captions = boxes(at, "caption")
        assert [int(one.split(":")[0]) for one in captions if re.match(r"\d+: “", one)] == places
        assert (more in captions) == says
        assert ("The text has no such words; capital letters count." in captions) == (not places)


def test_models_that_know_no_character_of_a_sample_read_the_text_s_beginning() -> None:
    at = opened(sample="漢字")
    assert "The models know none of these characters. Type something that stands in the text." in messages(at)
    (kind,) = stage(at, "gpt")["run"]["kinds"]
    assert kind["query"] == [label_of(one) for one in built_in()[: stage(at, "gpt")["block"]]]
    (kind,) = stage(opened(sample="To 漢 be"), "gpt")["run"]["kinds"]
    assert kind["query"] == [label_of(one) for one in "To  be"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"   \n ", "There is no text to train on"),
        (b"short", "it needs at least"),
        (b"\x00\x01\x02" * 100, "NUL bytes"),
        (b"\xff\xfe\xfd" * 100, "UTF-16"),
        (b"caf\xe9 " * 100, "not UTF-8"),
        (b"aaaaaaaaaa" * 100, "one character only"),
        ("".join(map(chr, range(0x4E00, 0x4E00 + 1200))).encode() * 2, "different characters"),
    ],
    ids=["empty", "blank", "short", "binary", "utf16", "latin", "one", "many"],
)
def test_a_text_that_can_not_be_trained_on_is_refused_and_the_built_in_one_stays(data: bytes, why: str) -> None:
    at = upload(opened(), data)
    assert why in " ".join(boxes(at, "error"))
    assert told(at)["text"]["is_built_in"]


def test_a_text_shorter_than_a_block_trains_what_it_can_and_says_so() -> None:
    at = upload(opened(), b"abcdefghij" * 12)
    command(at, "train:gpt")
    assert "blocks of 32" in messages(at)
    assert stage(at, "gpt")["run"]["state"] == "new"
    command(at, "train:bigram")
    run_until(at, lambda: stage(at, "bigram")["run"]["state"] == "done")


@pytest.mark.parametrize("cut", ["chunks", "plain"])
def test_a_text_is_cut_line_by_line_shown_and_trained_on(cut: Cut) -> None:
    at = opened(text_view="data", cut=cut, rung="bigram")
    shown, train = told(at)["text"]["cut"]["lines"], built_in()[: told(at)["text"]["train"]]
    labels = told(at)["text"]["characters"]
    end = labels.index("\n") if cut == "chunks" else None
    pieces = [chunks([labels.index(one) for one in line], settings_of(cut, 40, end)) for line in train.split("\n")]
    expected = [piece for line in pieces for piece in line if len(piece) > 1]
    if cut == "chunks":
        expected[-1].pop()  # the last line goes on in the validation part
    assert [one["ids"] for one in shown["shown"]] == expected[:4]
    assert shown["shown"][1]["repeated"] == (8 if cut == "chunks" else 0)
    assert (shown["sequences"], shown["lengths"]) == (len(expected), [min(map(len, expected)), max(map(len, expected))])
    assert shown["dropped"] == len(train) - sum(map(len, expected)) + shown["repeated"]
    command(at, "train:bigram")
    run_until(at, lambda: stage(at, "bigram")["run"]["state"] == "done")
    assert stage(at, "bigram")["changed"].startswith("chunks of lines" if cut == "chunks" else "a plain cut of lines")
    job = training_jobs().job(told(at)["values"]["visitor"])
    assert job is not None
    subject = Documents(built_in(), 40, cut)
    trainer = Trainer(build(job.plan.model, 0), subject.batch, job.plan.training)
    np.testing.assert_array_equal(job.view.losses, np.array([trainer.advance() for _ in range(5)], np.float32))
    assert payload(at, "model_series")[1]["0.held_out"][-1] == pytest.approx(
        subject.whole(trainer.model).loss, rel=1e-6
    )


def test_blocks_are_drawn_as_the_training_draws_them_and_the_cut_can_be_chosen_in_the_view() -> None:
    at = opened(SETTINGS_OPEN, text_view="data", rung="gpt", seed="4")
    assert told(at)["text"]["cut"] == {"name": "blocks", "lines": None}
    subject = Text(built_in(), 32)
    batch = subject.batch(16, torch.Generator().manual_seed(4))
    assert [one["ids"][:-1] for one in stage(at, "gpt")["drawn"]] == batch.ids[:3].tolist()
    send_update(at, "model_series", {"number": next(_numbers), "values": {"cut": "chunks"}})
    assert told(at)["text"]["cut"]["name"] == "chunks"
    assert at.query_params["cut"] == "chunks"
    assert at.selectbox(key="cut").value == "chunks"
    send_update(at, "model_series", {"number": next(_numbers), "values": {"cut": "<b>"}})
    assert told(at)["values"]["cut"] == "chunks"


def test_a_part_of_a_text_is_trained_on() -> None:
    book = "Chapter 1. " + "A cat sat. " * 200 + "Chapter 2. " + "The dog ran! " * 200 + "Chapter 3. " + "End. " * 99
    at = upload(opened(SETTINGS_OPEN), book.encode())
    at.text_input(key="train_text_words").set_value("Chapter").run()
    first, second = book.index("Chapter 2"), book.index("Chapter 3")
    at.button(key="train_text_text_from_1").click().run()
    at.button(key="train_text_text_to_2").click().run()
    assert (at.query_params["text_from"], at.query_params["text_to"]) == (str(first), str(second))
    assert told(at)["text"]["size"] == second - first
    command(at, "train:bigram")
    run_until(at, lambda: stage(at, "bigram")["run"]["state"] == "done")
    job = training_jobs().job(told(at)["values"]["visitor"])
    assert job is not None
    assert job.text == book[first:second]
    at.number_input(key="text_to").set_value(first + 30).run()
    assert "is not used. This text has 30 characters" in " ".join(boxes(at, "error"))
    assert told(at)["text"]["size"] == len(book), "then the whole text is trained on"
    at.number_input(key="text_to").set_value(first - 1).run()
    assert "The part has no text" in " ".join(boxes(at, "error"))
    at.segmented_control(key="train_text_from").set_value("built_in").run()
    assert told(at)["text"]["size"] == len(built_in()), "another text is shown whole"


def test_the_part_of_the_built_in_corpus_is_in_the_link_and_one_beyond_its_end_is_left_out() -> None:
    at = opened(SETTINGS_OPEN, text_from="1000", text_to="30000")
    assert told(at)["text"]["size"] == 29_000
    assert not told(at)["text"]["is_built_in"]
    assert at.number_input(key="text_from").value == 1000
    at = opened(SETTINGS_OPEN, text_from="4000000", text_to="x")
    assert told(at)["text"]["is_built_in"]
    assert "so text_from is left out" in messages(at)


@pytest.mark.parametrize("cut", ["chunks", "plain"])
def test_a_text_whose_lines_are_too_short_to_be_cut_is_refused_when_it_is_trained_on(cut: str) -> None:
    text = "\n".join("ab"[n % 2] for n in range(600))
    at = upload(opened(cut=cut, text_view="data"), text.encode())
    assert told(at)["text"]["cut"]["lines"]["sequences"] == 0
    command(at, "train:gpt")
    assert "has none that is long enough" in messages(at)
    assert stage(at, "gpt")["run"]["state"] == "new"


def test_what_is_no_command_is_ignored() -> None:
    at = opened(rung="gpt", text_view="loss", train_block="64", sample="zzz ⏎ <b>")
    for bad in ("train:nothing", "train:", "stop", "continue", "all:x", "<b>", "step"):
        command(at, bad)
        assert not at.exception
    assert all(one["run"]["state"] == "new" for one in told(at)["stages"])
