"""What a training job is made of: messages, the steps that are kept, limits, and attention over a training."""

from __future__ import annotations

import io
import queue
import struct
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.trace.model import Place
from attnviz.training.evaluation import weights_of
from attnviz.training.jobs import run
from attnviz.training.jobs.jobs import SNAPSHOT_BYTES, SNAPSHOTS, Job
from attnviz.training.jobs.process import BrokenMessageError, Message
from attnviz.training.jobs.run import Run, evaluation_steps, snapshot_steps, why
from attnviz.training.jobs.view import Snapshot, View, thinned_losses
from attnviz.training.jobs.weights import attention_over_time, model_of, thinned, to_bytes
from attnviz.training.plan import TEXT_BYTES, Limits, Plan, TooLargeError, build, parameters_of
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch

INDUCTION = TASKS["induction"]
PLAN = Plan("induction", INDUCTION.model, TrainingSettings(steps=500, batch=64))
SHAPES: tuple[ModelConfig, ...] = (
    TokenConfig(26, 32, layers=1, heads=2, width=16, bias=False, outputs=3),
    TokenConfig(26, 32, "both", layers=2, heads=2, width=16),
    GRUConfig(26, 32, width=16),
    BigramConfig(26),
)


def test_a_message_arrives_as_it_was_sent_and_nonsense_is_refused() -> None:
    pipe = io.BytesIO()
    for message in (Message({"kind": "speed", "steps": 2.5}), Message({"kind": "snapshot"}, b"\0\xff")):
        message.write(pipe)
    pipe.seek(0)
    assert [Message.read(pipe) for _ in range(3)] == [
        Message({"kind": "speed", "steps": 2.5}), Message({"kind": "snapshot"}, b"\0\xff"), None
    ]  # fmt: skip
    assert Message.read(io.BytesIO(pipe.getvalue()[:-1])) == Message({"kind": "speed", "steps": 2.5})
    for wrong in (b"\xff" * 8, struct.pack("<II", 2, 0) + b"[]", struct.pack("<II", 2, 0) + b"{]"):
        with pytest.raises(BrokenMessageError):
            Message.read(io.BytesIO(wrong))


@pytest.mark.parametrize("steps", [snapshot_steps, evaluation_steps])
def test_steps_are_dense_at_first_and_sparser_later(steps: object) -> None:
    assert callable(steps)
    for total in (1, 7, 150, 800, 100_000):
        found = steps(total)
        assert (found[0], found[-1]) == (0, total)
        assert list(found) == sorted(set(found))
        assert len(found) <= SNAPSHOTS
    distances = np.diff(steps(100_000)[:-1])
    assert distances[0] in (5, 10)
    assert (np.diff(distances) >= 0).all()


def test_a_failed_training_says_why_in_one_sentence() -> None:
    memory = "The training needs more than 300 MB of memory: choose a smaller batch, block size or model."
    for error in (MemoryError(), RuntimeError("you can't allocate memory: 8 bytes"), RuntimeError("std::bad_alloc")):
        assert why(error) == memory
    assert why(ValueError("This text\nis  short.")) == "This text is short."
    assert why(ValueError("not a plan")) == "The training failed: not a plan."
    assert why(RuntimeError("Shapes differ.")) == "The training failed: Shapes differ."
    assert why(AssertionError()) == "The training failed: AssertionError."
    assert why(RuntimeError("x" * 301)) == f"The training failed: {'x' * 300}."


