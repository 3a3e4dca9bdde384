"""The likeliest tokens in the place of masks are those of transformers' own masked-language models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from tokenizers import AddedToken, ByteLevelBPETokenizer, Tokenizer

from attnviz.bert.blank import completed, fill, label_for, lacks, last_word, maskable, masks_in, read
from attnviz.export.code.bert.uses import blank_script
from attnviz.pretrained import PretrainedModel, load
from tests.memory import held
from tests.unit.families import BART, BERT, SIZES, opened, save_model

TEXT = "The cat [MASK] on the [MASK] near Ann."
MODELS = ("bert", "roberta")


def with_masks() -> Any:
    """Train a small tokenizer of RoBERTa's kind."""
    trained = ByteLevelBPETokenizer()
    mask = AddedToken("<mask>", lstrip=True)  # as RoBERTa's: it includes the space before it
    special = ["<s>", "<pad>", "</s>", "<unk>", mask]
    trained.train_from_iterator(["The cat sat on the mat near Ann."] * 4, vocab_size=300, special_tokens=special)
    return tf.RobertaTokenizerFast(tokenizer_object=Tokenizer.from_str(trained.to_str()))


def saved(name: str, folder: Path) -> Path:
    """Save a random model with a masked-language head."""
    torch.manual_seed(0)
    if name == "bert":
        return save_model(tf.BertForMaskedLM(tf.BertConfig(**BERT)), folder, name)
    sizes = {**BERT, "vocab_size": 300}
    save_model(tf.RobertaForMaskedLM(tf.RobertaConfig(**sizes, max_position_embeddings=66)), folder, name)
    with_masks().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=MODELS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def model(folder: Path) -> PretrainedModel:
    return load(str(folder))


def theirs(folder: Path, ids: Sequence[int]) -> torch.Tensor:
    """Return the logits of transformers' own model, (T, V)."""
    whole = tf.AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        logits: torch.Tensor = whole(input_ids=torch.tensor([ids])).logits[0]
    return logits


@pytest.mark.parametrize("chosen", [(), (1,), (1, 5)])
def test_the_logits_are_transformers(chosen: tuple[int, ...], folder: Path, model: PretrainedModel) -> None:
    assert lacks(model) is None
    tokens = read(model, TEXT)
    assert model.mask is not None
    _, mask = model.mask
    found = fill(model, tokens, chosen, kept=7)
    ids = [mask if place in chosen else one for place, one in enumerate(tokens.ids)]
    assert found.places == tuple(place for place, one in enumerate(ids) if one == mask)
    assert len(found.places) == 2 + len(chosen)
    logits = theirs(folder, ids)[list(found.places)]
    best = logits.topk(7)
    torch.testing.assert_close(found.logits, best.values, rtol=1e-5, atol=1e-5)
    assert found.ids[:, 0].tolist() == best.indices[:, 0].tolist()
    probabilities = torch.softmax(logits, dim=-1)
    torch.testing.assert_close(found.probabilities, probabilities.gather(1, found.ids), rtol=1e-4, atol=1e-8)
    assert 0 < found.nbytes - held(found) < 100 * len(tokens)  # the arrays, and some bytes a token
    for number, place in enumerate(found.places):
        true = tokens.ids[place]
        if place in chosen:
            assert found.truth[number] == true
            assert found.true_probability[number] == pytest.approx(float(probabilities[number, true]), rel=1e-4)
            order = logits[number].argsort(descending=True).tolist()
            assert found.true_rank[number] == 1 + order.index(true)
        else:
            assert (found.truth[number], found.true_probability[number], found.true_rank[number]) == (None, None, None)


def test_the_text_is_completed_with_the_likeliest_tokens(model: PretrainedModel) -> None:
    found = fill(model, read(model, TEXT))
    names = [label_for(model, one) for one in found.ids[:, 0].tolist()]
    pieces = completed(model, found)
    assert [one for one, is_filled in pieces if is_filled] == [name.removeprefix("##") for name in names]
    whole = "".join(one for one, _ in pieces)
    expected = TEXT
    for name in names:
        blank = " [MASK]" if name.startswith("##") else "[MASK]"
        expected = expected.replace(blank, name.removeprefix("##"), 1)
    assert whole == expected


