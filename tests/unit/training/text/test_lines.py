"""JSON lines of ids: each is read back as the text; the length of a data set is that of torch's windows."""

from __future__ import annotations

import json

import pytest
import torch

from attnviz.training.text.cut import id_lines, length_of

TEXT = "To be, or not to be: that is the question.\n" * 3 + "Whether 'tis nobler in the mind to suffer é.\n"
LABELS = sorted(set(TEXT))


def read(cut: str, most: int) -> list[str]:
    lines = list(id_lines(TEXT, LABELS, cut, most))  # type: ignore[arg-type]
    found = [json.loads(line) for line in lines]
    assert all(list(one) == ["ids"] and "\n" not in line for one, line in zip(found, lines, strict=True))
    return ["".join(LABELS[id_] for id_ in one["ids"]) for one in found]


@pytest.mark.parametrize("most", [1, 8, 40, 500])
def test_blocks_follow_one_another_and_are_the_text(most: int) -> None:
    found = read("blocks", most)
    assert "".join(found) == TEXT
    assert {len(one) for one in found[:-1]} <= {most}
    assert 1 <= len(found[-1]) <= most


def test_lines_are_cut_by_themselves_and_chunks_have_their_ends() -> None:
    assert "".join(read("plain", 40)) == TEXT.replace("\n", "")
    chunks = read("chunks", 40)
    assert sum(one.endswith("\n") for one in chunks) == TEXT.count("\n")
    assert all("\n" not in one[:-1] for one in chunks)


@pytest.mark.parametrize(("characters", "block"), [(20, 8), (9, 8), (8, 8), (3, 8)])
def test_a_data_set_is_as_long_as_there_are_windows_with_a_next_character(characters: int, block: int) -> None:
    windows = torch.arange(characters).unfold(0, block + 1, 1) if characters > block else []
    assert length_of(characters, block) == len(windows)
