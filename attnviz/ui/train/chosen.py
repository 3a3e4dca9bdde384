"""The training, snapshot and head on screen, for export files and as a model that other pages open."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import streamlit as st

from attnviz.export.code.training.script import training_script
from attnviz.links.link import KEYS, write_link
from attnviz.links.pages import PAGES
from attnviz.pretrained.names import ModelError
from attnviz.trace.model import places
from attnviz.trained.making import ModelFile, file_of
from attnviz.trained.model import TrainedModel
from attnviz.trained.recorded import Recording, load
from attnviz.trained.shipped import keep
from attnviz.training.evaluation import Head, head_of
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.view import Snapshot, View
from attnviz.training.plan import task_of as subject_task
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.settings import TEXT
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks.task import Task
from attnviz.ui import state, trained_models
from attnviz.ui.caches import result
from attnviz.ui.messages import plain
from attnviz.ui.train import commands
from attnviz.ui.train.plans import STAGES, fitting_plan, sample_of, stage_of, task_of
from attnviz.ui.train.runs import Run, job_of, jobs_on, recorded_stage, runs_of
from attnviz.ui.train.text import chosen_facts
from attnviz.ui.training_jobs import visitor

FILE_BYTES = 32 * 2**20
"""Size of the cache of recent files: hundreds of a task's models"""
OPENS = ("step_by_step", "heads", "compare", "transformer")
"""The pages that show a trained model, by name"""


class GoneError(LookupError):
    """What was asked for is not there: no longer, not yet, or never. The message is a sentence for the page."""


@dataclass(frozen=True, slots=True)
class SnapshotName:
    """A snapshot of a training, by its names: it holds no weights, so it may be kept long."""

    visitor: str
    task: str
    """The name of the task, or `TEXT`"""
    number: int
    """The number of the training's job"""
    step: int
    """The snapshot's step"""
    sample: str
    """The text that the model is shown"""
    watch: str
    """The chosen head, such as "decoder.1.0"; "" for the head that scores highest on the task's last pattern"""
    recording: str = ""
    """The name of the training, if it is a recorded one that ships; then `visitor` is "" and `number` is 0"""

    def job(self) -> Job | Recording:
        """Return the training.

        Raises:
            GoneError: it is no longer there.
        """
        if self.recording:
            return load(self.recording)
        job = job_of(self.visitor, self.number)
        if job is None:
            raise GoneError("This training is no longer on the server.")
        return job

    def learned(self) -> Task | None:
        """Return the task of the training; None if it is on a text.

        Raises:
            GoneError: as `job` does.
        """
        job = self.job()
        return None if self.task == TEXT else subject_task(job.plan, job.data)

    def snapshot(self) -> Snapshot:
        """Return the weights of the nearest snapshot that is still there.

        Raises:
            GoneError: the training is no longer there, or has no snapshot yet.
        """
        snapshots = self.job().view.snapshots
        if not snapshots:
            raise GoneError("This training has no snapshot yet.")
        return min(snapshots, key=lambda snapshot: abs(snapshot.step - self.step))

    def head(self) -> Head | None:
        """Return the head that is shown large; None if the model has none."""
        job = self.job()
        return head_of(job.plan, job.view, self.watch)


def chosen() -> SnapshotName | None:
    """Return what the view of a task or a text shows; None if nothing was trained or is left."""
    if state.get("train_part") == "generate":
        return None
    return _of_text() if commands.is_text() else _of_task()


def _of_text() -> SnapshotName | None:
    name, stage = visitor(), state.get("rung")
    for job in jobs_on(name, chosen_facts().text):
        trained = stage_of(job.plan)
        if job.view.snapshots and trained is not None and stage in ("", trained.name):
            return SnapshotName(name, TEXT, job.number, _step(job.view), _sample(job), state.get("watch"))
    recording = recorded_stage(STAGES[stage or FIRST_SHOWN], chosen_facts(), state.get)
    if recording is None:
        return None
    step = _step(recording.view)
    return SnapshotName("", TEXT, 0, step, _sample(recording), state.get("watch"), recording.card.name)


def _of_task() -> SnapshotName | None:
    runs, run = shown_runs(), commands.chosen_run()
    shown = next((other for other in runs if other.id == run), runs[-1])
    if not shown.view.snapshots:
        return None
    owner, task, step = "" if shown.recording else visitor(), shown.plan.subject, _step(shown.view)
    return SnapshotName(owner, task, shown.number, step, sample_of(state.get), state.get("watch"), shown.recording)


