"""Which tokens of a vocabulary are shown, and that the others together make softmax's sum, against torch."""

from __future__ import annotations

import pytest
import torch

from attnviz.trace import vocabulary as module
from attnviz.trace.layer import LinearMap
from attnviz.trace.vocabulary import Vocabulary


def drawn(size: int, rows: int) -> tuple[Vocabulary, torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(size)
    weight, bias = torch.randn(6, size, generator=made), torch.randn(size, generator=made)
    x = torch.randn(rows, 6, generator=made)
    return Vocabulary(LinearMap(weight, bias), str), x, x @ weight + bias


@pytest.mark.parametrize("size", [3, 256])
def test_a_small_vocabulary_is_shown_whole(size: int) -> None:
    vocabulary, x, logits = drawn(size, 5)
    shown = vocabulary.shown(x, [4])
    assert shown.tokens == tuple(range(size))
    assert shown.rest is None
    torch.testing.assert_close(shown.logits, logits)
    assert repr(vocabulary) == f"Vocabulary({size} tokens)"


@pytest.mark.parametrize(("rows", "focus"), [(5, [4]), (9, [2, 7]), (100, [0, 50, 99]), (300, [*range(300)])])
def test_of_a_larger_one_the_likeliest_tokens_are(rows: int, focus: list[int]) -> None:
    """The likeliest of each row in focus before their second ones, then the likeliest of all other rows."""
    vocabulary, x, logits = drawn(257, rows)
    shown = vocabulary.shown(x, focus)
    likely = [logits[row].topk(8).indices.tolist() for row in focus]
    every = [row[rank] for rank in range(8) for row in likely] + logits.argmax(-1).tolist()
    assert shown.tokens == tuple(dict.fromkeys(every))[:48]
    assert rows < 300 or len(set(every)) > 48 == len(shown.tokens)
    torch.testing.assert_close(shown.logits, logits[:, list(shown.tokens)])
    assert shown.rest is not None
    together = torch.cat([shown.logits, shown.rest[:, None]], dim=-1).softmax(-1)
    torch.testing.assert_close(together[:, :-1], logits.softmax(-1)[:, list(shown.tokens)])


@pytest.mark.parametrize("cells", [1, 2 * 257 + 1])
def test_a_few_rows_at_a_time_give_the_same(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary, x, _ = drawn(257, 9)
    whole = vocabulary.shown(x, [7])
    monkeypatch.setattr(module, "CELLS", cells)
    apply, made = LinearMap.apply, []

    def noted(one: LinearMap, x: torch.Tensor) -> torch.Tensor:
        made.append(apply(one, x))
        return made[-1]

    monkeypatch.setattr(LinearMap, "apply", noted)
    parts = vocabulary.shown(x, [7])
    assert max(logits.numel() for logits in made) == max(cells - 1, 257), "as many whole rows at once as fit, or one"
    assert parts.tokens == whole.tokens
    torch.testing.assert_close(parts.rest, whole.rest)


def test_columns_are_those_of_the_tokens_with_and_without_a_bias() -> None:
    vocabulary, x, logits = drawn(9, 4)
    assert vocabulary.size == 9
    torch.testing.assert_close(vocabulary.columns([7, 2]).apply(x), logits[:, [7, 2]])
    plain = Vocabulary(LinearMap(vocabulary.projection.weight), str)
    assert plain.columns([7, 2]).bias is None
    torch.testing.assert_close(plain.logits(x), x @ plain.projection.weight)
