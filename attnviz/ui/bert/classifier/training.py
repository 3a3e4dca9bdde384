"""The training of the view's classifier, its results, and the visitor's commands.

Features and baselines of the project's own texts are shared by all sessions; those of a user's file stay in theirs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnviz.bert.classification.classifier import (
    Classifier,
    Pooled,
    classifier_of,
    plan_of,
    pool,
    pool_in_steps,
    vectors_of,
)
from attnviz.bert.classification.examples import Examples
from attnviz.bert.classification.outcome import SEEDS, Baselines, Outcome, SeedResult, baselines, outcome_of
from attnviz.bert.classification.shipped import Shipped, load
from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.long_work import Work
from attnviz.runtime.pool import worker_pool
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.view import View
from attnviz.training.jobs.weights import model_of
from attnviz.training.plan import LabelledVectors, Plan
from attnviz.training.settings import VECTORS
from attnviz.training.vectors import split
from attnviz.ui import state
from attnviz.ui import training_jobs as trainings
from attnviz.ui.bert.classifier.data import ClassifierKind, chosen_examples
from attnviz.ui.bert.parts import built_in
from attnviz.ui.caches import named_cache, result, result_in, wait_for
from attnviz.ui.training_jobs import training_jobs, visitor

FEATURE_BYTES, USER_BYTES, TYPED_BYTES = 8 * 2**20, 16 * 2**20, 4 * 2**20
"""Sizes of caches. Features take some 2 MB for the project's texts, up to 6 MB for a user's file, 3 kB a typed text"""
SLICE = 8
"""Texts of a user's file in a step: 0.6 s of one core if each has 256 tokens or more"""
READ = "texts are read"
"""What the bar says of encoded texts"""
FAILED = "The texts could not be read: there may be too little memory for it just now. Choose fewer or shorter ones."


@dataclass(slots=True)
class _TrainingRecord:
    """What a session keeps of the trainings of classifiers."""

    requested: tuple[str, int] | None = None
    """The name of the kind to train, and with how many seeds, until the training starts"""
    refused: dict[str, tuple[Plan, str]] = field(default_factory=dict)
    """The plan that was requested last and why it was refused, by the name of the kind"""
    vectors: state.Last[LabelledVectors] = field(default_factory=state.Last)
    """The features that are trained on, which jobs share"""
    of_file: SingleFlightCache[Any] | None = None
    """What was computed of the visitor's file: at most `USER_BYTES`, dropped with the session; None without a file"""


@dataclass(frozen=True)
class TrainedClassifier:
    """A classifier with its training and results."""

    kind: ClassifierKind
    examples: Examples
    classifier: Classifier
    plan: Plan
    losses: NDArray[np.float32]
    """(steps,): of each step on its own batch"""
    evaluations: NDArray[np.float32]
    """(E, 3): step, loss and accuracy on held-out texts"""
    view: View | None
    """The training's state when the classifier was read from it; None if it ships with the app"""
    shipped: Shipped | None
    """None if it was trained here"""

    @property
    def several(self) -> str:
        """A plural noun for its texts."""
        return self.kind.several if self.examples.has_links else "texts"

    @property
    def seed(self) -> int:
        """The seed of its split, weights and order."""
        return self.plan.training.seed

    @property
    def cut(self) -> int:
        """How many of its texts are truncated. The project's own texts are read whole."""
        return 0 if self.examples.has_links else pooled_of(self.examples).cut

    @cached_property
    def outcome(self) -> Outcome:
        """Its predictions on held-out texts."""
        if self.shipped is not None:
            return self.shipped.outcome(self.examples)
        return outcome_of(self.examples, pooled_of(self.examples), self.classifier, self.seed)

    @property
    def baselines(self) -> Baselines:
        """The results of both baselines on the same texts."""
        return baselines_of(self.examples, self.seed) if self.shipped is None else self.shipped.baselines


