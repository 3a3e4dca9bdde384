"""The component of a generated text: its characters, and how each was drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnviz.components.updates import mount_with_updates


def generation(header: Mapping[str, Any], *, key: str, on_update: Callable[[Mapping[str, object]], None]) -> None:
    """Mount the component.

    Args:
        header: as `GenerationHeader` in frontend/types/generation.d.ts says; what its digest stands for is requested.
        key: the Streamlit key.
        on_update: called before the script reruns, with what the user has chosen: `drawn`, `watch` and `seed`. It comes
            from the client and is not validated.
    """
    mount_with_updates("generation", header, {}, key=key, on_update=on_update)
