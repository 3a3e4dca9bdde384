"""Fill the blank: which tokens a masked-language model predicts for a mask.

Shapes: T tokens, M masks, V entries of the vocabulary, C model width, K likeliest tokens that are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from attnviz.pretrained import PretrainedModel
from attnviz.pretrained.described import MASK
from attnviz.reprs import ShortRepr
from attnviz.tokens import Tokens
from attnviz.tokens.value import bare

Lack = Literal["head", "decoder", "both", "mask"]
"""What keeps a model from filling blanks: it has no language head; it is a decoder, which sees only earlier tokens; it
has an encoder and a decoder; or its tokenizer has no mask token"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blanks(ShortRepr):
    """A model's predictions for each mask of a text. Each is made while the others stay masked."""

    tokens: Tokens
    """The text, as the model reads it"""
    places: tuple[int, ...]
    """M positions, in the order of the text"""
    truth: tuple[int | None, ...]
    """M ids that were masked; None where the text itself has a mask"""
    ids: Tensor
    """(M, K): the likeliest ids, the likeliest first"""
    logits: Tensor
    """(M, K): their logits"""
    probabilities: Tensor
    """(M, K): softmax of the logits over all V"""
    true_probability: tuple[float | None, ...]
    """M: the probability of the id that was masked; None if the text itself has the mask"""
    true_rank: tuple[int | None, ...]
    """M: the rank of that id, 1 if it is the likeliest; None as above"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in (self.ids, self.logits, self.probabilities)) + 64 * len(self.tokens)


def lacks(model: PretrainedModel) -> Lack | None:
    """Return what keeps a model from filling blanks; None if nothing does."""
    if model.is_encoder_decoder:
        return "both"
    if "decoder" in model.description.layers:
        return "decoder"
    if model.language_head is None:
        return "head"
    return "mask" if model.mask is None else None


def read(model: PretrainedModel, text: str) -> Tokens:
    """Tokenise a text; each `MASK` in it is one mask, whatever the model's own mask token is called."""
    return model.tokenize(text if model.mask is None else text.replace(MASK, model.mask[0]))


def masks_in(model: PretrainedModel, tokens: Tokens) -> tuple[int, ...]:
    """Return the positions of the masks in the text itself."""
    mask = None if model.mask is None else model.mask[1]
    return tuple(place for place, token in enumerate(tokens.ids) if token == mask)


def maskable(model: PretrainedModel, tokens: Tokens) -> tuple[int, ...]:
    """Return the positions of the tokens that can be masked: all but masks and the special tokens."""
    masks = masks_in(model, tokens)
    return tuple(place for place in range(len(tokens)) if not (tokens.special[place] or place in masks))


def last_word(model: PretrainedModel, tokens: Tokens) -> int | None:
    """Return the position of the last token with a letter or a digit; else of the last maskable one, or None."""
    places = maskable(model, tokens)
    words = tuple(place for place in places if re.search(r"\w", tokens.source(place)))
    return (words or places or (None,))[-1]


@torch.inference_mode()
def fill(model: PretrainedModel, tokens: Tokens, chosen: Sequence[int] = (), *, kept: int = 5) -> Blanks:
    """Return a model's predictions for each mask: those in the text, and those at the chosen positions.

    Args:
        model: one for which `lacks` returns None.
        tokens: the text, from `read`.
        chosen: further positions to mask.
        kept: K.

    Raises:
        ValueError: the model can't fill blanks, or there is no mask.
        IndexError: there is no such position.
    """
    head = model.language_head
    if model.mask is None or head is None or lacks(model):
        raise ValueError(f"{model.name} can't fill blanks")
    _, mask = model.mask
    for place in chosen:
        if not 0 <= place < len(tokens):
            raise IndexError(f"position {place} does not exist: they go from 0 to {len(tokens) - 1}")
    places = tuple(sorted({*masks_in(model, tokens), *chosen}))
    if not places:
        raise ValueError("there is no mask in the text")
    truth = tuple(None if tokens.ids[place] == mask else tokens.ids[place] for place in places)
    ids = [mask if place in places else token for place, token in enumerate(tokens.ids)]
    hidden = model.forward(ids, tokens.segments, None)[list(places)]  # (M, C)
    best, logits, probabilities, true_probability, ranks = [], [], [], [], []
    for place, row in enumerate(hidden):  # one after the other: the logits of 512 masks take 62 MB
        scores = head(row[None])[0]  # (V,)
        top, true = scores.topk(min(kept, len(scores))), truth[place]
        probability = torch.softmax(scores, dim=-1)
        best.append(top.indices)
        logits.append(top.values)
        probabilities.append(probability[top.indices])
        true_probability.append(None if true is None else float(probability[true]))
        ranks.append(None if true is None else 1 + int((scores > scores[true]).sum()))
    return Blanks(
        tokens, places, truth, torch.stack(best), torch.stack(logits), torch.stack(probabilities),
        tuple(true_probability), tuple(ranks),
    )  # fmt: skip


def completed(model: PretrainedModel, blanks: Blanks) -> list[tuple[str, bool]]:
    """Return the text with the likeliest token in the place of each mask: its pieces, and whether each was filled in.

    The end of a long text, which the tokenizer dropped, stays as it is.
    """
    text, mask = blanks.tokens.text, MASK if model.mask is None else model.mask[0]
    pieces: list[tuple[str, bool]] = []
    end = 0
    for place, token in zip(blanks.places, blanks.ids[:, 0].tolist(), strict=True):
        begin, stop = blanks.tokens.offsets[place]
        begin += len(text[begin:stop]) - len(text[begin:stop].lstrip())  # RoBERTa's mask includes the space before it
        before, filled = text[end:begin], label_for(model, token)
        if filled.startswith("##"):  # it continues the word before it
            before, filled = before.rstrip(), filled.removeprefix("##")
        pieces += [(before, False), (filled, True)]
        end = stop
    return [piece for piece in (*pieces, (text[end:].replace(mask, MASK), False)) if piece[0]]


def label_for(model: PretrainedModel, token: int) -> str:
    """Return the label of a token in a model's vocabulary, without the mark of a space before it."""
    return bare(model.label(token))
