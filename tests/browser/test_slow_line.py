"""Far from the server: what one does before its answers have come counts, and the address says what is shown."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Page, Route, expect

from attnviz.serving.arrays import PATH as ARRAYS
from tests.browser.apps.explored import Explored
from tests.browser.board import matrix
from tests.browser.contexts import Watch
from tests.browser.line import Line
from tests.browser.modules import imported
from tests.browser.settings import type_text
from tests.browser.settle import in_the_end, settled, settled_once_at


def test_every_key_press_before_the_response_counts(line: Line, app_url: str) -> None:
    page = line.hold_at(f"{app_url}/heads?layer=5")
    for runs, key in enumerate(("m", "m", "s"), 1):
        page.keyboard.press(key)
        line.wait(runs)
    line.release()
    assert urlsplit(page.url).query == "layer=5&show=heatmap&stretch=1"


def test_back_before_the_responses_ends_where_it_leads(line: Line, app_url: str) -> None:
    page = line.go(f"{app_url}/averages?way=matrix")
    for way in ("softmax", "data"):
        page.keyboard.press("PageDown")
        settled_once_at(page, f"**way={way}")
    line.hold()
    for runs, way in enumerate(("softmax", "matrix"), 1):
        page.go_back()
        page.wait_for_url(f"**way={way}")
        line.wait(runs)
    line.release()
    assert urlsplit(page.url).query == "way=matrix"
    page.keyboard.press("d")
    settled(page)
    assert urlsplit(page.url).query == "way=matrix&drawing=chart"


def test_a_late_response_undoes_no_step(line: Line, app_url: str) -> None:
    page = line.hold_at(f"{app_url}/?step=scores&head=1")
    for runs in (1, 2):
        page.keyboard.press("PageDown")
        page.locator(".chosen-settings").click()  # then it is sent
        line.wait(runs)
    page.wait_for_timeout(3500)
    chosen = page.get_by_role("radiogroup", name="Step").get_by_role("radio", checked=True)
    for runs in (0, 1):
        line.let_through(runs)
        expect(chosen).to_have_text("Masked")
    line.release()
    expect(chosen).to_have_text("Masked")
    assert urlsplit(page.url).query == "step=masked&head=1"


def test_the_picture_stays_until_the_weights_of_another_text_have_come(line: Line, app_url: str) -> None:
    page = line.go(f"{app_url}/heads?text=one+two+three&layer=2")
    explorer = Explored(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**{ARRAYS}*", hold)
    type_text(page, "one two three four")
    assert in_the_end(page, lambda: len(held), bool) == 1
    expect(explorer.section).to_have_attribute("data-rows", "5")
    expect(explorer.section).to_have_attribute("data-waits", "true")  # and fades: it is the picture of the text before
    held[0].continue_()
    expect(explorer.section).to_have_attribute("data-rows", "6")
    settled(page)
    assert explorer.section.get_attribute("data-layer") == "2"
    assert urlsplit(page.url).query == "text=one+two+three+four&layer=2"


def test_a_walk_that_takes_long_to_compute_says_so_beside_the_one_before(line: Line, app_url: str) -> None:
    page = line.go(f"{app_url}/?step=scores&text=one+two+three")
    held: list[Route] = []
    page.route(f"**{ARRAYS}*", lambda route: held.append(route))  # noqa: PLW0108
    type_text(page, "one two three four")
    note = page.locator(".walk .note")
    expect(note).to_have_text("The numbers are being computed …")
    held[0].continue_()
    settled(page)
    expect(note).to_have_text("")
    assert matrix(page, "scores").shape == (4, 4)
    assert urlsplit(page.url).query == "text=one+two+three+four"


def test_a_response_after_a_change_of_page_keeps_the_address(line: Line, app_url: str) -> None:
    page = line.hold_at(f"{app_url}/heads?text=two+words")
    page.keyboard.press("s")
    line.wait(1)
    link = page.get_by_role("link", name="Layer 0 · head 0, step by step")
    address = link.get_attribute("href")
    link.click()
    line.wait(2)
    line.release()
    assert address
    assert "step=weights" in address
    assert page.url.endswith(address.removeprefix("."))


def test_what_the_server_has_not_answered_to_is_marked_after_a_second(line: Line, app_url: str) -> None:
    """The connection is open, and nothing comes: the numbers of the text before must not pass for the new text's."""
    page = line.hold_at(f"{app_url}/?step=scores&text=one+two+three")
    type_text(page, "one two three four")
    said = page.locator(".late")
    expect(said).to_have_text("The server has not answered yet. What is shown is from before the last change.")
    walk, keys = (page.locator(f".stElementContainer.st-key-{key}") for key in ("walk", "keys"))
    expect(walk).to_have_css("opacity", "0.35")
    expect(keys).to_have_css("opacity", "1")
    assert matrix(page, "scores").shape == (3, 3)
    line.release()
    expect(said).to_have_text("")
    expect(walk).to_have_css("opacity", "1")
    assert matrix(page, "scores").shape == (4, 4)


