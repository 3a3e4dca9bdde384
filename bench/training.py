"""Training: a job against a plain torch loop, its first snapshot and memory, and what other visitors notice of it.

Of the tasks, how long each is trained, with its defaults on one thread, until 95 % of what is held out is right.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import psutil
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz import trained
from attnviz.tokens import CharVocab
from attnviz.toy.language.config import TokenConfig
from attnviz.training.evaluation import evaluate
from attnviz.training.generation import Sampling, record
from attnviz.training.jobs.jobs import Jobs
from attnviz.training.loop import Trainer
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Task
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text
from bench.apps import OURS
from bench.load import ENTRANCE, Crowd, memory, percentile, served
from bench.stopwatch import act, chrome, new_page, wait_for_calm
from bench.table import Row, alternating, compared
from tests.browser.settle import settled

BLOCK, BATCH, WIDTH, LAYERS, HEADS = 64, 12, 128, 4, 4
STEPS, ROUNDS = 30, 6
WARM = 5
"""Steps before those that are measured"""
FIRSTS = 10
SESSIONS, SECONDS = 10, 20


class PlainGPT(nn.Module):
    """The same model as one writes it with torch's own layers."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, WIDTH), nn.Embedding(BLOCK, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, vocabulary)
        self.mask = nn.Transformer.generate_square_subsequent_mask(BLOCK)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token(ids) + self.position.weight
        logits: Tensor = self.head(self.blocks(x, mask=self.mask, is_causal=True))
        return logits


def rows() -> Iterator[Row]:
    """Measure all of it."""
    torch.set_num_threads(1)
    text = Text(built_in(), BLOCK)
    config = TokenConfig(len(text.labels), BLOCK, layers=LAYERS, heads=HEADS, width=WIDTH)
    plan = Plan(TEXT, config, TrainingSettings(steps=WARM + STEPS, batch=BATCH, weight_decay=0.1))
    plain = _PlainLoop(text)
    trainer = Trainer(build(config, 0), text.batch, plan.training)
    series = alternating(plain.step_ms, lambda: _trainer_ms(trainer), ROUNDS)
    yield compared("a step of training a GPT of 0.8 M parameters (peer: nn.TransformerEncoder)", *series, limit=1.0)
    jobs = Jobs()
    try:
        series = alternating(plain.step_ms, lambda: _job_ms(jobs, plan), ROUNDS)
        yield compared("the same in a job, with snapshots and evaluations", *series, limit=1 / 0.9)
        (process,) = jobs.processes()
        yield Row("memory of this job", 0, memory(psutil.Process(process)) / 1e6, 600, "MB")
        yield Row("a training's start -> its first snapshot", 0, median(_first_ms(jobs) for _ in range(FIRSTS)), 1000)
    finally:
        jobs.close()
    yield _on_screen()
    yield _generation()
    yield from _others(plan)


SNAPSHOT = "stopwatch.changed(() => [stopwatch.find('.training .large').dataset.step])"
"""Whether another snapshot is shown than before"""


def _on_screen() -> Row:
    """Measure from a press of Train to the frame that shows the first snapshot of this training."""
    with OURS.served() as server:
        server.wait()
        with chrome() as browser:
            page, taken = new_page(browser), []
            page.goto(f"{server.url}/train?steps=100")
            settled(page)
            page.wait_for_timeout(15_000)  # its process imports torch meanwhile, once
            for _ in range(ROUNDS):
                wait_for_calm()
                button = page.locator(".training button.main")
                taken.append(act(page, SNAPSHOT, "pointerup", button.click).ms)
                page.locator(".training .state", has_text="done").wait_for()
    return Row("Train is pressed -> its first snapshot is on the screen", 0, median(taken), 1000)


def _generation() -> Row:
    """Measure 200 characters of the shipped GPT with all numbers of their draws, with the cache and without."""
    model = trained.load("chargpt")
    ids = CharVocab(model.labels).encode("ROMEO:\n")

    def taken(cached: bool) -> float:
        began = time.perf_counter()
        record(model.module, ids, 200, Sampling(0.8), cached=cached)
        return (time.perf_counter() - began) * 1e3

    without, with_cache = alternating(lambda: taken(False), lambda: taken(True), ROUNDS)
    what = "200 characters generated with a key-value cache (peer: without)"
    return Row(what, median(without), median(with_cache), 1000, alone=True)


