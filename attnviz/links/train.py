"""The keys of a link to the page Train."""

from __future__ import annotations

from typing import get_args

from attnviz.links.values import Key, Name, Number, Switch, Text, Whole, one_of
from attnviz.toy.config import MAX_HEADS, MAX_LAYERS, MAX_WIDTH, MIN_WIDTH
from attnviz.training.series import SERIES
from attnviz.training.settings import MOST_STEPS, Decay, Optimiser
from attnviz.training.text.cut import CUTS

MAX_SAMPLE, MOST_BATCH = 200, 4096
"""The most characters that a model in training is shown, and sequences a step"""
MAX_PROMPT, MAX_LENGTH = 1000, 300
"""The most characters of a prompt and of the text that is generated from it"""
MOST_BLOCK = 128
"""The largest block size of a model that is trained on a text"""
MOST_TEXT = 5 * 2**20
"""The most characters of a text to train on"""

RECORDED = ("recorded", "control")
"""The trainings that ship with the app, by their names in links: of a task's own model, and of its control"""

MAX_DROPOUT, MAX_TEMPERATURE = 0.9, 2
"""The largest dropout, and the highest temperature of a draw"""
TEXT_MODELS = "`chargpt`, a training on a text of this visit such as `run-2`, or a model that was opened from a file"

TRAIN_KEYS: dict[str, Key] = {
    "train_part": Key(
        "task",
        one_of("task", "text", "generate"),
        "what is trained: a task in which a head forms, or a text; or text that a trained model generates",
    ),
    "rung": Key(
        "",
        one_of(*(stage.name for stage in SERIES)),
        "the rung of the ladder that is looked at; without it the one that was trained last",
    ),
    "text_view": Key(
        "ladder",
        one_of("ladder", "table", "loss", "data"),
        "of a training on a text: the ladder, the table of pairs, one loss written out, or the text as "
        "data. The text itself is in no link: a link opens the built-in corpus",
    ),
    "train_block": Key(
        None,
        Whole(1, MOST_BLOCK),
        "the block size of all models that are trained on a text; without it each rung's own",
    ),
    "cut": Key(
        "blocks",
        one_of(*CUTS),
        "how a text is cut into the sequences to train on: blocks at random places, or line by line, in "
        "chunks that overlap and end with the line end, or in plain cuts",
    ),
    "text_from": Key(
        None,
        Whole(0, MOST_TEXT),
        "the character, counted from 0, at which the part of the text begins that is trained on; without it the first",
    ),
    "text_to": Key(None, Whole(0, MOST_TEXT), "the character before which it ends; without it the end of the text"),
    "task": Key(
        "induction",
        Name("the name of a task", "a task, such as `induction`", r"[a-z_]{1,30}"),
        "what a model is to learn; one that does not exist is the first, with a note. A user's own files "
        "for `tagging` are in no link: a link opens the generated sentences",
    ),
    "sample": Key("", Text(MAX_SAMPLE), "the text whose attention is shown; without it the task's first example"),
    "steps": Key(
        None,
        Whole(1, MOST_STEPS),
        "steps of training; without this and the keys up to `train_width`, the task's own value, or the "
        "model's on a text",
    ),
    "batch": Key(None, Whole(1, MOST_BATCH), "sequences a step"),
    "rate": Key(None, Number(10, decimals=None), "the learning rate"),
    "warm_up": Key(None, Whole(0, MOST_STEPS), "steps over which the learning rate rises from 0"),
    "decay": Key(None, one_of(*get_args(Decay)), "how the learning rate falls after that"),
    "optimiser": Key(None, one_of(*get_args(Optimiser)), "the optimiser"),
    "weight_decay": Key(None, Number(1), "weight decay of the matrices"),
    "train_dropout": Key(None, Number(MAX_DROPOUT), "dropout in training"),
    "train_layers": Key(None, Whole(0, MAX_LAYERS), "layers of the model"),
    "train_heads": Key(None, Whole(1, MAX_HEADS), "heads of each layer, which must divide the width"),
    "train_width": Key(None, Whole(MIN_WIDTH, MAX_WIDTH), "the width C of the model"),
    "watch": Key(
        "",
        Name(
            "a head such as decoder.1.0", "a head, such as `decoder.1.0`", r"(encoder|decoder|cross)\.\d{1,2}\.\d{1,2}"
        ),
        "the head that is shown large: kind of attention, layer, head; without it, the one that shows the "
        "task's pattern most",
    ),
    "run": Key(
        "",
        one_of(*RECORDED),
        "the recorded training of the task, or that of its control, where they ship; without it the "
        "newest of one's own, if there is one",
    ),
    "snapshot": Key(
        None,
        Whole(0, MOST_STEPS),
        "after how many steps; without it the newest snapshot, and always the nearest that there is",
    ),
    "text_model": Key(
        "chargpt",
        Name("the name of a model that generates text", TEXT_MODELS, r"[a-z0-9-]{1,40}"),
        "the model that generates text; one that is gone is the first, with a note",
    ),
    "prompt": Key("", Text(MAX_PROMPT), "what it begins with; without it a beginning that fits the model"),
    "halves": Key(
        False,
        Switch(),
        "whether it gets the first half of the text only, and the true other half stands beside what it generates",
    ),
    "length": Key(120, Whole(1, MAX_LENGTH), "characters that are generated"),
    "temperature": Key(0.8, Number(MAX_TEMPERATURE, decimals=2), "divides the logits; 0 is greedy"),
    "top_k": Key(0, Whole(0, 10_000), "only so many of the likeliest characters can be drawn; 0 is all"),
    "top_p": Key(1.0, Number(1), "only the fewest likeliest that have this probability together"),
    "cache": Key(True, Switch(), "whether keys and values are kept; the text is the same"),
    "drawn": Key(None, Whole(0, MAX_LENGTH - 1), "which of the drawn characters is shown; without it the last"),
    "panel": Key(
        "draw",
        one_of("draw", "seeds", "cache", "half"),
        "what is shown beneath the text: how the character was drawn, another seed's text, what the cache "
        "saves, or the true other half",
    ),
}
