"""The code of one attention from its query, key and value: run here, and compared with torch."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
import transformers as tf
from torch.nn.functional import scaled_dot_product_attention

from attnviz.attention import Mask
from attnviz.export.code.cells import Cell, cells, literals, notebook, rotated_cells, script
from attnviz.export.code.pretrained import pretrained_inputs, unknown_of
from attnviz.export.code.recipes import about_code, walk_cells
from attnviz.export.code.toy import toy_inputs
from attnviz.files import FOLDER
from attnviz.links.link import read_link
from attnviz.pretrained import load
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import shown
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import trace_toy
from attnviz.toy.config import ToyConfig
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Place
from attnviz.trace.walk import Walk
from tests.toy import tokens_of
from tests.unit.families import BERT, save_model

SEEN = torch.tensor([[True, False, False], [True, True, False], [False, False, False]])


GIVEN = (Cell("code", "x = W_O = b_O = None\n# given"), Cell("markdown", "- a list\n- of two"))
"""For a query, key and value whose names stand there already"""


def walk_of(mask: Mask) -> Walk:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 4) for _ in range(3))
    tokens = tokens_of(range(3), ["é", "a 'b", '"""'])
    return Walk(tokens, tokens, LayerTrace(query, key, value, 0.3, mask), 1, link='http://h/?a="é')


def code_of(walk: Walk) -> tuple[Cell, ...]:
    return cells(walk, GIVEN, place="a test", needs="torch")


@pytest.mark.parametrize(
    ("mask", "added", "named"),
    [(Mask(), None, "−∞"), (Mask("other", SEEN), SEEN, "−∞"), (Mask("other", SEEN[:2].repeat(2, 1)[:3]), None, "−∞"),
     (Mask("other", SEEN, -1e10), torch.zeros(3, 3).masked_fill(~SEEN, -1e10), "−1e10"),
     (Mask("other", SEEN, -1e10, "scores"), torch.zeros(3, 3).masked_fill(~SEEN, -3e9), "−3e9")],
)  # fmt: skip
def test_the_code_computes_what_torch_computes_under_every_mask(
    mask: Mask, added: torch.Tensor | None, named: str
) -> None:
    walk = walk_of(mask)
    layer, parts = walk.layer, code_of(walk)
    namespace: dict[str, Any] = {"query": layer.query, "key": layer.key, "value": layer.value, "scale": layer.scale,
                                 "mask": mask.cells}  # fmt: skip
    with redirect_stdout(io.StringIO()) as printed:
        exec(script(parts), namespace)
    assert "matrices are those that the page showed" in printed.getvalue()
    if added is None:
        added = mask.cells
    expected = scaled_dot_product_attention(layer.query, layer.key, torch.eye(3).expand(2, 3, 3), added, scale=0.3)
    torch.testing.assert_close(namespace["weights"], expected.nan_to_num())
    assert any(f"hidden cells become {named}" in cell.text for cell in parts)
    hides_a_row = mask.is_infinite and mask.cells is not None and not mask.cells.any(dim=1).all()
    assert ("# rows without a visible key" in script(parts)) is bool(hides_a_row)


