"""The training loop: its losses are those of a plain torch loop, and a resumed training is the same training."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from attnviz.toy.language.config import BigramConfig, GRUConfig, TokenConfig
from attnviz.training.evaluation import Evaluator, attentions, best_head, scores_of, weights_of, without_heads
from attnviz.training.loop import DivergedError, Trainer
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import IGNORED, Batch, Pattern
from tests.training import torchs_attention, train_step

INDUCTION = TASKS["induction"]
SMALL = TokenConfig(26, 32, layers=1, heads=2, width=16)


def losses(settings: TrainingSettings, config: TokenConfig = SMALL, steps: int = 6) -> list[float]:
    trainer = Trainer(build(config, 0), INDUCTION.batch, settings)
    return [trainer.advance() for _ in range(steps)]


def test_muon_is_torchs_and_decays_the_matrices_of_the_blocks_alone() -> None:
    settings = TrainingSettings(
        steps=10, batch=8, learning_rate=1e-2, warm_up=0, optimiser="muon", weight_decay=2.0, beta2=0.9
    )
    model, trainer = build(SMALL, 0), Trainer(build(SMALL, 0), INDUCTION.batch, settings)
    names = {name for name, one in model.named_parameters() if one.ndim == 2 and name.startswith("blocks.")}
    inside = [one for name, one in model.named_parameters() if name in names]
    others = [one for name, one in model.named_parameters() if name not in names]
    muon = torch.optim.Muon(inside, lr=10 * 1e-2, weight_decay=2.0)
    adam = torch.optim.AdamW(others, lr=1e-2, betas=(0.9, 0.9), weight_decay=0.0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(6):
        batch = INDUCTION.batch(8, generator)
        loss = functional.cross_entropy(model(batch.ids).flatten(0, 1), batch.targets.flatten())
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step()
        adam.step()
        assert trainer.advance() == pytest.approx(loss.item(), abs=1e-2)
    for (name, one), expected in zip(trainer.model.named_parameters(), model.parameters(), strict=True):
        # Muon orthogonalises in bfloat16, so that last bits grow; a decay of all would be 11 % in six steps.
        assert one.norm().item() == pytest.approx(expected.norm().item(), rel=0.02, abs=0.02), name


def test_losses_are_those_of_a_plain_loop() -> None:
    settings = TrainingSettings(
        steps=10, batch=8, learning_rate=1e-2, warm_up=3, decay="cosine", weight_decay=0.1, beta2=0.7
    )
    model = build(SMALL, 0)
    decays = [one for name, one in model.named_parameters() if one.ndim == 2 and name.startswith("blocks.")]
    others = [one for name, one in model.named_parameters() if one.ndim != 2 or not name.startswith("blocks.")]
    groups = [{"params": decays, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.7))
    generator, expected = torch.Generator().manual_seed(0), []
    for step in range(6):
        batch = INDUCTION.batch(8, generator)
        rate = 1e-2 * min(1, (step + 1) / 3) * (0.1 + 0.9 * (1 + math.cos(math.pi * step / 10)) / 2)
        for group in optimiser.param_groups:
            group["lr"] = rate
        expected.append(train_step(model, optimiser, batch.ids, batch.targets))
    assert losses(settings) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("optimiser", ["adamw", "sgd", "muon"])
def test_the_same_seed_gives_the_same_curve_and_another_does_not(optimiser: str) -> None:
    settings = TrainingSettings(batch=8, optimiser=optimiser)  # type: ignore[arg-type]
    assert losses(settings) == losses(settings)
    assert losses(settings) != losses(TrainingSettings(batch=8, optimiser=optimiser, seed=1))  # type: ignore[arg-type]


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_resumed_training_is_the_one_that_was_not_interrupted(optimiser: str) -> None:
    settings = TrainingSettings(batch=8, optimiser=optimiser)  # type: ignore[arg-type]
    config = TokenConfig(26, 32, layers=1, heads=2, width=16, dropout=0.2)
    whole = losses(settings, config, 8)
    first = Trainer(build(config, 0), INDUCTION.batch, settings)
    begun = [first.advance() for _ in range(4)]
    state = first.state()
    second = Trainer(build(config, 7), INDUCTION.batch, settings)
    second.resume(state)
    assert second.step == 4
    assert begun + [second.advance() for _ in range(4)] == whole


@pytest.mark.parametrize("config", [TokenConfig(26, 32, layers=2, heads=2, width=32), GRUConfig(26, 32, 32)])
def test_a_tiny_model_overfits_one_batch(config: TokenConfig | GRUConfig) -> None:
    batch = INDUCTION.batch(4, torch.Generator().manual_seed(0))
    trainer = Trainer(build(config, 0), lambda *_: batch, TrainingSettings(learning_rate=1e-2))
    for _ in range(150):
        loss = trainer.advance()
    assert loss < 0.05


def test_a_diverging_training_is_said_to_diverge() -> None:
    trainer = Trainer(build(BigramConfig(26), 0), INDUCTION.batch, TrainingSettings())
    with torch.no_grad():
        trainer.model.table.weight[3] = math.nan
    with pytest.raises(DivergedError, match=r"^the loss at step 0 is nan$"):
        trainer.advance()


def test_induction_forms_in_two_layers_and_not_in_one() -> None:
    held, fast = INDUCTION.held_out(), TrainingSettings(learning_rate=1e-2)
    accuracies = []
    for config in (INDUCTION.model, INDUCTION.control_model):
        trainer = Trainer(build(config, 0), INDUCTION.batch, fast)
        for _ in range(200):
            trainer.advance()
        model = trainer.model.eval()
        with torch.no_grad():
            accuracies.append(INDUCTION.accuracy(model.logits(held.ids), held))
        if config == INDUCTION.model:
            found = best_head(weights_of(model, held), held, INDUCTION.patterns[1])
            assert found is not None
            assert (found.kind, found.layer) == ("decoder", 1)
            assert found.score > 0.8
    assert accuracies[0] > 0.98
    assert accuracies[1] < 0.5


def test_weights_of_a_batch_are_torchs() -> None:
    model, batch = build(SMALL, 0).eval(), INDUCTION.batch(3, torch.Generator().manual_seed(1))
    (place, weights), *others = weights_of(model, batch).items()
    assert not others
    x = model.blocks.layers[0].attention_norm(model.embed(batch.ids))
    theirs = torchs_attention(attentions(model)[place])
    with torch.no_grad():
        mask = nn.Transformer.generate_square_subsequent_mask(32)
        expected = theirs(x, x, x, attn_mask=mask, average_attn_weights=False)[1]
    assert torch.allclose(weights, expected, atol=1e-6)


def test_patterns_of_induction_count_the_right_cells() -> None:
    ids = torch.tensor([[0, 1, 2, 0, 1, 2, 0]])
    targets = torch.tensor([[-100, -100, -100, 1, 2, 0, 1]])
    batch = Batch(ids, targets)
    previous, match = (one.score for one in INDUCTION.patterns)
    weights = torch.zeros(1, 2, 7, 7)
    weights[0, 0, range(1, 7), range(6)] = 1
    for query, keys in ((3, [1]), (4, [2]), (5, [3]), (6, [1, 4])):
        weights[0, 1, query, keys] = 1 / len(keys)
    assert previous(weights, batch)[0] == 1
    assert match(weights, batch).tolist() == [0, 1]


def test_a_model_without_a_head_is_one_whose_head_outputs_are_zero() -> None:
    model, batch = build(SMALL, 0).eval(), INDUCTION.batch(3, torch.Generator().manual_seed(1))
    place = next(iter(attentions(model)))
    kept = model.logits(batch.ids)
    with without_heads(model, [(place, 1)]):
        less = model.logits(batch.ids)
    output = model.blocks.layers[0].attention.output

    def zeroed(_: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        return (torch.cat([args[0][..., :8], torch.zeros_like(args[0][..., 8:])], dim=-1),)

    hook = output.register_forward_pre_hook(zeroed)
    expected = model.logits(batch.ids)
    hook.remove()
    assert torch.allclose(less, expected, atol=1e-6)
    assert torch.equal(model.logits(batch.ids), kept)
    assert not torch.allclose(kept, expected)
    with (
        pytest.raises(IndexError, match=r"^decoder block 0, head 2 does not exist$"),
        without_heads(model, [(place, 2)]),
    ):
        pass


def test_a_pattern_of_another_kind_of_attention_has_no_head() -> None:
    model, batch = build(SMALL, 0).eval(), INDUCTION.batch(3, torch.Generator().manual_seed(1))
    pattern = Pattern("some", "some", INDUCTION.patterns[0].score, kind="cross")
    assert best_head(weights_of(model, batch), batch, pattern) is None


PLAN = Plan("induction", INDUCTION.model, INDUCTION.training)


@pytest.mark.parametrize("config", [PLAN.model, GRUConfig(5, 8), BigramConfig(5)])
def test_a_plan_survives_json(config: TokenConfig | GRUConfig | BigramConfig) -> None:
    plan = Plan("induction", config, INDUCTION.training)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected an object"),
        ({}, "expected an object"),
        ({**PLAN.to_json(), "more": 1}, "expected an object"),
        ({**PLAN.to_json(), "subject": 3}, "not a name"),
        ({**PLAN.to_json(), "model": {"kind": "lstm"}}, "a model has a kind"),
        ({**PLAN.to_json(), "model": {"kind": "gru", "vocabulary": True, "block_size": 8}}, "vocabulary is True"),
        ({**PLAN.to_json(), "model": {"kind": "gru", "vocabulary": 4}}, "block_size"),
        ({**PLAN.to_json(), "model": {"kind": "bigram", "vocabulary": 4, "depth": 3}}, "BigramConfig has"),
        ({**PLAN.to_json(), "training": {"steps": 10**9}}, "steps is 1000000000"),
        ({**PLAN.to_json(), "training": {"learning_rate": math.nan}}, "learning_rate is nan"),
        ({**PLAN.to_json(), "training": {"batch": "8"}}, "batch is '8'"),
    ],
)
def test_a_wrong_plan_is_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.from_json(value)


@pytest.mark.parametrize(("batch", "count"), [(1, 16), (10, 20), (500, 256)])
def test_while_a_training_runs_the_first_held_out_sequences_are_evaluated_and_then_all(batch: int, count: int) -> None:
    model, held = build(SMALL, 0), INDUCTION.held_out()
    evaluator = Evaluator(INDUCTION, batch)
    for whole, rows in ((False, slice(count)), (True, slice(None))):
        ids, targets = held.ids[rows], held.targets[rows]
        found = evaluator.evaluate(model, whole=whole)
        with torch.no_grad():
            expected = functional.cross_entropy(
                model.eval()(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORED
            )
        assert found["loss"] == pytest.approx(expected.item(), abs=1e-5)
        [pattern] = [one for one in INDUCTION.patterns if one.name == "previous"]
        [(_, _, heads)] = found["scores"]["previous"]
        own = weights_of(model, Batch(ids, targets))
        assert heads == pytest.approx(next(iter(scores_of(own, Batch(ids, targets), pattern).values())).tolist())