def shown_runs() -> list[Run]:
    """Return the trainings of the view's task that are shown together, the newest last."""
    return runs_of(visitor(), fitting_plan(state.get)[0], task_of(state.get), state.get("run"))


def _step(view: View) -> int:
    """Return the step of the snapshot to show: the one nearest to the view's, or the newest."""
    steps, wanted = [snapshot.step for snapshot in view.snapshots], state.get("snapshot")
    return steps[-1] if wanted is None else min(steps, key=lambda step: abs(step - wanted))


def _sample(job: Job | Recording) -> str:
    """Return the text that the model is shown."""
    if job.text is None:
        return sample_of(state.get)
    return str(state.get("sample")) or job.text[: getattr(job.plan.model, "block_size", 8)]


def model_file(of: SnapshotName) -> ModelFile:
    """Return a snapshot's model as a file; works on any thread.

    Raises:
        ModelError: as `attnviz.trained.making.file_of` does.
        GoneError: the training is no longer there.
    """
    job, snapshot = of.job(), of.snapshot()
    key = of.visitor, of.number, of.recording, snapshot.step
    return result("trained files", FILE_BYTES, key, lambda: file_of(job.plan, snapshot, job.view.losses, data=job.data))


def script_of(of: SnapshotName) -> str:
    """Return a script of plain torch that trains the same model to the same losses.

    Raises:
        NoTrainingCodeError: there is no script for such a training.
        GoneError: the training is no longer there.
    """
    job = of.job()
    losses, last = job.view.losses, len(job.view.losses) - 1
    shown = {step: float(losses[step]) for step in sorted({*range(0, last + 1, max(1, last // 20)), last}) if step >= 0}
    digest = None if job.text is None else hashlib.sha256(job.text.encode(errors="replace")).hexdigest()
    files = job.data if isinstance(job.data, TaggedFiles) else None
    return training_script(job.plan, sha256=digest, files=files, losses=shown)


def open_if_asked() -> None:
    """Go to the page on which the visitor wants to open the model on screen; if it can't open there, say why."""
    trained_models.go_if_opened()
    page, of = commands.once("page"), chosen()
    generates = page == "generate" and of is not None and of.task == TEXT
    if of is None or not (generates or page in OPENS):
        return
    try:
        link = link_to_generate(of) if generates else link_to(of, page)
    except (ModelError, GoneError) as why:
        st.warning(plain(str(why)))
        return
    state.go_to_page(PAGES["train" if generates else page].script, link)


def link_to_generate(of: SnapshotName) -> dict[str, str]:
    """Return a link to the part Generate, with a snapshot of a training on a text and the sample as its prompt.

    Raises:
        GoneError: the training is no longer there, or has no snapshot yet.
    """
    snapshots = of.job().view.snapshots
    if not snapshots:
        raise GoneError("This training has no snapshot yet.")
    last = snapshots[-1].step
    view = state.every() | {
        "train_part": "generate", "text_model": f"run-{of.number}", "snapshot": None if of.step == last else of.step,
        "prompt": state.get("sample"), "watch": "", "drawn": KEYS["drawn"].default,
    }  # fmt: skip
    return write_link(view, PAGES["train"].link_keys(None))


def link_to(of: SnapshotName, page: str) -> dict[str, str]:
    """Keep a snapshot's model, and return a link that opens it on another page with this page's text and head.

    Compare shows it as A beside the untrained model as B.

    Raises:
        ModelError: no page can open it.
        GoneError: the training is no longer there.
    """
    model, head = _kept(of), of.head()
    view = {name: key.default for name, key in KEYS.items()}
    view |= {"text": of.sample, "source": "trained", "model": model.name, "step": "weights"}
    if head is not None:
        place, number = head
        blocks = [(at.kind, at.layer) for at in places(model.description.numbers)]
        view |= {"kind": place.kind, "layer": place.layer, "head": number}
        view["block"] = blocks.index((place.kind, place.layer))
    if page == "compare" and of.step:
        view["b_model"] = _kept(replace(of, step=0)).name
    return PAGES[page].write(view, PAGES[page].link_keys(None if page == "heads" else "trained"))


def _kept(of: SnapshotName) -> TrainedModel:
    model = keep(model_file(of).data)
    trained_models.add_own(model.name)
    return model
