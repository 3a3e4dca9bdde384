"""Which layers of a model have a window, and how wide it is: what the description says is what the masks hide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers as tf

from attnviz.pretrained import load
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind, window_marks
from tests.unit.families import BERT, save_model

TYPES = ["sliding_attention", "full_attention"]
WINDOWS: dict[str, tuple[Callable[[], Any], Kind, list[int | None], list[str]]] = {
    "mistral": (
        lambda: tf.MistralModel(tf.MistralConfig(**BERT, num_key_value_heads=2, sliding_window=3)),
        "decoder", [3, 3], ["window of 3", "window of 3"],
    ),
    "gemma3": (
        lambda: tf.Gemma3TextModel(
            tf.Gemma3TextConfig(**BERT, num_key_value_heads=2, head_dim=8, sliding_window=4, layer_types=TYPES)
        ),
        "decoder", [4, None], ["window of 4", "global"],
    ),
    "modernbert": (
        lambda: tf.ModernBertModel(
            tf.ModernBertConfig(**BERT, local_attention=4, pad_token_id=0, layer_types=TYPES[::-1])
        ),
        "encoder", [None, 3], ["global", "window of 5"],
    ),
    "gpt_neo": (
        lambda: tf.GPTNeoModel(tf.GPTNeoConfig(
            vocab_size=BERT["vocab_size"], hidden_size=48, num_layers=2, num_heads=6, window_size=3,
            attention_types=[[["local", "global"], 1]],
        )),
        "decoder", [3, None], ["window of 3", "global"],
    ),
    "llama": (lambda: tf.LlamaModel(tf.LlamaConfig(**BERT, num_key_value_heads=2)), "decoder", [], []),
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_local_layers_are_known_with_the_width_of_their_window(name: str, tmp_path: Path) -> None:
    make, kind, windows, marks = WINDOWS[name]
    model = load(str(save_model(make(), tmp_path, name)))
    description = model.description
    assert list(description.windows.get(kind, ())) == windows
    assert description.layer_marks(kind) == dict(enumerate(marks))
    for layer in model.trace("the cat sat on the mat and the dog ran").layers[kind]:
        assert reach_of(layer) == layer.window


def reach_of(layer: LayerTrace) -> int | None:
    """Return how many keys before a query it sees, itself among them, by the mask alone; None if it sees all."""
    reasons = layer.mask_reasons
    return None if reasons is None or reasons.window is None else reasons.window[0] + 1


def test_a_window_on_both_sides_is_as_wide_as_both() -> None:
    assert window_marks([4096, None], "decoder") == ["window of 4,096", "global"]
    assert window_marks([65, None], "encoder") == ["window of 129", "global"]
    assert window_marks([None, None], "encoder") == window_marks([], "decoder") == []
