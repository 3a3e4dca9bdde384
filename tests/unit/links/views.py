"""Random views: a strategy for the values of each key, from what its registration says that it takes."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from attnviz.links.link import DEFAULT_TEXT, KEYS
from attnviz.links.values import MAX_NUMBER, Heads, HeadsOff, Integer, Key, Name, Number, OneOf, Scale, Switch, Text

DEFAULTS: dict[str, Any] = {
    "train_part": "task",
    "rung": "",
    "text_view": "ladder",
    "train_block": None,
    "cut": "blocks",
    "text_from": None,
    "text_to": None,
    "task": "induction",
    "sample": "",
    "steps": None,
    "batch": None,
    "rate": None,
    "warm_up": None,
    "decay": None,
    "optimiser": None,
    "weight_decay": None,
    "train_dropout": None,
    "train_layers": None,
    "train_heads": None,
    "train_width": None,
    "watch": "",
    "run": "",
    "snapshot": None,
    "text_model": "chargpt",
    "prompt": "",
    "halves": False,
    "length": 120,
    "temperature": 0.8,
    "top_k": 0,
    "top_p": 1.0,
    "cache": True,
    "drawn": None,
    "panel": "draw",
    "bert_part": "configuration",
    "back_weights": "tied",
    "back_unit": False,
    "back_scale": "1",
    "back_view": "each",
    "back_piece": "",
    "lm_blocks": 2,
    "lm_mask": True,
    "lm_x": "tokens",
    "lm_block": 0,
    "subset_heads": 4,
    "features": "mean",
    "tanh": False,
    "class_steps": 200,
    "class_rate": 0.003,
    "class_view": "result",
    "sentence": "The acting is superb and the ending moved me to tears.",
    "cls_head": None,
    "agent_view": "sentence",
    "report": "Since the dose was raised she feels dizzy every morning and can hardly eat.",
    "confidence": 0.5,
    "find": "The software stopped working.",
    "find_view": "ranking",
    "hits": 6,
    "hit": None,
    "blank_at": None,
    "blank_kept": 5,
    "off": ((5, 11),),
    "off_by": "zero",
    "off_view": "tokens",
    "off_measure": "largest",
    "text": DEFAULT_TEXT,
    "pair": "",
    "source": "toy",
    "model": "minilm",
    "kind": "encoder",
    "layer": 0,
    "head": 0,
    "step": "scores",
    "q": None,
    "k": None,
    "tokenizer": "word",
    "charset": "shakespeare",
    "positions": "sinusoidal",
    "qkv": "linear",
    "heads": 2,
    "kv_heads": None,
    "head_size": 8,
    "scale": "sqrt_d",
    "mask": "none",
    "padding": 0,
    "mask_value": "-inf",
    "cap": None,
    "sink": None,
    "window": None,
    "qk_norm": False,
    "model_width": 16,
    "embedding": "normal",
    **dict.fromkeys(("std_q", "std_k", "std_v")),
    "projection_bias": False,
    "projection": True,
    "seed": 0,
    "architecture": "encoder",
    "depth": 2,
    "decoder_depth": None,
    "width": 32,
    "feed_forward": None,
    "norm": "post",
    "activation": "relu",
    "bias": True,
    "block": 0,
    "part": "embeddings",
    "stretch": "0",
    "limit": None,
    "drawing": "stage",
    "focus": "",
    "predict": False,
    "dim": False,
    "why": False,
    "play": False,
    "way": "loop",
    "block_size": 8,
    "chosen": (),
    "rollout": False,
    "show": "both",
    "direction": "vertical",
    "threshold": 0.05,
    "strongest": 0,
    "special": "keep",
    "between": "all",
    "values": "weights",
    "mean": False,
    "sort": "",
    "label": "",
    "more": None,
    "over": "text",
    "corpus": "",
    "corpus_view": "measures",
    "corpus_measure": None,
    "recompute": None,
    "check": None,
    "other": "cat",
    "pads": 4,
    "dropout": 0.1,
    "draw": 0,
    "over_all": False,
    "mistake": "maps",
    "answer": True,
    "compare": "",
    "quantity": "weights",
    "lecture": False,
    "lesson": "",
    "scene": 1,
    "b_text": "",
    **dict.fromkeys(("b_source", "b_model", "b_kind", "b_layer", "b_head", "b_scale", "b_mask")),
}
"""The value of each key that a link does not say"""

WORDS = {
    "source": "toy pretrained trained",
    "kind": "encoder decoder cross",
    "step": "tokens embeddings qkv normed rotated scores scaled capped biased masked weights head_outputs concat "
    "output",
    "tokenizer": "word char bert",
    "charset": "shakespeare text file",
    "positions": "none sinusoidal lab random rotary alibi buckets",
    "qkv": "linear identity positions",
    "mask": "none causal",
    "mask_value": "-inf -1e10 -1e10_before",
    "embedding": "normal uniform",
    "architecture": "encoder decoder both",
    "norm": "post pre",
    "activation": "relu gelu gelu_tanh",
    "stretch": "0 1 off",
    "drawing": "stage chart",
    "way": "loop matrix softmax data",
    "show": "both lines heatmap",
    "direction": "vertical horizontal",
    "special": "keep hide renormalise",
    "between": "all aa ab ba bb",
    "values": "weights norms",
    "sort": "entropy distance previous next same first cls sep punctuation",
    "recompute": "loop past",
    "check": "overview token norm positions change padding dropout lens parameters cost mistake",
    "mistake": "maps fill cross relu norm width mask sum same",
    "more": "table off measures care",
    "over": "text corpus",
    "corpus_view": "measures distribution positions parts alike examples heads",
    "corpus_measure": "entropy distance previous next same first cls sep punctuation",
    "compare": "same",
    "quantity": "scores scaled capped biased masked weights",
    "train_part": "task text generate",
    "rung": "bigram head heads feed_forward residual norm gpt gru",
    "text_view": "ladder table loss data",
    "cut": "blocks chunks plain",
    "decay": "none cosine",
    "optimiser": "adamw sgd muon",
    "run": "recorded control",
    "panel": "draw seeds cache half",
    "bert_part": "configuration back language subsets classifier agent search without blank",
    "back_weights": "tied random",
    "back_scale": "1 10 100",
    "back_view": "each one near bias targets",
    "lm_x": "tokens embeddings",
    "subset_heads": "1 2 3 4 6 8 12",
    "find_view": "ranking tokens map",
    "off_by": "zero mean",
    "off_view": "tokens answer measures classifier search table",
    "off_measure": "largest words entropy distance norm",
    "features": "mean cls",
    "class_view": "result sentence wrong seeds",
    "agent_view": "sentence result wrong seeds threshold positions",
}
"""The words that a link may hold: written out, so that no old link is refused by accident"""
NAMES = {
    "task": ["induction", "reverse", "no_such_task"],
    "text_model": ["chargpt", "run-1"],
    "watch": ["decoder.1.0", "encoder.0.11", "cross.12.3"],
}
"""Some names where the page alone knows which exist"""


@singledispatch
def taken(values: object) -> st.SearchStrategy[Any]:
    """Return a strategy for values that a key takes, as `read` returns them."""
    raise NotImplementedError(type(values))


@taken.register
def _(values: OneOf) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(values.by_word.values()))


@taken.register
def _(_: Switch) -> st.SearchStrategy[Any]:
    return st.booleans()


@taken.register
def _(values: Integer) -> st.SearchStrategy[Any]:
    return st.integers(values.low, values.high)


@taken.register
def _(values: Number) -> st.SearchStrategy[Any]:
    step = 10 ** (4 if values.decimals is None else values.decimals)
    small = st.sampled_from([1e-05, 3e-06]) if values.decimals is None else st.nothing()
    return st.integers(round(values.low * step), round(values.high * step)).map(lambda x: x / step) | small


@taken.register
def _(values: Text) -> st.SearchStrategy[Any]:
    return st.text(max_size=200 if values.limit is None else values.limit)


@taken.register
def _(_: Scale) -> st.SearchStrategy[Any]:
    return st.sampled_from(Scale.names) | st.floats(-MAX_NUMBER, MAX_NUMBER).map(lambda x: f"{x:g}")


@taken.register
def _(_: Heads) -> st.SearchStrategy[Any]:
    pairs = st.tuples(st.integers(0, 9999), st.integers(-1, 9999))
    return st.lists(pairs, min_size=1, max_size=24, unique=True).map(tuple)


@taken.register
def _(_: HeadsOff) -> st.SearchStrategy[Any]:
    return st.sets(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=72).map(lambda off: tuple(sorted(off)))


def values_of(name: str, key: Key) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a key in a view: its default, and what it takes."""
    if isinstance(key.values, Name):
        names = NAMES[name] if key.values.among is None else sorted(key.values.among())
        return st.just(key.default) | st.sampled_from(names)
    return st.just(key.default) | taken(key.values)


VALUES: dict[str, st.SearchStrategy[Any]] = {name: values_of(name, key) for name, key in KEYS.items()}
