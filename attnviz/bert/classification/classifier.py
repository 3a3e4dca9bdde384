"""The vectors that a frozen model computes for texts, and a linear layer on them: plan, probabilities, arithmetic.

Shapes: N texts, T tokens, C features (the model's width), K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from attnviz.bert.classification.examples import Examples
from attnviz.bert.encoding import hidden_states
from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.toy.language.config import LinearConfig
from attnviz.training.plan import LabelledVectors, Plan
from attnviz.training.settings import VECTORS, TrainingSettings

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel


How = Literal["mean", "cls"]
"""mean: over all tokens, including [CLS] and [SEP], as all-MiniLM-L6-v2 was trained. cls: the vector of [CLS]"""
AT_ONCE = 32
"""Texts whose hidden states are in memory at the same time"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pooled(ShortRepr, ArraysSize):
    """The vectors of N texts, in both ways."""

    cls: Tensor
    """(N, C): the last hidden state of [CLS]"""
    mean: Tensor
    """(N, C): the mean of the last hidden states of all tokens"""
    cut: int = 0
    """How many texts were truncated, if there was a limit"""

    def features(self, how: How, *, tanh: bool) -> Tensor:
        """Return the features, (N, C); with the hyperbolic tangent of each number if `tanh`."""
        vectors = self.cls if how == "cls" else self.mean
        return vectors.tanh() if tanh else vectors


def pool(model: BuiltInModel, texts: Sequence[str], progress: Callable[[int], object] | None = None) -> Pooled:
    """Run the frozen model on texts, and keep one vector of each, in both ways.

    Args:
        model: the built-in model.
        texts: N texts; those longer than the model takes are cut.
        progress: called with the number of texts that are done.
    """
    for step in pool_in_steps(model, texts):
        if isinstance(step, Pooled):
            return step
        if progress is not None:
            progress(step)
    raise AssertionError("the last step is the result")


def pool_in_steps(
    model: BuiltInModel, texts: Sequence[str], max_tokens: int | None = None, at_once: int = AT_ONCE
) -> Iterator[int | Pooled]:
    """Do what `pool` does in steps of `at_once` texts: yields how many are done after each, and finally the vectors.

    The caller may do other work between two steps, or stop.

    Args:
        model: the built-in model.
        texts: N texts.
        max_tokens: longer texts are cut; None means as many as the model takes.
        at_once: texts in a step.
    """
    cls, mean = (torch.empty(len(texts), model.description.width) for _ in range(2))
    cut = 0
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # texts of about the same length together
    for first in range(0, len(texts), at_once):
        places = order[first : first + at_once]
        states = hidden_states(model, [texts[place] for place in places], max_tokens=max_tokens)
        for place, hidden in zip(places, states, strict=True):
            cls[place], mean[place] = hidden[0], hidden.mean(0)
            cut += len(hidden) == max_tokens and len(model.tokenize(texts[place])) > len(hidden)
        yield first + len(places)
    yield Pooled(cls, mean, cut)


BATCH = 32
"""Texts in a training step"""
STEPS, RATE = 200, 0.003
SHOWN_TERMS = 4
"""The products of a logit that are written out; the others are summed"""
"""The defaults of a training"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classifier(ShortRepr):
    """A trained linear layer and the features that it reads."""

    weight: Tensor
    """(K, C)"""
    bias: Tensor
    """(K,)"""
    labels: tuple[str, ...]
    how: How
    tanh: bool

    def features(self, pooled: Pooled) -> Tensor:
        """Return the features that it reads from texts, (N, C)."""
        return pooled.features(self.how, tanh=self.tanh)

    def logits(self, pooled: Pooled) -> Tensor:
        """Return features @ weightᵀ + bias, (N, K)."""
        return self.features(pooled) @ self.weight.T + self.bias

    def probabilities(self, pooled: Pooled) -> Tensor:
        """Return the softmax of the logits, (N, K)."""
        return self.logits(pooled).softmax(-1)


@dataclass(frozen=True, slots=True)
class Terms:
    """One logit, written as a sum."""

    places: tuple[int, ...]
    """The features with the largest products in magnitude, in descending order"""
    features: tuple[float, ...]
    weights: tuple[float, ...]
    rest: float
    """The sum of all other products"""
    others: int
    """The number of other products"""
    bias: float
    logit: float


def terms(classifier: Classifier, features: Tensor, label: int) -> Terms:
    """Return the arithmetic of one class's logit for one text's features, (C,), with the largest products."""
    weight = classifier.weight[label]
    products = features * weight
    order = products.abs().argsort(descending=True, stable=True)
    shown, others = order[:SHOWN_TERMS], order[SHOWN_TERMS:]
    bias = float(classifier.bias[label])
    return Terms(
        tuple(shown.tolist()), tuple(features[shown].tolist()), tuple(weight[shown].tolist()),
        float(products[others].sum()), len(others), bias, float(products.sum()) + bias,
    )  # fmt: skip


def plan_of(classes: int, width: int, *, steps: int = STEPS, rate: float = RATE, seed: int = 0) -> Plan:
    """Return the training of a linear layer, (C, K), with AdamW. The seed determines split, weights and order."""
    settings = TrainingSettings(steps=steps, batch=BATCH, learning_rate=rate, warm_up=0, seed=seed)
    return Plan(VECTORS, LinearConfig(width, classes), settings)


def vectors_of(examples: Examples, pooled: Pooled, how: How, *, tanh: bool) -> LabelledVectors:
    """Return the features of texts with their classes, as training data."""
    return LabelledVectors(pooled.features(how, tanh=tanh).contiguous().numpy().copy(), examples.classes)


def classifier_of(layer: torch.nn.Module, examples: Examples, how: How, *, tanh: bool) -> Classifier:
    """Return a trained `nn.Linear` with its kind of features and its classes."""
    weights = {name: tensor.detach().float().clone() for name, tensor in layer.state_dict().items()}
    return Classifier(weights["weight"], weights["bias"], examples.labels, how, tanh)
