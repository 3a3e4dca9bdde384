"""Trains the masked-language head of the built-in model, whose own weights stay as they are.

The states of hidden tokens (`attnviz.bert.masked_states`) are nearly the same for all tokens: what tells one from
another is small, and most of it lies in few directions. So the head is trained on whitened states, which have mean 0
and a variance near 1 in every direction, and the whitening is put into its dense layer afterwards: a linear map of a
linear map is one.

Shapes: N hidden tokens, C model width, V tokens of the vocabulary, U of them that occur among the hidden ones.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.bert.blank import fill, maskable
from attnviz.bert.head_card import Score, SeedResult
from attnviz.files import replacing
from attnviz.pretrained.masked_head import EPS, HeadWeights
from attnviz.reprs import ShortRepr
from attnviz.training.loop import CheckpointError, Trainer
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import Batch

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel
    from attnviz.pretrained.built_in import BuiltInModel

SETTINGS = TrainingSettings(
    steps=1500,
    batch=256,
    learning_rate=2e-3,
    warm_up=50,
    decay="cosine",
    last_rate=0.02,
    beta2=0.98,
    precision="bfloat16",
)
SEEDS = 5
"""How many seeds a head is trained with; the first one's is written"""
HELD_OUT_PART = 0.05
"""The part of the sentences that is held out"""
RIDGE = 0.01
"""Added to each variance before whitening, so that directions without information are not blown up"""
SMOOTHING = 0.1
"""Added to each token's count in the first bias, the logarithm of its frequency"""
EVERY = 500
"""Steps between two checkpoints"""


class WhitenedHead(nn.Module):
    """The head while it is trained: it takes whitened states, and names only tokens that occur in training."""

    rows: Tensor
    """(U, C): their rows of the table of token embeddings"""

    def __init__(self, rows: Tensor, bias: Tensor) -> None:
        """Begin with the logarithms of the tokens' frequencies, (U,), as bias."""
        super().__init__()
        width = rows.shape[1]
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=EPS)
        self.bias = nn.Parameter(bias)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, whitened: Tensor) -> Tensor:
        """Return the logits, (B, U), of whitened states, (B, C)."""
        logits: Tensor = self.norm(functional.gelu(self.dense(whitened))) @ self.rows.T + self.bias
        return logits


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeadData(ShortRepr):
    """The hidden tokens of one seed, split by sentence: no sentence is in both parts."""

    states: Tensor
    """(N, C), float16"""
    tokens: Tensor
    """(N,)"""
    train: Tensor
    """Rows to train on"""
    held_out: Tensor
    """Rows to test on"""

    @classmethod
    def split(cls, arrays: tuple[Tensor, Tensor, Tensor], seed: int) -> HeadData:
        """Hold out a part of the sentences.

        Args:
            arrays: states, tokens and sentences, from `MaskedStates.arrays`.
            seed: of the split.

        Raises:
            ValueError: one part would be empty.
        """
        states, tokens, sentences = arrays
        count = int(sentences.max()) + 1 if len(sentences) else 0
        drawn = torch.rand(count, generator=torch.Generator().manual_seed(seed)) < HELD_OUT_PART
        is_held = drawn[sentences]
        if not len(sentences) or bool(is_held.all()) or not bool(is_held.any()):
            raise ValueError("There are too few sentences to train on some and to hold out others.")
        return cls(states, tokens, (~is_held).nonzero()[:, 0], is_held.nonzero()[:, 0])


