"""The built-in model without heads, and its exported script, against transformers with changed weights and hooks."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import spearmanr
from torch import Tensor, nn
from transformers import AutoTokenizer, BertForMaskedLM, BertModel

from attnviz.bert.ablation import (
    MEASURES,
    Effects,
    cosine,
    effects,
    effects_in_steps,
    head_means,
    head_measures,
    hidden_without,
    sentence_embedding,
    spearman,
)
from attnviz.bert.search import built_in as reference
from attnviz.export.code.bert import uses
from attnviz.export.code.bert.uses import BY_MEAN_LINES, WITHOUT_LINES, without_script
from attnviz.pretrained import PretrainedModel
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import HEAD_FILE, find_folder
from attnviz.tokens import NoTokensError
from tests.loaded import built_in_model
from tests.memory import held
from tests.scripts import run_alone
from tests.toy import tokens_of

TEXT = "The animal didn't cross the street because it was too tired."
REFERENCE = ("A dog barks.", "The old man the boat.", "Nobody came to the meeting, so we went home early.")
D, HEADS, LAYERS = 32, 12, 6


def run(theirs: BertModel, model: BuiltInModel, text: str = TEXT) -> Tensor:
    with torch.no_grad():
        hidden: Tensor = theirs(torch.tensor([model.tokenize(text).ids])).last_hidden_state[0]
    return hidden


@contextmanager
def zeroed(theirs: BertModel, heads: list[tuple[int, int]]) -> Iterator[None]:
    """Set the slices of W_O of these heads to 0."""
    kept = {layer: theirs.encoder.layer[layer].attention.output.dense.weight.clone() for layer, _ in heads}
    for layer, head in heads:
        theirs.encoder.layer[layer].attention.output.dense.weight[:, head * D : (head + 1) * D] = 0
    yield
    for layer, weight in kept.items():
        theirs.encoder.layer[layer].attention.output.dense.weight.copy_(weight)


@contextmanager
def averaged(theirs: BertModel, model: BuiltInModel, heads: list[tuple[int, int]]) -> Iterator[None]:
    """Let plain hooks put the mean over the reference sentences in the place of these heads' slices of concat."""
    dense = [layer.attention.output.dense for layer in theirs.encoder.layer]
    seen: dict[int, list[Tensor]] = {layer: [] for layer in range(LAYERS)}
    with ExitStack() as hooks:
        for layer, module in enumerate(dense):
            keep = partial(lambda layer, _, args: seen[layer].append(args[0][0]), layer)
            hooks.callback(module.register_forward_pre_hook(keep).remove)
        for text in REFERENCE:
            run(theirs, model, text)
    means = {layer: torch.cat(parts).mean(0) for layer, parts in seen.items()}

    def put(layer: int, head: int, _: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        concat, slice_ = args[0].clone(), slice(head * D, (head + 1) * D)
        concat[..., slice_] = means[layer][slice_]
        return (concat,)

    with ExitStack() as hooks:
        for layer, head in heads:
            hooks.callback(dense[layer].register_forward_pre_hook(partial(put, layer, head)).remove)
        yield


SETS = {
    "one": [(3, 1)],
    "several": [(0, 2), (2, 9), (2, 11), (5, 0)],
    "a layer": [(4, head) for head in range(HEADS)],
    "all": [(layer, head) for layer in range(LAYERS) for head in range(HEADS)],
}


@pytest.mark.parametrize("heads", SETS.values(), ids=SETS)
def test_heads_switched_off_by_zero_are_heads_without_their_slice_of_the_output_projection(
    minilm: BuiltInModel, theirs: BertModel, heads: list[tuple[int, int]]
) -> None:
    found = hidden_without(minilm, minilm.tokenize(TEXT), heads)
    with zeroed(theirs, heads):
        expected = run(theirs, minilm)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(minilm.trace(TEXT).last_hidden_state, run(theirs, minilm), rtol=0, atol=1e-6)


@pytest.mark.parametrize("heads", SETS.values(), ids=SETS)
def test_heads_switched_off_by_mean_are_what_plain_hooks_make_of_them(
    minilm: BuiltInModel, theirs: BertModel, heads: list[tuple[int, int]]
) -> None:
    found = hidden_without(minilm, minilm.tokenize(TEXT), heads, head_means(minilm, REFERENCE))
    with averaged(theirs, minilm, heads):
        expected = run(theirs, minilm)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    assert not torch.allclose(found, hidden_without(minilm, minilm.tokenize(TEXT), heads), atol=1e-3)


@pytest.mark.parametrize("by_mean", [False, True])
def test_the_effect_of_every_head_is_that_of_a_forward_pass_of_its_own(
    minilm: BuiltInModel, theirs: BertModel, by_mean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Batches of 5, 5, then 2
    monkeypatch.setattr("attnviz.measures.ablation.AT_ONCE", 5 * HEADS * len(minilm.tokenize(TEXT)) ** 2)
    before, trace = run(theirs, minilm), minilm.trace(TEXT)
    *done, found = effects_in_steps(trace, head_means(minilm, REFERENCE) if by_mean else None)
    assert isinstance(found, Effects)
    assert found.sentence.shape == found.tokens.shape == (LAYERS, HEADS)
    assert done[:4] == [5, 10, 12, 17]
    assert done[-1] == 72
    for layer, head in ((0, 0), (0, 2), (2, 7), (3, 1), (5, 10), (5, 11)):
        with averaged(theirs, minilm, [(layer, head)]) if by_mean else zeroed(theirs, [(layer, head)]):
            after = run(theirs, minilm)
        one, other = (torch.nn.functional.normalize(rows.mean(0), dim=0) for rows in (before, after))
        assert float(found.sentence[layer, head]) == pytest.approx(float(1 - one @ other), abs=1e-6)
        of_tokens = 1 - torch.cosine_similarity(before, after).mean()
        assert float(found.tokens[layer, head]) == pytest.approx(float(of_tokens), abs=1e-6)
    assert found.nbytes == held(found)


def test_what_a_head_does_to_the_answer_is_what_transformers_head_says(minilm: BuiltInModel, theirs: BertModel) -> None:
    """Its language head on the output of each model without one head's slice of W_O."""
    whole = BertForMaskedLM.from_pretrained(find_folder()).eval()
    whole.load_state_dict(load_file(HEAD_FILE), strict=False)
    text = "The animal did not cross the [MASK] because it was too [MASK]."
    place = minilm.tokenize(text).ids.index(103)

    def answers() -> Tensor:
        with torch.no_grad():
            return whole.cls(run(theirs, minilm, text))[place].softmax(-1)

    before, trace = answers(), minilm.trace(text)
    found = effects(trace).answer
    assert found is not None
    for layer, head in ((0, 2), (3, 1), (5, 10), (5, 11)):
        with zeroed(theirs, [(layer, head)]):
            change = answers()[before.argmax()] - before.max()
        assert float(found[layer, head]) == pytest.approx(float(change), abs=1e-6)
    assert effects(minilm.trace(TEXT)).answer is None


def test_no_head_changes_nothing_and_another_thread_sees_the_whole_model(minilm: BuiltInModel) -> None:
    tokens, whole, found = minilm.tokenize(TEXT), minilm.trace(TEXT).last_hidden_state, []
    assert torch.equal(hidden_without(minilm, tokens, []), whole)
    threads = [
        threading.Thread(target=lambda: found.append(hidden_without(minilm, tokens, SETS["several"]))),
        threading.Thread(target=lambda: found.append(minilm.trace(TEXT).last_hidden_state)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(torch.equal(one, whole) for one in found) == [False, True]
    assert torch.equal(PretrainedModel.run(minilm, tokens.ids, tokens.segments, None).hidden, whole)


def test_what_does_not_exist_is_refused(minilm: BuiltInModel) -> None:
    tokens = minilm.tokenize(TEXT)
    with pytest.raises(IndexError, match=r"^layer 6 does not exist: layers go from 0 to 5$"):
        hidden_without(minilm, tokens, [(6, 0)])
    with pytest.raises(IndexError, match=r"^head 12 does not exist: heads go from 0 to 11$"):
        hidden_without(minilm, tokens, [(0, 12)])
    with pytest.raises(ValueError, match=r"^the mean over no text is not defined$"):
        head_means(minilm, [])
    with pytest.raises(NoTokensError):
        hidden_without(minilm, tokens_of([]), [(0, 0)])


def test_the_measures_of_a_head_are_those_of_its_weights(minilm: BuiltInModel, theirs: BertModel) -> None:
    found, ids = head_measures(minilm.trace(TEXT)), torch.tensor([minilm.tokenize(TEXT).ids])
    own, seen, dense = slice(1, -1), [], theirs.encoder.layer[3].attention.output.dense
    hook = dense.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.no_grad():
        weights = theirs(ids, output_attentions=True).attentions[3][0, 1].double()
    hook.remove()
    positions = torch.arange(len(weights))
    wanted = {
        "largest": weights[own, own].max(-1).values.mean(),
        "words": weights[own, own].sum(-1).mean(),
        "entropy": torch.distributions.Categorical(weights).entropy().mean() / torch.tensor(2.0).log(),
        "distance": (weights * (positions[:, None] - positions).abs()).sum(-1).mean(),
        "norm": (seen[0][0, :, D : 2 * D] @ dense.weight[:, D : 2 * D].T).norm(dim=-1).mean(),
    }
    assert tuple(wanted) == MEASURES
    for name, expected in wanted.items():
        assert float(getattr(found, name)[3, 1]) == pytest.approx(float(expected), rel=1e-4), name
    assert found.nbytes == 5 * 72 * 4


def test_a_text_of_special_tokens_alone_has_no_words(minilm: BuiltInModel) -> None:
    found = head_measures(minilm.trace(""))
    assert bool(found.largest.isnan().all())
    assert bool(found.words.isnan().all())
    assert bool(found.norm.isfinite().all())


@pytest.mark.parametrize("seed", range(4))
def test_the_rank_correlation_is_scipys(seed: int) -> None:
    x, y = torch.randn(2, 40, generator=torch.Generator().manual_seed(seed))
    assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert spearman(x.round(), y.round()) == pytest.approx(spearmanr(x.round(), y.round()).statistic)  # with ties
    assert spearman(x, 3 * x + 1) == pytest.approx(1)


def test_a_rank_correlation_with_nothing_to_rank_is_not_a_number() -> None:
    assert torch.tensor(spearman(torch.ones(4), torch.arange(4.0))).isnan()
    assert torch.tensor(spearman(torch.ones(1), torch.ones(1))).isnan()
    for bad in (torch.nan, torch.inf):
        x, y = torch.tensor([0, 1, bad, 3]), torch.arange(4.0)
        assert torch.tensor([spearman(x, y), spearman(y, x), spearman(x, x)]).isnan().all()
    with pytest.raises(ValueError, match=r"^\(2,\) and \(3,\) differ$"):
        spearman(torch.ones(2), torch.ones(3))


def test_the_cosine_is_torchs_and_never_more_than_one() -> None:
    x = torch.randn(3, 50, 8, generator=torch.Generator().manual_seed(0))
    assert float(cosine(x, x).max()) <= 1
    torch.testing.assert_close(cosine(x, -x), torch.full((3, 50), -1.0).double())
    assert torch.equal(sentence_embedding(x), x.mean(1))


ODD_TEXT = 'He said: "it\'s {odd}", and \\n left.\nThen """ 🙂'
OFF = [(0, 2), (3, 1), (5, 11)]


def expected(texts: Sequence[str], *, by_mean: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cosines of the tokens, (T,), and of the sentence embedding."""
    model = built_in_model()
    means = head_means(model, texts) if by_mean else None
    after, before = hidden_without(model, model.tokenize(ODD_TEXT), OFF, means), model.trace(ODD_TEXT).last_hidden_state
    return cosine(before, after), cosine(before.mean(0), after.mean(0))


def test_the_script_has_all_sentences_of_the_mean() -> None:
    names: dict[str, list[str]] = {}
    script = without_script(ODD_TEXT, OFF, by_mean=True)
    exec(re.search(r"^REFERENCE = \[.*?^\]$", script, re.DOTALL | re.MULTILINE)[0], names)  # type: ignore[index]
    assert names["REFERENCE"] == list(reference().sentences)


@pytest.mark.parametrize("by_mean", [False, True])
def test_the_script_prints_what_is_shown(by_mean: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "reference", lambda: SimpleNamespace(sentences=REFERENCE))  # not a hundred and eighty
    done = run_alone(without_script(ODD_TEXT, OFF, by_mean=by_mean), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = [float(one) for one in re.findall(r"(-?\d\.\d{4})$", done.stdout, re.MULTILINE)]
    of_tokens, whole = expected(REFERENCE, by_mean=by_mean)
    assert printed == pytest.approx([*of_tokens.tolist(), float(whole)], abs=6e-5)


@pytest.mark.parametrize("by_mean", [False, True])
def test_the_lines_of_torch_give_what_is_shown(by_mean: bool) -> None:
    folder = find_folder()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    names = {"torch": torch, "tokenizer": tokenizer, "model": model, "TEXT": ODD_TEXT, "OFF": OFF}
    names["REFERENCE"] = REFERENCE
    exec(BY_MEAN_LINES if by_mean else WITHOUT_LINES, names)
    of_tokens, whole = expected(REFERENCE, by_mean=by_mean)
    torch.testing.assert_close(names["of_tokens"].double(), of_tokens, rtol=0, atol=1e-5)  # type: ignore[attr-defined]
    assert float(names["of_sentence"]) == pytest.approx(float(whole), abs=1e-5)  # type: ignore[arg-type]
