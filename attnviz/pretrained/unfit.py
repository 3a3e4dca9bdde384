"""Models of transformers that can't be shown, or are too large: the reasons, and which model to open instead.

A configuration with ten billion layers, or a table of a terabyte, would exhaust the server's memory while transformers
builds the model. So its numbers are checked before transformers reads it, and the model is first built on torch's meta
device, which allocates no memory, until it has more parameters or modules than the headers of its files allow.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import local
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from transformers import EncoderDecoderConfig
from transformers.initialization import no_init_weights
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from attnviz.formatting import joined
from attnviz.pretrained.names import UnfitError

MODALITIES = {"image": "pictures", "video": "videos", "audio": "sound", "time": "series of measurements"}
"""Words for a model's input, by transformers' name for it"""
TEXT_MODEL = "open a model that reads text, such as bert-base-uncased"
JOINED = "joins two models, an encoder and a decoder, that can be shown by themselves only"
OWN_CODE = "computes its attention in code of its own, which gives no queries, keys and values to record"
NO_ATTENTION = "has no layer in which tokens attend to each other"
MORE_THAN_TEXT = "does not run on the tokens of a text alone"
NO_HIDDEN = "gives no vector for each token of a text"


def check_configuration(config: Any) -> None:
    """Check that a configuration is for a single model.

    Raises:
        UnfitError: it joins two models.
    """
    if isinstance(config, EncoderDecoderConfig):
        raise UnfitError(JOINED, "open one of the two, or t5-small, which has both in one model")


def check_kind(model: Any) -> None:
    """Check that a model of transformers reads text.

    Raises:
        UnfitError: it reads something else.
    """
    if model.main_input_name == "input_ids":
        return
    kinds = model.input_modalities
    reads = joined(MODALITIES[kind] for kind in ((kinds,) if isinstance(kinds, str) else kinds) if kind in MODALITIES)
    raise UnfitError(f"reads {reads or 'other input than tokens'}, not a text alone", TEXT_MODEL)


def without_calls(model: Any) -> UnfitError:
    """Return the error for a model whose pass did not call the attention function registered in transformers."""
    attends = any("attention" in type(module).__name__.lower() for module in model.modules())
    return UnfitError(OWN_CODE if attends else NO_ATTENTION, in_its_place(model.config))


def in_its_place(config: Any) -> str:
    """Return a clause that recommends a similar model which can be shown."""
    if config.is_encoder_decoder:
        return "open t5-small, which has an encoder and a decoder too"
    if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "open gpt2, which continues a text too"
    return "open bert-base-uncased, which encodes a text too"


def embeddings_of(models: Iterable[nn.Module]) -> Tensor | None:
    """Return the token embeddings, (V, C), of the first of these models that has some; None if none has.

    Of BART's decoder alone, the model with the language head knows them, and the one inside it does not.
    """
    for model in models:
        try:
            weight = model.get_input_embeddings().weight  # type: ignore[operator]
        except (AttributeError, NotImplementedError):
            continue
        if isinstance(weight, Tensor):
            return weight.detach()
    return None


MAX_JSON = 4 * 2**20
"""The largest JSON file such as a configuration, in bytes; those of well-known models have a few thousand."""
MAX_TOKENIZER = 128 * 2**20
"""The largest tokenizer or weight index file, in bytes; a tokenizer with 260,000 entries has 34 MB."""
MAX_HEADER = 100 * 10**6
"""The largest header of a safetensors file, in bytes, as the format defines it."""
MAX_SIZE = 2**20
"""The largest width or vocabulary; the largest known vocabularies are a quarter of it."""
MAX_NUMBER = 2**24
"""The largest other number; some models state a context of ten million tokens."""
MAX_LAYERS = 2**8
"""The largest number of layers or blocks that a configuration may state whatever its files hold. Some list the indices
of layers, or have settings of a part that the files don't hold."""
SLACK, SPARE = 4, 2**24
"""A model may have SLACK times the numbers in its file (shared weights) plus SPARE (poolers, position tables)."""

PARTS_A_WEIGHT, SPARE_PARTS = 8, 2**10
"""While it is built, a model may have PARTS_A_WEIGHT parameters and modules for each weight in its files, and
SPARE_PARTS more. Tiny models of all architectures have up to 6 for each weight."""
MAX_PARTS = 2**16
"""The most parameters and modules that any model may have while it is built, which takes ten seconds for as many. The
48 layers of Qwen3-30B-A3B would have 44,000 if each matrix of their 128 experts were a module."""

