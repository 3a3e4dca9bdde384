"""What holds for all unit tests: they load the built-in model often, and read and compile its weights once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from attnviz.pretrained import built_in


@pytest.fixture(scope="session", autouse=True)
def weights_are_read_once() -> Iterator[None]:
    """Let all models of one file share its weights and their graph, which nobody may change.

    Each load would take half a second to two thirds of one: to check, to read and to compile 90 MB.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("check_digest", "load_bert", "compiled"):
            patch.setattr(built_in, name, lru_cache(1)(getattr(built_in, name)))
        yield
