"""The exported script of a training: run on its own, it prints the losses of the training itself.

It runs in a process in which `attnviz` can't be imported.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from attnviz.export.code.training import NoTrainingCodeError, training_script
from attnviz.export.code.training.models import attentions
from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.training.evaluation import Evaluator
from attnviz.training.loop import Trainer
from attnviz.training.plan import BIGRAM_BLOCK, Plan, build, subject_of
from attnviz.training.series import BLOCK, SERIES
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Task
from attnviz.training.text.corpus import built_in
from attnviz.training.text.cut import Cut
from attnviz.training.text.subject import Documents, Text, as_read, validation_loss
from tests.scripts import run_alone

CORPUS = built_in()[:4000] + 'é 👩‍👧 """ \\ \t end\r\n'
V = len(set(as_read(CORPUS)))
SETTINGS = TrainingSettings(steps=12, batch=4, seed=3)
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


ALONE = """
import runpy, sys
names, sys.argv[1:] = sys.argv[1:], []
for name in names:
    print("-----")
    runpy.run_path(name)
"""


def run(scripts: Iterable[str], folder: Path, corpus: str = CORPUS) -> list[str]:
    """Return what each script prints."""
    names = []
    for number, script in enumerate(scripts):
        names.append(f"script_{number}.py")
        (folder / names[-1]).write_text(script, encoding="utf-8")
    (folder / "corpus.txt").write_text(corpus, newline="")
    done = run_alone(ALONE, *names, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("-----\n")[1:]


def losses_in(printed: str) -> dict[int, str]:
    """Return the losses that a script prints beside those of the app, by step."""
    return {int(step): loss for step, loss in re.findall(r"step (\d+): loss ([\d.]+), in the app", printed)}


def plans_of_texts() -> list[Plan]:
    """Return the plans whose scripts are run: each kind of model, and each cut of a text."""
    cuts: tuple[Cut, ...] = ("chunks", "plain")
    return [
        *(Plan(TEXT, config, settings) for config, settings in CASES),
        *(Plan(TEXT, WHOLE, replace(SETTINGS, batch=16), cut) for cut in cuts),
    ]


@dataclass(frozen=True)
class Ran:
    """A training here, and what its script has printed."""

    trainer: Trainer
    text: Text | Documents
    losses: dict[int, float]
    printed: str


@pytest.fixture(scope="module")
def of_texts(tmp_path_factory: pytest.TempPathFactory) -> list[Ran]:
    """Train each plan here, and run all scripts in one process, which imports torch once."""
    trained, scripts = [], []
    for plan in plans_of_texts():
        text = subject_of(plan, CORPUS)
        trainer = Trainer(build(plan.model, plan.training.seed), text.batch, plan.training)
        losses = {step: trainer.advance() for step in range(plan.training.steps)}
        digest = hashlib.sha256(as_read(CORPUS).encode()).hexdigest()
        scripts.append(training_script(plan, sha256=digest, losses=losses))
        trained.append((trainer, text, losses))
    printed = run(scripts, tmp_path_factory.mktemp("texts"))
    return [Ran(*one, said) for one, said in zip(trained, printed, strict=True)]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_script_trains_to_the_same_losses(number: int, of_texts: list[Ran]) -> None:
    ran, (config, _) = of_texts[number], CASES[number]
    assert isinstance(ran.text, Text)
    assert {step: float(loss) for step, loss in losses_in(ran.printed).items()} == pytest.approx(ran.losses, abs=2e-5)
    assert f"{sum(one.numel() for one in ran.trainer.model.parameters())} parameters" in ran.printed
    whole = float(ran.printed.split("validation loss ")[1])
    expected = validation_loss(ran.trainer.model, ran.text.validation, block_of(config))
    assert whole == pytest.approx(expected, abs=2e-5)
    assert "not the text" not in ran.printed


@pytest.mark.parametrize("number", [-2, -1])
def test_the_script_of_a_text_that_is_cut_line_by_line_trains_to_the_same_losses(
    number: int, of_texts: list[Ran]
) -> None:
    ran = of_texts[number]
    assert isinstance(ran.text, Documents)
    assert losses_in(ran.printed) == {step: f"{loss:.6f}" for step, loss in ran.losses.items()}
    whole = ran.text.whole(ran.trainer.model).loss
    assert float(ran.printed.split("validation loss ")[1]) == pytest.approx(whole, abs=2e-6)


def test_a_file_with_other_line_endings_is_the_same_text_and_another_text_is_noticed(tmp_path: Path) -> None:
    as_unix, as_windows = "one two\nthree\n" * 20, "\ufeff" + "one two\r\nthree\r\n" * 20
    assert Text(as_windows[1:], 8).labels == Text(as_unix, 8).labels == tuple(sorted(set(as_unix)))
    assert as_read("a\r\nb\rc\n") == "a\nb\nc\n"
    plan = Plan(TEXT, BigramConfig(len(set(as_unix))), replace(SETTINGS, steps=1))
    digests = hashlib.sha256(as_unix.encode()).hexdigest(), "0" * 64
    same, other = run([training_script(plan, sha256=one, losses={}) for one in digests], tmp_path, as_windows)
    assert "not the text" not in same
    assert "not the text" in other


def block_of(config: ModelConfig) -> int:
    return getattr(config, "block_size", BIGRAM_BLOCK)


def test_every_stage_has_a_script_and_its_size() -> None:
    for stage in SERIES:
        plan = stage.plan(V)
        compile(training_script(plan, sha256="", losses={}), "script", "exec")
        assert plan.subject == TEXT
        assert build(plan.model, 0)(Text(CORPUS, BLOCK).held_out().ids[:1]).shape == (1, BLOCK, V)


FEW = 4
"""Steps"""


def plans_of(task: Task) -> list[Plan]:
    """Return the plans of a task's model and of its control: with a seed, dropout, and weights that decay."""
    settings = replace(task.training, steps=FEW, batch=16, seed=5, weight_decay=0.3, warm_up=2, decay="cosine")
    return [Plan(task.name, replace(one, dropout=0.1), settings) for one in (task.model, task.control_model)]


@pytest.fixture(scope="module")
def of_tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Trainer, dict[int, float], str]]:
    """Return a few steps of each task and of its control: the training, its losses, and what its script prints."""
    trained = {}
    for task in TASKS.values():
        for plan, which in zip(plans_of(task), ("", ", control"), strict=True):
            trainer = Trainer(build(plan.model, plan.training.seed), task.batch, plan.training)
            losses = {step: trainer.advance() for step in range(FEW)}
            trained[task.name + which] = trainer, losses, training_script(plan, losses=losses)
    printed = run((script for _, _, script in trained.values()), tmp_path_factory.mktemp("scripts"))
    return {name: (*one[:2], text) for (name, one), text in zip(trained.items(), printed, strict=True)}


