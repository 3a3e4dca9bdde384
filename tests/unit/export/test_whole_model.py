"""Export of a walk through a whole model: all steps around an attention, their numbers, and the model as code."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from tests.scripts import FILE, run_alone
from tests.unit.export.test_numbers import offered


def model_tabs() -> None:
    """The two tabs on the page Transformer."""
    from attnviz.ui import state
    from attnviz.ui.export import show_numbers_export, show_walk_export

    state.begin("transformer")
    show_walk_export("transformer")
    show_numbers_export("transformer")


def test_a_transformer_offers_all_steps_its_numbers_and_its_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link = {"text": "the cat", "architecture": "decoder", "block": "1", "norm": "pre"}
    waiting, caption = offered(monkeypatch, model_tabs, **link)
    assert set(waiting) == {"PowerPoint", "PDF", "SVGs (ZIP)", "TikZ", "CSV", "npz", "Notebook", "Script"}
    assert "compute the whole model" in caption
    with np.load(io.BytesIO(waiting["npz"]())) as found:
        trace = trace_transformer(WordTokenizer().tokenize("the cat"), None, TransformerConfig("decoder", norm="pre"))
        np.testing.assert_allclose(found["embeddings"], trace.block(1).input, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["logits"], trace.logits, rtol=1e-5, atol=1e-5)
    (tmp_path / "model.py").write_bytes(waiting["Script"]())
    ran = run_alone(FILE, "model.py", cwd=tmp_path)
    assert "matrices are those that the page showed." in ran.stdout, ran.stderr
    assert waiting["PDF"]().startswith(b"%PDF")
