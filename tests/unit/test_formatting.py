"""Numbers as text: the table that Python and the browser share, and what it must hold."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from attnviz.figures.style import cell_texts
from attnviz.formatting import (
    DIGITS,
    counted,
    exact,
    joined,
    larger,
    nonzero,
    percent,
    power_of_ten,
    quoted,
    scale_label,
    weight,
    were,
)
from tests.unit import numbers


def test_the_table_is_what_python_writes() -> None:
    """tests/browser/test_frontend_modules.py compares it with what the browser writes."""
    assert numbers.FILE.read_text(encoding="utf-8") == numbers.written(), "python -m tests.unit.numbers"


def test_a_number_is_written_as_it_is() -> None:
    """No number but 0 reads as 0 where all its digits are known; read back, each is near enough."""
    for value in numbers.values():
        read = float(exact(value).replace("−", "-").replace("∞", "inf"))
        assert (read == 0) == (value == 0)
        assert read == pytest.approx(value, rel=5e-3, abs=5.0001e-5, nan_ok=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0000"), (-0.0, "0.0000"), (1e-9, "< 0.0001"), (4.9999e-5, "< 0.0001"), (5.1e-5, "0.0001"),
     (-1e-9, "0.0000"), (0.43125, "0.4313"), (0.99996, "1.0000"), (1.0, "1.0000"), (math.nan, "NaN")],
)  # fmt: skip
def test_a_weight_that_is_not_0_does_not_read_as_0(value: float, text: str) -> None:
    assert weight(value) == text
    assert DIGITS == 4


def test_cells_of_a_figure_are_written_by_the_same_rule() -> None:
    values = np.array([[4e-5, 0.0, np.nan], [-4e-5, -0.2, 1234567.0]], np.float32)
    assert cell_texts(values) == [["4.00e−5", "0.0000", ""], ["−4.00e−5", "−0.2000", "1.2346e6"]]
    assert cell_texts(values[:1], weight) == [["< 0.0001", "0.0000", ""]]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0, 3, "0"), (1.2345e-5, 3, "1.23e−5"), (0.00012345, 4, "0.0001234"), (-1e10, 3, "−1e10"), (1234.5, 4, "1,234"),
     (-math.inf, 3, "−∞")],
)  # fmt: skip
def test_a_number_of_few_digits_has_a_power_of_ten_only_if_it_needs_one(value: float, digits: int, text: str) -> None:
    assert power_of_ten(value, digits) == text


def test_words_are_joined_as_in_a_sentence() -> None:
    assert [joined(one) for one in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert joined("abc", "or") == "a, b or c"


@pytest.mark.parametrize(
    ("digits", "said"),
    [
        (0, {0: "0 %", 1: "100 %", 0.97: "97 %", 0.0151: "2 %", 0.01: "1 %", 0.99: "99 %", 0.0099: "0.99 %",
             0.00031: "0.031 %", 0.00004: "less than 0.01 %", 0.9901: "99.01 %", 0.99846: "99.85 %",
             0.99969: "99.969 %", 0.99996: "more than 99.99 %", 0.99999994: "100 %", 1.5: "150 %", -1e-9: "0 %",
             math.nan: "NaN %"}),
        (1, {0: "0.0 %", 1: "100.0 %", 0.125: "12.5 %", 0.001: "0.1 %", 0.999: "99.9 %", 0.00094: "0.094 %",
             0.000031: "0.0031 %", 0.000009: "less than 0.001 %", 0.9998: "99.980 %", 0.999994: "more than 99.999 %"}),
        (2, {0.98765: "98.77 %", 0.00003: "0.0030 %", 0: "0.00 %"}),
    ],
)  # fmt: skip
def test_a_share_is_a_percentage_that_does_not_read_as_nothing_or_all(digits: int, said: dict[float, str]) -> None:
    assert {share: percent(share, digits) for share in said} == said


def test_a_percentage_is_rounded_as_decimal_rounds_it_and_has_two_digits_at_both_ends() -> None:
    for share, digits in product(numbers.shares(), range(7)):
        text = percent(share, digits)
        exactly = Decimal(100 * share)
        if found := re.fullmatch(r"(less|more) than (\S+) %", text):
            end = Decimal(found[2])
            assert 0 < exactly <= end if found[1] == "less" else end <= exactly < 100
            assert min(end, 100 - end) == Decimal(10) ** -(digits + 2)
            continue
        read = Decimal(text.removesuffix(" %"))
        assert read == round(exactly, -int(read.as_tuple().exponent))
        rounded = min(9.99e-7, 10**-digits / 200)
        assert (read == 0) == (share == 0) and (read == 100) == (share > 1 - rounded), (share, text)


def test_shares_in_a_table_have_two_significant_digits_and_powers_of_ten() -> None:
    shares = {
        0: "0.0 %", 1.84e-9: "1.84e−7 %", 0.000031: "0.0031 %", 0.0065: "0.65 %", 0.125: "12.5 %", 0.7: "70.0 %",
        0.99996: "99.9960 %", 0.999996: "> 99.999 %", 1: "100.0 %",
    }  # fmt: skip
    assert {share: percent(share, 1, exactly=True) for share in shares} == shares


def test_a_percentage_of_float32_is_that_of_the_number() -> None:
    assert percent(np.float32(0.9999035), 1) == percent(float(np.float32(0.9999035)), 1)


def test_a_file_that_is_too_large_never_reads_as_large_as_the_limit() -> None:
    assert [larger(5 * 2**20 + more, 5 * 2**20) for more in (1, 2000, 60_000, 2**20)] == [
        "has 1 byte more", "has 2,000 bytes more", "has 5.1 MB", "has 6.0 MB",
    ]  # fmt: skip


def test_what_was_done_to_one_thing_and_to_several() -> None:
    assert [were(count) for count in (0, 1, 2)] == ["were", "was", "were"]


def test_things_are_counted_in_their_plural() -> None:
    assert [counted(count, "step") for count in (0, 1, 2, 2000)] == ["0 steps", "1 step", "2 steps", "2,000 steps"]
    assert [counted(count, "entry") for count in (1, 2)] == ["1 entry", "2 entries"]
    assert [counted(count, "key") for count in (1, 2)] == ["1 key", "2 keys"]


def test_a_quoted_text_is_one_line_of_up_to_40_characters() -> None:
    assert quoted(" one\n\ttwo ") == "“one two”"
    assert [quoted("x" * length) for length in (40, 41)] == [f"“{'x' * 40}”", f"“{'x' * 40}…”"]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0, 2, "0"), (0.005001, 2, "0.01"), (0.0049, 2, "4.90e−3"), (-1.186e-7, 2, "−1.19e−7"), (0.0049, 3, "0.005"),
     (-3.14159, 3, "−3.142")],
)  # fmt: skip
def test_a_difference_reads_as_0_only_if_there_is_none(value: float, digits: int, text: str) -> None:
    assert nonzero(value, digits) == text


def test_a_scale_is_named_by_what_it_is_of_the_width() -> None:
    assert [scale_label(scale, 32) for scale in (32**-0.5, 32**-0.5 + 2e-9, 1, 0.25, 64**-0.5)] == [
        "1/√32", "0.176777", "off", "0.25", "0.125"
    ]  # fmt: skip
    assert scale_label(1, 1) == "1/√1"
