"""The steps from the last hidden state to the probabilities of pretrained models, against transformers' own logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.nn import functional as F

from attnviz.document import document_of_layer, read, write
from attnviz.pretrained import load, open_model
from attnviz.steps import PARTS, STEPS, names_at, steps_of
from attnviz.trace import vocabulary
from attnviz.trace.walk import Walk
from tests.unit.families import BERT, opened, save_model
from tests.unit.pretrained.architectures import tokenizer
from tests.unit.pretrained.test_blocks import WITH_HEADS, eager, run

TEXT = "the cat sat on the mat"
MASKED = "the [MASK] sat on the mat"
MASKED_LMS = ("bert", "roberta")


@pytest.fixture(scope="module", params=WITH_HEADS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    torch.manual_seed(0)
    family = request.param.partition(",")[0]
    return family, save_model(WITH_HEADS[request.param](), tmp_path_factory.mktemp(family), family)


def theirs(family: str, folder: Path, trace: Any) -> Any:
    """Return the output of transformers' own model: `logits`, (1, T, V), and `hidden_states`."""
    return run(eager(folder, tf.AutoModelForMaskedLM if family in MASKED_LMS else tf.AutoModelForCausalLM), trace)


def last_walk(trace: Any) -> Walk:
    walk: Walk = trace.walk_at(len(trace.places) - 1, 0)
    return walk


