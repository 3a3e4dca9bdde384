"""What the page Train offers the browser of a model in training, compared with torch's own attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import BigramModel, TokenModel
from attnviz.training.evaluation import attentions
from attnviz.training.generation import Sampling, generate
from attnviz.training.jobs.view import View
from attnviz.training.plan import build
from attnviz.training.tasks import TASKS
from attnviz.ui.train.arrays import (
    SAMPLE,
    Reading,
    accuracy_without,
    at_snapshots,
    heads_of,
    offer,
    reading_of,
    sample_of,
    task_parts,
)
from attnviz.ui.train.plans import plan_of
from attnviz.ui.train.plans import sample_of as text_of
from attnviz.ui.train.runs import Run, title_of
from tests.training import torchs_attention

TASK = TASKS["induction"]
TEXT = "abcabcabc"


def made(config: TokenConfig, seed: int = 0) -> TokenModel:
    model = build(config, seed).eval()
    assert isinstance(model, TokenModel)
    return model


def reading(text: str = TEXT) -> Reading:
    return reading_of(TASK, *TASK.read(text))


def torchs_weights(model: TokenModel, ids: torch.Tensor, layer: int) -> torch.Tensor:
    """Return the weights of a layer without norms, (H, T, T), as nn.MultiheadAttention computes them."""
    x = model.embed(ids)
    mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
    with torch.no_grad():
        for own in list(attentions(model).values())[: layer + 1]:
            output, weights = torchs_attention(own)(x, x, x, attn_mask=mask, average_attn_weights=False)
            x = x + output
    first: torch.Tensor = weights[0]
    return first


def test_weights_of_each_snapshot_are_torchs() -> None:
    models = [made(TASK.model, seed) for seed in (0, 1)]
    here = reading()
    found = at_snapshots(models, here)
    assert found["weights.decoder"].shape == (2, 4, 9, 9)
    for at, model in enumerate(models):
        for layer in (0, 1):
            expected = torchs_weights(model, here.batch.ids, layer).numpy()
            codes = found["weights.decoder"][at, 2 * layer : 2 * layer + 2] / 65535
            np.testing.assert_allclose(codes, expected, rtol=0, atol=1e-5)


def test_answers_are_the_likeliest_tokens() -> None:
    model, here = made(TASK.model), reading()
    found = at_snapshots([model], here)
    with torch.no_grad():
        shares = torch.softmax(model.logits(here.batch.ids)[0].double(), dim=-1)
    assert found["answer"][0].tolist() == shares.argmax(-1).tolist()
    np.testing.assert_allclose(found["probability"][0], shares.max(-1).values, rtol=0, atol=1e-6)


def test_symbols_that_the_model_does_not_know_are_left_out() -> None:
    assert reading("ab!c é").labels == ("a", "b", "c")
    assert reading("1234").ids == ()


def test_an_encoder_with_a_decoder_has_three_kinds_of_attention() -> None:
    config = TokenConfig(5, 8, "both", layers=2, heads=2, width=8)
    here = Reading("induction", (1, 2, 3), ("x", "y", "z"), (0, 4), ("p", "q"))
    found = at_snapshots([made(config)], here)
    shapes = {name: array.shape for name, array in found.items() if name.startswith("weights.")}
    assert shapes == {
        "weights.encoder": (1, 4, 2, 2),
        "weights.decoder": (1, 4, 3, 3),
        "weights.cross": (1, 4, 3, 2),
    }
    told = [(one["kind"], one["rows"], one["cols"], one["causal"]) for one in here.kinds(config)]
    assert told == [("encoder", 2, 2, False), ("decoder", 3, 3, True), ("cross", 3, 2, False)]
    assert found["answer"].shape == (1, 3)
    order = [place.kind for place, _ in heads_of(made(config))]
    assert order == ["encoder"] * 4 + ["decoder"] * 4 + ["cross"] * 4


def test_a_model_without_layers_has_no_attention_but_answers() -> None:
    config = TokenConfig(26, 32, layers=0, heads=2, width=8)
    assert list(reading().kinds(config)) == []
    assert sorted(at_snapshots([made(config)], reading())) == ["answer", "probability"]


def test_accuracy_without_a_head_is_that_of_a_model_whose_head_gives_zeros() -> None:
    model = made(TASK.model)
    found = accuracy_without(model, TASK)
    assert found.shape == (5,)
    held = TASK.held_out()

    def zeroed(_: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        return (torch.cat([torch.zeros_like(args[0][..., :16]), args[0][..., 16:]], dim=-1),)

    def right() -> float:
        with torch.no_grad():
            said = model.logits(held.ids).argmax(-1)
        counted = held.targets >= 0
        return float((said == held.targets)[counted].float().mean())

    assert found[4] == pytest.approx(right(), abs=1e-6)
    hook = next(iter(attentions(model).values())).output.register_forward_pre_hook(zeroed)
    assert found[0] == pytest.approx(right(), abs=1e-6)
    hook.remove()


@pytest.mark.parametrize("part", ["", "s", "s.", "s.x", "s.1.2.x", "a", "a.-1", "a.1.2", "s." + ".1" * 17, "../s.0"])
def test_only_snapshots_and_ablations_can_be_requested(part: str) -> None:
    digest = offer(("test", 1), reading(), lambda _: made(TASK.model), task_parts(TASK.name))
    with pytest.raises(NotOfferedError):
        array_store().request(f"{digest}~{part}").result(30)


def test_a_snapshot_that_is_gone_is_not_offered() -> None:
    def gone(_: int) -> TokenModel:
        raise NotOfferedError

    digest = offer(("test", 2), reading(), gone, task_parts(TASK.name))
    with pytest.raises(NotOfferedError):
        array_store().request(f"{digest}~s.0").result(30)


VIEW: dict[str, object] = dict.fromkeys(
    ["steps", "batch", "rate", "warm_up", "decay", "optimiser", "weight_decay", "train_dropout", "train_layers",
     "train_heads", "train_width"]
)  # fmt: skip
VIEW |= {"task": "induction", "sample": "", "seed": 3}


def test_a_view_without_settings_trains_what_the_task_says() -> None:
    plan = plan_of(VIEW.__getitem__)
    assert (plan.model, plan.training.learning_rate, plan.training.seed) == (TASK.model, 1e-3, 3)
    assert text_of(VIEW.__getitem__) == TASK.examples[0]


def test_the_control_has_the_same_settings_and_a_model_of_its_own() -> None:
    view = VIEW | {"rate": 0.01, "train_layers": 3, "train_dropout": 0.2, "task": "induction"}
    own, control = plan_of(view.__getitem__), plan_of(view.__getitem__, control=True)
    assert own.training == control.training
    assert isinstance(own.model, TokenConfig)
    assert isinstance(control.model, TokenConfig)
    assert (own.model.layers, control.model.layers) == (3, TASK.control_model.layers)
    assert own.model.dropout == control.model.dropout == 0.2


def test_settings_that_do_not_fit_are_refused_in_words() -> None:
    view = VIEW | {"train_heads": 3, "train_width": 16}
    with pytest.raises(ValueError, match="a width of 16 can't be divided into 3 heads"):
        plan_of(view.__getitem__)


def test_a_training_that_differs_in_no_setting_is_called_by_its_shape() -> None:
    for task, title in (("reverse", "1 layer, 1 head"), ("induction", "2 layers, 2 heads")):
        run = Run(plan_of((VIEW | {"task": task}).__getitem__), 1, View("done", 10))
        assert title_of(run, []) == title
        control = Run(plan_of((VIEW | {"task": task, "train_dropout": 0.5}).__getitem__, control=True), 2, run.view)
        assert (run.is_control, control.is_control, title_of(control, [run])) == (False, True, "control")
    faster = Run(plan_of((VIEW | {"rate": 0.1}).__getitem__), 3, run.view)
    assert title_of(faster, [run, control]) == "learning rate 0.1"


def test_what_a_model_writes_is_in_rows_of_the_longest_answer() -> None:
    numbers = TASKS["numbers"]
    here = reading_of(numbers, *numbers.read("342"))
    assert (here.text, here.source_labels) == ("342", ("3", "4", "2"))
    models = [made(numbers.model, seed) for seed in range(6)]
    answers = [numbers.answer(model, "342") for model in models]
    assert len({len(answer) for answer in answers}) > 1
    written = at_snapshots(models, here)["written"]
    assert [line.tobytes().rstrip(b"\0").decode() for line in written] == answers


def test_of_a_text_that_is_too_long_the_first_tokens_are_read() -> None:
    first = reading("abcdef").cut(3)
    assert (first.ids, first.labels) == (reading("abc").ids, ("a", "b", "c"))


def test_a_sample_follows_from_its_first_character_and_its_seed() -> None:
    torch.manual_seed(0)
    model = BigramModel(9)
    nn.init.normal_(model.table.weight)
    expected = [draw.id for draw in generate(model, [2], SAMPLE, Sampling(seed=3))]
    assert sample_of(model, 2, 3).tolist() == expected != sample_of(model, 2, 4).tolist()
