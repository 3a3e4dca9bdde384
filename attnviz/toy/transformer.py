"""A transformer with weights drawn from a seed: embeddings, stacks of layers, and logits; and its trace on a text.

Shapes: T tokens, C model width, V different tokens of the text. For a batch of B texts, (T, C) is (B, T, C).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.attention import Mask
from attnviz.mask_reasons import MaskReasons
from attnviz.reprs import ShortRepr
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.config import BIASES, EXAMPLE_TARGET, MAX_TEXT_TOKENS, MAX_WIDTH, TransformerConfig
from attnviz.toy.language.model import NO_RESIDUAL, ReducedLayer
from attnviz.toy.layers import DecoderLayer, EncoderLayer, FeedForward, MultiHeadAttention
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.toy.weights import Ids, draw, draw_position_bias, embed_positions, generator, sum_of
from attnviz.trace.layer import Block, BlockSteps, LayerTrace, LinearMap, Norm
from attnviz.trace.model import AttentionSize, Description, Kind, MapSize, ModelSizes, TraceBudget, layers_and_heads
from attnviz.trace.position_bias import PositionBias
from attnviz.trace.recorder import Call, recording
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Vocabulary

STACKS = 4
"""The most stacks of blocks whose weights are kept; the largest takes 21 MB"""


class Transformer(nn.Module):
    """Embeddings of the tokens that occur, positions, and the blocks of the architecture in the settings.

    The embedding matrix is also used for the logits; as embeddings, its rows are multiplied by √C, as in the paper
    (section 3.4).
    """

    def __init__(self, config: TransformerConfig, ids: Sequence[int], stack: Encoder | Seq2Seq | None = None) -> None:
        """Draw the weights for tokens with these distinct ids; `stack` are the blocks, which are drawn too if None."""
        super().__init__()
        self.config, width = config, config.width
        rows = [draw(config.seed, "embedding", id_, 1, MAX_WIDTH)[:, :width] for id_ in ids]
        self.embedding = nn.Parameter(torch.cat(rows) / math.sqrt(width))
        """(V, C)"""
        drawn = draw(config.seed, "position", 0, MAX_TEXT_TOKENS, MAX_WIDTH)[:, :width]
        self.position = nn.Parameter(drawn) if config.positions == "random" else None
        self.stack = draw_stack(config) if stack is None else stack

    def embed(self, indices: Ids) -> dict[str, Tensor]:
        """Return the summands of the input, (T, C) each, by name; `indices` are rows of the embedding.

        For a batch of texts with T indices each, the token embeddings are (B, T, C).
        """
        rows = torch.tensor(indices, dtype=torch.long)
        n, width = rows.shape[-1], self.config.width
        parts = {"token": self.embedding[rows] * math.sqrt(width)}
        if self.position is not None:
            return {**parts, "position": self.position[:n]}
        positions = embed_positions(n, self.config.positions, self.config.seed, width)
        return parts if positions is None else {**parts, "position": positions}

    def forward(self, indices: Ids, target: Ids | None = None) -> Tensor:
        """Return the last hidden state, (T, C); `target` is the decoder's input in a model with an encoder."""
        x = sum_of(self.embed(indices))
        if target is None or isinstance(self.stack, Encoder):
            hidden: Tensor = self.stack(x)
        else:
            hidden = self.stack(x, sum_of(self.embed(target)))
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits of the next token, (T, V)."""
        return hidden @ self.embedding.T


def draw_stack(config: TransformerConfig) -> Encoder | Seq2Seq:
    """Return the blocks with weights drawn from the seed.

    Each matrix has a separate seed, computed from its name, so a deeper stack has the same first blocks. Matrices are
    uniform with variance 2 / (in + out) (Glorot and Bengio 2010), as in torch's nn.Transformer, except that torch draws
    queries, keys and values as one matrix of 3 C rows with variance 2 / (C + 3 C), half of the variance here. Biases
    are uniform in ±1/√in, as in nn.Linear (in nn.Transformer's attention they start at 0); norms start at 1 and 0.
    Heads that share keys and values have those of the first of them.
    """
    settings: dict[str, Any] = {
        "layers": config.depth, "heads": config.heads, "feed_forward": config.hidden_width,
        "activation": config.activation, "norm_first": config.norm == "pre", "bias": config.bias,
        "kv_heads": config.kv_heads, "qk_norm": config.qk_norm,
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        stack = (
            Seq2Seq(config.width, decoder_layers=config.decoder_blocks, **settings)
            if config.architecture == "both"
            else Encoder(config.width, causal=config.architecture == "decoder", **settings)
        )
    for module in stack.modules():
        if isinstance(module, MultiHeadAttention):
            module.cap, module.sink = config.cap, config.sink
        elif isinstance(module, EncoderLayer | DecoderLayer):
            is_causal = isinstance(module, DecoderLayer) or config.architecture == "decoder"
            module.attention.rotary = config.positions == "rotary"
            module.attention.reach = config.reach("decoder" if is_causal else "encoder")
            if config.positions in BIASES:
                module.attention.position_bias = partial(_position_bias, config, causal=is_causal)
    with torch.no_grad():
        for name, module in stack.named_modules():
            if isinstance(module, nn.Linear):
                is_shared = name.endswith((".key", ".value"))
                inputs, outputs = module.in_features, config.width if is_shared else module.out_features
                bounds = {"weight": math.sqrt(6 / (inputs + outputs)), "bias": 1 / math.sqrt(inputs)}
                for kind, parameter in module.named_parameters():
                    seeded = generator(config.seed, f"{name}.{kind}", 0)
                    rows = torch.empty(outputs, *parameter.shape[1:])
                    rows.uniform_(-bounds[kind], bounds[kind], generator=seeded)
                    parameter.copy_(_first_of_each(rows, config) if is_shared else rows)
    return stack


def _first_of_each(rows: Tensor, config: TransformerConfig) -> Tensor:
    """Return the rows of the first of the heads that share keys and values: (H·D, ...) to (G·D, ...)."""
    by_head: Tensor = rows.unflatten(0, (config.heads, -1))  # (H, D, ...)
    return by_head[:: config.shared_by].flatten(0, 1)


def _position_bias(config: TransformerConfig, n: int, *, causal: bool) -> PositionBias:
    """Return what all layers of a stack add to their scores, as T5's layers share theirs."""
    bias = draw_position_bias(config.positions, config.heads, n, config.seed, causal=causal)
    if bias is None:
        raise ValueError(f"{config.positions} positions add nothing to scores")
    return bias


@lru_cache(STACKS)
def shared_stack(config: TransformerConfig) -> Encoder | Seq2Seq:
    """Return the blocks for these settings. All texts share them, so they must not be changed."""
    return draw_stack(config).eval().requires_grad_(False)


SAME_BLOCK = "They are among the steps after this block's first attention."


def blocks_of(stack: Encoder | Seq2Seq, calls: Sequence[Call]) -> dict[Kind, tuple[Block, ...]]:
    """Return the traced blocks; `calls` are in order of computation."""
    remaining = iter(calls)
    if isinstance(stack, Encoder):
        kind: Kind = "decoder" if stack.causal else "encoder"
        return {kind: tuple(_encoder_block(layer, next(remaining), kind) for layer in stack.layers)}
    encoder = tuple(_encoder_block(layer, next(remaining), "encoder") for layer in stack.encoder.layers)
    decoder: dict[Kind, list[Block]] = {"decoder": [], "cross": []}
    for layer in stack.decoder.layers:
        if not isinstance(layer, DecoderLayer):
            raise TypeError("a decoder consists of decoder layers")
        self_call, cross_call = next(remaining), next(remaining)
        if cross_call.key_input is None:
            raise TypeError("an attention of the toy is recorded with its inputs")
        after = partial(_after, layer, cross_call.key_input)
        self_attention = _attention(layer.attention, self_call, "decoder")
        cross_attention = _attention(layer.cross_attention, cross_call, "cross")
        decoder["decoder"].append(Block(self_attention, after, "", self_call.block_input, layer.weights()))
        decoder["cross"].append(Block(cross_attention, None, SAME_BLOCK, cross_call.block_input, layer.weights()))
    return {"encoder": encoder, **{kind: tuple(blocks) for kind, blocks in decoder.items()}}


def _encoder_block(layer: nn.Module, call: Call, kind: Kind) -> Block:
    if not isinstance(layer, EncoderLayer | ReducedLayer):
        raise TypeError("an encoder consists of encoder layers, whole or reduced")
    attention = _attention(layer.attention, call, kind)
    if isinstance(layer, ReducedLayer) and not layer.residual:
        return Block(attention, None, NO_RESIDUAL, call.block_input)
    return Block(attention, layer.after, "", call.block_input, layer.weights())


def _after(layer: DecoderLayer, encoded: Tensor, x: Tensor, output: Tensor) -> BlockSteps:
    return layer.after(x, output, encoded)


def _attention(module: MultiHeadAttention, call: Call, kind: Kind) -> LayerTrace:
    mask, count = Mask.recognise(call.mask), call.query.shape[-2]
    bias = None if module.position_bias is None else module.position_bias(count)
    reasons = None if module.reach is None else MaskReasons(kind == "decoder", module.reach).occurring(count, count)
    return call.traced(
        mask,
        buckets=None if bias is None else bias.buckets,
        slopes=None if bias is None else bias.stated,
        projections=module.projections(),
        output_projection=module.output_projection(),
        rotation=module.rotation(count),
        norms=module.norms(),
        stated_reasons=reasons,
    )


def final_norms(stack: Encoder | Seq2Seq) -> dict[str, Norm]:
    """Return the final norm of each stack, by the name of the stack."""
    if isinstance(stack, Encoder):
        ends = {"decoder" if stack.causal else "encoder": stack.norm}
    else:
        ends = {"encoder": stack.encoder.norm, "decoder": stack.decoder.norm}
    return {name: Norm.of(norm) for name, norm in ends.items() if isinstance(norm, nn.LayerNorm)}


def parameters_of(stack: nn.Module) -> dict[str, int]:
    """Count the parameters of each part of the blocks; the norms of queries and keys are norms."""
    counts = {"attention": 0, "feed_forward": 0, "norms": 0}
    for module in stack.modules():
        if isinstance(module, nn.LayerNorm | nn.RMSNorm):
            counts["norms"] += sum(parameter.numel() for parameter in module.parameters())
        elif isinstance(module, MultiHeadAttention | FeedForward):
            maps = (child for child in module.children() if isinstance(child, nn.Linear))
            part = "attention" if isinstance(module, MultiHeadAttention) else "feed_forward"
            counts[part] += sum(parameter.numel() for map_ in maps for parameter in map_.parameters())
    return counts


def sizes_of(stack: nn.Module, *, head: nn.Linear | None = None) -> ModelSizes:
    """Return the sizes of all matrix products of the blocks, and of the map to the logits if `head` is given."""
    attentions, feed_forwards = [], []
    for module in stack.modules():
        if isinstance(module, MultiHeadAttention):
            projections = tuple(map(_size, (module.query, module.key, module.value)))
            size = module.head_size
            attentions.append(AttentionSize(module.heads, size, size, projections, (_size(module.output),)))
        elif isinstance(module, FeedForward):
            feed_forwards.append((_size(module.first), _size(module.second)))
    return ModelSizes(tuple(attentions), tuple(feed_forwards), logits=() if head is None else (_size(head),))


def _size(module: nn.Linear) -> MapSize:
    return MapSize(module.in_features, module.out_features)


NO_HEAD = "The toy's encoder alone has no language head: it gives a row of numbers for each token, and stops there."
TRACE_BUDGET = TraceBudget("transformer", 64 * 2**20)
"""Shared by all toy transformers: enough for two traces of 128 tokens of the largest, or hundreds of the default"""


class ToyTransformer(ShortRepr):
    """The toy transformer as a `Model`."""

    trace_budget = TRACE_BUDGET

    def __init__(self, config: TransformerConfig, tokenize: Callable[[str], Tokens]) -> None:
        """Create a transformer with these settings and this tokenizer."""
        self.config, self._tokenize = config, tokenize
        self.name = f"toy transformer, seed {config.seed}"

    def _summary(self) -> Iterator[str]:
        yield from (self.name, layers_and_heads(self.config.layers))

    @cached_property
    def description(self) -> Description:
        """The architecture. Embeddings are drawn for the tokens of a text, so they are not counted as parameters."""
        config = self.config
        return Description(
            name=self.name,
            layers=config.layers,
            width=config.width,
            head_size=config.width // config.heads,
            norm_first=config.norm == "pre",
            final_norm=config.norm == "pre",
            shows_logits=config.architecture != "encoder",
            feed_forward=config.hidden_width,
            parameters=parameters_of(shared_stack(config)),
            sizes=sizes_of(shared_stack(config)),
            steps_in={
                "normed": config.normed,
                "rotated": config.rotated,
                "capped": config.capped,
                "biased": config.biased,
            },
            has_sinks=config.sink is not None,
            windows=dict(config.windows),
            unavailable={"logits": NO_HEAD} if config.architecture == "encoder" else {},
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a text and, for a model with both stacks, those of `pair` or an example."""
        if self.config.architecture != "both":
            return self._tokenize(text), None
        return self._tokenize(text), self._tokenize(EXAMPLE_TARGET if pair is None else pair)

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return the tokens and the settings, which determine the trace."""
        return *self.read(text, pair), self.config

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the transformer on a text.

        Raises:
            NoTokensError: the text or the decoder's text has no tokens.
        """
        return trace_transformer(*self.read(text, pair), self.config)


def trace_transformer(tokens: Tokens, target: Tokens | None, config: TransformerConfig) -> Trace:
    """Run a toy transformer on tokens; `target` are the decoder's tokens in a model with an encoder.

    Raises:
        NoTokensError: `tokens` or `target` is empty.
    """
    if not len(tokens) or (target is not None and not len(target)):
        raise NoTokensError
    labels_by_id = dict(zip(tokens.ids, tokens.labels, strict=True))
    labels_by_id |= {} if target is None else dict(zip(target.ids, target.labels, strict=True)) | labels_by_id
    rows = {id_: row for row, id_ in enumerate(labels_by_id)}
    model = Transformer(config, tuple(labels_by_id), shared_stack(config)).eval()
    source_rows = [rows[id_] for id_ in tokens.ids]
    target_rows = None if target is None else [rows[id_] for id_ in target.ids]
    with torch.inference_mode(), recording() as recorder:
        hidden = model(source_rows, target_rows)
        parts = model.embed(source_rows)
        decoder_parts = {} if target_rows is None else model.embed(target_rows)
    has_head, labels = config.architecture != "encoder", tuple(labels_by_id.values())
    return Trace(
        tokens,
        target,
        blocks_of(model.stack, recorder.calls),
        hidden,
        embedding_parts=parts,
        decoder_embedding_parts=decoder_parts,
        final_norms=final_norms(model.stack),
        vocabulary=Vocabulary(LinearMap(model.embedding.detach().T), labels.__getitem__) if has_head else None,
        weights=tuple(weight for weight in (model.embedding, model.position) if weight is not None),
        language_head=model.logits if has_head else None,
        model=f"toy transformer, seed {config.seed}",
    )
