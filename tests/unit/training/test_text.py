"""A text as a subject: split, blocks, whole validation, chunks, and the built-in corpus."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.utils.data import DataLoader

from attnviz.tokens import BadUploadError, read_upload
from attnviz.toy import BigramModel, CharGPT, GRUModel
from attnviz.toy.language.config import BigramConfig
from attnviz.training.evaluation import Evaluator
from attnviz.training.loop import Trainer, loss_of
from attnviz.training.plan import Plan, build, subject_of
from attnviz.training.series import SERIES
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.training.tasks.task import IGNORED
from attnviz.training.text.chunks import FileChunks, chunks, examples
from attnviz.training.text.corpus import built_in
from attnviz.training.text.cut import ChunkSettings, Cut, id_lines, length_of, sequences_of, settings_of
from attnviz.training.text.subject import Documents, Text, TextError, padded, validation_loss

SAMPLE = "To be, or not to be, that is the question.\n" * 10


def test_a_text_is_one_tensor_split_at_nine_tenths() -> None:
    text = Text(SAMPLE, 8)
    assert "".join(text.labels[i] for i in text.ids) == SAMPLE
    assert len(text.train) == int(0.9 * len(SAMPLE))
    assert torch.equal(torch.cat([text.train, text.validation]), text.ids)


def test_blocks_are_of_the_training_part_and_targets_follow_them() -> None:
    text = Text(SAMPLE, 8)
    batch = text.batch(500, torch.Generator().manual_seed(0))
    written = "".join(text.labels[i] for i in text.train)
    for ids, targets in zip(batch.ids, batch.targets, strict=True):
        block, after = ("".join(text.labels[i] for i in one) for one in (ids, targets))
        assert block + after[-1] in written
        assert block[1:] == after[:-1]
    last = torch.full((1, 1), len(text.train) - 9)
    starts = text.batch(20_000, torch.Generator().manual_seed(1)).ids
    assert (starts == text.train[last + torch.arange(8)]).all(1).any(), "the last block is never drawn"


def test_held_out_blocks_are_of_the_validation_part() -> None:
    text = Text(SAMPLE, 8)
    written = "".join(text.labels[i] for i in text.validation)
    batch = text.held_out()
    assert 2 <= len(batch) <= 64
    assert torch.equal(batch.ids, text.held_out().ids)
    for ids, targets in zip(batch.ids, batch.targets, strict=True):
        assert "".join(text.labels[i] for i in [*ids, targets[-1]]) in written


@pytest.mark.parametrize("length", [2, 9, 64, 65, 700])
def test_validation_predicts_each_character_once(length: int) -> None:
    torch.manual_seed(0)
    model, ids = CharGPT(7, block_size=8, layers=1, heads=2, width=16).train(), torch.randint(7, (length,))
    losses = []
    for at in range(0, length - 1, 8):
        x, y = ids[at : at + 8], ids[at + 1 : at + 9]
        losses.append(functional.cross_entropy(model(x[: len(y)]), y, reduction="sum").item())
    assert validation_loss(model, ids, 8) == pytest.approx(sum(losses) / (length - 1), rel=1e-5)
    assert model.training, "it is left as it was"
    with pytest.raises(ValueError, match=r"^one character has none after it to predict$"):
        validation_loss(model, ids[:1], 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no text"),
        (" \n\t ", "no text"),
        ("aaaaaaaaaa" * 50, "one character only"),
        ("ab", "2 characters; with blocks of 8 it needs at least 81"),
        (("ab" * 40), "at least 81"),
    ],
)
def test_a_text_without_anything_to_learn_is_refused(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Text(text, 8)


@given(st.integers(1, 70))
def test_the_shortest_text_that_is_named_is_enough_and_one_less_is_not(block_size: int) -> None:
    with pytest.raises(TextError) as refusal:
        Text("ab", block_size)
    least = int(str(refusal.value).split("at least ")[1].split(",")[0].replace(",", ""))
    assert Text("ab" * least, block_size)
    assert Text(("ab" * least)[:least], block_size)
    with pytest.raises(TextError):
        Text(("ab" * least)[: least - 1], block_size)


def test_uploads_that_are_no_text_are_refused() -> None:
    for data in (b"\0\1\2", b"\xff\xfe\0a", b"", b"a" * (5 * 2**20 + 1), b"caf\xe9"):
        with pytest.raises(BadUploadError):
            read_upload(data)


def test_any_unicode_is_learned_from() -> None:
    text = Text("שלום 👩‍👩‍👧 e\u0301 \ud800 <script>" * 40, 4)
    assert text.batch(3, torch.Generator().manual_seed(0)).ids.shape == (3, 4)
    assert "\ufffd" in text.labels


def test_reading_cuts_to_the_block_and_marks_unknown_characters() -> None:
    text = Text(SAMPLE, 8)
    tokens, decoder = text.read("To be§ or not")
    assert decoder is None
    assert (len(tokens), tokens.dropped, tokens.unknown.index(True)) == (8, 5, 5)


def test_the_trained_bigram_reaches_the_counted_floor_of_a_text() -> None:
    text = Text(SAMPLE * 4, 8)
    counted = BigramModel.by_counting(text.train, len(text.labels), smoothing=0.01)
    trainer = Trainer(
        BigramModel(len(text.labels)), text.batch, TrainingSettings(learning_rate=0.1, decay="cosine", steps=600)
    )
    for _ in range(600):
        trainer.advance()
    floor, trained = (validation_loss(model, text.validation, 8) for model in (counted, trainer.model))
    assert trained == pytest.approx(floor, abs=0.05)


def test_the_corpus_is_the_same_everywhere_and_holds_no_markup() -> None:
    corpus = built_in()
    digest = hashlib.sha256(corpus.encode()).hexdigest()
    assert digest == "ea10c23aa6bc63edef2a4dba3120ce39e611aa6d08303553aba01669b72e4a23"
    assert corpus.isascii()
    assert 300_000 < len(corpus) < 500_000
    assert all(character.isprintable() or character == "\n" for character in set(corpus))


DOCUMENT = list(range(100))


def test_chunks_have_bounded_lengths_and_overlap() -> None:
    found = list(chunks(DOCUMENT[:95], ChunkSettings(overlap=5, end=999)))
    assert [(one[0], len(one)) for one in found] == [(0, 40), (35, 40), (70, 26)]
    assert found[-1][-1] == 999
    short_rest = list(chunks(DOCUMENT[:85], ChunkSettings()))
    assert [(one[0], one[-1]) for one in short_rest] == [(0, 39), (40, 79), (65, 84)], "the last is made up to 20"
    assert list(chunks(DOCUMENT[:19], ChunkSettings())) == []


def test_a_plain_cut_keeps_every_token_once() -> None:
    found = list(chunks(DOCUMENT[:85], ChunkSettings(least=1)))
    assert [token for one in found for token in one] == DOCUMENT[:85]


@given(
    st.integers(0, 300), st.integers(1, 50), st.integers(0, 49), st.integers(0, 49), st.one_of(st.none(), st.just(-1))
)
def test_chunks_cover_a_document(count: int, most: int, less: int, overlap: int, end: int | None) -> None:
    least, overlap = max(1, most - less), min(overlap, most - 1)
    found = list(chunks(range(count), ChunkSettings(most, least, overlap, end)))
    if count < least:
        assert found == []
        return
    if end is not None:
        assert found[-1].pop() == end
    assert sorted({token for one in found for token in one}) == list(range(count))
    assert all(least <= len(one) <= most for one in found)
    assert all(one == list(range(one[0], one[0] + len(one))) for one in found)


@pytest.mark.parametrize("wrong", [{"most": 5, "least": 6}, {"least": 0}, {"overlap": 40}, {"overlap": -1}])
def test_impossible_cuts_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="can't be cut"):
        ChunkSettings(**wrong)


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "reviews.txt"
    file.write_bytes(b"\n".join([b"x" * 95, b"short", b"", b"y" * 25 + b"\xff"]))
    found = list(FileChunks(file, lambda line: [ord(one) for one in line], ChunkSettings(end=0)))
    assert [len(x) for x, _ in found] == [39, 39, 20, 26]
    for x, y in found:
        assert torch.equal(x[1:], y[:-1])
    assert found[2][1][-1] == 0
    batches = DataLoader(
        FileChunks(file, lambda line: [ord(one) for one in line], ChunkSettings(most=20)), batch_size=4
    )
    assert next(iter(batches))[0].shape == (4, 19)


def test_targets_are_the_next_tokens() -> None:
    x, y = examples([5, 6, 7])
    assert (x.tolist(), y.tolist()) == ([5, 6], [6, 7])


SAMPLE_LINES = "To be, or not to be: that is the question.\n" * 3 + "Whether 'tis nobler in the mind to suffer é.\n"
LABELS = sorted(set(SAMPLE_LINES))


def read(cut: str, most: int) -> list[str]:
    lines = list(id_lines(SAMPLE_LINES, LABELS, cut, most))  # type: ignore[arg-type]
    found = [json.loads(line) for line in lines]
    assert all(list(one) == ["ids"] and "\n" not in line for one, line in zip(found, lines, strict=True))
    return ["".join(LABELS[id_] for id_ in one["ids"]) for one in found]


@pytest.mark.parametrize("most", [1, 8, 40, 500])
def test_blocks_follow_one_another_and_are_the_text(most: int) -> None:
    found = read("blocks", most)
    assert "".join(found) == SAMPLE_LINES
    assert {len(one) for one in found[:-1]} <= {most}
    assert 1 <= len(found[-1]) <= most


def test_lines_are_cut_by_themselves_and_chunks_have_their_ends() -> None:
    assert "".join(read("plain", 40)) == SAMPLE_LINES.replace("\n", "")
    chunks = read("chunks", 40)
    assert sum(one.endswith("\n") for one in chunks) == SAMPLE_LINES.count("\n")
    assert all("\n" not in one[:-1] for one in chunks)


@pytest.mark.parametrize(("characters", "block"), [(20, 8), (9, 8), (8, 8), (3, 8)])
def test_a_data_set_is_as_long_as_there_are_windows_with_a_next_character(characters: int, block: int) -> None:
    windows = torch.arange(characters).unfold(0, block + 1, 1) if characters > block else []
    assert length_of(characters, block) == len(windows)


def test_a_block_may_begin_anywhere_in_the_training_part() -> None:
    text = Text("abcdefghijklmnopqrst", 1)  # trained on are 18 characters: 17 have one after them
    drawn = text.batch(400, torch.Generator().manual_seed(0))
    assert sorted(set(drawn.ids.flatten().tolist())) == list(range(17))
    assert torch.equal(drawn.targets, drawn.ids + 1)


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
        plan = Plan(TEXT, model, replace(usual.training, learning_rate=1e-2, batch=8), cut)
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
        dot, line_end = torch.tensor(subject.vocabulary.encode(".\n"))
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
