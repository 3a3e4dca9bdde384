"""The model series trains as it says, and models of a seed have the weights that torch gives, whoever else draws."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.toy.language.config import AnyConfig, BigramConfig, GRUConfig, LinearConfig, TokenConfig
from attnviz.toy.language.model import BigramModel, GRUModel, TokenModel
from attnviz.trained import recorded
from attnviz.training.loop import Trainer
from attnviz.training.plan import LabelledVectors, Limits, Plan, TooLargeError, build, parameters_of, subject_of
from attnviz.training.series import BLOCK, SERIES, Stage
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text, validation_loss

TEXT = Text(built_in(), BLOCK)
VOCABULARY = len(TEXT.labels)
EXPECTED_AT = (200, 500, 1000, 2000)
"""The steps for which a stage gives its expected loss"""


def test_the_counted_table_has_the_expected_loss() -> None:
    counted = BigramModel.by_counting(TEXT.train, VOCABULARY, smoothing=1)
    assert round(validation_loss(counted, TEXT.validation, BLOCK), 2) == 1.96


@pytest.mark.parametrize("stage", SERIES[:4], ids=lambda stage: stage.name)
def test_a_stage_learns_as_it_says(stage: Stage) -> None:
    plan = stage.plan(VOCABULARY)
    trainer = Trainer(build(plan.model, plan.training.seed), TEXT.batch, plan.training)
    for _ in range(200):
        trainer.advance()
    assert validation_loss(trainer.model, TEXT.validation, BLOCK) == pytest.approx(stage.expected[200], abs=0.02)


def test_each_stage_says_what_to_expect_and_is_better_than_the_one_below() -> None:
    """The recorded trainings know them: a part of the validation text at each step, all of it at the last."""
    for stage in SERIES:
        assert tuple(stage.expected) == EXPECTED_AT
        recording = recorded.of_stage(stage.name)
        assert recording is not None
        evaluations = recording.view.evaluations
        for step, loss in stage.expected.items():
            nearest = min(evaluations, key=lambda one: abs(one.step - step))
            assert loss == pytest.approx(nearest.loss, rel=0.16), (stage.name, step)
        assert stage.expected[EXPECTED_AT[-1]] == pytest.approx(evaluations[-1].loss, abs=0.006), stage.name
    last = [stage.expected[EXPECTED_AT[-1]] for stage in SERIES if stage.name != "gru"]
    assert last == sorted(last, reverse=True)
    assert len({stage.name for stage in SERIES}) == len(SERIES)


CONFIG = TokenConfig(26, 32, layers=2, heads=2, width=32)


@pytest.mark.parametrize("config", [CONFIG, GRUConfig(5, 8), BigramConfig(5)])
def test_weights_are_those_of_torchs_seed(config: TokenConfig | GRUConfig | BigramConfig) -> None:
    built = build(config, 7)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        if isinstance(config, TokenConfig):
            plain: torch.nn.Module = TokenModel(config)
        elif isinstance(config, GRUConfig):
            plain = GRUModel(config.vocabulary, width=config.width, layers=config.layers)
        else:
            plain = BigramModel(config.vocabulary)
    expected = plain.state_dict()
    assert built.state_dict().keys() == expected.keys()
    assert all(torch.equal(value, expected[name]) for name, value in built.state_dict().items())


def test_what_other_threads_draw_changes_nothing() -> None:
    expected, ended = build(CONFIG, 0).state_dict(), threading.Event()

    def draw() -> None:
        while not ended.is_set():
            torch.rand(3)

    others = [threading.Thread(target=draw) for _ in range(3)]
    for other in others:
        other.start()
    try:
        for _ in range(20):
            found = build(CONFIG, 0).state_dict()
            assert all(torch.equal(value, expected[name]) for name, value in found.items())
    finally:
        ended.set()
        for other in others:
            other.join()


def test_the_generator_of_all_is_left_as_it_is() -> None:
    before = torch.random.get_rng_state()
    build(CONFIG, 3)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_learning_rate_rises_evenly_and_falls_as_torchs_cosine() -> None:
    rises = TrainingSettings(steps=10, learning_rate=0.8, warm_up=4)
    assert [rises.rate_at(step) for step in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])
    assert TrainingSettings(learning_rate=0.8, warm_up=0).rate_at(0) == 0.8
    falls = TrainingSettings(steps=10, learning_rate=0.8, warm_up=0, decay="cosine", last_rate=0.25)
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.8)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=10, eta_min=0.2)
    for step in range(11):
        assert falls.rate_at(step) == pytest.approx(optimiser.param_groups[0]["lr"]), step
        optimiser.step()
        scheduler.step()
    assert falls.rate_at(99) == pytest.approx(0.2)
    both = replace(falls, warm_up=2)
    assert both.rate_at(0) == pytest.approx(falls.rate_at(0) / 2)


def test_settings_are_taken_up_to_their_limits() -> None:
    TrainingSettings(1, 1, 0, 0, last_rate=0, beta2=0, weight_decay=0, clip=0)
    TrainingSettings(100_000, 4096, 100, 100_000, last_rate=1, beta2=1, weight_decay=10, clip=math.inf)
    for wrong in (
        {"steps": 0}, {"steps": 100_001}, {"batch": 0}, {"batch": 4097}, {"learning_rate": -0.1},
        {"learning_rate": 100.1}, {"warm_up": -1}, {"warm_up": 100_001}, {"last_rate": 1.1}, {"beta2": 1.1},
        {"weight_decay": 10.1}, {"clip": -1}, {"clip": math.nan},
    ):  # fmt: skip
        (name,) = wrong
        with pytest.raises(ValueError, match=rf"{name} is .*; it can be"):
            TrainingSettings(**wrong)  # type: ignore[arg-type]


def test_stochastic_gradient_descent_is_torchs_with_clipped_gradients_and_decay_of_the_blocks() -> None:
    settings = TrainingSettings(
        steps=4, batch=3, learning_rate=0.5, warm_up=2, optimiser="sgd", weight_decay=0.1, clip=0.2
    )
    config = TokenConfig(VOCABULARY, BLOCK, layers=1, heads=2, width=8)
    trainer, plain = Trainer(build(config, 0), TEXT.batch, settings), build(config, 0)
    generator = torch.Generator().manual_seed(settings.seed)
    named = dict(plain.named_parameters())
    blocks = [one for name, one in named.items() if name.startswith("blocks.") and one.ndim == 2]
    others = [one for one in named.values() if not any(one is block for block in blocks)]
    optimiser = torch.optim.SGD([{"params": blocks, "weight_decay": 0.1}, {"params": others}], lr=0.5)
    for step in range(4):
        batch = TEXT.batch(3, generator)
        for group in optimiser.param_groups:
            group["lr"] = 0.25 if step == 0 else 0.5
        logits = plain(batch.ids)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
        optimiser.zero_grad()
        loss.backward()
        assert float(torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.2)) > 0.2, "they are clipped"
        optimiser.step()
        assert trainer.advance() == pytest.approx(loss.item(), rel=1e-5)
    for name, one in trainer.model.named_parameters():
        torch.testing.assert_close(one, named[name], rtol=1e-5, atol=1e-6)


JSON = Plan("text", CONFIG, TrainingSettings(), cut="chunks").to_json()


@pytest.mark.parametrize(
    ("part", "name", "value", "fits"),
    [
        ("model", "layers", 3, True), ("model", "layers", 3.0, False), ("model", "layers", True, False),
        ("model", "layers", None, False), ("model", "layers", "3", False), ("model", "outputs", None, True),
        ("model", "outputs", 5, True), ("model", "outputs", 5.5, False), ("model", "bias", False, True),
        ("model", "bias", 0, False), ("model", "activation", "relu", True), ("model", "activation", 1, False),
        ("training", "learning_rate", 1, True), ("training", "learning_rate", 0.5, True),
        ("training", "learning_rate", True, False), ("training", "learning_rate", None, False),
        ("training", "optimiser", "sgd", True), ("training", "optimiser", 2, False), ("model", "more", 1, False),
        ("training", "more", 1, False),
    ],
)  # fmt: skip
def test_plain_values_have_the_types_of_their_fields(part: str, name: str, value: object, fits: bool) -> None:
    said = {**JSON, part: {**JSON[part], name: value}}
    if fits:
        assert Plan.from_json(said).to_json() == said
        return
    with pytest.raises(ValueError, match=name if name != "more" else " has "):
        Plan.from_json(said)


def test_plans_that_are_not_whole_or_cut_otherwise_are_refused() -> None:
    assert Plan.from_json(JSON).cut == "chunks"
    assert "cut" not in Plan("text", CONFIG, TrainingSettings()).to_json()
    for wrong in (
        None, [], {**JSON, "more": 1}, {**JSON, "subject": 3}, {**JSON, "cut": "pages"},
        {**JSON, "subject": "sort"}, {key: one for key, one in JSON.items() if key != "training"},
        {**JSON, "model": {}}, {**JSON, "model": {"kind": "gru"}}, {**JSON, "model": {"kind": []}},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"expected|kind|cut|subject|missing"):
            Plan.from_json(wrong)
    sizes = [Plan("text", one, TrainingSettings()).block_size for one in (CONFIG, GRUConfig(5, 9), BigramConfig(5))]
    assert sizes == [32, 9, 8]
    assert Plan("text", BigramConfig(5), TrainingSettings(), "chunks").block_size > 8
    with pytest.raises(TypeError, match=r"^a linear layer reads vectors, not tokens$"):
        _ = Plan("vectors", LinearConfig(2, 2), TrainingSettings()).token_model


@pytest.mark.parametrize(
    "config",
    [CONFIG, GRUConfig(7, 8, width=6, layers=2), BigramConfig(9), LinearConfig(5, 3),
     TokenConfig(5, 8, layers=1, heads=1, width=4, feed_forward=0, outputs=3)],
)  # fmt: skip
def test_parameters_are_counted_without_a_model_and_limits_are_meant_to_the_last(config: AnyConfig) -> None:
    there = sum(one.numel() for one in build(config, 0).parameters())
    assert parameters_of(config, 10**9) == there
    assert parameters_of(config, 1) > 1
    data: Any = None if not isinstance(config, LinearConfig) else LabelledVectors(
        np.ones((2, 5), np.float32), np.array([0, 2])
    )  # fmt: skip
    subject = "text" if data is None else "vectors"
    data = "a text" if data is None else data
    plan = Plan(subject, config, TrainingSettings(steps=7, batch=5))
    block = getattr(config, "block_size", 1)
    limits = Limits(steps=7, parameters=there, block=block, batch=5)
    limits.check(plan, data)
    names = {"steps": "steps", "parameters": "parameters", "batch": "sequences a step"}
    names |= {"block": "tokens a sequence"} if block > 1 else {}
    for name, said in names.items():
        most = getattr(limits, name) - 1
        with pytest.raises(TooLargeError, match=rf"at most {most:,} {said}"):
            replace(limits, **{name: most}).check(plan, data)


def test_a_text_is_limited_by_its_bytes_and_a_model_by_layers_and_width() -> None:
    plan = Plan("text", BigramConfig(3), TrainingSettings())
    most = 5 * 2**20
    Limits().check(plan, "a" * most)
    for text in ("a" * (most + 1), "é" * (most // 2 + 1)):
        with pytest.raises(TooLargeError, match=r"^The text is longer than 5 MB\.$"):
            Limits().check(plan, text)
    limits = Limits(parameters=10**9)
    for largest, beyond, said in (
        (TokenConfig(3, 2, layers=24, heads=1, width=2), TokenConfig(3, 2, layers=25, heads=1, width=2), "24 layers"),
        (GRUConfig(3, 2, width=1024), GRUConfig(3, 2, width=1025), "1,024 numbers a token"),
    ):
        limits.check(replace(plan, model=largest), "a")
        with pytest.raises(TooLargeError, match=said):
            limits.check(replace(plan, model=beyond), "a")


def test_what_a_plan_is_given_is_of_its_kind_and_vocabulary() -> None:
    text, sort = (
        Plan("text", BigramConfig(3), TrainingSettings()),
        Plan("sort", TASKS["sort"].model, TrainingSettings()),
    )
    vectors = LabelledVectors(np.ones((8, 5), np.float32), np.array([0, 1] * 4))
    linear = Plan("vectors", LinearConfig(5, 2), TrainingSettings())
    assert subject_of(sort) is TASKS["sort"]
    assert subject_of(text, "abcabcabc" * 9).labels == ("a", "b", "c")
    assert subject_of(linear, vectors).labels == ("0", "1")
    wrong: list[tuple[Plan, Any, str]] = [
        (text, "abab" * 30, "knows 3 tokens, and its subject has 2"),
        (replace(sort, model=BigramConfig(2)), None, "knows 2 tokens"),
        (replace(sort, subject="nonsense"), None, "no task 'nonsense'"),
        (linear, None, "Vectors are what a linear layer"), (linear, "text", "Vectors are what"),
        (text, vectors, "Vectors are what"), (replace(linear, subject="text"), vectors, "Vectors are what"),
        (replace(linear, model=LinearConfig(4, 2)), vectors, "Vectors of 5 numbers with classes up to 1"),
        (replace(linear, model=LinearConfig(5, 1)), vectors, "Vectors of 5 numbers with classes up to 1"),
        (replace(text, subject="tagged"), None, "needs a training and a test file"),
    ]  # fmt: skip
    for plan, data, said in wrong:
        with pytest.raises(ValueError, match=said):
            subject_of(plan, data)
    for plan, data in ((text, None), (sort, "a text"), (replace(sort, subject="nonsense"), None)):
        with pytest.raises(ValueError, match=r"A text is what|There is no task"):
            Limits().check(plan, data)
