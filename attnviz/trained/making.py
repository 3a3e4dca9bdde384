"""Trains a model as a plan says and writes it to a file; makes such a file from a snapshot; and records trainings.

A recording is made with the same code as in the app, and keeps some of its snapshots."""

from __future__ import annotations

import io
import queue
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from attnviz.formatting import counted
from attnviz.pretrained.names import ModelError
from attnviz.reprs import ShortRepr
from attnviz.tokens.tokenizers import MAX_UPLOAD, read_upload
from attnviz.toy.language.config import has_attention, longest_context
from attnviz.trained.card import AboutFiles, Card, Corpus, as_file
from attnviz.trained.files import Saved, check_plan, read, write
from attnviz.trained.model import NO_ATTENTION
from attnviz.trained.recorded import SNAPSHOTS, Recording, plan_of
from attnviz.training.evaluation import Evaluator, evaluate, evaluate_whole, heads_of
from attnviz.training.jobs.jobs import Job
from attnviz.training.jobs.process import Message
from attnviz.training.jobs.run import Run
from attnviz.training.jobs.view import Evaluation, Snapshot, View
from attnviz.training.jobs.weights import model_of
from attnviz.training.loop import Checkpoint, CheckpointError, Trainer
from attnviz.training.plan import Data, Plan, build, subject_of
from attnviz.training.settings import TAGGED, TEXT
from attnviz.training.tagged.files import TaggedFiles, tagged_files
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Result, Subject, Task
from attnviz.training.text.corpus import built_in
from attnviz.training.text.subject import Text, as_read