def test_a_training_tells_its_speed_over_two_seconds_and_its_losses_ten_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of slow steps it tells the last; of 100 ms and then 20 ms both count alike a second later, and soon one only."""
    now = [50.0]

    class Timed:
        """A trainer whose steps take no longer than it says."""

        def __init__(self, model: torch.nn.Module, *_: object) -> None:
            self.model, self.step = model, 0

        def advance(self) -> float:
            now[0] += {0: 8.0, 1: 4.0}.get(self.step, 0.1001 if self.step < 30 else 0.02)
            self.step += 1
            return 0.5

    monkeypatch.setattr(run, "Trainer", Timed)
    monkeypatch.setattr(run, "Evaluator", lambda *_: SimpleNamespace(evaluate=lambda *_, whole: {"whole": whole}))
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: now[0]))
    plan = Plan("depth", TokenConfig(3, 16, layers=0, heads=1, width=2, outputs=9), TrainingSettings(182, batch=1))
    pipe = io.BytesIO()
    Run(Message({"kind": "start", "job": "a", "plan": plan.to_json()}), queue.SimpleQueue(), pipe).to_the_end()
    pipe.seek(0)
    told = [message.header for message in iter(lambda: Message.read(pipe), None) if message is not None]
    speeds = {one["step"]: one["speed"] for one in told if one["kind"] == "progress"}
    assert [speeds[step] for step in (0, 1, 2)] == [0, 1 / 8, 1 / 4]
    assert speeds[25] == pytest.approx(10, rel=0.01)
    assert speeds[80] == pytest.approx((10 + 50) / 2, rel=0.05)
    assert speeds[182] == pytest.approx(50, rel=0.01)
    assert set(range(31)) <= set(speeds)
    assert [step for step in speeds if 80 < step < 100] == [85, 90, 95]  # with the snapshots: each 100 ms
    assert sum(one["kind"] == "snapshot" for one in told) == len(snapshot_steps(182))


def test_snapshots_of_a_job_are_bounded_and_keep_the_first_and_the_last() -> None:
    job, size = Job("a", PLAN), SNAPSHOT_BYTES // 20
    for step in range(100):
        job.receive(Message({"kind": "snapshot", "step": step}, bytes(size)))
    kept = [one.step for one in job.view.snapshots]
    assert (kept[0], kept[-1]) == (0, 99)
    assert len(kept) > 8
    assert job.nbytes <= SNAPSHOT_BYTES
    few = thinned(job.view.snapshots, 3)
    assert (few[0].step, len(few), few[-1].step) == (0, 3, 99)
    assert job.version == 100


@pytest.mark.parametrize("config", SHAPES, ids=lambda one: type(one).__name__)
def test_weights_come_back_in_float16(config: ModelConfig) -> None:
    model = build(config, 1)
    data = to_bytes(model)
    assert data is not None
    again = model_of(config, data)
    assert not again.training
    for name, one in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], one.half().float()), name
    with pytest.raises(ValueError, match="weights of this model"):
        model_of(config, data[:-2])
    next(model.parameters()).data.flatten()[0] = 1e6
    assert to_bytes(model) is None
    assert parameters_of(config, 10**6) == sum(one.numel() for one in model.parameters())


def test_attention_over_a_training_is_that_of_each_snapshots_model() -> None:
    config, place = INDUCTION.model, Place("decoder", 1)
    whole = INDUCTION.held_out()
    batch = Batch(whole.ids[:1], whole.targets[:1])
    snapshots = [Snapshot(seed * 5, to_bytes(build(config, seed)) or b"") for seed in range(6)]
    found = attention_over_time(config, snapshots, batch, place)
    assert found.steps == (0, 5, 10, 15, 20, 25)
    assert found.weights.shape == (6, 2, 32, 32)
    for one, shown in zip(snapshots, found.weights, strict=True):
        model = model_of(config, one.weights)
        expected = weights_of(model, batch)[place][0]  # type: ignore[arg-type]
        assert np.array_equal(shown, expected.half().numpy())
    few = attention_over_time(config, snapshots, batch, place, most=3 * found.weights[0].nbytes)
    assert few.steps == (0, 10, 25)
    for wrong in (Place("decoder", 2), Place("cross", 0)):
        with pytest.raises(ValueError, match="no attention"):
            attention_over_time(config, snapshots, batch, wrong)
    with pytest.raises(ValueError, match=r"^a batch of 512 and 6 snapshots; it takes one text, and a snapshot$"):
        attention_over_time(config, snapshots, whole, place)


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (replace(PLAN, training=TrainingSettings(steps=501)), "500 steps"),
        (replace(PLAN, training=TrainingSettings(steps=5, batch=65)), "64 sequences"),
        (replace(PLAN, model=TokenConfig(26, 129)), "128 tokens"),
        (replace(PLAN, model=TokenConfig(26, 32, layers=10**9)), "24 layers"),
        (replace(PLAN, model=TokenConfig(26, 32, width=2**40)), "1,024 numbers"),
        (replace(PLAN, model=TokenConfig(2**60, 32)), "100,000 parameters"),
        (replace(PLAN, model=TokenConfig(26, 32, feed_forward=2**60)), "100,000 parameters"),
        (replace(PLAN, model=TokenConfig(26, 32)), "100,000 parameters"),
        (replace(PLAN, model=GRUConfig(26, 32, layers=10**9)), "24 layers"),
    ],
)
def test_what_is_too_large_is_refused_with_its_limit(plan: Plan, named: str) -> None:
    limits = Limits(steps=500, parameters=100_000, block=128, batch=64)
    limits.check(PLAN)
    with pytest.raises(TooLargeError, match=named):
        limits.check(plan)


def test_a_text_is_limited_and_needed() -> None:
    plan = Plan(TEXT, BigramConfig(2), TrainingSettings())
    Limits().check(plan, "ab" * 100)
    for text in ("a" * (TEXT_BYTES + 1), "é" * (TEXT_BYTES // 2 + 1), "\ud800" * (TEXT_BYTES + 1)):
        with pytest.raises(TooLargeError, match=r"^The text is longer than 5 MB\.$"):
            Limits().check(plan, text)
    for wrong, text in ((plan, None), (PLAN, "ab"), (replace(PLAN, subject="flying"), None)):
        with pytest.raises(ValueError, match=r"A text|no task"):
            Limits().check(wrong, text)


def test_a_view_says_how_long_it_takes() -> None:
    assert View("running", 100, step=40, speed=20.0).seconds_left == 3
    assert View("running", 100).seconds_left is None
    assert View("stopped", 100, step=40, speed=20.0).seconds_left is None


def test_watching_jobs_loads_no_torch() -> None:
    code = "import sys, attnviz.training.jobs.jobs, attnviz.training.jobs.worker; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(("count", "points"), [(0, 0), (1, 1), (10, 10), (11, 6), (1000, 10)])
def test_a_long_loss_curve_is_means_of_steps(count: int, points: int) -> None:
    losses = np.arange(count, dtype=np.float32) ** 2
    steps, means = thinned_losses(losses, 10)
    assert len(steps) == len(means) == points
    each = -(-count // 10) or 1
    blocks = [losses[at : at + each] for at in range(0, count, each)]
    np.testing.assert_allclose(means, [block.mean() for block in blocks], rtol=1e-6)
    np.testing.assert_allclose(
        steps, [at + (len(b) - 1) / 2 for at, b in zip(range(0, count, each), blocks, strict=True)]
    )
