"""The training of a classifier that a view shows, what is known of its result, and the commands of its visitor.

Features and baselines of the project's own texts are shared by all sessions; those of a user's file stay in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray

from attnviz.bert.classification.baselines import SEEDS, Baselines, SeedResult, baselines
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
from attnviz.bert.classification.outcome import Outcome, outcome_of
from attnviz.bert.classification.shipped import Shipped, load
from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.runtime.cache import SingleFlightCache, Sized
from attnviz.runtime.pool import limit_threads, worker_pool
from attnviz.runtime.slices import Slices
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.view import View
from attnviz.training.jobs.weights import model_of
from attnviz.training.labelled import LabelledVectors
from attnviz.training.plan import Plan, TooLargeError
from attnviz.training.settings import VECTORS
from attnviz.training.vectors import split
from attnviz.ui import state
from attnviz.ui.bert.classifier.data import ClassifierKind, chosen_examples
from attnviz.ui.bert.models import built_in
from attnviz.ui.caches import result
from attnviz.ui.trained.visitor import training_jobs, visitor
from attnviz.ui.waiting import queue_note

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

V = TypeVar("V", bound=Sized)
FEATURE_BYTES, USER_BYTES, TYPED_BYTES = 8 * 2**20, 16 * 2**20, 4 * 2**20
"""Of the project's own texts, some 2 MB; of a user's, up to 6 MB a file; of what users type, 3 kB a text"""
SLICE = 8
"""Texts of a user's file that are read in one task of the pool: of 256 tokens or more each, 0.6 s of one core"""
_USER_CACHE, _VECTORS, _READING = "class_own_results", "class_vectors", "class_reading"
_REQUESTED = "class_training_asked"
"""What is to be trained, and with how many seeds, until it has begun"""
_REFUSED = "class_training_refused"
"""By what is learned: the training that was refused last, and why"""


@dataclass(frozen=True)
class TrainedClassifier:
    """A classifier with what is known of it."""

    kind: ClassifierKind
    examples: Examples
    classifier: Classifier
    plan: Plan
    losses: NDArray[np.float32]
    """(steps,): of each step on its own batch"""
    evaluations: NDArray[np.float32]
    """(E, 3): after how many steps, loss and accuracy on held-out texts"""
    view: View | None
    """The training, as it was when the classifier was read from it; None if it ships"""
    shipped: Shipped | None
    """None if it was trained here"""

    @property
    def several(self) -> str:
        """What its texts are called."""
        return self.kind.several if self.examples.has_links else "texts"

    @property
    def seed(self) -> int:
        """Of its split, weights and order."""
        return self.plan.training.seed

    @property
    def cut(self) -> int:
        """How many of its texts are longer than what is read of them. The project's own are read whole."""
        return 0 if self.examples.has_links else pooled_of(self.examples).cut

    @cached_property
    def outcome(self) -> Outcome:
        """What it says of held-out texts."""
        if self.shipped is not None:
            return self.shipped.outcome(self.examples)
        return outcome_of(self.examples, pooled_of(self.examples), self.classifier, self.seed)

    @property
    def baselines(self) -> Baselines:
        """What both baselines say of the same texts."""
        return baselines_of(self.examples, self.seed) if self.shipped is None else self.shipped.baselines


def trained_classifier(kind: ClassifierKind) -> TrainedClassifier | None:
    """Return what the view shows: the visitor's training with these settings, or what ships; None without both."""
    examples = chosen_examples(kind)
    if examples is None:
        return None
    if not examples.has_links:
        pooled_of(examples)  # it takes long: while the page opens, and not when Train is pressed
    trained = _trained_here(kind, examples, current_plan(examples))
    return trained or (_shipped(kind, examples) if examples.has_links else None)


def current_plan(examples: Examples) -> Plan:
    """Return the training that the view's settings describe."""
    width = built_in().description.width
    return plan_of(
        len(examples.labels),
        width,
        steps=state.get("class_steps"),
        rate=state.get("class_rate"),
        seed=state.get("seed"),
    )


def vectors(examples: Examples) -> LabelledVectors:
    """Return the view's features of the texts, with their classes. The last ones are kept, so that jobs share them."""
    kept = kept_vectors(examples)
    if kept is None:
        kept = vectors_of(examples, pooled_of(examples), state.get("features"), tanh=state.get("tanh"))
        st.session_state[_VECTORS] = _vectors_key(examples), kept
    return kept


