"""Whole transformers as scripts: run where attnviz is not, and compared with torch's own layers and with the trace."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnviz.export.code import cells as code
from attnviz.export.code import transformer
from attnviz.export.code.pretrained import around_pretrained
from attnviz.export.code.recipes import walk_cells
from attnviz.export.code.training import models
from attnviz.export.code.transformer import transformer_cells
from attnviz.export.numbers import collect
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import shown_part
from attnviz.steps import PARTS
from attnviz.steps.block import activation_code
from attnviz.tokens import CharVocab, WordTokenizer
from attnviz.toy.config import MAX_TEXT_TOKENS, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.trace import Trace
from tests.scripts import FILE, run_alone
from tests.unit.export.test_numbers import HOSTILE, check_another_seed_stops, check_notebook, offered
from tests.unit.families import save, save_model
from tests.unit.pretrained.test_blocks import WITH_HEADS

RUN = """
import runpy, sys
import numpy as np
for file in sys.argv[1:]:
    found = runpy.run_path(file)
    matrices = {f"{place}/{name}": one.numpy() for place, of in found["COMPUTED"].items() for name, one in of.items()}
    np.savez(file + ".npz", **matrices, hidden=found["hidden"].numpy(), theirs=found["theirs"].numpy())
"""
TEXT = f"the cat {HOSTILE} the\nend \\"
CONFIGS = {
    "default": TransformerConfig(),
    "gpt": TransformerConfig(
        "decoder", depth=3, heads=3, width=24, norm="pre", activation="gelu", positions="lab", bias=False, seed=4
    ),
    "paper": TransformerConfig("both", heads=4, positions="sinusoidal", seed=7),
    "both, pre-norm": TransformerConfig("both", 1, 1, 8, "gelu_tanh", "pre", "random", bias=True, seed=2**31),
    "both, no bias": TransformerConfig("both", width=45, heads=5, activation="gelu", positions="none", bias=False),
    "six and one": TransformerConfig("both", depth=6, width=16, norm="pre", seed=3, decoder_depth=1),
    "one and two": TransformerConfig("both", depth=1, width=24, heads=3, activation="gelu", decoder_depth=2),
    "wide": TransformerConfig("encoder", 1, 8, 128, norm="pre"),
    "32 to 64 and back": TransformerConfig(feed_forward=64),
    "one neuron": TransformerConfig("both", depth=1, feed_forward=1, bias=False, seed=9),
    "512 neurons": TransformerConfig("decoder", depth=1, width=8, feed_forward=512, norm="pre", activation="gelu"),
}


def traced(config: TransformerConfig, text: str = TEXT) -> Trace:
    tokenizer = WordTokenizer()
    target = tokenizer.tokenize('a "dog" the\'') if config.architecture == "both" else None
    return trace_transformer(tokenizer.tokenize(text), target, config)


def test_the_scripts_compute_what_torch_and_the_page_compute_where_attnviz_is_not(tmp_path: Path) -> None:
    traces = {name: traced(config) for name, config in CONFIGS.items()}
    files = []
    for i, (name, trace) in enumerate(traces.items()):
        cells = transformer_cells(trace, CONFIGS[name], CONFIGS[name].heads - 1, link='http://h/?a="\n')
        check_notebook(cells)
        files.append(tmp_path / f"{i}.py")
        files[-1].write_text(code.script(cells), encoding="utf-8")
    ran = run_alone(RUN, *files, cwd=tmp_path, on_warning="error")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.count("The last hidden state is that of torch's own layers.") == len(CONFIGS)
    assert ran.stdout.count("matrices are those that the page showed.") == len(CONFIGS)
    matrices = {name for step in PARTS.values() for name in step.matrices}
    for file, (name, trace) in zip(files, traces.items(), strict=True):
        with np.load(f"{file}.npz") as found:
            np.testing.assert_allclose(found["hidden"], found["theirs"], rtol=1e-5, atol=1e-5, err_msg=name)
            np.testing.assert_allclose(found["hidden"], trace.last_hidden_state, rtol=1e-5, atol=1e-5, err_msg=name)
            head, expected = CONFIGS[name].heads - 1, {"hidden", "theirs"}
            for number, place in enumerate(trace.places):
                for quantity, array in collect(trace.walk_at(number, head), [head]).items():
                    if quantity in matrices:
                        at = f"{place.name}/{quantity}"
                        expected.add(at)
                        known = array.reshape(found[at].shape)
                        np.testing.assert_allclose(found[at], known, rtol=1e-4, atol=1e-5, err_msg=f"{name}: {at}")
            assert set(found.files) == expected


@pytest.mark.parametrize("architecture", ["decoder", "both"])
def test_the_likeliest_next_token_is_printed_with_its_probability(
    architecture: Literal["decoder", "both"], capsys: pytest.CaptureFixture[str]
) -> None:
    config = TransformerConfig(architecture)
    trace = traced(config)
    written = code.script(transformer_cells(trace, config, 0))
    try:
        exec(written, {})
    finally:
        torch.set_grad_enabled(True)
    assert trace.logits is not None
    chances = torch.softmax(trace.logits[-1], -1)
    labels = dict(zip(trace.tokens.ids, trace.tokens.labels, strict=True))  # the logits have this order
    target = trace.decoder_tokens
    for id_, label in () if target is None else zip(target.ids, target.labels, strict=True):
        labels.setdefault(id_, label)
    likeliest = [(list(labels.values())[column], float(chances[column])) for column in chances.topk(5).indices.tolist()]
    lines = capsys.readouterr().out.partition("the likeliest are:\n")[2].splitlines()[:5]
    assert lines == [f"  {label!a}: {chance:.4f}" for label, chance in likeliest]


@pytest.mark.parametrize(("depth", "decoder_depth"), [(3, 1), (1, 2), (2, 2), (2, None)])
def test_the_decoder_has_as_many_blocks_as_the_settings_say(depth: int, decoder_depth: int | None) -> None:
    config = TransformerConfig("both", depth=depth, width=8, heads=1, decoder_depth=decoder_depth)
    written = code.script(transformer_cells(traced(config, "a b"), config, 0))
    assert f"DecoderLayer() for _ in range({'L' if decoder_depth in (depth, None) else 'L_DECODER'})" in written
    assert ("\nL_DECODER = " in written) == (decoder_depth not in (depth, None))
    assert "EncoderLayer() for _ in range(L)" in written


def test_the_last_probability_is_that_of_all_other_tokens() -> None:
    trace = traced(TransformerConfig("decoder", depth=1, width=8, heads=1), "a b")
    walk = trace.walk_at(0, 0)
    assert walk.block is not None
    for rest in (0, 9):
        cells = around_pretrained(
            replace(walk, block=replace(walk.block, rest=rest)), trace, "model.layers.0.self_attn"
        )
        assert ("# last: all other tokens" in "".join(cell.text for cell in cells)) == (rest > 0)


def test_other_weights_than_the_pages_stop_the_script(tmp_path: Path) -> None:
    config = TransformerConfig()
    try:
        check_another_seed_stops(transformer_cells(traced(config, "one two three"), config, 0), tmp_path)
    finally:
        torch.set_grad_enabled(True)


def test_the_largest_model_on_the_longest_text_is_a_script_of_readable_size() -> None:
    config = TransformerConfig("both", depth=12, heads=8, width=128)
    tokens = CharVocab.from_text(HOSTILE).tokenize((HOSTILE * 3)[:MAX_TEXT_TOKENS])
    trace = trace_transformer(tokens, tokens, config)
    written = code.script(transformer_cells(trace, config, 0)).encode()
    assert len(written) < 150_000
    assert io.BytesIO(written).readline() == b"# A whole transformer in plain torch\n"


OF_MODEL = """
import runpy, sys
for file in sys.argv[1:]:
    found = runpy.run_path(file)
    print(file, *found["COMPUTED"][found["PLACE"]] if "PLACE" in found else ())
