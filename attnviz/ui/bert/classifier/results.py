"""What is known of the classifier that a view shows: trained by its visitor, or before the class.

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
from attnviz.runtime.training import training_jobs
from attnviz.training.jobs.job import Job
from attnviz.training.jobs.view import View
from attnviz.training.jobs.weights import model_of
from attnviz.training.labelled import LabelledVectors
from attnviz.training.plan import VECTORS, Plan
from attnviz.training.vectors import split
from attnviz.ui import state
from attnviz.ui.bert.classifier.data import chosen
from attnviz.ui.bert.classifier.what import What
from attnviz.ui.bert.look import built_in
from attnviz.ui.caches import result
from attnviz.ui.trained.visitor import visitor
from attnviz.ui.waiting import queue_note

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

V = TypeVar("V", bound=Sized)

FEATURE_BYTES, OWN_BYTES, TYPED_BYTES = 8 * 2**20, 16 * 2**20, 4 * 2**20
"""Of the project's own texts, some 2 MB; of a user's, up to 6 MB a file; of what users type, 3 kB a text"""
SLICE = 8
"""Texts of a user's file that are read in one task of the pool: of 256 tokens or more each, 0.6 s of one core"""
_OWN, _VECTORS, _READING = "class_own_results", "class_vectors", "class_reading"


@dataclass(frozen=True)
class Shown:
    """A classifier with what is known of it."""

    what: What
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
        return self.what.several if self.examples.has_links else "texts"

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


def shown(what: What) -> Shown | None:
    """Return what the view shows: the visitor's training with these settings, or what ships; None without both."""
    examples = chosen(what)
    if examples is None:
        return None
    if not examples.has_links:
        pooled_of(examples)  # it takes long: while the page opens, and not when Train is pressed
    found = _own(what, examples, current_plan(examples))
    return found or (_shipped(what, examples) if examples.has_links else None)


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
    found = kept_vectors(examples)
    if found is None:
        found = vectors_of(examples, pooled_of(examples), state.get("features"), tanh=state.get("tanh"))
        st.session_state[_VECTORS] = _vectors_key(examples), found
    return found


def kept_vectors(examples: Examples) -> LabelledVectors | None:
    """Return the same, if they are the last ones that were made: at once, without reading the texts."""
    key, found = st.session_state.get(_VECTORS, (None, None))
    return found if key == _vectors_key(examples) else None


def _vectors_key(examples: Examples) -> Hashable:
    return examples.sha256, examples.labels, examples.classes.tobytes(), state.get("features"), state.get("tanh")


def _own(what: What, examples: Examples, plan: Plan) -> Shown | None:
    """Return the visitor's newest training with this plan, if it has weights."""
    job = _job(examples, plan)
    if job is None:
        return None
    view = job.view
    if not view.snapshots:
        return None
    layer = model_of(plan.model, view.snapshots[-1].weights)
    classifier = classifier_of(layer, examples, state.get("features"), tanh=state.get("tanh"))
    evaluations = np.array([(one.step, one.loss, one.accuracy) for one in view.evaluations], np.float32).reshape(-1, 3)
    return Shown(what, examples, classifier, plan, view.losses, evaluations, view, None)


def _job(examples: Examples, plan: Plan) -> Job | None:
    for job in training_jobs().jobs(visitor()):
        data = job.data
        if job.plan == plan and isinstance(data, LabelledVectors) and data.digest == vectors(examples).digest:
            return job
    return None


def _shipped(what: What, examples: Examples) -> Shown:
    found = load(what.name)
    return Shown(what, examples, found.classifier, found.card.plan, found.losses, found.evaluations, None, found)


def job_of(examples: Examples) -> Job | None:
    """Return the visitor's newest training of the texts with the view's settings."""
    return _job(examples, current_plan(examples))


def latest_job() -> Job | None:
    """Return the visitor's latest training of a linear layer."""
    return next((job for job in training_jobs().jobs(visitor()) if job.plan.subject == VECTORS), None)


def seed_results(here: Shown) -> list[SeedResult]:
    """Return what five seeds give with the settings of what is shown: those of them that are there."""
    if here.shipped is not None:
        return list(here.shipped.card.seeds)
    found = []
    for seed in range(here.seed, here.seed + SEEDS):
        plan = replace(here.plan, training=replace(here.plan.training, seed=seed))
        job = _job(here.examples, plan)
        one = _own(here.what, here.examples, plan) if job and job.view.status == "done" else None
        if one is not None:
            found.append(SeedResult(seed, one.outcome.accuracy, one.baselines))
    return found


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
            found: V = _cache(shared=examples.has_links).get(key, compute, wait)
            return found
        finally:
            place.empty()


def _cache(*, shared: bool) -> SingleFlightCache[Any]:
    """Return the cache of the process, or that of the session, which goes with it."""
    if shared:
        return _shared_cache()
    if _OWN not in st.session_state:
        st.session_state[_OWN] = SingleFlightCache("own features", OWN_BYTES, worker_pool())
    found: SingleFlightCache[Any] = st.session_state[_OWN]
    return found


@cache
def _shared_cache() -> SingleFlightCache[Any]:
    return SingleFlightCache("classifier features", FEATURE_BYTES, worker_pool())
