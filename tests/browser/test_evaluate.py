"""Values that come out of a page are the same whether Playwright converts them one by one or as one text."""

from __future__ import annotations

from math import copysign, inf, isnan

import pytest
from playwright.sync_api import Error, Page

from tests.browser.evaluate import evaluate

pytestmark = pytest.mark.page("plain_page")


def test_results_are_playwrights(page: Page) -> None:
    for written in (
        "1", "0.1", "1e300", "'text \\0 “é”'", "true", "null", "undefined", "[]", "({})",
        "[1, [2.5, undefined, null]]", "({ a: undefined, b: [{ c: Infinity }, -Infinity] })", "Promise.resolve([1])",
        "Node.ELEMENT_NODE", "typeof result", "new Map([[1, 2]])", "[new Date(0)]",
        "Object.assign(new (class { x = 1 })(), { y: [2] })", "document.body",
        "[new URL('http://localhost/a')]", "new Float32Array([1, 2])", "[10n]",
        "(() => { const a = []; a.push(a); return a.length; })()",
    ):  # fmt: skip
        function = f"async () => {written}"
        assert evaluate(page, function) == page.evaluate(function), written


def test_numbers_that_json_lacks(page: Page) -> None:
    found = evaluate(page, "() => [NaN, [-0, 0], { x: NaN }]")
    assert isnan(found[0])
    assert isnan(found[2]["x"])
    assert [copysign(1, zero) for zero in found[1]] == [-1, 1]


def test_arguments_arrive(page: Page) -> None:
    for given in (None, 1.5, "\0", {"a": [1, None, {"b": "é"}]}, [inf], {"x": -inf}):
        assert evaluate(page, "(given) => given", given) == given


def test_of_an_element(plain_page: Page) -> None:
    function = "(element, given) => [element.tagName, given]"
    assert evaluate(plain_page.locator("body"), function, 3) == ["BODY", 3]


def test_errors_are_raised(page: Page) -> None:
    with pytest.raises(Error, match="no such thing"):
        evaluate(page, "() => { throw new Error('no such thing') }")
