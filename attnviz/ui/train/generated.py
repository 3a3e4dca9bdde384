"""A generated text: its model, its prompt, the numbers that the browser requests, and what its files hold.

The models are the character GPT that ships, and a visitor's own, trained here or opened. Shapes: N draws.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from torch import nn

from attnviz.export.code.training.script import generation_script
from attnviz.export.csv_files import draws_csv
from attnviz.formatting import counted
from attnviz.links.link import MAX_SEED
from attnviz.links.train import MAX_LENGTH
from attnviz.pretrained.names import ModelError
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.tokens import NO_ID, CharVocab, Tokens
from attnviz.tokens.value import repair
from attnviz.toy.language.config import BigramConfig, ModelConfig, TokenConfig, has_attention, longest_context
from attnviz.trained import load
from attnviz.trained.shipped import FOLDER, is_kept, title
from attnviz.training.generation import GeneratedToken, Sampling, generate, record
from attnviz.training.jobs.jobs import Job
from attnviz.training.series import SERIES
from attnviz.training.settings import TEXT
from attnviz.training.text.subject import TRAIN_PART
from attnviz.ui import state
from attnviz.ui.train.chosen import SnapshotName, model_file
from attnviz.ui.train.runs import module_at
from attnviz.ui.training_jobs import training_jobs, visitor

SHIPPED = "chargpt"
PROMPT = "ROMEO:\n"
"""The shipped model's prompt if nothing is typed"""
PASSAGE = (
    "To be, or not to be: that is the question:\n"
    "Whether 'tis nobler in the mind to suffer\n"
    "The slings and arrows of outrageous fortune,\n"
    "Or to take arms against a sea of troubles,\n"
)
"""Of Hamlet, which tiny Shakespeare does not hold: the shipped model has never read it"""
PROMPT_LENGTH, PASSAGE_LENGTH = 20, 160
"""Characters of the default prompt, and of the passage whose second half is generated, for a visitor's own text"""
TENTHS = 10
"""While a training runs, the newest snapshot at the end of a tenth of it is used, rather than every new one"""

_texts: LRUCache[int, tuple[tuple[str, ...], str, str]] = LRUCache(256)
"""What is kept of each training's text, by the number of its job, since the text itself may be large"""
_lock = threading.Lock()
MOST_CODES = 4 * 2**20
"""Maximum attention weights of one text, 2 bytes each"""
MOST_WORK = 10**11
"""Maximum multiplications for one text, which take some seconds: one per parameter for each token computed"""
SEEDS = MAX_SEED + 1
"""How many seeds a link can hold: after the last one comes the first"""
AGAIN, CACHE, HALF = "again", "cache", "half"
"""The names of the parts: the same with the next seed; the same with the cache switched the other way; and the model's
prediction for each character of the true text, given the ones before it"""
PromptAndTruth = tuple[list[int], list[int] | None]
"""The ids of the prompt and, if that is half of a text, those of the true other half"""


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
    """Identifies its weights"""
    load: Callable[[], nn.Module] = field(compare=False)
    """Returns the module; raises NotOfferedError if it no longer exists"""
    prompt: str = PROMPT
    passage: str = PASSAGE
    steps: tuple[int, ...] = ()
    """The steps of its snapshots, if it has any"""
    step: int = 0
    """The step of the snapshot that is used"""
    job: int = 0
    """The number of its training, if it is one of the visitor's"""


def text_models(visitor: str, kept: Sequence[str] = ()) -> dict[str, str]:
    """Return the titles of the models that a visitor can choose, keyed by name in links.

    `kept` are the names of this session's models (`trained.load`), of which those that read a text are offered.
    """
    jobs = [job for job in training_jobs().jobs(visitor) if job.plan.subject == TEXT and job.view.snapshots]
    opened = {name: title(name) for name in kept if _reads_text(name)}
    return {SHIPPED: "Character GPT (ships)", **{_name(job): _title(job) for job in jobs}, **opened}


def _reads_text(name: str) -> bool:
    try:
        return load(name).plan.subject == TEXT
    except ModelError:  # another session's file has just replaced it
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
            return _model_of_job(job, visitor, step)
    raise ModelError("This trained model is no longer here.")


