"""What a model of the series does at a snapshot, as the browser requests it: heads, a sample of text, a loss.

Shapes: S snapshots, L layers, H heads, T characters that are read, V different ones, K of them in the table, B blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from attnviz.heads.files import encode
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.toy.language.model import BigramModel, TokenModel
from attnviz.training.evaluation import weights_of
from attnviz.training.generation import Sampling, generate
from attnviz.ui.train.arrays import Reading
from attnviz.ui.train.text.facts import Facts

SAMPLE = 200
"""The characters that a model writes at a snapshot"""
_SNAPSHOTS = re.compile(r"s((?:\.\d{1,6}){1,16})", re.ASCII)
_ONE = re.compile(r"([gbl])\.(\d{1,6})", re.ASCII)
ModelAt = Callable[[int], nn.Module]
"""Returns the model after so many steps; raises NotOfferedError if there is no such snapshot"""
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked to do."""

    reading: Reading
    """What its heads are shown"""
    start: int
    """The id with which its text begins"""
    seed: int
    blocks: tuple[tuple[int, ...], ...]
    """(B, T + 1): the blocks of which the loss is written out"""
    shown: tuple[int, ...]
    """(K,): the ids of the table of pairs"""


def offer_model(name: tuple[object, ...], asked: Asked, model_at: ModelAt) -> str:
    """Offer what a model does, and return the digest.

    Parts: `s.0.5.10` is the attention at up to 16 snapshots; of one snapshot, `g.5` is its text, `l.5` the logits of
    the blocks, and `b.5` the table of a bigram.
    """

    def part(address: str) -> bytes:
        from safetensors.numpy import save

        return save(_write(address, asked, model_at))

    return array_store().offer(("ladder", *name, asked), _nothing, part=part, compress=True)


def offer_pairs(facts: Facts) -> str:
    """Offer the counted pairs of a text, and return the digest: `counts` (K, K) and `totals` (K,)."""
    counts, totals = facts.counts, facts.totals

    def make() -> bytes:
        from safetensors.numpy import save

        return save({"counts": counts, "totals": totals})

    return array_store().offer(("pairs", facts.digest), make, compress=True)


def _nothing() -> bytes:
    raise NotOfferedError


def _write(address: str, asked: Asked, model_at: ModelAt) -> Arrays:
    if found := _SNAPSHOTS.fullmatch(address):
        steps = [int(step) for step in found[1].split(".")[1:]]
        return heads_at([model_at(step) for step in steps], asked.reading)
    if found := _ONE.fullmatch(address):
        model = model_at(int(found[2]))
        if found[1] == "g":
            return {"sample": sample_of(model, asked.start, asked.seed)}
        if found[1] == "l":
            return logits_of(model, asked.blocks)
        if isinstance(model, BigramModel):
            return {"probabilities": table_of(model, asked.shown)}
    raise NotOfferedError


def heads_at(models: Sequence[nn.Module], reading: Reading) -> Arrays:
    """Return `weights.decoder` (S, L · H, T, T) as rint(weight · 65535), and the likeliest next characters.

    Those are `answer` (S, T), with their `probability` (S, T). A model without attention has no weights.
    """
    each = [_heads(model, reading) for model in models]
    return {name: np.stack([one[name] for one in each]) for name in each[0]}


def _heads(model: nn.Module, reading: Reading) -> Arrays:
    batch = reading.batch
    found: Arrays = {}
    if isinstance(model, TokenModel):
        found["weights.decoder"] = np.concatenate(
            [encode(weights[0].numpy()) for weights in weights_of(model, batch).values()]
        )
    with torch.no_grad():
        likeliest = model(batch.ids)[0].softmax(-1).max(-1)
    return found | {
        "answer": likeliest.indices.numpy().astype(np.uint16),
        "probability": likeliest.values.numpy().astype(np.float32),
    }


def sample_of(model: nn.Module, start: int, seed: int) -> NDArray[np.uint16]:
    """Return the ids of a text that a model writes at temperature 1, (SAMPLE,), after the character `start`."""
    drawn = generate(model, [start], SAMPLE, Sampling(seed=seed))
    return np.array([one.id for one in drawn], np.uint16)


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
        found: NDArray[np.float32] = model.table.weight.softmax(-1)[ids][:, ids].numpy()
    return found
