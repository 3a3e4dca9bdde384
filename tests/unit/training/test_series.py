"""The model series: its stages train, and what is expected of them is what is measured."""

from __future__ import annotations

import pytest

from attnviz.toy import BigramModel
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
