"""What a model does at snapshots of its training, as the browser requests it: attention, answers, and without a head.

Shapes: S snapshots, T tokens that are answered, L layers, H heads, Tq query positions, Tk key positions.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnviz.heads.files import encode
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.tokens import NO_ID, Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Kind, Place
from attnviz.training.evaluation import attentions, weights_of, without_heads
from attnviz.training.loop import inputs_of
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch, Task

MOST_AT_ONCE = 16
"""Snapshots of one file"""
_SNAPSHOTS = re.compile(r"s((?:\.\d{1,6}){1,16})", re.ASCII)
_ABLATION = re.compile(r"a\.(\d{1,6})", re.ASCII)
EVALUATED = 512 * 256
"""Tokens, once for each head, that an ablation evaluates at most, where that leaves `FEWEST`: with a task's own model,
all of its held-out sequences"""
FEWEST = 64
"""Sequences"""
ModelAt = Callable[[int], TokenModel]
"""Returns the model after so many steps; raises NotOfferedError if there is no such snapshot"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the tokens that a model reads: those that it knows."""

    task: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    source: tuple[int, ...] | None = None
    source_labels: tuple[str, ...] = ()
    """If an encoder reads another text"""
    text: str = ""
    """As it was typed"""

    @property
    def batch(self) -> Batch:
        """The text as a batch of one."""
        ids = torch.tensor([self.ids])
        return Batch(ids, torch.zeros_like(ids), None if self.source is None else torch.tensor([self.source]))

    def cut(self, most: int) -> Reading:
        """Return the first tokens of a text that one model reads."""
        return replace(self, ids=self.ids[:most], labels=self.labels[:most])

    def kinds(self, config: TokenConfig) -> Iterator[dict[str, Any]]:
        """Yield each kind of attention of a model on this text: `TrainingKind` in frontend/types/training.d.ts."""
        if not config.layers:
            return
        own, read = self.labels, self.source_labels
        sides: dict[Kind, tuple[Sequence[str], Sequence[str]]] = {
            "encoder": (read, read) if config.architecture == "both" else (own, own),
            "decoder": (own, own),
            "cross": (own, read),
        }
        for kind in ("encoder", "decoder", "cross") if config.architecture == "both" else (config.architecture,):
            queries, keys = sides[kind]
            yield {
                "kind": kind, "layers": config.layers, "heads": config.heads, "rows": len(queries), "cols": len(keys),
                "causal": kind == "decoder", "query": list(queries), "key": list(keys),
            }  # fmt: skip


def reading_of(task: Task, first: Tokens, second: Tokens | None) -> Reading:
    """Return what a model reads of the tokens that `task.read` gives; symbols that it does not know are left out."""
    if second is None:
        return reading_of_tokens(task.name, first)
    return Reading(task.name, *_known(second), *_known(first), first.text)


def reading_of_tokens(subject: str, tokens: Tokens) -> Reading:
    """Return what a model reads of tokens: those that have an id."""
    return Reading(subject, *_known(tokens), text=tokens.text)


def _known(tokens: Tokens) -> tuple[tuple[int, ...], tuple[str, ...]]:
    kept = [at for at in range(len(tokens)) if tokens.ids[at] != NO_ID]
    return tuple(tokens.ids[at] for at in kept), tuple(tokens.labels[at] for at in kept)


def offer(name: tuple[object, ...], reading: Reading, model_at: ModelAt, files: TaggedFiles | None = None) -> str:
    """Offer what a training's model does on a text, and return the digest.

    Parts: `s.0.5.10` is attention and answers at up to 16 snapshots; `a.5` the accuracy without each head at one.

    Args:
        name: of the training.
        reading: the text.
        model_at: finds its model.
        files: what it is trained on, if that is the visitor's. The offer does not keep them.
    """
    kept = None if files is None else weakref.ref(files)

    def task() -> Task:
        found = None if kept is None else kept()
        if kept is not None and found is None:
            raise NotOfferedError
        return TASKS[reading.task] if found is None else TaggedSentences(found)

    def part(address: str) -> bytes:
        return _write(address, reading, model_at, task)

    return array_store().offer(("train", *name, reading), _nothing, part=part, compress=True)


def _nothing() -> bytes:
    raise NotOfferedError


def _write(address: str, reading: Reading, model_at: ModelAt, task: Callable[[], Task]) -> bytes:
    from safetensors.numpy import save

    if found := _SNAPSHOTS.fullmatch(address):
        steps = [int(step) for step in found[1].split(".")[1:]]
        return save(at_snapshots([model_at(step) for step in steps], reading))
    if found := _ABLATION.fullmatch(address):
        return save({"accuracy": accuracy_without(model_at(int(found[1])), task())})
    raise NotOfferedError


def at_snapshots(models: Sequence[TokenModel], reading: Reading) -> dict[str, NDArray[Any]]:
    """Return what models do on a text.

    Returns:
        `weights.<kind>` (S, L · H, Tq, Tk) as rint(weight · 65535), for each kind of attention; `answer` (S, T), the
        likeliest output after each token, and `probability` (S, T), its probability. Of a task in which a model writes
        its answer, `written` (S, n), what it writes to the text, in UTF-8, with zeros after it.
    """
    batch, task = reading.batch, TASKS.get(reading.task)
    each = [_at(model, batch) for model in models]
    found = {name: np.stack([one[name] for one in each]) for name in each[0]}
    if task is not None and task.writes:
        written = [task.answer(model, reading.text).encode() for model in models]
        longest = max(1, *map(len, written))
        found["written"] = np.frombuffer(b"".join(one.ljust(longest, b"\0") for one in written), np.uint8).reshape(
            -1, longest
        )
    return found


def _at(model: TokenModel, batch: Batch) -> dict[str, NDArray[Any]]:
    kinds: dict[str, list[NDArray[np.uint16]]] = {}
    for place, weights in weights_of(model, batch).items():
        kinds.setdefault(f"weights.{place.kind}", []).append(encode(weights[0].numpy()))
    with torch.no_grad():
        likeliest = model(*inputs_of(model, batch))[0].softmax(-1).max(-1)
    return {
        **{name: np.concatenate(layers) for name, layers in kinds.items()},
        "answer": likeliest.indices.numpy().astype(np.uint16),
        "probability": likeliest.values.numpy().astype(np.float32),
    }


def heads_of(model: TokenModel) -> list[tuple[Place, int]]:
    """Return all heads of a model, kind by kind, each in the order of its layers."""
    order = {"encoder": 0, "decoder": 1, "cross": 2}
    found = attentions(model)
    return [(place, head) for place in sorted(found, key=lambda one: (order[one.kind], one.layer))
            for head in range(found[place].heads)]  # fmt: skip


def accuracy_without(model: TokenModel, task: Task) -> NDArray[np.float32]:
    """Return the accuracy on held-out sequences of a model without each of its heads, and last of the whole one."""
    heads = heads_of(model)
    held = task.held_out()
    most = max(FEWEST, EVALUATED // (held.ids.shape[1] * (len(heads) + 1)))
    batch = Batch(held.ids[:most], held.targets[:most], None if held.source is None else held.source[:most])
    found = []
    for without in (*([head] for head in heads), []):
        with torch.no_grad(), without_heads(model, without):
            found.append(task.accuracy(model(*inputs_of(model, batch)), batch))
    return np.array(found, np.float32)
