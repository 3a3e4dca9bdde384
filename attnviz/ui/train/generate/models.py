"""The models that can generate text: the character GPT that ships, and a visitor's own, trained here or opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache
from torch import nn

from attnviz.formatting import counted
from attnviz.pretrained.names import ModelError
from attnviz.runtime.arrays import NotOfferedError
from attnviz.runtime.training import training_jobs
from attnviz.tokens import CharVocab
from attnviz.tokens.value import repair
from attnviz.toy.language.config import ModelConfig
from attnviz.trained import load
from attnviz.trained.shipped import is_kept, title
from attnviz.training.jobs.job import Job
from attnviz.training.plan import TEXT
from attnviz.training.series import SERIES
from attnviz.training.text.subject import TRAIN_PART
from attnviz.ui.train.runs import module_at

SHIPPED = "chargpt"
PROMPT = "ROMEO:\n"
"""What the shipped model begins with if nothing is typed"""
PASSAGE = (
    "To be, or not to be: that is the question:\n"
    "Whether 'tis nobler in the mind to suffer\n"
    "The slings and arrows of outrageous fortune,\n"
    "Or to take arms against a sea of troubles,\n"
)
"""Of Hamlet, which tiny Shakespeare does not hold: the shipped model has never read it"""
PROMPT_LENGTH, PASSAGE_LENGTH = 20, 160
"""Characters of a visitor's own text that its model begins with, and of which it goes on with the second half"""
TENTHS = 10
"""While a training goes on, the newest snapshot at the end of a tenth is used: not one after the other"""

_texts: LRUCache[int, tuple[tuple[str, ...], str, str]] = LRUCache(256)
"""What is needed of each training's text, by the number of its job: the text itself may be large"""
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class TextModel:
    """A model that generates text."""

    name: str
    """In links"""
    title: str
    labels: tuple[str, ...]
    """Its vocabulary of characters"""
    config: ModelConfig
    key: tuple[object, ...]
    """What its weights are known by"""
    load: Callable[[], nn.Module] = field(compare=False)
    """Returns the module; raises NotOfferedError if it is gone"""
    prompt: str = PROMPT
    passage: str = PASSAGE
    steps: tuple[int, ...] = ()
    """Of its snapshots, if it has any"""
    step: int = 0
    """Of the snapshot that is used"""
    job: int = 0
    """The number of its training, if it is one of the visitor's"""


def text_models(visitor: str, kept: Sequence[str] = ()) -> dict[str, str]:
    """Return the titles of the models that a visitor can choose from, by their names in links.

    `kept` are the names of this session's models (`trained.load`), of which those that read a text are offered.
    """
    jobs = [job for job in training_jobs().jobs(visitor) if job.plan.subject == TEXT and job.view.snapshots]
    own = {name: title(name) for name in kept if _reads_text(name)}
    return {SHIPPED: "Character GPT (ships)", **{_name(job): _title(job) for job in jobs}, **own}


def _reads_text(name: str) -> bool:
    try:
        return load(name).plan.subject == TEXT
    except ModelError:  # another session's file has just taken its place
        return False


def text_model_of(name: str, visitor: str, step: int | None) -> TextModel:
    """Return a model by its name in links; `step` is that of a snapshot, None for the newest.

    Raises:
        ModelError: the visitor has none of this name.
    """
    if name == SHIPPED or is_kept(name):
        return _of_file(name)
    for job in training_jobs().jobs(visitor):
        if _name(job) == name and job.plan.subject == TEXT and job.view.snapshots:
            return _of_job(job, visitor, step)
    raise ModelError("This trained model is no longer here.")


def _of_file(name: str) -> TextModel:
    model = load(name)
    if model.plan.subject != TEXT:
        raise ModelError("This trained model reads no text.")
    known = set(model.labels)
    # A model that lacks characters of the usual beginning begins with the first ones of its vocabulary.
    prompt = PROMPT if known >= set(PROMPT) else "".join(model.labels[:PROMPT_LENGTH])
    passage = PASSAGE if known >= set(PASSAGE) else "".join(model.labels[:PASSAGE_LENGTH])

    def loaded() -> nn.Module:
        try:
            return load(name).module
        except ModelError as why:
            raise NotOfferedError from why

    shown = "the character GPT" if name == SHIPPED else title(name)
    return TextModel(name, shown, model.labels, model.plan.token_model, (model.digest,), loaded, prompt, passage)


def _of_job(job: Job, visitor: str, step: int | None) -> TextModel:
    labels, prompt, passage = _text_of(job)
    steps = tuple(one.step for one in job.view.snapshots)
    if step is None:
        most = steps[-1]
        if not job.view.has_ended:
            each = max(1, job.plan.training.steps // TENTHS)
            most = most // each * each
        step = max((one for one in steps if one <= most), default=steps[0])
    used = min(steps, key=lambda one: (abs(one - step), one))
    number, after = job.number, f"{_title(job)}, after {counted(used, 'step')}"
    return TextModel(
        _name(job), after, labels, job.plan.token_model, (visitor, number, used),
        lambda: module_at(visitor, number, used), prompt, passage, steps, used, number,
    )  # fmt: skip


def _text_of(job: Job) -> tuple[tuple[str, ...], str, str]:
    """Return the characters of a training's text, its first ones, and a passage of its validation part."""
    with _lock:
        if job.number not in _texts:
            text = repair(job.text or "")
            unseen = text[int(TRAIN_PART * len(text)) :]
            labels = CharVocab.from_text(text).characters
            _texts[job.number] = labels, text[:PROMPT_LENGTH], unseen[:PASSAGE_LENGTH]
        return _texts[job.number]


def _name(job: Job) -> str:
    return f"run-{job.number}"


def _title(job: Job) -> str:
    shape = job.plan.token_model
    stage = next((one.title for one in SERIES if one.config(shape.vocabulary) == shape), "Text model")
    return f"{stage.removeprefix('+ ')}, training {job.number}"