@pytest.mark.parametrize(
    "config",
    [ToyConfig(padding=2, causal=True), ToyConfig(padding=1, scale="sqrt_c", mask_value="-1e10"),
     ToyConfig(bias=True, std_q=2.0), ToyConfig(bias=True, std_q=2.0, std_k=0.5, std_v=0.1, scale="off"),
     ToyConfig(projection=False, bias=True), ToyConfig(qkv="positions", std_q=2.0, positions="random"),
     ToyConfig(qkv="identity", positions="none", embedding="uniform", std_q=2.0), ToyConfig(width=8, positions="lab"),
     ToyConfig(window=2, causal=True), ToyConfig(window=3), ToyConfig(window=3, causal=True, padding=2),
     ToyConfig(cap=0.5), ToyConfig(sink=-0.25), ToyConfig(cap=1.5, sink=2.0, causal=True, padding=2),
     ToyConfig(cap=1.5, causal=True, padding=1, mask_value="-1e10_before"),
     ToyConfig(cap=1.5, padding=1, mask_value="-1e10"),
     ToyConfig(positions="rotary", cap=1.5, sink=0.5, window=3, causal=True),
     ToyConfig(positions="rotary", cap=1.5, bias=True), ToyConfig(cap=0.1, scale="1000"),
     ToyConfig(cap=0.1, scale="1000", sink=0.5, causal=True),
     ToyConfig(positions="alibi", heads=3), ToyConfig(positions="buckets", heads=3, padding=1),
     ToyConfig(positions="alibi", cap=1.5, sink=0.5, causal=True, qkv="identity"),
     ToyConfig(positions="buckets", causal=True, window=3),
     ToyConfig(positions="alibi", causal=True, padding=1, mask_value="-1e10_before", cap=1.5),
     ToyConfig(heads=4, kv_heads=2), ToyConfig(positions="buckets", heads=4, kv_heads=2, qk_norm=True),
     ToyConfig(heads=3, kv_heads=1, bias=True, width=200, std_q=0.5, positions="rotary"),
     ToyConfig(heads=4, kv_heads=2, qkv="identity"), ToyConfig(qk_norm=True, bias=True),
     ToyConfig(qk_norm=True, positions="rotary", heads=4, kv_heads=2), ToyConfig(qk_norm=True, qkv="positions")],
)  # fmt: skip
def test_the_code_of_the_toy_draws_its_weights_and_names_nothing_that_it_does_not_use(config: ToyConfig) -> None:
    tokens = WordTokenizer().tokenize("the cat sat on the mat")
    walk = trace_toy(tokens, config).walk(0, config.head_count - 1)
    inputs = (*toy_inputs(tokens.ids, config), *rotated_cells(walk))
    text = script(cells(walk, inputs, place="a test", needs="torch"))
    namespace: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(text, namespace)
    assert "matrices are those that the page showed" in printed.getvalue()
    torch.testing.assert_close(namespace["query"], walk.layer.projected("query"))
    assert ("tanh" in text, "sink" in text) == (config.cap is not None, config.sink is not None)
    assert ("STD" in text) == (config.qkv == "linear" and config.std_q is not None)
    assert ("b_O = None" in text) == (not config.bias or not config.projection)


