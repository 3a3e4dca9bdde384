"""Text generation with a language model, with or without a key-value cache, and all numbers of each draw.

Shapes: V tokens of the vocabulary, T tokens of the context, L layers, C model width. In a record: N draws, the K
likeliest tokens of each, P = L + 1 states of a position.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnviz.attention import attend
from attnviz.measures.cost import cost
from attnviz.measures.residual_stream import lens_of, state_logits
from attnviz.measures.thumbnails import FULL
from attnviz.toy.language.config import ModelConfig, has_attention
from attnviz.toy.language.model import TokenModel
from attnviz.toy.layers import Past, linear_map
from attnviz.toy.stacks import Encoder
from attnviz.toy.transformer import final_norms, sizes_of
from attnviz.trace.model import ModelSizes
from attnviz.trace.recorder import recording
from attnviz.trace.vocabulary import Vocabulary

SHOWN = 128
"""K: how many of the likeliest tokens a record keeps for each draw"""
Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen."""

    temperature: float = 1.0
    """Divides the logits; 0 always takes the likeliest token (greedy)"""
    top_k: int = 0
    """Only this many of the likeliest tokens can be drawn (Fan et al. 2018); 0 is no limit"""
    top_p: float = 1.0
    """Only the smallest set of likeliest tokens whose total probability reaches this can be drawn (Holtzman et al.
    2020); 1 is no limit"""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (("temperature", 0, 100), ("top_k", 0, 2**31), ("top_p", 0, 1)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}; it can be {low} to {high}")


def choose(logits: Tensor, sampling: Sampling, generator: torch.Generator) -> dict[str, Any]:
    """Choose a token from logits, (V,), and return the fields of `GeneratedToken` that the choice determines."""
    greedy = sampling.temperature == 0
    scaled = logits if greedy else logits / sampling.temperature
    order = scaled.argsort(descending=True, stable=True)
    sorted_ = scaled[order]
    count = 1 if greedy else min(sampling.top_k or len(order), len(order))
    if sampling.top_p < 1:
        likely = sorted_[:count].softmax(-1)
        before = likely.cumsum(-1) - likely  # the total probability of all likelier tokens
        count = max(1, int((before < sampling.top_p).sum()))
    # Not from `likely`, so that the probabilities come from the same operation in every case.
    probabilities = torch.zeros_like(scaled)
    probabilities[order[:count]] = sorted_[:count].softmax(-1)
    kept = torch.zeros_like(scaled, dtype=torch.bool)
    kept[order[:count]] = True
    fields = {"scaled": scaled, "order": order, "kept": kept, "probabilities": probabilities}
    if greedy:
        return {"id": int(order[0]), "number": None, **fields}
    number = float(torch.rand((), generator=generator))
    sums = probabilities[order[:count]].double().cumsum(-1)
    rank = int((sums <= number * sums[-1]).sum())
    return {"id": int(order[rank]), "number": number, **fields}


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedToken:
    """One generated token, and how it was chosen."""

    id: int
    logits: Tensor
    """(V,), of the last position"""
    scaled: Tensor
    """(V,): logits / T; the logits themselves if the choice is greedy"""
    order: Tensor
    """(V,): the ids of all tokens, the likeliest first"""
    kept: Tensor
    """(V,) bool: the tokens that top-k and top-p keep"""
    probabilities: Tensor
    """(V,): softmax of `scaled` over the tokens kept; 1 for the likeliest if the choice is greedy"""
    number: float | None
    """Drawn uniformly from 0 to 1: the token is the first in `order` at which the sum of probabilities exceeds it; None
    if the choice is greedy"""
    context: int
    """T: the number of tokens from which it was predicted"""
    computed: int
    """The number of tokens whose keys and values were computed for it: 1 with a cache, T without"""
    weights: tuple[Tensor, ...]
    """The last position's attention weights, (H, T) for each layer; empty for a model without attention"""
    states: Tensor | None
    """(L, C): the last position's input of each block; None for a model without blocks"""