def kept_vectors(examples: Examples) -> LabelledVectors | None:
    """Return the same, if they are the last ones that were made: at once, without reading the texts."""
    key, kept = st.session_state.get(_VECTORS, (None, None))
    return kept if key == _vectors_key(examples) else None


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


def _shipped(kind: ClassifierKind, examples: Examples) -> TrainedClassifier:
    shipped = load(kind.name)
    return TrainedClassifier(
        kind, examples, shipped.classifier, shipped.card.plan, shipped.losses, shipped.evaluations, None, shipped
    )


def job_of(examples: Examples) -> Job | None:
    """Return the visitor's newest training of the texts with the view's settings."""
    return _job(examples, current_plan(examples))


def latest_job() -> Job | None:
    """Return the visitor's latest training of a linear layer."""
    return next((job for job in training_jobs().jobs(visitor()) if job.plan.subject == VECTORS), None)


def seed_results(trained: TrainedClassifier) -> list[SeedResult]:
    """Return what five seeds give with the settings of what is shown: those of them that are there."""
    if trained.shipped is not None:
        return list(trained.shipped.card.seeds)
    results = []
    for seed in range(trained.seed, trained.seed + SEEDS):
        plan = replace(trained.plan, training=replace(trained.plan.training, seed=seed))
        job = _job(trained.examples, plan)
        of_seed = _trained_here(trained.kind, trained.examples, plan) if job and job.view.status == "done" else None
        if of_seed is not None:
            results.append(SeedResult(seed, of_seed.outcome.accuracy, of_seed.baselines))
    return results


def pooled_of(examples: Examples) -> Pooled:
    """Return the vectors of all texts. That takes seconds once, and shows how far it is.

    Those of a user's file may take minutes: they are computed a batch at a time, and only while the session waits.
    """
    model = built_in()
    if not examples.has_links:
        return _read(model, examples)
    done = [0]

    def compute() -> Pooled:
        return pool(model, examples.texts, lambda count: done.__setitem__(0, count))

    return _get(examples, ("features", examples.sha256, examples.texts), compute, done)


def _read(model: BuiltInModel, examples: Examples) -> Pooled:
    """Return the vectors of a user's texts. A page that is left, or drawn anew, ends it; the next one goes on."""
    key = examples.sha256, examples.texts
    kept = st.session_state.get(_READING)
    if kept is None or kept[0] != key:
        limit_threads()
        kept = key, Slices(worker_pool(), pool_in_steps(model, examples.texts, SENTENCE_TOKENS, SLICE))
        st.session_state[_READING] = kept
    slices: Slices[Pooled] = kept[1]
    place = st.empty()
    with queue_note() as in_queue:

        def show(done: int, ahead: int) -> None:  # it raises if the session has gone, or wants something else
            if ahead:
                in_queue(ahead)
            place.progress(done / len(examples), f"{done:,} of {len(examples):,} texts are read …")

        try:
            return slices.result(show)
        except Exception:
            del st.session_state[_READING]  # so that the next call tries again
            raise
        finally:
            place.empty()


def pooled_text(model: BuiltInModel, texts: tuple[str, ...]) -> Pooled:
    """Return the vectors of what a user has typed."""
    return result("typed features", TYPED_BYTES, texts, partial(pool, model, texts))


def baselines_of(examples: Examples, seed: int) -> Baselines:
    """Return the baselines with a seed's split."""
    classes = examples.classes

    def compute() -> Baselines:
        train, held = (rows.tolist() for rows in split(torch.from_numpy(classes.copy()), seed))
        return baselines(examples.texts, classes, train, held)

    return _get(examples, ("baselines", examples.sha256, examples.texts, classes.tobytes(), seed), compute, [0])


def _get(examples: Examples, key: Hashable, compute: Callable[[], V], done: list[int]) -> V:
    """Return a result from the shared cache or from that of the session, with a bar while texts are read."""
    limit_threads()
    place = st.empty()
    with queue_note() as in_queue:

        def wait(ahead: int) -> None:
            if ahead or not done[0]:
                in_queue(ahead)
            else:
                place.progress(done[0] / len(examples), f"{done[0]:,} of {len(examples):,} texts are read …")

        try:
            value: V = _cache(shared=examples.has_links).get(key, compute, wait)
            return value
        finally:
            place.empty()


