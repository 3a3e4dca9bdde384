"""The facts of lessons about trainings: a head that forms, and the series of models."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import torch
from torch import Tensor, nn

from attnviz.lessons import shipped
from attnviz.links.link import read_link
from attnviz.tokens import CharVocab
from attnviz.toy.language.config import GRUConfig, TokenConfig
from attnviz.toy.language.model import BigramModel, TokenModel
from attnviz.trace.model import Place
from attnviz.trained import recorded
from attnviz.trained.recorded import Recording
from attnviz.training.evaluation import weights_of
from attnviz.training.jobs.view import Evaluation
from attnviz.training.jobs.weights import model_of
from attnviz.training.series import SERIES
from attnviz.training.tasks import TASKS
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text, validation_loss
from attnviz.ui.train.arrays import accuracy_without, heads_of, reading_of, reading_of_tokens


def written(number: float, digits: int = 2) -> str:
    return f"{number:.{digits}f}"


def forming() -> dict[int, Sequence[str]]:
    recording, control = recorded.of_task("induction")
    (reverse,), task = recorded.of_task("reverse"), TASKS["induction"]
    reading = reading_of(task, *task.read(task.examples[0]))
    assert reading.labels == tuple("qweasd" * 3)
    assert f"{len(recording.view.snapshots)} of its {recording.view.steps} steps" in shipped()["forming"].summary

    def told(step: int, of: Recording = recording) -> Evaluation:
        return next(one for one in of.view.evaluations if one.step == step)

    def at(step: int, layer: int, head: int) -> Tensor:
        snapshot = next(one for one in recording.view.snapshots if one.step == step)
        model = model_of(recording.plan.model, snapshot.weights)
        assert isinstance(model, TokenModel)
        return weights_of(model, reading.batch)[Place("decoder", layer)][0, head]

    def share(part: float) -> str:
        return written(100 * part, 1)

    last = model_of(recording.plan.model, recording.view.snapshots[-1].weights)
    assert isinstance(last, TokenModel)
    without = dict(zip(heads_of(last), accuracy_without(last, task), strict=False))
    assert float(without[Place("decoder", 1), 1]) > 0.8  # most answers stay right
    match, back, read = at(285, 1, 0)[12], at(250, 0, 1)[7], at(800, 1, 1)[12]
    assert {int(place) for place in match.topk(2).indices} == {1, 7}
    assert int(back.argmax()) == 6
    assert min(at(0, 1, 0)[17]) > 0  # nobody is left out
    assert max(one.best("match") or 0 for one in recording.view.evaluations if one.step <= 100) < 0.15
    assert max(one.accuracy for one in reverse.view.evaluations if one.step <= 300) == 0
    assert 0.999 < told(800).accuracy < 1  # nearly all
    assert recording.plan.model.layers == 2  # type: ignore[union-attr]
    return {
        2: [written(told(0).loss), written(log(26))],
        3: [written(told(100).loss), share(told(100).accuracy)],
        4: [written(back[6]), written(at(200, 0, 1)[7, 6])],
        5: [written(match[7]), written(match[1])],
        6: [*(share(told(step).accuracy) for step in (200, 320)),
            *(written(told(step).best("match") or 0) for step in (200, 320))],
        7: [written(read[7]), written(read[1]), written(told(800).best("match") or 0)],
        8: [share(float(without[Place("decoder", 0), 0]))],
        9: [share(told(800, control).accuracy), written(told(800, control).best("match") or 0)],
        10: [share(told(380, reverse).accuracy), share(told(800, reverse).accuracy)],
    }  # fmt: skip


GIVEN = "It was c"
"""What the heads are shown: the first block of the text"""


def trained(name: str) -> nn.Module:
    """Return the model of a stage after its recorded training."""
    recording = recorded.of_stage(name)
    assert recording is not None
    return model_of(recording.plan.model, recording.view.snapshots[-1].weights)


def loss(name: str) -> str:
    """Return the loss on held-out text at the end of the training, as the page writes it."""
    recording = recorded.of_stage(name)
    assert recording is not None
    return written(next(one.loss for one in recording.view.evaluations if one.step == recording.view.steps))


def weights(name: str, vocabulary: CharVocab) -> Tensor:
    """Return the weights of layer 0 (H, T, T) for what the page shows."""
    reading, model = reading_of_tokens("text", vocabulary.tokenize(GIVEN)), trained(name)
    assert isinstance(model, TokenModel)
    return weights_of(model, reading.batch)[Place("decoder", 0)][0]


def next_of(name: str, given: str, wanted: str, vocabulary: CharVocab) -> str:
    """Return the probability that a character follows."""
    with torch.no_grad():
        logits = trained(name)(torch.tensor([vocabulary.tokenize(given).ids]))[0, -1]
    return written(logits.softmax(-1)[vocabulary.tokenize(wanted).ids[0]])


def ladder() -> dict[int, Sequence[str]]:
    text = built_in()
    assert text.startswith(GIVEN)
    subject = Text(text, 8)
    vocabulary, training = CharVocab(subject.labels), text[: len(subject.train)]

    counted = BigramModel.by_counting(subject.train, len(subject.labels), smoothing=1)

    def share(first: str, second: str) -> str:
        row, column = vocabulary.tokenize(first + second).ids
        with torch.no_grad():
            return written(counted(torch.tensor([row]))[0].softmax(-1)[column])

    assert training[:-1].count("T") == training.count("Th") == 491
    shown = read_link(shipped()["ladder"].scenes[0].values())[0]
    assert len(subject.labels) == 52
    assert [subject.labels[shown[name]] for name in ("q", "k")] == ["T", "h"]
    floor = validation_loss(counted, subject.validation, 8)
    table = next_of("bigram", "a", "s", vocabulary)
    head, heads = weights("head", vocabulary)[0], weights("heads", vocabulary)
    assert int(head[4].argmax()) == 3
    question = shipped()["ladder"].scenes[3].asked
    assert "one chance in five" in question
    assert table == "0.20"
    cost = -torch.log_softmax(trained("bigram").get_submodule("table").weight, -1)  # type: ignore[arg-type]
    (a,), (s,) = vocabulary.tokenize("a").ids, vocabulary.tokenize("s").ids
    plans = {stage.name: stage.plan(len(subject.labels)).model for stage in SERIES}
    gpt, gru, norm = plans["gpt"], plans["gru"], plans["norm"]
    assert isinstance(gpt, TokenConfig)
    assert isinstance(norm, TokenConfig)
    assert isinstance(gru, GRUConfig)
    assert (gpt.layers, gpt.width, norm.layers) == (4, 2 * norm.width, 3)
    return {
        1: ["491", share("T", "h"), share("t", "h"), share("t", " ")],
        2: [table, table, written(cost[a, s].detach())],
        3: [written(floor), loss("bigram")],
        4: [written(head[4, 3]), written(head[4, 4]), loss("head")],
        5: [written(heads[1, 7, 6]), written(heads[3, 7, 7]), loss("heads")],
        6: [loss("heads"), loss("feed_forward")],
        7: [loss("feed_forward"), loss("residual")],
        8: [loss("norm"), loss("residual")],
        9: [str(gpt.block_size), str(norm.block_size), loss("gpt")],
        10: [str(gru.width), loss("gru")],
    }
