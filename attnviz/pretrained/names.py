"""Model names, where their files are, and the error for models that can't be used.

Imports neither torch nor transformers, nor huggingface_hub, whose import takes a second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from attnviz.tokens import repair

T = TypeVar("T")

BUILT_IN = "minilm"
MAX_SHOWN = 80
"""Maximum length of a model's name in a message. Longer names lose their beginning: the end of a path says most."""


class ModelError(ValueError):
    """A model can't be used. The message is one sentence for the user, which says what to do."""


def shown(name: str) -> str:
    """Return a model's name for a message: at most MAX_SHOWN characters, without lone surrogates."""
    name = repair(name)
    return name if len(name) <= MAX_SHOWN else f"…{name[1 - MAX_SHOWN :]}"


def check_tokenizer(tokenizer: Any, name: str) -> None:
    """Raise ModelError if a tokenizer of transformers does not give the offsets of its tokens in the text."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{name} has no tokenizer that says where in the text a token stands; choose another model.")


def attempt(action: Callable[[], T], name: str, what: str) -> T:
    """Run a loading step, and convert any exception to a ModelError with one sentence."""
    try:
        return action()
    except Exception as error:  # the libraries raise almost every type of exception
        reason = " ".join(str(error).split())
        if "trust_remote_code" in reason or "custom code" in reason:
            why = f"{name} needs its own code to run, which is never done here"
        elif "ignore_mismatched_sizes" in reason:
            why = f"The weights of {name} have other shapes than its configuration says"
        else:
            first = re.split(r"(?<=[.!?])\s", reason)[0][:160].rstrip(".") or type(error).__name__
            why = f"The {what} of {name} can't be used ({first})"
        raise ModelError(f"{why}; choose another model.") from error


def is_on_this_machine(name: str) -> bool:
    """Whether a model is built in, a folder, or in the local cache of the Hugging Face hub with its weights."""
    if name == BUILT_IN:
        return True
    if os.sep in name.rstrip("/"):
        folder = Path(name).expanduser()
        if folder.is_dir():
            return True
    return any((hub_cache() / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/*.safetensors"))


def hub_cache() -> Path:
    """Return the folder in which the Hugging Face libraries cache models.

    https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    """
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", f"{cache}/huggingface")
    found = os.environ.get("HF_HUB_CACHE", os.environ.get("HUGGINGFACE_HUB_CACHE", f"{home}/hub"))
    return Path(os.path.expandvars(found)).expanduser()
