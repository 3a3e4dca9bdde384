"""Sentences through a model, many at a time where the model can, and what is summed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from attnviz.attention import attend
from attnviz.bert.encoding import BATCH, padded_forward, places_by_length
from attnviz.corpus.marks import marks_of
from attnviz.corpus.observing import observe
from attnviz.corpus.pairs import divergence_sums
from attnviz.corpus.statistics import HeadStatistics
from attnviz.corpus.strongest import Place
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.model import PretrainedModel
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind
from attnviz.trace.recorder import Call, recording

PAIRS_EVERY = 64
"""Of so many sentences, one counts for the divergence between heads, which takes longer than all else"""


class Reader:
    """Reads sentences with one model. It keeps nothing of them.

    The built-in model reads batches of sentences of about the same length, padded and masked; any other reads one
    sentence at a time.
    """

    def __init__(self, model: PretrainedModel, *, batch: int = BATCH, pairs_every: int = PAIRS_EVERY) -> None:
        """Keep the model.

        Raises:
            ValueError: the model has no self-attention, or a number is below 1.
        """
        if batch < 1 or pairs_every < 1:
            raise ValueError(f"batch is {batch} and pairs_every {pairs_every}; both are at least 1")
        kinds: list[Kind] = [kind for kind in model.description.layers if kind != "cross"]
        if not kinds:
            raise ValueError(f"{model.name} has no self-attention")
        self.kind = kinds[0]
        self._model, self._batch, self._pairs_every = model, batch, pairs_every

    def nothing(self) -> HeadStatistics:
        """Return the statistics of no sentence."""
        return HeadStatistics(*self._model.description.layers[self.kind], causal=self.kind == "decoder")

    def read(
        self,
        sentences: Sequence[str],
        places: Sequence[Place] | None = None,
        *,
        on_cut: Callable[[int], object] = lambda _: None,
    ) -> HeadStatistics:
        """Return the statistics of sentences.

        The same sentences give the same sums, bit for bit, on the same machine with the same number of threads. One
        without a token counts for nothing.

        Args:
            sentences: the sentences.
            places: where they stand in the corpus; if None, none of them is among the strongest.
            on_cut: is called with the number of each sentence that is longer than the model takes, and is cut.
        """
        found = self.nothing()
        if not isinstance(self._model, BuiltInModel):
            for number, sentence in enumerate(sentences):
                tokens, decoder_tokens = self._model.read(sentence)
                if len(tokens) and (decoder_tokens is None or len(decoder_tokens)):
                    if tokens.dropped:
                        on_cut(number)
                    place = None if places is None else places[number]
                    pairs = number % self._pairs_every == 0
                    found.add(self._model.trace(sentence), place, kind=self.kind, pairs=pairs)
            return found
        every = [self._model.tokenize(sentence) for sentence in sentences]
        for number, tokens in enumerate(every):
            if tokens.dropped:
                on_cut(number)
        for numbers in places_by_length([len(tokens) for tokens in every], found.heads, self._batch):
            self._add_batch(found, self._model, every, numbers, places)
        return found

    def _add_batch(
        self,
        found: HeadStatistics,
        model: BuiltInModel,
        every: Sequence[Tokens],
        numbers: Sequence[int],
        places: Sequence[Place] | None,
    ) -> None:
        """Add the sentences of a batch."""
        tokens = [every[number] for number in numbers]
        with torch.inference_mode(), recording(keeps_batch=True) as recorder:
            padded_forward(model, [one.ids for one in tokens])
        with torch.inference_mode():
            sampled = [place for place, number in enumerate(numbers) if number % self._pairs_every == 0]
            kept: list[list[Tensor]] = [[] for _ in sampled]
            layers = self._weights(recorder.calls, [(place, len(tokens[place])) for place in sampled], kept)
            observed = observe(layers, marks_of(tokens))
            for place, weights in zip(sampled, kept, strict=True):
                found.add_pairs(divergence_sums(torch.cat(weights)).numpy(), len(tokens[place]))
        named = None if places is None else ([places[number] for number in numbers], [one.text for one in tokens])
        found.add_observed(observed, [len(one) for one in tokens], named)

    @staticmethod
    def _weights(
        calls: Sequence[Call], sampled: Sequence[tuple[int, int]], kept: Sequence[list[Tensor]]
    ) -> Iterator[Tensor]:
        """Yield the weights of each layer, (B, H, T, T), and keep those of some texts without their padding."""
        for call in calls:
            weights = attend(call.query, call.key, call.value, mask=call.mask, scale=call.scale).weights.cpu()
            for (place, length), own in zip(sampled, kept, strict=True):
                own.append(weights[place, :, :length, :length].clone())
            yield weights
