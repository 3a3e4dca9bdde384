"""Generate: the side bar and the component of a generated text, the numbers that the browser requests, and its files.

The models are the character GPT that ships, and a visitor's own, trained here or opened. Shapes: N draws.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from cachetools import LRUCache
from numpy.typing import NDArray
from torch import nn

from attnviz.components.updates import mount_with_updates
from attnviz.export.code.training.script import generation_script
from attnviz.export.csv_files import draws_csv
from attnviz.formatting import counted
from attnviz.links.link import KEYS, MAX_SEED
from attnviz.links.train import MAX_LENGTH, MAX_PROMPT, MAX_TEMPERATURE
from attnviz.pretrained.names import ModelError
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.tokens import NO_ID, CharVocab, Tokens
from attnviz.tokens.value import label_of, repair
from attnviz.toy.language.config import BigramConfig, ModelConfig, TokenConfig, has_attention, longest_context
from attnviz.trained import load
from attnviz.trained.shipped import FOLDER, is_kept, title
from attnviz.training.generation import GeneratedToken, Sampling, generate, has_lens, record
from attnviz.training.jobs.jobs import Job
from attnviz.training.series import CHARACTERS, SERIES
from attnviz.training.settings import TEXT
from attnviz.training.text.subject import TRAIN_PART
from attnviz.ui import shell, state, trained_models
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.train import commands
from attnviz.ui.train.chosen import SnapshotName, model_file
from attnviz.ui.train.runs import module_at
from attnviz.ui.training_jobs import keep, training_jobs, visitor
from attnviz.ui.widgets import TEXT_HEIGHT

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
TEMPERATURE_HELP = """Each logit is divided by T before the softmax. Below 1 likely characters become likelier still;
above 1 all come closer together. 0 is greedy: always the likeliest."""
HALVES_HELP = "The model gets the first half of the text below and goes on. The true second half stands beside it."
CACHE_HELP = "Keys and values of earlier characters are kept, not computed again. The text is the same."
VALUES = ("drawn", "watch", "panel", "seed")
"""The link keys that a user sets in the component"""
_SNAPSHOT = "generate_snapshot"
ASSISTANT = """
A language model continues a text. It does not answer a question unless an answer is a likely continuation. Four stages
make an assistant of it; the model and the loop that generates text stay the same.

1. **Pre-training.** The model learns to predict the next token in a very large amount of text. *This is how
   the chapter Train on a text trains its models, and how the character GPT here was trained*: 1.6 million parameters
   and one million characters, where large models have billions of parameters and read trillions of tokens.
2. **Supervised fine-tuning.** Training goes on, with the same loss, on conversations that people have written: a
   request and a good answer. The model learns to answer in this form.
