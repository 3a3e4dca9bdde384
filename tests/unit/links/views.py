"""Strategies for the value of each key: random views."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from attnviz.measures.mistakes.texts import NAMES as MISTAKES
from attnviz.sources.compared import B_KEYS
from attnviz.steps import PARTS, STEPS

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=200),
    "pair": st.text(max_size=200),
    "model": st.text(max_size=200),
    "source": st.sampled_from(["toy", "pretrained"]),
    "kind": st.sampled_from(["encoder", "decoder", "cross"]),
    "step": st.sampled_from(list(STEPS)),
    "tokenizer": st.sampled_from(["char", "word", "bert"]),
    "charset": st.sampled_from(["shakespeare", "text", "file"]),
    "positions": st.sampled_from(["none", "sinusoidal", "lab", "random"]),
    "qkv": st.sampled_from(["identity", "linear", "positions"]),
    "mask": st.sampled_from(["none", "causal"]),
    "padding": st.integers(0, 512),
    "mask_value": st.sampled_from(["-inf", "-1e10", "-1e10_before"]),
    "model_width": st.integers(8, 128),
    "projection_bias": st.booleans(),
    "recompute": st.none() | st.sampled_from(["loop", "past"]),
    "way": st.sampled_from(["loop", "matrix", "softmax", "data"]),
    "scale": st.sampled_from(["sqrt_d", "off", "sqrt_c"]) | st.floats(-1000, 1000).map(lambda x: f"{x:g}"),
    "architecture": st.sampled_from(["encoder", "decoder", "both"]),
    "depth": st.integers(1, 12),
    "width": st.integers(8, 128),
    "norm": st.sampled_from(["post", "pre"]),
    "activation": st.sampled_from(["relu", "gelu"]),
    "bias": st.booleans(),
    "block": st.integers(0, 100_000),
    "part": st.sampled_from(list(PARTS)),
    "layer": st.integers(0, 100_000),
    "head": st.integers(0, 100_000),
    "q": st.none() | st.integers(0, 100_000),
    "k": st.none() | st.integers(0, 100_000),
    "heads": st.integers(1, 8),
    "head_size": st.integers(2, 64),
    "seed": st.integers(0, 999_999),
    "block_size": st.integers(1, 64),
    "projection": st.booleans(),
    "limit": st.none() | st.integers(1, 100_000).map(lambda x: x / 100),
    "stretch": st.sampled_from(["0", "1", "off"]),
    "predict": st.booleans(),
    "chosen": st.lists(st.tuples(st.integers(0, 9999), st.integers(-1, 9999)), max_size=24, unique=True).map(tuple),
    "rollout": st.booleans(),
    "show": st.sampled_from(["both", "lines", "heatmap"]),
    "direction": st.sampled_from(["vertical", "horizontal"]),
    "threshold": st.integers(0, 10_000).map(lambda x: x / 10_000),
    "strongest": st.integers(0, 1000),
    "special": st.sampled_from(["keep", "hide", "renormalise"]),
    "between": st.sampled_from(["all", "aa", "ab", "ba", "bb"]),
    "values": st.sampled_from(["weights", "norms"]),
    "mean": st.booleans(),
    "sort": st.sampled_from(["", "entropy", "distance", "previous", "punctuation"]),
    "label": st.text(max_size=60),
    "more": st.sampled_from([None, "table", "measures", "care"]),
    "check": st.sampled_from(
        [None, "token", "norm", "positions", "change", "padding", "dropout", "lens", "parameters", "cost", "mistake"]
    ),
    "other": st.text(max_size=40),
    "pads": st.integers(1, 16),
    "dropout": st.integers(0, 9000).map(lambda x: x / 10_000),
    "draw": st.integers(0, 999),
    "over_all": st.booleans(),
    "mistake": st.sampled_from(MISTAKES),
    "answer": st.booleans(),
    "drawing": st.sampled_from(["stage", "chart"]),
    "focus": st.sampled_from(["", "query", "key_t", "weights", "W_output"]),
    "compare": st.sampled_from(["", "same"]),
    "quantity": st.sampled_from(["scores", "scaled", "masked", "weights"]),
    "lecture": st.booleans(),
    "lesson": st.text(max_size=60),
    "scene": st.integers(1, 100),
}
VALUES |= {f"b_{name}": VALUES[name] if name == "text" else st.none() | VALUES[name] for name in B_KEYS}
