"""An agent's last layer: four numbers, the largest of which chooses the action.

A teaching example, not a medical device.

Shapes: T tokens, C model width, K actions, N held-out reports.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnviz.bert.classification.classifier import Classifier
from attnviz.bert.classification.examples import ACTIONS
from attnviz.bert.classification.outcome import Outcome
from attnviz.reprs import ShortRepr

ASK = ACTIONS.index("ask")
TITLES = ("increase the dose", "decrease the dose", "stop the treatment", "ask a human")
"""What the actions do, in order of their numbers"""
MOVES = ("up", "right", "down", "left")
"""A game's actions, in order of their numbers: the same shape of output"""
REVIEW = "https://clinic.example/review"
"""Where a report for a human would go. It is an example: names that end in .example are reserved for these
(RFC 2606). Nothing is sent."""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("change_dose", {"steps": 1}), ("change_dose", {"steps": -1}), ("stop_treatment", {}),
    ("ask_human", {"to": REVIEW}),
)  # fmt: skip
"""The function that each action would call, and its arguments"""


@dataclass(frozen=True, slots=True)
class Decision:
    """The action that is taken on one report."""

    action: int
    """The number of the action that is taken"""
    likeliest: int
    """The number of the action that the last layer finds likeliest"""
    confidence: float
    """Its probability"""

    @property
    def is_handed_over(self) -> bool:
        """Whether a human is asked although the last layer has chosen another action."""
        return self.action != self.likeliest


def decide(probabilities: Sequence[float], threshold: float) -> Decision:
    """Choose the likeliest action; below the threshold always ask a human."""
    likeliest = int(np.argmax(probabilities))
    confidence = float(probabilities[likeliest])
    return Decision(ASK if confidence < threshold else likeliest, likeliest, confidence)


def message(action: int, report: str, decision: Decision | None = None) -> str:
    """Return the message that an action would send, as JSON: the function's name and its arguments.

    A human who is asked gets the report, the likeliest action and its probability, at an address.
    """
    name, arguments = CALLS[action]
    if action == ASK:
        arguments = {**arguments, "report": report}
        if decision is not None:
            arguments |= {"likeliest": TITLES[decision.likeliest], "confidence": round(decision.confidence, 3)}
    return json.dumps({"action": action, "call": name, "arguments": arguments}, ensure_ascii=False)


@dataclass(frozen=True, slots=True, eq=False)
class Selective:
    """The share of reports that the agent decides itself at each threshold, and how many of these it gets wrong.

    Coverage and selective risk as in El-Yaniv and Wiener (2010), On the foundations of noise-free selective
    classification, JMLR 11, 1605-1641.
    """

    thresholds: NDArray[np.float64]
    coverage: NDArray[np.float64]
    """The share of reports whose likeliest action has at least this probability"""
    error: NDArray[np.float64]
    """The share of these whose likeliest action is wrong; nan if there are no such reports"""


def selective(outcome: Outcome, thresholds: Sequence[float]) -> Selective:
    """Return coverage and error on held-out reports at each threshold."""
    limits = np.asarray(thresholds, np.float64)
    kept = outcome.confidence.astype(np.float64) >= limits[:, None]  # (thresholds, N)
    counts, wrong = kept.sum(-1), (kept & ~outcome.is_right).sum(-1)
    error = np.full(len(limits), np.nan)
    np.divide(wrong, counts, out=error, where=counts > 0)
    return Selective(limits, counts / len(outcome.rows), error)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OverPositions(ShortRepr):
    """The mistake: applying the last layer at each position, and taking a maximum over the positions."""

    logits: Tensor
    """(T, K): four numbers at each token"""
    positions: tuple[int, ...]
    """(K,): for each action, the token with its largest number: positions, not actions"""
    place: int
    """The index of the largest number in the flattened matrix, from 0 to T · K − 1"""


def over_positions(classifier: Classifier, hidden: Tensor) -> OverPositions:
    """Apply the last layer to each token's hidden state, (T, C), and take the maximum over the tokens."""
    features = hidden.tanh() if classifier.tanh else hidden
    with torch.no_grad():
        logits = features @ classifier.weight.T + classifier.bias
    return OverPositions(logits, tuple(logits.argmax(0).tolist()), int(logits.argmax()))
