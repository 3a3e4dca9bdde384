"""The keys of a link to the classifier and the agent of the page BERT at work."""

from __future__ import annotations

from attnviz.links.values import Key, Number, Switch, Text, Whole, one_of

MAX_SENTENCE = 4000
"""The most characters of a sentence that is classified: some 800 words, more than the model takes"""
MAX_CLASS_STEPS = 2000
SENTENCE = "The acting is superb and the ending moved me to tears."
REPORT = "Since the dose was raised she feels dizzy every morning and can hardly eat."

CLASSIFICATION_KEYS: dict[str, Key] = {
    "features": Key(
        "mean",
        one_of("mean", "cls"),
        "classifier and agent: what the linear layer sees of a text, the mean over its tokens or the vector of [CLS]",
    ),
    "tanh": Key(False, Switch(), "whether it sees the hyperbolic tangent of each of these numbers"),
    "class_steps": Key(
        200, Whole(1, MAX_CLASS_STEPS), "steps of its training; the seed of split, first weights and order is `seed`"
    ),
    "class_rate": Key(0.003, Number(10, decimals=None), "its learning rate"),
    "class_view": Key(
        "result",
        one_of("result", "sentence", "wrong", "seeds"),
        "what is shown of the classifier: its result, one sentence, what it gets wrong, or five seeds "
        "beside the baselines. A user's own file is in no link: a link opens the built-in reviews",
    ),
    "sentence": Key(SENTENCE, Text(MAX_SENTENCE), "the sentence that is classified"),
    "cls_head": Key(
        None,
        Whole(0, 11),
        "the head of the last layer whose attention from [CLS] is shown beside the mean over all heads",
    ),
    "agent_view": Key(
        "sentence",
        one_of("sentence", "result", "wrong", "seeds", "threshold", "positions"),
        "what is shown of the agent: one report, the result, what it gets wrong, five seeds, coverage and "
        "error at each threshold, or the mistake of a maximum over positions",
    ),
    "report": Key(REPORT, Text(MAX_SENTENCE), "the report on which it acts"),
    "confidence": Key(0.5, Number(1), "the threshold: below this probability it asks a human"),
}
