"""A trained model as a `Model`: from a text to its trace, and from ids to logits; and the sentences that describe it.

Shapes: B texts, T tokens (S of the encoder's text), C model width, V logits of each position.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property, lru_cache, partial

import torch
from torch import Tensor, nn

from attnviz.formatting import counted, number, percent
from attnviz.measures.summary import MIN_SHARE, weight_at
from attnviz.pretrained.names import ModelError
from attnviz.reprs import ShortRepr
from attnviz.tokens import NO_ID, CharVocab, NoTokensError, Tokens
from attnviz.tokens.value import label_of
from attnviz.toy.language.config import TokenConfig, has_attention, longest_context
from attnviz.toy.language.model import NO_RESIDUAL, TokenModel
from attnviz.toy.layers import linear_map
from attnviz.toy.transformer import blocks_of, final_norms, parameters_of, sizes_of
from attnviz.trace.model import Description, Place, TraceBudget, layers_and_heads
from attnviz.trace.recorder import recording
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import ALL, Vocabulary
from attnviz.trained.card import Card
from attnviz.trained.files import Saved
from attnviz.training.generation import GeneratedToken, Sampling, generate
from attnviz.training.jobs.view import FoundHead, best_of
from attnviz.training.plan import Plan
from attnviz.training.tasks.task import Task, added, parts_of, tokens_of

NO_ATTENTION = "This model has no attention: there is nothing to show of it step by step."
TRACE_BUDGET = TraceBudget("trained", 64 * 2**20)
"""For all trained models together: hundreds of traces of a task's model, or dozens of the character GPT"""
ANSWERS = 64
"""How many answers to cache, for a model whose decoder reads its own answer"""


