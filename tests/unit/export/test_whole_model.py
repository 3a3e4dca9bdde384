"""Export of a walk through a whole model: all steps around an attention, and their numbers."""

from __future__ import annotations

import io

import numpy as np
import pytest

from attnviz.tokens import WordTokenizer
from attnviz.toy.transformer.config import TransformerConfig
from attnviz.toy.transformer.trace import trace_transformer
from tests.unit.export.test_numbers import offered


def model_tabs() -> None:
    """The two tabs on the page Transformer."""
    from attnviz.ui import state
    from attnviz.ui.export.numbers import show_numbers_export
    from attnviz.ui.export.walk import show_walk_export

    state.begin("transformer")
    show_walk_export("transformer")
    show_numbers_export("transformer")


def test_a_transformer_offers_all_steps_and_its_numbers_but_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"text": "the cat", "architecture": "decoder", "block": "1", "norm": "pre"}
    waiting, caption = offered(monkeypatch, model_tabs, **link)
    assert set(waiting) == {"PowerPoint", "PDF", "SVGs (ZIP)", "TikZ", "CSV", "npz"}
    assert "beside its picture" in caption
    with np.load(io.BytesIO(waiting["npz"]())) as found:
        trace = trace_transformer(WordTokenizer().tokenize("the cat"), None, TransformerConfig("decoder", norm="pre"))
        np.testing.assert_allclose(found["embeddings"], trace.block(1).input, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["logits"], trace.logits, rtol=1e-5, atol=1e-5)
    assert waiting["PDF"]().startswith(b"%PDF")
