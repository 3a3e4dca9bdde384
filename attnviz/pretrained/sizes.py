"""Checks that a model's configuration matches the size of its weights file.

A configuration with ten billion layers, or a table of a terabyte, would exhaust the server's memory while transformers
builds the model. So its numbers are checked before transformers reads it, and the model is first built without memory,
on torch's meta device.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from transformers.initialization import no_init_weights

from attnviz.pretrained.names import UnfitError

MAX_JSON = 4 * 2**20
"""The largest JSON file such as a configuration, in bytes; those of well-known models have a few thousand."""
MAX_TOKENIZER = 128 * 2**20
"""The largest tokenizer or index of files, in bytes; a tokenizer with 260,000 entries has 34 MB."""
MAX_HEADER = 100 * 10**6
"""The largest header of a safetensors file, in bytes, as the format defines it."""
MAX_SIZE = 2**20
"""The largest width or vocabulary; the largest known vocabularies have a quarter of it."""
MAX_NUMBER = 2**24
"""The largest other number; some models state a context of ten million tokens."""
SLACK, SPARE = 4, 2**24
"""A model may have SLACK times the numbers in its file (shared weights) plus SPARE (poolers, tables of positions)."""

_COUNT = re.compile(r"layer|group|block|expert|stage|depth|inner_group", re.IGNORECASE)
_SIZE = re.compile(r"size|dim|width|hidden|embd|channel|labels|(^|_)(d|n|num|vocab)_|_(heads?|ffn)$", re.IGNORECASE)
_LENGTH = re.compile(r"position|length|window|context|ctx|seq|token", re.IGNORECASE)
_NO_SIZE = re.compile(r"theta|base|freq|param|total|seed|(^|_)ids?$", re.IGNORECASE)


class SizeError(UnfitError):
    """A configuration is larger than the model's files."""

    def __init__(self, clause: str) -> None:
        """Take a clause about the configuration or its file."""
        super().__init__(f"is too large: {clause}")


def check_numbers(folder: Path) -> None:
    """Check the numbers in a folder's config.json. Each layer has a weight, so there are at most as many layers.

    Raises:
        SizeError: a number is larger than in any model, or a JSON file is too large.
        OSError, ValueError, RecursionError: config.json is missing or not valid JSON.
    """
    for file in folder.glob("*.json"):
        limit = MAX_TOKENIZER if re.search("token|vocab|index", file.name) else MAX_JSON
        if file.stat().st_size > limit:
            raise SizeError(f"its {file.name[-40:]} has more than {limit / 2**20:.0f} MB")
    weights = sum(len(shapes(file)) for file in folder.glob("*.safetensors"))
    for name, number in _numbers(json.loads((folder / "config.json").read_bytes())):
        if number > _limit(name, weights):
            raise SizeError(f"its {name[:40]} is {_short(number)}, and its file holds {weights:,} weights")


def check_model(folder: Path, config: Any, auto_class: Any) -> Any:
    """Build the model on torch's meta device, which allocates no memory, count its numbers, and return it.

    Args:
        folder: the model's files.
        config: its configuration.
        auto_class: the class of transformers that builds it, such as AutoModel.

    Raises:
        SizeError: the model has more numbers than the folder's weights, beyond SLACK and SPARE.
    """
    with torch.device("meta"), no_init_weights():
        model = auto_class.from_config(config, trust_remote_code=False)
    stored = sum(math.prod(shape) for file in folder.glob("*.safetensors") for shape in shapes(file).values())
    required = sum(tensor.numel() for tensor in chain(model.parameters(), model.buffers()))
    if required > SLACK * stored + SPARE:
        raise SizeError(f"its configuration asks for {required:.3g} numbers, and its file holds {stored:.3g}")
    return model


def shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor from the header of a safetensors file; empty if the header can't be read.

    Such a file is refused later, with a better message, when its weights are loaded. Shapes larger than the file are
    left out.
    """
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > MAX_HEADER:
                return {}
            header = json.loads(opened.read(length))
        data_bytes = file.stat().st_size - length
        found = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
        return {
            name: tuple(shape)
            for name, shape in found.items()
            if all(isinstance(side, int) and side >= 0 for side in shape) and math.prod(shape) <= 2 * data_bytes
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _limit(name: str, weights: int) -> float:
    """Return the largest allowed value of a setting with this name in a model with this number of weight tensors."""
    if _NO_SIZE.search(name):
        return math.inf
    if _LENGTH.search(name):
        return MAX_NUMBER
    if _COUNT.search(name) and not name.endswith(("size", "dim")):
        return weights
    return MAX_SIZE if _SIZE.search(name) else MAX_NUMBER


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Yield the integers of a configuration, each with its own key or that of its list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, name)
    elif isinstance(value, int):  # a switch too, which is 0 or 1
        yield name, value


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "a quadrillion or more"
