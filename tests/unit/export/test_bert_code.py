"""The exported scripts of /bert run without attnviz and print what is shown; so do the lines on the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import pytest
import torch
import transformers as tf

from attnviz.bert.blocks import Setup
from attnviz.bert.classification.classifier import How, Pooled, plan_of
from attnviz.bert.configuration import BERT_BASE, configuration_of
from attnviz.bert.round_trip import EmbeddingAndOutput, drawn, favoured, neighbours, there_and_back, tied
from attnviz.bert.table import table_of
from attnviz.export.code.bert.embeddings import (
    RoundTrip,
    configuration_script,
    language_script,
    round_trip_lines,
    round_trip_script,
)
from attnviz.export.code.bert.uses import classifier_script, search_script, without_script
from attnviz.pretrained import PretrainedModel, load
from tests.loaded import built_in_model
from tests.scripts import run_alone
from tests.unit.bert.test_blank import saved
from tests.unit.families import BART, save, save_model
from tests.unit.pretrained.architectures import made, tokenizer

TEXT = 'The conversions didn\'t "cross" \\ the {street}: 😀 <b>'
END = "--- end of a script ---"
ALONE = f"""
import runpy, sys
for file in sys.argv[1:]:
    runpy.run_path(file, run_name="__main__")
    print("{END}")
"""
SETTINGS = {
    "tied": RoundTrip(False, False, 0, 1.0),
    "unit": RoundTrip(False, True, 0, 10.0),
    "random": RoundTrip(True, False, 3, 1.0),
    "bias": RoundTrip(False, False, 0, 1.0, "MaskedLM"),
}
ALONE_DECODERS: dict[str, Callable[[], torch.nn.Module]] = {
    "bart": lambda: tf.BartForCausalLM(tf.BartConfig(**BART)),
    "mbart": lambda: tf.MBartForCausalLM(tf.MBartConfig(**BART)),
    "pegasus": lambda: tf.PegasusForCausalLM(tf.PegasusConfig(**BART)),
}


@dataclass(frozen=True)
class Ran:
    """Models, and what the scripts have printed."""

    model: PretrainedModel
    other: PretrainedModel
    masked: PretrainedModel
    """With a language head, whose last layer has a bias"""
    gemma: PretrainedModel
    """With a tower for pictures"""
    alone: dict[str, PretrainedModel]
    """Decoders saved without an encoder"""
    said: dict[str, str]

    def of(self, settings: RoundTrip) -> PretrainedModel:
        """Return the model of a script with these settings."""
        return self.masked if settings.bias_of else self.model


def ends_of(settings: RoundTrip, weight: torch.Tensor) -> EmbeddingAndOutput:
    return drawn(settings.seed, *weight.shape) if settings.is_random else tied(weight, is_unit=settings.is_unit)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run all scripts in one process, which imports transformers once."""
    folder = tmp_path_factory.mktemp("scripts")
    model, other = built_in_model(), load(str(save("bert", folder / "bert")))
    masked = load(str(saved("bert", folder / "masked")))
    made("Gemma3ForConditionalGeneration", "gemma3").save_pretrained(folder / "gemma3")
    tokenizer().save_pretrained(folder / "gemma3")
    gemma = load(str(folder / "gemma3"))
    alone = {name: load(str(save_model(make(), folder / name, name))) for name, make in ALONE_DECODERS.items()}
    ids = model.tokenize(TEXT).ids  # they have the same tokenizer
    scripts = {
        one.name: configuration_script(one.name, configuration_of(one), one.loader, one.not_run)
        for one in (model, other, gemma, *alone.values())
    }
    table = table_of(alone["bart"])
    scripts["decoder"] = round_trip_script(
        RoundTrip(False, False, 0, 1.0, loader=alone["bart"].loader), model=alone["bart"].name, text=TEXT, ids=ids,
        limit=512, place=2, token=table.pieces.index("street"),
        shown=there_and_back(ids, ends_of(SETTINGS["tied"], table.weight)).likeliest,
    )  # fmt: skip
    for name, settings in SETTINGS.items():
        chosen = masked if settings.bias_of else model
        table = table_of(chosen)
        shown = there_and_back(ids, ends_of(settings, table.weight)).likeliest
        scripts[name] = round_trip_script(
            settings, model=chosen.name, text=TEXT, ids=ids, limit=512, place=2, token=table.pieces.index("street"),
            shown=shown,
        )  # fmt: skip
    files = [folder / f"{number}.py" for number in range(len(scripts))]
    for file, script in zip(files, scripts.values(), strict=True):
        file.write_text(script, encoding="utf-8")
    done = run_alone(ALONE, *files, cwd=folder, on_warning="ignore")
    assert done.returncode == 0, done.stderr[-3000:]
    return Ran(model, other, masked, gemma, alone, dict(zip(scripts, done.stdout.split(END), strict=False)))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_script_of_there_and_back_prints_what_is_shown(name: str, ran: Ran) -> None:
    settings, table, said = SETTINGS[name], table_of(ran.of(SETTINGS[name])), ran.said[name]
    ids, ends = ran.model.tokenize(TEXT).ids, ends_of(settings, table.weight)
    back, near = there_and_back(ids, ends, scale=settings.scale), neighbours(table.pieces.index("street"), ends)
    assert f"text {table.decode(back.likeliest)!r}" in said
    rows = re.findall(r"^(\d+) (\S+) (\d+) (back|lost) margin (\S+): (.+)$", said, re.MULTILINE)
    assert [int(row[2]) for row in rows] == list(ids)
    assert [row[3] == "back" for row in rows] == back.returns.tolist()
    margins = torch.tensor([float(row[4]) for row in rows])
    torch.testing.assert_close(margins, back.margin, rtol=0, atol=1e-4)
    likeliest = torch.tensor([float(row[5].split(", ")[0].split(" ")[-1]) for row in rows])
    torch.testing.assert_close(likeliest, back.probabilities[:, 0], rtol=1e-4, atol=1e-9)
    total = re.findall(r"sum of exponentials (\S+), probability (\S+)", said)[0]
    assert float(total[0]) == pytest.approx(back.sums[2].item(), rel=1e-4)
    assert float(total[1]) == pytest.approx(back.probabilities[2, 0].item(), rel=1e-4)
    similarities = [float(one) for one in re.findall(r"^  \S+ (-?\d\S+)$", said, re.MULTILINE)]
    expected = torch.cat([near.cosines, near.products])
    torch.testing.assert_close(torch.tensor(similarities), expected, rtol=0, atol=1e-4)
    layer = favoured(ends.output, ran.of(settings).output_bias if settings.bias_of else None)
    for title, tokens, numbers in (
        ("largest", layer.most, layer.largest), ("smallest", layer.least, layer.smallest)
    ):  # fmt: skip
        (printed,) = re.findall(rf"^{title} {layer.by} of the output layer: (.*)$", said, re.MULTILINE)
        assert [float(one) for one in printed.split()[1::2]] == pytest.approx(numbers.tolist(), abs=1e-4)
        if not settings.is_unit:  # else all are of one length
            assert printed.split()[::2] == [table.pieces[one] for one in tokens.tolist()]


