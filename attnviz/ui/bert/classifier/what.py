"""What is learned on the frozen model: a classifier of reviews, or an agent's last layer. Both are shown alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class What:
    """One of the two."""

    name: str
    """Of what ships: see `attnviz.bert.classification.shipped.NAMES`"""
    view_key: str
    """The link key of what is shown of it"""
    text_key: str
    """The link key of the text that a user types"""
    one: str
    """What a text is called"""
    several: str
    titles: Mapping[str, str]
    """What can be shown of it: titles by the names in links"""
    takes_files: bool
    """Whether a user may bring texts of other classes"""


CLASSIFIER = What(
    "classifier", "class_view", "sentence", "sentence", "reviews",
    MappingProxyType(
        {"result": "Result", "sentence": "Your sentence", "wrong": "What it gets wrong", "seeds": "Five seeds"}
    ),
    takes_files=True,
)  # fmt: skip
AGENT = What(
    "agent", "agent_view", "report", "report", "reports",
    MappingProxyType({
        "sentence": "Your report", "result": "Result", "wrong": "Mistakes", "seeds": "Five seeds",
        "threshold": "Ask a human", "positions": "Pool first",
    }),
    takes_files=False,
)  # fmt: skip
