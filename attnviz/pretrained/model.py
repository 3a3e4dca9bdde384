"""A pretrained model, ready to be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from threading import Lock
from typing import Any, cast

import torch
from torch import Tensor, nn

from attnviz.pretrained.families import find_input_projections, find_output_projection, reproduces
from attnviz.pretrained.recording import IMPLEMENTATION, Call, Kind, Pass, Trace, recording, true_mask, watch_inputs
from attnviz.tokens import NoTokensError, Tokens, from_encoding, repair
from attnviz.trace.layer import LayerTrace, OutputProjection, Projection

MAX_TOKENS = 1024
"""Longer texts are cut even where a model takes more: a matrix of a million cells is all that a browser likes."""

NOT_LINEAR = (
    "This family changes queries or keys between the projection and the attention (for example by rotary positions), "
    "so X · W alone does not give them; they are shown as attention received them."
)
NO_PROJECTIONS = "How this family projects its queries and keys is not known, so X · W is not available."
NO_OUTPUT = "Where this family keeps W_O is not known, so the output after the heads is not available."


class PretrainedModel:
    """A model and its tokenizer, shared by all sessions. Nothing on it changes after it is made."""

    def __init__(self, model: nn.Module, tokenizer: Any, name: str) -> None:
        """Take a model that was loaded with our attention function, and find its attention modules by a first pass.

        Raises:
            ValueError: a model that does not run through transformers' AttentionInterface, or whose attention does
                something of its own there (sinks, soft caps, ...), so that our steps would not be its steps; a
                tokenizer that does not belong to the model.
        """
        self.name = name
        self._model = cast(Any, model.eval())
        self._tokenizer = tokenizer
        self._tokenizing = Lock()
        if len(tokenizer) > self._model.get_input_embeddings().num_embeddings:
            raise ValueError("its tokenizer has more ids than the model has embeddings")
        self.takes_segments = (
            "token_type_ids" in tokenizer.model_input_names and "token_type_ids" in signature(model.forward).parameters
        )
        """Whether the model is told which of two sentences a token is of"""
        calls = self._probe()
        if not calls:
            raise ValueError("it does not run through transformers' AttentionInterface")
        for module in dict.fromkeys(call.module for call in calls):
            watch_inputs(module)
        parents = {child: parent for parent in model.modules() for child in parent.children()}
        with torch.inference_mode():
            calls = self._probe()
            self._maps = {call.module: find_maps(call, parents.get(call.module)) for call in calls}
        kinds = [self._kind(call) for call in calls]
        self.layer_counts: dict[Kind, tuple[int, int]] = {
            kind: (kinds.count(kind), calls[kinds.index(kind)].query.shape[0]) for kind in dict.fromkeys(kinds)
        }
        """Layers and heads of each kind of attention that the model has"""
        self._paths: dict[nn.Module, str] = {module: path for path, module in model.named_modules()}
        self.attention_paths: dict[Kind, tuple[str, ...]] = {
            kind: tuple(self._paths[call.module] for call, its in zip(calls, kinds, strict=True) if its == kind)
            for kind in dict.fromkeys(kinds)
        }
        """Where each layer's attention lies in the model, such as encoder.layer.3.attention.self"""

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model reads one text and writes another."""
        return bool(self._model.config.is_encoder_decoder)

    @property
    def max_tokens(self) -> int:
        """The longest text, in tokens, special ones included."""
        limits = [MAX_TOKENS, int(self._tokenizer.model_max_length)]
        positions = getattr(self._model.config, "max_position_embeddings", None)
        if isinstance(positions, int):
            # RoBERTa and its kin start counting positions after the padding index.
            offset = getattr(getattr(self._model, "embeddings", None), "padding_idx", None)
            limits.append(positions - (offset + 1 if self._model.config.model_type != "bert" and offset else 0))
        return min(limits)

    def part(self, path: str) -> nn.Module:
        """Return the part of the model that lies at a path, for whoever only looks at it.

        Raises:
            AttributeError: nothing lies there.
        """
        found: nn.Module = self._model.get_submodule(path)
        return found

    def path(self, part: nn.Module) -> str:
        """Return where a part of the model lies, which `part` takes.

        Raises:
            KeyError: it is no part of this model.
        """
        return self._paths[part]

    def tokenize(self, text: str, pair: str | None = None) -> Tokens:
        """Turn a text, or two, into the model's tokens; what is beyond its limit is dropped and counted."""
        text, pair = repair(text), None if pair is None else repair(pair)
        with self._tokenizing:  # asking for a truncation changes the one tokenizer that all sessions share
            cut = self._tokenizer(text, pair, truncation=False)
            whole = len(cut["input_ids"])
            if whole > self.max_tokens:
                cut = self._tokenizer(text, pair, truncation=True, max_length=self.max_tokens)
        dropped = whole - len(cut["input_ids"])
        return from_encoding(
            cut.encodings[0],
            text=text,
            pair=pair,
            vocab_size=len(self._tokenizer),
            tokenizer=self.name,
            dropped=dropped,
            unk_id=self._tokenizer.unk_token_id,
            byte_level="ByteLevel" in repr(self._tokenizer.backend_tokenizer.pre_tokenizer),
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Return what the model reads of a text, or two: its tokens, and the decoder's where it has an encoder too."""
        if self.is_encoder_decoder:
            return self.tokenize(text), self.tokenize(text if pair is None else pair)
        return self.tokenize(text, pair), None

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
        with torch.inference_mode():
            done = (run or PretrainedModel.run)(self, *_ids(tokens, decoder_tokens))
            return Trace(tokens, decoder_tokens, self._layers(done.calls), done.hidden)

    def run(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Pass:
        """Run the model's own forward pass on a batch of one.

        Args:
            ids: the text's tokens.
            segments: which of two sentences each of them is of, 0 or 1.
            decoder_ids: the decoder's tokens in an encoder-decoder model.
        """
        with torch.inference_mode(), recording() as recorder:
            hidden = self._forward(ids, segments, decoder_ids)
        return Pass(recorder.calls, hidden)

    def _forward(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Tensor:
        """Return the last hidden state, (T, C)."""
        inputs: dict[str, Tensor | bool] = {"input_ids": torch.tensor([ids])}
        if self.takes_segments:
            kinds = getattr(self._model.config, "type_vocab_size", None) or 2
            inputs["token_type_ids"] = torch.tensor([segments]).clamp(max=kinds - 1)
        if decoder_ids is not None:
            inputs["decoder_input_ids"] = torch.tensor([decoder_ids])
        hidden: Tensor = self._model(**inputs, use_cache=False).last_hidden_state[0]
        return hidden

    def _probe(self) -> Sequence[Call]:
        """Run a few words through the model and return the calls of our attention function.

        Raises:
            ValueError: transformers' own eager attention gives another result on the same words, or one that is not
                finite.
        """
        tokens = self.tokenize("one two three")
        words = _ids(tokens, tokens if self.is_encoder_decoder else None)
        ours = self.run(*words)
        with torch.inference_mode():
            self._model.set_attn_implementation("eager")
            theirs = self._forward(*words)
            self._model.set_attn_implementation(IMPLEMENTATION)
        if not bool(theirs.isfinite().all()):
            raise ValueError("its numbers are not finite, even for three plain words")
        if not torch.allclose(ours.hidden, theirs, rtol=1e-4, atol=1e-4):
            raise ValueError("it does more than softmax(QKᵀ · scale + mask) V")
        return ours.calls

    def _layers(self, calls: Sequence[Call]) -> dict[Kind, tuple[LayerTrace, ...]]:
        layers: dict[Kind, list[LayerTrace]] = {}
        for call in calls:
            layers.setdefault(self._kind(call), []).append(self._layer(call))
        return {kind: tuple(of_kind) for kind, of_kind in layers.items()}

    def _kind(self, call: Call) -> Kind:
        if call.query_input is not call.key_input and call.key_input is not None:
            return "cross"
        causal = call.mask is not None and call.query.shape[1] > 1 and bool(call.mask[..., 0, 1:].lt(0).all())
        if self.is_encoder_decoder:
            return "decoder" if getattr(call.module, "is_decoder", causal) else "encoder"
        return "decoder" if getattr(call.module, "is_causal", causal) else "encoder"

    def _layer(self, call: Call) -> LayerTrace:
        maps = self._maps[call.module]
        return LayerTrace(
            query=call.query,
            key=call.key,
            value=call.value,
            scale=call.scale,
            mask=true_mask(call.mask),
            query_input=call.query_input,
            key_input=call.key_input,
            projections=maps.projections,
            output_projection=maps.output,
            without=maps.without,
        )


Run = Callable[[PretrainedModel, Sequence[int], Sequence[int], Sequence[int] | None], Pass]
"""What runs a model's forward pass on the ids and segments of a text, and on the decoder's ids"""


def _ids(tokens: Tokens, decoder_tokens: Tokens | None) -> tuple[Sequence[int], Sequence[int], Sequence[int] | None]:
    """Return what `PretrainedModel.run` takes."""
    return tokens.ids, tokens.segments, None if decoder_tokens is None else decoder_tokens.ids


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """The maps around one attention module, and a sentence on those that could not be found."""

    projections: dict[str, Projection] | None
    output: OutputProjection | None
    without: str


def find_maps(call: Call, parent: nn.Module | None) -> Maps:
    """Find a module's maps and check them against what one of its calls recorded."""
    output = find_output_projection(call.module, parent)
    without = [] if output is not None else [NO_OUTPUT]
    projections = find_input_projections(call.module, call.query.shape[0], call.query.shape[-1])
    if projections is None or call.query_input is None or call.key_input is None:
        return Maps(None, output, " ".join([NO_PROJECTIONS, *without]))
    inputs = {"query": call.query_input, "key": call.key_input, "value": call.key_input}
    recorded = {"query": call.query, "key": call.key, "value": call.value}
    if not all(reproduces(projections[name], inputs[name], recorded[name]) for name in projections):
        return Maps(None, output, " ".join([NOT_LINEAR, *without]))
    return Maps(projections, output, " ".join(without))