class HeadTraining:
    """One training of a head with one seed."""

    def __init__(self, data: HeadData, table: Tensor, settings: TrainingSettings) -> None:
        """Begin at step 0.

        Args:
            data: the hidden tokens.
            table: the token embeddings, (V, C).
            settings: their seed is that of weights and batches.
        """
        self.data, self._table = data, table
        counts = torch.bincount(data.tokens[data.train], minlength=len(table)).double() + SMOOTHING
        self.frequencies = counts / counts.sum()
        """(V,), smoothed"""
        self._known = (counts > SMOOTHING).nonzero()[:, 0]  # (U,)
        self._place = torch.zeros(len(table), dtype=torch.long)
        self._place[self._known] = torch.arange(len(self._known))
        self._mean, self._whitening = whitening(data.states[data.train])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self._head = WhitenedHead(table[self._known], self.frequencies[self._known].log().float())
        self.trainer = Trainer(self._head, self._batch, settings)

    def _batch(self, size: int, generator: torch.Generator) -> Batch:
        rows = self.data.train[torch.randint(len(self.data.train), (size,), generator=generator)]
        whitened = (self.data.states[rows].float() - self._mean) @ self._whitening
        return Batch(whitened, self._place[self.data.tokens[rows]])

    def weights(self) -> HeadWeights:
        """Return the head's weights, for states as the model computes them.

        Tokens that never occurred in training keep the bias of their smoothed frequency.
        """
        head = self._head
        with torch.inference_mode():
            dense = self._whitening @ head.dense.weight.T  # (C, C)
            dense_bias = head.dense.bias - self._mean @ dense
            bias = self.frequencies.log().float()
            bias[self._known] = head.bias
            return HeadWeights(dense, dense_bias, head.norm.weight.clone(), head.norm.bias.clone(), bias)

    def result(self, weights: HeadWeights, is_word: Tensor) -> SeedResult:
        """Measure weights and both baselines on the held-out sentences.

        Args:
            weights: as they are written to a file.
            is_word: (V,) bool: from `are_words`.
        """
        held = self.data.held_out
        states, tokens, table = self.data.states[held].float(), self.data.tokens[held], self._table
        logits_of = weights.vocabulary(table, str, 0).logits
        directions, frequent = functional.normalize(table, dim=1), self.frequencies.log().float()
        words = is_word[tokens]
        return SeedResult(
            self.trainer.settings.seed,
            score_of(logits_of, states, tokens),
            score_of(logits_of, states[words], tokens[words]),
            score_of(lambda rows: frequent.expand(len(rows), -1), states, tokens),
            score_of(lambda rows: functional.normalize(rows, dim=1) @ directions.T, states, tokens),
        )


