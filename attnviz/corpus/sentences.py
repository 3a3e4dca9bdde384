"""Sentences through a model, many at a time where the model can, and what is summed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from attnviz.attention import attend
from attnviz.bert.encoding import BATCH, padded_forward, places_by_length
from attnviz.corpus.statistics import HeadStatistics
from attnviz.corpus.sums.marks import marks_of
from attnviz.corpus.sums.observing import observe
from attnviz.corpus.sums.pairs import divergence_sums
from attnviz.corpus.sums.strongest import Place
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.model import PretrainedModel
from attnviz.tokens import Tokens
from attnviz.trace.model import Kind
from attnviz.trace.recorder import Call, recording

CUT, EMPTY = "longer than the model takes, so cut", "without a token"
"""What may be noted of a sentence"""
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
        found = self.nothing()
        read = [self._tokens(sentence) for sentence in sentences]
        for number, tokens in enumerate(read):
            if tokens is None or tokens.dropped:
                on_note(number, EMPTY if tokens is None else CUT)
        numbers = [number for number, tokens in enumerate(read) if tokens is not None]
        if isinstance(self._model, BuiltInModel):
            every = [tokens for tokens in read if tokens is not None]
            for batch in places_by_length(list(map(len, every)), found.heads, self._batch):
                self._add_batch(found, self._model, [(numbers[at], every[at]) for at in batch], places)
            return found
        for number in numbers:
            place = None if places is None else places[number]
            trace = self._model.trace(sentences[number])
            found.add(trace, place, kind=self.kind, pairs=self._is_sampled(number))
        return found

    def _tokens(self, sentence: str) -> Tokens | None:
        """Return the tokens that attention looks at; None if none of them is the sentence's own."""
        tokens, decoder_tokens = self._model.read(sentence)
        own = tokens if decoder_tokens is None or self.kind == "encoder" else decoder_tokens
        return None if all(own.special) else own

    def _is_sampled(self, number: int) -> bool:
        return number % self._pairs_every == 0

    def _add_batch(
        self,
        found: HeadStatistics,
        model: BuiltInModel,
        batch: Sequence[tuple[int, Tokens]],
        places: Sequence[Place] | None,
    ) -> None:
        """Add the sentences of a batch: their numbers and tokens."""
        tokens = [own for _, own in batch]
        sampled = [(place, len(own)) for place, (number, own) in enumerate(batch) if self._is_sampled(number)]
        kept: list[list[Tensor]] = [[] for _ in sampled]
        with torch.inference_mode():
            with recording(keeps_batch=True) as recorder:
                padded_forward(model, [own.ids for own in tokens])
            observed = observe(self._weights(recorder.calls, sampled, kept), marks_of(tokens))
            for (_, length), weights in zip(sampled, kept, strict=True):
                found.add_pairs(divergence_sums(torch.cat(weights)).numpy(), length)
        named = None if places is None else ([places[number] for number, _ in batch], [own.text for own in tokens])
        found.add_observed(observed, list(map(len, tokens)), named)

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
