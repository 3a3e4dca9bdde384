"""Each task is learned in seconds by the head that its pattern names, and not by its control; what users type is read
and answered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.tokens import NO_ID
from attnviz.toy.language.config import BigramConfig
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Kind, Place
from attnviz.trained import load as shipped
from attnviz.training.evaluation import Evaluator, Head, best_head, evaluate, head_of, weights_of, without_heads
from attnviz.training.jobs.view import Evaluation, View
from attnviz.training.loop import Trainer, inputs_of
from attnviz.training.plan import Plan, build
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Task

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
FAST = {
    "reverse": ({"steps": 100, "learning_rate": 1e-2}, 0.95, 0.3),
    "sort": ({"steps": 150, "learning_rate": 3e-3}, 0.55, 0.1),
    "recall": ({"steps": 300, "learning_rate": 3e-3, "batch": 32}, 0.9, 0.5),
    "counting": ({"steps": 200, "learning_rate": 1e-2}, 0.8, 0.6),
    "depth": ({"steps": 125, "learning_rate": 1e-2}, 0.9, 0.5),
    "numbers": ({"steps": 200, "learning_rate": 5e-3}, 0.9, 0.05),
    "tagging": ({"steps": 150, "learning_rate": 1e-2}, 0.85, 0.5),
    "stories": ({"steps": 100, "batch": 16}, 0.49, 0.42),
}
"""Settings that are faster than those to watch; the accuracy that the model reaches, and the control does not"""
PATTERNS = {
    "reverse": {"opposite": (0, 0.85)},
    "sort": {"next": (1, 0.4)},
    "recall": {"key": (0, 0.35), "value": (1, 0.8)},
    "counting": {"same": (0, 0.4)},
    "depth": {"even": (0, 0.9)},
    "numbers": {"aligned": (0, 0.9), "weight": (0, 0.85)},
    "tagging": {"before": (0, 0.25), "after": (0, 0.4)},
    "stories": {"next": (3, 0.85), "refers": (2, 0.65)},
}
"""The layer whose head shows a pattern most, and how much at least"""


@cache
def trained(name: str, *, control: bool = False) -> TokenModel:
    task = TASKS[name]
    model = build(task.control_model if control else task.model, 0)
    trainer = Trainer(model, task.batch, replace(task.training, **FAST[name][0]))  # type: ignore[arg-type]
    for _ in range(trainer.settings.steps):
        trainer.advance()
    assert isinstance(model, TokenModel)
    return model.eval()


def accuracy(model: TokenModel, task: Task) -> float:
    held_out = task.held_out()
    with torch.no_grad():
        return task.accuracy(model.logits(*inputs_of(model, held_out)), held_out)


@pytest.mark.parametrize("name", FAST)
def test_a_task_is_learned_and_its_control_fails(name: str) -> None:
    _, least, most = FAST[name]
    assert accuracy(trained(name), TASKS[name]) > least
    assert accuracy(trained(name, control=True), TASKS[name]) < most


@pytest.mark.parametrize("name", PATTERNS)
def test_a_head_shows_the_pattern(name: str) -> None:
    """Of stories the heads that look back form after three times as many steps: here in the model that ships."""
    task, model = TASKS[name], shipped("stories").module if name == "stories" else trained(name)
    held_out = task.held_out()
    assert isinstance(model, TokenModel)
    weights = weights_of(model, held_out)
    for pattern in task.patterns:
        layer, least = PATTERNS[name][pattern.name]
        found = best_head(weights, held_out, pattern)
        assert found is not None
        assert (found.kind, found.layer) == (pattern.kind, layer)
        assert least < found.score <= 1


def test_two_layers_add_tens_and_one_does_not() -> None:
    """After 130 steps the two layers have found the digits of both places, one layer only those of the ones."""
    task, found = TASKS["addition"], []
    for config in (task.model, task.control_model):
        model = build(config, 0)
        trainer = Trainer(model, task.batch, task.training)
        for _ in range(130):
            trainer.advance()
        held_out = task.held_out()
        assert isinstance(model, TokenModel)
        head = best_head(weights_of(model.eval(), held_out), held_out, task.patterns[0])
        assert head is not None
        found.append(head.score)
    assert found[0] > 0.75
    assert found[1] < 0.65


@pytest.mark.parametrize(("name", "pattern"), [("reverse", "opposite"), ("recall", "value"), ("tagging", "after")])
def test_without_its_head_a_model_fails(name: str, pattern: str) -> None:
    task, model = TASKS[name], trained(name)
    held_out = task.held_out()
    shown = next(one for one in task.patterns if one.name == pattern)
    found = best_head(weights_of(model, held_out), held_out, shown)
    assert found is not None
    with without_heads(model, [(Place(found.kind, found.layer), found.head)]):
        less = accuracy(model, task)
    assert less < accuracy(model, task) - 0.3


ANSWERS = {
    "reverse": {"stressed": "desserts", "Ab c": "cba", "ab9c": "cba"},
    "recall": {"a3f7k2a": "3", "t1o4k9e2n8k": "9", "a3,f7 f": "7"},
    "depth": {"(())": "1 2 1 0", "f(x(y))": "0 1 1 2 2 1 0"},
    "numbers": {"342": "three hundred forty two", "17": "seventeen", "8!": "eight"},
    "tagging": {
        "She plans walks": "pron verb noun stop",
        "the teacher answers her late calls.": "det noun verb det adj noun stop",
    },
}
"""Texts and what is right: known examples, none of the project's own making"""


