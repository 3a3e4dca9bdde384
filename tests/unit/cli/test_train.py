"""`python -m attnviz train`: trains, stops, goes on, and writes a model with its card."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attnviz.cli import main
from attnviz.toy.language.config import TokenConfig
from attnviz.trained import recorded
from attnviz.trained.files import read, write
from attnviz.trained.recorded import read as read_recording
from attnviz.trained.recorded import write as write_recording
from attnviz.training import series
from attnviz.training.evaluation import evaluate
from attnviz.training.tasks import TASKS
from attnviz.training.text.corpus import built_in
from tests.unit.test_layers import ROOT

QUICK = ("--steps", "6", "--every", "2", "--quiet")


@pytest.fixture
def small_gpt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chargpt be small: the commands do the same with fewer numbers."""
    small = TokenConfig(65, block_size=128, layers=1, heads=1, width=8)
    plan = series.CHAR_GPT
    monkeypatch.setattr(series, "CHAR_GPT", replace(plan, model=small, training=replace(plan.training, batch=2)))


def train(*arguments: str | Path) -> int:
    return main(["train", *map(str, arguments)])


def weights(file: Path) -> dict[str, torch.Tensor]:
    return read(file.read_bytes()).module.state_dict()


def test_a_task_s_model_is_written_with_its_card(tmp_path: Path) -> None:
    out = tmp_path / "one.safetensors"
    assert train("induction", "--out", out, "--seed", "3", "--learning-rate", "0.02", *QUICK) == 0
    found = read(out.read_bytes())
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["command"] == "python -m attnviz train induction --steps 6 --seed 3 --learning-rate 0.02"
    assert (card["plan"]["training"]["seed"], card["plan"]["training"]["learning_rate"]) == (3, 0.02)
    assert set(card["heads"]) == {"previous", "match"}
    assert evaluate(found.module, TASKS["induction"]).loss == pytest.approx(card["loss"], abs=1e-6)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["one.json", "one.safetensors"]


@pytest.mark.usefixtures("small_gpt")
def test_a_text_s_characters_are_the_vocabulary(tmp_path: Path) -> None:
    text = tmp_path / "secret folder" / "text.txt"
    text.parent.mkdir()
    text.write_text("a man, a plan, a canal: panama! " * 100)
    out = tmp_path / "one.safetensors"
    assert train("chargpt", "--text", text, "--out", out, "--steps", "2", "--quiet") == 0
    found = read(out.read_bytes())
    assert found.labels == tuple(sorted(set(text.read_text())))
    assert found.card.corpus is not None
    assert (found.card.corpus.name, found.card.corpus.characters) == ("text.txt", 3200)
    assert b"secret" not in out.read_bytes()
    assert "--text text.txt" in found.card.command
    assert train("chargpt", "--out", out, "--steps", "1", "--quiet", "--force") == 0
    corpus = read(out.read_bytes()).card.corpus
    assert corpus is not None
    assert corpus.characters == len(built_in())


@pytest.mark.usefixtures("small_gpt")
def test_a_card_is_measured_anew_on_the_whole_text_and_the_weights_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "one.safetensors"
    text.write_text(built_in()[:9000])
    assert train("chargpt", "--text", text, "--out", out, "--steps", "3", "--quiet") == 0
    made = read(out.read_bytes())
    # The last tenth, block by block, in plain torch.
    ids = torch.tensor([made.labels.index(one) for one in text.read_text()])[8100:]
    parts = [(ids[at : at + 129][:-1], ids[at + 1 : at + 129]) for at in range(0, len(ids) - 1, 128)]
    with torch.no_grad():
        logits = torch.cat([made.module(x[None])[0] for x, _ in parts])
    targets = torch.cat([y for _, y in parts])
    loss = float(torch.nn.functional.cross_entropy(logits, targets))
    accuracy = float((logits.argmax(-1) == targets).float().mean())
    assert (made.card.loss, made.card.accuracy) == (pytest.approx(loss, rel=1e-5), pytest.approx(accuracy, abs=1e-6))

    wrong = replace(made.card, loss=9.0, accuracy=0.123)
    out.write_bytes(write(made.module, made.plan, made.labels, wrong))
    assert main(["measure", str(out), "--text", str(text)]) == 0
    again = read(out.read_bytes())
    assert again.card == made.card
    assert json.loads(out.with_suffix(".json").read_text())["accuracy"] == again.card.accuracy
    assert all(torch.equal(one, again.module.state_dict()[name]) for name, one in made.module.state_dict().items())

    capsys.readouterr()
    assert main(["measure", str(out)]) == 1
    assert "trained on another text" in capsys.readouterr().err
    assert main(["measure", str(text)]) == 1
    assert "not a safetensors file" in capsys.readouterr().err
    assert main(["measure", str(tmp_path / "nowhere")]) == 1


