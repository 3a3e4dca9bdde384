"""The toy transformer as a `Model`: its trace on a text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property

import torch

from attnviz.reprs import ShortRepr
from attnviz.tokens import NoTokensError, Tokens
from attnviz.toy.transformer.blocks import blocks_of, final_norms, parameters_of, sizes_of
from attnviz.toy.transformer.config import EXAMPLE_TARGET, TransformerConfig
from attnviz.toy.transformer.model import Transformer, shared_stack
from attnviz.trace.layer import LinearMap
from attnviz.trace.model import Description, TraceBudget, layers_and_heads
from attnviz.trace.recorder import recording
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Vocabulary

NO_HEAD = "The toy's encoder alone has no language head: it gives a row of numbers for each token, and stops there."
TRACE_BUDGET = TraceBudget("transformer", 64 * 2**20)
"""Of all toy transformers: two traces of 128 tokens of the largest, and hundreds of the default's"""


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
            unavailable={"logits": NO_HEAD} if config.architecture == "encoder" else {},
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a text, and those that the decoder reads beside an encoder: `pair`, or an example."""
        if self.config.architecture != "both":
            return self._tokenize(text), None
        return self._tokenize(text), self._tokenize(EXAMPLE_TARGET if pair is None else pair)

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return the tokens and the settings, which determine the trace."""
        return *self.read(text, pair), self.config

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the transformer on a text.

        Raises:
            NoTokensError: the text, or what the decoder reads, has no tokens.
        """
        return trace_transformer(*self.read(text, pair), self.config)


def trace_transformer(tokens: Tokens, target: Tokens | None, config: TransformerConfig) -> Trace:
    """Run a toy transformer on tokens; `target` are those that the decoder reads beside an encoder.

    Raises:
        NoTokensError: there are no tokens.
    """
    if not len(tokens) or (target is not None and not len(target)):
        raise NoTokensError
    known = dict(zip(tokens.ids, tokens.labels, strict=True))
    known |= {} if target is None else dict(zip(target.ids, target.labels, strict=True)) | known
    rows = {one: row for row, one in enumerate(known)}
    model = Transformer(config, tuple(known), shared_stack(config)).eval()
    source = [rows[one] for one in tokens.ids]
    written = None if target is None else [rows[one] for one in target.ids]
    with torch.inference_mode(), recording() as recorder:
        hidden = model(source, written)
        parts = model.embed(source)
        decoder_parts = {} if written is None else model.embed(written)
    has_head, labels = config.architecture != "encoder", tuple(known.values())
    return Trace(
        tokens,
        target,
        blocks_of(model.stack, recorder.calls),
        hidden,
        embedding_parts=parts,
        decoder_embedding_parts=decoder_parts,
        final_norms=final_norms(model.stack),
        vocabulary=Vocabulary(LinearMap(model.embedding.detach().T), labels.__getitem__) if has_head else None,
        weights=tuple(one for one in (model.embedding, model.position) if one is not None),
        language_head=model.logits if has_head else None,
        model=f"toy transformer, seed {config.seed}",
    )
