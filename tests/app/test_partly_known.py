"""Models of which only some layers have a known way from their attention to their output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch
import transformers as tf

from attnviz import trained
from attnviz.pretrained import load
from attnviz.steps import steps_of
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace
from tests.app.pages import boxes, figures, messages, numbers, open_page
from tests.app.walking import requested, values, walk
from tests.unit.families import EXPERTS, FAMILIES, PARTLY_KNOWN, save_model

TEXT = "the cat sat on the mat"
OF_EXPERTS = tuple(name for name in PARTLY_KNOWN if name.startswith("experts"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = {}
    for name, (make, _) in PARTLY_KNOWN.items():
        torch.manual_seed(0)
        made[name] = str(save_model(make(), tmp_path_factory.mktemp("partly") / name.replace(" ", "-"), name))
    return made


@cache
def traced(folder: str) -> Trace:
    """Return the trace of a model, which several tests compare with what is shown of it."""
    return load(folder).trace(TEXT)


def follows_in(name: str, folders: Mapping[str, str], **query: str) -> tuple[Trace, dict[str, Any] | None]:
    """Return the trace of a model, and the way from the output of its attention that Step by step is given."""
    if name in folders:
        trace, link = traced(folders[name]), {"text": TEXT, "source": "pretrained", "model": folders[name]}
    else:
        link = {"text": "345", "source": "trained", "model": name}
        trace = trained.load(name).trace(link["text"])
    at = open_page(**link, step="output", **{"kind": trace.places[-1].kind, **query})
    return trace, walk(at)[0]["follows"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "decoder") for name in OF_EXPERTS), ("numbers", "decoder"), ("numbers", "cross"), ("stories", "decoder")],
)
def test_each_layer_leads_to_the_steps_that_follow_its_own_attention(
    name: str, kind: Kind, folders: dict[str, str]
) -> None:
    """They are those that a trace has of this layer; of a layer that is not known there are none."""
    trace, follows = follows_in(name, folders, kind=kind)
    last = [place for place in trace.places if place.kind != "encoder"]
    assert follows is not None
    assert follows["layers"] == [place.layer for place in last if place.kind == kind]
    unknown = PARTLY_KNOWN[name][1] if name in PARTLY_KNOWN else ()
    for layer, block, steps, following in zip(
        *(follows[key] for key in ("layers", "blocks", "steps", "next")), strict=True
    ):
        place = trace.places[block]
        assert (place.kind, place.layer) == (kind, layer)
        names = list(steps_of(trace.walk_at(block, 0)))
        assert [step for step, _ in steps] == names[names.index("output") + 1 :]
        assert bool(steps) is (layer not in unknown)
        if place == last[-1]:
            assert following is None
            continue
        next_one = last[last.index(place) + 1]
        title = f"layer {next_one.layer}" if next_one.layer != layer else "cross-attention"
        assert following == [title, trace.places.index(next_one)]


@pytest.mark.parametrize("name", [*OF_EXPERTS, "numbers"])
def test_every_step_that_is_linked_exists(name: str, folders: dict[str, str]) -> None:
    """The answer is linked where the last block is known."""
    trace, follows = follows_in(name, folders)
    assert follows is not None
    assert follows["answer"] == (None if name == "experts after" else len(trace.places) - 1)
    path, _, query = follows["page"].partition("?")
    for block, steps in zip(follows["blocks"], follows["steps"], strict=True):
        for part in [step for step, _ in steps] + ["probabilities"] * (block == follows["answer"]):
            at = open_page(path, **dict(parse_qsl(query)), block=str(block), part=part)
            assert not messages(at)
            assert (values(at)["step"], values(at)["layer"]) == (part, block)


def test_a_model_with_no_known_block_links_to_no_answer(tmp_path: Path) -> None:
    torch.manual_seed(0)
    folder = str(save_model(tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**EXPERTS)), tmp_path, "experts"))
    _, follows = follows_in("experts", {"experts": folder})
    assert follows is not None
    assert (follows["answer"], follows["steps"]) == (None, [[], [], []])
    assert (
        follows["why"]
        == ["How this family adds, normalises and feeds forward after its attention is not known here."] * 3
    )


@pytest.mark.parametrize("name", PARTLY_KNOWN)
def test_why_the_way_ends_at_the_output_of_a_layer_is_said(name: str, folders: dict[str, str]) -> None:
    """Also of a model without an answer, such as this DeBERTa with a convolution: it leads nowhere else."""
    trace, follows = follows_in(name, folders)
    assert follows is not None
    blocks = trace.blocks[trace.places[-1].kind]
    assert [bool(why) for why in follows["why"]] == [block.steps() is None for block in blocks]
    assert {why for why in follows["why"] if why} == {UNKNOWN.get(name, BEFORE)}
    if name == "convolution":
        assert (follows["answer"], follows["steps"], follows["next"]) == (None, [], [])


def test_a_model_without_an_answer_all_of_which_is_known_leads_nowhere(tmp_path: Path) -> None:
    torch.manual_seed(0)
    folder = str(save_model(FAMILIES["bert"].make(), tmp_path, "bert"))
    assert follows_in("bert", {"bert": folder})[1] is None


BEFORE = "How layers 0 and 1 add, normalise and feed forward after their attention is not known here."
UNKNOWN = {
    "experts after": "How layers 1 and 2 add, normalise and feed forward after their attention is not known here.",
    "experts between": "How layer 1 adds, normalises and feeds forward after its attention is not known here.",
    "convolution": "How layer 0 adds, normalises and feeds forward after its attention is not known here.",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_check_of_all_blocks_names_those_that_are_not_known(name: str, folders: dict[str, str]) -> None:
    for check in ("token", "change", *(["lens"] if name != "convolution" else [])):
        at = open_page(
            "transformer", text=TEXT, source="pretrained", model=folders[name], check=check, q="1", other="dog"
        )
        assert messages(at) == UNKNOWN[name]


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_norm_is_shown_of_the_first_block_that_is_known(name: str, folders: dict[str, str]) -> None:
    known = 1 if name == "convolution" else 0
    at = open_page("transformer", text=TEXT, source="pretrained", model=folders[name], check="norm", q="1")
    assert not messages(at)
    assert f"The rows are those of block {known}, after attention was added." in " ".join(boxes(at, "markdown"))
    mean, *_ = figures(at)
    stack = traced(folders[name]).blocks["encoder" if name == "convolution" else "decoder"]
    steps = stack[known].steps()
    assert steps is not None
    before = next(line for line in mean["data"] if line["name"] == "mean before")
    np.testing.assert_allclose(numbers(before["y"]), steps.attention_residual.mean(-1), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_side_bar_says_it_at_the_blocks_that_are_not_known(name: str, folders: dict[str, str]) -> None:
    for block in range(len(traced(folders[name]).places)):
        at = open_page("transformer", text=TEXT, source="pretrained", model=folders[name], block=str(block))
        assert (UNKNOWN[name] in " ".join(boxes(at, "caption"))) is (block in PARTLY_KNOWN[name][1])


def test_step_by_step_names_them_too(folders: dict[str, str]) -> None:
    header, _ = walk(open_page(text=TEXT, source="pretrained", model=folders["experts between"], kind="decoder"))
    states = json.loads(requested(f"{header['documents'][0]}~states-1"))
    assert states["note"] == UNKNOWN["experts between"]
