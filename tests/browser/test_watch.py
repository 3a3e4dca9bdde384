"""The watch over every browser test sees what it is there to see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser.contexts import LAPTOP, Watch


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    """Watch a context whose findings are the test's to look at."""
    watched = Watch(browser.new_context())
    yield watched
    watched.context.close()


@pytest.fixture
def watched_page(watch: Watch) -> Page:
    """Open a page in the watched context."""
    return watch.context.new_page()


def test_a_quiet_page_gives_no_finding(watch: Watch, watched_page: Page) -> None:
    watched_page.set_content("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><script>1 + 1</script>")
    assert watch.findings() == []


@pytest.mark.parametrize("code", ["fetch('{}')", "new Image().src = '{}'", "window.open('{}')"])
def test_a_request_to_the_outside_is_stopped_and_found(watch: Watch, watched_page: Page, code: str) -> None:
    url = "https://example.org/a.js"
    watched_page.set_content("")
    with watch.context.expect_event("requestfailed") as failed:
        watched_page.evaluate(f"() => {{ {code.format(url)}; }}")
    assert failed.value.url == url
    assert f"request to another machine: {url}" in watch.findings()


def test_a_websocket_to_the_outside_is_found(watch: Watch, watched_page: Page) -> None:
    with watched_page.expect_websocket():
        watched_page.evaluate("() => { new WebSocket('ws://192.0.2.1/stream') }")
    assert watch.findings() == ["request to another machine: ws://192.0.2.1/stream"]


def test_an_uncaught_error_is_found(watch: Watch, watched_page: Page) -> None:
    with watch.context.expect_event("weberror"):
        watched_page.evaluate("() => { setTimeout(() => { throw new Error('oh') }) }")
    assert watch.findings() == ["uncaught error: oh"]


def test_an_exception_shown_by_streamlit_is_found(watch: Watch, watched_page: Page) -> None:
    watched_page.set_content("<div data-testid='stException'>ValueError</div>")
    assert watch.findings() == ["about:blank shows an exception: ValueError"]


def test_a_context_that_is_used_again_knows_nothing_of_what_was_done_in_it(watch: Watch, app_url: str) -> None:
    keep = "() => { localStorage.a = sessionStorage.a = '1'; document.cookie = 'a=1'; window.name = 'a' }"
    kept = "() => [localStorage.a, sessionStorage.a, document.cookie.includes('a=1'), window.name].filter(Boolean)"
    for expected in ([], []):
        page = watch.context.new_page()
        page.goto(f"{app_url}/_stcore/health")
        assert page.evaluate(kept) == expected
        page.evaluate(keep)
        assert len(page.evaluate(kept)) == 4
        watch.outside.append("somewhere")
        watch.clean()
        assert page.is_closed()
        assert watch.findings() == []


def test_what_a_visitor_prefers_does_not_reach_the_next(watch: Watch) -> None:
    """Contexts are used again: each gives its pages the window, the theme and the motion that were asked for."""
    seen = "() => [matchMedia('(prefers-color-scheme: dark)').matches, matchMedia('(prefers-reduced-motion)').matches]"
    phone: ViewportSize = {"width": 390, "height": 844}
    watch.give_pages(phone, color_scheme="dark", reduced_motion="reduce")
    page = watch.context.new_page()
    assert (page.evaluate(seen), page.viewport_size) == ([True, True], phone)
    watch.clean()
    watch.give_pages(LAPTOP)
    page = watch.context.new_page()
    assert (page.evaluate(seen), page.viewport_size) == ([False, False], LAPTOP)
