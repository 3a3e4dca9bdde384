"""A pretrained model, ready to be traced: what the built-in one and those that run through transformers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import Mask
from attnviz.tokens import NoTokensError, Tokens
from attnviz.trace.block import AfterAttention, Block
from attnviz.trace.layer import LayerTrace, OutputProjection, Projection
from attnviz.trace.model import Description, Kind
from attnviz.trace.recorder import Call, Pass, recording
from attnviz.trace.whole import Trace


@dataclass(frozen=True, slots=True, eq=False)
class BlockMaps:
    """What is known of the block around one attention module, the same for every text."""

    kind: Kind
    projections: dict[str, Projection] | None
    output: OutputProjection | None
    unavailable_reason: str = ""
    """Why a projection is missing"""
    after_attention: AfterAttention | None = None
    after_unavailable_reason: str = ""
    """Why what comes after the attention is missing"""


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Where one layer's attention lies in transformers' model, for whoever writes code that looks there."""

    attention: str
    """Such as encoder.layer.3.attention.self"""
    projections: tuple[str, ...]
    """Names of the linear layers of query, key and value; one where it serves all three; none where not known"""
    output: str
    """Where W_O lies; "" where not known"""
    is_output_linear: bool = True
    """Whether W_O is an nn.Linear, whose weight is (out, in), and not GPT-2's Conv1D"""


class PretrainedModel(ABC):
    """A model and its tokenizer, shared by all sessions. Nothing on it changes after it is made."""

    name: str
    description: Description
    is_encoder_decoder: bool
    """Whether the model reads one text and writes another"""
    takes_segments: bool
    """Whether the model is given which of two sentences a token is of"""
    max_tokens: int
    """The longest text, in tokens, special ones included"""
    blocks: tuple[BlockMaps, ...]
    """One for each call of attention, in the order in which they run"""

    @property
    def layer_counts(self) -> dict[Kind, tuple[int, int]]:
        """Layers and heads of each kind of attention that the model has."""
        return self.description.layers

    @abstractmethod
    def tokenize(self, text: str, pair: str | None = None) -> Tokens:
        """Turn a text, or two, into the model's tokens; what is beyond its limit is dropped and counted."""

    @abstractmethod
    def forward(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Tensor:
        """Run the model on one text and return the last hidden state, (T, C)."""

    @abstractmethod
    def module_names(self, layer: int, kind: Kind) -> ModuleNames:
        """Return where a layer's attention lies in transformers' model."""

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Return what the model reads of a text, or two: its tokens, and the decoder's where it has an encoder too."""
        if self.is_encoder_decoder:
            return self.tokenize(text), self.tokenize(text if pair is None else pair)
        return self.tokenize(text, pair), None

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return what tells the traces of this model apart."""
        return text, pair

    def trace(self, text: str, pair: str | None = None, run: Run | None = None) -> Trace:
        """Run the model on a text and keep every layer's query, key and value.

        Args:
            text: what the model reads.
            pair: a second sentence; in an encoder-decoder model, what the decoder reads (the text itself if None).
            run: what runs the forward pass, as `PretrainedModel.run` does.

        Raises:
            NoTokensError: a text, or a text for the decoder, of which the tokenizer makes no token.
        """
        tokens, decoder_tokens = self.read(text, pair)
        if not len(tokens) or (decoder_tokens is not None and not len(decoder_tokens)):
            raise NoTokensError
        decoder_ids = None if decoder_tokens is None else decoder_tokens.ids
        with torch.inference_mode():
            done = (run or PretrainedModel.run)(self, tokens.ids, tokens.segments, decoder_ids)
            return Trace(tokens, decoder_tokens, self._blocks_of(done.calls), done.hidden)

    def run(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Pass:
        """Run the model's forward pass on one text.

        Args:
            ids: the text's tokens.
            segments: which of two sentences each of them is of, 0 or 1.
            decoder_ids: the decoder's tokens in an encoder-decoder model.
        """
        with torch.inference_mode(), recording() as recorder:
            hidden = self.forward(ids, segments, decoder_ids)
        return Pass(tuple(recorder.calls), hidden)

    def _blocks_of(self, calls: Sequence[Call]) -> dict[Kind, tuple[Block, ...]]:
        blocks: dict[Kind, list[Block]] = {}
        masks: dict[int | None, Mask] = {}  # layers share a mask
        for call, maps in zip(calls, self.blocks, strict=True):
            at = None if call.mask is None else call.mask.data_ptr()
            if at not in masks:
                masks[at] = Mask.recognise(true_mask(call.mask), crosses=maps.kind == "cross")
            blocks.setdefault(maps.kind, []).append(block_of(call, maps, masks[at]))
        return {kind: tuple(of_kind) for kind, of_kind in blocks.items()}


Run = Callable[[PretrainedModel, Sequence[int], Sequence[int], Sequence[int] | None], Pass]
"""What runs a model's forward pass on the ids and segments of a text, and on the decoder's ids"""


def block_of(call: Call, maps: BlockMaps, mask: Mask) -> Block:
    """Put together what one call recorded and what is known of its block."""
    layer = LayerTrace(
        query=call.query,
        key=call.key,
        value=call.value,
        scale=call.scale,
        mask=mask,
        query_input=call.query_input,
        key_input=call.key_input,
        projections=maps.projections,
        output_projection=maps.output,
        unavailable_reason=maps.unavailable_reason,
    )
    return Block(layer, maps.after_attention, maps.after_unavailable_reason)


def true_mask(mask: Tensor | None) -> Tensor | None:
    """Turn transformers' "very negative" into what it means: −inf. Any shape, or None."""
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask.masked_fill(mask <= torch.finfo(mask.dtype).min / 2, -torch.inf)