"""
PRE_NORM = ["input_norm", "attention_residual", "feed_forward_norm", "feed_forward_hidden", "feed_forward_output"]
POST_NORM = ["attention_residual", "attention_norm", "feed_forward_hidden", "feed_forward_residual", "block_output"]
HEAD = ["logits", "probabilities"]


def test_of_a_pretrained_model_the_script_records_the_steps_around_the_attention(tmp_path: Path) -> None:
    """It finds them in transformers' own modules, and compares them with what the page shows."""
    torch.manual_seed(0)
    folders = {
        name: str(save_model(WITH_HEADS[name](), tmp_path / name, name)) for name in ("gpt2", "llama", "bert")
    } | {name: str(save(name, tmp_path / name)) for name in ("roberta", "bart")}
    wanted = {
        ("minilm", 2): POST_NORM, ("roberta", 1): POST_NORM, ("bart", 3): [], ("bert", 0): POST_NORM,
        ("bert", 1): [*POST_NORM, *HEAD], ("gpt2", 0): PRE_NORM, ("gpt2", 2): [*PRE_NORM, "final_norm", *HEAD],
        ("llama", 1): [*PRE_NORM, "final_norm", *HEAD],
    }  # fmt: skip
    files = {}
    for name, block in wanted:
        view = {
            "source": "pretrained", "model": folders.get(name, name), "text": f"the cat sat {HOSTILE}", "pair": "",
            "block": block, "head": 3,
        }  # fmt: skip
        resources = DirectResources()
        here = shown_part(view.__getitem__, resources)
        file = tmp_path / f"{name}-{block}.py"
        file.write_text(code.script(walk_cells(here, here.walk(resources), resources)), encoding="utf-8")
        files[name, block] = file
    ran = run_alone(OF_MODEL, *files.values(), cwd=tmp_path, on_warning="ignore")
    assert ran.returncode == 0, ran.stderr[-3000:]
    recorded = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines() if line.startswith(str(tmp_path))}
    for at, names in wanted.items():
        found = recorded[str(files[at])]
        assert set(names) <= set(found), at
        assert bool(names) == bool(found), at
        assert ("logits" in found) == ("logits" in names), at


