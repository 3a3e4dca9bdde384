"""The keys of a link to the classifier and the agent of the page BERT at work."""

from __future__ import annotations

from attnviz.links.values import Key, one_of, read_fraction, read_switch, read_up_to_10, short, whole, write_switch

MAX_SENTENCE = 4000
"""The most characters of a sentence that is classified: some 800 words, more than the model takes"""
MAX_CLASS_STEPS = 2000
SENTENCE = "The acting is superb and the ending moved me to tears."
REPORT = "Since the dose was raised she feels dizzy every morning and can hardly eat."

CLASSIFICATION_KEYS: dict[str, Key] = {
    "features": Key("mean", one_of("mean", "cls")),
    "tanh": Key(False, read_switch, write_switch),
    "class_steps": Key(200, whole(1, MAX_CLASS_STEPS)),
    "class_rate": Key(0.003, read_up_to_10, "{:g}".format),
    "class_view": Key("result", one_of("result", "sentence", "wrong", "seeds")),
    "sentence": Key(SENTENCE, short(MAX_SENTENCE)),
    "cls_head": Key(None, whole(0, 11)),
    "agent_view": Key("sentence", one_of("sentence", "result", "wrong", "seeds", "threshold", "positions")),
    "report": Key(REPORT, short(MAX_SENTENCE)),
    "confidence": Key(0.5, read_fraction, "{:g}".format),
}
