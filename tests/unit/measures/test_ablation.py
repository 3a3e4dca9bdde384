"""The answer without heads, against transformers' own models whose rows of W_O are 0."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

from attnviz import trained
from attnviz.bert.ablation import effects
from attnviz.measures.ablation import (
    NO_BLANK,
    NO_HEAD,
    SHARED,
    AnswerChanges,
    NoAnswerError,
    changes_in_steps,
    compared,
    each_without,
    hidden_without,
)
from attnviz.pretrained import load
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.model import Place
from attnviz.trace.trace import Trace
from tests.loaded import built_in_model
from tests.unit.families import BERT, FAMILIES, HYBRIDS, opened, save_model
from tests.unit.pretrained.test_blocks import WITH_HEADS, eager, run

TEXT = "the cat sat on the mat"
MASKED = "the [MASK] sat on the [MASK]"


def changes_of(trace: Trace) -> Tensor:
    *counts, found = changes_in_steps(trace, trace.kinds[0])
    assert isinstance(found, AnswerChanges)
    layers, heads = found.changes.shape
    assert counts == [heads * done for done in range(1, layers + 1)], "all heads of a layer of a short text at once"
    return found.changes


def without(theirs: Any, family: str, layer: int, head: int) -> Any:
    """Set the rows of W_O of a head to 0."""
    with torch.no_grad():
        if family == "gpt2":
            weight = theirs.transformer.h[layer].attn.c_proj.weight.T
        elif family == "llama":
            weight = theirs.model.layers[layer].self_attn.o_proj.weight
        else:
            weight = theirs.base_model.encoder.layer[layer].attention.output.dense.weight
        size = weight.shape[1] // theirs.config.num_attention_heads
        weight[:, head * size : (head + 1) * size] = 0
    return theirs


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_the_answer_without_a_head_is_transformers(family: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    folder = save_model(WITH_HEADS[family](), tmp_path, family)
    model = load(str(folder))
    trace = model.trace(MASKED if family == "bert" else TEXT)
    auto = tf.AutoModelForMaskedLM if family == "bert" else tf.AutoModelForCausalLM
    row = trace.tokens.labels.index("[MASK]") if family == "bert" else len(trace.tokens) - 1
    kind, (layers, heads) = trace.kinds[0], (len(trace.numbers_of()), trace.layer(0).heads)
    before = run(eager(folder, auto), trace).logits[0, row].softmax(-1)
    first = int(before.argmax())
    changes = changes_of(trace)
    assert changes.shape == (layers, heads)
    for layer, head in ((0, 1), (layers - 1, heads - 1)):
        after = run(without(eager(folder, auto), family, layer, head), trace).logits[0, row].softmax(-1)
        answer = compared(trace, hidden_without(trace, [(Place(kind, layer), head)]))
        assert (answer.row, int(answer.tokens[0])) == (row, first)
        torch.testing.assert_close(answer.before, before[answer.tokens], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(answer.after, after[answer.tokens], rtol=1e-4, atol=1e-6)
        assert answer.tokens[answer.after.argmax()] == after.argmax()
        assert float(changes[layer, head]) == pytest.approx(float(after[first] - before[first]), abs=1e-6)
    two = [(Place(kind, 0), 0), (Place(kind, 0), 1)]
    both = eager(folder, auto)
    for _, head in two:
        without(both, family, 0, head)
    after = run(both, trace).logits[0, row].softmax(-1)
    answer = compared(trace, hidden_without(trace, two))
    torch.testing.assert_close(answer.after, after[answer.tokens], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(model.trace(trace.tokens.text).last_hidden_state, trace.last_hidden_state)


MADE = {**{name: family.make for name, family in FAMILIES.items() if name != "albert"}, **HYBRIDS}
"""All but ALBERT, whose layers share one attention"""


@pytest.mark.parametrize("family", ["built-in", "numbers", *MADE])
def test_a_batch_of_heads_gives_what_a_pass_for_each_head_gives(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    if family == "built-in":
        trace = built_in_model().trace(TEXT)
    elif family == "numbers":
        trace = trained.load("numbers").trace("342")
    else:
        model = opened(family) if family in FAMILIES else load(str(save_model(MADE[family](), tmp_path, family)))
        trace = model.trace(TEXT, "a dog" if model.is_encoder_decoder else None)
    for kind in trace.kinds:
        layer, at_once = trace.layers[kind][0], 3
        cells = layer.heads * layer.query.shape[1] * layer.key.shape[1]
        monkeypatch.setattr("attnviz.measures.ablation.AT_ONCE", at_once * cells)
        batches = list(each_without(trace, kind))
        assert {len(batch) for batch in batches} <= {at_once, layer.heads % at_once}
        places = [(Place(kind, number), head) for number in trace.numbers_of(kind) for head in range(layer.heads)]
        pairs = list(zip(places, torch.cat(batches), strict=True))
        for place, found in pairs[:: 1 if len(pairs) < 20 else 7]:  # 7: each place in a batch of the built-in model's
            torch.testing.assert_close(found, hidden_without(trace, [place]), rtol=1e-5, atol=1e-5)


def test_of_the_built_in_model_they_are_what_heads_switched_off_measures() -> None:
    trace = built_in_model().trace("The cat [MASK] on the mat.")
    expected = effects(trace).answer
    assert expected is not None
    torch.testing.assert_close(changes_of(trace), expected, rtol=0, atol=1e-5)


def test_the_character_gpt_lives_by_the_head_that_looks_at_the_character_before() -> None:
    model = trained.load("chargpt")
    changes = changes_of(model.trace("ROMEO"))
    assert changes.shape == (5, 5) and float(changes.min()) < -0.5
    assert divmod(int(changes.argmin()), 5) == (0, 2)
    translated = trained.load("numbers").trace("342")
    *_, of_encoder = changes_in_steps(translated, "encoder")
    *_, of_cross = changes_in_steps(translated, "cross")
    assert isinstance(of_encoder, AnswerChanges) and isinstance(of_cross, AnswerChanges)
    assert of_encoder.changes.shape == of_cross.changes.shape == (1, 2)
    assert of_cross.changes.abs().min() > 1e-5, "the last word is nearly certain, but not by itself"


def test_why_there_is_no_answer_is_said(tmp_path: Path) -> None:
    def reason(trace: Trace) -> str:
        with pytest.raises(NoAnswerError) as said:
            list(changes_in_steps(trace, trace.kinds[0]))
        return str(said.value)

    assert "Write [MASK] in the text" in reason(built_in_model().trace(TEXT))
    assert reason(opened("gpt2").trace(TEXT)) == NO_HEAD
    toy = trace_transformer(WordTokenizer().tokenize("a cat"), None, TransformerConfig(architecture="decoder"))
    assert reason(toy) == NO_HEAD, "its weights have learned nothing"
    tagging = trained.load("tagging")
    assert reason(tagging.trace("the cat sat")) == NO_BLANK
    albert = tf.AlbertForMaskedLM(tf.AlbertConfig(**BERT, embedding_size=16))
    shared = load(str(save_model(albert, tmp_path / "albert", "albert")))
    with pytest.raises(NoAnswerError, match=SHARED):
        hidden_without(shared.trace(MASKED), [(Place("encoder", 0), 0)])
    trace = shared.trace(MASKED)
    del shared
    gc.collect()
    with pytest.raises(ReferenceError):
        hidden_without(trace, [(Place("encoder", 0), 0)])
    with pytest.raises(IndexError):
        hidden_without(built_in_model().trace(MASKED), [(Place("encoder", 0), 12)])
