"""Reprs in a notebook: one short line with names and shapes, for every value that holds tensors."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from reprlib import repr as shortened
from typing import Any

import numpy as np
import torch

import attnviz
from attnviz.attention import Mask
from attnviz.pretrained import load
from attnviz.reprs import ArraysSize, ShortRepr
from attnviz.tokens import CharVocab
from attnviz.toy.block import Toy
from attnviz.toy.config import ToyConfig

TEXT = "The animal didn't cross the street because it was too tired."
PARTS = ("attention", "trace", "tokens", "toy", "pretrained", "measures", "compare", "sources")


def test_a_trace_says_its_model_tokens_layers_and_heads() -> None:
    assert repr(attnviz.trace(TEXT)) == "Trace(minilm, 16 tokens, 6 layers x 12 heads)"
    assert repr(Toy(ToyConfig(), CharVocab.from_text("abc").tokenize).trace("abc")).startswith("Trace(toy, seed ")


def test_values_say_names_and_shapes() -> None:
    model = load("minilm")
    trace = model.trace(TEXT, "It slept.")
    n, layer = len(trace.tokens), trace.layer(0)
    assert repr(model) == "BuiltInModel(minilm, 6 layers x 12 heads)"
    assert repr(model.description) == "Description(minilm, 6 layers x 12 heads, width 384, head_size 32)"
    assert repr(trace.tokens) == f"Tokens(minilm, {n} tokens, {shortened(TEXT)}, 'It slept.')"
    assert repr(layer) == f"LayerTrace(12 heads, {n} x {n} tokens, head_size 32, mask none)"
    weights = "BlockWeights(384 to 1536 and back, gelu)"
    assert repr(trace.block(0)) == f"Block(attention {layer!r}, after_attention, weights {weights})"
    assert repr(layer.output_projection) == "LinearMap(weight (384, 384), bias (384,))"
    assert repr(Mask.causal(3)) == "Mask(kind 'causal', cells (3, 3), value -inf, fills 'scaled')"
    cells = "".join(f", {name} ({n}, {n})" for name in ("scaled", "masked", "weights"))
    wide = f"query ({n}, 32), key ({n}, 32), value ({n}, 32), scale 0.1768"
    assert repr(trace.head(0, 0)) == f"AttentionSteps({wide}{cells}, head_outputs ({n}, 32))"
    assert repr(model.run((101, 102), (0, 0), None)) == "Pass(calls [6], hidden (2, 384))"


def values() -> Iterator[Any]:
    """Yield one value of each kind."""
    model = load("minilm")
    for text in ("word " * 600, "\n" * 9 + "\0" + "é" * 9):
        trace = model.trace(text)
        run = model.run(trace.tokens.ids, trace.tokens.segments, None)
        walk = trace.walk(1, 1)
        yield from (model, trace, trace.tokens, trace.layer(0), trace.block(0), trace.block(0).steps(), walk)
        yield from (walk.steps, run, run.calls[0], model.blocks[0], trace.layer(0).output_projection)
        yield from (trace.layer(0).projections or {}).values()
        yield from (Mask.causal(600), model.description)


def test_every_repr_is_one_short_line() -> None:
    for value in values():
        said = repr(value)
        assert said.startswith(f"{type(value).__name__}(")
        assert len(said) <= 300, said
        assert said.isprintable(), said


def test_no_value_with_tensors_prints_them() -> None:
    names = [
        module.name
        for part in PARTS
        for module in pkgutil.walk_packages(attnviz.__path__, "attnviz.")
        if module.name == f"attnviz.{part}" or module.name.startswith(f"attnviz.{part}.")
    ]
    found = {
        kind
        for name in names
        for kind in vars(importlib.import_module(name)).values()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__.startswith("attnviz.")
    }
    holders = {
        kind
        for kind in found
        if any(any(word in str(field.type) for word in ("Tensor", "Floats")) for field in dataclasses.fields(kind))
    }
    assert len(holders) > 10
    prints = {kind.__name__ for kind in holders if kind.__repr__ is not ShortRepr.__repr__}
    assert prints == {"Measure", "Recorder"}  # a function on tensors; the record while a pass runs


@dataclasses.dataclass(frozen=True, slots=True)
class Inner(ArraysSize):
    numbers: torch.Tensor


@dataclasses.dataclass(frozen=True, slots=True)
class Outer(ShortRepr, ArraysSize):
    name: str
    rows: np.ndarray[Any, Any] | None
    several: tuple[torch.Tensor, ...]
    inner: Inner
    places: tuple[int, ...] = (1, 2, 3)


def test_a_size_is_that_of_all_arrays() -> None:
    inner, several = Inner(torch.zeros(2, 3)), (torch.zeros(5), torch.zeros(1, dtype=torch.float64))
    assert inner.nbytes == 24
    assert Outer("a", np.zeros(7, np.uint8), several, inner).nbytes == 7 + 20 + 8 + 24
    assert Outer("a", None, (), inner).nbytes == 24
