"""The built-in model without some of its heads (ablation), and how much of its output each head changes.

A head is switched off by zero, as Michel et al. 2019, "Are Sixteen Heads Really Better than One?", do: its slice of
concat is 0, as if its rows of W_O were. Or by mean: its slice is its own mean output over a reference set of sentences,
so that what it says of every text alike stays (mean ablation: Wang et al. 2022, "Interpretability in the Wild").

Shapes: L layers, H heads, T tokens, C model width, D head width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnviz.bert.encoding import AT_ONCE
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.layers import EncoderLayer
from attnviz.trace.ablation import Replaced, replaced
from attnviz.trace.trace import Trace

Head = tuple[int, int]
"""Layer and head"""


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """How much the output changes without one head, for each head: 1 − cosine, from 0 (not at all) to 2."""

    sentence: Tensor
    """(L, H): of the sentence embedding"""
    tokens: Tensor
    """(L, H): of the output embeddings, the mean over all tokens"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.sentence.nbytes + self.tokens.nbytes


def layers_of(model: BuiltInModel) -> list[EncoderLayer]:
    """Return the layers of the encoder, in order."""
    return [layer for layer in model.bert.encoder.layers if isinstance(layer, EncoderLayer)]


@contextmanager
def without(model: BuiltInModel, heads: Iterable[Head], means: Tensor | None = None) -> Iterator[None]:
    """Run the model without some heads in the forward passes of this thread inside the `with` block.

    Args:
        model: the built-in model, which stays as it is.
        heads: layer and head of those that are switched off; none leaves the model whole.
        means: (L, H, D), what stands in place of their outputs, see `head_means`; None is 0.

    Raises:
        IndexError: there is no such layer or head.
    """
    layers = layers_of(model)
    chosen: dict[int, list[int]] = {}
    for layer, head in heads:
        if not 0 <= layer < len(layers):
            raise IndexError(f"layer {layer} does not exist: layers go from 0 to {len(layers) - 1}")
        chosen.setdefault(layer, []).append(head)
    by_module: dict[nn.Module, Replaced] = {
        layers[layer].attention: Replaced(
            Replaced.by_zero(which, layers[layer].attention.heads).heads, None if means is None else means[layer]
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
            found = torch.stack([layer.all_heads().head_outputs.double().sum(1) for layer in trace.layers["encoder"]])
            sums = [sums[0] + found] if sums else [found]
            count += len(trace.tokens)
    return (sums[0] / count).float()


def effects(
    model: BuiltInModel, trace: Trace, means: Tensor | None = None, on_head: Callable[[int], object] | None = None
) -> Effects:
    """Switch off each head alone and compare the output with that of the whole model.

    The layers below a head do not change, so its forward pass begins at its layer, from the input that `trace` holds.
    The heads of a layer are a batch, of as many as `AT_ONCE` allows.

    Args:
        model: the built-in model.
        trace: its trace of the text.
        means: as in `hidden_without`.
        on_head: is called now and then with the number of heads that are done.
    """
    layers, before = layers_of(model), trace.last_hidden_state
    of_sentence, of_tokens, done = [], [], 0
    for number, layer in enumerate(layers):
        count, x = layer.attention.heads, trace.layer(number).query_input
        if x is None:
            raise ValueError(f"the trace does not hold the input of layer {number}")
        at_once = max(1, AT_ONCE // (count * len(trace.tokens) ** 2))
        values = None if means is None else means[number]
        for some in torch.eye(count, dtype=torch.bool).split(at_once):
            after = x.expand(len(some), *x.shape)  # (B, T, C)
            with torch.inference_mode(), replaced({layer.attention: Replaced(some, values)}):
                for one in layers[number:]:
                    after = one(after)
                after = model.bert.encoder.norm(after)
            of_sentence.append(1 - cosine(sentence_embedding(before), sentence_embedding(after)))
            of_tokens.append(1 - cosine(before, after).mean(-1))
            done += len(some)
            if on_head is not None:
                on_head(done)
    return Effects(*(torch.cat(found).view(len(layers), -1).float() for found in (of_sentence, of_tokens)))


def sentence_embedding(hidden: Tensor) -> Tensor:
    """Return the mean of the output embeddings over all tokens, as the model was trained: (..., T, C) -> (..., C)."""
    return hidden.mean(-2)


def cosine(before: Tensor, after: Tensor) -> Tensor:
    """Return the cosine of the angle between vectors, (..., C) -> (...), computed in float64 and at most 1."""
    return torch.cosine_similarity(before.double(), after.double(), dim=-1).clamp(-1, 1)
