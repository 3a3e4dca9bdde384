"""The exported code of trained models: run without attnviz, it computes from the model's file what the page shows."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attnviz import trained
from attnviz.export.code import cells as code
from attnviz.export.code.recipes import no_code_reason, walk_cells
from attnviz.export.code.trained import around_trained
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import ShownHead, shown, shown_part
from attnviz.toy.language.config import TokenConfig
from attnviz.trained.files import write
from attnviz.trained.shipped import FOLDER, keep
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TEXT, TrainingSettings
from tests.scripts import run_alone
from tests.unit.export.test_numbers import export_tabs, offered
from tests.unit.trained.test_files import CARD

RUN = """
import runpy, sys
for file in sys.argv[1:]:
    try:
        runpy.run_path(file)
    except AssertionError as error:
        print("stopped:", file, error)
"""
HOSTILE = 'to be\'"""\\ \n é👩‍👧 # {x} x'


def view(model: str, text: str, **more: Any) -> dict[str, Any]:
    return {"source": "trained", "model": model, "text": text, "pair": "", "kind": "decoder", "layer": 0, "head": 0,
            "block": 0, **more}  # fmt: skip


def script(found: ShownHead) -> str:
    resources = DirectResources()
    return code.script(walk_cells(found, found.walk(resources), resources))


def of_visitor() -> str:
    """Keep a model without some of its parts, as a visitor may open it, and return its name."""
    labels = tuple("abcdefg")
    config = TokenConfig(7, 8, layers=2, heads=2, width=8, feed_forward=12, norm=False, bias=False, activation="relu")
    plan = Plan(TEXT, config, TrainingSettings())
    return keep(write(build(config, 0), plan, labels, replace(CARD, heads={}))).name


def printed(scripts: dict[str, str], folder: Path) -> str:
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    files = [f"{name}.py" for name in scripts]
    ran = run_alone(RUN, *files, cwd=folder)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def test_every_place_of_every_kind_of_model_is_computed_from_the_file_where_attnviz_is_not(tmp_path: Path) -> None:
    views = {
        "chargpt": view("chargpt", HOSTILE, layer=3, head=4, block=4),
        "induction": view("induction", "qweasd1qweasd", layer=1, head=1, block=1),
        "reverse": view("reverse", "stressed", kind="encoder"),
        "sort": view("sort", "31415", layer=1, block=0),
        "numbers": view("numbers", "342", kind="cross", head=1, block=2),
        "encoder": view("numbers", "342", kind="encoder", pair="three hundred six", block=1),
        "tagging": view("tagging", "she visits her <b> late", kind="encoder", head=3),
        "visitor": view(of_visitor(), "abcz", layer=1, head=1, block=1),
    }
    for name in trained.names():
        shutil.copy(FOLDER / f"{name}.safetensors", tmp_path)
    model = trained.load(views["visitor"]["model"])
    (tmp_path / f"{model.name}.safetensors").write_bytes(write(model.module, model.plan, model.labels, model.card))
    scripts = {f"{name}_head": script(shown(one.__getitem__, DirectResources())) for name, one in views.items()}
    scripts |= {f"{name}_part": script(shown_part(one.__getitem__, DirectResources())) for name, one in views.items()}
    first = "torch.tensor(corner)"
    assert first in scripts["sort_head"]
    scripts["changed"] = scripts["sort_head"].replace(first, "torch.tensor(corner) + 1e-3")
    scripts["other_file"] = scripts["sort_head"].replace("sort.safetensors", "reverse.safetensors")
    found = printed(scripts, tmp_path)
    assert found.count("matrices are those that the page showed") == 3 * len(views), "a page's steps are a second list"
    assert [line.split()[1] for line in found.splitlines() if line.startswith("stopped:")] == [
        "changed.py", "other_file.py",
    ]  # fmt: skip


def test_the_code_of_a_decoder_computes_its_attention_to_the_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(FOLDER / "numbers.safetensors", tmp_path)
    monkeypatch.chdir(tmp_path)
    code_of_part = script(
        shown_part(view("numbers", "342", kind="cross", head=1, block=2).__getitem__, DirectResources())
    )
    exec(code_of_part, {})
    assert capsys.readouterr().out.count("matrices are those that the page showed") == 2


def test_the_code_compares_no_logits_of_which_the_page_shows_a_part() -> None:
    resources = DirectResources()
    walk = shown_part(view("sort", "31415", block=1).__getitem__, resources).walk(resources)
    assert walk.block is not None
    for rest in (0, 3):
        cells = around_trained(replace(walk, block=replace(walk.block, rest=rest)))
        compared = "".join(cell.text for cell in cells)
        assert ('"logits"' in compared) == ('"probabilities"' in compared) == (rest == 0)
        assert '"feed_forward_output"' in compared


def test_the_app_offers_the_models_file_beside_its_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    waiting, caption = offered(monkeypatch, export_tabs, source="trained", model="sort", text="31415", layer="1")
    assert "model's file" in caption
    (tmp_path / "sort.safetensors").write_bytes(waiting["Model's file"]())
    found = printed({"sort": waiting["Script"]().decode()}, tmp_path)
    assert "matrices are those that the page showed" in found


def test_the_code_names_the_file_and_where_it_is() -> None:
    own = of_visitor()
    texts = {name: script(shown(view(name, "abc").__getitem__, DirectResources())) for name in ("induction", own)}
    assert "ships with attnviz, in assets/weights" in texts["induction"]
    assert "as the page Train saves it" in texts[own]
    for name, text in texts.items():
        assert f"{name}.safetensors" in text
        assert trained.load(name).digest in text
    assert no_code_reason("trained") == ""
