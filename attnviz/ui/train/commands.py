"""The commands that a visitor's browser sends for the visitor's trainings, on tasks and on texts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from attnviz.components.registration import position
from attnviz.components.updates import new_ones
from attnviz.links.link import KEYS
from attnviz.links.train import RECORDED
from attnviz.training.jobs.jobs import Job
from attnviz.training.plan import Plan
from attnviz.training.series import SERIES
from attnviz.training.settings import TEXT
from attnviz.ui import state
from attnviz.ui.train.plans import STAGES, is_of, plan_of, settings_of, stage_of, stage_plan_of, task_of
from attnviz.ui.train.text import chosen_facts, fits
from attnviz.ui.training_jobs import go_on, is_training, latest, refusing, stop, take_visitor, training_jobs, visitor

VALUES = ("watch", "snapshot", "predict")
"""The link keys that a user sets in both components, besides the cell"""
OF_TEXT = ("rung", "text_view", "cut")
"""The link keys that a user sets only in the component of a text"""
IN_SIDE_BAR = ("cut", "seed")
"""The link keys that a user may set in a component and in the side bar"""
ANSWERED = 2.0
"""Seconds after a command during which the page waits for its effect"""


@dataclass(slots=True)
class _CommandRecord:
    """What a session keeps of the visitor's commands."""

    commanded: float = -math.inf
    """When the last command arrived, in seconds of `time.monotonic`"""
    refused: str = ""
    """Why the last training was not started"""
    run: str = ""
    """The name of the task's training whose attention is shown; "" for the newest"""
    slow: int = 0
    """The minimum duration of a step, in milliseconds"""
    page: str = ""
    """The name of the page on which to open the model, until it is opened"""
    is_revealed: bool = False
    """Whether the covered row was revealed since the last run of the whole page"""
    settings_changed: bool = False
    """Whether the view's settings differ from the side bar's: then the whole page runs again"""


def _kept() -> _CommandRecord:
    return state.record(_CommandRecord)


def is_text() -> bool:
    """Whether the view shows trainings on a text, not on a task."""
    return bool(state.get("train_part") == TEXT)


def values() -> dict[str, Any]:
    """Return what is chosen in the component: `values` of `TrainingHeader` or of `SeriesHeader` in frontend/types."""
    return {
        **{name: state.get(name) for name in VALUES},
        "pin": {"q": state.get("q"), "k": state.get("k")},
        **({name: state.get(name) for name in OF_TEXT} if is_text() else {"run": chosen_run()}),
        "slow": slow(), "visitor": visitor(),
    }  # fmt: skip


def refusal() -> str:
    """Return why the last training was not started, in a sentence; "" if it was."""
    return _kept().refused


def chosen_run() -> str:
    """Return the name of the training whose attention is shown; "" for the newest."""
    run: str = state.get("run") or _kept().run
    return run


def once(name: str) -> Any:
    """Return a field of the session's record of commands, and reset it: "page", "is_revealed", "settings_changed"."""
    kept = _kept()
    value = getattr(kept, name)
    setattr(kept, name, type(value)())
    return value


def take(sent: Mapping[str, object]) -> None:
    """Apply what the browser has sent. It may be anything."""
    run, pin = sent.get("run"), sent.get("pin")
    if take_visitor(sent.get("visitor")) and not is_text():
        _find_again()
    if isinstance(run, str) and len(run) <= 20:
        _kept().run = run
        state.put("run", run if run in RECORDED else "")
        _show_settings(run)
    take_slow(sent.get("slow"))
    take_chosen({**sent, **(pin if isinstance(pin, Mapping) else {})}, [*VALUES, "q", "k", *OF_TEXT])
    for command in new_ones("command", sent.get("commands")):
        _kept().commanded = time.monotonic()
        do(command)


def take_chosen(sent: Mapping[str, object], names: Sequence[str]) -> None:
    """Apply what is chosen in a component; record if a covered row is revealed or the side bar's settings change."""
    is_covered, before = state.get("predict"), [state.get(name) for name in IN_SIDE_BAR]
    state.apply_from_browser(sent, names)
    if is_covered and not state.get("predict"):
        _kept().is_revealed = True
    if before != [state.get(name) for name in IN_SIDE_BAR]:
        _kept().settings_changed = True


def slow() -> int:
    """Return the minimum duration of a step in slow motion, in milliseconds."""
    return _kept().slow


