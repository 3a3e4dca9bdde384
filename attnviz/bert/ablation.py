"""The built-in model without some of its heads (ablation), and how much of its output each head changes.

A head is switched off by zero, as Michel et al. 2019, "Are Sixteen Heads Really Better than One?", do: its slice of
concat is 0, as if its rows of W_O were. Or by mean: its slice is its own mean output over a reference set of sentences,
so that its constant contribution to every text stays (mean ablation: Wang et al. 2022, "Interpretability in the Wild").

Shapes: L layers, H heads, T tokens, C model width, D head width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnviz.attention import attend
from attnviz.measures.ablation import NoAnswerError, each_without, probabilities
from attnviz.measures.summary import distance, entropy
from attnviz.measures.survey import weights_by_chunk
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.reprs import ArraysSize
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.layers import EncoderLayer
from attnviz.trace.layer import LayerTrace
from attnviz.trace.recorder import Replacement, replaced
from attnviz.trace.trace import Trace

MEASURES = ("largest", "words", "entropy", "distance", "norm")
"""Names of the measures, as in links"""


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasures(ArraysSize):
    """Measures of all heads of the encoder on one text, (L, H) each. Words are the tokens that are not special."""

    largest: Tensor
    """The largest weight of a word on a word, the mean over the words"""
    words: Tensor
    """The total weight of a word on words, the mean over the words: the rest goes to [CLS] and [SEP]"""
    entropy: Tensor
    """In bits, the mean over all tokens (Clark et al. 2019)"""
    distance: Tensor
    """In tokens, the mean over all tokens (Vig and Belinkov 2019)"""
    norm: Tensor
    """The norm of what the head adds to the output, ‖Σⱼ αᵢⱼ f(xⱼ)‖, the mean over all tokens. Kobayashi et al. (2020)
    take the norm of each term αᵢⱼ f(xⱼ)"""


def head_measures(trace: Trace) -> HeadMeasures:
    """Measure all heads of an encoder on a text. `largest` and `words` are NaN if the text has no word.

    Raises:
        ValueError: a layer's W_O is not known.
    """
    is_word = ~torch.tensor(trace.tokens.special)
    with torch.inference_mode():
        layers = [_of_layer(layer, is_word) for layer in trace.layers["encoder"]]
    return HeadMeasures(**{name: torch.stack([layer[name] for layer in layers]) for name in MEASURES})


def _of_layer(layer: LayerTrace, is_word: Tensor) -> dict[str, Tensor]:
    """Return the measures of the heads of a layer, (H,) each."""
    chunks: dict[str, list[Tensor]] = {name: [] for name in MEASURES if name != "norm"}
    for _, weights in weights_by_chunk(layer):
        between = weights[:, is_word][..., is_word]  # (h, words, words)
        nothing = between.new_full((len(weights),), torch.nan)
        has_words = bool(is_word.any())
        chunks["largest"].append(between.amax(-1).mean(-1) if has_words else nothing)
        chunks["words"].append(between.sum(-1).mean(-1) if has_words else nothing)
        chunks["entropy"].append(entropy(weights).mean(-1))
        chunks["distance"].append(distance(weights).mean(-1))
    return {**{name: torch.cat(parts) for name, parts in chunks.items()}, "norm": _added(layer).mean(-1)}


def _added(layer: LayerTrace) -> Tensor:
    """Return the norm of what each head adds to each token's output, (H, T): its output times its rows of W_O."""
    if layer.output_projection is None:
        raise ValueError("the layer's W_O is not known, so what its heads add can't be computed")
    per_head = layer.output_projection.weight.unflatten(0, (layer.heads, -1))  # (H, D, C)
    steps = (attend(*qkv, scale=layer.scale) for qkv in zip(layer.query, layer.key, layer.value, strict=True))
    return torch.stack([(head.head_outputs @ rows).norm(dim=-1) for head, rows in zip(steps, per_head, strict=True)])


def spearman(x: Tensor, y: Tensor) -> float:
    """Return Spearman's rank correlation of two series, (N,) each; equal numbers share their mean rank.

    NaN if a series is constant, has fewer than two numbers, or has one that is NaN or infinite.

    Raises:
        ValueError: they differ in length.
    """
    if x.shape != y.shape:
        raise ValueError(f"{tuple(x.shape)} and {tuple(y.shape)} differ")
    if x.numel() < 2 or not (x.isfinite().all() and y.isfinite().all()):
        return torch.nan
    ranks = torch.stack([_ranks(x.flatten()), _ranks(y.flatten())])
    centred = ranks - ranks.mean(-1, keepdim=True)
    return float((centred[0] * centred[1]).sum() / (centred[0].norm() * centred[1].norm()))


def _ranks(values: Tensor) -> Tensor:
    """Return the rank of each number, (N,), from 1; equal numbers share their mean rank."""
    _, places, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    mean: Tensor = (last - (counts - 1) / 2)[places]
    return mean


Head = tuple[int, int]
"""Layer and head"""