3. **Preferences and a reward model.** The model writes several answers to one request, people say which is better, and
   a second model learns from that to give an answer a number, its reward
   ([Ouyang et al. 2022](https://arxiv.org/abs/2203.02155), InstructGPT).
4. **Reinforcement learning from human feedback (RLHF).** The model generates answers, as it does on this page, and its
   weights are changed so that the reward rises, by PPO in that paper. A penalty keeps its probabilities close to those
   of the model after stage 2. *Direct preference optimisation*
   ([Rafailov et al. 2023](https://arxiv.org/abs/2305.18290), DPO) needs neither a reward model nor generated answers:
   its loss raises the probability of the better answer against that of the worse one, from the same comparisons.

**What is here:** stage 1, and generation, which all stages share. **What is not:** stages 2 to 4. They need
conversations and comparisons that people have made, and a model large enough to benefit from them.
"""


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
    return {CHARACTERS: f"{title(CHARACTERS)} (ships)", **{_name(job): _title(job) for job in jobs}, **opened}


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
    if name == CHARACTERS or is_kept(name):
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

    return TextModel(name, title(name), model.labels, model.plan.token_model, (model.digest,), loaded, prompt, passage)


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
        GoneError: its training is no longer there.
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


def generate_controls() -> None:
    """Show all settings."""
    name = state.get("text_model")
    if is_kept(name):  # a link from another session
        trained_models.add_own(name)
    offered = text_models(visitor(), trained_models.own_names())
    if name not in offered:
        state.note("The trained model of this link is no longer here, so the character GPT generates.")
        state.put("text_model", CHARACTERS)
    state.choice(
        "text_model", st.selectbox, "Model", list(offered), format_func=offered.get,
        help="Train one in the chapter Train on a text, and it can be chosen here.", on_change=_forget_snapshot,
    )  # fmt: skip
    try:
        model = chosen_model()
    except ModelError:
        st.rerun()  # it was removed after it was offered
    if len(model.steps) > 1:
        _snapshot(model)
    halves = state.bound("halves", st.toggle, "Go on with half of a text", help=HALVES_HELP)
    state.bound(
        "prompt", st.text_area, "The whole text" if halves else "Prompt", height=TEXT_HEIGHT, max_chars=MAX_PROMPT,
        placeholder=model.passage if halves else model.prompt,
        help="What the model begins with. Without one it begins with the text that is shown in grey.",
    )  # fmt: skip
    if not halves:
        state.bound("length", st.slider, "Characters to generate", 1, MAX_LENGTH)
    state.bound(
        "temperature", st.slider, "Temperature T", 0.0, float(MAX_TEMPERATURE), step=0.05, help=TEMPERATURE_HELP
    )
    left, right = st.columns(2)
    with left:
        state.bound("top_k", st.number_input, "Top-k (0: all)", 0, 10_000, help="Only the k likeliest can be drawn.")
    with right:
        state.bound(
            "top_p", st.number_input, "Top-p", 0.0, 1.0, step=0.05, format="%.2f",
            help="Only the fewest likeliest can be drawn that have this probability together.",
        )  # fmt: skip
    state.bound("seed", st.number_input, "Seed", 0, 999_999, help="All draws follow from this number.")
    state.bound("cache", st.toggle, "Key-value cache", help=CACHE_HELP)


def _snapshot(model: TextModel) -> None:
    """Let the user choose a snapshot; the newest is not kept in the link."""
    st.session_state[_SNAPSHOT] = model.step
    st.select_slider("After how many steps", model.steps, key=_SNAPSHOT, on_change=_take_snapshot, args=(model.steps,))


def _take_snapshot(steps: tuple[int, ...]) -> None:
    step = st.session_state[_SNAPSHOT]
    if step in steps:
        state.put("snapshot", None if step == steps[-1] else step)


def _forget_snapshot() -> None:
    for name in ("snapshot", "drawn", "watch"):
        state.put(name, KEYS[name].default)


def show_generate() -> None:
    """Show the text that the view's model generates."""
    keep(visitor())
    if commands.once("settings_changed") and state.in_fragment():
        st.rerun()  # the side bar shows the seed too
    try:
        model = chosen_model()
    except ModelError:
        st.rerun()  # it was removed after the side bar was drawn, which then offers another
    with st.container():
        tokens = tokens_of(model)
        shell.token_notes(tokens)
        prompt, truth = prompt_and_truth(tokens)
        asked = asked_of(model, prompt, truth)
        _say(model, truth, asked)
    if asked is not None:
        with st.container(key="generation"):
            take = partial(commands.take_chosen, names=VALUES)
            mount_with_updates("generation", _header(asked, truth), {}, key="generation_view", on_update=take)
    if not lesson_bar.is_open():  # its sentence and the picture have the window to themselves
        with st.expander("From language model to assistant"):
            st.markdown(ASSISTANT)


def _say(model: TextModel, truth: Sequence[int] | None, asked: GenerationRequest | None) -> None:
    """Say why nothing is generated, or less than requested."""
    if asked is None:
        least = "one character" if truth is None else "two characters"
        st.info(f"Type at least {least} that the model knows, such as “{plain(model.prompt.strip())}”.")
    elif asked.count < wanted_count(truth):
        st.info(f"With this model, at most {counted(asked.count, 'character')} can be generated at once.")


def _header(asked: GenerationRequest, truth: Sequence[int] | None) -> dict[str, Any]:
    """Return `GenerationHeader` of frontend/types/generation.d.ts."""
    model, sampling = asked.model, asked.sampling
    config = model.config
    layers, heads = (config.layers, config.heads) if has_attention(config) else (0, 0)
    return {
        "model": {
            "title": model.title, "characters": list(model.labels),
            "names": {str(at): name for at, label in enumerate(model.labels) if (name := label_of(label)) != label},
            "block": longest_context(config), "layers": layers, "heads": heads,
            "has_lens": has_lens(config), "has_cache": has_attention(config),
        },
        "prompt": list(asked.ids), "truth": None if truth is None else list(truth), "count": asked.count,
        "temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p,
        "cached": asked.cached, "digest": offer(asked),
        "values": {name: state.get(name) for name in VALUES},
        "in_lesson": lesson_bar.is_open(),
    }  # fmt: skip
