"""The words and colours that mean the same everywhere: in links, on figures, in formulas and in prose."""

from __future__ import annotations

from dataclasses import dataclass

STEPS = {
    "tokens": "Tokens",
    "embeddings": "Embeddings",
    "qkv": "Q, K, V",
    "scores": "Scores",
    "scaled": "Scaled",
    "masked": "Masked",
    "weights": "Weights",
    "head_outputs": "Head outputs",
    "concat": "Concat",
    "output": "Output",
}
"""The steps in order: the name in links and code, the name on screen."""

MEASURES = ("entropy", "distance", "previous", "next", "same", "first", "cls", "sep", "punctuation")
"""The measures of a head, by their names in links and code. A text or a model may lack some: see `attnviz.measures`."""


@dataclass(frozen=True, slots=True)
class Ink:
    """The colours of the four roles. They stay apart for colour-blind readers."""

    query: str
    key: str
    value: str
    attention: str


LIGHT_INK = Ink("#0072B2", "#D55E00", "#009E73", "#5E3C99")
DARK_INK = Ink("#6CBDF0", "#FF9D5C", "#3FD0A4", "#BDA6EE")
"""The same hues, light enough to be read on a dark ground"""


def number(value: float, digits: int = 2) -> str:
    """Write a number as it stands on the screen: a true minus sign, no negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")
