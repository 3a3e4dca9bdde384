"""The side bar for tasks and texts: what to train, and the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.links.train import MAX_SAMPLE, MOST_BLOCK, OF_A_SUBJECT
from attnviz.settings import settings
from attnviz.toy.config import MAX_HEADS, MAX_WIDTH
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.settings import MOST_STEPS, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.tagging import Tagging
from attnviz.training.tasks.task import Task
from attnviz.ui import controls, state, trained_models
from attnviz.ui.messages import plain
from attnviz.ui.train.plans import STAGES, default_of, fitting_plan, schedule, stage_plan_of, task_of
from attnviz.ui.train.tagged import sentences_choice
from attnviz.ui.train.text import part_choice, part_refused, text_choice
from attnviz.ui.widgets import settings_popover

RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
BATCHES = (4, 8, 16, 32, 64, 128, 256, 512)
WIDTHS = (8, 16, 32, 48, 64, 96, MAX_WIDTH)
STEPS = (100, 200, 500, 1000, 2000, 5000, 10_000)
BLOCKS = (4, 8, 16, 32, 64, MOST_BLOCK)
WARM_UPS = (0, 50, 100, 200, 500)
WEIGHT_DECAYS = (0.01, 0.03, 0.1, 0.3)
DROPOUTS = (0.1, 0.2, 0.3, 0.5)
CUT_HELP = "Blocks go over line ends; the others stay within a line. “The text as data” shows the first ones."
USUAL = TrainingSettings()
"""What the stages leave at its default: all but steps, batch and learning rate"""


def train_controls() -> None:
    """Show all settings."""
    titles = {name: task.title.partition(":")[0] for name, task in TASKS.items()}
    before = state.get("task")
    state.choice("task", st.selectbox, "Task", list(TASKS), format_func=titles.get)
    if before in TASKS and before != state.get("task"):
        forget_choices()
    if state.get("task") == Tagging.name:
        sentences_choice(forget_choices)
    task = task_of(state.get)
    state.bound(
        "sample", st.text_input, "Text for the model", max_chars=MAX_SAMPLE, placeholder=task.examples[0],
        help="Type one of your own. Its attention is shown at every snapshot; training does not depend on it.",
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        _number("steps", "Steps", task, 1, MOST_STEPS, step=100)
        _pick("batch", "Batch", task, BATCHES)
    with right:
        _pick("rate", "Learning rate", task, RATES, format_func="{:g}".format)
        controls.seed()
    with settings_popover("More settings", "more_settings", width="stretch") as control:
        if control.open:
            _more(task)
    if settings().uploads:  # a trained model's file opens on Step by step
        with settings_popover("Open a model's file", "more_of_model", width="stretch") as control:
            if control.open:
                trained_models.show_upload()
        trained_models.show_refusal()


def forget_choices() -> None:
    """Reset what belongs to the previous task: text, run, head, snapshot and cell."""
    for name in OF_A_SUBJECT:
        state.put(name, KEYS[name].default)


def _more(task: Task) -> None:
    left, right = st.columns(2)
    with left:
        _number("warm_up", "Warm-up steps", task, 0, MOST_STEPS, step=10)
        _pick_titled("optimiser", "Optimiser", task)
        _number("weight_decay", "Weight decay", task, 0.0, 1.0, step=0.01)
        _number("train_layers", "Layers L", task, 0, 12)
    with right:
        _pick_titled("decay", "Decay of the rate", task)
        _number("train_dropout", "Dropout", task, 0.0, 0.9, step=0.05)
        width = state.get("train_width") or task.model.width
        _pick("train_heads", "Heads H", task, [count for count in range(1, MAX_HEADS + 1) if width % count == 0])
        _pick("train_width", "Width C", task, WIDTHS)
    st.caption(schedule(fitting_plan(state.get)[0].training))
    st.caption("Another model or setting is a new training: press Train. The one before stays as a faint curve.")


def _number(key: str, label: str, task: Task, low: float, high: float, *, step: float = 1) -> None:
    """Show a number field with the task's value as its default."""
    _show(key, task)
    st.number_input(label, low, high, step=step, key=_of(key), on_change=_take, args=(key, task.name))


