"""Runs sentences through a model in batches, and sums up the measures of its heads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch

from attnviz.attention import hidden_cells
from attnviz.bert.encoding import BATCH, places_by_length
from attnviz.corpus.observing import divergence_sums, marks_of, observe
from attnviz.corpus.statistics import HeadStatistics, Place
from attnviz.pretrained.model import PretrainedModel, weights_digest
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind

CUT, EMPTY = "longer than the model takes, so cut", "without a token"
"""Notes on a sentence"""
PROBES = "One two three four five six.", "Seven."
"""Two texts used to test whether a model handles padding"""
ROUNDING = 1e-5
"""The largest difference between weights that the order of summation may cause"""
PAIRS_EVERY = 64
"""Every n-th sentence is used for the divergence between heads, which takes longer than everything else"""


class Reader:
    """Reads sentences with one model, without storing them.

    A batch has sentences of similar length, padded and masked. If padding changes a model's weights, the reader takes
    one sentence at a time.
    """

    def __init__(self, model: PretrainedModel, *, batch: int = BATCH, pairs_every: int = PAIRS_EVERY) -> None:
        """Set the model, and test whether it can read batches.

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
        """Return empty statistics."""
        description = self._model.description
        numbers = description.numbers[self.kind]
        return HeadStatistics(*description.layers[self.kind], causal=self.kind == "decoder", numbers=numbers)

    def read(
        self,
        sentences: Sequence[str],
        places: Sequence[Place] | None = None,
        *,
        on_note: Callable[[int, str], object] = lambda *_: None,
    ) -> HeadStatistics:
        """Return the statistics of sentences.

        The same sentences give the same sums, bit for bit, on the same machine with the same number of threads.
        Sentences without tokens do not count.

        Args:
            sentences: the sentences.
            places: their places in the corpus; if None, they can't be among the strongest examples.
            on_note: called with the number of a sentence and `CUT`, if its end is cut off, or `EMPTY`.
        """
        statistics, tokenized = self.nothing(), list[tuple[int, Tokens]]()
        for number, sentence in enumerate(sentences):
            tokens, _ = self._model.read(sentence)
            if all(tokens.special):
                on_note(number, EMPTY)
            else:
                tokenized.append((number, tokens))
                if tokens.dropped:
                    on_note(number, CUT)
        sampled = {number for number, _ in tokenized[:: self._pairs_every]}
        for batch in places_by_length([len(tokens) for _, tokens in tokenized], statistics.heads, self.batch):
            self._add_batch(statistics, [tokenized[at] for at in batch], places, sampled)
        return statistics

    def _add_batch(
        self,
        statistics: HeadStatistics,
        batch: Sequence[tuple[int, Tokens]],
        places: Sequence[Place] | None,
        sampled: Collection[int],
    ) -> None:
        """Add a batch of numbered sentences. Those in `sampled` also count for the divergence."""
        texts = [tokens for _, tokens in batch]
        of_layers = self._model.batch_weights(texts, self.kind)
        layers = [weights.cpu() for weights, _ in of_layers]
        masks = [hidden_cells(mask, weights.shape).all(1).cpu() for weights, mask in of_layers]
        statistics.add_observed(
            observe(layers, masks, marks_of(texts), causal=statistics.causal),
            list(map(len, texts)),
            None if places is None else ([places[number] for number, _ in batch], [tokens.text for tokens in texts]),
        )
        for row, (number, tokens) in enumerate(batch):
            if number in sampled:
                length = len(tokens)
                weights = torch.cat([layer[row, :, :length, :length] for layer in layers])
                statistics.add_pairs(divergence_sums(weights).numpy(), length)

    def _is_equal_with_padding(self) -> bool:
        """Whether a sentence has the same weights alone and padded in a batch with a longer one."""
        longer, shorter = (self._model.read(words)[0] for words in PROBES)
        alone = self._model.batch_weights([shorter], self.kind)
        padded = self._model.batch_weights([longer, shorter], self.kind)
        n = len(shorter)
        return all(
            bool(torch.allclose(in_batch[1, :, :n, :n], single[0], rtol=0, atol=ROUNDING))
            and not bool(in_batch[1, :, :n, n:].any())
            for (in_batch, _), (single, _) in zip(padded, alone, strict=True)
        )
