"""An expectation that waits in rounds waits as long as it is told to, and no longer."""

from __future__ import annotations

import re
from time import monotonic
from typing import Any

import pytest
from playwright._impl.frame import Frame
from playwright.sync_api import Error, Page, expect

from tests.browser import polling


@pytest.fixture
def page(plain_page: Page, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(polling, "ROUND_MS", 100)
    return plain_page


def test_what_comes_after_some_rounds_is_found(page: Page) -> None:
    page.evaluate("setTimeout(() => { document.body.textContent = 'here'; document.title = 'there'; }, 350)")
    expect(page.locator("body")).to_have_text("here")
    expect(page).to_have_title("there")
    page.evaluate("setTimeout(() => { document.body.textContent = ''; }, 350)")
    expect(page.locator("body")).not_to_have_text("here")


def test_what_never_comes_fails_when_the_time_is_up(page: Page) -> None:
    since = monotonic()
    with pytest.raises(AssertionError, match="nowhere"):
        expect(page.locator("body")).to_have_text("nowhere", timeout=450)
    assert monotonic() - since >= 0.45
    with pytest.raises(AssertionError):
        expect(page.locator("body")).not_to_be_attached(timeout=1)


def test_the_page_is_not_described_before_what_is_waited_for_is_there(
    plain_page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ask = list[str](), Frame._expect

    async def counted(self: Frame, selector: str, expression: str, options: Any, *others: Any) -> Any:
        answer = await ask(self, selector, expression, options, *others)
        is_other = expression == "to.have.count" or expression.endswith(".array")
        if not is_other and (options["timeout"] > 1 or not answer["matches"]):
            asked.append(expression)  # each look that is in vain describes the page
        return answer

    monkeypatch.setattr(Frame, "_expect", counted)
    one = plain_page.locator("p")
    plain_page.evaluate("""setTimeout(() => {
      document.body.innerHTML = '<p class="a" data-x="’ 1">one</p><i hidden>two</i>';
      location.hash = 'there';
    }, 200)""")
    expect(one).to_be_visible()
    expect(one).to_have_text("one")
    later = "(change) => setTimeout(change, 200)"
    for change, expectation in (
        ("document.querySelector('p').textContent = 'three of them'", lambda: expect(one).to_contain_text("three")),
        ("document.querySelector('p').dataset.x = '’ 2'", lambda: expect(one).to_have_attribute("data-x", "’ 2")),
        ("document.querySelector('p').className = 'b'", lambda: expect(one).to_have_class("b")),
        ("location.hash = 'elsewhere'", lambda: expect(plain_page).to_have_url(re.compile("elsewhere$"))),
        ("document.querySelector('p').hidden = true", lambda: expect(one).to_be_hidden()),
    ):
        asked.clear()
        plain_page.evaluate(f"() => ({later})(() => {{ {change} }})")
        expectation()
        assert asked == [], change


@pytest.mark.parametrize("selector", ["div", "div[["])
def test_what_can_not_be_looked_for_fails_at_once(page: Page, selector: str) -> None:
    page.evaluate("document.body.innerHTML = '<div></div><div></div>'")
    since = monotonic()
    with pytest.raises((AssertionError, Error), match=r"strict mode violation|not a valid selector|parsing"):
        expect(page.locator(selector)).to_have_text("x", timeout=20_000)
    assert monotonic() - since < 10


def test_an_attribute_of_one_element_among_several_is_not_enough(page: Page) -> None:
    page.evaluate("document.body.innerHTML = '<p class=a></p><p></p>'")
    with pytest.raises((AssertionError, Error), match="strict mode violation"):
        expect(page.locator("p")).to_have_attribute("class", "a", timeout=3000)
    expect(page.locator("p").last).not_to_have_attribute("class", "a")
    expect(page).not_to_have_url(re.compile("nowhere"))
