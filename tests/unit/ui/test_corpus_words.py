"""Labels and measures over a corpus are called as on the text: after the special tokens of the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from attnviz.measures.summary import choose_measures
from attnviz.tokens import Tokens
from attnviz.ui.heads.state import LABELS, words_for


def survey_of(pieces: tuple[str, ...]) -> Any:
    """Return what is asked of a survey of these tokens."""
    n = len(pieces)
    special = tuple(piece.startswith("<") for piece in pieces)
    places = tuple((number, number + 1) for number in range(n))
    tokens = Tokens("x" * n, None, pieces, tuple(range(n)), places, (0,) * n, special, (False,) * n, 0, 9, "some")
    return SimpleNamespace(measures=choose_measures(n, tokens, same_text=True, causal=False))


def test_a_model_with_other_special_tokens() -> None:
    words = words_for(survey_of(("<s>", "a", "b", "</s>")))
    assert words.labels["cls"] == words.linked["cls"] == "attends to <s>"
    assert words.labels["sep"] == "attends to </s>"
    assert words.axis("cls") == "weight to <s>" and words.axis("entropy") == "entropy, bits"
    assert words.labels["broad"] != words.linked["broad"] == "broad"


def test_a_text_without_them_has_the_usual_words() -> None:
    assert words_for(survey_of(("a", "b"))).labels == LABELS