def test_the_label_of_a_token_has_no_mark_of_a_space_unless_it_is_one(tmp_path: Path) -> None:
    model = load(str(saved("roberta", tmp_path / "roberta")))
    ids = with_masks().convert_tokens_to_ids(["Ġ", "Ġmat", "m"])
    assert [label_for(model, one) for one in ids] == ["␣", "mat", "m"]


def test_what_can_be_masked_and_what_is_masked_by_itself(model: PretrainedModel) -> None:
    tokens = read(model, "Ann sat on the mat!")
    places = maskable(model, tokens)
    assert masks_in(model, tokens) == ()
    assert 0 not in places
    last = last_word(model, tokens)
    assert last is not None
    assert tokens.source(last).strip() in ("mat", "t", "at")
    masked = read(model, "[MASK]")
    assert maskable(model, masked) == ()
    assert last_word(model, masked) is None
    assert last_word(model, read(model, "?!")) == maskable(model, read(model, "?!"))[-1]


def test_what_is_not_there_is_refused(model: PretrainedModel) -> None:
    tokens = read(model, "Ann sat")
    with pytest.raises(ValueError, match=r"^there is no mask in the text$"):
        fill(model, tokens)
    with pytest.raises(IndexError, match="position 99"):
        fill(model, tokens, (99,))
    headless = opened("bert")
    with pytest.raises(ValueError, match=r"can't fill blanks$"):
        fill(headless, headless.tokenize("Ann [MASK]"))


def test_a_long_text_is_cut_and_its_end_stays(model: PretrainedModel) -> None:
    text = f"Ann [MASK] {'on the mat ' * 400}[MASK]"
    tokens = read(model, text)
    assert tokens.dropped
    found = fill(model, tokens)
    assert len(found.places) == 1
    assert completed(model, found)[-1][0].endswith("on the mat [MASK]")


OTHERS = {
    "distilbert": lambda: tf.DistilBertForMaskedLM(
        tf.DistilBertConfig(**SIZES, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
    ),
    "albert": lambda: tf.AlbertForMaskedLM(tf.AlbertConfig(**BERT, embedding_size=16)),
    "electra": lambda: tf.ElectraForMaskedLM(tf.ElectraConfig(**BERT, embedding_size=32)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_heads_of_other_families_fill_blanks_too(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    folder = save_model(OTHERS[name](), tmp_path / name, name)
    model = load(str(folder))
    tokens = read(model, TEXT)
    found = fill(model, tokens)
    logits = theirs(folder, tokens.ids)[list(found.places)]
    torch.testing.assert_close(found.logits, logits.topk(5).values, rtol=1e-4, atol=1e-4)


def made(name: str) -> Any:
    """Return a model that can't fill blanks."""
    return {
        "bert": lambda: tf.BertModel(tf.BertConfig(**BERT)),
        "gpt2": lambda: tf.GPT2LMHeadModel(tf.GPT2Config(**SIZES, n_embd=32, n_layer=2, n_head=4)),
        "llama": lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**BERT, num_key_value_heads=2)),
        "bart": lambda: tf.BartForConditionalGeneration(tf.BartConfig(**BART)),
    }[name]()


@pytest.mark.parametrize(
    ("name", "lack"), [("bert", "head"), ("gpt2", "decoder"), ("llama", "decoder"), ("bart", "both")]
)
def test_models_that_fill_no_blank_say_why(name: str, lack: str, tmp_path: Path) -> None:
    assert lacks(load(str(save_model(made(name), tmp_path / name, name)))) == lack


def test_a_tokenizer_may_have_no_mask(tmp_path: Path) -> None:
    folder = saved("bert", tmp_path / "bert")
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(folder)
    opened = load(str(folder))
    assert opened.mask is None
    assert lacks(opened) == "mask"


@pytest.mark.parametrize("name", MODELS)
def test_the_script_prints_what_is_shown(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved(name, tmp_path / name)
    model = load(str(folder))
    tokens = read(model, TEXT)
    assert model.mask is not None
    _, mask = model.mask
    space: dict[str, Any] = {}
    exec(blank_script(str(folder), tokens.ids, mask, kept=4), space)
    found = fill(model, tokens, kept=4)
    torch.testing.assert_close(space["likely"].values, found.probabilities, rtol=1e-4, atol=1e-8)
    assert space["places"].tolist() == list(found.places)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(found.places)


def test_the_same_model_without_its_head_is_refused() -> None:
    assert lacks(opened("roberta")) == "head"
