"""What a model writes after a text: drawn from the probabilities of transformers' own model, within its bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from attnviz import trained
from attnviz.pretrained import load
from attnviz.sources import writing
from attnviz.sources.writing import Written, room, write_on
from attnviz.tokens.value import bare, label_of
from attnviz.trained.model import examples
from attnviz.training.generation import Sampling, generate
from tests.loaded import built_in_model
from tests.unit.families import byte_level, save_model
from tests.unit.pretrained.test_blocks import GPT2, eager

TEXT = "the cat sat on the"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = tf.GPT2Config(**{**GPT2, "vocab_size": len(byte_level()), "n_positions": 64})
    return save_model(tf.GPT2LMHeadModel(config), tmp_path_factory.mktemp("writes"), "gpt2")


def test_gpt_2_draws_from_transformers_probabilities_with_the_first_seed(folder: Path) -> None:
    model, tokenizer = load(str(folder)), tf.AutoTokenizer.from_pretrained(folder)
    theirs = eager(folder, tf.AutoModelForCausalLM)
    tokens = model.tokenize(TEXT)
    written = write_on(model, tokens).tokens
    assert written == write_on(model, tokens).tokens
    assert len(written) == room(model, tokens) == writing.TOKENS
    ids, generator = list(tokens.ids), torch.Generator().manual_seed(0)
    for token in written:
        with torch.inference_mode():
            shares = theirs(input_ids=torch.tensor([ids])).logits[0, -1].double().softmax(-1)
        order = shares.argsort(descending=True)
        number = float(torch.rand((), generator=generator))
        drawn = int(order[int((shares[order].cumsum(-1) <= number).sum())])
        assert token.label == bare(model.label(drawn))
        assert token.share == pytest.approx(float(shares[drawn]), rel=1e-3)
        assert token.labels == tuple(bare(model.label(int(best))) for best in order[:5])
        assert token.shares == pytest.approx(shares[order[:5]].tolist(), rel=1e-3)
        ids.append(drawn)
    text = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    shown = TEXT + "".join(token.text for token in written)
    assert text.startswith(shown) and len(text) - len(shown) <= 3, "a character that is incomplete waits"


def test_it_ends_at_the_end_of_the_text_of_the_window_and_of_the_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(str(folder))
    long = model.tokenize("cat " * 14)
    assert len(long) + room(model, long) == model.max_tokens == 64 or room(model, long) == writing.TOKENS
    monkeypatch.setattr(writing, "SECONDS", 0.0)
    assert write_on(model, model.tokenize(TEXT)) == Written([])


@pytest.mark.parametrize("stated", ["config.json", "generation_config.json"])
def test_the_text_ends_with_the_tokens_that_end_it_in_transformers_and_stops_at_others_without_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str
) -> None:
    torch.manual_seed(0)
    tokenizer = byte_level()
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    ends = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("z")]
    config = tf.GPT2Config(**{**GPT2, "vocab_size": 600, "n_positions": 64, "eos_token_id": ends})
    save_model(tf.GPT2LMHeadModel(config), tmp_path, "gpt2")
    tokenizer.save_pretrained(tmp_path)
    if stated == "config.json":
        (tmp_path / "generation_config.json").unlink()
    else:
        settings = tmp_path / "config.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "eos_token_id": None}))
    model, theirs = load(str(tmp_path)), eager(tmp_path, tf.AutoModelForCausalLM)
    stops = tf.generation.EosTokenCriteria(theirs.generation_config.eos_token_id)
    tokens, draw, (a, y) = model.tokenize(TEXT), writing.choose, tokenizer.convert_tokens_to_ids(["a", "y"])
    for last in (*ends, tokenizer.pad_token_id, 500, y):
        drawn = iter([a, a, last, *[a] * writing.TOKENS])
        monkeypatch.setattr(writing, "choose", lambda *given: {**draw(*given), "id": next(drawn)})  # noqa: B023
        found = write_on(model, tokens)
        name = bare(model.label(last))
        if stops(torch.tensor([[*tokens.ids, last]]), None).item():
            said = f"The text ends here: the model draws {name} next, its token for the end of a text."
            assert (len(found.tokens), found.end) == (2, said)
        elif last in (tokenizer.pad_token_id, 500):
            said = f"The model draws {name} next, a token that stands for no text, so it writes no more."
            assert (len(found.tokens), found.end) == (2, said)
        else:
            assert (len(found.tokens), found.end) == (room(model, tokens), "")


def test_the_character_gpt_writes_what_it_always_wrote() -> None:
    model = trained.load("chargpt")
    text = examples(model)[0]
    tokens, _ = model.read(text)
    draws = list(generate(model.module, tokens.ids, 60, Sampling()))
    written = write_on(model, tokens).tokens
    assert [token.text for token in written] == [model.labels[draw.id] for draw in draws]
    assert [token.label for token in written] == [label_of(model.labels[draw.id]) for draw in draws]
    assert written[0].shares == pytest.approx(draws[0].probabilities.sort(descending=True).values[:5].tolist())


def test_a_word_that_the_story_gpt_does_not_know_keeps_its_place_and_adds_nothing() -> None:
    model = trained.load("stories")
    tokens, _ = model.read("There was a xylophonist. She")
    (unknown,) = (at for at, is_unknown in enumerate(tokens.unknown) if is_unknown)
    ids = torch.tensor(tokens.ids).clamp(min=0)

    def without(_module: nn.Module, _ids: object, rows: Tensor) -> Tensor:
        return rows.index_fill(-2, torch.tensor([unknown]), 0.0)

    hook = model.module.get_submodule("token").register_forward_hook(without)
    try:
        shares = model.logits(ids)[-1].softmax(-1)
    finally:
        hook.remove()
    assert write_on(model, tokens).tokens[0].shares == pytest.approx(shares.topk(5).values.tolist(), rel=1e-4)


def test_a_story_that_is_at_its_end_says_so_by_its_end_token() -> None:
    """The token that torch draws after it with the first seed, of the model's own probabilities, is <end>."""
    model = trained.load("stories")
    text = "Tom had a ball."
    first = write_on(model, model.read(text)[0])
    tokens, _ = model.read(text + "".join(token.text for token in first.tokens))
    shares, order = model.logits(torch.tensor(tokens.ids))[-1].softmax(-1).sort(descending=True, stable=True)
    number = torch.rand((), generator=torch.Generator().manual_seed(0))
    drawn = model.labels[int(order[int((shares.double().cumsum(-1) <= number).sum())])]
    assert first.tokens and drawn == "<end>"
    said = "The text ends here: the model draws <end> next, its token for the end of a text."
    assert write_on(model, tokens) == Written([], said)


def test_others_write_nothing(tmp_path: Path, folder: Path) -> None:
    minilm, model = built_in_model(), load(str(folder))
    headless = load(str(save_model(tf.GPT2Model(tf.GPT2Config(**GPT2)), tmp_path, "gpt2")))
    tagging, chargpt = trained.load("tagging"), trained.load("chargpt")
    nothing = [
        (minilm, minilm.tokenize(TEXT)),
        (headless, headless.tokenize(TEXT)),
        (tagging, tagging.read("the cat sat")[0]),
        (model, model.tokenize("")),
    ]
    assert [(room(*one), write_on(*one)) for one in nothing] == [(None, Written([]))] * len(nothing)
    full = [(model, model.tokenize("cat " * 80)), (chargpt, chargpt.read("a" * 128)[0])]
    assert [(room(*one), write_on(*one)) for one in full] == [(0, Written([]))] * 2
