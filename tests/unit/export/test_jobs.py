"""Batch export: which files a set of texts and heads gives, what they are called, and whose numbers they hold."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
import zipfile
from typing import Any

import nbformat
import numpy as np
import pytest

from attnviz.cli.export import FORMATS as EVERY
from attnviz.export.drawing.marks import THEMES
from attnviz.export.jobs import ALL, WEB, Exporter, NoStepError, slug
from attnviz.export.sheets import link_to, sheets
from attnviz.links.link import read_link
from attnviz.steps import STEPS
from tests.unit.export.test_walk import toy


def view(**link: str) -> dict[str, Any]:
    found, notes = read_link({"text": "the cat sat", **link})
    assert not notes
    return found


@pytest.mark.parametrize(("texts", "first"), [(1, "toy-head1"), (2, "01-toy-head1"), (100, "001-toy-head1")])
def test_the_files_of_several_texts_are_numbered_so_that_they_sort(texts: int, first: str) -> None:
    stems = [job.stem for job in Exporter().jobs([view()] * texts, [0], [1])]
    assert stems[0] == first
    assert stems == sorted(stems)
    assert len(set(stems)) == texts


def test_each_head_is_exported_once() -> None:
    exporter = Exporter()
    assert [job.view["head"] for job in exporter.jobs([view(heads="4")], [0], [3, 1, 3])] == [3, 1]
    assert [job.view["head"] for job in exporter.jobs([view(heads="4")], [0], [2, ALL])] == [0, 1, 2, 3]
    with pytest.raises(IndexError, match="head 4 does not exist: heads go from 0 to 3"):
        exporter.jobs([view(heads="4")], [0], [4])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("minilm", "minilm"), ("Org/My Model_v1.5", "org-my-model-v1-5"), ("名前", "model"), ("../..", "model"),
     ("a" * 80 + "/last", "a" * 45 + "-last")],
)  # fmt: skip
def test_a_models_name_in_file_names(name: str, wanted: str) -> None:
    assert slug(name) == wanted


def test_what_is_written_is_named_before_and_is_of_the_head_that_was_asked_for() -> None:
    exporter, steps = Exporter(theme=THEMES["dark"]), ("tokens", "weights")
    (job,) = exporter.jobs([view(mask="causal")], [0], [1])
    walk = exporter.walk(job.view)
    formats = [kind for kind in EVERY if kind != WEB]
    made = {name: content for kind in formats for name, content in exporter.make(job, walk, kind, steps).items()}
    assert sorted(made) == sorted(job.files(formats, steps))
    with np.load(io.BytesIO(made["toy-head1.npz"])) as arrays:
        assert arrays["heads"].tolist() == [1]
        np.testing.assert_array_equal(arrays["weights"][0], walk.layer.attentions()[1].numpy())
    archive = zipfile.ZipFile(io.BytesIO(made["toy-head1.csv.zip"]))
    about = json.loads(archive.read("about.json"))
    assert (about["of"], about["text"], about["second_text"], about["heads"]) == (walk.name, "the cat sat", None, [1])
    nbformat.validate(nbformat.reads(made["toy-head1.ipynb"].decode(), as_version=4))
    assert compile(made["toy-head1.py"], "toy-head1.py", "exec")


def test_in_the_dark_a_format_without_a_dark_theme_is_written_as_in_the_light() -> None:
    light, dark = Exporter(), Exporter(theme=THEMES["dark"])
    (job,) = light.jobs([view()], [0], [1])
    tikz, pictures = (
        [next(iter(one.make(job, one.walk(job.view), kind, ["weights"]).values())) for one in (light, dark)]
        for kind in ("tikz", "svg")
    )
    assert tikz[0] == tikz[1]
    assert [THEMES["dark"].paper.encode() in picture for picture in pictures] == [False, True]


def texts_of(svg: bytes) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_bare_picture_has_neither_title_nor_caption() -> None:
    found = {}
    for bare in (False, True):
        exporter = Exporter(bare=bare, site="https://x.example")
        (job,) = exporter.jobs([view()], [0], [1])
        ((name, svg),) = exporter.make(job, exporter.walk(job.view), "svg", ["scores"]).items()
        assert name == "toy-head1-04-scores.svg"
        found[bare] = texts_of(svg)
    assert set(found[True]) < set(found[False])
    assert "Scores" in found[False] and "1 / 1" in found[False]
    assert any(text.startswith("https://x.example/?") for text in found[False])
    assert not {"Scores", "1 / 1"} & set(found[True])
    assert "the" in found[True], "labels stay"


def test_steps_that_an_attention_lacks_give_no_file() -> None:
    exporter = Exporter()
    (job,) = exporter.jobs([view()], [0], [1])
    with pytest.raises(NoStepError, match=r"^This attention has none of the steps that were asked for\.$"):
        exporter.make(job, exporter.walk(job.view), "pdf", ["logits"])
    assert job.files(["svg", "pdf"], ["logits", "scores"]) == ["toy-head1-04-scores.svg", "toy-head1.pdf"]


def test_a_web_page_is_named_after_its_page_and_a_part_of_a_transformer_after_its_attention() -> None:
    (job,) = Exporter(page="heads").jobs([view(source="pretrained")], [2], [1])
    assert job.files(["html", "npz"], []) == ["minilm-layer2-head1-heads.html", "minilm-layer2-head1.npz"]
    jobs = Exporter(page="transformer").jobs([view(architecture="decoder", heads="2")], [0, 1], [ALL])
    assert [job.stem for job in jobs] == [
        f"toy-transformer-attention{block}-head{head}" for block in (0, 1) for head in (0, 1)
    ]
    assert [(job.view["block"], job.view["head"]) for job in jobs] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert "logits" not in jobs[0].steps and "logits" in jobs[-1].steps
    assert jobs[0].file("html") == "toy-transformer-attention0-head0-transformer.html"


def test_a_kind_of_attention_that_a_model_lacks_is_refused() -> None:
    with pytest.raises(IndexError, match=r"^minilm has no cross attention, but encoder$"):
        Exporter().jobs([view(source="pretrained", kind="cross")], [0], [0])
    assert Exporter().jobs([view(source="pretrained")], [0], [0])[0].view["kind"] == "encoder"
    decoder = view(source="trained", model="induction", kind="decoder")
    (job,) = Exporter().jobs([decoder], [0], [0])
    assert Exporter().walk(job.view).kind == "decoder"
    (job,) = Exporter().jobs([view(kind="cross")], [0], [0])
    assert job.stem == "toy-head0", "a toy without layers has no kinds to choose from"


def test_sheets_are_numbered_and_linked_and_a_step_that_is_unknown_is_refused() -> None:
    walk = toy("the cat")
    shown = sheets(walk, ["weights", "tokens"])
    assert [(sheet.step, sheet.place) for sheet in shown] == [("tokens", (1, 2)), ("weights", (2, 2))]
    assert len(sheets(walk)) == len(STEPS)
    with pytest.raises(KeyError, match="softmax"):
        sheets(walk, ["softmax"])
    assert link_to("https://x.example/?step=qkv&text=a+%26&k=", "weights") == (
        "https://x.example/?step=weights&text=a+%26&k="
    )
    assert link_to("", "weights") == ""


def test_without_layers_the_one_that_is_shown_is_exported() -> None:
    view, _ = read_link({"text": "a b", "source": "pretrained", "layer": "2"})
    assert [job.stem for job in Exporter().jobs([view], [], [1])] == ["minilm-layer2-head1"]
    assert [job.stem for job in Exporter().jobs([view], [4, 3], [1])] == [f"minilm-layer{one}-head1" for one in (4, 3)]
