"""The models that ship: what their cards say is true, and they do their tasks."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace

import pytest
import torch

from attnviz import trained
from attnviz.pretrained import ModelError
from attnviz.toy.language.model import TokenModel
from attnviz.trained import shipped
from attnviz.trained.card import as_file
from attnviz.trained.files import read, write
from attnviz.training.evaluation import evaluate, scores_of, weights_of
from attnviz.training.tasks import TASKS

ALL = trained.names()
OF_TASKS = [name for name in ALL if name in TASKS]
MOST_BYTES = 10 * 2**20
LEAST = {"stories": 0.83}
"""The share of right answers, where it is not 99 %: what happens next in a story is often open"""


def test_they_are_small_and_each_has_its_card() -> None:
    assert "induction" in ALL
    assert sum(one.stat().st_size for one in shipped.FOLDER.rglob("*")) < MOST_BYTES
    files = sorted(one for one in shipped.FOLDER.iterdir() if one.is_file())
    assert [one.name for one in files] == sorted(f"{name}.{kind}" for name in ALL for kind in ("json", "safetensors"))
    for name in ALL:
        model = trained.load(name)
        assert (shipped.FOLDER / f"{name}.json").read_bytes() == as_file(model.plan, model.card)
        assert model.card.command.startswith(f"python -m attnviz train {name}")
        assert len(model.card.date) == 10
        assert model.digest == hashlib.sha256((shipped.FOLDER / f"{name}.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("name", OF_TASKS)
def test_a_task_is_done_on_sequences_that_it_was_not_trained_on(name: str) -> None:
    model, task = trained.load(name), TASKS[name]
    found = evaluate(model.module, task)
    assert found.accuracy >= LEAST.get(name, 0.99)
    assert found.accuracy == pytest.approx(model.card.accuracy, abs=1e-6)
    assert found.loss == pytest.approx(model.card.loss, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("name", OF_TASKS)
def test_the_named_heads_show_their_patterns(name: str) -> None:
    model, task = trained.load(name), TASKS[name]
    batch = task.held_out()
    assert isinstance(model.module, TokenModel)
    weights = weights_of(model.module, batch)
    assert set(model.card.heads) == {pattern.name for pattern in task.patterns}
    for pattern in task.patterns:
        named = model.card.heads[pattern.name]
        scores = {
            (place.kind, place.layer, head): float(score)
            for place, row in scores_of(weights, batch, pattern).items()
            for head, score in enumerate(row)
        }
        assert max(scores.values()) == pytest.approx(scores[named.kind, named.layer, named.head])
        assert named.score == pytest.approx(scores[named.kind, named.layer, named.head], abs=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_each_can_be_traced_and_needs_no_gradients(name: str) -> None:
    model = trained.load(name)
    task = TASKS.get(name)
    trace = model.trace("To be, or not to be" if task is None else task.examples[0])
    assert trace.last_hidden_state.isfinite().all()
    assert not any(one.requires_grad for one in model.parameters())
    assert not trace.last_hidden_state.requires_grad
    for kind in trace.kinds:
        torch.testing.assert_close(
            trace.attentions(0, kind).sum(-1), torch.ones(()).expand_as(trace.attentions(0, kind)[..., 0])
        )


def test_models_are_shared_and_others_are_refused_in_a_sentence() -> None:
    assert trained.load(" induction ") is trained.load("induction")
    for name in ("", "nonsense", "../../etc/passwd"):
        with pytest.raises(ModelError) as found:
            trained.load(name)
        assert str(found.value) == (
            f"There is no trained model “{name}”: there are chargpt, stories, induction, reverse, sort, numbers, "
            "tagging."
        )
    with pytest.raises(ModelError) as found:
        trained.load("trained-000000000000")
    assert str(found.value) == ("This trained model is no longer on this server: train it again, or open its file.")


def test_a_visitor_s_file_is_kept_by_a_name_made_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (shipped.FOLDER / "induction.safetensors").read_bytes()
    model = shipped.keep(data)
    assert model.name == f"trained-{hashlib.sha256(data).hexdigest()[:12]}"
    assert trained.load(model.name) is model
    monkeypatch.setattr(shipped, "KEPT_BYTES", len(data) - 1)
    shipped.keep(data)
    with pytest.raises(
        ModelError, match=r"^This trained model is no longer on this server: train it again, or open its file\.$"
    ):
        trained.load(model.name)


def test_what_a_decoder_reads_is_its_own_answer_or_what_is_given() -> None:
    model = trained.load("numbers")
    for text, answer in (("342", "three hundred forty two"), ("17", "seventeen"), ("0", "zero")):
        tokens, target = model.read(text)
        assert target is not None
        assert tokens.pieces[: len(text)] == tuple(text)
        assert target.pieces == ("<start>", *answer.split())
    _, given = model.read("342", "three apples two")
    assert given is not None
    assert given.pieces == ("<start>", "three", "apples", "two")
    assert given.unknown == (False, False, True, False)
    trace = model.trace("342", "three apples two")
    assert trace.last_hidden_state.isfinite().all()
    assert set(trace.kinds) == {"encoder", "decoder", "cross"}
    assert model.trace_key("342") == model.trace_key("342", "three hundred forty two")
    assert model.trace_key("342") != model.trace_key("342", "three")
    long = model.read("1", "one " * 50)[1]
    assert long is not None
    assert (len(long), long.dropped) == (model.block_size, 50 - model.block_size + 1)


def test_each_logit_has_its_name() -> None:
    trace = trained.load("tagging").trace("the teacher plans walks")
    walk = trace.walk_at(0, 0)
    assert walk.block is not None
    likeliest = [walk.block.vocabulary[int(row.argmax())] for row in walk.block.matrices["probabilities"]]
    assert likeliest == ["det", "noun", "verb", "noun", "stop"]


def test_a_reversed_text_is_what_the_model_says() -> None:
    trace = trained.load("reverse").trace("stressed")
    assert trace.logits is not None
    labels = trained.load("reverse").labels
    assert "".join(labels[one] for one in trace.logits.argmax(-1).tolist()).strip("·") == "desserts"


def visitors_file(number: int) -> bytes:
    """Return a model's file with another name in its card."""
    saved = read((shipped.FOLDER / "induction.safetensors").read_bytes())
    card = replace(saved.card, name=f"model  {number}\n" + "x" * 80)
    return write(saved.module, saved.plan, saved.labels, card)