class _PlainLoop:
    def __init__(self, text: Text) -> None:
        self._text, self._model = text, PlainGPT(len(text.labels)).train()
        self._optimiser = torch.optim.AdamW(self._model.parameters(), lr=1e-3, weight_decay=0.1)
        self._generator = torch.Generator().manual_seed(0)

    def step_ms(self) -> float:
        """Return the ms of a step, a mean of `STEPS`."""
        began = time.perf_counter()
        for _ in range(STEPS):
            batch = self._text.batch(BATCH, self._generator)
            loss = functional.cross_entropy(self._model(batch.ids).flatten(0, 1), batch.targets.flatten())
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
            self._optimiser.step()
            loss.item()
        return (time.perf_counter() - began) * 1e3 / STEPS


def _trainer_ms(trainer: Trainer) -> float:
    began = time.perf_counter()
    for _ in range(STEPS):
        trainer.advance()
    return (time.perf_counter() - began) * 1e3 / STEPS


def _job_ms(jobs: Jobs, plan: Plan) -> float:
    """Return the ms of a step, from a job's fifth snapshot to its last: with all that is told between them."""
    job = jobs.start("bench", plan, built_in())
    while job.view.snapshots[-1:] == () or job.view.snapshots[-1].step < WARM:
        time.sleep(0.001)
    began = time.perf_counter()
    while job.view.step < plan.training.steps and not job.view.has_ended:
        time.sleep(0.001)
    taken = (time.perf_counter() - began) * 1e3 / STEPS
    while not job.view.has_ended:
        time.sleep(0.01)
    if job.view.status != "done":
        raise RuntimeError(job.view.message)
    return taken


def _first_ms(jobs: Jobs) -> float:
    task = TASKS["induction"]
    began = time.perf_counter()
    job = jobs.start("bench", Plan(task.name, task.model, task.training))
    while not job.view.snapshots:
        time.sleep(0.001)
    return (time.perf_counter() - began) * 1e3


def _others(plan: Plan) -> Iterator[Row]:
    """Measure ten visitors' changes without and beside two trainings, as many as a server runs."""
    with served(ours=True) as server:
        process, crowd = psutil.Process(server.process.pid), Crowd(server.url + ENTRANCE, True, SESSIONS, SECONDS)
        alone = crowd.measure(process)
        with _two_trainings(plan):
            beside = crowd.measure(process)
    what = f"{SESSIONS} visitors beside two trainings (peer: without)"
    yield Row(f"{what}: new texts, median", median(alone.texts), median(beside.texts), 1.5)
    yield Row(f"{what}: 19 of 20 changes within", alone.p95(), beside.p95(), 1.5)
    yield Row(f"{what}: 19 of 20 texts within", percentile(alone.texts, 95), percentile(beside.texts, 95), None)
    wrong = sum((alone.wrong + beside.wrong).values())
    yield Row(f"{what}: errors", 0, wrong, 0, unit="", alone=True)


@contextmanager
def _two_trainings(plan: Plan) -> Iterator[None]:
    long = Plan(plan.subject, plan.model, TrainingSettings(steps=100_000, batch=BATCH))
    jobs = Jobs(is_here=lambda _: True)
    try:
        there = [jobs.start(name, long, built_in()) for name in ("one", "two")]
        while not all(job.view.step for job in there):
            time.sleep(0.1)
        yield
    finally:
        jobs.close()


ENOUGH, LIMIT = 0.95, 10
EVERY = 25
"""Steps between two evaluations, whose time does not count"""


def task_rows() -> Iterator[Row]:
    """Train each task with the seed 0."""
    torch.set_num_threads(1)
    for name, task in TASKS.items():
        seconds, steps = until_enough(task)
        yield Row(f"{name}: trained until {ENOUGH:.0%} are right, {steps} steps", 0, seconds, LIMIT, "s")


def until_enough(task: Task) -> tuple[float, int]:
    """Return the seconds and the steps; infinitely many seconds if the default steps are too few."""
    trainer = Trainer(build(task.model, 0), task.batch, task.training)
    seconds = 0.0
    while trainer.step < task.training.steps:
        began = time.perf_counter()
        for _ in range(EVERY):
            trainer.advance()
        seconds += time.perf_counter() - began
        if evaluate(trainer.model, task).accuracy >= ENOUGH:
            return seconds, trainer.step
    return math.inf, trainer.step
