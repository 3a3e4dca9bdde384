"""The keys of a link to the page BERT at work."""

from __future__ import annotations

from attnviz.links.values import Key, one_of

BERT_PARTS = (
    "configuration", "back", "language", "subsets", "classifier", "agent", "search", "blank", "without",
)  # fmt: skip
"""The parts of the page, in its order"""

BERT_KEYS: dict[str, Key] = {
    "bert_part": Key(BERT_PARTS[0], one_of(*BERT_PARTS)),
}
