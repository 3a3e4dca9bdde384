"""The figures of the lesson "Attention is not explanation, or is it?", worked out from the models themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from attnviz.bert.ablation import cosine, effects, head_measures, hidden_without, spearman
from attnviz.bert.classification.shipped import load as classifier
from attnviz.lessons import shipped
from attnviz.links.link import read_link
from attnviz.measures.survey import mean_weights, rollout
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.trace.trace import Trace
from attnviz.trained import recorded
from attnviz.training.jobs.weights import model_of
from attnviz.training.tasks import TASKS
from attnviz.ui.train.arrays import accuracy_without, heads_of
from tests.loaded import built_in_model
from tests.unit.lessons.trainings import written

Heads = Sequence[tuple[int, int]]
BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."
FILM = "The film was not bad at all, but I would not call it good."
IT, RIDDEN = 11, 5
"""Positions of “it” and “bicycle” """


@cache
def trace(text: str) -> Trace:
    return built_in_model().trace(text)


def without(heads: Heads, text: str = BICYCLE) -> tuple[float, Tensor]:
    """Return the cosine of the sentence embedding, and those of the tokens, (T,)."""
    before, after = trace(text).last_hidden_state, hidden_without(built_in_model(), trace(text).tokens, heads)
    return float(cosine(before.mean(0), after.mean(0))), cosine(before, after)


def off(scene: int) -> Heads:
    """Return the heads that a scene switches off."""
    heads: Heads = read_link(shipped()["explanation"].scenes[scene - 1].values())[0]["off"]
    return heads


def negative(heads: Heads) -> float:
    """Return the probability of "negative" for the film, in per cent."""
    layer, hidden = classifier("classifier").classifier, hidden_without(built_in_model(), trace(FILM).tokens, heads)
    assert (layer.how, layer.tanh, layer.labels) == ("mean", False, ("negative", "positive"))
    return 100 * float((hidden.mean(0) @ layer.weight.T + layer.bias).softmax(-1)[0])


def answered_without(place: Place, head: int) -> tuple[float, float]:
    """Return the share of right answers of the recorded model without a head, and of the whole one, in per cent."""
    recording = recorded.of_task("induction")[0]
    last = model_of(recording.plan.model, recording.view.snapshots[-1].weights)
    assert isinstance(last, TokenModel)
    shares = accuracy_without(last, TASKS["induction"])
    return 100 * float(shares[heads_of(last).index((place, head))]), 100 * recording.view.evaluations[-1].accuracy


def explanation() -> dict[int, Sequence[str]]:
    tokens, effect = trace(BICYCLE).tokens, effects(trace(BICYCLE)).sentence
    assert (tokens.labels[IT], tokens.labels[RIDDEN]) == ("it", "bicycle")
    measures, order = head_measures(trace(BICYCLE)), effect.flatten().argsort(descending=True).tolist()
    assert divmod(int(measures.largest.argmax()), 12) == (0, 2)
    assert divmod(int(head_measures(trace(FILM)).largest.argmax()), 12) == (0, 2)
    assert (off(2), off(3), off(4)) == (((3, 1),), ((0, 2), (3, 1)), ((0, 2), (3, 1)))
    assert off(5) == tuple(sorted(divmod(head, 12) for head in order[-24:]))
    assert (0, 2) in off(5)
    assert off(6) == tuple((5, head) for head in range(12))
    each = torch.tensor([negative([divmod(head, 12)]) for head in range(72)])
    assert off(7) == (divmod(int((each - negative([])).abs().argmax()), 12),)
    assert negative(off(7)) < 50 < negative([])
    assert without(off(6))[0] < without(off(5))[0]
    other = effects(trace(FILM)).sentence.flatten().argsort(descending=True).tolist()
    assert other[:3] != order[:3]  # on another sentence the order is another
    whole, _ = without(off(2))
    assert abs(negative([(0, 2)]) - negative([])) < 1  # per cent: hardly anything changes
    rolled = list(rollout(mean_weights(layer) for layer in trace(BICYCLE).layers["encoder"]))[5][IT]
    answered, right = answered_without(Place("decoder", 0), 0)
    assert 99.9 < right < 100  # nearly all
    return {
        1: [written(trace(BICYCLE).attentions(3)[1, IT, RIDDEN])],
        2: [written(whole, 4), str(order.index(3 * 12 + 1))],
        3: [str(order.index(2)), written(spearman(measures.largest, effect))],
        4: [written(spearman(measures.norm, effect))],
        5: [written(without(off(5))[0], 4)],
        6: [written(without(off(6))[0], 4)],
        7: [written(one, 1) for one in (negative([]), negative(off(7)))],
        8: [written(rolled[RIDDEN]), written(rolled[0])],
        9: [written(answered, 1)],
    }
