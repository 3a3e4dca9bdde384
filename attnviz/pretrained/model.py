"""The base class of the built-in model and of models from transformers; it runs and traces them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Literal
from weakref import ref

import torch
from torch import Tensor, nn

from attnviz.attention import Mask
from attnviz.pretrained.embeddings import embedding_sum
from attnviz.pretrained.rotary import RotaryLayout
from attnviz.reprs import ShortRepr
from attnviz.tokens import NoTokensError, Tokens
from attnviz.trace.buckets import Buckets
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.layer import AfterAttention, Block, BlockWeights, LinearMap, Norm, Operand, Projection
from attnviz.trace.model import Description, Kind, Need, TraceBudget, layers_and_heads
from attnviz.trace.recorder import BatchWeights, Call, Pass, batch_weights, recording
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Vocabulary

HEAD_NORMS = (("q_norm", "k_norm"), ("q_layernorm", "k_layernorm"), ("query_layernorm", "key_layernorm"))
"""Names of the norms of queries and keys in an attention module: Qwen3, Gemma 3, OLMo 2 and most others; LFM2, Phi;
Hunyuan"""
MAX_TOKENS = 1024
"""The maximum length of a text, even if the model takes more: browsers can draw matrices of about a million cells."""

TRACE_BYTES = 160 * 2**20
"""The memory for each model's traces: two 512-token traces of a model like bert-base, or eight of the built-in one."""


FusedOrder = Literal["parts", "heads"]
"""How a layer that computes query, key and value orders its columns: all queries, all keys, all values (GPT-2), or
query, key and value of one head after the other (GPT-NeoX), or the queries that share a key, this and its value, group
after group (Falcon)"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockMaps(ShortRepr):
    """The projections of one attention module and the rest of its block, the same for every text."""

    kind: Kind
    projections: dict[str, Projection] | None
    output: LinearMap | None
    rotary: RotaryLayout | None = None
    """How it turns queries and keys by the tables that it receives; None if it turns none, or if that is not known"""
    norms: Mapping[Operand, HeadNorm] = field(default_factory=dict)
    """The norms of queries and keys between projection and rotation; empty if it has none, or none are known"""
    fused: FusedOrder = "parts"
    """The order of the columns, if one layer computes query, key and value"""
    buckets: Buckets | None = None
    """The buckets of its position bias; None if it has none, or if they are not known"""
    unavailable: Mapping[Need, str] = field(default_factory=dict)
    """For each unknown quantity: the reason, as a sentence"""
    after_attention: AfterAttention | None = None
    after_unavailable_reason: str = ""
    """Why `after_attention` is None; empty if it is known"""
    weights: BlockWeights | None = None
    """The weights of the norms and the feed-forward, if they are known"""


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Names of one layer's attention modules in transformers' model, for exported code."""

    attention: str
    """The path of the attention module, such as encoder.layer.3.attention.self"""
    projections: tuple[str, ...]
    """Names of the layers of query, key and value; one name if one layer computes all three; empty if unknown"""
    output: str
    """The path of W_O; "" if unknown"""
    is_output_linear: bool = True
    """Whether W_O is an nn.Linear, with weight (out, in); False for GPT-2's Conv1D, with weight (in, out)"""
    own_code: str = ""
    """The class of the attention module, if it is one of `attnviz.pretrained.own_code`; else "" """


