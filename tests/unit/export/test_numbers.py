"""Numbers and code that leave the app: read back by numpy and csv, run in another process, compared with torch."""

from __future__ import annotations

import codecs
import csv
import gc
import io
import json
import re
import runpy
import weakref
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
import streamlit
import torch
import transformers as tf
from nbclient import NotebookClient
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from attnviz.attention import Mask
from attnviz.export import numbers
from attnviz.export.code import cells as code
from attnviz.export.code.pretrained import _simple_mask, pretrained_inputs
from attnviz.export.code.toy import toy_inputs
from attnviz.pretrained import ModelError, PretrainedModel, load
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import trace_toy
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace import vocabulary
from attnviz.trace.layer import LayerTrace
from attnviz.trace.matrices import ROTATED, heads_matrix
from attnviz.trace.model import Place
from attnviz.trace.walk import Walk
from attnviz.ui import caches
from tests.loaded import built_in_model
from tests.scripts import run_alone
from tests.toy import tokens_of
from tests.unit.families import BART, save, save_model

HOSTILE = '=1+1 -2 @x "";=2 \'\'\'"""+\\ <img/src=x/onerror=alert(1)> {0}\u2028\u202e🙂 السلام'
RUN = """
import runpy, sys
import numpy as np
for file in sys.argv[1:]:
    found = runpy.run_path(file)
    names = ("query", "key", "value", "scores", "scaled", "masked", "weights", "head_outputs", "concat")
    names = (*names, *(name for name in ("rotated_query", "rotated_key") if name in found))
    np.savez(file + ".npz", **{name: found[name].numpy() for name in names}, text=found.get("TEXT", ""))
"""


Cells = tuple[code.Cell, ...]


