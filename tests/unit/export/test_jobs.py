"""Batch export: which files a set of texts and heads gives, what they are called, and whose numbers they hold."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import nbformat
import numpy as np
import pytest

from attnviz.cli.export import FORMATS as EVERY
from attnviz.export.drawing.marks import THEMES
from attnviz.export.jobs import ALL, WEB, Exporter, slug
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