@pytest.mark.parametrize("is_random", [False, True])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_the_lines_on_the_page_compute_what_is_shown(is_random: bool, scale: float) -> None:
    weight = torch.randn(50, 16, generator=torch.Generator().manual_seed(1))
    settings, ids = RoundTrip(is_random, not is_random, 5, scale), [3, 49, 0, 3]
    embedding = torch.nn.Embedding.from_pretrained(weight)
    space = {
        "torch": torch, "nn": torch.nn, "ids": torch.tensor(ids),
        "model": type("Model", (), {"get_input_embeddings": staticmethod(lambda: embedding)}),
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        exec(round_trip_lines(settings), space)
    ends = drawn(5, 50, 16) if is_random else tied(weight, is_unit=True)
    back = there_and_back(ids, ends, scale=scale)
    probabilities = space["probabilities"]
    assert isinstance(probabilities, torch.Tensor)
    torch.testing.assert_close(probabilities.gather(-1, back.tokens), back.probabilities, rtol=1e-4, atol=1e-7)
    assert back.likeliest == tuple(torch.as_tensor(space["back"]).tolist())


def test_the_script_of_the_configuration_prints_what_is_shown(ran: Ran) -> None:
    for model in (ran.model, ran.other):
        own, said = configuration_of(model), ran.said[model.name]
        ours, base = said.split("\nbert-base-uncased\n")
        for part, configuration in ((ours, own), (base, BERT_BASE)):
            fields = dict(re.findall(r"^  (\S.*?)  +(\S+)$", part, re.MULTILINE))
            assert fields["vocab_size"] == str(configuration.vocabulary)
            assert fields["hidden_size"] == str(configuration.width)
            assert (int(fields["intermediate_size"]),) == configuration.feed_forward
            assert fields["max_position_embeddings"] == str(configuration.positions)
            assert fields["num_attention_heads"] == str(configuration.heads)
            assert fields["num_hidden_layers"] == str(configuration.layers)
            assert {name: fields[name] for name in configuration.parameters} == {
                name: f"{count:,}" for name, count in configuration.parameters.items()
            }
            assert fields["together"] == f"{configuration.together:,}"
        assert "nn.Embedding(20000, 32) 640,000" in said


def test_the_script_of_the_configuration_counts_what_a_text_does_not_run_as_other(ran: Ran) -> None:
    own = configuration_of(ran.gemma)
    ours, _ = ran.said[ran.gemma.name].split("\nbert-base-uncased\n")
    fields = dict(re.findall(r"^  (\S.*?)  +(\S+)$", ours, re.MULTILINE))
    assert fields["vocab_size"] == str(own.vocabulary)
    assert fields["hidden_size"] == str(own.width)
    assert fields["num_hidden_layers"] == str(own.layers)
    for part, count in own.parameters.items():
        assert fields[part] == f"{count:,}"
    assert own.parameters["other"] > 0


@pytest.mark.parametrize("name", ALONE_DECODERS)
def test_the_scripts_of_a_decoder_saved_alone_load_what_the_app_loads(name: str, ran: Ran) -> None:
    """AutoModel would load it with an encoder, whose weights are drawn at random."""
    ours, _ = ran.said[ran.alone[name].name].split("\nbert-base-uncased\n")
    whole = ALONE_DECODERS[name]()
    count = sum(weight.numel() for weight in whole.parameters())
    fields = dict(re.findall(r"^  (\S.*?)  +(\S+)$", ours, re.MULTILINE))
    assert fields["together"] == f"{count:,}"
    assert configuration_of(ran.alone[name]).together == count
    assert "text " in ran.said["decoder"]


@pytest.mark.parametrize("tanh", [False, True])
@pytest.mark.parametrize("how", get_args(How))
def test_the_script_of_a_classifier_takes_the_vectors_that_the_page_trains_on(how: How, tanh: bool) -> None:
    hidden = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    page = Pooled(hidden[:1], hidden.mean(0)[None]).features(how, tanh=tanh)[0]
    script = classifier_script(plan_of(2, 8), ("a", "b"), TEXT, mean=how == "mean", tanh=tanh, accuracy=0.5)
    [taken] = re.findall(r"^    return (.+)$", script, re.MULTILINE)
    torch.testing.assert_close(eval(taken, {"hidden": hidden}), page)


def test_a_classifiers_script_reads_as_many_tokens_of_each_text_as_the_page() -> None:
    script = classifier_script(plan_of(2, 8), ("a", "b"), TEXT, mean=True, tanh=False, accuracy=0.5, most=64)
    assert 'features_of(row["text"], 64) for row in rows' in script
    assert "features_of(TEXT)" in script and "most=512" in script


def test_a_script_says_how_heads_are_switched_off() -> None:
    zero, mean = (without_script(TEXT, [(0, 1)], by_mean=by_mean) for by_mean in (False, True))
    assert "switched off by zero:" in zero and "REFERENCE" not in zero
    assert "switched off by mean:" in mean and "REFERENCE = [" in mean


@pytest.mark.parametrize(("blocks", "said"), [(1, "once"), (2, "2 times"), (3, "3 times")])
def test_a_script_says_how_often_attention_is_repeated(blocks: int, said: str) -> None:
    script = language_script(TEXT, [1, 2], Setup(blocks=blocks), limit=512, kept=5)
    assert f"a linear layer, {said}." in script.replace("\n", " ")
    assert f"range({blocks})" in script


@pytest.mark.parametrize(("scale", "factor"), [(1.0, ""), (0.5, "0.5 * "), (20.0, "20 * ")])
def test_a_script_multiplies_logits_by_the_scale_if_there_is_one(scale: float, factor: str) -> None:
    lines = round_trip_lines(RoundTrip(False, False, 0, scale))
    assert re.search(rf"softmax\({re.escape(factor)}\w", lines), lines


def test_a_script_of_a_search_prints_as_many_hits_as_the_page() -> None:
    script = search_script('a "query"', ["one", "two \\", "three"], 2)
    space: dict[str, object] = {}
    begin = script.index("QUERY = ")
    exec(script[begin : script.index("]\n", begin) + 1], space)
    assert (space["QUERY"], space["HITS"], space["SENTENCES"]) == ('a "query"', 2, ["one", "two \\", "three"])
