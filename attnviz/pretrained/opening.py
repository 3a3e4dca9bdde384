"""Loads a model with transformers from a folder, the local cache or the hub. Safetensors only; runs no model code."""

from __future__ import annotations

import copy
import os
import re
import socket
from fnmatch import fnmatch
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

# Otherwise transformers asks the hub to convert models without safetensors, in the background.
os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")

import huggingface_hub
import torch
from torch import nn
from transformers import AutoConfig, AutoTokenizer
from transformers.initialization import no_init_weights
from transformers.utils import logging

from attnviz.pretrained.configuration import auto_class
from attnviz.pretrained.names import ModelError, UnfitError, attempt, check_tokenizer, local_folder, shown
from attnviz.pretrained.own_code import implementation_of
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.pretrained.unfit import OWN_CODE, check_configuration, check_kind, check_model, check_numbers, in_its_place

logging.set_verbosity_error()
logging.disable_progress_bar()

MAX_DOWNLOAD = 4 * 2**30
"""The largest download from the hub, in bytes, so that a mistyped name can't fill the disk."""

NO_SAFETENSORS = "{name} has no safetensors weights; other formats can run code when opened, so they are refused."

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip

_FILES = ["*.safetensors", "*.json", "*.txt", "*.model"]

_loading = Lock()
"""While transformers loads a model, it replaces functions of torch and of its own, and restores them at the end. Two
loads at the same time would restore each other's replacements, permanently."""


def find_folder(name: str) -> Path:
    """Return the folder with a model's files; download them if they are not on this machine.

    Raises:
        ModelError: see `load`.
    """
    if any(character in name for character in ("\0", "\n")) or not name:
        raise ModelError("A model needs a name: minilm, a name on the Hugging Face hub, or a folder.")
    folder = local_folder(name)
    if folder is not None:
        return folder
    if not _HUB_NAME.fullmatch(name) or ".." in name:
        raise ModelError(f"“{shown(name)}” is neither a folder here nor a name on the Hugging Face hub, such as gpt2.")
    return _from_cache(name) or _from_hub(name)


def open_folder(folder: Path, name: str) -> TransformersModel:
    """Load the model in a folder, in float32, with the project's attention function.

    Raises:
        ModelError: see `load`.
    """
    display_name = shown(name)
    if not any(folder.glob("*.safetensors")):
        raise ModelError(NO_SAFETENSORS.format(name=display_name))
    attempt(lambda: check_numbers(folder), display_name, "configuration")
    with _loading:
        config = attempt(
            lambda: AutoConfig.from_pretrained(folder, trust_remote_code=False), display_name, "configuration"
        )
        attempt(lambda: _check_architecture(folder, config), display_name, "configuration")
        if not any((folder / file).is_file() for file in TOKENIZER_FILES):  # transformers would create an empty one
            raise ModelError(f"{display_name} has no tokenizer among its files; choose another model.")
        tokenizer: Any = attempt(
            lambda: AutoTokenizer.from_pretrained(folder, trust_remote_code=False), display_name, "tokenizer"
        )
        check_tokenizer(tokenizer, display_name)
        model = _read_weights(folder, config, display_name)
    return attempt(lambda: TransformersModel(model, tokenizer, name), display_name, "attention")


def _check_architecture(folder: Path, config: Any) -> None:
    """Check, without allocating weights, that a model can be shown and that its size fits its files.

    Raises:
        UnfitError: a check fails.
    """
    check_configuration(config)
    check_kind(check_model(folder, config, auto_class(config)))
    try:
        with torch.device("meta"), no_init_weights():
            auto_class(config).from_config(
                copy.deepcopy(config), trust_remote_code=False, attn_implementation=implementation_of(config)
            )
    except KeyError as error:  # the model's class does not support registered attention functions
        raise UnfitError(OWN_CODE, in_its_place(config)) from error


def _read_weights(folder: Path, config: Any, display_name: str) -> nn.Module:
    """Load a model's weights as copies in memory; the language head is left out if its weights are missing.

    Raises:
        ModelError: weights are damaged, missing, not finite, or differ in shape from the configuration.
    """
    model, info = attempt(
        lambda: auto_class(config).from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            attn_implementation=implementation_of(config),
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        ),
        display_name,
        "weights",
    )
    # Weights missing in the file are initialised at random. This is acceptable only for the pooler, which is not used.
    all_missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
    prefix = "" if model is model.base_model else f"{model.base_model_prefix}."
    missing = [key for key in all_missing if key.startswith(prefix)]
    if missing:
        raise ModelError(
            f"{display_name}'s file lacks {len(missing)} of the model's weights ({missing[0]}): it is refused."
        )
    if all_missing:  # only weights of the language head
        model = model.base_model
    for tensor in (*model.parameters(), *model.buffers()):
        # The loaded weights are memory-mapped from the file. If the file is overwritten while the app runs, the weights
        # change; if it is truncated, the server process dies with a bus error.
        tensor.data = tensor.data.clone()
    for key, weight in model.named_parameters():
        if weight.numel() and not all(bool(end.isfinite()) for end in weight.aminmax()):
            raise ModelError(f"{display_name}'s weights hold numbers that are not finite ({key}), so it is refused.")
    loaded: nn.Module = model
    return loaded


def _from_cache(name: str) -> Path | None:
    try:
        folder = Path(huggingface_hub.snapshot_download(name, allow_patterns=_FILES, local_files_only=True))
    except Exception:  # not in the cache; the library raises various types
        return None
    return folder if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")) else None


def _from_hub(name: str) -> Path:
    if not _is_hub_reachable():
        raise ModelError(f"{shown(name)} is not on this machine and the hub can't be reached; connect, or use minilm.")
    try:
        files = huggingface_hub.model_info(name, files_metadata=True).siblings or []
        wanted = [file for file in files if any(fnmatch(file.rfilename, kind) for kind in _FILES)]
        if not any(file.rfilename.endswith(".safetensors") for file in wanted):
            raise ModelError(NO_SAFETENSORS.format(name=shown(name)))
        size, most = (count / 2**30 for count in (sum(file.size or 0 for file in wanted), MAX_DOWNLOAD))
        if size > most:
            raise ModelError(f"{shown(name)} has {size:.0f} GB; attnviz fetches at most {most:.0f} GB.")
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=_FILES))
    except ModelError:
        raise
    except Exception as error:  # no such model, no access, a broken connection, a full disk
        raise ModelError(f"{shown(name)} can't be fetched from the hub; check the name and the connection.") from error


def _is_hub_reachable() -> bool:
    """Return whether the hub accepts a connection within two seconds; huggingface_hub would retry for over twenty."""
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        return False
    hub = urlsplit(huggingface_hub.constants.ENDPOINT)
    port = hub.port or (80 if hub.scheme == "http" else 443)
    try:
        socket.create_connection((hub.hostname or "", port), timeout=2).close()
    except OSError:
        return False
    return True
