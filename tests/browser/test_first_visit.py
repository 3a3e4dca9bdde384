"""What a page fetches of ours on a first visit, besides Streamlit's own files.

`tests/safety/test_browser.py` opens all pages, and none asks for what is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from attnviz.components.built import PATH
from bench.first_visit import MOST_KB, MOST_REQUESTS, Fetched
from tests.browser.contexts import LAPTOP
from tests.browser.settle import settled, settled_at


@pytest.fixture
def fresh(browser: Browser) -> Iterator[BrowserContext]:
    """Open a context with an empty HTTP cache, which the contexts of other tests keep."""
    context = browser.new_context(viewport=LAPTOP)
    yield context
    context.close()


def scripts(fetched: Fetched) -> list[str]:
    """Return the scripts and style sheets of components that were fetched, without their version."""
    paths = [urlsplit(address).path for address in fetched.addresses if PATH in address]
    return sorted(path.rsplit("/", 1)[1] for path in paths)


def first_visit(fresh: BrowserContext, url: str) -> tuple[Page, Fetched]:
    """Return the page of a first visit, with what it has fetched, which is little."""
    page = fresh.new_page()
    fetched = Fetched(page)
    settled_at(page, url)
    assert 4 < len(fetched.addresses) <= MOST_REQUESTS
    assert 20 < fetched.kilobytes <= MOST_KB
    names = scripts(fetched)
    assert len(names) == len(set(names)) >= 4
    assert not [name for name in names if "export" in name]
    return page, fetched


@pytest.mark.parametrize("path", ["/heads", "/compare"])
def test_a_first_visit_fetches_little(fresh: BrowserContext, app_url: str, path: str) -> None:
    first_visit(fresh, app_url + path)


def test_a_second_visit_fetches_no_script_again_that_of_export_comes_with_it_and_one_that_does_not_arrive_is_said(
    fresh: BrowserContext, app_url: str
) -> None:
    page, fetched = first_visit(fresh, app_url)
    fetched_for_export = Fetched(page)
    page.locator(".st-key-export button").first.click()
    expect(page.get_by_role("region", name="Export this view")).to_be_visible()
    settled(page)
    assert {"export_view.css", "export_view.js"} <= {*scripts(fetched_for_export)}
    page.close()

    again = fresh.new_page()
    fetched_again = Fetched(again)
    settled_at(again, app_url)
    assert fetched_again.kilobytes < fetched.kilobytes / 2
    assert fetched_again.kilobytes < 20

    again.route("**/walk.js", lambda route: route.fulfill(status=404))
    again.reload()
    said = again.get_by_text("This part did not arrive. Reload the page.")
    expect(said).to_be_visible()
    again.unroute_all()
    again.reload()
    expect(again.get_by_role("region", name="Sentence")).to_be_visible()
    expect(said).to_have_count(0)