BUILT_IN_CORPUS = "the built-in corpus"
RECENT = 50
"""The steps over which the training loss is averaged"""


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The training data of a model, with its plan."""

    plan: Plan
    subject: Subject
    corpus: Corpus | None
    """None for a task that generates its sequences"""

    @property
    def digest(self) -> str:
        """The sha256 of the training data; "" for a task that generates its sequences."""
        if isinstance(self.subject, TaggedSentences):
            return self.subject.data.digest
        return "" if self.corpus is None else self.corpus.sha256

    @property
    def about(self) -> AboutFiles | None:
        """The card's description of a user's files, if the model learns from such files."""
        subject = self.subject
        return AboutFiles.of(subject.data, subject.examples[0]) if isinstance(subject, TaggedSentences) else None


@dataclass(slots=True)
class ModelTraining:
    """One training, from its first step or from a checkpoint to a model's file."""

    name: str
    training_data: TrainingData
    trainer: Trainer
    checkpoint: Path
    every: int
    """Steps between two validations, each of which writes the checkpoint"""
    losses: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    """The losses of the last steps, in nats"""

    @classmethod
    def begin(cls, name: str, training_data: TrainingData, checkpoint: Path, every: int | None = None) -> ModelTraining:
        """Return a training before its first step; its model and dropout are drawn from the plan's seed."""
        settings = training_data.plan.training
        trainer = Trainer(build(training_data.plan.model, settings.seed), training_data.subject.batch, settings)
        return cls(name, training_data, trainer, checkpoint, every or max(1, settings.steps // 10))

    def resume(self, saved: Checkpoint) -> None:
        """Continue from a checkpoint.

        Raises:
            CheckpointError: it is of another model, plan or text, or damaged.
        """
        if (saved.name, saved.plan, saved.corpus) != (self.name, self.training_data.plan, self.training_data.digest):
            raise CheckpointError(
                f"this checkpoint is of another training: of {saved.name}, or on another text or other files"
            )
        try:
            self.trainer.resume(saved.state)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError("this checkpoint is damaged") from error
        self.losses.extend(saved.losses)

    def run(
        self,
        stops: Callable[[], bool] = lambda: False,
        stepped: Callable[[float], None] = lambda _: None,
        validated: Callable[[int, Result], None] = lambda *_: None,
    ) -> bool:
        """Make the remaining steps, and return whether all are made.

        Args:
            stops: called after each step; returns whether to stop, and then the checkpoint is written.
            stepped: called with the loss after each step.
            validated: called with the number of steps and the evaluation after each validation.

        Raises:
            DivergedError: the loss is no longer finite; the checkpoint is that of the last validation.
            OSError: the checkpoint can't be written.
        """
        steps = self.training_data.plan.training.steps
        while self.trainer.step < steps:
            self.losses.append(self.trainer.advance())
            stepped(self.losses[-1])
            step = self.trainer.step
            if stops() and step < steps:
                self.save()
                return False
            if step % self.every == 0 or step == steps:
                validated(step, evaluate(self.trainer.model, self.training_data.subject))
                self.save()
        return True

    def save(self) -> None:
        """Write the checkpoint; raises OSError if that fails."""
        Checkpoint(
            self.name, self.training_data.plan, self.training_data.digest, self.trainer.state(), tuple(self.losses)
        ).write(self.checkpoint)

    def finish(self, command: str) -> tuple[bytes, Card]:
        """Return the model's file and its card, whose numbers are measured with the weights as the file rounds them.

        Raises:
            attnviz.pretrained.ModelError: it can't be saved; see `attnviz.trained.files.write`.
        """
        loss = sum(self.losses) / len(self.losses)
        return finished(self.trainer.model, self.training_data, Card(self.name, 0.0, 0.0, loss, command=command))


def finished(
    model: nn.Module, training_data: TrainingData, partial_card: Card, *, whole: bool = True
) -> tuple[bytes, Card]:
    """Return a model's file and its card, whose numbers are measured with the weights as the file rounds them.

    Args:
        model: the trained model.
        training_data: what it learned from.
        partial_card: a card with what is not computed here: name, training loss, command, steps.
        whole: for a text, whether loss and accuracy are those of the whole validation part, or of some of its blocks.

    Raises:
        attnviz.pretrained.ModelError: it can't be saved; see `attnviz.trained.files.write`.
    """
    plan, labels = training_data.plan, training_data.subject.labels
    today = datetime.now(UTC).date().isoformat()
    partial_card = replace(
        partial_card, corpus=training_data.corpus, files=training_data.about, date=today, torch=torch.__version__
    )
    outputs = training_data.subject.outputs if isinstance(training_data.subject, TaggedSentences) else ()
    card = _measured(read(write(model, plan, labels, partial_card, outputs)), training_data.subject, whole=whole)
    return write(model, plan, labels, card, outputs), card


def measured(saved: Saved, text: Path | None, files: tuple[Path, Path] | None = None) -> tuple[bytes, Card]:
    """Return a model's file with the same weights and a card whose loss, accuracy and heads are measured again.

    Args:
        saved: the file.
        text: the text that the model was trained on; see `training_data_of`.
        files: the files that it was trained and tested on; see `training_data_of`.

    Raises:
        attnviz.pretrained.ModelError: it was trained on another text or other files, or can't be saved.
        BadUploadError, TextError, TaggedError, OSError, ValueError: see `training_data_of`.
    """
    if (saved.plan.subject == TAGGED) != (files is not None):
        raise ModelError(
            "--train-file and --test-file name the files of a model that learned from these, and no other."
        )
    training_data = training_data_of(saved.plan, text, files)
    card = saved.card
    expected = card.corpus and card.corpus.sha256, card.files and card.files.sha256
    digests = training_data.corpus and training_data.corpus.sha256, training_data.about and training_data.about.sha256
    if expected != digests:
        names = "--text names its own" if files is None else "--train-file and --test-file name its own"
        raise ModelError(f"The model was trained on {'another text' if files is None else 'other files'}: {names}.")
    card = replace(_measured(saved, training_data.subject), files=training_data.about)
    return write(saved.module, saved.plan, saved.labels, card, saved.task.outputs if saved.task else ()), card


def _measured(saved: Saved, subject: Subject, *, whole: bool = True) -> Card:
    whole = whole or isinstance(subject, TaggedSentences)  # its baseline is of the whole test file
    result = evaluate_whole(saved.module, subject) if whole else evaluate(saved.module, subject)
    return replace(saved.card, **asdict(result), heads=heads_of(saved.module, subject))


def training_data_of(plan: Plan, text: Path | None, files: tuple[Path, Path] | None = None) -> TrainingData:
    """Return a plan with its training data. The model's vocabulary is a text's characters, or a training file's words.

    Args:
        plan: the plan; with files, that of the task `tagging` or one made from it.
        text: a UTF-8 file; the built-in corpus if None. A task ignores it.
        files: a training file and a test file, of words and their tags.

    Raises:
        TaggedError: the files can't be used.
        BadUploadError: the file is larger than 5 MB, binary, empty or not UTF-8.
        TextError: the text is too short for the plan's block size.
        OSError: it can't be read.
    """
    if files is not None:
        train, test = files
        return of_files(plan, tagged_files(_start(train), _start(test), (train.name, test.name)))
    if plan.subject != TEXT:
        return TrainingData(plan, TASKS[plan.subject], None)
    data = built_in().encode() if text is None else _start(text)
    content, model = as_read(read_upload(data)), plan.token_model
    subject = Text(content, longest_context(model))
    corpus = Corpus.of(BUILT_IN_CORPUS if text is None else text.name, content)
    return TrainingData(replace(plan, model=replace(model, vocabulary=len(subject.labels))), subject, corpus)


def of_files(plan: Plan, files: TaggedFiles) -> TrainingData:
    """Return a plan with a user's files as training data; their words, tags and longest sentence set the sizes."""
    task = TaggedSentences(files)
    sizes = {name: getattr(task.model, name) for name in ("vocabulary", "block_size", "outputs")}
    plan = replace(plan, subject=TAGGED, model=replace(plan.token_model, **sizes))
    return TrainingData(plan, task, Corpus.of_file(files.train))


def _start(file: Path) -> bytes:
    """Read up to one byte more than an upload may have, so that a file that is too large is noticed."""
    with file.open("rb") as opened:
        return opened.read(MAX_UPLOAD + 1)


OWN_TEXT = "a text of one's own"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelFile(ShortRepr):
    """A trained model as a file, and its card."""

    data: bytes
    """In the format of `attnviz.trained.files`"""
    plan: Plan
    card: Card

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return len(self.data)

    @property
    def stem(self) -> str:
        """The file's name without its suffix, such as "induction-300-steps"."""
        return f"{self.plan.subject}-{self.card.after}-steps"

    def card_file(self) -> bytes:
        """Return the card as a JSON file, to be read beside the model's."""
        return as_file(self.plan, self.card)


def why_not_shown(plan: Plan) -> str:
    """Return why the pages that show trained models can't show this one, in a sentence; "" if they can."""
    if not has_attention(plan.model):
        return NO_ATTENTION
    try:
        check_plan(plan)
    except ModelError:
        return "Its model reads other inputs than the other pages give it, so they show only the task's own model."
    return ""


def file_of(plan: Plan, snapshot: Snapshot, losses: NDArray[np.float32], *, data: Data | None = None) -> ModelFile:
    """Return the model of a snapshot as a file. Its weights are those of the snapshot, bit for bit.

    Args:
        plan: its training.
        snapshot: the weights after some steps.
        losses: the loss of each step of the training, in nats, (steps,).
        data: its training data, if the plan's subject is a text or a user's files.

    Raises:
        ModelError: the file would be larger than a trained model's file can be, or its model does not read what the
            task's own model reads.
        ValueError: the subject does not exist, or the snapshot is of another model.
    """
    subject = subject_of(plan, data)
    recent = losses[max(0, snapshot.step - RECENT) : snapshot.step]
    partial_card = Card(
        _name(plan, subject, snapshot.step), 0.0, 0.0, float(recent.mean()) if len(recent) else 0.0, after=snapshot.step
    )
    training_data = TrainingData(plan, subject, _corpus(data))
    file, card = finished(model_of(plan.model, snapshot.weights), training_data, partial_card, whole=False)
    return ModelFile(file, plan, card)


def _corpus(data: Data | None) -> Corpus | None:
    """Return the card's description of a text or of a training file."""
    if isinstance(data, TaggedFiles):
        return Corpus.of_file(data.train)
    if not isinstance(data, str):
        return None
    return Corpus.of(BUILT_IN_CORPUS if data == built_in() else OWN_TEXT, data)


def _name(plan: Plan, subject: Subject, step: int) -> str:
    subject_name = "tagging, own files" if plan.subject == TAGGED else plan.subject
    is_control = isinstance(subject, Task) and subject.is_control(plan.model)
    return f"{subject_name}{' (control)' if is_control else ''}, {counted(step, 'step')}"


PASSING, EARLY = 0.8, 20
"""The weight of all steps together, relative to a curve that rises by 1; and how many steps count as early"""


def record(name: str) -> Recording:
    """Train as the page Train does by default, in this process, and return the recording.

    Raises:
        ValueError: there is no recording of this name.
        attnviz.training.loop.DivergedError: the loss is no longer finite.
    """
    plan, text = plan_of(name)
    job, events = Job("", plan, text), io.BytesIO()
    header, body = job.start_command()
    Run(Message({**header, "kind": "start"}, body), queue.SimpleQueue(), events).to_the_end()
    events.seek(0)
    while (event := Message.read(events)) is not None:
        job.receive(event)
    view = replace(job.view, status="done", speed=0.0)
    card = Card(
        name,
        0.0,
        0.0,
        float(view.losses[-RECENT:].mean()),
        None if text is None else Corpus.of(BUILT_IN_CORPUS, text),
        command=f"python -m attnviz record {name}",
        date=datetime.now(UTC).date().isoformat(),
        torch=torch.__version__,
    )
    return measured_recording(Recording(plan, card, replace(view, snapshots=chosen(view, SNAPSHOTS[name]))))


def measured_recording(recording: Recording) -> Recording:
    """Return a recording whose last evaluation and card are measured with its last weights on all held-out sequences.

    Raises:
        ValueError: its text is not the built-in corpus.
    """
    plan, view, text = recording.plan, recording.view, recording.text
    if recording.card.corpus != (None if text is None else Corpus.of(BUILT_IN_CORPUS, text)):
        raise ValueError("It was trained on another text.")
    model = model_of(plan.model, view.snapshots[-1].weights)
    result = Evaluator(subject_of(plan, text), plan.training.batch).evaluate(model, whole=True)
    last = Evaluation.of(view.snapshots[-1].step, result)
    heads = {pattern: head for pattern in last.scores if (head := last.best_head(pattern)) is not None}
    card = replace(recording.card, loss=last.loss, accuracy=last.accuracy, heads=heads)
    before = tuple(evaluation for evaluation in view.evaluations if evaluation.step < last.step)
    return replace(recording, card=card, view=replace(view, evaluations=(*before, last)))


def chosen(view: View, most: int) -> tuple[Snapshot, ...]:
    """Return at most `most` snapshots (2 or more), including the first and the last, more where the model changes more.

    The distance from each snapshot to the next is how far the accuracy and the best score of each pattern move, plus
    how many steps pass, on a logarithmic scale, as early ones count more. The snapshots kept are evenly spaced in it.
    """
    steps, evaluations = np.array([snapshot.step for snapshot in view.snapshots]), view.evaluations
    evaluated = [evaluation.step for evaluation in evaluations]
    curves = [[evaluation.accuracy for evaluation in evaluations]]
    curves += [[evaluation.best(pattern) or 0.0 for evaluation in evaluations] for pattern in evaluations[-1].scores]
    curves += [[evaluation.trained or 0.0 for evaluation in evaluations]]
    moves = sum(np.abs(np.diff(np.interp(steps, evaluated, curve))) for curve in curves)
    passed = np.log1p(steps / EARLY)
    distance = np.concatenate([[0.0], np.cumsum(moves + PASSING * np.diff(passed) / passed[-1])])
    targets = np.linspace(0.0, distance[-1], most)
    kept = np.unique(np.abs(distance[:, None] - targets).argmin(0))
    return tuple(view.snapshots[number] for number in kept)
