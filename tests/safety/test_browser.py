"""In a real Chromium, on a server for the public: every page paints under its policy, and no text becomes code."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

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
    "/",
    "/?drawing=chart&source=pretrained&step=weights&q=1&k=2",
    "/?step=output&lecture=1",
    "/averages?drawing=chart&way=data",
    "/heads?more=table&chosen=3.5_4.r",
    "/compare?source=pretrained&compare=same",
)
HOSTILE = tuple(
    f"/{page}?"
    + urlencode({"source": "pretrained", **dict.fromkeys(("text", "pair", "model", "layer", "label", "lesson"), EVIL)})
    for page in PATHS
)
"""Each page, with markup in every text of its link"""


def refused_messages(server: Server) -> list[str]:
    with urlopen(f"{server.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return [line for line in lines if "message_" in line]


def test_every_page_renders_under_the_policy_all_messages_are_accepted_and_no_text_or_file_name_becomes_code(
    served: Server, one_page: Page
) -> None:
    """In one document: its policy is that of every view that it shows."""
    page, refused = one_page, refused_messages(served)
    page.add_init_script(VIOLATIONS)
    page.goto("about:blank")  # a page that other files have used: what follows is a new document
    missing: list[str] = []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status == 404 else None)
    for view in (*VIEWS, *HOSTILE):
        settled_at(page, served.url + view)
        assert urlsplit(page.url).path == urlsplit(view).path
        assert missing == [], f"{view} asks for what is not there"
        page.keyboard.press("ArrowRight")  # what the page has set up goes to the server
        settled(page)
        assert page.evaluate(f"[window.{MARK}, window.violations]") == [None, []], view
        assert page.locator("img[src=x], svg[onload], [onmouseover], a[href^=javascript]").count() == 0, view
        assert refused_messages(served) == refused, view
        assert missing == [], f"{view} asks for what is not there"
    settled_at(page, f"{served.url}/tokens?charset=file")
    file = {"name": f"<img src=x onerror=window.{MARK}=1>.txt", "mimeType": "text/plain", "buffer": EVIL.encode()}
    page.locator("input[type=file]").first.set_input_files(files=[file])
    expect(page.get_by_text("different characters of your file")).to_be_visible()
    assert page.evaluate(f"[window.{MARK}, window.violations]") == [None, []]
    page.evaluate(
        "document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    assert page.evaluate("[window.ran, window.violations.length]") == [None, 1]  # so it would have been noticed
