"""Parameter-free attention (Q = K = V = X): blocks of it as a first language model, and heads on parts of X.

In the language model, each attention is followed by a linear layer, and the output layer is tied to the embedding
matrix. Heads on subsets cut the columns of X into parts, with parameter-free attention within each.

Shapes: T tokens, V entries of the vocabulary, C model width, N blocks, K likeliest tokens that are kept, H parts
of D = C / H columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from attnviz.attention import AttentionSteps, Mask, attend
from attnviz.measures.summary import entropy
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.trace.layer import LinearMap

KEPT = 5
"""K"""
CELLS = 2**22
"""Maximum logits held at once: 16 MiB"""


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of a first language model, besides the text."""

    x: Literal["tokens", "embeddings"] = "tokens"
    """The input of the blocks: rows of the embedding matrix, or the model's whole embeddings of the text"""
    blocks: int = 2
    """N"""
    seed: int = 0
    """The seed of the linear layers"""
    causal: bool = True
    """Whether row i sees rows 0 to i only"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stack(ShortRepr, ArraysSize):
    """The attention weights and outputs of N blocks."""

    weights: tuple[Tensor, ...]
    """(T, T) of each block: softmax(X Xᵀ / √C), under the mask"""
    states: tuple[Tensor, ...]
    """(T, C): X, and the output of each block"""

    @property
    def hidden(self) -> Tensor:
        """The last state, (T, C)."""
        return self.states[-1]

    @property
    def alike(self) -> tuple[float, ...]:
        """The mean cosine between two rows, in each of the N + 1 states; 1 if they all point the same way."""
        return tuple(map(_alike, self.states))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Guesses(ShortRepr, ArraysSize):
    """The likeliest tokens of each row."""

    tokens: Tensor
    """(T, K) ids, the likeliest first"""
    probabilities: Tensor
    """(T, K): softmax of the logits over all V"""


def draw_layers(seed: int, count: int, width: int) -> tuple[LinearMap, ...]:
    """Draw linear layers C -> C: the numbers of `torch.manual_seed(seed)` and then nn.Linear(C, C), `count` times.

    Weights and biases are uniform up to 1/√C (He et al. 2015, with the slope √5 that torch takes). It draws from a
    generator of its own, because other threads draw from torch's, and without torch's functions of initialisation,
    which transformers replaces for all threads while it loads a model.
    """
    generator, bound = torch.Generator().manual_seed(seed), 1 / math.sqrt(width)
    of_weights = math.sqrt(3) * (
        nn.init.calculate_gain("leaky_relu", math.sqrt(5)) / math.sqrt(width)
    )  # as torch rounds
    layers = []
    for _ in range(count):
        weight = torch.empty(width, width).uniform_(-of_weights, of_weights, generator=generator)
        bias = torch.empty(width).uniform_(-bound, bound, generator=generator)
        layers.append(LinearMap(weight.T, bias))
    return tuple(layers)


@torch.inference_mode()
def embed(
    model: BuiltInModel, ids: Sequence[int], segments: Sequence[int], kind: Literal["tokens", "embeddings"]
) -> Tensor:
    """Return X of T ids, (T, C): see `Setup.x`."""
    embeddings = model.bert.embeddings
    rows: Tensor = (
        embeddings.token(torch.tensor(ids))
        if kind == "tokens"
        else embeddings(torch.tensor(ids), torch.tensor(segments))
    )
    return rows


@torch.inference_mode()
def run(x: Tensor, layers: Sequence[LinearMap], *, causal: bool) -> Stack:
    """Run X, (T, C), through one block per layer: attention with Q = K = V = X and the scale 1/√C, then the layer.

    Raises:
        ValueError: a layer does not map C numbers to C numbers.
    """
    width = x.shape[-1]
    mask = Mask.causal(len(x)) if causal else None
    weights, states = [], [x]
    for layer in layers:
        if layer.weight.shape != (width, width):
            raise ValueError(f"a layer {tuple(layer.weight.shape)} does not keep the width {width}")
        steps = attend(states[-1], states[-1], states[-1], mask=mask)
        weights.append(steps.weights)
        states.append(layer.apply(steps.head_outputs))
    return Stack(tuple(weights), tuple(states))


@torch.inference_mode()
def guess(hidden: Tensor, table: Tensor) -> Guesses:
    """Return the likeliest tokens: softmax(hidden · tableᵀ), with the transposed table as output layer.

    Args:
        hidden: (T, C).
        table: (V, C), the embedding matrix.
    """
    chunks = []
    for rows in hidden.split(max(1, CELLS // len(table))):
        logits = rows @ table.T  # (t, V)
        best = logits.topk(min(KEPT, len(table)), dim=-1)
        chunks.append((best.indices, (best.values - logits.logsumexp(-1, keepdim=True)).exp()))
    return Guesses(*(torch.cat(parts) for parts in zip(*chunks, strict=True)))


@torch.inference_mode()
def moved(before: Tensor, after: Tensor, table: Tensor) -> Tensor:
    """Return the largest change among the V logits of each row, (T,), between two hidden states, (T, C).

    Logits are linear in the hidden state, so their difference is the states' difference times tableᵀ.
    """
    difference = after - before
    rows = [(part @ table.T).abs().amax(-1) for part in difference.split(max(1, CELLS // len(table)))]
    return torch.cat(rows)


def _alike(state: Tensor) -> float:
    """Return the mean cosine over all pairs of two different rows of (T, C); 1 if there is only one row."""
    rows = nn.functional.normalize(state.double(), dim=-1)
    count = len(rows)
    if count < 2:
        return 1.0
    pairs = rows.sum(0).square().sum() - rows.square().sum()  # without the pairs of a row with itself
    return float(pairs / (count * (count - 1)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subsets(ShortRepr):
    """One softmax over all of X, and one in each of H parts of its columns."""

    whole: AttentionSteps
    """All C columns as one head: the scale is 1/√C"""
    parts: AttentionSteps
    """H heads: query, key and value are (H, T, D), the scale is 1/√D"""

    @property
    def heads(self) -> int:
        """H."""
        return len(self.parts.weights)

    @property
    def weights(self) -> Tensor:
        """(1 + H, T, T): the weights of the whole X, then of each part."""
        return torch.cat([self.whole.weights[None], self.parts.weights])

    @property
    def joined(self) -> Tensor:
        """(T, C): the outputs of the parts, side by side."""
        return self.parts.concat

    @property
    def nbytes(self) -> int:
        """Bytes in memory: keys and values share it with queries, and masked scores with scaled ones."""
        both = (self.whole, self.parts)
        made = sum(array.nbytes for steps in both for array in (steps.scaled, steps.weights, steps.head_outputs))
        return made + self.whole.query.nbytes  # one for all queries, keys and values


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Row(ShortRepr):
    """One query's row of weights from the softmax over the whole X (number 0) and from each part's (1 to H)."""

    weights: Tensor
    """(1 + H, T)"""
    largest: tuple[int, ...]
    """1 + H: the key with the largest weight"""
    other: tuple[int | None, ...]
    """1 + H: the key with the largest weight besides the query itself; None if there is no other"""
    entropy: Tensor
    """(1 + H,), in bits"""
    difference: Tensor
    """(1 + H, 1 + H): half the sum of |p − q| (total variation distance): 0 for equal rows, 1 if they share no key"""


@torch.inference_mode()
def attend_in_parts(x: Tensor, heads: int) -> Subsets:
    """Cut the columns of X, (T, C), into parts, and attend within each with Q = K = V.

    Raises:
        ValueError: the number of parts does not divide C.
    """
    length, width = x.shape
    if heads < 1 or width % heads:
        raise ValueError(f"{width} columns can't be cut into {heads} equal parts")
    parts = x.view(length, heads, width // heads).transpose(0, 1)  # (T, H, D) -> (H, T, D)
    return Subsets(attend(x, x, x), attend(parts, parts, parts))


def most_apart(subsets: Subsets) -> Tensor:
    """Return each query's largest difference between two heads, (T,), as in `Row.difference`; 0 with one head."""
    weights = subsets.parts.weights  # (H, T, T)
    largest = weights.new_zeros(weights.shape[1])
    for number, head in enumerate(weights):
        for other in weights[:number]:  # a pair at a time: all pairs of 512 tokens would take 75 MB
            largest = largest.maximum((head - other).abs().sum(-1) / 2)
    return largest


@torch.inference_mode()
def row_of(subsets: Subsets, query: int) -> Row:
    """Return one query's weights from the softmax over the whole X and from each part's."""
    weights = torch.cat([subsets.whole.weights[None, query], subsets.parts.weights[:, query]])  # (1 + H, T)
    others = weights.clone()
    others[:, query] = -1
    is_alone = weights.shape[1] < 2
    return Row(
        weights,
        tuple(weights.argmax(-1).tolist()),
        tuple(None if is_alone else key for key in others.argmax(-1).tolist()),
        entropy(weights),
        (weights[:, None] - weights[None]).abs().sum(-1) / 2,
    )