def test_a_recording_s_card_is_that_of_its_last_weights(tmp_path: Path) -> None:
    recording = recorded.load("ladder-head")
    view, out = recording.view, tmp_path / "one.safetensors"
    wrong = (*view.evaluations[:-1], replace(view.evaluations[-1], accuracy=0.4707))
    card = replace(recording.card, loss=9.0)
    out.write_bytes(write_recording(replace(recording, card=card, view=replace(view, evaluations=wrong))))
    assert main(["measure", str(out)]) == 0
    found = read_recording(out)
    assert found.card.loss == pytest.approx(recording.card.loss, abs=1e-6)  # the rounding of another processor
    assert replace(found.card, loss=recording.card.loss) == recording.card
    assert found.view.snapshots == view.snapshots
    assert [one.step for one in found.view.evaluations] == [one.step for one in view.evaluations]
    assert found.view.evaluations[-1].accuracy == pytest.approx(view.evaluations[-1].accuracy, abs=1e-4)


def test_a_training_that_is_stopped_and_resumed_gives_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from attnviz.training.loop import Trainer

    advance, stop_at = Trainer.advance, 3

    def advance_and_stop(self: Trainer) -> float:
        loss = advance(self)
        if self.step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C does
        return loss

    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    assert train("induction", "--out", whole, *QUICK) == 0
    monkeypatch.setattr(Trainer, "advance", advance_and_stop)
    assert train("induction", "--out", parts, *QUICK) == 130
    assert not parts.exists()
    checkpoint = parts.with_suffix(".checkpoint")
    assert f"stopped after 3 of 6 steps; --resume {checkpoint} goes on from there" in capsys.readouterr().err
    monkeypatch.setattr(Trainer, "advance", advance)
    torch.manual_seed(99)
    assert train("induction", "--out", parts, "--resume", checkpoint, "--quiet") == 0
    assert not checkpoint.exists()
    for name, one in weights(whole).items():
        assert torch.equal(one, weights(parts)[name]), name
    assert parts.read_bytes() == whole.read_bytes(), "with the same card: its losses and its command"


