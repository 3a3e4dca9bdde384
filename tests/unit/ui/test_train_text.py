"""A text to train on: what is counted, told and offered of it equals a count by hand and torch's own loss."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional

from attnviz.toy import BigramModel
from attnviz.toy.language.config import TokenConfig
from attnviz.training.plan import build
from attnviz.training.series import BLOCK, SERIES
from attnviz.training.settings import TrainingSettings
from attnviz.training.text.cut import Cut, sequences_of
from attnviz.training.text.subject import Text, TextError
from attnviz.ui.train.arrays import SAMPLE, Reading, at_snapshots, logits_of, sample_of, table_of
from attnviz.ui.train.generated import _text_of
from attnviz.ui.train.plans import is_usual, stage_of, stage_plan_of
from attnviz.ui.train.text import MOST_SHOWN, built_in_facts, drawn_of, facts_of, fits, lines_of

KEYS = (
    "steps", "batch", "rate", "warm_up", "decay", "optimiser", "weight_decay", "train_dropout", "train_block",
    "cut",
)  # fmt: skip
VIEW: dict[str, object] = {**dict.fromkeys(KEYS), "seed": 0}


def test_pairs_are_those_that_a_counter_counts() -> None:
    facts = built_in_facts()
    part = facts.text[: facts.train]
    pairs = Counter(pairwise(part))
    expected = [[pairs[one, other] for other in facts.labels] for one in facts.labels]
    np.testing.assert_array_equal(facts.counts, expected)
    np.testing.assert_array_equal(facts.totals, np.sum(expected, axis=1))
    assert (len(facts.shown), round(facts.floor, 2)) == (len(facts.labels), 1.96)
    assert "".join(facts.labels[one] for one in facts.first) == facts.text[:50]
    assert not facts.counts.flags.writeable


TEXTS = {
    "built-in": built_in_facts().text,
    "cases": "The quick BROWN fox: Oh, why? YES! Aeiou, xyz ärger é " * 20,
    "many": "".join(map(chr, range(0x4E00, 0x4E00 + 200))) + "bandana " * 80,
}


@pytest.mark.parametrize("name", TEXTS)
def test_vowels_after_consonants_are_those_of_a_crosstab(name: str) -> None:
    facts = facts_of(TEXTS[name])
    part = pd.Series(list(facts.text[: facts.train]))
    kinds = part.map(lambda one: "vowel" if one in "aeiouAEIOU" else "consonant" if re.match("[A-Za-z]", one) else "")
    table = pd.crosstab(kinds[:-1].to_numpy(), kinds[1:].to_numpy())
    counted = facts.told()["vowels"]
    assert counted == {
        "followed": table.loc["consonant"].sum(), "by_vowel": table.loc["consonant", "vowel"],
        "characters": len(part), "vowels": Counter(kinds)["vowel"],
    }  # fmt: skip
    assert 0 < counted["by_vowel"] < counted["followed"]


@pytest.mark.parametrize("text", ["мама мыла раму " * 30, "1234 5678, " * 30, "xyz bcd " * 40, "aeio u " * 40])
def test_of_a_text_without_latin_vowels_or_consonants_nothing_is_said(text: str) -> None:
    assert facts_of(text).told()["vowels"] is None


def test_of_many_characters_the_most_frequent_are_in_the_table() -> None:
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    facts = facts_of("abcd" * 500 + rare + "abcd" * 100)
    assert len(facts.shown) == MOST_SHOWN
    assert {facts.labels[one] for one in facts.shown} >= set("abcd")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "There is no text to train on"),
        ("  \n\t ", "There is no text to train on"),
        ("a" * 1000, "one character only"),
        ("short", "it needs at least"),
        ("".join(map(chr, range(0x4E00, 0x4E00 + 1001))) * 2, "at most 1,000"),
    ],
    ids=["empty", "blank", "one", "short", "many"],
)
def test_a_text_that_can_not_be_trained_on_is_refused_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(TextError, match=why):
        facts_of(text)


def test_lines_are_cut_and_what_is_left_out_is_counted() -> None:
    document = "".join(chr(ord("a") + n % 26) for n in range(90))
    facts = facts_of(f"{document}\nshort\n\n{document[:41]}\n" * 5)
    train = facts.text[: facts.train]

    def read(cut: Cut) -> tuple[list[str], dict[str, Any]]:
        lines = lines_of(facts, cut, 40)
        return ["".join(facts.labels[id_] for id_ in one["ids"]) for one in lines["shown"]], lines

    shown, lines = read("plain")
    assert shown == [document[:40], document[40:80], document[80:], "short"]
    assert lines["repeated"] == 0
    assert lines["dropped"] == train.count("\n") + 4, "each line of 41 leaves one character; the last one is not whole"
    shown, lines = read("chunks")
    assert shown == [document[:40], document[32:72], document[64:] + "\n", document[:40]]
    assert [one["repeated"] for one in lines["shown"]] == [0, 8, 8, 0]
    filled = [line for line in train.split("\n") if line]
    assert (lines["count"], lines["short"]) == (len(filled), sum(len(line) < 20 for line in filled))
    assert lines["lengths"] == [21, 40], "the shortest is a rest made up to 20, with its line end"
    inside = set()
    for start, stop in sequences_of(train, "chunks", 40):
        inside |= set(range(start, stop))
    assert lines["dropped"] == len(train) - len(inside)
    assert lines["ends"] == sum(len(line) >= 20 for line in train.split("\n")[:-1])
    assert lines["validation"] == len(list(sequences_of(facts.text[facts.train :], "chunks", 40)))


def test_at_the_limits_a_text_fits_and_a_line_is_not_short() -> None:
    assert len(facts_of("".join(map(chr, range(0x4E00, 0x4E00 + 1000)))).labels) == 1000
    facts = facts_of(("ab" * 10 + "\n" + "abc" * 13 + "\n") * 20)
    assert lines_of(facts, "chunks", 40)["short"] == 0
    tenth = facts_of("ab" * 50)  # its last tenth has ten characters
    assert fits(tenth, "blocks", 9) == ""
    assert fits(tenth, "blocks", 10).startswith("This text has 100 characters; with blocks of 10 it needs at least ")


def test_the_blocks_shown_are_spread_over_the_validation_part_and_are_the_first_of_the_first_batch() -> None:
    facts = facts_of(TEXTS["cases"])
    blocks = ["".join(facts.labels[one] for one in block) for block in facts.blocks]
    assert (blocks[0], blocks[-1]) == (facts.text[facts.train :][:9], facts.text[-9:])
    for seed in (0, 3):
        plan = stage_plan_of(SERIES[1], len(facts.labels), (VIEW | {"seed": seed}).get)
        batch = Text(facts.text, BLOCK).batch(plan.training.batch, torch.Generator().manual_seed(seed))
        drawn = torch.tensor([one["ids"] for one in drawn_of(facts, plan)])
        assert torch.equal(drawn[:, :-1], batch.ids[:3]) and torch.equal(drawn[:, 1:], batch.targets[:3])


@pytest.mark.parametrize("stage", SERIES, ids=lambda stage: stage.name)
def test_the_loss_of_the_blocks_is_torchs_and_the_model_writes(stage: object) -> None:
    facts = built_in_facts()
    plan = stage_plan_of(stage, len(facts.labels), VIEW.get)  # type: ignore[arg-type]
    model = build(plan.model, 0).eval()
    found = logits_of(model, facts.blocks)
    ids = torch.tensor(facts.blocks)
    with torch.no_grad():
        logits = torch.stack([model(row) for row in ids[:, :-1]])
    np.testing.assert_allclose(found["logits"], logits, atol=1e-5)
    expected = functional.cross_entropy(logits.view(-1, len(facts.labels)), ids[:, 1:].reshape(-1))
    assert found["loss"][0] == pytest.approx(float(expected), abs=1e-5)
    short = logits_of(model, [row[:9] for row in facts.blocks])  # shorter than the model's block
    np.testing.assert_allclose(short["logits"], logits[:, :8], atol=1e-5)
    sample = sample_of(model, facts.first[0], 1)
    assert (sample.shape, sample.max() < len(facts.labels)) == ((SAMPLE,), True)
    heads = at_snapshots([model], Reading("text", facts.first[:BLOCK], ("",) * BLOCK))
    if stage.name in ("bigram", "gru"):  # type: ignore[attr-defined]
        assert set(heads) == {"answer", "probability"}
    else:
        np.testing.assert_allclose(heads["weights.decoder"].sum(-1) / 65535, 1, atol=1e-3)


def test_a_model_of_shorter_blocks_gives_the_loss_of_what_it_can_read() -> None:
    blocks = built_in_facts().blocks
    vocabulary = len(built_in_facts().labels)
    model = build(TokenConfig(vocabulary, 5, layers=1, heads=1, width=8), 0).eval()
    found = logits_of(model, blocks)
    ids = torch.tensor(blocks)[:, :6]
    assert found["logits"].shape == (len(blocks), 5, vocabulary)
    expected = functional.cross_entropy(torch.from_numpy(found["logits"]).view(-1, vocabulary), ids[:, 1:].flatten())
    assert found["loss"][0] == pytest.approx(float(expected), abs=1e-5)


def test_the_passage_of_a_text_of_ones_own_is_of_its_validation_part() -> None:
    text = "".join(chr(97 + number % 26) for number in range(900)) + "0123456789" * 10
    labels, prompt, passage = _text_of(SimpleNamespace(number=-1, text=text))  # type: ignore[arg-type]
    subject = Text(text, 16)
    assert passage == "".join(subject.labels[one] for one in subject.validation.tolist()) == "0123456789" * 10
    assert (labels, text.startswith(prompt), len(prompt)) == (subject.labels, True, 20)


def test_the_learned_table_of_a_counted_bigram_is_its_frequencies() -> None:
    text = Text(built_in_facts().text, BLOCK)
    size = len(text.labels)
    model = BigramModel.by_counting(text.train, size, smoothing=1)
    facts = built_in_facts()
    expected = (facts.counts + 1) / (facts.totals[:, None] + size)
    np.testing.assert_allclose(table_of(model, facts.shown), expected, atol=1e-6)


def test_a_view_changes_every_stage_and_each_is_found_again() -> None:
    for stage in SERIES:
        usual = stage_plan_of(stage, 60, VIEW.get)
        assert usual == replace(stage.plan(60), training=usual.training)
        assert is_usual(stage, usual)
        training = {
            "steps": 7, "batch": 4, "warm_up": 2, "decay": "cosine", "optimiser": "muon", "weight_decay": 0.1, "seed": 3
        }  # fmt: skip
        view = VIEW | training | {"rate": 0.5, "train_block": 4, "train_dropout": 0.2}
        plan = stage_plan_of(stage, 60, view.get)
        assert plan.training == TrainingSettings(**training, learning_rate=0.5)  # type: ignore[arg-type]
        assert getattr(plan.model, "block_size", 4) == 4
        assert getattr(plan.model, "dropout", 0.2) == 0.2
        assert not is_usual(stage, plan)
        assert stage_of(plan) is stage
