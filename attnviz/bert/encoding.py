"""Many texts through the built-in model in batches, and sentence embeddings as all-MiniLM-L6-v2 was trained for.

The texts are sorted by length, so that those of a batch are about equally long; the shorter are padded, and no token
looks at the padding. What comes out is what each text alone gives, up to the rounding of sums in another order.

Shapes: N texts, B texts of a batch, T tokens, C model width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

BATCH = 32
SENTENCE_TOKENS = 256
"""`max_seq_length` of all-MiniLM-L6-v2: of a longer text, the sentence embedding is that of the first 256 tokens,
[CLS] and [SEP] included"""
AT_ONCE = 2**21
"""Cells of weights, over all heads, that are computed at once: 8 MB, of which a forward pass holds three at a time"""


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
        texts: what is embedded; of more than `SENTENCE_TOKENS` tokens, the first ones.
        model: the built-in model; loaded if None.
        batch: the most texts that are computed at once.
        progress: as in `hidden_states`.

    Raises:
        ModelError: the built-in model is not installed.
        ValueError: `batch` is below 1.
    """
    if model is None:
        model = _loaded()
    embeddings, done = torch.empty(len(texts), model.description.width), 0
    for places, embedded in sentence_batches(model, token_ids(model, texts, SENTENCE_TOKENS), batch):
        embeddings[places] = embedded
        done += len(places)
        if progress is not None:
            progress(done)
    return embeddings


def hidden_states(
    model: BuiltInModel,
    texts: Sequence[str],
    *,
    batch: int = BATCH,
    max_tokens: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Tensor]:
    """Return the last hidden states of each text, (T, C) each, [CLS] first and [SEP] last, in the order of the texts.

    Args:
        model: the built-in model.
        texts: what is read; an empty one is [CLS] [SEP].
        batch: the most texts that are computed at once; of long texts there are fewer.
        max_tokens: longer texts are cut; as many as the model takes if None.
        progress: is called after each batch with the number of texts that are done; what it raises ends the work.

    Raises:
        ValueError: `batch` is below 1, or `max_tokens` too small for [CLS] and [SEP].
    """
    found: list[Tensor] = [torch.empty(0)] * len(texts)
    done = 0
    for places, lengths, hidden in _batches(model, token_ids(model, texts, max_tokens), batch):
        for place, length, one in zip(places, lengths.tolist(), hidden, strict=True):
            found[place] = one[:length].clone()  # a view would keep the padding in memory
        done += len(places)
        if progress is not None:
            progress(done)
    return found


def sentence_batches(
    model: BuiltInModel, ids: Sequence[Sequence[int]], batch: int = BATCH
) -> Iterator[tuple[list[int], Tensor]]:
    """Yield the places of the texts of each batch, the longest first, and their sentence embeddings, (B, C).

    Args:
        model: the built-in model.
        ids: of each text, as `token_ids` returns them.
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
    whole = (model.tokenize(text).ids for text in texts)
    return [ids if len(ids) <= limit else (*ids[: limit - 1], ids[-1]) for ids in whole]


def places_by_length(lengths: Sequence[int], heads: int, batch: int = BATCH) -> Iterator[list[int]]:
    """Yield the places of the texts of each batch, the longest first.

    Args:
        lengths: of the texts, in tokens.
        heads: H of a layer: of long texts a batch has fewer, so that weights stay within `AT_ONCE`.
        batch: the most texts of a batch.

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
    for places in places_by_length([len(one) for one in ids], heads, batch):
        own = [ids[place] for place in places]
        with torch.no_grad():  # not inference_mode: a classifier may be trained on what comes out
            hidden = model.padded_forward(own, [[0] * len(one) for one in own])
        yield places, torch.tensor(list(map(len, own))), hidden


def _loaded() -> BuiltInModel:
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.pretrained.described import find_folder

    return BuiltInModel(find_folder())
