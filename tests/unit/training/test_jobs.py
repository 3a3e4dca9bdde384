"""Training jobs: what a process of its own tells equals a training here, and nothing that happens to it breaks more."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from attnviz.toy.language.config import ModelConfig, TokenConfig
from attnviz.training.evaluation import scores_of, weights_of
from attnviz.training.jobs import process
from attnviz.training.jobs.jobs import GONE, IDLE, JOBS, LEASE, TURN, Job, Jobs, held_by
from attnviz.training.jobs.run import evaluation_steps, snapshot_steps
from attnviz.training.jobs.weights import model_of
from attnviz.training.loop import Trainer
from attnviz.training.plan import MEMORY_MB, Limits, Plan, build, subject_of
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.text.subject import Text
from tests.threads import Clock
from tests.waiting import until

INDUCTION = TASKS["induction"]
SMALL = TokenConfig(26, 32, layers=1, heads=2, width=16, dropout=0.1)
SLOW = 5.0
"""Steps a second of a training that is to be there for a while"""


def plan(steps: int = 30, model: ModelConfig = SMALL, subject: str = "induction", **settings: object) -> Plan:
    return Plan(subject, model, TrainingSettings(steps=steps, batch=8, **settings))  # type: ignore[arg-type]


def status(job: Job, *wanted: str) -> None:
    until(lambda: job.view.status in wanted)


def losses(made: Plan, text: str | None = None) -> np.ndarray:
    """Train in this process, as the job does."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(made.training.seed)
        trainer = Trainer(build(made.model, made.training.seed), subject_of(made, text).batch, made.training)
        return np.array([trainer.advance() for _ in range(made.training.steps)], np.float32)


@pytest.fixture(scope="module")
def shared() -> Iterator[Jobs]:
    """Jobs of which no process ends between tests: torch is imported once."""
    jobs = Jobs()
    yield jobs
    jobs.close()


@pytest.fixture
def jobs(shared: Jobs) -> Iterator[Jobs]:
    yield shared
    for visitor in "abc":
        shared.release(visitor)


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def one_at_a_time(clock: Clock) -> Iterator[Jobs]:
    jobs = Jobs(Limits(running=1), is_here=lambda _: True, clock=clock)
    yield jobs
    jobs.close()


@pytest.fixture
def single(one_at_a_time: Jobs) -> Iterator[Jobs]:
    """A server on which one training runs at a time."""
    yield one_at_a_time
    for visitor in "abc":
        one_at_a_time.release(visitor)


def test_a_job_tells_the_losses_and_weights_of_a_training_here(jobs: Jobs) -> None:
    job = jobs.start("a", plan())
    status(job, "done", "failed")
    view = job.view
    assert (view.status, view.message, view.step, view.seconds_left) == ("done", "", 30, None)
    assert view.losses.tolist() == losses(plan()).tolist()
    assert tuple(one.step for one in view.snapshots) == snapshot_steps(30)
    assert tuple(one.step for one in view.evaluations) == evaluation_steps(30)
    untrained = model_of(SMALL, view.snapshots[0].weights).state_dict()
    for name, one in build(SMALL, 0).state_dict().items():
        assert torch.equal(untrained[name], one.half().float()), name


def test_an_evaluation_is_that_of_the_model_on_held_out_sequences(jobs: Jobs) -> None:
    job = jobs.start("a", plan(model=replace(SMALL, dropout=0.0)))
    status(job, "done", "failed")
    last = job.view.evaluations[-1]
    model = model_of(SMALL, job.view.snapshots[-1].weights)
    batch = INDUCTION.held_out()
    expected = torch.nn.functional.cross_entropy(model(batch.ids).flatten(0, 1), batch.targets.flatten())
    assert last.loss == pytest.approx(expected.item(), abs=2e-3)  # the snapshot is in float16
    for pattern in INDUCTION.patterns:
        for place, heads in scores_of(weights_of(model, batch), batch, pattern).items():  # type: ignore[arg-type]
            assert last.scores[pattern.name][place] == pytest.approx(heads.tolist(), abs=2e-3)
    assert last.best("match") == max(max(heads) for heads in last.scores["match"].values())


