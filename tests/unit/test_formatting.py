"""Numbers as text: the table that Python and the browser share, and what it must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnviz.figures.style import cell_texts
from attnviz.formatting import DIGITS, exact, joined, power_of_ten, weight
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
