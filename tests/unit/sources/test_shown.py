"""From a view to what it shows: every source in the same way, with a note on what does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
import torch
import transformers as tf

from attnviz import trained
from attnviz.cli import main
from attnviz.links.link import KEYS, read_link
from attnviz.pretrained import ModelError, PretrainedModel, load, open_model
from attnviz.settings import settings
from attnviz.sources import PRETRAINED, SOURCES, TRAINED, Get, Names, Resources, Source
from attnviz.sources.models import EVERY_MODEL, DirectResources, averages_of, open_by_name, source_of
from attnviz.sources.shown import TRANSFORMER_SOURCES, ShownHead, ShownPart, hide_word, of_model, shown, shown_part
from attnviz.tokens import NoTokensError, WordTokenizer
from attnviz.toy.block import Toy
from attnviz.toy.config import ToyConfig
from attnviz.trace.model import Description
from tests.app.compare import notice, picture
from tests.app.pages import SETTINGS_OPEN, boxes, messages, open_page
from tests.unit.bert.test_blank import saved
from tests.unit.families import BART, save
from tests.unit.pretrained.architectures import tokenizer


def seen(**link: str) -> ShownHead:
    view, notes = read_link(link)
    assert not notes
    return shown(view.__getitem__, DirectResources())


def test_the_toys_settings_say_what_it_is() -> None:
    here = seen(text="the cat sat", heads="3", seed="7", head="2", layer="4", kind="cross")
    assert here.name == "toy, seed 7 · head 2"
    assert (here.layers, here.heads, here.layer, here.head, here.notes) == ((), 3, 0, 2, ())
    assert here.tokens().pieces == ("the", "cat", "sat")
    assert here.walk(DirectResources()).layer.heads == 3


def test_each_source_says_in_a_sentence_what_it_offers_and_what_is_shown() -> None:
    learned = "with weights drawn from a seed. It has learned nothing, and"
    assert {name: source.help for name, source in SOURCES.items()} == {
        "toy": f"one block {learned} all of its settings are yours.",
        "pretrained": "MiniLM (a small BERT), trained on text, or another trained model that you choose.",
        "trained": "a small model that learned one task, or to write text, so that you know what its heads are for.",
    }
    assert TRANSFORMER_SOURCES["toy"].help == f"a whole transformer {learned} its settings are yours."
    view, _ = read_link({"seed": "7", "model": "reverse"})
    assert [source.about(view.__getitem__) for source in SOURCES.values()] == [
        "Toy weights of seed 7, which have learned nothing.", "Model: reverse.", "Model: reverse, trained here.",
    ]  # fmt: skip


def test_a_models_head_is_named_by_its_place() -> None:
    here = seen(text="the cat", source="pretrained", layer="3", head="5")
    assert here.name == "MiniLM (a small BERT) · layer 3 · head 5"
    assert (here.layers, here.heads) == (tuple(range(6)), 12)
    walk = here.walk(DirectResources())
    assert walk.name == here.name
    assert walk.head == 5
    assert walk.layer.attentions().equal(load().trace("the cat").attentions(3))


@pytest.mark.parametrize(
    ("link", "place", "notes"),
    [
        ({"layer": "6"}, (0, 0), ["Layer 6 does not exist: the choices go from 0 to 5."]),
        ({"layer": "5", "head": "12"}, (5, 0), ["Head 12 does not exist: the choices go from 0 to 11."]),
        ({"kind": "cross"}, (0, 0), ["This model has no cross attention."]),
    ],
)
def test_a_missing_kind_layer_or_head_is_replaced_with_a_note(
    link: dict[str, str], place: tuple[int, int], notes: list[str]
) -> None:
    here = seen(source="pretrained", **link)
    assert (here.layer, here.head) == place
    assert [sentence for _, sentence in here.notes] == notes
    assert here.kind == "encoder"


@pytest.mark.parametrize(
    ("layer", "beyond", "chosen"),
    [(3, "first", 3), (2, "first", 1), (4, "first", 1), (0, "last", 1), (2, "last", 1), (4, "last", 3)],
)
def test_a_layer_without_attention_is_replaced_by_one_that_has_it(
    layer: int, beyond: Literal["first", "last"], chosen: int
) -> None:
    description = Description("hybrid", {"decoder": (2, 4)}, 32, 8, numbers={"decoder": (1, 3)})
    model: Any = SimpleNamespace(name="hybrid", description=description)
    view, _ = read_link({"source": "pretrained", "layer": str(layer), "kind": "decoder"})
    here = of_model(PRETRAINED, model, view.__getitem__, beyond=beyond)
    assert (here.layer, here.numbers) == (chosen, (1, 3))
    said = f"Layer {layer} has no attention: the model has it in layers 1 and 3."
    assert here.notes == (() if layer == chosen else (("layer", said),))


def test_in_a_comparison_the_last_may_replace_what_does_not_exist_and_notes_name_the_pane() -> None:
    view, _ = read_link({"kind": "decoder", "layer": "9", "head": "12"})
    here = of_model(PRETRAINED, load(), view.__getitem__, pane="B", beyond="last")
    assert (here.kind, here.layer, here.head) == ("encoder", 5, 11)
    assert here.notes == (
        ("kind", "The model of B has no decoder attention."),
        ("layer", "Layer 9 of B does not exist: the choices go from 0 to 5."),
        ("head", "Head 12 of B does not exist: the choices go from 0 to 11."),
    )


def test_of_a_pair_the_rows_are_the_decoders(tmp_path: Path) -> None:
    folder = str(save("bart", tmp_path))
    here = seen(source="pretrained", model=folder, kind="cross", text="the cat sat", pair="a dog", layer="2")
    assert here.name == f"{folder} · decoder to encoder · layer 2 · head 0"
    assert here.tokens().text == "a dog"
    walk = here.walk(DirectResources())
    assert (walk.query_tokens.text, walk.key_tokens.text) == ("a dog", "the cat sat")


def two_sided() -> PretrainedModel:
    """Return a BART whose encoder has two layers of four heads, and whose decoder three layers of two."""
    config = tf.BartConfig(**BART | {"vocab_size": 128, "decoder_attention_heads": 2})
    return open_model(tf.BartModel(config), tokenizer())


def test_in_a_whole_model_each_attention_has_its_own_number_of_heads() -> None:
    bart = two_sided()
    resources = DirectResources(load=lambda _: bart)
    for block, place, heads in (
        (1, "encoder block 1", 4),
        (2, "decoder block 0", 2),
        (7, "decoder block 2, attention to the encoder", 2),
    ):
        for head in (heads - 1, heads):
            link = {"source": "pretrained", "text": "the cat", "block": str(block), "head": str(head)}
            here = shown_part(read_link(link)[0].__getitem__, resources)
            assert (here.place.name, here.heads, here.head) == (place, heads, head if head < heads else 0)
            assert here.at(block, heads - 1).head == heads - 1
            with pytest.raises(IndexError, match=f"heads go from 0 to {heads - 1}"):
                here.at(block, heads)


def test_a_model_that_no_test_checks_is_run_on_the_text_and_the_pair_where_it_is_opened() -> None:
    ran: list[tuple[str, str | None]] = []

    def trace(text: str, pair: str | None) -> Any:
        ran.append((text, pair))
        if not text.strip():
            raise NoTokensError

    for is_checked in (False, True):
        model = SimpleNamespace(description=SimpleNamespace(is_checked=is_checked), trace=trace, name="m",
                                trace_key=lambda *texts: texts)  # fmt: skip
        resources = DirectResources(load=lambda _, model=model: model)  # type: ignore[misc]
        for text, pair in (("the cat", " a dog "), ("the cat", "  "), (" ", "")):
            view, _ = read_link({"source": "pretrained", "text": text, "pair": pair})
            assert PRETRAINED.open(view.__getitem__, resources) is model
    assert ran == [("the cat", "a dog"), ("the cat", None), (" ", None)], "only of the model that is not checked"


def test_a_second_text_is_for_models_alone_and_spaces_are_none() -> None:
    assert seen(source="pretrained", text="the cat", pair=" a dog ").pair == "a dog"
    assert seen(source="pretrained", text="the cat", pair="  ").pair is None
    assert seen(text="the cat", pair="a dog").pair is None


@pytest.mark.parametrize(
    ("family", "label", "masked", "word"),
    [
        ("bert", "cat", "The [MASK] tokenizers sat.", "cat"),
        ("bert", "##izer", "The cat [MASK][MASK][MASK] sat.", "tokenizers"),
        ("bert", "token", "The cat [MASK][MASK][MASK] sat.", "tokenizers"),
        ("bert", ".", "The cat tokenizers sat[MASK]", "."),
        ("roberta", "␣cat", "The <mask> tokenizers sat.", "cat"),
    ],
)
def test_a_word_is_hidden_with_all_its_pieces_and_the_others_stay_where_they_are(
    family: str, label: str, masked: str, word: str, tmp_path: Path
) -> None:
    here = of_model(PRETRAINED, load(str(saved(family, tmp_path))), lambda name: KEYS[name].default)
    here = replace(here, text="The cat tokenizers sat.")
    tokens = here.tokens()
    hidden = hide_word(here, tokens.labels.index(label))
    assert (hidden.text, hidden.notes) == (masked, ())
    assert hidden.hidden is not None
    assert hidden.hidden.word == word
    covered = [row for row, text in enumerate(hidden.tokens().pieces) if text.strip() in ("[MASK]", "<mask>")]
    assert covered[0] == hidden.hidden.row
    kept = [row for row in range(len(tokens)) if row not in covered]
    assert [tokens.ids[row] for row in kept] == [hidden.tokens().ids[row] for row in kept]


def test_a_word_of_the_second_text_is_hidden_there(tmp_path: Path) -> None:
    here = of_model(PRETRAINED, load(str(saved("bert", tmp_path))), lambda name: KEYS[name].default)
    here = replace(here, text="A cat.", pair="A cat sat.")
    hidden = hide_word(here, here.tokens().labels.index("sat"))
    assert (hidden.text, hidden.pair) == ("A cat.", "A cat [MASK].")


def test_another_head_is_one_that_the_model_has() -> None:
    here = seen(source="pretrained", text="the cat")
    assert (here.at(5, 11).layer, here.at(5, 11).head) == (5, 11)
    for layer, head, missing in ((6, 0, "layer 6"), (-1, 0, "layer -1"), (0, 12, "head 12"), (0, -1, "head -1")):
        with pytest.raises(IndexError, match=f"{missing} does not exist"):
            here.at(layer, head)


def test_the_last_trace_is_kept_and_belongs_to_its_text_and_model() -> None:
    resources = DirectResources()
    models = [seen(text="the cat", seed=seed).model for seed in ("1", "2")]
    first = resources.trace(models[0], "the cat", None)
    assert resources.trace(models[0], "the cat", None) is first
    assert resources.trace(models[1], "the cat", None) is not first
    assert resources.trace(models[0], "the dog", None).tokens.pieces == ("the", "dog")
    alike: list[Any] = [
        SimpleNamespace(name=name, trace_key=lambda *texts: texts, trace=lambda *_, name=name: f"of {name}")
        for name in ("gpt2", "distilgpt2")
    ]
    assert [resources.trace(model, "the cat", None) for model in alike] == ["of gpt2", "of distilgpt2"]


def test_without_a_browser_an_uploaded_vocabulary_is_shakespeares() -> None:
    for charset, size in (("text", 1), ("shakespeare", 65), ("file", 65)):
        assert seen(text="é", tokenizer="char", charset=charset).tokens().vocab_size == size


def test_every_key_of_a_source_is_a_key_of_links() -> None:
    for source in SOURCES.values():
        assert set(source.keys) <= KEYS.keys()


NO_CODE = "There is no code for the source “Tiny”, only numbers."


@pytest.fixture
def tiny() -> Iterator[Source]:
    """Yield a fifth source: one block with a causal mask whose seed is the length of the text."""

    def open_tiny(get: Get, _: Resources) -> Any:
        return Toy(ToyConfig(heads=5, causal=True, seed=len(get("text"))), WordTokenizer().tokenize)

    source = Source("tiny", "Tiny", ("head",), open_tiny)
    SOURCES["tiny"] = source
    yield source
    del SOURCES["tiny"]


def test_a_source_that_is_registered_is_shown_on_the_pages(tiny: Source) -> None:
    at = open_page(source="tiny", text="the cat sat", head="4", step="weights")
    assert not at.exception
    assert at.segmented_control(key="source").options == ["Toy", "Real BERT", "Trained", "Tiny"]
    assert at.query_params["source"] == "tiny"
    assert at.query_params["head"] == "4"
    at = open_page(source="tiny", text="the cat sat", head="5", step="tokens")
    assert not at.exception
    assert "Head 5 does not exist: the choices go from 0 to 4" in messages(at)


@pytest.fixture
def layered() -> Iterator[Source]:
    """Yield a fourth source with layers, a single model without a name, and a scale of its own."""
    keys = ("kind", "layer", "head")
    source = Source(
        "layered", "Layered", keys, lambda *_: load(), entry="the layered one", caution=lambda _: "It is an example."
    )
    SOURCES["layered"] = source
    yield source
    del SOURCES["layered"]


def test_a_source_with_layers_needs_no_more_than_its_registration(layered: Source) -> None:
    at = open_page(source="layered", text="the cat sat", layer="3", head="5", step="weights")
    assert not at.exception
    assert any("Choose layer and head above the picture" in caption.value for caption in at.caption)
    assert "seed" not in [field.key for field in at.number_input]
    at = open_page(
        "compare", SETTINGS_OPEN, source="layered", text="the cat sat", layer="3", head="5", b_source="toy", b_head="1"
    )
    assert not at.exception
    options = at.selectbox(key="compare_source_A").options
    assert options[:3] == ["the toy", "the layered one", "MiniLM (a small BERT)"]
    _, arrays = picture(at)
    np.testing.assert_allclose(arrays["a"], load().trace("the cat sat").attentions(3)[5], atol=1e-6)
    sentence = notice(at)
    assert "It is an example." in sentence
    assert "have learned nothing" in sentence
    at.selectbox(key="compare_source_A").set_value("minilm").run()
    assert at.query_params["source"] == "pretrained"
    at.selectbox(key="compare_source_A").set_value("the layered one").run()
    assert at.query_params["source"] == "layered"
    assert not at.exception


def test_a_source_without_code_offers_its_numbers_alone(tiny: Source) -> None:
    at = open_page(source="tiny", text="the cat sat", step="weights")
    at.session_state["export"], at.session_state["export_tab"] = True, "Numbers, code"
    at.run()
    assert not at.exception
    assert [button.proto.label for button in at.get("download_button")] == ["CSV", "npz"]
    assert any(caption.value.endswith(NO_CODE) for caption in at.caption)


@pytest.mark.usefixtures("tiny")
def test_the_command_line_says_that_a_source_has_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["export", "the cat sat", "--source", "tiny", "--head", "4", "--out", str(tmp_path), "--quiet"]
    assert main([*asked, "--format", "py,npz,ipynb"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"attnviz: tiny-head4, {kind}: {NO_CODE}" for kind in ("py", "ipynb")
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["tiny-head4.npz"]


@pytest.fixture
def named() -> Iterator[Source]:
    """Yield a fourth source whose models have names: a block with one head, and one with three."""
    sizes = {"one": 1, "three": 3}

    def open_named(get: Get, _: Resources) -> Any:
        if get("model") not in sizes:
            raise ModelError("There is no such model.")
        toy = Toy(ToyConfig(heads=sizes[get("model")]), WordTokenizer().tokenize)
        toy.name = get("model")
        return toy

    names = Names(offered=lambda: list(sizes), fallback="one", help=lambda: "They have names.")
    source = Source("named", "Named", ("model", "head"), open_named, names=names)
    SOURCES["named"] = source
    yield source
    del SOURCES["named"]


@pytest.mark.usefixtures("named")
def test_a_source_offers_the_names_of_its_models() -> None:
    at = open_page(source="named", model="three", text="the cat sat", head="2", step="weights")
    assert at.selectbox(key="model").options == ["one", "three"]
    assert not messages(at)
    assert at.query_params["head"] == "2"
    at = open_page(source="named", model="five", text="the cat sat", head="2", step="weights")
    assert boxes(at, "error") == ["There is no such model. Showing one."]
    assert "Head 2 does not exist: the choices go from 0 to 0." in messages(at)
    at = open_page("compare", SETTINGS_OPEN, text="the cat sat", b_source="named", b_model="three", b_head="2")
    assert at.selectbox(key="compare_source_A").options[-2:] == ["one", "three"]
    at.selectbox(key="compare_source_A").set_value("three").run()
    assert not at.exception
    assert (at.query_params["source"], at.query_params["model"]) == ("named", "three")


def test_a_source_that_is_not_registered_is_refused() -> None:
    view, notes = read_link({"source": "tiny"})
    assert view["source"] == "toy"
    assert "is not one of toy, pretrained" in notes[0]


def part(**link: str) -> ShownPart:
    view, _ = read_link(link)
    return shown_part(view.__getitem__, DirectResources())


BOTH = {"source": "toy", "architecture": "both", "depth": "3", "decoder_depth": "2", "text": "the cat sat"}


def test_an_attention_of_a_whole_model_is_counted_in_order_of_computation() -> None:
    here = part(**BOTH, block="6", head="1", pair="a dog", seed="4")
    assert here.name == "toy transformer, seed 4 · decoder block 1, attention to the encoder · head 1"
    assert (here.kind, here.numbers, here.layers, here.heads, here.notes) == (
        "cross",
        tuple(range(7)),
        here.numbers,
        2,
        (),
    )
    assert (here.choices["block"], here.choices["head"]) == (6, 1)
    assert [tokens.pieces for tokens in here.axes()] == [("a", "dog"), ("the", "cat", "sat")]
    assert here.longest() == 3
    walk = here.walk(DirectResources())
    assert (walk.name, walk.head, walk.kind) == (here.name, 1, "cross")
    assert walk.layer.attentions().shape == (2, 2, 3)
    last = here.at(2, 0)
    assert (last.kind, last.layer, last.head) == ("encoder", 2, 0)
    assert [tokens.pieces for tokens in last.axes()] == [("the", "cat", "sat")] * 2
    own = here.at(5, 1)
    assert (own.kind, [tokens.pieces for tokens in own.axes()], own.longest()) == ("decoder", [("a", "dog")] * 2, 2)
    for block, head, missing in (
        (7, 0, "attention 7 does not exist: attentions go from 0 to 6"), (-1, 0, "attention -1"),
        (0, 2, "head 2 does not exist: heads go from 0 to 1"), (0, -1, "head -1"),
    ):  # fmt: skip
        with pytest.raises(IndexError, match=missing):
            here.at(block, head)


def test_an_attention_or_a_head_that_a_whole_model_lacks_is_replaced_by_the_first() -> None:
    here = part(**BOTH, block="7", head="2")
    assert (here.layer, here.head, here.kind) == (0, 0, "encoder")
    assert here.notes == (
        ("block", "Attention 7 does not exist: the choices go from 0 to 6."),
        ("head", "Head 2 does not exist: the choices go from 0 to 1."),
    )
    assert part(**BOTH, block="6", head="1").notes == ()
    assert part(**BOTH, pair="  ").pair is None
    real = part(source="pretrained", text="the cat", block="5", head="11")
    assert (real.notes, real.name) == ((), "MiniLM (a small BERT) · encoder block 5 · head 11")
    assert set(real.choices) == {"model", "head", "block"}


def test_without_a_token_in_either_text_there_are_no_axes() -> None:
    for block in ("0", "6"):
        with pytest.raises(NoTokensError):
            part(**{**BOTH, "text": " "}, pair="a dog", block=block).axes()
    here = replace(part(**BOTH, block="6"), pair=" ")
    with pytest.raises(NoTokensError):
        here.axes()


def test_of_a_cross_attention_the_longer_text_counts() -> None:
    long = part(**BOTH, block="6", pair="a b c d e f")
    assert (long.longest(), part(**BOTH, block="6", pair="a").longest()) == (6, 3)


@pytest.mark.parametrize(
    ("hub", "folders", "help_"),
    [
        ("1", "1", " Or type a name on the Hugging Face hub, or a folder on this machine."),
        ("1", "0", " Or type a name on the Hugging Face hub."),
        ("0", "1", " Or type a folder on this machine."),
        ("0", "0", ""),
    ],
)  # fmt: skip
def test_the_help_offers_what_the_server_allows(
    hub: str, folders: str, help_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = replace(settings(), hub=hub == "1", folders=folders == "1")
    monkeypatch.setattr("attnviz.sources.models.settings", lambda: allowed)
    names = PRETRAINED.names
    assert names is not None
    assert names.help() == f"MiniLM (a small BERT) needs no network.{help_}"
    assert names.takes_others() is ("1" in (hub, folders))


def test_a_name_opens_the_model_of_its_own_source() -> None:
    names = TRAINED.names
    assert names is not None
    assert [names.own(one) for one in ("", " ", "minilm", " bert-base-uncased ", "reverse", "trained-00")] == [
        *["induction"] * 4, "reverse", "trained-00",
    ]  # fmt: skip
    assert (source_of("reverse"), source_of("minilm"), source_of("")) == (TRAINED, PRETRAINED, PRETRAINED)
    assert [open_by_name(one).name for one in ("reverse", "minilm")] == ["reverse", "minilm"]
    assert EVERY_MODEL.names is not None
    assert [*EVERY_MODEL.names.offered()] == ["minilm", "bert-base-uncased", *trained.names()]
    assert (EVERY_MODEL.names.takes_trained, names.takes_others()) == (True, False)
    view, _ = read_link({"model": "reverse", "seed": "7"})
    assert TRAINED.about(view.__getitem__) == "Model: reverse, trained here."
    assert PRETRAINED.about(view.__getitem__) == "Model: reverse."
    assert [SOURCES["toy"].caution(view.__getitem__), SOURCES["toy"].about(view.__getitem__)] == [
        "The toy's weights are drawn from seed 7 and have learned nothing.",
        "Toy weights of seed 7, which have learned nothing.",
    ]
    with pytest.raises(ModelError, match="no trained model"):
        shown({**view, "source": "trained", "model": "nonsense"}.__getitem__, DirectResources())


def test_what_a_source_is_follows_from_its_keys() -> None:
    is_ = {name: (one.has_layers, one.has_names, one.has_own_scale) for name, one in SOURCES.items()}
    assert is_ == {"toy": (False, False, False), "pretrained": (True, True, True), "trained": (True, True, True)}


def test_the_views_tokenizer_reads_at_most_what_the_model_takes() -> None:
    for name, pieces in (("word", ("Don't", "stop")), ("bert", ("[CLS]", "don", "'", "t", "stop", "[SEP]"))):
        assert seen(text="Don't stop", tokenizer=name).tokens().pieces == pieces
    assert seen(text="ab", tokenizer="char", charset="text").tokens().pieces == ("a", "b")
    assert len(seen(text="a " * 600).tokens()) == 512
    assert len(part(source="toy", text="a " * 600).tokens()) == 128
    view, _ = read_link({"text": "a " * 100, "positions": "lab", "seed": "3", "heads": "5"})
    walk = averages_of(view.__getitem__, DirectResources())
    own = Toy(ToyConfig(positions="lab", seed=3), WordTokenizer().tokenize).trace("a " * 64)
    assert torch.equal(walk.layer.query[0], own.layer(0).query[0])
    for kind in ("rotary", "alibi", "buckets"):  # are no part of the rows that are averaged
        view, _ = read_link({"text": "a b c", "positions": kind, "cap": "1", "sink": "1", "window": "1"})
        walk = averages_of(view.__getitem__, DirectResources())
        own = Toy(ToyConfig(positions="none"), WordTokenizer().tokenize).trace("a b c")
        assert torch.equal(walk.layer.query[0], own.layer(0).query[0])
        assert (walk.layer.cap, walk.layer.sinks, walk.layer.position_bias) == (None, None, None)
