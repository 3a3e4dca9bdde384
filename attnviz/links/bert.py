"""The keys of a link to the page BERT at work."""

from __future__ import annotations

from attnviz.links.values import (
    INDEX,
    Key,
    choice,
    read_fraction,
    read_off,
    read_switch,
    read_up_to_10,
    short,
    whole,
    write_heads,
    write_switch,
)

SUBSETS = (1, 2, 3, 4, 6, 8, 12)
"""How many parts an embedding may be cut into: they divide the width of the built-in model, 384"""
QUERY, MAX_QUERY, MAX_HITS = "The software stopped working.", 200, 30
"""What the built-in sentences are searched for at first; the most characters of a query, and rows of a ranking"""
MAX_BLOCKS, MAX_KEPT = 6, 20
"""The most blocks of the first language model, and tokens that are listed for a blank"""
MAX_PIECE = 40
"""The maximum length in characters of what is searched in the vocabulary"""
MAX_SENTENCE = 4000
"""The most characters of a sentence that is classified: some 800 words, more than the model takes"""
MAX_CLASS_STEPS = 2000
SENTENCE = "The acting is superb and the ending moved me to tears."
REPORT = "Since the dose was raised she feels dizzy every morning and can hardly eat."

BERT_KEYS: dict[str, Key] = {
    # In the order in which the page offers its parts: last is what the built-in model can't do.
    "bert_part": choice({
        "configuration": "Configuration", "back": "There and back", "language": "Language model", "subsets": "Subsets",
        "classifier": "Classifier", "agent": "Agent", "search": "Search", "without": "Without a head",
        "blank": "Fill the blank",
    }),
    "back_weights": choice({"tied": "The model's own", "random": "Random"}),
    "back_unit": Key(False, read_switch, write_switch),
    "back_scale": choice({"1": "1", "10": "10", "100": "100"}),
    "back_view": choice({
        "each": "Each token", "one": "One token, written out", "near": "Nearest neighbours",
        "bias": "Output layer's bias", "targets": "What the targets decide",
    }),
    "back_piece": Key("", short(MAX_PIECE)),
    "lm_blocks": Key(2, whole(1, MAX_BLOCKS)),
    "lm_mask": Key(True, read_switch, write_switch),
    "lm_x": choice({"tokens": "rows of E", "embeddings": "with positions, normalised"}),
    "lm_block": Key(0, INDEX),
    "subset_heads": choice({heads: str(heads) for heads in SUBSETS}, 4),
    "find": Key(QUERY, short(MAX_QUERY)),
    "find_view": choice({"ranking": "Ranking", "tokens": "Token by token", "map": "Map"}),
    "hits": Key(6, whole(1, MAX_HITS)),
    "hit": Key(None, INDEX),
    "blank_at": Key(None, INDEX),
    "blank_kept": Key(5, whole(1, MAX_KEPT)),
    "off": Key(((5, 11),), read_off, write_heads),
    "off_by": choice({"zero": "zero", "mean": "mean"}),
    "off_view": choice({
        "tokens": "Output", "measures": "All heads", "classifier": "Classifier", "search": "Search", "table": "Table",
    }),
    "off_measure": choice({
        "largest": "largest", "words": "on words", "entropy": "entropy", "distance": "distance", "norm": "norm",
    }),
    "features": choice({"mean": "Mean of tokens", "cls": "[CLS]"}),
    "tanh": Key(False, read_switch, write_switch),
    "class_steps": Key(200, whole(1, MAX_CLASS_STEPS)),
    "class_rate": Key(0.003, read_up_to_10, "{:g}".format),
    "class_view": choice({
        "result": "Result", "sentence": "Your sentence", "wrong": "What it gets wrong", "seeds": "Five seeds",
    }),
    "sentence": Key(SENTENCE, short(MAX_SENTENCE)),
    "cls_head": Key(None, whole(0, 11)),
    "agent_view": choice({
        "sentence": "Your report", "result": "Result", "wrong": "Mistakes", "seeds": "Five seeds",
        "threshold": "Ask a human", "positions": "Pool first",
    }),
    "report": Key(REPORT, short(MAX_SENTENCE)),
    "confidence": Key(0.5, read_fraction, "{:g}".format),
}  # fmt: skip
BERT_PARTS = tuple(BERT_KEYS["bert_part"].titles)
"""The parts of the page, in its order"""
