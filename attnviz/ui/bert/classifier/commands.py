"""What a visitor does with a training: begins it, with one seed or with five, stops it and continues it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from attnviz.bert.classification.baselines import SEEDS
from attnviz.bert.classification.examples import Examples
from attnviz.runtime.training import training_jobs
from attnviz.training.jobs.limits import TooLargeError
from attnviz.training.jobs.view import View
from attnviz.training.labelled import LabelledVectors
from attnviz.training.plan import VECTORS
from attnviz.ui.bert.classifier.data import chosen
from attnviz.ui.bert.classifier.results import current_plan, kept_vectors, vectors
from attnviz.ui.bert.classifier.what import What
from attnviz.ui.trained.visitor import visitor

_ASKED = "class_training_asked"
"""What is to be trained, and with how many seeds, until it has begun"""
_REFUSED = "class_training_refused"
"""By what is learned: the training that was refused last, and why"""


def train(what: What, seeds: int = 1) -> None:
    """Ask for a training with the view's settings, from a callback: with its seed, or with several from this one on."""
    if chosen(what) is not None:
        st.session_state[_ASKED] = what.name, seeds


def begin(what: What) -> None:
    """Begin the training that was asked for, if any. It reads all texts first, which takes seconds and shows a bar.

    Not from a callback, which has no place for a bar. If the visitor does something else meanwhile, the next run of the
    page goes on with it; another part of the page drops it.
    """
    name, seeds = st.session_state.get(_ASKED, ("", 0))
    examples = chosen(what) if name == what.name else None
    if examples is not None:
        _start(what, examples, seeds)
    st.session_state.pop(_ASKED, None)


def _start(what: What, examples: Examples, seeds: int) -> None:
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
    st.session_state[_REFUSED] = {**st.session_state.get(_REFUSED, {}), what.name: (plan, why)}


def train_five(what: What) -> None:
    """Train with five seeds, from a callback."""
    train(what, SEEDS)


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


def refusal(what: What, examples: Examples) -> str:
    """Return why a training with the view's settings was not started; "" if it was, or was not asked for."""
    plan, why = st.session_state.get(_REFUSED, {}).get(what.name, (None, ""))
    return why if plan == current_plan(examples) else ""


def is_live() -> bool:
    """Whether a linear layer is trained for the visitor, or waits."""
    job = training_jobs().job(visitor())
    return job is not None and job.plan.subject == VECTORS and job.view.status in ("running", "queued")


def said(view: View) -> str:
    """Say how a training goes."""
    if view.status == "queued":
        return f"Waiting: number {view.place} in line for a processor of this server."
    if view.status == "running":
        return f"Step {view.step:,} of {view.steps:,} …"
    return view.message or (f"Stopped after step {view.step:,} of {view.steps:,}." if view.status == "stopped" else "")
