"""The training of the masked-language head: its data, its whitening, and a run that is stopped and continued."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf

from attnviz.bert import language_head
from attnviz.bert.head_card import Card
from attnviz.bert.language_head import SETTINGS, HeadData, HeadRun, HeadTraining, score_alone, whitening
from attnviz.bert.masked_states import (
    HIDDEN_PART,
    MaskedStates,
    digest_of,
    extend,
    read_corpora,
    sentences_of,
    shuffled,
)
from attnviz.bert.search import Sentences
from attnviz.cli import main
from attnviz.pretrained.described import find_folder
from attnviz.pretrained.masked_head import HeadWeights
from attnviz.training.loop import CheckpointError
from tests.loaded import built_in_model

TEXT = "\n\n".join(
    f"The {animal} sat on the {place} all day. Nobody saw the {animal} there! Was it asleep, or did it watch {people}?"
    for animal, place, people in zip(
        ("cat", "dog", "owl", "fox", "hen", "bear", "horse", "mouse"),
        ("mat", "roof", "branch", "hill", "nest", "rock", "grass", "shelf"),
        ("us", "them", "Ann", "the street", "the farmer", "children", "the road", "people"),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def masked() -> MaskedStates:
    states = MaskedStates("digest")
    assert extend(states, built_in_model(), shuffled(sentences_of(TEXT), 0), 0)
    return states


def test_sentences_end_at_marks_and_each_counts_once() -> None:
    text = "One two three four five. Is this the second one?\nIt goes on here!\n\nShort.\n\nOne two three four five."
    assert sentences_of(text) == ("One two three four five.", "Is this the second one?")
    assert sentences_of(f"{'long ' * 100}end.") == ()


def test_the_states_are_those_of_transformers_at_hidden_tokens(masked: MaskedStates) -> None:
    theirs = tf.BertModel.from_pretrained(find_folder(), add_pooling_layer=False).eval()
    states, tokens, sentences = masked.arrays()
    order = shuffled(sentences_of(TEXT), 0)
    model, hidden, whole = built_in_model(), 0, 0
    for number, text in enumerate(order):
        ids = model.tokenize(text).ids
        of_sentence = tokens[sentences == number].tolist()
        hidden, whole = hidden + len(of_sentence), whole + len(ids) - 2
        assert 1 <= len(of_sentence) < len(ids) - 1
        assert set(of_sentence) <= set(ids[1:-1])
        if len(of_sentence) == 1 and ids.count(of_sentence[0]) == 1:  # which token was hidden is certain
            masked_ids = [model.mask[1] if token == of_sentence[0] else token for token in ids]
            with torch.inference_mode():
                expected = theirs(input_ids=torch.tensor([masked_ids])).last_hidden_state[0]
            place = masked_ids.index(model.mask[1])
            torch.testing.assert_close(
                states[sentences == number][0].float(), expected[place], rtol=2e-3, atol=2e-3
            )  # float16
    assert 0.5 * HIDDEN_PART < hidden / whole < 2 * HIDDEN_PART


def test_reading_that_was_stopped_goes_on_with_the_same_states(
    masked: MaskedStates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("attnviz.bert.masked_states.POOL", 8)
    order = shuffled(sentences_of(TEXT), 0)
    whole, stopped = MaskedStates("digest"), MaskedStates("digest")
    assert extend(whole, built_in_model(), order, 0)
    assert not extend(stopped, built_in_model(), order, 0, stops=lambda: True)
    assert stopped.read == 8
    file = tmp_path / "states"
    file.write_bytes(stopped.to_bytes())
    again = MaskedStates.from_file(file, "digest")
    assert extend(again, built_in_model(), order, 0)
    for ours, theirs in zip(again.arrays(), whole.arrays(), strict=True):
        assert torch.equal(ours, theirs)
    with pytest.raises(CheckpointError, match="of other texts or another seed"):
        MaskedStates.from_file(file, "another")
    file.write_bytes(b"x" * 99)
    with pytest.raises(CheckpointError, match="holds no states of hidden tokens"):
        MaskedStates.from_file(file, "digest")


def test_what_tells_texts_apart_is_their_sentences_and_the_seed(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(TEXT)
    two.write_text(TEXT.replace("\n", "\n\n"))
    corpora, sentences = read_corpora([one, two])
    assert sentences == list(sentences_of(TEXT))
    assert corpora[0].sha256 == corpora[1].sha256
    assert [corpus.sentences for corpus in corpora] == [24, 24]
    assert len({digest_of(corpora, 0), digest_of(corpora, 1), digest_of(corpora[:1], 0)}) == 3
    for data, said in ((b"\xff\xfe.", "is not a text in UTF-8"), (b"short", "has no sentence of 20 to 400 characters")):
        one.write_bytes(data)
        with pytest.raises(ValueError, match=said):
            read_corpora([one])


def test_whitened_states_have_mean_0_and_variance_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_head, "RIDGE", 0.0)
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(5000, 6, generator=generator) @ torch.randn(6, 6, generator=generator) + 3
    mean, matrix = whitening(states)
    white = ((states - mean) @ matrix).double().numpy()
    np.testing.assert_allclose(white.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(6), atol=1e-4)


def test_no_sentence_is_in_both_parts(masked: MaskedStates) -> None:
    arrays = masked.arrays()
    data = HeadData.split(arrays, 3)
    assert not set(arrays[2][data.train].tolist()) & set(arrays[2][data.held_out].tolist())
    assert sorted([*data.train.tolist(), *data.held_out.tolist()]) == list(range(len(arrays[1])))
    with pytest.raises(ValueError, match="too few sentences"):
        HeadData.split(tuple(array[:1] for array in arrays), 0)  # type: ignore[arg-type]


def test_the_written_weights_compute_what_was_trained(masked: MaskedStates) -> None:
    """The whitening is put into the dense layer: the logits of plain states are those of whitened ones."""
    settings = replace(SETTINGS, steps=30, precision="float32", batch=16)
    data, table = HeadData.split(masked.arrays(), 3), built_in_model().embeddings
    training = HeadTraining(data, table, settings)
    losses = [training.trainer.advance() for _ in range(30)]
    assert losses[-1] < losses[0]
    weights = training.weights()
    head, states = training.trainer.model.eval(), data.states.float()
    mean, matrix = whitening(data.states[data.train])
    with torch.inference_mode():
        expected = head((states - mean) @ matrix)
        known = data.tokens[data.train].unique()
        ours = weights.vocabulary(table, str, 103).logits(states)
    torch.testing.assert_close(ours[:, known], expected, rtol=1e-3, atol=2e-3)
    unknown = [token for token in range(1000, 1100) if token not in known]
    assert weights.bias[unknown].unique().numel() == 1  # the logarithm of a smoothed count of 0


def run_of(masked: MaskedStates, folder: Path, steps: int = 6) -> HeadRun:
    settings = replace(SETTINGS, steps=steps, batch=8)
    is_word = torch.ones(30522, dtype=torch.bool)
    return HeadRun(
        masked.arrays(), "digest", built_in_model().embeddings, is_word, settings, folder / "head.checkpoint"
    )  # fmt: skip


def test_a_run_that_was_stopped_ends_as_one_that_was_not(
    masked: MaskedStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_head, "SEEDS", 2)
    monkeypatch.setattr(language_head, "HELD_OUT_PART", 0.3)
    whole = run_of(masked, tmp_path)
    losses: list[float] = []
    assert whole.run(progress=lambda _, loss: losses.append(loss))
    stops = iter((False, True))
    stopped = run_of(masked, tmp_path)
    assert not stopped.run(lambda: next(stops))
    assert stopped.steps == 2
    again, later = run_of(masked, tmp_path), iter([False] * 6 + [True])
    again.resume()
    assert again.steps == 2
    rest: list[float] = []
    assert not again.run(lambda: next(later), lambda _, loss: rest.append(loss))  # in the second seed
    assert (again.steps, len(again.results)) == (9, 1)
    last = run_of(masked, tmp_path)
    last.resume()
    assert last.run(progress=lambda _, loss: rest.append(loss))
    assert losses[2:] == rest
    assert last.results == whole.results
    assert [result.seed for result in last.results] == [0, 1]
    assert whole.weights is not None
    assert last.weights is not None
    assert last.weights.to_bytes() == whole.weights.to_bytes()
    other = run_of(masked, tmp_path, steps=7)
    with pytest.raises(CheckpointError, match="of other texts or settings"):
        other.resume()
    other.checkpoint.write_bytes(b"x")
    with pytest.raises(CheckpointError, match="is not a checkpoint of a head"):
        other.resume()


def test_words_are_hidden_one_at_a_time() -> None:
    model = built_in_model()
    cat, dot = model.tokenizer.id_of("cat"), model.tokenizer.id_of(".")
    score = score_alone(model, ["The cat sat.", "A cat!"], lambda token: token in (cat, dot))
    assert score.tokens == 3
    trace = model.trace("The [MASK] sat.")
    assert trace.logits is not None
    assert 0 <= score.top_1 <= score.top_5 <= 1 < score.perplexity


def test_the_command_writes_a_head_and_its_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(language_head, "SEEDS", 2)
    monkeypatch.setattr(language_head, "HELD_OUT_PART", 0.3)
    monkeypatch.setattr("attnviz.bert.search.built_in", lambda: Sentences(("The cat sat on the mat.",), 0, "one"))
    text, out = tmp_path / "text.txt", tmp_path / "head.safetensors"
    text.write_text(TEXT)
    other = tmp_path / "other.txt"
    other.write_text("A sentence of another text is long enough. And it has a second one.")
    arguments = [
        "train",
        "--text",
        str(text),
        "--text",
        str(other),
        "blanks",
        "--steps",
        "4",
        "--out",
        str(out),
        "--quiet",
    ]
    assert main(arguments) == 0
    card = Card.from_json(json.loads(out.with_suffix(".json").read_text()))
    assert (card.corpora[0].name, card.corpora[0].sentences) == ("text.txt", 24)
    assert card.command == "python -m attnviz train blanks --text text.txt --text other.txt --steps 4"
    assert (len(card.seeds), card.project_sentences.tokens) == (2, 6)
    assert HeadWeights.from_bytes(out.read_bytes()).bias.shape == (30522,)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "head.json",
        "head.safetensors",
        "other.txt",
        "text.txt",
    ]
    assert main(arguments) == 1  # the file exists
    assert main(["train", "blanks", "--out", str(tmp_path / "b")]) == 2
    assert main(["train", "blanks", "--text", str(tmp_path / "none.txt"), "--out", str(tmp_path / "c")]) == 1
    assert "blanks learns from texts" in capsys.readouterr().err
    text.write_text("Responsibilities everywhere. Understanding governments.")
    assert main(["train", "blanks", "--text", str(text), "--out", str(tmp_path / "d"), "--quiet"]) == 2
    assert "no sentence of 6 to 100 tokens" in capsys.readouterr().err
