"""The figures of the closing lesson, worked out from the weights of the recorded training."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnviz.lessons import shipped
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.trained import recorded
from attnviz.training.evaluation import weights_of
from attnviz.training.jobs.weights import model_of
from attnviz.training.tasks import TASKS
from attnviz.ui.train.arrays import reading_of


def claims() -> dict[int, Sequence[str]]:
    recording = recorded.of_task("modular")[0]
    scene = shipped()["claims"].scenes[5]

    def right(step: int, trained: bool) -> float:
        """Return the share of the sums of the training, or of all others, whose largest logit is (a + b) modulo 31."""
        snapshot = next(one for one in recording.view.snapshots if one.step == step)
        model = model_of(recording.plan.model, snapshot.weights)
        assert isinstance(model, TokenModel)
        drawn = TASKS["modular"].draw(10_000, torch.Generator().manual_seed(0)).ids[:, :2].tolist()
        trained_on = {(a, b) for a, b in drawn}
        sums = [(a, b) for a in range(31) for b in range(31) if ((a, b) in trained_on) == trained]
        with torch.inference_mode():
            logits = model(torch.tensor([[a, b, 31] for a, b in sums]))[:, -1]
        return (
            100 * sum(int(row.argmax()) == (a + b) % 31 for row, (a, b) in zip(logits, sums, strict=True)) / len(sums)
        )

    assert scene.values()["snapshot"] == "460"
    assert right(460, trained=True) == 100
    task = TASKS["modular"]
    reading = reading_of(task, *task.read(task.examples[0]))
    snapshot = next(one for one in recording.view.snapshots if one.step == 460)
    model = model_of(recording.plan.model, snapshot.weights)
    assert isinstance(model, TokenModel)
    weights = weights_of(model, reading.batch)[Place("decoder", 0)][0, :, 2]  # (H, 3): of the equals sign
    assert weights[0, 0] > 0.99
    assert weights[3, 1] > 0.9
    last = recording.view.snapshots[-1].step
    return {6: [f"{right(460, trained=False):.1f}", f"{right(last, trained=False):.1f}"]}