def _of_file(name: str) -> TextModel:
    model = load(name)
    if model.plan.subject != TEXT:
        raise ModelError("This trained model reads no text.")
    known = set(model.labels)
    # A model that lacks characters of the usual prompt begins with the first ones of its vocabulary.
    prompt = PROMPT if known >= set(PROMPT) else "".join(model.labels[:PROMPT_LENGTH])
    passage = PASSAGE if known >= set(PASSAGE) else "".join(model.labels[:PASSAGE_LENGTH])

    def loaded() -> nn.Module:
        try:
            return load(name).module
        except ModelError as why:
            raise NotOfferedError from why

    shown = "the character GPT" if name == SHIPPED else title(name)
    return TextModel(name, shown, model.labels, model.plan.token_model, (model.digest,), loaded, prompt, passage)


def _model_of_job(job: Job, visitor: str, step: int | None) -> TextModel:
    labels, prompt, passage = _text_of(job)
    steps = tuple(snapshot.step for snapshot in job.view.snapshots)
    if step is None:
        most = steps[-1]
        if not job.view.has_ended:
            each = max(1, job.plan.training.steps // TENTHS)
            most = most // each * each
        step = max((at for at in steps if at <= most), default=steps[0])
    used = min(steps, key=lambda at: (abs(at - step), at))
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
    name = next((stage.title for stage in SERIES if stage.config(shape.vocabulary) == shape), "Text model")
    return f"{name.removeprefix('+ ')}, training {job.number}"


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A text to generate."""

    model: TextModel
    ids: tuple[int, ...]
    """The prompt, at least one id"""
    count: int
    """N"""
    sampling: Sampling
    cached: bool
    truth: tuple[int, ...] = ()
    """The true continuation of the prompt, if that is known"""

    @property
    def key(self) -> tuple[object, ...]:
        """All that determines the text and its numbers."""
        return ("generate", self.model.key, self.ids, self.count, self.sampling, self.cached, self.truth)


def most_tokens(config: ModelConfig, *, cached: bool) -> int:
    """Return how many tokens a model may generate at once: fewer than the page allows if it is large."""
    block, width = longest_context(config), 1 if isinstance(config, BigramConfig) else config.width
    layers = 0 if isinstance(config, BigramConfig) else config.layers
    parameters = 12 * layers * width**2 + 2 * config.vocabulary * width
    # With a cache, each token is computed once, and half of each block a second time.
    work = parameters * (3 if cached and has_attention(config) else block)
    heads = config.heads if isinstance(config, TokenConfig) else 0
    return max(1, min(MOST_WORK // max(1, work), MOST_CODES // max(1, layers * heads * block)))


def offer(asked: GenerationRequest) -> str:
    """Offer a text with the numbers of its draws (`training.generation.record`), and return the digest."""
    return array_store().offer(
        asked.key, lambda: _whole(asked), part=lambda name: _compared(asked, name), compress=True
    )


def _whole(asked: GenerationRequest) -> bytes:
    from safetensors.numpy import save

    arrays, codes = record(asked.model.load(), asked.ids, asked.count, asked.sampling, cached=asked.cached)
    return save({**arrays, "weights": codes})


def _compared(asked: GenerationRequest, name: str) -> bytes:
    from safetensors.numpy import save

    if name == AGAIN:
        sampling = replace(asked.sampling, seed=(asked.sampling.seed + 1) % SEEDS)
        drawn = list(generate(asked.model.load(), asked.ids, asked.count, sampling, cached=asked.cached))
        numbers = [float("nan") if draw.number is None else draw.number for draw in drawn]
        return save({"ids": _floats([draw.id for draw in drawn]), "number": _floats(numbers)})
    if name == CACHE and has_attention(asked.model.config):
        cached = not asked.cached
        count = min(asked.count, most_tokens(asked.model.config, cached=cached))
        arrays, _ = record(asked.model.load(), asked.ids, count, asked.sampling, cached=cached)
        return save({key: arrays[key] for key in ("ids", "computed", "seconds", "multiplications")})
    if name == HALF and asked.truth:
        return save(read_truth(asked))
    raise NotOfferedError


def read_truth(asked: GenerationRequest) -> dict[str, NDArray[np.float32]]:
    """Return the likeliest character at each place of the true text, and the true one's probability at T = 1, (N,)."""
    count = min(asked.count, len(asked.truth))
    drawn = list(generate(asked.model.load(), asked.ids, count, Sampling(), truth=asked.truth))
    pairs = zip(drawn, asked.truth, strict=False)
    return {
        "likeliest": _floats([int(draw.order[0]) for draw in drawn]),
        "probability": _floats([float(draw.probabilities[true]) for draw, true in pairs]),
    }


def _floats(values: Sequence[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def chosen_model() -> TextModel:
    """Return the model that generates.

    Raises:
        ModelError: it is no longer there.
    """
    return text_model_of(state.get("text_model"), visitor(), state.get("snapshot"))


def tokens_of(model: TextModel) -> Tokens:
    """Return the typed text, or the model's default one, as the model reads it."""
    usual = model.passage if state.get("halves") else model.prompt
    return CharVocab(model.labels).tokenize(state.get("prompt") or usual)


def prompt_and_truth(tokens: Tokens) -> PromptAndTruth:
    """Return the prompt, and the true continuation if the prompt is half of the text."""
    ids = [token for token in tokens.ids if token != NO_ID]
    if not state.get("halves"):
        return ids, None
    middle = (len(ids) + 1) // 2
    return ids[:middle], ids[middle:]


def wanted_count(truth: Sequence[int] | None) -> int:
    """Return how many characters the view requests."""
    return int(state.get("length")) if truth is None else len(truth)


def asked_of(model: TextModel, prompt: Sequence[int], truth: Sequence[int] | None) -> GenerationRequest | None:
    """Return the text to generate, at most as long as the model may generate at once; None if there is none."""
    if not prompt or truth == []:
        return None
    cached = state.get("cache")
    count = min(wanted_count(truth), MAX_LENGTH, most_tokens(model.config, cached=cached))
    sampling = Sampling(state.get("temperature"), state.get("top_k"), state.get("top_p"), state.get("seed"))
    return GenerationRequest(model, tuple(prompt), count, sampling, cached, tuple(truth or ()))


class File(NamedTuple):
    """A model's file, from which the script loads the weights."""

    stem: str
    sha256: str
    data: bytes | None
    """None if it is the visitor's own file"""
    card: bytes | None


def file_of(model: TextModel, visitor: str) -> File:
    """Return a text model's file.

    Raises:
        ModelError: as `model_file` does, or the model is no longer there.
        LookupError: its training is no longer there.
    """
    if model.job:
        file = model_file(SnapshotName(visitor, TEXT, model.job, model.step, "", ""))
        return File(file.stem, hashlib.sha256(file.data).hexdigest(), file.data, file.card_file())
    digest = load(model.name).digest
    if is_kept(model.name):
        return File(model.name, digest, None, None)
    return File(
        model.name, digest, *((FOLDER / f"{model.name}.{kind}").read_bytes() for kind in ("safetensors", "json"))
    )


def drawn_of(asked: GenerationRequest) -> list[GeneratedToken]:
    """Return all draws; raises NotOfferedError if the model is no longer there."""
    return list(generate(asked.model.load(), asked.ids, asked.count, asked.sampling, cached=asked.cached))


def text_of(asked: GenerationRequest) -> str:
    """Return the whole text: the prompt, and what is generated. Raises as `drawn_of`."""
    return "".join(asked.model.labels[token] for token in (*asked.ids, *(draw.id for draw in drawn_of(asked))))


def numbers_of(asked: GenerationRequest) -> bytes:
    """Return every draw as CSV. Raises as `drawn_of`."""
    return draws_csv(drawn_of(asked), asked.model.labels, begin=len(asked.ids))


def script_of(asked: GenerationRequest, file: File) -> str:
    """Return a script of plain torch that generates the same text from the model's file. Raises as `drawn_of`."""
    return generation_script(
        asked.model.config, asked.model.labels, asked.sampling, ids=asked.ids,
        generated=[draw.id for draw in drawn_of(asked)], file=f"{file.stem}.safetensors", sha256=file.sha256,
    )  # fmt: skip