@pytest.mark.parametrize("which", ["", ", control"])
@pytest.mark.parametrize("name", TASKS)
def test_the_script_of_a_task_prints_its_losses_to_the_last_digit(
    name: str, which: str, of_tasks: dict[str, tuple[Trainer, dict[int, float], str]]
) -> None:
    trainer, losses, printed = of_tasks[name + which]
    assert losses_in(printed) == {step: f"{loss:.6f}" for step, loss in losses.items()}
    assert f"{sum(one.numel() for one in trainer.model.parameters())} parameters" in printed


@pytest.mark.parametrize("which", ["", ", control"])
@pytest.mark.parametrize("name", TASKS)
def test_the_script_of_a_task_prints_its_accuracy_and_its_pattern(
    name: str, which: str, of_tasks: dict[str, tuple[Trainer, dict[int, float], str]]
) -> None:
    task, (trainer, _, printed) = TASKS[name], of_tasks[name + which]
    told = Evaluator(task, trainer.settings.batch).evaluate(trainer.model, whole=True)
    [held] = re.findall(r"held out: loss ([\d.]+), accuracy ([\d.]+)", printed)
    assert float(held[0]) == pytest.approx(told["loss"], abs=2e-6)
    assert float(held[1]) == pytest.approx(told["accuracy"], abs=1e-3)
    for pattern in task.patterns:
        best = max((one for _, _, heads in told["scores"][pattern.name] for one in heads), default=None)
        found = re.findall(rf"^{re.escape(pattern.title)}: ([\d.]+) of 1 in layer", printed, re.MULTILINE)
        assert [float(one) for one in found] == ([] if best is None else [pytest.approx(best, abs=1e-4)])


