"""All heads of a trace with their files, without a server: the numbers are those of transformers' eager attention."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load as read
from transformers import AutoModel

from attnviz.heads import all_heads, view
from attnviz.heads.all_heads import AllHeads
from attnviz.links.link import read_link
from attnviz.pretrained import load
from attnviz.trace.trace import Trace
from tests.unit.families import opened, save

TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save("bert", tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="module")
def trace(folder: Path) -> Trace:
    return load(str(folder)).trace(TEXT)


def eager(folder: Path, trace: Trace) -> np.ndarray:
    """Return the attentions that transformers computes for these ids, (L · H, T, T)."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager")
    with torch.inference_mode():
        found = model(torch.tensor([trace.tokens.ids]), output_attentions=True).attentions
    return torch.cat([layer[0] for layer in found]).double().numpy()


@pytest.mark.parametrize("most", [all_heads.ALL_BYTES, 100])
def test_the_files_hold_every_weight(folder: Path, trace: Trace, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_heads, "ALL_BYTES", most)
    monkeypatch.setattr(all_heads, "PART_BYTES", most)
    every = AllHeads.of(trace, "encoder")
    expected = eager(folder, trace)
    header, arrays = every.payload({})
    np.testing.assert_array_equal(arrays["measures"], every.survey.values)
    listed = header["files"]
    assert every.names() == list(dict.fromkeys([listed["shared"], *(one for one, *_ in listed["weights"]),
                                                *listed["rollout"]]))  # fmt: skip
    assert (len(listed["weights"]) == 1) == (most > 100)
    assert [one == listed["shared"] for one, *_ in listed["weights"]] == [most > 100] * len(listed["weights"])
    shared = read(every.file(listed["shared"]))
    assert ("weights" in shared, "overview" in shared) == (most > 100, most == 100)
    assert header["acknowledged"] == 0
    assert sum(count for *_, count in listed["weights"]) == len(expected)
    for name, first, count in listed["weights"]:
        weights = read(every.file(name))["weights"]
        np.testing.assert_allclose(weights / 65535, expected[first : first + count], rtol=0, atol=all_heads.ERROR)
    for layer, name in enumerate(listed["rollout"]):
        rolled = read(every.file(name))["weights"] / 65535
        assert rolled.shape == (1, *expected.shape[1:])
        np.testing.assert_allclose(rolled.sum(-1), 1, rtol=0, atol=len(trace.tokens) * all_heads.ERROR)
        if not layer:
            added = expected[: header["heads"]].mean(0) + np.eye(len(trace.tokens))
            np.testing.assert_allclose(rolled[0], added / 2, rtol=0, atol=all_heads.ERROR)


def test_the_list_of_files_by_hand(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """3 layers x 4 heads of 2 x 5 cells, 20 bytes each: in one file, and in files of up to 40 bytes, two heads each."""
    overview, hidden = np.zeros((3, 4, 2, 5), np.uint8), np.zeros((2, 5), bool)
    survey = replace(AllHeads.of(trace, "encoder").survey, overview=overview, hidden=hidden)

    def listed(*, rollout: bool) -> dict[str, Any]:
        return all_heads.list_files(survey, lambda part: f"{part.what} {part.first} {part.heads}", rollout=rollout)

    rollout = ["rollout 0 1", "rollout 1 1", "rollout 2 1"]
    monkeypatch.setattr(all_heads, "ALL_BYTES", 240)
    one = {"shared": "shared 0 12", "weights": [["shared 0 12", 0, 12]]}
    assert listed(rollout=True) == {**one, "rollout": rollout}
    assert listed(rollout=False) == {**one, "rollout": []}
    monkeypatch.setattr(all_heads, "ALL_BYTES", 239)
    monkeypatch.setattr(all_heads, "PART_BYTES", 40)
    assert listed(rollout=True) == {
        "shared": "shared 0 0",
        "weights": [[f"weights {first} 2", first, 2] for first in range(0, 12, 2)],
        "rollout": rollout,
    }
    monkeypatch.setattr(all_heads, "PART_BYTES", 79)
    assert [count for *_, count in listed(rollout=True)["weights"]] == [2] * 6
    monkeypatch.setattr(all_heads, "PART_BYTES", 1)
    assert [first for _, first, _ in listed(rollout=True)["weights"]] == list(range(12))


def test_no_file_has_the_name_of_another_texts(folder: Path, trace: Trace) -> None:
    every, other = AllHeads.of(trace, "encoder"), AllHeads.of(load(str(folder)).trace(TEXT + " again"), "encoder")
    assert not set(every.names()) & set(other.names())
    assert every.names() == AllHeads.of(load(str(folder)).trace(TEXT), "encoder").names()
    with pytest.raises(KeyError):
        every.file(other.names()[0])


def test_there_is_no_rollout_from_one_text_to_another() -> None:
    bart = opened("bart").trace("the cat sat", "le chat assis la")
    header, _ = AllHeads.of(bart, "cross").payload({}, acknowledged=3)
    assert header["files"]["rollout"] == []
    assert (header["rollout"], header["acknowledged"]) == (False, 3)
    assert header["rows"] != header["cols"]


def test_a_link_says_what_is_chosen() -> None:
    found, notes = read_link(
        {"layer": "2", "head": "1", "chosen": "2.1_0.r", "q": "3", "threshold": "0.25", "mean": "1"}
    )
    assert notes == []
    assert view(found.__getitem__) == {
        "layer": 2, "head": 1, "chosen": [(2, 1), (0, -1)], "q": 3, "k": None, "threshold": 0.25, "strongest": 0,
        "show": "both", "direction": "vertical", "special": "keep", "between": "all", "values": "weights", "sort": "",
        "label": "", "mean": True, "stretch": "0",
    }  # fmt: skip
    assert view({**found, "rollout": True}.__getitem__)["chosen"] == [(2, -1), (2, 1), (0, -1)]
    assert view({**found, "rollout": True}.__getitem__)["head"] == -1
    full = tuple((0, head) for head in range(24))
    assert view({**found, "chosen": full}.__getitem__)["chosen"] == [(2, 1), *full[:23]]
    assert view({**found, "chosen": full[::-1], "layer": 0}.__getitem__)["chosen"] == list(full[::-1])
    assert view({**found, "chosen": ()}.__getitem__)["chosen"] == [(2, 1)]