def test_ctrl_c_ends_the_command_with_a_checkpoint_and_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attnviz", "train", "induction", "--out", str(tmp_path / "one.safetensors")]
    process = subprocess.Popen(
        [*command, "--every", "5"], cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    checkpoint = tmp_path / "one.checkpoint"
    until = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.strip().splitlines()[-1].startswith("attnviz: stopped after ")
    assert [one.name for one in tmp_path.iterdir()] == ["one.checkpoint"]


TAGGED = "she PRON\nplans VERB\n\nher DET\nplans NOUN\nwork VERB\n\nthe DET\nplans NOUN\nfail VERB\n"
HELD = "her DET\nplans NOUN\n\nzebras NOUN\nwork VERB\n"


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["induction", "--steps", "0"], 2, "steps is 0; it can be 1 to"),
        (["induction", "--learning-rate", "nan"], 2, "learning_rate is nan"),
        (["induction", "--every", "0"], 2, "at least 1"),
        (["induction", "--text", "x.txt"], 2, "learns from no text"),
        (["chargpt", "--text", "missing.txt"], 1, "missing.txt: No such file"),
        (["chargpt", "--text", "short.txt"], 1, "needs at least"),
        (["chargpt", "--text", "binary.txt"], 1, "holds NUL bytes"),
        (["chargpt", "--text", "empty.txt"], 1, "empty"),
        (["chargpt", "--text", "."], 1, "Is a directory"),
        (["induction", "--resume", "short.txt"], 1, "not a checkpoint"),
        (["induction", "--resume", "binary.txt"], 1, "not a checkpoint"),
        (["induction", "--resume", "missing.txt"], 1, "No such file"),
        (["induction", "--out", "there.safetensors"], 1, "already exists; --force overwrites it"),
        (["induction", "--out", "no/folder.safetensors", "--steps", "1"], 1, "No such file"),
        (["tagging", "--train-file", "tagged.txt"], 2, "go together"),
        (["induction", "--train-file", "tagged.txt", "--test-file", "tagged.txt"], 2, "only tagging"),
        (["tagging", "--train-file", "tagged.txt", "--test-file", "no.txt"], 1, "no.txt: No such file"),
        (["tagging", "--train-file", "untagged.txt", "--test-file", "tagged.txt"], 1, "Line 2 of the training file"),
        (["tagging", "--train-file", "tagged.txt", "--test-file", "tags.txt"], 1, "has the tag “Z”"),
    ],
)
def test_what_can_t_be_trained_is_said_in_one_line(
    arguments: list[str],
    code: int,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.txt").write_text("short")
    Path("binary.txt").write_bytes(b"\x80\x02\0" * 500)
    Path("empty.txt").write_text("")
    Path("there.safetensors").write_text("x")
    Path("tagged.txt").write_text(TAGGED)
    Path("untagged.txt").write_text("she PRON\nplans\n")
    Path("tags.txt").write_text("she Z\n")
    assert train(*arguments, "--quiet") == code
    said = capsys.readouterr().err
    assert said.startswith("attnviz: ")
    assert reason in said
    assert said.count("\n") == 1


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from attnviz.trained.making import ModelTraining, training_data_of
    from attnviz.training.series import plan_of

    making = ModelTraining.begin("induction", training_data_of(plan_of("induction"), None), tmp_path / "one.checkpoint")
    making.save()
    assert train("chargpt", "--resume", making.checkpoint, "--out", tmp_path / "x.safetensors") == 1
    assert "another training" in capsys.readouterr().err
    assert train("induction", "--resume", making.checkpoint, "--steps", "3") == 2
    assert "own settings" in capsys.readouterr().err


@pytest.fixture
def tagged(tmp_path: Path) -> list[str | Path]:
    folder = tmp_path / "secret folder"
    folder.mkdir()
    (folder / "a.txt").write_text(TAGGED)
    (folder / "b.txt").write_text(HELD)
    return ["tagging", "--train-file", folder / "a.txt", "--test-file", folder / "b.txt"]


def test_tagging_learns_from_files_and_is_tested_on_the_other_one(
    tagged: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "one.safetensors"
    assert train(*tagged, "--out", out, "--steps", "6", "--every", "2") == 0
    said = capsys.readouterr().out
    assert "b.txt: 2 sentences, 4 words, 25.00 % of them unknown" in said
    assert "baseline 75.00 %" in said  # an unknown word is a VERB, the most frequent tag
    found = read(out.read_bytes())
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["command"] == "python -m attnviz train tagging --train-file a.txt --test-file b.txt --steps 6"
    assert (card["plan"]["subject"], card["plan"]["model"]["block_size"]) == ("tagged", 3)
    assert found.labels[2:] == tuple(sorted({"she", "plans", "her", "work", "the", "fail"}))
    right = []
    for sentence in HELD.split("\n\n"):
        pairs = [line.split() for line in sentence.splitlines()]
        ids = torch.tensor([[found.labels.index(word) if word in found.labels else 1 for word, _ in pairs]])
        answers = [["DET", "NOUN", "PRON", "VERB"][one] for one in found.module(ids)[0].argmax(-1).tolist()]
        right += [answer == tag for answer, (_, tag) in zip(answers, pairs, strict=True)]
    assert card["accuracy"] == pytest.approx(sum(right) / 4)
    assert b"secret" not in out.read_bytes()
    before = out.read_bytes()
    assert main(["measure", str(out), *map(str, tagged[1:])]) == 0
    assert out.read_bytes() == before
    assert main(["measure", str(out)]) == 1
    assert "--train-file and --test-file" in capsys.readouterr().err


def test_a_training_on_files_that_was_stopped_goes_on_as_if_nothing_had_happened(
    tagged: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from attnviz.trained.making import ModelTraining, training_data_of
    from attnviz.training.series import plan_of

    whole, out = tmp_path / "whole.safetensors", tmp_path / "one.safetensors"
    assert train(*tagged, "--out", whole, *QUICK) == 0
    plan, files = plan_of("tagging"), (Path(tagged[2]), Path(tagged[4]))
    training_data = training_data_of(replace(plan, training=replace(plan.training, steps=6)), None, files)
    making = ModelTraining.begin("tagging", training_data, tmp_path / "one.checkpoint")
    assert not making.run(stops=lambda: making.trainer.step == 3)
    resume = ["--resume", making.checkpoint, "--out", out, "--quiet"]
    assert train("tagging", *resume) == 2
    assert "--train-file and --test-file name them" in capsys.readouterr().err
    assert train("tagging", *tagged[3:], "--train-file", files[1], *resume) == 1  # another training file
    assert capsys.readouterr().err.count("\n") == 1
    assert train(*tagged, *resume) == 0
    assert weights(out).keys() == weights(whole).keys()
    for name, one in weights(whole).items():
        assert torch.equal(weights(out)[name], one), name


def test_a_loss_that_diverges_ends_it_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from attnviz.training import loop

    loss_of = loop.loss_of
    monkeypatch.setattr(loop, "loss_of", lambda model, batch: loss_of(model, batch) * torch.inf)
    out = tmp_path / "one.safetensors"
    assert train("induction", "--out", out, *QUICK) == 1
    assert "the loss at step 0 is inf" in capsys.readouterr().err
    assert not out.exists()