def test_settings_that_close_before_the_response_to_back_bring_nothing_into_its_view(line: Line, app_url: str) -> None:
    link = "source=pretrained&layer=3&head=2&b_head=5"
    page = line.go(f"{app_url}/compare?{link}")
    page.locator(".st-key-pane_A button").first.click()
    shown = settled(page).locator(".st-key-pane_A button").first.locator("p").inner_text()
    page.locator(".st-key-layer input").click()
    page.get_by_role("option", name="layer 1").first.click()
    settled_once_at(page, lambda url: urlsplit(url).query != link)
    line.hold()
    page.go_back()
    line.wait(1)
    page.keyboard.press("Escape")
    line.wait(2)
    line.release()
    assert urlsplit(page.url).query == link
    assert page.locator(".st-key-pane_A button").first.locator("p").inner_text() == shown


def test_a_page_that_streamlit_has_lost_is_loaded_again(line: Line, app_url: str, watch_of_line: Watch) -> None:
    page = line.go(f"{app_url}/?step=scores&text=one+two+three&head=1")
    with page.expect_navigation():
        line.break_the_page()
    settled(page)
    watch_of_line.errors.clear()  # Streamlit's own error
    assert matrix(page, "scores").shape == (3, 3)
    assert urlsplit(page.url).query == "text=one+two+three&head=1"


LOSE = """async () => {
  const { reloadWhenLost } = await import('/frontend/page/recovery.ts');
  reloadWhenLost();
  window.dispatchEvent(new Event('error'));
}"""
IS_LOADED_ANEW = "() => new Promise((done) => setTimeout(() => done(window.wasLost !== true), 300))"
NOTHING_IS_KEPT = "() => { Storage.prototype.setItem = () => { throw new DOMException('no', 'SecurityError'); }; }"


def test_a_lost_page_is_loaded_again_neither_without_end_nor_where_nothing_can_be_kept(
    plain_page: Page, served: str
) -> None:
    def lose() -> None:
        plain_page.evaluate("window.wasLost = true")
        plain_page.evaluate(LOSE)

    imported(plain_page, served, "page/recovery.ts", "return 0")  # a page of this site, without the app
    with plain_page.expect_navigation():
        lose()
    # As if that had been a moment ago, however slow this machine is.
    assert plain_page.evaluate("""() => {
      const isKept = Number(sessionStorage.getItem("attnviz-reloaded")) > 0;
      sessionStorage.setItem("attnviz-reloaded", String(Date.now() + 600_000));
      return isKept;
    }""")
    lose()
    assert not plain_page.evaluate(IS_LOADED_ANEW)
    plain_page.evaluate("sessionStorage.clear()")
    plain_page.evaluate(NOTHING_IS_KEPT)
    lose()
    assert not plain_page.evaluate(IS_LOADED_ANEW)
