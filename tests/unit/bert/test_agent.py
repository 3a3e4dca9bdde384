"""What the agent does with four probabilities: act, or ask a human; and how often it is right where it acts."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from attnviz.bert.agent import ASK, CALLS, MOVES, REVIEW, Decision, decide, message, over_positions, selective
from attnviz.bert.classification.classifier import Classifier
from attnviz.bert.classification.outcome import Outcome
from attnviz.bert.encoding import AT_ONCE, places_by_length


@pytest.mark.parametrize(
    ("probabilities", "threshold", "decision", "handed_over"),
    [
        ((0.1, 0.7, 0.15, 0.05), 0.5, (1, 1), False), ((0.1, 0.7, 0.15, 0.05), 0.7, (1, 1), False),
        ((0.1, 0.7, 0.15, 0.05), 0.71, (ASK, 1), True), ((0.1, 0.2, 0.3, 0.4), 0.9, (ASK, ASK), False),
        ((0.1, 0.2, 0.3, 0.4), 0.1, (ASK, ASK), False), ((0.25, 0.25, 0.25, 0.25), 0, (0, 0), False),
    ],
)  # fmt: skip
def test_below_the_threshold_a_human_is_asked(
    probabilities: tuple[float, ...], threshold: float, decision: tuple[int, int], handed_over: bool
) -> None:
    found = decide(probabilities, threshold)
    assert (found.action, found.likeliest) == decision
    assert found.confidence == max(probabilities)
    assert found.is_handed_over is handed_over


def test_an_action_is_a_call_and_a_human_gets_the_report() -> None:
    report = "é “says” <b>"
    for action in range(3):
        name, arguments = CALLS[action]
        assert json.loads(message(action, report)) == {"action": action, "call": name, "arguments": arguments}
    assert [json.loads(message(action, report))["arguments"] for action in (0, 1)] == [{"steps": 1}, {"steps": -1}]
    asked = json.loads(message(ASK, report, Decision(ASK, 1, 0.45678)))
    assert asked["arguments"] == {
        "to": REVIEW, "report": report, "likeliest": "decrease the dose", "confidence": 0.457,
    }  # fmt: skip
    assert json.loads(message(ASK, report))["arguments"] == {"to": REVIEW, "report": report}
    assert report in message(ASK, report).replace('\\"', '"'), "readable, not in escapes"
    assert MOVES == ("up", "right", "down", "left")


def test_coverage_and_error_by_hand() -> None:
    """Five reports, likeliest at 0.5, 0.6, 0.75, 0.9 and 0.9; the first and the fourth are wrong."""
    likeliest = np.array([0.5, 0.625, 0.75, 0.875, 0.875])
    probabilities = np.stack([likeliest, 1 - likeliest], axis=1).astype(np.float32)
    outcome = Outcome((3, 8, 9, 11, 20), np.array([1, 0, 0, 1, 0]), probabilities)
    found = selective(outcome, (0.0, 0.5, 0.51, 0.75, 0.875, 0.9))
    np.testing.assert_allclose(found.coverage, [1, 1, 0.8, 0.6, 0.4, 0])
    np.testing.assert_allclose(found.error, [2 / 5, 2 / 5, 1 / 4, 1 / 3, 1 / 2, np.nan])
    np.testing.assert_allclose(selective(outcome, (0.75,)).coverage, [0.6])


@pytest.mark.parametrize("tanh", [False, True])
def test_the_mistake_takes_the_maximum_over_tokens(tanh: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    weight, bias, hidden = (torch.randn(shape, generator=generator) for shape in ((3, 6), (3,), (5, 6)))
    classifier = Classifier(weight, bias, ("a", "b", "c"), "mean", tanh)
    found = over_positions(classifier, hidden)
    expected = torch.nn.functional.linear(hidden.tanh() if tanh else hidden, weight, bias)
    torch.testing.assert_close(found.logits, expected)
    columns = [[float(row[action]) for row in expected] for action in range(3)]
    assert found.positions == tuple(column.index(max(column)) for column in columns)
    flat = [value for row in expected.tolist() for value in row]
    assert found.place == flat.index(max(flat))


def test_batches_are_of_the_longest_first_and_stay_within_memory() -> None:
    assert list(places_by_length([3, 9, 9, 1, 5], 12, 2)) == [[1, 2], [4, 0], [3]]
    assert list(places_by_length([], 12, 2)) == []
    long = 256  # tokens: 12 heads have 786,432 weights
    assert AT_ONCE // (12 * long**2) == 2
    assert [len(one) for one in places_by_length([long] * 5, 12, 32)] == [2, 2, 1]
    assert [len(one) for one in places_by_length([long, *[4] * 5], 12, 3)] == [2, 3, 1]
    assert [len(one) for one in places_by_length([5000] * 2, 12, 32)] == [1, 1], "one at a time, whatever its length"
    with pytest.raises(ValueError, match=r"^a batch of 0 texts: there must be at least 1$"):
        next(places_by_length([1], 12, 0))