def test_stop_one_step_and_continue_change_no_number(jobs: Jobs) -> None:
    job = jobs.start("a", plan(), speed=SLOW)
    until(lambda: job.view.step >= 2)
    jobs.stop("a")
    status(job, "stopped")
    stopped = job.view.step
    assert stopped < 30
    assert job.view.snapshots[-1].step == stopped
    jobs.one_step("a")
    until(lambda: job.view.step == stopped + 1 and job.view.snapshots[-1].step == stopped + 1)
    time.sleep(0.3)
    assert (job.view.step, job.view.status, job.view.can_continue) == (stopped + 1, "stopped", True)
    jobs.set_speed("a", 0)
    jobs.go_on("a")
    status(job, "done", "failed")
    assert job.view.losses.tolist() == losses(plan()).tolist()


def test_hundreds_of_commands_at_once_are_all_obeyed(jobs: Jobs) -> None:
    job = jobs.start("a", plan(3000), speed=SLOW)
    until(lambda: job.view.step >= 1)
    [here] = jobs.processes()
    os.kill(here, signal.SIGSTOP)  # it reads none of them, as on a busy machine
    for _ in range(3000):
        jobs.set_speed("a", SLOW)
    jobs.stop("a")
    os.kill(here, signal.SIGCONT)
    status(job, "stopped", "failed")
    assert (job.view.status, job.view.can_continue) == ("stopped", True)


