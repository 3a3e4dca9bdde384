"""Runs many texts through the built-in model in batches, and computes sentence embeddings as all-MiniLM-L6-v2 does.

The texts are sorted by length, so that those of a batch are about equally long; shorter ones are padded, and no token
attends to the padding. The results equal those of each text alone, up to the rounding of sums in another order.

Shapes: N texts, B texts of a batch, T tokens, C model width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

T = TypeVar("T")

BATCH = 32
SENTENCE_TOKENS = 256
"""`max_seq_length` of all-MiniLM-L6-v2: of a longer text, the sentence embedding is that of the first 256 tokens,
[CLS] and [SEP] included"""
AT_ONCE = 2**21
"""Attention weights, over all heads, that are computed at once: 8 MB, three copies of which a forward pass holds"""


def embed_sentences(
    texts: Sequence[str],
    *,
    model: BuiltInModel | None = None,
    batch: int = BATCH,
    progress: Callable[[int], object] | None = None,
) -> Tensor:
    """Return the sentence embedding of each text, (N, C) float32: the mean over its tokens, divided by its norm.

    The product of two is the cosine of the angle between them.

    Args:
        texts: the texts to embed; of longer ones, only the first `SENTENCE_TOKENS` tokens.
        model: the built-in model; loaded if None.
        batch: maximum texts in a batch.
        progress: called after each batch with the number of texts that are done; if it raises, the work ends.

    Raises:
        ModelError: the built-in model is not installed.
        ValueError: `batch` is below 1.
    """
    if model is None:
        from attnviz.pretrained.built_in import BuiltInModel
        from attnviz.pretrained.described import find_folder

        model = BuiltInModel(find_folder())
    embeddings, done = torch.empty(len(texts), model.description.width), 0
    for places, embedded in sentence_batches(model, token_ids(model, texts, SENTENCE_TOKENS), batch):
        embeddings[places] = embedded
        done += len(places)
        if progress is not None:
            progress(done)
    return embeddings


def hidden_states(
    model: BuiltInModel, texts: Sequence[str], *, batch: int = BATCH, max_tokens: int | None = None
) -> list[Tensor]:
    """Return the last hidden states of each text, (T, C) each, [CLS] first and [SEP] last, in the order of the texts.

    Args:
        model: the built-in model.
        texts: the texts to read; an empty one is [CLS] [SEP].
        batch: maximum texts in a batch; batches of long texts are smaller.
        max_tokens: longer texts are cut; None means as many as the model takes.

    Raises:
        ValueError: `batch` is below 1, or `max_tokens` too small for [CLS] and [SEP].
    """
    states: list[Tensor] = [torch.empty(0)] * len(texts)
    for places, lengths, hidden in _batches(model, token_ids(model, texts, max_tokens), batch):
        for place, length, padded in zip(places, lengths.tolist(), hidden, strict=True):
            states[place] = padded[:length].clone()  # a view would keep the padding in memory
    return states


def sentence_batches(
    model: BuiltInModel, ids: Sequence[Sequence[int]], batch: int = BATCH
) -> Iterator[tuple[list[int], Tensor]]:
    """Yield the places of the texts of each batch, the longest first, and their sentence embeddings, (B, C).

    Args:
        model: the built-in model.
        ids: the ids of each text, as `token_ids` returns them.
        batch: as in `hidden_states`.

    Raises:
        ValueError: `batch` is below 1.
    """
    for places, lengths, hidden in _batches(model, ids, batch):
        yield places, pooled(hidden, lengths)


def pooled(hidden: Tensor, lengths: Tensor) -> Tensor:
    """Return sentence embeddings, (B, C), of hidden states (B, T, C) whose texts have these lengths, (B,)."""
    is_token = torch.arange(hidden.shape[1]) < lengths[:, None]  # (B, T)
    sums = hidden.masked_fill(~is_token[..., None], 0.0).sum(1)
    return torch.nn.functional.normalize(sums / lengths[:, None], dim=-1)


def token_ids(model: BuiltInModel, texts: Sequence[str], max_tokens: int | None = None) -> list[tuple[int, ...]]:
    """Return the ids of each text, [CLS] first and [SEP] last, cut to `max_tokens`.

    Raises:
        ValueError: `max_tokens` is too small for [CLS] and [SEP].
    """
    limit = model.max_tokens if max_tokens is None else max_tokens
    if limit < 2:
        raise ValueError(f"max_tokens is {limit}; it must be at least 2")
    return [cut(model.tokenize(text).ids, limit) for text in texts]


def cut(tokens: tuple[T, ...], limit: int) -> tuple[T, ...]:
    """Return at most `limit` tokens; the last one, [SEP], stays."""
    return tokens if len(tokens) <= limit else (*tokens[: limit - 1], tokens[-1])


def places_by_length(lengths: Sequence[int], heads: int, batch: int = BATCH) -> Iterator[list[int]]:
    """Yield the places of the texts of each batch, the longest first.

    Args:
        lengths: the lengths of the texts, in tokens.
        heads: H of a layer: batches of long texts are smaller, so that weights stay within `AT_ONCE`.
        batch: maximum texts in a batch.

    Raises:
        ValueError: `batch` is below 1.
    """
    if batch < 1:
        raise ValueError(f"a batch of {batch} texts: there must be at least 1")
    order, done = sorted(range(len(lengths)), key=lambda place: -lengths[place]), 0
    while done < len(order):
        longest = lengths[order[done]]
        places = order[done : done + max(1, min(batch, AT_ONCE // (heads * longest**2)))]
        yield places
        done += len(places)


def _batches(
    model: BuiltInModel, ids: Sequence[Sequence[int]], batch: int
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield the places of the texts of each batch, their lengths (B,), and their hidden states (B, T, C)."""
    heads = next(iter(model.description.layers.values()))[1]
    for places in places_by_length([len(text) for text in ids], heads, batch):
        texts = [ids[place] for place in places]
        with torch.no_grad():  # not inference_mode: a classifier may be trained on the result
            hidden = model.padded_forward(texts, [[0] * len(text) for text in texts])
        yield places, torch.tensor(list(map(len, texts))), hidden
