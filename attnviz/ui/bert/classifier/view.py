"""The main part of the classifier and of the agent: what is chosen of it, and the buttons that train."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

import streamlit as st

from attnviz.bert.classification.examples import Examples
from attnviz.bert.encoding import SENTENCE_TOKENS
from attnviz.figures.plots import Spec
from attnviz.formatting import number
from attnviz.runtime.training import keep, training_jobs
from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.bert.classifier import commands
from attnviz.ui.bert.classifier.data import FORMAT, chosen, refusal
from attnviz.ui.bert.classifier.results import Shown, job_of, latest_job, shown
from attnviz.ui.bert.classifier.what import What
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.plain import plain
from attnviz.ui.trained.visitor import visitor
from attnviz.ui.widgets import plot

OWN_VIEWS = {
    "result": "attnviz.ui.bert.classifier.result", "sentence": "attnviz.ui.bert.classifier.sentence",
    "wrong": "attnviz.ui.bert.classifier.wrong", "seeds": "attnviz.ui.bert.classifier.seeds",
}  # fmt: skip
"""The modules of what can be shown of both, each with `show`"""
HIGHER = 1.6
"""How much higher the plots of a lecture are"""


def show_view(what: What, others: Mapping[str, Callable[[Shown], None]]) -> None:
    """Show what the view has chosen; `others` are what can be shown of this one alone, by the names in links."""
    keep(visitor())
    training_jobs().prepare()
    examples = chosen(what)
    _choose(what, examples)
    if examples is not None and (why := commands.refusal(what, examples)):
        st.warning(plain(why))
    if refusal() and what.takes_files and settings().uploads:
        st.error(plain(refusal()))
    here = shown(what)
    if examples is not None and (here is None or here.view is None):
        _say_what_failed(examples)
    if here is None:
        _say_what_is_missing(has_texts=examples is not None)
        return
    _say_what_is_cut(here)
    name = state.get(what.view_key)
    if name in others:
        others[name](here)
    else:
        import_module(OWN_VIEWS[name]).show(here)


def _choose(what: What, examples: Examples | None) -> None:
    """Show the choice of what is shown, and the buttons; a lesson shows neither."""
    if state.get("lecture") or lesson_bar.is_open():
        state.keep_within(what.view_key, "View", list(what.titles))
        if lesson_bar.is_open():
            return
    with st.container(horizontal=True, key="class_bar", vertical_alignment="center"):
        if not state.get("lecture"):
            state.choice(
                what.view_key, st.segmented_control, "What is shown", list(what.titles), required=True,
                format_func=what.titles.get, label_visibility="collapsed",
            )  # fmt: skip
        is_live = commands.is_live()
        if is_live:
            st.button("Stop", key="class_stop", icon=":material/stop:", on_click=commands.stop)
        else:
            goes_on = examples is not None and commands.can_go_on(examples)
            if goes_on:
                st.button(
                    "Continue", key="class_continue", type="primary", icon=":material/play_arrow:",
                    on_click=commands.go_on,
                )  # fmt: skip
            st.button(
                "Train", key="class_train", type="secondary" if goes_on else "primary", icon=":material/play_arrow:",
                on_click=commands.train, args=(what,),
                help="It takes a second or two. Another training of yours that goes on is stopped.",
            )  # fmt: skip
        job = latest_job()
        if job is not None and is_live:
            st.caption(plain(commands.said(job.view)))


def _say_what_failed(examples: Examples) -> None:
    """Say why a training with these texts and settings has nothing to show, if it has failed."""
    job = job_of(examples)
    if job is not None and job.view.status in ("failed", "diverged") and job.view.message:
        st.error(plain(job.view.message))


def _say_what_is_cut(here: Shown) -> None:
    """Say how many texts of a user's file are longer than what is read of them."""
    cut = here.cut
    if cut:
        st.caption(
            f"{cut:,} of {len(here.examples):,} texts {'has' if cut == 1 else 'have'} more than {SENTENCE_TOKENS} "
            f"tokens: the first {SENTENCE_TOKENS} are read."
        )


def _say_what_is_missing(*, has_texts: bool) -> None:
    """Say what has to be done before there is something to show."""
    if not has_texts:
        if not refusal():
            st.info(f"Upload a CSV file in the sidebar: {FORMAT}")
    elif not commands.is_live():
        st.info("Press **Train**: a linear layer learns these classes in a second or two.")


def origin(here: Shown) -> str:
    """Say where the classifier comes from, in a sentence."""
    training = here.plan.training
    how = f"seed {training.seed}, {training.steps:,} steps, learning rate {training.learning_rate:g}"
    features = "the mean over tokens" if here.classifier.how == "mean" else "[CLS]"
    features += ", tanh first" if here.classifier.tanh else ""
    if here.shipped is not None:
        return f"Trained before the class, on {features}: {how}. Train makes one with the settings at the left."
    if here.view is not None and here.view.status != "done":
        return f"{commands.said(here.view)} On {features}: {how}."
    return f"Trained now, on {features}: {how}."


def show_plot(figure: Spec, key: str) -> None:
    """Show a figure, higher in a lecture, which has nothing below it."""
    if state.get("lecture"):
        layout = figure["layout"]
        figure = {**figure, "layout": {**layout, "height": int(HIGHER * layout["height"])}}
    plot(figure, key)


def percent(share: float, digits: int = 1) -> str:
    """Write a share in %."""
    return f"{number(100 * share, digits)} %"