GEMMA = {**BERT, "num_key_value_heads": 2, "head_dim": 8}
WITH_CAP_OR_SINK: dict[str, Callable[[], Any]] = {
    "gemma2": lambda: tf.Gemma2Model(tf.Gemma2Config(**GEMMA, attn_logit_softcapping=2.0)),
    "gpt_oss": lambda: tf.GptOssModel(
        tf.GptOssConfig(**GEMMA, num_local_experts=2, num_experts_per_tok=1, sliding_window=3)
    ),
    # sinks in layers with a window only
    "mimo": lambda: tf.MiMoV2FlashModel(
        tf.MiMoV2FlashConfig(
            **GEMMA, v_head_dim=8, moe_layer_freq=[0, 0], layer_types=["full_attention", "sliding_attention"],
            sliding_window=3,
        )
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_CAP_OR_SINK)
def test_the_code_of_a_model_with_a_soft_cap_or_sinks_computes_them(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = load(str(save_model(WITH_CAP_OR_SINK[name](), tmp_path, name)))
    for layer in (0, 1):
        walk = model.trace("the cat sat on the mat").walk(layer, 2, "decoder")
        inputs = pretrained_inputs(model, "the cat sat on the mat", None, Place("decoder", layer), walk)
        namespace: dict[str, Any] = {}
        with redirect_stdout(io.StringIO()) as printed:
            unknown = unknown_of(walk, model.module_names(layer, "decoder"))
            exec(script(cells(walk, inputs, place="a test", needs="torch", unknown=unknown)), namespace)
        assert "matrices are those that the page showed" in printed.getvalue()
        assert ("capped" in namespace) == (walk.layer.cap is not None)
        assert ("sink" in namespace) == (walk.layer.sinks is not None)
    has = {"gemma2": (2.0, False), "gpt_oss": (None, True), "mimo": (None, True)}
    assert (walk.layer.cap, walk.layer.sinks is not None) == has[name]


def test_the_heading_says_which_attention_it_is_and_what_its_code_needs() -> None:
    resources = DirectResources()
    for link, place, needs in (
        ({"source": "toy"}, "the toy block, head 1", "torch"),
        ({"source": "pretrained", "layer": "2"}, "encoder attention, layer 2, head 1", "torch and transformers"),
        ({"source": "trained", "model": "sort", "layer": "1"}, "decoder block 1, head 1", "torch and safetensors"),
    ):
        view, _ = read_link({"text": "314", "head": "1", **link})
        selection = shown(view.__getitem__, resources)
        heading = walk_cells(selection, selection.walk(resources), resources)[0].text
        assert f"page Step by step: {place}.\nRows" in heading, heading
        assert f"It needs {needs}, but not attnviz" in heading.replace("\n", " ")


@pytest.mark.parametrize(
    ("source", "page", "said"),
    [("toy", "step_by_step", "The code does not need attnviz."),
     ("pretrained", "step_by_step", "The code does not need attnviz."),
     ("trained", "step_by_step", "read the model's file"), ("toy", "transformer", "the whole model, every block"),
     ("pretrained", "transformer", "load the model with transformers"), ("trained", "transformer", "model's file")],
)  # fmt: skip
def test_what_the_code_computes_is_said_of_each_source_and_page(source: str, page: str, said: str) -> None:
    assert said in about_code(source, page)


def test_a_notebook_and_a_script_hold_the_same_lines_and_only_letters_of_ascii_from_the_user() -> None:
    parts = code_of(walk_of(Mask()))
    written = nbformat.reads(notebook(parts), as_version=4)
    nbformat.validate(written)
    assert (written.nbformat, written.nbformat_minor) <= (nbformat.current_nbformat, nbformat.current_nbformat_minor)
    assert [(cell.cell_type, cell.source) for cell in written.cells] == [(cell.kind, cell.text) for cell in parts]
    assert all(cell.source.isascii() for cell in written.cells if "QUERY_TOKENS = " in cell.source)
    lines = script(parts).splitlines()
    assert "# - a list" in lines and "# Attention, step by step, in plain torch" in lines
    assert all(line in lines for cell in parts if cell.kind == "code" for line in cell.text.splitlines())


def test_values_are_read_back_from_their_literals() -> None:
    values = ["é", "a 'b  c", '"""', "\n", *(f"word {number} " * 3 for number in range(40))]
    written = literals(values)
    assert ast.literal_eval(written) == values
    assert written.isascii() and max(map(len, written.splitlines())) < 120
    assert literals([]) == "[]"


def test_an_export_of_code_without_a_position_bias_of_transformers_does_not_load_it(tmp_path: Path) -> None:
    """It takes seconds to import. ALiBi of the toy is a position bias too, and no module computes it."""
    links = ("?source=toy&text=a+cat", "?source=toy&text=a+cat&positions=alibi", "?source=pretrained&text=a+cat")
    exporting = """
import sys
from attnviz.cli import main

for number, link in enumerate(sys.argv[1:]):
    options = ["--quiet", "--link", f"http://x/{link}", "--format", "py", "--out", f"out{number}"]
    assert not main(["export", *options]), link
    assert "transformers" not in sys.modules, link
"""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER)}  # a process that `run_alone` forks has it already
    subprocess.run([sys.executable, "-c", exporting, *links], cwd=tmp_path, env=environment, check=True, timeout=240)
    assert len(list(tmp_path.glob("out*/*.py"))) == len(links)
