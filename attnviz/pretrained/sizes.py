"""Whether a model is as large as it says: its configuration against what its weights' file holds.

A configuration is a few lines of text. One that asks for ten thousand million layers, or for a table of a terabyte,
would end the server while transformers makes room for it. So its numbers are read before transformers reads them, and
the model is built once without memory before it is built with any.
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
from transformers import AutoModel
from transformers.initialization import no_init_weights

MAX_JSON = 4 * 2**20
"""Bytes of a JSON file such as a configuration, at most; those of well-known models have some thousand."""
MAX_TOKENIZER = 128 * 2**20
"""The same for a tokenizer or an index of files; a tokenizer of 260,000 pieces has 34 MB."""
MAX_HEADER = 100 * 10**6
"""Bytes of the header of a safetensors file, at most: the format's own limit."""
MAX_SIZE = 2**20
"""What a width or a vocabulary may be, at most; the largest vocabularies have a quarter of it."""
MAX_NUMBER = 2**24
"""What any other number may be, at most: some models are said to read ten million tokens."""
SLACK, SPARE = 4, 2**24
"""How often each weight of the file may be used, and how many more may be made: poolers, and tables of positions."""

_COUNT = re.compile(r"layer|group|block|expert|stage|depth|inner_group", re.IGNORECASE)
_SIZE = re.compile(r"size|dim|width|hidden|embd|channel|labels|(^|_)(d|n|num|vocab)_|_(heads?|ffn)$", re.IGNORECASE)
_LENGTH = re.compile(r"position|length|window|context|ctx|seq|token", re.IGNORECASE)
_NO_SIZE = re.compile(r"theta|base|freq|param|total|seed|(^|_)ids?$", re.IGNORECASE)


class SizeError(ValueError):
    """A model that asks for more than its files hold. The message is a clause for the user."""


def check_numbers(folder: Path) -> None:
    """Check the numbers of a folder's config.json. Each layer holds a weight, so no more layers than weights.

    Raises:
        SizeError: a number beyond every model's, or a JSON file too long to be what its name says.
        OSError, ValueError, RecursionError: a file that is not there, or is none.
    """
    for file in folder.glob("*.json"):
        most = MAX_TOKENIZER if re.search("token|vocab|index", file.name) else MAX_JSON
        if file.stat().st_size > most:
            raise SizeError(f"its {file.name[-40:]} has more than {most / 2**20:.0f} MB")
    weights = sum(len(shapes(file)) for file in folder.glob("*.safetensors"))
    for name, number in _numbers(json.loads((folder / "config.json").read_bytes())):
        if number > _most(name, weights):
            raise SizeError(f"its {name[:40]} is {_short(number)}, and its file holds {weights:,} weights")


def check_model(folder: Path, config: Any) -> None:
    """Build the model on torch's meta device, which takes no memory, and count what it would hold.

    Raises:
        SizeError: more numbers than the folder's weights hold, with some slack.
    """
    with torch.device("meta"), no_init_weights():
        model = AutoModel.from_config(config, trust_remote_code=False)
    held = sum(math.prod(shape) for file in folder.glob("*.safetensors") for shape in shapes(file).values())
    asked = sum(tensor.numel() for tensor in chain(model.parameters(), model.buffers()))
    if asked > SLACK * held + SPARE:
        raise SizeError(f"its configuration asks for {asked:.3g} numbers, and its file holds {held:.3g}")


def shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor of a safetensors file from its header; none where that can't be read.

    Such a file is refused when its weights are read, and with more to say. A shape that the file is too short for
    counts for nothing.
    """
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > MAX_HEADER:
                return {}
            header = json.loads(opened.read(length))
        room = file.stat().st_size - length
        found = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
        return {
            name: tuple(shape)
            for name, shape in found.items()
            if all(isinstance(side, int) and side >= 0 for side in shape) and math.prod(shape) <= 2 * room
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _most(name: str, weights: int) -> float:
    """Return how large a number of this name may be in a model of so many weights."""
    if _NO_SIZE.search(name):
        return math.inf
    if _LENGTH.search(name):
        return MAX_NUMBER
    if _COUNT.search(name) and not name.endswith(("size", "dim")):
        return weights
    return MAX_SIZE if _SIZE.search(name) else MAX_NUMBER


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Go through all whole numbers of a configuration, each with the name that it, or its list, stands under."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield name, value


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "beyond all measure"
