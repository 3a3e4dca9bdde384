"""The keys of a link to the page Train."""

from __future__ import annotations

from typing import get_args

from attnviz.links.values import (
    Key,
    one_of,
    read_dropout,
    read_fraction,
    read_name,
    read_switch,
    read_temperature,
    read_text_model,
    read_up_to_10,
    read_watched,
    short,
    whole,
    write_switch,
)
from attnviz.toy.config import MAX_HEADS, MAX_WIDTH, MIN_WIDTH
from attnviz.toy.transformer.config import MAX_LAYERS
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

TRAIN_KEYS: dict[str, Key] = {
    "train_part": Key("task", one_of("task", "text", "generate")),
    "rung": Key("", one_of(*(stage.name for stage in SERIES))),
    "text_view": Key("ladder", one_of("ladder", "table", "loss", "data")),
    "train_block": Key(None, whole(1, MOST_BLOCK)),
    "cut": Key("blocks", one_of(*CUTS)),
    "text_from": Key(None, whole(0, MOST_TEXT)),
    "text_to": Key(None, whole(0, MOST_TEXT)),
    "task": Key("induction", read_name),
    "sample": Key("", short(MAX_SAMPLE)),
    "steps": Key(None, whole(1, MOST_STEPS)),
    "batch": Key(None, whole(1, MOST_BATCH)),
    "rate": Key(None, read_up_to_10, "{:g}".format),
    "warm_up": Key(None, whole(0, MOST_STEPS)),
    "decay": Key(None, one_of(*get_args(Decay))),
    "optimiser": Key(None, one_of(*get_args(Optimiser))),
    "weight_decay": Key(None, read_fraction, "{:g}".format),
    "train_dropout": Key(None, read_dropout, "{:g}".format),
    "train_layers": Key(None, whole(0, MAX_LAYERS)),
    "train_heads": Key(None, whole(1, MAX_HEADS)),
    "train_width": Key(None, whole(MIN_WIDTH, MAX_WIDTH)),
    "watch": Key("", read_watched),
    "run": Key("", one_of(*RECORDED)),
    "snapshot": Key(None, whole(0, MOST_STEPS)),
    "text_model": Key("chargpt", read_text_model),
    "prompt": Key("", short(MAX_PROMPT)),
    "halves": Key(False, read_switch, write_switch),
    "length": Key(120, whole(1, MAX_LENGTH)),
    "temperature": Key(0.8, read_temperature, "{:g}".format),
    "top_k": Key(0, whole(0, 10_000)),
    "top_p": Key(1.0, read_fraction, "{:g}".format),
    "cache": Key(True, read_switch, write_switch),
    "drawn": Key(None, whole(0, MAX_LENGTH - 1)),
    "panel": Key("draw", one_of("draw", "seeds", "cache", "half")),
}
