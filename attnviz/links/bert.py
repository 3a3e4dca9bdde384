"""The keys of a link to the page BERT at work."""

from __future__ import annotations

from attnviz.links.values import Key, one_of, read_off, write_heads

BERT_PARTS = (
    "configuration", "back", "language", "subsets", "classifier", "agent", "search", "blank", "without",
)  # fmt: skip
"""The parts of the page, in its order"""

BERT_KEYS: dict[str, Key] = {
    "bert_part": Key(BERT_PARTS[0], one_of(*BERT_PARTS)),
    "off": Key(((5, 11),), read_off, write_heads),
    "off_by": Key("zero", one_of("zero", "mean")),
    "off_view": Key("tokens", one_of("tokens", "measures", "table", "classifier", "search")),
    "off_measure": Key("largest", one_of("largest", "words", "entropy", "distance", "norm")),
}
