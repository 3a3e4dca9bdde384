"""What the browser asks to be done on the model series: train a stage or all of them, one step, stop, continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attnviz.runtime.training import training_jobs
from attnviz.training.jobs.job import Job
from attnviz.training.plan import TEXT, Plan
from attnviz.training.series import SERIES, Stage
from attnviz.ui import state
from attnviz.ui.train import commands
from attnviz.ui.train.text.chosen import chosen_facts
from attnviz.ui.train.text.facts import fits
from attnviz.ui.train.text.plans import STAGES, plan_of, stage_of
from attnviz.ui.trained.visitor import is_training, take_visitor, visitor

VALUES = ("rung", "text_view", "cut", "watch", "snapshot", "q", "k", "predict")
"""The link keys of what a user chooses in the component"""
_CUT = "train_text_cut_changed"


def values() -> dict[str, Any]:
    """Return what is chosen in the component: `LadderHeader.values` in frontend/types/ladder.d.ts."""
    return {
        **{name: state.get(name) for name in ("rung", "text_view", "cut", "watch", "snapshot", "predict")},
        "pin": {"q": state.get("q"), "k": state.get("k")},
        "slow": commands.slow(), "visitor": visitor(),
    }  # fmt: skip


def take(sent: Mapping[str, object]) -> None:
    """Apply what the browser has sent. Anything may come."""
    take_visitor(sent.get("visitor"))
    commands.take_slow(sent.get("slow"))
    pin, cut = sent.get("pin"), state.get("cut")
    commands.take_chosen({**sent, **(pin if isinstance(pin, Mapping) else {})}, VALUES)
    if state.get("cut") != cut:
        st.session_state[_CUT] = True
    command = commands.new_command(sent.get("command"))
    if command:
        do(command)


def has_cut_changed() -> bool:
    """Whether the cut was chosen in the component, once: then the page runs as a whole, with its sidebar."""
    changed: bool = st.session_state.pop(_CUT, False)
    return changed


def do(command: str) -> None:
    """Obey a command of the browser; ignore one that there is not."""
    jobs, name = training_jobs(), visitor()
    verb, _, stage = command.partition(":")
    job = jobs.job(name)
    is_text = job is not None and job.plan.subject == TEXT
    if command == "all":
        state.put("rung", "")
        _start([plan_of(one, len(chosen_facts().labels), state.get) for one in SERIES])
    elif verb == "train" and stage in STAGES:
        state.put("rung", stage)
        _start([plan_of(STAGES[stage], len(chosen_facts().labels), state.get)])
    elif command == "stop" and is_text:
        jobs.stop(name)
    elif command == "continue" and is_text:
        jobs.go_on(name)
    elif verb == "step" and stage in STAGES and not is_training():
        _one_step(job if is_text else None, STAGES[stage])
    elif command.startswith("open "):
        commands.ask_to_open(command)


def _one_step(job: Job | None, stage: Stage) -> None:
    """Make one step of a stage's training, if it is the visitor's latest and was stopped; else begin a new one."""
    if job is not None and job.view.can_continue and job.text == chosen_facts().text and stage_of(job.plan) == stage:
        training_jobs().one_step(job.visitor)
        return
    state.put("rung", stage.name)
    _start([plan_of(stage, len(chosen_facts().labels), state.get)], paused=True)


def _start(plans: list[Plan], *, paused: bool = False) -> None:
    """Train one after another; of several, those for whose blocks the text is too short are left out."""
    facts = chosen_facts()
    reasons = [fits(facts, plan.cut, plan.block_size) for plan in plans]
    short = [reason for reason in reasons if reason]
    fitting = [plan for plan, reason in zip(plans, reasons, strict=True) if not reason]
    commands.refuse(short[0] if short else "")
    state.put("snapshot", None)
    if not fitting:
        return
    with commands.refusing():
        training_jobs().start(
            visitor(), fitting[0], facts.text, speed=commands.speed(), paused=paused, then=fitting[1:]
        )
