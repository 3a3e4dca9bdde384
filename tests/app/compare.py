"""The page Compare as tests read and press it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from attnviz.links.link import DEFAULT_TEXT
from attnviz.tokens import WordTokenizer
from tests.app.pages import SETTINGS_OPEN, open_page, payload

open_link = partial(open_page, "compare")
open_settings = partial(open_page, "compare", SETTINGS_OPEN)


def picture(at: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what the picture is given."""
    return payload(at, "compare")


def link(at: AppTest) -> dict[str, str]:
    return dict(at.query_params)


def press(at: AppTest, preset: str) -> AppTest:
    at.button_group(key="compare_preset").set_value(preset).run()
    assert not at.exception
    return at


def notice(at: AppTest) -> str:
    return " ".join(box.proto.body for box in at.get("html"))


def words(text: str = DEFAULT_TEXT) -> tuple[int, ...]:
    return WordTokenizer().tokenize(text).ids


def sdpa(layer: Any, head: int, *, causal: bool = False, scale: float | None = None) -> np.ndarray:
    """Work out a head's weights with torch's own attention."""
    query, key = layer.query[head][None, None], layer.key[head][None, None]
    identity = torch.eye(key.shape[2])[None, None]
    found = F.scaled_dot_product_attention(query, key, identity, is_causal=causal, scale=scale or layer.scale)
    return found[0, 0].numpy()


def same(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
