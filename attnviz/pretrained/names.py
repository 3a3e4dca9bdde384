"""What a model is called, and the error where it can't be used. Nothing heavy is imported here."""

from __future__ import annotations

from attnviz.tokens import repair

BUILT_IN = "minilm"
MAX_SHOWN = 80
"""Characters of a name that a message repeats: the last ones, which in a path say the most."""


class ModelError(ValueError):
    """A model that cannot be used. The message is one sentence for the user, with what to do."""


def shown(name: str) -> str:
    """Return a model's name as a sentence may hold it: not endless, and without lone surrogates."""
    name = repair(name)
    return name if len(name) <= MAX_SHOWN else f"…{name[1 - MAX_SHOWN :]}"
