"""Model names, the location of cached models, and the errors for models that can't be used.

Does not import torch, transformers or huggingface_hub, whose import takes a second.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from attnviz.tokens import NoTokensError, repair

T = TypeVar("T")

BUILT_IN = "minilm"
BUILT_IN_TITLE = "MiniLM (a small BERT)"
"""Its name on the screen and in exports"""
MAX_SHOWN = 80
"""Maximum length of a model's name in a message. Longer names are cut at the beginning: the end of a path matters most.
"""


class ModelError(ValueError):
    """A model can't be used. The message is one sentence for the user, and says what to do."""


class UnfitError(ValueError):
    """A model of a kind that the app can't show.

    The message is a clause for the user whose subject is the model, such as "reads pictures, not text".
    """

    def __init__(self, clause: str, instead: str = "choose another model") -> None:
        """Set the clause, and what the user can do instead."""
        super().__init__(clause)
        self.instead = instead


def shown(name: str) -> str:
    """Return a model's name for a message: at most MAX_SHOWN characters, without lone surrogates."""
    name = BUILT_IN_TITLE if name == BUILT_IN else repair(name)
    return name if len(name) <= MAX_SHOWN else f"…{name[1 - MAX_SHOWN :]}"


def check_tokenizer(tokenizer: Any, name: str) -> None:
    """Raise ModelError if a tokenizer of transformers does not provide the offsets of its tokens in the text."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{name} has no tokenizer that says where in the text a token stands; choose another model.")


FAILED = {
    "configuration": "The configuration of {name} can't be read, or is of a kind that transformers does not know",
    "tokenizer": "The tokenizer of {name} can't be read",
    "weights": "The weights of {name} can't be read",
    "attention": "{name} does not run on the tokens of a text alone",
    "pass": "{name} can't be run on this text",
}
"""By step: the message if the step failed with an error of a library"""


def attempt(action: Callable[[], T], name: str, what: str) -> T:
    """Run a step of opening or running a model, and convert any exception to a ModelError with one sentence.

    Args:
        action: the step.
        name: the model's name, as shown to the user.
        what: a key of `FAILED`. The library's own error message is not shown, since it is about the library's code.
    """
    try:
        return action()
    except (ModelError, NoTokensError):
        raise
    except UnfitError as error:
        raise ModelError(f"{name} {error}; {error.instead}.") from error
    except Exception as error:  # the libraries raise almost any type of exception
        reason = str(error)
        if "trust_remote_code" in reason or "custom code" in reason:
            why = f"{name} needs its own code to run, which is never done here"
        elif "ignore_mismatched_sizes" in reason:
            why = f"The weights of {name} have other shapes than its configuration says"
        else:
            why = FAILED[what].format(name=name)
        raise ModelError(f"{why}; choose another model.") from error


def local_folder(name: str) -> Path | None:
    """Return the folder with this name, such as ~/models/mine or ./mine; None if there is none.

    A name without a slash before its end, such as gpt2, is that of a model on the hub. Never raises.
    """
    path = os.path.expanduser(name)  # noqa: PTH111 — Path.expanduser raises for ~nobody
    return Path(path) if os.sep in name.rstrip("/") and os.path.isdir(path) else None  # noqa: PTH112


def is_on_this_machine(name: str) -> bool:
    """Whether a model is built in, a local folder, or cached locally from the Hugging Face hub with its weights."""
    if name == BUILT_IN or local_folder(name) is not None:
        return True
    return any((hub_cache() / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/*.safetensors"))


def hub_cache() -> Path:
    """Return the folder in which the Hugging Face libraries cache models.

    https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    """
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", f"{cache}/huggingface")
    folder = os.environ.get("HF_HUB_CACHE", os.environ.get("HUGGINGFACE_HUB_CACHE", f"{home}/hub"))
    return Path(os.path.expandvars(folder)).expanduser()