def _pick(key: str, label: str, task: Task, options: Sequence[Any], **more: Any) -> None:
    """Show a menu with the task's value as its default; another value from a link is added to the options."""
    value = _show(key, task)
    all_options = options if value in options else sorted([*options, value])
    st.selectbox(label, all_options, key=_of(key), on_change=_take, args=(key, task.name), **more)


def _pick_titled(key: str, label: str, task: Task) -> None:
    titles = KEYS[key].titles
    _pick(key, label, task, list(titles), format_func=titles.get)


def _show(key: str, task: Task) -> Any:
    """Set a setting's widget to the view's value, and return it."""
    value = state.get(key)
    value = default_of(task, key) if value is None else value
    st.session_state[_of(key)] = value
    return value


def _of(key: str) -> str:
    return f"train_setting_{key}"


def _take(key: str, task: str) -> None:
    """Apply a widget's value if a link may hold it: clients may send any. Links leave out the task's default."""
    value = st.session_state[_of(key)]
    current = task_of(state.get)
    if task == current.name and value == default_of(current, key):
        state.put(key, None)
    elif isinstance(value, int | float | str):
        state.apply_from_browser({key: value if isinstance(value, str) else f"{value:g}"}, [key])


def text_controls() -> None:
    """Show all settings."""
    text_choice()
    part_choice()
    if why := part_refused():
        st.error(plain(why))
    left, right = st.columns(2)
    with left:
        _pick_or_usual("steps", "Steps", STEPS, "2,000")
        _pick_or_usual("rate", "Learning rate", RATES, "usual")
    with right:
        _pick_or_usual("train_block", "Block size", BLOCKS, "usual")
        _pick_or_usual("batch", "Batch", BATCHES, "usual")
    controls.seed()
    with settings_popover("More settings", "more_settings", width="stretch") as control:
        if control.open:
            _more_of_text()
    state.bound(
        "sample", st.text_input, "Text for the heads", max_chars=MAX_SAMPLE, placeholder="the beginning of the text",
        help="Its first characters, as many as a block has, are what the heads are shown at every snapshot.",
    )  # fmt: skip
    st.caption(
        "Settings hold for what is trained next, for all models. “usual” is each model's own: blocks of 8 characters, "
        "of 32 for the GPT; where lines are cut, at most 40 for all."
    )


def _more_of_text() -> None:
    left, right = st.columns(2)
    with left:
        _pick_or_usual("warm_up", "Warm-up steps", WARM_UPS, f"{USUAL.warm_up}")
        _pick_titled_or_usual("optimiser", "Optimiser", USUAL.optimiser)
        _pick_or_usual("weight_decay", "Weight decay", WEIGHT_DECAYS, f"{USUAL.weight_decay:g}")
    with right:
        _pick_titled_or_usual("decay", "Decay of the rate", USUAL.decay)
        _pick_or_usual("train_dropout", "Dropout", DROPOUTS, "0")
        state.choice("cut", st.selectbox, "Sequences to train on", help=CUT_HELP)
    st.caption(schedule(stage_plan_of(STAGES[state.get("rung") or FIRST_SHOWN], 2, state.get).training))
    st.caption(
        "Dropout and weight decay are for attention and feed-forward: the bigram and the GRU have none. Muon trains "
        "their matrices; AdamW trains all else."
    )


def _pick_titled_or_usual(key: str, label: str, usual: str) -> None:
    """Show a menu of a link key's values, in which the usual one leaves each model its own setting."""
    titles = KEYS[key].titles
    _pick_or_usual(key, label, [name for name in titles if name != usual], titles[usual], titles)


def _pick_or_usual(
    key: str, label: str, options: Sequence[Any], first_option: str, names: Mapping[str, str] | None = None
) -> None:
    """Show a menu whose first option leaves each model its own setting; another value from a link is added."""
    value = state.get(key)
    numbers: Sequence[Any] = options if value is None or value in options else sorted([*options, value])

    def written(option: Any) -> str:
        if option is None:
            return first_option
        return names[option] if names else f"{option:,g}"

    shown = [None, *numbers]
    state.bound(key, st.selectbox, label, shown, among=shown, format_func=written, placeholder=first_option)
