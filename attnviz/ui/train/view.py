"""The parts of Train: the side bar and the component of trainings on tasks and on texts.

It imports torch, so the page imports it only after showing its introduction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from attnviz.components.updates import mount_with_updates
from attnviz.links.link import KEYS
from attnviz.links.train import MAX_SAMPLE, MOST_BLOCK, OF_A_SUBJECT
from attnviz.settings import settings
from attnviz.tokens import CharVocab
from attnviz.toy.config import MAX_HEADS, MAX_WIDTH
from attnviz.training.plan import parameters_of
from attnviz.training.series import FIRST_SHOWN, SERIES
from attnviz.training.settings import MOST_STEPS, TrainingSettings
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.tagging import Tagging
from attnviz.training.tasks.task import Task
from attnviz.ui import controls, shell, state, trained_models
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.train import commands
from attnviz.ui.train.arrays import Reading, offer_pairs, reading_of, reading_of_tokens
from attnviz.ui.train.chosen import open_if_asked
from attnviz.ui.train.generated import generate_controls, show_generate
from attnviz.ui.train.plans import STAGES, default_of, fitting_plan, sample_of, schedule, stage_plan_of, task_of
from attnviz.ui.train.runs import all_curves, header_of, rows_of, runs_of, stage_curves, stage_header, task_header
from attnviz.ui.train.tagged import sentences_choice
from attnviz.ui.train.text import Facts, chosen_facts, cut_of, part_choice, part_refused, text_choice
from attnviz.ui.training_jobs import keep, training_jobs, visitor
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


def _begin() -> str:
    """Open another page if requested, keep the visitor's trainings, and return the visitor's name."""
    open_if_asked()
    if commands.once("settings_changed") and state.in_fragment():
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
        reading, (plan, why) = _read(task), fitting_plan(state.get)
        if why:
            st.warning(plain(f"These settings do not fit: {why}. So the task's own model is shown."))
        runs = runs_of(name, plan, task, state.get("run"))
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
    if state.has_changed(live, shown_live, commands.is_live()) or commands.once("is_revealed"):
        st.rerun()


def show_text() -> None:
    """Show the stages of the model series on the chosen text, trained or not."""
    name, facts = _begin(), chosen_facts()
    rows = rows_of(name, facts, state.get)
    with st.container():
        whole = _read_text(facts, max(row.run.plan.block_size for row in rows))
        _show_refusal()
    plan = stage_plan_of(SERIES[0], len(facts.labels), state.get)
    cut = cut_of(facts, plan) if state.get("text_view") == "data" else None
    header = {
        "text": {**facts.told(), "pairs": offer_pairs(facts), "cut": cut},
        "stages": [stage_header(row, facts, name, whole.cut(row.run.plan.block_size), state.get) for row in rows],
        "values": commands.values(),
        "in_lesson": lesson_bar.is_open(),
    }
    with st.container(key="training"):
        mount_with_updates("model_series", header, stage_curves(rows), key="models_view", on_update=commands.take)
    if not lesson_bar.is_open():  # its sentence and the picture have the window to themselves
        show_processors(len(facts.labels))


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


PARTS: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
    "task": (train_controls, show_training),
    "text": (text_controls, show_text),
    "generate": (generate_controls, show_generate),
}
"""What shows the settings of a part in the side bar, and what shows its component; keyed by name in links"""
