"""In a real Chromium, on a server for the public: every page paints under its policy, and no text becomes code."""

from __future__ import annotations

from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server
from tests.browser.settle import settled, settled_at
from tests.safety.links import PATHS

MARK = "attnviz_was_here"
EVIL = (
    f"<img src=x onerror=window.{MARK}=1><script>window.{MARK}=1</script>"
    f"[a](javascript:window.{MARK}=1) <svg onload=window.{MARK}=1> "
    f"' onmouseover=window.{MARK}=1 \" $\\href{{javascript:{MARK}}}{{x}}$"
)
VIOLATIONS = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
VIEWS = (
    *(f"/{page}" for page in PATHS),
    "/?drawing=chart&source=pretrained&step=weights&q=1&k=2",
    "/?step=output&lecture=1",
    "/averages?drawing=chart&way=data",
    "/heads?more=table&chosen=3.5_4.r",
    "/compare?source=pretrained&compare=same",
)


@pytest.fixture
def watched(one_page: Page) -> Page:
    """One page for both tests: its policy is that of the document, from view to view."""
    if one_page.evaluate("() => 'violations' in window"):
        one_page.evaluate("window.violations = []")  # the test before has caused one
    else:
        one_page.add_init_script(VIOLATIONS)
        one_page.goto("about:blank")  # a page that other files have used: what follows is a new document
    return one_page


def refused_messages(server: Server) -> list[str]:
    with urlopen(f"{server.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return [line for line in lines if "message_" in line]


def test_every_page_renders_under_the_policy_and_all_messages_are_accepted(served: Server, watched: Page) -> None:
    page, refused = watched, refused_messages(served)
    missing: list[str] = []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status == 404 else None)
    for view in VIEWS:
        settled_at(page, served.url + view)
        assert urlsplit(page.url).path == urlsplit(view).path
        assert missing == [], f"{view} asks for what is not there"
        page.keyboard.press("ArrowRight")  # what the page has set up goes to the server
        settled(page)
        assert page.evaluate("window.violations") == [], view
        assert refused_messages(served) == refused, view
        assert missing == [], f"{view} asks for what is not there"
    page.evaluate(
        "document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    assert page.evaluate("[window.ran, window.violations.length]") == [None, 1]  # so it would have been noticed


def test_no_text_and_no_file_name_becomes_code(served: Server, watched: Page) -> None:
    page, evil = watched, quote(EVIL)
    for view in PATHS:
        page.goto(
            f"{served.url}/{view}?source=pretrained&text={evil}&pair={evil}&model={evil}&layer={evil}&label={evil}&lesson={evil}"
        )
        settled(page)
        assert page.evaluate(f"[window.{MARK}, window.violations]") == [None, []], view
        assert page.locator("img[src=x], svg[onload], [onmouseover], a[href^=javascript]").count() == 0, view
    settled_at(page, f"{served.url}/tokens?charset=file")
    file = {"name": f"<img src=x onerror=window.{MARK}=1>.txt", "mimeType": "text/plain", "buffer": EVIL.encode()}
    page.locator("input[type=file]").first.set_input_files(files=[file])
    expect(page.get_by_text("different characters of your file")).to_be_visible()
    assert page.evaluate(f"[window.{MARK}, window.violations]") == [None, []]
