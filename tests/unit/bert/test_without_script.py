"""The script of plain torch that the part of /bert without heads exports, and its lines of torch, give its numbers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertModel

from attnviz.bert.ablation import cosine, head_means, hidden_without
from attnviz.bert.search import built_in as reference
from attnviz.export.code.bert.uses import BY_MEAN_LINES, WITHOUT_LINES, without_script
from attnviz.pretrained.described import find_folder
from tests.loaded import built_in_model
from tests.scripts import run_alone

TEXT = 'He said: "it\'s {odd}", and \\n left.\nThen """ 🙂'
OFF = [(0, 2), (3, 1), (5, 11)]


@cache
def expected(*, by_mean: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cosines of the tokens, (T,), and of the sentence embedding."""
    model = built_in_model()
    means = head_means(model, reference().sentences) if by_mean else None
    after, before = hidden_without(model, model.tokenize(TEXT), OFF, means), model.trace(TEXT).last_hidden_state
    return cosine(before, after), cosine(before.mean(0), after.mean(0))


@pytest.mark.parametrize("by_mean", [False, True])
def test_the_script_prints_what_is_shown(by_mean: bool, tmp_path: Path) -> None:
    done = run_alone(without_script(TEXT, OFF, by_mean=by_mean), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = [float(one) for one in re.findall(r"(-?\d\.\d{4})$", done.stdout, re.MULTILINE)]
    of_tokens, whole = expected(by_mean=by_mean)
    assert printed == pytest.approx([*of_tokens.tolist(), float(whole)], abs=6e-5)


@pytest.mark.parametrize("by_mean", [False, True])
def test_the_lines_of_torch_give_what_is_shown(by_mean: bool) -> None:
    folder = find_folder()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    names = {"torch": torch, "tokenizer": tokenizer, "model": model, "TEXT": TEXT, "OFF": OFF}
    names["REFERENCE"] = reference().sentences
    exec(BY_MEAN_LINES if by_mean else WITHOUT_LINES, names)
    of_tokens, whole = expected(by_mean=by_mean)
    torch.testing.assert_close(names["of_tokens"].double(), of_tokens, rtol=0, atol=1e-5)  # type: ignore[attr-defined]
    assert float(names["of_sentence"]) == pytest.approx(float(whole), abs=1e-5)  # type: ignore[arg-type]
