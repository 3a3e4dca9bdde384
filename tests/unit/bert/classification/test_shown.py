"""Sentences of the classifier's views hold for numbers that no shipped layer gives."""

from __future__ import annotations

import re

import pytest
import torch

from attnviz.ui.bert.classifier.views import TypedText, softmax_of, weakness


@pytest.mark.parametrize("logits", [[1.25, -0.5, 3.0], [-4.0, -2.5], [2000.0, -3000.0, 1999.0]])
def test_a_softmax_is_torch_s_however_large_its_logits_are(logits: list[float]) -> None:
    found = TypedText("text", torch.zeros(1), torch.tensor(logits))
    said, top = softmax_of(found, "class"), max(logits)
    expected = torch.softmax(torch.tensor(logits, dtype=torch.float64), -1).max().item()
    shown = re.search(r"= ([\d.]+) / ([\d.]+) = \*\*([\d.]+)\*\*", said)
    assert shown
    assert float(shown[1]) / float(shown[2]) == pytest.approx(expected, abs=1e-3)
    assert float(shown[3]) == pytest.approx(expected, abs=1e-4)
    exponents = re.findall(r"e\^\((\S+) − \(?([^)]+)\)?\)", said)
    assert {one for _, one in exponents} == {f"{top:.3f}".replace("-", "−")} or {
        float(one.replace("−", "-").replace(",", "")) for _, one in exponents
    } == {top}
    assert len(exponents) == len(logits) + 1
    assert "changes no probability" in said


def test_no_reason_is_given_for_a_weakness_on_plain_texts() -> None:
    assert weakness("plain") == "It is weakest on “plain”."
    assert "little of what they do to each other" in weakness("irony")