def whitening(states: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean, (C,), and the symmetric matrix, (C, C), that whiten states: (x - mean) @ matrix.

    The matrix is (Σ + RIDGE · 1)^(−1/2), with the covariance Σ of the states, (N, C).
    """
    total = sum((part.double().sum(0) for part in states.split(4096)), torch.zeros(states.shape[1]).double())
    mean = total / len(states)
    covariance = torch.zeros(states.shape[1], states.shape[1]).double()
    for part in states.split(4096):
        centred = part.double() - mean
        covariance += centred.T @ centred
    values, vectors = torch.linalg.eigh(covariance / len(states))
    matrix = vectors @ torch.diag((values.clamp(min=0) + RIDGE).rsqrt()) @ vectors.T
    return mean.float(), matrix.float()


@dataclass(slots=True, eq=False, repr=False)
class HeadRun(ShortRepr):
    """The trainings of all seeds, one after the other; it can be stopped after any step and continued from its file."""

    arrays: tuple[Tensor, Tensor, Tensor]
    """States, tokens and sentences, from `MaskedStates.arrays`"""
    digest: str
    """Of the texts"""
    table: Tensor
    """(V, C): the token embeddings"""
    is_word: Tensor
    """(V,) bool: from `are_words`"""
    settings: TrainingSettings
    checkpoint: Path
    results: list[SeedResult] = field(default_factory=list)
    """Those of the seeds that are done"""
    weights: HeadWeights | None = None
    """Those of the first seed, when it is done, as the file rounds them"""
    _state: dict[str, Any] | None = None
    """The state of the training that was interrupted"""

    def run(
        self,
        stops: Callable[[], bool] = lambda: False,
        progress: Callable[[int, float], object] = lambda *_: None,
    ) -> bool:
        """Train with the seeds that are left, and return whether all are done.

        Args:
            stops: called after each step; returns whether to stop, and then the checkpoint is written.
            progress: called after each step with the number of all steps so far and the loss.

        Raises:
            attnviz.training.loop.DivergedError: the loss is no longer finite.
            OSError: the checkpoint can't be written.
        """
        while len(self.results) < SEEDS:
            seed = self.settings.seed + len(self.results)
            training = HeadTraining(
                HeadData.split(self.arrays, seed), self.table, replace(self.settings, seed=seed)
            )  # fmt: skip
            if self._state is not None:
                _resume(training.trainer, self._state)
            if not self._train(training.trainer, stops, progress):
                return False
            weights = HeadWeights.from_bytes(training.weights().to_bytes())
            self.weights, self._state = self.weights or weights, None
            self.results.append(training.result(weights, self.is_word))
            self._save()
        return True

    def _train(
        self, trainer: Trainer, stops: Callable[[], bool], progress: Callable[[int, float], object]
    ) -> bool:  # fmt: skip
        while trainer.step < self.settings.steps:
            loss = trainer.advance()
            progress(len(self.results) * self.settings.steps + trainer.step, loss)
            is_stopped = stops()
            if is_stopped or trainer.step % EVERY == 0:
                self._state = trainer.state()
                self._save()
            if is_stopped:
                return False
        return True

    @property
    def steps(self) -> int:
        """How many steps of all trainings are made."""
        return len(self.results) * self.settings.steps + (0 if self._state is None else self._state["step"])

    @property
    def trained_on(self) -> int:
        """How many hidden tokens the first seed's head is trained on."""
        return len(HeadData.split(self.arrays, self.settings.seed).train)

    def _save(self) -> None:
        said = json.dumps({
            "digest": self.digest, "settings": asdict(self.settings),
            "results": [asdict(result) for result in self.results],
        })  # fmt: skip
        weights = None if self.weights is None else self.weights.to_bytes()
        with replacing(self.checkpoint) as file:
            torch.save({"said": said, "weights": weights, "state": self._state}, file)

    def resume(self) -> None:
        """Continue from the checkpoint.

        Raises:
            CheckpointError: it is of another training, or damaged.
            OSError: it can't be read.
        """
        try:
            saved = torch.load(self.checkpoint, weights_only=True)
            said = json.loads(saved["said"])
            results = [_result(entry) for entry in said["results"]]
            weights = HeadWeights.from_bytes(saved["weights"]) if saved["weights"] else None
        except OSError:
            raise
        except Exception as error:  # for a damaged file, the reader raises almost any type
            raise CheckpointError(f"{self.checkpoint.name} is not a checkpoint of a head, or damaged.") from error
        if (said["digest"], said["settings"]) != (self.digest, asdict(self.settings)):
            raise CheckpointError("this checkpoint is of another training: of other texts or settings")
        self.results, self.weights, self._state = results, weights, saved["state"]


def _resume(trainer: Trainer, state: dict[str, Any]) -> None:
    try:
        trainer.resume(state)
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError("this checkpoint is damaged") from error


def _result(entry: dict[str, Any]) -> SeedResult:
    return SeedResult(entry["seed"], *(Score(**entry[name]) for name in entry if name != "seed"))


def score_of(logits_of: Callable[[Tensor], Tensor], states: Tensor, tokens: Tensor) -> Score:
    """Measure how well hidden tokens are named.

    Args:
        logits_of: returns the logits, (n, V), of states, (n, C).
        states: (N, C), float.
        tokens: (N,), the ids of the hidden tokens.

    Raises:
        ValueError: there are none.
    """
    if not len(tokens):
        raise ValueError("there is no hidden token to measure on")
    first, five, loss = 0, 0, 0.0
    with torch.inference_mode():
        for rows, right in zip(states.split(256), tokens.split(256), strict=True):
            logits = logits_of(rows)
            best = logits.topk(5).indices
            first += int((best[:, 0] == right).sum())
            five += int((best == right[:, None]).any(dim=1).sum())
            loss += float(functional.cross_entropy(logits, right, reduction="sum"))
    count = len(tokens)
    return Score(count, first / count, five / count, float(torch.tensor(loss / count).exp()))


def score_alone(model: PretrainedModel, sentences: Sequence[str], counts: Callable[[int], bool]) -> Score:
    """Measure a model with a head on sentences in which each token is hidden alone.

    Args:
        model: one that can fill blanks.
        sentences: the sentences.
        counts: whether a token id is hidden and counts.
    """
    ranks: list[int] = []
    losses: list[float] = []
    for sentence in sentences:
        tokens = model.tokenize(sentence)
        for place in maskable(model, tokens):
            if counts(tokens.ids[place]):
                blanks = fill(model, tokens, [place], kept=1)
                ranks += [rank for rank in blanks.true_rank if rank is not None]
                losses += [-math.log(part) for part in blanks.true_probability if part is not None]
    count = len(ranks)
    return Score(
        count, sum(rank == 1 for rank in ranks) / count, sum(rank <= 5 for rank in ranks) / count,
        math.exp(sum(losses) / count),
    )  # fmt: skip


def are_words(model: BuiltInModel) -> Tensor:
    """Return, for each token of the vocabulary, whether it has a letter or a digit and is no special token, (V,)."""
    tokenizer = model.tokenizer
    return torch.tensor([
        re.search(r"[^\W_]", tokenizer.piece(token)) is not None and not tokenizer.is_special(token)
        for token in range(len(tokenizer))
    ])  # fmt: skip
