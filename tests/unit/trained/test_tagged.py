"""A model of a user's files of words and tags: its file, its card, and its script without attnviz."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

from attnviz.export.code.training import NoTrainingCodeError, training_script
from attnviz.pretrained import ModelError
from attnviz.trained import shipped
from attnviz.trained.files import read
from attnviz.trained.making import ModelFile, file_of, why_not_shown
from attnviz.trained.model import about
from attnviz.trained.shipped import opening
from attnviz.training.evaluation import evaluate_whole
from attnviz.training.jobs.view import Snapshot
from attnviz.training.jobs.weights import to_bytes
from attnviz.training.loop import Trainer
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TAGGED
from attnviz.training.tagged.files import UNKNOWN, tagged_files
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import tagging
from tests.scripts import FILE, run_alone

generator = np.random.default_rng(0)


def written(count: int, more: str = "") -> bytes:
    sentences = (tagging.sentence(lambda some: str(generator.choice(some)), lambda share: generator.random() < share)
                 for _ in range(count))  # fmt: skip
    return ("\n".join("".join(f"{word}\t{tag}\n" for word, tag in one) for one in sentences) + more).encode()


TRAIN, TEST = written(60), written(20, "\nZebras  noun\nsleep verb\n")
FILES = tagged_files(TRAIN, TEST, ("a.txt", "b.txt"))
TASK = TaggedSentences(FILES)
PLAN = Plan(TAGGED, TASK.model, replace(TASK.training, steps=12, batch=8, seed=3))


@pytest.fixture(scope="module")
def trained() -> tuple[Trainer, dict[int, float]]:
    trainer = Trainer(build(PLAN.model, PLAN.training.seed), TASK.batch, PLAN.training)
    return trainer, {step: trainer.advance() for step in range(12)}


@pytest.fixture(scope="module")
def made(trained: tuple[Trainer, dict[int, float]]) -> ModelFile:
    weights = to_bytes(trained[0].model)
    assert weights is not None
    return file_of(PLAN, Snapshot(12, weights), np.array(list(trained[1].values()), np.float32), data=FILES)


def test_the_file_has_words_tags_and_what_is_to_be_known_of_the_files(made: ModelFile) -> None:
    found = read(made.data)
    assert found.labels == FILES.labels
    assert found.task is not None
    assert found.task.outputs == FILES.tags
    assert found.task.read("she plans")[0] == TASK.read("she plans")[0]
    said = json.loads(made.card_file())
    assert said["corpus"] == {
        "name": "a.txt", "characters": len(TRAIN.decode()), "sha256": hashlib.sha256(TRAIN).hexdigest(),
    }  # fmt: skip
    assert said["files"] | {"example": ""} == {
        "name": "b.txt", "sha256": hashlib.sha256(TEST).hexdigest(), "sentences": 21, "words": len(FILES.test.words),
        "unknown": 2, "seen": FILES.seen, "right": FILES.baseline.right, "train_sentences": 60,
        "train_words": len(FILES.train.words), "example": "",
    }  # fmt: skip
    assert said["files"]["example"] == TASK.examples[0]
    assert said["name"] == "tagging, own files, 12 steps"


def test_accuracy_on_the_card_is_of_the_whole_test_file(made: ModelFile, monkeypatch: pytest.MonkeyPatch) -> None:
    module, right, start = read(made.data).module, 0, 0
    for length in FILES.test.lengths.tolist():
        ids, tags = (torch.from_numpy(one[start : start + length].astype("int64")) for one in (
            FILES.test.words, FILES.test.tags,
        ))  # fmt: skip
        with torch.no_grad():
            right += int((module(ids[None])[0].argmax(-1) == tags).sum())
        start += length
    assert made.card.accuracy == pytest.approx(right / start)
    monkeypatch.setattr("attnviz.training.tagged.task.WATCHED", 3)
    assert len(TASK.held_out()) == 3
    assert evaluate_whole(module, TASK).accuracy == pytest.approx(right / start)


def test_the_model_opens_on_other_pages_with_a_sentence_of_the_test_file(made: ModelFile) -> None:
    assert why_not_shown(PLAN) == ""
    model = shipped.keep(made.data)
    assert opening(model.name)["text"] == TASK.examples[0]
    trace = model.trace("she zebras")
    ids = torch.tensor([[FILES.labels.index("she"), UNKNOWN]])
    shown = trace.vocabulary
    assert shown is not None
    torch.testing.assert_close(model.logits(ids)[0].argmax(-1), model.module(ids)[0].argmax(-1))
    assert tuple(trace.attentions(0).shape) == (4, 2, 2)
    usual = 100 * FILES.baseline.right / FILES.baseline.total
    assert f"with each word's most frequent tag, {usual:.1f} % have." in about(model)


def packed(made: ModelFile, **said: Any) -> bytes:
    found = read(made.data)
    values = {"plan": found.plan.to_json(), "labels": FILES.labels, "card": found.card.to_json(),
              "outputs": FILES.tags, **said}  # fmt: skip
    weights = {name: one.half() for name, one in found.module.state_dict().items()}
    return save(weights, {"attnviz.trained": "1", **{name: json.dumps(one) for name, one in values.items()}})


@pytest.mark.parametrize(
    "said",
    [
        {"outputs": FILES.tags[:-1]},
        {"outputs": [*FILES.tags[:-1], FILES.tags[0]]},
        {"outputs": None},
        {"outputs": [1] * len(FILES.tags)},
        {"outputs": ["x" * 61, *FILES.tags[1:]]},
        {"labels": ["a", *FILES.labels[1:]]},
        {"labels": [*FILES.labels[:-1], ""]},
        {"card": {"files": {"name": "x"}}},
    ],
)
def test_a_file_that_says_what_can_not_be_is_refused(made: ModelFile, said: dict[str, Any]) -> None:
    assert read(packed(made)).task is not None
    if "card" in said:
        said = {"card": {**read(made.data).card.to_json(), **said["card"]}}
    with pytest.raises(ModelError):
        read(packed(made, **said))


def test_a_linear_or_recurrent_model_of_files_is_refused(made: ModelFile) -> None:
    plan = PLAN.to_json() | {"model": {"kind": "bigram", "vocabulary": len(FILES.labels)}}
    with pytest.raises(ModelError):
        read(packed(made, plan=plan))


@pytest.mark.parametrize("name", ["unix", "windows"])
def test_the_script_trains_to_the_same_losses(
    name: str, trained: tuple[Trainer, dict[int, float]], tmp_path: Path
) -> None:
    trainer, losses = trained
    (tmp_path / "a.txt").write_bytes(TRAIN if name == "unix" else TRAIN.replace(b"\n", b"\r\n"))
    (tmp_path / "b.txt").write_bytes(TEST)
    (tmp_path / "script.py").write_text(training_script(PLAN, losses=losses, files=FILES), encoding="utf-8")
    done = run_alone(FILE, "script.py", "a.txt", "b.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = {int(step): loss for step, loss in re.findall(r"step (\d+): loss ([\d.]+), in the app", done.stdout)}
    assert printed == {step: f"{loss:.6f}" for step, loss in losses.items()}
    whole = evaluate_whole(trainer.model, TASK)
    assert f"test file: loss {whole.loss:.6f}, accuracy {whole.accuracy:.4f}" in done.stdout
    assert f"baseline: accuracy {FILES.baseline.accuracy:.4f}; unknown words: 2" in done.stdout
    assert ("is not the file" in done.stdout) == (name == "windows")


def test_there_is_no_script_without_the_files() -> None:
    with pytest.raises(NoTrainingCodeError):
        training_script(PLAN, losses={})