def _cache(*, shared: bool) -> SingleFlightCache[Any]:
    """Return the cache of the process, or that of the session, which goes with it."""
    if shared:
        return _shared_cache()
    if _USER_CACHE not in st.session_state:
        st.session_state[_USER_CACHE] = SingleFlightCache("own features", USER_BYTES, worker_pool())
    cache_: SingleFlightCache[Any] = st.session_state[_USER_CACHE]
    return cache_


@cache
def _shared_cache() -> SingleFlightCache[Any]:
    return SingleFlightCache("classifier features", FEATURE_BYTES, worker_pool())


def train(kind: ClassifierKind, seeds: int = 1) -> None:
    """Ask for a training with the view's settings, from a callback: with its seed, or with several from this one on."""
    if chosen_examples(kind) is not None:
        st.session_state[_REQUESTED] = kind.name, seeds


def begin(kind: ClassifierKind) -> None:
    """Begin the training that was asked for, if any. It reads all texts first, which takes seconds and shows a bar.

    Not from a callback, which has no place for a bar. If the visitor does something else meanwhile, the next run of the
    page goes on with it; another part of the page drops it.
    """
    name, seeds = st.session_state.get(_REQUESTED, ("", 0))
    examples = chosen_examples(kind) if name == kind.name else None
    if examples is not None:
        _start(kind, examples, seeds)
    st.session_state.pop(_REQUESTED, None)


def _start(kind: ClassifierKind, examples: Examples, seeds: int) -> None:
    plan, why = current_plan(examples), ""
    first, *others = [
        replace(plan, training=replace(plan.training, seed=plan.training.seed + number)) for number in range(seeds)
    ]
    try:
        training_jobs().start(visitor(), first, vectors(examples), then=others)
    except TooLargeError as error:
        why = str(error)
    except ValueError as error:
        why = f"This can't be trained: {error}"
    st.session_state[_REFUSED] = {**st.session_state.get(_REFUSED, {}), kind.name: (plan, why)}


def train_five(kind: ClassifierKind) -> None:
    """Train with five seeds, from a callback."""
    train(kind, SEEDS)


def stop() -> None:
    """Stop the training, from a callback: `go_on` continues it. Another page's training goes on."""
    if is_live():
        training_jobs().stop(visitor())


def can_go_on(examples: Examples) -> bool:
    """Whether the visitor's latest training was stopped, and is one of these texts with the view's settings.

    Of several seeds, any of them.
    """
    job, kept = training_jobs().job(visitor()), kept_vectors(examples)
    if job is None or kept is None or not isinstance(job.data, LabelledVectors):
        return False
    plan = current_plan(examples)
    same = replace(job.plan, training=replace(job.plan.training, seed=plan.training.seed)) == plan
    return same and job.data.digest == kept.digest and job.view.status == "stopped" and job.view.can_continue


def go_on() -> None:
    """Continue the stopped training, from a callback. Another page's training is left as it is."""
    job = training_jobs().job(visitor())
    if job is not None and job.plan.subject == VECTORS:
        training_jobs().go_on(visitor())


def training_refusal(kind: ClassifierKind, examples: Examples) -> str:
    """Return why a training with the view's settings was not started; "" if it was, or was not asked for."""
    plan, why = st.session_state.get(_REFUSED, {}).get(kind.name, (None, ""))
    return why if plan == current_plan(examples) else ""


def is_live() -> bool:
    """Whether a linear layer is trained for the visitor, or waits."""
    job = training_jobs().job(visitor())
    return job is not None and job.plan.subject == VECTORS and job.view.status in ("running", "queued")


def progress_text(view: View) -> str:
    """Say how a training goes."""
    if view.status == "queued":
        return f"Waiting: number {view.place} in line for a processor of this server."
    if view.status == "running":
        return f"Step {view.step:,} of {view.steps:,} …"
    return view.message or (f"Stopped after step {view.step:,} of {view.steps:,}." if view.status == "stopped" else "")
