"""What a batch shows of each head, against transformers' eager attentions of each sentence alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from transformers import AutoModel, BertModel

from attnviz.corpus.observing import PARTS, clusters, divergence_sums, in_pieces, marks_of
from attnviz.corpus.sentences import CUT, Reader
from attnviz.corpus.statistics import CorpusStatistics, Place
from attnviz.measures.summary import MIN_BROAD_ENTROPY
from attnviz.measures.survey import survey
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import find_folder
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.tokens import Tokens
from tests.unit.corpus.conftest import SENTENCES
from tests.unit.families import FAMILIES, opened, save_model
from tests.unit.pretrained.test_windows import WINDOWS


@pytest.fixture(scope="module")
def attentions(minilm: BuiltInModel) -> list[npt.NDArray[np.float64]]:
    """Of each sentence, (L, H, T, T)."""
    theirs = BertModel.from_pretrained(find_folder(), attn_implementation="eager").eval()
    with torch.inference_mode():
        found = [theirs(torch.tensor([minilm.tokenize(one).ids]), output_attentions=True).attentions
                 for one in SENTENCES]  # fmt: skip
    return [torch.cat(one).double().numpy() for one in found]


@pytest.fixture(scope="module")
def found(reader: Reader) -> CorpusStatistics:
    return reader.read(SENTENCES).finish()


@pytest.fixture(scope="module")
def tokens(minilm: BuiltInModel) -> list[Tokens]:
    return [minilm.tokenize(one) for one in SENTENCES]


def rows_of(name: str, weights: npt.NDArray[np.float64], tokens: Tokens) -> npt.NDArray[np.float64]:
    """Return a measure of each query, (L, H, n), by its definition; n is 0 if the sentence has none."""
    n = len(tokens)
    if name == "entropy":
        return entropy(weights, base=2, axis=-1)
    if name == "distance":
        return (weights * np.abs(np.subtract.outer(np.arange(n), np.arange(n)))).sum(-1)
    if name in ("previous", "same", "next"):
        return np.diagonal(weights, {"previous": -1, "same": 0, "next": 1}[name], -2, -1)
    dots = [text != "" and all(not one.isalnum() and not one.isspace() and one in ",.;?'<>" for one in text)
            for text in map(tokens.source, range(n))]  # fmt: skip
    keys = {"cls": [0], "sep": [n - 1], "first": [], "punctuation": [i for i, is_dot in enumerate(dots) if is_dot
            and tokens.source(i) not in "<>"]}[name]  # fmt: skip
    return weights[..., keys].sum(-1) if keys else np.empty((*weights.shape[:2], 0))


def test_measures_are_those_of_transformers_attentions(
    found: CorpusStatistics, attentions: list[npt.NDArray[np.float64]], tokens: list[Tokens]
) -> None:
    for number, name in enumerate(found.measures):
        rows = [rows_of(name, weights, own) for weights, own in zip(attentions, tokens, strict=True)]
        values = np.array([one.mean(-1) for one in rows if one.shape[-1]])  # (N, L, H)
        assert (found.count[..., number] == len(values)).all(), name
        if len(values):
            np.testing.assert_allclose(found.mean[..., number], values.mean(0), rtol=0, atol=1e-5, err_msg=name)
            np.testing.assert_allclose(found.std[..., number], values.std(0), rtol=0, atol=1e-5, err_msg=name)


def test_relative_positions_are_between_tokens_of_the_sentence(
    found: CorpusStatistics, attentions: list[npt.NDArray[np.float64]]
) -> None:
    for place, offset in enumerate(found.offsets):
        inside = [np.diagonal(one[:, :, 1:-1, 1:-1], offset, -2, -1) for one in attentions]
        cells = np.concatenate(inside, -1)
        assert found.offset_count[place] == cells.shape[-1]
        np.testing.assert_allclose(found.offset_mean[..., place], cells.mean(-1), rtol=0, atol=1e-6)


def test_parts_of_a_sentence(
    found: CorpusStatistics, attentions: list[npt.NDArray[np.float64]], tokens: list[Tokens]
) -> None:
    names = [PARTS[part] for own in tokens for part in marks_of([own]).parts[0].tolist()]
    assert found.part_count.tolist() == [names.count(part) for part in PARTS]
    np.testing.assert_allclose(found.part_mean.sum(-1), 1, atol=1e-5)
    to_special = np.concatenate([one[..., 0] + one[..., -1] for one in attentions], -1)  # (L, H, tokens)
    is_rare = np.array(names) == "rare"
    expected = to_special[..., is_rare].mean(-1)
    np.testing.assert_allclose(found.part_mean[:, :, PARTS.index("rare"), 0], expected, atol=1e-6)


def test_pieces_of_words_are_those_that_wordpiece_marks(tokens: list[Tokens]) -> None:
    for own in tokens[:2]:
        marked = [piece.startswith("##") for piece in own.pieces]
        expected = [here or after for here, after in zip(marked, [*marked[1:], False], strict=True)]
        assert in_pieces(own) == expected
    assert any(in_pieces(tokens[1]))


def test_labels_hold_where_heads_have_them_on_the_sentence_alone(found: CorpusStatistics, minilm: BuiltInModel) -> None:
    counts = np.zeros_like(found.label_count)
    names = {"attends to [CLS]": "cls", "attends to [SEP]": "sep", "attends to punctuation": "punctuation"}
    for text in SENTENCES:
        for layer, of_layer in enumerate(survey(minilm.trace(text), "encoder", "").labels):
            for head, labels in enumerate(of_layer):
                for label in labels:
                    name = names.get(label, label.removesuffix("-token head"))
                    counts[found.labels.index(name), layer, head] += 1
    assert counts.sum() > 20
    np.testing.assert_array_equal(found.label_count, counts)


@pytest.mark.parametrize("name", ["modernbert", "mistral", "gemma3", "gpt_neo"])
def test_a_head_of_a_layer_with_a_window_is_compared_with_uniform_attention_in_its_window(
    name: str, tmp_path: Path
) -> None:
    """Against the entropies of transformers' attentions, beside those of even weights in each layer's window."""
    make, _, windows, _ = WINDOWS[name]
    model = load(str(save_model(make(), tmp_path, name)))
    reader = Reader(model, batch=4)
    assert reader.batch == 4
    theirs = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    broad, is_limited = np.zeros((2, 6 if name == "gpt_neo" else 4), int), np.zeros(2, bool)
    alone = reader.nothing()
    for sentence in SENTENCES:
        alone.add(model.trace(sentence))
        ids = torch.tensor([model.tokenize(sentence).ids])
        with torch.inference_mode():
            attentions = theirs(ids, output_attentions=True).attentions
        away = np.subtract.outer(np.arange(ids.shape[1]), np.arange(ids.shape[1]))  # query - key
        for layer, (weights, width) in enumerate(zip(attentions, windows, strict=True)):
            reach = len(away) if width is None else width - 1
            seen = ((np.abs(away) if name == "modernbert" else np.where(away < 0, 999, away)) <= reach).sum(-1)
            bits = entropy(weights[0].double().numpy(), base=2, axis=-1).mean(-1)
            broad[layer] += bits >= MIN_BROAD_ENTROPY * np.log2(seen).mean()
            is_limited[layer] |= bool((seen != len(away)).any())
    for found in (reader.read(SENTENCES), alone):
        done = found.finish()
        np.testing.assert_array_equal(done.label_count[done.labels.index("broad")], broad)
        np.testing.assert_array_equal(done.limited, is_limited)
    assert is_limited.tolist() == [name != "modernbert", True]
    assert broad[windows.index(3 if 3 in windows else 4)].sum() > len(SENTENCES), "some have the label in a window"


def test_the_divergence_of_heads_is_scipy_s(found: CorpusStatistics, attentions: list[npt.NDArray[np.float64]]) -> None:
    """Of each second sentence, as the reader samples them; SciPy's distance is its root, in nats."""
    sampled = attentions[::2]
    rows = np.concatenate([one.reshape(72, -1, one.shape[-1]) @ np.eye(one.shape[-1], 512) for one in sampled], 1)
    assert found.pair_count == rows.shape[1]
    for one, other in ((0, 1), (2, 30), (71, 5)):
        expected = (jensenshannon(rows[one], rows[other], base=2, axis=-1) ** 2).mean()
        assert found.divergence[one, other] == pytest.approx(expected, abs=1e-5)
    np.testing.assert_array_equal(found.divergence, found.divergence.T)
    assert not found.divergence.diagonal().any()


def test_equal_heads_have_no_divergence_and_share_a_cluster() -> None:
    one, other = torch.eye(4), torch.full((4, 4), 0.25)
    sums = divergence_sums(torch.stack([one, other, one, one.flip(0)])).numpy()
    assert sums[0, 2] == 0
    assert sums[0, 3] == pytest.approx(4)  # they share no key: 1 bit a query
    numbers = clusters(sums / 4, 3)
    assert numbers[0] == numbers[2] == 0 and len(set(numbers.tolist())) == 3
    with pytest.raises(ValueError, match=r"^5 clusters of 4 heads: there must be 1 to 4$"):
        clusters(sums, 5)
    assert clusters(sums[:2, :2], 2).tolist() == [0, 1]
    assert clusters(sums[:1, :1], 1).tolist() == [0]


COMPARED = ("mean", "std", "offset_mean", "part_mean", "divergence")


@pytest.mark.parametrize("name", list(FAMILIES))
def test_batches_of_every_family_equal_single_sentences(name: str) -> None:
    model = opened(name)
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


def test_a_model_that_padding_changes_reads_one_sentence_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened("bert")
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