class TrainedModel(ShortRepr):
    """A model that was trained here. It is immutable, so all sessions share it."""

    trace_budget = TRACE_BUDGET

    def __init__(self, name: str, saved: Saved, digest: str) -> None:
        """Take a model from its file; `digest` identifies the file, so that equal digests mean equal numbers."""
        self.name, self.digest = name, digest
        self.plan: Plan = saved.plan
        self.card: Card = saved.card
        self.labels: tuple[str, ...] = saved.labels
        """The vocabulary: labels[i] is the token with id i"""
        self.task: Task | None = saved.task
        """The task that it learned; None if it was trained on a text"""
        self.module = saved.module
        """float32, in evaluation mode, without gradients"""
        self._traced = _with_unknown(saved.module) if isinstance(saved.module, TokenModel) else None
        self._answer = lru_cache(ANSWERS)(lambda text: "" if self.task is None else self.task.answer(self, text))

    def _summary(self) -> Iterator[str]:
        yield self.name
        yield layers_and_heads(self.description.layers) if self.has_attention else "no attention"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The label of each logit, (V,)."""
        return self.labels if self.task is None else self.task.outputs

    @property
    def has_attention(self) -> bool:
        """Whether there is something to trace."""
        return has_attention(self.plan.model)

    @property
    def block_size(self) -> int:
        """The longest sequence."""
        return longest_context(self.plan.token_model)

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield the parameters, which need no gradients."""
        return self.module.parameters()

    def logits(self, ids: Tensor, source: Tensor | None = None) -> Tensor:
        """Return the logits of each position: (B, T) -> (B, T, V), (T,) -> (T, V).

        Args:
            ids: integers from 0 to the vocabulary's size - 1.
            source: (B, S) or (S,), what the encoder reads, if the model has both.

        Raises:
            ValueError: a sequence is longer than the block size, or there is a source and no encoder, or the reverse.
            IndexError: an id is not in the vocabulary.
        """
        if source is not None and not isinstance(self.module, TokenModel):
            raise ValueError("this model has no encoder to read a source")
        with torch.inference_mode():
            logits: Tensor = self.module(ids) if source is None else self.module(ids, source)
        return logits

    @cached_property
    def description(self) -> Description:
        """The architecture.

        Raises:
            ModelError: the model has no attention.
        """
        config = self._config()
        has_residual = config.residual
        lacks = {"norm": config.norm, "feed_forward": config.feed_forward != 0}
        embeddings = (self.labels, range(config.block_size))
        return Description(
            name=self.name,
            layers=dict.fromkeys(config.kinds, (config.layers, config.heads)),
            width=config.width,
            head_size=config.width // config.heads,
            norm_first=True if has_residual else None,
            lacks=frozenset(name for name, exists in lacks.items() if not exists),
            final_norm=config.norm and has_residual,
            shows_logits=has_residual,
            feed_forward=config.feed_forward_width,
            vocabulary=len(self.labels),
            outputs=len(self.outputs) if len(self.outputs) <= ALL else None,
            parameters={
                "embeddings": sum(map(len, embeddings)) * config.width,
                **parameters_of(_token_model(self.module).blocks),
                "output": len(self.outputs) * (config.width + 1),
            },
            sizes=sizes_of(_token_model(self.module).blocks),
            unavailable={} if has_residual else {"attention_residual": NO_RESIDUAL},
        )

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a text and, for a model with encoder and decoder, the tokens that the decoder reads.

        The decoder reads a start token and then the words of `pair`, or if it is None, the model's own answer, which is
        the likeliest token each time. Symbols that are not in the vocabulary are marked as unknown.
        """
        if self.task is None:
            return CharVocab(self.labels).tokenize(text, max_tokens=self.block_size), None
        tokens, target = self.task.read(text)
        if target is None or not len(target):
            return tokens, target
        return tokens, self._written(target.pieces[0], self._answer(text) if pair is None else pair)

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return the tokens and the file's digest, which determine the trace."""
        return *self.read(text, pair), self.digest

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the model on a text. The input of a token that is not in the vocabulary is its position's row alone.

        Raises:
            NoTokensError: the text has no tokens.
            ModelError: the model has no attention.
        """
        self._config()
        model = _token_model(self._traced)
        tokens, target = self.read(text, pair)
        if not len(tokens) or (target is not None and not len(target)):
            raise NoTokensError
        ids, target_ids = self._ids(tokens), None if target is None else self._ids(target)
        texts = (ids,) if target_ids is None else (target_ids, ids)
        with torch.inference_mode(), recording() as recorder:
            hidden = model.hidden(*texts)
            parts = _summands(model, ids)
            decoder_parts = {} if target_ids is None else _summands(model, target_ids)
        outputs = self.outputs
        return Trace(
            tokens,
            target,
            blocks_of(model.blocks, recorder.calls),
            hidden,
            embedding_parts=parts,
            decoder_embedding_parts=decoder_parts,
            final_norms=final_norms(model.blocks),
            vocabulary=Vocabulary(linear_map(model.head), lambda id_: label_of(outputs[id_])),
            has_learned=True,
            language_head=model.head,
            rerun=partial(_hidden_of_copies, model, texts),
            model=self.name,
        )

    def write_on(self, tokens: Tokens, count: int) -> Iterator[GeneratedToken]:
        """Yield at most `count` tokens after a text, which is read as in its trace, so that the first guess is that.

        Raises:
            ModelError: the model has no attention.
            ValueError: there are no tokens, or the model is not a decoder alone.
        """
        return generate(_token_model(self._traced), self._ids(tokens).tolist(), count, Sampling())

    @cached_property
    def previous_head(self) -> FoundHead | None:
        """The head that looks at the token before most, of all heads of a model of a text.

        Measured on its own example. None without attention, or where no head gives at least `MIN_SHARE` to that token.
        """
        if self.task is not None or not self.has_attention:
            return None
        trace = self.trace(examples(self)[0])
        (kind,) = trace.kinds
        shares = [weight_at(trace.attentions(layer), -1).nanmean(-1) for layer in trace.numbers_of()]
        head = best_of({Place(kind, layer): share.tolist() for layer, share in enumerate(shares)})
        return head if head is not None and head.score >= MIN_SHARE else None

    def _config(self) -> TokenConfig:
        if not has_attention(self.plan.model):
            raise ModelError(NO_ATTENTION)
        return self.plan.model

    def _ids(self, tokens: Tokens) -> Tensor:
        """Return the ids, (T,); a token without an id gets that of the row of zeros after all others."""
        return torch.tensor([len(self.labels) if id_ == NO_ID else id_ for id_ in tokens.ids])

    def _written(self, start: str, words: str) -> Tokens:
        """Return the tokens that the decoder reads: the start token and as many of these words as fit."""
        parts = [*added([start]), *parts_of(words, r"\S+")]
        return tokens_of(words, parts, self.labels, most=self.block_size)


def _token_model(module: nn.Module | None) -> TokenModel:
    if not isinstance(module, TokenModel):
        raise ModelError(NO_ATTENTION)
    return module


def _with_unknown(model: TokenModel) -> TokenModel:
    """Return the model with a row of zeros after its token embeddings, for tokens that it does not know.

    All other weights are the model's own.
    """
    extended = copy.copy(model)
    rows = torch.cat([model.token.weight, model.token.weight.new_zeros(1, model.token.embedding_dim)])
    extended._modules = {**model._modules, "token": nn.Embedding.from_pretrained(rows, freeze=True)}
    return extended


def _hidden_of_copies(model: TokenModel, texts: Sequence[Tensor], copies: int) -> Tensor:
    """Run a model on a batch of copies of its texts, (T,) each; return the last hidden states, (copies, T, C)."""
    return model.hidden(*(ids.expand(copies, -1) for ids in texts))


def _summands(model: TokenModel, ids: Tensor) -> dict[str, Tensor]:
    """Return the summands of a stack's input, (T, C) each, by name."""
    return {"token": model.token(ids), "position": model.position.weight[: len(ids)]}