@pytest.mark.parametrize("text", [TEXT, MASKED, "mat", "cat " * 40])
def test_logits_and_probabilities_are_transformers(text: str, model: tuple[str, Path]) -> None:
    family, folder = model
    trace = load(str(folder)).trace(text)
    out = theirs(family, folder, trace)
    part = last_walk(trace).block
    assert part is not None
    there, logits = part.matrices, out.logits[0]
    probabilities = torch.softmax(logits.double(), -1)
    ids = list(trace.vocabulary.shown(there.get("transform_norm", trace.last_hidden_state), trace.focus).tokens)
    assert len(ids) == len(set(ids)) == len(part.vocabulary) <= vocabulary.MOST
    assert part.rest == logits.shape[1] - len(ids)
    torch.testing.assert_close(there["logits"], logits[:, ids], rtol=1e-5, atol=1e-5)
    shown = there["probabilities"].double()
    torch.testing.assert_close(shown[:, :-1], probabilities[:, ids], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(shown[:, -1], 1 - probabilities[:, ids].sum(-1), rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(shown.sum(-1), torch.ones(len(logits), dtype=torch.double), rtol=0, atol=1e-5)
    likely = logits[part.focus].topk(vocabulary.LIKELY).indices.tolist()
    assert sorted(ids[: vocabulary.LIKELY]) == sorted(likely)
    if len(logits) <= vocabulary.MOST - vocabulary.LIKELY:
        assert set(logits.argmax(-1).tolist()) <= set(ids)
    if family == "bert":
        row = trace.tokens.labels.index("[MASK]") if "[MASK]" in text else len(trace.tokens) - 2
        assert part.focus == row
    final = there.get("final_norm", there.get("block_output"))
    torch.testing.assert_close(final, out.hidden_states[-1][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("text", [TEXT, MASKED])
def test_the_guesses_are_transformers_likeliest_tokens(text: str, model: tuple[str, Path]) -> None:
    family, folder = model
    trace = load(str(folder)).trace(text)
    probabilities = torch.softmax(theirs(family, folder, trace).logits[0].double(), -1)
    guesses = read(write(document_of_layer(last_walk(trace)))).header.guesses
    assert guesses == trace.guesses(trace.places[-1].kind)
    mask = trace.vocabulary.masked
    decodes = "decoder" in trace.kinds
    assert [of.row for of in guesses] == [row for row, token in enumerate(trace.tokens.ids) if decodes or token == mask]
    assert decodes or len(guesses) == (text == MASKED)
    for of in guesses:
        best = probabilities[of.row].topk(vocabulary.GUESSES)
        labels = [trace.vocabulary.label(token) for token in best.indices.tolist()]
        assert list(of.labels) == [label.lstrip("␣▁") or label for label in labels]
        assert of.shares == pytest.approx(best.values.tolist(), rel=1e-4, abs=1e-7)


def test_of_a_long_text_the_last_rows_have_guesses(model: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    trace = load(str(model[1])).trace(TEXT)
    kind = trace.places[-1].kind
    monkeypatch.setattr(vocabulary, "CELLS", 2 * trace.vocabulary.size + 1)
    rows = len(trace.tokens)
    assert [of.row for of in trace.guesses(kind)] == ([rows - 2, rows - 1] if kind == "decoder" else [])


def test_the_code_and_the_pictures_give_the_numbers(model: tuple[str, Path]) -> None:
    loaded = load(str(model[1]))
    trace = loaded.trace(MASKED)
    walk = last_walk(trace)
    document = read(write(document_of_layer(walk)))
    arrays = {name: torch.tensor(np.array(one)) for name, one in document.arrays.items() if "/" not in name}
    named = [names_at(loaded.description, place) for place in trace.places]
    assert named == [tuple(steps_of(trace.walk_at(number, 0))) for number in range(len(trace.places))]
    there = [name for name in steps_of(walk) if name not in STEPS]
    assert there[-2:] == ["logits", "probabilities"]
    assert ("transform_hidden" in there) == (model[0] in MASKED_LMS)
    space: dict[str, Any] = {"torch": torch, "F": F, **arrays}
    first = there.index("transform_hidden") if "transform_hidden" in there else there.index("logits")
    for name in there[first:]:
        step = PARTS[name]
        for made in step.matrices:
            if made != "logits_and_rest":  # the code says what it is
                space.pop(made)
        exec(step.code(walk), space)
        for made in step.matrices:
            torch.testing.assert_close(space[made], arrays[made], rtol=1e-5, atol=1e-5)
        assert "nan" not in step.fact(walk)
    if model[0] in MASKED_LMS:
        picture = next(one.picture for one in document.header.steps if one.name == "transform_hidden")
        assert picture is not None
        assert picture.operations["transform_hidden"].name == "gelu"


def test_logits_are_computed_some_rows_at_a_time(model: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    trace = load(str(model[1])).trace(TEXT)
    at_once = last_walk(trace).block
    monkeypatch.setattr(vocabulary, "CELLS", 1)
    one_by_one = last_walk(trace).block
    assert at_once is not None
    assert one_by_one is not None
    assert at_once.vocabulary == one_by_one.vocabulary
    torch.testing.assert_close(at_once.matrices["probabilities"], one_by_one.matrices["probabilities"])


def test_the_bias_and_the_outputs_are_those_of_the_heads_last_layer() -> None:
    sizes = {**BERT, "vocab_size": 128}
    bert = tf.BertForMaskedLM(tf.BertConfig(**sizes))
    torch.nn.init.normal_(bert.cls.predictions.bias)
    opened = open_model(bert, tokenizer())
    assert opened.output_bias is not None
    assert torch.equal(opened.output_bias, bert.cls.predictions.decoder.bias)
    assert (opened.head_outputs, opened.description.shows_logits) == (128, True)
    gpt2 = open_model(tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=1, n_head=4)), tokenizer())
    assert (gpt2.output_bias, gpt2.head_outputs) == (None, 128)
    headless = open_model(tf.BertModel(tf.BertConfig(**sizes)), tokenizer())
    assert (headless.output_bias, headless.head_outputs, headless.language_head) == (None, None, None)


@pytest.mark.parametrize("error", [TypeError, RuntimeError])
def test_a_head_that_takes_more_than_the_last_hidden_state_is_left_out(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def head(hidden: torch.Tensor) -> torch.Tensor:
        raise error(f"not {tuple(hidden.shape)} alone")

    monkeypatch.setattr("attnviz.pretrained.transformers_model.find_language_head", lambda _: head)
    gpt2 = tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=1, n_head=4))
    opened = open_model(gpt2, tokenizer())
    assert (opened.language_head, opened.description.shows_logits) == (None, False)


def test_a_token_that_the_tokenizer_lacks_is_named_by_its_id_and_one_of_no_characters_by_a_sign() -> None:
    backend = Tokenizer(models.WordLevel({"[UNK]": 0, "": 1, "one": 2, "two": 3}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    words = tf.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
    opened = open_model(tf.BertForMaskedLM(tf.BertConfig(**BERT | {"vocab_size": 128})), words)
    assert opened.vocabulary is not None
    labels = [opened.vocabulary.label(token) for token in (0, 1, 3, 4, 127)]
    assert labels == ["[UNK]", "∅", "two", "id 4", "id 127"]
    assert opened.description.vocabulary == 4


def test_a_head_in_several_modules_gives_logits_though_its_steps_are_not_known() -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 128, "dim": 32, "n_layers": 1, "n_heads": 4, "hidden_dim": 48}
    model = tf.DistilBertForMaskedLM(tf.DistilBertConfig(**sizes)).eval()
    opened = open_model(model, tokenizer())
    trace = opened.trace(TEXT)
    with torch.inference_mode():
        wanted = model(input_ids=torch.tensor([trace.tokens.ids])).logits[0]
    torch.testing.assert_close(trace.logits, wanted, rtol=1e-5, atol=1e-5)
    assert (opened.vocabulary, opened.description.shows_logits) == (None, False)
    assert names_at(opened.description, trace.places[-1]) == tuple(steps_of(last_walk(trace)))


def test_a_model_without_a_head_has_no_logits_and_a_head_of_another_form_is_left_out(tmp_path: Path) -> None:
    described = opened("gpt2").description
    assert (described.final_norm, described.shows_logits) == (True, False)
    sizes = {**BERT, "num_key_value_heads": 2, "head_dim": 8}
    capped = tf.Gemma2ForCausalLM(tf.Gemma2Config(**sizes, attn_logit_softcapping=None, final_logit_softcapping=0.1))
    assert not load(str(save_model(capped, tmp_path / "gemma", "gemma"))).description.shows_logits
