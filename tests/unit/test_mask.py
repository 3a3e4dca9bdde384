"""What kind of mask a mask is, from its cells."""

from __future__ import annotations

import pytest
import torch

from attnviz.attention import Mask, Masked, attend, causal_mask

HIDES = -torch.inf
PADDED = torch.tensor([[True, True, False]] * 3)
BIAS = torch.tensor([[0.0, 0.5, 0.0]] * 3)


def as_float(seen: torch.Tensor) -> torch.Tensor:
    return torch.zeros(seen.shape).masked_fill(~seen, HIDES)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (None, "none"),
        (torch.ones(3, 3).bool(), "none"),
        (torch.zeros(1, 3, 3), "none"),
        (causal_mask(3), "causal"),
        (as_float(causal_mask(3))[None], "causal"),
        (causal_mask(3).expand(2, 3, 3), "causal"),
        (causal_mask(3).T, "other"),
        (torch.stack([causal_mask(3), PADDED]), "other"),
        (PADDED, "padding"),
        (as_float(PADDED)[None], "padding"),
        (PADDED[:1], "padding"),
        (causal_mask(3) & PADDED, "other"),
        (BIAS, "other"),
        (as_float(causal_mask(3)) + BIAS.T, "other"),
    ],
)
def test_cells_say_what_kind_they_are(cells: torch.Tensor | None, kind: str) -> None:
    assert Mask.recognise(cells).kind == kind


def test_what_hides_keys_of_another_text_is_a_mask_of_cross_attention() -> None:
    assert Mask.recognise(causal_mask(3), crosses=True).kind == "cross"
    assert Mask.recognise(BIAS, crosses=True).kind == "other"
    assert Mask.recognise(torch.zeros(3, 3), crosses=True).kind == "none"


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_what_hides_nothing_is_no_value(value: float) -> None:
    with pytest.raises(ValueError, match="can't fill"):
        Mask("causal", causal_mask(2), value)


def test_a_finite_value_needs_cells_that_are_hidden_or_not() -> None:
    with pytest.raises(ValueError, match="bool"):
        Mask("causal", as_float(causal_mask(2)), -1e10)


@pytest.mark.parametrize("fills", ["scaled", "scores"])
@pytest.mark.parametrize("scale", [None, 0.125, -0.5, 0.0, 1e-10])
@pytest.mark.parametrize("seen", [causal_mask(5), causal_mask(5) & (torch.arange(5) > 1)], ids=["causal", "padded"])
def test_a_finite_value_gives_the_weights_of_masked_fill(
    seen: torch.Tensor, scale: float | None, fills: Masked
) -> None:
    query, key, value = torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(0)).unbind()
    steps = attend(query, key, value, mask=Mask("other", seen, -1e10, fills), scale=scale)
    factor = 0.5 if scale is None else scale
    scores = query @ key.mT
    if fills == "scaled":
        masked = (scores * factor).masked_fill(~seen, -1e10)
    else:
        masked = scores.masked_fill(~seen, -1e10) * factor
    assert torch.equal(steps.masked, masked)
    assert torch.equal(steps.weights, torch.softmax(masked, dim=-1))
    assert torch.equal(steps.hidden, (~seen).expand(2, 5, 5))
    held = Mask("other", seen, -1e10, fills).hidden_value(factor)
    assert masked[:, ~seen].unique().tolist() == pytest.approx([held] if (~seen).any() else [], rel=1e-6)


def test_rows_that_see_nothing_are_uniform_with_a_finite_value_and_empty_with_an_infinite_one() -> None:
    query, key, value = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)).unbind()
    seen = causal_mask(5) & (torch.arange(5) > 1)
    finite = attend(query, key, value, mask=Mask("other", seen, -1e10))
    infinite = attend(query, key, value, mask=Mask("other", seen))
    assert Mask("other", seen).hides_rows
    assert torch.equal(finite.weights[:2], torch.full((2, 5), 0.2))
    torch.testing.assert_close(finite.head_outputs[:2], value.mean(0).expand(2, 4))
    assert infinite.weights[:2].count_nonzero() == 0
    assert torch.softmax(infinite.masked, -1)[:2].isnan().all()
    assert torch.equal(finite.weights[2:], infinite.weights[2:])


def test_a_kind_without_its_cells_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a mask of kind causal with no cells$"):
        Mask("causal")
    with pytest.raises(ValueError, match=r"^a mask of kind none with its cells$"):
        Mask("none", causal_mask(2))


def test_a_mask_of_some_heads_has_their_cells_and_a_shared_one_is_that_of_each() -> None:
    cells = torch.stack([causal_mask(3), PADDED, causal_mask(3).T])
    three = Mask("other", cells, -5.0, "scores")
    one, two = three.of_heads(1), three.of_heads([2, 0])
    assert one.cells is not None
    assert two.cells is not None
    assert torch.equal(one.cells, PADDED)
    assert torch.equal(two.cells, cells[[2, 0]])
    assert (one.kind, one.value, one.fills) == ("other", -5, "scores")
    for shared in (Mask.recognise(PADDED), Mask.recognise(PADDED[None])):
        for heads in (2, [2, 0]):
            found = shared.of_heads(heads).cells
            assert found is not None
            assert torch.equal(found, PADDED)
    assert Mask().of_heads(2).cells is None


