"""A model of transformers, traced with the project's attention function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain
from threading import Lock
from typing import Any, cast

import torch
from torch import Tensor, nn

from attnviz.attention import AttentionSteps, Mask
from attnviz.formatting import counted, joined
from attnviz.pretrained.attention_interface import (
    OwnAttention,
    attention_inputs,
    call_to_compare,
    check_shown,
    is_checked,
)
from attnviz.pretrained.configuration import (
    auto_class,
    feed_forward_width,
    is_plain_body,
    layer_counts,
    layer_windows,
    layers_with_steps,
    stated_by,
)
from attnviz.pretrained.families import (
    count_parameters,
    find_after_attention,
    find_final_norm,
    find_language_head,
    find_norms,
    find_output_projection,
    find_vocabulary,
    find_weights,
    layer_numbers,
    module_names,
)
from attnviz.pretrained.model import (
    MAX_TOKENS,
    BlockMaps,
    ModuleNames,
    PretrainedModel,
    block_of,
    padded,
    true_mask,
)
from attnviz.pretrained.names import UnfitError, attempt, shown
from attnviz.pretrained.operands import find_buckets, find_operands
from attnviz.pretrained.own_code import replace_own_code
from attnviz.pretrained.passes import PositionTables, run_modules, sizes_of, watch_maps
from attnviz.pretrained.unfit import (
    MORE_THAN_TEXT,
    NO_HIDDEN,
    TEXT_MODEL,
    check_configuration,
    check_kind,
    embeddings_of,
    without_calls,
)
from attnviz.tokens import Tokens, from_encoding, label_of, repair
from attnviz.trace.layer import Norm
from attnviz.trace.model import Description, Kind, ModelSizes, Place, layers_in_words
from attnviz.trace.recorder import Call, Pass, Recorder, recording, watch_inputs, watch_norm, watch_tables
from attnviz.trace.vocabulary import Vocabulary

NO_AFTER = "How this family adds, normalises and feeds forward after its attention is not known here."
NO_LANGUAGE_HEAD = "This model has no language head, or one that does more than one known module does."
NO_OUTPUT = "Where this family keeps W_O is not known, so the output after the heads is not available."


class TransformersModel(PretrainedModel):
    """A model and its tokenizer."""

    def __init__(self, model: nn.Module, tokenizer: Any, name: str) -> None:
        """Wrap a model loaded with the project's attention function, and find its attention modules in a test pass.

        Raises:
            UnfitError: the model is of an unsupported kind (`attnviz.pretrained.unfit`); or it does not use plain
                attention, so the steps shown would differ from its own; or the tokenizer does not belong to the model.
        """
        super().__init__()
        self.name = name
        self._whole = cast(Any, model.eval())
        self._model = self._whole.base_model
        if not is_plain_body(self._model, self._whole.config):
            self.loader = auto_class(self._whole.config).__name__
        self._tokenizer = tokenizer
        if tokenizer.mask_token_id is not None:
            self.mask = tokenizer.mask_token, tokenizer.mask_token_id
        self._tokenizer_lock = Lock()
        check_configuration(self._whole.config)
        check_kind(self._whole)
        embeddings = embeddings_of((self._model, self._whole))
        if embeddings is None:
            raise UnfitError(MORE_THAN_TEXT, TEXT_MODEL)
        self.embeddings = embeddings
        """(V, C): the token embeddings, only to be read"""
        if len(tokenizer) > len(embeddings):
            sizes = f"{len(embeddings):,} token ids, and its tokenizer has {len(tokenizer):,}"
            raise UnfitError(f"has embeddings for {sizes}")
        self.is_encoder_decoder = bool(self._model.config.is_encoder_decoder)
        self.takes_segments = (
            "token_type_ids" in tokenizer.model_input_names and "token_type_ids" in signature(model.forward).parameters
        )
        self._theirs = OwnAttention(self._model)
        replace_own_code(self._model)
        self.position_rows: int | None = None
        """Rows of the table of positions that are added to the token embeddings; None if there is none, or if that is
        not known"""
        self.max_tokens, modules = self._first_pass()
        if not modules:
            raise without_calls(self._model)
        self._parents = {child: parent for parent in self._model.modules() for child in parent.children()}
        self._watch(modules)
        self._theirs.watch(self._model, set(modules))
        with torch.inference_mode():
            probe, hidden = self._compared_pass(len(modules))
            self._find_parts(probe, hidden)
        self._names = self._names_by_kind(probe.modules)
        self.not_run = self._not_run()
        width = self._width(hidden)
        self.description = self._describe(probe.calls, width=width, checked=is_checked(self._model, modules))

    def _find_parts(self, probe: Recorder, hidden: Tensor) -> None:
        """Find the blocks, the language head and the norms by a recorded pass and its last hidden state, (T, C)."""
        inputs = (call.query_input if call.block_input is None else call.block_input for call in probe.calls)
        following = [*inputs, hidden][1:]
        self.blocks = tuple(map(self._maps, probe.calls, probe.modules, following))
        self.language_head = self._language_head(hidden)
        self.vocabulary = self._vocabulary(hidden)
        self.output_bias = self._output_bias()
        outputs = self._whole.get_output_embeddings()
        self.head_outputs = len(outputs.weight) if isinstance(outputs, nn.Linear) else None
        self.has_positions = self._finds_positions()
        if not self.has_positions:  # the table may be of rotations, or of what is added to scores
            self.position_rows = None
        self.final_norms = self._final_norms(probe.calls, hidden)

    def _watch(self, modules: Sequence[nn.Module]) -> None:
        """Record the inputs of attention modules, and of the norms before them in pre-norm blocks."""
        for module in dict.fromkeys(modules):
            watch_inputs(module, attention_inputs)
            watch_tables(module)
            norms = find_norms(module, self._parents)
            if norms is not None:
                watch_norm(norms[0])

    def _first_pass(self) -> tuple[int, list[nn.Module]]:
        """Run the model on a few words.

        Returns the maximum length of a text in tokens, including special tokens, and the module of each attention call.
        If the model reads no position table, the length stated in its configuration is used: rotary positions have no
        limit, but the model was trained only up to that length.
        """
        self.max_tokens = min(MAX_TOKENS, int(self._tokenizer.model_max_length))
        for is_last in (False, True):
            ids, segments, decoder_ids = self._probe_words()
            if not ids:
                raise UnfitError("has a tokenizer that finds no token in three plain words")
            tables = PositionTables(self._model, ids)
            try:
                with torch.inference_mode(), recording() as recorder, tables:
                    self.forward(ids, segments, decoder_ids)
            except UnfitError:
                raise
            except Exception as error:  # the model's code may raise anything
                room = min(tables.rooms, default=len(ids))
                if is_last or room >= len(ids):
                    raise UnfitError(MORE_THAN_TEXT, TEXT_MODEL) from error
                self.max_tokens = self._with_room(room)
                continue
            self.position_rows = next(iter(tables.rows), None)
            lengths = (stated_by(self._model.config, name) for name in ("max_position_embeddings", "max_seq_len"))
            stated = next((length for length in lengths if length is not None), None)
            if not tables.rooms and isinstance(stated, int) and stated > 0:  # XLNet says -1: no limit
                tables.rooms.append(stated)
            return self._with_room(min(tables.rooms, default=MAX_TOKENS)), recorder.modules
        raise AssertionError

    def _with_room(self, room: int) -> int:
        """Return the maximum length of a text for a model that has positions for `room` tokens."""
        added = int(self._tokenizer.num_special_tokens_to_add())
        if room <= added:
            places = counted(max(room, 0), "token")
            raise UnfitError(f"has positions for {places}, and its tokenizer adds {added} to each text")
        return min(self.max_tokens, room)

    def tokenize(self, text: str, pair: str | None = None) -> Tokens:
        """Tokenise a text, or a pair; tokens beyond `max_tokens` are dropped and counted."""
        text, pair = repair(text), None if pair is None else repair(pair)
        with self._tokenizer_lock:  # `truncation` changes the state of the shared tokenizer
            encoded = self._tokenizer(text, pair, truncation=False)
            full_length = len(encoded["input_ids"])
            if full_length > self.max_tokens:
                encoded = self._tokenizer(text, pair, truncation=True, max_length=self.max_tokens)
        dropped = full_length - len(encoded["input_ids"])
        return from_encoding(
            encoded.encodings[0],
            text=text,
            pair=pair,
            vocab_size=len(self._tokenizer),
            tokenizer=self.name,
            dropped=dropped,
            unk_id=self._tokenizer.unk_token_id,
            byte_level=self.is_byte_level,
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without special tokens."""
        with self._tokenizer_lock:
            return str(self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def is_special(self, token: int) -> bool:
        """Whether a token stands for no text, such as the end of a text, or an id that the tokenizer does not have."""
        return token in self._tokenizer.all_special_ids or token >= len(self._tokenizer)

    @property
    def ends(self) -> list[int]:
        """The tokens with which it ends a text; none if it does not generate texts, or if that is not known."""
        # Transformers makes it of the configuration where the model has none for generation.
        ends = getattr(getattr(self._whole, "generation_config", None), "eos_token_id", None)
        return [] if ends is None else [ends] if isinstance(ends, int) else list(ends)

    def forward_copies(  # noqa: D102 — as in `PretrainedModel`
        self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None, copies: int
    ) -> Tensor:
        return self._hidden(self._inputs(torch.tensor([ids] * copies), torch.tensor([segments] * copies), decoder_ids))

    def padded_forward(self, ids: Sequence[Sequence[int]], segments: Sequence[Sequence[int]]) -> Tensor:
        """Run texts padded to the longest: returns the last hidden states, (B, T, C)."""
        padding = stated_by(self._model.config, "pad_token_id")
        padded_ids, lengths = padded(ids, padding if isinstance(padding, int) and padding >= 0 else 0)
        inputs = self._inputs(padded_ids, padded(segments)[0], None)
        if int(lengths.min()) < padded_ids.shape[1]:
            inputs["attention_mask"] = (torch.arange(padded_ids.shape[1]) < lengths[:, None]).long()
        if self.is_encoder_decoder:
            inputs["decoder_input_ids"] = padded_ids[:, :1]
        return self._hidden(inputs)

    def _hidden(self, inputs: Mapping[str, Tensor | bool], model: Any = None) -> Tensor:
        """Run the model, or `model`, its copy with eager attention; return the last hidden states, (B, T, C)."""
        model = self._model if model is None else model
        if hasattr(model, "lm_head"):  # T5's class with a language head is its own base model
            outputs = model(**inputs, output_hidden_states=True)
            states = getattr(outputs, "decoder_hidden_states", None) or getattr(outputs, "hidden_states", None)
            hidden = states[-1] if states else None
        else:
            hidden = getattr(model(**inputs), "last_hidden_state", None)
        if not isinstance(hidden, Tensor) or hidden.ndim != 3:
            raise UnfitError(NO_HIDDEN)
        return hidden

    def _inputs(self, ids: Tensor, segments: Tensor, decoder_ids: Sequence[int] | None) -> dict[str, Tensor | bool]:
        """Return the arguments of the model's `forward` for ids and segments (B, T)."""
        inputs: dict[str, Tensor | bool] = {"input_ids": ids, "use_cache": False}
        if self.takes_segments:
            inputs["token_type_ids"] = segments.clamp(max=(stated_by(self._model.config, "type_vocab_size") or 2) - 1)
        if decoder_ids is not None:
            inputs["decoder_input_ids"] = torch.tensor([decoder_ids] * len(ids))
        return inputs

    def module_names(self, layer: int, kind: Kind) -> ModuleNames:
        """Return the names of a layer's attention modules."""
        return self._names[kind][self.description.numbers[kind].index(layer)]

    def run(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Pass:
        """Run the forward pass as `PretrainedModel.run` does.

        A model outside the checked families is compared with its own eager attention in one layer.

        Raises:
            ModelError: its attention on this text differs from the one shown, or it can't be run on the text.
        """
        compared = () if self.description.is_checked else (call_to_compare(len(self.blocks), ids, decoder_ids),)
        return attempt(lambda: self._checked_run(ids, segments, decoder_ids, compared), shown(self.name), "pass")

    def _checked_run(
        self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None, compared: Collection[int]
    ) -> Pass:
        with self._theirs.compared(compared) as comparison:
            recorded = super().run(ids, segments, decoder_ids)
        if len(recorded.calls) != len(self.blocks):
            raise UnfitError(
                f"computes {counted(len(recorded.calls), 'attention')} for this text, "
                f"and {len(self.blocks)} for another one"
            )
        with torch.inference_mode():
            steps = [
                _shown_steps(call, maps) if number in compared else None
                for number, (call, maps) in enumerate(zip(recorded.calls, self.blocks, strict=True))
            ]
        check_shown(comparison, steps)
        return recorded

    def _compared_pass(self, calls: int) -> tuple[Recorder, Tensor]:
        """Run the model on a few words and return the record of the pass and the last hidden state.

        Raises:
            UnfitError: transformers' eager attention gives a different result, or one that is not finite.
        """
        ids, segments, decoder_ids = self._probe_words()
        with recording() as recorder, self._theirs.compared(range(calls)) as comparison:
            ours = self.forward(ids, segments, decoder_ids)
        inputs = self._inputs(torch.tensor([ids]), torch.tensor([segments]), decoder_ids)
        theirs = self._hidden(inputs, self._theirs.model)[0]
        if not bool(theirs.isfinite().all()):
            raise UnfitError("gives numbers that are not finite, even for three plain words")
        maps = BlockMaps("encoder", None, None)
        check_shown(comparison, [_shown_steps(call, maps) for call in recorder.calls])
        if not _is_near(ours, theirs):
            raise UnfitError("computes other hidden states with its own eager attention than with what is shown")
        return recorder, ours

    def _probe_words(self) -> tuple[Sequence[int], Sequence[int], Sequence[int] | None]:
        tokens = self.tokenize("one two three")
        return tokens.ids, tokens.segments, tokens.ids if self.is_encoder_decoder else None

    def _finds_positions(self) -> bool | None:
        """Return whether the first attention's input for a token depends on the position; None if unknown.

        It does not if positions are rotated into queries and keys, or are added to the scores.
        """
        ids, segments, decoder_ids = self._probe_words()
        repeated = [ids[0]] * len(ids), [segments[0]] * len(ids)
        with recording() as recorder:  # the first recorded attention may be the decoder's, as PEGASUS-X's
            self.forward(*repeated, None if decoder_ids is None else [decoder_ids[0]] * len(decoder_ids))
        x = recorder.calls[0].query_input
        return None if x is None or len(x) < 2 else not torch.allclose(x[0], x[-1], rtol=1e-4, atol=1e-6)

    def _language_head(self, hidden: Tensor) -> Callable[[Tensor], Tensor] | None:
        """Return the model's language head if it reproduces the model's logits from the probe's last hidden state."""
        head = None if self._whole is self._model else find_language_head(self._whole)
        if head is None:
            return None
        ids, segments, decoder_ids = self._probe_words()
        inputs = self._inputs(torch.tensor([ids]), torch.tensor([segments]), decoder_ids)
        logits = getattr(self._whole(**inputs), "logits", None)
        try:
            ours = head(hidden)
        except (TypeError, RuntimeError):  # the head takes more than the last hidden state
            return None
        return head if logits is not None and isinstance(ours, Tensor) and _is_near(ours, logits[0]) else None

    def _vocabulary(self, hidden: Tensor) -> Vocabulary | None:
        """Return the parts of the language head if they reproduce its output for the probe's last hidden state."""
        head = self.language_head
        if not isinstance(head, nn.Module):
            return None
        vocabulary = find_vocabulary(head, self.label, None if self.mask is None else self.mask[1])
        if vocabulary is None:
            return None
        try:
            logits = vocabulary.logits(hidden)
        except RuntimeError:  # the head's layer has another width, as MobileBERT's
            return None
        return vocabulary if _is_near(logits, head(hidden)) else None

    def _output_bias(self) -> Tensor | None:
        """Return the bias of the language head's last layer, which transformers calls the output embeddings."""
        head, layer = self.language_head, self._whole.get_output_embeddings()
        if not isinstance(head, nn.Module) or not any(layer is module for module in head.modules()):
            return None
        bias = getattr(layer, "bias", None)
        return bias.detach() if isinstance(bias, Tensor) else None

    def label(self, token: int) -> str:
        """Return the label of a token id; a model may have more ids than its tokenizer."""
        piece = self._tokenizer.convert_ids_to_tokens(token)
        return f"id {token}" if piece is None else label_of(piece, byte_level=self.is_byte_level)

    def _final_norms(self, calls: Sequence[Call], hidden: Tensor) -> dict[str, Norm | None]:
        """Return the norm after the last block if its output is the probe's last hidden state."""
        norm = find_final_norm(self._model)
        blocks = self._blocks_of(calls)
        steps = next(reversed(blocks.values()))[-1].steps()
        is_known = len(blocks) == 1 and steps is not None and not isinstance(norm, nn.Identity)
        if not is_known or steps is None or not _is_near(norm(steps.block_output), hidden):
            return {}
        stack = "encoder" if "encoder" in blocks else "decoder"
        return {stack: Norm.of(norm) if isinstance(norm, nn.LayerNorm) else None}

    @property
    def body(self) -> Any:
        """The model of transformers without its language head; callers must not change it."""
        return self._model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers. `tokenize` temporarily changes its state: callers may only decode with it."""
        return self._tokenizer

    @property
    def is_byte_level(self) -> bool:
        """Whether the tokenizer's pieces use GPT-2's byte alphabet."""
        return "ByteLevel" in repr(self._tokenizer.backend_tokenizer.pre_tokenizer)

    def _kind(self, call: Call, module: nn.Module, mask: Mask) -> Kind:
        if call.query_input is not call.key_input and call.key_input is not None:
            return "cross"
        if len(call.query[0]) > 1:  # with a single token, the mask has no later key to hide
            return "decoder" if mask.hides_later else "encoder"
        in_decoder = (
            getattr(module, "is_decoder", False) if self.is_encoder_decoder else getattr(module, "is_causal", False)
        )
        return "decoder" if in_decoder else "encoder"

    def _maps(self, call: Call, module: nn.Module, following: Tensor | None) -> BlockMaps:
        """Find the projections and the rest of the block of a call's module, and check them against the recorded pass.

        `following` is the input of the next attention call, (T, C), or the last hidden state; it should equal this
        block's output.
        """
        mask = Mask.recognise(true_mask(call.mask))
        operands, unavailable = find_operands(call, module)
        output = find_output_projection(module, self._parents.get(module))
        if output is None:
            unavailable["output_projection"] = NO_OUTPUT
        maps = BlockMaps(
            self._kind(call, module, mask),
            operands.projections,
            output,
            rotary=operands.rotary,
            norms=operands.norms,
            fused=operands.fused,
            buckets=find_buckets(call, self._model),
            unavailable=unavailable,
            after_unavailable_reason=NO_AFTER,
        )
        after = find_after_attention(module, self._parents)
        steps = block_of(call, replace(maps, after_attention=after), mask).steps()
        if steps is None or following is None:
            return maps
        ends = steps.block_output, find_final_norm(self._model)(steps.block_output)
        if not any(_is_near(end, following) for end in ends):
            return maps
        weights = find_weights(module, self._parents)
        return replace(maps, after_attention=after, after_unavailable_reason="", weights=weights)

    def _names_by_kind(self, modules: Sequence[nn.Module]) -> dict[Kind, tuple[ModuleNames, ...]]:
        paths = {module: path for path, module in self._model.named_modules()}
        names: dict[Kind, list[ModuleNames]] = {}
        for block, module in zip(self.blocks, modules, strict=True):
            names.setdefault(block.kind, []).append(module_names(self._model, paths[module]))
        return {kind: tuple(kind_names) for kind, kind_names in names.items()}

    def _width(self, hidden: Tensor) -> int:
        """Return C, the width of the blocks, which the configuration states, or else that of the last hidden state.

        EmbeddingGemma 2 and some OPT map that to another width after the last block, and MobileBERT's attention reads
        narrower rows than its blocks take.
        """
        stated = stated_by(self._model.config, "hidden_size")
        return stated if isinstance(stated, int) else hidden.shape[-1]

    def _describe(self, calls: Sequence[Call], *, width: int, checked: bool) -> Description:
        kinds = [block.kind for block in self.blocks]
        heads = {kind: call.query.shape[0] for kind, call in zip(kinds, calls, strict=True)}
        sizes: dict[Kind, tuple[int, ...]] = {}
        for kind, call in zip(kinds, calls, strict=True):
            sizes[kind] = (*sizes.get(kind, ()), call.query.shape[-1])
            if call.query.shape[0] != heads[kind]:
                raise UnfitError("has different numbers of heads in its layers")
        matrix_products, norm_first = self._sizes(calls), self._norm_first(calls)
        return Description(
            name=self.name,
            layers={kind: (kinds.count(kind), heads[kind]) for kind in heads},
            width=width,
            head_size=calls[0].query.shape[-1],
            norm_first=norm_first,
            attention_alone={} if norm_first is None else self._attention_alone(),
            final_norm=bool(self.final_norms),
            shows_logits=self.vocabulary is not None,
            mask_piece=None if self.mask is None else self.mask[0],
            head_transform=self.vocabulary is not None and self.vocabulary.transform is not None,
            feed_forward=self._feed_forward_width(calls, matrix_products, width),
            vocabulary=len(self._tokenizer),
            parameters=count_parameters(self._whole, self._model, chain(*self._names.values()), self.not_run),
            sizes=matrix_products,
            unavailable=self._unavailable(),
            head_sizes=sizes,
            numbers={kind: layer_numbers(names) for kind, names in self._names.items()},
            depths=layer_counts(self._model, self._names),
            steps_in=layers_with_steps(self.blocks, calls, self._names),
            windows=layer_windows(kinds, calls),
            has_sinks=any(call.sinks is not None for call in calls),
            is_checked=checked,
        )

    def _not_run(self) -> tuple[str, ...]:
        """Return the names of the model's parts of which a text runs no module, such as a tower for pictures."""
        words = self._probe_words()
        children = dict(self._model.named_children())
        has_run = run_modules(self._model, lambda: self.forward(*words))
        return tuple(
            name
            for name, child in children.items()
            if not isinstance(child, nn.Embedding) and has_run.isdisjoint(child.modules())
        )

    def _sizes(self, calls: Sequence[Call]) -> ModelSizes | None:
        """Return the sizes of the matrix products without the language head; None if they are unknown."""
        words = self._probe_words()
        head = self._whole.get_output_embeddings()
        paths = {module: path for path, module in self._model.named_modules()}
        maps = watch_maps(self._model, lambda: self.forward(*words), len(words[0]))
        if maps is None:
            return None
        remaining = {kind: iter(kind_names) for kind, kind_names in self._names.items()}
        names = [next(remaining[block.kind]) for block in self.blocks]
        body_maps = [(path, size) for path, size in maps if path != paths.get(head)]
        return sizes_of(self._model, body_maps, calls, names)

    def _norm_first(self, calls: Sequence[Call]) -> bool | None:
        """Return whether the blocks are pre-norm; None if the computation after attention is unknown for all."""
        steps = (block.steps() for blocks in self._blocks_of(calls).values() for block in blocks)
        known = next((of_block for of_block in steps if of_block is not None), None)
        return None if known is None else known.feed_forward_norm is not None

    def _attention_alone(self) -> dict[Kind, tuple[int, ...]]:
        """Return the numbers of the layers of which the computation after attention is unknown, by kind."""
        numbers = {kind: iter(layer_numbers(names)) for kind, names in self._names.items()}
        unknown: dict[Kind, tuple[int, ...]] = {}
        for block in self.blocks:
            number = next(numbers[block.kind])
            if block.after_attention is None:
                unknown[block.kind] = (*unknown.get(block.kind, ()), number)
        return unknown

    def _not_known_after(self) -> str:
        """Say of which layers the computation after attention is unknown, where it is known of others."""
        stacks: dict[str, set[int]] = {Place(kind, 0).stack: set() for kind in self._names}
        for kind, numbers in self._attention_alone().items():
            stacks[Place(kind, 0).stack].update(numbers)
        layers = {stack: layers_in_words(sorted(numbers)) for stack, numbers in stacks.items() if numbers}
        which = (
            joined(f"{stack} {words}" for stack, words in layers.items()) if len(stacks) > 1 else layers.popitem()[1]
        )
        if sum(map(len, stacks.values())) == 1:
            return f"How {which} adds, normalises and feeds forward after its attention is not known here."
        return f"How {which} add, normalise and feed forward after their attention is not known here."

    def _feed_forward_width(self, calls: Sequence[Call], sizes: ModelSizes | None, width: int) -> int | None:
        """Return F as the first block computes it, or else as `feed_forward_width` finds it."""
        steps = self._blocks_of(calls)[self.blocks[0].kind][0].steps()
        if steps is not None and steps.feed_forward_hidden is not None:
            return steps.feed_forward_hidden.shape[-1]
        return feed_forward_width(self._model, sizes, width)

    def _unavailable(self) -> dict[str, str]:
        """Return the quantities that the model or at least one block does not provide, with the reasons."""
        reasons: dict[str, str] = {} if self.language_head else {"logits": NO_LANGUAGE_HEAD}
        for block in self.blocks:
            reasons.update(block.unavailable.items())
            if block.after_attention is None:
                reasons["attention_residual"] = block.after_unavailable_reason
        if "attention_residual" in reasons and any(block.after_attention for block in self.blocks):
            reasons["attention_residual"] = self._not_known_after()
        return reasons


def _shown_steps(call: Call, maps: BlockMaps) -> AttentionSteps:
    """Return the steps that the app shows for a call, of all heads."""
    return block_of(call, maps, Mask.recognise(true_mask(call.mask))).attention.all_heads()


def _is_near(ours: Tensor, theirs: Tensor) -> bool:
    return ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4)
