"""The training, the snapshot and the head that a visitor has before the eyes: for files, and for other pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnviz.trained.heads import Head, head_of
from attnviz.trained.recorded import Recording, load
from attnviz.training.jobs.job import Job
from attnviz.training.jobs.view import Snapshot, View
from attnviz.training.plan import TEXT
from attnviz.training.plan import task_of as subject_task
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.tasks.task import Task
from attnviz.ui import state
from attnviz.ui.train import commands
from attnviz.ui.train.plans import fitting_plan, sample_of, task_of
from attnviz.ui.train.runs import jobs_of, runs_of
from attnviz.ui.train.text.chosen import chosen_facts
from attnviz.ui.train.text.plans import STAGES, stage_of
from attnviz.ui.train.text.stages import recorded_of
from attnviz.ui.trained.visitor import visitor


@dataclass(frozen=True, slots=True)
class Chosen:
    """A snapshot of a training, by names: it may be kept long, and holds no weights."""

    visitor: str
    task: str
    """The name of the task, or `TEXT`"""
    number: int
    """Of the training's job"""
    step: int
    """Of the snapshot"""
    sample: str
    """The text that the model is shown"""
    watch: str
    """The chosen head, such as "decoder.1.0"; "" for the one that shows the task's last pattern most"""
    recording: str = ""
    """The name of the recorded training, if it is one that ships; then there is no visitor, and the number is 0"""

    def job(self) -> Job | Recording:
        """Return the training.

        Raises:
            LookupError: it is no longer there.
        """
        if self.recording:
            return load(self.recording)
        found = next((one for one in jobs_of(self.visitor) if one.number == self.number), None)
        if found is None:
            raise LookupError("This training is no longer on the server.")
        return found

    def learned(self) -> Task | None:
        """Return the task that it learns; None if that is a text.

        Raises:
            LookupError: as `job` does.
        """
        job = self.job()
        return None if self.task == TEXT else subject_task(job.plan, job.data)

    def snapshot(self) -> Snapshot:
        """Return the weights. Of those that are still there, the snapshot that is nearest.

        Raises:
            LookupError: the training is no longer there, or has no snapshot yet.
        """
        snapshots = self.job().view.snapshots
        if not snapshots:
            raise LookupError("This training has no snapshot yet.")
        return min(snapshots, key=lambda one: abs(one.step - self.step))

    def at(self, step: int) -> Chosen:
        """Return another snapshot of the same training."""
        return replace(self, step=step)

    def head(self) -> Head | None:
        """Return the head that is shown large; None if the model has none."""
        job = self.job()
        return head_of(job.plan, job.view, self.watch)


def chosen() -> Chosen | None:
    """Return what the view of a task or of a text shows; None if nothing was trained, or is there."""
    if state.get("train_part") == "generate":
        return None
    return _of_text() if state.get("train_part") == TEXT else _of_task()


def _of_text() -> Chosen | None:
    name, text, stage = visitor(), chosen_facts().text, state.get("rung")
    jobs = [job for job in jobs_of(name) if job.plan.subject == TEXT and job.text == text and job.view.snapshots]
    jobs = [job for job in jobs if (at := stage_of(job.plan)) and stage in ("", at.name)]
    if jobs:
        job = jobs[-1]
        return Chosen(name, TEXT, job.number, _step(job.view), _sample(job), state.get("watch"))
    recording = recorded_of(STAGES[stage or FIRST_SHOWN], chosen_facts(), state.get)
    if recording is None:
        return None
    step = _step(recording.view)
    return Chosen("", TEXT, 0, step, _sample(recording), state.get("watch"), recording.card.name)


def _of_task() -> Chosen | None:
    name, run = visitor(), commands.chosen_run()
    runs = runs_of(name, fitting_plan(state.get)[0], task_of(state.get), state.get("run"))
    shown = next((one for one in runs if one.id == run), runs[-1])
    if not shown.view.snapshots:
        return None
    owner, task, step = "" if shown.recording else name, shown.plan.subject, _step(shown.view)
    return Chosen(owner, task, shown.number, step, sample_of(state.get), state.get("watch"), shown.recording)


def _step(view: View) -> int:
    """Return the step of the snapshot that is shown: the nearest one, or the newest."""
    steps, wanted = [one.step for one in view.snapshots], state.get("snapshot")
    return steps[-1] if wanted is None else min(steps, key=lambda one: abs(one - wanted))


def _sample(job: Job | Recording) -> str:
    """Return the text that the model is shown."""
    if job.text is None:
        return sample_of(state.get)
    return str(state.get("sample")) or job.text[: getattr(job.plan.model, "block_size", 8)]
