"""The figures of the lesson "Attention forms", worked out from the recorded trainings."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from torch import Tensor

from attnviz.lessons import shipped
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.trained import recorded
from attnviz.trained.recorded import Recording
from attnviz.training.evaluation import weights_of
from attnviz.training.jobs.view import Evaluation
from attnviz.training.jobs.weights import model_of
from attnviz.training.tasks import TASKS
from attnviz.ui.train.arrays import accuracy_without, heads_of, reading_of


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
    assert recording.plan.model.layers == 2  # type: ignore[union-attr]
    return {
        1: [share(told(800).accuracy)],
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
