"""The main part of Train: the component with the curves and the heads of a visitor's trainings.

The page imports it after it has said what it is, because it imports torch.
"""

from __future__ import annotations

import streamlit as st

from attnviz.components.training import training
from attnviz.runtime.training import keep, training_jobs
from attnviz.training.plan import Plan
from attnviz.training.tasks.task import Task
from attnviz.ui import shell, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.plain import plain
from attnviz.ui.train import commands
from attnviz.ui.train.arrays import Reading, reading_of
from attnviz.ui.train.finished import open_if_asked
from attnviz.ui.train.plans import fitting_plan, sample_of, task_of
from attnviz.ui.train.runs import all_curves, header_of, runs_of, task_header
from attnviz.ui.trained.visitor import visitor
from attnviz.ui.waiting import has_changed

EVERY = 0.4
"""Seconds between two looks at a training that goes on"""


def show_training() -> None:
    """Show the visitor's trainings of the view's task."""
    open_if_asked()
    if commands.have_settings_changed():
        st.rerun()
    name = visitor()
    keep(name)
    training_jobs().prepare()
    task = task_of(state.get)
    with st.container():
        reading = _read(task)
        runs = runs_of(name, _plan(), task, state.get("run"))
        if commands.refusal():
            st.warning(plain(commands.refusal()))
    header = {
        "task": task_header(task, reading),
        "runs": [header_of(run, [one for one in runs if one is not run], name, reading) for run in runs],
        "values": commands.values(),
        "is_page": False,
        "in_lesson": lesson_bar.is_open(),
    }
    with st.container(key="training"):
        training(header, all_curves(runs), key="training_view", on_update=commands.take)


def _plan() -> Plan:
    """Return the view's plan; settings that do not fit each other are named, and the task's own are used."""
    plan, why = fitting_plan(state.get)
    if why:
        st.warning(plain(f"These settings do not fit: {why}. So the task's own model is shown."))
    return plan


def _read(task: Task) -> Reading:
    """Return what the model is shown, with notes on what it does not know."""
    first, second = task.read(sample_of(state.get))
    for tokens in (first, second):
        if tokens is not None:
            shell.token_notes(tokens)
    reading = reading_of(task, first, second)
    if not reading.ids:
        st.info(f"The model knows none of these symbols. Type something like “{plain(task.examples[0])}”.")
    return reading


def check_live(*, live: bool, shown_live: bool) -> None:
    """Run the whole page where a training has begun or ended since it ran, which sets how often this part runs, and
    where the row was revealed for which a lesson asks.
    """
    if has_changed(live, shown_live, commands.is_live()) or commands.has_revealed():
        st.rerun()
