"""The keys of a link to the page BERT at work."""

from __future__ import annotations

from attnviz.links.classification import CLASSIFICATION_KEYS
from attnviz.links.values import INDEX, Key, one_of, read_off, read_switch, short, whole, write_heads, write_switch

BERT_PARTS = (
    "configuration", "back", "language", "subsets", "classifier", "agent", "search", "without", "blank",
)  # fmt: skip
"""The parts of the page, in its order"""

SUBSETS = (1, 2, 3, 4, 6, 8, 12)
"""How many parts an embedding may be cut into: they divide the width of the built-in model, 384"""
QUERY, MAX_QUERY, MAX_HITS = "The software stopped working.", 200, 30
"""What the built-in sentences are searched for at first; the most characters of a query, and rows of a ranking"""
MAX_BLOCKS, MAX_KEPT = 6, 20
"""The most blocks of the first language model, and tokens that are listed for a blank"""


def _read_subsets(raw: str) -> int:
    """Parse the number of parts of an embedding."""
    return int(one_of(*map(str, SUBSETS))(raw))


MAX_PIECE = 40
"""The maximum length in characters of what is searched in the vocabulary"""

BERT_KEYS: dict[str, Key] = {
    "bert_part": Key(BERT_PARTS[0], one_of(*BERT_PARTS)),
    "back_weights": Key("tied", one_of("tied", "random")),
    "back_unit": Key(False, read_switch, write_switch),
    "back_scale": Key("1", one_of("1", "10", "100")),
    "back_view": Key("each", one_of("each", "one", "near", "bias", "targets")),
    "back_piece": Key("", short(MAX_PIECE)),
    "lm_blocks": Key(2, whole(1, MAX_BLOCKS)),
    "lm_mask": Key(True, read_switch, write_switch),
    "lm_x": Key("tokens", one_of("tokens", "embeddings")),
    "lm_block": Key(0, INDEX),
    "subset_heads": Key(4, _read_subsets),
    "find": Key(QUERY, short(MAX_QUERY)),
    "find_view": Key("ranking", one_of("ranking", "tokens", "map")),
    "hits": Key(6, whole(1, MAX_HITS)),
    "hit": Key(None, INDEX),
    "blank_at": Key(None, INDEX),
    "blank_kept": Key(5, whole(1, MAX_KEPT)),
    "off": Key(((5, 11),), read_off, write_heads),
    "off_by": Key("zero", one_of("zero", "mean")),
    "off_view": Key("tokens", one_of("tokens", "measures", "table", "classifier", "search")),
    "off_measure": Key("largest", one_of("largest", "words", "entropy", "distance", "norm")),
    **CLASSIFICATION_KEYS,
}
