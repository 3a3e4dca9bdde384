"""Bars as HTML: as long as their numbers, named in words, and nothing of a token is taken for HTML."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from attnviz.ui.bert.bars import beside, ranked, side_by_side

HOSTILE = '<i>"&\u202e'


def shares(html: str, tag: str) -> list[float]:
    """Return the sizes of the bars ("i"), or the places of the numbers beside them ("span")."""
    return [float(share) for share in re.findall(rf'<{tag}\b[^>]*style="--part:([\d.]+)"', html)]


def test_the_longest_bar_has_the_largest_number_and_each_is_written() -> None:
    html = ranked([0.9998, 0.00012345678, 1.2345e-6], ["a", "b", "c"], name="n")
    assert shares(html, "i") == pytest.approx([1, 0.0001235, 0], abs=1e-4)
    assert re.findall("<b>(.*?)</b>", html) == ["99.980 %", "0.012 %", "less than 0.001 %"]
    assert re.findall('title="(.*?)"', html) == ["a: 99.980000 %", "b: 0.012346 %", "c: 0.000123 %"]


def test_bars_of_two_series_share_an_axis_and_a_0_has_none() -> None:
    html = beside({"own": [10.0, 0.0], HOSTILE: [40.0, 1.5]}, ["a", "<b>"], title="size", unit="MB", name="n")
    assert shares(html, "i") == pytest.approx([0.25, 1, 0.0375], abs=1e-4)
    assert re.findall("<b>(.*?)</b>", html) == ["10", "40", "–", "1.5"]
    assert "<b></span>" not in html and HOSTILE not in html
    assert 'aria-label="own: 10"' in html


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0]])
def test_no_bar_and_bars_of_0_are_drawn(numbers: list[float]) -> None:
    labels = ["x"] * len(numbers)
    assert shares(ranked(numbers, labels, name="n"), "i") == numbers
    assert shares(side_by_side(numbers, labels, labels, title="t", across="token", name="n"), "i") == numbers


def test_bars_side_by_side_are_as_high_as_their_numbers_on_the_axis() -> None:
    html = side_by_side(
        [0.1, 0.35, 0.0], ["a", "b", "c"], ["a is 0.1", "b", "c"], title="change", across="token", name="n"
    )
    assert shares(html, "i") == pytest.approx([0.1 / 0.35, 1, 0], abs=1e-6)
    ticks = [float(tick) for tick in re.findall("<small>([^<]*)</small></span>", html)]
    assert ticks == [0, 0.1, 0.2, 0.3]
    assert shares(html, "span") == pytest.approx([tick / 0.35 for tick in ticks], abs=1e-4)
    assert 'data-said="a is 0.1"' in html
    assert 'aria-label="a is 0.1"' in html


def test_rounding_looks_like_0() -> None:
    html = side_by_side([0.0, 9e-6], ["0", "1"], ["", ""], title="change", across="row", name="n")
    assert max(shares(html, "i")) < 0.001
    assert "<small>0.01</small>" in html


def test_a_small_number_of_the_axis_has_our_minus_sign() -> None:
    html = side_by_side([4.4e-5], ["0"], [""], title="change", across="row", name="n")
    assert "<small>4e−5</small>" in html


@pytest.mark.parametrize(("tokens", "named"), [(20, 20), (21, 11), (40, 20), (0, 0)])
def test_up_to_20_tokens_are_named_below_their_bars(tokens: int, named: int) -> None:
    labels = [f"w{n}" for n in range(tokens)]
    html = side_by_side([0.5] * tokens, labels, labels, title="t", across="token", name="n")
    step = 1 if tokens <= 20 else 2
    assert re.findall(r"<small dir=\"auto\"><span>(.*?)</span>", html) == labels[::step]
    assert len(labels[::step]) == named
    assert len(shares(html, "i")) == tokens


def test_numbers_below_bars_lie_flat_and_are_fewer() -> None:
    labels = list(map(str, range(16)))
    html = side_by_side([0.5] * 16, labels, labels, title="t", across="row", name="n")
    assert 'class="columns numbered"' in html
    assert re.findall(r"<small dir=\"auto\"><span>(.*?)</span>", html) == labels[::2]
    labels = list(map(str, range(512)))
    html = side_by_side([0.5] * 512, labels, labels, title="t", across="row", name="n")
    assert re.findall(r"<small dir=\"auto\"><span>(.*?)</span>", html) == labels[::64]
    words = side_by_side([0.5], ["a"], ["a"], title="t", across="token", name="n")
    assert "numbered" not in words


@pytest.mark.parametrize("side", [False, True])
def test_a_token_is_no_html_and_a_long_one_is_shortened(side: bool) -> None:
    labels = [HOSTILE, "x" * 99]
    html = (
        side_by_side([1.0, 2.0], labels, labels, title="t", across="token", name="n")
        if side
        else ranked([0.5, 0.25], labels, name="n")
    )
    read: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: read.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert read.count("i") == 2
    assert HOSTILE in unescape(html)
    assert f">{'x' * 29}" not in html


@pytest.mark.parametrize(
    ("top", "ticks"), [(0.15, [0, 0.05, 0.1, 0.15]), (0.3, [0, 0.1, 0.2, 0.3]), (0.6, [0, 0.2, 0.4, 0.6])]
)
def test_the_top_of_the_axis_has_its_number(top: float, ticks: list[float]) -> None:
    html = side_by_side([top], ["a"], ["a"], title="change", across="row", name="n")
    assert [float(tick) for tick in re.findall("<small>([^<]*)</small></span>", html)] == ticks


def test_bars_have_the_name_of_their_picture() -> None:
    for html in (
        ranked([1.0], ["a"], name=f"mask {HOSTILE}"),
        side_by_side([1.0], ["a"], ["a"], title="t", across="token", name=f"mask {HOSTILE}"),
    ):
        (name,) = re.findall('data-drawn="([^"]*)"', html)
        assert unescape(name) == f"mask {HOSTILE}"
