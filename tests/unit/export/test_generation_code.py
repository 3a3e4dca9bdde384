"""The exported script and table of a generated text: the script, run without attnviz, prints the app's text."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from attnviz import trained
from attnviz.export.code.training import NoTrainingCodeError
from attnviz.export.code.training.script import generation_script
from attnviz.export.csv_files import DRAW_COLUMNS, MOST_LISTED, draws_csv
from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.trained.shipped import FOLDER
from attnviz.training.generation import Sampling, generate
from attnviz.training.plan import build
from tests.unit.export.test_training_code import run

CHARACTERS = ("\n", " ", '"', "\\", "=", "a", "b", "é", "漢", "{", "}")
V = len(CHARACTERS)
HEAD = TokenConfig(V, 8, layers=1, heads=1, width=8, feed_forward=0, residual=False, norm=False, dropout=0.2)
CASES: tuple[tuple[ModelConfig, Sampling], ...] = (
    (BigramConfig(V), Sampling(0.7, seed=3)),
    (GRUConfig(V, 8, 16, 2), Sampling(1.3, 4, 0.9, seed=1)),
    (HEAD, Sampling(0)),
    (replace(HEAD, residual=True), Sampling(1, 5)),
    (TokenConfig(V, 8, layers=2, heads=2, width=8, bias=False), Sampling(2, 0, 0.6, seed=7)),
)
PROMPT = [5, 2, 3, 8, 9]


def text_of(characters: tuple[str, ...], ids: list[int]) -> str:
    return "".join(characters[one] for one in ids)


def test_the_scripts_print_the_text_that_the_app_shows(tmp_path: Path) -> None:
    scripts, expected = [], []
    for number, (config, sampling) in enumerate(CASES):
        module = build(config, number).eval()
        for one in module.parameters():  # so that no choice is as likely as another
            one.data.mul_(4).copy_(one.data.half())  # the file holds float16
        file = tmp_path / f"model-{number}.safetensors"
        save_file({name: one.half().contiguous() for name, one in module.state_dict().items()}, file)
        ids = [one.id for one in generate(module, PROMPT, 30, sampling)]
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        scripts.append(
            generation_script(config, CHARACTERS, sampling, ids=PROMPT, generated=ids, file=file.name, sha256=digest)
        )
        expected.append(text_of(CHARACTERS, [*PROMPT, *ids]))
    chargpt, sampling = trained.load("chargpt"), Sampling(0.8, 0, 0.95, seed=4)
    given = [chargpt.labels.index(one) for one in "ROMEO:\n"]
    ids = [one.id for one in generate(chargpt.module, given, 150, sampling)]  # more than its block of 128
    (tmp_path / "chargpt.safetensors").write_bytes((FOLDER / "chargpt.safetensors").read_bytes())
    for sha256 in (chargpt.digest, "0" * 64):
        scripts.append(
            generation_script(
                chargpt.plan.model, chargpt.labels, sampling, ids=given, generated=ids, file="chargpt.safetensors",
                sha256=sha256,
            )
        )  # fmt: skip
        expected.append("ROMEO:\n" + text_of(chargpt.labels, ids))
    printed = run(scripts, tmp_path)
    assert len(set(expected)) == len(CASES) + 1
    for shown, text in zip(printed[:-1], expected, strict=False):
        assert shown == f"{text}\nThe same text as in the app.\n"
    assert printed[-1].startswith("This is not the model's file that was exported")


def test_a_model_that_is_no_decoder_has_no_script() -> None:
    encoder = replace(HEAD, architecture="encoder")
    with pytest.raises(NoTrainingCodeError, match=r"^[A-Z].*\.$"):
        generation_script(encoder, CHARACTERS, Sampling(), ids=[1], generated=[2], file="a", sha256="")


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_the_table_has_torchs_logits_and_transformers_probabilities() -> None:
    module, sampling = build(HEAD, 2).eval(), Sampling(0.5, 6, 0.8, seed=2)
    drawn = list(generate(module, PROMPT[:2], 4, sampling))
    rows = rows_of(draws_csv(drawn, CHARACTERS, begin=2))
    assert tuple(rows[0]) == DRAW_COLUMNS
    assert len(rows) == 4 * V
    warpers = LogitsProcessorList([TemperatureLogitsWarper(0.5), TopKLogitsWarper(6), TopPLogitsWarper(0.8)])
    context = PROMPT[:2]
    for step in range(4):
        own = [row for row in rows if row["step"] == str(step + 1)]
        ids = [int(row["character"][1:].split("]")[0]) for row in own]
        with torch.inference_mode():
            logits = module(torch.tensor([context]))[0, -1]
        assert [row["position"] for row in own] == [str(len(context))] * V
        assert [row["rank"] for row in own] == [str(one) for one in range(1, V + 1)]
        left = warpers(torch.zeros(1, 1, dtype=torch.long), logits[None].clone())[0].softmax(-1)
        for name, expected in {
            "logit": logits, "logit / T": logits / 0.5, "probability": (logits / 0.5).softmax(-1),
            "probability after top-k and top-p": left,
        }.items():  # fmt: skip
            np.testing.assert_allclose([float(row[name]) for row in own], expected[ids], atol=1e-6)
        [drawn_id] = [one for one, row in zip(ids, own, strict=True) if row["drawn"] == "1"]
        sums = left[ids].double().cumsum(0).tolist()
        rank = ids.index(drawn_id)
        assert (0 if rank == 0 else sums[rank - 1]) <= float(own[0]["drawn number"]) < sums[rank]
        context = [*context, drawn_id]
    assert not any(row["character"].startswith(tuple("=+-@")) for row in rows)


def test_of_a_large_vocabulary_the_likeliest_are_listed_and_the_drawn_one() -> None:
    config = BigramConfig(500)
    module = build(config, 0).eval()
    drawn = list(generate(module, [0], 10, Sampling(50, seed=1)))
    rows = rows_of(draws_csv(drawn, [chr(200 + one) for one in range(500)], begin=1))
    ranks = [int(row["rank"]) for row in rows if row["drawn"] == "1"]
    assert len(ranks) == 10
    assert max(ranks) > MOST_LISTED
    assert len(rows) == 10 * MOST_LISTED + sum(rank > MOST_LISTED for rank in ranks)
    greedy = rows_of(draws_csv(generate(module, [0], 1, Sampling(0)), [chr(200 + one) for one in range(500)], begin=1))
    assert [(row["drawn"], row["drawn number"]) for row in greedy[:2]] == [("1", ""), ("0", "")]