def model_tabs() -> None:
    """The two tabs on the page Transformer."""
    from attnviz.ui import state
    from attnviz.ui.export import show_numbers_export, show_walk_export

    state.begin("transformer")
    show_walk_export("transformer")
    show_numbers_export("transformer")


def test_a_transformer_offers_all_steps_its_numbers_and_its_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link = {"text": "the cat", "architecture": "decoder", "block": "1", "norm": "pre"}
    waiting, caption = offered(monkeypatch, model_tabs, **link)
    assert set(waiting) == {"PowerPoint", "PDF", "SVGs (ZIP)", "TikZ", "CSV", "npz", "Notebook", "Script"}
    assert "compute the whole model" in caption
    with np.load(io.BytesIO(waiting["npz"]())) as found:
        trace = trace_transformer(WordTokenizer().tokenize("the cat"), None, TransformerConfig("decoder", norm="pre"))
        np.testing.assert_allclose(found["embeddings"], trace.block(1).input, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["logits"], trace.logits, rtol=1e-5, atol=1e-5)
    (tmp_path / "model.py").write_bytes(waiting["Script"]())
    ran = run_alone(FILE, "model.py", cwd=tmp_path)
    assert "matrices are those that the page showed." in ran.stdout, ran.stderr
    assert waiting["PDF"]().startswith(b"%PDF")


X = torch.linspace(-5, 5, 101)
THEIRS = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU(approximate="tanh")}
SPACE = {"torch": torch, "nn": nn, "F": F, "x": X}


@pytest.mark.parametrize("name", THEIRS)
def test_each_script_writes_the_activation_itself(name: str) -> None:
    written = (
        f"{transformer.ACTIVATIONS[name]}(x)",
        models.ACTIVATIONS[name].format("x"),
        activation_code(name, "x"),  # type: ignore[arg-type]
    )
    for expression in written:
        torch.testing.assert_close(eval(expression, dict(SPACE)), THEIRS[name](X), rtol=0, atol=1e-6)


def test_the_two_gelus_are_told_apart() -> None:
    assert float((THEIRS["gelu"](X) - THEIRS["gelu_tanh"](X)).abs().max()) > 1e-4
