"""A text cut line by line: sequences as streamed from a file, and the loss of a padded batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.utils.data import DataLoader

from attnviz.toy import BigramModel, CharGPT, GRUModel
from attnviz.toy.language.config import BigramConfig
from attnviz.training.evaluation import Evaluator
from attnviz.training.loop import Trainer, loss_of
from attnviz.training.plan import Plan, build, subject_of
from attnviz.training.series import SERIES
from attnviz.training.settings import TEXT
from attnviz.training.tasks.task import IGNORED
from attnviz.training.text.chunks import FileChunks
from attnviz.training.text.corpus import built_in
from attnviz.training.text.cut import Cut, sequences_of, settings_of
from attnviz.training.text.subject import Documents, Text, TextError, padded

LINES = built_in()[:6000]
CUTS: tuple[Cut, ...] = ("chunks", "plain")


def written(subject: Documents) -> list[str]:
    """Return the sequences of the training part as text."""
    return ["".join(subject.labels[id_] for id_ in subject.train[start:stop]) for start, stop in subject.sequences]


@pytest.mark.parametrize("cut", CUTS)
def test_the_sequences_are_those_that_are_streamed_from_a_file(cut: Cut, tmp_path: Path) -> None:
    subject = Documents(LINES, 40, cut)
    whole = "".join(subject.labels[id_] for id_ in subject.train)
    (tmp_path / "lines.txt").write_text(whole[: whole.rindex("\n")], encoding="utf-8")
    end = subject.vocabulary.encode("\n")[0] if cut == "chunks" else None
    streamed = DataLoader(
        FileChunks(tmp_path / "lines.txt", subject.vocabulary.encode, settings_of(cut, 40, end)), batch_size=None
    )
    kept = subject.sequences[subject.sequences[:, 0] < whole.rindex("\n")]
    for (x, y), (start, stop) in zip(streamed, kept, strict=True):
        tokens = subject.train[start:stop]
        assert torch.equal(x, tokens[:-1])
        assert torch.equal(y, tokens[1:])


def test_chunks_are_long_enough_overlap_and_end_with_the_line() -> None:
    found = written(Documents(LINES, 40, "chunks"))
    assert all(20 <= len(one.rstrip("\n")) <= 40 for one in found)
    first = LINES.split("\n")[0]
    cut = [first[start : start + 40] for start in range(0, len(first) - 40, 32)]
    assert found[: len(cut)] == cut
    assert found[len(cut)] == first[min(32 * len(cut), len(first) - 20) :] + "\n"


def test_a_plain_cut_has_every_character_of_a_line_once_and_no_line_end() -> None:
    found = written(Documents(LINES, 40, "plain"))
    train = LINES[: int(0.9 * len(LINES))]
    alone = sum(len(line) % 40 == 1 for line in train.split("\n"))  # one character has nothing to predict
    assert sum(map(len, found)) == len(train.replace("\n", "")) - alone
    assert not any("\n" in one for one in found)


def test_a_last_character_is_predicted_from_the_line_end_after_it() -> None:
    assert list(sequences_of("ab\nc\n\nd", "chunks", 2)) == [(0, 3), (3, 5)], "the last line has no end"
    assert list(sequences_of("ab\nc\n\nd", "plain", 2)) == [(0, 2)]


@given(st.text("ab\n", max_size=80), st.integers(1, 12), st.sampled_from(CUTS))
def test_no_sequence_goes_over_the_end_of_its_line(text: str, most: int, cut: Cut) -> None:
    for start, stop in sequences_of(text, cut, most):
        piece = text[start:stop]
        assert 2 <= len(piece) <= most + 1
        assert "\n" not in piece[:-1]
        assert len(piece.rstrip("\n")) <= most
        assert cut == "chunks" or "\n" not in piece


MODELS = {
    "gpt": lambda count: CharGPT(count, block_size=40, layers=2, heads=2, width=16),
    "gru": lambda count: GRUModel(count, width=16, block_size=40),
    "bigram": BigramModel,
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("cut", CUTS)
def test_a_padded_batch_has_the_loss_of_its_sequences_one_by_one(cut: Cut, model: str) -> None:
    torch.manual_seed(0)
    subject = Documents(LINES, 40, cut)
    module = MODELS[model](len(subject.labels)).eval()
    batch = subject.batch(32, torch.Generator().manual_seed(1))
    lengths = (batch.targets != IGNORED).sum(1)
    assert len(set(lengths.tolist())) > 1, "sequences of several lengths"
    with torch.no_grad():
        each = [
            functional.cross_entropy(module(x[None, :n])[0], y[:n], reduction="sum")
            for x, y, n in zip(batch.ids, batch.targets, lengths, strict=True)
        ]
        assert loss_of(module, batch).item() == pytest.approx((sum(each) / lengths.sum()).item(), rel=1e-5)
        total, right, count = 0.0, 0, 0
        for start, stop in subject.validation_sequences.tolist():
            tokens = subject.validation[start:stop]
            logits = module(tokens[None, :-1])[0]
            total += functional.cross_entropy(logits, tokens[1:], reduction="sum").item()
            right += int((logits.argmax(-1) == tokens[1:]).sum())
            count += len(tokens) - 1
    whole, told = subject.whole(module), Evaluator(subject, 32).evaluate(module, whole=True)
    for loss, accuracy in ((whole.loss, whole.accuracy), (told["loss"], told["accuracy"])):
        assert loss == pytest.approx(total / count, rel=1e-5)
        assert accuracy == pytest.approx(right / count, abs=1e-9)


def test_batches_and_validation_are_of_their_own_parts() -> None:
    subject = Documents(LINES, 16, "chunks")
    for batch, part in ((subject.batch(200, torch.Generator().manual_seed(0)), subject.train),
                        (subject.held_out(), subject.validation)):  # fmt: skip
        text = "".join(subject.labels[id_] for id_ in part)
        for x, y in zip(batch.ids, batch.targets, strict=True):
            right = y[y != IGNORED]
            assert "".join(subject.labels[id_] for id_ in [*x[: len(right)], right[-1]]) in text
    assert padded(torch.arange(9), torch.tensor([[0, 3], [4, 9]])).targets.tolist() == [
        [1, 2, IGNORED, IGNORED], [5, 6, 7, 8],
    ]  # fmt: skip


@pytest.mark.parametrize("cut", CUTS)
def test_every_stage_learns_from_sequences(cut: Cut) -> None:
    for stage in SERIES:
        usual = stage.plan(len(set(LINES)))
        model = usual.token_model
        if not isinstance(model, BigramConfig):
            model = replace(model, block_size=40)
        plan = Plan(TEXT, model, replace(usual.training, learning_rate=1e-2), cut)
        assert plan.block_size == 40
        subject = subject_of(plan, LINES)
        assert isinstance(subject, Documents)
        trainer = Trainer(build(plan.model, 0), subject.batch, plan.training)
        losses = [trainer.advance() for _ in range(40)]
        assert sum(losses[-5:]) / 5 < losses[0] - 0.2, stage.name


def test_a_model_of_plain_cuts_never_ends_a_line_and_one_of_chunks_does() -> None:
    probabilities = {}
    for cut in CUTS:
        subject = Documents(LINES, 40, cut)
        trainer = Trainer(
            BigramModel(len(subject.labels)), subject.batch, replace(SERIES[0].training, learning_rate=0.1)
        )
        for _ in range(200):
            trainer.advance()
        dot, line_end = subject.encode(".\n")
        with torch.no_grad():
            probabilities[cut] = trainer.model(dot[None])[0].softmax(-1)[line_end].item()
    assert probabilities["plain"] < 0.001
    assert probabilities["chunks"] > 0.3


@pytest.mark.parametrize("cut", CUTS)
def test_a_text_whose_lines_are_too_short_is_refused_in_a_sentence(cut: Cut) -> None:
    with pytest.raises(TextError, match=r"line by line .* of this text has none that is long enough: .*\.$"):
        Documents("\n".join("a" if cut == "plain" else "abc" for _ in range(900)), 40, cut)
    with pytest.raises(TextError, match=r"^There is no text to train on: paste one, or choose the built-in corpus\.$"):
        Documents("", 40, cut)


def test_a_plan_says_how_a_text_is_cut() -> None:
    usual = SERIES[1].plan(60)
    assert "cut" not in usual.to_json()
    for cut in get_args(Cut):
        plan = replace(usual, cut=cut)
        assert Plan.from_json(plan.to_json()) == plan
    assert type(subject_of(SERIES[1].plan(len(set(LINES))), LINES)) is Text
    with pytest.raises(
        ValueError, match=r"^cut is 'x': a text can be cut into blocks, chunks, plain, and nothing else can$"
    ):
        Plan.from_json(usual.to_json() | {"cut": "x"})
    with pytest.raises(
        ValueError, match=r"^cut is 'chunks': a text can be cut into blocks, chunks, plain, and nothing else can$"
    ):
        Plan("induction", usual.model, usual.training, "chunks")
    with pytest.raises(
        ValueError, match=r"^cut is \[1\]: a text can be cut into blocks, chunks, plain, and nothing else can$"
    ):
        Plan.from_json(usual.to_json() | {"cut": [1]})