@pytest.mark.parametrize("name", TASKS)
def test_what_a_constant_means_follows_it_as_where_the_task_is_defined(name: str) -> None:
    task = TASKS[name]
    script = training_script(plans_of(task)[0], losses={}).splitlines()
    defined = [inspect.getsource(sys.modules[module]) for module in (Task.__module__, type(task).__module__)]
    explained = [
        pair for source in defined for pair in re.findall(r'^([A-Z_]+ = .*)\n("""[^"\n]*.*""")$', source, re.M)
    ]
    copied = [pair for pair in explained if pair[0] in script]
    assert copied
    assert [script[script.index(constant) + 1] for constant, _ in copied] == [meaning for _, meaning in copied]


def test_losses_are_compared_to_the_last_digit_in_the_order_of_steps() -> None:
    script = training_script(Plan(TEXT, BigramConfig(V), SETTINGS), sha256="", losses={7: 1.23456789, 0: 3.5})
    assert "SHOWN = {0: 3.5, 7: 1.234568}" in script


def test_the_rate_falls_to_the_part_that_the_settings_say() -> None:
    for decay, warm_up, expected in (
        ("cosine", 0, {0: 1, 50: 0.6, 100: 0.2}), ("none", 0, {0: 1, 100: 1}), ("none", 4, {0: 0.25, 3: 1, 100: 1}),
        ("cosine", 4, {0: 0.25, 100: 0.2}),
    ):  # fmt: skip
        settings = replace(SETTINGS, steps=100, decay=decay, warm_up=warm_up, last_rate=0.2)
        script = training_script(Plan(TEXT, BigramConfig(V), settings), sha256="", losses={})
        space: dict[str, Any] = {"math": math, "STEPS": 100}
        exec(script[script.index("def rate(step)") : script.index("SHOWN = ")], space)
        assert {step: space["rate"](step) for step in expected} == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("cut", "numbers"), [("chunks", "8, 3, True"), ("plain", "1, 0, False")])
def test_a_sequence_of_a_line_that_is_cut_plainly_has_no_end(cut: Cut, numbers: str) -> None:
    script = training_script(Plan(TEXT, WHOLE, SETTINGS, cut), sha256="", losses={})
    assert f"LEAST, OVERLAP, END = {numbers}  #" in script
    assert "the longest sequence of a line" in script


def test_a_decoder_whose_outputs_are_all_characters_has_a_script() -> None:
    outputs = training_script(Plan(TEXT, replace(WHOLE, outputs=V), SETTINGS), sha256="", losses={})
    compile(outputs, "script", "exec")
    assert f"nn.Linear(C, {V})" in outputs


def test_a_pattern_is_looked_for_in_attention_of_its_kind_alone() -> None:
    decoder, encoder = (replace(WHOLE, architecture=architecture) for architecture in ("decoder", "encoder"))
    both = replace(WHOLE, architecture="both")
    assert (
        attentions(decoder, "encoder") == attentions(encoder, "cross") == attentions(BigramConfig(V), "decoder") == ""
    )
    assert (
        attentions(decoder, "decoder")
        == attentions(encoder, "encoder")
        == "[block.attention for block in model.blocks]"
    )
    assert attentions(both, "cross") == "[block.cross_attention for block in model.decoder]"
    assert attentions(both, "decoder") == "[block.attention for block in model.decoder]"


REFUSED = [
    Plan("induction", BigramConfig(26), SETTINGS),
    Plan("induction", replace(TASKS["induction"].model, vocabulary=5), SETTINGS),
    Plan("nothing", TASKS["induction"].model, SETTINGS),
    Plan(TEXT, replace(WHOLE, architecture="encoder"), SETTINGS),
    Plan(TEXT, replace(WHOLE, outputs=3), SETTINGS),
]


@pytest.mark.parametrize("plan", REFUSED)
def test_what_has_no_script_is_refused_in_a_sentence(plan: Plan) -> None:
    with pytest.raises(NoTrainingCodeError, match=r"^[A-Z].*\.$"):
        training_script(plan, sha256="", losses={})
