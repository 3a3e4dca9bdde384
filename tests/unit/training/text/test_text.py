"""A text as a subject: split, blocks, whole validation, chunks, and the built-in corpus."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.utils.data import DataLoader

from attnviz.tokens import BadUploadError, CharVocab, UnknownCharacterError, read_upload
from attnviz.toy import BigramModel, CharGPT
from attnviz.training.loop import Trainer
from attnviz.training.settings import TrainingSettings
from attnviz.training.text.chunks import FileChunks, chunks, examples
from attnviz.training.text.corpus import built_in
from attnviz.training.text.cut import ChunkSettings, id_lines, length_of
from attnviz.training.text.subject import Text, TextError, validation_loss

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


def test_a_given_vocabulary_must_hold_every_character() -> None:
    vocabulary = CharVocab.from_text("ab")
    assert Text("abab" * 40, 4, vocabulary=vocabulary).labels == ("a", "b")
    with pytest.raises(UnknownCharacterError):
        Text("abc" * 40, 4, vocabulary=vocabulary)


def test_reading_cuts_to_the_block_and_marks_unknown_characters() -> None:
    text = Text(SAMPLE, 8)
    tokens, decoder = text.read("To be§ or not")
    assert decoder is None
    assert (len(tokens), tokens.dropped, tokens.unknown.index(True)) == (8, 5, 5)
    assert text.encode("b§e").tolist() == [text.labels.index("b"), text.labels.index("e")]


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


TEXT = "To be, or not to be: that is the question.\n" * 3 + "Whether 'tis nobler in the mind to suffer é.\n"
LABELS = sorted(set(TEXT))


def read(cut: str, most: int) -> list[str]:
    lines = list(id_lines(TEXT, LABELS, cut, most))  # type: ignore[arg-type]
    found = [json.loads(line) for line in lines]
    assert all(list(one) == ["ids"] and "\n" not in line for one, line in zip(found, lines, strict=True))
    return ["".join(LABELS[id_] for id_ in one["ids"]) for one in found]


@pytest.mark.parametrize("most", [1, 8, 40, 500])
def test_blocks_follow_one_another_and_are_the_text(most: int) -> None:
    found = read("blocks", most)
    assert "".join(found) == TEXT
    assert {len(one) for one in found[:-1]} <= {most}
    assert 1 <= len(found[-1]) <= most


def test_lines_are_cut_by_themselves_and_chunks_have_their_ends() -> None:
    assert "".join(read("plain", 40)) == TEXT.replace("\n", "")
    chunks = read("chunks", 40)
    assert sum(one.endswith("\n") for one in chunks) == TEXT.count("\n")
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
