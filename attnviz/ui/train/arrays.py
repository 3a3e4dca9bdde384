"""What a model does at snapshots of its training, as the browser requests it: attention, answers, and more.

Shapes: S snapshots, T tokens with an answer each, L layers, H heads, Tq query positions, Tk key positions. For a text:
V different characters, K of them in the table of pairs, and B blocks of T characters.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from attnviz.heads.all_heads import encode
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.tokens import NO_ID, Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import BigramModel, TokenModel
from attnviz.trace.model import Kind, Place
from attnviz.training.evaluation import attentions, weights_of, without_heads
from attnviz.training.generation import Sampling, generate
from attnviz.training.loop import inputs_of
from attnviz.training.tagged.files import TaggedFiles
from attnviz.training.tagged.task import TaggedSentences
from attnviz.training.tasks import TASKS
from attnviz.training.tasks.task import Batch, Task
from attnviz.ui.train.text import Facts

_SNAPSHOTS = re.compile(r"s((?:\.\d{1,6}){1,16})", re.ASCII)
"""At most 16 in one file"""
_ONE = re.compile(r"([a-z])\.(\d{1,6})", re.ASCII)
EVALUATED = 512 * 256
"""Maximum tokens that an ablation evaluates, counted once for each head, unless `FEWEST` needs more. For a task's own
model, all held-out sequences"""
FEWEST = 64
"""Minimum sequences of an ablation"""
SAMPLE = 200
"""The characters that a language model writes at a snapshot"""
ModelAt = Callable[[int], nn.Module]
"""Returns the model at a step; raises NotOfferedError if there is no snapshot of it"""
Arrays = dict[str, NDArray[Any]]
OfOne = Mapping[str, Callable[[nn.Module], Arrays]]
"""What is computed for one snapshot, keyed by the first letter of its address; it may raise NotOfferedError"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the tokens that a model reads: those in its vocabulary."""

    task: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    source: tuple[int, ...] | None = None
    source_labels: tuple[str, ...] = ()
    """Set if an encoder reads another text"""
    text: str = ""
    """As it was typed"""

    @property
    def batch(self) -> Batch:
        """The text as a batch of one."""
        ids = torch.tensor([self.ids])
        return Batch(ids, torch.zeros_like(ids), None if self.source is None else torch.tensor([self.source]))

    def cut(self, most: int) -> Reading:
        """Return the first `most` tokens, for a text that a single model reads."""
        return replace(self, ids=self.ids[:most], labels=self.labels[:most])

    def kinds(self, config: TokenConfig) -> Iterator[dict[str, Any]]:
        """Yield each kind of attention of a model on this text: `TrainingKind` in frontend/types/training.d.ts."""
        if not config.layers:
            return
        labels, source = self.labels, self.source_labels
        sides: dict[Kind, tuple[Sequence[str], Sequence[str]]] = {
            "encoder": (source, source) if config.architecture == "both" else (labels, labels),
            "decoder": (labels, labels),
            "cross": (labels, source),
        }
        for kind in config.kinds:
            queries, keys = sides[kind]
            yield {
                "kind": kind, "layers": config.layers, "heads": config.heads, "rows": len(queries), "cols": len(keys),
                "causal": kind == "decoder", "query": list(queries), "key": list(keys),
            }  # fmt: skip


def reading_of(task: Task, first: Tokens, second: Tokens | None) -> Reading:
    """Return what a model reads of the tokens that `task.read` returns, without symbols that it does not know."""
    if second is None:
        return reading_of_tokens(task.name, first)
    return Reading(task.name, *_known(second), *_known(first), first.text)


def reading_of_tokens(subject: str, tokens: Tokens) -> Reading:
    """Return what a model reads of tokens: those that have an id."""
    return Reading(subject, *_known(tokens), text=tokens.text)


def _known(tokens: Tokens) -> tuple[tuple[int, ...], tuple[str, ...]]:
    kept = [at for at in range(len(tokens)) if tokens.ids[at] != NO_ID]
    return tuple(tokens.ids[at] for at in kept), tuple(tokens.labels[at] for at in kept)


def offer(name: tuple[object, ...], reading: Reading, model_at: ModelAt, of_one: OfOne) -> str:
    """Offer what a model does on a text at its snapshots, and return the digest.

    Parts: `s.0.5.10` is attention and answers at up to 16 snapshots; `a.5` and the like are of one, from `of_one`.

    Args:
        name: identifies the training, and all that `of_one` depends on besides the model.
        reading: the text.
        model_at: returns its model at a step.
        of_one: `task_parts` or `text_parts`.
    """

    def part(address: str) -> bytes:
        from safetensors.numpy import save

        if several := _SNAPSHOTS.fullmatch(address):
            steps = [int(step) for step in several[1].split(".")[1:]]
            return save(at_snapshots([model_at(step) for step in steps], reading))
        single = _ONE.fullmatch(address)
        if single is None or single[1] not in of_one:
            raise NotOfferedError
        return save(of_one[single[1]](model_at(int(single[2]))))

    return array_store().offer(("train", *name, reading), _nothing, part=part, compress=True)


