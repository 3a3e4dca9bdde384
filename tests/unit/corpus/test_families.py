"""Batches of models of transformers: the statistics are those of each sentence's trace alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attnviz.corpus.sentences import CUT, Reader
from attnviz.corpus.statistics import Place
from attnviz.pretrained import load
from attnviz.pretrained.transformers_model import TransformersModel
from tests.unit.corpus.conftest import SENTENCES
from tests.unit.families import FAMILIES, save

COMPARED = ("mean", "std", "offset_mean", "part_mean", "divergence")


@pytest.mark.parametrize("name", list(FAMILIES))
def test_batches_of_every_family_equal_single_sentences(name: str, tmp_path: Path) -> None:
    model = load(str(save(name, tmp_path)))
    reader = Reader(model, batch=4, pairs_every=2)
    assert reader.batch == 4
    alone, notes = reader.nothing(), list[tuple[int, str]]()
    for number, sentence in enumerate(SENTENCES):
        alone.add(model.trace(sentence), Place(0, number), kind=reader.kind, pairs=number % 2 == 0)
    found = reader.read(SENTENCES, [Place(0, number) for number in range(len(SENTENCES))],
                        on_note=lambda *note: notes.append(note))  # fmt: skip
    assert notes == [(n, CUT) for n, sentence in enumerate(SENTENCES) if model.read(sentence)[0].dropped]
    assert bool(notes) == (name == "gpt2")
    np.testing.assert_array_equal(found.sums["count"], alone.sums["count"])
    one, other = found.finish(), alone.finish()
    for what in COMPARED:
        np.testing.assert_allclose(getattr(one, what), getattr(other, what), rtol=0, atol=1e-6, err_msg=what)
    # Of one sentence, a distance of 9 tokens is a float32, whose last bit is 1e-6.
    np.testing.assert_allclose(found.strongest.values, alone.strongest.values, rtol=1e-6, atol=1e-6)


def test_a_model_that_padding_changes_reads_one_sentence_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(str(save("bert", tmp_path)))
    assert isinstance(model, TransformersModel)
    expected = Reader(model, batch=1).read(SENTENCES)

    def unmasked(ids: list[list[int]], segments: list[list[int]]) -> object:
        longest = max(map(len, ids))
        every = [[*one, *[0] * (longest - len(one))] for one in (*ids, *segments)]
        return TransformersModel.padded_forward(model, every[: len(ids)], every[len(ids) :])

    monkeypatch.setattr(model, "padded_forward", unmasked)
    reader = Reader(model, batch=4)
    assert reader.batch == 1
    found = reader.read(SENTENCES)
    for name, sums in expected.sums.items():
        np.testing.assert_array_equal(found.sums[name], sums, err_msg=name)