TEXTS = ("To be, or not to be: ", "To see, or not to see: ")
"""Examples for models that were trained on a text"""


def about(model: TrainedModel) -> str:
    """Say what the model was trained on, and how well it does on what it was not trained on."""
    card, planned = model.card, model.plan.training.steps
    steps = planned if card.after is None else card.after
    task = model.task
    if task is None:
        name = "a text" if card.corpus is None else f"{card.corpus.name}, {card.corpus.characters:,} characters"
        return (
            f"Trained on {name}, to predict the next character: {counted(steps, 'step')}. On the part that it was not "
            f"trained on, its loss is {number(card.loss, 2)} nats a character."
        )
    right, end = percent(card.accuracy, 1), "" if task.title[-1] in "?!." else "."
    if task.end:
        return (
            f"Trained on short {task.name} from a grammar of this project, of {len(model.labels) - 1} different words "
            f"and punctuation marks, and of {task.end} after the last, to predict each next one: "
            f"{counted(steps, 'step')}. On {task.name} that it was not trained on, its loss is "
            f"{number(card.loss, 2)} nats a word, and its first guess is right for "
            f"{right}."
        )
    if card.files is not None:
        usual = percent(card.files.right / max(1, card.files.words), 1)
        return (
            f"{task.title}{end} After {counted(steps, 'step')} {right} of the words of its test file have the right "
            f"tag; with each word's most frequent tag, {usual} have."
        )
    return f"{task.title}{end} After {counted(steps, 'step')} {right} of what it was not trained on is right."


def heads(model: TrainedModel) -> tuple[tuple[str, str, int, int], ...]:
    """Return the heads that do the task: what each does and how much, the kind of attention, the layer, the head.

    Of a model of a text, it is the head with the clearest pattern: that which looks at the character before most.
    """
    if model.task is None:
        head = model.previous_head
        if head is None:
            return ()
        sentence = f"Layer {head.layer}, head {head.head}: looks at the character before ({number(head.score, 2)})"
        return ((sentence, head.kind, head.layer, head.head),)
    described = []
    for pattern in model.task.patterns:
        head = model.card.heads.get(pattern.name)
        if head is not None:
            sentence = f"Layer {head.layer}, head {head.head}: {pattern.title} ({number(head.score, 2)})"
            described.append((sentence, head.kind, head.layer, head.head))
    return tuple(described)


def examples(model: TrainedModel) -> tuple[str, ...]:
    """Return texts of the kind that the model was made for."""
    return TEXTS if model.task is None else model.task.examples