def trained_classifier(kind: ClassifierKind) -> TrainedClassifier | None:
    """Return the view's classifier: the visitor's with these settings, or the shipped one; None if neither exists."""
    examples = chosen_examples(kind)
    if examples is None:
        return None
    if not examples.has_links:
        pooled_of(examples)  # slow, so it is done while the page opens rather than when Train is pressed
    trained = _trained_here(kind, examples, current_plan(examples))
    if trained is not None or not examples.has_links:
        return trained
    ships = load(kind.name)
    return TrainedClassifier(
        kind, examples, ships.classifier, ships.card.plan, ships.losses, ships.evaluations, None, ships
    )


def current_plan(examples: Examples) -> Plan:
    """Return the training that the view's settings describe."""
    settings = {"steps": state.get("class_steps"), "rate": state.get("class_rate"), "seed": state.get("seed")}
    return plan_of(len(examples.labels), built_in().description.width, **settings)


def vectors(examples: Examples) -> LabelledVectors:
    """Return the view's features of the texts, with their classes. The latest are kept, so that jobs share them."""

    def make() -> LabelledVectors:
        return vectors_of(examples, pooled_of(examples), state.get("features"), tanh=state.get("tanh"))

    return state.record(_TrainingRecord).vectors.get(_vectors_key(examples), make)


def kept_vectors(examples: Examples) -> LabelledVectors | None:
    """Return the same if they were the latest ones made: at once, without encoding the texts."""
    return state.record(_TrainingRecord).vectors.of(_vectors_key(examples))


def _vectors_key(examples: Examples) -> Hashable:
    return examples.sha256, examples.labels, examples.classes.tobytes(), state.get("features"), state.get("tanh")


def _trained_here(kind: ClassifierKind, examples: Examples, plan: Plan) -> TrainedClassifier | None:
    """Return the visitor's newest training with this plan, if it has weights."""
    job = _job(examples, plan)
    if job is None:
        return None
    view = job.view
    if not view.snapshots:
        return None
    layer = model_of(plan.model, view.snapshots[-1].weights)
    classifier = classifier_of(layer, examples, state.get("features"), tanh=state.get("tanh"))
    evaluations = np.array([(at.step, at.loss, at.accuracy) for at in view.evaluations], np.float32).reshape(-1, 3)
    return TrainedClassifier(kind, examples, classifier, plan, view.losses, evaluations, view, None)


def _job(examples: Examples, plan: Plan) -> Job | None:
    for job in training_jobs().jobs(visitor()):
        data = job.data
        if job.plan == plan and isinstance(data, LabelledVectors) and data.digest == vectors(examples).digest:
            return job
    return None


def job_of(examples: Examples) -> Job | None:
    """Return the visitor's newest training of the texts with the view's settings."""
    return _job(examples, current_plan(examples))


def live_job() -> Job | None:
    """Return the visitor's training of a linear layer, if it is running or waiting."""
    return trainings.latest(lambda job: _is_of_page(job) and job.view.is_live)


def _is_of_page(job: Job) -> bool:
    """Whether a training is of a linear layer."""
    return job.plan.subject == VECTORS


def seed_results(trained: TrainedClassifier) -> list[SeedResult]:
    """Return the results of five seeds with the settings on screen, of those that are trained."""
    if trained.shipped is not None:
        return list(trained.shipped.card.seeds)
    results = []
    for seed in range(trained.seed, trained.seed + SEEDS):
        plan = replace(trained.plan, training=replace(trained.plan.training, seed=seed))
        of_seed = _trained_here(trained.kind, trained.examples, plan)
        if of_seed is not None and of_seed.view is not None and of_seed.view.status == "done":
            results.append(SeedResult(seed, of_seed.outcome.accuracy, of_seed.baselines))
    return results


def pooled_of(examples: Examples) -> Pooled:
    """Return the vectors of all texts. The first call takes seconds, and shows its progress.

    A user's file may take minutes. It is encoded in smaller steps, and its texts are cut.

    Raises:
        LongWorkError: there is too little memory; the message is for the user.
    """
    model, texts = built_in(), examples.texts
    if examples.has_links:
        begin = partial(pool_in_steps, model, texts)
    else:
        begin = partial(pool_in_steps, model, texts, SENTENCE_TOKENS, SLICE)
    nbytes = 2 * 4 * len(texts) * model.description.width
    reading = Work(_results(examples), ("features", examples.sha256, texts), begin, FAILED, nbytes)
    pooled: Pooled = wait_for(reading, len(examples), READ)
    return pooled


