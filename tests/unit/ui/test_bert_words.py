"""What BERT at work says of heads on subsets and of a first language model, on numbers made by hand."""

from __future__ import annotations

import pytest
import torch

from attnviz.bert.blocks import Guesses, Row, Setup, Stack, attend_in_parts
from attnviz.ui.bert import language, subsets
from tests.toy import tokens_of

X = torch.randn(5, 12, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("heads", "parts", "titles"),
    [(1, "1 part</b> of 12 columns, with the scale 1/√12; each gives (5, 12)", ["head 0: 0–11"]),
     (2, "2 parts</b> of 6 columns, with the scale 1/√6; each gives (5, 6)", ["head 0: 0–5", "head 1: 6–11"]),
     (4, "4 parts</b> of 3 columns", ["head 0: 0–2", "head 1: 3–5", "head 2: 6–8", "head 3: 9–11"]),
     (6, "6 parts</b> of 2 columns", [f"head {head}" for head in range(6)])],
)  # fmt: skip
def test_parts_are_counted_with_their_columns(heads: int, parts: str, titles: list[str]) -> None:
    made = attend_in_parts(X, heads)
    assert parts in subsets._shapes(made) and "<b>X</b> (5, 12)" in subsets._shapes(made)
    assert [subsets._title(made, head) for head in range(heads)] == titles


def row(other: tuple[int | None, ...]) -> Row:
    """Return a row of 7 keys in which the whole differs most from the heads, with one more head for each of `other`."""
    count = 1 + len(other)
    difference = torch.full((count, count), 0.9)
    difference[1:, 1:] = 0.4
    bits = torch.tensor([2.6, 0.3, 10.5, *[1.2] * 9])[:count]
    return Row(torch.tensor([[0.1, 0.6, 0.3]]).expand(count, 3), (1,) * count, (2, *other), bits, difference)


def test_a_row_is_told_by_its_largest_keys_its_bits_and_the_heads_differences() -> None:
    tokens = tokens_of(range(7), ("a", "<b>", "c", "d", "e", "f", "g"))
    said = subsets._row_said(row((3, 4, 3)), tokens, 1)
    assert "<b>“&lt;b&gt;”</b>: one softmax gives one distribution, largest at “&lt;b&gt;” (0.60), 2.6 bits." in said
    assert "3 heads give 3, of 0.3 to 10.5 bits; any two differ by up to <b>0.40</b>" in said
    assert said.endswith(" Besides itself, they look most at “d” (2), “e” (1).</div>")
    four, five = (subsets._row_said(row(tuple(range(2, 2 + count))), tokens, 1) for count in (4, 5))
    assert "and others" not in four and "“f” (1) and others." in five
    assert "look most" not in subsets._row_said(row((None, None)), tokens, 1)


def test_of_many_tokens_a_cell_is_the_largest_of_a_block_and_its_label_the_first() -> None:
    tokens = tokens_of(range(128))
    weights = torch.rand(3, 128, 128, generator=torch.Generator().manual_seed(0))
    small, labels = subsets._small(weights, tokens)
    assert torch.equal(small, weights.unflatten(2, (64, 2)).amax(3).unflatten(1, (64, 2)).amax(2))
    assert labels == [f"{2 * block} {2 * block} …" for block in range(64)]
    assert subsets._small(weights[:, :64, :64], tokens_of(range(64)))[1][63] == "63 63"


@pytest.mark.parametrize(("causal", "attention"), [(True, "attention, masked <i>"), (False, "attention <i>")])
def test_the_path_of_a_first_language_model_has_each_shape(causal: bool, attention: str) -> None:
    said = language.path(Setup("tokens", 3, 0, causal), 5, 30522, 12)
    for part in ("ids <i>(5,)", "X = E[ids] <i>(5, 12)", attention, "softmax(X Xᵀ / √12) X", "<i>12 → 12</i></b> × 3",
                 "X Eᵀ <i>(5, 30,522)", "largest <i>(5,)"):  # fmt: skip
        assert part in said
    assert "X = embeddings" in language.path(Setup("embeddings", 3), 5, 30522, 12)


def test_tokens_in_and_out_are_escaped_and_the_chosen_one_is_marked() -> None:
    said = language.in_and_out(("<a>", "b"), ("c", "<d>"), 1)
    assert '<small dir="auto">&lt;a&gt;</small><b dir="auto">c</b>' in said
    assert '<span class="chosen" title="row 1: b → &lt;d&gt;">' in said and said.count("chosen") == 1


@pytest.mark.parametrize(
    ("blocks", "ids", "layers", "named"),
    [(1, (4, 4, 4), "the linear layer is random (seed 7)", "3 rows name the same token."),
     (2, (4, 4, 9), "the 2 linear layers are random (seed 7)", "3 rows name 2 different tokens.")],
)  # fmt: skip
def test_junk_is_told_in_per_cent_and_by_how_much_rows_became_alike(
    blocks: int, ids: tuple[int, ...], layers: str, named: str
) -> None:
    stack = Stack((), (torch.eye(3), torch.eye(3) + 9, torch.ones(3, 3)))
    guesses = Guesses(torch.tensor([[one, 1] for one in ids]), torch.tensor([[0.1, 0.05], [0.5, 0.2], [0.2, 0.1]]))
    said = language._junk(language.ModelOutput(stack, guesses), Setup(blocks=blocks, seed=7), 400)
    assert layers in said
    assert "likeliest token has 50.0000 %; if all 400 were equally likely, each would have 0.2500 %." in said
    assert said.endswith(f" their mean cosine goes from 0.00 to 1.00, and {named}")
    apart = Stack((), (torch.ones(3, 3), torch.eye(3)))
    assert "alike" not in language._junk(language.ModelOutput(apart, guesses), Setup(blocks=blocks), 400)