@dataclass(frozen=True, slots=True, eq=False)
class Effects(ArraysSize):
    """How much the output changes without each single head: 1 − cosine, from 0 (not at all) to 2."""

    sentence: Tensor
    """(L, H): of the sentence embedding"""
    tokens: Tensor
    """(L, H): of the output embeddings, the mean over all tokens"""
    answer: Tensor | None = None
    """(L, H): how much the probability of the whole model's likeliest token for the first [MASK] rises, or falls if
    negative; None if the text has no [MASK]"""


def layers_of(model: BuiltInModel) -> list[EncoderLayer]:
    """Return the layers of the encoder, in order."""
    return [layer for layer in model.bert.encoder.layers if isinstance(layer, EncoderLayer)]


@contextmanager
def without(model: BuiltInModel, heads: Iterable[Head], means: Tensor | None = None) -> Iterator[None]:
    """Leave out some heads in this thread's forward passes inside the `with` block.

    Args:
        model: the built-in model, which stays as it is.
        heads: layer and head of each head to switch off; with none the model stays whole.
        means: (L, H, D), what replaces their outputs, see `head_means`; None means 0.

    Raises:
        IndexError: there is no such layer or head.
    """
    layers = layers_of(model)
    chosen: dict[int, list[int]] = {}
    for layer, head in heads:
        if not 0 <= layer < len(layers):
            raise IndexError(f"layer {layer} does not exist: layers go from 0 to {len(layers) - 1}")
        chosen.setdefault(layer, []).append(head)
    by_module: dict[nn.Module, Replacement] = {
        layers[layer].attention: Replacement(
            Replacement.by_zero(which, layers[layer].attention.heads).heads, None if means is None else means[layer]
        )
        for layer, which in chosen.items()
    }
    with replaced(by_module):
        yield


def hidden_without(model: BuiltInModel, tokens: Tokens, heads: Iterable[Head], means: Tensor | None = None) -> Tensor:
    """Run the model without some heads on a text and return the output embeddings, (T, C).

    Args:
        model: the built-in model.
        tokens: the text, as `model.tokenize` reads it.
        heads: as in `without`.
        means: as in `without`.

    Raises:
        IndexError: there is no such layer or head.
        NoTokensError: the text has no token.
    """
    if not len(tokens):
        raise NoTokensError
    with torch.inference_mode(), without(model, heads, means):
        return model.forward(tokens.ids, tokens.segments, None)


def head_means(model: BuiltInModel, texts: Sequence[str]) -> Tensor:
    """Return the mean output of each head over all positions of all texts, special tokens too: (L, H, D).

    Raises:
        ValueError: there is no text.
        NoTokensError: a text has no token.
    """
    if not texts:
        raise ValueError("the mean over no text is not defined")
    sums: list[Tensor] = []
    count = 0
    with torch.inference_mode():
        for text in texts:
            trace = model.trace(text)
            added = torch.stack([layer.all_heads().head_outputs.double().sum(1) for layer in trace.layers["encoder"]])
            sums = [sums[0] + added] if sums else [added]
            count += len(trace.tokens)
    return (sums[0] / count).float()


def effects(trace: Trace, means: Tensor | None = None) -> Effects:
    """Switch off each head alone and compare the output with that of the whole model; see `effects_in_steps`."""
    return next(step for step in effects_in_steps(trace, means) if isinstance(step, Effects))


def effects_in_steps(trace: Trace, means: Tensor | None = None) -> Iterator[int | Effects]:
    """Yield how many heads are done after each batch, and finally the effects. The caller may stop between batches.

    Args:
        trace: the built-in model's trace of a text.
        means: as in `hidden_without`.
    """
    before, layers = trace.last_hidden_state, len(trace.numbers_of("encoder"))
    answer = _answer(trace, before)
    of_sentence, of_tokens, of_answer, done = [], [], [], 0
    for after in each_without(trace, "encoder", means):
        of_sentence.append(1 - cosine(sentence_embedding(before), sentence_embedding(after)))
        of_tokens.append(1 - cosine(before, after).mean(-1))
        if answer is not None:
            of_answer.append(probabilities(trace, after)[:, answer.argmax()] - answer.max())
        done += len(after)
        yield done
    sentence, of_all_tokens = (torch.cat(parts).view(layers, -1).float() for parts in (of_sentence, of_tokens))
    yield Effects(sentence, of_all_tokens, torch.cat(of_answer).view(layers, -1) if of_answer else None)


def _answer(trace: Trace, hidden: Tensor) -> Tensor | None:
    """Return the probabilities of all tokens for the first [MASK], (V,); None if the text has no [MASK]."""
    try:
        return probabilities(trace, hidden)
    except NoAnswerError:
        return None


def sentence_embedding(hidden: Tensor) -> Tensor:
    """Return the mean of the output embeddings over all tokens, as the model was trained: (..., T, C) -> (..., C)."""
    return hidden.mean(-2)


def cosine(before: Tensor, after: Tensor) -> Tensor:
    """Return the cosine of the angle between vectors, (..., C) -> (...), computed in float64 and clamped to −1 to 1."""
    return torch.cosine_similarity(before.double(), after.double(), dim=-1).clamp(-1, 1)