def test_a_process_that_reads_no_command_any_more_is_ended(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STUCK", 0.1)
    job = jobs.start("a", plan(3000), speed=SLOW)
    until(lambda: job.view.step >= 1)
    os.kill(jobs.processes()[0], signal.SIGSTOP)
    for _ in range(4000):
        jobs.set_speed("a", SLOW)
    # Each command looks whether the process still reads.
    until(lambda: jobs.set_speed("a", SLOW) or job.view.status == "failed")
    assert job.view.message == GONE


def test_a_step_by_step_training_begins_with_one_step(jobs: Jobs) -> None:
    job = jobs.start("a", plan(), paused=True)
    status(job, "stopped")  # after its step, not before: nobody looks at a training that has stopped
    assert (job.view.step, job.view.snapshots[-1].step) == (1, 1)
    assert job.view.losses.tolist() == losses(plan())[:1].tolist()


def test_slow_motion_keeps_to_its_speed_and_shows_every_step(jobs: Jobs) -> None:
    job = jobs.start("a", plan(8), speed=SLOW)
    until(lambda: job.view.step >= 1)
    began = time.monotonic()
    status(job, "done", "failed")
    assert time.monotonic() - began > 5 / SLOW
    assert [one.step for one in job.view.snapshots] == list(range(9))


def test_a_killed_process_is_said_and_the_training_goes_on_from_its_last_stop(jobs: Jobs) -> None:
    job = jobs.start("a", plan(), speed=SLOW)
    until(lambda: job.view.step >= 2)
    jobs.stop("a")
    status(job, "stopped")
    stopped = job.view.step
    jobs.go_on("a")
    until(lambda: job.view.step > stopped)
    for one in jobs.processes():
        os.kill(one, signal.SIGKILL)
    status(job, "failed")
    assert job.view.message == GONE
    assert job.view.can_continue
    jobs.set_speed("a", 0)
    jobs.go_on("a")
    status(job, "done")
    assert job.view.losses.tolist() == losses(plan()).tolist()


def test_a_diverging_training_is_said_to_diverge(jobs: Jobs) -> None:
    job = jobs.start("a", plan(200, learning_rate=100.0, warm_up=0, optimiser="sgd", clip=0.0))
    status(job, "diverged", "done", "failed")
    assert job.view.status == "diverged"
    assert "diverged" in job.view.message
    assert "learning rate" in job.view.message
    assert not job.view.can_continue
    model = model_of(SMALL, job.view.snapshots[-1].weights)
    assert all(bool(torch.isfinite(one).all()) for one in model.parameters())


def test_a_text_is_trained_on_and_one_without_a_block_is_refused_in_a_sentence(jobs: Jobs) -> None:
    text = "To be, or not to be: that is the question. " * 20
    made = plan(5, TokenConfig(len(set(text)), 16, layers=1, heads=1, width=8), TEXT)
    job = jobs.start("a", made, text)
    status(job, "done", "failed")
    assert job.view.losses.tolist() == losses(made, text).tolist()
    job = jobs.start("a", made, "no")
    status(job, "done", "failed")
    assert job.view.message.startswith("This text has 2 characters")


def test_trainings_follow_one_another_on_the_same_text_and_end_with_its_whole_validation_loss(jobs: Jobs) -> None:
    text = "To be, or not to be: that is the question. " * 40
    wide = TokenConfig(len(set(text)), 16, layers=1, heads=1, width=8)
    plans = [plan(steps, wide, TEXT, seed=steps) for steps in (4, 5, 6)]
    jobs.start("a", plans[0], text, then=plans[1:])
    until(lambda: len(jobs.jobs("a")) == 3 and jobs.jobs("a")[0].view.has_ended)
    last = jobs.jobs("a")[0]
    assert [one.plan for one in jobs.jobs("a")] == plans[::-1]
    assert [one.view.losses.tolist() for one in jobs.jobs("a")] == [losses(one, text).tolist() for one in plans[::-1]]
    assert held_by(jobs.jobs("a")) == sum(one.nbytes for one in jobs.jobs("a")) + sys.getsizeof(text)
    # The whole validation part, block by block, in one call of torch's.
    subject, model = Text(text, 16), model_of(wide, last.view.snapshots[-1].weights)
    ids = subject.validation
    logits = torch.cat([model(ids[None, at : min(at + 16, len(ids) - 1)])[0] for at in range(0, len(ids) - 1, 16)])
    expected, right = float(torch.nn.functional.cross_entropy(logits, ids[1:])), logits.argmax(-1) == ids[1:]
    told = last.view.evaluations[-1]
    assert told.loss == pytest.approx(expected, abs=2e-3)  # weights of snapshots are float16
    assert told.accuracy == pytest.approx(float(right.float().mean()), abs=1.5 / len(right))


def test_another_training_takes_the_place_of_those_that_would_follow(jobs: Jobs) -> None:
    jobs.start("a", plan(3000), speed=SLOW, then=[plan(7)])
    other = jobs.start("a", plan(3))
    status(other, "done")
    time.sleep(0.2)
    assert [one.plan.training.steps for one in jobs.jobs("a")] == [3, 3000]


def test_memory_is_limited_and_a_training_beyond_it_ends_alone(jobs: Jobs) -> None:
    there = jobs.start("b", plan(300), speed=SLOW)
    deep = TokenConfig(26, 32, layers=2, heads=16, width=128)  # with more memory for each product of matrices
    job = jobs.start("a", Plan("induction", deep, TrainingSettings(batch=4096)))
    status(job, "failed", "done")
    assert job.view.message == (
        f"The training needs more than {MEMORY_MB} MB of memory: choose a smaller batch, block size or model."
    )
    assert there.view.status == "running"
    again = jobs.start("a", plan())
    status(again, "done", "failed")
    assert again.view.status == "done"


def test_the_process_is_modest(jobs: Jobs) -> None:
    job = jobs.start("a", plan())
    status(job, "done")
    for one in map(psutil.Process, jobs.processes()):
        limit, memory = one.rlimit(resource.RLIMIT_DATA)[0], one.memory_info()
        assert 0 < limit - memory.data < MEMORY_MB * 2**20, "there is memory for a training, and not more than is said"
        assert limit > MEMORY_MB * 2**20, "the libraries don't count"
        assert one.nice() >= 10


def test_others_wait_and_are_told_their_place(single: Jobs) -> None:
    first, second, third = (single.start(name, plan(3000), speed=SLOW) for name in "abc")
    assert [(one.view.status, one.view.place) for one in (first, second, third)] == [
        ("running", 0), ("queued", 1), ("queued", 2)
    ]  # fmt: skip
    until(lambda: first.view.step >= 1)
    single.stop("b")
    assert (second.view.status, third.view.place) == ("stopped", 1)
    single.go_on("b")
    assert (second.view.status, second.view.place) == ("queued", 2)
    single.stop("a")  # a stopped training gives its process to who waits, and keeps all that it needs to go on
    status(third, "running")
    assert (first.view.status, second.view.place) == ("stopped", 1)
    until(lambda: third.view.step >= 1)
    single.release("c")
    status(second, "running")
    single.go_on("a")
    assert first.view.place == 1
    single.release("b")
    status(first, "running")
    until(lambda: first.view.step >= 2)
    assert len(single.processes()) == 1


def test_a_long_training_lets_others_take_turns(single: Jobs, clock: Clock) -> None:
    first = single.start("a", plan(60), speed=SLOW)
    until(lambda: first.view.step >= 1)
    second = single.start("b", plan(3))
    single.look()
    assert (first.view.status, second.view.status) == ("running", "queued")
    clock.now += TURN + 1
    single.look()
    status(second, "done")
    status(first, "running")
    single.set_speed("a", 0)
    status(first, "done")
    assert first.view.losses.tolist() == losses(plan(60)).tolist()


def test_a_process_is_kept_for_a_while_after_a_long_training_and_then_ended(single: Jobs, clock: Clock) -> None:
    long = single.start("a", plan(3000), speed=SLOW)
    until(lambda: long.view.step >= 1)
    clock.now += 3 * IDLE
    single.release("a")  # the process drops the training that it was given long ago
    [kept] = single.processes()
    clock.now += IDLE - 1
    single.look()
    assert single.processes() == (kept,)
    short = single.start("a", plan(20), speed=SLOW)
    until(lambda: short.view.step >= 1)
    clock.now += 3 * IDLE
    single.set_speed("a", 0)
    status(short, "done", "failed")  # this one ends of itself
    clock.now += IDLE - 1
    single.look()
    assert single.processes() == (kept,)
    clock.now += 2
    single.look()
    assert single.processes() == ()


def test_a_new_training_ends_the_one_before_and_both_stay(jobs: Jobs) -> None:
    first = jobs.start("a", plan(3000), speed=SLOW)
    until(lambda: first.view.step >= 1)
    second = jobs.start("a", plan())
    assert (first.view.status, first.view.can_continue) == ("stopped", False)
    assert jobs.jobs("a") == (second, first)
    status(second, "done")
    assert second.view.losses.tolist() == losses(plan()).tolist()


def test_hundreds_of_starts_in_a_row_leave_other_trainings_alone(jobs: Jobs) -> None:
    there = jobs.start("b", plan(3000), speed=SLOW)
    until(lambda: there.view.step >= 1)
    began, threads = there.view.step, threading.active_count()
    for seed in range(150):
        last = jobs.start("a", plan(3, seed=seed))
    assert len(jobs.jobs("a")) == JOBS
    assert len(jobs.processes()) <= 2
    assert threading.active_count() <= threads + 2
    status(last, "done", "failed")
    assert last.view.losses.tolist() == losses(plan(3, seed=149)).tolist()
    until(lambda: there.view.step > began)
    assert there.view.status == "running"


ROOT = Path(__file__).resolve().parents[3]


def test_a_training_ends_when_its_visitor_has_gone() -> None:
    here, clock = {"b"}, Clock()
    jobs = Jobs(Limits(running=1), is_here=here.__contains__, clock=clock)
    try:
        gone, stays = (jobs.start(name, plan(3000), speed=SLOW) for name in "ab")
        clock.now = LEASE - 1
        jobs.look()
        assert (gone.view.status, stays.view.status) == ("running", "queued")
        clock.now = LEASE + 1
        jobs.look()
        assert (gone.view.status, gone.view.can_continue, jobs.job("a")) == ("stopped", False, None)
        assert (stays.view.status, jobs.job("b")) == ("running", stays)
        here.clear()
        clock.now = 3 * LEASE
        jobs.look()
        assert jobs.job("b") is None
        assert jobs.counts()[:2] == (0, 0)
    finally:
        processes = jobs.processes()
        jobs.close()
    assert processes
    assert not [one for one in processes if psutil.pid_exists(one)]
    assert jobs.start("a", plan()).view.status == "failed"


def test_a_process_ends_with_its_server() -> None:
    """One server is killed; the other, of which it is a fork, exits."""
    code = (
        "import os, signal, sys, time\nfrom attnviz.toy.language.config import TokenConfig\n"
        "from attnviz.training.jobs.jobs import Jobs\nfrom attnviz.training.plan import Plan\n"
        "from attnviz.training.settings import TrainingSettings\n"
        f"plan = Plan('induction', {SMALL}, TrainingSettings(steps=3000, batch=8))\n"
        "exits, jobs = os.fork(), Jobs()\n"
        f"job = jobs.start('a', plan, speed={SLOW})\nwhile not job.view.step:\n    time.sleep(0.01)\n"
        "print(os.getpid(), *jobs.processes(), flush=True)\nsys.stdin.read() if exits else signal.pause()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as exits:
        assert exits.stdin is not None and exits.stdout is not None
        lines = [[int(one) for one in exits.stdout.readline().split()] for _ in range(2)]
        assert [len(line) for line in lines] == [2, 2]
        found = {server: psutil.Process(process) for server, process in lines}
        assert all(one.is_running() for one in found.values())
        (killed,) = found.keys() - {exits.pid}
        os.kill(killed, signal.SIGKILL)
        assert psutil.wait_procs([found[killed]], timeout=30)[1] == []
        assert found[exits.pid].is_running()
        exits.stdin.close()
        assert psutil.wait_procs([found[exits.pid]], timeout=30)[1] == []
