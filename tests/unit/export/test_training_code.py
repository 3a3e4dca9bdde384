"""The exported script of a training: run on its own, it prints the losses of the training itself."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.export.code.training import NoTrainingCodeError, training_script
from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.training.ladder import BLOCK, LADDER
from attnviz.training.loop import Trainer
from attnviz.training.plan import TEXT, Plan, build
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text, validation_loss

CORPUS = built_in()[:4000] + 'é 👩‍👧 """ \\ \t end\r\n'
V = len(set(CORPUS))
SETTINGS = TrainingSettings(steps=25, batch=4, seed=3)
ATTENTION_ALONE = TokenConfig(V, 8, layers=1, heads=2, width=8, feed_forward=0, residual=False, norm=False)
WHOLE = TokenConfig(V, 16, layers=2, heads=2, width=8, dropout=0.2)
CASES: tuple[tuple[ModelConfig, TrainingSettings], ...] = (
    (BigramConfig(V), SETTINGS),
    (GRUConfig(V, 8, 16, 2), SETTINGS),
    (ATTENTION_ALONE, replace(SETTINGS, optimiser="sgd", clip=0)),
    (WHOLE, replace(SETTINGS, decay="cosine", weight_decay=0.1, warm_up=0)),
    (WHOLE, replace(SETTINGS, optimiser="muon", precision="bfloat16")),
    (TokenConfig(V, 8, layers=1, heads=2, width=8, feed_forward=12, activation="gelu_tanh", bias=False), SETTINGS),
)


def run(script: str, folder: Path, corpus: str = CORPUS) -> str:
    (folder / "script.py").write_text(script)
    (folder / "corpus.txt").write_text(corpus, newline="")
    done = subprocess.run(
        [sys.executable, "script.py"], check=False, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("config", "settings"), CASES)
def test_the_script_trains_to_the_same_losses(config: ModelConfig, settings: TrainingSettings, tmp_path: Path) -> None:
    block = getattr(config, "block_size", BLOCK)
    text = Text(CORPUS, block)
    trainer = Trainer(build(config, settings.seed), text.batch, settings)
    losses = {step: trainer.advance() for step in range(settings.steps)}
    digest = hashlib.sha256(CORPUS.encode()).hexdigest()
    printed = run(training_script(Plan(TEXT, config, settings), sha256=digest, losses=losses), tmp_path)
    found = {int(step): float(loss) for step, loss in re.findall(r"step (\d+): loss ([\d.]+), in the app", printed)}
    assert found == pytest.approx(losses, abs=2e-5)
    assert f"{sum(one.numel() for one in trainer.model.parameters())} parameters" in printed
    whole = float(printed.split("validation loss ")[1])
    assert whole == pytest.approx(validation_loss(trainer.model, text.validation, block), abs=2e-5)
    assert "not the text" not in printed


def test_another_text_is_noticed(tmp_path: Path) -> None:
    plan = Plan(TEXT, BigramConfig(V), SETTINGS)
    assert "not the text" in run(training_script(plan, sha256="0" * 64, losses={}), tmp_path)


def test_every_rung_has_a_script_and_its_size() -> None:
    for rung in LADDER:
        plan = rung.plan(V)
        compile(training_script(plan, sha256="", losses={}), "script", "exec")
        assert plan.subject == TEXT
        assert build(plan.model, 0)(Text(CORPUS, BLOCK).held_out().ids[:1]).shape == (1, BLOCK, V)


@pytest.mark.parametrize(
    "plan",
    [
        Plan("induction", TASKS["induction"].model, SETTINGS),
        Plan(TEXT, replace(WHOLE, architecture="encoder"), SETTINGS),
        Plan(TEXT, replace(WHOLE, outputs=3), SETTINGS),
    ],
)
def test_what_has_no_script_is_refused_in_a_sentence(plan: Plan) -> None:
    with pytest.raises(NoTrainingCodeError, match="There is a script for"):
        training_script(plan, sha256="", losses={})