_COUNT = re.compile(r"layer|block|stage|depth(?!wise)", re.IGNORECASE)
_NO_COUNT = re.compile(r"(size|dim)(_|$)|multiple_of$", re.IGNORECASE)
"""Of what counts something, but is a size: Gemma 4's vocab_size_per_layer_input, LFM2's block_multiple_of"""
_SIZE = re.compile(r"size|dim|width|hidden|embd|channel|labels|(^|_)(d|n|num|vocab)_|_(heads?|ffn)$", re.IGNORECASE)
_LENGTH = re.compile(r"position|length|window|context|ctx|seq|token", re.IGNORECASE)
_NO_SIZE = re.compile(r"theta|base|freq|param|total|seed|(^|_)ids?$", re.IGNORECASE)


class SizeError(UnfitError):
    """A configuration is larger than the model's files."""

    def __init__(self, clause: str) -> None:
        """Take a clause about the configuration or its file."""
        super().__init__(f"is too large: {clause}")


def check_numbers(folder: Path) -> None:
    """Check the numbers in a folder's config.json. Each layer has weights, so it has at most as many layers as weights.

    Experts and other parts are counted by `check_model`: a configuration may state numbers of parts that the model
    lacks, such as Doge's 16,384 experts.

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
        SizeError: the model has more parameters and modules than PARTS_A_WEIGHT, SPARE_PARTS and MAX_PARTS
            allow, or more numbers than SLACK and SPARE allow.
    """
    all_shapes = [shape for file in folder.glob("*.safetensors") for shape in shapes(file).values()]
    with _few_parts(len(all_shapes)), torch.device("meta"), no_init_weights():
        model = auto_class.from_config(config, trust_remote_code=False)
    stored = sum(map(math.prod, all_shapes))
    required = sum(tensor.numel() for tensor in chain(model.parameters(), model.buffers()))
    if required > SLACK * stored + SPARE:
        raise SizeError(f"its configuration asks for {required:.3g} numbers, and its file holds {stored:.3g}")
    return model


class _Allowance(local):
    """How many more parameters and modules this thread may give to modules; each thread has its own."""

    left: float = math.inf
    clause = ""
    """Of the SizeError once none is left"""


_allowance = _Allowance()


def _count_part(*_: object) -> None:
    _allowance.left -= 1
    if _allowance.left < 0:
        raise SizeError(_allowance.clause)


# Torch calls these hooks in every thread, and a change of its tables of hooks meanwhile would be an error in that
# thread: they are registered once, and never removed.
register_module_parameter_registration_hook(_count_part)
register_module_module_registration_hook(_count_part)


@contextmanager
def _few_parts(weights: int) -> Iterator[None]:
    """Raise SizeError inside if this thread gives modules more parameters and modules than this number of weights."""
    most = min(PARTS_A_WEIGHT * weights + SPARE_PARTS, MAX_PARTS)
    _allowance.clause = f"its configuration asks for more than {most:,} parts, and its file holds {weights:,} weights"
    _allowance.left = most
    try:
        yield
    finally:
        _allowance.left = math.inf


def shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor from the header of a safetensors file; empty if the header can't be read.

    An unreadable file is refused later, with a better message, when its weights are loaded. Tensors larger than the
    file are left out, and empty ones, of which a small file can have a million.
    """
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > MAX_HEADER:
                return {}
            header = json.loads(opened.read(length))
        data_bytes = file.stat().st_size - length
        stored_shapes = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
        return {
            name: tuple(shape)
            for name, shape in stored_shapes.items()
            if all(isinstance(side, int) and side > 0 for side in shape) and math.prod(shape) <= 2 * data_bytes
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _limit(name: str, weights: int) -> float:
    """Return the largest allowed value of a setting with this name in a model with this number of weight tensors."""
    if _NO_SIZE.search(name):
        return math.inf
    if _LENGTH.search(name):
        return MAX_NUMBER
    if _COUNT.search(name) and not _NO_COUNT.search(name):
        return max(weights, MAX_LAYERS)
    return MAX_SIZE if _SIZE.search(name) else MAX_NUMBER


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Yield the integers of a configuration, each with its own key or that of its list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, name)
    elif isinstance(value, int):  # including booleans, which are 0 or 1
        yield name, value


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "a quadrillion or more"