def test_the_file_that_was_not_used_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [visitors_file(number) for number in range(3)]
    monkeypatch.setattr(shipped, "_kept", OrderedDict())
    monkeypatch.setattr(shipped, "_sizes", {})
    monkeypatch.setattr(shipped, "KEPT_BYTES", len(files[0]) + max(map(len, files)))
    first, second = (shipped.keep(one).name for one in files[:2])
    assert shipped.is_kept(first) and shipped.is_kept(second)
    trained.load(f" {first} ")
    third = shipped.keep(files[2]).name
    assert [shipped.is_kept(name) for name in (first, second, third)] == [True, False, True]
    shipped.keep(files[0])
    shipped.keep(files[1])
    assert [shipped.is_kept(name) for name in (first, second, third)] == [True, True, False]


def test_a_visitor_s_model_is_called_by_its_card_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "_kept", OrderedDict())
    monkeypatch.setattr(shipped, "_sizes", {})
    name = shipped.keep(visitors_file(7)).name
    said, _, mark = shipped.title(name).partition(" · ")
    assert said == ("model 7 " + "x" * 80)[:60]
    assert mark == name.removeprefix("trained-")[:4]
    assert shipped.title("induction") == "induction"
    assert shipped.title("trained-000000000000") == "trained-000000000000"
    for given, is_one in (("induction", True), (" induction ", True), (name, True), ("minilm", False), ("", False)):
        assert trained.is_name(given) is is_one


@pytest.mark.parametrize("name", ALL)
def test_a_model_opens_with_its_first_example_and_the_head_of_its_last_pattern(name: str) -> None:
    model, view = trained.load(name), shipped.opening(name)
    task = TASKS.get(name)
    place = model.trace(view["text"]).places[view["block"]]
    assert (place.kind, place.layer) == (view["kind"], view["layer"])
    if task is None:
        assert (view["layer"], view["head"], view["text"]) == (0, 2, "To be, or not to be: ")
        return
    named = model.card.heads[task.patterns[-1].name]
    assert view["text"] == task.examples[0]
    assert (view["kind"], view["layer"], view["head"]) == (named.kind, named.layer, named.head)
    assert shipped.opening("nonsense") == {}