def check_notebook(cells: Cells) -> None:
    """Check that they are a notebook, of whose cells each is whole by itself."""
    notebook = nbformat.reads(code.notebook(cells), as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert cell.cell_type == "markdown" or compile(cell.source, "a cell", "exec"), cell.source


def toy(config: ToyConfig, text: str = HOSTILE) -> tuple[Walk, Cells]:
    tokens = WordTokenizer().tokenize(text)
    trace = trace_toy(tokens, config)
    walk = trace.walk(0, trace.layer(0).heads - 1)
    return walk, (*toy_inputs(tokens.ids, config), *code.rotated_cells(walk))


def of_model(name: str, text: str, pair: str | None, kind: str, layer: int, head: int) -> tuple[Walk, Cells]:
    model = load(name)
    walk = model.trace(text, pair).walk(layer, head, kind)
    return walk, pretrained_inputs(model, text, pair, Place(kind, layer), walk)


def test_every_matrix_comes_back_from_the_npz_and_from_the_tables_bit_for_bit() -> None:
    walk, _ = toy(ToyConfig(heads=3, causal=True, seed=5))
    steps = walk.layer.all_heads()
    with np.load(io.BytesIO(numbers.npz(walk, [2, 0])), allow_pickle=False) as found:
        np.testing.assert_array_equal(found["weights"], steps.weights[[2, 0]].numpy())
        np.testing.assert_array_equal(found["W_key"], walk.layer.projections["key"].weight[[2, 0]].numpy())
        x, w = found["embeddings"], found["W_query"]
        np.testing.assert_allclose(x @ w, found["query"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["concat"] @ found["W_output"], found["output"], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found["token_embeddings"] + found["positions"], x)
        assert tuple(found["query_tokens"]) == walk.query_labels
        assert found["heads"].tolist() == [2, 0]
        np.testing.assert_array_equal(found["scores"] * np.float32(found["scale"]), found["scaled"])
        assert "embeddings_k" not in found
    archive = zipfile.ZipFile(io.BytesIO(numbers.csv_zip(walk, [2, 0])))
    about = json.loads(archive.read("about.json"))
    assert (about["text"], about["heads"], about["scale"]) == (HOSTILE, [2, 0], walk.layer.scale)
    assert sorted(about["files"]) == sorted(set(archive.namelist()) - {"about.json"})
    for head in (2, 0):
        for name in ("query", "scores", "scaled", "masked", "weights", "head_outputs"):
            rows = list(csv.reader(io.StringIO(archive.read(f"head_{head}/{name}.csv").decode("utf-8-sig"))))
            read = np.array([row[1:] for row in rows[1:]], dtype=np.float32)
            np.testing.assert_array_equal(read, getattr(steps, name)[head].numpy(), err_msg=name)
            assert [row[0].replace(";'=", ";=") for row in rows[1:]] == [
                f"[{i}] {token}" for i, token in enumerate(walk.query_labels)
            ]


def test_a_soft_cap_and_a_sink_are_tables_of_their_own() -> None:
    walk, _ = toy(ToyConfig(heads=2, cap=0.5, sink=1.0))
    steps = walk.layer.all_heads()
    with np.load(io.BytesIO(numbers.npz(walk, [0, 1])), allow_pickle=False) as found:
        np.testing.assert_array_equal(found["capped"], steps.capped.numpy())
        np.testing.assert_array_equal(found["sink"], steps.sink)
        np.testing.assert_array_equal(found["sinks"], np.ones((2, len(walk.query_labels), 1)))
        np.testing.assert_allclose(found["weights"].sum(-1, keepdims=True) + found["sink"], 1, rtol=1e-6)
        names = list(found)
        assert names.index("scaled") < names.index("capped") < names.index("masked") < names.index("sink")
    archive = zipfile.ZipFile(io.BytesIO(numbers.csv_zip(walk, [1])))
    rows = list(csv.reader(io.StringIO(archive.read("sink.csv").decode("utf-8-sig"))))
    assert rows[0][1:] == ["number 0"]
    np.testing.assert_array_equal(np.array([row[1] for row in rows[1:]], np.float32), steps.sink[1, :, 0].numpy())
    plain, _ = toy(ToyConfig())
    with np.load(io.BytesIO(numbers.npz(plain, [0])), allow_pickle=False) as found:
        assert not {"capped", "sink", "sinks"} & set(found)


def test_tables_of_cross_attention_name_the_encoders_tokens_and_hold_its_biases(tmp_path: Path) -> None:
    walk, _ = of_model(str(save("bart", tmp_path / "bart")), "the cat sat", "a dog on the mat", "cross", 1, 3)
    archive = zipfile.ZipFile(io.BytesIO(numbers.csv_zip(walk, [3, 1])))
    about, labels = json.loads(archive.read("about.json")), {"query": walk.query_labels, "key": walk.key_labels}
    tables = {}
    for file, says in about["files"].items():
        written = archive.read(file)
        assert written.startswith(codecs.BOM_UTF8)  # by which a spreadsheet knows what it is
        (_, *columns), *rows = csv.reader(io.StringIO(written.decode("utf-8-sig")))
        tables[file.removesuffix(".csv")] = table = np.array([row[1:] for row in rows], dtype=np.float32)
        assert table.shape == tuple(says["shape"])
        for kind, found in ((says["rows"], [row[0] for row in rows]), (says["columns"], columns)):
            numbered = [f"{kind} {i}" for i in range(len(found))] if kind != "bias" else ["bias"]
            assert found == ([f"[{i}] {label}" for i, label in enumerate(labels[kind])] if kind in labels else numbered)
    for head in (3, 1):
        for name, x in (("query", "embeddings"), ("key", "embeddings_k"), ("value", "embeddings_k")):
            known = tables[x] @ tables[f"head_{head}/W_{name}"] + tables[f"head_{head}/b_{name}"]
            np.testing.assert_allclose(tables[f"head_{head}/{name}"], known, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")
def test_no_token_becomes_a_formula_in_a_spreadsheet(sign: str) -> None:
    """Whatever the separator of a country's spreadsheet, a cell of text begins with none of the signs of a formula."""
    walk, _ = toy(ToyConfig(), f'{HOSTILE} ;{sign}3 a;"{sign}4')
    archive = zipfile.ZipFile(io.BytesIO(numbers.csv_zip(walk, [0])))
    text = archive.read("weights.csv").decode("utf-8-sig")
    assert "=1+1" in text
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(text), delimiter=separator):
            for cell in row:
                if cell and not _is_number(cell.split(",")[0]):
                    assert cell[0] not in "=+-@\t\r＝＋－＠", (separator, cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_tables_of_more_numbers_than_a_spreadsheet_likes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, _ = toy(ToyConfig(heads=8), "word " * 300)
    with pytest.raises(numbers.TooManyNumbersError, match="2,880,000"):
        numbers.csv_zip(walk, range(8))
    assert len(numbers.csv_zip(walk, [0])) > 1000
    small, _ = toy(ToyConfig(heads=2), "one two three")
    cells = 4 * 2 * 3 * 3  # scores, scaled, masked and weights of two heads
    monkeypatch.setattr(numbers, "MAX_CSV_CELLS", cells)
    numbers.check_csv(small, [0, 1])
    monkeypatch.setattr(numbers, "MAX_CSV_CELLS", cells - 1)
    with pytest.raises(numbers.TooManyNumbersError, match="These are 72 numbers; CSV takes at most 71"):
        numbers.check_csv(small, [0, 1])
    across = LayerTrace(torch.zeros(1, 2, 4), torch.zeros(1, 7, 4), torch.zeros(1, 7, 4), 1.0)
    with pytest.raises(numbers.TooManyNumbersError, match=f"These are {4 * 2 * 7} numbers"):
        monkeypatch.setattr(numbers, "MAX_CSV_CELLS", 50)
        numbers.check_csv(Walk(tokens_of(range(2)), tokens_of(range(7)), across, 0), [0])


def test_the_last_column_of_probabilities_is_that_of_all_tokens_without_a_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vocabulary, "ALL", 10)
    tokens = WordTokenizer().tokenize(" ".join(f"word{number}" for number in range(60)))
    labels = list(dict(zip(tokens.ids, tokens.labels, strict=True)).values())
    trace = trace_transformer(tokens, None, TransformerConfig("decoder", depth=1, heads=1, width=8))
    walk = trace.walk_at(len(trace.places) - 1, 0)
    archive = zipfile.ZipFile(io.BytesIO(numbers.csv_zip(walk, [0])))
    (_, *columns), *rows = csv.reader(io.StringIO(archive.read("probabilities.csv").decode("utf-8-sig")))
    assert columns[-1] == "all others"
    shown = [labels.index(column.partition("] ")[2]) for column in columns[:-1]]
    assert 0 < len(shown) < len(labels)
    assert trace.logits is not None
    known = trace.logits.softmax(-1).numpy()
    found = np.array([row[1:] for row in rows], dtype=np.float32)
    np.testing.assert_allclose(found[:, :-1], known[:, shown], atol=1e-6)
    np.testing.assert_allclose(found[:, -1], np.delete(known, shown, axis=1).sum(axis=1), atol=1e-6)


def test_weights_and_biases_of_a_block_are_tables_of_one_row() -> None:
    config = TransformerConfig("decoder", depth=1, heads=1, width=8, bias=True)
    walk = trace_transformer(WordTokenizer().tokenize("a b c"), None, config).walk_at(0, 0)
    assert walk.block is not None
    archive = zipfile.ZipFile(io.BytesIO(numbers.csv_zip(walk, [0])))
    vectors = {name: matrix for name, matrix in walk.block.matrices.items() if matrix.ndim == 1}
    assert {name.partition("_")[0] for name in vectors} == {"gamma", "beta", "b"}
    for name, vector in vectors.items():
        (_, *columns), (label, *row) = csv.reader(io.StringIO(archive.read(f"{name}.csv").decode("utf-8-sig")))
        assert label == ("weight" if name.startswith("gamma") else "bias")
        assert len(columns) == len(vector)
        np.testing.assert_array_equal(np.array(row, dtype=np.float32), vector.detach())


def test_the_scripts_print_the_same_numbers_where_attnviz_is_not(tmp_path: Path) -> None:
    text, pair = f"The cat sat. {HOSTILE}", 'on """the\nmat'
    walks = {
        "toy": toy(ToyConfig(heads=3, head_size=5, causal=True, scale="0.3", seed=7)),
        "mixing": toy(ToyConfig(qkv="positions", positions="random", scale="sqrt_c")),
        "plain": toy(ToyConfig(qkv="identity", positions="none", scale="off", projection=False)),
        "lab": toy(ToyConfig(width=13, positions="lab")),
        "wide": toy(ToyConfig(width=45, bias=True, positions="random", causal=True, padding=2)),
        "filled": toy(ToyConfig(bias=True, projection=False, causal=True, padding=1, mask_value="-1e10")),
        "before": toy(ToyConfig(width=8, causal=True, padding=1, mask_value="-1e10_before", scale="0.3")),
        "lab's cell": toy(
            ToyConfig(
                width=512, heads=1, head_size=7, std_q=0.5, std_k=0.1, std_v=0.2, embedding="uniform", positions="none"
            )
        ),
        "one of three": toy(ToyConfig(std_k=3.0, bias=True, embedding="uniform", positions="random", heads=3)),
        "rotary": toy(ToyConfig(positions="rotary", head_size=5, causal=True)),
        "widest": toy(ToyConfig(width=300, positions="random", bias=True, heads=2, head_size=64)),
        "widest, mixing": toy(ToyConfig(width=512, qkv="positions", std_q=2.0, heads=2)),
        "widest, plain": toy(ToyConfig(width=129, qkv="identity", embedding="uniform", positions="lab")),
        "no queries": toy(ToyConfig(std_q=0.0, std_v=1e-9)),
        "largest": toy(ToyConfig(width=512, heads=8, head_size=64, std_q=10, std_k=10, std_v=10, scale="1000")),
        "minilm": of_model("minilm", text, pair, "encoder", 3, 5),
        "gpt2": of_model(str(save("gpt2", tmp_path / "gpt2")), "the cat sat", None, "decoder", 1, 2),
        "bart": of_model(str(save("bart", tmp_path / "bart")), text, pair, "cross", 1, 3),
        "llama": of_model(str(save("llama", tmp_path / "llama")), text, None, "decoder", 1, 3),
        "t5": of_model(str(save("t5", tmp_path / "t5")), text, pair, "decoder", 1, 0),
        "bart's decoder": of_model(
            str(save_model(tf.BartForCausalLM(tf.BartConfig(**BART)), tmp_path / "alone", "bart")),
            text,
            None,
            "decoder",
            1,
            3,
        ),
    }
    files = []
    for name, (walk, inputs) in walks.items():
        cells = code.cells(replace(walk, link='http://h/?a="\n'), inputs, place="a test", needs="torch")
        check_notebook(cells)
        files.append(tmp_path / f"{name}.py")
        files[-1].write_text(code.script(cells), encoding="utf-8")
    ran = run_alone(RUN, *files, cwd=tmp_path, on_warning="ignore")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.count("matrices are those that the page showed") == len(walks)
    for file, (walk, _) in zip(files, walks.values(), strict=True):
        layer = walk.layer
        with np.load(f"{file}.npz") as found:
            ours = layer.all_heads()
            steps = ("value", "scores", "scaled", "masked", "weights", "head_outputs")
            expected = {name: getattr(ours, name) for name in steps}
            operands = ("query", "key") if layer.rotation is None else ROTATED
            expected |= dict(zip(operands, (ours.query, ours.key), strict=True))
            expected |= {name: heads_matrix(layer, name) for name in ("query", "key")}
            for name, matrix in expected.items():
                np.testing.assert_allclose(found[name], matrix, rtol=1e-4, atol=1e-5, err_msg=f"{file} {name}")
            query, key, value = (torch.from_numpy(found[name])[None] for name in (*operands, "value"))
            mask = layer.mask.cells
            if not layer.mask.is_infinite and mask is not None:
                mask = torch.zeros(mask.shape).masked_fill(~mask, layer.mask.hidden_value(layer.scale))
            if layer.position_bias is not None:
                hidden = layer.mask.hidden((layer.heads, query.shape[2], key.shape[2]))
                mask = layer.position_bias.cells.masked_fill(hidden, -torch.inf)
            theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=layer.scale)[0]
            theirs = theirs.nan_to_num()  # rows without a visible key
            np.testing.assert_allclose(found["head_outputs"], theirs, rtol=1e-4, atol=1e-5)
    with np.load(f"{tmp_path / 'minilm.py'}.npz") as found:
        assert str(found["text"]) == text


def test_only_a_causal_mask_is_written_as_one() -> None:
    walk, _ = of_model("minilm", "the cat sat", None, "encoder", 0, 0)
    size = len(walk.query_labels)

    def written(mask: Mask) -> str:
        masked = replace(walk, layer=replace(walk.layer, mask=mask))
        inputs = pretrained_inputs(load("minilm"), "the cat sat", None, Place("encoder", 0), masked)
        return "\n".join(cell.text for cell in inputs)

    assert "\nmask = None\n" in written(Mask())
    assert f"\nmask = torch.ones({size}, {size}, dtype=torch.bool).tril()\n" in written(Mask.causal(size))
    hidden = torch.ones(size, size, dtype=torch.bool)
    hidden[:, -1] = False
    for kind in ("padding", "cross", "other"):
        source = written(Mask(kind, hidden))
        assert "tril" not in source
        assert "query, key, value, scale, mask = calls[at + 1]" in source, "the mask is the one that the model is given"


def run(notebook: str, folder: Path) -> str:
    """Run a notebook in Jupyter, as on a machine that has never heard of attnviz; return what it prints."""
    kernel = nbformat.reads(notebook, as_version=4)
    # With each printed row whole.
    kernel.cells[1].source += "\ntorch.set_printoptions(precision=6, sci_mode=False, linewidth=10**6, threshold=10**6)"
    kernel.cells.insert(0, nbformat.v4.new_code_cell('import sys\nsys.modules["attnviz"] = None'))
    NotebookClient(kernel, timeout=200, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [output for cell in kernel.cells for output in cell.get("outputs", []) if output.output_type == "stream"]
    return "".join(output.text for output in outputs if output.name == "stdout")


def matrices_in(text: str) -> dict[str, np.ndarray]:
    """Read the matrices that a notebook has printed, each by its name."""
    assert "matrices are those that the page showed" in text
    matrices = {}
    for name, rows, cols, digits in re.findall(r"(\w+), (\d+) x (\d+)\ntensor\(([^a-z]*(?:inf[^a-z]*)*)", text):
        numbers_ = re.findall(r"-?(?:\d+\.\d*|inf)", digits)
        matrices[name] = np.array([float(number) for number in numbers_]).reshape(int(rows), int(cols))
    return matrices


def test_the_notebook_runs_in_jupyter_and_prints_what_torch_computes(tmp_path: Path) -> None:
    walk, inputs = toy(ToyConfig(heads=3, causal=True, seed=7), "the cat sat <b>down</b>")
    found = matrices_in(run(code.notebook(code.cells(walk, inputs, place="a test", needs="torch")), tmp_path))
    layer, head = walk.layer, walk.head
    query, key, value = (matrix[None, head : head + 1] for matrix in (layer.query, layer.key, layer.value))
    same = {"attn_mask": layer.mask.cells, "scale": layer.scale}
    known = {
        "query": query[0, 0],
        "scores": query[0, 0] @ key[0, 0].T,
        "weights": F.scaled_dot_product_attention(query, key, torch.eye(key.shape[2])[None, None], **same)[0, 0],
        "head_outputs": F.scaled_dot_product_attention(query, key, value, **same)[0, 0],
    }
    for name, matrix in known.items():
        np.testing.assert_allclose(found[name], matrix.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
    assert layer.mask.cells is not None
    np.testing.assert_array_equal(np.isneginf(found["masked"]), ~layer.mask.cells.numpy())


def check_another_seed_stops(cells: Cells, folder: Path) -> None:
    """Check that the script stops where its numbers are not the page's."""
    written = code.script(cells)
    changed = written.replace("SEED = 0", "SEED = 1")
    assert changed != written
    (folder / "other.py").write_text(changed, encoding="utf-8")
    with pytest.raises(AssertionError, match="not close"):
        runpy.run_path(str(folder / "other.py"))


def test_a_number_that_is_not_the_pages_stops_the_script(tmp_path: Path) -> None:
    walk, inputs = toy(ToyConfig(), "one two three")
    check_another_seed_stops(code.cells(walk, inputs, place="a test", needs="torch"), tmp_path)


def export_tabs() -> None:
    """The two tabs of Export that make files of a walk, as a page of their own."""
    from attnviz.ui import state
    from attnviz.ui.export import show_numbers_export, show_walk_export

    state.begin("step_by_step")
    show_walk_export("step_by_step")
    show_numbers_export("step_by_step")


def offered(
    monkeypatch: pytest.MonkeyPatch, tabs: Callable[[], None] = export_tabs, **link: str
) -> tuple[dict[str, Callable[[], bytes]], str]:
    """Open both tabs by a link; return what makes each file when its button is pressed, and the caption below."""
    waiting = {}

    def hold(label: str, data: Callable[[], bytes], *_: object, **__: object) -> None:
        waiting[label] = data

    with monkeypatch.context() as patched:
        patched.setattr(streamlit, "download_button", hold)
        at = AppTest.from_function(tabs, default_timeout=120)
        for name, value in link.items():
            at.query_params[name] = value
        at.run()
    assert not at.exception
    return waiting, " ".join(caption.value for caption in at.caption)


def test_of_a_model_that_is_not_there_the_built_in_one_is_exported_as_it_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link = {"source": "pretrained", "model": str(tmp_path / "none"), "layer": "40", "head": "40", "kind": "cross"}
    waiting, caption = offered(monkeypatch, text="The cat sat.", **link)
    assert "MiniLM (a small BERT) · layer 0 · head 0" in caption.replace("\\", "")
    (tmp_path / "walk.py").write_bytes(waiting["Script"]())
    found = runpy.run_path(str(tmp_path / "walk.py"))
    np.testing.assert_allclose(found["weights"], built_in_model().trace("The cat sat.").attentions(0), atol=1e-5)
    monkeypatch.setattr(caches, "model", fail)
    waiting, caption = offered(monkeypatch, text="The cat sat.", **link)
    assert not waiting
    assert caption.replace("\\", "") == "Nothing can be loaded. Nothing can be loaded."


def fail(_: str) -> PretrainedModel:
    raise ModelError("Nothing can be loaded.")


def test_the_pinned_score_is_a_file_with_all_its_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"source": "pretrained", "text": "=1+1 the cat sat", "layer": "2", "head": "7"}
    assert "Pinned score" not in offered(monkeypatch, **link, q="3")[0]
    waiting, _ = offered(monkeypatch, **link, q="3", k="1")
    header, *rows = csv.reader(waiting["Pinned score"]().decode("utf-8-sig").splitlines())
    assert header == ["sum over", "of the query", "of the key", "contribution"]
    score = float(built_in_model().trace(link["text"]).head(2, 7).scores[3, 1])
    for what in ("dimension", "parts"):
        assert sum(float(row[3]) for row in rows if row[0] == what) == pytest.approx(score, abs=1e-4)
    assert len([row for row in rows if row[0] == "dimension"]) == 32
    assert ["parts", "token", "position"] in [row[:3] for row in rows]


@pytest.mark.usefixtures("unfreezing")
def test_buttons_that_wait_to_be_pressed_keep_no_model_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = str(save("bert", tmp_path / "bert"))
    waiting, _ = offered(monkeypatch, text="the cat sat", source="pretrained", model=folder, layer="1", head="1")
    assert set(waiting) == {"PowerPoint", "PDF", "SVGs (ZIP)", "TikZ", "CSV", "npz", "Notebook", "Script"}
    before = {label: waiting[label]() for label in ("npz", "Notebook", "Script", "TikZ")}
    model = weakref.ref(caches.model(folder))
    caches.clear()
    gc.unfreeze()
    gc.collect()
    assert model() is None
    assert {label: waiting[label]() for label in before} == before


@pytest.mark.parametrize(("before", "after"), [(2, 0), (1, 1), (3, 3)])
def test_a_window_s_line_makes_the_window(before: int, after: int) -> None:
    apart = torch.arange(7) - torch.arange(7)[:, None]
    window = (apart >= -before) & (apart <= after)
    line = _simple_mask(Mask.recognise(window), 7)
    assert line is not None
    assert torch.equal(eval(line, {"torch": torch}), window)
