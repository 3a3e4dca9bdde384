"""Sentences through a model, many at a time, and what is summed of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch

from attnviz.bert.encoding import BATCH, places_by_length
from attnviz.corpus.observing import divergence_sums, marks_of, observe
from attnviz.corpus.statistics import HeadStatistics, Place
from attnviz.pretrained.model import PretrainedModel, weights_digest
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind

CUT, EMPTY = "longer than the model takes, so cut", "without a token"
"""What may be noted of a sentence"""
PROBES = "One two three four five six.", "Seven."
"""Two texts by which a model is tried"""
ROUNDING = 1e-5
"""The most by which weights may differ through the order of sums"""
PAIRS_EVERY = 64
"""Every n-th sentence is used for the divergence between heads, which takes longer than all else"""


class Reader:
    """Reads sentences with one model. It keeps nothing of them.

    A batch has sentences of about the same length, padded and masked. Where a model gives other weights for a sentence
    with padding than for the sentence alone, it reads one at a time.
    """

    def __init__(self, model: PretrainedModel, *, batch: int = BATCH, pairs_every: int = PAIRS_EVERY) -> None:
        """Keep the model, and try whether it reads batches.

        Raises:
            ValueError: the model has no self-attention, or a number is below 1.
        """
        if batch < 1 or pairs_every < 1:
            raise ValueError(f"batch is {batch} and pairs_every {pairs_every}; both are at least 1")
        kinds: list[Kind] = [kind for kind in model.description.layers if kind != "cross"]
        if not kinds:
            raise ValueError(f"{model.name} has no self-attention")
        self.kind = kinds[0]
        self._model, self._pairs_every = model, pairs_every
        self.weights = weights_digest(model)
        self.batch = batch if batch > 1 and self._is_equal_with_padding() else 1

    def nothing(self) -> HeadStatistics:
        """Return the statistics of no sentence."""
        of = self._model.description
        return HeadStatistics(*of.layers[self.kind], causal=self.kind == "decoder", numbers=of.numbers[self.kind])

    def read(
        self,
        sentences: Sequence[str],
        places: Sequence[Place] | None = None,
        *,
        on_note: Callable[[int, str], object] = lambda *_: None,
    ) -> HeadStatistics:
        """Return the statistics of sentences.

        The same sentences give the same sums, bit for bit, on the same machine with the same number of threads. One
        without a token counts for nothing.

        Args:
            sentences: the sentences.
            places: where they stand in the corpus; if None, none of them is among the strongest.
            on_note: is called with the number of a sentence and `CUT`, if its end is left out, or `EMPTY`.
        """
        found, every = self.nothing(), list[tuple[int, Tokens]]()
        for number, sentence in enumerate(sentences):
            tokens, _ = self._model.read(sentence)
            if all(tokens.special):
                on_note(number, EMPTY)
            else:
                every.append((number, tokens))
                if tokens.dropped:
                    on_note(number, CUT)
        sampled = {number for number, _ in every[:: self._pairs_every]}
        for batch in places_by_length([len(tokens) for _, tokens in every], found.heads, self.batch):
            self._add_batch(found, [every[at] for at in batch], places, sampled)
        return found

    def _add_batch(
        self,
        found: HeadStatistics,
        batch: Sequence[tuple[int, Tokens]],
        places: Sequence[Place] | None,
        sampled: Collection[int],
    ) -> None:
        """Add the sentences of a batch: their numbers and tokens. Those of `sampled` count for the divergence too."""
        texts = [tokens for _, tokens in batch]
        layers = [weights.cpu() for weights in self._model.batch_weights(texts, self.kind)]
        found.add_observed(
            observe(layers, marks_of(texts), causal=found.causal),
            list(map(len, texts)),
            None if places is None else ([places[number] for number, _ in batch], [tokens.text for tokens in texts]),
        )
        for place, (number, tokens) in enumerate(batch):
            if number in sampled:
                length = len(tokens)
                weights = torch.cat([of_layer[place, :, :length, :length] for of_layer in layers])
                found.add_pairs(divergence_sums(weights).numpy(), length)

    def _is_equal_with_padding(self) -> bool:
        """Whether a sentence has the weights in a batch, beside a longer one, that it has alone."""
        longer, shorter = (self._model.read(words)[0] for words in PROBES)
        alone = self._model.batch_weights([shorter], self.kind)
        padded = self._model.batch_weights([longer, shorter], self.kind)
        n = len(shorter)
        return all(
            bool(torch.allclose(one[1, :, :n, :n], own[0], rtol=0, atol=ROUNDING)) and not bool(one[1, :, :n, n:].any())
            for one, own in zip(padded, alone, strict=True)
        )
