"""Each chapter is reached by keyboard, has one title, in the tab and as its heading, and begins with few controls.

At most seven are seen before a visitor asks for more, at 1280 x 720.

A control is a button, a field, a menu, a slider, a switch, or a link that stands by itself. These count as one: the
tabs or the buttons of one choice, a text field with "Apply", a list of cards, hits or models of which one is opened,
the heads of a grid, a picture with its legend and its zoom, the sentence and the diagram of a model, the bar that
starts a training, the bar that plays it, the row of pages on which a model is opened, the card that a newcomer
reads. Not counted are the toolbar, the places and chapters, which are the same on every page, the closed side bar,
help buttons, closed listings below, words of a text that light what they name, and what is drawn only where one points.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from attnviz.links.pages import PAGES, PLACES, Place, chapters
from tests.browser.settle import settled

MOST = 7
CONTROLS = """() => {
  const CONTROL = 'button, a[href], input, select, textarea, [role=button], [role=switch], [role=slider]';
  const GROUP = '[role=tablist], [role=radiogroup], [role=group], [data-testid=stButtonGroup], .st-key-text_place, ' +
    '.apply, .grid, .detail, .attnviz-board, .focus-buttons, .js-plotly-plot, .transport, .scrubber, .stages, ' +
    '.diagram, .steps, [class*=st-key-hits_], .st-key-lesson_cards, .st-key-example_cards, ' +
    '[data-testid=stDataFrame], [data-testid=stNumberInput], [data-testid=stSlider], [data-testid=stSelectbox]';
  const OUTSIDE = '.st-key-toolbar, .st-key-places, [data-testid=stSidebar], .stTooltipIcon, [data-testid=stHeader], ' +
    '.marked';
  const SEEN = { visibilityProperty: true, opacityProperty: true };
  const seen = new Map();
  const above = (node) => node.parentElement ?? (node.getRootNode() instanceof ShadowRoot && node.getRootNode().host);
  const around = (node, css) => {
    let last = null;
    for (let at = node; at; at = above(at)) if (at.matches(css)) last = at;
    return last;
  };
  for (const node of deepAll()) {
    if (!node.matches(CONTROL) || !node.checkVisibility(SEEN)) continue;
    const { width, height, top, left, right } = node.getBoundingClientRect();
    if (width < 2 || height < 2 || top >= innerHeight || right <= 0 || left >= innerWidth) continue;
    if (around(node, OUTSIDE)) continue;
    if (node.matches('a') && node.closest('p') && !node.closest('.stPageLink')) continue;  // in a sentence
    const group = node.closest('.opener') ?? around(node, GROUP) ?? node.closest('label') ?? node;
    const one = group.matches('.apply') ? document.querySelector('.st-key-text_place') : group;
    seen.set(one, (node.getAttribute('aria-label') ?? node.textContent).trim().slice(0, 30) || node.type);
  }
  return [...seen.values()];
}"""
"""The names of the controls that are seen, one of each group"""

pytestmark = pytest.mark.page("one_page")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
def test_chapters_are_reached_by_keyboard_and_begin_with_at_most_seven_controls(
    page: Page, app_url: str, place: Place
) -> None:
    bar = page.get_by_role("navigation", name="Places and chapters")
    if not bar.count():
        page.goto(f"{app_url}/lessons")
    settled(page).evaluate("() => (window.sameWindow = true)")
    bar.locator("a, button").filter(has_text=re.compile(f"^{place.title}$")).press("Enter")
    expect(page).to_have_title(PAGES[place.opens].chapters[0].tab_title)
    for chapter in chapters(place):
        settled(page)
        if len(chapters(place)) > 1:
            bar.locator("a, button").filter(has_text=re.compile(f"^{chapter.title}$")).press("Enter")
        expect(page).to_have_title(chapter.tab_title)
        expect(page.get_by_role("heading", level=1)).to_have_text([chapter.heading])
        expect(bar.locator("[aria-current]")).to_have_text(list(dict.fromkeys((place.title, chapter.title))))
        shown = bar.locator("a, button")
        assert shown.evaluate_all("all => all.every((one) => one.getBoundingClientRect().right <= innerWidth)")
        controls = settled(page).evaluate(CONTROLS)
        assert 0 < len(controls) <= MOST, (chapter.title, controls)
    assert page.evaluate("() => window.sameWindow"), "the app was never loaded anew"
