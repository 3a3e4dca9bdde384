"""Models of which only some layers have attention: pages, notes and links say the model's own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.cli import main
from attnviz.corpus import table
from attnviz.corpus.offered import about
from attnviz.corpus.run import CorpusCard
from attnviz.corpus.sentences import Reader
from attnviz.corpus.statistics import HeadStatistics, Place
from attnviz.document import read
from attnviz.measures.striking import most_striking
from attnviz.measures.survey import survey
from attnviz.notebook.widgets import ChoiceError
from attnviz.pretrained import load
from attnviz.ui.heads.table import heads_table
from tests.app.compare import picture, same
from tests.app.pages import SETTINGS_OPEN, messages, open_page, payload
from tests.app.walking import walk
from tests.payloads import read_payload
from tests.unit.families import HYBRIDS, save_model

TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module", params=HYBRIDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    return str(save_model(HYBRIDS[request.param](), tmp_path_factory.mktemp("hybrid"), request.param))


def opened(page: str, folder: str, **query: str) -> AppTest:
    return open_page(page, SETTINGS_OPEN, text=TEXT, source="pretrained", model=folder, **query)


def test_step_by_step_offers_the_layers_with_attention_by_their_numbers(folder: str) -> None:
    at = opened("step_by_step", folder, kind="decoder", layer="3", head="2")
    header, document = walk(at)
    assert header["layers"] == [1, 3]
    assert [bool(digest) for digest in header["documents"]] == [False, True, False, True]
    assert document.header.layer == header["values"]["layer"] == 3
    assert not messages(at)


def test_a_link_to_a_layer_without_attention_falls_back_and_names_those_with_it(folder: str) -> None:
    for layer in ("0", "2", "9"):
        at = opened("step_by_step", folder, kind="decoder", layer=layer)
        assert f"Layer {layer} has no attention: the model has it in layers 1 and 3." in messages(at)
        assert walk(at)[1].header.layer == 1
    assert not messages(opened("step_by_step", folder, kind="decoder"))  # nobody asked for layer 0


def test_heads_are_chosen_and_listed_by_the_layers_numbers(folder: str) -> None:
    at = opened("heads", folder, kind="decoder", layer="3", head="1", chosen="1.0_3.1_2.0")
    header, _ = payload(at, "explorer")
    assert header["layers"] == [1, 3]
    assert (header["view"]["layer"], header["view"]["chosen"]) == (3, [[1, 0], [3, 1]])
    assert "Not available, so not shown: 2.0 (layer.head)." in messages(at)
    assert len(header["files"]["rollout"]) == 2


def test_a_table_of_heads_has_a_row_for_each_by_its_layers_number(folder: str) -> None:
    trace = load(folder).trace(TEXT)
    about = survey(trace, "decoder", "name")
    table = heads_table(about, "")
    assert table["layer"].tolist() == [1] * 4 + [3] * 4
    assert table["head"].tolist() == [*range(4)] * 2
    weights = trace.attentions(3)[2].double()
    wanted = float(-(weights * weights.clamp(min=1e-300).log2()).sum(-1).mean())
    row = table[(table["layer"] == 3) & (table["head"] == 2)]
    assert float(row["entropy"].iloc[0]) == pytest.approx(wanted, abs=1e-5)
    ranking = most_striking(trace, "decoder").heads
    assert ranking and {one.layer for one in ranking} <= {1, 3}
    for one in ranking:
        assert one.weight == pytest.approx(float(trace.attentions(one.layer)[one.head, one.query, one.key]), abs=1e-6)


def test_compare_offers_and_compares_these_layers(folder: str) -> None:
    at = opened("compare", folder, kind="decoder", layer="1", b_layer="3", quantity="weights")
    for key in ("layer", "b_layer"):
        assert at.selectbox(key=key).options == ["layer 1", "layer 3"]
    _, arrays = picture(at)
    trace = load(folder).trace(TEXT)
    for name, layer in (("a", 1), ("b", 3)):
        same(np.nan_to_num(arrays[name]), trace.attentions(layer)[0].numpy())
    beyond = opened("compare", folder, kind="decoder", layer="3", b_layer="2")
    assert "Layer 2 of B has no attention: the model has it in layers 1 and 3." in messages(beyond)
    assert beyond.selectbox(key="b_layer").value is None  # as A


def test_the_diagram_of_a_whole_model_has_its_blocks_numbers(folder: str) -> None:
    at = opened("transformer", folder, block="1")
    header, document = walk(at)
    assert [one["block"] for one in header["model"]["attentions"]] == [1, 3]
    assert header["layers"] == [0, 1]  # of attentions, in order of computation
    assert document.header.place == "decoder block 3"


def test_exports_are_named_and_titled_by_these_numbers(folder: str, tmp_path: Path) -> None:
    text = [TEXT, "--source", "pretrained", "--model", folder, "--kind", "decoder", "--format", "csv"]
    assert main(["export", *text, "--layer", "all", "--head", "0", "--out", str(tmp_path / "all")]) == 0
    assert sorted(path.name.partition("-layer")[2] for path in (tmp_path / "all").iterdir()) == [
        "1-head0.csv.zip", "3-head0.csv.zip",
    ]  # fmt: skip
    assert main(["export", *text, "--out", str(tmp_path / "first")]) == 0
    assert [path.name.partition("-layer")[2] for path in (tmp_path / "first").iterdir()] == ["1-head0.csv.zip"]
    assert main(["export", *text, "--layer", "2", "--out", str(tmp_path / "none")]) != 0


def test_the_code_of_a_layer_prints_its_weights(folder: str, tmp_path: Path) -> None:
    text = [TEXT, "--source", "pretrained", "--model", folder, "--kind", "decoder", "--format", "py"]
    assert main(["export", *text, "--layer", "3", "--head", "1", "--out", str(tmp_path)]) == 0
    (script,) = tmp_path.iterdir()
    space: dict[str, object] = {}
    exec(compile(script.read_text(), script.name, "exec"), space)
    weights = load(folder).trace(TEXT).attentions(3)
    torch.testing.assert_close(space["weights"], weights, atol=1e-5, rtol=0)


def test_a_notebook_takes_these_numbers_and_no_others(folder: str) -> None:
    trace = load(folder).trace(TEXT)
    walked, every = attnviz.show(trace), attnviz.show_heads(trace)
    assert (walked._layers, walked.layer, every.layer) == ([1, 3], 1, 1)
    assert read(walked._file("document-3")).header.layer == 3
    for widget in (walked, every):
        widget.layer = 3
        assert torch.equal(widget.walk.steps.weights, trace.head(3, 0).weights)
        with pytest.raises(ChoiceError, match="layer takes only 1 or 3, not 0; it stays 3"):
            widget.layer = 0
    assert read_payload(every._payload)[0]["layers"] == [1, 3]
    assert every._picture().startswith(b"\x89PNG")


def test_corpus_statistics_have_these_numbers(folder: str, tmp_path: Path) -> None:
    reader = Reader(load(folder))
    found = reader.read([TEXT, "and the dog sat on the log"], [Place(0, 1), Place(0, 2)])
    again = HeadStatistics.from_arrays(json.loads(json.dumps(found.settings())), found.arrays())
    card = CorpusCard("News", "", folder, "decoder", "", (), {}, (), 1, "")
    table.write(tmp_path / "x.parquet", again.finish(), card)
    finished, _ = table.read(tmp_path / "x.parquet")
    assert again.numbers == finished.numbers == (1, 3)
    assert finished.head(6) == (3, 2)
    rows = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert {row["layer"] for row in rows} == {1, 3}
    assert {row["measure"] for row in rows if row["kind"] == "pair"} == {f"{n}.{h}" for n in (1, 3) for h in range(4)}
    assert about(tmp_path / "x.parquet").layers == (1, 3)
