"""The keys of a link to the page Train."""

from __future__ import annotations

from attnviz.links.values import Integer, Key, Name, Number, Switch, Text, one_of, titled
from attnviz.toy.config import MAX_HEADS, MAX_LAYERS, MAX_WIDTH, MIN_WIDTH
from attnviz.training.series import CHARACTERS, SERIES
from attnviz.training.settings import MOST_STEPS

MAX_SAMPLE, MOST_BATCH = 200, 4096
"""Maximum characters of the text for a model in training; maximum sequences a step"""
MAX_PROMPT, MAX_LENGTH = 1000, 300
"""Maximum characters of a prompt, and of the text generated from it"""
MOST_BLOCK = 128
"""The largest block size of a model trained on a text"""
MOST_TEXT = 5 * 2**20
"""Maximum characters of a text to train on"""

RECORDED = ("recorded", "control")
"""The trainings that ship with the app, by name in links: a task's own model, and its control"""

MAX_DROPOUT, MAX_TEMPERATURE = 0.9, 2
"""The largest dropout, and the highest temperature of a draw"""
TEXT_MODELS = "`chargpt`, a training on a text of this visit such as `run-2`, or a model that was opened from a file"

OF_A_SUBJECT = ("sample", "run", "watch", "snapshot", "q", "k")
"""The keys whose values belong to one task or part, and do not fit another"""

TRAIN_KEYS: dict[str, Key] = {
    "train_part": Key(
        "task",
        titled({"task": "Train on a task", "text": "Train on a text", "generate": "Generate"}),
        "the part: training on a task in which a head forms, training on a text, or generating text with a trained "
        "model",
    ),
    "rung": Key(
        "",
        one_of(*(stage.name for stage in SERIES)),
        "the selected model of the series, by its last part; without it, the one trained last",
    ),
    "text_view": Key(
        "ladder",
        one_of("ladder", "table", "loss", "data"),
        "for a training on a text: the models, the table of pairs, one loss written out, or the text as data",
    ),
    "train_block": Key(
        None, Integer(1, MOST_BLOCK), "the block size of all models trained on a text; without it, each stage's own"
    ),
    "cut": Key(
        "blocks",
        titled(
            blocks="blocks at random places", chunks="chunks of lines, with an end token", plain="a plain cut of lines"
        ),
        "how a text is cut into sequences: blocks at random places, or within lines, in overlapping chunks or in "
        "plain cuts",
    ),
    "text_from": Key(
        None,
        Integer(0, MOST_TEXT),
        "the character, counted from 0, at which the part of the text to train on begins; without it, the first",
    ),
    "text_to": Key(None, Integer(0, MOST_TEXT), "the character before which it ends; without it, the end of the text"),
    "task": Key(
        "induction",
        Name("the name of a task", "a task, such as `induction`", r"[a-z_]{1,30}"),
        "the task to learn; for one that does not exist, the first is shown, with a note",
    ),
    "sample": Key("", Text(MAX_SAMPLE), "the text whose attention is shown; without it, the task's first example"),
    "steps": Key(
        None,
        Integer(1, MOST_STEPS),
        "steps of training; for this and the keys up to `train_width`, the default is the task's own value "
        "or, on a text, the model's",
    ),
    "batch": Key(None, Integer(1, MOST_BATCH), "sequences a step"),
    "rate": Key(None, Number(10, decimals=None), "the learning rate"),
    "warm_up": Key(None, Integer(0, MOST_STEPS), "steps over which the learning rate rises from 0"),
    "decay": Key(None, titled({"none": "none", "cosine": "cosine"}), "how the learning rate falls after that"),
    "optimiser": Key(None, titled({"adamw": "AdamW", "sgd": "SGD", "muon": "Muon"}), "the optimiser"),
    "weight_decay": Key(None, Number(1), "weight decay of the matrices"),
    "train_dropout": Key(None, Number(MAX_DROPOUT), "dropout in training"),
    "train_layers": Key(None, Integer(0, MAX_LAYERS), "layers of the model"),
    "train_heads": Key(None, Integer(1, MAX_HEADS), "heads of each layer, which must divide the width"),
    "train_width": Key(None, Integer(MIN_WIDTH, MAX_WIDTH), "the width C of the model"),
    "watch": Key(
        "",
        Name(
            "a head such as decoder.1.0", "a head, such as `decoder.1.0`", r"(encoder|decoder|cross)\.\d{1,2}\.\d{1,2}"
        ),
        "the head that is shown large: kind of attention, layer, head; without it, the one that scores "
        "highest on the task's pattern",
    ),
    "run": Key(
        "",
        one_of(*RECORDED),
        "the recorded training of the task or of its control, if they ship; without it, the visitor's "
        "newest training, if there is one",
    ),
    "snapshot": Key(
        None,
        Integer(0, MOST_STEPS),
        "after how many steps, or the nearest snapshot to that; without it, the newest one",
    ),
    "text_model": Key(
        CHARACTERS,
        Name("the name of a model that generates text", TEXT_MODELS, r"[a-z0-9-]{1,40}"),
        "the model that generates text; if it no longer exists, the first is used, with a note",
    ),
    "prompt": Key("", Text(MAX_PROMPT), "the text that it continues; without it, a prompt that fits the model"),
    "halves": Key(
        False,
        Switch(),
        "whether it gets only the first half of the text, and the true second half is shown beside the generated one",
    ),
    "length": Key(120, Integer(1, MAX_LENGTH), "how many characters are generated"),
    "temperature": Key(0.8, Number(MAX_TEMPERATURE, decimals=2), "divides the logits; 0 is greedy"),
    "top_k": Key(0, Integer(0, 10_000), "how many of the likeliest characters can be drawn; 0 means all"),
    "top_p": Key(
        1.0, Number(1), "only the fewest likeliest characters that together have this probability can be drawn"
    ),
    "cache": Key(True, Switch(), "whether keys and values are kept; the text is the same"),
    "drawn": Key(None, Integer(0, MAX_LENGTH - 1), "which of the drawn characters is shown; without it, the last"),
    "panel": Key(
        "draw",
        one_of("draw", "seeds", "cache", "half"),
        "what is shown below the text: how the character was drawn, another seed's text, what the cache "
        "saves, or the true other half",
    ),
}
