"""Model names, and the error for models that can't be used. Imports neither torch nor transformers."""

from __future__ import annotations

from attnviz.tokens import repair

BUILT_IN = "minilm"
MAX_SHOWN = 80
"""Maximum length of a model's name in a message. Longer names lose their beginning: the end of a path says most."""


class ModelError(ValueError):
    """A model can't be used. The message is one sentence for the user, which says what to do."""


def shown(name: str) -> str:
    """Return a model's name for a message: at most MAX_SHOWN characters, without lone surrogates."""
    name = repair(name)
    return name if len(name) <= MAX_SHOWN else f"…{name[1 - MAX_SHOWN :]}"