def test_hidden_cells_have_the_weights_of_what_fills_them() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    for value, held in ((-5.0, False), (-1e10, True), (-torch.inf, True)):
        steps = attend(x, x, x, mask=Mask("causal", causal_mask(3), value))
        assert torch.equal(steps.hidden_weights, ~causal_mask(3) & held)
    ends = Mask("causal", causal_mask(2), fills="scores")
    assert [ends.hidden_value(scale) for scale in (0.0, -0.5)] == [-torch.inf] * 2  # not 0 × −∞, and not +∞


def test_only_what_moves_visible_cells_adds() -> None:
    assert Mask.recognise(BIAS).adds
    assert not Mask.recognise(as_float(causal_mask(3))).adds
    assert not Mask.recognise(causal_mask(3)).adds
    assert not Mask().adds


def test_attend_takes_a_mask_as_it_takes_its_cells() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(attend(x, x, x, mask=Mask.causal(3)).weights, attend(x, x, x, mask=causal_mask(3)).weights)
    assert torch.equal(attend(x, x, x, mask=Mask()).weights, attend(x, x, x).weights)


@pytest.mark.parametrize("start", [Mask(), Mask.causal(3), Mask.recognise(PADDED), Mask.recognise(BIAS)])
def test_a_causal_mask_on_top_hides_the_future_and_nothing_else(start: Mask) -> None:
    both = start.and_causal(3)
    assert torch.equal(both.hidden((3, 3)), start.hidden((3, 3)) | ~causal_mask(3))
    assert both.adds == start.adds


@pytest.mark.parametrize("value", [-torch.inf, -2.0])
def test_in_training_weights_and_gradients_are_those_of_masked_fill(value: float) -> None:
    generator = torch.Generator().manual_seed(0)
    found = []
    for fills in (False, True):
        generator.manual_seed(0)
        query, key, values = (torch.randn(2, 3, 5, 4, generator=generator, requires_grad=True) for _ in range(3))
        if fills:
            scaled = query @ key.transpose(-2, -1) * 0.5
            outputs = scaled.masked_fill(~causal_mask(5), value).softmax(-1) @ values
        else:
            outputs = attend(query, key, values, mask=Mask("causal", causal_mask(5), value)).head_outputs
        outputs.square().sum().backward()
        found.append([outputs.detach(), *(one.grad for one in (query, key, values))])
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


def band(n: int, before: int, after: int) -> torch.Tensor:
    return torch.tensor([[-after <= q - k <= before for k in range(n)] for q in range(n)])


@pytest.mark.parametrize("as_cells", [lambda seen: seen, as_float, lambda seen: as_float(seen)[None].expand(3, -1, -1)])
@pytest.mark.parametrize(("n", "before", "after"), [(5, 2, 0), (5, 3, 0), (2, 0, 0), (6, 2, 2), (6, 1, 1), (3, 1, 1)])
def test_a_window_is_known_with_how_far_it_reaches(n: int, before: int, after: int, as_cells: object) -> None:
    mask = Mask.recognise(as_cells(band(n, before, after)))  # type: ignore[operator]
    assert (mask.kind, mask.window) == ("window", (before, after))
    assert mask.hides_later == (after == 0)
    assert mask.of_heads(0).window == (before, after)


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (band(5, 4, 0), "causal"),  # as long as the text: nothing of the past is hidden
        (band(5, 4, 4), "none"),
        (band(5, 2, 1), "other"),
        (band(5, 0, 4), "other"),  # sees what comes after it only
        (band(5, 2, 0)[:, 1:], "other"),  # rows are not columns
        (band(5, 2, 0).logical_xor(torch.eye(5).bool()), "other"),  # not itself
        (torch.zeros(3, 3).bool(), "padding"),
        (torch.stack([band(5, 1, 0), band(5, 2, 0)]), "other"),
    ],
)
def test_what_is_no_window_is_called_something_else(seen: torch.Tensor, kind: str) -> None:
    mask = Mask.recognise(seen)
    assert (mask.kind, mask.window) == (kind, None)


def test_only_what_hides_every_later_key_hides_the_later_ones() -> None:
    hides = {"causal": causal_mask(4), "window": band(4, 1, 0), "with padding": causal_mask(4) & (torch.arange(4) < 3)}
    assert all(Mask.recognise(cells).hides_later for cells in hides.values())
    one = causal_mask(4)
    one[0, 1] = True
    shows = (None, band(4, 1, 1), one, torch.stack([causal_mask(4), torch.ones(4, 4).bool()]), torch.ones(1, 1).bool())
    assert not any(Mask.recognise(cells).hides_later for cells in shows)
    assert Mask.recognise(as_float(causal_mask(3)) + BIAS).hides_later  # relative positions beside the mask


def test_a_window_with_the_causal_mask_is_the_window_up_to_the_query() -> None:
    assert Mask.recognise(band(5, 2, 2)).and_causal(5).window == (2, 0)
    assert Mask.recognise(band(5, 2, 0)).and_causal(5).window == (2, 0)
    assert Mask.recognise(PADDED).and_causal(3).kind == "other"