class PretrainedModel(ShortRepr, ABC):
    """A model and its tokenizer. It is immutable, and shared by all sessions."""

    name: str
    """The name by which it was opened"""
    description: Description
    """Its kinds of attention, layers, heads and sizes"""
    is_encoder_decoder: bool
    """Whether the model has an encoder and a decoder"""
    takes_segments: bool
    """Whether the model takes segment ids, which distinguish the two sentences of a pair"""
    max_tokens: int
    """The maximum length of a text in tokens, including special tokens"""
    blocks: tuple[BlockMaps, ...]
    """One for each attention call, in execution order"""
    language_head: Callable[[Tensor], Tensor] | None = None
    """Computes the logits, (T, V), from the last hidden state, (T, C); None if the model has no language head"""
    vocabulary: Vocabulary | None = None
    """The parts of the language head, if they are known"""
    mask: tuple[str, int] | None = None
    """The token that hides another one, such as "[MASK]", and its id; None if its tokenizer has none"""
    loader: str = "AutoModel"
    """The class of transformers that loads the model in scripts; the `base_model` of what it loads is `body`. Where
    BART's decoder was saved alone, AutoModel would load it with an encoder"""
    head_outputs: int | None = None
    """The number of logits for each token, even if not all can be shown, as in `Description.outputs`; None without a
    language head, or where transformers does not name its last layer"""
    not_run: tuple[str, ...] = ()
    """Names of the body's parts of which a text runs no module, such as a tower for pictures"""
    output_bias: Tensor | None = None
    """(V,): the bias of the last layer of the language head; None if the model has no head, or the head no bias"""
    has_positions: bool | None = None
    """Whether the first attention reads embeddings that include positions; None if unknown"""
    final_norms: Mapping[str, Norm | None] = MappingProxyType({})
    """The norms after the last blocks, in the format of `Trace.final_norms`"""

    def __init__(self) -> None:
        """Set up a separate memory budget for the model's traces."""
        self.trace_budget = TraceBudget("traces", TRACE_BYTES)

    def _summary(self) -> Iterator[str]:
        yield from (self.name, layers_and_heads(self.description.layers))

    @property
    @abstractmethod
    def body(self) -> nn.Module:
        """The model without its language head; callers must not change it."""

    @abstractmethod
    def tokenize(self, text: str, pair: str | None = None) -> Tokens:
        """Tokenise a text, or a pair; tokens beyond `max_tokens` are dropped and counted."""

    @abstractmethod
    def label(self, token: int) -> str:
        """Return the label of a token id."""

    @abstractmethod
    def forward_copies(
        self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None, copies: int
    ) -> Tensor:
        """Run the model on a batch of copies of one text; return the last hidden states, (copies, T, C)."""

    def forward(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Tensor:
        """Run the model on one text and return the last hidden state, (T, C)."""
        return self.forward_copies(ids, segments, decoder_ids, 1)[0]

    @abstractmethod
    def padded_forward(self, ids: Sequence[Sequence[int]], segments: Sequence[Sequence[int]]) -> Tensor:
        """Run B texts padded to the longest, which has T tokens; no token attends to padding.

        The decoder of an encoder-decoder model runs only on the first token of each text. Returns the last hidden
        states, (B, T, C).
        """

    @abstractmethod
    def module_names(self, layer: int, kind: Kind) -> ModuleNames:
        """Return the names of a layer's attention modules in transformers' model."""

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Tokenise a text, or a pair: the tokens, and the decoder's tokens for an encoder-decoder model."""
        if self.is_encoder_decoder:
            return self.tokenize(text), self.tokenize(text if pair is None else pair)
        return self.tokenize(text, pair), None

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return a cache key: traces of this model with equal keys are equal."""
        return text, pair

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the model on a text and record query, key and value of every layer.

        Args:
            text: the input.
            pair: a second sentence; in an encoder-decoder model, the decoder's input (`text` if None).

        Raises:
            NoTokensError: the text, or the decoder's text, has no tokens.
        """
        tokens, decoder_tokens = self.read(text, pair)
        if not len(tokens) or (decoder_tokens is not None and not len(decoder_tokens)):
            raise NoTokensError
        decoder_ids = None if decoder_tokens is None else decoder_tokens.ids
        with torch.inference_mode():
            done = self.run(tokens.ids, tokens.segments, decoder_ids)
            blocks = self._blocks_of(done.calls)
        return Trace(
            tokens,
            decoder_tokens,
            blocks,
            done.hidden,
            find_embedding_sum=partial(embedding_sum, self.body),
            has_positions=self.has_positions,
            final_norms=self.final_norms,
            vocabulary=self.vocabulary,
            has_learned=True,
            language_head=self.language_head,
            rerun=partial(_rerun, ref(self), tokens.ids, tokens.segments, decoder_ids),
            model=self.name,
            numbers=self.description.numbers,
        )

    def run(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Pass:
        """Run the model's forward pass on one text.

        Args:
            ids: the token ids.
            segments: 0 or 1 for each token, the sentence of the pair to which it belongs.
            decoder_ids: the decoder's token ids in an encoder-decoder model, else None.
        """
        with torch.inference_mode(), recording() as recorder:
            hidden = self.forward(ids, segments, decoder_ids)
        return Pass(tuple(recorder.calls), hidden)

    def batch_weights(self, texts: Sequence[Tokens], kind: Kind) -> list[BatchWeights]:
        """Run texts padded to the longest, and return weights, (B, H, T, T), and mask of each layer of a kind.

        The rows of padding are meaningless, and its columns are 0. Computation stops after the last of these layers'
        attention. In some families the weights differ from those of each text run alone: `attnviz.corpus.sentences`
        checks this.

        Args:
            texts: the tokens of B texts.
            kind: "encoder", or "decoder" of a model without an encoder.
        """
        last = max(number for number, maps in enumerate(self.blocks) if maps.kind == kind)
        ids, segments = [text.ids for text in texts], [text.segments for text in texts]
        with torch.inference_mode():
            calls = batch_weights(lambda: self.padded_forward(ids, segments), last + 1)
            of_kind = [call for call, maps in zip(calls, self.blocks, strict=False) if maps.kind == kind]
            return [call._replace(mask=true_mask(call.mask)) for call in of_kind]

    def _blocks_of(self, calls: Sequence[Call]) -> dict[Kind, tuple[Block, ...]]:
        blocks: dict[Kind, list[Block]] = {}
        masks: dict[int | None, Mask] = {}  # by address, since layers share a mask
        for call, maps in zip(calls, self.blocks, strict=True):
            address = None if call.mask is None else call.mask.data_ptr()
            if address not in masks:
                masks[address] = Mask.recognise(true_mask(call.mask), crosses=maps.kind == "cross")
            blocks.setdefault(maps.kind, []).append(block_of(call, maps, masks[address]))
        return {kind: tuple(kind_blocks) for kind, kind_blocks in blocks.items()}


def _rerun(
    model: ref[PretrainedModel],
    ids: Sequence[int],
    segments: Sequence[int],
    decoder_ids: Sequence[int] | None,
    copies: int,
) -> Tensor:
    """Run a model on a batch of copies of a text. A trace does not keep its model, whose memory budget keeps the trace.

    Raises:
        ReferenceError: the model is no longer there.
    """
    there = model()
    if there is None:
        raise ReferenceError("the model of this trace is no longer open")
    return there.forward_copies(ids, segments, decoder_ids, copies)


def block_of(call: Call, maps: BlockMaps, mask: Mask) -> Block:
    """Return the traced block of one recorded attention call."""
    layer = call.traced(
        mask,
        buckets=maps.buckets,
        projections=maps.projections,
        output_projection=maps.output,
        norms=maps.norms,
        rotation=None if maps.rotary is None or call.tables is None else maps.rotary.rotation(*call.tables),
        unavailable=maps.unavailable,
    )
    block_input = None if maps.after_attention is None else call.block_input
    return Block(layer, maps.after_attention, maps.after_unavailable_reason, block_input, maps.weights)


def true_mask(mask: Tensor | None) -> Tensor | None:
    """Replace the lowest number, which hides keys in masks of transformers, by −inf. Takes any shape, or None."""
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask.masked_fill(mask == torch.finfo(mask.dtype).min, -torch.inf)


def weights_digest(model: PretrainedModel) -> str:
    """Return the sha256 of the names and weights of a model without its language head."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.body.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def padded(rows: Sequence[Sequence[int]], filling: int = 0) -> tuple[Tensor, Tensor]:
    """Return rows padded to the longest, (B, T), and their lengths, (B,)."""
    lengths = torch.tensor([len(row) for row in rows])
    longest = int(lengths.max())
    return torch.tensor([[*row, *[filling] * (longest - len(row))] for row in rows]), lengths
