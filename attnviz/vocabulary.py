"""The words and colours that mean the same everywhere: in links, on figures, in formulas and in prose."""

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

QUERY, KEY, VALUE, ATTENTION = "#0072B2", "#D55E00", "#009E73", "#5E3C99"
"""Colours that stay apart for colour-blind readers."""


def number(value: float, digits: int = 2) -> str:
    """Write a number as it stands on the screen: a true minus sign, no negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")
