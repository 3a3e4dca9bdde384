"""The model series trains as it says, and models of a seed have the weights that torch gives, whoever else draws."""

from __future__ import annotations

import threading

import pytest
import torch

from attnviz.toy.language.config import BigramConfig, GRUConfig, TokenConfig
from attnviz.toy.language.model import BigramModel, GRUModel, TokenModel
from attnviz.training.loop import Trainer
from attnviz.training.plan import build
from attnviz.training.series import BLOCK, COUNTED, SERIES, WATCHED_STEPS, Stage
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text, validation_loss

TEXT = Text(built_in(), BLOCK)
VOCABULARY = len(TEXT.labels)


def test_the_counted_table_has_the_expected_loss() -> None:
    counted = BigramModel.by_counting(TEXT.train, VOCABULARY, smoothing=1)
    assert round(validation_loss(counted, TEXT.validation, BLOCK), 2) == COUNTED


@pytest.mark.parametrize("stage", SERIES[:4], ids=lambda stage: stage.name)
def test_a_stage_learns_as_it_says(stage: Stage) -> None:
    plan = stage.plan(VOCABULARY)
    trainer = Trainer(build(plan.model, plan.training.seed), TEXT.batch, plan.training)
    for _ in range(500):
        trainer.advance()
    assert validation_loss(trainer.model, TEXT.validation, BLOCK) == pytest.approx(stage.expected[500], abs=0.1)


def test_each_stage_says_what_to_expect_and_is_better_than_the_one_below() -> None:
    assert [tuple(stage.expected) for stage in SERIES] == [WATCHED_STEPS] * len(SERIES)
    last = [stage.expected[WATCHED_STEPS[-1]] for stage in SERIES if stage.name != "gru"]
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
