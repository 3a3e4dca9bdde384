"""The parts of Train: the components with the curves and heads of a visitor's trainings, on tasks and on texts.

It imports torch, so the page imports it only after showing its introduction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from attnviz.components.updates import mount_with_updates
from attnviz.tokens import CharVocab
from attnviz.training.plan import Plan, parameters_of
from attnviz.training.series import SERIES
from attnviz.training.tasks.task import Task
from attnviz.ui import shell, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.train import commands
from attnviz.ui.train.arrays import Reading, offer_pairs, reading_of, reading_of_tokens
from attnviz.ui.train.chosen import open_if_asked
from attnviz.ui.train.controls import text_controls, train_controls
from attnviz.ui.train.facts import Facts
from attnviz.ui.train.generate_view import generate_controls, show_generate
from attnviz.ui.train.plans import STAGES, fitting_plan, sample_of, stage_plan_of, task_of
from attnviz.ui.train.runs import all_curves, header_of, rows_of, runs_of, stage_curves, stage_header, task_header
from attnviz.ui.train.text_choice import chosen_facts, cut_of
from attnviz.ui.trained_models import visitor
from attnviz.ui.training_jobs import keep, training_jobs

EVERY = 0.4
"""Seconds between two updates of a running training"""
A_CORE = 25e9
"""Operations a second of one processor core in training the GPT here: some 40 steps of 0.64 · 10⁹"""
GPT_3 = 175e9, 300e9
"""Parameters and tokens of a large model's training (Brown et al. 2020)"""
PROCESSORS = """
Nearly all of a training's arithmetic is in products of matrices: about 6 operations for each parameter and token, 2 in
the forward pass and 4 in the backward pass ([Kaplan et al. 2020](https://arxiv.org/abs/2001.08361)).

- **The GPT here:** 6 · {parameters:,} parameters · {tokens:,} tokens = {step:.2f} · 10⁹ operations a step. One core
  of a processor made some 40 such steps a second, 25 · 10⁹ operations.
- **GPT-3** ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)): 6 · 175 · 10⁹ parameters · 300 · 10⁹ tokens =
  {large:.2g} operations. That core would need {years:,.0f} years.

The numbers of a matrix product do not depend on each other, so they can be computed at once. A GPU has thousands of
units that multiply and add, and memory fast enough to feed them. A transformer suits it: in training, all positions of
all sequences of a batch go through a layer together. A recurrent network, such as the GRU here, has to read one
position after another, whatever the hardware. For models as small as these, a processor is enough.
"""


def _begin() -> str:
    """Open another page if requested, keep the visitor's trainings, and return the visitor's name."""
    open_if_asked()
    if commands.have_settings_changed() and state.in_fragment():
        st.rerun()  # the side bar shows the settings too
    name = visitor()
    keep(name)
    training_jobs().prepare()
    return name


def _show_refusal() -> None:
    if commands.refusal():
        st.warning(plain(commands.refusal()))


def show_training() -> None:
    """Show the visitor's trainings of the view's task."""
    name, task = _begin(), task_of(state.get)
    with st.container():
        reading = _read(task)
        runs = runs_of(name, _plan(), task, state.get("run"))
        _show_refusal()
    header = {
        "task": task_header(task, reading),
        "runs": [header_of(run, runs, name, reading) for run in runs],
        "values": commands.values(),
        "is_page": False,
        "in_lesson": lesson_bar.is_open(),
    }
    with st.container(key="training"):
        mount_with_updates("training", header, all_curves(runs), key="training_view", on_update=commands.take)


def _plan() -> Plan:
    """Return the view's plan; if its settings do not fit each other, say so and use the task's own model."""
    plan, why = fitting_plan(state.get)
    if why:
        st.warning(plain(f"These settings do not fit: {why}. So the task's own model is shown."))
    return plan


def _read(task: Task) -> Reading:
    """Return the text that the model reads, with notes on symbols that it does not know."""
    first, second = task.read(sample_of(state.get))
    for tokens in (first, second):
        if tokens is not None:
            shell.token_notes(tokens)
    reading = reading_of(task, first, second)
    if not reading.ids:
        st.info(f"The model knows none of these symbols. Type something like “{plain(task.examples[0])}”.")
    return reading


def check_live(*, live: bool, shown_live: bool) -> None:
    """Rerun the whole page if a training has started or ended since its last run, which sets how often this part runs,
    or if the visitor has revealed the row that a lesson asks about.
    """
    if state.has_changed(live, shown_live, commands.is_live()) or commands.has_revealed():
        st.rerun()


def show_text() -> None:
    """Show the stages of the model series on the chosen text, trained or not."""
    name, facts = _begin(), chosen_facts()
    rows = rows_of(name, facts, state.get)
    with st.container():
        whole = _read_text(facts, max(row.run.plan.block_size for row in rows))
        _show_refusal()
    header = {
        "text": {**facts.told(), "pairs": offer_pairs(facts), "cut": _cut(facts)},
        "stages": [stage_header(row, facts, name, whole.cut(row.run.plan.block_size), state.get) for row in rows],
        "values": commands.values(),
        "in_lesson": lesson_bar.is_open(),
    }
    with st.container(key="training"):
        mount_with_updates("model_series", header, stage_curves(rows), key="models_view", on_update=commands.take)
    if not lesson_bar.is_open():  # its sentence and the picture have the window to themselves
        show_processors(len(facts.labels))


def _cut(facts: Facts) -> Mapping[str, Any] | None:
    """Return how the text will be cut, if the view shows that."""
    plan = stage_plan_of(SERIES[0], len(facts.labels), state.get)
    return cut_of(facts, plan) if state.get("text_view") == "data" else None


def _read_text(facts: Facts, most: int) -> Reading:
    """Return the text that the models read: the view's, or the beginning of the training text."""
    sample = state.get("sample")
    tokens = CharVocab(facts.labels).tokenize(sample or facts.text[:most])
    if sample:
        shell.token_notes(tokens)
    reading = reading_of_tokens("text", tokens)
    if reading.ids:
        return reading
    st.info("The models know none of these characters. Type something that stands in the text.")
    return reading_of_tokens("text", CharVocab(facts.labels).tokenize(facts.text[:most]))


def show_processors(vocabulary: int) -> None:
    """Show why training uses GPUs, folded."""
    plan = STAGES["gpt"].plan(vocabulary)
    parameters, tokens = parameters_of(plan.model, 2**40), plan.training.batch * plan.block_size
    large = 6 * GPT_3[0] * GPT_3[1]
    with st.expander("Why GPUs"):
        st.markdown(
            PROCESSORS.format(
                parameters=parameters, tokens=tokens, step=6 * parameters * tokens / 1e9, large=large,
                years=large / A_CORE / (365 * 24 * 3600),
            )
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page."""

    controls: Callable[[], None]
    """Shows the settings in the side bar"""
    show: Callable[[], None]
    """Shows the component, in a fragment"""


PARTS: dict[str, Part] = {
    "task": Part(train_controls, show_training),
    "text": Part(text_controls, show_text),
    "generate": Part(generate_controls, show_generate),
}
"""Keyed by name in links"""


def chosen_part() -> Part:
    """Return the view's part."""
    return PARTS[state.get("train_part")]