def generate(
    model: nn.Module,
    ids: Sequence[int],
    count: int,
    sampling: Sampling,
    *,
    cached: bool = True,
    truth: Sequence[int] = (),
) -> Iterator[GeneratedToken]:
    """Yield `count` tokens that continue a context.

    When the context outgrows the block size, only its last half is kept. Position embeddings are learned, so the keys
    and values of the remaining tokens change and must be recomputed; this happens once per half block, with or without
    a cache. The tokens are the same either way.

    Args:
        model: from ids to logits; a transformer must be a decoder alone.
        ids: the context; at least one token.
        count: the number of tokens to generate.
        sampling: how each token is chosen.
        cached: whether keys and values of earlier tokens are kept (a key-value cache).
        truth: tokens that are appended in place of the drawn ones (teacher forcing).

    Raises:
        ValueError: `ids` is empty, or the model is a transformer but not a decoder alone.
    """
    if not ids:
        raise ValueError("there is no token to begin with")
    if isinstance(model, TokenModel) and model.config.architecture != "decoder":
        raise ValueError("only a decoder can continue a text")
    generator = torch.Generator().manual_seed(sampling.seed)
    size = int(getattr(model, "block_size", 1))
    context, read = list(ids)[-size:], 0
    past: list[Past] | None = None
    for n in range(count):
        if len(context) > size:
            context, past = context[-max(1, size // 2) :], None
        if cached and past is None and isinstance(model, TokenModel) and model.config.layers:
            past, read = model.new_past(), 0
        new = context[read if past is not None else 0 :]
        logits, weights, states = _last(model, new, past)
        read = len(context)
        chosen = choose(logits, sampling, generator)
        drawn = GeneratedToken(
            logits=logits, weights=weights, states=states, context=len(context), computed=len(new), **chosen
        )  # fmt: skip
        yield drawn
        context.append(truth[n] if n < len(truth) else drawn.id)


def _last(
    model: nn.Module, ids: Sequence[int], past: list[Past] | None
) -> tuple[Tensor, tuple[Tensor, ...], Tensor | None]:
    """Run a model on tokens; return the logits, the attention weights and the states of the last one."""
    inputs = torch.tensor(ids)[None]
    with torch.inference_mode(), recording() as recorder:
        logits = model(inputs) if past is None else model(inputs, past=past)
        # The last query sees all keys, so no mask is needed.
        last = [attend(call.query[:, -1:], call.key, call.value, scale=call.scale) for call in recorder.calls]
        states = [call.block_input[-1] for call in recorder.calls if call.block_input is not None]
        weights = tuple(steps.weights[:, 0] for steps in last)
        return logits[0, -1], weights, torch.stack(states) if states else None


def record(
    model: nn.Module, ids: Sequence[int], count: int, sampling: Sampling, *, cached: bool = True
) -> tuple[Arrays, NDArray[np.uint16]]:
    """Generate `count` tokens; arguments and errors are those of `generate`.

    Returns:
        Arrays by name, and the attention of each last position as rint(weight · 65535): (L · H · T) for each draw, all
        draws concatenated.
        For the K likeliest tokens of each draw, sorted: `order`, `logits`, `scaled`, `probabilities` and `sums` (of
        probabilities), each (N, K).
        For the draw itself: `ids`, `rank` (the token's index in the order, from 0), `number` (NaN if the choice is
        greedy), `kept` (how many tokens could be drawn), `total` (the sum of exp(scaled − the largest) over these),
        `context`, `computed`, `seconds` (of processor time) and `multiplications`, each (N,); `own`, the drawn token's
        logit, scaled logit, probability and sum, (N, 4).
        If the model has a logit lens: `lens_tokens` and `lens_probabilities`, (N, P, 5).
    """
    draws: list[GeneratedToken] = []
    seconds: list[float] = []
    began = time.thread_time()
    for draw in generate(model, ids, count, sampling, cached=cached):
        seconds.append(time.thread_time() - began)
        draws.append(draw)
        began = time.thread_time()
    sizes = sizes_of(model.blocks, head=model.head) if isinstance(model, TokenModel) else None
    arrays = {
        **_draws(draws),
        "seconds": np.array(seconds, np.float32),
        "multiplications": np.array([multiplications(sizes, draw) for draw in draws], np.float32),
        **_lens(model, draws),
    }
    return arrays, _codes(draws)


def _draws(drawn: Sequence[GeneratedToken]) -> Arrays:
    columns: dict[str, list[Tensor]] = {}
    for draw in drawn:
        order, probabilities = draw.order, draw.probabilities[draw.order]
        kept, rank = int(draw.kept.sum()), int((order == draw.id).nonzero())
        scaled, sums = draw.scaled[order], probabilities.double().cumsum(-1)
        row = {
            "order": order[:SHOWN], "logits": draw.logits[order[:SHOWN]], "scaled": scaled[:SHOWN],
            "probabilities": probabilities[:SHOWN], "sums": sums[:SHOWN],
            "own": torch.stack([draw.logits[draw.id], scaled[rank], probabilities[rank], sums[rank].float()]),
            "ids": torch.tensor(draw.id), "rank": torch.tensor(rank), "kept": torch.tensor(kept),
            "number": torch.tensor(float("nan") if draw.number is None else draw.number),
            "total": (scaled[:kept] - scaled[0]).exp().sum(),
            "context": torch.tensor(draw.context), "computed": torch.tensor(draw.computed),
        }  # fmt: skip
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: torch.stack(values).numpy().astype(np.float32) for name, values in columns.items()}


def _codes(drawn: Sequence[GeneratedToken]) -> NDArray[np.uint16]:
    parts = [weights.flatten() for draw in drawn for weights in draw.weights]
    whole = torch.cat(parts).numpy() if parts else np.zeros(0, np.float32)
    return np.rint(whole * np.float32(FULL)).astype(np.uint16)


def has_lens(config: ModelConfig) -> bool:
    """Whether the model has a logit lens, as a decoder with a residual stream has."""
    return has_attention(config) and config.residual


def _lens(model: nn.Module, drawn: Sequence[GeneratedToken]) -> Arrays:
    """Return the likeliest tokens of each draw's last position before the first block and after each."""
    if not isinstance(model, TokenModel) or not has_lens(model.config) or not isinstance(model.blocks, Encoder):
        return {}
    norm, vocabulary = final_norms(model.blocks).get("decoder"), Vocabulary(linear_map(model.head), str)
    tokens, probabilities = [], []
    with torch.inference_mode():
        for draw in drawn:
            if draw.states is None:
                return {}
            lens = lens_of(torch.cat([state_logits(draw.states, norm, vocabulary), draw.logits[None]]))
            tokens.append(lens.tokens)
            probabilities.append(lens.probabilities)
    return {
        "lens_tokens": torch.stack(tokens).numpy().astype(np.float32),
        "lens_probabilities": torch.stack(probabilities).numpy().astype(np.float32),
    }


def multiplications(sizes: ModelSizes | None, drawn: GeneratedToken) -> int:
    """Return the number of multiplications in a draw's forward pass (`measures.cost`); 0 if not a transformer."""
    if sizes is None:
        return 0
    return sum(part.multiplications for part in cost(sizes, drawn.context, new=drawn.computed))
