"""Generated text as arrays, with every number of every draw: what a page or a file keeps of it.

Shapes: N draws, V tokens of the vocabulary, K likeliest of them, L layers, H heads, T tokens of a draw's context,
P = L + 1 states of a position.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnviz.measures.cost import cost
from attnviz.measures.residual_stream import lens_of, state_logits
from attnviz.toy.language.config import ModelConfig, has_attention
from attnviz.toy.language.model import TokenModel
from attnviz.toy.layers import linear_map
from attnviz.toy.stacks import Encoder
from attnviz.toy.transformer.trace import final_norms, sizes_of
from attnviz.trace.sizes import ModelSizes
from attnviz.trace.vocabulary import Vocabulary
from attnviz.training.generation.generate import Drawn, Sampling, generate

SHOWN = 128
"""K: the most tokens of a draw that are kept"""
FULL = 65535
"""What stands for a weight of 1"""

Arrays = dict[str, NDArray[np.float32]]


def record(
    model: nn.Module, ids: Sequence[int], count: int, sampling: Sampling, *, cached: bool = True
) -> tuple[Arrays, NDArray[np.uint16]]:
    """Generate `count` tokens; arguments and errors are those of `generate`.

    Returns:
        Arrays by name, and the attention of each last position as rint(weight · 65535), (L · H · T) of each draw, one
        after another. Of the K likeliest tokens, in this order: `order`, `logits`, `scaled`, `probabilities` and `sums`
        (of probabilities), (N, K). Of the draw: `ids`, `rank` (the place of the token in the order, from 0), `number`
        (NaN if the choice is greedy), `kept` (how many tokens could be drawn), `total` (of exp(scaled − the largest)
        over these), `context`, `computed`, `seconds` (of processor time) and `multiplications`, (N,); `own`, its logit,
        scaled logit, probability and sum, (N, 4). Where there is a logit lens, `lens_tokens` and `lens_probabilities`,
        (N, P, 5).
    """
    drawn: list[Drawn] = []
    seconds: list[float] = []
    began = time.thread_time()
    for one in generate(model, ids, count, sampling, cached=cached):
        seconds.append(time.thread_time() - began)
        drawn.append(one)
        began = time.thread_time()
    sizes = sizes_of(model.blocks, head=model.head) if isinstance(model, TokenModel) else None
    arrays = {
        **_draws(drawn),
        "seconds": np.array(seconds, np.float32),
        "multiplications": np.array([multiplications(sizes, one) for one in drawn], np.float32),
        **_lens(model, drawn),
    }
    return arrays, _codes(drawn)


def _draws(drawn: Sequence[Drawn]) -> Arrays:
    columns: dict[str, list[Tensor]] = {}
    for one in drawn:
        order, probabilities = one.order, one.probabilities[one.order]
        kept, rank = int(one.kept.sum()), int((order == one.id).nonzero())
        scaled, sums = one.scaled[order], probabilities.double().cumsum(-1)
        row = {
            "order": order[:SHOWN], "logits": one.logits[order[:SHOWN]], "scaled": scaled[:SHOWN],
            "probabilities": probabilities[:SHOWN], "sums": sums[:SHOWN],
            "own": torch.stack([one.logits[one.id], scaled[rank], probabilities[rank], sums[rank].float()]),
            "ids": torch.tensor(one.id), "rank": torch.tensor(rank), "kept": torch.tensor(kept),
            "number": torch.tensor(float("nan") if one.number is None else one.number),
            "total": (scaled[:kept] - scaled[0]).exp().sum(),
            "context": torch.tensor(one.context), "computed": torch.tensor(one.computed),
        }  # fmt: skip
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: torch.stack(values).numpy().astype(np.float32) for name, values in columns.items()}


def _codes(drawn: Sequence[Drawn]) -> NDArray[np.uint16]:
    parts = [weights.flatten() for one in drawn for weights in one.weights]
    whole = torch.cat(parts).numpy() if parts else np.zeros(0, np.float32)
    return np.rint(whole * np.float32(FULL)).astype(np.uint16)


def has_lens(config: ModelConfig) -> bool:
    """Whether there is a logit lens: of a decoder whose blocks add to one stream."""
    return has_attention(config) and config.residual


def _lens(model: nn.Module, drawn: Sequence[Drawn]) -> Arrays:
    """Return the likeliest tokens of each draw's last position before the first block and after each."""
    if not isinstance(model, TokenModel) or not has_lens(model.config) or not isinstance(model.blocks, Encoder):
        return {}
    norm, vocabulary = final_norms(model.blocks).get("decoder"), Vocabulary(linear_map(model.head), str)
    tokens, probabilities = [], []
    with torch.inference_mode():
        for one in drawn:
            if one.states is None:
                return {}
            found = lens_of(torch.cat([state_logits(one.states, norm, vocabulary), one.logits[None]]))
            tokens.append(found.tokens)
            probabilities.append(found.probabilities)
    return {
        "lens_tokens": torch.stack(tokens).numpy().astype(np.float32),
        "lens_probabilities": torch.stack(probabilities).numpy().astype(np.float32),
    }


def multiplications(sizes: ModelSizes | None, drawn: Drawn) -> int:
    """Return the multiplications of a draw's forward pass (`measures.transformer.cost`); 0 if it is no transformer."""
    if sizes is None:
        return 0
    return sum(part.multiplications for part in cost(sizes, drawn.context, new=drawn.computed))
