"""Features against transformers, training against a plain torch loop, and what ships against what its cards say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score
from torch.nn import functional
from transformers import AutoTokenizer, BertModel

from attnviz.bert.classification.classifier import How, Pooled, plan_of, pool, vectors_of
from attnviz.bert.classification.examples import FOLDER, built_in
from attnviz.bert.classification.outcome import SEEDS, beats, outcome_of
from attnviz.bert.classification.shipped import NAMES, Card, ClassifierSettings, Shipped, load, make, result_of, write
from attnviz.cli import main
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import find_folder
from attnviz.training.vectors import split
from tests.loaded import pooled as pooled_here
from tests.memory import held
from tests.training import train_step


@pytest.fixture(scope="module")
def pooled() -> dict[str, Pooled]:
    return {name: pooled_here(examples) for name, examples in NAMES.items()}


def test_features_are_those_of_transformers(minilm: BuiltInModel) -> None:
    theirs = BertModel.from_pretrained(find_folder(), attn_implementation="eager").eval().requires_grad_(False)
    texts = (*built_in("reviews").texts[:20], "", "long " * 700, "Hund 🐶 <b>")
    done: list[int] = []
    found = pool(minilm, texts, done.append)
    assert done[-1] == len(texts)
    for place, text in enumerate(texts):
        hidden = theirs(torch.tensor([minilm.tokenize(text).ids])).last_hidden_state[0]
        torch.testing.assert_close(found.cls[place], hidden[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(found.mean[place], hidden.mean(0), rtol=0, atol=1e-5)
        torch.testing.assert_close(found.features("cls", tanh=True)[place], hidden[0].tanh(), rtol=0, atol=1e-5)
    assert found.features("mean", tanh=False) is found.mean


def by_hand(x: torch.Tensor, y: torch.Tensor, classes: int, *, steps: int, rate: float, seed: int) -> torch.nn.Linear:
    """Train with torch alone, on the same split and order."""
    train, _ = split(y, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = torch.nn.Linear(x.shape[1], classes)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=rate, weight_decay=0.0)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        rows = train[torch.randperm(len(train), generator=generator)[:32]]
        train_step(layer, optimiser, x[rows], y[rows])
    return layer


@pytest.mark.parametrize("name", NAMES)
def test_what_ships_is_what_a_plain_loop_trains_on_these_examples(name: str, pooled: dict[str, Pooled]) -> None:
    shipped, examples = load(name), built_in(NAMES[name])
    card, settings = shipped.card, shipped.card.plan.training
    assert card.sha256 == hashlib.sha256((FOLDER / f"{NAMES[name]}.csv").read_bytes()).hexdigest() == examples.sha256
    assert (card.rows, card.labels, card.data) == (len(examples), examples.labels, examples.name)
    x, y = shipped.classifier.features(pooled[name]), torch.from_numpy(examples.classes.copy())
    layer = by_hand(x, y, len(card.labels), steps=settings.steps, rate=settings.learning_rate, seed=card.seed)
    torch.testing.assert_close(shipped.classifier.weight, layer.weight.detach(), rtol=0, atol=2e-4)
    torch.testing.assert_close(shipped.classifier.bias, layer.bias.detach(), rtol=0, atol=2e-4)
    held = split(y, card.seed)[1]
    predicted = layer(x[held]).argmax(-1)
    assert card.accuracy == pytest.approx(accuracy_score(y[held], predicted), abs=0.0121)  # one text at the border
    outcome = shipped.outcome(examples)
    assert outcome.rows == tuple(held.tolist())
    np.testing.assert_array_equal(outcome.classes, y[held])
    np.testing.assert_allclose(outcome.probabilities, layer(x[held]).softmax(-1).detach(), atol=1e-3)
    now = outcome_of(examples, pooled[name], shipped.classifier, card.seed).probabilities
    np.testing.assert_allclose(outcome.probabilities, now, atol=1e-5)
    assert outcome.accuracy == card.seeds[0].classifier
    steps, losses, accuracies = shipped.evaluations.T
    assert len(shipped.losses) == settings.steps == steps[-1]
    assert accuracies[-1] == pytest.approx(card.accuracy)
    loss = functional.cross_entropy(layer(x[held]), y[held]).item()
    assert losses[-1] == pytest.approx(loss, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_that_ship_are_those_of_transformers_on_the_held_out_texts(name: str) -> None:
    shipped, examples, folder = load(name), built_in(NAMES[name]), find_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    theirs = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    held = split(torch.from_numpy(examples.classes.copy()), shipped.card.seed)[1].tolist()
    assert len(held) == len(shipped.probabilities)
    for place in range(0, len(held), 10):
        with torch.no_grad():
            hidden = theirs(**tokenizer(examples.texts[held[place]], return_tensors="pt")).last_hidden_state[0]
        logits = functional.linear(hidden.mean(0), shipped.classifier.weight, shipped.classifier.bias)
        np.testing.assert_allclose(shipped.probabilities[place], logits.softmax(-1), atol=1e-5)


def test_what_ships_says_nothing_of_other_examples() -> None:
    with pytest.raises(ValueError, match=r"reports\.csv is not the file"):
        load("classifier").outcome(built_in("reports"))


@pytest.mark.parametrize("name", NAMES)
def test_over_five_seeds_both_baselines_are_beaten_as_the_page_says(name: str, pooled: dict[str, Pooled]) -> None:
    examples, card = built_in(NAMES[name]), load(name).card
    y = torch.from_numpy(examples.classes.copy())
    x = load(name).classifier.features(pooled[name])
    assert [one.seed for one in card.seeds] == list(range(card.seed, card.seed + SEEDS))
    for one in card.seeds:
        settings = card.plan.training
        layer = by_hand(x, y, len(card.labels), steps=settings.steps, rate=settings.learning_rate, seed=one.seed)
        held = split(y, one.seed)[1]
        right = int((layer(x[held]).argmax(-1) == y[held]).sum())
        assert abs(one.classifier.right - right) <= 1  # one text at the border
        assert one.classifier.total == len(held)
        again = result_of(examples, pooled[name], load(name).classifier, one.seed)
        assert again.baselines == one.baselines
        if one.seed == card.seed:
            assert load(name).baselines == again.baselines
    assert beats(card.seeds)


@pytest.mark.parametrize("how", get_args(How))
def test_vectors_are_the_features_with_their_classes(how: How, pooled: dict[str, Pooled]) -> None:
    examples = built_in("reports")
    data = vectors_of(examples, pooled["agent"], how, tanh=True)
    np.testing.assert_array_equal(data.features, pooled["agent"].features(how, tanh=True).numpy())
    assert data.classes is examples.classes
    assert (data.nbytes, pooled["agent"].nbytes) == (held(data), held(pooled["agent"]))
    plan = plan_of(4, 384, steps=7, rate=0.1, seed=3)
    assert (plan.training.steps, plan.training.learning_rate, plan.training.seed) == (7, 0.1, 3)


def test_a_card_and_weights_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load("agent")
    data, card = write(before)
    (tmp_path / "agent.safetensors").write_bytes(data)
    (tmp_path / "agent.json").write_bytes(card)
    monkeypatch.setattr("attnviz.bert.classification.shipped.FOLDER", tmp_path)
    after: Shipped = load.__wrapped__("agent")
    assert after.card == before.card == Card.from_json(json.loads(card))
    assert torch.equal(after.classifier.weight, before.classifier.weight)
    for array in ("probabilities", "losses", "evaluations"):
        np.testing.assert_array_equal(getattr(after, array), getattr(before, array))


def test_the_command_writes_a_classifier_and_its_card(
    minilm: BuiltInModel,
    pooled: dict[str, Pooled],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "x.safetensors"
    monkeypatch.setattr("attnviz.pretrained.built_in.BuiltInModel", lambda _: minilm)
    read: list[Sequence[str]] = []

    def pool_once(model: BuiltInModel, texts: Sequence[str], progress: Callable[[int], object] | None = None) -> Pooled:
        assert model is minilm
        read.append(texts)
        return pooled["classifier"]

    monkeypatch.setattr("attnviz.bert.classification.shipped.pool", pool_once)
    words = ["classify", "classifier", "--steps", "20", "--features", "cls", "--tanh", "--seed", "2", "--out", str(out)]
    assert main([*words, "--quiet"]) == 0
    card = Card.from_json(json.loads(out.with_suffix(".json").read_text()))
    assert (card.plan.training.steps, card.features, card.tanh, card.seed) == (20, "cls", True, 2)
    assert card.command == "python -m attnviz classify classifier --features cls --steps 20 --tanh --seed 2"
    made = make(ClassifierSettings("classifier", "cls", tanh=True, steps=20, seed=2), minilm, card.command)
    assert write(made)[0] == out.read_bytes()
    assert [one.seed for one in made.card.seeds] == [2, 3, 4, 5, 6]
    x, y = made.classifier.features(pooled["classifier"]), torch.from_numpy(built_in("reviews").classes.copy())
    layer = by_hand(x, y, len(card.labels), steps=20, rate=card.plan.training.learning_rate, seed=2)
    torch.testing.assert_close(made.classifier.weight, layer.weight.detach(), rtol=0, atol=2e-4)
    steps, losses, _ = made.evaluations.T
    assert (len(made.losses), steps[0], steps[-1]) == (20, 0, 20)
    held = split(y, 2)[1]
    assert losses[-1] == pytest.approx(functional.cross_entropy(layer(x[held]), y[held]).item(), abs=1e-3)
    assert read == [built_in("reviews").texts] * 2
    assert main(words) == 1
    assert "already exists" in capsys.readouterr().err
    assert main([*words, "--force", "--steps", "0"]) == 2