@pytest.mark.parametrize("name", ANSWERS)
def test_a_trained_model_answers_what_a_user_types(name: str) -> None:
    task, model = TASKS[name], trained(name)
    assert {text: task.answer(model, text) for text in ANSWERS[name]} == ANSWERS[name]


class Scripted:
    """A model that says what it is told to, one token after each question."""

    def __init__(self, task: Task, words: Sequence[str]) -> None:
        self.task, self.words, self.asked = task, words, [""]

    def logits(self, ids: torch.Tensor, source: torch.Tensor | None = None) -> torch.Tensor:
        del source
        self.asked.append("".join(self.task.labels[one] for one in ids[0].tolist()))
        logits = torch.zeros(*ids.shape, len(self.task.outputs))
        said = self.words[(len(self.asked) - 2) % len(self.words)]
        logits[0, -1, self.task.outputs.index(said)] = 1
        return logits


@pytest.mark.parametrize(
    ("name", "text", "words", "answer", "asked"),
    [
        ("addition", "47+85", "231", "132", ["47+85=", "47+85=2", "47+85=23"]),
        ("addition", " 9 + 1 = 11", "010", "10", ["09+01=", "09+01=0", "09+01=01"]),
        ("addition", "0+0", "000", "0", ["00+00=", "00+00=0", "00+00=00"]),
        ("modular", "2 + 7", ["9"], "9", ["27="]),
        ("modular", "20+15 = 4", ["4"], "4", ["2015="]),
        ("sort", "302", "023", "023", ["302·····>", "302·····>0", "302·····>02"]),
        ("sort", "3, 0x2>44", "023", "023", ["302·····>", "302·····>0", "302·····>02"]),
        ("induction", "ab" * 15 + "a", "ba", "ba", ["ab" * 15 + "a", "ab" * 16]),
    ],
)
def test_an_answer_is_written_token_by_token(
    name: str, text: str, words: Sequence[str], answer: str, asked: list[str]
) -> None:
    model = Scripted(TASKS[name], words)
    assert TASKS[name].answer(model, text) == answer
    assert model.asked[1:] == asked


def test_a_control_without_an_encoder_answers_too() -> None:
    task = TASKS["numbers"]
    assert task.answer(trained("numbers", control=True), "342") != "three hundred forty two"


@pytest.mark.parametrize("text", ["47", "4+", "+", "123+4", "4+5+6", "٤+٥", "4-5", "47+85=x\n"])
def test_what_is_no_sum_has_no_answer(text: str) -> None:
    task = TASKS["addition"]
    is_sum = text == "47+85=x\n"
    assert bool(task.answer(Scripted(task, "1"), text)) == is_sum


