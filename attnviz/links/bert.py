"""The keys of a link to the page BERT at work."""

from __future__ import annotations

from attnviz.links.classification import CLASSIFICATION_KEYS
from attnviz.links.values import HeadsOff, Index, Key, OneOf, Switch, Text, Whole, one_of

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


MAX_PIECE = 40
"""The maximum length in characters of what is searched in the vocabulary"""

BERT_KEYS: dict[str, Key] = {
    "bert_part": Key(
        BERT_PARTS[0],
        one_of(*BERT_PARTS),
        "the part: the model's configuration, embeddings and back, a first language model, heads on "
        "subsets of the embedding, a classifier, an agent, search by meaning, fill the blank, or the "
        "model without some heads",
    ),
    "back_weights": Key(
        "tied",
        one_of("tied", "random"),
        "there and back: the model's embedding table at both ends, or random weights at each",
    ),
    "back_unit": Key(False, Switch(), "there and back: the rows of the table divided by their lengths"),
    "back_scale": Key(
        "1", one_of("1", "10", "100"), "there and back: what the logits are multiplied by before the softmax"
    ),
    "back_view": Key(
        "each",
        one_of("each", "one", "near", "bias", "targets"),
        "there and back: what comes back of each token, one token written out, the nearest neighbours in "
        "the table, what the output layer favours by its bias, or what the targets decide",
    ),
    "back_piece": Key(
        "", Text(MAX_PIECE), "there and back: a piece of the vocabulary whose neighbours are shown in its place"
    ),
    "lm_blocks": Key(
        2, Whole(1, MAX_BLOCKS), "a first language model: its blocks of attention without parameters and a linear layer"
    ),
    "lm_mask": Key(True, Switch(), "whether they have the causal mask"),
    "lm_x": Key(
        "tokens",
        one_of("tokens", "embeddings"),
        "what they begin with: rows of the embedding matrix, or the model's whole embeddings, with "
        "positions and normalised",
    ),
    "lm_block": Key(0, Index(), "the block whose attention is shown"),
    "subset_heads": Key(
        4,
        OneOf(lambda: map(str, SUBSETS), {}, int),
        "heads on subsets of the embedding: the parts into which its columns are cut",
    ),
    "find": Key(
        QUERY,
        Text(MAX_QUERY),
        "search by meaning: the query. The text that is searched is in no link: a link opens the built-in sentences",
    ),
    "find_view": Key(
        "ranking",
        one_of("ranking", "tokens", "map"),
        "what is shown of the search: the ranking by meaning beside the one by words, the tokens of query "
        "and hit, or all sentences in the plane",
    ),
    "hits": Key(6, Whole(1, MAX_HITS), "how many sentences of each ranking are listed"),
    "hit": Key(None, Index(), "the sentence of the text that is looked at; without it, the best hit"),
    "blank_at": Key(
        None,
        Index(),
        "fill the blank: the token that is masked beside the masks of the text; without it, in a text "
        "without a mask, the last word",
    ),
    "blank_kept": Key(5, Whole(1, MAX_KEPT), "how many of the likeliest tokens are listed"),
    "off": Key(((5, 11),), HeadsOff(), "the heads that are switched off: layer and head; empty for none"),
    "off_by": Key(
        "zero",
        one_of("zero", "mean"),
        "what stands in place of what they put out: 0, or their mean over the reference sentences",
    ),
    "off_view": Key(
        "tokens",
        one_of("tokens", "measures", "table", "classifier", "search"),
        "what is shown of it: the output embeddings, effects beside a measure of attention, a table of "
        "all heads, the classifier, or the search",
    ),
    "off_measure": Key(
        "largest",
        one_of("largest", "words", "entropy", "distance", "norm"),
        "the measure of attention beside which the effects of all heads stand",
    ),
    **CLASSIFICATION_KEYS,
}
