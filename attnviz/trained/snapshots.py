"""A snapshot of a training as a trained model's file: what a visitor has just trained, to be kept and shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.formatting import counted
from attnviz.pretrained.names import ModelError
from attnviz.reprs import ShortRepr
from attnviz.toy.language.config import has_attention
from attnviz.trained.card import Card, Corpus, as_file
from attnviz.trained.files import check_plan
from attnviz.trained.making import BUILT_IN_CORPUS, RECENT, Subjects, finished
from attnviz.trained.model import NO_ATTENTION
from attnviz.training.jobs.view import Snapshot
from attnviz.training.jobs.weights import model_of
from attnviz.training.plan import Data, Plan, subject_of
from attnviz.training.settings import TAGGED
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tasks.task import Subject, Task
from attnviz.training.text.corpus import built_in

OWN_TEXT = "a text of one's own"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelFile(ShortRepr):
    """A trained model as a file, and its card."""

    data: bytes
    """As `attnviz.trained.files.read` reads it"""
    plan: Plan
    card: Card

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return len(self.data)

    @property
    def stem(self) -> str:
        """How the file is called, without its suffix, such as "induction-300-steps"."""
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
        return "Its model reads something else than the other pages give it: they show the task's own model only."
    return ""


def file_of(plan: Plan, snapshot: Snapshot, losses: NDArray[np.float32], *, data: Data | None = None) -> ModelFile:
    """Return the model of a snapshot as a file. Its weights are those of the snapshot, bit for bit.

    Args:
        plan: its training.
        snapshot: the weights after some steps.
        losses: the loss of each step of the training, in nats, (steps,).
        data: what it was trained on, if the plan's subject is a text or a user's files.

    Raises:
        ModelError: the file would be larger than a trained model's file can be, or its model does not read what the
            task's own model reads.
        ValueError: the subject does not exist, or the snapshot is of another model.
    """
    subject = subject_of(plan, data)
    recent = losses[max(0, snapshot.step - RECENT) : snapshot.step]
    said = Card(
        _name(plan, subject, snapshot.step), 0.0, 0.0, float(recent.mean()) if len(recent) else 0.0, after=snapshot.step
    )
    given = Subjects(plan, subject, _corpus(data))
    file, card = finished(model_of(plan.model, snapshot.weights), given, said, whole=False)
    return ModelFile(file, plan, card)


def _corpus(data: Data | None) -> Corpus | None:
    """Return what a card says of a text, or of a training file."""
    if isinstance(data, TaggedFiles):
        return Corpus.of_file(data.train)
    if not isinstance(data, str):
        return None
    return Corpus.of(BUILT_IN_CORPUS if data == built_in() else OWN_TEXT, data)


def _name(plan: Plan, subject: Subject, step: int) -> str:
    what = "tagging, own files" if plan.subject == TAGGED else plan.subject
    is_control = isinstance(subject, Task) and subject.is_control(plan.model)
    return f"{what}{' (control)' if is_control else ''}, {counted(step, 'step')}"