READ = {
    ("reverse", "Ab c"): ("abc" + "·" * 13, "abc", 0),
    ("reverse", "x" * 20): ("x" * 16, "x" * 16, 4),
    ("sort", "90210"): ("90210···>0012", "90210", 0),
    ("sort", "1234567890"): ("12345678>1234567", "12345678", 2),
    ("recall", "A3 f7"): ("a3f7", "a3f7", 0),
    ("depth", "f(1)"): ("x(x)", "x(x)", 0),
    ("addition", "7+ 85"): ("07+85=29", "7+85", 0),
    ("addition", "7+8=15"): ("07+08=51", "7+8=", 0),
    ("numbers", "3421"): ("342", "342", 1),
    ("modular", "20 + 15"): ("2015=", "2015", 0),
    ("modular", "7+8=15"): ("78=", "78=", 1),
    ("induction", "ab ab"): ("abab", "abab", 0),
}


@pytest.mark.parametrize(("name", "text"), READ)
def test_a_text_is_read(name: str, text: str) -> None:
    tokens, _ = TASKS[name].read(text)
    own = "".join(piece for piece, added in zip(tokens.pieces, tokens.special, strict=True) if not added)
    assert ("".join(tokens.pieces), own, tokens.dropped) == READ[name, text]
    assert [TASKS[name].labels[one] for one in tokens.ids] == list(tokens.pieces)


@pytest.mark.parametrize(
    ("text", "right"),
    [("20 + 15", "4"), ("15+15", "30"), ("30 + 1 =", "0"), ("30+30=?", "29"), ("31 + 1", ""), ("4", ""), ("1+2+3", "")],
)
def test_what_is_right_modulo_31(text: str, right: str) -> None:
    assert TASKS["modular"].solution(text) == right


def test_what_a_decoder_reads_are_the_right_words() -> None:
    _, words = TASKS["numbers"].read("215")
    assert words is not None
    assert words.pieces == ("<start>", "two", "hundred", "fifteen")
    assert all(words.special)


HOSTILE = (
    "", " \n\t", "\0", "\ud800", "é👍🏽‍", "<script>alert(1)</script>", "١٢+٣", "İİ", "·····", ">>>", "=", "+",
    "a" * 9999, "1" * 9999, "(" * 9999, "her " * 999, "<fill> <start>", "_", "12 + 7 = 5", "\u202e123",
)  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_any_text_is_read_and_answered(name: str) -> None:
    task = TASKS[name]
    model = build(task.model, 0).eval()
    assert isinstance(model, TokenModel)
    for text in (*HOSTILE, *task.examples):
        for tokens in task.read(text):
            if tokens is None:
                continue
            assert len(tokens) <= model.block_size
            assert all((0 <= one < len(task.labels)) != (one == NO_ID) for one in tokens.ids)
            assert tokens.unknown == tuple(one == NO_ID for one in tokens.ids)
            assert all(tokens.text[start:end] for start, end in tokens.offsets if end > start)
        answer = task.answer(model, text)
        if not text.strip():
            assert (len(task.read(text)[0]), answer) == (0, "")
    for text in task.examples:
        assert not any(task.read(text)[0].unknown)
        assert task.read(text)[0].dropped == 0


CONTROLS: dict[str, dict[str, object]] = {
    "induction": {"layers": 1}, "reverse": {"architecture": "decoder"}, "sort": {"layers": 0}, "recall": {"layers": 1},
    "counting": {"layers": 0}, "depth": {"layers": 0}, "addition": {"layers": 1}, "modular": {"layers": 0},
    "numbers": {"architecture": "decoder", "padding": None}, "tagging": {"layers": 0},
    "stories": {"layers": 0},
}  # fmt: skip
"""All in which a control differs from its model: see each task's `control`"""
ROW = re.compile(
    r"^\| `(\w+)` \| (decoder|encoder|encoder and decoder), (\d) layers?, (\d) heads?, width (\d+) \|", re.M
)
SHAPES = {name: shape for name, *shape in ROW.findall(DOCUMENT)}


@pytest.mark.parametrize("name", TASKS)
def test_a_model_is_as_the_documents_say_and_its_control_differs_in_one_thing(name: str) -> None:
    architecture, layers, heads, width = SHAPES[name]
    task = TASKS[name]
    model, control = task.model, task.control_model
    assert model.architecture == {"encoder and decoder": "both"}.get(architecture, architecture)
    assert (model.layers, model.heads, model.width) == (int(layers), int(heads), int(width))
    assert control == replace(model, **CONTROLS[name])
    for shape in (model, control):
        assert shape.vocabulary == len(task.labels) == len(set(task.labels))
        assert (shape.outputs or shape.vocabulary) == len(task.outputs)
        assert shape.block_size == task.held_out().ids.shape[1]