def pooled_texts(*texts: str) -> Pooled:
    """Return the vectors of texts that a user has typed."""
    return result("typed features", TYPED_BYTES, texts, partial(pool, built_in(), texts))


def baselines_of(examples: Examples, seed: int) -> Baselines:
    """Return the baselines on a seed's split."""
    classes = examples.classes

    def compute() -> Baselines:
        train, held = (rows.tolist() for rows in split(torch.from_numpy(classes.copy()), seed))
        return baselines(examples.texts, classes, train, held)

    key = "baselines", examples.sha256, examples.texts, classes.tobytes(), seed
    of_seed: Baselines = result_in(_results(examples), key, compute)
    return of_seed


def _results(examples: Examples) -> SingleFlightCache[Any]:
    """Return the cache that all sessions share for the project's own texts, or the session's for a user's file."""
    if examples.has_links:
        return named_cache("classifier features", FEATURE_BYTES)
    record = state.record(_TrainingRecord)
    if record.of_file is None:
        record.of_file = SingleFlightCache("own features", USER_BYTES, worker_pool())
    return record.of_file


def train(kind: ClassifierKind, seeds: int = 1) -> None:
    """Request a training with the view's settings, from a callback: with its seed, or with `seeds` from that one on."""
    if chosen_examples(kind) is not None:
        state.record(_TrainingRecord).requested = kind.name, seeds


def begin(kind: ClassifierKind) -> None:
    """Start the requested training, if any. It first encodes all texts, which takes seconds and shows a progress bar.

    Don't call this from a callback, which can't show a bar. If the visitor does something else meanwhile, the next run
    of the page continues; the part of the other kind drops the request.
    """
    kept = state.record(_TrainingRecord)
    name, seeds = kept.requested or ("", 0)
    examples = chosen_examples(kind) if name == kind.name else None
    if examples is not None:
        _start(kind, examples, seeds)
    kept.requested = None


def _start(kind: ClassifierKind, examples: Examples, seeds: int) -> None:
    plan, kept = current_plan(examples), state.record(_TrainingRecord)
    first, *others = [
        replace(plan, training=replace(plan.training, seed=plan.training.seed + number)) for number in range(seeds)
    ]
    with trainings.refusing(lambda why: kept.refused.update({kind.name: (plan, why)})):
        training_jobs().start(visitor(), first, vectors(examples), then=others)
        kept.refused.pop(kind.name, None)


stop = partial(trainings.stop, _is_of_page)
"""Stop the training, from a callback; `go_on` continues it. Another page's training is left running."""
go_on = partial(trainings.go_on, _is_of_page)
"""Continue the stopped training, from a callback. Another page's training is left alone."""
is_live = partial(trainings.is_training, _is_of_page)
"""Whether a linear layer of the visitor is training or queued"""


def can_go_on(examples: Examples) -> bool:
    """Whether the visitor's latest training was stopped, and used these texts and the view's settings.

    It may have another seed.
    """
    job, kept = trainings.latest(_is_of_page), kept_vectors(examples)
    if job is None or kept is None or not isinstance(job.data, LabelledVectors):
        return False
    plan = current_plan(examples)
    same = replace(job.plan, training=replace(job.plan.training, seed=plan.training.seed)) == plan
    return same and job.data.digest == kept.digest and job.view.status == "stopped" and job.view.can_continue


def training_refusal(kind: ClassifierKind, examples: Examples) -> str:
    """Return why a training with the view's settings was not started; "" if it was, or was not requested."""
    plan, why = state.record(_TrainingRecord).refused.get(kind.name, (None, ""))
    return why if plan == current_plan(examples) else ""


def progress_text(view: View) -> str:
    """Describe a training's progress."""
    if view.status == "queued":
        return trainings.queued(view)
    if view.status == "running":
        return f"Step {view.step:,} of {view.steps:,} …"
    return view.message or (f"Stopped after step {view.step:,} of {view.steps:,}." if view.status == "stopped" else "")
