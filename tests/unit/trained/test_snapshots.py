"""A snapshot of a training as a file: bit-equal weights, a card with the numbers of these weights, hostile cards."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load

from attnviz import trained
from attnviz.pretrained import ModelError
from attnviz.toy.language.config import BigramConfig
from attnviz.trained import shipped
from attnviz.trained.card import Card
from attnviz.trained.files import read
from attnviz.trained.making import OWN_TEXT, file_of, why_not_shown
from attnviz.training.jobs.view import Snapshot
from attnviz.training.jobs.weights import to_bytes
from attnviz.training.plan import Plan, build
from attnviz.training.series import SERIES
from attnviz.training.tasks import TASKS
from tests.unit.trained.test_files import packed, plan

TASK = TASKS["induction"]
PLAN = Plan("induction", TASK.model, TASK.training)
LOSSES = np.arange(100, dtype=np.float32)


def snapshot(of: Plan = PLAN, step: int = 60) -> Snapshot:
    weights = to_bytes(build(of.model, 4))
    assert weights
    return Snapshot(step, weights)


def test_the_weights_are_those_of_the_snapshot_bit_for_bit_and_in_a_notebook_too() -> None:
    taken = snapshot()
    made = file_of(PLAN, taken, LOSSES)
    written = load(made.data)
    raw = b"".join(written[name].numpy().tobytes() for name in build(TASK.model, 0).state_dict())
    assert raw == taken.weights
    model = shipped.keep(made.data)
    assert trained.load(model.name) is model
    again = file_of(model.plan, Snapshot(60, raw), LOSSES)
    assert again.data == made.data, "opened and saved again it is the same file"
    ids = TASK.held_out().ids[:4]
    with torch.no_grad():
        assert torch.equal(trained.load(model.name).logits(ids), build_of(taken)(ids))


def build_of(taken: Snapshot) -> torch.nn.Module:
    """Return the model of a snapshot without this project's reader of snapshots."""
    module, at = build(TASK.model, 0), 0
    values = torch.from_numpy(np.frombuffer(taken.weights, np.float16).astype(np.float32))
    state = {}
    for name, one in module.state_dict().items():
        state[name] = values[at : at + one.numel()].view(one.shape)
        at += one.numel()
    module.load_state_dict(state)
    return module.eval()


def test_the_card_says_the_numbers_of_these_weights_and_the_steps_that_were_made() -> None:
    taken = snapshot()
    made = file_of(PLAN, taken, LOSSES)
    held = TASK.held_out()
    with torch.no_grad():
        logits = build_of(taken)(held.ids)
    counts = held.targets >= 0
    loss = torch.nn.functional.cross_entropy(logits[counts], held.targets[counts]).item()
    assert made.card.loss == pytest.approx(loss, rel=1e-5)
    assert made.card.accuracy == pytest.approx((logits.argmax(-1) == held.targets)[counts].float().mean().item())
    assert made.card.training_loss == pytest.approx(np.mean(range(10, 60)))
    assert (made.card.after, made.stem) == (60, "induction-60-steps")
    said = json.loads(made.card_file())
    assert said["plan"]["training"]["steps"] == TASK.training.steps
    assert shipped.title(shipped.keep(made.data).name).startswith("induction, 60 steps · ")


@pytest.mark.parametrize(("step", "first"), [(1, 0), (20, 0), (49, 0), (50, 0), (51, 1), (100, 50)])
def test_the_training_loss_of_a_card_is_the_mean_of_the_last_50_steps_or_of_all(step: int, first: int) -> None:
    losses = np.random.default_rng(0).uniform(1, 3, 100).astype(np.float32)
    card = file_of(PLAN, snapshot(step=step), losses).card
    assert card.training_loss == pytest.approx(np.mean(losses[first:step]), rel=1e-6)
    assert file_of(PLAN, snapshot(step=0), losses).card.training_loss == 0


@pytest.mark.parametrize("stage", SERIES)
def test_each_stage_of_the_series_becomes_a_file_or_is_said_to_have_no_attention(stage: Any) -> None:
    text = "to be or not to be, that is the question. " * 20
    of = stage.plan(len(set(text)))
    made = file_of(of, snapshot(of), LOSSES, data=text)
    found = read(made.data)
    assert (found.card.corpus and found.card.corpus.name) == OWN_TEXT
    if stage.name in ("bigram", "gru"):
        assert "no attention" in why_not_shown(of)
        with pytest.raises(
            ModelError, match=r"^This model has no attention: there is nothing to show of it step by step\.$"
        ):
            shipped.keep(made.data)
    else:
        assert why_not_shown(of) == ""
        weights = shipped.keep(made.data).trace("to be").attentions(0)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))


@pytest.mark.parametrize("name", TASKS)
def test_each_task_s_model_and_control_can_be_shown_or_it_is_said_why_not(name: str) -> None:
    task = TASKS[name]
    for config in (task.model, task.control_model):
        of = Plan(name, config, task.training)
        why = why_not_shown(of)
        if why:
            assert config == task.control_model
            with pytest.raises(ModelError):
                shipped.keep(file_of(of, snapshot(of), LOSSES).data)
        else:
            assert shipped.keep(file_of(of, snapshot(of), LOSSES).data).trace(task.examples[0])


def test_a_card_without_steps_is_read_and_one_with_odd_steps_or_heads_is_refused() -> None:
    card = Card("mine", 0.5, 0.5, 0.5).to_json()
    state = build(plan().model, 0).state_dict()
    older = {name: one for name, one in card.items() if name != "after"}
    assert read(packed(state, plan(), card=older)).card.after is None
    head = {"kind": "decoder", "layer": 0, "head": 0, "score": 0.5}
    assert read(packed(state, plan(), card={**card, "heads": {"x": head}})).card.heads
    steps: list[dict[str, object]] = [{"after": -1}, {"after": "60"}, {"after": True}, {"after": 1.5}]
    heads: list[dict[str, object]] = [{"kind": "cross"}, {"kind": "<b>"}, {"layer": 99}, {"head": 2}]
    for one in (*steps, *({"heads": {"x": {**head, **said}}} for said in heads)):
        with pytest.raises(ModelError, match=r"can't be|does not have|is not a whole number|is not text"):
            read(packed(state, plan(), card={**card, **one}))


def test_a_bigram_has_nothing_to_show() -> None:
    assert why_not_shown(Plan("text", BigramConfig(5), PLAN.training))