def plan_of(task: str, **shape: Any) -> Plan:
    made = TASKS[task]
    return Plan(task, replace(made.model, **shape), made.training)


def measured(step: int, scores: dict[str, dict[Place, tuple[float, ...]]]) -> Evaluation:
    return Evaluation(step, 1.0, 0.5, scores)


BOTH = plan_of("numbers", layers=3, heads=4)
FIRST = measured(0, {"weight": {Place("cross", 0): (0.9, 0.1, 0.1, 0.1)}})
LAST = measured(9, {
    "aligned": {Place("cross", 0): (0.1, 0.1, 0.1, 0.9)},
    "weight": {Place("cross", 0): (0.1, 0.2, 0.1, 0.1), Place("cross", 1): (0.1, 0.1, 0.7, 0.1)},
})  # fmt: skip
SEEN = View("running", 10, evaluations=(FIRST, LAST))


@pytest.mark.parametrize(
    ("watch", "kind", "layer", "head"),
    [("encoder.2.3", "encoder", 2, 3), ("decoder.0.1", "decoder", 0, 1), ("cross.2.0", "cross", 2, 0),
     ("cross.2.4", "cross", 1, 2), ("cross.3.0", "cross", 1, 2), ("", "cross", 1, 2)],
)  # fmt: skip
def test_the_watched_head_is_shown_or_the_best_of_the_last_pattern_now(
    watch: str, kind: Kind, layer: int, head: int
) -> None:
    assert head_of(BOTH, SEEN, watch) == Head(Place(kind, layer), head)


@pytest.mark.parametrize(
    ("plan", "kind"),
    [(BOTH, "cross"), (plan_of("tagging", layers=3), "encoder"), (plan_of("induction", layers=3), "decoder"),
     (plan_of("numbers", layers=3, architecture="decoder"), "decoder"),
     (plan_of("reverse", layers=3, architecture="decoder"), "decoder"),
     (plan_of("reverse", layers=3, architecture="both"), "encoder")],
)  # fmt: skip
def test_before_any_evaluation_it_is_the_first_head_of_the_last_layer(plan: Plan, kind: Kind) -> None:
    assert head_of(plan, View("running", 10), "") == Head(Place(kind, 2), 0)
    assert head_of(plan, View("running", 10), "cross.0.9") == Head(Place(kind, 2), 0)


def test_a_model_without_attention_has_no_head() -> None:
    assert head_of(Plan("induction", BigramConfig(5), TASKS["induction"].training), SEEN, "") is None
    assert head_of(plan_of("induction", layers=0), SEEN, "decoder.0.0") is None


class Memorised(nn.Module):
    """Answers the training sums right, and all others wrong."""

    def __init__(self) -> None:
        super().__init__()
        seen = TASKS["modular"].trained_on()
        assert seen is not None
        self.sums = {(a, b) for a, b, _ in seen.ids.tolist()}

    def forward(self, ids: Tensor) -> Tensor:
        answers = torch.tensor([(a + b + ((a, b) not in self.sums)) % 31 for a, b, _ in ids.tolist()])
        return 2.0 * functional.one_hot(answers, 31)[:, None].expand(-1, 3, -1)


def test_a_task_learned_by_heart_is_right_on_its_training_alone() -> None:
    task, model = TASKS["modular"], Memorised()
    for whole in (False, True):
        found = Evaluator(task, 8).evaluate(model, whole=whole)
        assert (found["accuracy"], found["trained"], found["scores"]) == (0, 1, {})
        assert found["loss"] == pytest.approx(float(torch.logsumexp(torch.tensor([2.0] + [0.0] * 30), 0)), rel=1e-5)


@pytest.mark.parametrize("is_training", [True, False])
def test_an_evaluation_leaves_the_model_in_its_mode(is_training: bool) -> None:
    model = Memorised().train(is_training)
    evaluate(model, TASKS["modular"])
    assert model.training is is_training
