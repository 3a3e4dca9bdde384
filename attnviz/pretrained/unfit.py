"""Models of transformers that can't be shown at all: what each does otherwise, and what to open in its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn
from transformers import EncoderDecoderConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from attnviz.pretrained.names import UnfitError

MODALITIES = {"image": "pictures", "video": "videos", "audio": "sound", "time": "series of measurements"}
"""What a model reads, by transformers' name for it"""
TEXT_MODEL = "open a model that reads text, such as bert-base-uncased"
JOINED = "joins two models, an encoder and a decoder, that can be shown by themselves only"
OWN_CODE = "computes its attention in code of its own, which gives no queries, keys and values to record"
NO_ATTENTION = "has no layer in which tokens attend to each other"
MORE_THAN_TEXT = "does not run on the tokens of a text alone"
NO_HIDDEN = "gives no vector for each token of a text"


def check_configuration(config: Any) -> None:
    """Check that a configuration is that of one model.

    Raises:
        UnfitError: it joins two.
    """
    if isinstance(config, EncoderDecoderConfig):
        raise UnfitError(JOINED, "open one of the two, or t5-small, which has both in one model")


def check_kind(model: Any) -> None:
    """Check that a model of transformers reads a text.

    Raises:
        UnfitError: it reads something else.
    """
    if model.main_input_name == "input_ids":
        return
    kinds = model.input_modalities
    reads = joined(MODALITIES[kind] for kind in ((kinds,) if isinstance(kinds, str) else kinds) if kind in MODALITIES)
    raise UnfitError(f"reads {reads or 'other input than tokens'}, not a text alone", TEXT_MODEL)


def without_calls(model: Any) -> UnfitError:
    """Return why a model's pass can't be recorded: it did not call transformers' registered attention function."""
    attends = any("attention" in type(module).__name__.lower() for module in model.modules())
    return UnfitError(OWN_CODE if attends else NO_ATTENTION, in_its_place(model.config))


def in_its_place(config: Any) -> str:
    """Return which model of the same kind can be shown, as the clause of a sentence."""
    if config.is_encoder_decoder:
        return "open t5-small, which has an encoder and a decoder too"
    if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "open gpt2, which continues a text too"
    return "open bert-base-uncased, which encodes a text too"


def rows_of_embeddings(models: Iterable[nn.Module]) -> int | None:
    """Return how many token ids the first of these models with an embedding layer takes; None if none has one."""
    for model in models:
        try:
            weight = model.get_input_embeddings().weight  # type: ignore[operator]
        except (AttributeError, NotImplementedError):
            continue
        return int(weight.shape[0])
    return None


def joined(words: Iterable[str]) -> str:
    """Return words joined for a sentence: "pictures, videos and sound"."""
    *others, last = [*words] or [""]
    return f"{', '.join(others)} and {last}" if others else last