def take_slow(sent: object) -> None:
    """Slow the visitor's training, and later ones, to `sent` milliseconds a step; 0 means as fast as possible."""
    wanted = position(sent)
    if wanted is not None and wanted <= 10_000:
        _kept().slow = wanted
        training_jobs().set_speed(visitor(), speed())


def _find_again() -> None:
    """After a reload, show the training that the link's settings describe, unless the newest one has them."""
    try:
        plans = plan_of(state.get), plan_of(state.get, control=True)
    except ValueError:
        return
    jobs = training_jobs().jobs(visitor())
    if jobs and jobs[0].plan not in plans:
        _kept().run = next((str(job.number) for job in jobs if job.plan == plans[0]), "")


def _show_settings(run: str) -> None:
    """Copy a training's settings to the view, so that the link describes the training on screen."""
    job = next((other for other in training_jobs().jobs(visitor()) if str(other.number) == run), None)
    task = task_of(state.get)
    if job is not None and is_of(job, task):
        before = state.every()
        settings = settings_of(job.plan, task)
        state.apply_from_browser(
            {name: None if value is None else str(value) for name, value in settings.items()}, settings
        )
        _kept().settings_changed = before != state.every()


def do(command: str) -> None:
    """Run a command of the browser; ignore unknown commands.

    For a task they are `train`, `control`, `step`, `stop`, `continue` and `open heads`, which names a page; for a text
    `all`, `train:gpt` and `step:gpt`, which name a stage, and the last three.
    """
    verb, _, stage = command.partition(":")
    if command.startswith("open "):
        _kept().page = command.removeprefix("open ")
    elif command == "stop" and latest(_is_of_view):
        stop(_is_of_view)
    elif command == "continue" and latest(_can_go_on):
        go_on(_can_go_on)
    elif verb == "step" and latest(partial(_can_go_on, stage=stage)):
        training_jobs().one_step(visitor())
    elif verb != "step" or not is_training():
        with refusing(refuse):
            _start(_plans(verb, stage), paused=verb == "step")


def _is_of_view(job: Job) -> bool:
    """Whether a training is on the chosen text or task."""
    if is_text():
        return job.plan.subject == TEXT and job.text == chosen_facts().text
    return is_of(job, task_of(state.get))


def _can_go_on(job: Job, stage: str = "") -> bool:
    """Whether a training was stopped and is on the chosen text or task; if a stage is named, also of that stage."""
    if not job.view.can_continue or not _is_of_view(job):
        return False
    trained = stage_of(job.plan) if stage else None
    return not stage or (trained is not None and trained.name == stage)


def _plans(verb: str, stage: str) -> list[Plan]:
    """Return the plans that a command wants trained, in order; none for an unknown command.

    Raises:
        ValueError: the settings do not fit each other.
    """
    if not is_text():
        is_known = verb in ("train", "control", "step") and not stage
        return [plan_of(state.get, control=verb == "control")] if is_known else []
    if verb == "all" and not stage:
        stages = SERIES
    elif verb in ("train", "step") and stage in STAGES:
        stages = (STAGES[stage],)
    else:
        return []
    state.put("rung", stage)
    return [stage_plan_of(each, len(chosen_facts().labels), state.get) for each in stages]


def _start(plans: Sequence[Plan], *, paused: bool) -> None:
    """Train plans one after another, without those whose blocks are too long for the text."""
    if not plans:
        return
    reasons = [fits(chosen_facts(), plan.cut, plan.block_size) if is_text() else "" for plan in plans]
    refuse(next(filter(None, reasons), ""))
    if not is_text():  # a chosen run is one on a task
        _kept().run = ""
        state.put("run", KEYS["run"].default)
    state.put("snapshot", KEYS["snapshot"].default)
    fitting = [plan for plan, reason in zip(plans, reasons, strict=True) if not reason]
    if fitting:
        data = chosen_facts().text if is_text() else task_of(state.get).data
        training_jobs().start(visitor(), fitting[0], data, speed=speed(), paused=paused, then=fitting[1:])


def refuse(sentence: str) -> None:
    """Keep why a training was not started; "" if it was."""
    _kept().refused = sentence


def speed() -> float:
    """Return the most steps a second; 0 if there is no limit."""
    return 1000 / slow() if slow() else 0.0


def is_live() -> bool:
    """Whether the visitor has a running or queued training, or has just sent a command: then the page polls."""
    return is_training() or time.monotonic() - _kept().commanded < ANSWERED
