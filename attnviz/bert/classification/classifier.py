"""The linear layer on frozen features: its plan, its probabilities, and its arithmetic with real numbers.

Shapes: N texts, C features, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.bert.classification.examples import Examples
from attnviz.bert.classification.features import How, Pooled
from attnviz.reprs import ShortRepr
from attnviz.toy.language.config import LinearConfig
from attnviz.training.labelled import LabelledVectors
from attnviz.training.plan import VECTORS, Plan
from attnviz.training.settings import TrainingSettings

BATCH = 32
"""Texts a step"""
STEPS, RATE = 200, 0.003
"""Of a training, if nothing else is said"""


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
        """Return what it reads of texts, (N, C)."""
        return pooled.features(self.how, tanh=self.tanh)

    def logits(self, pooled: Pooled) -> Tensor:
        """Return features @ weightᵀ + bias, (N, K)."""
        return self.features(pooled) @ self.weight.T + self.bias

    def probabilities(self, pooled: Pooled) -> Tensor:
        """Return the softmax of the logits, (N, K)."""
        return self.logits(pooled).softmax(-1)


@dataclass(frozen=True, slots=True)
class Terms:
    """One logit as the sum that it is."""

    places: tuple[int, ...]
    """The features with the largest products, in the order of these"""
    features: tuple[float, ...]
    weights: tuple[float, ...]
    rest: float
    """The sum of all other products"""
    others: int
    """How many these are"""
    bias: float
    logit: float


def terms(classifier: Classifier, features: Tensor, label: int, most: int = 4) -> Terms:
    """Return the arithmetic of one class's logit for one text's features, (C,), with its largest products."""
    weight = classifier.weight[label]
    products = features * weight
    order = products.abs().argsort(descending=True, stable=True)
    shown, others = order[:most], order[most:]
    bias = float(classifier.bias[label])
    return Terms(
        tuple(shown.tolist()), tuple(features[shown].tolist()), tuple(weight[shown].tolist()),
        float(products[others].sum()), len(others), bias, float(products.sum()) + bias,
    )  # fmt: skip


def plan_of(classes: int, width: int, *, steps: int = STEPS, rate: float = RATE, seed: int = 0) -> Plan:
    """Return the training of a linear layer, (C, K), with AdamW. The seed is of split, weights and order."""
    settings = TrainingSettings(steps=steps, batch=BATCH, learning_rate=rate, warm_up=0, seed=seed)
    return Plan(VECTORS, LinearConfig(width, classes), settings)


def vectors_of(examples: Examples, pooled: Pooled, how: How, *, tanh: bool) -> LabelledVectors:
    """Return the features of texts with their classes, as a training takes them."""
    return LabelledVectors(pooled.features(how, tanh=tanh).contiguous().numpy().copy(), examples.classes)


def classifier_of(layer: torch.nn.Module, examples: Examples, how: How, *, tanh: bool) -> Classifier:
    """Return a trained `nn.Linear` with what is known of its features and classes."""
    found = {name: one.detach().float().clone() for name, one in layer.state_dict().items()}
    return Classifier(found["weight"], found["bias"], examples.labels, how, tanh)