def offer_pairs(facts: Facts) -> str:
    """Offer the counted pairs of a text, and return the digest: `counts` (K, K) and `totals` (K,)."""
    counts, totals = facts.counts, facts.totals

    def make() -> bytes:
        from safetensors.numpy import save

        return save({"counts": counts, "totals": totals})

    return array_store().offer(("pairs", facts.digest), make, compress=True)


def _nothing() -> bytes:
    raise NotOfferedError


def task_parts(task: str, files: TaggedFiles | None = None) -> OfOne:
    """Return what is computed for a task's snapshot: `a`, the accuracy without each head, and on how many sequences.

    `files` are the visitor's files, if it is trained on these; an offer holds only a weak reference to them.
    """
    kept = None if files is None else weakref.ref(files)

    def ablation(model: nn.Module) -> Arrays:
        held = None if kept is None else kept()
        if not isinstance(model, TokenModel) or (kept is not None and held is None):
            raise NotOfferedError
        subject = TASKS[task] if held is None else TaggedSentences(held)
        count = len(_tested_without(model, subject))
        return {"accuracy": accuracy_without(model, subject), "sequences": np.array([count], np.uint16)}

    return {"a": ablation}


def text_parts(start: int, seed: int, blocks: Sequence[Sequence[int]], shown: Sequence[int]) -> OfOne:
    """Return what is computed for a text's snapshot: `g` a sample, `l` the logits of blocks, `b` a bigram's table.

    Args:
        start: the id with which a sample begins.
        seed: seed of the sample.
        blocks: (B, T + 1), those whose loss is written out.
        shown: (K,), the ids of the table of pairs.
    """

    def table(model: nn.Module) -> Arrays:
        if not isinstance(model, BigramModel):
            raise NotOfferedError
        return {"probabilities": table_of(model, shown)}

    return {
        "g": lambda model: {"sample": sample_of(model, start, seed)},
        "l": lambda model: logits_of(model, blocks),
        "b": table,
    }


def at_snapshots(models: Sequence[nn.Module], reading: Reading) -> Arrays:
    """Return what models do on a text.

    Returns:
        `weights.<kind>` (S, L · H, Tq, Tk) as rint(weight · 65535), for each kind of attention, if they have any;
        `answer` (S, T), the likeliest output after each token, and `probability` (S, T), its probability. For a
        task in which a model writes its answer, `written` (S, n): what it writes, in UTF-8, padded with zeros.
    """
    batch, task = reading.batch, TASKS.get(reading.task)
    snapshots = [_at(model, batch) for model in models]
    arrays = {name: np.stack([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}
    if task is not None and task.writes:
        written = [task.answer(model, reading.text).encode() for model in models if isinstance(model, TokenModel)]
        longest = max(1, *map(len, written))
        padded = b"".join(answer.ljust(longest, b"\0") for answer in written)
        arrays["written"] = np.frombuffer(padded, np.uint8).reshape(-1, longest)
    return arrays


def _at(model: nn.Module, batch: Batch) -> Arrays:
    kinds: dict[str, list[NDArray[np.uint16]]] = {}
    if isinstance(model, TokenModel):
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
    layers = attentions(model)
    return [(place, head) for place in sorted(layers, key=lambda at: (order[at.kind], at.layer))
            for head in range(layers[place].heads)]  # fmt: skip


def accuracy_without(model: TokenModel, task: Task) -> NDArray[np.float32]:
    """Return a model's accuracy on held-out sequences without each of its heads, and last with all of them."""
    batch = _tested_without(model, task)
    accuracies = []
    for without in (*([head] for head in heads_of(model)), []):
        with torch.no_grad(), without_heads(model, without):
            accuracies.append(task.accuracy(model(*inputs_of(model, batch)), batch))
    return np.array(accuracies, np.float32)


def _tested_without(model: TokenModel, task: Task) -> Batch:
    """Return the held-out sequences on which a model is run without each of its heads."""
    held = task.held_out()
    most = max(FEWEST, EVALUATED // (held.ids.shape[1] * (len(heads_of(model)) + 1)))
    return Batch(held.ids[:most], held.targets[:most], None if held.source is None else held.source[:most])


def sample_of(model: nn.Module, start: int, seed: int) -> NDArray[np.uint16]:
    """Return the ids that a model writes after the character `start` at temperature 1, (SAMPLE,)."""
    drawn = generate(model, [start], SAMPLE, Sampling(seed=seed))
    return np.array([draw.id for draw in drawn], np.uint16)


def logits_of(model: nn.Module, blocks: Sequence[Sequence[int]]) -> Arrays:
    """Return the `logits` (B, T, V) of blocks, (B, T + 1), and torch's mean cross-entropy `loss` (1,), in nats."""
    ids = torch.tensor(blocks)
    size = int(getattr(model, "block_size", 1))
    length = ids.shape[1] - 1 if isinstance(model, BigramModel) else min(size, ids.shape[1] - 1)
    with torch.no_grad():
        logits = model(ids[:, :length])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1 : length + 1].flatten())
    return {"logits": logits.numpy(), "loss": loss[None].numpy()}


def table_of(model: BigramModel, shown: Sequence[int]) -> NDArray[np.float32]:
    """Return the probability of each pair of these characters, (K, K), in the table of a bigram model."""
    ids = torch.tensor(shown)
    with torch.no_grad():
        probabilities: NDArray[np.float32] = model.table.weight.softmax(-1)[ids][:, ids].numpy()
    return probabilities
